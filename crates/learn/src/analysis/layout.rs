//! [`Layout`]: what llama.cpp's stand-in tells hosts of a turn: its markers, and the shape of its
//! calls, in llama.cpp's words. Formats ask it where a grammar begins.
//!
//! Glue on an edge is one text. The layout divides it: the glue before the first call is the
//! section's opening and the call's, and what is also before a second call is the call's.
//! Texts of reasoning are left out of it.

use chatparse_base::brackets;
use serde::Serialize;
use serde_json::Value;

use super::markup::{is_space, markers, since_last_marker, trim, trim_start};
use super::turn::{
    CallForm, CallPiece, Glue, GluePiece, Members,
    SlotKind::{self, Call, Content, End, Prompt, Reasoning},
    TurnFormat,
};
use chatparse_base::find::shared_end;

/// How a template writes reasoning, calls and turns. Markers have the white space that the template
/// writes around them; an empty string stands for a missing one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// The text around reasoning, if it has markers.
    pub reasoning: Option<ReasoningLayout>,
    /// What begins calls.
    pub tools: ToolsLayout,
    /// The opening of a user's turn, e.g. `<|im_start|>user`.
    pub user_start: String,
    /// The opening of an assistant's turn, e.g. `<|im_start|>assistant`.
    pub assistant_start: String,
    /// Texts that the tokeniser must keep as single tokens, e.g. `["<think>", "</think>",
    /// "<tool_call>"]`.
    pub preserved_tokens: Vec<String>,
    /// Texts at which the host should stop, in addition to the end-of-turn token, e.g.
    /// `["</assistant>"]`.
    pub additional_stops: Vec<String>,
}

/// The text around reasoning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReasoningLayout {
    /// The opening, e.g. `<think>\n`; empty if reasoning begins without one, as in
    /// `why</think>answer`.
    pub start: String,
    /// The end, e.g. `\n</think>\n\n`.
    pub end: String,
}

/// How much of a call is JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolFormat {
    /// The template does not render tool calls, or they could not be read.
    #[default]
    None,
    /// All of it: `<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>`.
    JsonNative,
    /// The arguments: `<function=f>{"x": 1}</function>`.
    TagWithJson,
    /// At most the values: `<function=f><parameter=x>1</parameter></function>`.
    TagWithTagged,
}

/// What begins all calls of a message (the section), and each call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolsLayout {
    /// The family.
    pub format: ToolFormat,
    /// Opens the calls of a message, e.g. `<|tool_calls_begin|>`.
    pub section_start: String,
    /// Opens each call, e.g. `<tool_call>\n`.
    pub per_call_start: String,
}

impl Layout {
    /// The layout of a template that writes turns like this.
    pub fn of(turn: &TurnFormat) -> Layout {
        let reasoning = turn.reasoning.as_ref().map(|reasoning| ReasoningLayout {
            start: match reasoning.open.is_blank() {
                true => reasoning.start.clone(),
                false => trim_start(reasoning.open.head()).to_owned(),
            },
            end: reasoning.close.head().to_owned(),
        });
        let mut tokens = Tokens::default();
        if let Some(ReasoningLayout { start, end }) = &reasoning {
            tokens.add([&**start, end]);
        }
        tokens.add(around_content(turn).each_ref().map(String::as_str));
        let tools = match turn.calls.first() {
            Some(form) => calls(turn, form, &mut tokens),
            None => ToolsLayout::default(),
        };
        Layout {
            reasoning,
            tools,
            user_start: turn.delimiters.user.clone(),
            assistant_start: turn.delimiters.assistant.clone(),
            preserved_tokens: tokens.0,
            additional_stops: turn.stops.clone(),
        }
    }

    /// The beginning of the first call; empty if calls have no marker.
    pub fn calls_marker(&self) -> &str {
        match &*self.tools.section_start {
            "" => &self.tools.per_call_start,
            section => section,
        }
    }

    /// The fields as one JSON object, with a nested object for each group.
    pub fn to_json(&self) -> Value {
        json!(self)
    }
}

/// The texts that the tokeniser must keep, each once.
#[derive(Default)]
struct Tokens(Vec<String>);

impl Tokens {
    fn add<'t>(&mut self, marks: impl IntoIterator<Item = &'t str>) {
        for mark in marks.into_iter().map(trim) {
            if !mark.is_empty() && !self.0.iter().any(|token| token == mark) {
                self.0.push(mark.into());
            }
        }
    }
}

/// The opening of a part after the prompt, without a closed or an empty reasoning.
fn opening(turn: &TurnFormat, to: SlotKind) -> String {
    let mut froms = [Prompt, Reasoning, Content].into_iter();
    let glue = froms.find_map(|from| turn.glues([from], to).next());
    let text = glue.map_or_else(String::new, texts);
    let reasoning = turn.reasoning.as_ref();
    let close = reasoning.map_or("", |reasoning| trim(reasoning.close.head()));
    let after = match text.rsplit_once(close) {
        Some((_, after)) if !close.is_empty() => after,
        _ => &text,
    };
    trim_start(after).to_owned()
}

/// The opening of content, at once or after reasoning, and its end.
fn around_content(turn: &TurnFormat) -> [String; 2] {
    let [mut start, end] = [(Reasoning, Content), (Content, End)].map(|(from, to)| {
        let mut texts = turn.glues([from], to).map(Glue::head);
        let marked = texts.find(|text| !text.trim().is_empty());
        marked.unwrap_or_default().to_owned()
    });
    let at_once = opening(turn, Content);
    if !at_once.is_empty() {
        start = at_once;
    }
    [start, end]
}

