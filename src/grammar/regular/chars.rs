//! Sets of characters, with set operations.

use crate::char_class::merged_ranges;

/// Inclusive ranges of code points, sorted, with gaps between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::grammar) struct Chars(Vec<(u32, u32)>);

const LAST: u32 = char::MAX as u32;

impl Chars {
    /// Every character.
    pub fn all() -> Chars {
        Chars(vec![(0, LAST)])
    }

    pub fn one(c: char) -> Chars {
        Chars(vec![(c.into(), c.into())])
    }

    pub fn of(ranges: impl IntoIterator<Item = (char, char)>) -> Chars {
        Chars::of_codes(ranges.into_iter().map(|(low, high)| (low.into(), high.into())))
    }

    /// The set of these ranges, in any order.
    pub fn of_codes(ranges: impl IntoIterator<Item = (u32, u32)>) -> Chars {
        Chars(merged_ranges(ranges.into_iter().collect()))
    }

    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.0
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
        Chars(gaps)
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
        assert_eq!(letters.and(&Chars::of([('k', 'y')])), Chars::of([('k', 'k'), ('x', 'y')]));
        assert!(letters.has('k') && !letters.has('l') && letters.has_all(&Chars::one('y')));
        assert_eq!(letters.without(&Chars::of([('b', 'z')])).single(), Some('a'));
    }
}
