//! A template's source: its lines, its tags, its texts, and places in it.

pub mod texts;
pub mod token;

use chatparse_base::Place;

/// The source with line feeds only, and without the last one.
pub fn normalize(source: &str) -> String {
    let mut source = source.replace("\r\n", "\n").replace('\r', "\n");
    if source.ends_with('\n') {
        source.pop();
    }
    source
}

/// The source with the patches for known faults, if it has one.
pub fn patched(source: &str) -> Option<String> {
    let mut patched: Option<String> = None;
    for line in include_str!("patches.txt").lines() {
        if let Some((text, condition)) = line.split_once(' ')
            && !line.starts_with('#')
            && source.contains(text)
            && source.contains(condition)
        {
            let before = patched.as_deref().unwrap_or(source);
            patched = Some(before.replace(condition, "{%- if false %}"));
        }
    }
    patched
}

/// The line and the column of a position in a source, from 1.
pub fn line_and_column(source: &str, at: usize) -> (usize, usize) {
    let before = &source[..at];
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    (
        before.matches('\n').count() + 1,
        before[line..].chars().count() + 1,
    )
}

/// The first line of a text, shortened if it is long.
pub fn excerpt(text: &str) -> String {
    const CHARS: usize = 80;
    shortened(text.lines().next().unwrap_or_default().trim(), CHARS)
}

/// At most so many characters of a text, and dots if that is not all.
pub fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The place of a byte of a source.
pub fn place(source: &str, at: usize) -> Place {
    let (line, column) = line_and_column(source, at);
    Place {
        line,
        column: Some(column),
        excerpt: excerpt(&source[at..]),
    }
}

/// Where the tag begins whose inside has the byte at `at`.
pub fn tag_start(source: &str, at: usize) -> usize {
    let brace = source[..at].rfind('{').unwrap_or(at);
    match source[..brace].ends_with('{') {
        true => brace - 1,
        false => brace,
    }
}
