//! Rules for the names of additional properties: any name except the described ones.

use std::collections::BTreeMap;

use chatparse_base::limits;
use chatparse_grammar::rules::{Pad, Rule};

/// A JSON string other than `names`, and whether all of them could be excluded. `chars` is the rule
/// of a character. Strings that are prefixes of a name are excluded as well, as in llama.cpp.
pub fn none_of<'a>(names: impl Iterator<Item = &'a str>, chars: &str) -> (Rule, bool) {
    let mut root = Node::default();
    let (mut has_empty, mut complete) = (false, true);
    for name in names {
        if name.is_empty() {
            has_empty = true;
        } else if name.chars().count() <= limits::EXCLUDED_NAME_CHARS && name.chars().all(is_plain)
        {
            name.chars()
                .fold(&mut root, |node, c| node.children.entry(c).or_default());
        } else {
            complete = false;
        }
    }
    let chars = Rule::reference(chars);
    let body = match (root.children.is_empty(), has_empty) {
        (true, true) => chars.repeat(1, None),
        (true, false) => chars.repeat(0, None),
        (false, true) => root.rule(&chars).padded(Pad::Both),
        (false, false) => root.rule(&chars).padded(Pad::Both).optional(),
    };
    let quote = Rule::class("[\"]");
    (Rule::sequence([quote.clone(), body, quote]), complete)
}

/// Whether JSON strings have the character as it is.
fn is_plain(c: char) -> bool {
    c != '"' && c != '\\' && !c.is_control()
}

/// The names with a common prefix.
#[derive(Default)]
struct Node {
    children: BTreeMap<char, Node>,
}

impl Node {
    fn rule(&self, chars: &Rule) -> Rule {
        let branches = self.children.iter().map(|(c, child)| {
            let rest = if child.children.is_empty() {
                chars.clone().repeat(1, None)
            } else {
                child.rule(chars).group()
            };
            Rule::sequence([Rule::one_of(false, [*c]), rest])
        });
        let other = Rule::one_of(true, ['"'].into_iter().chain(self.children.keys().copied()));
        Rule::Choice(
            branches
                .chain([Rule::sequence([other, chars.clone().repeat(0, None)])])
                .collect(),
        )
    }
}
