//! Deterministic automata over characters, and operations on them.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

use chatparse_base::chars::{Chars, are_adjacent};

/// A deterministic automaton. It begins in state 0. A character without an edge does not match.
#[derive(Clone, Debug)]
pub struct Dfa {
    pub states: Vec<State>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// Whether a text may end here.
    pub accepts: bool,
    /// Sorted and disjoint.
    pub edges: Vec<Edge>,
}

impl State {
    /// The same between classes of states.
    fn between(&self, class: &[u32]) -> State {
        let edges = self.edges.iter();
        let edges = edges.map(|&(low, high, to)| (low, high, class[to as usize]));
        State {
            accepts: self.accepts,
            edges: joined(edges.collect()),
        }
    }
}

/// A range of code points, and the state that they lead to.
pub type Edge = (u32, u32, u32);

/// An automaton in implicit form: it reads a text character by character, with finitely many
/// states.
pub trait LazyAutomaton {
    type State: Clone + Eq + Hash;

    fn start(&self) -> Self::State;

    /// Disjoint sets of characters with the same next state, for this state.
    fn moves(&self, state: &Self::State) -> Vec<(Chars, Self::State)>;

    fn accepts(&self, state: &Self::State) -> bool;

    /// Whether this is one of its texts.
    fn has(&self, text: &str) -> bool {
        let mut at = self.start();
        let goes_on = text.chars().all(|c| {
            let next = self.moves(&at).into_iter().find(|(chars, _)| chars.has(c));
            next.map(|(_, next)| at = next).is_some()
        });
        goes_on && self.accepts(&at)
    }

    /// What it costs to find this state.
    fn weight(&self, _: &Self::State) -> usize {
        1
    }
}

/// How much automata may take: one of them in states, and all of them together in steps.
pub struct StateBudget {
    states: usize,
    steps: Rc<Cell<usize>>,
}

impl StateBudget {
    pub fn new(states: usize, steps: usize) -> StateBudget {
        StateBudget {
            states,
            steps: Rc::new(Cell::new(steps)),
        }
    }

    #[cfg(test)]
    pub fn of_states(states: usize) -> StateBudget {
        StateBudget::new(states, usize::MAX)
    }

    /// The same steps, for automata with so many times the states.
    pub fn wider(&self, times: usize) -> StateBudget {
        StateBudget {
            states: times * self.states,
            steps: Rc::clone(&self.steps),
        }
    }

    pub fn states(&self) -> usize {
        self.states
    }

    /// Subtracts steps; `None` if they are not left.
    fn spend(&self, steps: usize) -> Option<()> {
        let left = self.steps.get().checked_sub(steps);
        self.steps.set(left.unwrap_or(0));
        left.map(|_| ())
    }
}

impl Dfa {
    /// The automaton of all texts that `machine` accepts; `None` if there is too little room.
    pub fn of<M: LazyAutomaton>(machine: &M, room: &StateBudget) -> Option<Dfa> {
        let start = machine.start();
        let mut numbers = HashMap::from([(start.clone(), 0_u32)]);
        let mut found = vec![start];
        let mut states = Vec::new();
        while let Some(state) = found.get(states.len()).cloned() {
            let mut edges = Vec::new();
            for (chars, next) in machine.moves(&state) {
                room.spend(chars.ranges().len() + machine.weight(&next))?;
                let fresh = numbers.len() as u32;
                let to = *numbers.entry(next).or_insert_with_key(|next| {
                    found.push(next.clone());
                    fresh
                });
                edges.extend(chars.ranges().iter().map(|&(low, high)| (low, high, to)));
            }
            if found.len() > room.states {
                return None;
            }
            states.push(State {
                accepts: machine.accepts(&state),
                edges: joined(edges),
            });
        }
        let mut dfa = Dfa { states };
        dfa.trim();
        Some(dfa)
    }

    /// Accepts exactly these texts.
    pub fn of_texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Dfa {
        let mut states = vec![State::default()];
        for text in texts {
            let mut at = 0;
            for c in text.chars() {
                let code = u32::from(c);
                let edges: &mut Vec<_> = &mut states[at].edges;
                at = match edges.binary_search_by_key(&code, |edge| edge.0) {
                    Ok(place) => edges[place].2 as usize,
                    Err(place) => {
                        let fresh = states.len() as u32;
                        states[at].edges.insert(place, (code, code, fresh));
                        states.push(State::default());
                        fresh as usize
                    }
                };
            }
            states[at].accepts = true;
        }
        Dfa { states }
    }

    /// Accepts all texts that this one rejects.
    pub fn complement(&self) -> Dfa {
        let sink = self.states.len() as u32;
        let mut states: Vec<State> = self.states.clone();
        states.push(State::default());
        for state in &mut states {
            state.accepts = !state.accepts;
            let known = Chars::of_codes(state.edges.iter().map(|&(low, high, _)| (low, high)));
            state.edges.extend(
                known
                    .negated()
                    .ranges()
                    .iter()
                    .map(|&(low, high)| (low, high, sink)),
            );
            state.edges = joined(std::mem::take(&mut state.edges));
        }
        let mut dfa = Dfa { states };
        dfa.trim();
        dfa
    }

    /// Accepts what both accept.
    pub fn and(&self, other: &Dfa, room: &StateBudget) -> Option<Dfa> {
        Dfa::of(&Both(self, other), room)
    }

    /// Accepts those of its texts whose length in characters is within the bounds.
    pub fn of_length(&self, min: u64, max: Option<u64>, room: &StateBudget) -> Option<Dfa> {
        Dfa::of(
            &OfLength {
                inner: self,
                min,
                max,
            },
            room,
        )
    }

    pub fn accepts_nothing(&self) -> bool {
        !self.states.iter().any(|state| state.accepts)
    }

