//! Prints a message while it grows: each part under its name.

use std::io::{self, Write};

use chatparse::{Delta, DeltaKind};

use crate::screen::{Paint, Screen};
use crate::text::tamed;

/// Width of the margin for the names.
const MARGIN: usize = 11;

/// Writes deltas.
#[derive(Default)]
pub struct Live {
    /// The current part, and the index of its call.
    part: Option<(DeltaKind, usize)>,
    /// The line has ended, and the next text begins a new one.
    broken: bool,
    /// An id that came behind the beginning of its call's arguments; it is written behind their end.
    late_id: Option<String>,
}

impl Live {
    /// Appends what a delta adds.
    pub fn delta(&mut self, delta: &Delta, screen: &mut Screen) -> io::Result<()> {
        let (part, paint) = match delta.kind {
            DeltaKind::Reasoning => ("reasoning".to_owned(), Paint::Faint),
            DeltaKind::Content => ("content".to_owned(), Paint::Plain),
            DeltaKind::ToolName => (format!("call {}", delta.call + 1), Paint::Call),
            DeltaKind::ToolId => (format!("call {}", delta.call + 1), Paint::Faint),
            DeltaKind::ToolArguments => (format!("call {}", delta.call + 1), Paint::Plain),
            _ => return Ok(()),
        };
        if delta.kind == DeltaKind::ToolId && self.part == Some((DeltaKind::ToolArguments, delta.call)) {
            self.late_id = Some(format!(" [{}]", tamed(delta.text)));
            return Ok(());
        }
        let is_call = |kind| !matches!(kind, DeltaKind::Reasoning | DeltaKind::Content);
        let here = Some((delta.kind, delta.call));
        match self.part {
            _ if self.part == here => {}
            // Name, id and arguments of a call are on one line.
            Some((kind, call)) if call == delta.call && is_call(kind) && is_call(delta.kind) => {
                screen.write_all(b" ")?;
                self.part = here;
            }
            _ => {
                self.end(screen)?;
                self.part = here;
                screen.paint(Paint::Strong, &format!("{part:MARGIN$}"))?;
            }
        }
        let text = tamed(delta.text);
        let text = if delta.kind == DeltaKind::ToolId { format!("[{text}]") } else { text };
        self.text(screen, paint, &text)
    }

    /// Ends the last part.
    pub fn end(&mut self, screen: &mut Screen) -> io::Result<()> {
        if self.part.take().is_some() {
            self.broken = false;
            if let Some(id) = self.late_id.take() {
                screen.paint(Paint::Faint, &id)?;
            }
            writeln!(screen)?;
        }
        Ok(())
    }

    /// Further lines are indented like the first.
    fn text(&mut self, screen: &mut Screen, paint: Paint, text: &str) -> io::Result<()> {
        for line in text.split_inclusive('\n') {
            let (line, ends) = line.strip_suffix('\n').map_or((line, false), |line| (line, true));
            if std::mem::take(&mut self.broken) {
                let margin = if line.is_empty() { 0 } else { MARGIN };
                write!(screen, "\n{:margin$}", "")?;
            }
            screen.paint(paint, line)?;
            self.broken = ends;
        }
        Ok(())
    }
}
