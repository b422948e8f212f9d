//! Turns schemas into rules that allow what the schema allows, as exactly as a grammar can.
//!
//! `places` locates schemas and resolves references, `condition` turns what depends on the value
//! into choices, `all` combines schemas that must hold together, and this module and `object`,
//! `array`, `text`, `values` make rules of them; `number` and `format` handle numbers and formats.
//! Each set of schemas gets one rule, so recursion ends; sets that have a name but no body yet wait
//! in a queue.

mod array;
mod choice;
mod condition;
mod conjunction;
mod format;
mod keywords;
mod not;
mod number;
mod object;
mod places;
mod range;
mod text;
mod unevaluated;
mod values;

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

use self::condition::Conditions;
use self::conjunction::{Conjunction, Key};
use self::keywords::types_of_keywords;
use self::not::excluded_types;
use self::places::{Part, Place, SchemaLocations};
use crate::regular::{Dfa, StateBudget};
use crate::rules::primitive::{self, blank as space, comma, no_character};
use crate::rules::{Builder, Fidelity, FidelityKind, Notes, Rule, clean};
use crate::schema::{Base, Document, refused};
use crate::valid::Checker;
use chatparse_base::{Error, Result, limits};
use chatparse_peg::{Literals, Notation};

/// Whether objects may have properties that their schema does not mention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undeclared {
    /// They may, as the standard specifies.
    #[default]
    Allowed,
    /// They may not, unless the schema allows it explicitly; the report lists the places. For a
    /// tool's parameters, because models make arguments up.
    LeftOut,
}

/// Which of a schema's values a rule has, and how they are written.
#[derive(Clone, Debug)]
pub struct Writing<'m> {
    pub notation: Notation,
    /// For [`Notation::Text`]: the markers that end the text, and what else may not be in it.
    pub ends: [&'m [SmolStr]; 2],
    /// The rule of any such text, with the end after it if the text is `closed`.
    pub any: Rule,
    pub closed: bool,
}

impl Writing<'_> {
    pub const JSON: Writing<'static> = Writing {
        notation: Notation::Json,
        ends: [&[], &[]],
        any: Rule::Empty,
        closed: false,
    };

    /// The types of the values.
    fn types(&self) -> u8 {
        match self.notation {
            Notation::Text | Notation::Quoted(_) => types::STRING,
            Notation::Others(_) | Notation::Printed => types::ALL & !types::STRING,
            _ => types::ALL,
        }
    }
}

/// Adds the rules of `schema`. Returns the name of its rule (`name` `""`: the top) and the report.
/// References are resolved in `root`.
pub fn add(
    builder: &mut Builder,
    name: &str,
    schema: &Value,
    root: &Value,
    undeclared: Undeclared,
    writing: &Writing,
) -> Result<(SmolStr, Vec<Fidelity>)> {
    let document = Rc::new(Document::new(root));
    let conditions = Conditions::of([root, schema], document.read_as(Base::default()));
    let (places, first) = SchemaLocations::new(schema, Rc::clone(&document), &conditions);
    let mut lowering = Lowering {
        builder,
        places,
        undeclared,
        writing,
        rules: HashMap::new(),
        queue: VecDeque::new(),
        patterns: HashMap::new(),
        checker: Checker::new(document, limits::LISTED_STEPS),
        room: StateBudget::new(limits::AUTOMATON_STATES, limits::AUTOMATON_STEPS),
        steps: 0,
        may_be_dead: false,
        at: first.place,
        notes: Notes::of(name),
    };
    let added = lowering.all(first, name)?;
    Ok((added, lowering.notes.all))
}

/// The types of values, as bits. Numbers with and without a fraction are two types.
mod types {
    use serde_json::Value;

    pub const NULL: u8 = 1;
    pub const BOOLEAN: u8 = 2;
    pub const INTEGER: u8 = 4;
    pub const FRACTION: u8 = 8;
    pub const NUMBER: u8 = INTEGER | FRACTION;
    pub const STRING: u8 = 16;
    pub const ARRAY: u8 = 32;
    pub const OBJECT: u8 = 64;
    pub const ALL: u8 = 127;

