//! Marks: two characters around each text of a conversation, by which a render can be split into
//! the template's text and the conversation's.
//!
//! The marks are letters without case from a script that the template does not use, so that
//! trimming, `tojson`, `replace`, joining and Python's `repr` leave them unchanged. They are inside
//! the outer white space of a text, so that trimming works as without them. If a mark changes the
//! template's branches, the render without its marks differs from the plain render, and is not
//! used.

use std::borrow::Cow;

use serde_json::Value;

/// The two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    open: char,
    close: char,
}

impl Marks {
    /// The first two letters that do not occur in `source`; `None` if there are none.
    pub fn unused_in(source: &str) -> Option<Marks> {
        // Phags-pa: 50 letters.
        let mut letters = ('\u{a840}'..='\u{a871}').filter(|letter| !source.contains(*letter));
        Some(Marks {
            open: letters.next()?,
            close: letters.next()?,
        })
    }

    /// The text with marks, unless it is only white space.
    pub fn mark(&self, text: &str) -> String {
        let inner = text.trim();
        if inner.is_empty() {
            return text.to_owned();
        }
        let start = text.len() - text.trim_start().len();
        let (before, after) = (&text[..start], &text[start + inner.len()..]);
        format!("{before}{}{inner}{}{after}", self.open, self.close)
    }

    /// Marks all texts of a value; names of members stay unmarked.
    pub fn mark_all(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.mark(text).into(),
            Value::Array(items) => items.iter().map(|item| self.mark_all(item)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), self.mark_all(value)))
                .collect(),
            other => other.clone(),
        }
    }

    /// Replaces JSON escapes of marks by the letters.
    pub fn unescaped<'t>(&self, render: &'t str) -> Cow<'t, str> {
        [self.open, self.close]
            .into_iter()
            .fold(Cow::Borrowed(render), |text, letter| {
                let escape = escape(letter);
                match text.contains(&escape) {
                    true => text
                        .replace(&escape, letter.encode_utf8(&mut [0; 4]))
                        .into(),
                    false => text,
                }
            })
    }

    /// Removes the marks.
    pub fn strip(&self, render: &str) -> String {
        self.unescaped(render).replace([self.open, self.close], "")
    }

    /// Whether the text contains a mark.
    pub fn in_text(&self, text: &str) -> bool {
        text.contains([self.open, self.close])
    }

    /// The first marked value at or after `from`, marks included.
    pub fn next(&self, render: &str, from: usize) -> Option<std::ops::Range<usize>> {
        let start = from + render.get(from..)?.find(self.open)?;
        let end = start + render[start..].find(self.close)? + self.close.len_utf8();
        Some(start..end)
    }
}

/// The letter as a JSON escape.
fn escape(letter: char) -> String {
    format!("\\u{:04x}", u32::from(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_inside_white_space_and_go_without_a_trace() {
        let marks = Marks::unused_in("a template with \u{a840}").unwrap();
        assert_eq!((marks.open, marks.close), ('\u{a841}', '\u{a842}'));
        let marked = marks.mark(" two words\n");
        assert_eq!(marked, " \u{a841}two words\u{a842}\n");
        assert_eq!(marks.strip(&marked), " two words\n");
        assert_eq!(marks.strip("\"\\ua841x\\ua842\""), "\"x\"");
        assert_eq!(marks.mark(" \n"), " \n");
        assert_eq!(marks.next("ab\u{a841}c\u{a842}d", 1), Some(2..9));
        assert_eq!(marks.next("ab\u{a841}c", 0), None);
    }
}
