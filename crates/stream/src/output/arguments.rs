//! Tracks the arguments of a call, so that they can be closed as one JSON object at any time.

use super::event::Text;
use super::literal::Literal;
use chatparse_base::find::find_to_escape;
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
    /// The value at hand is JSON that breaks, and a value was.
    pub breaks: bool,
    pub broken: bool,
    pub arguments: Arguments,
    /// How the last value is read that is JSON or Python's, and up to where.
    pub literal: Literal,
    pub literal_end: usize,
    /// Its values are Python's.
    pub python: bool,
    /// How names in it are written.
    pub names: Names,
    /// Where the arguments that precede the name begin, and the first and the last byte they were
    /// read from.
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
    /// How many bytes at the end were followed and wait for the next bytes: white space, half an
    /// escape, a comma that may be the last.
    pub waits: usize,
    pub in_string: bool,
    escaped: bool,
    /// How many bytes of an escape were followed.
    escape: u8,
    /// A comma waits.
    comma: bool,
}

impl Arguments {
    /// Follows more of an object as far as it is JSON. Returns up to where it may be shown (0: the
    /// bytes still wait), and whether it is no JSON from there on.
    pub fn follow_json(&mut self, piece: &[u8]) -> (usize, bool) {
        let (mut at, mut shown) = (0, 0);
        let is_json = loop {
            let Some(&byte) = piece.get(at) else {
                break true;
            };
            if self.escape > 0 {
                self.escape = match self.escape {
                    1 if byte == b'u' => 2,
                    1 if b"\"\\/bfnrt".contains(&byte) => 0,
                    2..5 if byte.is_ascii_hexdigit() => self.escape + 1,
                    5 if byte.is_ascii_hexdigit() => 0,
                    _ => break false,
                };
                at += 1;
                shown = if self.escape == 0 { at } else { shown };
                continue;
            }
            if self.in_string {
                let end = find_to_escape(&piece[at..]).map_or(piece.len(), |end| at + end);
                shown = match piece[at..end].trim_ascii_end().len() {
                    0 => shown,
                    length => at + length,
                };
                match piece.get(end) {
                    Some(b'"') => (self.in_string, shown) = (false, end + 1),
                    Some(b'\\') => self.escape = 1,
                    Some(_) => break false,
                    None => break true,
                }
                at = end + 1;
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {}
                b',' => self.comma = true,
                b'}' | b']' if self.comma => break false,
                b'\'' | b'/' | b'T' | b'F' | b'N' | 0x0b | 0x0c => break false,
                _ => {
                    (self.comma, shown) = (false, at + 1);
                    match byte {
                        b'"' => self.in_string = true,
                        b'{' => self.depth += 1,
                        b'}' => self.depth = self.depth.saturating_sub(1),
                        _ => {}
                    }
                }
            }
            at += 1;
        };
        self.begun |= !piece.is_empty();
        self.waits = piece.len() - shown + if shown == 0 { self.waits } else { 0 };
        (shown, !is_json)
    }

    /// From here on it is no JSON: the waiting bytes are read again. Returns whether a string is
    /// open.
    pub fn end_json(&mut self) -> bool {
        (self.waits, self.escape, self.comma) = (0, 0, false);
        self.in_string
    }

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

/// Whether the character after a piece of a string is escaped, given whether the piece's first one
/// is.
fn escapes(piece: &[u8], escaped: bool) -> bool {
    let slashes = piece
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\')
        .count();
    (slashes + usize::from(escaped && slashes == piece.len())) % 2 == 1
}
