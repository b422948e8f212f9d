//! Reads GBNF like llama.cpp's grammar reader: same syntax, same limits, same errors. A grammar is read with its repetitions
//! unrolled, as llama.cpp checks it and as texts are checked; where it will be printed, as a tree besides.

use std::collections::HashMap;

use smol_str::SmolStr;

use crate::text::tree::{Node, Tree};
use crate::text::unrolled::{Alternatives, Rules, Symbol};
use chatparse_base::char_class::{self, Unreadable};
use chatparse_base::chars::Chars;
use chatparse_base::limits;
use chatparse_base::{Error, ErrorKind, Result, stack};

/// Minimum and maximum number of repetitions; `None` is unbounded.
type Bounds = (u64, Option<u64>);

/// The unrolled rules of a grammar.
///
/// # Errors
/// What llama.cpp rejects: also a rule that is not defined, and one that begins with itself.
pub(crate) fn rules(text: &str) -> Result<Rules> {
    read(text, false).map(|(rules, _)| rules)
}

/// The tree of a grammar.
///
/// # Errors
/// As [`rules`].
pub(crate) fn tree(text: &str) -> Result<Tree> {
    read(text, true).map(|(_, tree)| tree)
}

/// Both, on the caller's stack.
///
/// # Errors
/// As [`rules`].
pub(crate) fn both(text: &str) -> Result<(Rules, Tree)> {
    read_to(text, true, limits::GBNF_DEPTH)
}

/// Both; the tree is empty where none is wanted.
fn read(text: &str, wants_tree: bool) -> Result<(Rules, Tree)> {
    on_a_stack_that_will_do(|depth| read_to(text, wants_tree, depth))
}

/// Reads on the caller's stack; what nests deeper than that takes, again on a large one.
fn on_a_stack_that_will_do<T: Send>(read: impl Fn(usize) -> Result<T> + Sync) -> Result<T> {
    match read(limits::SHALLOW_GROUPS) {
        Err(error) if error.kind() == ErrorKind::Limit => stack::deep(|| read(limits::GBNF_DEPTH)),
        read => read,
    }
}

fn read_to(text: &str, wants_tree: bool, depth: usize) -> Result<(Rules, Tree)> {
    let mut reader = Reader { wants_tree, ..Reader::new(text, depth) };
    reader.blanks(true);
    while reader.at < text.len() {
        reader.rule()?;
    }
    let root = reader.names.get("root").copied();
    for (name, named) in &reader.names {
        if reader.rules[named.id as usize].is_none() {
            return Err(Error::invalid(format!("grammar: the rule {name:?} is used but not defined")));
        }
    }
    let Some(root) = root else { return Err(Error::invalid("grammar: there is no rule \"root\"")) };
    let rules = reader.rules.into_iter().map(Option::unwrap_or_default).collect();
    let rules = Rules { rules, classes: reader.classes, root: root.id };
    if rules.has_left_recursion() {
        return Err(Error::invalid("grammar: a rule begins with itself, which llama.cpp rejects"));
    }
    let mut names: Vec<(&str, Named)> = reader.names.into_iter().filter(|_| wants_tree).collect();
    chatparse_base::sort::by_key(&mut names, |(_, named)| named.number);
    let names = names.into_iter().map(|(name, _)| SmolStr::new(name)).collect();
    Ok((rules, Tree { names, rules: reader.bodies, root: root.number }))
}

/// `text` without the blanks around it, if it is one rule body on one line.
pub(crate) fn body(text: &str) -> Result<&str> {
    on_a_stack_that_will_do(|depth| body_to(text, depth))
}

fn body_to(text: &str, depth: usize) -> Result<&str> {
    let end = text.trim_ascii_end().len();
    let mut reader =
        Reader { at: end - text[..end].trim_ascii_start().len(), alone: true, ..Reader::new(&text[..end], depth) };
    let body = &reader.text[reader.at..];
    if body.is_empty() {
        return Err(Error::invalid("body: blank; no text at all is written \"\""));
    }
    if let Some(at) = body.find('\0') {
        return Err(Error::invalid(format!("body, byte {}: a NUL, which would end the text in C", reader.at + at)));
    }
    reader.alternatives(0)?;
    match reader.peek() {
        Some(c) => Err(reader.error(format!("unexpected {c:?}"))),
        None if body.ends_with('|') => Err(reader.error("an empty alternative would go on in the next line")),
        None => Ok(body),
    }
}

