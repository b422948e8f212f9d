//! The captures for a reader: the visible ones, the ones that were taken back, and the ones that
//! may be.

use super::{Kind, Machine, NONE, State};
use crate::capture::Visible;

impl Machine {
    /// The captures that are visible now. If the run is about to go back, or has ended: the
    /// captures that were visible while the furthest byte was missing.
    pub fn visible(&self) -> Visible<'_> {
        let over = matches!(self.state, State::Undoing | State::Failed | State::Limit);
        if let Some((count, end)) = self.shown.filter(|_| over) {
            return Visible {
                captures: &self.captures,
                count,
                end,
            };
        }
        let end = if self.looking == NONE {
            self.visible_end
        } else {
            self.stack[self.looking as usize].pos
        };
        Visible {
            captures: &self.captures,
            count: self.visible_count(),
            end,
        }
    }

    pub(super) fn visible_count(&self) -> usize {
        if self.hiding == NONE {
            self.captures.len()
        } else {
            self.stack[self.hiding as usize].captures as usize
        }
    }

    /// The number of captures that are unchanged since the last call.
    pub fn take_kept(&mut self) -> usize {
        std::mem::replace(&mut self.kept, self.captures.len())
    }

    /// The numbers of captures to which the run may still go back: from the highest down to `from`,
    /// and the next lower one if there is one. Between two calls each number occurs a few times at
    /// most.
    pub fn restore_points(&self, from: usize) -> impl Iterator<Item = usize> {
        let mut is_below = false;
        let frames = self.stack.iter().rev().take_while(move |frame| {
            !std::mem::replace(&mut is_below, (frame.captures as usize) < from)
        });
        frames
            .filter(move |frame| {
                (frame.captures as usize) < from
                    || !matches!(frame.kind, Kind::Return | Kind::Atomic)
            })
            .map(|frame| frame.captures as usize)
    }

    /// Whether a run that has ended still has the captures that were visible, because it has not
    /// gone back past them.
    pub fn has_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Drops the captures before number `read`. If the run goes back past them, it numbers the new
    /// ones from there.
    pub fn forget(&mut self, read: usize) {
        self.captures.forget(read.min(self.visible_count()));
    }
}
