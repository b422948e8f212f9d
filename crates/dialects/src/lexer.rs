//! Checks whether an engine that splits the output into terminals, taking the longest each time,
//! accepts the same texts as one that follows all ways to read it.
//!
//! It does if no terminal that can be followed by another one, and no other terminal that began
//! with it, can continue with the first byte of what follows. The check follows all terminals that
//! can begin at a place at once, for all places. A place is identified by the terminals that may be
//! there. A rule that is used at several places counts as all of them, which is conservative,
//! except for one that is a few terminals, such as white space.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::terminals::{Cut, Facts};
use chatparse_base::bytes::Bytes;
use chatparse_base::chars::Chars;
use chatparse_base::limits;
use chatparse_grammar::text::Node;

/// Steps for each part of a grammar, and the minimum.
const STEPS_PER_PART: usize = 1_000;
const STEPS: usize = 2_000_000;
/// With fewer steps for each part, the search ends without a result.
const FEWEST_PER_PART: usize = 50;

/// The budget of steps for a grammar; none if they would not be enough.
pub fn budget(facts: &Facts) -> usize {
    let parts = facts
        .tree
        .used()
        .into_iter()
        .map(|rule| facts.tree.rules[rule].size())
        .sum::<usize>();
    let steps = parts
        .saturating_mul(STEPS_PER_PART)
        .saturating_add(STEPS)
        .min(limits::LARK_STEPS);
    if steps / FEWEST_PER_PART < parts {
        0
    } else {
        steps
    }
}

/// The terminals that must be split, because they could continue where others must end. `None` if
/// the budget is too small to find out; the next try may use half of the rest.
pub fn confused(cut: &Cut, facts: &Facts, budget: &mut usize) -> Option<BTreeSet<usize>> {
    *budget /= 2;
    let size = cut.size(facts);
    let left = budget.checked_sub(size)?;
    let mut lexer = Lexer::new(cut, facts, left);
    let done = lexer.run();
    *budget += lexer.left;
    done.then_some(lexer.confused)
}

/// A terminal that may be at a place, and the node of the net after it.
type Step = (usize, usize);

struct Lexer<'c> {
    net: Net<'c>,
    machine: Machine<'c>,
    /// The first bytes of the terminals.
    first: Vec<Bytes>,
    /// By node of the net: its steps, computed on first use.
    behind: HashMap<usize, Rc<Vec<Step>>>,
    scans: HashMap<Vec<usize>, Rc<Scan>>,
    confused: BTreeSet<usize>,
    left: usize,
}

