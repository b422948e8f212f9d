//! How far the arguments of a call have been written, so that they can be closed as one JSON object.

use super::event::Text;
use super::literal::Literal;
use crate::peg::find;

/// What the call at hand needs to be known of it, less what stands in texts and stacks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallState {
    pub open: bool,
    pub named: bool,
    /// The comma before the next member or item is written.
    pub separated: bool,
    /// A string is open.
    pub quoted: bool,
    /// A JSON value has begun that has no text yet.
    pub fresh: bool,
    pub arguments: Arguments,
    pub literal: Literal,
    /// Names have XML entities.
    pub entities: bool,
    /// Where the arguments begin that came before the name; and the first and the last byte of what they were read from.
    pub early: usize,
    pub early_span: Option<(usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Object,
    Array,
}

/// How far the arguments have been written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arguments {
    pub begun: bool,
    /// The region holds something that is not an object; it adds nothing.
    pub ignored: bool,
    pub depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Arguments {
    /// Follows braces outside strings, so that the object can be closed.
    pub fn follow(&mut self, text: Text<'_>) {
        let mut rest = text.bytes();
        self.begun |= !rest.is_empty();
        // What is quoted opens nothing and ends nothing.
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

/// Whether what follows a piece of a string is escaped, as the piece itself is or is not.
fn escapes(piece: &[u8], escaped: bool) -> bool {
    let slashes = piece.iter().rev().take_while(|byte| **byte == b'\\').count();
    (slashes + usize::from(escaped && slashes == piece.len())) % 2 == 1
}
