//! Going back a little way: what a run showed just before the byte that did not fit.

use super::{Budget, Machine};

/// Bytes between two copies of a machine: as many as were read, within bounds, and as a copy takes.
const FIRST_STRIDE: usize = 1 << 10;
const STRIDE: usize = 64 << 10;

/// A machine that can be run once more over the last bytes. What it shows then is a function of the bytes, not of how they were cut.
#[derive(Clone)]
pub struct Rewindable {
    /// The machine as it is now.
    pub machine: Machine,
    /// As it was some time ago, and from which byte on it is worth to be copied again.
    earlier: Machine,
    next_copy: usize,
    /// How far the output was read.
    read_to: usize,
    /// Work of others, and of machines that are gone.
    work: u64,
}

impl Rewindable {
    /// A machine that has not run.
    pub fn new(machine: Machine) -> Self {
        let start = machine.start;
        Rewindable { earlier: machine.clone(), next_copy: start + FIRST_STRIDE, read_to: start, work: 0, machine }
    }

    /// Another budget from here on. The machine is run again from here at the earliest: from further back, a smaller budget would
    /// end the run before it is here.
    pub fn set_budget(&mut self, budget: Budget) {
        self.machine.set_budget(budget);
        self.copy();
    }

    /// Counts work of something else that the machine's owner ran.
    pub fn add_work(&mut self, work: u64) {
        self.work += work;
    }

    /// Work so far.
    pub fn work(&self) -> u64 {
        self.work + self.machine.work()
    }

    /// How far the output was read.
    pub fn read_to(&self) -> usize {
        self.read_to
    }

    /// What the machine shows was read, where the output reaches up to `to`.
    pub fn set_read_to(&mut self, to: usize) {
        self.read_to = to;
        if to >= self.next_copy {
            self.copy();
        }
    }

    #[cold]
    fn copy(&mut self) {
        self.earlier.clone_from(&self.machine);
        let stride = (self.read_to - self.machine.start).clamp(FIRST_STRIDE, STRIDE);
        self.next_copy = self.read_to + stride.max(self.machine.held());
    }

    /// The output does not match any more: runs the machine up to the first byte that does not fit, or up to where the output was
    /// read if that is behind it. Gives that position.
    pub fn rewind(&mut self, output: &[u8]) -> usize {
        let fits = self.machine.examined().saturating_sub(1).clamp(self.read_to, output.len());
        self.work += self.machine.work();
        self.machine.clone_from(&self.earlier);
        self.machine.feed(&output[..self.read_to]);
        self.machine.take_kept();
        self.machine.feed(&output[..fits]);
        self.read_to = fits;
        fits
    }

    /// Goes on with another machine, which begins with some of the work of this one.
    pub fn replace(&mut self, machine: Machine) {
        let work = self.work() - machine.work();
        *self = Rewindable { work, read_to: self.read_to, ..Rewindable::new(machine) };
    }
}
