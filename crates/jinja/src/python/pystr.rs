//! Python's string operations, for filters and methods. They count Unicode characters, not bytes.

use std::collections::HashSet;

use minijinja::Error;

use super::chars;
use crate::budget::{ITEM, charge_items, charge_piece, check_text, note, work};
use crate::fault::{Result, invalid};

/// The ends of a text to strip.
#[derive(Clone, Copy)]
pub struct Ends {
    pub left: bool,
    pub right: bool,
}

/// Removes white space, or any of `chars`, from the ends.
pub fn strip<'a>(text: &'a str, ends: Ends, chars: Option<&str>) -> Result<&'a str> {
    let many = chars.filter(|chars| chars.len() > FEW).map(|chars| {
        charge_items(chars.len())?;
        Ok::<HashSet<char>, Error>(chars.chars().collect())
    });
    let many = many.transpose()?;
    let drop = |c: char| match (&many, chars) {
        (Some(set), _) => set.contains(&c),
        (None, Some(chars)) => chars.contains(c),
        (None, None) => chars::space(c),
    };
    let kept = if ends.left {
        text.trim_start_matches(drop)
    } else {
        text
    };
    let kept = if ends.right {
        kept.trim_end_matches(drop)
    } else {
        kept
    };
    work(text.len() - kept.len()).map(|()| kept)
}

/// The length of a set of characters that is searched without an index.
const FEW: usize = 32;

/// The first character in upper case, the others in lower case.
pub fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let mut out = String::with_capacity(text.len());
    if let Some(first) = chars.next() {
        chars::push_title(&mut out, first);
    }
    out.push_str(&chars.as_str().to_lowercase());
    out
}

/// The filter `title`: words are separated by white space, hyphens and opening brackets.
pub fn words_upper(text: &str) -> String {
    titled(
        text,
        |out, c| out.extend(c.to_uppercase()),
        |c| c.is_whitespace() || "-({[<".contains(c),
    )
}

/// The method `title`: [`capitalize`] for each run of letters.
pub fn title(text: &str) -> String {
    titled(text, chars::push_title, |c| !c.is_alphabetic())
}

/// The text with the first letter of each word as `push` writes it, and the others in lower case.
/// `between`: what separates words.
fn titled(text: &str, push: fn(&mut String, char), between: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut start = true;
    for c in text.chars() {
        if start {
            push(&mut out, c)
        } else {
            out.extend(c.to_lowercase())
        }
        start = between(c);
    }
    out
}

/// The text in folded case, for comparisons.
pub fn casefold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| chars::push_folded(&mut out, c));
    out
}

/// Swaps upper and lower case.
pub fn swapcase(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_uppercase() {
            out.extend(c.to_lowercase())
        } else {
            out.extend(c.to_uppercase())
        }
    }
    out
}

/// Whether each run of letters has upper or title case at its first letter only.
pub fn is_title(text: &str) -> bool {
    let (mut inside, mut any) = (false, false);
    for c in text.chars() {
        let (large, small) = (chars::title(c), c.is_lowercase());
        if large && inside || small && !inside {
            return false;
        }
        inside = large || small;
        any |= inside;
    }
    any
}

/// Whether there is a character of the expected case, and no unwanted one.
pub fn cased(text: &str, expected: fn(char) -> bool, unwanted: fn(char) -> bool) -> bool {
    text.chars().any(expected) && !text.chars().any(unwanted)
}

/// Whether the text is a valid identifier.
pub fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    let begins = |c: char| c == '_' || chars::alpha(c);
    chars.next().is_some_and(begins) && chars.all(|c| begins(c) || chars::decimal(c))
}

/// Replaces tabs by spaces, up to the next multiple of `width` in the line.
pub fn expand_tabs(text: &str, width: usize) -> Result<String> {
    let tabs = text.matches('\t').count();
    check_text(text.len().saturating_add(tabs.saturating_mul(width)))?;
    let (mut out, mut column) = (String::with_capacity(text.len()), 0);
    for c in text.chars() {
        match c {
            '\t' => {
                let fill = if width == 0 {
                    0
                } else {
                    width - column % width
                };
                out.extend(std::iter::repeat_n(' ', fill));
                column += fill;
            }
            '\n' | '\r' => {
                out.push(c);
                column = 0;
            }
            _ => {
                out.push(c);
                column += 1;
            }
        }
    }
    Ok(out)
}

/// Replaces the first `count` occurrences of `old`, or all.
pub fn replace(text: &str, old: &str, new: &str, count: Option<i64>) -> Result<String> {
    let count = count
        .and_then(|count| usize::try_from(count).ok())
        .unwrap_or(usize::MAX);
    let hits = text.matches(old).take(count).count();
    work(hits.saturating_mul(ITEM))?;
    check_text(text.len().saturating_add(hits.saturating_mul(new.len())))?;
    Ok(text.replacen(old, new, count))
}

