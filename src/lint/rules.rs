//! The rules: what the template's own text says in one place, against what it says in another.
//!
//! No rule knows a template. Markers pair by their shape and by what the source has; a format is what the history writes.

mod brackets;
mod calls;
mod ends;
mod instruction;
mod opening;
mod pairs;
mod parts;
mod tokens;

use super::finding::{Finding, Rule, Shown};
use super::marker::{Marker, VALUE, closing, markers, opening};
use super::skeleton::{ANSWER, CALLS, RESULT, SYSTEM, Skeleton, USER};
use super::{BOS, Case, EOS, Outcome};
use crate::chat::ChatTemplate;
use crate::proof::{ProbeSet, Thinking};
use chatparse_jinja::{SourceParts, place};

/// What the rules look at.
pub struct Facts<'f> {
    pub template: &'f ChatTemplate,
    /// The source as its author wrote it.
    pub source: &'f str,
    pub parts: SourceParts,
    pub skeleton: Option<&'f Skeleton>,
    /// The skeleton without a system message, where the template then tells the model more.
    pub bare: Option<&'f Skeleton>,
    pub cases: &'f [Case],
    /// The special tokens of the model's vocabulary; empty where unknown.
    pub special: &'f [String],
    /// Whether the template takes tools.
    pub tools: bool,
}

/// All findings, in the order of the rules.
pub fn findings(facts: &Facts, probes: &mut ProbeSet) -> Vec<Finding> {
    let mut all = Vec::new();
    if let Some(skeleton) = facts.skeleton {
        let asked = Thinking::ALL.map(|thinking| probes.asked(thinking));
        let openings = asked.iter().filter_map(|asked| asked.as_ref().as_ref().ok());
        let openings: Vec<String> = openings.map(|asked| asked.prompts.opening.text.clone()).collect();
        pairs::pairs(facts, skeleton, &openings, &mut all);
        for skeleton in [Some(skeleton), facts.bare].into_iter().flatten() {
            let mut found = Vec::new();
            ends::ends(facts, skeleton, &openings, &mut found);
            instruction::instruction(facts, skeleton, &mut found);
            let same = |a: &Finding, b: &Finding| (a.rule, &a.subject) == (b.rule, &b.subject);
            found.retain(|new| all.iter().all(|known: &Finding| !same(known, new)));
            all.extend(found);
        }
        opening::unopened(facts, skeleton, &openings, &mut all);
    }
    brackets::brackets(facts, probes, &mut all);
    opening::thought(facts, probes, &mut all);
    opening::other_opening(facts, probes, &mut all);
    calls::calls(facts, probes, &mut all);
    parts::parts(facts, &mut all);
    tokens::unknown_tokens(facts, &mut all);
    all.sort_by_key(|finding| finding.rule);
    all
}

impl<'f> Facts<'f> {
    pub fn of(
        template: &'f ChatTemplate,
        skeleton: Option<&'f Skeleton>,
        bare: Option<&'f Skeleton>,
        cases: &'f [Case],
    ) -> Facts<'f> {
        let (source, special, tools) = (template.written(), template.special_tokens(), template.caps().tools);
        let parts = SourceParts::of(source);
        Facts { template, source, parts, skeleton, bare, cases, special, tools }
    }

    fn finding(&self, rule: Rule, subject: &str, message: String, shown: [(&'static str, String); 2]) -> Finding {
        let stem = subject.strip_suffix('>').filter(|stem| !stem.is_empty()).unwrap_or(subject);
        let texts = self.parts.texts.iter();
        let places = texts.flat_map(|text| text.text.match_indices(stem).map(move |(at, _)| text.place(at)));
        let places = match subject.is_empty() {
            true => Vec::new(),
            false => places.map(|at| place(self.source, at)).collect(),
        };
        let shown = shown.into_iter().map(|(from, text)| Shown { from, text }).collect();
        let subject = subject.to_owned();
        Finding { rule, is_fault: true, message, subject, places, shown }
    }

    /// Whether the template has a marker of this kind, whatever its attributes.
    fn has(&self, kind: &str) -> bool {
        let stem = kind.strip_suffix('>').unwrap_or(kind);
        let names = |text: &str| {
            text.match_indices(stem)
                .any(|(at, _)| !text[at + stem.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        self.parts.texts.iter().any(|text| names(&text.text))
            || self.skeleton.is_some_and(|skeleton| names(&skeleton.text))
    }
}

/// The last open marker that this one closes.
fn closes(open: &[&Marker], marker: &Marker) -> Option<usize> {
    open.iter().rposition(|open| closing(&open.kind).contains(&marker.kind))
}

/// The markers that open messages: the first ones of their openings.
fn openers(facts: &Facts, skeleton: &Skeleton, openings: &[String]) -> Vec<String> {
    let text = &skeleton.text;
    let ends = |marker: &Marker| marker.is_closing() || is_end(facts, marker);
    let firsts = openings.iter().filter_map(|opening| markers(opening).into_iter().next());
    let mut openers: Vec<String> = firsts.map(|first| first.kind).collect();
    let before_user = markers(skeleton.before(USER).unwrap_or_default());
    // All roles may be opened alike.
    if before_user.iter().any(|marker| openers.contains(&marker.kind)) {
        return openers;
    }
    let last = || before_user.last().filter(|last| !ends(last)).map(|last| last.kind.clone());
    openers.extend(after_last(&before_user, ends).or_else(last));
    let values = skeleton.values.first().map_or(text.len(), |(at, _)| *at);
    openers.extend(markers(&text[..values]).into_iter().find(|first| first.kind != BOS).map(|first| first.kind));
    let Some((calls, results)) = skeleton.extent(CALLS).zip(skeleton.extent(RESULT)) else { return openers };
    // Neither a marker between two calls nor one that ends an answer opens a result.
    let mut others = markers(&text[calls.clone()]);
    let behind = skeleton.behind(ANSWER).map(markers).unwrap_or_default();
    let next = behind.iter().position(|marker| openers.contains(&marker.kind)).unwrap_or(0);
    others.extend(behind.into_iter().take(next));
    let between = text.get(calls.end..results.start).map(markers).unwrap_or_default();
    let is_other = |marker: &Marker| ends(marker) || others.iter().any(|other| other.kind == marker.kind);
    openers.extend(after_last(&between, is_other));
    openers
}

/// The marker after the last one of a kind.
fn after_last(glue: &[Marker], is_of_kind: impl Fn(&Marker) -> bool) -> Option<String> {
    let last = glue.iter().rposition(is_of_kind)?;
    glue.get(last + 1).map(|first| first.kind.clone())
}

/// Whether a marker ends something by itself, and opens nothing that closes.
fn is_end(facts: &Facts, marker: &Marker) -> bool {
    let kind = marker.kind.to_lowercase();
    let mut words = kind.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let only = words.clone().count() == 1;
    let says = words.any(|word| {
        matches!(word, "end" | "eot" | "eom" | "eos" | "s") || only && matches!(word, "call" | "calls" | "return")
    });
    says && closing(&marker.kind).iter().all(|closing| !facts.has(closing))
}

/// A text around a place.
fn around(text: &str, at: usize) -> String {
    const CHARS: usize = 40;
    let before: Vec<char> = text[..at].chars().rev().take(CHARS).collect();
    before.into_iter().rev().chain(text[at..].chars().take(CHARS)).collect()
}
