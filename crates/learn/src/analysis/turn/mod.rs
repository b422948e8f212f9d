//! Learns how any template writes an assistant's turn.
//!
//! A turn is a path through parts: reasoning, content, calls, the end. Between two parts is *glue*, text of the template.
//! The sampler renders turns with and without each part, with up to three calls, with values of all kinds; `parts` splits
//! each render, and `calls` and `edges` combine the results:
//!
//! ```text
//! <think>why</think>\nanswer <call>f{"x": 1}</call> <call>g{}</call><end>
//! ```
//! | from | glue | to |
//! | --- | --- | --- |
//! | the prompt | `<think>` | reasoning |
//! | reasoning | `</think>\n` | content |
//! | content | ` <call>` | a call: its name, its arguments, `</call>` |
//! | a call | ` <call>` | a call |
//! | a call | `<end>` | the end |
//!
//! A section's opening, a separator, the header of a message block: each is glue on an edge, so the code searches for none
//! of them. Marks around the texts of a conversation ([`Marks`]) show which text of a render is glue.
//!
//! [`Marks`]: chatparse_jinja::Marks

mod calls;
mod delimiters;
mod dropped;
mod edges;
mod glue;
mod literal;
mod nested;
mod parts;
mod prefix;
pub(super) mod sample;
mod shown;
mod stored;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::markup::{Markup, trim};
use calls::{Calls, Path};
use chatparse_base::brackets;
use chatparse_jinja::Template;
use chatparse_peg::Spacing;
pub use glue::{ANY, COUNTER};
pub use glue::{Glue, GluePiece};
use parts::{Texts, walk};
use sample::{QUESTION, REPLY, SPECIAL, Sample, SampleCall, Sampler, Words};

/// How a template writes an assistant's turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TurnFormat {
    /// What the prompt ends with where the model begins.
    pub opening: String,
    /// How reasoning is opened and closed; `None` where nothing shows any.
    pub reasoning: Option<Reasoning>,
    /// What stands between two parts, the longest glue first. Reasoning is closed by [`TurnFormat::reasoning`], a call by its form;
    /// no edge leads to reasoning.
    #[serde(deserialize_with = "stored::parts")]
    pub edges: Vec<Edge>,
    /// The ways to write a call, those with more parts first; empty where the template writes none.
    #[serde(deserialize_with = "stored::parts")]
    pub calls: Vec<CallForm>,
    /// What ends a turn, where a model may spell it out.
    pub end: Glue,
    /// What opens the messages of a conversation.
    pub delimiters: Delimiters,
    /// Texts at which a host should stop, in addition to the token that ends a turn.
    #[serde(deserialize_with = "stored::parts")]
    pub stops: Vec<String>,
    /// Whether texts of [`Encoding::Quoted`] are in single quotes, as Python prints them.
    pub single_quotes: bool,
    /// Whether they have line breaks as they are, beside escapes.
    pub raw_lines: bool,
    /// The white space in JSON; `Free` where nothing shows it, or JSON has line breaks.
    pub spacing: Spacing,
    /// Whether the names in JSON are sorted, whatever their order in a request.
    pub sorts_names: bool,
    /// Whether an argument that is null is left out.
    pub leaves_out_null: bool,
    /// Whether calls are shown only in front of a further message: the template takes a last one for the beginning of an answer.
    pub hides_last_calls: bool,
}

/// What opens messages, e.g. `<|im_start|>user`; empty where unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delimiters {
    /// A user's message.
    pub user: String,
    /// An assistant's message.
    pub assistant: String,
}

/// The text around reasoning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The marker that opens it, in the prompt or behind it; empty if there is none.
    pub start: String,
    /// Its opening behind the prompt; empty if the prompt opens it.
    pub open: Glue,
    /// Its end.
    pub close: Glue,
    /// Whether turns of the history show it.
    pub shown: bool,
    /// Whether the template writes calls before its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_calls: bool,
}

/// A step of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The part before.
    pub from: SlotKind,
    /// The glue.
    pub glue: Glue,
    /// The part behind.
    pub to: SlotKind,
}

/// A part of a turn, its beginning or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotKind {
    /// The end of the prompt, where the model begins.
    Prompt,
    /// Text of the reasoning.
    Reasoning,
    /// Text of the content.
    Content,
    /// A call.
    Call,
    /// The end of the turn.
    End,
}

