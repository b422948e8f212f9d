//! Translates ECMAScript patterns of JSON schemas to [`regex_lite`].
//!
//! Patterns are read as with the flag `u`. Constructs that only one of the two has, or that differ and cannot be rewritten,
//! are not translated: look around, references to groups, properties of characters.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use regex_lite::{Regex, RegexBuilder};

use crate::limits;

pub(super) struct Pattern {
    pub(super) regex: Regex,
    /// The cost of one byte of a text in steps: at most the number of the program's instructions.
    pub(super) steps: usize,
}

/// Compiles a pattern if it can be translated without changing its meaning.
pub(super) fn compiled(pattern: &str) -> Option<Pattern> {
    let mut builder = RegexBuilder::new(&translated(pattern)?);
    let mut fits = |part: usize| builder.size_limit(limits::PATTERN_BYTES / part).build().ok();
    let small = fits(4).map(|regex| Pattern { regex, steps: 4 });
    small.or_else(|| Some(Pattern { regex: fits(1)?, steps: 16 }))
}

/// The cost of compiling a pattern, in steps.
pub(super) const COMPILING: usize = 256;

type Ranges = Vec<(char, char)>;

fn translated(pattern: &str) -> Option<String> {
    let mut reader = Reader { rest: pattern.chars().peekable(), out: String::with_capacity(2 * pattern.len()) };
    // Whether a quantifier may follow.
    let mut repeats = false;
    while let Some(c) = reader.rest.next() {
        repeats = match c {
            '*' | '+' | '?' => {
                reader.out.push(c);
                reader.quantified(repeats)?
            }
            '{' => match reader.counts() {
                Some(counts) => {
                    reader.out.push_str(&counts);
                    reader.quantified(repeats)?
                }
                None => reader.literal(c),
            },
            '(' => reader.group()?,
            '|' | '^' | '$' => {
                reader.out.push(c);
                false
            }
            ')' => {
                reader.out.push(c);
                true
            }
            '.' => reader.class(true, &[('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')]),
            '[' => {
                let (negated, ranges) = reader.in_brackets()?;
                reader.class(negated, &ranges)
            }
            '\\' => match reader.rest.peek()? {
                'b' | 'B' => {
                    // In brackets, because a `{` may follow.
                    let boundary = reader.rest.next()?;
                    write!(reader.out, "(?:\\{boundary})").ok()?;
                    false
                }
                _ => match reader.escape()? {
                    Atom::One(c) => reader.literal(c),
                    Atom::Class(ranges) => reader.class(false, &ranges),
                },
            },
            c => reader.literal(c),
        };
    }
    Some(reader.out)
}

/// An end of a range, or a class.
enum Atom {
    One(char),
    Class(Ranges),
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

impl Reader<'_> {
    fn literal(&mut self, c: char) -> bool {
        if r"\.+*?()|[]{}^$".contains(c) {
            self.out.push('\\');
        }
        self.out.push(c);
        true
    }

    fn class(&mut self, negated: bool, ranges: &[(char, char)]) -> bool {
        // The two differ in how they write an empty class.
        let (negated, ranges) =
            if ranges.is_empty() { (!negated, &[('\0', char::MAX)][..]) } else { (negated, ranges) };
        self.out.push_str(if negated { "[^" } else { "[" });
        for (first, last) in ranges {
            let _ = write!(self.out, "\\x{{{:X}}}-\\x{{{:X}}}", u32::from(*first), u32::from(*last));
        }
        self.out.push(']');
        true
    }

    /// Reads what follows a quantifier; a second quantifier is not translated.
    fn quantified(&mut self, repeats: bool) -> Option<bool> {
        if let Some(lazy) = self.rest.next_if_eq(&'?') {
            self.out.push(lazy);
        }
        repeats.then_some(false)
    }

    /// The bounds of a quantifier after its `{`; anything else is text.
    fn counts(&mut self) -> Option<String> {
        let mut ahead = self.rest.clone();
        let mut counts = String::from("{");
        let mut digits = |counts: &mut String| {
            let before = counts.len();
            while let Some(digit) = ahead.next_if(char::is_ascii_digit) {
                counts.push(digit);
            }
            (counts.len() > before, ahead.next())
        };
        let end = match digits(&mut counts) {
            (true, Some(',')) => {
                counts.push(',');
                digits(&mut counts).1
            }
            (true, end) => end,
            (false, _) => None,
        };
        if end? != '}' {
            return None;
        }
        self.rest = ahead;
        Some(counts + "}")
    }

