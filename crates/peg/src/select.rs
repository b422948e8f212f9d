//! A table for a choice between many texts: a prefix tree of their leads, so that one pass over the
//! output serves all alternatives.
//!
//! ```text
//! <parameter=  ─┬─ path>     0
//!               └─ line ─┬─ >     2
//!                        └─ s>    1
//! ```
//! The search finds the first alternative that the output does not rule out. It looks at no byte
//! that trying the alternatives in turn would not look at: it stops where the first one is certain,
//! even if a later one is longer.

use std::ops::Range;

use super::lead::{Leads, SPACE};
use chatparse_base::bytes::Bytes;

/// No alternative.
pub const NONE: u32 = u32::MAX;

/// A shared part of one or more leads, and the nodes that continue it.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    /// Range in the table's text.
    label: Range<u32>,
    /// Range in the table's lists: the alternatives whose leads go through this node, in order, and
    /// then the ones whose lead ends here.
    all: Range<u32>,
    here: Range<u32>,
    /// The child nodes, sorted by the first byte of their label. A child that begins with white
    /// space is the only one.
    children: Range<u32>,
}

/// The tree of one choice, and the addresses of the alternatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    text: Vec<u8>,
    lists: Vec<u32>,
    nodes: Vec<Node>,
    /// By alternative: the address of the instruction that selects from it on. The alternative's
    /// code follows.
    pub heads: Vec<u32>,
    /// The alternatives after these, if the choice has more.
    pub rest: Option<Rest>,
}

/// Alternatives without leads, after the ones with leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    pub at: u32,
    /// The first bytes of them.
    pub begin: u32,
}

/// The progress of a search.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    node: u32,
    /// Bytes of the label, and of the output, that have matched.
    label: u32,
    pub matched: usize,
    /// The first two alternatives whose leads have matched completely.
    whole: [u32; 2],
}

impl Default for Walk {
    fn default() -> Self {
        Walk {
            node: 0,
            label: 0,
            matched: 0,
            whole: [NONE; 2],
        }
    }
}

impl Walk {
    /// Records an alternative; may be called twice for one.
    fn note(&mut self, alternative: u32) {
        let [first, second] = self.whole;
        if alternative < first {
            self.whole = [alternative, first];
        } else if first < alternative && alternative < second {
            self.whole[1] = alternative;
        }
    }
}

/// The result of a search.
pub enum Found {
    /// The alternative to try first, or `NONE`; whether others remain; and the number of bytes
    /// looked at.
    Choice {
        first: u32,
        others: bool,
        looked: usize,
    },
    /// A byte is missing; `first` is the first alternative that is still possible.
    Missing { first: u32, others: bool },
}

impl Table {
    /// Builds the table of a run of alternatives.
    pub fn new(run: &[Leads]) -> Self {
        let leads = run
            .iter()
            .zip(0..)
            .flat_map(|(leads, number)| leads.iter().map(move |lead| (&lead[..], number)));
        let mut order: Vec<(&[u8], u32)> = leads.collect();
        chatparse_base::sort::by_key(&mut order, |&(lead, _)| lead);
        let alternative = |place: usize| order[place].1;
        let mut table = Table {
            text: Vec::new(),
            lists: Vec::with_capacity(4 * order.len()),
            nodes: Vec::new(),
            heads: Vec::with_capacity(run.len()),
            rest: None,
        };
        // For each node: its range of leads in `order`, and how many bytes of them are above it.
        let mut groups = vec![(0..order.len(), 0)];
        let mut at = 0;
        while at < groups.len() {
            let (group, above) = groups[at].clone();
            let (low, high) = (order[group.start].0, order[group.end - 1].0);
            let common = low[above..]
                .iter()
                .zip(&high[above..])
                .take_while(|(low, high)| low == high)
                .count();
            let label = table.label(&low[above..above + common]);
            let depth = above + common;
            let next = |place: usize| order[place].0.get(depth).copied();
            let ended = group
                .clone()
                .take_while(|&place| next(place).is_none())
                .count();
            let mut longer = group.start + ended..group.end;
            // If only some leads continue with white space, the node ends here, and these leads are
            // not read further.
            if longer
                .clone()
                .next()
                .is_some_and(|place| next(place) != Some(SPACE))
            {
                while longer
                    .clone()
                    .next_back()
                    .is_some_and(|place| next(place) == Some(SPACE))
                {
                    longer.end -= 1;
                }
            }
            let all = table.list(group.clone().map(alternative));
            let outside = (group.start..longer.start).chain(longer.end..group.end);
            let here = if longer.is_empty() {
                all.clone()
            } else {
                table.list(outside.map(alternative))
            };
            let first = groups.len() as u32;
            let (mut from, mut head) = (longer.start, longer.clone().next().map(next));
            for place in longer.start..longer.end {
                let behind = (place + 1 < longer.end).then(|| next(place + 1));
                if behind != head {
                    groups.push((from..place + 1, depth));
                    (from, head) = (place + 1, behind);
                }
            }
            table.nodes.push(Node {
                label,
                all,
                here,
                children: first..groups.len() as u32,
            });
            at += 1;
        }
        table.text.shrink_to_fit();
        table.lists.shrink_to_fit();
        table.nodes.shrink_to_fit();
        table
    }

