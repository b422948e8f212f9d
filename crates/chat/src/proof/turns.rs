//! Renders messages, and finds the assistant's turn in each render.
//!
//! If the render with the assistant's message begins with the prompt, the rest is the turn and its
//! end. White space that the prompt and the render both end with is the template's, after whatever
//! it writes. A render does not show where the end begins; the model may write it as a token that
//! no host prints. But the end does not depend on the message, so it is part of the common end of a
//! message with content and one with calls, or it is the last marker.

use chatparse_base::brackets;
use std::cell::OnceCell;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::messages::{self, Probe, THOUGHT_WORD, Thinking, WORD};
use crate::prompts::Prompts;
use crate::reader::Reader;
use crate::texts::whole_words;
use chatparse_base::find::{shared, shared_end};
use chatparse_base::limits::PROBE_BYTES;
use chatparse_base::{Error, Result};
use chatparse_jinja::Template;
use chatparse_message::{Message, Request, ToolCall};

/// The maximum length of a marker that ends a turn, in bytes.
const MARKER: usize = 64;
/// The maximum length of a turn's end in bytes, and the maximum number of positions in it where it
/// may begin.
const END: usize = 200;
const ENDS: usize = 16;

/// All messages of a template, rendered on demand, for all readers with the same prompts.
#[doc(hidden)]
pub struct ProbeSet {
    template: Template,
    /// The reader that makes the prompts.
    reader: Arc<Reader>,
    probes: Vec<Probe>,
    asked: [OnceCell<Result<RenderedProbe>>; 3],
    /// By probe, and by [`Thinking::ALL`].
    cases: Vec<[OnceCell<Result<Case>>; 3]>,
}

/// A request that a message answers.
pub struct RenderedProbe {
    /// The request.
    pub request: Request,
    pub(super) prompts: Prompts,
}

impl RenderedProbe {
    /// Its prompt.
    pub fn prompt(&self) -> &str {
        &self.prompts.prompt
    }
}

/// A rendered message.
pub struct Case {
    /// The message.
    pub whole: Message,
    /// The message without the parts that the template leaves out.
    pub expected: Message,
    /// The part that the template leaves out: `reasoning`, `content` or `calls`.
    pub omitted: Option<&'static str>,
    /// The message is nothing without the parts that are left out.
    pub no_output: bool,
    /// The conversation.
    pub rendered: String,
    /// The position of the turn in it, if that is where the prompt ends.
    pub begin: Option<usize>,
}

/// A turn as the model writes it.
#[doc(hidden)]
pub struct Turn {
    /// The end of the prompt that opens it.
    pub opening: String,
    /// The turn, with its end.
    pub text: String,
    /// The positions where the end may begin, in order.
    pub ends: Vec<usize>,
}

impl ProbeSet {
    pub(crate) fn new(reader: &Arc<Reader>) -> Rc<Self> {
        let probes = messages::renderable(reader.template());
        let cases = probes.iter().map(|_| Default::default()).collect();
        let (template, reader) = (reader.template().probing(), Arc::clone(reader));
        Rc::new(ProbeSet {
            template,
            reader,
            probes,
            asked: Default::default(),
            cases,
        })
    }

    /// The messages.
    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// The request that the message answers, with this thinking.
    pub fn asked(&self, thinking: Thinking) -> Result<&RenderedProbe> {
        let asked = self.asked[thinking as usize].get_or_init(|| {
            let request = messages::asked(thinking);
            let prompts = self.reader.prompts(&self.template, &request, true)?;
            Ok(RenderedProbe { request, prompts })
        });
        asked.as_ref().map_err(Clone::clone)
    }

    /// Renders the conversation that ends with `message`, up to what follows it where the template
    /// needs that.
    pub fn render(&self, request: &Request, message: &Message) -> Result<String> {
        let turn = &self.reader.writing(true).turn;
        let request = messages::with(request, message, turn.hides_last_calls);
        let mut text = self.reader.prompts(&self.template, &request, false)?.prompt;
        let further = text
            .rfind(messages::FURTHER)
            .filter(|_| turn.hides_last_calls);
        let end = further.and_then(|further| text[..further].rfind(&*turn.delimiters.user));
        text.truncate(end.unwrap_or(text.len()));
        Ok(text)
    }

