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
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::markup::{first_marker, trim};
use calls::{Calls, Path};
use chatparse_base::brackets;
use chatparse_base::json::Spacing;
use chatparse_jinja::Template;

use SlotKind::{Call, Content, End, Prompt};
pub use dropped::reason_like_prompt;
pub use glue::{ANY, COUNTER, Glue, GluePiece};
pub use named::Tail;
use parts::{Texts, Walk, walk};
use sample::{QUESTION, REPLY, SPECIAL, Sample, SampleCall, Sampler, Words};

/// How a template writes an assistant's turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TurnFormat {
    /// What the prompt ends with where the model begins.
    pub opening: String,
    /// How reasoning is opened and closed; `None` where nothing shows any.
    pub reasoning: Option<Reasoning>,
    /// What is between two parts, the longest glue first. Reasoning is closed by
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
    /// Whether calls are shown only before a further message: the template takes a last one
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
    /// The marker that opens it, in the prompt or after it; empty if there is none.
    pub start: String,
    /// Its opening after the prompt; empty if the prompt opens it.
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
    /// The part after.
    pub to: SlotKind,
}

impl Edge {
    pub fn new(from: SlotKind, glue: Glue, to: SlotKind) -> Edge {
        Edge { from, glue, to }
    }
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
        /// The glue before the name.
        before: Glue,
        /// The glue after it.
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
        match self {
            CallPiece::Members(members) => Some(members),
            _ => None,
        }
    }
}

impl CallForm {
    /// The key of a JSON member whose value is this piece, with `quote` before the value. `open`:
    /// the glue before the call.
    fn key_before(&self, piece: &CallPiece, quote: &str, open: &Glue) -> Option<String> {
        let place = self.pieces.iter().position(|other| other == piece)?;
        let glue = match &self.pieces[..place] {
            [] => open,
            [.., CallPiece::Glue(glue)] => glue,
            _ => return None,
        };
        let text = glue.literal()?.strip_suffix(quote)?;
        let key = json_key(text)?;
        Some(text[key].to_owned())
    }
}

/// Where a text that ends with a JSON key, its quotes and its colon has the key.
pub fn json_key(text: &str) -> Option<std::ops::Range<usize>> {
    let quoted = text.trim_end().strip_suffix(':')?.trim_end();
    let key = quoted.strip_suffix('"')?;
    Some(key.rfind('"')? + 1..key.len())
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
        let text = slots_of(&self.slots, ValueKind::Text).next();
        text.or(self.slots.first().map(|(_, slot)| slot))
    }
}

/// The slots for values of a kind.
pub fn slots_of(
    slots: &[(ValueKind, Slot)],
    kind: ValueKind,
) -> impl DoubleEndedIterator<Item = &Slot> {
    let own = slots.iter().filter(move |(known, _)| *known == kind);
    own.map(|(_, slot)| slot)
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
    /// The glue before each item or name.
    pub each: Glue,
    /// The glue between an item's end and the next item or name.
    pub next: Glue,
    /// The end.
    pub close: Glue,
    /// The forms of the items, or of the values after names, by kind. Missing kinds are written
    /// like numbers.
    #[serde(with = "stored::slots")]
    pub slots: Vec<(ValueKind, Slot)>,
}

/// The form of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Slot {
    /// The glue before its name that depends on the value's kind.
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

impl Slot {
    /// Whether it has a text as it is.
    pub fn is_raw(&self) -> bool {
        self.encoding == Encoding::Raw
    }
}

