//! The instruction that skips an alternative if it cannot begin with the next byte.

use super::{Eof, Flow, Kind, Machine};
use crate::utf8::Decoded;

impl Machine {
    /// Whether an expression with these first bytes may begin here. `None` if the next byte is
    /// missing.
    pub(super) fn may_begin(&mut self, output: &[u8], begin: u32) -> Option<bool> {
        let byte = *output.get(self.pos)?;
        let begin = &self.program.begins[begin as usize];
        let (may, wide) = (begin.bytes.contains(byte), begin.wide);
        self.examine(self.pos + 1);
        if may || !wide || byte.is_ascii() || self.character(output) != Decoded::Incomplete {
            Some(may)
        } else {
            None
        }
    }

    /// Whether later alternatives must be tried if this one fails.
    pub(super) fn may_be_later(&self, output: &[u8], later: u32) -> bool {
        output
            .get(self.pos)
            .is_none_or(|&byte| self.program.begins[later as usize].bytes.contains(byte))
    }

    /// Enters an alternative or skips it. If no other remains, the frame is marked so that a
    /// failure passes through it.
    pub(super) fn test(&mut self, output: &[u8], index: u32, eof: Eof) -> Flow {
        let test = self.program.tests[index as usize];
        let others = |machine: &Machine| machine.may_be_later(output, test.later);
        match self.may_begin(output, test.begin) {
            None if eof == Eof::NeedMore => return Flow::Wait(self.pos),
            Some(false) if !others(self) => return Flow::Fail,
            Some(false) => {
                self.ip = test.other;
                return Flow::Go;
            }
            Some(true) if !others(self) => self.push(Kind::Return, test.other),
            _ => self.push(Kind::Choice, test.other),
        }
        self.ip += 1;
        Flow::Go
    }
}
