//! Rules for arrays.

use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

use super::conjunction::Conjunction;
use super::places::Part;
use super::{Lowering, below, comma, counted, space};
use crate::rules::Rule;
use crate::schema::Keywords;
use crate::valid;
use chatparse_base::Result;

/// The nesting of a tuple's optional ends from which on one gets a rule.
const NESTED: usize = 16;

/// The largest count of items that match `contains`.
const CONTAINED: u64 = 16;
/// The number of listed values up to which arrays without an item twice have rules, one for each
/// set of values.
const UNIQUE_VALUES: usize = 6;

/// A `contains` that asks for something.
struct Contained<'a> {
    part: Part<'a>,
    schema: &'a Value,
    least: u64,
    most: Option<u64>,
}

impl<'a> Contained<'a> {
    fn of((part, keywords): (Part<'a>, Keywords<'a>)) -> Option<Self> {
        let schema = keywords.get("contains")?;
        let least = keywords
            .number("minContains")
            .map_or(1, |count| count as u64);
        let most = keywords.number("maxContains").map(|count| count as u64);
        (least > 0 || most.is_some()).then_some(Contained {
            part,
            schema,
            least,
            most,
        })
    }
}

impl<'a> Lowering<'_, 'a> {
    /// The rule for arrays; `None` if no array fits.
    pub fn array(&mut self, all: &Conjunction<'a>, name: &str) -> Result<Option<Rule>> {
        let min = counted(all, "minItems", u64::max).unwrap_or(0);
        let max = counted(all, "maxItems", u64::min);
        let (min, mut max) = self.bounds(all, (min, max), ("minItems", "maxItems"));
        let mut first = Vec::new();
        for index in 0..self.places_before_the_rest(all) {
            let schemas = self.item_schemas(all, Some(index))?;
            let item = Conjunction::of(&mut self.places, schemas);
            match self.rule(item, &below(name, &format!("item-{index}")))? {
                Some(rule) => first.push(rule),
                // The array ends before it.
                None => {
                    max = Some(max.unwrap_or(u64::MAX).min(index as u64));
                    break;
                }
            }
        }
        let schemas = self.item_schemas(all, None)?;
        let item = Conjunction::of(&mut self.places, schemas);
        let more = max.is_none_or(|max| max > first.len() as u64);
        let rest = match more {
            true => self.rule(item.clone(), &below(name, "item"))?,
            false => None,
        };
        if rest.is_none() {
            max = Some(max.unwrap_or(u64::MAX).min(first.len() as u64));
        }
        if max.is_some_and(|max| max < min) {
            return Ok(None);
        }
        if let Some(rest) = &rest
            && first.is_empty()
        {
            if let Some(items) = self.containing(all, &item, rest, (min, max), name)? {
                return Ok(items.map(bracketed));
            }
            if let Some(items) = self.unique(all, &item, (min, max), name)? {
                return Ok(items.map(bracketed));
            }
        }
        self.note_unfollowed(all, max);
        first.truncate(max.map_or(usize::MAX, |max| max as usize));
        Ok(Some(bracketed(self.items(&first, rest, min, max, name))))
    }

    /// The number of places with schemas for single items.
    fn places_before_the_rest(&self, all: &Conjunction<'a>) -> usize {
        all.keywords()
            .map(|(_, keywords)| keywords.items().0.len())
            .max()
            .unwrap_or(0)
    }

    /// The schemas for the item at a place, or for all items after the last such place.
    fn item_schemas(
        &mut self,
        all: &Conjunction<'a>,
        index: Option<usize>,
    ) -> Result<Vec<Part<'a>>> {
        let mut schemas = Vec::new();
        for (part, keywords) in all.keywords() {
            let (first, rest) = keywords.items();
            let (listed, others) = keywords.item_keys();
            if let Some((index, schema)) = index.and_then(|index| Some((index, first.get(index)?)))
            {
                schemas.push(self.places.item(part, listed, index, schema));
            } else if let Some(schema) = rest {
                schemas.push(self.places.key(part, others, schema));
            }
        }
        schemas.extend(self.unevaluated(all, "unevaluatedItems", &|_, keywords| {
            let (first, rest) = keywords.items();
            rest.is_some() || index.is_some_and(|index| index < first.len())
        })?);
        Ok(schemas)
    }

    /// Arrays of which so many items match `contains`; `None` if there is no `contains` that a rule
    /// can express.
    fn containing(
        &mut self,
        all: &Conjunction<'a>,
        item: &Conjunction<'a>,
        rest: &Rule,
        (min, max): (u64, Option<u64>),
        name: &str,
    ) -> Result<Option<Option<Rule>>> {
        let mut contained = all.keywords().filter_map(Contained::of);
        let (Some(contained), None) = (contained.next(), contained.next()) else {
            return Ok(None);
        };
        let Contained {
            part,
            schema,
            least,
            most,
        } = contained;
        let top = most.unwrap_or(least);
        if top < least {
            return Ok(Some(None));
        }
        if top > CONTAINED || max.is_some() || min > least.max(1) {
            return Ok(None);
        }
        let between = match most {
            None => Some(rest.clone()),
            Some(_) => {
                let conditions = self.places.conditions;
                let Some(pieces) = conditions.uncontained(schema) else {
                    return Ok(None);
                };
                let mut others = Vec::new();
                for piece in pieces {
                    let mut other = item.clone();
                    let piece = self.places.piece(part, "contains", piece);
                    other.add(&mut self.places, piece);
                    self.check_all(&other)?;
                    others.extend(self.rule(other, &below(name, "other"))?);
                }
                Rule::in_group(others)
            }
        };
        let mut found = item.clone();
        let schema = self.places.key(part, "contains", schema);
        found.add(&mut self.places, schema);
        let found = self.rule(found, &below(name, "contained"))?;
        self.note_unique(all);
        // Counts down the items that matched; `behind` is the rule of what may follow so many.
        let more = between.clone().map(|other| more(other).repeat(0, None));
        let more = more.unwrap_or(Rule::Empty);
        let (mut behind, mut after_first) = (Some(more.clone()), None);
        for count in (0..top).rev() {
            let next = found.clone().zip(behind.clone());
            let next = next.map(|(found, behind)| Rule::joined([comma(), found, behind]));
            after_first = behind;
            behind = match next {
                Some(next) if count >= least => {
                    Some(Rule::joined([more.clone(), next.group().optional()]))
                }
                Some(next) => Some(Rule::joined([more.clone(), next])),
                None => (count >= least).then(|| more.clone()),
            };
        }
        let mut starts = Vec::new();
        for (first, behind) in [between.zip(behind), found.zip(after_first)]
            .into_iter()
            .flatten()
        {
            starts.push(Rule::joined([first, behind]));
        }
        let may_be_empty = least.max(min) == 0;
        Ok(Some(match Rule::in_group(starts).unwrap_or(Rule::Empty) {
            Rule::Empty => may_be_empty.then_some(Rule::Empty),
            items if may_be_empty => Some(items.group().optional()),
            items => Some(items),
        }))
    }

    /// Arrays without an item twice, where few values are listed; `None` if `uniqueItems` does not
    /// ask for it, or a rule cannot express it.
    fn unique(
        &mut self,
        all: &Conjunction<'a>,
        item: &Conjunction<'a>,
        (min, max): (u64, Option<u64>),
        name: &str,
    ) -> Result<Option<Option<Rule>>> {
        let is_asked_for = all
            .values("uniqueItems")
            .any(|(_, value)| *value == Value::Bool(true));
        if !is_asked_for || all.values("contains").next().is_some() || !item.choices.is_empty() {
            return Ok(None);
        }
        let types = self.types(item)?;
        let Some((part, values)) = self.listed(item, types) else {
            return Ok(None);
        };
        if values.len() > UNIQUE_VALUES {
            return Ok(None);
        }
        let mut distinct: Vec<&'a Value> = Vec::new();
        for value in values {
            // Numbers may be equal and written in two ways.
            if !distinct.iter().any(|known| valid::are_equal(known, value)) {
                distinct.push(value);
            }
        }
        let most = max.map_or(distinct.len(), |max| distinct.len().min(max as usize));
        if (min as usize) > most {
            return Ok(Some(None));
        }
        let mut items = Vec::with_capacity(distinct.len());
        let literals = self.literals(item);
        for (number, value) in distinct.iter().enumerate() {
            let name = below(name, &format!("item-{number}"));
            let Some(rule) = self.one_of(part, &[value], &name, literals) else {
                return Ok(None);
            };
            items.push(self.builder.refer(&name, rule));
        }
        // By the set of values so far, the full set first: the rule of what may follow.
        let mut behind = vec![Rule::Empty; 1 << items.len()];
        for there in (0..behind.len()).rev() {
            let count = there.count_ones() as usize;
            let mut branches = Vec::new();
            for (number, item) in items.iter().enumerate() {
                if there & 1 << number == 0 && count < most {
                    let lead = if count > 0 { comma() } else { Rule::Empty };
                    let rest = behind[there | 1 << number].clone();
                    branches.push(Rule::joined([lead, item.clone(), rest]));
                }
            }
            if branches.is_empty() {
                continue;
            }
            let mut next = Rule::Choice(branches).group();
            if count >= min as usize {
                next = next.optional();
            }
            if there > 0 {
                next = self.named(name, &format!("unique-{there}"), next);
            }
            behind[there] = next;
        }
        Ok(Some(Some(behind.swap_remove(0))))
    }

    fn note_unfollowed(&mut self, all: &Conjunction<'a>, max: Option<u64>) {
        for contained in all.keywords().filter_map(Contained::of) {
            self.unfollowed(contained.part.place, "contains");
        }
        if max.is_none_or(|max| max > 1) {
            self.note_unique(all);
        }
    }

    fn note_unique(&mut self, all: &Conjunction<'a>) {
        for (part, _) in all
            .values("uniqueItems")
            .filter(|(_, value)| **value == Value::Bool(true))
        {
            self.unfollowed(part.place, "uniqueItems");
        }
    }

    /// The first items, each by its rule, then the rest.
    fn items(
        &mut self,
        first: &[Rule],
        rest: Option<Rule>,
        min: u64,
        max: Option<u64>,
        name: &str,
    ) -> Rule {
        let count = first.len() as u64;
        if let (0, Some(rest)) = (count, &rest) {
            return listed(rest.clone(), min, max);
        }
        // From the end: the rule after the first so many items.
        let mut behind = match rest {
            Some(rest) => more(rest).repeat_or_nothing(
                min.saturating_sub(count),
                max.map(|max| max.saturating_sub(count)),
            ),
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
                behind = self.builder.refer(&name, behind);
            }
        }
        behind
    }
}

fn bracketed(inside: Rule) -> Rule {
    Rule::joined([
        Rule::literal("["),
        space(),
        inside,
        space(),
        Rule::literal("]"),
    ])
}

/// A comma and an item, which may be repeated.
pub fn more(item: Rule) -> Rule {
    Rule::sequence([comma(), item]).group()
}

/// A repetition with commas in between.
pub fn listed(item: Rule, min: u64, max: Option<u64>) -> Rule {
    if max == Some(0) {
        return Rule::Empty;
    }
    let more = more(item.clone()).repeat_or_nothing(min.saturating_sub(1), max.map(|max| max - 1));
    let items = Rule::joined([item, more]);
    if min == 0 {
        items.group().optional()
    } else {
        items
    }
}
