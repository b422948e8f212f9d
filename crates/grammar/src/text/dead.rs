//! Finds rules that match no text, and takes out what needs them: an engine that began such a rule
//! could not go on.

use std::collections::{HashMap, HashSet};

use smol_str::SmolStr;

use crate::rules::Rule;
use crate::rules::primitive::no_character;
use crate::text::{Node, Tree};

/// The names of the rules that match no text. References to other rules count as matching one.
pub fn find<'r>(rules: impl Iterator<Item = (&'r SmolStr, &'r Rule)>) -> HashSet<SmolStr> {
    let rules: Vec<(&SmolStr, &Rule)> = rules.collect();
    let numbers: HashMap<&str, usize> = rules
        .iter()
        .map(|(name, _)| name.as_str())
        .zip(0..)
        .collect();
    // The last node stands for all rules that are not among these.
    let number = |name: &str| Ok(numbers.get(name).copied().unwrap_or(rules.len()));
    let nodes = rules.iter().map(|(_, rule)| rule.node(&number));
    let Ok(nodes) = nodes.chain([Ok(Node::EMPTY)]).collect() else {
        return HashSet::new();
    };
    let matching = Tree {
        names: Vec::new(),
        rules: nodes,
        root: 0,
    }
    .matching();
    let mut dead = HashSet::new();
    for ((name, _), matches) in rules.into_iter().zip(matching) {
        if !matches {
            dead.insert(name.clone());
        }
    }
    dead
}

/// A rule without what cannot match because of dead rules; `None` if nothing is left.
pub fn without(rule: Rule, dead: &HashSet<SmolStr>) -> Option<Rule> {
    match rule {
        Rule::Reference(name) => (!dead.contains(&name)).then_some(Rule::Reference(name)),
        Rule::Sequence(parts) => {
            let parts: Option<Vec<Rule>> =
                parts.into_iter().map(|part| without(part, dead)).collect();
            parts.map(Rule::joined)
        }
        Rule::Choice(branches) => Rule::one_of_several(
            branches
                .into_iter()
                .filter_map(|branch| without(branch, dead))
                .collect(),
        ),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_match_nothing() {
        let name = |name: &str| Rule::reference(name);
        let rules: Vec<(SmolStr, Rule)> = [
            ("no", no_character()),
            (
                "endless",
                Rule::sequence([Rule::literal("x"), name("endless")]),
            ),
            (
                "list",
                Rule::choice([Rule::sequence([name("item"), name("list")]), name("item")]),
            ),
            (
                "item",
                Rule::choice([
                    name("no"),
                    Rule::sequence([name("list"), name("endless")]),
                    name("late"),
                ]),
            ),
            (
                "late",
                Rule::sequence([
                    name("elsewhere"),
                    name("last").repeat(2, None),
                    name("no").group().optional(),
                ]),
            ),
            ("last", Rule::literal("")),
            (
                "needs",
                Rule::sequence([name("list"), name("no").repeat(1, None)]),
            ),
        ]
        .map(|(name, rule)| (name.into(), rule))
        .into();
        let dead = find(rules.iter().map(|(name, rule)| (name, rule)));
        assert_eq!(dead, ["no", "endless", "needs"].map(SmolStr::from).into());
        let left =
            |index: usize| without(rules[index].1.clone(), &dead).map(|rule| rule.to_string());
        assert_eq!(left(3).as_deref(), Some("late"));
        assert_eq!(left(4).as_deref(), Some("elsewhere last{2,}"));
        assert_eq!(left(6), None);
    }
}
