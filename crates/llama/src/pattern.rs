//! Turns regular expressions of schemas (ECMAScript, anchored at both ends) into rules.
//!
//! Supports llama.cpp's subset: literals, `.`, classes of plain characters, groups, `|`,
//! quantifiers. The rule matches the string's characters without JSON escapes.

use std::collections::HashMap;

use smol_str::{SmolStr, format_smolstr};

use super::schema_graph::Count;
use chatparse_base::char_class::{self, Unreadable};
use chatparse_base::limits;
use chatparse_grammar::rules::{Builder, Rule, spelled};

/// Characters with a meaning outside of classes; a backslash makes them literal.
const SPECIAL: &str = "|.()[]{}*+?^$";

/// The rule of any character.
const DOT: &str = "dot";

/// Why a pattern has no rule.
#[derive(Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is outside of the subset.
    Unsupported(String),
    /// It is not a regular expression.
    Invalid(String),
}

use Problem::{Invalid, Unsupported};

type Parsed<T> = Result<T, Problem>;

/// A parsed pattern without its anchors. Its parts with braces have bounds without a sign; its
/// references are its dots.
#[derive(Debug)]
pub struct Pattern {
    body: Rule,
    /// The ways in which the rule allows more than the pattern.
    pub widened: Vec<&'static str>,
}

impl Pattern {
    pub fn parse(source: &str) -> Parsed<Pattern> {
        let inside = source
            .strip_prefix('^')
            .and_then(|rest| rest.strip_suffix('$'));
        let Some(inside) = inside else {
            return Err(Unsupported("it is not anchored with ^ and $".into()));
        };
        let mut parser = Parser {
            rest: inside,
            ..Parser::default()
        };
        let body = parser.choice()?;
        if !parser.rest.is_empty() {
            return Err(Invalid("a ) closes nothing".into()));
        }
        let mut widened = Vec::new();
        if parser.bare {
            widened.push("characters that JSON strings must escape are allowed as they are");
        }
        if parser.large {
            widened.push("a count is larger than llama.cpp reads");
        }
        Ok(Pattern { body, widened })
    }

    /// The rule. Parts with braces get separate rules, named after `name`.
    pub fn rule(&self, builder: &mut Builder, name: &str) -> Rule {
        Writer {
            builder,
            name,
            counted: HashMap::new(),
        }
        .rule(self.body.clone())
    }
}

/// Whether a part of a pattern may be empty.
fn may_be_empty(part: &Rule) -> bool {
    match part {
        Rule::Empty => true,
        Rule::Group(body, _) => may_be_empty(body),
        Rule::Sequence(parts) => parts.iter().all(may_be_empty),
        Rule::Choice(branches) => branches.iter().any(may_be_empty),
        Rule::Repeat(body, bounds) => bounds.min == 0 || may_be_empty(body),
        _ => false,
    }
}

#[derive(Default)]
struct Parser<'a> {
    rest: &'a str,
    depth: usize,
    /// The rule allows characters that JSON strings must escape.
    bare: bool,
    /// A count is too large for llama.cpp's reader.
    large: bool,
}

impl<'a> Parser<'a> {
    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads branches up to the end or a closing parenthesis.
    fn choice(&mut self) -> Parsed<Rule> {
        let mut branches = vec![self.sequence()?];
        while self.skip("|") {
            branches.push(self.sequence()?);
        }
        Ok(if branches.len() == 1 {
            branches.remove(0)
        } else {
            Rule::Choice(branches)
        })
    }

