//! The budget of work of a run, which bounds its time.

use super::Machine;
use crate::program::Program;
use chatparse_base::limits;

/// The work that a run may do: a fixed amount, and an amount for each byte that it has looked at.
/// The units are instructions, bytes passed and captures taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The fixed amount.
    pub base: u64,
    /// The amount for each byte.
    pub per_byte: u64,
}

impl Budget {
    /// So much for the whole run, and so much for each byte.
    pub fn new(base: u64, per_byte: u64) -> Self {
        Budget { base, per_byte }
    }
}

impl Program {
    /// The default budget of a run. It grows with the widest choice, because the machine may try
    /// each alternative.
    pub fn budget(&self) -> Budget {
        let per_byte = limits::PARSE_WORK_PER_BYTE
            + limits::PARSE_WORK_PER_ALTERNATIVE * u64::from(self.widest);
        Budget {
            base: limits::PARSE_WORK_BASE,
            per_byte,
        }
    }
}

impl Machine {
    /// Sets the budget, and how much work counts as done.
    pub fn with_budget(self, budget: Budget, work: u64) -> Self {
        Machine {
            budget,
            work,
            ..self
        }
    }

    /// Sets the budget for the rest of the run.
    pub fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// How much of the fixed amount is used.
    pub fn overdraft(&self) -> u64 {
        let bytes = (self.furthest - self.start) as u64;
        self.work
            .saturating_sub(self.budget.per_byte.saturating_mul(bytes))
    }

    /// The work done so far: see [`Budget`].
    pub fn work(&self) -> u64 {
        self.work
    }
}
