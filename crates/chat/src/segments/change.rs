//! Other text in the place of a value, and what of a prompt moves with it.
//!
//! A byte that a template copies from a value changes with the value, whatever the template does to
//! it on the way: slicing, splitting, another case, JSON. So each character becomes another one of
//! its kind and length, and what stays the same is the template's own. White space, quotes,
//! backslashes and underscores stay: they decide how JSON, Python and identifiers are written.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::json_text::outer_space;
use chatparse_base::limits::SEGMENT_KEPT;
use chatparse_base::sort;
use chatparse_jinja::SourceParts;

/// The ASCII punctuation that changes, each into the next one.
const PUNCTUATION: &str = "<(>[|{#)!]$}%+&-*=,^./:~;@?`";

/// Whether a character stays.
pub(super) fn stays(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '\\' | '_')
}

/// Which values are changed, and what stays in them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change<'c> {
    /// Which values, by their numbers.
    pub values: &'c [bool],
    pub kept: Option<&'c Kept>,
    /// How many labels each text that is kept gets.
    pub labels: usize,
    /// Only spaces, each into a letter.
    pub spaces: bool,
    /// The values without a label that are changed once more, in order: one change may show what
    /// was there by chance.
    pub again: &'c [usize],
}

/// What a space becomes where spaces change.
pub(super) const NO_SPACE: char = 'x';

/// Texts of a template that stay in values, because the template looks for them there, by their
/// first character; the longest first.
#[derive(Debug, Default)]
pub(super) struct Kept(HashMap<char, Vec<String>>);

impl Kept {
    /// The texts between quotes in a source that are in a value: what is kept too often is still
    /// labelled.
    pub fn of<'t>(source: &str, texts: impl Iterator<Item = &'t str>) -> Self {
        let mut all = Kept::default();
        let mut texts_of_source: HashSet<String> = HashSet::new();
        for part in SourceParts::of(source).texts {
            let text = part.text.trim();
            if part.is_quoted && !text.is_empty() {
                texts_of_source.insert(text.to_owned());
            }
        }
        if texts_of_source.len() > SEGMENT_KEPT {
            return all;
        }
        for text in texts_of_source {
            let first = text.chars().next().unwrap_or_default();
            all.0.entry(first).or_default().push(text);
        }
        for texts in all.0.values_mut() {
            sort::by_key(texts, |text| std::cmp::Reverse(text.len()));
        }
        let mut used: HashSet<String> = HashSet::new();
        for text in texts {
            for (at, first) in text.char_indices() {
                let known = all.0.get(&first).into_iter().flatten();
                used.extend(
                    known
                        .filter(|kept| text[at..].starts_with(&**kept))
                        .cloned(),
                );
            }
        }
        // If one is a part of another, the template may cut it there.
        for text in &used {
            let mut others = used.iter().filter(|part| *part != text);
            if others.any(|part| text.contains(&**part)) {
                return Kept::default();
            }
        }
        all.0.retain(|_, texts| {
            texts.retain(|text| used.contains(text));
            !texts.is_empty()
        });
        all
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a piece of a prompt is such a text, as it is, in JSON or in another case.
    pub fn is(&self, piece: &str) -> bool {
        let piece = plain(outer_space(piece.trim()).1.trim());
        let Some(first) = piece.chars().next() else {
            return false;
        };
        let cases = first.to_lowercase().chain(first.to_uppercase());
        let mut kept = cases.filter_map(|first| self.0.get(&first)).flatten();
        kept.any(|kept| plain(kept) == piece)
    }

    fn at<'t>(&self, text: &'t str) -> Option<&'t str> {
        let mut known = self.0.get(&text.chars().next()?)?.iter();
        let found = known.find(|kept| text.starts_with(&***kept))?;
        Some(&text[..found.len()])
    }
}

/// A text without backslashes and cases.
fn plain(text: &str) -> String {
    text.replace('\\', "").to_lowercase()
}

