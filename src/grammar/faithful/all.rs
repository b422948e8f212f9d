//! Schemas that must hold together, taken apart into keywords.

use std::collections::HashSet;

use serde_json::Value;

use super::places::{Fields, Part, Places};

/// Schemas that must all hold. `$ref` and `allOf` are gone: what they lead to is among the parts.
#[derive(Clone, Debug, Default)]
pub(super) struct All<'a> {
    /// Objects with keywords, each once.
    pub parts: Vec<Part<'a>>,
    /// Of each of these, one branch must hold.
    pub choices: Vec<Choice<'a>>,
    /// Nothing fits.
    pub never: bool,
    /// References that lead nowhere in the document.
    pub lost: Vec<Part<'a>>,
}

/// An `anyOf` or `oneOf`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'a> {
    pub part: Part<'a>,
    pub key: &'static str,
    pub branches: &'a [Value],
}

/// What tells one [`All`] from another: addresses of schemas.
pub(super) type Key = (Vec<*const Value>, Vec<*const Value>);

impl<'a> All<'a> {
    pub fn of(places: &mut Places<'a>, schemas: impl IntoIterator<Item = Part<'a>>) -> All<'a> {
        let mut all = All::default();
        schemas.into_iter().for_each(|schema| all.add(places, schema));
        all
    }

    /// One more schema must hold.
    pub fn add(&mut self, places: &mut Places<'a>, schema: Part<'a>) {
        let mut seen: HashSet<*const Value> = self.parts.iter().map(|part| std::ptr::from_ref(part.schema)).collect();
        let mut open = vec![schema];
        while let Some(part) = open.pop() {
            let fields = match part.schema {
                Value::Bool(true) => continue,
                Value::Object(fields) if fields.is_empty() => continue,
                Value::Object(fields) => fields,
                Value::Bool(false) => {
                    self.never = true;
                    continue;
                }
                // Whoever checks schemas has refused it.
                _ => continue,
            };
            if !seen.insert(std::ptr::from_ref(part.schema)) {
                continue;
            }
            let part = places.within(part);
            let mut next = Vec::new();
            let reference = fields.get("$ref").and_then(Value::as_str);
            if let Some(reference) = reference {
                match places.target(part, reference) {
                    Some(target) => next.push(target),
                    None => self.lost.push(part),
                }
            }
            if reference.is_none() || !places.lone_references {
                self.parts.push(part);
                if let Some(Value::Array(branches)) = fields.get("allOf") {
                    let branches = branches.iter().enumerate();
                    next.extend(branches.map(|(i, branch)| places.item(part, "allOf", i, branch)));
                }
                for key in ["anyOf", "oneOf"] {
                    if let Some(Value::Array(branches)) = fields.get(key) {
                        self.choices.push(Choice { part, key, branches });
                    }
                }
            }
            // The first is looked at first.
            open.extend(next.into_iter().rev());
        }
    }

    /// The fields of all parts.
    pub fn fields(&self) -> impl Iterator<Item = (Part<'a>, &'a Fields)> + '_ {
        self.parts.iter().filter_map(|part| part.schema.as_object().map(|fields| (*part, fields)))
    }

    /// The values of a keyword.
    pub fn values(&self, key: &'static str) -> impl Iterator<Item = (Part<'a>, &'a Value)> + '_ {
        self.fields().filter_map(move |(part, fields)| fields.get(key).map(|value| (part, value)))
    }

    pub fn key(&self) -> Key {
        let mut parts: Vec<*const Value> = self.parts.iter().map(|part| std::ptr::from_ref(part.schema)).collect();
        parts.sort_unstable();
        let mut choices: Vec<*const Value> = self.choices.iter().map(|choice| choice.branches.as_ptr()).collect();
        choices.sort_unstable();
        (parts, choices)
    }

    /// With one branch of the choice at `index` instead of the choice.
    pub fn chosen(&self, places: &mut Places<'a>, index: usize, branch: usize) -> All<'a> {
        let mut chosen = self.clone();
        let Choice { part, key, branches } = chosen.choices.remove(index);
        let branch = places.item(part, key, branch, &branches[branch]);
        chosen.add(places, branch);
        chosen
    }
}
