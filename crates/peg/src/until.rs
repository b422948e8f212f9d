//! Finds the first of several markers in a text, or the half marker at the end of the available
//! text.

use std::sync::OnceLock;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::expr::texts_bytes;
use super::find::{find, find2, find3};
use super::marker;
use chatparse_base::bytes::Bytes;

/// A set of markers to stop before. The search for them is built on first use: most outputs need a
/// few of a format's sets.
#[derive(Clone, Debug)]
pub struct Markers {
    texts: Vec<SmolStr>,
    /// Their white space may differ.
    spaced: bool,
    search: OnceLock<Search>,
}

impl PartialEq for Markers {
    fn eq(&self, other: &Markers) -> bool {
        (&self.texts, self.spaced) == (&other.texts, other.spaced)
    }
}

impl Markers {
    /// Empty markers never match. `spaced`: their white space may differ.
    pub fn new(texts: &[SmolStr], spaced: bool) -> Self {
        Markers {
            texts: texts.to_vec(),
            spaced,
            search: OnceLock::new(),
        }
    }

    /// The first text of each marker, up to its first gap.
    pub fn beginnings(texts: &[SmolStr]) -> Self {
        let mut beginnings = Vec::new();
        for text in texts {
            beginnings.extend(marker::parts(text).find_map(|part| match part {
                marker::Part::Text(text) => Some(text.into()),
                _ => None,
            }));
        }
        Markers::new(&beginnings, false)
    }

    /// Finds the first marker, or half marker, in `text` at or after `from`.
    pub fn first(&self, text: &[u8], from: usize) -> Found {
        self.search().find(text, from, &mut None)
    }

    /// Builds the search for them.
    pub fn warm(&self) {
        self.search();
    }

    /// Like [`Markers::first`]. `refuted`: the end and the begin of the text that began like a
    /// marker and is none; of several, the text with the last end, if the end is after the found
    /// marker.
    pub(super) fn find(
        &self,
        text: &[u8],
        from: usize,
        refuted: &mut Option<(usize, usize)>,
    ) -> Found {
        self.search().find(text, from, refuted)
    }

    fn search(&self) -> &Search {
        self.search.get_or_init(|| {
            Search::new(if self.spaced {
                marker::ends(&self.texts)
            } else {
                self.texts.clone()
            })
        })
    }

    /// Approximate memory use in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + texts_bytes(&self.texts)
    }

    /// The same for the parts that were built on first use so far.
    pub fn late_bytes(&self) -> usize {
        self.search
            .get()
            .map_or(0, |search| texts_bytes(&search.markers))
    }
}

/// The markers as they are searched for.
#[derive(Clone, Debug)]
struct Search {
    /// Sorted. None is a prefix of another, because the shorter one would be found first.
    markers: SmallVec<[SmolStr; 1]>,
    heads: Heads,
    /// The second bytes of the markers.
    seconds: Bytes,
}

/// The first bytes of the markers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Heads {
    None,
    One(u8),
    Two([u8; 2]),
    Three([u8; 3]),
    /// As in line breaks with and without a return.
    Four([u8; 3], u8),
    Many(Box<Pairs>),
}

/// The second bytes of markers; all bytes, if a marker has only one.
fn seconds(markers: &[SmolStr]) -> Bytes {
    let seconds = markers.iter().map(|marker| marker.as_bytes().get(1));
    seconds
        .map(|second| second.map_or(Bytes::ALL, |&second| Bytes::byte(second)))
        .collect()
}

/// Many first bytes, each with the second bytes that may follow it: most places that begin no
/// marker are passed over at once.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pairs {
    /// By first byte: which of the seconds, from one on.
    numbers: [u8; 256],
    seconds: Vec<Bytes>,
}

