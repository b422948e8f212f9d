//! What a reader follows: captures that show, those that were taken back, and those that may be.

use super::{Frame, Kind, Machine, NONE};
use crate::peg::capture::Visible;

impl Machine {
    /// What of the captures shows now.
    pub fn visible(&self) -> Visible<'_> {
        let reach = if self.looking == NONE { self.reach } else { self.stack[self.looking as usize].pos };
        Visible { captures: &self.captures, count: self.visible_count(), reach }
    }

    pub(super) fn visible_count(&self) -> usize {
        if self.hiding == NONE { self.captures.len() } else { self.stack[self.hiding as usize].captures as usize }
    }

    /// How many of the captures are untouched since the last call.
    pub fn take_kept(&mut self) -> usize {
        std::mem::replace(&mut self.kept, self.captures.len())
    }

    /// The numbers of captures to which the run may still go back, from the highest down to `from`, and one below that if
    /// there is one. Between two calls each of them comes up a few times at most.
    pub fn restore_points(&self, from: usize) -> impl Iterator<Item = usize> {
        let mut below = false;
        let near = move |frame: &&Frame| !std::mem::replace(&mut below, (frame.captures as usize) < from);
        let counts = move |frame: &&Frame| {
            (frame.captures as usize) < from || !matches!(frame.kind, Kind::Return | Kind::Atomic)
        };
        self.stack.iter().rev().take_while(near).filter(counts).map(|frame| frame.captures as usize)
    }

    /// About how many bytes a clone takes.
    pub(super) fn held(&self) -> usize {
        size_of_val(self.stack.as_slice()) + size_of_val(self.captures.from(0))
    }

    /// Forgets captures in front of number `read`, which were read: where the run goes back behind them, others come in their
    /// place.
    pub fn forget(&mut self, read: usize) {
        self.captures.forget(read.min(self.visible_count()));
    }
}
