//! The capture log: where tagged regions begin and end, in the order of the output.

use super::expr::TagId;

/// The beginning or the end of a tagged region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The tag of the region.
    pub tag: TagId,
    /// Position in the output, in bytes.
    pub pos: usize,
    /// True at the beginning of the region, false at its end.
    pub opens: bool,
}

/// Numbered captures. The first ones may have been dropped.
#[derive(Clone, Debug, Default)]
pub struct CaptureLog {
    entries: Vec<Capture>,
    /// The number of the first entry that is kept.
    base: usize,
}

impl CaptureLog {
    /// One more than the highest number.
    pub fn len(&self) -> usize {
        self.base + self.entries.len()
    }

    /// The captures from this number on.
    pub fn from(&self, number: usize) -> &[Capture] {
        self.entries
            .get(number.saturating_sub(self.base)..)
            .unwrap_or_default()
    }

    /// Appends a capture.
    pub(super) fn push(&mut self, capture: Capture) {
        self.entries.push(capture);
    }

    /// Removes all captures from this number on, including dropped ones.
    pub(super) fn truncate(&mut self, number: usize) {
        self.entries.truncate(number.saturating_sub(self.base));
        self.base = self.base.min(number);
    }

    /// Drops the captures before this number. Waits until there are many, because the
    /// remaining entries move each time.
    pub(super) fn forget(&mut self, number: usize) {
        const WORTH_MOVING: usize = 32;
        let gone = number.saturating_sub(self.base);
        if gone >= WORTH_MOVING && gone >= self.entries.len() / 2 {
            self.entries.drain(..gone);
            self.base = number;
        }
    }
}

/// The part of a running parse that a caller may use already.
#[derive(Clone, Copy, Debug)]
pub struct Visible<'a> {
    pub(super) captures: &'a CaptureLog,
    /// The number of visible captures.
    pub count: usize,
    /// The position up to which the open regions reach.
    pub end: usize,
}

impl<'a> Visible<'a> {
    /// The visible captures from this number on.
    pub fn from(&self, number: usize) -> &'a [Capture] {
        let captures = self.captures.from(number);
        &captures[..self.count.saturating_sub(number).min(captures.len())]
    }

    /// The captures that are not visible, because the machine may still take them back.
    pub fn hidden(&self) -> &'a [Capture] {
        self.captures.from(self.count)
    }
}
