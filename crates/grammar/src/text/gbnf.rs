//! Reads the GBNF of hosts like llama.cpp's grammar reader: same syntax, same limits, same errors.

use std::collections::HashMap;

use smol_str::SmolStr;

use crate::text::{Node, Tree};
use chatparse_base::char_class::{self, Unreadable};
use chatparse_base::chars::Chars;
use chatparse_base::{Error, ErrorKind, Result, limits, stack};

/// Minimum and maximum number of repetitions; `None` is unbounded.
type Bounds = (u64, Option<u64>);

/// The tree of a grammar.
///
/// # Errors
/// What llama.cpp rejects: also a rule that is not defined, and one that begins with itself.
pub fn tree(text: &str) -> Result<Tree> {
    on_a_stack_that_will_do(|depth| {
        let mut reader = Reader::new(text, depth);
        reader.blanks(true);
        while reader.at < text.len() {
            reader.rule()?;
        }
        reader.tree()
    })
}

/// Reads on the caller's stack; what nests deeper than that takes, again on a large one.
fn on_a_stack_that_will_do<T: Send>(read: impl Fn(usize) -> Result<T> + Sync) -> Result<T> {
    match read(limits::SHALLOW_GROUPS) {
        Err(error) if error.kind() == ErrorKind::Limit => stack::deep(|| read(limits::GBNF_DEPTH)),
        read => read,
    }
}

/// `text` without the blanks around it, if it is one rule body on one line.
pub fn body(text: &str) -> Result<&str> {
    on_a_stack_that_will_do(|depth| body_to(text, depth))
}

/// The tree of such a body, whose rules `number` numbers.
pub fn node(body: &str, number: &dyn Fn(&str) -> Result<usize>) -> Result<Node> {
    let mut reader = Reader {
        alone: true,
        ..Reader::new(body, limits::GBNF_DEPTH)
    };
    let node = reader.alternatives(0)?;
    let names = reader.rules.iter().map(|(name, _)| *name);
    let numbers: Vec<usize> = names.map(number).collect::<Result<_>>()?;
    Ok(node.with_rules(&|rule| Node::Rule(numbers[rule])))
}

fn body_to(text: &str, depth: usize) -> Result<&str> {
    let end = text.trim_ascii_end().len();
    let mut reader = Reader {
        at: end - text[..end].trim_ascii_start().len(),
        alone: true,
        ..Reader::new(&text[..end], depth)
    };
    let body = &reader.text[reader.at..];
    if body.is_empty() {
        return Err(Error::invalid(
            "body: blank; no text at all is written \"\"",
        ));
    }
    if let Some(at) = body.find('\0') {
        return Err(Error::invalid(format!(
            "body, byte {}: a NUL, which would end the text in C",
            reader.at + at
        )));
    }
    reader.alternatives(0)?;
    match reader.peek() {
        Some(c) => Err(reader.error(format!("unexpected {c:?}"))),
        None if body.ends_with('|') => {
            Err(reader.error("an empty alternative would go on in the next line"))
        }
        None => Ok(body),
    }
}

