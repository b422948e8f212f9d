//! Adds what a prompt has between values: the punctuation of JSON, which is theirs, and the
//! template's text.

use std::ops::Range;

use super::words::{is_keyword, is_type};
use super::{Origin, Segment};

/// The characters between the values of JSON, and of Python's lists and dicts.
const PUNCTUATION: [char; 13] = [
    '{', '}', '[', ']', '"', '\'', ',', ':', ' ', '\n', '\t', '\r', '\\',
];

/// The larger value that a segment belongs to, arguments or a tool, and how deep it is in
/// arguments.
fn whole(origin: &Origin) -> (Origin, usize) {
    const ARGUMENTS: &str = "/arguments";
    let Origin::Message { index, path } = origin else {
        return (origin.clone(), 0);
    };
    let length = path
        .find(ARGUMENTS)
        .map_or(path.len(), |at| at + ARGUMENTS.len());
    let (path, inside) = path.split_at(length);
    (
        Origin::Message {
            index: *index,
            path: path.to_owned(),
        },
        inside.matches('/').count(),
    )
}

/// Adds the punctuation of JSON values: between the parts of a larger value, and around those of
/// arguments.
pub(super) fn with_punctuation(prompt: &str, segments: Vec<Segment>) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::with_capacity(segments.len() * 2);
    // What closes the open brackets in the current value.
    let mut open: Vec<char> = Vec::new();
    let (mut from, mut is_same) = (0, false);
    let mut following = segments.iter().skip(1);
    for segment in &segments {
        let (own, depth) = whole(&segment.origin);
        let Range { start, end } = segment.bytes;
        if !is_same {
            open.clear();
            from = if depth > 0 {
                start - opening(&prompt[from..start], depth)
            } else {
                start
            };
        }
        brackets(&prompt[from..start], &mut open);
        all.push(Segment {
            bytes: from..start,
            origin: own.clone(),
        });
        all.push(segment.clone());
        let next = following.next();
        let gap = &prompt[end..next.map_or(prompt.len(), |next| next.bytes.start)];
        is_same = next.is_some_and(|next| whole(&next.origin).0 == own) && is_punctuation(gap);
        if !is_same && depth > 0 {
            all.push(Segment {
                bytes: end..end + closing(gap, &open),
                origin: own,
            });
        }
        from = end;
    }
    all.retain(|segment| !segment.bytes.is_empty());
    all
}

/// Whether a text is punctuation of JSON, with only keywords of schemas.
fn is_punctuation(gap: &str) -> bool {
    let mut words = gap.split(PUNCTUATION).filter(|word| !word.is_empty());
    words.all(|word| is_keyword(word) || is_type(word)) && !gap.contains("\n\n")
}

/// Follows the brackets of a piece of JSON.
fn brackets(gap: &str, open: &mut Vec<char>) {
    for c in gap.chars() {
        match c {
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
}

/// The length of the closing quote and brackets after the last value of arguments; `open`: the
/// brackets that are to come, the last one first.
fn closing(gap: &str, open: &[char]) -> usize {
    let mut rest = gap.strip_prefix(['"', '\'']).unwrap_or(gap);
    for bracket in open.iter().rev() {
        let closer = rest.trim_start_matches([' ', '\n', '\t']);
        let Some(behind) = closer.strip_prefix(*bracket) else {
            break;
        };
        rest = behind;
    }
    gap.len() - rest.len()
}

/// The length of the opening quote and brackets before the first value, which is inside of at most
/// so many brackets.
fn opening(gap: &str, most: usize) -> usize {
    let mut rest = gap.strip_suffix(['"', '\'']).unwrap_or(gap);
    for _ in 0..most {
        let opener = rest.trim_end_matches([' ', '\n', '\t']);
        let Some(before) = opener.strip_suffix(['{', '[']) else {
            break;
        };
        rest = before;
    }
    gap.len() - rest.len()
}

/// Covers the whole prompt: the template wrote all ranges between the known segments.
pub(super) fn covering(prompt: &str, known: Vec<Segment>) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::with_capacity(known.len() * 2 + 1);
    let mut at = 0;
    for Segment { bytes, origin } in known {
        let bytes = bytes.start.max(at)..bytes.end.max(at);
        push_segment(&mut all, at..bytes.start, Origin::Template);
        at = bytes.end;
        push_segment(&mut all, bytes, origin);
    }
    push_segment(&mut all, at..prompt.len(), Origin::Template);
    all
}

/// Appends a range to the last segment if both have the same origin.
pub(super) fn push_segment(all: &mut Vec<Segment>, bytes: Range<usize>, origin: Origin) {
    match all.last_mut() {
        _ if bytes.is_empty() => {}
        Some(last) if last.origin == origin => last.bytes.end = bytes.end,
        _ => all.push(Segment { bytes, origin }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_around_arguments_is_theirs() {
        assert_eq!(closing("\"}}\n</tool_call>", &['}']), 2);
        assert_eq!(closing("\n</parameter>", &['}']), 0);
        assert_eq!(opening("\"arguments\": {\"", 1), 2);
        assert_eq!(opening("<parameter=city>\n", 1), 0);
        assert!(is_punctuation("\", \"type\": \"string\", \""));
        assert!(!is_punctuation("</tool>\n"));
    }
}
