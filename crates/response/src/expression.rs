//! The expressions of response templates, as far as they say how a template writes: texts, white
//! space, names in groups, parts that may be missing, any text, and choices of these.

use chatparse_base::limits::{RESPONSE_PATTERN_BYTES, RESPONSE_WAYS};
use chatparse_base::{Error, Result};

use super::read::wrong;

/// A part of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Text(String),
    /// White space, or none.
    Space,
    /// Digits.
    Number,
    /// Any text, or none.
    Any,
    /// What the group of this name matches, and its expression.
    Group(String, String),
    /// What may be missing.
    Optional(Vec<Part>),
    /// No text: a look ahead or back, or the end of the output.
    Nothing,
}

/// Ways to write an expression out: each a sequence of parts.
pub type Ways = Vec<Vec<Part>>;

/// Most parts of a way to write an expression out.
const PARTS: usize = 64;

/// The ways in which an expression may be written out.
///
/// # Errors
/// What it has that no way to write has, with the place.
pub fn ways(pattern: &str, place: &str) -> Result<Ways> {
    if pattern.len() > RESPONSE_PATTERN_BYTES {
        return Err(wrong(
            place,
            format_args!(
                "an expression of {} bytes, more than {RESPONSE_PATTERN_BYTES}",
                pattern.len()
            ),
        ));
    }
    let mut reader = Reader {
        pattern,
        at: 0,
        place,
        depth: 0,
    };
    let ways = reader.choice()?;
    if reader.at < pattern.len() {
        Err(reader.wrong("a bracket that nothing opens"))
    } else {
        Ok(ways)
    }
}

struct Reader<'p> {
    pattern: &'p str,
    at: usize,
    place: &'p str,
    depth: usize,
}