impl ValueKind {
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
        let edge = Edge::new(from, glue.into(), to);
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
        let edges = self.edges.iter();
        let edges = edges.filter(move |edge| edge.to == to && from.as_ref().contains(&edge.from));
        edges.map(|edge| &edge.glue)
    }

    /// The text of the first glue from one part to another; empty if there is none.
    pub fn text_between(&self, from: SlotKind, to: SlotKind) -> &str {
        self.glues([from], to).next().map_or("", Glue::head)
    }

    /// The glue after such a part, whatever comes next.
    pub fn behind(&self, from: SlotKind) -> impl Iterator<Item = &Glue> {
        let edges = self.edges.iter().filter(move |edge| edge.from == from);
        edges.map(|edge| &edge.glue)
    }

    /// The text of each call, wherever it is: its opening, the end that all glue before
    /// calls has in common; and what closes its wrapper. A call that is a JSON object begins and
    /// ends with its braces, and the markers around it are its wrapper's.
    pub fn call_frame(&self) -> (Glue, Glue) {
        let edges = self.edges.iter().filter(|edge| edge.to == Call);
        let open = edges
            .map(|edge| edge.glue.clone())
            .reduce(|open, glue| Glue::shared_end(&open, &glue))
            .unwrap_or_default();
        let wrapper = open
            .head()
            .trim_end_matches(|c| c != '[' && !brackets::closes(c))
            .len();
        // A JSON object.
        if let Some(brace) = open.head()[wrapper..].find('{') {
            let mut rests = self.calls.iter().map(|form| form.close.behind_braces());
            if let Some(Some(rest)) = rests.next()
                && rests.all(|other| other.as_ref() == Some(&rest))
            {
                return (open.without_start(wrapper + brace), rest);
            }
        }
        // A tag around a tag is a wrapper as well.
        if let [outer, _] = &*open.marker_spans()
            && let Some(close) = self.calls.first().map(|form| &form.close)
            && let [inner, _] = &*close.marker_spans()
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
        if !open.begins_with("{") {
            return None;
        }
        self.calls.iter().find_map(|form| {
            Some([
                form.key_before(&CallPiece::Name, "\"", &open)?,
                form.key_before(&CallPiece::Arguments { quoted: false }, "", &open)?,
            ])
        })
    }

    /// Whether a text after `head`, what a turn begins with, has more than reasoning and content:
    /// the turn's end, a user's, a call.
    pub fn goes_past_message(&self, head: &str, text: &str) -> bool {
        let is_past = |mark: &str| !mark.is_empty() && text.contains(mark);
        if is_past(self.delimiters.user.trim()) {
            return true;
        }
        // Where each part of a message begins with `head`, each ends as the turn does.
        let later = self
            .edges
            .iter()
            .filter(|edge| edge.from != Prompt && edge.glue.head().contains(head));
        let mut parts = later.map(|edge| &edge.glue).peekable();
        if parts.peek().is_some() {
            let mut calls = parts.filter(|glue| self.before_calls().any(|call| call == *glue));
            return calls.any(|glue| {
                glue.head()
                    .rsplit(head)
                    .next()
                    .is_some_and(|call| is_past(call.trim()))
            });
        }
        let thought = self.reasoning.as_ref();
        let thought = thought.map_or("", |reasoning| reasoning.close.core());
        let edges = self.edges.iter();
        let after = edges.filter(|edge| edge.from == Content && edge.to != Content);
        let mut marks = after
            .map(|edge| &edge.glue)
            .chain([&self.end])
            .filter_map(Glue::first_marker);
        marks.any(|mark| !thought.contains(mark) && !self.opening.contains(mark) && is_past(mark))
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

    /// The glue before the first call.
    pub fn before_calls(&self) -> impl Iterator<Item = &Glue> {
        self.glues([Prompt, SlotKind::Reasoning, Content], Call)
    }

    /// The marker after the names that calls begin with, where there may be none in front.
    pub fn marker_behind_names(&self) -> Option<&str> {
        let after = match self.calls.first()?.pieces.get(1)? {
            CallPiece::Glue(glue) => glue,
            CallPiece::Members(members) => &members.first,
            _ => return None,
        };
        let first = after.marker_spans().into_iter().next()?;
        let marked = self
            .before_calls()
            .all(|glue| !glue.marker_spans().is_empty());
        let applies = first.start == 0 && !marked && self.calls_begin_with_names();
        applies.then(|| &after.head()[first])
    }

    /// Whether this glue, which ends a turn, is a token that ends the output, like the one after
    /// content is.
    pub fn is_stop(&self, glue: &Glue) -> bool {
        let mut after_content = self.glues([Content], End);
        glue.is_token() && (self.end.is_token() || after_content.any(Glue::is_token))
    }

    /// Adds how calls stand after content where the template leaves that out of their message: in
    /// a turn of their own.
    fn call_behind_turns(&mut self) {
        let Some(close) = self.glues([Content], End).next() else {
            return;
        };
        let shown = self.glues([Content], Call).next().is_some();
        // Without a marker, a call in a text of its own is that text.
        let bare = self
            .glues([Prompt], Call)
            .any(|glue| glue.markers().next().is_none());
        if shown
            || bare && self.marker_behind_names().is_none()
            || self.end.is_blank() && close.is_blank()
        {
            return;
        }
        let front = close.and(&self.end).and(&Glue::from(&*self.opening));
        let calls = self.glues([Prompt], Call);
        let calls = calls.map(|glue| Edge::new(Content, front.and(glue), Call));
        let calls: Vec<Edge> = calls.collect();
        self.edges.splice(0..0, calls);
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
    let walks = walks(sampler, texts);
    let counter = calls::counter(longest(&walks)?);
    let paths = walks.into_iter().map(|(_, walk)| Path::of(walk, counter));
    let mut paths = paths.collect::<Option<Vec<Path>>>()?;
    cut_next_turn(&mut paths, sampler);
    trim_after_token(&mut paths, sampler.template.eos());
    let end = edges::cut_end(&mut paths)?;
    let parts = || paths.iter().flat_map(|path| &path.parts);
    let mut spacing = parts().find_map(|part| part.spacing).unwrap_or_default();
    // A template that gets arguments as text has the white space of its caller.
    if spacing == Spacing::COMPACT && !sampler.template.caps().object_arguments {
        spacing = Spacing::Free;
    }
    let sorts_names = parts().any(|part| part.is_sorted);
    let leaves_out_null = paths.iter().any(|path| path.leaves_out_null);
    let mut calls = Calls::learn(&mut paths, texts.encoding)?;
    let after_text = calls.behind_one_text(&paths, &end);
    let (edges, reasoning) = edges::learn(&paths, &calls, &sampler.opening)?;
    if let Some(after_text) = after_text {
        calls.add_nested(|| nested::learn(sampler, &after_text));
    }
    let mut turn = TurnFormat {
        reasoning,
        edges,
        calls: calls.forms,
        end,
        single_quotes: texts.single_quotes,
        raw_lines: texts.raw_lines,
        spacing,
        sorts_names,
        leaves_out_null,
        ..TurnFormat::default()
    };
    prefix::join(&mut turn);
    Some(turn)
}

/// Renders all samples that show glue. Those whose parts are found, with their parts.
fn walks(sampler: &Sampler, texts: Texts) -> Vec<(Sample, Walk)> {
    let mut walks = Vec::new();
    // A template may reject a second call, or leave it out.
    let two = Sample::of_calls(vec![SampleCall::default(); 2]);
    let parallel = see(sampler, texts, shape(false, false, &[TWO, ONE])).is_some()
        || see(sampler, texts, two).is_some();
    for shape in shapes(if parallel { 3 } else { 1 }) {
        if shape.calls.is_empty() || !texts.unreadable {
            walks.extend(see(sampler, texts, shape));
        }
    }
    if texts.unreadable {
        return walks;
    }
    for (together, apart) in values(parallel, texts.one_by_one) {
        let seen = see(sampler, texts, together);
        if seen.is_none() {
            for sample in apart {
                walks.extend(see(sampler, texts, sample));
            }
        }
        walks.extend(seen);
    }
    // Calls without arguments alone may be anything.
    let mut calls = walks.iter().flat_map(|(sample, _)| &sample.calls);
    if calls.all(|call| call.arguments.is_empty()) {
        walks.retain(|(sample, _)| sample.calls.is_empty());
    }
    walks
}

/// A sample with its parts, if they are found.
fn see(sampler: &Sampler, texts: Texts, sample: Sample) -> Option<(Sample, Walk)> {
    let walk = walk(&sampler.turn(&sample)?, &sample, sampler, texts)?;
    Some((sample, walk))
}

/// The first turn with the most calls of which a render shows all.
fn longest(walks: &[(Sample, Walk)]) -> Option<&Walk> {
    let most = walks.iter().map(|(sample, walk)| {
        let count = sample.calls.len();
        let all = (0..count).all(|call| walk.parts.iter().any(|part| part.call == Some(call)));
        if all { count } else { 0 }
    });
    let most = most.max()?;
    let longest = walks.iter().find(|(sample, _)| sample.calls.len() == most);
    longest.map(|(_, walk)| walk)
}

/// Removes the opening of the next turn, which some templates write after calls.
fn cut_next_turn(paths: &mut [Path], sampler: &Sampler) {
    let opening = &*sampler.opening;
    let second = Glue::from(opening)
        .marker_spans()
        .get(1)
        .map(|second| second.start);
    let next = opening[..second.unwrap_or(opening.len())].trim();
    // Where the prompt always opens a turn, its last marker is the opening. A marker that ends all
    // turns is their end.
    let asked = sampler
        .bare
        .rsplit_once(QUESTION)
        .filter(|_| next.is_empty());
    let mut opens = Glue::last_marker(asked.map_or("", |(_, after)| after));
    let lasts = || paths.iter().filter_map(|path| path.glue.last());
    if lasts().all(|last| last.head().contains(opens)) {
        opens = "";
    }
    for last in paths.iter_mut().filter_map(|path| path.glue.last_mut()) {
        let [next, opens] = [next, opens].map(|opening| match opening {
            "" => None,
            _ => last.head().find(opening),
        });
        if let Some(at) = next.or(opens.filter(|at| !last.up_to(*at).is_blank())) {
            *last = last.up_to(at);
        }
    }
}

/// Removes the white space after the token that ends all turns, if it differs.
fn trim_after_token(paths: &mut [Path], token: &str) {
    let token = Glue::from(token);
    let mut lasts: Vec<&mut Glue> = Vec::new();
    lasts.extend(paths.iter_mut().filter_map(|path| path.glue.last_mut()));
    if token.is_blank() || !lasts.iter().all(|last| last.trim_end().ends_with(&token)) {
        return;
    }
    let spaces = lasts
        .iter()
        .map(|last| last.chars().count() - last.trim_end().chars().count());
    if chatparse_base::sort::set(spaces).len() > 1 {
        lasts.into_iter().for_each(|last| *last = last.trim_end());
    }
}

/// The arguments of a call in a shape.
const TWO: &[ValueKind] = &[ValueKind::Text, ValueKind::Text];
const ONE: &[ValueKind] = &[ValueKind::Text];
const NONE: &[ValueKind] = &[];

fn shape(thinks: bool, speaks: bool, calls: &[&[ValueKind]]) -> Sample {
    let mut words = Words::default();
    let calls = calls.iter().map(|kinds| words.call(kinds)).collect();
    Sample::new(thinks, speaks, calls)
}

/// Turns with and without reasoning and content, with zero to three calls, with and without
/// arguments.
fn shapes(most_calls: usize) -> Vec<Sample> {
    type Calls<'k> = &'k [&'k [&'k [ValueKind]]];
    let alone: Calls = &[
        &[ONE],
        &[TWO],
        &[NONE],
        &[TWO, ONE],
        &[TWO, ONE, TWO],
        &[ONE, NONE, ONE],
    ];
    let rows: [(bool, bool, Calls); 4] = [
        (true, true, &[&[TWO], &[], &[ONE, TWO]]),
        (true, false, &[&[TWO], &[NONE], &[ONE, TWO]]),
        (false, true, &[&[], &[TWO], &[NONE], &[ONE, TWO]]),
        (false, false, alone),
    ];
    let mut shapes = Vec::new();
    for (thinks, speaks, calls) in rows {
        let few = calls.iter().filter(|calls| calls.len() <= most_calls);
        shapes.extend(few.map(|calls| shape(thinks, speaks, calls)));
    }
    shapes[0].checked = true;
    shapes
}

