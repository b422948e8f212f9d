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
use super::skeleton::{ANSWER, CALLS, Change, RESULT, SYSTEM, Skeleton, USER, Wanted};
use super::{BOS, Case, EOS, Outcome};
use crate::chat::ChatTemplate;
use crate::proof::{ProbeSet, Thinking};
use chatparse_jinja::{SourceParts, place};

/// A finding, and edits that may mend it, likely ones first.
pub struct Suspect {
    pub finding: Finding,
    pub edits: Vec<Edit>,
}

/// An edit that may mend a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// What makes the prompt of a conversation this one.
    Prompt(Wanted),
    /// Other texts for texts: each at one place, or all of them.
    Replace(Vec<(String, String)>),
    /// A filter that changes the case of a text is too much.
    Unfilter,
    /// A loop goes over something else than the calls of a message.
    Loop,
}

/// What the rules look at.
pub struct Facts<'f> {
    pub template: &'f ChatTemplate,
    /// The source as its author wrote it.
    pub source: &'f str,
    pub parts: &'f SourceParts,
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
pub fn suspects(facts: &Facts, probes: &mut ProbeSet) -> Vec<Suspect> {
    let mut all = Vec::new();
    if let Some(skeleton) = facts.skeleton {
        let asked = Thinking::ALL.map(|thinking| probes.asked(thinking));
        let openings = asked.iter().filter_map(|asked| asked.as_ref().as_ref().ok());
        let openings: Vec<String> = openings.map(|asked| asked.prompts.opening.clone()).collect();
        pairs::pairs(facts, skeleton, &openings, &mut all);
        for skeleton in [Some(skeleton), facts.bare].into_iter().flatten() {
            let mut found = Vec::new();
            ends::ends(facts, skeleton, &openings, &mut found);
            instruction::instruction(facts, skeleton, &mut found);
            let same = |a: &Finding, b: &Finding| (a.rule, &a.subject) == (b.rule, &b.subject);
            found.retain(|new| all.iter().all(|known: &Suspect| !same(&known.finding, &new.finding)));
            all.extend(found);
        }
        opening::unopened(facts, skeleton, &openings, &mut all);
    }
    brackets::brackets(facts, probes, &mut all);
    if !facts.cases.is_empty() {
        opening::thought(facts, probes, &mut all);
        opening::other_opening(facts, probes, &mut all);
        calls::calls(facts, probes, &mut all);
        parts::parts(facts, &mut all);
    }
    tokens::unknown_tokens(facts, &mut all);
    all.sort_by_key(|suspect| suspect.finding.rule);
    all
}

