//! JSON that is written in a JSON string: the rules of its schemas, with each character escaped.

use std::collections::HashMap;

use smol_str::{SmolStr, format_smolstr};

use crate::regular::{Spelling, characters, item, literal};
use crate::rules::primitive::quoted;
use crate::rules::{Builder, Fidelity, FidelityKind, Rule};
use crate::text::Node;
use chatparse_base::Result;

/// The schemas that are written so.
#[derive(Default)]
pub struct Escaped {
    /// Their rules as JSON, and the names of the escaped ones.
    plain: Option<Builder>,
    roots: Vec<(SmolStr, SmolStr)>,
}

impl Escaped {
    /// The rule of a schema, which `add` adds to the rules of JSON.
    pub fn schema(
        &mut self,
        rules: &mut Builder,
        name: &SmolStr,
        add: impl FnOnce(&mut Builder) -> Result<SmolStr>,
    ) -> Result<Rule> {
        let plain = self.plain.get_or_insert_with(|| {
            let mut plain = Builder::with_letter(rules.letter);
            plain.spacing = rules.spacing;
            plain
        });
        let added = add(plain)?;
        let known = self
            .roots
            .iter()
            .find(|(plain, _)| *plain == added)
            .map(|(_, escaped)| escaped.clone());
        let escaped = known.unwrap_or_else(|| {
            let escaped = rules.reserve(name);
            self.roots.push((added, escaped.clone()));
            escaped
        });
        Ok(quoted(Rule::Reference(escaped)))
    }

    /// Adds the rules of all schemas.
    pub fn add(mut self, rules: &mut Builder) {
        let Some(mut plain) = self.plain.take() else {
            return;
        };
        let roots: Vec<Rule> = self
            .roots
            .iter()
            .map(|(plain, _)| Rule::Reference(plain.clone()))
            .collect();
        plain.add_rule("root", Rule::Choice(roots));
        let plain = plain.finish();
        let Ok(tree) = plain.tree() else {
            return self.too_large(rules);
        };
        plain.report.into_iter().for_each(|note| rules.note(note));
        let number = |name: &SmolStr| tree.names.iter().position(|known| known == name);
        let mut open: Vec<usize> = self
            .roots
            .iter()
            .filter_map(|(plain, _)| number(plain))
            .collect();
        let names = self
            .roots
            .iter()
            .filter_map(|(plain, escaped)| Some((number(plain)?, escaped.clone())));
        let mut names: HashMap<usize, SmolStr> = names.collect();
        while let Some(rule) = open.pop() {
            let mut name = |rules: &mut Builder, to: usize| {
                let fresh = || {
                    open.push(to);
                    rules.reserve(&format_smolstr!("escaped-{}", tree.names[to]))
                };
                names.entry(to).or_insert_with(fresh).clone()
            };
            let body = escaped(rules, &tree.rules[rule], &mut name);
            rules.fill(&names[&rule], body);
        }
    }

    fn too_large(self, rules: &mut Builder) {
        for (name, escaped) in self.roots {
            let any = rules.shared("char").repeat(0, None);
            rules.fill(&escaped, any);
            let message = "too large to be written in a string; any text is allowed";
            rules.note(Fidelity::new(&name, "#", FidelityKind::Widened, message));
        }
    }
}

fn escaped(
    rules: &mut Builder,
    node: &Node,
    name: &mut dyn FnMut(&mut Builder, usize) -> SmolStr,
) -> Rule {
    match node {
        Node::Text(text) => {
            let mut all = String::new();
            text.chars()
                .for_each(|c| all.push_str(&literal(c, Spelling::JsonString)));
            Rule::literal(all)
        }
        Node::Class(chars) => characters(rules, chars, Spelling::JsonString),
        Node::Rule(to) => Rule::Reference(name(rules, *to)),
        Node::Sequence(parts) => Rule::joined(
            parts
                .iter()
                .map(|part| escaped(rules, part, name).into_part()),
        ),
        Node::Choice(branches) => Rule::Choice(
            branches
                .iter()
                .map(|branch| escaped(rules, branch, name))
                .collect(),
        ),
        Node::Repeat(body, min, max) => item(escaped(rules, body, name)).repeat(*min, *max),
    }
}