/// Values of each kind and a text with special characters, before another argument and as the
/// last of a call: a sample with several of them, and those to take instead if that one shows
/// nothing.
fn values(parallel: bool, one_by_one: bool) -> Vec<(Sample, Vec<Sample>)> {
    let kinds = &ValueKind::ALL[1..];
    let followed = kinds.iter().map(|kind| one_call(&[*kind, ValueKind::Text]));
    let mut samples = vec![(one_call(&[kinds, ONE].concat()), followed.collect())];
    // One JSON value may hold any others.
    if !one_by_one {
        return samples;
    }
    for kinds in kinds.chunks(if parallel { 3 } else { 1 }) {
        let mut words = Words::default();
        let calls = kinds.iter().map(|kind| words.call(&[*kind])).collect();
        let apart = kinds
            .iter()
            .filter(|_| parallel)
            .map(|kind| one_call(&[*kind]));
        samples.push((Sample::of_calls(calls).checked(), apart.collect()));
    }
    let mut words = Words::default();
    for kinds in [TWO, ONE] {
        let special = Sample::of_calls(vec![words.special(kinds)]);
        samples.push((special.checked(), Vec::new()));
    }
    samples
}

/// A call with arguments of these kinds, whose marks are checked.
fn one_call(kinds: &[ValueKind]) -> Sample {
    Sample::of_calls(vec![Words::default().call(kinds)]).checked()
}