/// A form of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallForm {
    /// Its pieces, from the first part to the last.
    #[serde(deserialize_with = "stored::parts")]
    pub pieces: Vec<CallPiece>,
    /// The glue that closes it.
    pub close: Glue,
}

/// The key of a JSON object that a text ends with, and its colon.
fn last_key(text: &str) -> Option<&str> {
    Some(text.trim_end().strip_suffix(':')?.trim_end().strip_suffix('"')?.rsplit_once('"')?.1)
}

/// A piece of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallPiece {
    /// Literal text or placeholders.
    Glue(Glue),
    /// The tool's name.
    Name,
    /// The call's id.
    Id,
    /// An id with the tool's name in it: `functions.f:0`.
    NamedId {
        /// The glue in front of the name.
        before: Glue,
        /// The glue behind it.
        behind: Glue,
    },
    /// All arguments as one object, JSON or Python.
    Arguments {
        /// Whether the object is JSON text in a string.
        quoted: bool,
    },
    /// The arguments one by one.
    Members(Box<Members>),
}

impl CallPiece {
    /// Whether it has the tool's name.
    pub fn is_name(&self) -> bool {
        matches!(self, CallPiece::Name | CallPiece::NamedId { .. })
    }

    /// Whether it has arguments.
    pub fn holds_arguments(&self) -> bool {
        matches!(self, CallPiece::Arguments { .. } | CallPiece::Members(_))
    }

    pub fn members(&self) -> Option<&Members> {
        if let CallPiece::Members(members) = self { Some(members) } else { None }
    }
}

/// Arguments written one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Members {
    /// The glue before the first name.
    pub first: Glue,
    /// The glue between a value's end and the next name.
    pub next: Glue,
    /// The forms of values, by kind.
    #[serde(with = "stored::slots")]
    pub slots: Vec<(ValueKind, Slot)>,
    /// The notation of arrays and objects whose slot has [`Encoding::Nested`].
    pub nested: Nested,
}

impl Members {
    /// Whether calls are written as in Python: `name(key=value)`.
    pub fn is_python(&self) -> bool {
        self.first.head().trim() == "("
    }
}

/// Arrays and objects that are not written as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Nested {
    /// Arrays.
    pub array: Option<Container>,
    /// Objects.
    pub object: Option<Container>,
}

/// An array or an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Container {
    /// The opening.
    pub open: Glue,
    /// The glue in front of each item or name.
    pub each: Glue,
    /// The glue between an item's end and the next item or name.
    pub next: Glue,
    /// The end.
    pub close: Glue,
    /// The forms of the items, or of the values behind names, by kind. Missing kinds are written like numbers.
    #[serde(with = "stored::slots")]
    pub slots: Vec<(ValueKind, Slot)>,
}

/// The form of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Slot {
    /// The glue in front of its name that depends on the value's kind.
    pub before: Glue,
    /// The glue between its name and the value.
    pub open: Glue,
    /// The end of the value.
    pub close: Glue,
    /// The encoding of a text.
    pub encoding: Encoding,
}

/// How a text is encoded among arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// Unescaped.
    #[default]
    Raw,
    /// In quotes, with JSON or Python escapes.
    Quoted,
    /// An array or object in the template's notation.
    Nested,
    /// A literal of Python, such as `True`, that JSON does not have.
    Python,
    /// Null as `none`, as some engines print it.
    Lowercase,
}

/// The kinds of values that a template may write in different forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// A string.
    Text,
    /// A number without a fraction.
    Integer,
    /// A number with a fraction.
    Number,
    /// True or false.
    Boolean,
    /// Null.
    Null,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl ValueKind {
    /// All of them.
    pub const ALL: [ValueKind; 7] = [
        ValueKind::Text,
        ValueKind::Integer,
        ValueKind::Number,
        ValueKind::Boolean,
        ValueKind::Null,
        ValueKind::Array,
        ValueKind::Object,
    ];

    fn of(value: &Value) -> ValueKind {
        match value {
            Value::String(_) => ValueKind::Text,
            Value::Number(number) if number.is_f64() => ValueKind::Number,
            Value::Number(_) => ValueKind::Integer,
            Value::Bool(_) => ValueKind::Boolean,
            Value::Null => ValueKind::Null,
            Value::Array(_) => ValueKind::Array,
            Value::Object(_) => ValueKind::Object,
        }
    }
}