    /// The message with this thinking, rendered.
    pub fn case(&self, probe: usize, thinking: Thinking) -> Result<&Case> {
        let case = self.cases[probe][thinking as usize].get_or_init(|| {
            let message = self.probes[probe].message(self.reader.template(), thinking);
            self.new_case(self.asked(thinking)?, message)
        });
        case.as_ref().map_err(Clone::clone)
    }

    fn new_case(&self, asked: &RenderedProbe, whole: Message) -> Result<Case> {
        let rendered = self.render(&asked.request, &whole)?;
        if rendered.len() > PROBE_BYTES {
            let message = format!(
                "the template writes {} bytes for one short message",
                rendered.len()
            );
            return Err(Error::limit(message));
        }
        let begin = begin(&rendered, &asked.prompts.prompt);
        // Parts that the template leaves out cannot be read back.
        let mut expected = whole.clone();
        let mut omitted = None;
        let prompt = &asked.prompts.prompt;
        let from = begin.unwrap_or_else(|| shared_markup(prompt, &rendered));
        let turn = &rendered[from..];
        for (part, text, word) in [
            ("reasoning", &mut expected.reasoning_content, THOUGHT_WORD),
            ("content", &mut expected.content, WORD),
        ] {
            if !text.is_empty() && !turn.contains(word) {
                omitted = Some(part);
                text.clear();
            }
        }
        let calls = expected.tool_calls.iter().all(|call| shows(turn, call));
        if !calls {
            omitted = Some("calls");
        }
        let empty =
            [&expected.content, &expected.reasoning_content].map(String::is_empty) == [true; 2];
        let no_output = !calls || empty && expected.tool_calls.is_empty();
        Ok(Case {
            whole,
            expected,
            omitted,
            no_output,
            rendered,
            begin,
        })
    }

    /// The turn with this thinking; `None` if it does not begin where the prompt ends.
    pub fn turn(&self, probe: usize, thinking: Thinking) -> Option<Turn> {
        let begin = self.case(probe, thinking).ok()?.begin?;
        let opening = self.asked(thinking).ok()?.prompts.opening.text.clone();
        self.turn_from(probe, thinking, begin, opening)
    }

    /// If no turn begins where the prompt ends, with any thinking: the turn after the common
    /// beginning of it and the prompt's opening, as if the prompt ended there.
    pub fn turn_behind_common(&self, probe: usize) -> Option<(Thinking, Turn)> {
        let mut last = None;
        for thinking in Thinking::ALL {
            let Ok(case) = self.case(probe, thinking) else {
                continue;
            };
            if case.begin.is_some() {
                return None;
            }
            last = Some((thinking, case));
        }
        let (thinking, case) = last.filter(|(_, case)| !case.no_output)?;
        let asked = self.asked(thinking).ok()?;
        let (prompt, opening) = (&asked.prompts.prompt, &asked.prompts.opening.text);
        let at = behind(&case.rendered, prompt.strip_suffix(opening.as_str())?)?;
        // A switch for this answer alone is in the prompt's opening, and in no turn.
        let learnt = &self.reader.writing(thinking != Thinking::Off).turn;
        let opening = if opening.ends_with(&*learnt.opening) {
            &learnt.opening
        } else {
            opening
        };
        let common = shared_markup(opening, &case.rendered[at..]);
        if common == 0 {
            return None;
        }
        let opening = opening[..common].to_owned();
        let turn = self.turn_from(probe, thinking, at + common, opening)?;
        Some((thinking, turn))
    }

    fn turn_from(
        &self,
        probe: usize,
        thinking: Thinking,
        begin: usize,
        opening: String,
    ) -> Option<Turn> {
        let text = self.case(probe, thinking).ok()?.rendered[begin..].to_owned();
        // A message of the other kind, or with other content.
        let has_calls = self.probes[probe].calls() > 0;
        let other = self.other(probe, !has_calls);
        let other = other.or_else(|| self.other(probe, has_calls));
        let other = other.and_then(|other| self.case(other, thinking).ok());
        let shared = other.map(|other| shared_end(&text, &other.rendered));
        // A template may open the next turn, as each prompt does.
        let opened = shared_end(&text, self.asked(thinking).ok()?.prompt());
        let end = match shared {
            // The end of calls must be read with the calls.
            Some(shared) if has_calls => shared,
            shared => shared.unwrap_or(0).max(last_marker(&text)).max(opened),
        };
        let ends = ends(&text, end);
        Some(Turn {
            opening,
            text,
            ends,
        })
    }