impl<'f> Facts<'f> {
    /// Of one conversation.
    pub fn of(template: &'f ChatTemplate, parts: &'f SourceParts, skeleton: Option<&'f Skeleton>) -> Facts<'f> {
        let (source, special, tools) = (template.written(), template.special_tokens(), template.caps().tools);
        Facts { template, source, parts, skeleton, bare: None, cases: &[], special, tools }
    }

    fn suspect(
        &self,
        rule: Rule,
        subject: &str,
        message: String,
        shown: [(&'static str, String); 2],
        edits: Vec<Edit>,
    ) -> Suspect {
        let stem = subject.strip_suffix('>').filter(|stem| !stem.is_empty()).unwrap_or(subject);
        let texts = self.parts.texts.iter();
        let places = texts.flat_map(|text| text.text.match_indices(stem).map(move |(at, _)| text.bytes(at..at).start));
        let places = match subject.is_empty() {
            true => Vec::new(),
            false => places.map(|at| place(self.source, at)).collect(),
        };
        let shown = shown.into_iter().map(|(from, text)| Shown { from, text }).collect();
        let subject = subject.to_owned();
        Suspect { finding: Finding { rule, is_fault: true, message, subject, places, shown, patch: None }, edits }
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

/// The closer with the white space that the instruction has around it, or else the opener in the history.
fn spaced(skeleton: &Skeleton, opener: &Marker, closer: &str) -> String {
    let text = &skeleton.text;
    let found: Vec<Marker> = markers(text).into_iter().filter(|marker| marker.kind == closer).collect();
    let of_known = found.iter().map(|marker| {
        let (before, behind) = (&text[..marker.bytes.start], &text[marker.bytes.end..]);
        let lead = &before[before.trim_end().len()..];
        format!("{lead}{closer}{}", if behind.starts_with('\n') { "\n" } else { "" })
    });
    let behind = &text[opener.bytes.end..];
    let mirrored = || format!("{}{closer}", &behind[..behind.len() - behind.trim_start().len()]);
    of_known.max_by_key(String::len).unwrap_or_else(mirrored)
}

/// Where a marker should be closed: in front of what closes something around it, opens the same again or ends the turn; from
/// `flat` on in front of any marker that closes nothing inside of it.
fn closing_place(facts: &Facts, text: &str, found: &[Marker], marker: &Marker, flat: usize) -> usize {
    let mut open: Vec<&Marker> = Vec::new();
    let behind = &found[found.partition_point(|other| other.bytes.start <= marker.bytes.start)..];
    let mut place = text.len();
    for other in behind {
        let opens = closing(&other.kind).iter().any(|closing| facts.has(closing));
        let ends = || opening(&other.kind).iter().any(|opening| facts.has(opening)) || is_end(facts, other);
        if let Some(at) = closes(&open, other) {
            open.truncate(at);
        } else if opens && other.kind != marker.kind && other.bytes.start < flat {
            open.push(other);
        } else if opens || other.bytes.start >= flat || other.kind == marker.kind || other.is_closing() || ends() {
            place = other.bytes.start;
            break;
        }
    }
    marker.bytes.end.max(text[..place].trim_end().len())
}

/// Where the value in front of a place ends, with the brackets and quotes that close there.
fn behind_value(text: &str, from: usize, until: usize) -> Option<usize> {
    let value = from + text[from..until].rfind(VALUE)? + VALUE.len_utf8();
    let closes = |c: char| c.is_whitespace() || matches!(c, '}' | ']' | ')' | '"' | '\'');
    let rest = &text[value..until];
    let closed = &rest[..rest.find(|c| !closes(c)).unwrap_or(rest.len())];
    Some(value + closed.trim_end().len())
}

/// The markers that open messages: the first ones of their openings.
fn openers(facts: &Facts, skeleton: &Skeleton, openings: &[String]) -> Vec<String> {
    let text = &skeleton.text;
    let ends = |marker: &Marker| marker.is_closing() || is_end(facts, marker);
    // Behind what ends the message before it.
    let first = |glue: &[Marker]| {
        glue.iter().rposition(ends).and_then(|last| glue.get(last + 1)).map(|first| first.kind.clone())
    };
    let firsts = openings.iter().filter_map(|opening| markers(opening).into_iter().next());
    let mut openers: Vec<String> = firsts.map(|first| first.kind).collect();
    let before_user = markers(skeleton.before(USER).unwrap_or_default());
    // All roles may be opened alike.
    if before_user.iter().any(|marker| openers.contains(&marker.kind)) {
        return openers;
    }
    let last = || before_user.last().filter(|last| !ends(last)).map(|last| last.kind.clone());
    openers.extend(first(&before_user).or_else(last));
    let values = skeleton.values.first().map_or(text.len(), |(at, _)| *at);
    openers.extend(markers(&text[..values]).into_iter().find(|first| first.kind != BOS).map(|first| first.kind));
    let results = skeleton.extent(CALLS).zip(skeleton.extent(RESULT));
    let between = results.and_then(|(calls, results)| text.get(calls.end..results.start)).map(markers);
    openers.extend(between.and_then(|between| first(&between)));
    openers
}

/// A marker with the line break behind it.
fn tail(glue: &str, marker: &Marker) -> String {
    let behind = &glue[marker.bytes.end..];
    format!("{}{}", &glue[marker.bytes.clone()], if behind.starts_with('\n') { "\n" } else { "" })
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