/// The error for a rule that is missing.
pub fn undefined(name: &str) -> Error {
    Error::invalid(format!(
        "grammar: the rule {name:?} is used but not defined"
    ))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// How deep groups may nest.
    depth: usize,
    /// The text is the body of one rule: without line breaks, and without comments, which end in
    /// one.
    alone: bool,
    /// The rules by number: their names, and the bodies that were read.
    rules: Vec<(&'a str, Option<Node>)>,
    numbers: HashMap<&'a str, usize>,
    /// How many rules llama.cpp's reader has by then, which unrolls groups and repetitions.
    unrolled: u64,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, depth: usize) -> Self {
        Reader {
            text,
            at: 0,
            depth,
            alone: false,
            rules: Vec::new(),
            numbers: HashMap::new(),
            unrolled: 0,
        }
    }

    fn tree(self) -> Result<Tree> {
        let (mut names, mut rules) = (Vec::new(), Vec::new());
        for (name, body) in self.rules {
            names.push(SmolStr::new(name));
            rules.push(body.ok_or_else(|| undefined(name))?);
        }
        Tree::of(names, rules)
    }

    fn error(&self, message: impl AsRef<str>) -> Error {
        if self.alone {
            return Error::invalid(format!("body, byte {}: {}", self.at, message.as_ref()));
        }
        let line = 1 + self.text.as_bytes()[..self.at]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        Error::invalid(format!("grammar, line {line}: {}", message.as_ref()))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn skip(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn expect(&mut self, text: &str) -> Result<()> {
        if self.skip(text) {
            Ok(())
        } else {
            Err(self.error(format!("expected {text:?}")))
        }
    }

    /// Skips blanks and comments; line breaks only if a rule cannot end here.
    fn blanks(&mut self, breaks: bool) {
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => self.at += 1,
                '\r' | '\n' if breaks && !self.alone => self.at += 1,
                '#' if !self.alone => {
                    let rest = self.rest();
                    self.at += rest.find(['\r', '\n']).unwrap_or(rest.len());
                }
                _ => break,
            }
        }
    }

    fn word(&mut self, fits: fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let word = &rest[..rest.find(|c| !fits(c)).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn named(&mut self, name: &'a str) -> usize {
        let next = self.rules.len();
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.rules.push((name, None));
            self.unrolled += 1;
        }
        number
    }

    fn rule(&mut self) -> Result<()> {
        let name = self.word(is_word);
        if name.is_empty() {
            return Err(self.error("expected the name of a rule"));
        }
        self.blanks(false);
        let number = self.named(name);
        self.expect("::=")?;
        self.blanks(true);
        self.rules[number].1 = Some(self.alternatives(0)?);
        match self.peek() {
            None | Some('\r' | '\n') => {}
            Some(c) => return Err(self.error(format!("unexpected {c:?}"))),
        }
        self.blanks(true);
        Ok(())
    }

    fn alternatives(&mut self, depth: usize) -> Result<Node> {
        if depth > self.depth {
            let error = self.error(format!("groups are nested more than {} deep", self.depth));
            return Err(Error::limit(error.message()));
        }
        let mut branches = Vec::new();
        loop {
            branches.push(self.sequence(depth)?);
            if !self.skip("|") {
                return Ok(Node::choice(branches));
            }
            self.blanks(true);
        }
    }

    fn sequence(&mut self, depth: usize) -> Result<Node> {
        let mut parts = Vec::new();
        // The number of rules that the last item counts for; none where there is no item.
        let mut size = None;
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    let (text, is_item) = self.literal()?;
                    parts.push(text);
                    size = is_item.then_some(1);
                }
                '[' => {
                    let chars = self.class()?;
                    size = chars.as_ref().map(|_| 1);
                    parts.extend(chars.map(Node::class));
                }
                '.' => {
                    self.at += 1;
                    parts.push(Node::class(Chars::all()));
                    size = Some(1);
                }
                '(' => {
                    self.at += 1;
                    self.blanks(true);
                    let before = self.unrolled;
                    self.unrolled += 1;
                    parts.push(self.alternatives(depth + 1)?);
                    self.expect(")")?;
                    size = Some(self.unrolled - before);
                }
                '*' | '+' | '?' | '{' => {
                    let bounds = self.bounds(depth)?;
                    size = Some(self.repeat(size, bounds)?);
                    let repeated = parts
                        .pop()
                        .unwrap_or(Node::EMPTY)
                        .repeat(bounds.0, bounds.1);
                    parts.push(repeated);
                    continue;
                }
                '<' | '!' => return Err(self.error("tokens cannot be checked against text")),
                c if is_word(c) => {
                    let name = self.word(is_word);
                    parts.push(Node::Rule(self.named(name)));
                    size = Some(1);
                }
                _ => break,
            }
            self.blanks(depth > 0);
        }
        Ok(Node::sequence(parts))
    }

    /// A text, and whether it has a character. With a code that is not one, it matches nothing.
    fn literal(&mut self) -> Result<(Node, bool)> {
        self.at += 1;
        let (mut text, mut is_item) = (Some(String::new()), false);
        while !self.skip("\"") {
            let (code, rest) = self.character(self.rest())?;
            self.at = self.text.len() - rest.len();
            is_item = true;
            text = text
                .zip(char::from_u32(code))
                .map(|(text, c)| text + &*c.encode_utf8(&mut [0; 4]));
        }
        Ok((text.map_or(Node::NEVER, Node::text), is_item))
    }

    /// A class without characters is not an item.
    fn class(&mut self) -> Result<Option<Chars>> {
        self.at += 1;
        let negated = self.skip("^");
        let mut ranges = Vec::new();
        while !self.skip("]") {
            let (range, rest) = char_class::range(
                self.rest(),
                |rest| rest.starts_with(']'),
                |text| self.character(text),
            )?;
            self.at = self.text.len() - rest.len();
            ranges.push(range);
        }
        let is_item = !ranges.is_empty();
        let chars = Chars::of_codes(ranges);
        Ok(is_item.then(|| if negated { chars.negated() } else { chars }))
    }

    /// The character at the start of `text`, the rest of the grammar, and what follows it.
    fn character(&mut self, text: &'a str) -> Result<(u32, &'a str)> {
        char_class::character(text).map_err(|problem| {
            let (read, message) = match problem {
                Unreadable::End => (0, "the grammar ends inside quotes or brackets".to_owned()),
                Unreadable::Escape(kind) => (
                    1 + kind.map_or(0, char::len_utf8),
                    format!("there is no escape \\{}", kind.unwrap_or(' ')),
                ),
                Unreadable::Digits(_, digits) => {
                    (2, format!("expected {digits} hexadecimal digits"))
                }
            };
            self.at = self.text.len() - text.len() + read;
            self.error(message)
        })
    }

    fn bounds(&mut self, depth: usize) -> Result<Bounds> {
        let breaks = depth > 0;
        let (min, max) = match self.take() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            _ => {
                self.blanks(breaks);
                let min = self
                    .number()?
                    .ok_or_else(|| self.error("expected a number"))?;
                self.blanks(breaks);
                let max = if self.skip(",") {
                    self.blanks(breaks);
                    let max = self.number()?;
                    self.blanks(breaks);
                    max
                } else {
                    Some(min)
                };
                self.expect("}")?;
                if min > limits::GBNF_REPETITIONS {
                    return Err(self.error(format!(
                        "more than {} repetitions",
                        limits::GBNF_REPETITIONS
                    )));
                }
                (min, max.filter(|max| *max <= limits::GBNF_REPETITIONS))
            }
        };
        self.blanks(breaks);
        Ok((min, max))
    }

    fn number(&mut self) -> Result<Option<u64>> {
        match self.word(|c| c.is_ascii_digit()) {
            "" => Ok(None),
            digits => digits
                .parse()
                .map(Some)
                .map_err(|_| self.error("a number is too large")),
        }
    }

    /// Counts a repetition of an item that counts for so many rules. Returns how many it counts for
    /// itself.
    fn repeat(&mut self, size: Option<u64>, (min, max): Bounds) -> Result<u64> {
        let Some(size) = size else {
            return Err(self.error("there is nothing to repeat"));
        };
        if max.is_some_and(|max| max < min) {
            return Err(self.error("a lower bound is above the upper one"));
        }
        let times = max.filter(|max| *max > 0).unwrap_or(min.max(1));
        let total = size.saturating_mul(times);
        if total > limits::GBNF_REPETITIONS {
            return Err(self.error(format!(
                "a repetition unrolls to more than {} rules",
                limits::GBNF_REPETITIONS
            )));
        }
        self.unrolled += max.map_or(1, |max| max - min);
        Ok(total)
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees() {
        let grammar = tree("# x\nroot ::= a-1 |\n ( \"x\\\"]\" | [^a-c\\]] )* [] . # c\na-1 ::= \"a\"{2,} b{0,3000} \"\\x62\"?\nb ::= a-1 \"b\"\n").unwrap();
        assert_eq!(grammar.names, ["root", "a-1", "b"]);
        assert_eq!(grammar.root, 0);
        let a = |text: &str| Node::text(text.to_owned());
        let others = Node::class(Chars::of_codes([(97, 99), (93, 93)]).negated());
        let any = Node::class(Chars::all());
        let star = Node::choice([a("x\"]"), others]).repeat(0, None);
        assert_eq!(
            grammar.rules[0],
            Node::choice([Node::Rule(1), Node::sequence([star, any])])
        );
        let parts = [
            a("a").repeat(2, None),
            Node::Rule(2).repeat(0, None),
            a("b").optional(),
        ];
        assert_eq!(grammar.rules[1], Node::sequence(parts));
    }

    #[test]
    fn what_is_refused() {
        for (grammar, says) in [
            ("root ::= a", "not defined"),
            ("root ::= <token>", "tokens"),
            ("", "no rule"),
            ("root ::= root \"x\" | \"x\"", "begins with itself"),
        ] {
            assert!(
                tree(grammar).unwrap_err().message().contains(says),
                "{grammar}"
            );
        }
        assert_eq!(tree("root ::= \"\\uD800\"").unwrap().rules[0], Node::NEVER);
    }
}
