//! Places in rendered texts: words, and markers that are whole.

use std::ops::Range;

use chatparse_base::brackets::{closes, opens};

/// The occurrences of a word that are not part of a longer one.
pub(crate) fn whole_words<'t>(
    text: &'t str,
    word: &'t str,
) -> impl Iterator<Item = Range<usize>> + 't {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let all = text
        .match_indices(word)
        .map(|(at, word)| at..at + word.len());
    all.filter(move |range| {
        !text[..range.start].ends_with(is_part) && !text[range.end..].starts_with(is_part)
    })
}

/// A text up to the first bracket that closes a marker.
pub(crate) fn to_first_close(text: &str) -> Option<&str> {
    text.split_inclusive(closes)
        .next()
        .filter(|text| text.ends_with(closes))
}

/// Where a text ends, or where the marker begins that is cut off there.
pub(crate) fn uncut(text: &str) -> usize {
    let open = text.rfind(opens).filter(|open| {
        let mut marker = text[*open..].chars();
        !marker.any(|c| c.is_whitespace() || closes(c) || matches!(c, '}' | ')'))
    });
    open.unwrap_or(text.len())
}