    fn label(&mut self, text: &[u8]) -> Range<u32> {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(text);
        start..self.text.len() as u32
    }

    fn list(&mut self, alternatives: impl Iterator<Item = u32>) -> Range<u32> {
        let start = self.lists.len();
        self.lists.extend(alternatives);
        if !self.lists[start..].is_sorted_by(|one, next| one < next) {
            let mut own = self.lists.split_off(start);
            own.sort_unstable();
            own.dedup();
            self.lists.append(&mut own);
        }
        start as u32..self.lists.len() as u32
    }

    /// The alternatives of a list from this one on.
    fn from(&self, list: &Range<u32>, alternative: u32) -> &[u32] {
        let list = &self.lists[list.start as usize..list.end as usize];
        if alternative == 0 {
            list
        } else {
            &list[list.partition_point(|other| *other < alternative)..]
        }
    }

    fn first(&self, list: &Range<u32>, alternative: u32) -> u32 {
        *self.from(list, alternative).first().unwrap_or(&NONE)
    }

    /// The first byte of a node's label.
    fn head(&self, node: u32) -> u8 {
        self.text[self.nodes[node as usize].label.start as usize]
    }

    /// Finds the first alternative from `from` on that `output` does not rule out. If a byte is
    /// missing, the next call continues `walk` with more output.
    pub fn find(&self, output: &[u8], from: u32, walk: &mut Walk) -> Found {
        let mut looked = walk.matched;
        loop {
            let node = &self.nodes[walk.node as usize];
            let first = self.first(&node.all, from);
            if walk.whole[0] <= first {
                return self.choice(walk, Some(node), looked);
            }
            let label = &self.text[node.label.start as usize..node.label.end as usize];
            while let Some(&symbol) = label.get(walk.label as usize) {
                let Some(&byte) = output.get(walk.matched) else {
                    return self.missing(walk, node, first);
                };
                looked = walk.matched + 1;
                if symbol == SPACE {
                    if Bytes::SPACE.contains(byte) {
                        walk.matched += 1;
                        continue;
                    }
                } else if symbol == byte {
                    walk.matched += 1;
                } else {
                    return self.choice(walk, None, looked);
                }
                walk.label += 1;
            }
            self.from(&node.here, from)
                .iter()
                .take(2)
                .for_each(|&alternative| walk.note(alternative));
            if walk.whole[0] == first {
                return self.choice(walk, Some(node), looked);
            }
            let mut child = node.children.start;
            if self.head(child) != SPACE {
                let Some(&byte) = output.get(walk.matched) else {
                    return self.missing(walk, node, first);
                };
                looked = walk.matched + 1;
                let Some(found) = self.child(&node.children, byte) else {
                    return self.choice(walk, None, looked);
                };
                child = found;
            }
            (walk.node, walk.label) = (child, 0);
        }
    }

    fn child(&self, children: &Range<u32>, byte: u8) -> Option<u32> {
        let nodes = &self.nodes[children.start as usize..children.end as usize];
        let found = nodes.binary_search_by_key(&byte, |node| self.text[node.label.start as usize]);
        found.ok().map(|at| children.start + at as u32)
    }