    fn sequence(&mut self) -> Parsed<Rule> {
        let mut parts: Vec<Rule> = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let part = self.atom()?;
            match (parts.last_mut(), self.quantified(part)?) {
                (Some(Rule::Spelled(before)), Rule::Spelled(text)) => before.push_str(&text),
                (_, part) => parts.push(part),
            }
        }
        Ok(if parts.is_empty() {
            Rule::Empty
        } else {
            Rule::Sequence(parts)
        })
    }

    fn atom(&mut self) -> Parsed<Rule> {
        let written = self.rest;
        match self.take().unwrap_or_default() {
            '.' => {
                self.bare = true;
                Ok(Rule::reference(DOT))
            }
            '(' => {
                if self.rest.starts_with('?') && !self.skip("?:") {
                    return Err(Unsupported(
                        "its groups look around, have names or set flags".into(),
                    ));
                }
                self.depth += 1;
                if self.depth > limits::PATTERN_DEPTH {
                    return Err(Unsupported("its groups are nested too deeply".into()));
                }
                let body = self.choice()?;
                if !self.skip(")") {
                    return Err(Invalid("a ( is not closed".into()));
                }
                self.depth -= 1;
                Ok(body.group())
            }
            '[' => self.class(),
            '^' | '$' => Err(Unsupported("it has an anchor inside".into())),
            '*' | '+' | '?' => Err(Invalid("there is nothing to repeat".into())),
            '{' if self.rest.contains('}') => Err(Invalid("there is nothing to repeat".into())),
            c @ ('{' | '}' | ']') => Err(Unsupported(format!("a lone {c}"))),
            '\\' => match self.rest.chars().next() {
                None => Err(Invalid("it ends in a backslash".into())),
                Some(c) if SPECIAL.contains(c) => {
                    self.take();
                    Ok(Rule::Spelled(c.into()))
                }
                Some(_) => {
                    let (c, rest) = character(written)?;
                    self.rest = rest;
                    self.bare |= must_be_escaped(c);
                    Ok(Rule::Spelled(
                        written[..written.len() - rest.len()].to_owned(),
                    ))
                }
            },
            c => {
                self.bare |= must_be_escaped(c);
                // Only these characters are written differently in GBNF; line breaks may stay.
                Ok(Rule::Spelled(if matches!(c, '"' | '\0') {
                    spelled(c.encode_utf8(&mut [0; 4]))
                } else {
                    c.into()
                }))
            }
        }
    }

    fn class(&mut self) -> Parsed<Rule> {
        let negated = self.skip("^");
        let written = self.rest;
        let mut ranges: Vec<(char, char)> = Vec::new();
        while !self.rest.starts_with(']') {
            let ((low, high), rest) =
                char_class::range(self.rest, |rest| rest.starts_with(']'), character)?;
            if high < low {
                return Err(Invalid(format!("the range {low}-{high} is reversed")));
            }
            ranges.push((low, high));
            self.rest = rest;
        }
        if ranges.is_empty() {
            return Err(Unsupported("it has an empty class".into()));
        }
        // A class is copied as written, except for NUL, which would end the text for a reader in C.
        let written = written[..written.len() - self.rest.len()].replace('\0', "\\x00");
        self.take();
        self.bare |= ('\0'..='\x1F')
            .chain(['"', '\\'])
            .any(|c| ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != negated);
        Ok(Rule::class(format!(
            "[{}{written}]",
            if negated { "^" } else { "" }
        )))
    }

    /// A part, with its quantifier if one follows.
    fn quantified(&mut self, part: Rule) -> Parsed<Rule> {
        let braces = self.rest.starts_with('{');
        let count = if braces {
            self.braces()?
        } else {
            let (min, max) = match self.rest.chars().next() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                _ => return Ok(part),
            };
            self.take();
            Count { min, max }
        };
        if count.max.is_none_or(|max| max > limits::GBNF_REPETITIONS) && may_be_empty(&part) {
            return Err(Unsupported(
                "it has an unbounded repetition of a part that may be empty, which llama.cpp rejects".into(),
            ));
        }
        let mut part = if braces {
            part.times(count.min, count.max)
        } else {
            part.repeat(count.min, count.max)
        };
        // A lazy quantifier matches the same texts.
        if self.skip("?") && count.min == 0 {
            part = part.optional();
        }
        match self.rest.chars().next() {
            Some('*' | '+' | '?') => Err(Invalid("there is nothing to repeat".into())),
            _ => Ok(part),
        }
    }

    fn braces(&mut self) -> Parsed<Count> {
        let Some((inside, rest)) = self.rest[1..].split_once('}') else {
            return Err(Unsupported("a { is not closed".into()));
        };
        let (min, max) = match inside.split_once(',') {
            None => (number(inside)?, Some(number(inside)?)),
            Some((min, max)) => (
                if min.is_empty() { 0 } else { number(min)? },
                (!max.is_empty()).then(|| number(max)).transpose()?,
            ),
        };
        if max.is_some_and(|max| max < min) {
            return Err(Invalid("a lower bound is above the upper one".into()));
        }
        let most = limits::GBNF_REPETITIONS;
        self.large |= min.max(max.unwrap_or(0)) > most;
        self.rest = rest;
        let min = min.min(most);
        Ok(Count { min, max })
    }
}

