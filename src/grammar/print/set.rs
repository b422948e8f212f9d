//! Sets of characters.

use crate::char_class::merged_ranges;
use crate::grammar::gbnf::Class;

const LAST: u32 = 0x10_FFFF;
/// Code points that are not characters.
const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);

/// Characters, as sorted, separate ranges of code points without the surrogates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Set {
    ranges: Vec<(u32, u32)>,
}

impl Set {
    /// The characters of a class, which may have any ranges.
    pub fn new(class: &Class) -> Set {
        let Class { ranges, negated } = class;
        let set = Set::of(ranges.iter().copied());
        if *negated { set.others() } else { set }
    }

    /// A single character.
    pub fn only(c: char) -> Set {
        Set { ranges: vec![(c.into(), c.into())] }
    }

    /// Some characters, or with `negated` all others.
    pub fn chars(chars: &[char], negated: bool) -> Set {
        Set::new(&Class { ranges: chars.iter().map(|&c| (c.into(), c.into())).collect(), negated })
    }

    /// The empty set.
    pub fn none() -> Set {
        Set { ranges: Vec::new() }
    }

    /// The characters of these ranges.
    pub fn of(ranges: impl IntoIterator<Item = (u32, u32)>) -> Set {
        let (low, high) = SURROGATES;
        let halves = |(from, to): (u32, u32)| [(from, to.min(low - 1)), (from.max(high + 1), to.min(LAST))];
        Set { ranges: merged_ranges(ranges.into_iter().flat_map(halves).filter(|(from, to)| from <= to).collect()) }
    }

    /// All other characters.
    pub fn others(&self) -> Set {
        let mut from = 0;
        let mut gaps = Vec::with_capacity(self.ranges.len() + 1);
        for &(low, high) in &self.ranges {
            if low > from {
                gaps.push((from, low - 1));
            }
            from = high + 1;
        }
        if from <= LAST {
            gaps.push((from, LAST));
        }
        Set::of(gaps)
    }

    /// The ranges.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Its character, if it has only one.
    pub fn single(&self) -> Option<char> {
        match self.ranges[..] {
            [(low, high)] if low == high => char::from_u32(low),
            _ => None,
        }
    }

    pub fn has(&self, c: char) -> bool {
        let c = u32::from(c);
        self.ranges.iter().any(|&(low, high)| low <= c && c <= high)
    }

    /// The ranges to print, and whether they are those of the complement, whichever is shorter.
    pub fn spelled(&self) -> (bool, Vec<(char, char)>) {
        let negated = self.ranges.last().is_some_and(|last| last.1 == LAST) && self.ranges[0] != (0, LAST);
        let others;
        let ranges = if negated {
            others = self.others();
            // Only the surrogates are excluded.
            if others.is_empty() { &[(0, LAST)][..] } else { &others.ranges }
        } else {
            &self.ranges
        };
        let negated = negated && ranges != [(0, LAST)];
        let chars = ranges.iter().filter_map(|&(low, high)| Some((char::from_u32(low)?, char::from_u32(high)?)));
        (negated, chars.collect())
    }

    /// The first bytes of its characters.
    pub fn first_bytes(&self) -> Bytes {
        let mut bytes = Bytes::default();
        for &(low, high) in &self.ranges {
            bytes.add(first_byte(low), first_byte(high));
        }
        bytes
    }
}

/// The first byte of a character as UTF-8.
fn first_byte(code: u32) -> u8 {
    let (lead, shift) = match code {
        0..=0x7F => (0, 0),
        0x80..=0x7FF => (0xC0, 6),
        0x800..=0xFFFF => (0xE0, 12),
        _ => (0xF0, 18),
    };
    lead | (code >> shift) as u8
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Bytes([u64; 4]);

impl Bytes {
    fn add(&mut self, low: u8, high: u8) {
        for byte in low..=high {
            self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
    }

    pub fn join(&mut self, other: Bytes) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }

    pub fn meets(&self, other: Bytes) -> bool {
        self.0.iter().zip(other.0).any(|(one, two)| one & two != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(u32, u32)], negated: bool) -> Set {
        Set::new(&Class { ranges: ranges.to_vec(), negated })
    }

    #[test]
    fn sets() {
        assert_eq!(set(&[(98, 99), (97, 97), (120, 3)], false).ranges(), [(97, 99)]);
        assert_eq!(set(&[], true).ranges(), [(0, 0xD7FF), (0xE000, LAST)]);
        assert_eq!(set(&[(0, u32::MAX)], true), Set::none());
        let quote = Set::chars(&['"'], true);
        assert!(quote.has('a') && quote.has('\u{10FFFF}') && !quote.has('"'));
        assert_eq!(quote.spelled(), (true, vec![('"', '"')]));
        assert_eq!(set(&[], true).spelled(), (false, vec![('\0', '\u{10FFFF}')]));
        assert_eq!(Set::only('x').single(), Some('x'));
        assert_eq!(quote.others().others(), quote);
    }

    #[test]
    fn first_bytes() {
        for c in ['a', '\u{80}', 'é', '\u{7FF}', '\u{800}', '世', '\u{FFFF}', '😀', '\u{10FFFF}'] {
            let mut buffer = [0; 4];
            assert_eq!(first_byte(c.into()), c.encode_utf8(&mut buffer).as_bytes()[0], "{c:?}");
        }
        assert!(Set::only('é').first_bytes().meets(Set::only('è').first_bytes()));
        assert!(!Set::chars(&['a'], true).first_bytes().meets(Set::only('a').first_bytes()));
    }
}
