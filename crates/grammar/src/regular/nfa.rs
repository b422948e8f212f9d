//! Automata of patterns: nondeterministic ones, which find a pattern in a text, and deterministic
//! ones, which become rules.

use std::collections::BTreeSet;

use super::dfa::{Dfa, LazyAutomaton, StateBudget};
use super::pattern::{Expr, Pattern, word};
use chatparse_base::chars::Chars;

/// The automaton of all texts in which the pattern is found; `None` if it would be too large.
pub fn automaton(pattern: &Pattern, room: &StateBudget) -> Option<Dfa> {
    let most = room.states() * 8;
    let mut all = Dfa::of(&Nfa::of(&pattern.expr, most)?, room)?;
    for (expr, matches) in &pattern.ahead {
        let ahead = Dfa::of(&Nfa::of(&at_start(expr), most)?, room)?;
        all = all.and(&if *matches { ahead } else { ahead.complement() }, room)?;
    }
    Some(all)
}

fn at_start(expr: &Expr) -> Expr {
    Expr::Sequence(vec![Expr::Start, expr.clone()])
}

/// Finds a pattern in texts.
pub struct Finder {
    whole: Nfa,
    ahead: Vec<(Nfa, bool)>,
    pinned: bool,
}

impl Finder {
    /// `most`: the states that each part of the pattern may have; `None` if one has more.
    pub fn new(pattern: &Pattern, most: usize) -> Option<Finder> {
        let ahead = pattern
            .ahead
            .iter()
            .map(|(expr, matches)| Some((Nfa::of(&at_start(expr), most)?, *matches)));
        Some(Finder {
            whole: Nfa::of(&pattern.expr, most)?,
            ahead: ahead.collect::<Option<_>>()?,
            pinned: pattern.pinned,
        })
    }

    /// The number of states.
    pub fn states(&self) -> usize {
        self.whole.states.len()
            + self
                .ahead
                .iter()
                .map(|(ahead, _)| ahead.states.len())
                .sum::<usize>()
    }

    /// Whether the pattern is found in a text; `None` if that is not certain. `spend` subtracts
    /// steps, and returns whether they were left; each character takes one step for each state that
    /// is visited.
    pub fn finds(&self, text: &str, spend: &mut dyn FnMut(usize) -> bool) -> Option<bool> {
        let mut found = self.whole.finds(text, spend)?;
        for (ahead, matches) in &self.ahead {
            found = found && ahead.finds(text, spend)? == *matches;
        }
        (found || !self.pinned).then_some(found)
    }
}

/// A condition between two characters.
#[derive(Clone, Copy)]
enum Condition {
    Start,
    End,
    Edge(bool),
}

/// The text before a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Before {
    Start,
    /// A character of a word.
    Word,
    Other,
}

/// The text after a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// Not known yet: no condition on it holds.
    Unknown,
    End,
    /// A character, and whether it is one of a word.
    Character(bool),
}

impl Condition {
    fn holds(self, before: Before, after: After) -> bool {
        match (self, after) {
            (Condition::Start, _) => before == Before::Start,
            (_, After::Unknown) => false,
            (Condition::End, after) => after == After::End,
            (Condition::Edge(is), after) => {
                ((before == Before::Word) != (after == After::Character(true))) == is
            }
        }
    }
}

/// An automaton with empty moves, in which state 0 is before the whole text.
struct Nfa {
    states: Vec<State>,
    /// After the expression, whatever follows.
    end: usize,
    /// Whether it asks for edges of words.
    edges: bool,
}

#[derive(Default)]
struct State {
    chars: Option<(Chars, usize)>,
    empty: Vec<usize>,
    /// An empty move under a condition.
    when: Option<(Condition, usize)>,
}

