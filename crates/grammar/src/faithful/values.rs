//! Rules for `const` and `enum`.

use serde_json::Value;

use super::all::All;
use super::places::Part;
use super::{Lowering, space, types};
use crate::regular::{self, Dfa, Spelling};
use crate::rules::builder::FidelityKind;
use crate::rules::json;
use crate::rules::rule::Rule;
use chatparse_base::decimal::Decimal;
use chatparse_base::{limits, number};

impl<'a> Lowering<'_, 'a> {
    /// The rule for the listed values, without those that other keywords exclude; `None` if no values are listed.
    pub(super) fn values(&mut self, all: &All<'a>, types: u8, name: &str) -> Option<Option<Rule>> {
        let (part, listed) = self.listed(all, types)?;
        Some(self.one_of(part, &listed, name))
    }

    /// The listed values that other keywords do not exclude.
    pub(super) fn listed(&mut self, all: &All<'a>, types: u8) -> Option<(Part<'a>, Vec<&'a Value>)> {
        let (part, listed) = all.keywords().find_map(|(part, keywords)| Some((part, keywords.listed()?)))?;
        let fitting = listed.iter().filter(|value| {
            types & type_of(value) != 0
                && all.parts.iter().all(|part| self.checker.allows(part.schema, part.base, value))
        });
        let fitting = fitting.collect();
        if self.checker.is_spent() {
            let message = "too many values to check them against other keywords".to_owned();
            self.note(part.place, "", FidelityKind::Widened, message);
        }
        Some((part, fitting))
    }

    /// The rule for one of these values; `None` if there is none.
    pub(super) fn one_of(&mut self, part: Part<'a>, values: &[&'a Value], name: &str) -> Option<Rule> {
        let mut texts = Vec::new();
        let mut branches = Vec::new();
        let (mut has_order, mut is_too_deep) = (false, false);
        for value in values {
            match value {
                Value::Array(_) | Value::Object(_) if number::long(value).is_none() => {
                    has_order |= value.as_object().is_some_and(|fields| fields.len() > 1);
                    let mut parts = Vec::new();
                    match spell_out(value, 0, &mut parts) {
                        Some(()) => branches.push(Rule::Sequence(parts)),
                        None => is_too_deep = true,
                    }
                }
                scalar => {
                    let text = scalar_text(scalar);
                    // A whole number may be written with or without a fraction of zero.
                    texts.extend(text.strip_suffix(".0").map(str::to_owned));
                    if number::is(scalar) && number::is_whole(&text) {
                        texts.push(format!("{text}.0"));
                    }
                    texts.push(text);
                }
            }
        }
        for (is_so, message) in [
            (has_order, "the members of a listed object are written in this order only"),
            (is_too_deep, "a listed value is nested too deeply"),
        ] {
            if is_so {
                self.note(part.place, "", FidelityKind::Narrowed, message.to_owned());
            }
        }
        match &texts[..] {
            [] => {}
            texts if texts.len() == 1 || texts.iter().map(String::len).sum::<usize>() > limits::LISTED_BYTES => {
                branches.splice(..0, texts.iter().map(Rule::literal));
            }
            texts => {
                let dfa = Dfa::of_texts(texts.iter().map(String::as_str));
                branches.insert(0, regular::of_automaton(self.builder, name, &dfa, Spelling::Plain));
            }
        }
        match branches.len() {
            0 => None,
            1 => branches.pop(),
            _ => Some(Rule::Choice(branches)),
        }
    }
}

fn type_of(value: &Value) -> u8 {
    match value {
        Value::Null => types::NULL,
        Value::Bool(_) => types::BOOLEAN,
        Value::String(_) => types::STRING,
        Value::Array(_) => types::ARRAY,
        Value::Object(_) if number::long(value).is_none() => types::OBJECT,
        number if number::decimal(number).is_some_and(|number| number.is_whole()) => types::INTEGER,
        _ => types::FRACTION,
    }
}

/// A value that is no list and no object, as models write it. A number that floats cannot hold stays as it is.
fn scalar_text(value: &Value) -> String {
    let text = json::print(value).unwrap_or_default();
    match number::of(value) {
        Some(number) if Decimal::of(&text) != Decimal::of(&number) => number.into(),
        _ => text,
    }
}

/// Adds a value with optional white space where JSON allows it; `None` if it is nested too deeply.
fn spell_out(value: &Value, depth: usize, parts: &mut Vec<Rule>) -> Option<()> {
    if depth > limits::JSON_DEPTH {
        return None;
    }
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
                between(parts, i == 0);
                spell_out(item, depth + 1, parts)?;
            }
            parts.extend([space(), Rule::literal("]")]);
        }
        Value::Object(fields) if number::long(value).is_none() => {
            parts.push(Rule::literal("{"));
            for (i, (name, field)) in fields.iter().enumerate() {
                between(parts, i == 0);
                let name = json::print(&Value::from(name.as_str()))?;
                parts.extend([Rule::literal(name), space(), Rule::literal(":"), space()]);
                spell_out(field, depth + 1, parts)?;
            }
            parts.extend([space(), Rule::literal("}")]);
        }
        scalar => parts.push(Rule::literal(scalar_text(scalar))),
    }
    Some(())
}