/// Splits at `separator`, or at runs of white space, at most `limit` times, from the left or the
/// right.
pub fn split<'t>(
    text: &'t str,
    separator: Option<&str>,
    limit: Option<i64>,
    right: bool,
) -> Result<Vec<&'t str>> {
    let limit = limit
        .and_then(|limit| usize::try_from(limit).ok())
        .unwrap_or(usize::MAX);
    let mut pieces: Vec<&str> = match separator {
        Some("") => return Err(invalid("empty separator")),
        Some(separator) if right => text
            .rsplitn(limit.saturating_add(1), separator)
            .map(piece)
            .collect::<Result<_, _>>()?,
        Some(separator) => text
            .splitn(limit.saturating_add(1), separator)
            .map(piece)
            .collect::<Result<_, _>>()?,
        None => words(text, limit, right)?,
    };
    if right {
        pieces.reverse();
    }
    Ok(pieces)
}

/// A part of a text that becomes an item of a list, and counts as one.
pub fn piece(part: &str) -> Result<&str> {
    charge_piece(part.len()).map(|()| part)
}

/// Splits at white space. The remainder beyond the limit keeps the white space at its far end.
fn words(text: &str, limit: usize, right: bool) -> Result<Vec<&str>> {
    let mut words = Vec::new();
    let near = |rest| {
        if right {
            str::trim_end_matches(rest, chars::space)
        } else {
            str::trim_start_matches(rest, chars::space)
        }
    };
    let mut rest = near(text);
    while !rest.is_empty() {
        let cut = if right {
            rest.rfind(chars::space)
        } else {
            rest.find(chars::space)
        };
        let Some(cut) = cut.filter(|_| words.len() < limit) else {
            words.push(piece(rest)?);
            break;
        };
        let (before, after) = rest.split_at(cut);
        words.push(piece(if right {
            after.trim_start_matches(chars::space)
        } else {
            before
        })?);
        rest = near(if right { before } else { after });
    }
    Ok(words)
}

/// The lines, with their ends if `keep`.
pub fn lines(text: &str, keep: bool) -> impl Iterator<Item = &str> + Clone {
    let end = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = rest.find(end).unwrap_or(rest.len());
        let after = &rest[at..];
        let width = if after.starts_with("\r\n") {
            2
        } else {
            after.chars().next().map_or(0, char::len_utf8)
        };
        let line = &rest[..if keep { at + width } else { at }];
        rest = &rest[at + width..];
        Some(line)
    })
}

/// Indents all lines but the first, the first if `first`, and empty lines only if `blank`.
pub fn indent(text: &str, indention: &str, first: bool, blank: bool) -> Result<String> {
    // With the additional line break, a text that ends with one has a last, empty line.
    let text = format!("{text}\n");
    let lines = lines(&text, false);
    check_text(
        text.len()
            .saturating_add(lines.clone().count().saturating_mul(indention.len() + 1)),
    )?;
    let mut out = String::with_capacity(text.len());
    for (index, line) in lines.enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if if index == 0 {
            first
        } else {
            blank || !line.is_empty()
        } {
            out.push_str(indention);
        }
        out.push_str(line);
    }
    Ok(out)
}

/// Parses an integer like Python's `int`: digits, a sign, and single underscores between digits.
pub fn parse_int(text: &str, base: u32) -> Option<i128> {
    let text = text.trim_matches(chars::space);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let prefix = |long: &str| {
        let rest = digits
            .get(..2)
            .filter(|start| start.eq_ignore_ascii_case(long))
            .map(|_| &digits[2..])?;
        Some(rest.strip_prefix('_').unwrap_or(rest))
    };
    // The prefix of a base, or of any of them.
    let mut prefixes = [(16, "0x"), (8, "0o"), (2, "0b")]
        .into_iter()
        .filter(|(radix, _)| [0, *radix].contains(&base));
    let prefixed = prefixes.find_map(|(radix, long)| Some((radix, prefix(long)?)));
    let (base, digits) = prefixed.unwrap_or((if base == 0 { 10 } else { base }, digits));
    if !(2..=36).contains(&base) {
        return None;
    }
    let plain = plain_digits(digits)?;
    if !plain.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let number = i128::from_str_radix(&plain, base).ok()?;
    Some(if negative { -number } else { number })
}

/// Parses a number like Python's `float`.
pub fn parse_float(text: &str) -> Option<f64> {
    plain_digits(text.trim_matches(chars::space))?.parse().ok()
}

/// Digits of any script as ASCII, without underscores; `None` if an underscore is not between
/// digits.
fn plain_digits(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let after_digit = out.ends_with(|c: char| c.is_ascii_alphanumeric());
        match c {
            '_' if after_digit && chars.peek().is_some_and(|c| c.is_alphanumeric()) => {}
            '_' => return None,
            c if !c.is_ascii() && chars::decimal(c) => {
                // Finding its value takes some hundred steps.
                if !note(2_000) {
                    return None;
                }
                out.push(char::from(b'0' + chars::value(c)));
            }
            c => out.push(c),
        }
    }
    Some(out)
}
