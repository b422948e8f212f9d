//! Rules for strings: lengths, patterns, formats.

use serde_json::Value;

use super::conjunction::Conjunction;
use super::not::{excluded, not_matching};
use super::places::Place;
use super::{Lowering, Writing, counted, format};
use crate::formats::automaton::{Automaton, Texts};
use crate::regular::{self, Dfa, Expr, LazyAutomaton, Pattern, Spelling, Unusable};
use crate::rules::primitive::{quoted, single_quoted};
use crate::rules::{Builder, Rule};
use crate::schema::refused;
use chatparse_base::chars::Chars;
use chatparse_base::{Result, limits};
use chatparse_peg::{Literals, Notation};
use smol_str::SmolStr;

/// The constraints on a string.
#[derive(Default)]
struct Text<'a> {
    /// Each with its place and keyword.
    patterns: Vec<(Pattern, Place, &'static str)>,
    /// Patterns that must not match, with their places.
    not: Vec<(Pattern, Place)>,
    excluded: Vec<&'a str>,
    min: u64,
    max: Option<u64>,
}

impl<'a> Lowering<'_, 'a> {
    /// The rule for strings; `None` if no string fits.
    pub fn string(&mut self, all: &Conjunction<'a>, name: &str) -> Result<Option<Rule>> {
        let mut text = self.text(all)?;
        if text.max.is_some_and(|max| max < text.min) {
            return Ok(None);
        }
        let is_plain = text.patterns.is_empty() && text.not.is_empty() && text.excluded.is_empty();
        if all.is_outer && self.writing.notation == Notation::Text {
            if is_plain && (text.min, text.max) == (0, None) {
                return Ok(Some(self.writing.any.clone()));
            }
            let free = Dfa::of(&Within::new(self.writing), &self.room);
            let within = match free {
                Some(free) if is_plain => {
                    let counted = free.of_length(text.min, text.max, &self.room);
                    if counted.is_none() {
                        self.note_lengths(all);
                    }
                    counted
                }
                Some(free) => self.automaton(&text, all, Some(free)),
                None => None,
            };
            return Ok(match within {
                Some(dfa) if dfa.accepts_nothing() => None,
                Some(dfa) => {
                    let body = self.plain(name, &dfa);
                    Some(self.closed(body))
                }
                None => Some(self.writing.any.clone()),
            });
        }
        if is_plain {
            let (min, max) = self.bounds(all, (text.min, text.max), ("minLength", "maxLength"));
            if (min, max) == (0, None) {
                return Ok(Some(self.share(all, "string")));
            }
            return Ok(Some(self.in_quotes(all, |builder, spelling| {
                regular::characters(builder, &Chars::all(), spelling).repeat_or_nothing(min, max)
            })));
        }
        if let ([(pattern, ..)], true) = (
            &mut text.patterns[..],
            text.not.is_empty() && text.excluded.is_empty(),
        ) {
            // A length that the pattern implies, or that one of its counts can express, needs no
            // counting.
            if fits(pattern, text.min, text.max)
                && regular::of_pattern(self.builder, pattern, Spelling::JsonString).is_some()
            {
                return Ok(Some(self.in_quotes(all, |builder, spelling| {
                    regular::of_pattern(builder, pattern, spelling).unwrap_or(Rule::Empty)
                })));
            }
        }
        Ok(match self.automaton(&text, all, None) {
            Some(dfa) if dfa.accepts_nothing() => None,
            Some(dfa) => Some(self.in_quotes(all, |builder, spelling| {
                regular::of_automaton(builder, name, &dfa, spelling)
            })),
            None => {
                // Using one pattern is better than none.
                let first = text.patterns.first().map(|(pattern, ..)| pattern);
                Some(self.in_quotes(all, |builder, spelling| {
                    let body =
                        first.and_then(|pattern| regular::of_pattern(builder, pattern, spelling));
                    body.unwrap_or_else(|| {
                        regular::characters(builder, &Chars::all(), spelling).repeat(0, None)
                    })
                }))
            }
        })
    }

    /// A body in all quotes that a string may have here.
    pub fn in_quotes(
        &mut self,
        all: &Conjunction<'a>,
        mut body: impl FnMut(&mut Builder, Spelling) -> Rule,
    ) -> Rule {
        let double = quoted(body(self.builder, Spelling::JsonString));
        if self.literals(all) != Literals::Python {
            return double;
        }
        Rule::choice([
            double,
            single_quoted(body(self.builder, Spelling::SingleQuoted)),
        ])
        .group()
    }

    /// The rule of what an automaton accepts, as it is.
    pub fn plain(&mut self, name: &str, dfa: &Dfa) -> Rule {
        regular::of_automaton(self.builder, name, dfa, Spelling::Plain)
    }

    /// A text, and what ends it.
    pub fn closed(&self, text: Rule) -> Rule {
        let end = self.writing.ends[0].first().filter(|_| self.writing.closed);
        let end = end.map_or(Rule::Empty, |end| Rule::Literal(end.clone()));
        Rule::joined([text.into_part(), end])
    }

    /// The automaton of all constraints together, and of what is given. If it is too large, reports
    /// that and returns `None`.
    fn automaton(
        &mut self,
        text: &Text<'a>,
        all: &Conjunction<'a>,
        given: Option<Dfa>,
    ) -> Option<Dfa> {
        let mut whole: Option<Dfa> = given;
        let not = text
            .not
            .iter()
            .map(|(pattern, place)| (pattern, *place, "not", false));
        let all_patterns = text
            .patterns
            .iter()
            .map(|(pattern, place, key)| (pattern, *place, *key, true))
            .chain(not);
        for (pattern, place, key, matches) in all_patterns {
            let own = regular::automaton(pattern, &self.room);
            let own = own.map(|own| if matches { own } else { own.complement() });
            let both = match (&whole, own) {
                (_, None) => None,
                (None, own) => own,
                (Some(whole), Some(own)) => whole.and(&own, &self.room),
            };
            match both {
                Some(both) => whole = Some(both),
                None => self.widened(place, key, "too large for a grammar; not followed"),
            }
        }
        if !text.excluded.is_empty() {
            let others = Dfa::of_texts(text.excluded.iter().copied()).complement();
            whole = match whole {
                None => Some(others),
                Some(whole) => whole.and(&others, &self.room),
            };
        }
        let whole = whole?;
        if (text.min, text.max) == (0, None) {
            return Some(whole);
        }
        match whole.of_length(text.min, text.max, &self.room) {
            Some(counted) => Some(counted),
            None => {
                self.note_lengths(all);
                Some(whole)
            }
        }
    }

    /// Notes that the lengths of a text are not followed.
    fn note_lengths(&mut self, all: &Conjunction<'a>) {
        for part in &all.parts {
            for key in ["minLength", "maxLength"] {
                if part.schema.get(key).is_some() {
                    let message =
                        "too large for a grammar beside what else the text is; not followed";
                    self.widened(part.place, key, message);
                }
            }
        }
    }

    /// The names of properties that these schemas allow; `None` if any is allowed or a constraint
    /// cannot be used.
    pub fn names(&mut self, all: &Conjunction<'a>) -> Result<Option<Dfa>> {
        let listed = all.keywords().find_map(|(_, keywords)| keywords.listed());
        if let Some(listed) = listed {
            return Ok(Some(Dfa::of_texts(listed.iter().filter_map(Value::as_str))));
        }
        let mut text = self.text(all)?;
        if text.patterns.is_empty() && text.not.is_empty() {
            if (text.min, text.max) == (0, None) {
                return Ok(None);
            }
            let any = Pattern {
                expr: Expr::nothing(),
                ahead: Vec::new(),
                pinned: false,
            };
            text.patterns
                .push((any, all.parts[0].place, "propertyNames"));
        }
        Ok(self.automaton(&text, all, None))
    }

    fn text(&mut self, all: &Conjunction<'a>) -> Result<Text<'a>> {
        let mut text = Text {
            min: counted(all, "minLength", u64::max).unwrap_or(0),
            max: counted(all, "maxLength", u64::min),
            ..Text::default()
        };
        for (part, keywords) in all.keywords() {
            if let Some(Value::String(source)) = keywords.get("pattern") {
                match Pattern::parse(source) {
                    // Every text matches.
                    Ok(pattern) if pattern.expr == Expr::nothing() && pattern.ahead.is_empty() => {}
                    Ok(pattern) => {
                        if pattern.pinned {
                            let message =
                                "it looks ahead without ^; texts match from their start on";
                            self.narrowed(part.place, "pattern", message);
                        }
                        text.patterns.push((pattern, part.place, "pattern"));
                    }
                    Err(Unusable::Unsupported(why)) => {
                        let message = format!(
                            "pattern {source:?} is not supported ({why}); any string is allowed"
                        );
                        self.widened(part.place, "pattern", &message);
                    }
                    Err(Unusable::Invalid(why)) => {
                        let message =
                            format!("pattern {source:?} is not a regular expression: {why}");
                        return Err(refused(&self.places.pointer(part.place), &message));
                    }
                }
            }
            if let Some(Value::String(name)) = keywords.get("format")
                && let Some((source, known)) = format::pattern(name)
            {
                if known == format::Known::Wider {
                    let message = format!(
                        "the grammar of {name:?} allows a little more than the format does"
                    );
                    self.widened(part.place, "format", &message);
                }
                if known == format::Known::Narrower {
                    self.narrowed(part.place, "format", "leap seconds are written in UTC only");
                }
                if self.places.format_annotates(part) {
                    let message =
                        "the format is held to, which this draft only asks of who opts in";
                    self.narrowed(part.place, "format", message);
                }
                text.patterns.extend(
                    Pattern::parse(&source)
                        .ok()
                        .map(|pattern| (pattern, part.place, "format")),
                );
            }
            if let Some(not) = keywords.get("not") {
                let listed = excluded(not, part.draft);
                text.excluded.extend(listed.into_iter().flatten());
                let pattern = not_matching(not, part.draft);
                text.not
                    .extend(pattern.map(|pattern| (pattern, part.place)));
            }
        }
        Ok(text)
    }

    /// Adjusts bounds for llama.cpp's reader, which rejects large lower bounds and treats large
    /// upper ones as infinite.
    pub fn bounds(
        &mut self,
        all: &Conjunction<'a>,
        (min, max): (u64, Option<u64>),
        keys: (&'static str, &'static str),
    ) -> (u64, Option<u64>) {
        let most = limits::GBNF_REPETITIONS;
        if min > most {
            self.widened_all(
                all,
                keys.0,
                &format!("lowered to {most}, the most that engines count"),
            );
        }
        if max.is_some_and(|max| max > most) {
            self.widened_all(
                all,
                keys.1,
                &format!("engines count no further than {most}; not followed"),
            );
        }
        (min.min(most), max.filter(|max| *max <= most))
    }
}

