//! The instructions that read more than one byte at a time: characters, the inside of strings, text up to a marker.

use super::{Edge, Flow, Machine};
use crate::peg::program::Program;
use crate::peg::until::Found;
use crate::peg::utf8::{Decoded, decode, incomplete_tail};

impl Machine {
    pub(super) fn character(&mut self) -> Decoded {
        let decoded = decode(&self.output[self.pos..]);
        if let Decoded::Char(_, length) | Decoded::Broken(length) = decoded {
            self.examine(self.pos + length);
        }
        decoded
    }

    pub(super) fn string_body(&mut self, ends: [u8; 2], edge: Edge) -> Flow {
        let len = self.output.len();
        while let Some(found) = memchr::memchr3(ends[0], ends[1], b'\\', &self.output[self.pos..]) {
            self.steps += 1;
            self.pos += found;
            if ends.contains(&self.output[self.pos]) {
                self.examine(self.pos + 1);
                self.ip += 1;
                return Flow::Go;
            }
            let escape = &self.output[self.pos + 1..];
            let length = match escape {
                [] => None,
                [b'u', digits @ ..] => {
                    let digits = &digits[..digits.len().min(4)];
                    if let Some(bad) = digits.iter().position(|digit| !digit.is_ascii_hexdigit()) {
                        self.examine(self.pos + 3 + bad);
                        return Flow::Fail;
                    }
                    (digits.len() == 4).then_some(6)
                }
                [b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(2),
                [other, ..] if *other == ends[0] => Some(2),
                _ => {
                    self.examine(self.pos + 2);
                    return Flow::Fail;
                }
            };
            match length {
                Some(length) => self.pos += length,
                None => return if edge == Edge::Final { Flow::Fail } else { Flow::Wait(self.pos) },
            }
        }
        if edge == Edge::Final {
            return Flow::Fail;
        }
        self.pos = self.pos.max(len - incomplete_tail(&self.output[self.pos..]));
        Flow::Wait(self.pos)
    }

    pub(super) fn until(&mut self, program: &Program, index: u32, edge: Edge) -> Flow {
        let len = self.output.len();
        let from = self.pos;
        match program.markers[index as usize].find(&self.output, from) {
            Found::Whole(start, end) => {
                self.pos = start;
                self.examine(end);
            }
            Found::Half(start) => match edge {
                Edge::Open => {
                    self.pos = start;
                    return Flow::Wait(start);
                }
                Edge::Cut => self.pos = start,
                Edge::Final => self.pos = len,
            },
            Found::Nothing if edge == Edge::Final => self.pos = len,
            Found::Nothing => {
                self.pos = len - incomplete_tail(&self.output[from..]);
                return Flow::Wait(self.pos);
            }
        }
        self.steps += ((self.pos - from) / 8) as u64;
        self.ip += 1;
        Flow::Go
    }
}