impl Pairs {
    /// Of sorted markers.
    fn new(markers: &[SmolStr]) -> Self {
        let mut pairs = Pairs {
            numbers: [0; 256],
            seconds: Vec::new(),
        };
        for same in markers.chunk_by(|one, next| one.as_bytes()[0] == next.as_bytes()[0]) {
            pairs.seconds.push(seconds(same));
            pairs.numbers[usize::from(same[0].as_bytes()[0])] = pairs.seconds.len() as u8;
        }
        pairs
    }

    fn find(&self, text: &[u8]) -> Option<usize> {
        text.iter().enumerate().position(|(at, byte)| {
            let number = self.numbers[usize::from(*byte)];
            number > 0
                && text
                    .get(at + 1)
                    .is_none_or(|&next| self.seconds[usize::from(number) - 1].contains(next))
        })
    }
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A whole marker: its begin and its end.
    Whole(usize, usize),
    /// The bytes from here to the end may become a marker.
    Half(usize),
    /// Neither a marker nor the beginning of one.
    Nothing,
}

impl Search {
    fn new(markers: Vec<SmolStr>) -> Self {
        let mut markers: SmallVec<[SmolStr; 1]> = markers
            .into_iter()
            .filter(|marker| !marker.is_empty())
            .collect();
        chatparse_base::sort::sort(&mut markers);
        markers.dedup_by(|next, kept| next.starts_with(kept.as_str()));
        let mut heads: SmallVec<[u8; 8]> = markers
            .iter()
            .filter_map(|marker| marker.bytes().next())
            .collect();
        heads.dedup();
        let heads = match *heads.as_slice() {
            [] => Heads::None,
            [a] => Heads::One(a),
            [a, b] => Heads::Two([a, b]),
            [a, b, c] => Heads::Three([a, b, c]),
            [a, b, c, d] => Heads::Four([a, c, d], b),
            _ => Heads::Many(Box::new(Pairs::new(&markers))),
        };
        let seconds = seconds(&markers);
        Search {
            markers,
            heads,
            seconds,
        }
    }

    fn find(&self, text: &[u8], from: usize, refuted: &mut Option<(usize, usize)>) -> Found {
        self.next_head(&text[from..])
            .map_or(Found::Nothing, |step| {
                self.find_behind(text, from + step, refuted)
            })
    }

    /// Like `find`, starting at the first byte of a possible marker.
    #[inline(never)]
    fn find_behind(
        &self,
        text: &[u8],
        mut at: usize,
        refuted: &mut Option<(usize, usize)>,
    ) -> Found {
        loop {
            // Most first bytes do not begin a marker: the second byte decides.
            if text
                .get(at + 1)
                .is_none_or(|&next| self.seconds.contains(next))
            {
                match self.at(&text[at..]) {
                    Begun::Whole(length) => {
                        *refuted = refuted.filter(|(end, _)| *end > at + length);
                        return Found::Whole(at, at + length);
                    }
                    Begun::Half => return Found::Half(at),
                    Begun::Not(looked) if refuted.is_none_or(|(end, _)| at + looked > end) => {
                        *refuted = Some((at + looked, at));
                    }
                    Begun::Not(_) => {}
                }
            }
            match self.next_head(&text[at + 1..]) {
                Some(step) => at += 1 + step,
                None => return Found::Nothing,
            }
        }
    }

    /// Compares the start of a text, whose first byte begins a marker, with the markers. Each byte
    /// narrows the range of sorted markers.
    fn at(&self, text: &[u8]) -> Begun {
        let mut left = self.markers.as_slice();
        for (at, byte) in text.iter().enumerate() {
            let byte_of = |marker: &SmolStr| marker.as_bytes()[at];
            let (Some(first), Some(last)) = (left.first(), left.last()) else {
                return Begun::Not(at);
            };
            let (low, high) = (byte_of(first), byte_of(last));
            if *byte < low || *byte > high {
                return Begun::Not(at + 1);
            }
            if *byte > low {
                left = &left[left.partition_point(|marker| byte_of(marker) < *byte)..];
            }
            if *byte < high {
                left = &left[..left.partition_point(|marker| byte_of(marker) == *byte)];
            }
            if left.first().is_some_and(|marker| marker.len() == at + 1) {
                return Begun::Whole(at + 1);
            }
        }
        if left.is_empty() {
            Begun::Not(text.len())
        } else {
            Begun::Half
        }
    }

