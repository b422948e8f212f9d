//! Finding the first of several markers, or the half of one at the end of what has come so far.

use std::fmt;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::find::{find, find2, find3};

/// A set of markers to stop before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Markers {
    markers: SmallVec<[SmolStr; 1]>,
    /// The distinct first bytes.
    heads: SmallVec<[u8; 8]>,
}

/// Where a search stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A whole marker begins at the first position and ends before the second.
    Whole(usize, usize),
    /// The bytes from here to the end may become a marker.
    Half(usize),
    /// No marker, not even the beginning of one.
    Nothing,
}

impl Markers {
    pub fn new<S: AsRef<str>>(markers: &[S]) -> Self {
        let markers: SmallVec<[SmolStr; 1]> = markers.iter().map(SmolStr::new).collect();
        let mut heads: SmallVec<[u8; 8]> = markers.iter().filter_map(|m| m.bytes().next()).collect();
        heads.sort_unstable();
        heads.dedup();
        Markers { markers, heads }
    }

    /// About what they take in memory.
    pub fn bytes(&self) -> usize {
        let markers = self.markers.iter().map(|marker| size_of::<SmolStr>() + marker.len());
        size_of::<Self>() + self.heads.len() + markers.sum::<usize>()
    }

    /// The first marker, or half marker, in `text` at or after `from`.
    pub fn find(&self, text: &[u8], from: usize) -> Found {
        let mut at = from;
        while let Some(step) = text.get(at..).and_then(|rest| self.next_head(rest)) {
            at += step;
            let rest = &text[at..];
            let mut half = false;
            // Most heads are nobody's: a look at the byte behind tells.
            let next = rest.get(1);
            for marker in self.markers.iter().map(|marker| marker.as_bytes()) {
                if next.zip(marker.get(1)).is_some_and(|(a, b)| a != b) {
                    continue;
                }
                if rest.starts_with(marker) {
                    // A shorter marker that is whole wins over a longer one that is still half.
                    let length = self.markers.iter().filter(|m| rest.starts_with(m.as_bytes())).map(SmolStr::len).min();
                    return Found::Whole(at, at + length.unwrap_or(marker.len()));
                }
                half |= marker.starts_with(rest);
            }
            if half {
                return Found::Half(at);
            }
            at += 1;
        }
        Found::Nothing
    }

    fn next_head(&self, text: &[u8]) -> Option<usize> {
        match *self.heads.as_slice() {
            [] => None,
            [a] => find(a, text),
            [a, b] => find2([a, b], text),
            [a, b, c] => find3([a, b, c], text),
            _ => text.iter().position(|byte| self.heads.contains(byte)),
        }
    }
}

impl fmt::Display for Markers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.markers).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_markers_win_and_half_ones_are_seen() {
        let markers = Markers::new(&["</think>", "<tool>", "<t"]);
        assert_eq!(markers.find(b"a < b <tool>", 0), Found::Whole(6, 8));
        assert_eq!(markers.find(b"abc </th", 0), Found::Half(4));
        assert_eq!(markers.find(b"abc </thx", 0), Found::Nothing);
        assert_eq!(markers.find(b"<<<</think>", 0), Found::Whole(3, 11));
        assert_eq!(Markers::new::<&str>(&[]).find(b"<", 0), Found::Nothing);
    }
}
