//! Finds the markers in rendered text, and the text between them.
//!
//! A *marker* is what chat templates write around the parts of a turn: `<think>`, `</tool_call>`, `<|im_start|>`, `[INST]`.
//! It begins with a bracket and ends at the first one that closes it, whatever is in between; the analysis assumes
//! nothing else about markers. JSON arrays and single angle brackets are read as markers too. This is harmless, because both
//! renders of a pair are read the same way.

use std::ops::Range;

use chatparse_base::brackets;

/// White space around markers: ASCII only, vertical tab included.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

/// `text` without white space at both ends.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `text` without white space at its start.
pub(super) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// The text after the last `needle` in `text`; `None` if there is none.
pub(super) fn after_last<'a>(text: &'a str, needle: &str) -> Option<&'a str> {
    text.rsplit_once(needle).map(|(_, after)| after)
}

/// The text before the first `needle` in `text`; all of it if there is none.
pub(super) fn before_first<'a>(text: &'a str, needle: &str) -> &'a str {
    text.split_once(needle).map_or(text, |(before, _)| before)
}

/// A stretch of text between two marker boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Segment<'a> {
    /// One marker.
    Marker(&'a str),
    /// Text without a marker.
    Text(&'a str),
}

impl<'a> Segment<'a> {
    /// The segment's text.
    pub(super) fn as_str(self) -> &'a str {
        match self {
            Segment::Marker(text) | Segment::Text(text) => text,
        }
    }
}

/// The place of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    /// Position of its opening bracket.
    pub start: usize,
    /// Position after its closing bracket.
    pub end: usize,
    /// Position after the white space behind it.
    pub spaced: usize,
}

/// A text and the places of all markers in it. They are found once, so that each query is a binary search.
pub(super) struct Markup<'a> {
    text: &'a str,
    /// Sorted by start. They may overlap: in `<a <b>`, one begins at each `<`.
    markers: Vec<Marker>,
}

impl<'a> Markup<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut markers: Vec<Marker> = Vec::new();
        // The nearest end of each kind, from the end of the text on.
        let mut ends: Vec<(char, [usize; 2])> = Vec::new();
        for (start, c) in text.char_indices().rev() {
            if brackets::closes(c) {
                let end = start + c.len_utf8();
                let spaced = text.len() - trim_start(&text[end..]).len();
                match ends.iter_mut().find(|(closer, _)| *closer == c) {
                    Some((_, nearest)) => *nearest = [end, spaced],
                    None => ends.push((c, [end, spaced])),
                }
            } else if let Some(closer) = brackets::closer(c) {
                let nearest = ends.iter().find(|(of, _)| *of == closer);
                markers.extend(nearest.map(|&(_, [end, spaced])| Marker { start, end, spaced }));
            }
        }
        markers.reverse();
        Markup { text, markers }
    }

    /// The text at `range`, which must be from this markup.
    pub(super) fn slice(&self, range: Range<usize>) -> &'a str {
        &self.text[range]
    }

    /// The markers that begin at `from` or later, in order.
    pub(super) fn markers_from(&self, from: usize) -> &[Marker] {
        &self.markers[self.markers.partition_point(|marker| marker.start < from)..]
    }

    /// The first marker.
    pub(super) fn first_marker(&self) -> Option<&'a str> {
        self.markers.first().map(|marker| self.slice(marker.start..marker.end))
    }

    /// The last marker: no other begins after it.
    pub(super) fn last_marker(&self) -> Option<&'a str> {
        self.last().map(|marker| self.slice(marker.start..marker.end))
    }

    /// The text from the start of the last marker.
    pub(super) fn since_last_marker(&self) -> Option<&'a str> {
        self.last().map(|marker| self.slice(marker.start..self.text.len()))
    }

    fn last(&self) -> Option<&Marker> {
        let newest = self.markers.last()?.start;
        self.markers.iter().find(|marker| marker.end > newest)
    }

    /// The text, cut at marker boundaries, left to right; no segment is empty.
    pub(super) fn segments(&self) -> Vec<Segment<'a>> {
        let mut segments = Vec::new();
        let mut at = 0;
        for marker in &self.markers {
            if marker.start < at {
                continue;
            }
            if at < marker.start {
                segments.push(Segment::Text(self.slice(at..marker.start)));
            }
            segments.push(Segment::Marker(self.slice(marker.start..marker.end)));
            at = marker.end;
        }
        if at < self.text.len() {
            segments.push(Segment::Text(self.slice(at..self.text.len())));
        }
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_go_to_the_first_closer_of_their_kind() {
        let markup = Markup::new("x<a <b>[c>] <d");
        assert_eq!(markup.segments().iter().map(|s| s.as_str()).collect::<Vec<_>>(), ["x", "<a <b>", "[c>]", " <d"]);
        assert_eq!(markup.markers_from(4)[0], Marker { start: 4, end: 7, spaced: 7 });
        assert_eq!(markup.markers_from(7), [Marker { start: 7, end: 11, spaced: 12 }]);
        assert_eq!(markup.last_marker(), Some("[c>]"));
    }

    #[test]
    fn the_last_marker_is_the_widest() {
        assert_eq!(Markup::new("<x><a <b> t").since_last_marker(), Some("<a <b> t"));
        assert_eq!(Markup::new("t").since_last_marker(), None);
    }
}