    fn next_head(&self, text: &[u8]) -> Option<usize> {
        match &self.heads {
            Heads::None => None,
            Heads::One(a) => find(*a, text),
            Heads::Two(heads) => find2(*heads, text),
            Heads::Three(heads) => find3(*heads, text),
            Heads::Four(heads, rare) => {
                let near = find3(*heads, text);
                find(*rare, &text[..near.unwrap_or(text.len())]).or(near)
            }
            Heads::Many(pairs) => pairs.find(text),
        }
    }
}

/// How much of a marker matched.
enum Begun {
    /// All of it; its length in bytes.
    Whole(usize),
    /// The text ended inside it.
    Half,
    /// The byte that is not the marker's is the last of so many.
    Not(usize),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_markers_win_and_half_ones_are_seen() {
        let markers = |texts: &[&str]| {
            Markers::new(&texts.iter().map(SmolStr::new).collect::<Vec<_>>(), false)
        };
        let none = markers(&[]);
        let ab = markers(&["ab!", "b"]);
        let markers = markers(&["</think>", "<tool>", "<t"]);
        assert_eq!(
            markers.find(b"a < b <tool>", 0, &mut None),
            Found::Whole(6, 8)
        );
        assert_eq!(markers.find(b"abc </th", 0, &mut None), Found::Half(4));
        assert_eq!(markers.find(b"abc </thx", 0, &mut None), Found::Nothing);
        assert_eq!(
            markers.find(b"<<<</think>", 0, &mut None),
            Found::Whole(3, 11)
        );
        assert_eq!(none.find(b"<", 0, &mut None), Found::Nothing);
        // A half marker before a whole one may still become the first.
        assert_eq!(ab.find(b"xab", 0, &mut None), Found::Half(1));
    }

    #[test]
    fn what_was_looked_at_behind_a_marker_is_told() {
        let markers = Markers::new(&["><b>", "<b"].map(SmolStr::new), false);
        let looked = |text: &[u8]| {
            let mut refuted = None;
            (markers.find(text, 0, &mut refuted), refuted)
        };
        assert_eq!(looked(b"x><b "), (Found::Whole(2, 4), Some((5, 1))));
        assert_eq!(looked(b"><x<b "), (Found::Whole(3, 5), None));
    }

    /// Compares every marker at every position.
    fn naive(markers: &[String], text: &[u8], from: usize) -> Found {
        for at in from..text.len() {
            let rest = &text[at..];
            let whole = markers
                .iter()
                .filter(|marker| rest.starts_with(marker.as_bytes()))
                .map(String::len)
                .min();
            if let Some(length) = whole {
                return Found::Whole(at, at + length);
            }
            if markers
                .iter()
                .any(|marker| marker.as_bytes().starts_with(rest))
            {
                return Found::Half(at);
            }
        }
        Found::Nothing
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn finds_what_comparing_all_markers_finds(
            markers in prop::collection::vec("[ab<é]{1,5}|[a-h]{1,2}", 0..12), text in "[ab<é]{0,16}|[a-j]{0,40}", from in 0usize..8,
        ) {
            let from = from.min(text.len());
            let search = Search::new(markers.iter().map(SmolStr::from).collect());
            let found = search.find(text.as_bytes(), from, &mut None);
            prop_assert_eq!(found, naive(&markers, text.as_bytes(), from));
            for end in from..text.len() {
                let part = &text.as_bytes()[..end];
                prop_assert_eq!(search.find(part, from, &mut None), naive(&markers, part, from));
            }
        }
    }
}