impl Nfa {
    /// The automaton that finds `expr` anywhere in a text; `None` if it has more than `most`
    /// states.
    fn of(expr: &Expr, most: usize) -> Option<Nfa> {
        let mut nfa = Nfa {
            states: Vec::new(),
            end: 0,
            edges: false,
        };
        let start = nfa.state();
        nfa.states[start].chars = Some((Chars::all(), start));
        let body = nfa.state();
        nfa.states[start].empty.push(body);
        nfa.end = nfa.add(expr, body, most)?;
        Some(nfa)
    }

    fn state(&mut self) -> usize {
        self.states.push(State::default());
        self.states.len() - 1
    }

    fn when(&mut self, from: usize, condition: Condition) -> usize {
        let to = self.state();
        self.states[from].when = Some((condition, to));
        to
    }

    /// Adds an expression after a state without moves. Returns the state after the expression,
    /// which has no moves.
    fn add(&mut self, expr: &Expr, from: usize, most: usize) -> Option<usize> {
        if self.states.len() > most {
            return None;
        }
        let to = match expr {
            Expr::One(chars) => {
                let to = self.state();
                self.states[from].chars = Some((chars.clone(), to));
                to
            }
            Expr::Start => self.when(from, Condition::Start),
            Expr::End => self.when(from, Condition::End),
            Expr::Edge(is) => {
                self.edges = true;
                self.when(from, Condition::Edge(*is))
            }
            Expr::Sequence(parts) => parts
                .iter()
                .try_fold(from, |from, part| self.add(part, from, most))?,
            Expr::Choice(branches) => {
                let to = self.state();
                for branch in branches {
                    let begin = self.state();
                    self.states[from].empty.push(begin);
                    let end = self.add(branch, begin, most)?;
                    self.states[end].empty.push(to);
                }
                to
            }
            Expr::Repeat(body, min, max) => {
                let mut at = from;
                for _ in 0..*min {
                    let end = self.add(body, at, most)?;
                    // Rounds without a character add no states, and there may be billions.
                    if end == at {
                        break;
                    }
                    at = end;
                }
                match max {
                    None => {
                        let (begin, to) = (self.state(), self.state());
                        self.states[at].empty.push(begin);
                        let inner = self.state();
                        self.states[begin].empty.extend([inner, to]);
                        let end = self.add(body, inner, most)?;
                        self.states[end].empty.push(begin);
                        to
                    }
                    Some(max) => {
                        let to = self.state();
                        for _ in *min..*max {
                            self.states[at].empty.push(to);
                            let inner = self.state();
                            self.states[at].empty.push(inner);
                            at = self.add(body, inner, most)?;
                        }
                        self.states[at].empty.push(to);
                        to
                    }
                }
            }
        };
        Some(to)
    }

    /// Visits the states that are reachable by empty moves. `add`: returns whether a state is new.
    fn close(
        &self,
        mut open: Vec<usize>,
        before: Before,
        after: After,
        add: &mut dyn FnMut(usize) -> bool,
    ) {
        while let Some(at) = open.pop() {
            if add(at) {
                let state = &self.states[at];
                open.extend(&state.empty);
                open.extend(
                    state
                        .when
                        .filter(|(condition, _)| condition.holds(before, after))
                        .map(|(_, to)| to),
                );
            }
        }
    }

    fn closure(
        &self,
        from: impl IntoIterator<Item = usize>,
        before: Before,
        after: After,
    ) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        self.close(from.into_iter().collect(), before, after, &mut |at| {
            reached.insert(at)
        });
        reached
    }

    /// See [`Finder::finds`]. Takes one pass over the text, with all states that it may be in.
    fn finds(&self, text: &str, spend: &mut dyn FnMut(usize) -> bool) -> Option<bool> {
        let words = word();
        // By state: the number of the place where it was last visited.
        let mut seen = vec![usize::MAX; self.states.len()];
        let (mut at, mut before) = (vec![0], Before::Start);
        let mut rest = text.chars();
        for place in 0.. {
            let next = rest.next();
            let is_word = next.is_some_and(|c| words.has(c));
            let after = next.map_or(After::End, |_| After::Character(is_word));
            let mut reached = Vec::new();
            self.close(at, before, after, &mut |state| {
                let new = std::mem::replace(&mut seen[state], place) != place;
                reached.extend(new.then_some(state));
                new
            });
            if !spend(reached.len()) {
                return None;
            }
            if seen[self.end] == place {
                return Some(true);
            }
            let Some(c) = next else { break };
            let steps = reached
                .iter()
                .filter_map(|&state| self.states[state].chars.as_ref());
            at = steps
                .filter(|(chars, _)| chars.has(c))
                .map(|(_, to)| *to)
                .collect();
            before = if is_word { Before::Word } else { Before::Other };
        }
        Some(false)
    }
}