impl TurnFormat {
    /// The text of each call, wherever it stands: its opening, the end that all glue in front of calls has in common; and what
    /// closes its wrapper. A call that is a JSON object begins and ends with its braces, and the markers around it are its
    /// wrapper's.
    pub fn call_frame(&self) -> (Glue, Glue) {
        let mut all = self.edges.iter().filter(|edge| edge.to == SlotKind::Call).map(|edge| edge.glue.clone());
        let first = all.next().unwrap_or_default();
        let open = all.fold(first, |open, glue| Glue::shared_end(&open, &glue));
        let wrapper = open.head().trim_end_matches(|c| c != '[' && !brackets::closes(c)).len();
        let brace = open.head()[wrapper..].find('{').map(|at| wrapper + at);
        let mut rests = self.calls.iter().map(|form| form.close.behind_braces());
        if let (Some(brace), Some(Some(rest))) = (brace, rests.next())
            && rests.all(|other| other.as_ref() == Some(&rest))
        {
            return (open.without_start(brace), rest);
        }
        // A tag around a tag is a wrapper as well.
        if let ([outer, _], Some(close)) = (&*open.marker_spans(), self.calls.first().map(|form| &form.close))
            && let [inner, _] = &*close.marker_spans()
        {
            let rest = close.without_start(inner.end);
            if self.calls.iter().all(|form| form.close.strip_suffix(&rest).is_some()) {
                return (open.without_start(outer.end).trim_start(), rest);
            }
        }
        (open.trim_start(), Glue::default())
    }

    /// The keys of the name and of the arguments, if calls are JSON objects with both.
    pub fn call_keys(&self) -> Option<[String; 2]> {
        let (open, _) = self.call_frame();
        let of = |form: &CallForm| {
            let key = |piece: &CallPiece, quote: &str| {
                let at = form.pieces.iter().position(|other| other == piece)?;
                let before = match at.checked_sub(1).map(|before| &form.pieces[before]) {
                    None => &open,
                    Some(CallPiece::Glue(glue)) => glue,
                    Some(_) => return None,
                };
                last_key(before.literal()?.strip_suffix(quote)?).map(str::to_owned)
            };
            Some([key(&CallPiece::Name, "\"")?, key(&CallPiece::Arguments { quoted: false }, "")?])
        };
        self.calls.iter().find_map(of).filter(|_| open.head().trim_start().starts_with('{'))
    }

    /// Whether a text behind `head`, what a turn begins with, has more than reasoning and content: the turn's end, a user's, a call.
    pub fn goes_past_message(&self, head: &str, text: &str) -> bool {
        let behind = |edge: &&Edge| edge.from == SlotKind::Content && edge.to != SlotKind::Content;
        let ends = self.edges.iter().filter(behind).map(|edge| &edge.glue).chain([&self.end]);
        let thought = self.reasoning.as_ref().map_or("", |reasoning| reasoning.close.head().trim());
        let ends =
            ends.filter_map(Glue::first_marker).filter(|mark| !thought.contains(mark) && !self.opening.contains(mark));
        // Where each part of a message begins so, each ends as the turn does.
        let again = |glue: &&Glue| glue.head().contains(head);
        let parts: Vec<&Glue> = self
            .edges
            .iter()
            .filter(|edge| edge.from != SlotKind::Prompt)
            .map(|edge| &edge.glue)
            .filter(again)
            .collect();
        let calls = parts.iter().filter(|glue| self.before_calls().any(|call| call == **glue));
        let calls = calls.filter_map(|glue| glue.head().rsplit(head).next()).map(str::trim);
        let marks: Vec<&str> = if parts.is_empty() { ends.collect() } else { calls.collect() };
        marks.into_iter().chain([self.delimiters.user.trim()]).any(|mark| !mark.is_empty() && text.contains(mark))
    }

    /// Whether the template writes reasoning after content.
    pub fn has_late_thoughts(&self) -> bool {
        self.edges.iter().any(|edge| edge.to == SlotKind::Reasoning)
    }

    /// Whether the name is the first part of each call, next to its marker.
    pub fn calls_begin_with_names(&self) -> bool {
        self.calls.iter().all(|form| form.pieces.first() == Some(&CallPiece::Name))
    }

    /// Whether calls are [written as in Python](Members::is_python).
    pub fn calls_are_python(&self) -> bool {
        let mut members = self.calls.iter().flat_map(|form| &form.pieces).filter_map(CallPiece::members);
        members.next().is_some_and(Members::is_python)
    }