    /// The types in the keyword `type`; `None` if it has no known type.
    pub fn of(given: &Value) -> Option<u8> {
        match given {
            // In draft 3, a type may be a schema.
            Value::Array(names) if names.iter().any(Value::is_object) => Some(ALL),
            Value::Array(names) => Some(
                names
                    .iter()
                    .filter_map(Value::as_str)
                    .filter_map(named)
                    .fold(0, |all, one| all | one),
            ),
            Value::Null => Some(ALL),
            name => name.as_str().and_then(named),
        }
    }

    fn named(name: &str) -> Option<u8> {
        Some(match name {
            "null" => NULL,
            "boolean" => BOOLEAN,
            "integer" => INTEGER,
            "number" => NUMBER,
            "string" => STRING,
            "array" => ARRAY,
            "object" => OBJECT,
            "any" => ALL,
            _ => return None,
        })
    }
}

const UNFOLLOWED: &str = "not followed by the grammar";

struct Lowering<'b, 'a> {
    builder: &'b mut Builder,
    places: SchemaLocations<'a>,
    undeclared: Undeclared,
    writing: &'b Writing<'b>,
    /// The rules of the sets of schemas seen so far.
    rules: HashMap<Key, SmolStr>,
    /// Sets that have a name but no body yet.
    queue: VecDeque<(Conjunction<'a>, SmolStr)>,
    /// Patterns of property names as automata; `None` if too large or not supported.
    patterns: HashMap<&'a str, Option<Rc<Dfa>>>,
    /// Checks listed values, and names of properties.
    checker: Checker<'a>,
    /// For all automata.
    room: StateBudget,
    steps: usize,
    /// There may be rules that match no text.
    may_be_dead: bool,
    /// The schema that the latest rule is for.
    at: Place,
    notes: Notes<'b>,
}

impl<'a> Lowering<'_, 'a> {
    /// Adds the rule `name` of a schema (`""`: the top) with all rules that it needs.
    fn all(&mut self, first: Part<'a>, name: &str) -> Result<SmolStr> {
        self.check(first)?;
        let mut all = Conjunction::of(&mut self.places, [first]);
        all.is_outer = self.writing.types() != types::ALL;
        let rule_name = match name {
            "" => SmolStr::new_static("root"),
            name if is_reserved(&clean(name)) => {
                format_smolstr!("{name}-")
            }
            name => name.into(),
        };
        let is_plain = name.is_empty() && !all.never && all.unusable.is_empty();
        if let (true, Some(Some(shared))) = (is_plain, self.shared(&all)?) {
            let body = self.builder.unshared(shared);
            return Ok(self.builder.add(&rule_name, body));
        }
        let mark = self.builder.mark();
        let Some(rule) = self.rule(all, &rule_name)? else {
            return Err(refused("#", "nothing fits"));
        };
        let mut places = Vec::new();
        while let Some((all, name)) = self.queue.pop_front() {
            // A branch that no value fits is no fault: other branches remain.
            places.extend(
                all.parts
                    .first()
                    .filter(|_| !all.is_branch)
                    .map(|part| (part.place, name.clone())),
            );
            let body = self.body(all, &name)?;
            self.may_be_dead |= body.is_none();
            self.builder.fill(&name, body.unwrap_or_else(no_character));
            self.spend(0)?;
        }
        if self.may_be_dead {
            let dead = self.builder.remove_dead(mark);
            if matches!(&rule, Rule::Reference(name) if dead.contains(name)) {
                return Err(refused("#", "nothing fits"));
            }
            for (place, _) in places.into_iter().filter(|(_, name)| dead.contains(name)) {
                let message = "no value fits; what holds it is left out";
                self.note(place, "", FidelityKind::Refused, message);
            }
        }
        Ok(match rule {
            // The top always has a rule.
            Rule::Reference(reference) if !name.is_empty() || reference == rule_name => reference,
            rule => self.builder.add(&rule_name, rule),
        })
    }

