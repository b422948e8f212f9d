//! Reads character classes such as `[a-z_]` into a [`CharSet`].

use super::expr::{CharSet, Ranges};
use chatparse_base::char_class::{self, Unreadable};
use chatparse_base::{Error, Result};

impl CharSet {
    /// Reads a class like `[a-z_]`, `[^"\\]` or `[\u4E00-\u9FFF]`; the brackets are optional. A
    /// backslash makes the next character literal, except in `\n`, `\t`, `\r`, `\xHH`, `\uHHHH` and
    /// `\UHHHHHHHH`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the brackets are empty or not closed, a range is
    /// reversed, or an escape does not denote a character.
    pub fn parse(class: &str) -> Result<CharSet> {
        let wrong = |what: String| Error::invalid(format!("character class {class:?}: {what}"));
        let text = match class.strip_prefix('[') {
            Some(open) => open
                .strip_suffix(']')
                .ok_or_else(|| wrong("has no end".to_owned()))?,
            None => class,
        };
        let (negated, text) = text
            .strip_prefix('^')
            .map_or((false, text), |rest| (true, rest));
        let mut ranges = Ranges::new();
        let mut rest = text;
        while !rest.is_empty() {
            let ((low, high), after) =
                char_class::range(rest, str::is_empty, character).map_err(wrong)?;
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

/// The first character in `text`, which is not empty, and the text after it.
fn character(text: &str) -> Result<(char, &str), String> {
    match char_class::character(text) {
        Ok((code, rest)) => match char::from_u32(code) {
            Some(c) => Ok((c, rest)),
            None => Err(format!(
                "{} is not a character",
                &text[..text.len() - rest.len()]
            )),
        },
        // An unknown escape stands for the character itself.
        Err(Unreadable::Escape(Some(c)) | Unreadable::Digits(c, _)) => {
            Ok((c, &text[1 + c.len_utf8()..]))
        }
        Err(Unreadable::Escape(None) | Unreadable::End) => Err("has no end".to_owned()),
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
            (
                r"[\n\t\\\]\x41\u4E00-\u9FFF\U0001F600]",
                "\n\t\\]A世😀",
                "nxu 🚀",
            ),
            ("[é-ü]", "ê", "e"),
            (r"[\xzz]", "xz", "\\"),
            ("[-a]", "-a", "b"),
        ] {
            assert!(
                inside.chars().all(|c| set(class).contains(c)),
                "{class}: {inside}"
            );
            assert!(
                outside.chars().all(|c| !set(class).contains(c)),
                "{class}: {outside}"
            );
        }
        for (class, says) in [
            ("", "empty"),
            ("[^]", "empty"),
            ("[b-a]", "comes after"),
            (r"[\uD800]", "not a character"),
            ("[a", "no end"),
            (r"[a\]", "no end"),
        ] {
            assert!(
                CharSet::parse(class).unwrap_err().message().contains(says),
                "{class}"
            );
        }
    }
}