    /// Another message, with calls or without; one with many features if possible.
    fn other(&self, probe: usize, has_calls: bool) -> Option<usize> {
        let others = (0..self.probes.len()).filter(|other| *other != probe);
        others
            .filter(|other| (self.probes[*other].calls() > 0) == has_calls)
            .max_by_key(|other| self.probes[*other].rich)
    }
}

/// Whether anything of the call shows: its name, in any case, or a value.
fn shows(turn: &str, call: &ToolCall) -> bool {
    let (lower, name) = (turn.to_lowercase(), call.name.to_lowercase());
    if turn.contains(&call.name) || whole_words(&lower, &name).next().is_some() {
        return true;
    }
    let arguments = arguments(call);
    let mut texts = arguments.values().filter_map(Value::as_str);
    texts.any(|text| !text.is_empty() && whole_words(turn, text).next().is_some())
}

/// The arguments of a call; none if they are no object.
pub(super) fn arguments(call: &ToolCall) -> Map<String, Value> {
    serde_json::from_str(&call.arguments).unwrap_or_default()
}

/// Where the turn begins in a render, if the render begins with the prompt, except for white space
/// that both end with.
fn begin(rendered: &str, prompt: &str) -> Option<usize> {
    let (before, white_space) = prompt.split_at(prompt.trim_end().len());
    let at = behind(rendered, before)?;
    if rendered[at..].starts_with(white_space) {
        Some(at + white_space.len())
    } else {
        rendered[at..].ends_with(white_space).then_some(at)
    }
}

/// Where a render goes on after `before`, the beginning of a prompt. The texts before the question
/// may differ: a template may list tools before a last question alone.
fn behind(rendered: &str, before: &str) -> Option<usize> {
    let [from, to] = [before, rendered].map(|text| text.rfind(messages::QUESTION).unwrap_or(0));
    rendered[to..]
        .starts_with(&before[from..])
        .then(|| to + before.len() - from)
}

/// The length of the common beginning of two texts, without splitting markers.
fn shared_markup(a: &str, b: &str) -> usize {
    borders(a, 0..=shared(a, b))
        .rev()
        .find(|at| is_border(b, *at))
        .unwrap_or(0)
}

/// The positions in the last `end` bytes of `text` where its end may begin, in order.
fn ends(text: &str, end: usize) -> Vec<usize> {
    borders(text, text.len() - end.min(END)..=text.len())
        .take(ENDS)
        .collect()
}

/// The length of the last marker, with the white space around it.
fn last_marker(text: &str) -> usize {
    let inked = text.trim_end();
    text.len() - marker_at_end(inked).unwrap_or(inked.len())
}

/// The start of the marker that a text ends with.
pub(crate) fn marker_at_end(text: &str) -> Option<usize> {
    text.rfind(brackets::opens)
        .filter(|&open| is_one_marker(&text[open..]))
}

/// The positions in this range where a marker, white space or the text begins or ends.
pub(crate) fn borders(
    text: &str,
    range: RangeInclusive<usize>,
) -> impl DoubleEndedIterator<Item = usize> {
    range.filter(|&at| text.is_char_boundary(at) && is_border(text, at))
}

/// Whether a marker, white space or the text begins or ends at `at`.
fn is_border(text: &str, at: usize) -> bool {
    let (before, after) = (text[..at].chars().next_back(), text[at..].chars().next());
    let (Some(before), Some(after)) = (before, after) else {
        return true;
    };
    brackets::closes(before)
        || brackets::opens(after)
        || before.is_whitespace() != after.is_whitespace()
}

/// Whether `text` is a single marker such as `<|im_end|>`.
pub(crate) fn is_one_marker(text: &str) -> bool {
    let mut inside = text.chars();
    let closer = inside.next().and_then(brackets::closer);
    closer.is_some()
        && inside.next_back() == closer
        && inside.as_str().len() <= MARKER
        && !inside.any(|c| {
            c.is_whitespace() || "\"'{}".contains(c) || brackets::opens(c) || brackets::closes(c)
        })
}
