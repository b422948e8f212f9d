//! What of a grammar is left behind a text: engines that know no prompt start behind it.

use super::node::{Node, Tree};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;

/// The grammar of all texts that, behind `prefix`, `tree` allows.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] where it allows none, [`ErrorKind::Limit`] where so much may begin with `prefix` that it cannot
/// be written out.
pub(super) fn behind(tree: &Tree, prefix: &str) -> Result<Tree> {
    let mut left = Left { rules: &tree.rules, nothing: tree.nothing(), budget: limits::FORMAT_GRAMMAR_PARTS };
    let mut root = Node::Rule(tree.root);
    for c in prefix.chars() {
        root = left.behind(&root, c, 0)?;
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
    nothing: Vec<bool>,
    /// How many more parts may be written.
    budget: usize,
}

impl Left<'_> {
    /// What may follow `c` where `node` begins with it.
    fn behind(&mut self, node: &Node, c: char, depth: usize) -> Result<Node> {
        if depth > limits::GBNF_DEPTH || self.budget == 0 {
            return Err(Error::new(ErrorKind::Limit, "grammar: too much may begin with the prompt's end"));
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
            Node::Rule(rule) => self.behind(&self.rules[*rule], c, depth + 1)?,
            Node::Choice(branches) => {
                let mut rests = Vec::new();
                for branch in branches {
                    rests.push(self.behind(branch, c, depth + 1)?);
                }
                Node::choice(rests)
            }
            Node::Sequence(parts) => {
                let mut rests = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    let rest = self.behind(part, c, depth + 1)?;
                    if rest != Node::NEVER {
                        rests.push(self.followed(rest, &parts[at + 1..]));
                    }
                    if !part.may_be_nothing(&self.nothing) {
                        break;
                    }
                }
                Node::choice(rests)
            }
            Node::Repeat(part, min, max) => match self.behind(part, c, depth + 1)? {
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

/// The texts that all texts of the grammar begin with, one or another of them; none of them begins with another one. `None` where they
/// are too many, or there is no telling.
pub(super) fn heads(tree: &Tree) -> Option<Vec<String>> {
    let mut heads = Vec::new();
    collect(tree, &[&tree.rules[tree.root]], String::new(), 0, &mut heads)?;
    heads.retain(|head| !head.is_empty());
    Some(shortest(heads)).filter(|heads| !heads.is_empty())
}

/// Texts without those that begin with another one.
pub(super) fn shortest(mut words: Vec<String>) -> Vec<String> {
    words.sort_unstable();
    words.dedup_by(|word, before| word.starts_with(&**before));
    words
}

/// How many ways to begin are looked at.
const HEADS: usize = 256;

/// Adds what `head` goes on as, where `parts` follow; an empty head where there is no telling.
fn collect(tree: &Tree, parts: &[&Node], head: String, depth: usize, heads: &mut Vec<String>) -> Option<()> {
    if heads.len() > HEADS || depth > limits::GBNF_DEPTH {
        return None;
    }
    let Some((first, rest)) = parts.split_first() else {
        heads.push(head);
        return Some(());
    };
    let mut go_on = |nodes: Vec<&Node>, head: &str| {
        let parts: Vec<&Node> = nodes.into_iter().chain(rest.iter().copied()).collect();
        collect(tree, &parts, head.to_owned(), depth + 1, heads)
    };
    match first {
        Node::Text(text) => go_on(Vec::new(), &(head + text)),
        Node::Sequence(parts) => go_on(parts.iter().collect(), &head),
        // What follows a text in more than one way is no head any more.
        _ if !head.is_empty() => {
            heads.push(head);
            Some(())
        }
        Node::Rule(rule) => go_on(vec![&tree.rules[*rule]], &head),
        Node::Choice(branches) => branches.iter().try_for_each(|branch| go_on(vec![branch], &head)),
        Node::Repeat(part, 0, _) => {
            go_on(vec![part], &head)?;
            go_on(Vec::new(), &head)
        }
        Node::Repeat(part, ..) => go_on(vec![part], &head),
        Node::Class(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::read;
    use super::*;
    use crate::grammar::print::portable;

    #[test]
    fn what_is_left_behind_a_text() {
        let tree = read("root ::= s \"ab\" [c-d]* (\"x\" root | y{2,3})\ns ::= \"\" | \" \"\ny ::= \"z\"").unwrap();
        let rest = |prefix: &str| {
            behind(&tree, prefix).map(|rest| portable::print(&rest).lines().next().unwrap_or_default().to_owned())
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
        assert_eq!(of("root ::= [a-b]"), None);
        assert_eq!(of("root ::= \"\""), None);
    }
}
