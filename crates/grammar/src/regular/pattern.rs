//! Reads regular expressions of JSON Schema: ECMAScript, with the leniency of browsers.

use std::iter::Peekable;
use std::str::Chars as Text;

use chatparse_base::chars::Chars;
use chatparse_base::limits;

/// An expression of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// One character of these.
    One(Chars),
    Sequence(Vec<Expr>),
    Choice(Vec<Expr>),
    /// Minimum and maximum number of repetitions.
    Repeat(Box<Expr>, u32, Option<u32>),
    /// `^`: the start of the text.
    Start,
    /// `$`: the end of the text.
    End,
    /// `\b`: the edge of a word; with `false`, `\B`: no such edge.
    Edge(bool),
}

/// A pattern. A text matches if the expression is found in it.
#[derive(Debug)]
pub struct Pattern {
    pub expr: Expr,
    /// Look aheads at the very beginning: expressions that must, or with `false` must not, be found
    /// there.
    pub ahead: Vec<(Expr, bool)>,
    /// Nothing holds the look aheads to the start of the text, but the expression does. So what it
    /// finds is a match, and what it does not find may be one.
    pub pinned: bool,
}

/// Why a pattern cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It is a regular expression, but no rule can express it.
    Unsupported(&'static str),
    /// It is not a regular expression.
    Invalid(&'static str),
}

use Unusable::{Invalid, Unsupported};

type Parsed<T> = Result<T, Unusable>;

impl Pattern {
    pub fn parse(source: &str) -> Parsed<Pattern> {
        if source.len() > limits::PATTERN_SOURCE_BYTES {
            return Err(Unsupported("it is too long"));
        }
        let mut parser = Parser {
            rest: source.chars().peekable(),
            depth: 0,
            ahead: Vec::new(),
            at_start: true,
            pinned: None,
        };
        let expr = parser.choice()?;
        if parser.rest.peek().is_some() {
            return Err(Invalid("a ) closes nothing"));
        }
        let pinned = parser.pinned == Some(true);
        let expr = if pinned {
            Expr::Sequence(vec![Expr::Start, expr])
        } else {
            expr
        };
        Ok(Pattern {
            expr,
            ahead: parser.ahead,
            pinned,
        })
    }
}

impl Expr {
    pub fn nothing() -> Expr {
        Expr::Sequence(Vec::new())
    }

    /// The minimum and maximum length of a match in characters.
    pub fn width(&self) -> (u64, Option<u64>) {
        match self {
            Expr::One(_) => (1, Some(1)),
            Expr::Start | Expr::End | Expr::Edge(_) => (0, Some(0)),
            Expr::Sequence(parts) => Expr::width_of(parts),
            Expr::Choice(branches) => branches
                .iter()
                .map(Expr::width)
                .reduce(|a, b| (a.0.min(b.0), a.1.zip(b.1).map(|(a, b)| a.max(b))))
                .unwrap_or((0, Some(0))),
            Expr::Repeat(body, min, max) => {
                let (least, most) = body.width();
                let most = match (most, max) {
                    (Some(0), _) => Some(0),
                    (most, max) => most
                        .zip(*max)
                        .map(|(most, max)| most.saturating_mul(u64::from(max))),
                };
                (least.saturating_mul(u64::from(*min)), most)
            }
        }
    }

    /// The same of parts in order.
    pub fn width_of(parts: &[Expr]) -> (u64, Option<u64>) {
        parts
            .iter()
            .map(Expr::width)
            .fold((0, Some(0)), |sum, part| {
                let most = sum
                    .1
                    .zip(part.1)
                    .map(|(sum, part)| sum.saturating_add(part));
                (sum.0.saturating_add(part.0), most)
            })
    }

    /// Whether it contains an anchor.
    pub fn has_anchor(&self) -> bool {
        match self {
            Expr::One(_) => false,
            Expr::Start | Expr::End | Expr::Edge(_) => true,
            Expr::Sequence(parts) | Expr::Choice(parts) => parts.iter().any(Expr::has_anchor),
            Expr::Repeat(body, ..) => body.has_anchor(),
        }
    }
}

struct Parser<'a> {
    rest: Peekable<Text<'a>>,
    depth: usize,
    ahead: Vec<(Expr, bool)>,
    /// Whether only `^` has been read so far, outside of groups.
    at_start: bool,
    /// See [`Pattern::pinned`], once a `^` or a look ahead was read.
    pinned: Option<bool>,
}