/// The subset construction: a set of states, closed as far as what follows does not matter, and
/// what is in front. Where no edge of a word is asked for, words are like other characters.
impl LazyAutomaton for Nfa {
    type State = (BTreeSet<usize>, Before);

    fn start(&self) -> Self::State {
        (
            self.closure([0], Before::Start, After::Unknown),
            Before::Start,
        )
    }

    fn moves(&self, (set, before): &Self::State) -> Vec<(Chars, Self::State)> {
        if !self.edges {
            return self.steps(set, &Chars::all(), Before::Other);
        }
        let words = word();
        let mut moves = Vec::new();
        for (is_word, chars, next) in [
            (true, &words, Before::Word),
            (false, &words.negated(), Before::Other),
        ] {
            let set = self.closure(set.iter().copied(), *before, After::Character(is_word));
            moves.extend(self.steps(&set, chars, next));
        }
        moves
    }

    fn accepts(&self, (set, before): &Self::State) -> bool {
        self.closure(set.iter().copied(), *before, After::End)
            .contains(&self.end)
    }

    fn weight(&self, state: &Self::State) -> usize {
        state.0.len()
    }
}

impl Nfa {
    /// The moves of a closed set by one of `allowed`, which leaves `before` before the next
    /// place.
    fn steps(
        &self,
        set: &BTreeSet<usize>,
        allowed: &Chars,
        before: Before,
    ) -> Vec<(Chars, (BTreeSet<usize>, Before))> {
        // Once the expression was found, the rest of the text does not matter.
        if set.contains(&self.end) {
            return vec![(
                allowed.clone(),
                (chatparse_base::sort::set([self.end]), Before::Other),
            )];
        }
        // Where sets begin and end, to find which are active between them.
        let mut edges: Vec<(u32, bool, usize)> = Vec::new();
        for (chars, to) in set.iter().filter_map(|&at| self.states[at].chars.as_ref()) {
            for &(low, high) in chars.and(allowed).ranges() {
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
                false => drop(
                    open.iter()
                        .position(|one| *one == to)
                        .map(|place| open.swap_remove(place)),
                ),
            }
            let next = edges.peek().map_or(at, |edge| edge.0);
            if next > at && !open.is_empty() {
                let to = self.closure(open.iter().copied(), before, After::Unknown);
                moves.push((Chars::of_codes([(at, next - 1)]), (to, before)));
            }
        }
        moves
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern::Unusable;
    use super::*;

    /// Whether the pattern is found, by both kinds of automata.
    fn found(pattern: &Pattern, text: &str) -> [bool; 2] {
        let finder = Finder::new(pattern, 10_000).unwrap();
        let dfa = automaton(pattern, &StateBudget::of_states(10_000)).unwrap();
        [
            finder.finds(text, &mut |_| true).unwrap(),
            dfa.accepts(text),
        ]
    }

    #[test]
    fn patterns_mean_what_they_mean_in_ecmascript() {
        for (pattern, matching, others) in [
            (
                r"^\s$",
                &["\u{FEFF}", "\u{A0}", "\u{2029}", "\t"][..],
                &["\u{1}", "\u{180E}", ""][..],
            ),
            (r"^\S$", &["a", "\u{85}"], &["\u{3000}", " "]),
            (r"^[^\S\n]+$", &[" \t"], &["\n", "a"]),
            (r"^[\w.-]+$", &["a-.9_"], &["é", "["]),
            (r"^[+-]\d[\d-x]$", &["+1-", "-2x"], &["*1-", "+1a"]),
            (
                r"^.$",
                &["a", "\u{85}"],
                &["\n", "\r", "\u{2028}", "\u{2029}"],
            ),
            (r"^\W\D$", &["é-", "-x"], &["ax", "-1"]),
            (
                r"^\cC\0\x41\u0042\u{1F432}\ud83d\udc32$",
                &["\u{3}\0AB🐲🐲"],
                &["\u{3}\0AB🐲"],
            ),
            (r"^[🐲-🐶]{1,2}$", &["🐳", "🐳🐳"], &["", "a"]),
            (r"^a{,2}{}]$", &["a{,2}{}]"], &["aa"]),
            (r"^\/\-\&\x3c<\_$", &["/-&<<_"], &["-"]),
            (r"^[\b]$", &["\u{8}"], &["b"]),
            (r"a[]|b", &["b"], &["a"]),
            (r"^[^]$", &["\n", "x"], &["", "xx"]),
            (r"^[]a]$", &[], &["]", "a", "a]"]),
            (r"^[[a]$", &["[", "a"], &["b"]),
            (r"^[a&&b~~]$", &["&", "~"], &["c"]),
            (r"^(?<name>x|y)+?$", &["xyx"], &["z"]),
            (r"\bfoo\b", &["foo", "a foo."], &["foot", "", "_foo"]),
            (r"^a\Bb$|^\B$|^\b-", &["ab", ""], &["a b", "-"]),
            (r"^(\b|x)*a", &["a", "xa"], &[" a"]),
            (r"^a$", &["a"], &["a\n", "b\na"]),
            (r"$^|a", &["", "a"], &["b"]),
            (r"^(?=.*\d)(?!x).{2,}$", &["a1"], &["ab", "1", "x1"]),
        ] {
            let parsed = Pattern::parse(pattern).unwrap();
            for text in matching {
                assert_eq!(found(&parsed, text), [true; 2], "{pattern} {text:?}");
            }
            for text in others {
                assert_eq!(found(&parsed, text), [false; 2], "{pattern} {text:?}");
            }
        }
    }

    #[test]
    fn a_look_ahead_without_a_start_is_certain_only_where_it_is_found() {
        let pattern = Pattern::parse("(?=.*b)a").unwrap();
        let finds = |text: &str| {
            Finder::new(&pattern, 100)
                .unwrap()
                .finds(text, &mut |_| true)
        };
        assert_eq!(["ab", "\nab", ""].map(finds), [Some(true), None, None]);
        assert!(!Pattern::parse("^(?=.*b)a").unwrap().pinned);
    }

    #[test]
    fn what_is_not_certain_is_not_read() {
        for pattern in [
            "a(?=a)",
            r"\<a\>",
            "[[:alpha:]]",
            "(?<=a)",
            "(?i)a",
            "(?P<n>a)",
            r"(a)\1",
            r"\k<n>",
            r"\p{L}",
            r"\a",
            r"\z",
            r"\A",
            r"\ud83d",
            r"[\ud800-\udbff]",
            r"\u12",
            r"\x1",
            r"\c1",
            r"\01",
            r"[\1]",
        ] {
            assert!(
                matches!(Pattern::parse(pattern), Err(Unusable::Unsupported(_))),
                "{pattern}"
            );
        }
        for pattern in [
            "a**", "a*+", "a{2}{3}", "*", "(?:", "(", ")", "[a", "[b-a]", r"\", "a{3,2}",
        ] {
            let invalid = matches!(
                Pattern::parse(pattern),
                Err(Unusable::Invalid(_) | Unusable::Unsupported(_))
            );
            assert!(invalid, "{pattern}");
        }
    }

    #[test]
    fn a_text_costs_what_is_visited() {
        let pattern = Pattern::parse("(a|b|c){0,300}d").unwrap();
        let finder = Finder::new(&pattern, 10_000).unwrap();
        let mut left = 100_000_usize;
        let mut spend = |steps: usize| left.checked_sub(steps).map(|rest| left = rest).is_some();
        assert_eq!(finder.finds(&"x".repeat(1_000), &mut spend), Some(false));
        assert_eq!(finder.finds(&"a".repeat(1_000), &mut spend), None);
        assert!(Finder::new(&Pattern::parse("((a{99}){99}){99}").unwrap(), 10_000).is_none());
        assert!(
            Finder::new(
                &Pattern::parse("(){4000000000}(){4000000000,}").unwrap(),
                100
            )
            .is_some()
        );
    }

    fn expr() -> impl Strategy<Value = Expr> {
        let leaf = prop_oneof![
            6 => prop::sample::select(vec!["a", "b", "ab", " ", "-"])
                .prop_map(|chars| Expr::One(Chars::of(chars.chars().map(|c| (c, c))))),
            1 => Just(Expr::Start),
            1 => Just(Expr::End),
            2 => any::<bool>().prop_map(Expr::Edge),
        ];
        leaf.prop_recursive(4, 16, 3, |inner| {
            let some = || prop::collection::vec(inner.clone(), 0..4);
            prop_oneof![
                some().prop_map(Expr::Sequence),
                prop::collection::vec(inner.clone(), 1..4).prop_map(Expr::Choice),
                (inner.clone(), 0u32..3, prop::option::of(0u32..3)).prop_map(
                    |(body, min, more)| Expr::Repeat(
                        Box::new(body),
                        min,
                        more.map(|more| min + more)
                    )
                ),
            ]
        })
    }

    /// The ends of all matches of `expr` from `at` on, by trying everything.
    fn ends(expr: &Expr, text: &[char], at: usize) -> BTreeSet<usize> {
        let is_word = |at: Option<usize>| {
            at.and_then(|at| text.get(at))
                .is_some_and(|c| word().has(*c))
        };
        let only = |holds: bool| holds.then_some(at).into_iter().collect();
        match expr {
            Expr::One(chars) => text
                .get(at)
                .filter(|c| chars.has(**c))
                .map(|_| at + 1)
                .into_iter()
                .collect(),
            Expr::Start => only(at == 0),
            Expr::End => only(at == text.len()),
            Expr::Edge(is) => only((is_word(at.checked_sub(1)) != is_word(Some(at))) == *is),
            Expr::Sequence(parts) => parts.iter().fold(BTreeSet::from([at]), |from, part| {
                from.into_iter()
                    .flat_map(|at| ends(part, text, at))
                    .collect()
            }),
            Expr::Choice(branches) => branches
                .iter()
                .flat_map(|branch| ends(branch, text, at))
                .collect(),
            Expr::Repeat(body, min, max) => {
                let mut round = BTreeSet::from([at]);
                let mut all = if *min == 0 {
                    round.clone()
                } else {
                    BTreeSet::new()
                };
                for number in 1..=max.unwrap_or(min + 12) {
                    round = round
                        .into_iter()
                        .flat_map(|at| ends(body, text, at))
                        .collect();
                    if number >= *min {
                        all.extend(&round);
                    }
                }
                all
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn both_automata_find_what_trying_everything_finds(expr in expr(), text in "[ab -]{0,6}") {
            let chars: Vec<char> = text.chars().collect();
            let naive = (0..=chars.len()).any(|at| !ends(&expr, &chars, at).is_empty());
            let pattern = Pattern { expr, ahead: Vec::new(), pinned: false };
            prop_assert_eq!(found(&pattern, &text), [naive; 2], "{:?}", pattern);
        }
    }
}
