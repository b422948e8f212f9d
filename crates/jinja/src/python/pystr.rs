//! Python's string operations, for filters and methods. They count Unicode characters, not bytes.

use std::collections::HashSet;

use super::chars;
use crate::budget::{ITEM, note, work};
use crate::fault::{Made, fail};

/// The ends of a text to strip.
#[derive(Clone, Copy)]
pub struct Ends {
    pub left: bool,
    pub right: bool,
}

impl Ends {
    pub const BOTH: Ends = Ends {
        left: true,
        right: true,
    };
}

/// Removes white space, or any of `chars`, from the ends.
pub fn strip<'a>(text: &'a str, ends: Ends, chars: Option<&str>) -> Made<&'a str> {
    let kept = match chars {
        None => strip_matches(text, ends, chars::space),
        Some(chars) if chars.len() <= FEW => strip_matches(text, ends, |c| chars.contains(c)),
        Some(chars) => {
            work(chars.len().saturating_mul(ITEM))?;
            let chars: HashSet<char> = chars.chars().collect();
            strip_matches(text, ends, |c| chars.contains(&c))
        }
    };
    work(text.len() - kept.len()).map(|()| kept)
}

/// The length of a set of characters that is searched without an index.
const FEW: usize = 32;

fn strip_matches(mut text: &str, ends: Ends, drop: impl Fn(char) -> bool) -> &str {
    if ends.left {
        text = text.trim_start_matches(&drop);
    }
    if ends.right {
        text = text.trim_end_matches(&drop);
    }
    text
}

/// The place of the character with this number in the text, or the text's end.
pub fn byte_of(text: &str, number: usize) -> usize {
    text.char_indices()
        .nth(number)
        .map_or(text.len(), |(at, _)| at)
}

/// The first character in upper case, the rest in lower case.
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

/// The text with the first letter of each word as `push` writes it, and the rest in lower case.
/// `between`: the characters that separate words.
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
    !text.is_empty()
        && !text.starts_with(chars::decimal)
        && text
            .chars()
            .all(|c| c == '_' || chars::alpha(c) || chars::decimal(c))
}

/// A number of times, which is not bounded if it is missing or negative.
fn limit(count: Option<i64>) -> usize {
    count
        .and_then(|count| count.try_into().ok())
        .unwrap_or(usize::MAX)
}

/// Splits at `separator`, or at runs of white space, at most `most` times, from the left or the
/// right.
pub fn split<'t>(
    text: &'t str,
    separator: Option<&str>,
    most: Option<i64>,
    right: bool,
) -> Made<Vec<&'t str>> {
    let most = limit(most);
    let parts = most.saturating_add(1);
    let pieces: Made<Vec<&str>> = match separator {
        Some("") => fail!("empty separator"),
        Some(separator) if right => text.rsplitn(parts, separator).map(piece).collect(),
        Some(separator) => text.splitn(parts, separator).map(piece).collect(),
        None => words(text, most, right),
    };
    let mut pieces = pieces?;
    if right {
        pieces.reverse();
    }
    Ok(pieces)
}

/// A part of a text that becomes an item of a list, and counts as one.
pub fn piece(part: &str) -> Made<&str> {
    work(2 * ITEM).map(|()| part)
}

/// Splits at white space. The remainder beyond the limit keeps the white space at its far end.
fn words(text: &str, limit: usize, right: bool) -> Made<Vec<&str>> {
    let mut words = Vec::new();
    let near = Ends {
        left: !right,
        right,
    };
    let mut rest = strip_matches(text, near, chars::space);
    while !rest.is_empty() {
        let cut = match right {
            true => rest.rfind(chars::space),
            false => rest.find(chars::space),
        };
        let Some(cut) = cut.filter(|_| words.len() < limit) else {
            words.push(piece(rest)?);
            break;
        };
        let (before, after) = rest.split_at(cut);
        let (word, others) = match right {
            true => (after.trim_start_matches(chars::space), before),
            false => (before, after),
        };
        words.push(piece(word)?);
        rest = strip_matches(others, near, chars::space);
    }
    Ok(words)
}

/// The lines, with their ends if `keep`.
pub fn lines(text: &str, keep: bool) -> impl Iterator<Item = &str> + Clone {
    const ENDS: [char; 10] = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}',
        '\u{2029}',
    ];
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = rest.find(ENDS).unwrap_or(rest.len());
        let after = &rest[at..];
        let width = match after.starts_with("\r\n") {
            true => 2,
            false => after.chars().next().map_or(0, char::len_utf8),
        };
        let line = &rest[..if keep { at + width } else { at }];
        rest = &after[width..];
        Some(line)
    })
}

/// Parses an integer like Python's `int`: digits, a sign, and single underscores between digits.
pub fn parse_int(text: &str, base: u32) -> Option<i128> {
    let text = text.trim_matches(chars::space);
    let mut digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    // The prefix of the base, or of any.
    let mut radix = if base == 0 { 10 } else { base };
    for (known, prefix) in [(16, "0x"), (8, "0o"), (2, "0b")] {
        if (base == 0 || base == known)
            && let Some((start, rest)) = digits.split_at_checked(2)
            && start.eq_ignore_ascii_case(prefix)
        {
            radix = known;
            digits = rest.strip_prefix('_').unwrap_or(rest);
            break;
        }
    }
    if !(2..=36).contains(&radix) {
        return None;
    }
    let plain = plain_digits(digits)?;
    if !plain.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let number = i128::from_str_radix(&plain, radix).ok()?;
    Some(if text.starts_with('-') {
        -number
    } else {
        number
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_python_reads_them() {
        for (text, base, expected) in [
            (" -1_0 ", 10, Some(-10)),
            ("+0x_1F", 0, Some(31)),
            ("0B11", 2, Some(3)),
            ("0b11", 16, Some(0xb11)),
            ("\u{661}\u{662}", 10, Some(12)),
            ("1__0", 10, None),
            ("0x", 0, None),
            ("--1", 10, None),
            ("1", 37, None),
        ] {
            assert_eq!(parse_int(text, base), expected, "{text}");
        }
    }

    #[test]
    fn words_are_split_from_either_end() {
        let split = |limit, right| split(" a  b c ", None, limit, right).unwrap();
        assert_eq!(split(None, false), ["a", "b", "c"]);
        assert_eq!(split(Some(1), false), ["a", "b c "]);
        assert_eq!(split(Some(1), true), [" a  b", "c"]);
        let both = strip("xyaxby", Ends::BOTH, Some("yx")).unwrap();
        assert_eq!(both, "axb");
    }
}