/// Finds out whether arguments are written one by one, and how a text with quotes, a backslash and
/// a line break is written.
fn texts(sampler: &Sampler) -> Texts {
    let mut texts = Texts::default();
    let special = Sample::of_calls(vec![Words::default().special(ONE)]).checked();
    if let Some(turn) = sampler.turn(&special)
        && let Some(span) = sampler.marks.next(&turn, 0)
    {
        let (before, written) = (&turn[..span.start], &turn[span.clone()]);
        let marked = sampler.marks.mark(SPECIAL);
        texts.single_quotes = before.ends_with('\'');
        let quote = span.start.checked_sub(1);
        let quoted = quote.and_then(|quote| literal::read(turn.get(quote..)?));
        if !written.is_empty()
            && written != marked
            && quoted.is_some_and(|(text, _)| text == marked)
        {
            texts.encoding = Encoding::Quoted;
            texts.raw_lines = written.contains('\n');
        }
    }
    let sample = one_call(ONE);
    let Some(turn) = sampler.turn(&sample) else {
        texts.unreadable = sampler.turn(&shape(false, false, &[ONE])).is_some();
        return texts;
    };
    let walk = walk(&turn, &sample, sampler, texts);
    texts.one_by_one = walk.is_some_and(|walk| {
        let mut parts = walk.parts.iter();
        parts.any(|part| part.token == parts::Token::Key)
    });
    texts
}
