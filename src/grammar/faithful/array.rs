//! Rules for arrays.

use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

use super::all::All;
use super::places::{Fields, Part};
use super::{Lowering, below, comma, counted, space};
use crate::error::Result;
use crate::grammar::builder::FidelityKind;
use crate::grammar::rule::Rule;

/// The nesting of a tuple's optional ends from which on one gets a rule.
const NESTED: usize = 16;

impl<'a> Lowering<'_, 'a> {
    /// The rule for arrays; `None` if no array fits.
    pub(super) fn array(&mut self, all: &All<'a>, name: &str) -> Result<Option<Rule>> {
        let min = counted(all, "minItems", u64::max).unwrap_or(0);
        let max = counted(all, "maxItems", u64::min);
        let (min, mut max) = self.bounds(all, (min, max), ("minItems", "maxItems"));
        let mut first = Vec::new();
        for index in 0..self.places_before_the_rest(all) {
            let schemas = self.item_schemas(all, Some(index))?;
            let item = All::of(&mut self.places, schemas);
            match self.rule(item, &below(name, &format!("item-{index}")))? {
                Some(rule) => first.push(rule),
                // The array ends before it.
                None => {
                    max = Some(max.map_or(index as u64, |max| max.min(index as u64)));
                    break;
                }
            }
        }
        let schemas = self.item_schemas(all, None)?;
        let item = All::of(&mut self.places, schemas);
        let more = max.is_none_or(|max| max > first.len() as u64);
        let rest = if more { self.rule(item.clone(), &below(name, "item"))? } else { None };
        if rest.is_none() {
            max = Some(max.map_or(first.len() as u64, |max| max.min(first.len() as u64)));
        }
        if max.is_some_and(|max| max < min) {
            return Ok(None);
        }
        if let Some(rest) = &rest
            && first.is_empty()
            && let Some(items) = self.containing(all, &item, rest, (min, max), name)?
        {
            return Ok(items.map(bracketed));
        }
        self.note_unfollowed(all, max);
        first.truncate(max.map_or(usize::MAX, |max| max as usize));
        Ok(Some(bracketed(self.items(&first, rest, min, max, name))))
    }

    /// The number of places with schemas for single items.
    fn places_before_the_rest(&self, all: &All<'a>) -> usize {
        let tuple = |fields: &'a Value| {
            let list = fields.get("prefixItems").or_else(|| fields.get("items")).and_then(Value::as_array);
            list.map_or(0, Vec::len)
        };
        all.parts.iter().map(|part| tuple(part.schema)).max().unwrap_or(0)
    }

    /// The schemas for the item at a place, or for all items behind the last such place.
    fn item_schemas(&mut self, all: &All<'a>, index: Option<usize>) -> Result<Vec<Part<'a>>> {
        let mut schemas = Vec::new();
        for part in &all.parts {
            let Some(fields) = part.schema.as_object() else { continue };
            let tuple = tuple_of(fields);
            let at = index.and_then(|index| tuple.and_then(|(key, list)| Some((key, index, list.get(index)?))));
            if let Some((key, index, schema)) = at {
                schemas.push(self.places.item(*part, key, index, schema));
                continue;
            }
            let rest = match tuple {
                Some(("items", _)) => "additionalItems",
                _ => "items",
            };
            if let Some(schema) = fields.get(rest).filter(|schema| !schema.is_array()) {
                schemas.push(self.places.key(*part, rest, schema));
            }
        }
        let describes = |_: Part<'a>, fields: &'a Fields| match (tuple_of(fields), index) {
            (Some((_, list)), Some(index)) if index < list.len() => true,
            (Some(("items", _)), _) => fields.contains_key("additionalItems"),
            _ => fields.contains_key("items"),
        };
        schemas.extend(self.unevaluated(all, "unevaluatedItems", &describes)?);
        Ok(schemas)
    }

    /// Arrays of which some items match `contains`; `None` if there is no `contains` that a rule can express.
    fn containing(
        &mut self,
        all: &All<'a>,
        item: &All<'a>,
        rest: &Rule,
        (min, max): (u64, Option<u64>),
        name: &str,
    ) -> Result<Option<Option<Rule>>> {
        let mut contains = all.values("contains");
        let (Some((part, schema)), None) = (contains.next(), contains.next()) else { return Ok(None) };
        let least = part.schema.get("minContains").and_then(Value::as_u64).unwrap_or(1);
        if least == 0 || least > 16 || max.is_some() || min > least || part.schema.get("maxContains").is_some() {
            return Ok(None);
        }
        let mut found = item.clone();
        let schema = self.places.key(part, "contains", schema);
        found.add(&mut self.places, schema);
        let Some(found) = self.rule(found, &below(name, "contained"))? else { return Ok(Some(None)) };
        let before = Rule::sequence([rest.clone(), comma()]).group().repeat(0, None);
        let after = Rule::sequence([comma(), rest.clone()]).group().repeat(0, None);
        let one = |first: bool| {
            let lead = if first { Rule::Empty } else { comma() };
            Rule::joined([lead, before.clone(), found.clone()])
        };
        let items = (0..least).map(|number| one(number == 0)).chain([after]);
        let items = Rule::Sequence(items.collect());
        self.note_unique(all);
        Ok(Some(Some(items)))
    }

    fn note_unfollowed(&mut self, all: &All<'a>, max: Option<u64>) {
        let parts: Vec<(Part<'a>, &Value)> = all.values("contains").collect();
        for (part, schema) in parts {
            if *schema != Value::Bool(true) || part.schema.get("maxContains").is_some() {
                self.note(part.place, "contains", FidelityKind::Widened, "not followed by the grammar".to_owned());
            }
        }
        if max.is_none_or(|max| max > 1) {
            self.note_unique(all);
        }
    }

    fn note_unique(&mut self, all: &All<'a>) {
        let parts: Vec<(Part<'a>, &Value)> = all.values("uniqueItems").collect();
        for (part, value) in parts {
            if *value == Value::Bool(true) {
                self.note(part.place, "uniqueItems", FidelityKind::Widened, "not followed by the grammar".to_owned());
            }
        }
    }

    /// The first items, each by its rule, then the rest.
    fn items(&mut self, first: &[Rule], rest: Option<Rule>, min: u64, max: Option<u64>, name: &str) -> Rule {
        let count = first.len() as u64;
        if let (0, Some(rest)) = (count, &rest) {
            return listed(rest.clone(), min, max);
        }
        // From the end: the rule behind the first so many items.
        let mut behind = match rest {
            Some(rest) => {
                let more = Rule::sequence([comma(), rest]).group();
                more.repeat_or_nothing(min.saturating_sub(count), max.map(|max| max.saturating_sub(count)))
            }
            None => Rule::Empty,
        };
        for (index, item) in first.iter().enumerate().rev() {
            let lead = if index > 0 { comma() } else { Rule::Empty };
            behind = Rule::joined([lead, item.clone(), behind]);
            if index as u64 >= min {
                behind = behind.group().optional();
            }
            if index % NESTED == NESTED - 1 {
                let name: SmolStr = format_smolstr!("{name}-from-{index}");
                behind = Rule::Reference(self.builder.add(&name, behind));
            }
        }
        behind
    }
}

/// The schemas of the first items, and their keyword.
fn tuple_of(fields: &Fields) -> Option<(&'static str, &Vec<Value>)> {
    ["prefixItems", "items"].into_iter().find_map(|key| Some((key, fields.get(key)?.as_array()?)))
}

fn bracketed(inside: Rule) -> Rule {
    Rule::joined([Rule::literal("["), space(), inside, space(), Rule::literal("]")])
}

/// A repetition with commas in between.
pub(super) fn listed(item: Rule, min: u64, max: Option<u64>) -> Rule {
    if max == Some(0) {
        return Rule::Empty;
    }
    let more = Rule::sequence([comma(), item.clone()]).group();
    let more = more.repeat_or_nothing(min.saturating_sub(1), max.map(|max| max - 1));
    let items = Rule::joined([item, more]);
    if min == 0 { items.group().optional() } else { items }
}
