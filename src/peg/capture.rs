//! The capture log: where tagged regions begin and end, in the order of the output.

use super::expr::TagId;

/// One end of a tagged region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Whose region.
    pub tag: TagId,
    /// Position in the output.
    pub pos: usize,
    /// Begin or end.
    pub opens: bool,
}

/// Captures by number, of which the first ones may be forgotten.
#[derive(Debug, Default)]
pub(super) struct CaptureLog {
    entries: Vec<Capture>,
    /// The number of the first entry.
    base: usize,
}

impl Clone for CaptureLog {
    fn clone(&self) -> Self {
        CaptureLog { entries: self.entries.clone(), ..*self }
    }

    /// Takes the memory that is there.
    fn clone_from(&mut self, other: &Self) {
        self.entries.clone_from(&other.entries);
        self.base = other.base;
    }
}

impl CaptureLog {
    /// One more than the highest number.
    pub fn len(&self) -> usize {
        self.base + self.entries.len()
    }

    /// Those from this number on.
    pub fn from(&self, number: usize) -> &[Capture] {
        self.entries.get(number.saturating_sub(self.base)..).unwrap_or_default()
    }

    /// Adds one.
    pub(super) fn push(&mut self, capture: Capture) {
        self.entries.push(capture);
    }

    /// Takes back all from this number on, also those that are forgotten.
    pub(super) fn truncate(&mut self, number: usize) {
        self.entries.truncate(number.saturating_sub(self.base));
        self.base = self.base.min(number);
    }

    /// Forgets those in front of this number, once there are enough of them: entries move once for each that is dropped.
    pub(super) fn forget(&mut self, number: usize) {
        const WORTH_MOVING: usize = 32;
        let gone = number.saturating_sub(self.base);
        if gone >= WORTH_MOVING && gone >= self.entries.len() / 2 {
            self.entries.drain(..gone);
            self.base = number;
        }
    }
}

/// What of a running parse may be shown.
#[derive(Clone, Copy, Debug)]
pub struct Visible<'a> {
    pub(super) captures: &'a CaptureLog,
    /// How many captures show.
    pub count: usize,
    /// How far the regions reach that are still open.
    pub reach: usize,
}

impl<'a> Visible<'a> {
    /// The captures that show, from this number on.
    pub fn from(&self, number: usize) -> &'a [Capture] {
        let captures = self.captures.from(number);
        &captures[..self.count.saturating_sub(number).min(captures.len())]
    }

    /// The captures that do not show: nothing is certain of them yet.
    pub fn hidden(&self) -> &'a [Capture] {
        self.captures.from(self.count)
    }
}
