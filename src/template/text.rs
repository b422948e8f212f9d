//! Python's string operations, shared by filters and methods. Characters, not bytes; Unicode, not ASCII.

use minijinja::Error;
use minijinja::ErrorKind;

use super::budget::check_text;

/// Which ends of a text are stripped.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) left: bool,
    pub(super) right: bool,
}

/// Without white space, or without any of `chars`, at the ends.
pub(super) fn strip<'a>(text: &'a str, ends: Ends, chars: Option<&str>) -> &'a str {
    let drop = |c: char| match chars {
        Some(chars) => chars.contains(c),
        None => c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c),
    };
    let text = if ends.left { text.trim_start_matches(drop) } else { text };
    if ends.right { text.trim_end_matches(drop) } else { text }
}

/// The first character upper case, the others lower case.
pub(super) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars.flat_map(char::to_lowercase)).collect(),
        None => String::new(),
    }
}

/// [`capitalize`] for each word; `starts_word(c)` says that the character after `c` begins one.
pub(super) fn title(text: &str, starts_word: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut start = true;
    for c in text.chars() {
        if start {
            out.extend(c.to_uppercase());
        } else {
            out.extend(c.to_lowercase());
        }
        start = starts_word(c);
    }
    out
}

/// The first `count` occurrences of `old`, or all, replaced.
pub(super) fn replace(text: &str, old: &str, new: &str, count: Option<i64>) -> Result<String, Error> {
    let count = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
    let hits = text.matches(old).take(count).count();
    check_text(text.len().saturating_add(hits.saturating_mul(new.len())))?;
    Ok(text.replacen(old, new, count))
}

/// Pieces between `separator`, or between runs of white space; at most `limit` cuts, counted from the left or the right.
pub(super) fn split(
    text: &str,
    separator: Option<&str>,
    limit: Option<i64>,
    right: bool,
) -> Result<Vec<String>, Error> {
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let mut pieces: Vec<&str> = match separator {
        Some("") => return Err(Error::new(ErrorKind::InvalidOperation, "empty separator")),
        Some(separator) if right => text.rsplitn(limit.saturating_add(1), separator).collect(),
        Some(separator) => text.splitn(limit.saturating_add(1), separator).collect(),
        None => words(text, limit, right),
    };
    if right {
        pieces.reverse();
    }
    Ok(pieces.into_iter().map(str::to_owned).collect())
}

/// White space at the ends and between the words is dropped; what the limit leaves whole keeps its own.
fn words(text: &str, limit: usize, right: bool) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let cut = if right { rest.rfind(char::is_whitespace) } else { rest.find(char::is_whitespace) };
        let Some(cut) = cut.filter(|_| words.len() < limit) else {
            words.push(rest);
            break;
        };
        if right {
            words.push(rest[cut..].trim_start());
            rest = rest[..cut].trim_end();
        } else {
            words.push(&rest[..cut]);
            rest = rest[cut..].trim_start();
        }
    }
    words
}

/// The lines, without what ends them unless `keep`.
pub(super) fn lines(text: &str, keep: bool) -> Vec<String> {
    let end = |c: char| {
        matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
    };
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = rest.find(end).unwrap_or(rest.len());
        let after = &rest[at..];
        let width = if after.starts_with("\r\n") { 2 } else { after.chars().next().map_or(0, char::len_utf8) };
        lines.push(rest[..if keep { at + width } else { at }].to_owned());
        rest = &rest[at + width..];
    }
    lines
}

/// Every line but the first, and the first where `first`, moved in; empty ones only where `blank`.
pub(super) fn indent(text: &str, indention: &str, first: bool, blank: bool) -> Result<String, Error> {
    // The new line at the end makes a last, empty line where the text ends with one.
    let lines = lines(&format!("{text}\n"), false);
    check_text(text.len().saturating_add(lines.len().saturating_mul(indention.len() + 1)))?;
    let mut out = String::with_capacity(text.len());
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if if index == 0 { first } else { blank || !line.is_empty() } {
            out.push_str(indention);
        }
        out.push_str(line);
    }
    Ok(out)
}

/// The number at the start of the text as Python's `int` takes it: nothing but digits, signs and single underscores.
pub(super) fn parse_int(text: &str, base: u32) -> Option<i64> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let prefix = |long: &str| digits.get(..2).filter(|start| start.eq_ignore_ascii_case(long)).map(|_| &digits[2..]);
    let (base, digits) = match base {
        0 => [(16, "0x"), (8, "0o"), (2, "0b")]
            .into_iter()
            .find_map(|(base, long)| prefix(long).map(|digits| (base, digits)))
            .unwrap_or((10, digits)),
        16 => (16, prefix("0x").unwrap_or(digits)),
        8 => (8, prefix("0o").unwrap_or(digits)),
        2 => (2, prefix("0b").unwrap_or(digits)),
        3..=36 => (base, digits),
        _ => return None,
    };
    let plain = digits.replace('_', "");
    if plain.starts_with(['+', '-']) {
        return None;
    }
    let number = i64::from_str_radix(&plain, base).ok()?;
    Some(if negative { -number } else { number })
}

/// As Python's `float` takes it.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    text.trim().replace('_', "").parse().ok()
}
