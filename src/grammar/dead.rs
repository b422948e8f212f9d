//! Finds rules that match no text, and takes out what needs them: an engine that began such a rule could not go on.

use std::collections::{HashMap, HashSet};

use smol_str::SmolStr;

use super::primitive::no_character;
use super::rule::Rule;

/// The names of the rules that match no text. References to other rules count as matching one.
pub(super) fn find<'r>(rules: impl Iterator<Item = (&'r SmolStr, &'r Rule)>) -> HashSet<SmolStr> {
    let mut search = Search { dead: HashMap::new(), waiting: HashMap::new(), parts: Vec::new() };
    let rules: Vec<(&SmolStr, &Rule)> = rules.collect();
    search.dead.extend(rules.iter().map(|(name, _)| (*name, true)));
    for (name, rule) in rules {
        if search.matches(rule, Whole::Rule(name)) {
            search.settle(Whole::Rule(name));
        }
    }
    search.dead.into_iter().filter(|(_, dead)| *dead).map(|(name, _)| name.clone()).collect()
}

/// A rule without what cannot match because of dead rules; `None` if nothing is left.
pub(super) fn without(rule: Rule, dead: &HashSet<SmolStr>) -> Option<Rule> {
    match rule {
        Rule::Reference(name) => (!dead.contains(&name)).then_some(Rule::Reference(name)),
        Rule::Sequence(parts) => {
            let parts: Option<Vec<Rule>> = parts.into_iter().map(|part| without(part, dead)).collect();
            parts.map(Rule::joined)
        }
        Rule::Choice(branches) => {
            let mut branches: Vec<Rule> = branches.into_iter().filter_map(|branch| without(branch, dead)).collect();
            if branches.len() > 1 { Some(Rule::Choice(branches)) } else { branches.pop() }
        }
        Rule::Group(body, pad) => match without(*body, dead)? {
            Rule::Empty => Some(Rule::Empty),
            body => Some(body.padded(pad)),
        },
        Rule::Repeat(body, bounds) => match without(*body, dead) {
            Some(Rule::Empty) => Some(Rule::Empty),
            Some(body) => Some(Rule::Repeat(Box::new(body), bounds)),
            None => (bounds.min == 0).then_some(Rule::Empty),
        },
        rule if rule == no_character() => None,
        rule => Some(rule),
    }
}

/// What waits until one of its parts is known to match.
#[derive(Clone, Copy)]
enum Whole<'r> {
    Rule(&'r SmolStr),
    /// Index of a sequence or a choice.
    Part(usize),
}

/// A sequence or choice: how many of its parts are missing, and what it is a part of.
struct Part<'r> {
    missing: usize,
    of: Whole<'r>,
}

/// Each part of a rule is looked at once, and once more when what it waits for matches.
struct Search<'r> {
    dead: HashMap<&'r SmolStr, bool>,
    waiting: HashMap<&'r SmolStr, Vec<Whole<'r>>>,
    parts: Vec<Part<'r>>,
}

impl<'r> Search<'r> {
    /// Whether a rule is known to match a text. If not, `of` waits for it.
    fn matches(&mut self, rule: &'r Rule, of: Whole<'r>) -> bool {
        match rule {
            Rule::Reference(name) => {
                let dead = self.dead.get(name).is_some_and(|dead| *dead);
                if dead {
                    self.waiting.entry(name).or_default().push(of);
                }
                !dead
            }
            Rule::Sequence(parts) => {
                let own = self.part(parts.len(), of);
                let known = parts.iter().filter(|part| self.matches(part, Whole::Part(own))).count();
                self.parts[own].missing -= known;
                self.parts[own].missing == 0
            }
            Rule::Choice(branches) => {
                let own = self.part(1, of);
                let known = branches.iter().any(|branch| self.matches(branch, Whole::Part(own)));
                self.parts[own].missing -= usize::from(known);
                known
            }
            Rule::Group(body, _) => self.matches(body, of),
            Rule::Repeat(_, bounds) if bounds.min == 0 => true,
            Rule::Repeat(body, _) => self.matches(body, of),
            rule => *rule != no_character(),
        }
    }

    fn part(&mut self, missing: usize, of: Whole<'r>) -> usize {
        self.parts.push(Part { missing, of });
        self.parts.len() - 1
    }

    /// Tells what waits for it that a part matches.
    fn settle(&mut self, matching: Whole<'r>) {
        let mut open = vec![matching];
        while let Some(whole) = open.pop() {
            match whole {
                Whole::Rule(name) => {
                    if self.dead.insert(name, false) == Some(true) {
                        open.extend(self.waiting.remove(name).into_iter().flatten());
                    }
                }
                Whole::Part(index) => {
                    let part = &mut self.parts[index];
                    // A choice may match in several ways.
                    if part.missing > 0 {
                        part.missing -= 1;
                        open.extend((part.missing == 0).then_some(part.of));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_match_nothing() {
        let name = |name: &str| Rule::reference(name);
        let rules: Vec<(SmolStr, Rule)> = [
            ("no", no_character()),
            ("endless", Rule::sequence([Rule::literal("x"), name("endless")])),
            ("list", Rule::choice([Rule::sequence([name("item"), name("list")]), name("item")])),
            ("item", Rule::choice([name("no"), Rule::sequence([name("list"), name("endless")]), name("late")])),
            ("late", Rule::sequence([name("elsewhere"), name("last").repeat(2, None), name("no").group().optional()])),
            ("last", Rule::literal("")),
            ("needs", Rule::sequence([name("list"), name("no").repeat(1, None)])),
        ]
        .map(|(name, rule)| (name.into(), rule))
        .into();
        let dead = find(rules.iter().map(|(name, rule)| (name, rule)));
        assert_eq!(dead, ["no", "endless", "needs"].map(SmolStr::from).into());
        let left = |index: usize| without(rules[index].1.clone(), &dead).map(|rule| rule.to_string());
        assert_eq!(left(3).as_deref(), Some("late"));
        assert_eq!(left(4).as_deref(), Some("elsewhere last{2,}"));
        assert_eq!(left(6), None);
    }
}
