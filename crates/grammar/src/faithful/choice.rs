//! Rules for `anyOf` and `oneOf`.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

use super::conjunction::{Branches, Conjunction};
use super::{Lowering, Undeclared, types};
use crate::rules::Rule;
use chatparse_base::{Result, limits};

/// The maximum number of branches that are compared with each other.
const COMPARED: usize = 64;

impl<'a> Lowering<'_, 'a> {
    /// The rule for schemas with choices; `None` if there are none.
    pub fn chosen(
        &mut self,
        all: &mut Conjunction<'a>,
        name: &SmolStr,
    ) -> Result<Option<Option<Rule>>> {
        let mut combinations = 1_usize;
        let mut kept = Vec::new();
        for choice in std::mem::take(&mut all.choices) {
            combinations = combinations.saturating_mul(choice.branches.len());
            // Conditions repeat their schema, so they are the first to go.
            let (most, is_condition) = match choice.branches {
                Branches::Listed(_) => (limits::SCHEMA_COMBINATIONS, false),
                Branches::Of(_) => (limits::CONDITION_COMBINATIONS, true),
            };
            let has_room = !is_condition || self.builder.bytes() <= limits::CONDITION_BYTES;
            if has_room && (combinations <= most || kept.is_empty()) {
                kept.push(choice);
            } else {
                let message = "too many combinations of alternatives for a grammar; not followed";
                self.widened(choice.part.place, choice.key, message);
                all.is_partial = true;
            }
        }
        all.choices = kept;
        let Some(choice) = all.choices.first().copied() else {
            return Ok(None);
        };
        let mut branches = self.branches(all)?;
        let mut is_exact = true;
        match choice.branches {
            Branches::Listed(listed)
                if choice.key == "oneOf" && !self.are_disjoint(&branches)? =>
            {
                let has_room = combinations <= limits::CONDITION_COMBINATIONS
                    && self.builder.bytes() <= limits::CONDITION_BYTES;
                match self.places.conditions.exclusive(listed) {
                    Some(condition) if has_room => {
                        all.choices[0].branches = Branches::Of(condition);
                        branches = self.branches(all)?;
                    }
                    _ => is_exact = false,
                }
            }
            Branches::Listed(_) => {}
            Branches::Of(condition) => is_exact = condition.exact,
        }
        if !is_exact {
            self.widened(
                choice.part.place,
                choice.key,
                "a value may fit several of the alternatives",
            );
        }
        let mut rules: Vec<Rule> = Vec::new();
        let mut known: HashSet<SmolStr> = HashSet::new();
        for (number, branch) in branches.into_iter().enumerate() {
            match self.rule(branch, &format_smolstr!("{name}-{number}"))? {
                Some(Rule::Reference(name)) if !known.insert(name.clone()) => {}
                rule => rules.extend(rule),
            }
        }
        Ok(Some(Rule::one_of_several(rules)))
    }

    /// The schemas with each branch of the first choice.
    fn branches(&mut self, all: &Conjunction<'a>) -> Result<Vec<Conjunction<'a>>> {
        let branches = (0..all.choices[0].branches.len()).map(|number| {
            self.spend(all.parts.len())?;
            let mut chosen = all.chosen(&mut self.places, number);
            self.check_all(&chosen)?;
            chosen.never |= matches!(all.choices[0].branches, Branches::Of(_))
                && self.is_impossible(&chosen)?;
            Ok(chosen)
        });
        branches.collect()
    }

    /// Whether these schemas ask for a property that one of them excludes.
    fn is_impossible(&self, all: &Conjunction<'a>) -> Result<bool> {
        let mut excluded: HashSet<&str> = HashSet::new();
        for (_, name, schema) in all.members("properties") {
            if *schema == Value::Bool(false) {
                excluded.insert(name);
            }
        }
        let mut required = all.keywords().flat_map(|(_, keywords)| keywords.required());
        let is_asked_for = required.any(|name| excluded.contains(name));
        Ok(is_asked_for && self.types(all)? & !types::OBJECT == 0)
    }

    /// Whether no value fits two of these branches, judging by types, listed values and properties.
    fn are_disjoint(&self, branches: &[Conjunction<'a>]) -> Result<bool> {
        let possible: Vec<&Conjunction<'a>> =
            branches.iter().filter(|branch| !branch.never).collect();
        if possible.len() > COMPARED {
            return Ok(false);
        }
        let marks: Vec<Marks> = possible
            .into_iter()
            .map(|branch| self.marks(branch))
            .collect::<Result<_>>()?;
        for (number, one) in marks.iter().enumerate() {
            if !marks[number + 1..].iter().all(|other| one.excludes(other)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn marks(&self, all: &Conjunction<'a>) -> Result<Marks<'a>> {
        let mut marks = Marks {
            types: self.types(all)?,
            ..Marks::default()
        };
        for (_, keywords) in all.keywords() {
            marks.values = both(
                marks.values,
                listed(keywords.get("enum"), keywords.get("const")),
            );
            marks.required.extend(keywords.required());
            for (name, schema) in keywords.map("properties") {
                let values = listed(schema.get("enum"), schema.get("const"));
                let known = marks.properties.remove(name.as_str()).flatten();
                marks.properties.insert(name, both(known, values));
            }
            let additional = keywords.get("additionalProperties").is_some();
            marks.closed |= keywords.get("additionalProperties") == Some(&Value::Bool(false));
            marks.open |=
                additional || !keywords.has("properties") && keywords.has("patternProperties");
        }
        marks.closed |=
            self.undeclared == Undeclared::LeftOut && !marks.open && !marks.properties.is_empty();
        Ok(marks)
    }
}

/// The listed values as texts; `None` if they are not listed.
type Listed = Option<HashSet<String>>;

fn listed(values: Option<&Value>, value: Option<&Value>) -> Listed {
    let all = values
        .and_then(Value::as_array)
        .map(|values| values.iter().map(Value::to_string).collect());
    both(all, value.map(|value| HashSet::from([value.to_string()])))
}

fn both(one: Listed, other: Listed) -> Listed {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.intersection(&other).cloned().collect()),
        (one, other) => one.or(other),
    }
}

/// Properties that tell the values of one branch from those of others.
#[derive(Default)]
struct Marks<'a> {
    types: u8,
    values: Listed,
    required: HashSet<&'a str>,
    properties: HashMap<&'a str, Listed>,
    closed: bool,
    open: bool,
}

impl Marks<'_> {
    /// Whether no value of one branch fits the other.
    fn excludes(&self, other: &Marks) -> bool {
        let shared = self.types & other.types;
        shared == 0
            || are_disjoint(&self.values, &other.values)
            || shared & !types::OBJECT == 0
                && (self.excludes_by_members(other) || other.excludes_by_members(self))
    }

    /// Whether a property that this branch requires has no value in the other one.
    fn excludes_by_members(&self, other: &Marks) -> bool {
        self.required.iter().any(|name| {
            match (self.properties.get(name), other.properties.get(name)) {
                (Some(own), Some(theirs)) => {
                    other.required.contains(name) && are_disjoint(own, theirs)
                }
                (_, None) => other.closed,
                _ => false,
            }
        })
    }
}

/// Whether both lists are known, and have no value in common.
fn are_disjoint(one: &Listed, other: &Listed) -> bool {
    one.as_ref()
        .zip(other.as_ref())
        .is_some_and(|(one, other)| one.is_disjoint(other))
}
