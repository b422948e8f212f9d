//! Combines schemas that must hold together, and resolves their references and `allOf`s.

use std::collections::HashSet;

use serde_json::Value;

use super::condition::Condition;
use super::places::{Part, SchemaLocations};
use crate::schema::Keywords;

/// Schemas that must all hold. References and `allOf` are resolved: their targets are among the
/// parts.
#[derive(Clone, Debug, Default)]
pub struct Conjunction<'a> {
    /// Objects with keywords, without duplicates.
    pub parts: Vec<Part<'a>>,
    /// Choices, of each of which one branch must hold.
    pub choices: Vec<Choice<'a>>,
    /// No value fits.
    pub never: bool,
    /// Values that are not schemas, and references, by their keywords, that cannot be resolved in
    /// the document.
    pub unusable: Vec<(Part<'a>, &'static str)>,
    /// It is a branch of a choice.
    pub is_branch: bool,
    /// A branch of an `anyOf` was chosen: others may hold as well.
    pub chose_any: bool,
    /// Choices or references were left out: other schemas may hold as well.
    pub is_partial: bool,
    /// It is the whole value, of which the rule has some types only, in their notation; inside of
    /// it all types are written.
    pub is_outer: bool,
}

/// An `anyOf` or `oneOf`, or a condition.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    pub part: Part<'a>,
    pub key: &'static str,
    pub branches: Branches<'a>,
    /// It precedes the `properties` of its schema.
    pub is_first: bool,
}

/// The branches of a choice.
#[derive(Clone, Copy, Debug)]
pub enum Branches<'a> {
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

/// Keywords that lead to other schemas or to an identifier, apart from references.
const LEADING_ON: &[&str] = &["allOf", "anyOf", "oneOf", "extends", "$id", "id"];

/// The keyword of a reference.
fn reference(key: &str) -> Option<&'static str> {
    ["$ref", "$dynamicRef", "$recursiveRef"]
        .into_iter()
        .find(|known| *known == key)
}

