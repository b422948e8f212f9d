//! Distinguishes special tokens from text that spells them out, when the host marks the tokens.
//!
//! A token that ordinary bytes spell out is text. In the machines' copy of the text, its first
//! character is replaced by one of the same length that no marker has; the rest is unchanged. Bytes
//! that may become a special token wait until the token is certain.

use std::ops::Range;

use super::special::{Begun, SpecialTokens};

/// Replacements by length in bytes, each with a second one in case it replaces itself.
const STAND_INS: [[&str; 2]; 4] = [
    ["\u{7F}", "\u{1A}"],
    ["\u{80}", "\u{81}"],
    ["\u{E000}", "\u{E001}"],
    ["\u{F0000}", "\u{F0001}"],
];

/// The special tokens of a parsed text.
#[derive(Clone)]
pub(super) struct Marks {
    pub tokens: SpecialTokens,
    /// The token that the ordinary bytes at the end may become.
    begun: Begun,
    /// The machines' copy of the text; empty while it is equal to the text.
    seen: Vec<u8>,
    /// The bytes after the checkpoint that may be a part of a special token.
    special: Option<Bits>,
}

impl Marks {
    pub fn new(tokens: &SpecialTokens) -> Self {
        Marks {
            tokens: tokens.clone(),
            begun: Begun::default(),
            seen: Vec::new(),
            special: None,
        }
    }

    /// The machines' view of `raw`, a prefix of the text.
    pub fn seen<'a>(&'a self, raw: &'a [u8]) -> &'a [u8] {
        if self.seen.is_empty() {
            raw
        } else {
            &self.seen[..raw.len()]
        }
    }

    /// The number of bytes at the end that wait.
    pub fn waiting(&self) -> usize {
        self.tokens.0.length(self.begun)
    }

    /// Ends the text, so that no byte waits. `whole`: the model has ended it, so that waiting bytes
    /// are text, not half a token.
    pub fn end(&mut self, raw: &[u8], whole: bool) {
        let open = raw.len() - self.waiting();
        if whole && open < raw.len() {
            hide(&mut self.seen, raw, open);
        }
        self.begun = Begun::default();
    }

    /// To be called after the text has grown from `from` on. `spans`: the bytes from special
    /// tokens, counted from `from`, in order and disjoint.
    pub fn extend(&mut self, raw: &[u8], from: usize, spans: &[Range<usize>]) {
        if !self.seen.is_empty() {
            // Grows by less than the text does, so that both together do not reserve four times
            // their length.
            if self.seen.capacity() < raw.len() {
                self.seen.reserve_exact(raw.len() - from + raw.len() / 4);
            }
            self.seen.extend_from_slice(&raw[from..]);
        }
        let mut at = from;
        for span in spans.iter().filter(|span| !span.is_empty()) {
            self.ordinary(raw, at..from + span.start);
            self.note(span.len(), true);
            self.begun = Begun::default();
            at = from + span.end;
        }
        self.ordinary(raw, at..raw.len());
    }

    fn ordinary(&mut self, raw: &[u8], range: Range<usize>) {
        self.note(range.len(), false);
        let Marks {
            tokens,
            begun,
            seen,
            ..
        } = self;
        *begun = tokens.0.follow(&raw[range.clone()], *begun, |end, length| {
            hide(seen, raw, range.start + end - length)
        });
    }

    fn note(&mut self, count: usize, special: bool) {
        if let Some(bits) = &mut self.special {
            bits.extend(count, special);
        }
    }

    /// Sets the checkpoint: [`Marks::rollback`] accepts any later byte.
    pub fn checkpoint(&mut self) -> Begun {
        self.special = Some(Bits::default());
        self.begun
    }

    /// Goes back to the checkpoint, where the text was `raw`. Returns the ranges of the next
    /// `length` bytes that came from special tokens.
    pub fn rollback(&mut self, mark: Begun, raw: &[u8], length: usize) -> Vec<Range<usize>> {
        let spans = self
            .special
            .replace(Bits::default())
            .map_or_else(Vec::new, |bits| bits.runs(length));
        self.begun = mark;
        if !self.seen.is_empty() {
            // The bytes that waited then wait again.
            let open = raw.len() - self.waiting();
            self.seen.truncate(open);
            self.seen.extend_from_slice(&raw[open..]);
        }
        spans
    }
}

/// Replaces the character that begins at `at`.
fn hide(seen: &mut Vec<u8>, raw: &[u8], at: usize) {
    if seen.is_empty() {
        seen.reserve_exact(raw.len() + raw.len() / 4);
        seen.extend_from_slice(raw);
    }
    let length = (raw[at].leading_ones() as usize).max(1);
    // The text may end inside a character.
    let Some(character) = seen.get_mut(at..at + length) else {
        return;
    };
    let [stand_in, other] = STAND_INS[length - 1].map(str::as_bytes);
    character.copy_from_slice(if *character == *stand_in {
        other
    } else {
        stand_in
    });
}

/// One bit for each byte.
#[derive(Clone, Default)]
struct Bits {
    words: Vec<u64>,
    length: usize,
}

impl Bits {
    fn extend(&mut self, count: usize, bit: bool) {
        for at in self.length..self.length + count {
            if at % 64 == 0 {
                self.words.push(0);
            }
            self.words[at / 64] |= u64::from(bit) << (at % 64);
        }
        self.length += count;
    }

    /// The ranges of set bits among the first `length`.
    fn runs(&self, length: usize) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in (0..length).filter(|at| self.words[at / 64] >> (at % 64) & 1 == 1) {
            match runs.last_mut() {
                Some(run) if run.end == at => run.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
        runs
    }
}
