//! Learns how any template writes an assistant's turn.
//!
//! A turn is a path through parts: reasoning, content, calls, the end. Between two parts is *glue*,
//! text of the template. The sampler renders turns with and without each part, with up to three
//! calls, with values of all kinds; `parts` splits each render, and `calls` and `edges` combine the
//! results:
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
//! A section's opening, a separator, the header of a message block: each is glue on an edge, so the
//! code searches for none of them. Marks around the texts of a conversation ([`Marks`]) show which
//! text of a render is glue.
//!
//! [`Marks`]: chatparse_jinja::Marks

mod calls;
mod delimiters;
mod dropped;
mod edges;
mod glue;
mod literal;
mod named;
mod nested;
mod parts;
mod prefix;
pub(super) mod sample;
mod shown;
mod stored;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::markup::{first_marker, trim};
use calls::{Calls, Path};
use chatparse_base::brackets;
use chatparse_base::json::Spacing;
use chatparse_jinja::Template;

pub use dropped::reason_like_prompt;
pub use glue::{ANY, COUNTER, Glue, GluePiece};
pub use named::Tail;
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
    /// What stands between two parts, the longest glue first. Reasoning is closed by
    /// [`TurnFormat::reasoning`], a call by its form; no edge leads to reasoning.
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
    /// Whether calls are shown only in front of a further message: the template takes a last one
    /// for the beginning of an answer.
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

