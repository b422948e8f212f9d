//! Text up to a marker, as a grammar has to say it: one rule for each thing that may have been seen of a marker so far.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An Aho-Corasick automaton over characters.
pub(super) struct Automaton {
    states: Vec<State>,
}

#[derive(Default)]
struct State {
    next: BTreeMap<char, usize>,
    /// The longest proper suffix of what led here that begins a marker.
    fallback: usize,
    /// A marker ends here.
    ends: bool,
}

/// Where the characters lead from one state.
pub(super) struct Moves {
    /// Characters that complete a marker.
    pub completing: Vec<char>,
    /// Characters that lead to another state than the first, by that state.
    pub onward: BTreeMap<usize, Vec<char>>,
    /// All of these together; every other character leads to the first state.
    pub special: Vec<char>,
}

impl Automaton {
    /// The automaton that finds any of `markers`; none of them may be empty.
    pub fn new<S: AsRef<str>>(markers: &[S]) -> Self {
        let mut automaton = Automaton { states: vec![State::default()] };
        for marker in markers {
            let mut at = 0;
            for c in marker.as_ref().chars() {
                let fresh = automaton.states.len();
                at = *automaton.states[at].next.entry(c).or_insert(fresh);
                if at == fresh {
                    automaton.states.push(State::default());
                }
            }
            automaton.states[at].ends = true;
        }
        automaton.link();
        automaton
    }

    fn link(&mut self) {
        let mut queue: VecDeque<usize> = self.states[0].next.values().copied().collect();
        while let Some(at) = queue.pop_front() {
            let next: Vec<(char, usize)> = self.states[at].next.iter().map(|(&c, &to)| (c, to)).collect();
            for (c, to) in next {
                let fallback = self.step(self.states[at].fallback, c);
                self.states[to].fallback = fallback;
                self.states[to].ends |= self.states[fallback].ends;
                queue.push_back(to);
            }
        }
    }

    fn step(&self, mut at: usize, c: char) -> usize {
        loop {
            if let Some(&to) = self.states[at].next.get(&c) {
                return to;
            }
            if at == 0 {
                return 0;
            }
            at = self.states[at].fallback;
        }
    }

    /// The states in which no marker has ended, with their moves. The first is where the text begins.
    pub fn moves(&self) -> impl Iterator<Item = (usize, Moves)> + '_ {
        let alphabet: BTreeSet<char> = self.states.iter().flat_map(|state| state.next.keys().copied()).collect();
        let open = (0..self.states.len()).filter(|&at| !self.states[at].ends);
        open.map(move |at| {
            let mut moves = Moves { completing: Vec::new(), onward: BTreeMap::new(), special: Vec::new() };
            for &c in &alphabet {
                let to = self.step(at, c);
                if self.states[to].ends {
                    moves.completing.push(c);
                } else if to != 0 {
                    moves.onward.entry(to).or_default().push(c);
                } else {
                    continue;
                }
                moves.special.push(c);
            }
            (at, moves)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `text` has no marker in it.
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
        let automaton = Automaton::new(&markers);
        for text in ["", "a<</a", "aaaab", "xaab", "</</a>", "aaa", "ab ab\n", "é</a>é"] {
            assert_eq!(is_free(&automaton, text), !markers.iter().any(|m| text.contains(m)), "{text:?}");
        }
        for (at, moves) in automaton.moves() {
            for &c in &moves.special {
                let to = automaton.step(at, c);
                assert_eq!(moves.completing.contains(&c), automaton.states[to].ends);
            }
        }
    }
}
