//! Prints a message while it grows: each part under its name.

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
    /// An id that came behind the beginning of its call's arguments; it is written behind their
    /// end.
    late_id: Option<String>,
}

impl Live {
    /// Appends what a delta adds.
    pub fn delta(&mut self, delta: &Delta, screen: &mut Screen) {
        let paint = match delta.kind {
            DeltaKind::Reasoning | DeltaKind::ToolId => Paint::Faint,
            DeltaKind::Content | DeltaKind::ToolArguments => Paint::Plain,
            DeltaKind::ToolName => Paint::Call,
            _ => return,
        };
        let mut text = tamed(delta.text);
        if delta.kind == DeltaKind::ToolId {
            text = format!("[{text}]");
            if self.part == Some((DeltaKind::ToolArguments, delta.call)) {
                self.late_id = Some(format!(" {text}"));
                return;
            }
        }
        let (here, is_call) = (Some((delta.kind, delta.call)), delta.kind.is_of_call());
        match self.part {
            _ if self.part == here => {}
            // Name, id and arguments of a call are on one line.
            Some((kind, call)) if call == delta.call && kind.is_of_call() && is_call => {
                screen.print(b" ");
            }
            _ => {
                self.end(screen);
                let name = if is_call {
                    format!("call {}", delta.call + 1)
                } else {
                    delta.kind.name().to_owned()
                };
                screen.paint(Paint::Strong, &format!("{name:MARGIN$}"));
            }
        }
        self.part = here;
        self.text(screen, paint, &text)
    }

    /// Ends the last part.
    pub fn end(&mut self, screen: &mut Screen) {
        if self.part.take().is_some() {
            self.broken = false;
            if let Some(id) = self.late_id.take() {
                screen.paint(Paint::Faint, &id);
            }
            writeln!(screen);
        }
    }

    /// Further lines are indented like the first.
    fn text(&mut self, screen: &mut Screen, paint: Paint, text: &str) {
        for line in text.split_inclusive('\n') {
            let (line, ends) = line
                .strip_suffix('\n')
                .map_or((line, false), |line| (line, true));
            if std::mem::take(&mut self.broken) {
                let margin = if line.is_empty() { 0 } else { MARGIN };
                write!(screen, "\n{:margin$}", "");
            }
            screen.paint(paint, line);
            self.broken = ends;
        }
    }
}
