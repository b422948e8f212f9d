//! Finds what a run had shown just before the first byte that did not match.

use super::{Budget, Machine};

/// Bytes between two saved copies of a machine: as many as were read or as a copy takes, within bounds.
const FIRST_STRIDE: usize = 1 << 10;
const STRIDE: usize = 64 << 10;

/// A machine that can run again over the last bytes. The result depends on the bytes only, not on how they were cut.
#[derive(Clone)]
pub struct Rewindable {
    /// The current machine.
    pub machine: Machine,
    /// An earlier copy, and the position from which on the next copy is worth its cost.
    earlier: Machine,
    next_copy: usize,
    /// The position up to which the caller has read the output.
    read_to: usize,
    /// Work of other machines: of the caller's, and of replaced ones.
    work: u64,
}

impl Rewindable {
    /// Wraps a machine that has not run.
    pub fn new(machine: Machine) -> Self {
        let start = machine.start;
        Rewindable { earlier: machine.clone(), next_copy: start + FIRST_STRIDE, read_to: start, work: 0, machine }
    }

    /// Sets the budget for the rest of the run. The machine cannot run again from an earlier position than this, where a
    /// smaller budget would end the run too early.
    pub fn set_budget(&mut self, budget: Budget) {
        self.machine.set_budget(budget);
        self.copy();
    }

    /// Adds work that the owner did elsewhere.
    pub fn add_work(&mut self, work: u64) {
        self.work += work;
    }

    /// The work done so far.
    pub fn work(&self) -> u64 {
        self.work + self.machine.work()
    }

    /// The position up to which the caller has read the output.
    pub fn read_to(&self) -> usize {
        self.read_to
    }

    /// Records that the caller has read what the machine shows for the output up to `to`.
    pub fn set_read_to(&mut self, to: usize) {
        self.read_to = to;
        if to >= self.next_copy {
            self.copy();
        }
    }

    /// The same where the machine is about to go back: its caller has read what was visible in front of the byte that it
    /// looked at last.
    pub fn set_read_to_undo(&mut self) {
        self.read_to = self.read_to.max(self.machine.furthest() - 1);
    }

    #[cold]
    fn copy(&mut self) {
        self.earlier.clone_from(&self.machine);
        let stride = (self.read_to - self.machine.start).clamp(FIRST_STRIDE, STRIDE);
        self.next_copy = self.read_to + stride.max(self.machine.held());
    }

    /// To be called when the output does not match any more. Runs the machine up to the first byte that does not match, or
    /// up to the position read if that is later, and returns that position.
    pub fn rewind(&mut self, output: &[u8]) -> usize {
        let fits = self.machine.furthest().saturating_sub(1).clamp(self.read_to, output.len());
        self.work += self.machine.work();
        self.machine.clone_from(&self.earlier);
        self.machine.feed(&output[..self.read_to]);
        self.machine.take_kept();
        self.machine.feed(&output[..fits]);
        self.read_to = fits;
        fits
    }

    /// Continues with another machine, which takes over part of the work counted for this one.
    pub fn replace(&mut self, machine: Machine) {
        let work = self.work() - machine.work();
        *self = Rewindable { work, read_to: self.read_to, ..Rewindable::new(machine) };
    }
}
