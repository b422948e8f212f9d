//! Text up to a marker, for grammars: an automaton whose states become rules, each for the part of a marker seen so far.

use std::collections::{HashMap, VecDeque};

use smallvec::SmallVec;
use smol_str::SmolStr;

use crate::rules::class::one_of;
use crate::rules::rule::Rule;

/// An Aho-Corasick automaton over characters.
pub(crate) struct Automaton {
    states: Vec<State>,
}

#[derive(Default)]
struct State {
    /// Transitions by characters of markers, sorted by the character.
    next: SmallVec<[(char, usize); 1]>,
    /// The state of the longest proper suffix of this state's text that begins a marker.
    fallback: usize,
    /// Whether a marker ends here.
    ends: bool,
    /// Whether something else ends here that is not in the text.
    other: bool,
    /// It is the beginning of a marker.
    of_marker: bool,
    /// Only the rest of the marker may follow, which has something in it that is not in the text.
    forced: bool,
}

type Onward = SmallVec<[(usize, char); 4]>;

/// The states that a state goes on to, each once.
fn targets(onward: &Onward) -> impl Iterator<Item = usize> {
    onward.chunk_by(|(one, _), (other, _)| one == other).map(|same| same[0].0)
}

/// The transitions from one state.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Moves {
    /// Characters that complete a marker.
    pub completing: SmallVec<[char; 4]>,
    /// Characters that lead to a state other than the first, sorted by that state.
    pub onward: Onward,
    /// No other character may follow than these.
    pub forced: bool,
    /// All of these together, and those that complete what is not in the text; every other character leads to the first state.
    pub special: SmallVec<[char; 8]>,
}

impl State {
    /// The target of a character, or the index at which to insert it.
    fn to(&self, c: char) -> Result<usize, usize> {
        self.next.binary_search_by_key(&c, |(known, _)| *known).map(|place| self.next[place].1)
    }
}

impl Automaton {
    /// The automaton that finds any of `markers`, or of the `others` that the text has not; none of them may be empty.
    pub fn new<S: AsRef<str>>(markers: &[S], others: &[S]) -> Self {
        let mut states = vec![State::default()];
        for (index, marker) in markers.iter().chain(others).enumerate() {
            let mut at = 0;
            for c in marker.as_ref().chars() {
                at = states[at].to(c).unwrap_or_else(|place| {
                    let fresh = states.len();
                    states[at].next.insert(place, (c, fresh));
                    states.push(State::default());
                    fresh
                });
                states[at].of_marker |= index < markers.len();
            }
            states[at].ends |= index < markers.len();
            states[at].other |= index >= markers.len();
        }
        let mut automaton = Automaton { states };
        automaton.link();
        automaton
    }

    fn link(&mut self) {
        let mut queue: VecDeque<usize> = self.states[0].next.iter().map(|(_, to)| *to).collect();
        while let Some(at) = queue.pop_front() {
            for index in 0..self.states[at].next.len() {
                let (c, to) = self.states[at].next[index];
                let fallback = self.step(self.states[at].fallback, c);
                self.states[to].fallback = fallback;
                self.states[to].ends |= self.states[fallback].ends;
                let other = self.states[to].other | self.states[fallback].other;
                let of_marker = self.states[to].of_marker;
                self.states[to].other = other && !of_marker;
                self.states[to].forced = of_marker && (other || self.states[at].forced);
                queue.push_back(to);
            }
        }
    }

    fn step(&self, mut at: usize, c: char) -> usize {
        loop {
            if let Ok(to) = self.states[at].to(c) {
                return to;
            }
            if at == 0 {
                return 0;
            }
            at = self.states[at].fallback;
        }
    }

    /// Whether `text`, read from a state on, ends a marker with its last character and none before.
    pub fn ends_with(&self, mut at: usize, text: &str) -> bool {
        let mut left = text.chars().count();
        text.chars().all(|c| {
            at = self.step(at, c);
            left -= 1;
            let state = &self.states[at];
            if left == 0 { state.ends } else { !state.ends && !state.other }
        })
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// The states in which nothing has ended. The text begins in the first one.
    pub fn open(&self) -> impl Iterator<Item = usize> {
        (0..self.states.len()).filter(|&at| !self.states[at].ends && !self.states[at].other)
    }

    /// The transitions from a state.
    pub fn moves(&self, at: usize) -> Moves {
        // Those of the longest text that goes on with a character count.
        let mut all: SmallVec<[(char, usize); 8]> = SmallVec::new();
        let mut from = at;
        let forced = self.states[at].forced;
        loop {
            let next = self.states[from].next.iter().copied();
            all.extend(next.filter(|(_, to)| !forced || self.states[*to].of_marker));
            if from == 0 || forced {
                break;
            }
            from = self.states[from].fallback;
        }
        all.sort_by_key(|(c, _)| *c);
        all.dedup_by_key(|(c, _)| *c);
        let mut moves = Moves { forced, ..Moves::default() };
        for (c, to) in all {
            match &self.states[to] {
                state if state.ends => moves.completing.push(c),
                state if state.other => {}
                _ => moves.onward.push((to, c)),
            }
            moves.special.push(c);
        }
        moves.onward.sort_unstable();
        moves
    }
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

    /// The rules, the first one first. `reserve` gives a rule a name.
    pub fn rules(mut self, reserve: &mut impl FnMut(&str) -> SmolStr) -> Vec<(SmolStr, Rule)> {
        let mut rules = Vec::new();
        while let Some(state) = self.open.pop() {
            let name = self.names[&state].clone();
            let body = match state {
                States::REST => one_of(true, &self.moves[0].special).repeat(0, None),
                States::COMMON => Rule::Choice(self.onward(&self.firsts.clone(), 0, reserve)),
                0 if self.pieces => {
                    let [rest, piece] = [States::REST, States::COMMON].map(|part| self.name(part, reserve));
                    Rule::Sequence(vec![Rule::Reference(rest), Rule::Reference(piece).repeat(0, None)])
                }
                state => self.body(state, 0, reserve),
            };
            rules.push((name, body));
        }
        rules
    }

    fn body(&mut self, state: usize, depth: usize, reserve: &mut impl FnMut(&str) -> SmolStr) -> Rule {
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
    fn onward(&mut self, onward: &Onward, depth: usize, reserve: &mut impl FnMut(&str) -> SmolStr) -> Vec<Rule> {
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

    fn name(&mut self, state: usize, reserve: &mut impl FnMut(&str) -> SmolStr) -> SmolStr {
        if let Some(known) = self.names.get(&state) {
            return known.clone();
        }
        self.open.push(state);
        let name = match state {
            States::COMMON => reserve("-c"),
            States::REST => reserve("-r"),
            state => reserve(&format!("-{state}")),
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `text` contains no marker.
    fn is_free(automaton: &Automaton, text: &str) -> bool {
        let mut at = 0;
        text.chars().all(|c| {
            at = automaton.step(at, c);
            !automaton.states[at].ends
        })
    }

    #[test]
    fn finds_markers_wherever_they_stand() {
        let markers = ["</a>", "aab", "ab\n"];
        let automaton = Automaton::new(&markers, &[]);
        for text in ["", "a<</a", "aaaab", "xaab", "</</a>", "aaa", "ab ab\n", "é</a>é"] {
            assert_eq!(is_free(&automaton, text), !markers.iter().any(|m| text.contains(m)), "{text:?}");
        }
        for at in automaton.open() {
            let moves = automaton.moves(at);
            for &c in &moves.special {
                let to = automaton.step(at, c);
                assert_eq!(moves.completing.contains(&c), automaton.states[to].ends);
            }
        }
    }
}