    /// Subtracts steps from the budget.
    fn spend(&mut self, steps: usize) -> Result<()> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > limits::SCHEMA_STEPS
            || self.builder.bytes() > limits::GRAMMAR_BYTES
            || self.places.is_full()
        {
            let message = format!(
                "the grammar of a JSON schema is too large, at {}",
                self.places.pointer(self.at)
            );
            return Err(Error::limit(message));
        }
        if let Some(deep) = self.places.too_deep {
            return Err(refused(
                &self.places.pointer(deep),
                &format!("nested more than {} deep", limits::JSON_DEPTH),
            ));
        }
        Ok(())
    }

    /// A rule for schemas that must hold together, for use inside others; `None` if no value fits.
    /// `name` is the name if it gets a separate rule.
    fn rule(&mut self, mut all: Conjunction<'a>, name: &str) -> Result<Option<Rule>> {
        all.is_partial |= !all.unusable.is_empty();
        if let Some(part) = all.parts.first() {
            self.at = part.place;
        }
        self.spend(1 + all.parts.len())?;
        for (part, key) in std::mem::take(&mut all.unusable) {
            self.check(part)?;
            let reference = part
                .schema
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default();
            if reference.starts_with('#') && key == "$ref" {
                return Err(refused(
                    &self.places.pointer(part.place),
                    &format!("$ref {reference:?} leads nowhere"),
                ));
            }
            self.widened(
                part.place,
                key,
                &format!("{reference:?} leads out of the schema; any value is allowed"),
            );
        }
        if all.never {
            return Ok(None);
        }
        if let Some(shared) = self.shared(&all)? {
            return Ok(shared.map(|name| self.builder.shared(name)));
        }
        let key = all.key();
        if let Some(known) = self.rules.get(&key) {
            // It may hold itself, without an end.
            self.may_be_dead = true;
            return Ok(Some(Rule::Reference(known.clone())));
        }
        let name = self.builder.reserve(name);
        self.rules.insert(key, name.clone());
        self.queue.push_back((all, name.clone()));
        Ok(Some(Rule::Reference(name)))
    }

    /// The shared rule, if one fits exactly; `Some(None)` if no value fits.
    fn shared(&self, all: &Conjunction<'a>) -> Result<Option<Option<&'static str>>> {
        let types = self.types(all)?;
        if types == 0 {
            return Ok(Some(None));
        }
        if !all.choices.is_empty() || types_of_keywords(all) & types != 0 {
            return Ok(None);
        }
        if all.is_outer && self.writing.notation == Notation::Text {
            return Ok(None);
        }
        let name = match types {
            types::ALL => "value",
            types::NULL => "null",
            types::BOOLEAN => "boolean",
            types::INTEGER => "integer",
            types::NUMBER => "number",
            types::STRING => "string",
            types::ARRAY => "array",
            types::OBJECT => "object",
            _ => return Ok(None),
        };
        Ok(Some(Some(self.spelled(all, name))))
    }

    /// How literals are spelled here.
    fn literals(&self, all: &Conjunction<'a>) -> Literals {
        match self.writing.notation {
            Notation::Printed => Literals::Python,
            Notation::Quoted(literals) | Notation::Others(literals)
                if all.is_outer || literals == Literals::Python =>
            {
                literals
            }
            _ => Literals::Json,
        }
    }

    /// The shared rule to use here instead of the rule of JSON.
    fn spelled(&self, all: &Conjunction<'a>, json: &'static str) -> &'static str {
        match (self.literals(all), json) {
            (Literals::Json, json) => json,
            (Literals::Lowercase, "null") => "lowercase-null",
            (Literals::Lowercase, json) => json,
            (_, "boolean") => "python-boolean",
            (_, "null") => "python-null",
            (Literals::Words, json) => json,
            (_, "value") => "python-value",
            (_, "string") => "python-string",
            (_, "array") => "python-array",
            (_, "object") => "python-object",
            (_, json) => json,
        }
    }

    fn share(&mut self, all: &Conjunction<'a>, json: &'static str) -> Rule {
        let name = self.spelled(all, json);
        self.builder.shared(name)
    }

    /// The types that all parts allow.
    fn types(&self, all: &Conjunction<'a>) -> Result<u8> {
        let mut allowed = if all.is_outer {
            self.writing.types()
        } else {
            types::ALL
        };
        for (part, keywords) in all.keywords() {
            let Some(given) = keywords.get("type") else {
                continue;
            };
            let Some(mut own) = types::of(given) else {
                let message =
                    format!("type must be the name of a type, or an array of names, not {given}");
                return Err(refused(&self.places.pointer(part.place), &message));
            };
            if keywords.get("nullable") == Some(&Value::Bool(true)) {
                own |= types::NULL;
            }
            allowed &= own;
        }
        for (part, not) in all.values("not") {
            allowed &= !excluded_types(not, part.draft);
        }
        Ok(allowed)
    }

    /// The body of a rule; `None` if no value fits.
    fn body(&mut self, mut all: Conjunction<'a>, name: &SmolStr) -> Result<Option<Rule>> {
        self.check_all(&all)?;
        if let Some(rule) = self.chosen(&mut all, name)? {
            return Ok(rule);
        }
        let types = self.types(&all)?;
        if let Some(rule) = self.values(&all, types, name) {
            return Ok(rule);
        }
        self.left_out(&all, types);
        let mut branches = Vec::new();
        for (one, shared) in [(types::NULL, "null"), (types::BOOLEAN, "boolean")] {
            if types & one != 0 {
                branches.push(self.share(&all, shared));
            }
        }
        if types & types::NUMBER != 0 {
            branches.extend(self.number(&all, types, name));
        }
        if types & types::STRING != 0 {
            branches.extend(self.string(&all, name)?);
        }
        let constrained = types_of_keywords(&all);
        for (one, shared) in [(types::ARRAY, "array"), (types::OBJECT, "object")] {
            match (types & one, constrained & one != 0) {
                (0, _) => {}
                (_, false) => branches.push(self.share(&all, shared)),
                (types::ARRAY, true) => branches.extend(self.array(&all, name)?),
                (_, true) => branches.extend(self.object(&all, name)?),
            }
        }
        if branches.len() > 1 {
            branches = branches.into_iter().map(Rule::into_part).collect();
        }
        Ok(Rule::one_of_several(branches))
    }

    /// Notes that the grammar allows more than a keyword.
    fn widened(&mut self, place: Place, key: &str, message: &str) {
        self.note(place, key, FidelityKind::Widened, message);
    }

    fn note(&mut self, place: Place, key: &str, kind: FidelityKind, message: &str) {
        let pointer = self.places.pointer_of(place, key);
        self.notes.add(pointer, kind, message);
    }

    /// The same wherever the keyword is.
    fn widened_all(&mut self, all: &Conjunction<'a>, key: &'static str, message: &str) {
        all.values(key)
            .for_each(|(part, _)| self.widened(part.place, key, message));
    }

    fn unfollowed(&mut self, place: Place, key: &str) {
        self.widened(place, key, UNFOLLOWED);
    }

    /// Notes that the grammar allows less than a keyword.
    fn narrowed(&mut self, place: Place, key: &str, message: &str) {
        self.note(place, key, FidelityKind::Narrowed, message);
    }

    fn check_all(&self, all: &Conjunction<'a>) -> Result<()> {
        all.parts.iter().try_for_each(|part| self.check(*part))
    }

    /// Rejects what is no schema, and keywords with invalid values.
    fn check(&self, part: Part<'a>) -> Result<()> {
        let misused = match (part.schema, part.keywords()) {
            (Value::Bool(_), _) => None,
            (_, Some(keywords)) => keywords.misused(),
            _ => Some("a schema must be an object".to_owned()),
        };
        misused.map_or(Ok(()), |message| {
            Err(refused(&self.places.pointer(part.place), &message))
        })
    }
}

