//! The rest of a grammar behind a given text, for engines that do not know the prompt and start behind it.

use crate::text::tree::{Node, Tree};
use chatparse_base::limits;
use chatparse_base::{Error, ErrorKind, Result};

/// The grammar of all texts that `tree` allows behind `prefix`.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] if it allows none, [`ErrorKind::Limit`] if too many alternatives begin with `prefix` to be
/// written out.
pub(super) fn derivative(tree: &Tree, prefix: &str) -> Result<Tree> {
    let mut left = Left { rules: &tree.rules, nullable: tree.nullable(), budget: limits::FORMAT_GRAMMAR_PARTS };
    let mut root = Node::Rule(tree.root);
    for c in prefix.chars() {
        root = left.derivative(&root, c, 0)?;
        if root == Node::NEVER {
            return Err(Error::invalid(format!("grammar: it does not allow the text {prefix:?}")));
        }
    }
    let mut rest = tree.clone();
    if !prefix.is_empty() {
        rest.root = rest.add("root", root);
    }
    Ok(rest)
}

struct Left<'t> {
    rules: &'t [Node],
    nullable: Vec<bool>,
    /// The number of parts that may still be written.
    budget: usize,
}

impl Left<'_> {
    /// The grammar behind `c`, for texts of `node` that begin with `c`.
    fn derivative(&mut self, node: &Node, c: char, depth: usize) -> Result<Node> {
        if depth > limits::GBNF_DEPTH || self.budget == 0 {
            return Err(Error::new(
                ErrorKind::Limit,
                "grammar: too many alternatives begin with the end of the prompt",
            ));
        }
        Ok(match node {
            Node::Text(text) => match text.strip_prefix(c) {
                Some(rest) => Node::text(rest.to_owned()),
                None => Node::NEVER,
            },
            Node::Class(set) => {
                if set.has(c) {
                    Node::EMPTY
                } else {
                    Node::NEVER
                }
            }
            Node::Rule(rule) => self.derivative(&self.rules[*rule], c, depth + 1)?,
            Node::Choice(branches) => {
                let mut rests = Vec::new();
                for branch in branches {
                    rests.push(self.derivative(branch, c, depth + 1)?);
                }
                Node::choice(rests)
            }
            Node::Sequence(parts) => {
                let mut rests = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    let rest = self.derivative(part, c, depth + 1)?;
                    if rest != Node::NEVER {
                        rests.push(self.followed(rest, &parts[at + 1..]));
                    }
                    if !part.is_nullable(&self.nullable) {
                        break;
                    }
                }
                Node::choice(rests)
            }
            Node::Repeat(part, min, max) => match self.derivative(part, c, depth + 1)? {
                rest if rest == Node::NEVER => rest,
                rest => {
                    let more = (**part).clone().repeat(min.saturating_sub(1), max.map(|max| max - 1));
                    self.followed(rest, &[more])
                }
            },
        })
    }

    fn followed(&mut self, first: Node, rest: &[Node]) -> Node {
        self.budget = self.budget.saturating_sub(rest.iter().map(Node::size).sum());
        Node::sequence([first].into_iter().chain(rest.iter().cloned()))
    }
}

/// Texts, one of which each text of the grammar begins with; none is a prefix of another one. `None` if they are too many or
/// cannot be found.
pub(super) fn heads(tree: &Tree) -> Option<Vec<String>> {
    let mut collector = Collector { tree, nullable: tree.nullable(), heads: Vec::new(), left: STEPS };
    collector.collect(&[&tree.rules[tree.root]], String::new(), 0)?;
    let mut heads = collector.heads;
    heads.retain(|head| !head.is_empty());
    Some(shortest(heads)).filter(|heads| !heads.is_empty())
}

/// Removes texts that begin with another one.
pub(super) fn shortest(mut words: Vec<String>) -> Vec<String> {
    chatparse_base::sort::sort(&mut words);
    words.dedup_by(|word, before| word.starts_with(&**before));
    words
}

/// The maximum number of beginnings, and of variants of one beginning.
const HEADS: usize = 256;
const ALTERNATIVES: usize = 64;
/// The length in bytes from which on a beginning is not looked at further.
const LONG: usize = 64;
/// The maximum number of parts that are visited.
const STEPS: usize = 20_000;