    /// `node`: the last node that matches; its alternatives are still possible.
    fn choice(&self, walk: &Walk, node: Option<&Node>, looked: usize) -> Found {
        let first = walk.whole[0];
        Found::Choice {
            first,
            others: self.others(walk, node, first),
            looked,
        }
    }

    fn missing(&self, walk: &Walk, node: &Node, first: u32) -> Found {
        Found::Missing {
            first,
            others: self.others(walk, Some(node), first),
        }
    }

    /// Whether another alternative after `first` is still possible.
    fn others(&self, walk: &Walk, node: Option<&Node>, first: u32) -> bool {
        let mut read = walk.whole.iter();
        read.any(|&other| other != NONE && other > first)
            || node.is_some_and(|node| first != NONE && !self.from(&node.all, first + 1).is_empty())
    }

    /// Approximate memory use in bytes.
    pub fn bytes(&self) -> usize {
        let Table {
            text,
            lists,
            nodes,
            heads,
            rest: _,
        } = self;
        size_of::<Table>()
            + text.len()
            + size_of_val(lists.as_slice())
            + size_of_val(nodes.as_slice())
            + size_of_val(heads.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::compile::compile_to;
    use super::super::program::Op;
    use super::super::{Arena, Builder, Capture, ExprId, Machine, Program, State, TagId};

    #[derive(Clone, Debug)]
    enum Tree {
        Literal(&'static str),
        Space,
        Until(&'static str),
        Letters,
        Sequence(Vec<Tree>),
        Choice(Vec<Tree>),
        Unordered(Vec<Tree>),
        Many(Box<Tree>),
        Repeat(Box<Tree>, u32, Option<u32>),
        Not(Box<Tree>),
        Tag(u16, Box<Tree>),
        Atomic(Box<Tree>),
        Rule(Box<Tree>),
    }

    const TEXTS: &[&str] = &[
        "a", "b", "ab", "aa", "aab", "<a", "<a>", "<ab>", "<b>", "é", "è", "", " ", "a b",
    ];

    fn tree() -> impl Strategy<Value = Tree> {
        let text = || prop::sample::select(TEXTS.to_vec());
        let leaf = prop_oneof![
            10 => text().prop_map(Tree::Literal),
            3 => Just(Tree::Space),
            1 => prop::sample::select(vec!["<", "b", "<b>"]).prop_map(Tree::Until),
            1 => Just(Tree::Letters),
        ];
        leaf.prop_recursive(6, 60, 8, |inner| {
            let boxed = inner.clone().prop_map(Box::new);
            let some = |range| prop::collection::vec(inner.clone(), range);
            prop_oneof![
                6 => some(1..4).prop_map(Tree::Sequence),
                6 => some(2..9).prop_map(Tree::Choice),
                1 => some(1..5).prop_map(Tree::Unordered),
                1 => boxed.clone().prop_map(Tree::Many),
                1 => boxed.clone().prop_map(|tree| Tree::Repeat(tree, 0, Some(1))),
                1 => (boxed.clone(), 0u32..3, 2u32..4).prop_map(|(tree, min, max)| Tree::Repeat(tree, min, Some(max))),
                1 => boxed.clone().prop_map(Tree::Not),
                2 => (0u16..4, boxed.clone()).prop_map(|(tag, tree)| Tree::Tag(tag, tree)),
                3 => boxed.clone().prop_map(Tree::Atomic),
                1 => boxed.prop_map(Tree::Rule),
            ]
        })
    }

    fn build(p: &Builder, tree: &Tree) -> ExprId {
        let all = |trees: &[Tree]| trees.iter().map(|tree| build(p, tree)).collect::<Vec<_>>();
        match tree {
            Tree::Literal(text) => p.literal(*text),
            Tree::Space => p.space(),
            Tree::Until(marker) => p.until(*marker),
            Tree::Letters => p.some(p.one_of(&[('a', 'b'), ('è', 'é')])),
            Tree::Sequence(trees) => p.sequence(all(trees)),
            Tree::Choice(trees) => p.choice(all(trees)),
            Tree::Unordered(trees) => p.unordered(all(trees), vec![]),
            Tree::Many(tree) => p.many(build(p, tree)),
            Tree::Repeat(tree, min, max) => p.repeat(build(p, tree), *min, *max),
            Tree::Not(tree) => p.not(build(p, tree)),
            Tree::Tag(tag, tree) => p.tag(TagId(*tag), build(p, tree)),
            Tree::Atomic(tree) => p.atomic(build(p, tree)),
            Tree::Rule(tree) => {
                let child = build(p, tree);
                p.rule(format!("rule{}", child.index()), child)
            }
        }
    }

    fn arena(tree: &Tree, ends: bool) -> Arena {
        let p = Builder::new();
        let root = build(&p, tree);
        let root = p.tag(TagId(9), root);
        p.finish(if ends {
            p.sequence([root, p.end()])
        } else {
            p.many(root)
        })
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select([TEXTS, &["<", ">", "  ", "\n", "c"]].concat()),
            0..10,
        )
        .prop_map(|all| all.concat())
    }

    fn captures(machine: &Machine) -> (Vec<Capture>, usize) {
        let visible = machine.visible();
        (visible.from(0).to_vec(), visible.end)
    }

    fn programs(arena: &Arena) -> [Arc<Program>; 2] {
        [2, usize::MAX].map(|many| Arc::new(compile_to(arena, None, many, Op::Accept).unwrap()))
    }

    #[test]
    fn each_byte_is_read_once_for_all() {
        let p = Builder::new();
        let names = (1..200)
            .map(|length| p.sequence([p.space(), p.literal("a".repeat(length)), p.literal("!")]));
        let round = p.choice(names.collect::<Vec<_>>());
        let [program, _] = programs(&p.finish(p.many(round)));
        let output = format!("{}{}!", " ".repeat(200), "a".repeat(199)).repeat(2);
        let mut machine = Machine::new(program, 0);
        for end in 1..=output.len() {
            machine.feed(&output.as_bytes()[..end]);
        }
        assert_eq!(
            (machine.state(), machine.furthest()),
            (State::Waiting, output.len())
        );
        assert!(
            machine.work() < 3 * output.len() as u64,
            "{}",
            machine.work()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn looking_for_all_at_once_changes_nothing(tree in tree(), ends: bool, text in text(), committed: bool) {
            let programs = programs(&arena(&tree, ends));
            let bytes = text.as_bytes();
            let begin = if committed { Machine::committed } else { Machine::new };
            let mut machines = programs.clone().map(|program| begin(program, 0));
            for end in 0..=bytes.len() {
                let output = &bytes[..end];
                let [one, other] = machines.each_mut().map(|machine| machine.feed(output));
                prop_assert_eq!(one, other);
                let [one, other] = &machines;
                prop_assert_eq!(one.furthest(), other.furthest());
                let mut fresh = begin(Arc::clone(&programs[0]), 0);
                fresh.feed(output);
                prop_assert_eq!((fresh.state(), fresh.furthest(), fresh.work()), (one.state(), one.furthest(), one.work()));
                if one.state() == State::Failed {
                    break;
                }
                prop_assert_eq!(captures(one), captures(other));
                prop_assert_eq!(captures(one), captures(&fresh));
                for cut in [false, true] {
                    let [one, other] = machines.each_ref().map(|machine| {
                        let mut machine = machine.clone();
                        let matched = if cut { machine.cut(output) } else { machine.finish(output, 0, 0) };
                        let hidden = machine.visible().hidden().to_vec();
                        let shown = (machine.state() != State::Failed).then(|| captures(&machine));
                        let hidden = (shown.is_some() && (cut || matched)).then_some(hidden);
                        (matched, machine.state(), machine.furthest(), shown, hidden)
                    });
                    prop_assert_eq!(one, other);
                }
            }
            for cut in [false, true] {
                let [one, other] = programs.clone().map(|program| {
                    let machine = Machine::whole(program, bytes, 0, cut);
                    let shown = (machine.state() != State::Failed).then(|| captures(&machine));
                    (machine.state(), machine.furthest(), shown)
                });
                prop_assert_eq!(one, other);
            }
        }
    }
}
