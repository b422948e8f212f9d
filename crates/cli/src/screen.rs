//! Standard output: with colours on a terminal, and as wide as the terminal.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use clap::ColorChoice;

use crate::failure::Outcome;
use crate::text::{escaped, folded, tamed, wrapped};

/// The default number of columns.
const WIDTH: usize = 80;
/// The minimum and maximum line length: tables need some room, and long lines are hard to read.
const NARROWEST: usize = 40;
const WIDEST: usize = 120;

/// The style of a text, with a terminal's number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Plain = 0,
    /// Headings and names.
    Strong = 1,
    /// Less important text.
    Faint = 2,
    /// Errors, and the first of two texts.
    Red = 31,
    /// Success, and the second of two texts.
    Green = 32,
    /// Names of calls.
    Call = 36,
}

/// The output of commands.
pub struct Screen {
    out: BufWriter<StdoutLock<'static>>,
    /// The output is a terminal.
    pub terminal: bool,
    /// Styles are printed in colour.
    pub coloured: bool,
    width: OnceCell<usize>,
    /// The column of texts that have a name beside them.
    pub margin: usize,
    /// The first error of writing: nothing is written after it, and [`Screen::flush`] returns it.
    failed: Option<io::Error>,
}

impl Screen {
    pub fn stdout() -> Self {
        let out = io::stdout().lock();
        let terminal = out.is_terminal();
        let coloured =
            terminal && wants_colour(std::env::var_os("NO_COLOR"), std::env::var_os("TERM"));
        Screen {
            terminal,
            coloured,
            out: BufWriter::new(out),
            width: OnceCell::new(),
            margin: 0,
            failed: None,
        }
    }

    /// Applies the value of `--color`.
    pub fn colour(&mut self, when: ColorChoice) {
        if when != ColorChoice::Auto {
            self.coloured = when == ColorChoice::Always;
        }
    }

    /// Columns of a line.
    pub fn width(&self) -> usize {
        *self
            .width
            .get_or_init(|| self.columns().unwrap_or(WIDTH).clamp(NARROWEST, WIDEST))
    }

    /// The columns that the variable `COLUMNS` names, or those of the terminal.
    fn columns(&self) -> Option<usize> {
        if let Ok(text) = std::env::var("COLUMNS")
            && let Ok(columns @ 1..) = text.parse()
        {
            return Some(columns);
        }
        let (columns, _) = terminal_size::terminal_size().filter(|_| self.terminal)?;
        Some(columns.0.into())
    }

    /// Writes `text` in a style.
    pub fn paint(&mut self, paint: Paint, text: &str) {
        if !self.coloured || paint == Paint::Plain || text.is_empty() {
            return self.print(text);
        }
        write!(self, "\x1b[{}m{text}\x1b[0m", paint as u8);
    }

    /// Prints a name, and beside it, from the column `margin` on, a text that is wrapped at spaces.
    pub fn row(&mut self, name: &str, text: &str, paint: Paint) {
        let width = self.width().saturating_sub(self.margin);
        self.beside(name, &wrapped(&tamed(text), width), paint)
    }

    /// The same with a text that is printed exactly, with escapes, and cut at the width.
    pub fn exact(&mut self, name: &str, text: &str, paint: Paint) {
        let (text, width) = (escaped(text), self.width().saturating_sub(self.margin));
        self.beside(name, &folded(&text, width), paint)
    }

    fn beside(&mut self, name: &str, lines: &[impl AsRef<str>], paint: Paint) {
        for (index, line) in lines.iter().map(AsRef::as_ref).enumerate() {
            let name = if index == 0 { name } else { "" };
            let name_paint = match name {
                "fault" | "note" => paint,
                _ => Paint::Faint,
            };
            // No line ends in white space.
            let width = if line.is_empty() { 0 } else { self.margin - 2 };
            self.paint(name_paint, &format!("  {name:width$}"));
            self.paint(paint, line);
            self.print("\n");
        }
    }

    /// Prints notes to standard error, after what was printed so far, if both go to one place.
    pub fn notes(&mut self, notes: impl Iterator<Item = String>) -> Outcome {
        self.flush()?;
        let mut errors = io::stderr().lock();
        for note in notes {
            writeln!(errors, "chatparse: {}", tamed(&note))?;
        }
        Ok(())
    }

    /// A heading on a separate line, after an empty line.
    pub fn heading(&mut self, title: &str) {
        self.print("\n");
        self.paint(Paint::Strong, title);
        self.print("\n");
    }

    /// Writes a text or bytes.
    pub fn print(&mut self, bytes: impl AsRef<[u8]>) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(bytes.as_ref()).err();
        }
    }

    /// For `write!`.
    pub fn write_fmt(&mut self, text: fmt::Arguments<'_>) {
        if self.failed.is_none() {
            self.failed = self.out.write_fmt(text).err();
        }
    }

    /// Hands over what was written.
    ///
    /// # Errors
    /// The first of writing.
    pub fn flush(&mut self) -> io::Result<()> {
        self.failed.take().map_or_else(|| self.out.flush(), Err)
    }
}

/// Whether the terminal gets colours: <https://no-color.org>, and the type of the terminal.
fn wants_colour(no_color: Option<OsString>, term: Option<OsString>) -> bool {
    no_color.is_none_or(|value| value.is_empty()) && term.is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_is_honoured() {
        let text = |text: &str| Some(OsString::from(text));
        assert!(wants_colour(None, None));
        assert!(wants_colour(text(""), text("xterm")));
        assert!(!wants_colour(text("1"), text("xterm")));
        assert!(!wants_colour(None, text("dumb")));
    }
}