chatparse_base::names! {
    /// A part of a turn, its beginning or its end.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SlotKind {
        /// The end of the prompt, where the model begins.
        Prompt = "prompt",
        /// Text of the reasoning.
        Reasoning = "reasoning",
        /// Text of the content.
        Content = "content",
        /// A call.
        Call = "call",
        /// The end of the turn.
        End = "end",
    }
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
        if let CallPiece::Members(members) = self {
            Some(members)
        } else {
            None
        }
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
        self.first.core() == "("
    }

    /// The form of texts, or of any value where there is none.
    pub fn shown_slot(&self) -> Option<&Slot> {
        let text = self.slots.iter().find(|(kind, _)| *kind == ValueKind::Text);
        text.or(self.slots.first()).map(|(_, slot)| slot)
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
    /// The forms of the items, or of the values behind names, by kind. Missing kinds are written
    /// like numbers.
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

chatparse_base::names! {
    /// The kinds of values that a template may write in different forms.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ValueKind {
        /// A string.
        Text = "text",
        /// A number without a fraction.
        Integer = "integer",
        /// A number with a fraction.
        Number = "number",
        /// True or false.
        Boolean = "boolean",
        /// Null.
        Null = "null",
        /// An array.
        Array = "array",
        /// An object.
        Object = "object",
    }
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
    /// Adds the text between two parts of a turn, unless it is there.
    pub fn edge(&mut self, from: SlotKind, glue: &str, to: SlotKind) {
        let edge = Edge {
            from,
            glue: glue.into(),
            to,
        };
        if !self.edges.contains(&edge) {
            self.edges.push(edge);
        }
    }

    /// The pieces of all forms of calls.
    pub fn pieces(&self) -> impl Iterator<Item = &CallPiece> {
        self.calls.iter().flat_map(|form| &form.pieces)
    }

    /// Those that are arguments one by one.
    pub fn members(&self) -> impl Iterator<Item = &Members> {
        self.pieces().filter_map(CallPiece::members)
    }

    /// The glue of the edges that lead from one of these parts to this one.
    pub fn glues(
        &self,
        from: impl AsRef<[SlotKind]>,
        to: SlotKind,
    ) -> impl DoubleEndedIterator<Item = &Glue> {
        let edges = self
            .edges
            .iter()
            .filter(move |edge| edge.to == to && from.as_ref().contains(&edge.from));
        edges.map(|edge| &edge.glue)
    }

    /// The glue behind a call, whatever comes next.
    pub fn behind_calls(&self) -> impl Iterator<Item = &Glue> {
        self.edges
            .iter()
            .filter(|edge| edge.from == SlotKind::Call)
            .map(|edge| &edge.glue)
    }

    /// The text of each call, wherever it stands: its opening, the end that all glue in front of
    /// calls has in common; and what closes its wrapper. A call that is a JSON object begins and
    /// ends with its braces, and the markers around it are its wrapper's.
    pub fn call_frame(&self) -> (Glue, Glue) {
        let all = self
            .edges
            .iter()
            .filter(|edge| edge.to == SlotKind::Call)
            .map(|edge| edge.glue.clone());
        let open = all
            .reduce(|open, glue| Glue::shared_end(&open, &glue))
            .unwrap_or_default();
        let wrapper = open
            .head()
            .trim_end_matches(|c| c != '[' && !brackets::closes(c))
            .len();
        let brace = open.head()[wrapper..].find('{').map(|at| wrapper + at);
        let mut rests = self.calls.iter().map(|form| form.close.behind_braces());
        if let (Some(brace), Some(Some(rest))) = (brace, rests.next())
            && rests.all(|other| other.as_ref() == Some(&rest))
        {
            return (open.without_start(brace), rest);
        }
        // A tag around a tag is a wrapper as well.
        if let ([outer, _], Some(close)) = (
            &*open.marker_spans(),
            self.calls.first().map(|form| &form.close),
        ) && let [inner, _] = &*close.marker_spans()
        {
            let rest = close.without_start(inner.end);
            if self.calls.iter().all(|form| form.close.ends_with(&rest)) {
                return (open.without_start(outer.end).trim_start(), rest);
            }
        }
        (open.trim_start(), Glue::default())
    }

    /// The keys of the name and of the arguments, if calls are JSON objects with both.
    pub fn call_keys(&self) -> Option<[String; 2]> {
        let (open, _) = self.call_frame();
        let key = |form: &CallForm, piece: CallPiece, quote: &str| {
            let before =
                match &form.pieces[..form.pieces.iter().position(|other| *other == piece)?] {
                    [] => &open,
                    [.., CallPiece::Glue(glue)] => glue,
                    _ => return None,
                };
            let before = before
                .literal()?
                .strip_suffix(quote)?
                .trim_end()
                .strip_suffix(':')?
                .trim_end();
            Some(before.strip_suffix('"')?.rsplit_once('"')?.1.to_owned())
        };
        let keys = self.calls.iter().find_map(|form| {
            Some([
                key(form, CallPiece::Name, "\"")?,
                key(form, CallPiece::Arguments { quoted: false }, "")?,
            ])
        });
        keys.filter(|_| open.head().trim_start().starts_with('{'))
    }

    /// Whether a text behind `head`, what a turn begins with, has more than reasoning and content:
    /// the turn's end, a user's, a call.
    pub fn goes_past_message(&self, head: &str, text: &str) -> bool {
        let is_past = |mark: &str| !mark.is_empty() && text.contains(mark);
        let behind = self
            .edges
            .iter()
            .filter(|edge| edge.from == SlotKind::Content && edge.to != SlotKind::Content);
        let thought = self
            .reasoning
            .as_ref()
            .map_or("", |reasoning| reasoning.close.core());
        let mut ends = behind
            .map(|edge| &edge.glue)
            .chain([&self.end])
            .filter_map(Glue::first_marker);
        // Where each part of a message begins so, each ends as the turn does.
        let mut parts = self
            .edges
            .iter()
            .filter(|edge| edge.from != SlotKind::Prompt)
            .map(|edge| &edge.glue)
            .filter(|glue| glue.head().contains(head))
            .peekable();
        is_past(self.delimiters.user.trim())
            || match parts.peek() {
                None => ends.any(|mark| {
                    !thought.contains(mark) && !self.opening.contains(mark) && is_past(mark)
                }),
                Some(_) => parts
                    .filter(|glue| self.before_calls().any(|call| call == *glue))
                    .any(|glue| {
                        glue.head()
                            .rsplit(head)
                            .next()
                            .is_some_and(|call| is_past(call.trim()))
                    }),
            }
    }

    /// Whether the template writes reasoning after content.
    pub fn has_late_thoughts(&self) -> bool {
        self.edges.iter().any(|edge| edge.to == SlotKind::Reasoning)
    }

    /// Whether the name is the first part of each call, next to its marker.
    pub fn calls_begin_with_names(&self) -> bool {
        self.calls
            .iter()
            .all(|form| form.pieces.first() == Some(&CallPiece::Name))
    }

    /// Whether calls are [written as in Python](Members::is_python).
    pub fn calls_are_python(&self) -> bool {
        self.members().next().is_some_and(Members::is_python)
    }

    /// The glue in front of the first call.
    pub fn before_calls(&self) -> impl Iterator<Item = &Glue> {
        self.edges
            .iter()
            .filter(|edge| edge.to == SlotKind::Call && edge.from != SlotKind::Call)
            .map(|edge| &edge.glue)
    }

    /// The marker behind the names that calls begin with, where there may be none in front.
    pub fn marker_behind_names(&self) -> Option<&str> {
        let marked = self
            .before_calls()
            .all(|glue| !glue.marker_spans().is_empty());
        let behind = match self.calls.first()?.pieces.get(1)? {
            CallPiece::Glue(glue) => glue,
            CallPiece::Members(members) => &members.first,
            _ => return None,
        };
        let marker = behind
            .marker_spans()
            .into_iter()
            .next()
            .filter(|span| span.start == 0)?;
        (!marked && self.calls_begin_with_names()).then(|| &behind.head()[marker])
    }

    /// Whether this glue, which ends a turn, is a token that ends the output, like the one behind
    /// content is.
    pub fn is_stop(&self, glue: &Glue) -> bool {
        let token = |glue: &Glue| {
            let text = glue.core();
            glue.markers().next() == Some(text)
                && text
                    .trim_start_matches(brackets::opens)
                    .starts_with(brackets::is_bar)
        };
        token(glue)
            && (token(&self.end) || self.glues([SlotKind::Content], SlotKind::End).any(token))
    }

    /// Adds how calls stand behind content where the template leaves that out of their message: in
    /// a turn of their own.
    fn call_behind_turns(&mut self) {
        let Some(close) = self.glues([SlotKind::Content], SlotKind::End).next() else {
            return;
        };
        let shown = self
            .glues([SlotKind::Content], SlotKind::Call)
            .next()
            .is_some();
        let calls = || self.glues([SlotKind::Prompt], SlotKind::Call);
        // Without a marker, a call stands in a text of its own as it is.
        let bare = calls().any(|glue| glue.markers().next().is_none());
        if shown
            || bare && self.marker_behind_names().is_none()
            || self.end.is_blank() && close.is_blank()
        {
            return;
        }
        let front = close.and(&self.end).and(&Glue::from(&*self.opening));
        let behind: Vec<Edge> = calls()
            .map(|glue| Edge {
                from: SlotKind::Content,
                glue: front.and(glue),
                to: SlotKind::Call,
            })
            .collect();
        self.edges.splice(0..0, behind);
    }
}

