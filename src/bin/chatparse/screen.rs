//! Standard output, with colours where a person looks at it.

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

/// How a piece of text is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Plain,
    /// Headings and names.
    Strong,
    /// What matters less.
    Faint,
    /// The first of two differing texts.
    Left,
    /// The second.
    Right,
    /// Names of calls.
    Call,
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Paint::Plain => "",
            Paint::Strong => "1",
            Paint::Faint => "2",
            Paint::Left => "31",
            Paint::Right => "32",
            Paint::Call => "36",
        }
    }
}

/// Where commands write.
pub struct Screen {
    out: BufWriter<StdoutLock<'static>>,
    coloured: bool,
}

impl Screen {
    pub fn stdout() -> Self {
        let out = io::stdout().lock();
        let coloured = out.is_terminal() && wants_colour(std::env::var_os("NO_COLOR"), std::env::var_os("TERM"));
        Screen { coloured, out: BufWriter::new(out) }
    }

    /// Whether what is painted has colours.
    pub fn is_coloured(&self) -> bool {
        self.coloured
    }

    /// Writes `text` painted.
    pub fn paint(&mut self, paint: Paint, text: &str) -> io::Result<()> {
        if !self.coloured || paint == Paint::Plain || text.is_empty() {
            return self.out.write_all(text.as_bytes());
        }
        write!(self.out, "\x1b[{}m{text}\x1b[0m", paint.code())
    }

    /// A heading on a line of its own, with an empty line before it.
    pub fn heading(&mut self, title: &str) -> io::Result<()> {
        self.out.write_all(b"\n")?;
        self.paint(Paint::Strong, title)?;
        self.out.write_all(b"\n")
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Whether a terminal gets colours: <https://no-color.org>, and what the terminal says of itself.
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
