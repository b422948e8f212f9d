//! The texts that a grammar begins with.

use crate::text::tree::{Node, Tree};
use chatparse_base::limits;

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
    use crate::text::gbnf::tree as read;

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