/// A rule that has a name: its number among the unrolled rules, and in the tree.
#[derive(Clone, Copy)]
struct Named {
    id: u32,
    number: usize,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// How deep groups may nest.
    depth: usize,
    /// The text is the body of one rule: without line breaks, and without comments, which end in one.
    alone: bool,
    /// Without it, the nodes are [`Node::EMPTY`]: to make them takes longer than to read.
    wants_tree: bool,
    names: HashMap<&'a str, Named>,
    rules: Vec<Option<Alternatives>>,
    /// Of the rules that have names.
    bodies: Vec<Node>,
    classes: Vec<Chars>,
    known: HashMap<Chars, u32>,
    symbols: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, depth: usize) -> Self {
        let (names, rules, bodies, classes, known) = Default::default();
        Reader { text, at: 0, depth, alone: false, wants_tree: false, names, rules, bodies, classes, known, symbols: 0 }
    }

    fn error(&self, message: impl AsRef<str>) -> Error {
        if self.alone {
            return Error::invalid(format!("body, byte {}: {}", self.at, message.as_ref()));
        }
        let line = 1 + self.text.as_bytes()[..self.at].iter().filter(|byte| **byte == b'\n').count();
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
        if self.skip(text) { Ok(()) } else { Err(self.error(format!("expected {text:?}"))) }
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

    fn named(&mut self, name: &'a str) -> Named {
        if let Some(named) = self.names.get(name) {
            return *named;
        }
        let named = Named { id: self.unnamed(None), number: self.bodies.len() };
        self.bodies.push(Node::EMPTY);
        self.names.insert(name, named);
        named
    }

    fn unnamed(&mut self, alternatives: Option<Alternatives>) -> u32 {
        self.rules.push(alternatives);
        self.rules.len() as u32 - 1
    }

    fn class_id(&mut self, class: Chars) -> Symbol {
        let next = self.classes.len() as u32;
        let id = *self.known.entry(class.clone()).or_insert(next);
        if id == next {
            self.classes.push(class);
        }
        Symbol::Char(id)
    }

    fn rule(&mut self) -> Result<()> {
        let name = self.word(is_word);
        if name.is_empty() {
            return Err(self.error("expected the name of a rule"));
        }
        self.blanks(false);
        let named = self.named(name);
        self.expect("::=")?;
        self.blanks(true);
        let (alternatives, body) = self.alternatives(0)?;
        self.rules[named.id as usize] = Some(alternatives);
        self.bodies[named.number] = body;
        match self.peek() {
            None | Some('\r' | '\n') => {}
            Some(c) => return Err(self.error(format!("unexpected {c:?}"))),
        }
        self.blanks(true);
        Ok(())
    }

    fn alternatives(&mut self, depth: usize) -> Result<(Alternatives, Node)> {
        if depth > self.depth {
            let error = self.error(format!("groups are nested more than {} deep", self.depth));
            return Err(Error::new(ErrorKind::Limit, error.message()));
        }
        let (mut alternatives, mut branches) = (Vec::new(), Vec::new());
        loop {
            let (symbols, branch) = self.sequence(depth)?;
            alternatives.push(symbols);
            branches.push(branch);
            if !self.skip("|") {
                let body = if self.wants_tree { Node::choice(branches) } else { Node::EMPTY };
                return Ok((alternatives, body));
            }
            self.blanks(true);
        }
    }

    fn sequence(&mut self, depth: usize) -> Result<(Vec<Symbol>, Node)> {
        let (mut symbols, mut parts) = (Vec::new(), Vec::new());
        // Where the last item begins, and the number of rules it counts for.
        let (mut last, mut size) = (0, 1);
        while let Some(c) = self.peek() {
            let begin = symbols.len();
            match c {
                '"' => parts.push(self.literal(&mut symbols)?),
                '[' => {
                    if let Some(chars) = self.class()? {
                        parts.push(Node::class(chars.clone()));
                        symbols.push(self.class_id(chars));
                    }
                }
                '.' => {
                    self.at += 1;
                    parts.push(Node::class(Chars::all()));
                    symbols.push(self.class_id(Chars::all()));
                }
                '(' => {
                    self.at += 1;
                    self.blanks(true);
                    let before = self.rules.len();
                    let group = self.unnamed(None);
                    let (alternatives, body) = self.alternatives(depth + 1)?;
                    self.rules[group as usize] = Some(alternatives);
                    parts.push(body);
                    self.expect(")")?;
                    symbols.push(Symbol::Rule(group));
                    (last, size) = (begin, (self.rules.len() - before) as u64);
                    self.blanks(depth > 0);
                    continue;
                }
                '*' | '+' | '?' | '{' => {
                    let bounds = self.bounds(depth)?;
                    size = self.repeat(&mut symbols, last, size, bounds)?;
                    let repeated = parts.pop().unwrap_or(Node::EMPTY).repeat(bounds.0, bounds.1);
                    parts.push(repeated);
                    continue;
                }
                '<' | '!' => return Err(self.error("tokens cannot be checked against text")),
                c if is_word(c) => {
                    let name = self.word(is_word);
                    let named = self.named(name);
                    parts.push(Node::Rule(named.number));
                    symbols.push(Symbol::Rule(named.id));
                }
                _ => break,
            }
            (last, size) = (begin, 1);
            self.blanks(depth > 0);
        }
        self.symbols += symbols.len();
        if self.symbols > limits::GBNF_SYMBOLS {
            let message = format!("a grammar unrolls to more than {} symbols", limits::GBNF_SYMBOLS);
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok((symbols, if self.wants_tree { Node::sequence(parts) } else { Node::EMPTY }))
    }

    /// Appends the characters. With a code that is not one, the text matches nothing.
    fn literal(&mut self, symbols: &mut Vec<Symbol>) -> Result<Node> {
        self.at += 1;
        let mut text = Some(String::new());
        while !self.skip("\"") {
            let (code, rest) = self.character(self.rest())?;
            self.at = self.text.len() - rest.len();
            symbols.push(self.class_id(Chars::of_codes([(code, code)])));
            text = text.zip(char::from_u32(code)).map(|(mut text, c)| {
                text.push(c);
                text
            });
        }
        Ok(text.map_or(Node::NEVER, Node::text))
    }

    /// A class without characters is not an item.
    fn class(&mut self) -> Result<Option<Chars>> {
        self.at += 1;
        let negated = self.skip("^");
        let mut ranges = Vec::new();
        while !self.skip("]") {
            let is_end = |rest: &str| rest.starts_with(']');
            let (range, rest) = char_class::range(self.rest(), is_end, |text| self.character(text))?;
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
                Unreadable::Escape(kind) => {
                    (1 + kind.map_or(0, char::len_utf8), format!("there is no escape \\{}", kind.unwrap_or(' ')))
                }
                Unreadable::Digits(_, digits) => (2, format!("expected {digits} hexadecimal digits")),
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
                let min = self.number()?.ok_or_else(|| self.error("expected a number"))?;
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
                    return Err(self.error(format!("more than {} repetitions", limits::GBNF_REPETITIONS)));
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
            digits => digits.parse().map(Some).map_err(|_| self.error("a number is too large")),
        }
    }

    /// Unrolls a repetition of the symbols from `last` on. Returns the number of rules that it counts for.
    fn repeat(&mut self, symbols: &mut Vec<Symbol>, last: usize, size: u64, (min, max): Bounds) -> Result<u64> {
        if last == symbols.len() {
            return Err(self.error("there is nothing to repeat"));
        }
        if max.is_some_and(|max| max < min) {
            return Err(self.error("a lower bound is above the upper one"));
        }
        let times = max.filter(|max| *max > 0).unwrap_or(min.max(1));
        let total = size.saturating_mul(times);
        if total > limits::GBNF_REPETITIONS {
            return Err(self.error(format!("a repetition unrolls to more than {} rules", limits::GBNF_REPETITIONS)));
        }
        let item = symbols.split_off(last);
        self.symbols += item.len() * (times as usize + 1);
        if self.symbols > limits::GBNF_SYMBOLS {
            return Err(Error::new(ErrorKind::Limit, "a grammar unrolls to too many symbols"));
        }
        for _ in 0..min {
            symbols.extend_from_slice(&item);
        }
        let mut rest = None;
        match max {
            None => {
                let again = self.unnamed(None);
                let body = item.iter().copied().chain([Symbol::Rule(again)]).collect();
                self.rules[again as usize] = Some(vec![body, Vec::new()]);
                rest = Some(again);
            }
            Some(max) => {
                for _ in min..max {
                    let body = item.iter().copied().chain(rest.map(Symbol::Rule)).collect();
                    rest = Some(self.unnamed(Some(vec![body, Vec::new()])));
                }
            }
        }
        symbols.extend(rest.map(Symbol::Rule));
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
        assert_eq!(grammar.rules[0], Node::choice([Node::Rule(1), Node::sequence([star, any])]));
        let parts = [a("a").repeat(2, None), Node::Rule(2).repeat(0, None), a("b").optional()];
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
            assert!(tree(grammar).unwrap_err().message().contains(says), "{grammar}");
        }
        assert_eq!(tree("root ::= \"\\uD800\"").unwrap().rules[0], Node::NEVER);
    }
}
