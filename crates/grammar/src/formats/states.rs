//! The rules of text up to a marker: states of an automaton, those that only one place goes on to written there.

use std::collections::HashMap;

use smallvec::SmallVec;
use smol_str::{SmolStr, format_smolstr};

use super::automaton::{Automaton, Moves, Onward};
use crate::rules::class::one_of;
use crate::rules::rule::Rule;

/// The states that a state goes on to, each once.
fn targets(onward: &Onward) -> impl Iterator<Item = usize> {
    onward.chunk_by(|(one, _), (other, _)| one == other).map(|same| same[0].0)
}

/// The rules of an automaton. A state that only one place goes on to is written there.
///
/// Markers begin with few characters (`<`), and mostly have them nowhere else. Then each of these begins a piece of the text, and a
/// state is what may follow in its piece: it need not say how the next piece begins. Else each state says where all characters
/// lead to.
pub(crate) struct States {
    moves: Vec<Moves>,
    /// How the first state goes on.
    firsts: Onward,
    /// The states that go on so, too; this is written once.
    common: Vec<bool>,
    /// How many places go on to a state.
    uses: Vec<usize>,
    /// The rules of those that have one, and of what states have in common.
    names: HashMap<usize, SmolStr>,
    /// Those whose rule is not written yet.
    open: Vec<usize>,
    /// The text is in pieces.
    pieces: bool,
    /// Whether a marker ends the text and is part of it. Else it may end anywhere.
    closed: bool,
}

impl States {
    /// How the first state goes on, in place of a state.
    const COMMON: usize = usize::MAX;
    /// The rest of a piece.
    const REST: usize = usize::MAX - 1;

    pub fn new(automaton: &Automaton, start: &SmolStr, closed: bool) -> States {
        let mut moves = vec![Moves::default(); automaton.len()];
        for state in automaton.open() {
            moves[state] = automaton.moves(state);
            if !closed {
                moves[state].completing.clear();
            }
        }
        merge(&mut moves);
        let firsts = moves[0].onward.clone();
        let (mut common, mut uses, mut open) = (vec![false; moves.len()], vec![0; moves.len()], vec![0]);
        let mut pieces = !firsts.is_empty() && firsts.len() == moves[0].special.len();
        let mut states = Vec::new();
        while let Some(state) = open.pop() {
            states.push(state);
            let onward = &moves[state].onward;
            common[state] = firsts.iter().all(|first| onward.contains(first));
            pieces &= common[state] && !moves[state].forced;
            for (to, _) in onward {
                uses[*to] += 1;
                open.extend((uses[*to] == 1 && *to != 0).then_some(*to));
            }
        }
        if !pieces && targets(&firsts).count() < 2 {
            common.fill(false);
        }
        uses.fill(0);
        for state in states {
            if common[state] {
                moves[state].onward.retain(|first| !firsts.contains(first));
            }
            targets(&moves[state].onward).for_each(|to| uses[to] += 1);
        }
        if common[0] {
            targets(&firsts).for_each(|to| uses[to] += 1);
        }
        let names = HashMap::from([(0, start.clone())]);
        States { moves, firsts, common, uses, names, open: vec![0], pieces, closed }
    }

    /// Whether the text is in pieces. Then it may end anywhere, also where a marker is part of it: that comes behind.
    pub fn is_in_pieces(&self) -> bool {
        self.pieces
    }

    /// The rest of a piece, which other texts have, too.
    pub fn rest(&self) -> Option<Rule> {
        self.pieces.then(|| one_of(true, &self.moves[0].special).repeat(0, None))
    }

