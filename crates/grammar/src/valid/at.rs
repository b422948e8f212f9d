//! What a schema asks of the value at one place.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::Checker;
use super::run::Verdict::No;
use crate::schema::{Base, Document, Keywords, SAY_NOTHING, is_free};
use chatparse_base::{limits, pointer, stack};

/// What is known on the way, by schema and the number of steps from there to the place.
#[derive(Default)]
struct Open {
    /// The schemas in progress.
    places: HashSet<(*const Value, usize)>,
    /// What those ask that were stepped into: alternatives step into the same ones.
    known: HashMap<(*const Value, Base, usize), Value>,
}

/// What a schema asks of the value at a JSON pointer, as a schema: `true` where it asks nothing,
/// `false` where no value may be. Schemas that all hold there are in an `allOf`, alternatives
/// in an `anyOf`. Each `$ref` for this value is resolved; deeper ones refer to the
/// whole `schema`, as before. What depends on other values, such as `if`, is left out. What takes
/// more than a million steps, or nests more than 256 schemas deep, counts as `true`.
///
/// ```
/// use serde_json::json;
/// let unit = json!({"enum": ["C", "F"]});
/// let schema = json!({"properties": {"units": {"items": {"$ref": "#/$defs/unit"}}}, "$defs": {"unit": unit}});
/// assert_eq!(chatparse::grammar::valid::schema_at(&schema, "/units/0"), unit);
/// ```
pub fn schema_at(schema: &Value, pointer: &str) -> Value {
    let path: Vec<String> = pointer.split('/').skip(1).map(pointer::name).collect();
    let found = stack::deep(|| {
        let mut checker = Checker::new(Rc::new(Document::new(schema)), limits::VALID_STEPS);
        Ok(checker.at(schema, Base::default(), &path, &mut Open::default()))
    });
    found.unwrap_or(Value::Bool(true))
}

impl<'a> Checker<'a> {
    fn at(&mut self, schema: &'a Value, base: Base, path: &[String], open: &mut Open) -> Value {
        let Some(fields) = schema.as_object() else {
            return Value::Bool(*schema != Value::Bool(false));
        };
        // One that leads back to itself asks nothing more.
        let place = (std::ptr::from_ref(schema), path.len());
        if open.places.len() > limits::VALID_DEPTH || !self.spend(16) || !open.places.insert(place)
        {
            return Value::Bool(true);
        }
        let base = self
            .document
            .entered(schema, base, &mut self.steps)
            .unwrap_or(base);
        let keywords = Keywords {
            fields,
            draft: self.document.read_as(base),
        };
        let found = self.asked(keywords, base, path, open);
        open.places.remove(&place);
        found
    }

    /// The same a step further on, where nothing is in progress yet: so it is known the next time.
    fn stepped_into(
        &mut self,
        schema: &'a Value,
        base: Base,
        path: &[String],
        open: &mut Open,
    ) -> Value {
        let place = (std::ptr::from_ref(schema), base, path.len());
        if !open.known.contains_key(&place) {
            let found = self.at(schema, base, path, open);
            open.known.insert(place, found);
        }
        self.copied(&open.known[&place], 0)
            .unwrap_or(Value::Bool(true))
    }

    fn asked(
        &mut self,
        keywords: Keywords<'a>,
        base: Base,
        path: &[String],
        open: &mut Open,
    ) -> Value {
        let targets = self.document.targets(keywords, base, &mut self.steps);
        let resolved = !targets.is_empty() && targets.iter().all(Option::is_some);
        let is_lone = resolved && keywords.draft.lone_ref();
        let mut parts: Vec<Value> = targets
            .into_iter()
            .flatten()
            .map(|(target, base)| self.at(target, base, path, open))
            .collect();
        let Some((step, rest)) = path.split_first() else {
            let own = self.own(keywords, base, resolved, open);
            match &mut parts[..] {
                // What describes a reference describes its target here.
                [Value::Object(target)] if own.keys().all(|key| describes(key)) => {
                    target.extend(own)
                }
                _ => parts.push(Value::Object(own)),
            }
            return all(parts);
        };
        if is_lone {
            return all(parts);
        }
        let may_be_array = may_be(keywords, "array");
        let mut inside = Vec::new();
        match (may_be(keywords, "object"), may_be_array) {
            (false, false) => return Value::Bool(false),
            (true, _) if self.described(keywords, step, |schema| inside.push(schema)) == No => {
                inside.extend(keywords.get("additionalProperties"));
            }
            _ => {}
        }
        if may_be_array && let Ok(index) = step.parse::<usize>() {
            let (first, others) = keywords.items();
            inside.extend(first.get(index).or(others));
        }
        parts.extend(
            inside
                .into_iter()
                .map(|schema| self.stepped_into(schema, base, rest, open)),
        );
        for schema in keywords.list("allOf") {
            parts.push(self.at(schema, base, path, open));
        }
        for key in ["anyOf", "oneOf"] {
            let mut branches = Vec::new();
            for schema in keywords.list(key) {
                branches.push(self.at(schema, base, path, open));
            }
            if !branches.is_empty() {
                parts.push(any(branches));
            }
        }
        all(parts)
    }

