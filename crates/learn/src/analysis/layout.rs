//! [`Layout`]: what llama.cpp's stand-in tells hosts of a turn: its markers, and the shape of its
//! calls, in llama.cpp's words. Formats ask it where a grammar begins.
//!
//! Glue on an edge is one text. The layout divides it: the glue in front of the first call is the
//! section's opening and the call's, and what is also in front of a second call is the call's.
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
        let view = View { turn };
        let reasoning = view.reasoning();
        let mut marks: Vec<String> = reasoning
            .iter()
            .flat_map(|reasoning| [&reasoning.start, &reasoning.end])
            .cloned()
            .collect();
        marks.extend(view.around_content());
        let tools = turn
            .calls
            .first()
            .map(|form| view.calls(form, &mut marks))
            .unwrap_or_default();
        let mut preserved_tokens: Vec<String> = Vec::new();
        for mark in marks.iter().map(|mark| trim(mark)) {
            if !mark.is_empty() && !preserved_tokens.iter().any(|token| token == mark) {
                preserved_tokens.push(mark.into());
            }
        }
        Layout {
            reasoning,
            tools,
            user_start: turn.delimiters.user.clone(),
            assistant_start: turn.delimiters.assistant.clone(),
            preserved_tokens,
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

struct View<'t> {
    turn: &'t TurnFormat,
}

impl<'t> View<'t> {
    /// The text of the first edge between two places; empty if there is none.
    fn glue(&self, from: SlotKind, to: SlotKind) -> &'t str {
        self.turn.glues([from], to).next().map_or("", Glue::head)
    }

    fn reasoning(&self) -> Option<ReasoningLayout> {
        let reasoning = self.turn.reasoning.as_ref()?;
        let open = if reasoning.open.is_blank() {
            &reasoning.start
        } else {
            trim_start(reasoning.open.head())
        };
        Some(ReasoningLayout {
            start: open.to_owned(),
            end: reasoning.close.head().to_owned(),
        })
    }

    /// What opens a part behind the prompt, without a closed or an empty reasoning.
    fn opening(&self, to: SlotKind) -> String {
        let mut froms = [Prompt, Reasoning, Content].into_iter();
        let text = froms
            .find_map(|from| self.turn.glues([from], to).next())
            .map_or_else(String::new, texts);
        let close = self
            .turn
            .reasoning
            .as_ref()
            .map_or("", |reasoning| trim(reasoning.close.head()));
        let behind = text
            .rsplit_once(close)
            .filter(|_| !close.is_empty())
            .map_or(&*text, |(_, behind)| behind);
        trim_start(behind).to_owned()
    }

    /// What opens content, at once or behind reasoning, and what ends it.
    fn around_content(&self) -> [String; 2] {
        let marked = |from, to| {
            let mut texts = self.turn.glues([from], to).map(Glue::head);
            texts
                .find(|text| !text.trim().is_empty())
                .unwrap_or_default()
                .to_owned()
        };
        let start = Some(self.opening(Content))
            .filter(|start| !start.is_empty())
            .unwrap_or_else(|| marked(Reasoning, Content));
        [start, marked(Content, End)]
    }

    /// What begins calls. `marks`: markers so far, to which those of calls come.
    fn calls(&self, form: &CallForm, marks: &mut Vec<String>) -> ToolsLayout {
        let first = self.opening(Call);
        // A call without its values.
        let mut text = first.clone();
        let mut is_json = false;
        let name = Glue::name();
        let pieces = form.pieces.iter().filter_map(|piece| match piece {
            CallPiece::Glue(glue) => Some(glue),
            CallPiece::Name => Some(&name),
            _ => None,
        });
        for piece in pieces.flat_map(Glue::pieces) {
            match piece {
                GluePiece::Text(more) => text.push_str(more),
                // A value or the name of a member comes next in JSON.
                GluePiece::Name => {
                    let before = text
                        .strip_suffix('"')
                        .map(|text| text.trim_end_matches(is_space));
                    is_json |= before.is_some_and(|before| before.ends_with(['{', ':']));
                }
                _ => {}
            }
        }
        if is_json {
            text.extend([&*texts(&form.close), self.glue(Call, End)]);
            return self.json(&text, marks);
        }
        let as_one = form
            .pieces
            .iter()
            .any(|piece| matches!(piece, CallPiece::Arguments { .. }));
        let format = if as_one {
            ToolFormat::TagWithJson
        } else {
            ToolFormat::TagWithTagged
        };
        let (section_start, per_call_start) = self.tagged(form, &first, marks);
        ToolsLayout {
            format,
            section_start: section_start.to_owned(),
            per_call_start: per_call_start.to_owned(),
        }
    }

    /// What begins calls that are JSON throughout. `text`: one call, from the section's opening to
    /// its end.
    fn json(&self, text: &str, marks: &mut Vec<String>) -> ToolsLayout {
        let (before, rest) = text.split_at(text.find('{').unwrap_or_default());
        let after = rest.rfind('}').map_or("", |at| &rest[at + 1..]);
        let array = before
            .trim_end_matches(is_space)
            .strip_suffix('[')
            .zip(trim_start(after).strip_prefix(']'));
        let (start, end) = array.unwrap_or((before, after));
        marks.extend([start, through_first_marker(end)].map(str::to_owned));
        let next = self.glue(Call, Call);
        let repeated = !start.is_empty() && next.contains(trim(start));
        let [section_start, per_call_start] =
            if repeated { ["", start] } else { [start, ""] }.map(str::to_owned);
        ToolsLayout {
            format: ToolFormat::JsonNative,
            section_start,
            per_call_start,
        }
    }

    /// What begins tagged calls: the markers of the section, of each call, and of the name.
    fn tagged<'f>(
        &self,
        form: &CallForm,
        first: &'f str,
        marks: &mut Vec<String>,
    ) -> (&'f str, &'f str) {
        let own = match self.turn.glues([Call], Call).next() {
            Some(next) => trim_start(common_end(first, next.head())),
            None => {
                &first[if let [section, _, ..] = *markers(first) {
                    section.spaced
                } else {
                    0
                }..]
            }
        };
        let section_start = first.strip_suffix(own).unwrap_or_default();
        let (per_call_start, before_name) = match markers(own).first() {
            Some(marker) => own.split_at(marker.spaced),
            None if section_start.is_empty() => (own, ""),
            None => ("", own),
        };
        let close = form.close.head();
        let (inner, outer) = match (markers(close).last(), per_call_start.is_empty()) {
            (Some(marker), false) => close.split_at(marker.start),
            _ => (close, ""),
        };
        let section_end = through_first_marker(self.glue(Call, End));
        marks.extend(
            [
                section_start,
                section_end,
                per_call_start,
                outer,
                before_name,
                inner,
            ]
            .map(str::to_owned),
        );
        let mut between = String::new();
        for piece in &form.pieces {
            match piece {
                CallPiece::Glue(glue) => between.push_str(glue.head()),
                CallPiece::Members(members) => {
                    marks.extend(around_arguments(members).map(str::to_owned))
                }
                _ => marks.push(std::mem::take(&mut between)),
            }
        }
        (section_start, per_call_start)
    }
}

/// The texts in front of arguments that are written one by one, and around each.
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