impl<'c> Lexer<'c> {
    fn new(cut: &'c Cut, facts: &'c Facts, left: usize) -> Lexer<'c> {
        let net = Net::new(cut, facts);
        let machine = Machine::new(cut, facts);
        let first = (0..cut.tokens.len())
            .map(|token| machine.first(token))
            .collect();
        Lexer {
            net,
            machine,
            first,
            behind: HashMap::new(),
            scans: HashMap::new(),
            confused: BTreeSet::new(),
            left,
        }
    }

    /// Visits all places. Returns whether the budget was sufficient.
    fn run(&mut self) -> bool {
        let start = self.steps_behind(self.net.start);
        let mut seen: HashSet<Rc<Vec<Step>>> = HashSet::from([Rc::clone(&start)]);
        let mut open = vec![start];
        // Every place that `open` has held is in `seen`, and each is visited once: as there are
        // finitely many sets of steps, this ends.
        while let Some(place) = open.pop() {
            let mut behind: HashMap<usize, Vec<usize>> = HashMap::new();
            for &(token, to) in &*place {
                behind.entry(token).or_default().push(to);
            }
            let mut tokens: Vec<usize> = behind.keys().copied().collect();
            tokens.sort_unstable();
            let Some(scan) = self.scan(tokens) else {
                return false;
            };
            for ends in &scan.ends {
                let nodes = ends.iter().flat_map(|token| &behind[token]);
                let next = self.place(nodes.copied());
                if self.left == 0 {
                    return false;
                }
                if seen.insert(Rc::clone(&next)) {
                    open.push(next);
                }
            }
            for (token, longer) in &scan.longer {
                let next = self.place(behind[token].iter().copied());
                let bytes: Bytes = next.iter().map(|(token, _)| self.first[*token]).collect();
                self.confused.extend(
                    longer
                        .iter()
                        .filter(|(_, on)| on.meets(bytes))
                        .map(|(other, _)| *other),
                );
            }
        }
        true
    }

    /// All steps from these nodes.
    fn place(&mut self, nodes: impl Iterator<Item = usize>) -> Rc<Vec<Step>> {
        let mut all = Vec::new();
        let mut parts = 0;
        let mut only = None;
        for node in nodes {
            let steps = self.steps_behind(node);
            all.extend_from_slice(&steps);
            only = Some(steps);
            parts += 1;
        }
        self.left = self.left.saturating_sub(1 + all.len());
        if let (Some(only), 1) = (only, parts) {
            return only;
        }
        all.sort_unstable();
        all.dedup();
        Rc::new(all)
    }

    fn steps_behind(&mut self, node: usize) -> Rc<Vec<Step>> {
        if let Some(known) = self.behind.get(&node) {
            return Rc::clone(known);
        }
        let steps = Rc::new(self.net.steps(node, &mut self.left));
        self.behind.insert(node, Rc::clone(&steps));
        steps
    }

    fn scan(&mut self, tokens: Vec<usize>) -> Option<Rc<Scan>> {
        if let Some(known) = self.scans.get(&tokens) {
            return Some(Rc::clone(known));
        }
        let scan = Rc::new(self.machine.scan(&tokens, &mut self.left)?);
        self.scans.insert(tokens, Rc::clone(&scan));
        Some(scan)
    }
}

/// Nodes with edges between them, along which a part is read.
trait Graph<'c> {
    /// A new node in the same terminal as another one.
    fn node(&mut self, like: usize) -> usize;

    fn free(&mut self, from: usize, to: usize);

    /// Lays out what has no parts.
    fn leaf(&mut self, leaf: &'c Node, from: usize, to: usize);

    fn part(&mut self, part: &'c Node, from: usize, to: usize) {
        match part {
            Node::Sequence(parts) => {
                let mut at = from;
                for part in parts {
                    let next = self.node(from);
                    self.part(part, at, next);
                    at = next;
                }
                self.free(at, to);
            }
            Node::Choice(branches) => branches
                .iter()
                .for_each(|branch| self.part(branch, from, to)),
            Node::Repeat(part, min, max) => {
                let (begin, end) = (self.node(from), self.node(from));
                self.free(from, begin);
                self.part(part, begin, end);
                self.free(end, to);
                if *max != Some(1) {
                    self.free(end, begin);
                }
                if *min == 0 {
                    self.free(from, to);
                }
            }
            leaf => self.leaf(leaf, from, to),
        }
    }
}

/// The rules as a net: its edges are terminals or rules.
struct Net<'c> {
    nodes: Vec<NetNode>,
    start: usize,
    /// By rule: its first node, if it is in the net.
    begins: Vec<usize>,
    nullable: Vec<bool>,
    walk: usize,
    /// Rules whose parts are written at each use.
    short: HashMap<usize, &'c Node>,
    /// The number of the first terminal.
    first: usize,
}

/// A node of the net.
#[derive(Default)]
struct NetNode {
    edges: Vec<Edge>,
    /// For the last node of a rule: where uses of the rule continue.
    returns: Vec<usize>,
    /// The last walks that were here, and here after the beginning of a rule.
    walks: [usize; 2],
}

enum Edge {
    Free(usize),
    Token(usize, usize),
    Rule(usize, usize),
}

