//! Splits a render of a turn into its parts and the glue between them.

use std::ops::Range;

use serde_json::Value;

use super::glue::Glue;
use super::literal;
use super::sample::{NAMES, REPLY, Sample, SampleCall, Sampler, THOUGHT};
use super::{
    Encoding,
    ValueKind::{self, Object, Text},
};
use chatparse_base::json::Spacing;
use chatparse_base::limits::VALUE_STARTS;
use chatparse_base::sort;
use chatparse_jinja::Marks;

/// A part of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Token {
    Reasoning,
    Content,
    Id,
    /// An id with the name in it.
    NamedId,
    Name,
    /// All arguments of a call as one value: an object, or a quoted string with its text.
    Arguments {
        quoted: bool,
    },
    Key,
    Value(ValueKind),
}

/// The place of a part.
#[derive(Clone, Debug)]
pub struct Found {
    pub token: Token,
    /// The index of its call.
    pub call: Option<usize>,
    /// How it is written, if it is no text.
    pub encoding: Encoding,
    /// The white space in it, if it is JSON that shows that.
    pub spacing: Option<Spacing>,
    /// It is JSON with its names sorted, which a sample's are not.
    pub is_sorted: bool,
    span: Range<usize>,
}

/// The white space in a JSON value, as far as it shows any after its colons and commas.
fn spacing_of(json: &str) -> Option<Spacing> {
    let spaced = |sign: &str| json.split_once(sign).map(|(_, rest)| rest.starts_with(' '));
    if json.contains('\n') {
        return Some(Spacing::Free);
    }
    let (comma, colon) = (spaced("\",")?, spaced("\":")?);
    Some(Spacing::Fixed { comma, colon })
}

/// A turn, split: the parts in order, and the gap before each and after the last one.
#[derive(Clone, Debug)]
pub struct Walk {
    pub parts: Vec<Found>,
    pub gaps: Vec<Gap>,
    /// Whether an argument that is null is in no part.
    pub leaves_out_null: bool,
}

/// The text between two parts.
#[derive(Clone, Debug)]
pub struct Gap {
    text: String,
    /// The names of the call and of the argument before the gap.
    name: String,
    key: String,
    /// The indices of the calls before it and after it, from 0; the same within a call.
    calls: [usize; 2],
}

impl Gap {
    /// `counter`: the number of the first call, if the template counts calls.
    pub fn glue(&self, counter: Option<usize>) -> Option<Glue> {
        let counters = counter.map(|first| self.calls.map(|index| first + index));
        Glue::new(&self.text, &self.name, &self.key, counters)
    }
}

/// How arguments are written, as far as known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Texts {
    pub encoding: Encoding,
    /// Whether its quotes are single ones.
    pub single_quotes: bool,
    /// Whether a line break in it is not escaped.
    pub raw_lines: bool,
    /// Each with its name, so that braces without names are text of the template.
    pub one_by_one: bool,
    /// What marks do to a text changes the call, e.g. its length before it.
    pub unreadable: bool,
}

/// Splits a turn. Returns `None` if a part cannot be separated from the text around it.
pub fn walk(turn: &str, sample: &Sample, sampler: &Sampler, texts: Texts) -> Option<Walk> {
    let ids = (0..sample.calls.len())
        .map(|index| SampleCall::id(sampler.template, index))
        .collect();
    let mut finder = Finder {
        turn,
        marks: &sampler.marks,
        ids,
        texts,
        parts: Vec::new(),
        leaves_out_null: false,
    };
    if sample.thinks {
        finder.text(Token::Reasoning, THOUGHT);
    }
    if sample.speaks {
        finder.text(Token::Content, REPLY);
    }
    let mut from = 0;
    for (index, call) in sample.calls.iter().enumerate() {
        let next = (index + 1 < sample.calls.len())
            .then(|| turn.find(SampleCall::name(index + 1)))
            .flatten();
        from = finder.call(index, call, from, next.unwrap_or(turn.len()))?;
    }
    finder.finish()
}