/// The texts that begin calls.
fn calls(turn: &TurnFormat, form: &CallForm, tokens: &mut Tokens) -> ToolsLayout {
    let first = opening(turn, Call);
    // A call without its values.
    let mut text = first.clone();
    let mut is_json = false;
    let name = Glue::name();
    let glues = form.pieces.iter().filter_map(|piece| match piece {
        CallPiece::Glue(glue) => Some(glue),
        CallPiece::Name => Some(&name),
        _ => None,
    });
    for piece in glues.flat_map(Glue::pieces) {
        match piece {
            GluePiece::Text(more) => text.push_str(more),
            // A value or the name of a member comes next in JSON.
            GluePiece::Name => {
                let before = text.strip_suffix('"').unwrap_or_default();
                is_json |= before.trim_end_matches(is_space).ends_with(['{', ':']);
            }
            _ => {}
        }
    }
    if is_json {
        text.extend([&*texts(&form.close), turn.text_between(Call, End)]);
        return json_calls(turn, &text, tokens);
    }
    let mut pieces = form.pieces.iter();
    let as_one = pieces.any(|piece| matches!(piece, CallPiece::Arguments { .. }));
    let (section_start, per_call_start) = tagged_calls(turn, form, &first, tokens);
    ToolsLayout {
        format: match as_one {
            true => ToolFormat::TagWithJson,
            false => ToolFormat::TagWithTagged,
        },
        section_start: section_start.to_owned(),
        per_call_start: per_call_start.to_owned(),
    }
}

/// The texts that begin calls that are JSON throughout. `text`: one call, from the section's
/// opening to its end.
fn json_calls(turn: &TurnFormat, text: &str, tokens: &mut Tokens) -> ToolsLayout {
    let (before, rest) = text.split_at(text.find('{').unwrap_or_default());
    let after = rest.rfind('}').map_or("", |at| &rest[at + 1..]);
    let array = before
        .trim_end_matches(is_space)
        .strip_suffix('[')
        .zip(trim_start(after).strip_prefix(']'));
    let (start, end) = array.unwrap_or((before, after));
    tokens.add([start, through_first_marker(end)]);
    let repeated = !start.is_empty() && turn.text_between(Call, Call).contains(trim(start));
    let [section_start, per_call_start] =
        if repeated { ["", start] } else { [start, ""] }.map(str::to_owned);
    ToolsLayout {
        format: ToolFormat::JsonNative,
        section_start,
        per_call_start,
    }
}

/// The texts that begin tagged calls: the markers of the section and of each call.
fn tagged_calls<'f>(
    turn: &TurnFormat,
    form: &CallForm,
    first: &'f str,
    tokens: &mut Tokens,
) -> (&'f str, &'f str) {
    let own = match turn.glues([Call], Call).next() {
        Some(next) => trim_start(common_end(first, next.head())),
        None => match *markers(first) {
            [section, _, ..] => &first[section.spaced..],
            _ => first,
        },
    };
    let section_start = first.strip_suffix(own).unwrap_or_default();
    let (per_call_start, before_name) = match markers(own).first() {
        Some(marker) => own.split_at(marker.spaced),
        None if section_start.is_empty() => (own, ""),
        None => ("", own),
    };
    let close = form.close.head();
    let (inner, outer) = match markers(close).last() {
        Some(marker) if !per_call_start.is_empty() => close.split_at(marker.start),
        _ => (close, ""),
    };
    let section_end = through_first_marker(turn.text_between(Call, End));
    tokens.add([section_start, section_end, per_call_start]);
    tokens.add([outer, before_name, inner]);
    let mut between = String::new();
    for piece in &form.pieces {
        match piece {
            CallPiece::Glue(glue) => between.push_str(glue.head()),
            CallPiece::Members(members) => tokens.add(around_arguments(members)),
            _ => tokens.add([&*std::mem::take(&mut between)]),
        }
    }
    (section_start, per_call_start)
}

/// The texts before arguments that are written one by one, and around each.
fn around_arguments(members: &Members) -> [&str; 6] {
    let (first, next) = (members.first.head(), members.next.head());
    let prefix = match common_end(first, next) {
        "" => since_last_marker(first).unwrap_or(first),
        common => trim_start(common),
    };
    let (open, close) = members
        .shown_slot()
        .map_or(("", ""), |slot| (slot.open.tail(), slot.close.head()));
    let at = match *markers(open) {
        [_] if !open.starts_with(|c| c != '[' && brackets::opens(c)) => open.len(),
        [first, ..] => first.spaced,
        [] if open.starts_with(|c| c != '[' && brackets::opens(c)) => 0,
        [] => open.len(),
    };
    let separator = next.strip_suffix(prefix).unwrap_or_default();
    [
        &first[..first.len() - prefix.len()],
        prefix,
        &open[..at],
        separator,
        &open[at..],
        close,
    ]
}

/// The texts of glue, without what differs from call to call; calls are counted from 0.
fn texts(glue: &Glue) -> String {
    glue.pieces()
        .map(|piece| match piece {
            GluePiece::Text(text) => text,
            GluePiece::Counter => "0",
            _ => "",
        })
        .collect()
}

/// The text up to the end of its first marker; all of it if it has none.
fn through_first_marker(text: &str) -> &str {
    markers(text)
        .first()
        .map_or(text, |marker| &text[..marker.end])
}

/// The common end of two texts, from the border of a marker or a line on.
fn common_end<'a>(a: &'a str, b: &str) -> &'a str {
    let same = &a[a.len() - shared_end(a, b)..];
    same.find(|c| c == '\n' || brackets::opens(c))
        .map_or("", |at| &same[at..])
}
