//! How much work a run may take.

use super::Machine;
use crate::limits;
use crate::peg::program::Program;

/// How much work a run may take: a fixed amount, and some for each byte that it has looked at. The units are instructions,
/// bytes moved over and captures taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// For the whole run.
    pub base: u64,
    /// For each byte.
    pub per_byte: u64,
}

impl Budget {
    /// So much for the whole run, and so much for each byte.
    pub fn new(base: u64, per_byte: u64) -> Self {
        Budget { base, per_byte }
    }

    fn for_bytes(self, bytes: usize) -> u64 {
        self.per_byte.saturating_mul(bytes as u64)
    }
}

impl Program {
    /// What a run may take unless somebody says otherwise: more where a choice has more alternatives, as each may be tried.
    pub fn budget(&self) -> Budget {
        let per_byte = limits::PARSE_WORK_PER_BYTE + limits::PARSE_WORK_PER_ALTERNATIVE * u64::from(self.widest);
        Budget { base: limits::PARSE_WORK_BASE, per_byte }
    }
}

impl Machine {
    /// The same run with another budget, of which this much is used.
    pub fn with_budget(self, budget: Budget, work: u64) -> Self {
        Machine { budget, work, ..self }
    }

    /// Gives the run another budget from here on.
    pub fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// The budget of the run.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// How much of the budget's fixed amount is used up.
    pub fn overdraft(&self) -> u64 {
        self.work.saturating_sub(self.budget.for_bytes(self.examined - self.start))
    }

    /// The work that the run has taken: see [`Budget`].
    pub fn work(&self) -> u64 {
        self.work
    }
}