struct Finder<'a> {
    turn: &'a str,
    marks: &'a Marks,
    ids: Vec<String>,
    texts: Texts,
    parts: Vec<Found>,
    leaves_out_null: bool,
}

impl Finder<'_> {
    fn add(&mut self, token: Token, call: Option<usize>, span: Range<usize>) -> usize {
        let end = span.end;
        let text = &self.turn[span.clone()];
        let other = matches!(token, Token::Value(kind) if kind != Text);
        let encoding = match text {
            "none" if other => Encoding::Lowercase,
            "True" | "False" | "None" if other => Encoding::Python,
            _ if other && text.contains('\'') => Encoding::Python,
            _ => Encoding::default(),
        };
        let spacing = matches!(
            token,
            Token::Arguments { quoted: false } | Token::Value(Object)
        );
        let is_sorted = spacing
            && text
                .find(NAMES[1])
                .is_some_and(|first| text.find(NAMES[0]) > Some(first));
        let spacing = spacing.then(|| spacing_of(text)).flatten();
        self.parts.push(Found {
            token,
            call,
            encoding,
            spacing,
            is_sorted,
            span,
        });
        end
    }

    /// Reasoning or content, if the template renders it.
    fn text(&mut self, token: Token, text: &str) {
        let marked = self.marks.mark(text);
        if let Some(at) = self.turn.find(&marked) {
            self.add(token, None, at..at + marked.len());
        }
    }

    /// Finds the parts of a call that begins at `from` or later; the next call's name is at `next`.
    /// Returns the end of its last part.
    fn call(&mut self, index: usize, call: &SampleCall, from: usize, next: usize) -> Option<usize> {
        let name = SampleCall::name(index);
        let at = from + self.turn[from..].find(name)?;
        let id = &self.ids[index];
        let start = self.turn[from..].find(id).map(|start| from + start);
        let id = start.map(|start| start..start + id.len());
        let mut end = match id {
            Some(id) if id.contains(&at) => self.add(Token::NamedId, Some(index), id),
            id => {
                let end = self.add(Token::Name, Some(index), at..at + name.len());
                id.map_or(end, |id| end.max(self.add(Token::Id, Some(index), id)))
            }
        };
        // An empty object may belong to any call: it follows the name, unless all arguments are
        // before it.
        let all = call.object();
        let object = if self.texts.one_by_one {
            None
        } else if call.arguments.is_empty() {
            let behind = self.object(&all, at + name.len(), next);
            behind.or_else(|| self.object(&all, from, at))
        } else {
            self.object(&all, from, next)
        };
        if let Some((span, quoted)) = object {
            return Some(end.max(self.add(Token::Arguments { quoted }, Some(index), span)));
        }
        let mut keys: Vec<(usize, &str, &Value)> = Vec::new();
        for (key, value) in &call.arguments {
            match self.turn[from..].find(key) {
                Some(at) => keys.push((from + at, key, value)),
                // A template may leave out a null.
                None if value.is_null() => self.leaves_out_null = true,
                None => return None,
            }
        }
        sort::by_key(&mut keys, |(at, ..)| *at);
        for (nth, &(at, key, value)) in keys.iter().enumerate() {
            let behind = self.add(Token::Key, Some(index), at..at + key.len());
            let limit = keys.get(nth + 1).map_or(next.max(behind), |(at, ..)| *at);
            let kind = ValueKind::of(value);
            let span = self.value(value, behind, limit)?;
            end = end.max(self.add(Token::Value(kind), Some(index), span));
        }
        Some(end)
    }

    /// All arguments as one value.
    fn object(&self, arguments: &Value, from: usize, next: usize) -> Option<(Range<usize>, bool)> {
        let marked = self.marks.mark_all(arguments);
        let starts = self.turn[from..].match_indices(['{', '"', '\'']);
        // The words of a later call differ, but an empty object may belong to any call.
        let starts = starts
            .map(|(at, _)| from + at)
            .take_while(|at| *at < next || marked != json!({}));
        for at in starts.take(VALUE_STARTS) {
            let Some((value, length)) = literal::read(&self.turn[at..]) else {
                continue;
            };
            let span = at..at + length;
            // Objects in Python's notation are split member by member.
            let quoted = value != marked;
            let json = match &value {
                Value::String(text) => text,
                _ if quoted => continue,
                _ => &self.turn[span.clone()],
            };
            if serde_json::from_str::<Value>(json).is_ok_and(|value| value == marked) {
                return Some((span, quoted));
            }
        }
        None
    }

    /// The value of an argument between the end of its name and `limit`.
    fn value(&self, value: &Value, from: usize, limit: usize) -> Option<Range<usize>> {
        let marked = self.marks.mark_all(value);
        if value.is_string() {
            let span = self.marks.next(self.turn, from)?;
            if span.end > limit {
                return None;
            }
            if self.texts.encoding != Encoding::Quoted {
                return (self.turn[span.clone()] == marked).then_some(span);
            }
            let start = span.start.checked_sub(1)?;
            let (text, length) = literal::read(self.turn.get(start..)?)?;
            return (text == marked).then_some(start..start + length);
        }
        let region = &self.turn[from..limit];
        let (start, length) = if value.is_array() || value.is_object() {
            let mut starts = region.match_indices(['[', '{']).take(VALUE_STARTS);
            starts.find_map(|(start, _)| {
                let (read, length) = literal::read(&region[start..])?;
                (read == marked).then_some((start, length))
            })?
        } else {
            let json = value.to_string();
            let spellings: &[&str] = match value {
                Value::Bool(true) => &[&json, "True"],
                Value::Bool(false) => &[&json, "False"],
                Value::Null => &[&json, "None", "none"],
                _ => &[&json],
            };
            // An attribute before the value may have the same text.
            let places = spellings.iter();
            let places = places.filter_map(|text| Some((region.rfind(text)?, text.len())));
            places.max_by_key(|(start, _)| *start)?
        };
        Some(from + start..from + start + length)
    }

    /// The parts in order with the gaps between them. Returns `None` if two parts overlap, a value
    /// occurs twice, or the parts of a call are not adjacent.
    fn finish(mut self) -> Option<Walk> {
        sort::by_key(&mut self.parts, |part| part.span.start);
        let mut gaps = Vec::with_capacity(self.parts.len() + 1);
        let (mut at, mut name, mut key, mut calls) = (0, "", "", [0; 2]);
        let mut seen: Option<usize> = None;
        for part in &self.parts {
            if let Some(index) = part.call {
                // Calls are in order, each in one piece.
                if seen.is_some_and(|last| index < last || index > last + 1)
                    || seen.is_none() && index > 0
                {
                    return None;
                }
                calls[1] = index;
            }
            gaps.push(self.gap(at..part.span.start, name, key, calls)?);
            calls[0] = calls[1];
            if part.call != seen {
                (name, key) = ("", "");
            }
            seen = part.call.or(seen);
            let text = &self.turn[part.span.clone()];
            match part.token {
                Token::Name => name = text,
                Token::NamedId => name = SampleCall::name(calls[1]),
                Token::Key => key = text,
                _ => {}
            }
            at = part.span.end;
        }
        gaps.push(self.gap(at..self.turn.len(), name, key, calls)?);
        let mut threes = self.parts.windows(3);
        let apart = threes.any(|parts| {
            let call = parts[0].call;
            call.is_some() && call == parts[2].call && call != parts[1].call
        });
        (!apart).then_some(Walk {
            parts: self.parts,
            gaps,
            leaves_out_null: self.leaves_out_null,
        })
    }

    fn gap(&self, span: Range<usize>, name: &str, key: &str, calls: [usize; 2]) -> Option<Gap> {
        let text = self.turn.get(span)?;
        // A second occurrence of a value is not glue.
        if self.marks.in_text(text) || self.ids.iter().any(|id| text.contains(id)) {
            return None;
        }
        let [text, name, key] = [text, name, key].map(str::to_owned);
        Some(Gap {
            text,
            name,
            key,
            calls,
        })
    }
}