/// Learns how `template` writes turns, with thinking on or off. Where the renders are ambiguous,
/// the parts that remain unknown are missing.
pub fn learn(template: &Template, thinking: bool) -> TurnFormat {
    let Some(sampler) = Sampler::new(template, thinking) else {
        return TurnFormat::default();
    };
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
    let closes = first_marker(opening.trim_start()).and_then(brackets::mirrored);
    closes.filter(|closes| closes == trim(end.head()))
}

/// The parts of a turn and the glue between them. Returns `None` if the renders are ambiguous.
fn parts_of(sampler: &Sampler) -> Option<TurnFormat> {
    let texts = texts(sampler);
    let see = |sample: &Sample| {
        sampler
            .turn(sample)
            .and_then(|turn| walk(&turn, sample, sampler, texts))
    };
    // A template may reject a second call, or leave it out.
    let two = || Sample {
        calls: vec![SampleCall::default(); 2],
        ..Sample::default()
    };
    let parallel = see(&shape(false, false, &[TWO, ONE]))
        .or_else(|| see(&two()))
        .is_some();
    let mut seen: Vec<(Sample, parts::Walk)> = Vec::new();
    let mut ask = |sample: Sample| {
        let walk = see(&sample);
        let found = walk.is_some();
        seen.extend(walk.map(|walk| (sample, walk)));
        found
    };
    for shape in shapes(if parallel { 3 } else { 1 }) {
        if shape.calls.is_empty() || !texts.unreadable {
            ask(shape);
        }
    }
    if !texts.unreadable {
        for (together, apart) in values(parallel, texts.one_by_one) {
            if !ask(together) {
                for sample in apart {
                    ask(sample);
                }
            }
        }
        // What has the arguments of no call is none.
        if seen
            .iter()
            .all(|(sample, _)| sample.calls.iter().all(|call| call.arguments.is_empty()))
        {
            seen.retain(|(sample, _)| sample.calls.is_empty());
        }
    }
    let most_calls = seen
        .iter()
        .map(|(sample, walk)| {
            let count = sample.calls.len();
            let whole =
                (0..count).all(|index| walk.parts.iter().any(|part| part.call == Some(index)));
            if whole { count } else { 0 }
        })
        .max()?;
    let longest = seen
        .iter()
        .find(|(sample, _)| sample.calls.len() == most_calls);
    let counter = longest.and_then(|(_, walk)| calls::counter(walk));
    let mut paths = seen
        .into_iter()
        .map(|(_, walk)| Path::of(walk, counter))
        .collect::<Option<Vec<Path>>>()?;
    // Some templates open the next turn behind calls.
    let opening = &*sampler.opening;
    let next = Glue::from(opening)
        .marker_spans()
        .get(1)
        .map_or(opening, |second| &opening[..second.start])
        .trim();
    // Where the prompt always opens a turn, its last marker is the opening. What ends all turns is
    // their end.
    let asked = sampler
        .bare()
        .rsplit_once(QUESTION)
        .filter(|_| next.is_empty());
    let opens = Glue::last_marker(asked.map_or("", |(_, behind)| behind));
    let mut lasts: Vec<&mut Glue> = paths
        .iter_mut()
        .filter_map(|path| path.glue.last_mut())
        .collect();
    let opens = if lasts.iter().all(|last| last.head().contains(opens)) {
        ""
    } else {
        opens
    };
    for last in &mut lasts {
        let at = |opening: &str| last.head().find(opening).filter(|_| !opening.is_empty());
        let shown = at(opens).filter(|at| !last.up_to(*at).is_blank());
        if let Some(at) = at(next).or(shown) {
            **last = last.up_to(at);
        }
    }
    // The token ends a turn whatever white space follows it.
    let eos = Glue::from(sampler.template.eos());
    if !eos.is_blank() && lasts.iter().all(|last| last.trim_end().ends_with(&eos)) {
        let spaces = |last: &Glue| last.chars().count() - last.trim_end().chars().count();
        if lasts.iter().any(|last| spaces(last) != spaces(lasts[0])) {
            lasts.iter_mut().for_each(|last| **last = last.trim_end());
        }
    }
    let end = edges::cut_end(&mut paths)?;
    let parts = || paths.iter().flat_map(|path| &path.parts);
    let mut spacing = parts().find_map(|part| part.spacing).unwrap_or_default();
    // What a template does not write itself has the white space of who calls.
    if spacing == Spacing::COMPACT && !sampler.template.caps().object_arguments {
        spacing = Spacing::Free;
    }
    let sorts_names = parts().any(|part| part.is_sorted);
    let leaves_out_null = paths.iter().any(|path| path.leaves_out_null);
    let mut calls = Calls::learn(&mut paths, texts.encoding)?;
    let behind = calls.behind_one_text(&paths, &end);
    let (edges, reasoning) = edges::learn(&paths, &calls, &sampler.opening)?;
    if let Some(behind) = behind {
        calls.add_nested(|| nested::learn(sampler, &behind));
    }
    let Texts {
        single_quotes,
        raw_lines,
        ..
    } = texts;
    let (calls, rest) = (calls.forms, TurnFormat::default());
    let mut turn = TurnFormat {
        reasoning,
        edges,
        calls,
        end,
        single_quotes,
        raw_lines,
        spacing,
        sorts_names,
        leaves_out_null,
        ..rest
    };
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
    Sample {
        thinks,
        speaks,
        calls,
        checked: false,
    }
}

