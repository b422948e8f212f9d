//! Chooses the parts of a grammar that become terminals, for engines that split the output into
//! terminals.
//!
//! Long terminals are fast, so each regular part that is not too large becomes one; a terminal ends
//! where an optional named rule (`space`) begins. Terminals that do not work are split, one level
//! at a time, down to single characters.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use super::recursion;
use chatparse_base::chars::Chars;
use chatparse_grammar::text::{Node, Tree};

/// The maximum size of a terminal.
const TERMINAL_SIZE: usize = 300;

/// A grammar over terminals.
pub struct Cut {
    /// The terminals; none is empty. Their numbers in rules come after those of the tree's rules.
    pub tokens: Vec<Node>,
    /// The remaining rules, the root first: their parts are terminals and rules.
    pub rules: Vec<(usize, Node)>,
    /// The number of the first terminal.
    pub first: usize,
}

impl Cut {
    /// The number of states of its terminals as automata, and of parts of its rules, about.
    pub fn size(&self, facts: &Facts) -> usize {
        let tokens = self.tokens.iter().map(|token| facts.states(token));
        tokens
            .chain(self.rules.iter().map(|(_, part)| part.size()))
            .sum()
    }

    /// Whether a part is a few terminals.
    pub fn is_short(&self, part: &Node) -> bool {
        const SHORT: usize = 16;
        let mut refers = false;
        part.references(&mut |rule| refers |= rule < self.first);
        !refers && part.size() <= SHORT
    }
}

/// Facts about a tree's rules.
pub struct Facts<'t> {
    pub tree: &'t Tree,
    pub nullable: Vec<bool>,
    /// The sizes of regular rules; `None` for rules that are not regular or too large.
    sizes: Vec<Option<usize>>,
}

/// Parts that must not be one terminal.
#[derive(Default)]
pub struct Splits {
    /// These, but their parts may be.
    once: HashSet<Node>,
    /// These, and no part of them.
    all: HashSet<Node>,
    rules: HashSet<usize>,
    everything: bool,
    runs: bool,
}

impl Splits {
    /// Splits a terminal into its parts, or with `fully` into characters.
    pub fn add(&mut self, token: &Node, fully: bool, tree: &Tree) {
        if !fully {
            self.once.insert(token.clone());
            // The body of the rule would be the same terminal again.
            if let Node::Rule(rule) = token {
                self.add(&tree.rules[*rule], false, tree);
            }
            return;
        }
        let mut open = Vec::new();
        token.references(&mut |rule| open.push(rule));
        while let Some(rule) = open.pop() {
            if self.rules.insert(rule) {
                tree.rules[rule].references(&mut |rule| open.push(rule));
            }
        }
        self.all.insert(token.clone());
    }

    /// Splits all terminals into characters, except for consecutive characters of free text; a
    /// second call splits these as well.
    pub fn add_everything(&mut self) {
        self.runs = self.everything;
        self.everything = true;
    }
}