    pub fn accepts(&self, text: &str) -> bool {
        let mut at = 0;
        text.chars().all(|c| match self.step(at, c) {
            Some(next) => {
                at = next;
                true
            }
            None => false,
        }) && self.states[at as usize].accepts
    }

    fn step(&self, at: u32, c: char) -> Option<u32> {
        let edges = &self.states[at as usize].edges;
        let place = edges.partition_point(|edge| edge.1 < u32::from(c));
        edges
            .get(place)
            .filter(|edge| edge.0 <= u32::from(c))
            .map(|edge| edge.2)
    }

    /// Removes states from which no end is reachable, and unreachable states.
    fn trim(&mut self) {
        let count = self.states.len();
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (from, state) in self.states.iter().enumerate() {
            state
                .edges
                .iter()
                .for_each(|edge| before[edge.2 as usize].push(from as u32));
        }
        let mut live: Vec<bool> = self.states.iter().map(|state| state.accepts).collect();
        let mut open: Vec<usize> = (0..count).filter(|&at| live[at]).collect();
        while let Some(at) = open.pop() {
            for &from in &before[at] {
                if !std::mem::replace(&mut live[from as usize], true) {
                    open.push(from as usize);
                }
            }
        }
        let mut numbers = vec![None; count];
        let mut order = vec![0_usize];
        numbers[0] = Some(0_u32);
        let mut done = 0;
        while let Some(&at) = order.get(done) {
            done += 1;
            self.states[at].edges.retain(|edge| live[edge.2 as usize]);
            for edge in &mut self.states[at].edges {
                let to = edge.2 as usize;
                let fresh = order.len() as u32;
                edge.2 = *numbers[to].get_or_insert_with(|| {
                    order.push(to);
                    fresh
                });
            }
        }
        self.states = order
            .into_iter()
            .map(|at| std::mem::take(&mut self.states[at]))
            .collect();
    }

    /// The same texts, with as few states as possible if there are at most `states` now.
    pub fn minimal_up_to(self, states: usize, room: &StateBudget) -> Dfa {
        match self.states.len() <= states {
            true => self.minimal(room),
            false => self,
        }
    }

    /// An equivalent automaton with as few states as possible, or with too little room the same
    /// one.
    pub fn minimal(&self, room: &StateBudget) -> Dfa {
        let size = self.states.iter().map(|state| 1 + state.edges.len()).sum();
        let mut class: Vec<u32> = self
            .states
            .iter()
            .map(|state| state.accepts.into())
            .collect();
        let mut count = chatparse_base::sort::set(&class).len();
        loop {
            if room.spend(size).is_none() {
                return self.clone();
            }
            let mut known = HashMap::new();
            let next: Vec<u32> = self
                .states
                .iter()
                .enumerate()
                .map(|(at, state)| {
                    let fresh = known.len() as u32;
                    *known
                        .entry((class[at], state.between(&class)))
                        .or_insert(fresh)
                })
                .collect();
            class = next;
            if known.len() == count {
                break;
            }
            count = known.len();
        }
        // State 0 comes first, so its class is 0.
        let mut states = vec![State::default(); count];
        for (at, state) in self.states.iter().enumerate() {
            states[class[at] as usize] = state.between(&class);
        }
        Dfa { states }
    }
}

/// Sorts edges and merges adjacent ranges with the same target.
fn joined(mut edges: Vec<Edge>) -> Vec<Edge> {
    edges.sort_unstable();
    let mut merged: Vec<Edge> = Vec::with_capacity(edges.len());
    for edge in edges {
        match merged.last_mut() {
            Some(last) if last.2 == edge.2 && are_adjacent(last.1, edge.0) => last.1 = edge.1,
            _ => merged.push(edge),
        }
    }
    merged
}

struct Both<'d>(&'d Dfa, &'d Dfa);

impl LazyAutomaton for Both<'_> {
    type State = (u32, u32);

    fn start(&self) -> Self::State {
        (0, 0)
    }

    fn moves(&self, state: &Self::State) -> Vec<(Chars, Self::State)> {
        let (mine, other) = (
            &self.0.states[state.0 as usize].edges,
            &self.1.states[state.1 as usize].edges,
        );
        let mut moves = Vec::new();
        let (mut a, mut b) = (0, 0);
        while let (Some(x), Some(y)) = (mine.get(a), other.get(b)) {
            let (low, high) = (x.0.max(y.0), x.1.min(y.1));
            if low <= high {
                moves.push((Chars::of_codes([(low, high)]), (x.2, y.2)));
            }
            if x.1 < y.1 { a += 1 } else { b += 1 }
        }
        moves
    }

    fn accepts(&self, state: &Self::State) -> bool {
        self.0.states[state.0 as usize].accepts && self.1.states[state.1 as usize].accepts
    }
}

/// Counts characters up to the bound beyond which the count does not matter.
struct OfLength<'d> {
    inner: &'d Dfa,
    min: u64,
    max: Option<u64>,
}

impl LazyAutomaton for OfLength<'_> {
    type State = (u32, u64);

    fn start(&self) -> Self::State {
        (0, 0)
    }

    fn moves(&self, &(at, count): &Self::State) -> Vec<(Chars, Self::State)> {
        if self.max == Some(count) {
            return Vec::new();
        }
        let next = if self.max.is_none() {
            (count + 1).min(self.min)
        } else {
            count + 1
        };
        let edges = self.inner.states[at as usize].edges.iter();
        edges
            .map(|&(low, high, to)| (Chars::of_codes([(low, high)]), (to, next)))
            .collect()
    }

    fn accepts(&self, &(at, count): &Self::State) -> bool {
        self.inner.states[at as usize].accepts && count >= self.min
    }
}
