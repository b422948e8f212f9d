//! Whether a grammar allows a text.
//!
//! Earley's algorithm over characters: every rule that may be under way is followed at once, so ambiguity costs no more than
//! the cube of the length. Chains of rules that end in each other, as repetitions do, are skipped over (Leo's improvement):
//! they take linear time.

use std::collections::{HashMap, HashSet};

use super::gbnf::{self, Rules, Symbol};
use crate::error::Result;
use crate::limits;

/// A grammar that texts can be checked against. Reads GBNF as llama.cpp does and refuses what it refuses.
#[derive(Debug)]
pub struct Recogniser {
    pub(super) rules: Rules,
    nullable: Vec<bool>,
    /// All alternatives, one after the other, each with its end.
    slots: Vec<Slot>,
    /// Where the alternatives of each rule begin.
    begins: Vec<Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Symbol(Symbol),
    /// The end of an alternative of that rule.
    End(u32),
}

/// What is under way: how far into an alternative, and where in the text it began.
type Item = (u32, u32);

/// What is under way at one place of the text.
#[derive(Default)]
struct Set {
    items: Vec<Item>,
    seen: HashSet<Item>,
    /// The items that wait for a rule.
    waiting: HashMap<u32, Vec<Item>>,
    /// For a rule that only one item waits for, as its last part: the end of the chain of such items.
    chains: HashMap<u32, Option<Item>>,
}

impl Set {
    fn add(&mut self, item: Item) {
        if self.seen.insert(item) {
            self.items.push(item);
        }
    }
}

impl Recogniser {
    /// Reads a grammar.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] naming the line, [`crate::ErrorKind::Limit`].
    pub fn new(grammar: &str) -> Result<Recogniser> {
        let rules = gbnf::read(grammar)?;
        let (mut slots, mut begins) = (Vec::new(), Vec::with_capacity(rules.rules.len()));
        for (id, alternatives) in rules.rules.iter().enumerate() {
            let mut begin = Vec::with_capacity(alternatives.len());
            for alternative in alternatives {
                begin.push(slots.len() as u32);
                slots.extend(alternative.iter().map(|symbol| Slot::Symbol(*symbol)));
                slots.push(Slot::End(id as u32));
            }
            begins.push(begin);
        }
        Ok(Recogniser { nullable: rules.nullable(), rules, slots, begins })
    }

    /// Whether the grammar allows this text. A text that takes too many steps to check counts as not allowed.
    pub fn accepts(&self, text: &str) -> bool {
        self.run(text).1
    }

    /// Whether some text that the grammar allows begins with this one.
    pub fn prefix(&self, text: &str) -> bool {
        self.reach(text) == text.len()
    }

    /// How many bytes of the text some text that the grammar allows begins with.
    pub fn reach(&self, text: &str) -> usize {
        self.run(text).0
    }

    /// How far the text fits, and whether all of it may stand alone.
    fn run(&self, text: &str) -> (usize, bool) {
        let mut sets = vec![Set::default()];
        for begin in &self.begins[self.rules.root as usize] {
            sets[0].add((*begin, 0));
        }
        let mut steps = 0;
        self.close(&mut sets, &mut steps);
        for (at, c) in text.char_indices() {
            let now = sets.len() - 1;
            let mut next = Set::default();
            for &(slot, from) in &sets[now].items {
                if let Slot::Symbol(Symbol::Char(class)) = self.slots[slot as usize]
                    && self.rules.classes[class as usize].has(c)
                {
                    next.add((slot + 1, from));
                }
            }
            // What was complete here is of no use any more.
            sets[now].seen = HashSet::new();
            sets[now].items = Vec::new();
            if next.items.is_empty() || steps > limits::CHECK_STEPS {
                return (at, false);
            }
            sets.push(next);
            self.close(&mut sets, &mut steps);
        }
        let whole = |&(slot, from): &Item| {
            from == 0 && matches!(self.slots[slot as usize], Slot::End(rule) if rule == self.rules.root)
        };
        (text.len(), sets.last().is_some_and(|last| last.items.iter().any(whole)))
    }

    /// Adds to the last set all that follows from what is in it.
    fn close(&self, sets: &mut [Set], steps: &mut usize) {
        let now = sets.len() - 1;
        let mut done = 0;
        while let Some(&(slot, from)) = sets[now].items.get(done) {
            done += 1;
            *steps += 1;
            if *steps > limits::CHECK_STEPS {
                return;
            }
            match self.slots[slot as usize] {
                Slot::Symbol(Symbol::Char(_)) => {}
                Slot::Symbol(Symbol::Rule(rule)) => {
                    let waiting = sets[now].waiting.entry(rule).or_default();
                    waiting.push((slot, from));
                    if waiting.len() == 1 {
                        for begin in &self.begins[rule as usize] {
                            sets[now].add((*begin, now as u32));
                        }
                    }
                    // A rule that may be empty may be over as soon as it begins.
                    if self.nullable[rule as usize] {
                        sets[now].add((slot + 1, from));
                    }
                }
                // Done with above.
                Slot::End(_) if from as usize == now => {}
                Slot::End(rule) => match self.chain(sets, from, rule) {
                    Some(end) => sets[now].add(end),
                    None => {
                        let waiting = sets[from as usize].waiting.get(&rule).cloned().unwrap_or_default();
                        *steps += waiting.len();
                        for (slot, from) in waiting {
                            sets[now].add((slot + 1, from));
                        }
                    }
                },
            }
        }
    }