impl<'t> Facts<'t> {
    /// `free`: rules of free text, which are not terminals.
    pub fn new(tree: &'t Tree, free: &HashSet<usize>) -> Facts<'t> {
        let mut facts = Facts {
            tree,
            nullable: tree.nullable(),
            sizes: vec![None; tree.rules.len()],
        };
        let circular: HashSet<usize> = recursion::circles(tree).into_iter().flatten().collect();
        // The rules that a rule refers to come first.
        for rule in post_order(tree) {
            if !circular.contains(&rule) && !free.contains(&rule) {
                facts.sizes[rule] = facts.size(&tree.rules[rule]);
            }
        }
        facts
    }

    /// The size of a part, if it may be a terminal or a part of one.
    fn size(&self, node: &Node) -> Option<usize> {
        let size = match node {
            Node::Text(text) => text.len(),
            Node::Class(_) => 1,
            Node::Rule(rule) if self.nullable[*rule] => return None,
            // A chain of rules costs as well.
            Node::Rule(rule) => 1 + self.sizes[*rule]?,
            // Lists of texts are fast at any length.
            Node::Choice(branches)
                if branches
                    .iter()
                    .all(|branch| matches!(branch, Node::Text(_))) =>
            {
                1
            }
            other => other
                .parts()
                .iter()
                .try_fold(1, |sum, part| Some(sum + self.size(part)?))?,
        };
        Some(size).filter(|size| *size <= TERMINAL_SIZE || matches!(node, Node::Text(_)))
    }

    /// The number of states of a terminal as an automaton, about.
    fn states(&self, node: &Node) -> usize {
        match node {
            Node::Text(text) => text.len(),
            Node::Rule(rule) => self.states(&self.tree.rules[*rule]),
            other => {
                2 + other
                    .parts()
                    .iter()
                    .map(|part| self.states(part))
                    .sum::<usize>()
            }
        }
    }

    fn is_nullable(&self, node: &Node) -> bool {
        node.is_nullable(&self.nullable)
    }

    /// Maps the body of each regular rule, without the empty text, to the rule.
    pub fn terminals(&self) -> HashMap<Node, usize> {
        let rules = (0..self.sizes.len()).filter(|&rule| self.sizes[rule].is_some());
        rules
            .filter_map(|rule| Some((self.something(&self.tree.rules[rule])?.into_owned(), rule)))
            .collect()
    }

    /// The node without the empty text, if that has a short form.
    fn something<'n>(&self, node: &'n Node) -> Option<Cow<'n, Node>> {
        if !self.is_nullable(node) {
            return Some(Cow::Borrowed(node));
        }
        let short = match node {
            Node::Choice(branches) => {
                let branches = branches.iter().filter(|branch| **branch != Node::EMPTY);
                let branches = branches.map(|branch| Some(self.something(branch)?.into_owned()));
                Node::choice(branches.collect::<Option<Vec<_>>>()?)
            }
            Node::Repeat(part, 0, max) => self.something(part)?.into_owned().repeat(1, *max),
            _ => return None,
        };
        Some(Cow::Owned(short))
    }
}

/// The rules that are used, each after those that it refers to, except in circles.
fn post_order(tree: &Tree) -> Vec<usize> {
    let mut state = vec![false; tree.rules.len()];
    let mut order = Vec::new();
    let mut path = vec![(tree.root, false)];
    while let Some((rule, done)) = path.pop() {
        if done {
            order.push(rule);
        } else if !std::mem::replace(&mut state[rule], true) {
            path.push((rule, true));
            tree.rules[rule].references(&mut |used| path.push((used, false)));
        }
    }
    order
}

/// Builds the grammar over terminals; none of them is in `splits`.
pub fn cut(facts: &Facts, splits: &Splits) -> Cut {
    let root = facts.tree.root;
    let mut cutter = Cutter {
        facts,
        splits,
        tokens: Vec::new(),
        numbers: HashMap::new(),
        seen: HashSet::from([root]),
        pending: VecDeque::from([root]),
    };
    let mut rules = Vec::new();
    while let Some(rule) = cutter.pending.pop_front() {
        let fully = splits.everything || splits.rules.contains(&rule);
        rules.push((rule, cutter.part(&facts.tree.rules[rule], fully)));
    }
    Cut {
        tokens: cutter.tokens,
        rules,
        first: facts.tree.rules.len(),
    }
}

struct Cutter<'a> {
    facts: &'a Facts<'a>,
    splits: &'a Splits,
    tokens: Vec<Node>,
    numbers: HashMap<Node, usize>,
    seen: HashSet<usize>,
    pending: VecDeque<usize>,
}