    /// The rules, the first one first. `rest`: the name of [`States::rest`]; `reserve` gives names.
    pub fn rules(mut self, rest: Option<SmolStr>, reserve: &mut dyn FnMut(SmolStr) -> SmolStr) -> Vec<(SmolStr, Rule)> {
        let mut rules = Vec::new();
        self.names.extend(rest.map(|rest| (States::REST, rest)));
        while let Some(state) = self.open.pop() {
            let name = self.names[&state].clone();
            let body = match state {
                States::COMMON => Rule::Choice(self.onward(&self.firsts.clone(), 0, reserve)),
                0 if self.pieces => {
                    let [rest, piece] =
                        [States::REST, States::COMMON].map(|part| Rule::Reference(self.name(part, reserve)));
                    Rule::Sequence(vec![rest, piece.repeat(0, None)])
                }
                state => self.body(state, 0, reserve),
            };
            rules.push((name, body));
        }
        rules
    }

    fn body(&mut self, state: usize, depth: usize, reserve: &mut dyn FnMut(SmolStr) -> SmolStr) -> Rule {
        let moves = self.moves[state].clone();
        let mut branches = Vec::with_capacity(moves.onward.len() + 4);
        if self.pieces || !self.closed {
            branches.push(Rule::Empty);
        } else if !moves.completing.is_empty() {
            branches.push(one_of(false, &moves.completing));
        }
        if self.common[state] && !self.pieces {
            branches.push(Rule::Reference(self.name(States::COMMON, reserve)));
        }
        branches.extend(self.onward(&moves.onward, depth, reserve));
        if !moves.forced {
            let rest = self.name(if self.pieces { States::REST } else { 0 }, reserve);
            branches.push(Rule::Sequence(vec![one_of(true, &moves.special), Rule::Reference(rest)]));
        }
        if branches.len() == 1 { branches.swap_remove(0) } else { Rule::Choice(branches) }
    }

    /// The branches to other states.
    fn onward(&mut self, onward: &Onward, depth: usize, reserve: &mut dyn FnMut(SmolStr) -> SmolStr) -> Vec<Rule> {
        /// Readers nest no deeper than they must.
        const NESTED: usize = 24;
        let branch = |same: &[(usize, char)]| {
            let to = same[0].0;
            let rest = if to != 0 && self.uses[to] == 1 && depth < NESTED {
                match self.body(to, depth + 1, reserve) {
                    choice @ Rule::Choice(_) => choice.group(),
                    rule => rule,
                }
            } else {
                Rule::Reference(self.name(to, reserve))
            };
            let chars: SmallVec<[char; 4]> = same.iter().map(|(_, c)| *c).collect();
            match rest {
                Rule::Sequence(rest) => Rule::Sequence([one_of(false, &chars)].into_iter().chain(rest).collect()),
                rest => Rule::Sequence(vec![one_of(false, &chars), rest]),
            }
        };
        onward.chunk_by(|(one, _), (other, _)| one == other).map(branch).collect()
    }

    /// The name of a state's rule, or of [`States::COMMON`].
    fn name(&mut self, state: usize, reserve: &mut dyn FnMut(SmolStr) -> SmolStr) -> SmolStr {
        if let Some(known) = self.names.get(&state) {
            return known.clone();
        }
        self.open.push(state);
        let start = &self.names[&0];
        let name = reserve(match state {
            States::COMMON => format_smolstr!("p{}", &start[1..]),
            state => format_smolstr!("{start}-{state}"),
        });
        self.names.insert(state, name.clone());
        name
    }
}

/// Gives states that allow the same texts one number, so that markers share their ends. A state goes on to states of its
/// marker, which have higher numbers, so these are settled first.
fn merge(moves: &mut [Moves]) {
    /// A state may go on to one with a lower number that turns out to be like another.
    const ROUNDS: usize = 3;
    let mut same: Vec<usize> = (0..moves.len()).collect();
    for _ in 0..ROUNDS {
        let before = same.clone();
        let mut known: HashMap<Moves, usize> = HashMap::with_capacity(moves.len());
        for state in (0..moves.len()).rev() {
            let all = &mut moves[state];
            all.onward.iter_mut().for_each(|(to, _)| *to = same[*to]);
            all.onward.sort_unstable();
            same[state] = *known.entry(all.clone()).or_insert(state);
        }
        if before == same {
            break;
        }
    }
}