    /// The glue in front of the first call.
    pub fn before_calls(&self) -> impl Iterator<Item = &Glue> {
        self.edges.iter().filter(|edge| edge.to == SlotKind::Call && edge.from != SlotKind::Call).map(|edge| &edge.glue)
    }

    /// The marker behind the names that calls begin with, where there may be none in front.
    pub fn marker_behind_names(&self) -> Option<&str> {
        let marked = self.before_calls().all(|glue| !glue.marker_spans().is_empty());
        let behind = match self.calls.first()?.pieces.get(1)? {
            CallPiece::Glue(glue) => glue,
            CallPiece::Members(members) => &members.first,
            _ => return None,
        };
        let marker = behind.marker_spans().into_iter().next().filter(|span| span.start == 0)?;
        (!marked && self.calls_begin_with_names()).then(|| &behind.head()[marker])
    }

    /// Whether this glue, which ends a turn, is a token that ends the output, like the one behind content is.
    pub fn is_stop(&self, glue: &Glue) -> bool {
        let token = |glue: &Glue| {
            let text = glue.head().trim();
            glue.markers().next() == Some(text)
                && text.trim_start_matches(brackets::opens).starts_with(brackets::is_bar)
        };
        let content = || self.edges.iter().filter(|edge| edge.from == SlotKind::Content && edge.to == SlotKind::End);
        token(glue) && (token(&self.end) || content().any(|edge| token(&edge.glue)))
    }
}

impl TurnFormat {
    /// Adds how calls stand behind content where the template leaves that out of their message: in a turn of their own.
    fn call_behind_turns(&mut self) {
        let of =
            |from, to| self.edges.iter().filter(move |edge| edge.from == from && edge.to == to).map(|edge| &edge.glue);
        let Some(close) = of(SlotKind::Content, SlotKind::End).next() else { return };
        let shown = of(SlotKind::Content, SlotKind::Call).next().is_some();
        // Without a marker, a call stands in a text of its own as it is.
        let bare = of(SlotKind::Prompt, SlotKind::Call).any(|glue| glue.markers().next().is_none());
        if shown || bare && self.marker_behind_names().is_none() || self.end.is_blank() && close.is_blank() {
            return;
        }
        let front = close.and(&self.end).and(&Glue::from(&*self.opening));
        let calls = of(SlotKind::Prompt, SlotKind::Call).map(|glue| front.and(glue));
        let behind = calls.map(|glue| Edge { from: SlotKind::Content, glue, to: SlotKind::Call });
        let behind: Vec<Edge> = behind.collect();
        self.edges.splice(0..0, behind);
    }
}

/// Learns how `template` writes turns, with thinking on or off. Where the renders are ambiguous, the parts that remain
/// unknown are missing.
pub fn learn(template: &Template, thinking: bool) -> TurnFormat {
    let Some(sampler) = Sampler::new(template, thinking) else { return TurnFormat::default() };
    let mut turn = parts_of(&sampler).unwrap_or_default();
    if turn.reasoning.is_none() {
        turn.reasoning = dropped::find(&sampler, template.source(), &mut turn.edges);
    }
    turn.stops.extend(closing_tag(&sampler.opening, &turn.end));
    turn.opening = sampler.opening.clone();
    let both = sampler.turn(&shape(false, true, &[TWO]));
    if both.is_some_and(|both| !both.contains(REPLY)) {
        turn.call_behind_turns();
    }
    turn.hides_last_calls = sampler.further.is_some();
    turn.delimiters = delimiters::learn(&sampler, &turn);
    turn
}

/// The end of a turn, if it closes the tag that opens the turn: a model may write it as text.
fn closing_tag(opening: &str, end: &Glue) -> Option<String> {
    let (opening, end) = (Markup::new(opening.trim_start()), trim(end.head()));
    let closes = opening.first_marker().and_then(brackets::mirrored);
    closes.filter(|closes| closes == end)
}