impl Cutter<'_> {
    fn token(&mut self, node: Cow<Node>) -> Node {
        if let Some(number) = self.numbers.get(&*node) {
            return Node::Rule(*number);
        }
        let number = self.facts.tree.rules.len() + self.tokens.len();
        self.tokens.push(node.clone().into_owned());
        self.numbers.insert(node.into_owned(), number);
        Node::Rule(number)
    }

    /// A part over terminals, or with `fully` over single characters.
    fn part(&mut self, node: &Node, fully: bool) -> Node {
        let mut fully = fully;
        if !fully
            && self.facts.size(node).is_some()
            && let Some(token) = self
                .facts
                .something(node)
                .filter(|token| **token != Node::NEVER)
        {
            fully = self.splits.all.contains(&*token);
            if !fully && !self.splits.once.contains(&*token) {
                let optional = self.facts.is_nullable(node);
                let token = self.token(token);
                return if optional { token.optional() } else { token };
            }
        }
        match node {
            Node::Text(text) => Node::sequence(
                text.chars()
                    .map(|c| self.token(Cow::Owned(Node::Text(c.into())))),
            ),
            Node::Class(_) => self.token(Cow::Borrowed(node)),
            Node::Rule(rule) => self.reference(*rule, fully),
            Node::Sequence(parts) => {
                let whole = parts.iter().all(|part| self.facts.size(part).is_some());
                if fully || whole {
                    return Node::sequence(parts.iter().map(|part| self.part(part, fully)));
                }
                let runs = parts.chunk_by(|one, two| {
                    self.facts.size(one).is_some() && self.facts.size(two).is_some()
                });
                Node::sequence(runs.map(|run| match run {
                    [part] => self.part(part, false),
                    run => self.part(&Node::sequence(run.iter().cloned()), false),
                }))
            }
            Node::Choice(branches) => self.branches(branches, fully),
            Node::Repeat(part, 0, None) if matches!(**part, Node::Choice(_)) => {
                self.rounds(part, fully)
            }
            Node::Repeat(part, min, max) => {
                Node::Repeat(Box::new(self.part(part, fully)), *min, *max)
            }
        }
    }

    fn branches(&mut self, branches: &[Node], fully: bool) -> Node {
        Node::Choice(
            branches
                .iter()
                .map(|branch| self.part(branch, fully))
                .collect(),
        )
    }

    /// A rule that may be empty is written in place if it is only an optional terminal.
    fn reference(&mut self, rule: usize, fully: bool) -> Node {
        let body = &self.facts.tree.rules[rule];
        let atomic = fully || self.splits.everything || self.splits.rules.contains(&rule);
        if !atomic
            && self.facts.nullable[rule]
            && self.facts.size(body).is_some()
            && let Some(token) = self.facts.something(body)
            && !self.splits.once.contains(&*token)
            && !self.splits.all.contains(&*token)
        {
            return self.part(body, false);
        }
        if self.seen.insert(rule) {
            self.pending.push_back(rule);
        }
        Node::Rule(rule)
    }

    /// A repetition of branches, some of which are single characters: consecutive characters form
    /// one terminal. Otherwise each character of a text would be one.
    fn rounds(&mut self, choice: &Node, fully: bool) -> Node {
        let (mut classes, mut others) = (Vec::new(), Vec::new());
        for branch in choice.parts() {
            match branch {
                Node::Class(set) => classes.extend_from_slice(set.ranges()),
                other => others.push(other.clone()),
            }
        }
        let run = Node::class(Chars::of_codes(classes)).repeat(1, None);
        if run == Node::NEVER
            || self.splits.runs
            || self.splits.once.contains(&run)
            || self.splits.all.contains(&run)
        {
            return Node::Repeat(Box::new(self.branches(choice.parts(), fully)), 0, None);
        }
        let run = self.token(Cow::Owned(run)).optional();
        let mut round = match self.part(&Node::choice(others), fully) {
            Node::Sequence(parts) => parts,
            other => vec![other],
        };
        round.push(run.clone());
        Node::sequence([run, Node::Repeat(Box::new(Node::Sequence(round)), 0, None)])
    }
}
