//! Sets of characters, with set operations.

use std::ops::RangeInclusive;

use crate::bytes::Bytes;

/// Inclusive ranges of code points, sorted, with at least one character between two of them. Each
/// range begins and ends with a character. Surrogates do not count: a range may include them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Chars(Vec<(u32, u32)>);

const LAST: u32 = char::MAX as u32;
/// Code points that are not characters.
const SURROGATES: RangeInclusive<u32> = 0xD800..=0xDFFF;

/// Whether no character is between the code points `low` and `high`.
pub fn are_adjacent(low: u32, high: u32) -> bool {
    high == low.saturating_add(1) || (low + 1..=high - 1) == SURROGATES
}

impl Chars {
    /// Every character.
    pub fn all() -> Chars {
        Chars(vec![(0, LAST)])
    }

    pub fn one(c: char) -> Chars {
        Chars(vec![(c.into(), c.into())])
    }

    pub fn of(ranges: impl IntoIterator<Item = (char, char)>) -> Chars {
        Chars::of_codes(
            ranges
                .into_iter()
                .map(|(low, high)| (low.into(), high.into())),
        )
    }

    /// The set of these characters.
    pub fn each(chars: impl IntoIterator<Item = char>) -> Chars {
        Chars::of(chars.into_iter().map(|c| (c, c)))
    }

    /// The set of these ranges, in any order. A range without a character adds nothing.
    pub fn of_codes(ranges: impl IntoIterator<Item = (u32, u32)>) -> Chars {
        let mut kept = Vec::new();
        for (mut low, mut high) in ranges {
            if SURROGATES.contains(&low) {
                low = SURROGATES.end() + 1;
            }
            if SURROGATES.contains(&high) {
                high = SURROGATES.start() - 1;
            }
            if low <= high.min(LAST) {
                kept.push((low, high.min(LAST)));
            }
        }
        kept.sort_unstable();
        kept.dedup_by(|next, last| {
            let goes_on = next.0 <= last.1 || are_adjacent(last.1, next.0);
            if goes_on {
                last.1 = last.1.max(next.1);
            }
            goes_on
        });
        Chars(kept)
    }

    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    fn as_chars(&self) -> impl Iterator<Item = (char, char)> {
        self.0
            .iter()
            .filter_map(|&(low, high)| Some((char::from_u32(low)?, char::from_u32(high)?)))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, c: char) -> bool {
        let code = u32::from(c);
        let at = self.0.partition_point(|(_, high)| *high < code);
        self.0.get(at).is_some_and(|(low, _)| *low <= code)
    }

    /// Whether `other` is a subset.
    pub fn has_all(&self, other: &Chars) -> bool {
        other.without(self).is_empty()
    }

    pub fn or(&self, other: &Chars) -> Chars {
        Chars::of_codes(self.0.iter().chain(&other.0).copied())
    }

    pub fn negated(&self) -> Chars {
        let mut gaps = Vec::with_capacity(self.0.len() + 1);
        let mut next = 0;
        for &(low, high) in &self.0 {
            if next < low {
                gaps.push((next, low - 1));
            }
            next = high + 1;
        }
        if next <= LAST {
            gaps.push((next, LAST));
        }
        Chars::of_codes(gaps)
    }

    pub fn without(&self, other: &Chars) -> Chars {
        self.and(&other.negated())
    }

    pub fn and(&self, other: &Chars) -> Chars {
        let mut both = Vec::new();
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let (low, high) = (x.0.max(y.0), x.1.min(y.1));
            if low <= high {
                both.push((low, high));
            }
            if x.1 < y.1 {
                a.next()
            } else {
                b.next()
            };
        }
        Chars(both)
    }

    /// The first bytes of its characters.
    pub fn heads(&self) -> Bytes {
        self.as_chars()
            .map(|(low, high)| Bytes::heads(low, high))
            .collect()
    }

    /// The ranges to print, and whether they are the complement's: the shorter of the two. The set
    /// of all characters is one range.
    pub fn spelled(&self) -> (bool, Vec<(char, char)>) {
        let negated = self.0.last().is_some_and(|last| last.1 == LAST) && self.0[0] != (0, LAST);
        let shown = if negated { &self.negated() } else { self };
        (negated, shown.as_chars().collect())
    }

    /// Its character, if it has only one.
    pub fn single(&self) -> Option<char> {
        match self.0[..] {
            [(low, high)] if low == high => char::from_u32(low),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let letters = Chars::of([('a', 'f'), ('x', 'z'), ('d', 'h'), ('i', 'k')]);
        assert_eq!(letters, Chars::of([('a', 'k'), ('x', 'z')]));
        assert_eq!(letters.negated().negated(), letters);
        assert_eq!(Chars::all().negated(), Chars::default());
        assert_eq!(
            letters.and(&Chars::of([('k', 'y')])),
            Chars::of([('k', 'k'), ('x', 'y')])
        );
        assert!(letters.has('k') && !letters.has('l') && letters.has_all(&Chars::one('y')));
        assert_eq!(
            letters.without(&Chars::of([('b', 'z')])).single(),
            Some('a')
        );
        assert_eq!(
            Chars::of_codes([(98, 99), (97, 97), (120, 3), (0xD900, 0xDA00)]).ranges(),
            [(97, 99)]
        );
        assert_eq!(
            Chars::of_codes([(0, 0xD7FF), (0xE000, u32::MAX)]),
            Chars::all()
        );
        assert_eq!(
            Chars::of_codes([(0, 0xD7FF)]).negated().ranges(),
            [(0xE000, LAST)]
        );
        let quote = Chars::one('"').negated();
        assert!(quote.has('a') && quote.has('\u{10FFFF}') && !quote.has('"'));
        assert_eq!(quote.spelled(), (true, vec![('"', '"')]));
        assert_eq!(Chars::all().spelled(), (false, vec![('\0', '\u{10FFFF}')]));
    }
}