/// The texts without an end in them. Where the end is part of the rule, it is the first one in text
/// and end together.
pub struct Within<'m> {
    ends: Texts,
    close: Option<&'m str>,
}

impl<'m> Within<'m> {
    pub fn new(writing: &Writing<'m>) -> Within<'m> {
        let close = writing.ends[0]
            .first()
            .filter(|_| writing.closed)
            .map(SmolStr::as_str);
        Within {
            ends: Texts::new(Automaton::new(writing.ends[0], writing.ends[1]), false),
            close,
        }
    }
}

impl LazyAutomaton for Within<'_> {
    type State = usize;

    fn start(&self) -> usize {
        0
    }

    fn moves(&self, state: &usize) -> Vec<(Chars, usize)> {
        self.ends.moves(state)
    }

    fn accepts(&self, state: &usize) -> bool {
        self.close
            .is_none_or(|close| self.ends.automaton.ends_with(*state, close))
    }
}

/// Whether the pattern implies the length. May change one count of the pattern for that.
fn fits(pattern: &mut Pattern, min: u64, max: Option<u64>) -> bool {
    if (min, max) == (0, None) {
        return true;
    }
    // Only a pattern with both anchors fixes the length of the text.
    let Expr::Sequence(parts) = &mut pattern.expr else {
        return false;
    };
    let [Expr::Start, body @ .., Expr::End] = &mut parts[..] else {
        return false;
    };
    if body.iter().any(Expr::has_anchor) || !pattern.ahead.is_empty() {
        return false;
    }
    let (least, most) = Expr::width_of(body);
    if min <= least && max.is_none_or(|max| most.is_some_and(|most| most <= max)) {
        return true;
    }
    // All parts but one have a fixed length, and that one repeats single characters.
    let fixed: u64 = body
        .iter()
        .map(Expr::width)
        .filter(|(least, most)| Some(*least) == *most)
        .map(|(least, _)| least)
        .sum();
    let mut free = body
        .iter_mut()
        .filter(|part| part.width().1 != Some(part.width().0));
    match (free.next(), free.next()) {
        (Some(Expr::Repeat(inner, low, high)), None) if inner.width() == (1, Some(1)) => {
            let from = min.saturating_sub(fixed).max(u64::from(*low));
            let to = max
                .map(|max| max.saturating_sub(fixed))
                .into_iter()
                .chain(high.map(u64::from))
                .min();
            let possible = max.is_none_or(|max| max >= fixed) && to.is_none_or(|to| to >= from);
            if possible {
                *low = from.min(u64::from(u32::MAX)) as u32;
                *high = to.map(|to| to.min(u64::from(u32::MAX)) as u32);
            }
            possible
        }
        _ => false,
    }
}