/// Turns with and without reasoning and content, with zero to three calls, with and without
/// arguments.
fn shapes(most_calls: usize) -> Vec<Sample> {
    let calls: [(_, _, &[&[&[ValueKind]]]); 4] = [
        (true, true, &[&[TWO], &[], &[ONE, TWO]]),
        (true, false, &[&[TWO], &[NONE], &[ONE, TWO]]),
        (false, true, &[&[], &[TWO], &[NONE], &[ONE, TWO]]),
        (
            false,
            false,
            &[
                &[ONE],
                &[TWO],
                &[NONE],
                &[TWO, ONE],
                &[TWO, ONE, TWO],
                &[ONE, NONE, ONE],
            ],
        ),
    ];
    let mut shapes: Vec<Sample> = calls
        .into_iter()
        .flat_map(|(thinks, speaks, calls)| {
            calls
                .iter()
                .filter(|calls| calls.len() <= most_calls)
                .map(move |calls| shape(thinks, speaks, calls))
        })
        .collect();
    shapes[0].checked = true;
    shapes
}

/// Values of each kind and a text with special characters, in front of another argument and as the
/// last of a call: a sample with several of them, and those to take instead if that one shows
/// nothing.
fn values(parallel: bool, one_by_one: bool) -> Vec<(Sample, Vec<Sample>)> {
    let sample = |calls: Vec<SampleCall>| Sample {
        calls,
        checked: true,
        ..Sample::default()
    };
    let alone = |kinds: &[ValueKind]| sample(vec![Words::default().call(kinds)]);
    let kinds = &ValueKind::ALL[1..];
    let followed = kinds.iter().map(|kind| alone(&[*kind, ValueKind::Text]));
    let mut samples = vec![(alone(&[kinds, ONE].concat()), followed.collect())];
    // One JSON value may hold any others.
    if !one_by_one {
        return samples;
    }
    for kinds in kinds.chunks(if parallel { 3 } else { 1 }) {
        let mut words = Words::default();
        let together = sample(kinds.iter().map(|kind| words.call(&[*kind])).collect());
        let apart = kinds
            .iter()
            .filter(|_| parallel)
            .map(|kind| alone(&[*kind]))
            .collect();
        samples.push((together, apart));
    }
    let mut words = Words::default();
    samples.extend([TWO, ONE].map(|kinds| (sample(vec![words.special(kinds)]), Vec::new())));
    samples
}