/// The parts of a turn and the glue between them. Returns `None` if the renders are ambiguous.
fn parts_of(sampler: &Sampler) -> Option<TurnFormat> {
    let texts = texts(sampler);
    let see = |sample: &Sample| sampler.turn(sample).and_then(|turn| walk(&turn, sample, sampler, texts));
    // A template may reject a second call, or leave it out.
    let two = || Sample { calls: vec![SampleCall::default(); 2], ..Sample::default() };
    let parallel = see(&shape(false, false, &[TWO, ONE])).or_else(|| see(&two())).is_some();
    let mut seen: Vec<(Sample, parts::Walk)> = Vec::new();
    let mut ask = |sample: Sample| {
        let walk = see(&sample);
        let found = walk.is_some();
        seen.extend(walk.map(|walk| (sample, walk)));
        found
    };
    let shapes = shapes(if parallel { 3 } else { 1 });
    for shape in shapes.into_iter().filter(|shape| shape.calls.is_empty() || !texts.unreadable) {
        ask(shape);
    }
    let values = if texts.unreadable { Vec::new() } else { values(parallel, texts.one_by_one) };
    for (together, apart) in values {
        if !ask(together) {
            for sample in apart {
                ask(sample);
            }
        }
    }
    // What has the arguments of no call is none.
    let has_arguments = |sample: &Sample| sample.calls.iter().any(|call| !call.arguments.is_empty());
    if !texts.unreadable && !seen.iter().any(|(sample, _)| has_arguments(sample)) {
        seen.retain(|(sample, _)| sample.calls.is_empty());
    }
    let whole = |sample: &Sample, walk: &parts::Walk| {
        (0..sample.calls.len()).all(|index| walk.parts.iter().any(|part| part.call == Some(index)))
    };
    let most_calls =
        seen.iter().map(|(sample, walk)| if whole(sample, walk) { sample.calls.len() } else { 0 }).max()?;
    let longest = seen.iter().find(|(sample, _)| sample.calls.len() == most_calls);
    let counter = longest.and_then(|(_, walk)| calls::counter(walk));
    let mut paths = seen.into_iter().map(|(_, walk)| Path::of(walk, counter)).collect::<Option<Vec<Path>>>()?;
    // Some templates open the next turn behind calls.
    let opening = Glue::from(&*sampler.opening);
    let next =
        opening.marker_spans().get(1).map_or(&*sampler.opening, |second| &sampler.opening[..second.start]).trim();
    // Where the prompt always opens a turn, its last marker is the opening. What ends all turns is their end.
    let asked = sampler.bare().rsplit_once(QUESTION).filter(|_| next.is_empty());
    let opens = Glue::last_marker(asked.map_or("", |(_, behind)| behind));
    let mut lasts = paths.iter().filter_map(|path| path.glue.last());
    let opens = if lasts.all(|last| last.head().contains(opens)) { "" } else { opens };
    for last in paths.iter_mut().filter_map(|path| path.glue.last_mut()) {
        let at = |opening: &str| last.head().find(opening).filter(|_| !opening.is_empty());
        let shown = at(opens).filter(|at| !last.up_to(*at).is_blank());
        if let Some(at) = at(next).or(shown) {
            *last = last.up_to(at);
        }
    }
    // The token ends a turn whatever white space follows it.
    let eos = Glue::from(sampler.template.eos());
    let mut lasts: Vec<&mut Glue> = paths.iter_mut().filter_map(|path| path.glue.last_mut()).collect();
    if !eos.is_blank() && lasts.iter().all(|last| last.trim_end().strip_suffix(&eos).is_some()) {
        let spaces = |last: &Glue| last.chars().count() - last.trim_end().chars().count();
        if lasts.iter().any(|last| spaces(last) != spaces(lasts[0])) {
            lasts.iter_mut().for_each(|last| **last = last.trim_end());
        }
    }
    let end = edges::cut_end(&mut paths)?;
    let spacing = paths.iter().flat_map(|path| &path.parts).find_map(|part| part.spacing).unwrap_or_default();
    // What a template does not write itself has the white space of who calls.
    let theirs = spacing == Spacing::COMPACT && !sampler.template.caps().object_arguments;
    let spacing = if theirs { Spacing::Free } else { spacing };
    let sorts_names = paths.iter().flat_map(|path| &path.parts).any(|part| part.is_sorted);
    let leaves_out_null = paths.iter().any(|path| path.leaves_out_null);
    let mut calls = Calls::learn(&mut paths, texts.encoding)?;
    let behind = calls.behind_one_text(&paths, &end);
    let (edges, reasoning) = edges::learn(&paths, &calls, &sampler.opening)?;
    if let Some(behind) = behind {
        calls.add_nested(|| nested::learn(sampler, &behind));
    }
    let Texts { single_quotes, raw_lines, .. } = texts;
    let turn = TurnFormat { reasoning, edges, calls: calls.forms, end, ..TurnFormat::default() };
    let mut turn = TurnFormat { single_quotes, raw_lines, spacing, sorts_names, leaves_out_null, ..turn };
    prefix::join(&mut turn);
    Some(turn)
}