struct Collector<'t> {
    tree: &'t Tree,
    nullable: Vec<bool>,
    heads: Vec<String>,
    left: usize,
}

impl<'t> Collector<'t> {
    /// Adds the continuations of `head` by `parts`. `None` if they cannot be found.
    fn collect(&mut self, parts: &[&'t Node], head: String, depth: usize) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        if self.heads.len() > HEADS || depth > limits::GBNF_DEPTH {
            return None;
        }
        let Some((first, rest)) = parts.split_first().filter(|_| head.len() < LONG) else {
            self.heads.push(head);
            return Some(());
        };
        match first {
            Node::Text(text) => self.collect(rest, head + text, depth + 1),
            Node::Sequence(parts) => self.collect(&followed(parts.iter(), rest), head, depth + 1),
            _ if head.is_empty() => self.ways(first, rest, "", depth),
            Node::Rule(_) | Node::Choice(_) if !first.is_nullable(&self.nullable) => {
                let known = self.heads.len();
                let found = self.ways(first, rest, &head, depth);
                if found.is_none() || self.heads.len() > known + ALTERNATIVES {
                    self.heads.truncate(known);
                    self.heads.push(head);
                }
                Some(())
            }
            _ => {
                self.heads.push(head);
                Some(())
            }
        }
    }

    /// Like `collect`, for each alternative of `first`.
    fn ways(&mut self, first: &'t Node, rest: &[&'t Node], head: &str, depth: usize) -> Option<()> {
        let tree = self.tree;
        let mut go_on = |nodes: &'t [Node]| {
            nodes.iter().try_for_each(|node| self.collect(&followed([node], rest), head.to_owned(), depth + 1))
        };
        match first {
            Node::Rule(rule) => go_on(std::slice::from_ref(&tree.rules[*rule])),
            Node::Choice(branches) => go_on(branches),
            Node::Repeat(part, min, _) => {
                go_on(std::slice::from_ref(part))?;
                if *min == 0 { self.collect(rest, head.to_owned(), depth + 1) } else { Some(()) }
            }
            Node::Text(_) | Node::Class(_) | Node::Sequence(_) => None,
        }
    }
}

fn followed<'t>(nodes: impl IntoIterator<Item = &'t Node>, rest: &[&'t Node]) -> Vec<&'t Node> {
    nodes.into_iter().chain(rest.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::portable;
    use crate::text::gbnf::tree as read;

    #[test]
    fn what_is_left_behind_a_text() {
        let tree = read("root ::= s \"ab\" [c-d]* (\"x\" root | y{2,3})\ns ::= \"\" | \" \"\ny ::= \"z\"").unwrap();
        let rest = |prefix: &str| {
            derivative(&tree, prefix).map(|rest| portable::print(&rest).lines().next().unwrap_or_default().to_owned())
        };
        assert_eq!(rest(" a").unwrap(), r#"root ::= "b" [c-d]* ("x" root-2 | y{2,3})"#);
        assert_eq!(rest("abcdx").unwrap(), "root ::= root-2");
        assert_eq!(rest("abz").unwrap(), "root ::= y{1,2}");
        assert!(rest("b").unwrap_err().message().contains("\"b\""));
    }

    #[test]
    fn what_texts_begin_with() {
        let of = |text: &str| heads(&read(text).unwrap());
        assert_eq!(of("root ::= (\"<a>\" | \"<ab\" [x]) | b\nb ::= \"c\" [d-e]").unwrap(), ["<a>", "<abx", "c"]);
        assert_eq!(of("root ::= \"a\"? \"bc\" | \"b\" [x]? \"\"").unwrap(), ["abc", "b"]);
        assert_eq!(
            of("root ::= \">>\"? t\nt ::= \"get\" s [a-b] | \"put\"\ns ::= \"\" | \" \"").unwrap(),
            [">>get", ">>put", "get", "put"]
        );
        assert_eq!(of("root ::= [a-b]"), None);
        assert_eq!(of("root ::= \"\""), None);
    }
}