enum Step<'a> {
    /// Resolve this schema.
    Visit(Part<'a>),
    /// Add the rest of it.
    Add(Part<'a>),
}

/// Identifies a [`Conjunction`]: the addresses of its schemas and choices, with the ways to them,
/// and whether it is outer.
pub type Key = (Vec<(*const Value, usize)>, Vec<(*const Value, usize)>, bool);

impl<'a> Conjunction<'a> {
    pub fn of(
        places: &mut SchemaLocations<'a>,
        schemas: impl IntoIterator<Item = Part<'a>>,
    ) -> Conjunction<'a> {
        let mut all = Conjunction::default();
        schemas
            .into_iter()
            .for_each(|schema| all.add(places, schema));
        all
    }

    /// Adds a schema that must hold as well.
    pub fn add(&mut self, places: &mut SchemaLocations<'a>, schema: Part<'a>) {
        let end = self.parts.len();
        self.insert(places, schema, end);
    }

    /// Like `add`, inserting the parts at index `at`, so that they are in the order of the
    /// document.
    fn insert(&mut self, places: &mut SchemaLocations<'a>, schema: Part<'a>, mut at: usize) {
        if let Value::Object(fields) = schema.schema
            && !fields
                .keys()
                .any(|key| reference(key).is_some() || LEADING_ON.contains(&&**key))
            && places.conditions.on(schema.schema).is_empty()
        {
            // The case of most schemas.
            let is_new = !self.parts.iter().any(|part| part.key() == schema.key());
            if is_new && !fields.is_empty() {
                self.parts.insert(at, schema);
            }
            return;
        }
        let mut seen: HashSet<_> = self.parts.iter().map(Part::key).collect();
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
                    self.unusable.push((part, ""));
                    continue;
                }
            };
            let part = places.within(part);
            if !seen.insert(part.key()) {
                continue;
            }
            let keywords = Keywords {
                fields,
                draft: part.draft,
            };
            let is_lone = part.draft.lone_ref() && fields.get("$ref").is_some_and(Value::is_string);
            let mut steps = Vec::new();
            let mut is_added = is_lone;
            for (key, value) in fields {
                if is_lone && key != "$ref" || !is_lone && !part.draft.knows(key) {
                    continue;
                }
                if let (Some(key), Value::String(_)) = (reference(key), value) {
                    match places.target(part, key, value) {
                        Some(target) => steps.push(Step::Visit(target.beside(part))),
                        None => self.unusable.push((part, key)),
                    }
                    continue;
                }
                match (key.as_str(), value) {
                    ("properties", _) if !is_added => {
                        steps.push(Step::Add(part));
                        is_added = true;
                    }
                    ("allOf" | "extends", Value::Array(branches)) => {
                        for (index, branch) in branches.iter().enumerate() {
                            let branch = places.item(part, key, index, branch);
                            steps.push(Step::Visit(branch.beside(part)));
                        }
                    }
                    ("extends", schema) => {
                        let schema = places.key(part, key, schema);
                        steps.push(Step::Visit(schema.beside(part)));
                    }
                    ("anyOf" | "oneOf", Value::Array(branches)) => {
                        let key = if key == "anyOf" { "anyOf" } else { "oneOf" };
                        let is_first = !is_added && fields.contains_key("properties");
                        self.choices.push(Choice {
                            part,
                            key,
                            branches: Branches::Listed(branches),
                            is_first,
                        });
                    }
                    _ => {}
                }
            }
            if !is_added {
                steps.push(Step::Add(part));
            }
            for condition in places.conditions.on(part.schema) {
                if !is_lone && keywords.has(condition.key) {
                    self.choices.push(Choice {
                        part,
                        key: condition.key,
                        branches: Branches::Of(condition),
                        is_first: false,
                    });
                }
            }
            open.extend(steps.into_iter().rev());
        }
    }

    /// The keywords of all parts.
    pub fn keywords(&self) -> impl Iterator<Item = (Part<'a>, Keywords<'a>)> + '_ {
        self.parts
            .iter()
            .filter_map(|part| Some((*part, part.keywords()?)))
    }

    /// The values of a keyword.
    pub fn values(&self, key: &'static str) -> impl Iterator<Item = (Part<'a>, &'a Value)> + '_ {
        self.keywords()
            .filter_map(move |(part, keywords)| keywords.get(key).map(|value| (part, value)))
    }

    /// The schemas in the maps under a keyword, by name.
    pub fn members(
        &self,
        key: &'static str,
    ) -> impl Iterator<Item = (Part<'a>, &'a str, &'a Value)> + '_ {
        self.keywords().flat_map(move |(part, keywords)| {
            let members = keywords.map(key);
            members.map(move |(name, schema)| (part, name.as_str(), schema))
        })
    }

    pub fn key(&self) -> Key {
        let mut parts: Vec<_> = self.parts.iter().map(Part::key).collect();
        chatparse_base::sort::sort(&mut parts);
        let mut choices = Vec::new();
        for Choice { branches, part, .. } in &self.choices {
            choices.push((branches.address(), part.base.way));
        }
        chatparse_base::sort::sort(&mut choices);
        (parts, choices, self.is_outer)
    }

    /// A copy with one branch of the first choice in place of the choice.
    pub fn chosen(&self, places: &mut SchemaLocations<'a>, branch: usize) -> Conjunction<'a> {
        let mut chosen = self.clone();
        let Choice {
            part,
            key,
            branches,
            is_first,
        } = chosen.choices.remove(0);
        chosen.is_branch = true;
        chosen.chose_any |= key == "anyOf";
        let own = chosen.parts.iter().position(|one| one.key() == part.key());
        let at = own.map_or(
            chosen.parts.len(),
            |own| if is_first { own } else { own + 1 },
        );
        match branches {
            Branches::Listed(branches) => {
                let schema = places.item(part, key, branch, &branches[branch]);
                chosen.insert(places, schema.beside(part), at);
            }
            // After all other parts: a condition names properties that other schemas declare, and
            // the order of properties is the order of their declarations.
            Branches::Of(condition) => {
                for piece in &condition.branches[branch] {
                    let schema = places.piece(part, key, piece);
                    chosen.add(
                        places,
                        Part {
                            is_conditional: true,
                            ..schema
                        },
                    );
                }
            }
        }
        chosen
    }
}
