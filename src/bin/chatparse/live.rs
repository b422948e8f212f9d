//! A message as it grows, for people: each part under its name, written as it comes.

use std::io::{self, Write};

use chatparse::{Delta, DeltaKind};

use crate::screen::{Paint, Screen};
use crate::text::tamed;

/// Columns of the margin that names the parts.
const MARGIN: usize = 11;

/// Writes deltas.
#[derive(Default)]
pub struct Live {
    /// The part being written: its kind and its call.
    part: Option<(&'static str, usize)>,
    /// The line has ended; the next text begins one.
    broken: bool,
}

impl Live {
    /// Appends what a delta adds.
    pub fn delta(&mut self, delta: &Delta, screen: &mut Screen) -> io::Result<()> {
        let (part, paint) = match delta.kind {
            DeltaKind::Reasoning => ("reasoning", Paint::Faint),
            DeltaKind::Content => ("content", Paint::Plain),
            DeltaKind::ToolName => ("call", Paint::Call),
            DeltaKind::ToolId => ("call", Paint::Faint),
            DeltaKind::ToolArguments => ("call", Paint::Plain),
        };
        if self.part != Some((part, delta.call)) {
            self.end(screen)?;
            self.part = Some((part, delta.call));
            let name = if part == "call" { format!("call {}", delta.call + 1) } else { part.to_owned() };
            screen.paint(Paint::Strong, &format!("{name:MARGIN$}"))?;
        }
        match delta.kind {
            DeltaKind::ToolName => self.text(screen, paint, &format!("{} ", tamed(delta.text))),
            DeltaKind::ToolId => self.text(screen, paint, &format!("[{}] ", tamed(delta.text))),
            _ => self.text(screen, paint, &tamed(delta.text)),
        }
    }

    /// Ends the last part.
    pub fn end(&mut self, screen: &mut Screen) -> io::Result<()> {
        if self.part.take().is_some() {
            self.broken = false;
            writeln!(screen)?;
        }
        Ok(())
    }

    /// Lines after the first begin under its text.
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
