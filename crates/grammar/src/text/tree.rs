//! A grammar as a tree, from which all dialects are printed.

use std::borrow::Cow;

use smol_str::SmolStr;

use crate::text::circles;
use crate::text::fixpoint::{Fact, Fixpoint};
use chatparse_base::chars::Chars;
use chatparse_base::{Error, Result, limits};

/// A part of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A text, which is not empty.
    Text(String),
    /// One of these characters.
    Class(Chars),
    /// The rule of this number.
    Rule(usize),
    /// All, in order; without parts the empty text.
    Sequence(Vec<Node>),
    /// Any one of these; without branches it matches no text.
    Choice(Vec<Node>),
    /// Repetitions between the bounds; `None` is unbounded.
    Repeat(Box<Node>, u64, Option<u64>),
}

/// Named rules.
#[derive(Clone, Debug)]
pub struct Tree {
    pub names: Vec<SmolStr>,
    pub rules: Vec<Node>,
    pub root: usize,
}

impl Node {
    /// Matches the empty text.
    pub const EMPTY: Node = Node::Sequence(Vec::new());
    /// Matches no text.
    pub const NEVER: Node = Node::Choice(Vec::new());

    pub fn text(text: String) -> Node {
        if text.is_empty() {
            Node::EMPTY
        } else {
            Node::Text(text)
        }
    }

    pub fn class(set: Chars) -> Node {
        match set.single() {
            _ if set.is_empty() => Node::NEVER,
            Some(c) => Node::Text(c.into()),
            None => Node::Class(set),
        }
    }

    pub fn sequence(parts: impl IntoIterator<Item = Node>) -> Node {
        Node::flat_sequence(&mut parts.into_iter())
    }

    fn flat_sequence(parts: &mut dyn Iterator<Item = Node>) -> Node {
        let mut flat: Vec<Node> = Vec::new();
        for part in parts {
            let inner = match part {
                Node::Sequence(inner) => inner,
                Node::Choice(branches) if branches.is_empty() => return Node::NEVER,
                other => vec![other],
            };
            for part in inner {
                match (flat.last_mut(), part) {
                    (Some(Node::Text(text)), Node::Text(more)) => text.push_str(&more),
                    (_, part) => flat.push(part),
                }
            }
        }
        if flat.len() == 1 {
            flat.swap_remove(0)
        } else {
            Node::Sequence(flat)
        }
    }

    pub fn choice(branches: impl IntoIterator<Item = Node>) -> Node {
        Node::flat_choice(&mut branches.into_iter())
    }

