//! Rules for objects.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

use super::array::{listed, more};
use super::conjunction::Conjunction;
use super::not::forbidden;
use super::places::Part;
use super::values::either;
use super::{Lowering, Undeclared, below, comma, counted, space};
use crate::regular::{self, Dfa, Pattern, Spelling, StateBudget};
use crate::rules::Rule;
use crate::rules::primitive::{colon, quoted};
use chatparse_base::{Result, limits};

/// The maximum number of patterns of names that are distinguished.
const PATTERNS: usize = 8;
/// The number of states from which on an automaton is minimised.
const MINIMISED: usize = 64;
/// The maximum number of properties between which others are allowed: each such place costs an
/// engine time.
const BETWEEN: usize = 16;

/// A property with a fixed place.
struct Declared {
    pair: Rule,
    required: bool,
}

impl<'a> Lowering<'_, 'a> {
    /// The rule for objects; `None` if no object fits.
    pub fn object(&mut self, all: &Conjunction<'a>, name: &SmolStr) -> Result<Option<Rule>> {
        let required: Vec<&'a str> =
            unique(all.keywords().flat_map(|(_, keywords)| keywords.required()));
        let names = unique(
            all.members("properties")
                .map(|(_, name, _)| name)
                .chain(required.iter().copied()),
        );
        let is_required: HashSet<&str> = required.into_iter().collect();
        let taken: Vec<&'a str> = all
            .values("not")
            .filter_map(|(part, not)| forbidden(not, part.draft))
            .collect();
        let closed = self.is_closed(all);
        let each = all.parts.len() + all.members("patternProperties").count();
        let mut declared = Vec::new();
        for property in &names {
            self.spend(each + property.len())?;
            let mut schemas = self.schemas_of(all, property)?;
            schemas.never |= taken.contains(property) || !self.may_be_named(all, property);
            schemas.never |= closed && schemas.undescribed && !is_required.contains(property);
            // Each schema is compared with the others.
            self.spend(schemas.parts.len() * schemas.parts.len() / 8)?;
            let value = Conjunction::of(&mut self.places, schemas.parts);
            let value = if schemas.never {
                None
            } else {
                self.rule(value, &below(name, property))?
            };
            let required = is_required.contains(property);
            match value {
                None if required => return Ok(None),
                None => {}
                Some(value) => {
                    let key = either(&Value::from(*property), self.literals(all));
                    declared.push((
                        property,
                        Declared {
                            pair: pair(key, value),
                            required,
                        },
                    ));
                }
            }
        }
        let absent = unique(names.iter().copied().chain(taken));
        let others = if closed {
            None
        } else {
            self.others(all, &absent, name)?
        };
        let is_open = others.is_some();
        let others = others.map(|others| {
            // What may be there under a condition only has no place of its own where others have
            // none.
            let fixed = all
                .members("properties")
                .filter(|(part, ..)| !part.is_conditional);
            let fixed: HashSet<&str> = fixed.map(|(_, name, _)| name).collect();
            let (ordered, free): (Vec<_>, Vec<_>) =
                std::mem::take(&mut declared).into_iter().partition(
                    |(name, one): &(&&str, Declared)| one.required || fixed.contains(**name),
                );
            declared = ordered;
            if free.is_empty() {
                return others;
            }
            let pairs = [others]
                .into_iter()
                .chain(free.into_iter().map(|(_, one)| one.pair));
            self.named(name, "other-kv", Rule::Choice(pairs.collect()))
        });
        if declared.len() > 1 || is_open && !declared.is_empty() {
            self.note_order(all, is_open);
        }
        // A pair that is used twice gets a rule.
        let first_required = declared
            .iter()
            .position(|(_, one)| one.required)
            .unwrap_or(declared.len());
        let min = counted(all, "minProperties", u64::max).unwrap_or(0);
        let max = counted(all, "maxProperties", u64::min);
        if max.is_some_and(|max| max < min) {
            return Ok(None);
        }
        let counts = self.counts(all, &declared, is_open, min, max);
        let mut properties = Vec::with_capacity(declared.len());
        for (index, (property, one)) in declared.into_iter().enumerate() {
            let once = counts.is_none() && (index > first_required || index == 0);
            let pair = match once {
                true => one.pair,
                false => {
                    let name = format_smolstr!("{}-kv", below(name, property));
                    self.builder.refer(&name, one.pair)
                }
            };
            properties.push(Declared { pair, ..one });
        }
        let inside = match (properties.is_empty(), others, counts) {
            (true, None, _) if min > 0 => return Ok(None),
            (true, None, _) => Rule::Empty,
            (true, Some(others), _) => {
                let (min, max) = self.bounds(all, (min, max), ("minProperties", "maxProperties"));
                listed(others, min, max)
            }
            (false, others, Some((min, max))) => {
                match self.counted_members(&properties, others, min, max, name) {
                    Some(members) => members,
                    None => return Ok(None),
                }
            }
            (false, others, None) => self.members(&properties, others, min > 0, name),
        };
        let end = Rule::literal("}");
        let inside = if inside == Rule::Empty {
            end
        } else {
            Rule::sequence([inside, space(), end])
        };
        Ok(Some(Rule::joined([Rule::literal("{"), space(), inside])))
    }

    /// Whether properties that the schema does not mention are left out although it allows them.
    fn is_closed(&mut self, all: &Conjunction<'a>) -> bool {
        let opening = [
            "additionalProperties",
            "unevaluatedProperties",
            "patternProperties",
        ];
        if self.undeclared != Undeclared::LeftOut
            || opening
                .into_iter()
                .any(|key| all.values(key).next().is_some())
        {
            return false;
        }
        let Some((part, _)) = all.values("properties").next() else {
            return false;
        };
        let message = "properties that are not declared are left out";
        self.narrowed(part.place, "properties", message);
        true
    }

    fn note_order(&mut self, all: &Conjunction<'a>, is_open: bool) {
        let mut keys = ["properties", "required"].into_iter();
        let Some((part, key)) = keys.find_map(|key| Some((all.values(key).next()?.0, key))) else {
            return;
        };
        let others = if is_open {
            ", others before, behind or, where there are few, between them"
        } else {
            ""
        };
        self.narrowed(
            part.place,
            key,
            &format!("properties are written in this order{others}"),
        );
    }

    /// The schemas of a property's value.
    fn schemas_of(&mut self, all: &Conjunction<'a>, name: &'a str) -> Result<Schemas<'a>> {
        let mut found = Schemas {
            parts: Vec::new(),
            never: false,
            undescribed: true,
        };
        let mut describing: Vec<_> = Vec::new();
        for (part, keywords) in all.keywords() {
            let mut own = false;
            if let Some(schema) = keywords
                .get("properties")
                .and_then(|schemas| schemas.get(name))
            {
                found
                    .parts
                    .push(self.places.named(part, "properties", name, schema));
                own = true;
            }
            for (pattern, schema) in keywords.map("patternProperties") {
                if self
                    .pattern(pattern, part)
                    .is_none_or(|dfa| dfa.accepts(name))
                {
                    found.parts.push(
                        self.places
                            .named(part, "patternProperties", pattern, schema),
                    );
                    own = true;
                }
            }
            let additional = keywords.get("additionalProperties");
            if own || additional.is_some() {
                describing.push(part.key());
            }
            match additional {
                Some(schema) if !own => {
                    found
                        .parts
                        .push(self.places.key(part, "additionalProperties", schema))
                }
                _ => {}
            }
            found.undescribed &= !own;
        }
        found
            .parts
            .extend(self.unevaluated(all, "unevaluatedProperties", &|part, _| {
                describing.contains(&part.key())
            })?);
        Ok(found)
    }

    /// The automaton of a pattern of names.
    fn pattern(&mut self, source: &'a str, part: Part<'a>) -> Option<Rc<Dfa>> {
        if let Some(known) = self.patterns.get(source) {
            return known.clone();
        }
        let dfa = Pattern::parse(source)
            .ok()
            .and_then(|pattern| regular::automaton(&pattern, &self.room));
        let dfa = dfa.map(|dfa| Rc::new(dfa.minimal_up_to(MINIMISED, &self.room)));
        if dfa.is_none() {
            let message =
                format!("the pattern {source:?} is not supported; any name is taken to match");
            self.widened(part.place, "patternProperties", &message);
        }
        self.patterns.insert(source, dfa.clone());
        dfa
    }

    /// Whether `propertyNames` allows a name.
    fn may_be_named(&mut self, all: &Conjunction<'a>, name: &str) -> bool {
        let name = Value::from(name);
        let allows = all
            .values("propertyNames")
            .all(|(part, schema)| self.checker.allows(schema, part.base, &name));
        if self.checker.is_spent()
            && let Some((part, _)) = all.values("propertyNames").next()
        {
            self.widened(
                part.place,
                "propertyNames",
                "too many names to check all of them",
            );
        }
        allows
    }

    /// A pair of a name other than `names` and its value; `None` if there are no others.
    fn others(
        &mut self,
        all: &Conjunction<'a>,
        names: &[&'a str],
        name: &SmolStr,
    ) -> Result<Option<Rule>> {
        let patterns: Vec<_> = all.members("patternProperties").collect();
        if patterns.len() > PATTERNS {
            let message = "too many patterns for a grammar; other properties may have any value";
            self.widened(patterns[0].0.place, "patternProperties", message);
            let Some(key) = self.other_name(None, names, name) else {
                return Ok(None);
            };
            let value = self.share(all, "value");
            return Ok(Some(self.named(name, "other-kv", pair(key, value))));
        }
        let mut allowed: Option<Dfa> = None;
        for (part, schema) in all.values("propertyNames") {
            let part = self.places.key(part, "propertyNames", schema);
            let schemas = Conjunction::of(&mut self.places, [part]);
            if schemas.never {
                return Ok(None);
            }
            if let Some(own) = self.names(&schemas)? {
                allowed = both(allowed, own, &self.room);
            }
            if !schemas.choices.is_empty() {
                self.widened(part.place, "", "alternatives are not followed for names");
            }
        }
        let languages: Vec<Option<Rc<Dfa>>> = patterns
            .iter()
            .map(|(part, pattern, _)| self.pattern(pattern, *part))
            .collect();
        let mut branches = Vec::new();
        for index in 0..=patterns.len() {
            let mut schemas = Vec::new();
            for (part, keywords) in all.keywords() {
                let matched = patterns
                    .get(index)
                    .filter(|(of, ..)| of.key() == part.key());
                match (matched, keywords.get("additionalProperties")) {
                    (Some((_, pattern, schema)), _) => {
                        schemas.push(
                            self.places
                                .named(part, "patternProperties", pattern, schema),
                        );
                    }
                    (None, Some(schema)) => {
                        schemas.push(self.places.key(part, "additionalProperties", schema))
                    }
                    (None, None) => {}
                }
            }
            let of = patterns.get(index).map(|(of, ..)| of.key());
            schemas.extend(
                self.unevaluated(all, "unevaluatedProperties", &|part, keywords| {
                    keywords.has("additionalProperties") || of == Some(part.key())
                })?,
            );
            self.spend(schemas.len() * schemas.len() / 8)?;
            let value = Conjunction::of(&mut self.places, schemas);
            if value.never {
                continue;
            }
            // Names that match this pattern and no other; last, names that match none.
            let mut language = allowed.clone();
            for (other, dfa) in languages.iter().enumerate() {
                let Some(dfa) = dfa else { continue };
                let own = if other == index {
                    (**dfa).clone()
                } else {
                    dfa.complement()
                };
                if other == index && allowed.is_none() && languages.len() == 1 {
                    language = Some(own);
                    continue;
                }
                language = both(language, own, &self.room);
            }
            if language.as_ref().is_some_and(Dfa::accepts_nothing) {
                continue;
            }
            let key = self.other_name(language, names, name);
            let Some(key) = key else { continue };
            let part = if index < patterns.len() {
                format!("matching-{index}")
            } else {
                "other".to_owned()
            };
            let Some(value) = self.rule(value, &below(name, &part))? else {
                continue;
            };
            branches.push(pair(key, value));
        }
        if branches.len() > 2 {
            let message = "names that several of the patterns match are left out";
            self.narrowed(patterns[0].0.place, "patternProperties", message);
        }
        Ok(Rule::one_of_several(branches).map(|pair| self.named(name, "other-kv", pair)))
    }

    /// A rule of its own, with a part appended to the name.
    pub fn named(&mut self, name: &str, part: &str, rule: Rule) -> Rule {
        self.builder.refer(&below(name, part), rule)
    }

    /// The rule of a quoted name of the language that is not in `names`; `None` if there is none.
    fn other_name(
        &mut self,
        mut language: Option<Dfa>,
        names: &[&'a str],
        name: &str,
    ) -> Option<Rule> {
        if language.is_none() && !names.is_empty() {
            let mut names = names.to_vec();
            chatparse_base::sort::sort(&mut names);
            let body = regular::none_of(self.builder, &names);
            return Some(self.named(name, "other-name", quoted(body)));
        }
        let taken = names
            .iter()
            .copied()
            .filter(|name| language.as_ref().is_none_or(|dfa| dfa.accepts(name)));
        let taken: Vec<&str> = taken.collect();
        if !taken.is_empty() {
            language = both(
                language,
                Dfa::of_texts(taken).complement(),
                &self.room.wider(4),
            );
        }
        let Some(dfa) = language else {
            return Some(self.builder.shared("string"));
        };
        if dfa.accepts_nothing() {
            return None;
        }
        let body = regular::of_automaton(
            self.builder,
            &below(name, "other-name"),
            &dfa,
            Spelling::JsonString,
        );
        Some(self.named(name, "other-name", quoted(body)))
    }

    /// The bounds on the number of properties that need counting. Reports those that cannot be
    /// counted.
    fn counts(
        &mut self,
        all: &Conjunction<'a>,
        declared: &[(&&'a str, Declared)],
        is_open: bool,
        min: u64,
        max: Option<u64>,
    ) -> Option<(u64, Option<u64>)> {
        if declared.is_empty() {
            return None;
        }
        let required = declared.iter().filter(|(_, one)| one.required).count() as u64;
        let max = max.filter(|max| is_open || *max < declared.len() as u64);
        // A minimum of one needs no counting.
        if min <= required.max(1) && max.is_none() {
            return None;
        }
        let states = (declared.len() as u64 + 1).saturating_mul(max.unwrap_or(min) + 1);
        if states <= limits::AUTOMATON_STATES as u64 {
            return Some((min, max));
        }
        for key in ["minProperties", "maxProperties"] {
            self.widened_all(all, key, "too large for a grammar; not followed");
        }
        None
    }

    /// Properties in order, with others before and after them, and between them if there are few.
    /// From the first required property on, the rest does not depend on earlier properties.
    fn members(
        &mut self,
        declared: &[Declared],
        others: Option<Rule>,
        some: bool,
        name: &str,
    ) -> Rule {
        let first = declared.iter().position(|one| one.required);
        let last_head = first.unwrap_or(declared.len() - 1);
        let before = others
            .clone()
            .map(|other| Rule::sequence([other, comma()]).group().repeat(0, None));
        let behind_any = others.clone().map(|other| more(other).repeat(0, None));
        let between = if declared.len() <= BETWEEN {
            behind_any.clone()
        } else {
            None
        };
        let next_of = |one: &Declared| {
            let next = Rule::joined(between.iter().cloned().chain([comma(), one.pair.clone()]));
            if one.required {
                next
            } else {
                next.group().optional()
            }
        };
        let tail = declared[last_head + 1..]
            .iter()
            .map(next_of)
            .chain(behind_any);
        let mut behind = Rule::joined(tail);
        let mut heads = Vec::new();
        for (index, one) in declared[..=last_head].iter().enumerate().rev() {
            // The rule of all that follows this property, whatever precedes it.
            if index < last_head
                || index > 0 && behind != Rule::Empty && !matches!(behind, Rule::Reference(_))
            {
                behind = self.named(name, &format!("rest-{}", index + 1), behind);
            }
            heads.push(Rule::joined([one.pair.clone(), behind.clone()]));
            behind = Rule::joined([next_of(one), behind]);
        }
        heads.reverse();
        let heads = Rule::in_group(heads);
        let mut head = Rule::joined(before.into_iter().chain(heads));
        if first.is_none()
            && let Some(others) = others
        {
            head = Rule::Choice(vec![head, listed(others, 1, None)]).group();
        }
        match first.is_none() && !some {
            true if matches!(head, Rule::Group(..)) => head.optional(),
            true => head.group().optional(),
            false => head,
        }
    }

    /// Like `members`, counting properties; `None` if no object fits.
    fn counted_members(
        &mut self,
        declared: &[Declared],
        others: Option<Rule>,
        min: u64,
        max: Option<u64>,
        name: &str,
    ) -> Option<Rule> {
        // Without an upper bound, the count does not matter above the lower bound.
        let most = max.unwrap_or(min);
        // Indexed by the count of properties so far: the rule of what may follow.
        let mut behind: Vec<Option<Rule>> = Vec::new();
        for count in 0..=most {
            let left = max.map(|max| max - count);
            let missing = min.saturating_sub(count);
            behind.push(match &others {
                None => (missing == 0).then_some(Rule::Empty),
                Some(others) if count == 0 => Some(listed(others.clone(), missing, left)),
                Some(others) => Some(more(others.clone()).repeat_or_nothing(missing, left)),
            });
        }
        for (index, one) in declared.iter().enumerate().rev() {
            let mut before = Vec::new();
            for count in 0..=most {
                let with = match max == Some(count) {
                    true => None,
                    false => behind[(count + 1).min(most) as usize].clone(),
                };
                let pair = match count {
                    0 => one.pair.clone(),
                    _ => Rule::sequence([comma(), one.pair.clone()]),
                };
                let with = with.map(|rest| Rule::joined([pair, rest]));
                let without = match one.required {
                    true => None,
                    false => behind[count as usize].clone(),
                };
                let rule = match (with, without) {
                    (Some(with), Some(Rule::Empty)) => Some(with.group().optional()),
                    (Some(with), Some(without)) => Some(Rule::choice([with, without])),
                    (with, without) => with.or(without),
                };
                let named = rule.map(|rule| match rule {
                    rule @ (Rule::Empty | Rule::Reference(_)) => rule,
                    rule => self.named(name, &format!("rest-{index}-{count}"), rule),
                });
                before.push(named);
            }
            behind = before;
        }
        behind.swap_remove(0)
    }
}

/// What both accept; only the first if that is too large.
fn both(known: Option<Dfa>, own: Dfa, room: &StateBudget) -> Option<Dfa> {
    match known {
        None => Some(own),
        Some(known) => known.and(&own, room).or(Some(known)),
    }
}

struct Schemas<'a> {
    parts: Vec<Part<'a>>,
    never: bool,
    /// No part has a schema for this very property.
    undescribed: bool,
}

/// The distinct names, in the order of their first occurrence.
fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// A name and its value.
fn pair(key: Rule, value: Rule) -> Rule {
    Rule::Sequence([key].into_iter().chain(colon()).chain([value]).collect())
}
