//! Tracks the arguments of a call, so that they can be closed as one JSON object at any time.

use super::event::Text;
use super::literal::Literal;
use chatparse_peg::find;

/// The state of the current call, without its texts and stacks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenCall {
    pub open: bool,
    pub named: bool,
    /// The comma before the next member or item is already written.
    pub separated: bool,
    /// A string is open.
    pub quoted: bool,
    /// A JSON value has begun and has no text yet.
    pub fresh: bool,
    pub arguments: Arguments,
    pub literal: Literal,
    /// How names in it are written.
    pub names: Names,
    /// Where the arguments that precede the name begin, and the first and the last byte they were read from.
    pub early: usize,
    pub early_span: Option<(usize, usize)>,
}

/// How names are written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Names {
    #[default]
    Plain,
    /// With XML entities.
    Entities,
    /// The tool's name with the escapes of a JSON string.
    Escaped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Object,
    Array,
}

/// The state of the arguments' text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arguments {
    pub begun: bool,
    /// The region holds something other than an object, and is dropped.
    pub ignored: bool,
    pub depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Arguments {
    /// Counts braces outside of strings, so that the object can be closed.
    pub fn follow(&mut self, text: Text<'_>) {
        let mut rest = text.bytes();
        self.begun |= !rest.is_empty();
        // Escaped text is inside a string and has no braces that count.
        if matches!(text, Text::Escaped(..)) {
            return;
        }
        while let Some((&byte, behind)) = rest.split_first() {
            if self.in_string {
                let quote = find(b'"', rest);
                let inside = &rest[..quote.unwrap_or(rest.len())];
                self.escaped = escapes(inside, self.escaped);
                let Some(quote) = quote else { return };
                self.in_string = std::mem::take(&mut self.escaped);
                rest = &rest[quote + 1..];
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' => self.depth += 1,
                b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            rest = behind;
        }
    }
}

/// Whether the character after a piece of a string is escaped, given whether the piece's first one is.
fn escapes(piece: &[u8], escaped: bool) -> bool {
    let slashes = piece.iter().rev().take_while(|byte| **byte == b'\\').count();
    (slashes + usize::from(escaped && slashes == piece.len())) % 2 == 1
}