    /// The keywords for the value itself, less references if they are `resolved`.
    fn own(
        &mut self,
        keywords: Keywords<'a>,
        base: Base,
        resolved: bool,
        open: &mut Open,
    ) -> Map<String, Value> {
        let is_lone = resolved && keywords.draft.lone_ref();
        let mut own = Map::new();
        for (key, value) in keywords.fields {
            if resolved && ["$ref", "$dynamicRef", "$recursiveRef"].contains(&&**key)
                || is_lone && !describes(key)
            {
                continue;
            }
            let value = match value {
                Value::Array(branches) if ["allOf", "anyOf", "oneOf"].contains(&&**key) => Some(
                    branches
                        .iter()
                        .map(|schema| self.at(schema, base, &[], open))
                        .collect(),
                ),
                value => self.copied(value, 0),
            };
            own.extend(value.map(|value| (key.clone(), value)));
        }
        own
    }

    /// A copy, unless it is too deep or too much.
    fn copied(&mut self, value: &Value, depth: usize) -> Option<Value> {
        if depth > limits::VALID_DEPTH || !self.spend(1) {
            return None;
        }
        Some(match value {
            Value::Array(items) => items
                .iter()
                .map(|item| self.copied(item, depth + 1))
                .collect::<Option<_>>()?,
            Value::Object(fields) => {
                let copied = fields
                    .iter()
                    .map(|(key, field)| Some((key.clone(), self.copied(field, depth + 1)?)));
                Value::Object(copied.collect::<Option<_>>()?)
            }
            Value::String(text) if !self.steps.spend_on(text.len()) => return None,
            plain => plain.clone(),
        })
    }
}

/// Whether the keyword `type` allows values of this type.
fn may_be(keywords: Keywords, kind: &str) -> bool {
    match keywords.get("type") {
        Some(Value::String(only)) => only == kind || only == "any",
        Some(Value::Array(some)) => some.iter().any(|one| one == kind || !one.is_string()),
        _ => true,
    }
}

/// Whether a keyword only describes what a schema is for.
fn describes(key: &str) -> bool {
    SAY_NOTHING.contains(&key) && !["type", "nullable"].contains(&key)
}

/// What asks all of this.
fn all(mut parts: Vec<Value>) -> Value {
    parts.retain(|part| !is_free(part));
    if parts.contains(&Value::Bool(false)) {
        Value::Bool(false)
    } else {
        several(parts, "allOf", true)
    }
}

/// What asks one of these, each once.
fn any(parts: Vec<Value>) -> Value {
    if parts.iter().any(is_free) {
        return Value::Bool(true);
    }
    let (mut flat, mut seen) = (Vec::new(), HashSet::new());
    for part in parts {
        match part.get("anyOf").and_then(Value::as_array) {
            Some(inner) if part.as_object().is_some_and(|fields| fields.len() == 1) => {
                flat.extend(inner.iter().cloned())
            }
            _ => flat.push(part),
        }
    }
    flat.retain(|part| *part != Value::Bool(false) && seen.insert(part.clone()));
    several(flat, "anyOf", false)
}

fn several(mut parts: Vec<Value>, key: &str, none: bool) -> Value {
    parts.dedup();
    match parts.len() {
        0 => Value::Bool(none),
        1 => parts.swap_remove(0),
        _ => json!({key: parts}),
    }
}
