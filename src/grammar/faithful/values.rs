//! Rules for `const` and `enum`.

use serde_json::Value;

use super::all::All;
use super::{Lowering, space, types};
use crate::grammar::builder::FidelityKind;
use crate::grammar::regular::{self, Dfa, Spelling};
use crate::grammar::rule::Rule;
use crate::grammar::{json, valid};
use crate::limits;

impl<'a> Lowering<'_, 'a> {
    /// The rule for the listed values, without those that other keywords exclude; `None` if no values are listed.
    pub(super) fn values(&mut self, all: &All<'a>, types: u8, name: &str) -> Option<Option<Rule>> {
        let (part, listed): (_, Vec<&Value>) = all.fields().find_map(|(part, fields)| {
            let one = fields.get("const").map(|value| vec![value]);
            one.or_else(|| Some(fields.get("enum")?.as_array()?.iter().collect())).map(|values| (part, values))
        })?;
        let fits = |value: &&Value| {
            types & type_of(value) != 0 && all.parts.iter().all(|part| valid::allows(part.schema, self.root, value))
        };
        let values: Vec<&Value> = listed.into_iter().filter(fits).collect();
        let mut texts = Vec::new();
        let mut branches = Vec::new();
        for value in values {
            match value {
                Value::Array(_) | Value::Object(_) => {
                    if value.as_object().is_some_and(|fields| fields.len() > 1) {
                        let message = "the members of a listed object are written in this order only".to_owned();
                        self.note(part.place, "", FidelityKind::Narrowed, message);
                    }
                    match spelled_out(value, 0) {
                        Some(rule) => branches.push(rule),
                        None => self.note(
                            part.place,
                            "",
                            FidelityKind::Narrowed,
                            "a listed value is nested too deeply".to_owned(),
                        ),
                    }
                }
                scalar => {
                    let text = json::print(scalar).unwrap_or_default();
                    // A whole number may be written with or without a fraction of zero.
                    texts.extend(text.strip_suffix(".0").map(str::to_owned));
                    if scalar.is_i64() || scalar.is_u64() {
                        texts.push(format!("{text}.0"));
                    }
                    texts.push(text);
                }
            }
        }
        if !texts.is_empty() {
            let dfa = Dfa::of_texts(texts.iter().map(String::as_str));
            branches.insert(0, regular::of_automaton(self.builder, name, &dfa, Spelling::Plain));
        }
        Some(match branches.len() {
            0 => None,
            1 => branches.pop(),
            _ => Some(Rule::Choice(branches)),
        })
    }
}

fn type_of(value: &Value) -> u8 {
    match value {
        Value::Null => types::NULL,
        Value::Bool(_) => types::BOOLEAN,
        Value::Number(number) => {
            let whole =
                number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0);
            if whole { types::INTEGER } else { types::FRACTION }
        }
        Value::String(_) => types::STRING,
        Value::Array(_) => types::ARRAY,
        Value::Object(_) => types::OBJECT,
    }
}

/// The strings that a `not` excludes; `None` if it excludes other values.
pub(super) fn excluded(not: &Value) -> Option<Vec<&str>> {
    let listed = not.get("const").map(|value| vec![value]);
    let listed = listed.or_else(|| Some(not.get("enum")?.as_array()?.iter().collect()))?;
    Some(listed.into_iter().filter_map(Value::as_str).collect())
}

/// A value with optional white space where JSON allows it.
fn spelled_out(value: &Value, depth: usize) -> Option<Rule> {
    if depth > limits::LOWERING_DEPTH {
        return None;
    }
    let mut parts = Vec::new();
    let between = |parts: &mut Vec<Rule>, first: bool| {
        if !first {
            parts.push(Rule::literal(","));
        }
        parts.push(space());
    };
    match value {
        Value::Array(items) => {
            parts.push(Rule::literal("["));
            for (i, item) in items.iter().enumerate() {
                between(&mut parts, i == 0);
                parts.push(spelled_out(item, depth + 1)?);
            }
            parts.extend([space(), Rule::literal("]")]);
        }
        Value::Object(fields) => {
            parts.push(Rule::literal("{"));
            for (i, (name, field)) in fields.iter().enumerate() {
                between(&mut parts, i == 0);
                let name = json::print(&Value::from(name.as_str()))?;
                parts.extend([
                    Rule::literal(name),
                    space(),
                    Rule::literal(":"),
                    space(),
                    spelled_out(field, depth + 1)?,
                ]);
            }
            parts.extend([space(), Rule::literal("}")]);
        }
        scalar => return json::print(scalar).map(Rule::literal),
    }
    Some(Rule::Sequence(parts))
}