/// The value of a size keyword; the strictest of several.
fn counted<'a>(all: &Conjunction<'a>, key: &'static str, pick: fn(u64, u64) -> u64) -> Option<u64> {
    let counts = all.values(key).filter_map(|(_, value)| {
        let count = chatparse_base::number::float(value).map(|number| number as u64);
        value.as_u64().or(count)
    });
    counts.reduce(pick)
}

/// Whether the name is reserved for a shared rule or the top.
fn is_reserved(name: &str) -> bool {
    name == "root" || primitive::find(name, primitive::FAITHFUL).is_some()
}

/// A name with another part appended.
fn below(name: &str, part: &str) -> SmolStr {
    let mut below = if name == "root" {
        clean(part)
    } else {
        clean(&format_smolstr!("{name}-{part}"))
    };
    // Long names would take more space than the rules, and short ones must differ.
    if below.len() > limits::RULE_NAME_BYTES {
        let mut hasher = DefaultHasher::new();
        below.hash(&mut hasher);
        below = format_smolstr!(
            "{}-{:016x}",
            &below[..limits::RULE_NAME_BYTES / 2],
            hasher.finish()
        );
    }
    if below.is_empty() || is_reserved(&below) {
        format_smolstr!("{below}-")
    } else {
        below
    }
}