/// The changed text. `json`: it is the inside of a JSON string, whose escapes stay. `label` writes
/// what is kept, with the white space around it.
pub(super) fn changed(
    text: &str,
    kept: Option<&Kept>,
    json: bool,
    label: &dyn Fn(&str) -> String,
) -> String {
    if kept.is_none() && !json {
        let mut out = String::with_capacity(text.len());
        out.extend(text.chars().map(other));
        return out;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // The start of the white space at the end of `out`.
    let mut space = 0;
    while let Some(c) = rest.chars().next() {
        if let Some(kept) = kept.and_then(|kept| kept.at(rest)) {
            let behind = rest[kept.len()..].trim_start();
            let length = rest.len() - behind.len();
            let spaced = out.split_off(space) + &rest[..length];
            out.push_str(&label(&spaced));
            rest = behind;
            space = out.len();
            continue;
        }
        let length = match rest.as_bytes() {
            [b'\\', b'u', ..] if json => 6,
            [b'\\', ..] if json => 2,
            _ => 0,
        };
        match rest.get(..length).filter(|escape| !escape.is_empty()) {
            Some(escape) => out.push_str(escape),
            None => out.push(other(c)),
        }
        rest = &rest[length.max(c.len_utf8()).min(rest.len())..];
        if !c.is_whitespace() {
            space = out.len();
        }
    }
    out
}

/// Another character of the same kind, case and length.
#[inline]
fn other(c: char) -> char {
    match c {
        'z' | 'Z' => char::from(c as u8 - 25),
        '9' => '0',
        _ if c.is_ascii_alphanumeric() => char::from(c as u8 + 1),
        _ if !c.is_ascii() => other_beyond(c),
        _ => {
            let at = PUNCTUATION.find(c).map(|at| (at + 1) % PUNCTUATION.len());
            at.map_or(c, |at| char::from(PUNCTUATION.as_bytes()[at]))
        }
    }
}

/// The same for characters beyond ASCII.
fn other_beyond(c: char) -> char {
    match c {
        // The scripts of labels.
        '\u{a000}'..='\u{a0ff}' | '\u{a500}'..='\u{a60b}' | '\u{a840}'..='\u{a871}' => c,
        _ if stays(c) => c,
        _ => {
            let mut near = (0..64).filter_map(|bits| char::from_u32(u32::from(c) ^ (bits ^ 3)));
            near.find(|near| *near != c && kind(*near) == kind(c))
                .unwrap_or(c)
        }
    }
}

/// All that decides how templates treat a character.
fn kind(c: char) -> (usize, [bool; 4]) {
    let is = [
        c.is_uppercase(),
        c.is_lowercase(),
        c.is_alphanumeric(),
        stays(c),
    ];
    (c.len_utf8(), is)
}

/// The ranges of the prompt that differ in the render with changed values; `None` if more than
/// characters differ.
pub(super) fn moved(prompt: &str, changed: &str) -> Option<Vec<Range<usize>>> {
    if prompt.len() != changed.len() {
        return None;
    }
    let mut moved: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < prompt.len() {
        // Most of it is equal in long stretches, or ASCII.
        let (a, b) = (prompt.as_bytes()[at], changed.as_bytes()[at]);
        let (a, b) = match a.is_ascii() && b.is_ascii() {
            true => (char::from(a), char::from(b)),
            false => (
                prompt[at..].chars().next()?,
                changed.get(at..)?.chars().next()?,
            ),
        };
        let end = at + a.len_utf8();
        if a != b {
            let expected = other(a);
            let is_case =
                expected.eq_ignore_ascii_case(&b) || expected.to_lowercase().eq(b.to_lowercase());
            if a.len_utf8() != b.len_utf8() || !is_case {
                return None;
            }
            match moved.last_mut() {
                Some(last) if last.end == at => last.end = end,
                _ => moved.push(at..end),
            }
        }
        at = end;
    }
    Some(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(text: &str, json: bool, kept: Option<&Kept>) -> String {
        changed(text, kept, json, &|kept| format!("«{kept}»"))
    }

    #[test]
    fn every_character_changes_and_keeps_its_length() {
        let text = "Az9 <|im_end|>\u{ff5c}é世👩x\"'";
        let changed = change(text, false, None);
        assert!(changed.starts_with("Ba0 ({jn_foe{["), "{changed}");
        let moved = moved(text, &changed).unwrap();
        assert_eq!(
            moved.iter().map(|bytes| bytes.len()).sum::<usize>(),
            text.len() - " _\"'".len()
        );
        for c in (0x21..0x7f)
            .filter_map(char::from_u32)
            .chain("éÉßαЯー世｜▁👩".chars())
        {
            assert!(
                stays(c) || other(c) != c && other(c).len_utf8() == c.len_utf8(),
                "{c}"
            );
        }
    }

    #[test]
    fn what_the_template_looks_for_stays_with_a_label() {
        let kept = Kept::of("{% if '</t>' in x or x == 'a' %}'", ["p</t>"].into_iter());
        assert_eq!(change("p \n</t>\nq", false, Some(&kept)), "q« \n</t>\n»r");
        assert_eq!(change(r"\n\u00fcn\\a", true, None), r"\n\u00fco\\b");
    }
}