/// Finds out whether arguments are written one by one, and how a text with quotes, a backslash and
/// a line break is written.
fn texts(sampler: &Sampler) -> Texts {
    let one = |call: SampleCall| Sample {
        calls: vec![call],
        checked: true,
        ..Sample::default()
    };
    let mut texts = Texts::default();
    if let Some(turn) = sampler.turn(&one(Words::default().special(ONE)))
        && let Some(span) = sampler.marks.next(&turn, 0)
    {
        let quoted = span
            .start
            .checked_sub(1)
            .and_then(|quote| literal::read(turn.get(quote..)?));
        let marked = sampler.marks.mark(SPECIAL);
        texts.single_quotes = turn[..span.start].ends_with('\'');
        let span = &turn[span];
        if !span.is_empty() && span != marked && quoted.is_some_and(|(text, _)| text == marked) {
            texts.encoding = Encoding::Quoted;
            texts.raw_lines = span.contains('\n');
        }
    }
    let sample = one(Words::default().call(ONE));
    match sampler.turn(&sample) {
        Some(turn) => {
            let parts =
                walk(&turn, &sample, sampler, texts).map_or_else(Vec::new, |walk| walk.parts);
            texts.one_by_one = parts.iter().any(|part| part.token == parts::Token::Key);
        }
        None => texts.unreadable = sampler.turn(&shape(false, false, &[ONE])).is_some(),
    }
    texts
}
