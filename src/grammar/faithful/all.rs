//! Combines schemas that must hold together, and resolves their `$ref`s and `allOf`s.

use std::collections::HashSet;

use serde_json::Value;

use super::condition::Condition;
use super::places::{Fields, Part, Places};

/// Schemas that must all hold. `$ref` and `allOf` are resolved: their targets are among the parts.
#[derive(Clone, Debug, Default)]
pub(super) struct All<'a> {
    /// Objects with keywords, without duplicates.
    pub parts: Vec<Part<'a>>,
    /// Choices, of each of which one branch must hold.
    pub choices: Vec<Choice<'a>>,
    /// No value fits.
    pub never: bool,
    /// Values that are not schemas, and references that cannot be resolved in the document.
    pub unusable: Vec<Part<'a>>,
    /// A branch of an `anyOf` was chosen: others may hold as well.
    pub chose_any: bool,
    /// Choices or references were left out: other schemas may hold as well.
    pub is_partial: bool,
}

/// An `anyOf` or `oneOf`, or a condition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'a> {
    pub part: Part<'a>,
    pub key: &'static str,
    pub branches: Branches<'a>,
    /// It precedes the `properties` of its schema.
    pub is_first: bool,
}

/// The branches of a choice.
#[derive(Clone, Copy, Debug)]
pub(super) enum Branches<'a> {
    Listed(&'a [Value]),
    Of(&'a Condition<'a>),
}

impl Branches<'_> {
    pub fn len(&self) -> usize {
        match self {
            Branches::Listed(branches) => branches.len(),
            Branches::Of(condition) => condition.branches.len(),
        }
    }

    fn address(&self) -> *const Value {
        match self {
            Branches::Listed(branches) => branches.as_ptr(),
            Branches::Of(condition) => std::ptr::from_ref(*condition).cast(),
        }
    }
}

enum Step<'a> {
    /// Resolve this schema.
    Visit(Part<'a>),
    /// Add the rest of it.
    Add(Part<'a>),
}

/// Identifies an [`All`]: the addresses of its schemas.
pub(super) type Key = (Vec<*const Value>, Vec<*const Value>);

impl<'a> All<'a> {
    pub fn of(places: &mut Places<'a>, schemas: impl IntoIterator<Item = Part<'a>>) -> All<'a> {
        let mut all = All::default();
        schemas.into_iter().for_each(|schema| all.add(places, schema));
        all
    }

    /// Adds a schema that must hold as well.
    pub fn add(&mut self, places: &mut Places<'a>, schema: Part<'a>) {
        let end = self.parts.len();
        self.insert(places, schema, end);
    }

    /// Like `add`, inserting the parts at index `at`, so that they are in the order of the document.
    fn insert(&mut self, places: &mut Places<'a>, schema: Part<'a>, mut at: usize) {
        let leads_on = |key: &str| matches!(key, "$ref" | "allOf" | "anyOf" | "oneOf" | "$id" | "id");
        if let Value::Object(fields) = schema.schema
            && !fields.keys().any(|key| leads_on(key))
            && places.conditions.on(schema.schema).is_empty()
        {
            // The case of most schemas.
            let is_new = !self.parts.iter().any(|part| std::ptr::eq(part.schema, schema.schema));
            if is_new && !fields.is_empty() {
                self.parts.insert(at, schema);
            }
            return;
        }
        let mut seen: HashSet<*const Value> = self.parts.iter().map(|part| std::ptr::from_ref(part.schema)).collect();
        let mut open = vec![Step::Visit(schema)];
        while let Some(step) = open.pop() {
            let part = match step {
                Step::Add(part) => {
                    self.parts.insert(at, part);
                    at += 1;
                    continue;
                }
                Step::Visit(part) => part,
            };
            let fields = match part.schema {
                Value::Object(fields) if fields.is_empty() => continue,
                Value::Object(fields) => fields,
                Value::Bool(false) => {
                    self.never = true;
                    continue;
                }
                Value::Bool(true) => continue,
                _ => {
                    self.unusable.push(part);
                    continue;
                }
            };
            if !seen.insert(std::ptr::from_ref(part.schema)) {
                continue;
            }
            let part = places.within(part);
            let beside = |other: Part<'a>| Step::Visit(Part { is_conditional: part.is_conditional, ..other });
            let reference = fields.get("$ref").and_then(Value::as_str);
            let is_lone = reference.is_some() && places.lone_references;
            let mut steps = Vec::new();
            let mut is_added = is_lone;
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("properties", _) if !is_added => {
                        steps.push(Step::Add(part));
                        is_added = true;
                    }
                    ("$ref", Value::String(reference)) => match places.target(part, reference) {
                        Some(target) => steps.push(beside(target)),
                        None => self.unusable.push(part),
                    },
                    ("allOf", Value::Array(branches)) if !is_lone => {
                        let branches = branches.iter().enumerate();
                        steps.extend(branches.map(|(i, branch)| beside(places.item(part, "allOf", i, branch))));
                    }
                    ("anyOf" | "oneOf", Value::Array(branches)) if !is_lone => {
                        let key = if key == "anyOf" { "anyOf" } else { "oneOf" };
                        let is_first = !is_added && fields.contains_key("properties");
                        self.choices.push(Choice { part, key, branches: Branches::Listed(branches), is_first });
                    }
                    _ => {}
                }
            }
            if !is_added {
                steps.push(Step::Add(part));
            }
            let conditions = if is_lone { &[] } else { places.conditions.on(part.schema) };
            self.choices.extend(conditions.iter().map(|condition| Choice {
                part,
                key: condition.key,
                branches: Branches::Of(condition),
                is_first: false,
            }));
            open.extend(steps.into_iter().rev());
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
        let mut choices: Vec<*const Value> = self.choices.iter().map(|choice| choice.branches.address()).collect();
        choices.sort_unstable();
        (parts, choices)
    }

    /// The same with one branch of the choice at `index` in place of the choice.
    pub fn chosen(&self, places: &mut Places<'a>, index: usize, branch: usize) -> All<'a> {
        let mut chosen = self.clone();
        let Choice { part, key, branches, is_first } = chosen.choices.remove(index);
        chosen.chose_any |= key == "anyOf";
        let own = chosen.parts.iter().position(|one| std::ptr::eq(one.schema, part.schema));
        let at = own.map_or(chosen.parts.len(), |own| if is_first { own } else { own + 1 });
        match branches {
            Branches::Listed(branches) => {
                let schema = places.item(part, key, branch, &branches[branch]);
                chosen.insert(places, Part { is_conditional: part.is_conditional, ..schema }, at);
            }
            // Behind all others: a condition names properties that others declare, and their order is that of the declarations.
            Branches::Of(condition) => {
                for piece in &condition.branches[branch] {
                    let schema = places.piece(part, key, piece);
                    chosen.add(places, Part { is_conditional: true, ..schema });
                }
            }
        }
        chosen
    }
}
