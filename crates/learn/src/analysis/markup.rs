//! Finds the markers in rendered text, and the text between them.
//!
//! A *marker* is what chat templates write around the parts of a turn: `<think>`, `</tool_call>`,
//! `<|im_start|>`, `[INST]`. It begins with a bracket and ends at the first one that closes it,
//! whatever is in between; the analysis assumes nothing else about markers. JSON arrays and single
//! angle brackets are read as markers too. This is harmless, because both renders of a pair are
//! read the same way.

use chatparse_base::brackets;

/// White space around markers: ASCII only, vertical tab included.
pub fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

/// Whether all of it is white space.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// `text` without white space at both ends.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `text` without white space at its start.
pub fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// A stretch of text between two marker boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// One marker.
    Marker(&'a str),
    /// Text without a marker.
    Text(&'a str),
}

impl<'a> Segment<'a> {
    /// The segment's text.
    pub fn as_str(self) -> &'a str {
        let (Segment::Marker(text) | Segment::Text(text)) = self;
        text
    }
}

/// The place of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Position of its opening bracket.
    pub start: usize,
    /// Position after its closing bracket.
    pub end: usize,
    /// Position after the white space after it.
    pub spaced: usize,
}

/// The markers of a text, left to right. None overlaps another.
pub fn markers(text: &str) -> Vec<Marker> {
    let (mut markers, mut at) = (Vec::new(), 0);
    // Brackets that the rest of the text does not have: they are searched for once.
    let mut missing: Vec<char> = Vec::new();
    for (start, c) in text.char_indices() {
        let closer = brackets::closer(c).filter(|closer| start >= at && !missing.contains(closer));
        let Some(closer) = closer else { continue };
        let Some(length) = text[start..].find(closer) else {
            missing.push(closer);
            continue;
        };
        let end = start + length + closer.len_utf8();
        markers.push(Marker {
            start,
            end,
            spaced: text.len() - trim_start(&text[end..]).len(),
        });
        at = end;
    }
    markers
}

/// The first marker of a text.
pub fn first_marker(text: &str) -> Option<&str> {
    markers(text)
        .first()
        .map(|marker| &text[marker.start..marker.end])
}

/// The text from the start of its last marker.
pub fn since_last_marker(text: &str) -> Option<&str> {
    markers(text).last().map(|marker| &text[marker.start..])
}

/// A text, cut at the borders of its markers, left to right; no segment is empty.
pub fn segments(text: &str) -> Vec<Segment<'_>> {
    let (mut segments, mut at) = (Vec::new(), 0);
    for Marker { start, end, .. } in markers(text) {
        segments.extend((at < start).then(|| Segment::Text(&text[at..start])));
        segments.push(Segment::Marker(&text[start..end]));
        at = end;
    }
    segments.extend((at < text.len()).then(|| Segment::Text(&text[at..])));
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_go_to_the_first_closer_of_their_kind() {
        let text = "x<a <b>[c>] <d";
        assert_eq!(
            segments(text)
                .iter()
                .map(|s| s.as_str())
                .collect::<Vec<_>>(),
            ["x", "<a <b>", "[c>]", " <d"]
        );
        let found = markers(text);
        assert_eq!(
            found,
            [
                Marker {
                    start: 1,
                    end: 7,
                    spaced: 7
                },
                Marker {
                    start: 7,
                    end: 11,
                    spaced: 12
                }
            ]
        );
        assert_eq!(since_last_marker(text), Some("[c>] <d"));
    }

    #[test]
    fn the_last_marker_is_the_widest() {
        assert_eq!(since_last_marker("<x><a <b> t"), Some("<a <b> t"));
        assert_eq!(since_last_marker("t"), None);
    }
}
