//! Rules for `const` and `enum`.

use serde_json::Value;

use super::conjunction::Conjunction;
use super::places::Part;
use super::text::Within;
use super::{Lowering, comma, space, types};
use crate::regular::{self, Dfa, LazyAutomaton, Spelling};
use crate::rules::Rule;
use crate::rules::json;
use crate::rules::primitive::colon;
use chatparse_base::decimal::Decimal;
use chatparse_base::{limits, number};
use chatparse_peg::{Literals, Notation};

impl<'a> Lowering<'_, 'a> {
    /// The rule for the listed values, without those that other keywords exclude; `None` if no
    /// values are listed.
    pub fn values(&mut self, all: &Conjunction<'a>, types: u8, name: &str) -> Option<Option<Rule>> {
        let (part, listed) = self.listed(all, types)?;
        if all.is_outer && self.writing.notation == Notation::Text {
            return Some(self.one_text_of(part, &listed, name));
        }
        let literals = self.literals(all);
        Some(self.one_of(part, &listed, name, literals))
    }

    /// The listed values that other keywords do not exclude.
    pub fn listed(
        &mut self,
        all: &Conjunction<'a>,
        types: u8,
    ) -> Option<(Part<'a>, Vec<&'a Value>)> {
        let (part, listed) = all
            .keywords()
            .find_map(|(part, keywords)| Some((part, keywords.listed()?)))?;
        let fitting = listed.iter().filter(|value| {
            types & type_of(value) != 0
                && all
                    .parts
                    .iter()
                    .all(|part| self.checker.allows(part.schema, part.base, value))
        });
        let fitting = fitting.collect();
        if self.checker.is_spent() {
            self.widened(
                part.place,
                "",
                "too many values to check them against other keywords",
            );
        }
        Some((part, fitting))
    }

    /// The rule for one of these strings as they are; `None` if none can be written.
    fn one_text_of(&mut self, part: Part<'a>, values: &[&'a Value], name: &str) -> Option<Rule> {
        let free = Within::new(self.writing);
        let (texts, others): (Vec<&str>, Vec<&str>) = values
            .iter()
            .filter_map(|value| value.as_str())
            .partition(|text| free.has(text));
        if !others.is_empty() {
            self.narrowed(
                part.place,
                "",
                &format!("{} of the listed strings hold what ends them", others.len()),
            );
        }
        if texts.is_empty() {
            return None;
        }
        let dfa = Dfa::of_texts(texts);
        let body = self.plain(name, &dfa);
        Some(self.closed(body))
    }

    /// The rule for one of these values; `None` if there is none.
    pub fn one_of(
        &mut self,
        part: Part<'a>,
        values: &[&'a Value],
        name: &str,
        literals: Literals,
    ) -> Option<Rule> {
        let mut texts = Vec::new();
        let mut branches = Vec::new();
        let (mut has_order, mut is_too_deep) = (false, false);
        for value in values {
            match value {
                Value::Array(_) | Value::Object(_) if number::long(value).is_none() => {
                    has_order |= value.as_object().is_some_and(|fields| fields.len() > 1);
                    let mut parts = Vec::new();
                    match spell_out(value, 0, literals, &mut parts) {
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
                    texts.extend(as_python(scalar, literals));
                    texts.push(text);
                }
            }
        }
        for (is_so, message) in [
            (
                has_order,
                "the members of a listed object are written in this order only",
            ),
            (is_too_deep, "a listed value is nested too deeply"),
        ] {
            if is_so {
                self.narrowed(part.place, "", message);
            }
        }
        match &texts[..] {
            [] => {}
            texts
                if texts.len() == 1
                    || texts.iter().map(String::len).sum::<usize>() > limits::LISTED_BYTES =>
            {
                branches.splice(..0, texts.iter().map(Rule::literal));
            }
            texts => {
                let dfa = Dfa::of_texts(texts.iter().map(String::as_str));
                branches.insert(0, self.plain(name, &dfa));
            }
        }
        Rule::one_of_several(branches)
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

/// A value that is no list and no object, as models write it. A number that floats cannot hold
/// stays as it is.
fn scalar_text(value: &Value) -> String {
    let text = json::print(value).unwrap_or_default();
    match number::of(value) {
        Some(number) if Decimal::of(&text) != Decimal::of(&number) => number.into(),
        _ => text,
    }
}

/// Adds a value with optional white space where JSON allows it; `None` if it is nested too deeply.
fn spell_out(value: &Value, depth: usize, literals: Literals, parts: &mut Vec<Rule>) -> Option<()> {
    if depth > limits::JSON_DEPTH {
        return None;
    }
    let between =
        |parts: &mut Vec<Rule>, first: bool| parts.push(if first { space() } else { comma() });
    match value {
        Value::Array(items) => {
            parts.push(Rule::literal("["));
            for (i, item) in items.iter().enumerate() {
                between(parts, i == 0);
                spell_out(item, depth + 1, literals, parts)?;
            }
            parts.extend([space(), Rule::literal("]")]);
        }
        Value::Object(fields) if number::long(value).is_none() => {
            parts.push(Rule::literal("{"));
            for (i, (name, field)) in fields.iter().enumerate() {
                between(parts, i == 0);
                let name = either(&Value::from(name.as_str()), literals);
                parts.push(name);
                parts.extend(colon());
                spell_out(field, depth + 1, literals, parts)?;
            }
            parts.extend([space(), Rule::literal("}")]);
        }
        // Words are as in Python only where all is.
        scalar => parts.push(either(scalar, literals)),
    }
    Some(())
}

/// A scalar inside of others, in each way to write it.
pub fn either(scalar: &Value, literals: Literals) -> Rule {
    let json = Rule::literal(scalar_text(scalar));
    match as_python(scalar, literals).filter(|_| literals == Literals::Python) {
        Some(python) => Rule::choice([json, Rule::literal(python)]).group(),
        None => json,
    }
}

/// A scalar as Python has it, where that differs from JSON and may be written.
fn as_python(scalar: &Value, literals: Literals) -> Option<String> {
    Some(match (literals, scalar) {
        (Literals::Lowercase, Value::Null) => "none".to_owned(),
        (Literals::Json | Literals::Lowercase, _) => return None,
        (_, Value::Null) => "None".to_owned(),
        (_, Value::Bool(true)) => "True".to_owned(),
        (_, Value::Bool(false)) => "False".to_owned(),
        (Literals::Python, Value::String(text)) => {
            let mut python = String::from("'");
            for c in text.chars() {
                python.push_str(&regular::literal(c, Spelling::SingleQuoted));
            }
            python + "'"
        }
        _ => return None,
    })
}
