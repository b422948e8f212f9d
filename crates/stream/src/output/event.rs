//! The events of a parse, in the order of the output. The format's parser and the fallback parser
//! both produce them, and the message builder applies them.

use std::borrow::Cow;
use std::ops::Range;

use crate::report::CallOrigin;
use chatparse_base::json_string::{push_quoted, push_quoted_char};
use chatparse_peg::lossy;

/// The two texts of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Reasoning,
    Content,
}

/// One event. Positions and spans are in the parsed text: the prefill and the output.
#[derive(Clone, Debug)]
pub(crate) enum Event<'a> {
    /// A region of text begins here.
    Begin(Channel, usize),
    /// More of its text.
    Text(Channel, Text<'a>, Range<usize>),
    /// The region ends at this position.
    End(usize),
    /// A call begins: its name, which is the text of the span, and the id and arguments that
    /// preceded the name.
    Call {
        name: &'a str,
        early: Early<'a>,
        flags: CallFlags,
        span: Range<usize>,
    },
    /// The id of the current call.
    Id(&'a str, Range<usize>),
    /// More of the call's arguments, as JSON.
    Arguments(Text<'a>, Range<usize>),
    /// The parts of its arguments so far that were no JSON, and were mended: see `literal`.
    Mended(u8),
    /// More of the rest of a broken call's arguments, as the model wrote it, and where it is.
    Broken(&'a [u8], usize),
    /// The current call ends at this position. It is complete, unless a value in it is broken.
    CallEnd { at: usize, broken: bool },
    /// So many bytes of texts are in no field of the message.
    Uncovered(usize),
}

/// The parts of a call that precede its name. Missing parts are empty texts with empty ranges.
#[derive(Clone, Debug)]
pub(crate) struct Early<'a> {
    /// Where the markup begins that opens the call.
    pub begin: usize,
    pub id: &'a str,
    pub id_span: Range<usize>,
    /// The arguments as far as they are written.
    pub arguments: &'a str,
    pub arguments_span: Range<usize>,
}

/// A receiver of events.
pub(crate) trait Sink {
    /// Handles the next event.
    fn event(&mut self, event: Event<'_>);
}

/// How a call deviates from the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallFlags {
    /// The format does not have its tool.
    pub unknown: bool,
    /// The row of the table of dialects, if it is in a dialect.
    pub dialect: Option<u16>,
    /// It was outside of the format.
    pub recovered: bool,
    /// It was in reasoning.
    pub in_reasoning: bool,
    /// How it was recognised as a call. Calls from the format's parser keep the default; the
    /// fallback parser sets it.
    pub origin: CallOrigin,
}

/// A text to append.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Text<'a> {
    /// Bytes of the parsed text, and where they begin there.
    Raw(&'a [u8], usize),
    /// Bytes of the parsed text, escaped for a JSON string.
    Escaped(&'a [u8], usize),
    /// Text that is not in the parsed text.
    Owned(&'a str),
}

impl<'a> Text<'a> {
    /// These bytes of the parsed text.
    pub fn raw(parsed: &'a [u8], range: &Range<usize>) -> Self {
        Text::Raw(&parsed[range.clone()], range.start)
    }

    /// The bytes without escapes.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Text::Raw(bytes, _) | Text::Escaped(bytes, _) => bytes,
            Text::Owned(text) => text.as_bytes(),
        }
    }

    pub fn is_blank(self) -> bool {
        self.bytes()
            .iter()
            .all(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))
    }

    /// The text as it is in the message.
    pub fn shown(self) -> Cow<'a, str> {
        match self {
            Text::Raw(bytes, _) => lossy(bytes),
            Text::Owned(text) => Cow::Borrowed(text),
            Text::Escaped(bytes, _) => {
                let mut escaped = String::new();
                push_quoted(&lossy(bytes), &mut escaped);
                Cow::Owned(escaped)
            }
        }
    }

    /// Appends the text, as it is in the message, to `out`.
    pub fn write(self, out: &mut String) {
        match self {
            Text::Raw(bytes, _) => {
                let rest = write_token(bytes, |c| out.push(c));
                if !rest.is_empty() {
                    out.push_str(&lossy(rest));
                }
            }
            Text::Escaped(bytes, _) => {
                let rest = write_token(bytes, |c| push_quoted_char(c, out));
                if !rest.is_empty() {
                    push_quoted(&lossy(rest), out);
                }
            }
            Text::Owned(text) => out.push_str(text),
        }
    }
}

/// Writes the leading ASCII of a text that is as short as a token, because going byte by byte is
/// faster then than scanning it first. Returns the rest.
fn write_token(bytes: &[u8], mut write: impl FnMut(char)) -> &[u8] {
    let mut rest = bytes;
    while let Some((byte, behind)) = rest
        .split_first()
        .filter(|(byte, _)| byte.is_ascii() && bytes.len() <= 8)
    {
        // The mask changes nothing; with it the compiler knows that the byte is ASCII.
        write(char::from(byte & 0x7F));
        rest = behind;
    }
    rest
}