impl<'c> Graph<'c> for Net<'c> {
    fn node(&mut self, _: usize) -> usize {
        self.nodes.push(NetNode::default());
        self.nodes.len() - 1
    }

    fn free(&mut self, from: usize, to: usize) {
        self.nodes[from].edges.push(Edge::Free(to));
    }

    fn leaf(&mut self, leaf: &'c Node, from: usize, to: usize) {
        let Node::Rule(rule) = leaf else { return };
        if let Some(token) = rule.checked_sub(self.first) {
            return self.nodes[from].edges.push(Edge::Token(token, to));
        }
        if let Some(part) = self.short.get(rule) {
            return self.part(part, from, to);
        }
        self.nodes[from].edges.push(Edge::Rule(*rule, to));
        // The last node of a rule is next to its first.
        self.nodes[self.begins[*rule] + 1].returns.push(to);
    }
}

impl<'c> Net<'c> {
    fn new(cut: &'c Cut, facts: &Facts) -> Net<'c> {
        let nullable = facts.nullable.clone();
        let short = cut
            .rules
            .iter()
            .filter(|(_, part)| cut.is_short(part))
            .map(|(rule, part)| (*rule, part))
            .collect();
        let begins = vec![0; nullable.len()];
        let mut net = Net {
            nodes: Vec::new(),
            start: 0,
            begins,
            nullable,
            walk: 0,
            short,
            first: cut.first,
        };
        for (rule, _) in &cut.rules {
            net.begins[*rule] = net.node(0);
            net.node(0);
        }
        net.start = net.begins[facts.tree.root];
        for (rule, part) in &cut.rules {
            let begin = net.begins[*rule];
            net.part(part, begin, begin + 1);
        }
        net
    }

    /// The terminals that may follow a node, as far as steps are left.
    fn steps(&mut self, from: usize, left: &mut usize) -> Vec<Step> {
        self.walk += 1;
        let mut steps = Vec::new();
        // A rule that begins here is not skipped here: its empty case is handled where it is used.
        let mut open = vec![(from, false)];
        while let Some((node, begun)) = open.pop().filter(|_| *left > 0) {
            let place = &mut self.nodes[node];
            if std::mem::replace(&mut place.walks[usize::from(begun)], self.walk) == self.walk {
                continue;
            }
            *left -= 1;
            for edge in &place.edges {
                match *edge {
                    Edge::Free(to) => open.push((to, begun)),
                    Edge::Token(token, to) => steps.push((token, to)),
                    Edge::Rule(rule, to) => {
                        open.push((self.begins[rule], true));
                        if self.nullable[rule] {
                            open.push((to, begun));
                        }
                    }
                }
            }
            if !begun {
                open.extend(place.returns.iter().map(|&to| (to, false)));
            }
        }
        steps.sort_unstable();
        steps.dedup();
        steps
    }
}

/// The result of following several terminals that begin at one place.
#[derive(Default)]
struct Scan {
    /// Sets of terminals that can be complete at the same time.
    ends: BTreeSet<Vec<usize>>,
    /// By terminal: the others that can continue where it is complete, and with which bytes.
    longer: HashMap<usize, HashMap<usize, Bytes>>,
}

/// The terminals as automata. Counts of repetitions are ignored, which makes a terminal look longer
/// than it is and is conservative.
struct Machine<'c> {
    rules: &'c [Node],
    states: Vec<State>,
    starts: Vec<usize>,
}

#[derive(Default)]
struct State {
    token: usize,
    free: Vec<usize>,
    moves: Vec<(Chars, usize)>,
    whole: bool,
}

impl<'c> Graph<'c> for Machine<'c> {
    fn node(&mut self, like: usize) -> usize {
        self.state(self.states[like].token)
    }

    fn free(&mut self, from: usize, to: usize) {
        self.states[from].free.push(to);
    }

    fn leaf(&mut self, leaf: &'c Node, from: usize, to: usize) {
        match leaf {
            Node::Text(text) => {
                let mut at = from;
                for c in text.chars() {
                    let next = self.node(from);
                    self.states[at].moves.push((Chars::one(c), next));
                    at = next;
                }
                self.free(at, to);
            }
            Node::Class(set) => self.states[from].moves.push((set.clone(), to)),
            Node::Rule(rule) => self.part(&self.rules[*rule], from, to),
            _ => {}
        }
    }
}

