//! Checks whether a grammar allows a text.
//!
//! Earley's algorithm over characters: it follows all possible rules at once, so ambiguity costs at most the cube of the
//! length. Chains of rules that end in each other, as repetitions do, are skipped (Leo's improvement), so they take linear
//! time.

use std::collections::{HashMap, HashSet};

use crate::text::gbnf;
use crate::text::unrolled::{Rules, Symbol};
use chatparse_base::Result;
use chatparse_base::limits;

/// A grammar that texts can be checked against. Reads GBNF like llama.cpp and rejects what it rejects.
#[derive(Debug)]
pub struct Recogniser {
    pub(crate) rules: Rules,
    nullable: Vec<bool>,
    /// All alternatives, one after the other, each followed by its end.
    slots: Vec<Slot>,
    /// The beginnings of each rule's alternatives.
    begins: Vec<Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Symbol(Symbol),
    /// The end of an alternative of this rule.
    End(u32),
}

/// A started alternative: the position in it, and the position in the text where it began.
type Item = (u32, u32);

/// The items at one position of the text.
#[derive(Default)]
struct Set {
    items: Vec<Item>,
    seen: HashSet<Item>,
    /// By rule: the items that wait for it.
    waiting: HashMap<u32, Vec<Item>>,
    /// By rule that only one item waits for, as its last part: the last item of the chain of such items.
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
    /// Reads a grammar. Errors name the line.
    pub fn new(grammar: &str) -> Result<Recogniser> {
        let rules = gbnf::rules(grammar)?;
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

    /// Whether this text is the beginning of one that the grammar allows.
    pub fn prefix(&self, text: &str) -> bool {
        self.reach(text) == text.len()
    }

    /// The length in bytes of the longest beginning of the text that also begins a text that the grammar allows.
    pub fn reach(&self, text: &str) -> usize {
        self.run(text).0
    }

    /// How far the text matches, and whether all of it is allowed.
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
            // Completed items of this set are not needed any more.
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

    /// Adds all items that follow from those in the last set.
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
                    // A rule that may be empty may also be skipped.
                    if self.nullable[rule as usize] {
                        sets[now].add((slot + 1, from));
                    }
                }
                // Handled above.
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

    /// If completing `rule`, begun at `from`, leads one way only: the last item on that way. Rules that begin with
    /// themselves, behind some that may be empty, can lead in a circle, which has no last item. All sets up to `from` must
    /// be closed.
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
            // Each step leads back in the text or stays, so a circle stays at one position.
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
