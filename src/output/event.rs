//! What parsing an output finds, in the order of the output: the format's parser and the fallback parser both say it in these
//! words, and the message builder applies them.

use std::borrow::Cow;
use std::ops::Range;

use crate::json_string::{push_quoted, push_quoted_char};
use crate::message::CallOrigin;
use crate::peg::lossy;

/// The two texts of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Reasoning,
    Content,
}

/// One thing that was found. Positions and spans are those of the parsed text: the prefill and the output.
#[derive(Clone, Debug)]
pub(crate) enum Event<'a> {
    /// A region of text begins here.
    Begin(Channel, usize),
    /// More of its text.
    Text(Channel, Text<'a>, Range<usize>),
    /// The region ends here.
    End(usize),
    /// A call begins: its name, which is the span's text, and what of its id and arguments came before the name.
    Call { name: &'a str, early: Early<'a>, flags: CallFlags, span: Range<usize> },
    /// The id of the call at hand.
    Id(&'a str, Range<usize>),
    /// More of its arguments, as JSON.
    Arguments(Text<'a>, Range<usize>),
    /// More of what follows the call at hand, which broke off.
    Rest(Range<usize>),
    /// The call at hand is whole, here.
    CallEnd(usize),
}

/// What of a call came before its name. What did not is empty, and nowhere.
#[derive(Clone, Debug)]
pub(crate) struct Early<'a> {
    pub id: &'a str,
    pub id_span: Range<usize>,
    /// As far as they are written, or the brace that they begin with.
    pub arguments: &'a str,
    pub arguments_span: Range<usize>,
}

/// What takes events.
pub(crate) trait Sink {
    /// Takes the next one.
    fn event(&mut self, event: Event<'_>);
}

/// In what way a call is not what the format asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallFlags {
    /// Its tool is none of the format's.
    pub unknown: bool,
    /// The row of the table of dialects that it is written in.
    pub dialect: Option<u16>,
    /// It was found where the format has none.
    pub recovered: bool,
    /// It was found in reasoning.
    pub in_reasoning: bool,
    /// How it was marked as a call. What the format's own parser reads is in the format; whoever reads calls elsewhere says more.
    pub origin: CallOrigin,
}

/// A text to append.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Text<'a> {
    /// Bytes of the parsed text, and where they begin there.
    Raw(&'a [u8], usize),
    /// The same as they stand inside a JSON string.
    Escaped(&'a [u8], usize),
    /// Text that is not written there.
    Owned(&'a str),
}

impl<'a> Text<'a> {
    /// The bytes before they are escaped.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Text::Raw(bytes, _) | Text::Escaped(bytes, _) => bytes,
            Text::Owned(text) => text.as_bytes(),
        }
    }

    /// What follows the brace that it begins with.
    pub fn behind_brace(self) -> Option<Self> {
        match self {
            Text::Raw(bytes, at) => bytes.strip_prefix(b"{").map(|rest| Text::Raw(rest, at + 1)),
            Text::Escaped(bytes, at) => bytes.strip_prefix(b"{").map(|rest| Text::Escaped(rest, at + 1)),
            Text::Owned(text) => text.strip_prefix('{').map(Text::Owned),
        }
    }

    pub fn is_blank(self) -> bool {
        self.bytes().iter().all(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))
    }

    /// As it stands in the message.
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

    /// Writes it behind what `out` has.
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

/// Writes the ASCII that a text begins with, if it is as short as a token: byte by byte that is quicker than to look at all of
/// it first. Gives the rest.
fn write_token(bytes: &[u8], mut write: impl FnMut(char)) -> &[u8] {
    let mut rest = bytes;
    while let Some((byte, behind)) = rest.split_first().filter(|(byte, _)| byte.is_ascii() && bytes.len() <= 8) {
        // The mask changes nothing and tells the compiler so.
        write(char::from(byte & 0x7F));
        rest = behind;
    }
    rest
}
