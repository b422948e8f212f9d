//! What a reader of the captures needs: the visible ones, those taken back, and those that may be taken back.

use super::{Frame, Kind, Machine, NONE, State};
use crate::capture::Visible;

impl Machine {
    /// The captures that are visible now.
    pub fn visible(&self) -> Visible<'_> {
        if self.state == State::Undoing {
            return Visible { captures: &self.captures, count: self.shown, end: self.shown_end };
        }
        let end = if self.looking == NONE { self.visible_end } else { self.stack[self.looking as usize].pos };
        Visible { captures: &self.captures, count: self.visible_count(), end }
    }

    pub(super) fn visible_count(&self) -> usize {
        if self.hiding == NONE { self.captures.len() } else { self.stack[self.hiding as usize].captures as usize }
    }

    /// The number of captures that are unchanged since the last call.
    pub fn take_kept(&mut self) -> usize {
        std::mem::replace(&mut self.kept, self.captures.len())
    }

    /// The numbers of captures to which the run may still go back: from the highest down to `from`, and the next lower one
    /// if there is one. Between two calls each number occurs a few times at most.
    pub fn restore_points(&self, from: usize) -> impl Iterator<Item = usize> {
        let mut below = false;
        let near = move |frame: &&Frame| !std::mem::replace(&mut below, (frame.captures as usize) < from);
        let counts = move |frame: &&Frame| {
            (frame.captures as usize) < from || !matches!(frame.kind, Kind::Return | Kind::Atomic)
        };
        self.stack.iter().rev().take_while(near).filter(counts).map(|frame| frame.captures as usize)
    }

    /// Approximate size of a clone in bytes.
    pub(super) fn held(&self) -> usize {
        size_of_val(self.stack.as_slice()) + size_of_val(self.captures.from(0))
    }

    /// Drops the captures in front of number `read`. If the run goes back behind them, it numbers the new ones from there.
    pub fn forget(&mut self, read: usize) {
        self.captures.forget(read.min(self.visible_count()));
    }
}
