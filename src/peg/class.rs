//! Sets of characters as people write them.

use super::expr::{CharSet, Ranges};
use crate::error::{Error, Result};

impl CharSet {
    /// Reads a class like `[a-z_]`, `[^"\\]` or `[\u4E00-\u9FFF]`; the brackets may be left out. A backslash makes the character
    /// behind it mean itself, but for `\n`, `\t`, `\r`, `\xHH`, `\uHHHH` and `\UHHHHHHHH`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] where there is nothing between the brackets, a range is upside down or an escape is no
    /// character.
    pub fn parse(class: &str) -> Result<CharSet> {
        let text = class.strip_prefix('[').unwrap_or(class);
        let text = text.strip_suffix(']').unwrap_or(text);
        let (negated, text) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let wrong = |what: String| Error::invalid(format!("character class {class:?}: {what}"));
        let mut ranges = Ranges::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (low, mut after) = character(rest).map_err(wrong)?;
            let mut high = low;
            if let Some(end) = after.strip_prefix('-').filter(|end| !end.is_empty()) {
                (high, after) = character(end).map_err(wrong)?;
            }
            rest = after;
            if low > high {
                return Err(wrong(format!("{low:?} comes after {high:?}")));
            }
            ranges.push((low, high));
        }
        if ranges.is_empty() {
            return Err(wrong("must not be empty".to_owned()));
        }
        Ok(CharSet { ranges, negated })
    }
}

/// The first character that is written in `text`, which is not empty, and what follows it.
fn character(text: &str) -> Result<(char, &str), String> {
    let mut chars = text.chars();
    let first = chars.next().unwrap_or_default();
    let Some(escaped) = chars.next().filter(|_| first == '\\') else { return Ok((first, &text[first.len_utf8()..])) };
    let rest = &text[1 + escaped.len_utf8()..];
    let digits = match escaped {
        'n' => return Ok(('\n', rest)),
        't' => return Ok(('\t', rest)),
        'r' => return Ok(('\r', rest)),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        other => return Ok((other, rest)),
    };
    let code = rest.get(..digits).filter(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()));
    let Some(code) = code else { return Ok((escaped, rest)) };
    match u32::from_str_radix(code, 16).ok().and_then(char::from_u32) {
        Some(c) => Ok((c, &rest[digits..])),
        None => Err(format!("\\{escaped}{code} is no character")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        let set = |class: &str| CharSet::parse(class).unwrap();
        for (class, inside, outside) in [
            ("[a-c_]", "ab_", "d-["),
            ("a-z-", "m-", "A"),
            ("[^]]", "a[", "]"),
            (r"[a\-z]", "a-z\u{7a}", "b"),
            (r"[\n\t\\\]\x41\u4E00-\u9FFF\U0001F600]", "\n\t\\]A世😀", "nxu 🚀"),
            ("[é-ü]", "ê", "e"),
            (r"[\xzz]", "xz", "\\"),
            ("[-a]", "-a", "b"),
            ("[\\", "\\", "["),
        ] {
            assert!(inside.chars().all(|c| set(class).contains(c)), "{class}: {inside}");
            assert!(outside.chars().all(|c| !set(class).contains(c)), "{class}: {outside}");
        }
        for (class, says) in [("", "empty"), ("[^]", "empty"), ("[b-a]", "comes after"), (r"[\uD800]", "no character")]
        {
            assert!(CharSet::parse(class).unwrap_err().message().contains(says), "{class}");
        }
    }
}
