//! The instruction that decides between many alternatives with one pass over the next bytes.

use super::{Eof, Flow, Kind, Machine};
use crate::select::Found;

impl Machine {
    /// Enters the first alternative that the output does not rule out, beginning with the one after
    /// this instruction.
    pub(super) fn select(&mut self, output: &[u8], index: u32, eof: Eof) -> Flow {
        let table = &self.program.selects[index as usize];
        let from = table.heads.partition_point(|head| *head < self.ip) as u32;
        let mut walk = self.walk.take().unwrap_or_default();
        let found = table.find(&output[self.pos..], from, &mut walk);
        let (first, others) = match found {
            Found::Choice {
                first,
                others,
                looked,
            } => {
                if looked > 0 {
                    self.examine_to(self.pos + looked, self.pos + looked - 1);
                }
                (first, others)
            }
            Found::Missing { .. } if eof == Eof::NeedMore => {
                self.walk = Some(walk);
                return Flow::Wait(output.len());
            }
            Found::Missing { first, others } if eof == Eof::Truncated => (first, others),
            // Each alternative finds out itself that the byte is missing.
            Found::Missing { .. } => {
                if self.pos < output.len() {
                    self.examine(self.pos + 1);
                }
                (from, true)
            }
        };
        self.work += walk.matched as u64;
        self.enter(output, index, first, others)
    }

    /// Enters an alternative and pushes the remaining ones. If none remains, the frame is marked so
    /// that a failure passes through it.
    fn enter(&mut self, output: &[u8], index: u32, first: u32, others: bool) -> Flow {
        let table = &self.program.selects[index as usize];
        let rest = table
            .rest
            .filter(|rest| self.may_be_later(output, rest.begin))
            .map(|rest| rest.at);
        let Some(&head) = table.heads.get(first as usize) else {
            self.ip = rest.unwrap_or(self.ip);
            return if rest.is_some() { Flow::Go } else { Flow::Fail };
        };
        let next = table.heads.get(first as usize + 1).copied();
        let last = next.is_none() && table.rest.is_none();
        match next.filter(|_| others).or(rest) {
            Some(other) => self.push(Kind::Choice, other),
            None if last => {}
            None => self.push(Kind::Return, head),
        }
        self.ip = head + 1;
        Flow::Go
    }
}