    /// Where completing `rule`, begun at `from`, leads in the end if it leads one way only. Rules that begin with themselves, after
    /// some that may be empty, can lead in a circle: none of those has an end. All places up to `from` are closed.
    fn chain(&self, sets: &mut [Set], from: u32, rule: u32) -> Option<Item> {
        let mut path = Vec::new();
        let mut passed = HashSet::new();
        let (mut at, mut rule) = (from, rule);
        let mut end = loop {
            let set = &mut sets[at as usize];
            if let Some(known) = set.chains.get(&rule) {
                break *known;
            }
            let only = match set.waiting.get(&rule).map(Vec::as_slice) {
                Some(&[(slot, from)]) => Some((slot + 1, from)),
                _ => None,
            };
            let Some((slot, parent_from)) = only else {
                set.chains.insert(rule, None);
                break None;
            };
            let Slot::End(parent) = self.slots[slot as usize] else {
                set.chains.insert(rule, None);
                break None;
            };
            path.push((at, rule, (slot, parent_from)));
            passed.insert((at, rule));
            (at, rule) = (parent_from, parent);
            // No way leads forwards in the text, so a circle stays at one place.
            if passed.contains(&(at, rule)) {
                let here = path.iter().rev().take_while(|(place, ..)| *place == at).count();
                for (_, rule, _) in path.drain(path.len() - here..) {
                    sets[at as usize].chains.insert(rule, None);
                }
                break None;
            }
        };
        for (at, rule, item) in path.into_iter().rev() {
            end = end.or(Some(item));
            sets[at as usize].chains.insert(rule, end);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(grammar: &str, yes: &[&str], no: &[&str]) {
        let recogniser = Recogniser::new(grammar).unwrap();
        for text in yes {
            assert!(recogniser.accepts(text), "{grammar}: {text:?}");
            assert!(recogniser.prefix(text), "{grammar}: {text:?}");
        }
        for text in no {
            assert!(!recogniser.accepts(text), "{grammar}: {text:?}");
        }
    }

    #[test]
    fn texts() {
        verdicts("root ::= \"a\"* b{2,3}\nb ::= [x-z\\]] # a class", &["xx", "aaz]x"], &["", "a", "ax", "axxxx"]);
        verdicts("root ::= ( \"a\" |\n  .\n  \"b\" )? \"\\x41\" |", &["", "A", "aA", "bbA", "\u{e9}bA"], &["a", "bA"]);
        verdicts("root ::= \"(\" root \")\" root |", &["", "()", "(())()"], &["(", "())"]);
        verdicts("root ::= e e \"x\" e\ne ::= \"y\"?", &["x", "yyx", "yxy"], &["yyy", "xyy"]);
        verdicts("root ::= a | b\na ::= [a-z] a | [a-z]\nb ::= \"ab\" b | \"c\"", &["abc", "c", "abab"], &["", "A"]);
        let recogniser = Recogniser::new("root ::= \"abc\"").unwrap();
        assert!(recogniser.prefix("ab") && !recogniser.accepts("ab") && !recogniser.prefix("b"));
    }

    #[test]
    fn refusals_as_in_llama_cpp() {
        for (grammar, part) in [
            ("root ::= a", "\"a\" is used but not defined"),
            ("a ::= \"x\"", "no rule \"root\""),
            ("root ::= root \"x\" |", "begins with itself"),
            ("root ::= e root\ne ::= \"x\" |", "begins with itself"),
            ("root ::= (\"x\" |)*", "begins with itself"),
            ("root ::= \"x\"{2001}", "more than 2000 repetitions"),
            ("root ::= (\"x\"? \"y\"?){1000}", "unrolls to more"),
            ("root ::= *", "nothing to repeat"),
            ("root ::= \"x", "ends inside"),
            ("root ::= \"\\d\"", "no escape \\d"),
            ("root ::= (\"x\"", "expected \")\""),
            ("root ::= \"x\"\nb = c", "line 2"),
            ("root ::= \"x\"{3,2}", "above the upper"),
        ] {
            let error = Recogniser::new(grammar).unwrap_err().to_string();
            assert!(error.contains(part), "{grammar}: {error}");
        }
        assert!(Recogniser::new("root ::= \"x\"{0,5000}").is_ok());
    }

    #[test]
    fn what_llama_cpp_takes_though_it_goes_in_circles() {
        verdicts("root ::= (\"a\"? \"b\"?)+", &["", "a", "ba", "abba"], &["c", "ac"]);
        verdicts("root ::= e root\ne ::= \"x\"?", &[], &["", "x"]);
        verdicts("root ::= e root | \"y\"\ne ::= \"x\"?", &["y", "xxy"], &["", "x", "yx"]);
        verdicts("root ::= \"<\" (e e)* \">\"\ne ::= f\nf ::= \"x\"{0,2} \"y\"?", &["<>", "<xxyxy>"], &["<", "<yz>"]);
    }

    #[test]
    fn long_texts_take_linear_time() {
        let grammar = "root ::= s0\ns0 ::= | [^<] s0 | \"<\" s1\ns1 ::= | [^<e] s0 | \"<\" s1";
        let recogniser = Recogniser::new(grammar).unwrap();
        assert!(recogniser.accepts(&"text <b ".repeat(4_000)));
        assert!(!recogniser.accepts(&"text <e ".repeat(4_000)));
    }
}