impl Reader<'_> {
    fn wrong(&self, what: &str) -> Error {
        let rest: String = self.pattern[self.at..].chars().take(20).collect();
        wrong(
            self.place,
            format_args!("at byte {} ({rest:?}): {what}", self.at),
        )
    }

    fn rest(&self) -> &str {
        &self.pattern[self.at..]
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, text: &str) -> bool {
        let skipped = self.rest().starts_with(text);
        self.at += if skipped { text.len() } else { 0 };
        skipped
    }

    fn choice(&mut self) -> Result<Ways> {
        let mut all = self.sequence()?;
        while self.skip("|") {
            all.extend(self.sequence()?);
            if all.len() > RESPONSE_WAYS {
                return Err(self.wrong("too many choices"));
            }
        }
        Ok(all)
    }

    fn sequence(&mut self) -> Result<Ways> {
        let mut all = vec![Vec::new()];
        while !self.rest().is_empty() && !self.rest().starts_with(['|', ')']) {
            let start = self.at;
            let items = self.item()?;
            let items = match self.next() {
                Some('?') => {
                    self.at += 1;
                    self.skip("?");
                    items
                        .into_iter()
                        .map(|way| match &*way {
                            [Part::Space] | [] => way,
                            [Part::Text(text)] if text.trim().is_empty() => vec![Part::Space],
                            _ => vec![Part::Optional(way)],
                        })
                        .collect()
                }
                Some('*' | '+') if *items == [[Part::Space]] || *items == [[Part::Any]] => {
                    self.at += 1;
                    self.skip("?");
                    items
                }
                Some('*' | '+' | '{') => {
                    self.at = start;
                    return Err(
                        self.wrong("a repetition of anything but white space cannot be read")
                    );
                }
                _ => items,
            };
            if items.len() * all.len() > RESPONSE_WAYS || all.iter().any(|way| way.len() > PARTS) {
                return Err(self.wrong("too many choices, or too long"));
            }
            // Most items are one character: what stands in front of them is not copied.
            let mut longer: Ways = Vec::new();
            for item in &items[1..] {
                longer.extend(all.iter().map(|way| joined(way.clone(), item.clone())));
            }
            all = all
                .into_iter()
                .map(|way| joined(way, items[0].clone()))
                .collect();
            all.extend(longer);
        }
        Ok(all)
    }

    fn item(&mut self) -> Result<Ways> {
        let c = self.next().unwrap_or_default();
        let (part, length) = match c {
            '\\' => self.escaped()?,
            '(' => return self.group(),
            // A field may begin where the output does.
            '^' => {
                self.at += 1;
                return Ok(vec![Vec::new()]);
            }
            '[' | '.' => {
                let end = if c == '.' { 1 } else { self.class() };
                if !self.rest()[end..].starts_with(['*', '+']) {
                    return Err(self.wrong("a character of several is read only if it is repeated"));
                }
                (Part::Any, end)
            }
            '*' | '+' | '?' => return Err(self.wrong("nothing is repeated")),
            '$' => (Part::Nothing, 1),
            _ => (Part::Text(c.to_string()), c.len_utf8()),
        };
        self.at += length;
        Ok(vec![vec![part]])
    }

    /// The part that an escape is, and its length.
    fn escaped(&self) -> Result<(Part, usize)> {
        let rest = &self.rest()[1..];
        let Some(c) = rest.chars().next() else {
            return Err(self.wrong("nothing is escaped"));
        };
        let more = &rest[c.len_utf8()..];
        let mut length = 1 + c.len_utf8();
        let part = match c {
            's' => Part::Space,
            'd' if more.starts_with('+') => {
                length += 1;
                Part::Number
            }
            'd' | 'D' | 'S' | 'w' | 'W' if more.starts_with(['*', '+']) => Part::Any,
            'n' => Part::Text("\n".into()),
            't' => Part::Text("\t".into()),
            'Z' => Part::Nothing,
            _ if c.is_alphanumeric() => {
                return Err(self.wrong("a class of characters outside of a group with a name"));
            }
            _ => Part::Text(c.to_string()),
        };
        Ok((part, length))
    }

    /// The length of the class of characters that is next.
    fn class(&self) -> usize {
        let mut escaped = false;
        let first = if self.rest().starts_with("[^") { 2 } else { 1 };
        let end = self.rest().char_indices().find(|(at, c)| {
            let ends = *c == ']' && *at > first && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        end.map_or(self.rest().len(), |(at, _)| at + 1)
    }

    fn group(&mut self) -> Result<Ways> {
        let start = self.at;
        if ["(?=", "(?!", "(?<=", "(?<!"]
            .iter()
            .any(|look| self.skip(look))
        {
            self.past_group(start)?;
            return Ok(vec![vec![Part::Nothing]]);
        }
        if self.skip("(?P<") || self.skip("(?<") {
            let name = self.rest().split('>').next().unwrap_or_default().to_owned();
            let inside = (self.at + name.len() + 1).min(self.pattern.len());
            self.past_group(start)?;
            let inside = self.pattern.get(inside..self.at - 1).unwrap_or_default();
            return Ok(vec![vec![Part::Group(name, inside.to_owned())]]);
        }
        if !self.skip("(?:") && (self.rest().starts_with("(?") || !self.skip("(")) {
            return Err(self.wrong("a group of this kind cannot be read"));
        }
        self.depth += 1;
        if self.depth > 16 {
            return Err(self.wrong("groups are nested too deeply"));
        }
        let inside = self.choice()?;
        self.depth -= 1;
        if self.skip(")") {
            Ok(inside)
        } else {
            Err(self.wrong("a group has no end"))
        }
    }

    /// Goes on behind the group that begins at `start`.
    fn past_group(&mut self, start: usize) -> Result<()> {
        let mut depth = 0_usize;
        self.at = start;
        while let Some(c) = self.next() {
            self.at += if c == '[' { self.class() } else { c.len_utf8() };
            match c {
                '\\' => self.at += self.next().map_or(0, char::len_utf8),
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
        self.at = start;
        Err(self.wrong("a group has no end"))
    }
}

/// A sequence and one more, with texts side by side joined.
fn joined(mut way: Vec<Part>, more: Vec<Part>) -> Vec<Part> {
    for part in more {
        match (way.last_mut(), part) {
            (Some(Part::Text(text)), Part::Text(more)) => text.push_str(&more),
            (Some(Part::Space), Part::Space) => {}
            (_, part) => way.push(part),
        }
    }
    way
}