/// A number of repetitions.
fn number(text: &str) -> Parsed<u64> {
    // A sign is not a digit.
    text.starts_with(|c: char| c.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
        .ok_or_else(|| Unsupported("the text in braces is not a count".into()))
}

/// The first character in `text`, decoding GBNF's escapes, and the text after it.
fn character(text: &str) -> Parsed<(char, &str)> {
    let kind = match char_class::character(text) {
        Ok((code, rest)) => match char::from_u32(code) {
            Some(c) => return Ok((c, rest)),
            None => text.chars().nth(1).unwrap_or_default(),
        },
        Err(Unreadable::Escape(Some(kind)) | Unreadable::Digits(kind, _)) => kind,
        Err(Unreadable::Escape(None) | Unreadable::End) => {
            return Err(Invalid("a [ is not closed".into()));
        }
    };
    Err(Unsupported(format!("the escape \\{kind}")))
}

/// Whether JSON strings must escape the character.
fn must_be_escaped(c: char) -> bool {
    c == '"' || c == '\\' || c < ' '
}

struct Writer<'b> {
    builder: &'b mut Builder,
    name: &'b str,
    /// Rules for counted parts, by their text.
    counted: HashMap<String, SmolStr>,
}

impl Writer<'_> {
    fn rules(&mut self, parts: Vec<Rule>) -> Vec<Rule> {
        parts.into_iter().map(|part| self.rule(part)).collect()
    }

    fn rule(&mut self, part: Rule) -> Rule {
        match part {
            Rule::Reference(_) => self.builder.refer(DOT, Rule::class("[^\\x0A\\x0D]")),
            Rule::Group(body, _) => self.rule(*body).group(),
            Rule::Choice(branches) => Rule::Choice(self.rules(branches)),
            Rule::Sequence(parts) => Rule::Sequence(self.rules(parts)),
            Rule::Repeat(body, bounds) => {
                let mut rule = self.rule(*body);
                if bounds.sign {
                    return rule.repeat(bounds.min, bounds.max);
                }
                if !matches!(rule, Rule::Spelled(_)) {
                    let text = rule.to_string();
                    let number = self.counted.len() + 1;
                    let name = match self.counted.get(&text) {
                        Some(name) => name.clone(),
                        None => self
                            .builder
                            .add(&format_smolstr!("{}-{number}", self.name), rule),
                    };
                    self.counted.insert(text, name.clone());
                    rule = Rule::Reference(name);
                }
                rule.repeat_or_nothing(bounds.min, bounds.max)
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;
    use chatparse_grammar::Recogniser;
    use chatparse_grammar::text::sample::Walk;

    fn recogniser(pattern: &str) -> Option<Recogniser> {
        let pattern = Pattern::parse(pattern).ok()?;
        let mut builder = Builder::new();
        let rule = pattern.rule(&mut builder, "p");
        builder.add_rule("root", rule);
        let text = builder.finish().text;
        Some(Recogniser::new(&text).unwrap_or_else(|error| panic!("{error}\n{text}")))
    }

    const ATOMS: &[&str] = &[
        "a", "b", "ab", "[a-c]", "[^b]", ".", "\\.", "\\-", "-", "é", "\\x62", "\\u00e9", "[\\-b]",
        "\\(", "[é\\]]",
    ];
    const QUANTIFIERS: &[&str] = &[
        "", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,1}", "*?", "+?", "??", "{1,2}?",
    ];

    fn quantified(part: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        (part, prop::sample::select(QUANTIFIERS)).prop_map(|(part, quantifier)| part + quantifier)
    }

    fn part() -> impl Strategy<Value = String> {
        // A quantifier applies to the last character before it.
        let atom = prop::sample::select(ATOMS).prop_map(str::to_owned);
        quantified(atom).prop_recursive(3, 12, 3, |inner| {
            let sequence = prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|parts| format!("({})", parts.concat()));
            let choice = prop::collection::vec(inner, 1..3)
                .prop_map(|parts| format!("(?:{})", parts.join("|")));
            quantified(prop_oneof![sequence, choice])
        })
    }

    proptest! {
        #[test]
        fn allows_what_the_expression_matches(
            parts in prop::collection::vec(part(), 0..4),
            texts in prop::collection::vec("[abc.é(\\]-]{0,6}", 20),
            seed in any::<u64>(),
        ) {
            let body = parts.concat();
            let Some(recogniser) = recogniser(&format!("^{body}$")) else { return Ok(()) };
            let regex = Regex::new(&format!("^(?:{body})$")).expect("the expression is valid");
            for text in texts {
                prop_assert_eq!(recogniser.accepts(&text), regex.is_match(&text), "{} {:?}", body, text);
            }
            let mut walk = Walk::new(&recogniser, seed);
            for _ in 0..10 {
                let text = walk.text(20).expect("some text matches");
                prop_assert!(regex.is_match(&text), "{} {:?}", body, text);
            }
        }

        #[test]
        fn any_text_has_an_answer(text in "[\\^]?[a(|)*+?{2,}\\[\\]\\\\^xU0-9.-]{0,20}[$]?") {
            recogniser(&text);
        }
    }
}