impl<'c> Machine<'c> {
    fn new(cut: &'c Cut, facts: &'c Facts) -> Machine<'c> {
        let mut machine = Machine {
            rules: &facts.tree.rules,
            states: Vec::new(),
            starts: Vec::new(),
        };
        for (token, node) in cut.tokens.iter().enumerate() {
            let (start, end) = (machine.state(token), machine.state(token));
            machine.starts.push(start);
            machine.states[end].whole = true;
            machine.part(node, start, end);
        }
        machine
    }

    fn state(&mut self, token: usize) -> usize {
        self.states.push(State {
            token,
            ..State::default()
        });
        self.states.len() - 1
    }

    /// All states that are reachable from these without a character.
    fn closed(&self, mut states: Vec<usize>) -> Vec<usize> {
        let mut seen: HashSet<usize> = states.iter().copied().collect();
        let mut done = 0;
        while let Some(&state) = states.get(done) {
            done += 1;
            states.extend(
                self.states[state]
                    .free
                    .iter()
                    .filter(|next| seen.insert(**next)),
            );
        }
        // Other states have no effect.
        states.retain(|&state| self.states[state].whole || !self.states[state].moves.is_empty());
        states.sort_unstable();
        states.dedup();
        states
    }

    fn first(&self, token: usize) -> Bytes {
        let states = self.closed(vec![self.starts[token]]);
        states
            .into_iter()
            .flat_map(|state| &self.states[state].moves)
            .map(|(set, _)| set.heads())
            .collect()
    }

    /// Follows all of `tokens` at once. `None` if that takes more steps than are left.
    fn scan(&self, tokens: &[usize], left: &mut usize) -> Option<Scan> {
        let mut scan = Scan::default();
        let start = self.closed(tokens.iter().map(|&token| self.starts[token]).collect());
        let mut seen = HashSet::from([start.clone()]);
        let mut open = vec![start];
        while let Some(states) = open.pop() {
            let whole = states
                .iter()
                .map(|&at| &self.states[at])
                .filter(|at| at.whole)
                .map(|at| at.token);
            let whole = chatparse_base::sort::set(whole);
            if !whole.is_empty() {
                let mut on: HashMap<usize, Bytes> = HashMap::new();
                for state in states.iter().map(|&at| &self.states[at]) {
                    state.moves.iter().for_each(|(set, _)| {
                        let known = on.entry(state.token).or_default();
                        *known = known.or(set.heads());
                    });
                }
                for &token in &whole {
                    let longer = scan.longer.entry(token).or_default();
                    on.iter().for_each(|(&other, &bytes)| {
                        let known = longer.entry(other).or_default();
                        *known = known.or(bytes);
                    });
                    *left = left.saturating_sub(on.len());
                }
                scan.ends.insert(whole.into_iter().collect());
            }
            for next in self.next(&states, left) {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
            *left = left.saturating_sub(1 + states.len());
            if *left == 0 {
                return None;
            }
        }
        Some(scan)
    }

    /// The sets of states after one more character.
    fn next(&self, states: &[usize], left: &mut usize) -> Vec<Vec<usize>> {
        let moves = || states.iter().flat_map(|&state| &self.states[state].moves);
        let ranges =
            || moves().flat_map(|(set, to)| set.ranges().iter().map(move |range| (range, *to)));
        let mut borders: Vec<u32> = ranges()
            .flat_map(|((low, high), _)| [*low, high + 1])
            .collect();
        borders.sort_unstable();
        borders.dedup();
        let mut targets = vec![Vec::new(); borders.len()];
        for ((low, high), to) in ranges() {
            let (begin, end) = (
                borders.partition_point(|at| at < low),
                borders.partition_point(|at| at <= high),
            );
            targets[begin..end].iter_mut().for_each(|at| at.push(to));
            *left = left.saturating_sub(end - begin);
        }
        let mut seen = HashSet::new();
        targets
            .into_iter()
            .filter(|at| !at.is_empty() && seen.insert(at.clone()))
            .map(|at| self.closed(at))
            .collect()
    }
}