    /// Reads the beginning of a group; groups with a special meaning are not translated.
    fn group(&mut self) -> Option<bool> {
        self.out.push_str("(?:");
        if self.rest.next_if_eq(&'?').is_some() {
            match self.rest.next()? {
                ':' => {}
                '<' if !matches!(self.rest.peek(), Some('=' | '!')) => while self.rest.next()? != '>' {},
                _ => return None,
            }
        }
        Some(false)
    }

    /// Reads an escape after its backslash.
    fn escape(&mut self) -> Option<Atom> {
        let c = self.rest.next()?;
        Some(match c {
            'd' => Atom::Class(vec![DIGITS]),
            'D' => Atom::Class(others(&[DIGITS])),
            'w' => Atom::Class(WORD.to_vec()),
            'W' => Atom::Class(others(WORD)),
            's' => Atom::Class(SPACE.to_vec()),
            'S' => Atom::Class(others(SPACE)),
            't' => Atom::One('\t'),
            'n' => Atom::One('\n'),
            'r' => Atom::One('\r'),
            'f' => Atom::One('\x0C'),
            'v' => Atom::One('\x0B'),
            '0' if !self.rest.peek().is_some_and(char::is_ascii_digit) => Atom::One('\0'),
            'c' => Atom::One(char::from(u8::try_from(self.rest.next().filter(char::is_ascii_alphabetic)?).ok()? % 32)),
            'x' => Atom::One(char::from_u32(self.hex(2)?)?),
            'u' => Atom::One(self.unicode()?),
            // In most other languages, `\<` and `\>` are the borders of words.
            c if c.is_ascii_punctuation() && !"_<>".contains(c) => Atom::One(c),
            _ => return None,
        })
    }

    fn hex(&mut self, digits: u32) -> Option<u32> {
        (0..digits).try_fold(0, |number, _| Some(number * 16 + self.rest.next()?.to_digit(16)?))
    }

    fn unicode(&mut self) -> Option<char> {
        if self.rest.next_if_eq(&'{').is_some() {
            let mut number = self.rest.next()?.to_digit(16)?;
            loop {
                match self.rest.next()? {
                    '}' => return char::from_u32(number),
                    digit => number = number.checked_mul(16)? + digit.to_digit(16)?,
                }
            }
        }
        let first = self.hex(4)?;
        if let Some(c) = char::from_u32(first) {
            return Some(c);
        }
        // A surrogate counts only with the other half of its pair.
        (self.rest.next()? == '\\' && self.rest.next()? == 'u').then_some(())?;
        let halves = [first, self.hex(4)?].map(|half| u16::try_from(half).unwrap_or_default());
        char::decode_utf16(halves).next()?.ok()
    }

    /// The ranges of a class up to its `]`, and whether it is negated.
    fn in_brackets(&mut self) -> Option<(bool, Ranges)> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges = Vec::new();
        while self.rest.next_if_eq(&']').is_none() {
            let first = self.in_class()?;
            let mut ahead = self.rest.clone();
            if ahead.next() != Some('-') || ahead.peek()? == &']' {
                first.add_to(&mut ranges);
                continue;
            }
            self.rest = ahead;
            match (first, self.in_class()?) {
                (Atom::One(first), Atom::One(last)) => ranges.push((first <= last).then_some((first, last))?),
                // A class cannot be an end of a range.
                (first, last) => {
                    first.add_to(&mut ranges);
                    ranges.push(('-', '-'));
                    last.add_to(&mut ranges);
                }
            }
        }
        Some((negated, ranges))
    }

    fn in_class(&mut self) -> Option<Atom> {
        match self.rest.next()? {
            '\\' if self.rest.next_if_eq(&'b').is_some() => Some(Atom::One('\x08')),
            '\\' => self.escape(),
            // In other languages, a POSIX class.
            '[' if self.rest.peek() == Some(&':') => None,
            c => Some(Atom::One(c)),
        }
    }
}

