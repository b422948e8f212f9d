//! Builds automata from patterns.

use std::collections::BTreeSet;

use super::chars::Chars;
use super::dfa::{Dfa, Machine, Room};
use super::pattern::{Expr, Pattern};

/// The automaton of all texts in which the pattern is found; `None` if it would be too large.
pub(in crate::grammar) fn automaton(pattern: &Pattern, room: &Room) -> Option<Dfa> {
    let mut all = found_in(&pattern.expr, room)?;
    for (expr, matches) in &pattern.ahead {
        let anchored = Expr::Sequence(vec![Expr::Start, expr.clone()]);
        let ahead = found_in(&anchored, room)?;
        all = all.and(&if *matches { ahead } else { ahead.complement() }, room)?;
    }
    Some(all)
}

fn found_in(expr: &Expr, room: &Room) -> Option<Dfa> {
    let mut nfa = Nfa { states: Vec::new(), most: room.states() * 8 };
    let start = nfa.state();
    nfa.states[start].chars = Some((Chars::all(), start));
    let body = nfa.state();
    nfa.states[start].empty.push(body);
    let end = nfa.add(expr, body)?;
    nfa.states[end].chars = Some((Chars::all(), end));
    nfa.accepting(end);
    Dfa::of(&Subsets(&nfa, end), room)
}

/// An automaton with empty moves.
struct Nfa {
    states: Vec<NfaState>,
    most: usize,
}

#[derive(Default)]
struct NfaState {
    chars: Option<(Chars, usize)>,
    empty: Vec<usize>,
    /// An empty move that is possible at the start of the text only.
    at_start: Option<usize>,
    /// An empty move that is possible at the end of the text only.
    at_end: Option<usize>,
    /// Whether the end is reachable by empty moves at the end of the text.
    ends: bool,
}

impl Nfa {
    fn state(&mut self) -> usize {
        self.states.push(NfaState::default());
        self.states.len() - 1
    }

    /// Adds an expression behind a state without moves. Returns the state behind the expression, which has no moves.
    fn add(&mut self, expr: &Expr, from: usize) -> Option<usize> {
        if self.states.len() > self.most {
            return None;
        }
        let to = match expr {
            Expr::One(chars) => {
                let to = self.state();
                self.states[from].chars = Some((chars.clone(), to));
                to
            }
            Expr::Start => {
                let to = self.state();
                self.states[from].at_start = Some(to);
                to
            }
            Expr::End => {
                let to = self.state();
                self.states[from].at_end = Some(to);
                to
            }
            Expr::Sequence(parts) => parts.iter().try_fold(from, |from, part| self.add(part, from))?,
            Expr::Choice(branches) => {
                let to = self.state();
                for branch in branches {
                    let begin = self.state();
                    self.states[from].empty.push(begin);
                    let end = self.add(branch, begin)?;
                    self.states[end].empty.push(to);
                }
                to
            }
            Expr::Repeat(body, min, max) => {
                let mut at = from;
                for _ in 0..*min {
                    at = self.add(body, at)?;
                }
                match max {
                    None => {
                        let (begin, to) = (self.state(), self.state());
                        self.states[at].empty.push(begin);
                        let inner = self.state();
                        self.states[begin].empty.extend([inner, to]);
                        let end = self.add(body, inner)?;
                        self.states[end].empty.push(begin);
                        to
                    }
                    Some(max) => {
                        let to = self.state();
                        for _ in *min..*max {
                            self.states[at].empty.push(to);
                            let inner = self.state();
                            self.states[at].empty.push(inner);
                            at = self.add(body, inner)?;
                        }
                        self.states[at].empty.push(to);
                        to
                    }
                }
            }
        };
        Some(to)
    }

    /// Marks the states from which `end` is reachable by empty moves.
    fn accepting(&mut self, end: usize) {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.states.len()];
        for (from, state) in self.states.iter().enumerate() {
            let next = state.empty.iter().chain(&state.at_end);
            next.for_each(|&to| before[to].push(from));
        }
        let mut open = vec![end];
        self.states[end].ends = true;
        while let Some(at) = open.pop() {
            for &from in &before[at] {
                if !std::mem::replace(&mut self.states[from].ends, true) {
                    open.push(from);
                }
            }
        }
    }

    /// All states that are reachable by empty moves.
    fn closure(&self, from: impl IntoIterator<Item = usize>, at_start: bool) -> BTreeSet<usize> {
        let mut open: Vec<usize> = from.into_iter().collect();
        let mut reached: BTreeSet<usize> = BTreeSet::new();
        while let Some(at) = open.pop() {
            if reached.insert(at) {
                let state = &self.states[at];
                open.extend(&state.empty);
                open.extend(state.at_start.filter(|_| at_start));
            }
        }
        reached
    }
}

/// The subset construction. The second field is the end state: once the expression was found, the rest of the text does not
/// matter.
struct Subsets<'n>(&'n Nfa, usize);

impl Machine for Subsets<'_> {
    /// The set, and whether this is the start of the text.
    type State = (BTreeSet<usize>, bool);

    fn start(&self) -> Self::State {
        (self.0.closure([0], true), true)
    }

    fn moves(&self, state: &Self::State) -> Vec<(Chars, Self::State)> {
        if state.0.contains(&self.1) {
            return vec![(Chars::all(), (BTreeSet::from([self.1]), false))];
        }
        let steps: Vec<&(Chars, usize)> = state.0.iter().filter_map(|&at| self.0.states[at].chars.as_ref()).collect();
        // Where sets begin and end, to find which are active between them.
        let mut edges: Vec<(u32, bool, usize)> = Vec::new();
        for (chars, to) in &steps {
            for &(low, high) in chars.ranges() {
                edges.push((low, true, *to));
                edges.push((high + 1, false, *to));
            }
        }
        edges.sort_unstable();
        let mut moves = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut edges = edges.into_iter().peekable();
        while let Some((at, begins, to)) = edges.next() {
            match begins {
                true => open.push(to),
                false => drop(open.iter().position(|one| *one == to).map(|place| open.swap_remove(place))),
            }
            let next = edges.peek().map_or(at, |edge| edge.0);
            if next > at && !open.is_empty() {
                let to = self.0.closure(open.iter().copied(), false);
                moves.push((Chars::of_codes([(at, next - 1)]), (to, false)));
            }
        }
        moves
    }

    fn accepts(&self, state: &Self::State) -> bool {
        // In the empty text `^` holds at the end as well; the closure has passed it.
        state.0.iter().any(|&at| self.0.states[at].ends) || state.1 && self.ends_at_once(&state.0)
    }

    fn weight(&self, state: &Self::State) -> usize {
        state.0.len()
    }
}

impl Subsets<'_> {
    /// Whether the end is reachable in an empty text, through both kinds of anchors in any order.
    fn ends_at_once(&self, from: &BTreeSet<usize>) -> bool {
        let mut open: Vec<usize> = from.iter().copied().collect();
        let mut seen = from.clone();
        while let Some(at) = open.pop() {
            let state = &self.0.states[at];
            for next in state.empty.iter().copied().chain(state.at_start).chain(state.at_end) {
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        seen.contains(&self.1)
    }
}
