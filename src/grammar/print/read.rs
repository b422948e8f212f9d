//! Reads GBNF as a tree.

use std::collections::HashMap;

use smol_str::SmolStr;

use super::node::{Node, Tree};
use crate::char_class;
use crate::chars::Chars;
use crate::error::{Error, Result};
use crate::grammar::gbnf;
use crate::limits;

/// The rules of a grammar.
///
/// # Errors
/// As llama.cpp's reader.
pub(super) fn read(text: &str) -> Result<Tree> {
    // Reports errors with their place. The code below relies on valid text.
    gbnf::read(text)?;
    let mut reader = Reader { tokens: tokens(text).ok_or_else(unreadable)?, at: 0, rules: HashMap::new() };
    let mut tree = Tree { names: Vec::new(), rules: Vec::new(), root: 0 };
    while let Some(Token::Name(name)) = reader.next() {
        reader.at += 1;
        let rule = reader.number(name);
        let body = reader.alternatives();
        reader.rules.get_mut(name).ok_or_else(unreadable)?.1 = body;
        tree.root = if name == "root" { rule } else { tree.root };
    }
    let mut rules: Vec<_> = reader.rules.into_iter().collect();
    rules.sort_by_cached_key(|(_, (number, _))| *number);
    for (name, (_, body)) in rules {
        tree.add(SmolStr::new(name), body);
    }
    Ok(tree)
}

fn unreadable() -> Error {
    Error::invalid("grammar: no GBNF")
}

#[derive(Clone, Debug)]
enum Token<'t> {
    Name(&'t str),
    Is,
    Literal(Node),
    Class(Chars),
    Open,
    Close,
    Or,
    Bounds(u64, Option<u64>),
}

struct Reader<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    /// By name: the number, and the body once it is read.
    rules: HashMap<&'t str, (usize, Node)>,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Option<Token<'t>> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn number(&mut self, name: &'t str) -> usize {
        let next = self.rules.len();
        self.rules.entry(name).or_insert((next, Node::EMPTY)).0
    }

    fn alternatives(&mut self) -> Node {
        let mut branches = vec![self.sequence()];
        while matches!(self.tokens.get(self.at), Some(Token::Or)) {
            self.at += 1;
            branches.push(self.sequence());
        }
        Node::choice(branches)
    }

    fn sequence(&mut self) -> Node {
        let mut parts: Vec<Node> = Vec::new();
        loop {
            let part = match self.tokens.get(self.at) {
                // The beginning of the next rule.
                Some(Token::Name(_)) if matches!(self.tokens.get(self.at + 1), Some(Token::Is)) => break,
                Some(&Token::Name(name)) => Node::Rule(self.number(name)),
                Some(Token::Literal(node)) => node.clone(),
                Some(Token::Class(set)) => Node::class(set.clone()),
                Some(Token::Open) => {
                    self.at += 1;
                    self.alternatives()
                }
                Some(&Token::Bounds(min, max)) => parts.pop().unwrap_or(Node::EMPTY).repeat(min, max),
                Some(Token::Is | Token::Or | Token::Close) | None => break,
            };
            parts.push(part);
            self.at += 1;
        }
        Node::sequence(parts)
    }
}

/// The tokens of a grammar that is known to be valid.
fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        let (token, after) = match c {
            '#' => {
                rest = &rest[rest.find(['\r', '\n']).unwrap_or(rest.len())..];
                continue;
            }
            '"' => literal(behind)?,
            '[' => {
                let (class, after) = class(behind)?;
                let Some(class) = class else {
                    rest = after;
                    continue;
                };
                (Token::Class(class), after)
            }
            '.' => (Token::Class(Chars::all()), behind),
            '(' => (Token::Open, behind),
            ')' => (Token::Close, behind),
            '|' => (Token::Or, behind),
            ':' => (Token::Is, rest.strip_prefix("::=")?),
            '*' => (Token::Bounds(0, None), behind),
            '+' => (Token::Bounds(1, None), behind),
            '?' => (Token::Bounds(0, Some(1)), behind),
            '{' => {
                let (inside, after) = behind.split_once('}')?;
                (bounds(inside)?, after)
            }
            c if c.is_ascii_alphanumeric() || c == '-' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
                (Token::Name(&rest[..end]), &rest[end..])
            }
            _ => {
                rest = behind;
                continue;
            }
        };
        tokens.push(token);
        rest = after;
    }
    Some(tokens)
}

/// The text up to the quote. With a code that is not a character, it matches nothing.
fn literal(mut rest: &str) -> Option<(Token<'_>, &str)> {
    let mut text = Some(String::new());
    loop {
        if let Some(after) = rest.strip_prefix('"') {
            return Some((Token::Literal(text.map_or(Node::NEVER, Node::text)), after));
        }
        let (code, after) = char_class::character(rest).ok()?;
        text = text.zip(char::from_u32(code)).map(|(mut text, c)| {
            text.push(c);
            text
        });
        rest = after;
    }
}

/// The class up to its bracket. One in which nothing is written is no item.
fn class(text: &str) -> Option<(Option<Chars>, &str)> {
    let negated = text.starts_with('^');
    let mut rest = &text[usize::from(negated)..];
    let mut ranges = Vec::new();
    while !rest.starts_with(']') {
        let (range, after) = char_class::range(rest, |rest| rest.starts_with(']'), char_class::character).ok()?;
        ranges.push(range);
        rest = after;
    }
    let is_item = !ranges.is_empty();
    let chars = Chars::of_codes(ranges);
    Some((is_item.then(|| if negated { chars.negated() } else { chars }), &rest[1..]))
}

/// The bounds between braces. A maximum above llama.cpp's limit is unbounded.
fn bounds<'t>(inside: &str) -> Option<Token<'t>> {
    let (min, max) = match inside.split_once(',') {
        Some((min, max)) => (min, Some(max.trim()).filter(|max| !max.is_empty())),
        None => (inside, Some(inside.trim())),
    };
    let max = max.map(str::parse).transpose().ok()?;
    Some(Token::Bounds(min.trim().parse().ok()?, max.filter(|max| *max <= limits::GBNF_REPETITIONS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees() {
        let tree = read("# x\nroot ::= a-1 |\n ( \"x\\\"]\" | [^a-c\\]] )* [] . # c\na-1 ::= \"a\"{2,} b{0,3000} \"\\x62\"?\nb ::= a-1 \"b\"\n").unwrap();
        assert_eq!(tree.names, ["root", "a-1", "b"]);
        assert_eq!(tree.root, 0);
        let a = |text: &str| Node::text(text.to_owned());
        let others = Node::class(Chars::of_codes([(97, 99), (93, 93)]).negated());
        let any = Node::class(Chars::all());
        let star = Node::choice([a("x\"]"), others]).repeat(0, None);
        assert_eq!(tree.rules[0], Node::choice([Node::Rule(1), Node::sequence([star, any])]));
        let parts = [a("a").repeat(2, None), Node::Rule(2).repeat(0, None), a("b").optional()];
        assert_eq!(tree.rules[1], Node::sequence(parts));
    }

    #[test]
    fn what_is_refused() {
        for (grammar, says) in [
            ("root ::= a", "not defined"),
            ("root ::= <token>", "tokens"),
            ("", "no rule"),
            ("root ::= root \"x\" | \"x\"", "begins with itself"),
        ] {
            assert!(read(grammar).unwrap_err().message().contains(says), "{grammar}");
        }
        assert_eq!(read("root ::= \"\\uD800\"").unwrap().rules[0], Node::NEVER);
    }
}