impl Atom {
    fn add_to(self, ranges: &mut Ranges) {
        match self {
            Atom::One(c) => ranges.push((c, c)),
            Atom::Class(more) => ranges.extend(more),
        }
    }
}

/// The complement of these ranges, which are sorted.
fn others(ranges: &[(char, char)]) -> Ranges {
    let mut others = Vec::new();
    let mut next = '\0';
    for (first, last) in ranges {
        others.extend((next..*first).next_back().map(|before| (next, before)));
        next = (*last..).nth(1).unwrap_or(char::MAX);
    }
    others.push((next, char::MAX));
    others
}

const DIGITS: (char, char) = ('0', '9');
const WORD: &[(char, char)] = &[DIGITS, ('A', 'Z'), ('_', '_'), ('a', 'z')];
/// White space and line ends: Unicode's, and the byte order mark.
const SPACE: &[(char, char)] = &[
    ('\t', '\r'),
    (' ', ' '),
    ('\u{A0}', '\u{A0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200A}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202F}', '\u{202F}'),
    ('\u{205F}', '\u{205F}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{FEFF}', '\u{FEFF}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_ecmascript() {
        for (pattern, matching, others) in [
            (r"^\s$", &["\u{FEFF}", "\u{A0}", "\u{2029}", "\t"][..], &["\u{1}", "\u{180E}", ""][..]),
            (r"^\S$", &["a", "\u{85}"], &["\u{3000}", " "]),
            (r"^[^\S\n]+$", &[" \t"], &["\n", "a"]),
            (r"^[\w.-]+$", &["a-.9_"], &["é", "["]),
            (r"^[+-]\d[\d-x]$", &["+1-", "-2x"], &["*1-", "+1a"]),
            (r"^.$", &["a", "\u{85}"], &["\n", "\r", "\u{2028}"]),
            (r"^\W\D$", &["é-", "-x"], &["ax", "-1"]),
            (r"^\cC\0\x41\u0042\u{1F432}\ud83d\udc32$", &["\u{3}\0AB🐲🐲"], &["\u{3}\0AB🐲"]),
            (r"^[🐲-🐶]{1,2}$", &["🐳", "🐳🐳"], &["", "a"]),
            (r"^a{,2}{}]$", &["a{,2}{}]"], &["aa"]),
            (r"^\/\-\&\x3c<$", &["/-&<<"], &["-"]),
            (r"^[\b]$", &["\u{8}"], &["b"]),
            (r"a[]|b", &["b"], &["a"]),
            (r"^[^]$", &["\n", "x"], &["", "xx"]),
            (r"^[]a]$", &[], &["]", "a", "a]"]),
            (r"^[[a]$", &["[", "a"], &["b"]),
            (r"^[a&&b~~]$", &["&", "~"], &["c"]),
            (r"^(?<name>x|y)+?$", &["xyx"], &["z"]),
            (r"\bfoo\b", &["a foo."], &["foot"]),
            (r"^a$", &["a"], &["a\n", "b\na"]),
        ] {
            let regex = compiled(pattern).unwrap_or_else(|| panic!("{pattern}")).regex;
            for text in matching {
                assert!(regex.is_match(text), "{pattern} {text:?}");
            }
            for text in others {
                assert!(!regex.is_match(text), "{pattern} {text:?}");
            }
        }
    }

    #[test]
    fn what_is_not_certain_is_not_translated() {
        for pattern in [
            "(?=a)",
            r"\<a\>",
            "[[:alpha:]]",
            "(?!a)",
            "(?<=a)",
            "(?i)a",
            "(?P<n>a)",
            r"(a)\1",
            r"\k<n>",
            r"\p{L}",
            r"\a",
            r"\z",
            r"\A",
            r"\_",
            "a**",
            "a*+",
            "a{2}{3}",
            "*",
            "^*",
            "(?:",
            "(",
            ")",
            "[a",
            "[b-a]",
            r"\",
            r"\ud83d",
            r"[\ud800-\udbff]",
            r"\u12",
            r"\x1",
            r"\c1",
            r"\01",
            "a{3,2}",
        ] {
            assert!(compiled(pattern).is_none(), "{pattern}");
        }
    }
}
