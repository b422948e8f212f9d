//! The instructions that read more than one byte: characters, the inside of strings, text up to a
//! marker.

use super::{Eof, Flow, Machine};
use crate::find::{find2, find3};
use crate::program::Op;
use crate::until::Found;
use crate::utf8::{Decoded, decode, incomplete_tail};

/// The bytes that may follow a backslash, except `u` and the string's delimiter. A table, because
/// branches would often be mispredicted.
const ESCAPED: [bool; 256] = {
    let mut table = [false; 256];
    let mut rest: &[u8] = b"\\/bfnrt";
    while let [first, others @ ..] = rest {
        table[*first as usize] = true;
        rest = others;
    }
    table
};

impl Machine {
    /// Most pieces of an output are text, and one instruction passes over all of it. This handles
    /// that case without the setup of a longer run.
    pub(super) fn resume(&mut self, output: &[u8]) {
        let from = self.pos;
        let flow = match self.program.ops[self.ip as usize] {
            Op::StringBody(delimiter, other) => {
                self.string_body(output, [delimiter, other], Eof::NeedMore)
            }
            Op::Until(index) => self.until(output, index, Eof::NeedMore),
            _ => return self.run(output, Eof::NeedMore),
        };
        if self.follow(flow, from, output, Eof::NeedMore) {
            self.run(output, Eof::NeedMore);
        }
    }

    pub(super) fn character(&mut self, output: &[u8]) -> Decoded {
        let decoded = decode(&output[self.pos..]);
        match decoded {
            Decoded::Char(_, length) => self.examine(self.pos + length),
            // The byte after half a character breaks it.
            Decoded::Broken(length) => {
                let half = incomplete_tail(&output[self.pos..self.pos + length]) > 0;
                self.examine(self.pos + length + usize::from(half));
            }
            Decoded::Incomplete => {}
        }
        decoded
    }

    pub(super) fn string_body(&mut self, output: &[u8], ends: [u8; 2], eof: Eof) -> Flow {
        while let Some(found) = string_stop(ends, &output[self.pos..]) {
            self.pos += found;
            if ends.contains(&output[self.pos]) {
                self.examine(self.pos + 1);
                self.ip += 1;
                return Flow::Go;
            }
            let length = match output.get(self.pos + 1) {
                Some(b'u') => {
                    let digits = &output[self.pos + 2..];
                    let digits = &digits[..digits.len().min(4)];
                    if let Some(bad) = digits.iter().position(|digit| !digit.is_ascii_hexdigit()) {
                        self.examine(self.pos + 3 + bad);
                        self.ip += 1;
                        return Flow::Go;
                    }
                    if digits.len() == 4 { 6 } else { 0 }
                }
                Some(other) if ESCAPED[usize::from(*other)] | (*other == ends[0]) => 2,
                Some(_) => {
                    self.examine(self.pos + 2);
                    self.ip += 1;
                    return Flow::Go;
                }
                None => 0,
            };
            if length == 0 {
                return if eof == Eof::End {
                    Flow::Fail
                } else {
                    Flow::Wait(self.pos)
                };
            }
            self.pos += length;
            self.work += 1;
        }
        if eof == Eof::End {
            return Flow::Fail;
        }
        self.pos = output.len() - incomplete_tail(&output[self.pos..]);
        Flow::Wait(self.pos)
    }

    pub(super) fn until(&mut self, output: &[u8], index: u32, eof: Eof) -> Flow {
        let len = output.len();
        let from = self.pos;
        let markers = u64::from(self.part) << 32 | u64::from(index);
        // Earlier instructions may have searched this text for the same markers.
        if from + LONG_SEARCH < self.furthest
            && let Some(to) = self.searches.known(markers, from)
        {
            self.pos = to;
            // Nothing was scanned again.
            self.work -= (to - from) as u64;
            self.ip += 1;
            return Flow::Go;
        }
        let mut refuted = None;
        let found = self.program.markers[index as usize].find(output, from, &mut refuted);
        let to = match found {
            Found::Whole(start, end) => {
                // In pieces, this was waited for.
                if let Some((end, start)) = refuted {
                    self.examine_to(end, start);
                }
                self.examine_to(end, start.min(end.saturating_sub(1)));
                start
            }
            Found::Half(start) if eof != Eof::End => start,
            Found::Nothing if eof != Eof::End => len - incomplete_tail(&output[from..]),
            Found::Half(_) | Found::Nothing => len,
        };
        self.pos = to;
        let waits = match found {
            Found::Half(_) => eof == Eof::NeedMore,
            Found::Nothing => eof != Eof::End,
            Found::Whole(..) => false,
        };
        let begun = self.searches.begun.take().unwrap_or(from);
        if waits {
            self.searches.begun = Some(begun);
            return Flow::Wait(to);
        }
        self.searches.note(markers, begun, to);
        self.ip += 1;
        Flow::Go
    }
}

/// The first delimiter or backslash.
#[inline(always)]
fn string_stop([end, other]: [u8; 2], text: &[u8]) -> Option<usize> {
    if end == other {
        find2([end, b'\\'], text)
    } else {
        find3([end, other, b'\\'], text)
    }
}

/// The number of bytes from which on a search is remembered.
const LONG_SEARCH: usize = 64;

/// Where the last long searches for markers ended. Without it, each unfinished call would search
/// the same text again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Searches {
    /// For each: the markers, where the search began, and the end of the text without any of them.
    last: [(u64, usize, usize); 8],
    next: usize,
    /// Where the search began that is waiting for more output.
    pub begun: Option<usize>,
}

impl Searches {
    fn known(&self, markers: u64, from: usize) -> Option<usize> {
        let mut last = self.last.iter();
        last.find(|search| search.0 == markers && (search.1..search.2).contains(&from))
            .map(|search| search.2)
    }

    fn note(&mut self, markers: u64, from: usize, to: usize) {
        if to - from >= LONG_SEARCH {
            let same = self.last.iter().position(|search| search.0 == markers);
            self.last[same.unwrap_or(self.next)] = (markers, from, to);
            if same.is_none() {
                self.next = (self.next + 1) % self.last.len();
            }
        }
    }
}
