//! Text up to a marker, for grammars: an automaton whose states become rules, each for the part of
//! a marker seen so far.

use std::collections::{BTreeMap, VecDeque};

use smallvec::SmallVec;

use crate::regular::{self, Dfa, LazyAutomaton, StateBudget};
use crate::rules::{Builder, Rule, class};
use chatparse_base::chars::Chars;
use chatparse_base::limits;

/// An Aho-Corasick automaton over characters.
pub struct Automaton {
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

impl State {
    /// The target of a character, or the index at which to insert it.
    fn to(&self, c: char) -> Result<usize, usize> {
        self.next
            .binary_search_by_key(&c, |(known, _)| *known)
            .map(|place| self.next[place].1)
    }
}

impl Automaton {
    /// The automaton that finds any of `markers`, or of the `others` that the text has not; none of
    /// them may be empty.
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
            if left == 0 {
                state.ends
            } else {
                !state.ends && !state.other
            }
        })
    }

    /// Whether a marker is somewhere in a text.
    pub fn finds(&self, mut text: impl Iterator<Item = char>) -> bool {
        let mut at = 0;
        text.any(|c| {
            at = self.step(at, c);
            self.states[at].ends
        })
    }

    /// The transitions from a state by the characters with which what is looked for goes on or
    /// ends, sorted. Every other character leads to the first state; where the state is `forced`,
    /// none may follow.
    fn moves(&self, at: usize) -> SmallVec<[(char, usize); 8]> {
        // Those of the longest text that goes on with a character count.
        let mut all = SmallVec::new();
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
        all
    }

    /// Whether nothing ends at a state.
    fn goes_on(&self, at: usize) -> bool {
        !self.states[at].ends && !self.states[at].other
    }
}

/// The texts in which nothing ends, or that end with the first marker.
pub struct Texts {
    pub automaton: Automaton,
    /// The marker is part of the text. Else it may end anywhere.
    closed: bool,
}

impl Texts {
    /// The state after a marker.
    const END: usize = usize::MAX;

    pub fn new(automaton: Automaton, closed: bool) -> Texts {
        Texts { automaton, closed }
    }

    /// Adds their rules, the first of this name.
    pub fn add(&self, rules: &mut Builder, name: &str) {
        let all = StateBudget::new(usize::MAX, usize::MAX);
        let Some(dfa) = Dfa::of(self, &all) else {
            return;
        };
        let room = StateBudget::new(usize::MAX, limits::TEXT_STEPS);
        regular::add_texts(rules, name, &dfa.minimal(&room));
    }

    /// Those of `any`, the reference to their rules, that are not empty.
    pub fn without_empty(&self, any: Rule) -> Rule {
        let first = self.automaton.moves(0);
        let goes_on = first.iter().any(|(_, to)| self.automaton.goes_on(*to));
        let onward = match &any {
            Rule::Reference(name) if goes_on => Some(Rule::Reference(regular::onward(name))),
            _ => None,
        };
        let other = Rule::sequence([class(first.iter().map(|(c, _)| (*c, *c)), true), any]);
        Rule::choice([other].into_iter().chain(onward).collect::<Vec<_>>())
    }
}

impl LazyAutomaton for Texts {
    type State = usize;

    fn start(&self) -> usize {
        0
    }

    fn moves(&self, &at: &usize) -> Vec<(Chars, usize)> {
        if at == Texts::END {
            return Vec::new();
        }
        let moves = self.automaton.moves(at);
        let mut next: BTreeMap<usize, Vec<char>> = BTreeMap::new();
        for &(c, to) in &moves {
            if self.automaton.goes_on(to) {
                next.entry(to).or_default().push(c);
            } else if self.closed && self.automaton.states[to].ends {
                next.entry(Texts::END).or_default().push(c);
            }
        }
        let next = next.into_iter().map(|(to, chars)| (Chars::each(chars), to));
        let forced = self.automaton.states[at].forced;
        let others = (!forced).then(|| (Chars::each(moves.iter().map(|(c, _)| *c)).negated(), 0));
        next.chain(others).collect()
    }

    fn accepts(&self, &at: &usize) -> bool {
        !self.closed || at == Texts::END
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_markers_wherever_they_stand() {
        let markers = ["</a>", "aab", "ab\n"];
        let automaton = Automaton::new(&markers, &[]);
        for text in [
            "", "a<</a", "aaaab", "xaab", "</</a>", "aaa", "ab ab\n", "é</a>é",
        ] {
            assert_eq!(
                automaton.finds(text.chars()),
                markers.iter().any(|m| text.contains(m)),
                "{text:?}"
            );
        }
        for at in 0..automaton.states.len() {
            for (c, to) in automaton.moves(at) {
                assert_eq!(to, automaton.step(at, c));
            }
        }
    }
}
