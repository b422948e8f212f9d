//! Parses a text to a tree with a node for each rule and each tag that matched.

use std::sync::Arc;

use super::compile::{Region, compile_regions};
use super::expr::Arena;
use super::machine::{Machine, State};
use super::program::Program;
use chatparse_base::{Error, Result};

/// Parses texts to trees. Immutable; threads may share it.
#[derive(Clone, Debug)]
pub struct TreeParser {
    program: Arc<Program>,
    regions: Arc<[Region]>,
}

/// Whether a text matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The text matched, up to [`Tree::end`].
    Matched,
    /// The text was cut off, and matched up to there.
    Partial,
    /// The text did not match.
    Failed,
}

/// A parsed text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tree {
    /// Whether the text matched.
    pub outcome: Outcome,
    /// The end of the match. After a failure: the end of the longest beginning of the text that
    /// could still match.
    pub end: usize,
    /// The nodes in the order in which they begin, outer before inner. Empty if the text did not
    /// match.
    pub nodes: Vec<Node>,
}

/// A rule or tag that matched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Node {
    /// The rule or tag.
    pub region: Region,
    /// Its begin, in bytes of the text.
    pub begin: usize,
    /// Its end.
    pub end: usize,
    /// The index of the enclosing node.
    pub parent: Option<usize>,
    /// The text was cut off inside it.
    pub partial: bool,
}

impl TreeParser {
    /// Compiles a format.
    ///
    /// # Errors
    /// As [`compile`](fn@super::compile); [`crate::ErrorKind::Limit`] for too many rules and tags,
    /// too.
    pub fn new(arena: &Arena) -> Result<Self> {
        let (program, regions) = compile_regions(arena)?;
        Ok(TreeParser {
            program: Arc::new(program),
            regions: regions.into(),
        })
    }

    /// Approximate memory use in bytes.
    pub fn bytes(&self) -> usize {
        let mut bytes = self.program.bytes();
        for region in &*self.regions {
            bytes += size_of::<Region>();
            if let Region::Rule(name) = region {
                bytes += name.len();
            }
        }
        bytes
    }

    /// Parses `text` from byte `from` on. With `cut` the text was cut off, and half-matched nodes
    /// stay open; otherwise they do not match.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if `from` is after the end.
    pub fn parse(&self, text: &[u8], from: usize, cut: bool) -> Result<Tree> {
        if from > text.len() {
            return Err(Error::invalid(format!(
                "from: {from} is behind the end of the text, which has {} bytes",
                text.len()
            )));
        }
        let machine = Machine::whole(Arc::clone(&self.program), text, from, cut);
        let visible = machine.visible();
        let (outcome, end) = match machine.state() {
            State::Accepted(end) => (Outcome::Matched, end),
            State::Waiting | State::Undoing => (Outcome::Partial, visible.end),
            State::Failed | State::Limit => {
                let end = machine.furthest().saturating_sub(1).clamp(from, text.len());
                return Ok(Tree {
                    outcome: Outcome::Failed,
                    end,
                    nodes: Vec::new(),
                });
            }
        };
        let mut nodes: Vec<Node> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for capture in visible.from(0) {
            if capture.opens {
                let region = self.regions[usize::from(capture.tag.0)].clone();
                let parent = open.last().copied();
                open.push(nodes.len());
                nodes.push(Node {
                    region,
                    begin: capture.pos,
                    end,
                    parent,
                    partial: true,
                });
            } else if let Some(closed) = open.pop() {
                nodes[closed].end = capture.pos;
                nodes[closed].partial = false;
            }
        }
        Ok(Tree {
            outcome,
            end,
            nodes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, TagId};
    use super::*;

    fn parser() -> TreeParser {
        let p = Builder::new();
        let item = p.labelled("item", p.some(p.one_of(&[('a', 'z')]))).unwrap();
        let pair = p.rule(
            "pair",
            p.sequence([item, p.literal("="), p.tag(TagId(3), p.until(";"))]),
        );
        let line = p.sequence([
            p.start(),
            p.many(p.sequence([pair, p.literal(";")])),
            p.atomic(item),
        ]);
        TreeParser::new(&p.finish(line)).unwrap()
    }

    fn shown(tree: &Tree) -> Vec<String> {
        let show = |node: &Node| {
            let name = match &node.region {
                Region::Tag(TagId(id)) => id.to_string(),
                Region::Rule(name) => name.clone(),
            };
            let mark = if node.partial { "~" } else { "" };
            format!("{name}{mark} {}-{} {:?}", node.begin, node.end, node.parent)
        };
        tree.nodes.iter().map(show).collect()
    }

    #[test]
    fn nodes_of_rules_and_tags_with_their_extents() {
        let parser = parser();
        let tree = parser.parse(b"a=1;bc!", 0, false).unwrap();
        assert_eq!((tree.outcome, tree.end), (Outcome::Matched, 6));
        assert_eq!(
            shown(&tree),
            [
                "pair 0-3 None",
                "256 0-1 Some(0)",
                "3 2-3 Some(0)",
                "256 4-6 None"
            ]
        );
        let tree = parser.parse(b"ab=cd", 0, true).unwrap();
        assert_eq!((tree.outcome, tree.end), (Outcome::Partial, 5));
        assert_eq!(
            shown(&tree),
            ["pair~ 0-5 None", "256 0-2 Some(0)", "3~ 3-5 Some(0)"]
        );
        // Half of an atomic expression has no node.
        let tree = parser.parse(b"a=1;", 0, true).unwrap();
        assert_eq!(
            (tree.outcome, tree.end, tree.nodes.len()),
            (Outcome::Partial, 4, 3)
        );
        let tree = parser.parse(b"a=1;?", 0, true).unwrap();
        assert_eq!(
            (tree.outcome, tree.end, tree.nodes.len()),
            (Outcome::Failed, 4, 0)
        );
        let tree = parser.parse(b"a=1;", 0, false).unwrap();
        assert_eq!((tree.outcome, tree.nodes.len()), (Outcome::Failed, 0));
        // The start of the text is not the start of the parse.
        assert_eq!(
            parser.parse(b"a=1;b", 4, false).unwrap().outcome,
            Outcome::Failed
        );
        assert!(
            parser
                .parse(b"a", 2, false)
                .unwrap_err()
                .message()
                .contains("behind the end of the text")
        );
    }
}