impl Parser<'_> {
    fn skip(&mut self, c: char) -> bool {
        self.rest.next_if_eq(&c).is_some()
    }

    /// Skips this text if it comes next. Returns whether it did.
    fn skip_all(&mut self, text: &str) -> bool {
        let mut after = self.rest.clone();
        let same = text.chars().all(|c| after.next() == Some(c));
        if same {
            self.rest = after;
        }
        same
    }

    fn choice(&mut self) -> Parsed<Expr> {
        let mut branches = vec![self.sequence()?];
        while self.skip('|') {
            if !self.ahead.is_empty() && self.depth == 0 {
                return Err(Unsupported("it looks ahead in one of several branches"));
            }
            self.at_start = false;
            branches.push(self.sequence()?);
        }
        Ok(if branches.len() == 1 {
            branches.swap_remove(0)
        } else {
            Expr::Choice(branches)
        })
    }

    fn sequence(&mut self) -> Parsed<Expr> {
        let mut parts = Vec::new();
        while let Some(&c) = self.rest.peek() {
            if matches!(c, '|' | ')') {
                break;
            }
            let Some(part) = self.atom()? else { continue };
            self.at_start &= part == Expr::Start;
            if self.at_start {
                self.pinned.get_or_insert(false);
            }
            let part = self.quantified(part)?;
            parts.push(part);
        }
        Ok(if parts.len() == 1 {
            parts.swap_remove(0)
        } else {
            Expr::Sequence(parts)
        })
    }

    /// Returns `None` for something that is recorded elsewhere.
    fn atom(&mut self) -> Parsed<Option<Expr>> {
        let Some(c) = self.rest.next() else {
            return Ok(None);
        };
        Ok(Some(match c {
            '^' => Expr::Start,
            '$' => Expr::End,
            '.' => Expr::One(
                Chars::of([('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')]).negated(),
            ),
            '(' => return self.group(),
            '[' => Expr::One(self.class()?),
            '*' | '+' | '?' => return Err(Invalid("there is nothing to repeat")),
            '{' if self.braces().is_some() => return Err(Invalid("there is nothing to repeat")),
            '\\' => match self.rest.next_if(|c| matches!(c, 'b' | 'B')) {
                Some(edge) => Expr::Edge(edge == 'b'),
                None => Expr::One(self.escape(false)?),
            },
            c => Expr::One(Chars::one(c)),
        }))
    }

    fn group(&mut self) -> Parsed<Option<Expr>> {
        let mut look = None;
        if self.skip('?') {
            match self.rest.next() {
                Some(':') => {}
                Some('=') => look = Some(true),
                Some('!') => look = Some(false),
                Some('<') if !matches!(self.rest.peek(), Some('=' | '!')) => {
                    while self.rest.next_if(|c| *c != '>').is_some() {}
                    if !self.skip('>') {
                        return Err(Invalid("the name of a group is not closed"));
                    }
                }
                Some('<') => return Err(Unsupported("it looks behind")),
                _ => return Err(Unsupported("its groups set flags")),
            }
        }
        let leads = std::mem::replace(&mut self.at_start, false) && self.depth == 0;
        self.depth += 1;
        if self.depth > limits::PATTERN_DEPTH {
            return Err(Unsupported("its groups are nested too deeply"));
        }
        let body = self.choice()?;
        self.depth -= 1;
        if !self.skip(')') {
            return Err(Invalid("a ( is not closed"));
        }
        match look {
            None => Ok(Some(body)),
            Some(matches) if leads => {
                self.ahead.push((body, matches));
                self.pinned.get_or_insert(true);
                self.at_start = true;
                Ok(None)
            }
            Some(_) => Err(Unsupported("it looks ahead inside")),
        }
    }

    /// A part, with its quantifier if one follows. A lazy quantifier matches the same texts.
    fn quantified(&mut self, part: Expr) -> Parsed<Expr> {
        let before = self.rest.clone();
        let bounds = match self.rest.next() {
            Some('*') => Some((0, None)),
            Some('+') => Some((1, None)),
            Some('?') => Some((0, Some(1))),
            Some('{') => self.braces(),
            _ => None,
        };
        let Some((min, max)) = bounds else {
            self.rest = before;
            return Ok(part);
        };
        if max.is_some_and(|max| max < min) {
            return Err(Invalid("a lower bound is above the upper one"));
        }
        self.skip('?');
        if matches!(self.rest.peek(), Some('*' | '+' | '?')) {
            return Err(Invalid("there is nothing to repeat"));
        }
        Ok(Expr::Repeat(Box::new(part), min, max))
    }

    /// The bounds of `{2}`, `{2,}`, `{2,3}` after the brace; anything else is text. A missing
    /// maximum is a very large number.
    fn braces(&mut self) -> Option<(u32, Option<u32>)> {
        let mut after = self.rest.clone();
        let min = number(&mut after)?;
        let max = if after.next_if_eq(&',').is_some() {
            number(&mut after)
        } else {
            Some(min)
        };
        after.next_if_eq(&'}')?;
        self.rest = after;
        Some((min, max))
    }

    fn class(&mut self) -> Parsed<Chars> {
        let negated = self.skip('^');
        let mut chars = Chars::default();
        while !self.skip(']') {
            let low = self.member()?;
            if self.rest.peek() != Some(&'-') {
                chars = chars.or(&low);
                continue;
            }
            self.rest.next();
            if self.rest.peek() == Some(&']') {
                chars = chars.or(&low).or(&Chars::one('-'));
                continue;
            }
            let high = self.member()?;
            chars = match (low.single(), high.single()) {
                (Some(low), Some(high)) if low > high => {
                    return Err(Invalid("a range is reversed"));
                }
                (Some(low), Some(high)) => chars.or(&Chars::of([(low, high)])),
                // `[\w-.]`: a dash.
                _ => chars.or(&low).or(&high).or(&Chars::one('-')),
            };
        }
        Ok(if negated { chars.negated() } else { chars })
    }

    fn member(&mut self) -> Parsed<Chars> {
        match self.rest.next() {
            None => Err(Invalid("a [ is not closed")),
            Some('\\') => self.escape(true),
            Some('[') if self.rest.peek() == Some(&':') => {
                Err(Unsupported("it has a class of POSIX"))
            }
            Some(c) => Ok(Chars::one(c)),
        }
    }

    fn escape(&mut self, in_class: bool) -> Parsed<Chars> {
        let Some(c) = self.rest.next() else {
            return Err(Invalid("it ends in a backslash"));
        };
        let digits = || Chars::of([('0', '9')]);
        Ok(match c {
            'd' => digits(),
            'D' => digits().negated(),
            'w' => word(),
            'W' => word().negated(),
            's' => blanks(),
            'S' => blanks().negated(),
            't' => Chars::one('\t'),
            'n' => Chars::one('\n'),
            'r' => Chars::one('\r'),
            'v' => Chars::one('\u{b}'),
            'f' => Chars::one('\u{c}'),
            'b' if in_class => Chars::one('\u{8}'),
            '0' if !self.rest.peek().is_some_and(char::is_ascii_digit) => Chars::one('\0'),
            '1'..='9' if !in_class => return Err(Unsupported("it refers back to a group")),
            'k' => return Err(Unsupported("it refers back to a group")),
            'p' | 'P' if self.rest.peek() == Some(&'{') => {
                return Err(Unsupported("it names a property of Unicode"));
            }
            'c' => match self.rest.next_if(char::is_ascii_alphabetic) {
                Some(letter) => Chars::of_codes([(u32::from(letter) % 32, u32::from(letter) % 32)]),
                None => return Err(Unsupported("it has half an escape")),
            },
            'x' => self.hex(2)?,
            'u' if self.skip('{') => {
                let mut hex = String::new();
                while let Some(digit) = self.rest.next_if(char::is_ascii_hexdigit) {
                    hex.push(digit);
                }
                let code = u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
                match code.filter(|_| self.skip('}')) {
                    Some(c) => Chars::one(c),
                    None => return Err(Invalid("an escape \\u{ does not denote a character")),
                }
            }
            'u' => self.hex(4)?,
            // Other languages have more: `\A` and `\Z` for the ends of a text, `\<` for that of a
            // word.
            c if c.is_ascii_alphanumeric() || matches!(c, '<' | '>') => {
                return Err(Unsupported("it has an escape that ECMAScript has not"));
            }
            c => Chars::one(c),
        })
    }

    /// The character with this many hexadecimal digits.
    fn hex(&mut self, count: usize) -> Parsed<Chars> {
        let digits: String = self
            .rest
            .clone()
            .take(count)
            .filter(char::is_ascii_hexdigit)
            .collect();
        if digits.len() < count {
            return Err(Unsupported("it has half an escape"));
        }
        let code = u32::from_str_radix(&digits, 16).unwrap_or_default();
        self.rest.nth(count - 1);
        if let Some(c) = char::from_u32(code) {
            return Ok(Chars::one(c));
        }
        // A surrogate pair.
        let mut after = self.rest.clone();
        let low: String = after
            .by_ref()
            .skip(2)
            .take(4)
            .filter(char::is_ascii_hexdigit)
            .collect();
        let low = u32::from_str_radix(&low, 16).unwrap_or_default();
        if self.skip_all("\\u")
            && (0xD800..0xDC00).contains(&code)
            && (0xDC00..0xE000).contains(&low)
        {
            self.rest = after;
            let joined = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            return Ok(char::from_u32(joined).map_or_else(Chars::default, Chars::one));
        }
        Err(Unsupported("it has half a character"))
    }
}

/// A number without sign; `None` if there is no digit.
fn number(text: &mut Peekable<Text>) -> Option<u32> {
    let mut value: Option<u32> = None;
    while let Some(digit) = text.peek().and_then(|c| c.to_digit(10)) {
        value = Some(value.unwrap_or(0).saturating_mul(10).saturating_add(digit));
        text.next();
    }
    value
}

/// The characters of words, for `\b` and `\w`.
pub fn word() -> Chars {
    Chars::of([('0', '9'), ('A', 'Z'), ('a', 'z'), ('_', '_')])
}

/// ECMAScript's white space.
fn blanks() -> Chars {
    Chars::of([
        ('\t', '\r'),
        (' ', ' '),
        ('\u{a0}', '\u{a0}'),
        ('\u{1680}', '\u{1680}'),
        ('\u{2000}', '\u{200a}'),
        ('\u{2028}', '\u{2029}'),
        ('\u{202f}', '\u{202f}'),
        ('\u{205f}', '\u{205f}'),
        ('\u{3000}', '\u{3000}'),
        ('\u{feff}', '\u{feff}'),
    ])
}