/// The arguments of a call in a shape.
const TWO: &[ValueKind] = &[ValueKind::Text, ValueKind::Text];
const ONE: &[ValueKind] = &[ValueKind::Text];
const NONE: &[ValueKind] = &[];

fn shape(thinks: bool, speaks: bool, calls: &[&[ValueKind]]) -> Sample {
    let mut words = Words::default();
    let calls: Vec<_> = calls.iter().map(|kinds| words.call(kinds)).collect();
    Sample { thinks, speaks, calls, checked: false }
}

/// Turns with and without reasoning and content, with zero to three calls, with and without arguments.
fn shapes(most_calls: usize) -> Vec<Sample> {
    let mut shapes = vec![
        Sample { checked: true, ..shape(true, true, &[TWO]) },
        shape(true, true, &[]),
        shape(true, true, &[ONE, TWO]),
        shape(true, false, &[TWO]),
        shape(true, false, &[NONE]),
        shape(true, false, &[ONE, TWO]),
        shape(false, true, &[]),
        shape(false, true, &[TWO]),
        shape(false, true, &[NONE]),
        shape(false, true, &[ONE, TWO]),
        shape(false, false, &[ONE]),
        shape(false, false, &[TWO]),
        shape(false, false, &[NONE]),
        shape(false, false, &[TWO, ONE]),
        shape(false, false, &[TWO, ONE, TWO]),
        shape(false, false, &[ONE, NONE, ONE]),
    ];
    shapes.retain(|shape| shape.calls.len() <= most_calls);
    shapes
}

/// Values of each kind and a text with special characters, in front of another argument and as the last of a call: a sample
/// with several of them, and those to take instead if that one shows nothing.
fn values(parallel: bool, one_by_one: bool) -> Vec<(Sample, Vec<Sample>)> {
    let sample = |calls: Vec<SampleCall>| Sample { calls, checked: true, ..Sample::default() };
    let kinds = &ValueKind::ALL[1..];
    let mut words = Words::default();
    let every = words.call(&[kinds, ONE].concat());
    let followed = kinds.iter().map(|kind| sample(vec![Words::default().call(&[*kind, ValueKind::Text])]));
    let mut samples = vec![(sample(vec![every]), followed.collect::<Vec<_>>())];
    // One JSON value may hold any others.
    if !one_by_one {
        return samples;
    }
    let last = |kind: &ValueKind| sample(vec![Words::default().call(&[*kind])]);
    for kinds in kinds.chunks(if parallel { 3 } else { 1 }) {
        let mut words = Words::default();
        let together = sample(kinds.iter().map(|kind| words.call(&[*kind])).collect());
        let apart = if parallel { kinds.iter().map(last).collect() } else { Vec::new() };
        samples.push((together, apart));
    }
    let mut words = Words::default();
    for kinds in [TWO, ONE] {
        samples.push((sample(vec![words.special(kinds)]), Vec::new()));
    }
    samples
}

/// Finds out whether arguments are written one by one, and how a text with quotes, a backslash and a line break is written.
fn texts(sampler: &Sampler) -> Texts {
    let turn = |call: SampleCall| {
        let sample = Sample { calls: vec![call], checked: true, ..Sample::default() };
        sampler.turn(&sample).map(|turn| (turn, sample))
    };
    let mut texts = Texts::default();
    if let Some((turn, _)) = turn(Words::default().special(ONE)) {
        let span = sampler.marks.next(&turn, 0);
        let quoted = span.as_ref().and_then(|span| literal::read(turn.get(span.start.checked_sub(1)?..)?));
        let marked = sampler.marks.mark(SPECIAL);
        texts.single_quotes = span.as_ref().is_some_and(|span| turn[..span.start].ends_with('\''));
        let span = span.map_or("", |span| &turn[span]);
        if !span.is_empty() && span != marked && quoted.is_some_and(|(text, _)| text == marked) {
            texts.encoding = Encoding::Quoted;
            texts.raw_lines = span.contains('\n');
        }
    }
    match turn(Words::default().call(ONE)) {
        Some((turn, sample)) => {
            let walk = walk(&turn, &sample, sampler, texts);
            let is_key = |part: &parts::Found| part.token == parts::Token::Key;
            texts.one_by_one = walk.is_some_and(|walk| walk.parts.iter().any(is_key));
        }
        None => texts.unreadable = sampler.turn(&shape(false, false, &[ONE])).is_some(),
    }
    texts
}