    fn flat_choice(branches: &mut dyn Iterator<Item = Node>) -> Node {
        let mut flat: Vec<Node> = Vec::new();
        for branch in branches {
            match branch {
                Node::Choice(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        // Formats may have the same branch twice.
        let mut seen = std::collections::HashSet::new();
        let keep: Vec<bool> = flat.iter().map(|branch| seen.insert(branch)).collect();
        let mut keep = keep.into_iter();
        flat.retain(|_| keep.next().unwrap_or(true));
        if flat.len() == 1 {
            flat.swap_remove(0)
        } else {
            Node::Choice(flat)
        }
    }

    pub fn repeat(self, min: u64, max: Option<u64>) -> Node {
        match (self, min, max) {
            (_, _, Some(0)) => Node::EMPTY,
            (node, 1, Some(1)) => node,
            (node, ..) if node == Node::EMPTY => node,
            (node, 0, _) if node == Node::NEVER => Node::EMPTY,
            (node, ..) if node == Node::NEVER => node,
            // A repetition of a repetition.
            (Node::Repeat(inner, 0 | 1, None), 0, _) => Node::Repeat(inner, 0, None),
            (Node::Repeat(inner, least @ (0 | 1), None), 1, None) => {
                Node::Repeat(inner, least, None)
            }
            (Node::Repeat(inner, 0, Some(1)), 0 | 1, None) => Node::Repeat(inner, 0, None),
            (Node::Repeat(inner, 0, Some(1)), 0, Some(1)) => Node::Repeat(inner, 0, Some(1)),
            (node, ..) => Node::Repeat(Box::new(node), min, max),
        }
    }

    /// Once or not at all.
    pub fn optional(self) -> Node {
        self.repeat(0, Some(1))
    }

    /// Its direct parts.
    pub fn parts(&self) -> &[Node] {
        match self {
            Node::Sequence(parts) | Node::Choice(parts) => parts,
            Node::Repeat(part, ..) => std::slice::from_ref(part),
            Node::Text(_) | Node::Class(_) | Node::Rule(_) => &[],
        }
    }

    /// Calls `see` for each rule that it refers to.
    pub fn references(&self, see: &mut dyn FnMut(usize)) {
        match self {
            Node::Rule(rule) => see(*rule),
            other => other.parts().iter().for_each(|part| part.references(see)),
        }
    }

    /// A copy in which `of` replaces the references to rules.
    pub fn with_rules(&self, of: &dyn Fn(usize) -> Node) -> Node {
        let part = |part: &Node| part.with_rules(of);
        match self {
            Node::Text(_) | Node::Class(_) => self.clone(),
            Node::Rule(rule) => of(*rule),
            Node::Sequence(parts) => Node::sequence(parts.iter().map(part)),
            Node::Choice(branches) => Node::choice(branches.iter().map(part)),
            Node::Repeat(inner, min, max) => part(inner).repeat(*min, *max),
        }
    }

    /// Notes the rules that it may begin with. Returns whether it may be nothing, as llama.cpp's
    /// reader sees it: that has an alternative that is blank, or is repeated. `nothing`: the rules
    /// that may be.
    fn firsts(&self, nothing: &[bool], own: usize, found: &mut Vec<usize>) -> bool {
        match self {
            Node::Text(_) | Node::Class(_) => false,
            Node::Rule(rule) => {
                found.push(*rule);
                nothing[*rule]
            }
            Node::Sequence(parts) => parts.iter().all(|part| part.firsts(nothing, own, found)),
            Node::Choice(branches) => {
                for branch in branches {
                    branch.firsts(nothing, own, found);
                }
                self.has_blank()
            }
            Node::Repeat(part, min, max) => {
                // A group is a rule of that reader.
                let is_nothing =
                    part.firsts(nothing, own, found) && !matches!(**part, Node::Sequence(_));
                // Such a rule begins with itself.
                found.extend((is_nothing && max.is_none()).then_some(own));
                *min == 0 || is_nothing
            }
        }
    }

    /// Whether an alternative is blank.
    fn has_blank(&self) -> bool {
        match self {
            Node::Choice(branches) => branches.contains(&Node::EMPTY),
            other => *other == Node::EMPTY,
        }
    }

    /// How many symbols it has where llama.cpp's reader has unrolled it; what is in groups is added
    /// to `all`.
    fn unrolled(&self, all: &mut u64) -> u64 {
        match self {
            Node::Text(text) => text.chars().count() as u64,
            Node::Class(_) | Node::Rule(_) => 1,
            Node::Sequence(parts) => parts.iter().map(|part| part.unrolled(all)).sum(),
            Node::Choice(branches) => {
                for branch in branches {
                    *all = branch.unrolled(all).saturating_add(*all);
                }
                1
            }
            Node::Repeat(part, min, max) => {
                let mut item = part.unrolled(all);
                if matches!(**part, Node::Sequence(_) | Node::Repeat(..)) {
                    *all = all.saturating_add(item);
                    item = 1;
                }
                let times = max
                    .filter(|max| *max <= limits::GBNF_REPETITIONS)
                    .unwrap_or((*min).max(1));
                *all = all.saturating_add(item.saturating_mul(times + 1));
                item.saturating_mul(*min) + 1
            }
        }
    }

    /// The number of its parts.
    pub fn size(&self) -> usize {
        1 + self.parts().iter().map(Node::size).sum::<usize>()
    }

    /// The number of its parts, and of the bytes of its texts.
    pub fn weight(&self) -> usize {
        match self {
            Node::Text(text) => 1 + text.len(),
            other => 1 + other.parts().iter().map(Node::weight).sum::<usize>(),
        }
    }

    /// Whether it may be empty, given which rules may be.
    pub fn is_nullable(&self, rules: &[bool]) -> bool {
        match self {
            Node::Text(_) | Node::Class(_) => false,
            Node::Rule(rule) => rules[*rule],
            Node::Sequence(parts) => parts.iter().all(|part| part.is_nullable(rules)),
            Node::Choice(branches) => branches.iter().any(|branch| branch.is_nullable(rules)),
            Node::Repeat(part, min, _) => *min == 0 || part.is_nullable(rules),
        }
    }
}

impl Tree {
    /// Of these rules, which must have a root that llama.cpp's reader would take.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if there is no root, or a rule begins with itself;
    /// [`crate::ErrorKind::Limit`] if it is too large unrolled.
    pub fn of(names: Vec<SmolStr>, rules: Vec<Node>) -> Result<Tree> {
        let root = names.iter().position(|name| name == "root");
        let root = root.ok_or_else(|| Error::invalid("grammar: there is no rule \"root\""))?;
        let tree = Tree { names, rules, root };
        tree.check()?;
        Ok(tree)
    }

    /// Adds a rule.
    pub fn add(&mut self, name: impl Into<SmolStr>, rule: Node) -> usize {
        self.names.push(name.into());
        self.rules.push(rule);
        self.rules.len() - 1
    }

    fn check(&self) -> Result<()> {
        let nothing: Vec<bool> = self.rules.iter().map(Node::has_blank).collect();
        let mut all = 0;
        let mut firsts = vec![Vec::new(); self.rules.len()];
        for (number, rule) in self.rules.iter().enumerate() {
            rule.firsts(&nothing, number, &mut firsts[number]);
            all = rule.unrolled(&mut all).saturating_add(all);
        }
        if all > limits::GBNF_SYMBOLS as u64 {
            let message = format!(
                "a grammar unrolls to more than {} symbols",
                limits::GBNF_SYMBOLS
            );
            return Err(Error::limit(message));
        }
        match circles::find(&firsts, 0..firsts.len()).is_empty() {
            true => Ok(()),
            false => Err(Error::invalid(
                "grammar: a rule begins with itself, which llama.cpp rejects",
            )),
        }
    }

    /// The rules that are reachable from the root: the root first, then in depth-first order.
    pub fn used(&self) -> Vec<usize> {
        let mut seen = vec![false; self.rules.len()];
        let mut order = Vec::new();
        let mut open = vec![self.root];
        while let Some(rule) = open.pop() {
            if std::mem::replace(&mut seen[rule], true) {
                continue;
            }
            order.push(rule);
            let behind = open.len();
            self.rules[rule].references(&mut |used| open.push(used));
            open[behind..].reverse();
        }
        order
    }

    /// By rule: whether it may be empty.
    pub fn nullable(&self) -> Vec<bool> {
        self.rules_where(false)
    }

    /// A rule that is nothing but the empty text, or can repeat it: an engine under such a grammar
    /// may go on for ever.
    pub fn vain(&self) -> Option<&SmolStr> {
        fn repeats(node: &Node, nullable: &[bool]) -> bool {
            let repeats_this = matches!(node, Node::Repeat(part, _, max) if *max != Some(1) && part.is_nullable(nullable));
            repeats_this || node.parts().iter().any(|part| repeats(part, nullable))
        }
        let nullable = self.nullable();
        for rule in self.used() {
            if self.rules[rule] == Node::EMPTY || repeats(&self.rules[rule], &nullable) {
                return Some(&self.names[rule]);
            }
        }
        None
    }

    /// By rule: whether it matches any text.
    pub fn matching(&self) -> Vec<bool> {
        self.rules_where(true)
    }

    /// Without the rules that match nothing, and what needs them.
    pub fn living(&self) -> Cow<'_, Tree> {
        let matching = self.matching();
        if !matching.contains(&false) {
            return Cow::Borrowed(self);
        }
        let rules = self.rules.iter().map(|body| {
            body.with_rules(&|rule| match matching[rule] {
                true => Node::Rule(rule),
                false => Node::NEVER,
            })
        });
        let rules = rules.collect();
        Cow::Owned(Tree {
            rules,
            names: self.names.clone(),
            root: self.root,
        })
    }

    /// By rule: whether the rule holds, where each character holds or not as `of_characters` says.
    fn rules_where(&self, of_characters: bool) -> Vec<bool> {
        fn fact(node: &Node, of_characters: bool, facts: &mut Fixpoint) -> Fact {
            match node {
                Node::Text(_) | Node::Class(_) if of_characters => Fact::Always,
                Node::Text(_) | Node::Class(_) => facts.never(),
                Node::Rule(rule) => Fact::Number(*rule),
                Node::Repeat(_, 0, _) => Fact::Always,
                Node::Repeat(part, ..) => fact(part, of_characters, facts),
                Node::Sequence(parts) | Node::Choice(parts) => {
                    let parts: Vec<Fact> = parts
                        .iter()
                        .map(|part| fact(part, of_characters, facts))
                        .collect();
                    if matches!(node, Node::Sequence(_)) {
                        facts.all(parts)
                    } else {
                        facts.any(parts)
                    }
                }
            }
        }
        let mut facts = Fixpoint::of_rules(self.rules.len());
        for (number, rule) in self.rules.iter().enumerate() {
            let follows = fact(rule, of_characters, &mut facts);
            facts.follows(number, follows);
        }
        facts.solve()
    }

    /// Adds all rules of another tree. Returns the number of its root.
    pub fn append(&mut self, other: Tree) -> usize {
        let own = self.rules.len();
        self.names.extend(other.names);
        for body in &other.rules {
            self.rules
                .push(body.with_rules(&|rule| Node::Rule(rule + own)));
        }
        own + other.root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Node {
        Node::text(text.to_owned())
    }

    #[test]
    fn nodes_are_as_small_as_they_can_be() {
        let a = || text("a");
        for (node, small) in [
            (
                Node::sequence([a(), Node::EMPTY, Node::sequence([a(), text("b")])]),
                text("aab"),
            ),
            (Node::sequence([a(), Node::NEVER]), Node::NEVER),
            (Node::choice([a(), Node::NEVER, Node::choice([a()])]), a()),
            (Node::class(Chars::one('a')), a()),
            (Node::class(Chars::default()), Node::NEVER),
            (a().optional().repeat(0, None), a().repeat(0, None)),
            (a().repeat(1, None).optional(), a().repeat(0, None)),
            (a().repeat(1, None).repeat(1, None), a().repeat(1, None)),
            (a().repeat(3, Some(0)), Node::EMPTY),
            (Node::NEVER.optional(), Node::EMPTY),
        ] {
            assert_eq!(node, small);
        }
    }

    #[test]
    fn rules_that_may_be_empty() {
        let mut tree = Tree {
            names: Vec::new(),
            rules: Vec::new(),
            root: 0,
        };
        tree.add("root", Node::sequence([Node::Rule(1), Node::Rule(2)]));
        tree.add(
            "a",
            Node::choice([Node::sequence([Node::Rule(2), Node::Rule(1)]), Node::EMPTY]),
        );
        tree.add("b", text("x").optional());
        tree.add("unused", Node::EMPTY);
        assert_eq!(tree.used(), [0, 1, 2]);
        assert_eq!(tree.nullable(), [true; 4]);
        tree.add("endless", Node::sequence([text("x"), Node::Rule(4)]));
        assert_eq!(tree.matching(), [true, true, true, true, false]);
    }
}
