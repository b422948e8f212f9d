//! Rules for arrays.

use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

use super::all::All;
use super::places::Part;
use super::{Lowering, below, comma, counted, space};
use crate::error::Result;
use crate::grammar::builder::FidelityKind;
use crate::grammar::rule::Rule;
use crate::grammar::schema::Keywords;

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
        all.keywords().map(|(_, keywords)| keywords.items().0.len()).max().unwrap_or(0)
    }

    /// The schemas for the item at a place, or for all items behind the last such place.
    fn item_schemas(&mut self, all: &All<'a>, index: Option<usize>) -> Result<Vec<Part<'a>>> {
        let mut schemas = Vec::new();
        for (part, keywords) in all.keywords() {
            let (first, rest) = keywords.items();
            let (listed, others) = keywords.item_keys();
            if let Some((index, schema)) = index.and_then(|index| Some((index, first.get(index)?))) {
                schemas.push(self.places.item(part, listed, index, schema));
            } else if let Some(schema) = rest {
                schemas.push(self.places.key(part, others, schema));
            }
        }
        let describes = |_: Part<'a>, keywords: Keywords<'a>| {
            let (first, rest) = keywords.items();
            rest.is_some() || index.is_some_and(|index| index < first.len())
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
        let keyword = |key| part.keywords().and_then(|keywords| keywords.get(key));
        let least = keyword("minContains").and_then(Value::as_u64).unwrap_or(1);
        if least == 0 || least > 16 || max.is_some() || min > least || keyword("maxContains").is_some() {
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
