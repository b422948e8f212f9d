//! The segments of ordinary conversations, from a render without labels.
//!
//! Most conversations are texts of a system, a user and the assistant. What a template writes between such texts is learnt once, from
//! conversations of our own that get labels. A prompt that consists of the texts of its request, whole and in order, and of what
//! was seen between texts of such roles has known segments. If a byte does not fit, if the prompt fits in two ways, or if a text
//! has what the template may look for, labels find the segments. What is learnt depends on the template and a few options only, so the
//! result does not depend on what was asked before.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;

use super::change::literals;
use super::turns::Borders;
use super::{Origin, Segment, Segments};
use crate::reader::Taught;
use chatparse_base::find::find3;
use chatparse_base::limits::SEGMENT_LEARNT;
use chatparse_jinja::system_clock;
use chatparse_message::{Continuation, Message, PlainConversation, Request};

/// What is known of a template.
#[derive(Debug, Default)]
pub(crate) struct Ordinary {
    markers: OnceLock<Markers>,
    is_dated: OnceLock<bool>,
    /// The latest first.
    learnt: Mutex<VecDeque<(Options, Arc<Learnt>)>>,
}

/// The options of an ordinary request that a template sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Options {
    plain: bool,
    thinking: bool,
    /// Whether the switch is a variable of the request.
    switched: bool,
    ask: bool,
    /// Whether a message has reasoning.
    thinks: bool,
    /// The day, if the template reads the clock.
    day: Option<i64>,
}

/// What a template writes around the texts of conversations.
#[derive(Debug, Default)]
pub(super) struct Learnt {
    between: [[Vec<Glue>; SPOTS]; SPOTS],
    pub borders: Borders,
}

/// What stands in front of a glue, or behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spot {
    /// The start or the end of the prompt.
    Border,
    System,
    User,
    Reasoning,
    Answer,
}

const SPOTS: usize = 5;

/// A text of the template between two texts of a request.
#[derive(Debug, PartialEq, Eq)]
struct Glue {
    text: String,
    /// Where `{% generation %}` blocks begin and end in it, in order.
    blocks: Vec<usize>,
    /// Whether the same text had other blocks elsewhere.
    is_ambiguous: bool,
}

/// A text of a request.
pub(super) struct Text<'r> {
    message: usize,
    spot: Spot,
    text: &'r str,
}

impl Text<'_> {
    fn origin(&self) -> Origin {
        let path = if self.spot == Spot::Reasoning { REASONING } else { CONTENT };
        Origin::Message { index: self.message, path: path.to_owned() }
    }
}

const CONTENT: &str = "/content";
const REASONING: &str = "/reasoning_content";

impl Ordinary {
    /// What is known of such conversations, if none of the request's texts has a marker. `label`: the segments and the borders of turns, as labels show them.
    pub(super) fn learnt(
        &self,
        taught: &Taught,
        request: &Request,
        texts: &[Text],
        label: impl Fn(&Request) -> Option<(Segments, Borders)>,
    ) -> Option<Arc<Learnt>> {
        let markers = self.markers.get_or_init(|| Markers::of(taught));
        if texts.iter().any(|text| markers.is_in(text.text)) {
            return None;
        }
        let is_dated = *self.is_dated.get_or_init(|| taught.template.source().contains("strftime_now"));
        let options = Options {
            plain: request.plain.is_some(),
            thinking: request.enable_thinking,
            switched: !request.template_kwargs.is_empty(),
            ask: request.add_generation_prompt,
            thinks: texts.iter().any(|text| text.spot == Spot::Reasoning),
            day: is_dated.then(|| request.now.or_else(system_clock)).flatten().map(|now| now.div_euclid(24 * 60 * 60)),
        };
        let all = || self.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = all().iter().find(|(known, _)| *known == options) {
            return Some(known.clone());
        }
        let learnt = Arc::new(Learnt::of(request, options.thinks, label));
        let mut all = all();
        all.push_front((options, learnt.clone()));
        all.truncate(SEGMENT_LEARNT);
        Some(learnt)
    }
}

impl Learnt {
    fn of(request: &Request, thinks: bool, label: impl Fn(&Request) -> Option<(Segments, Borders)>) -> Learnt {
        let mut learnt = Learnt::default();
        // Which answers have reasoning, in turn.
        let thoughts: &[[bool; 2]] = if thinks { &[[true, true], [true, false], [false, true]] } else { &[[false; 2]] };
        for [lead, answered] in [[false, false], [false, true], [true, false], [true, true]] {
            for thinks in thoughts {
                let request = conversation(request, lead, if answered { 6 } else { 5 }, thinks);
                if let Some((found, borders)) = label(&request) {
                    learnt.add(&request, &found, borders);
                }
            }
        }
        learnt
    }

    /// Adds what a labelled prompt has between its texts, if it shows all of them whole, but for reasoning, and nothing else.
    fn add(&mut self, request: &Request, found: &Segments, borders: Borders) {
        let texts = texts(request).unwrap_or_default();
        let mut left = texts.iter();
        let mut glues: Vec<(Spot, Spot, Range<usize>)> = Vec::new();
        let (mut from, mut spot) = (0, Spot::Border);
        for segment in found.segments.iter().filter(|segment| segment.origin != Origin::Template) {
            let mut next =
                left.by_ref().skip_while(|text| text.spot == Spot::Reasoning && text.origin() != segment.origin);
            match next.next() {
                Some(text) if text.origin() == segment.origin && found.prompt[segment.bytes.clone()] == *text.text => {
                    glues.push((spot, text.spot, from..segment.bytes.start));
                    (from, spot) = (segment.bytes.end, text.spot);
                }
                _ => return,
            }
        }
        glues.push((spot, Spot::Border, from..found.prompt.len()));
        let blocks: Vec<usize> = found.generation.iter().flat_map(|block| [block.start, block.end]).collect();
        let is_between = |at: &usize| glues.iter().any(|(_, _, glue)| (glue.start..=glue.end).contains(at));
        if left.any(|text| text.spot != Spot::Reasoning) || found.limit.is_some() || !blocks.iter().all(is_between) {
            return;
        }
        for (spot, next, bytes) in glues {
            let own = blocks.iter().filter(|at| (bytes.start..=bytes.end).contains(at));
            let text = found.prompt[bytes.clone()].to_owned();
            let glue = Glue { text, blocks: own.map(|at| at - bytes.start).collect(), is_ambiguous: false };
            let known = &mut self.between[spot as usize][next as usize];
            match known.iter_mut().find(|known| known.text == glue.text) {
                Some(known) => known.is_ambiguous |= known.blocks != glue.blocks,
                None => known.push(glue),
            }
        }
        self.borders.add(borders);
    }

    /// The segments of a prompt, and its `{% generation %}` blocks, if all of it is known.
    pub fn segments(&self, prompt: &str, texts: &[Text]) -> Option<(Vec<Segment>, Vec<Range<usize>>)> {
        let mut segments = Vec::with_capacity(2 * texts.len() + 1);
        let mut blocks = Vec::new();
        let mut push = |bytes: Range<usize>, origin: Origin| {
            if !bytes.is_empty() {
                segments.push(Segment { bytes, origin });
            }
        };
        let (mut at, mut spot, mut left) = (0, Spot::Border, texts);
        loop {
            let (glue, skipped, length) = self.next(&prompt[at..], spot, left)?;
            blocks.extend(glue.blocks.iter().map(|block| at + block));
            let start = at + glue.text.len();
            push(at..start, Origin::Template);
            let Some((text, rest)) = left[skipped..].split_first() else { break };
            push(start..start + length, text.origin());
            (at, spot, left) = (start + length, text.spot, rest);
        }
        let blocks = blocks.chunks(2).map(|block| block[0]..block.get(1).copied().unwrap_or(prompt.len())).collect();
        Some((segments, blocks))
    }

    /// The glue at the start of a prompt's rest, how many texts are not shown behind it, and how much of the next one is, if only
    /// one way fits.
    fn next(&self, prompt: &str, spot: Spot, left: &[Text]) -> Option<(&Glue, usize, usize)> {
        let mut found = None;
        // A template may leave reasoning out.
        let most = left.iter().take_while(|text| text.spot == Spot::Reasoning).count().min(1);
        for skipped in 0..=most {
            let text = left.get(skipped);
            for glue in &self.between[spot as usize][text.map_or(Spot::Border, |text| text.spot) as usize] {
                let Some(rest) = prompt.strip_prefix(&*glue.text) else { continue };
                let whole = text.map_or("", |text| text.text);
                let trimmed = Some(whole.trim()).filter(|trimmed| trimmed.len() < whole.len());
                for shown in [whole].into_iter().chain(trimmed) {
                    let goes_on = |rest: &str| text.map_or(rest.is_empty(), |text| self.goes_on(rest, text.spot));
                    let fits = rest.strip_prefix(shown).is_some_and(goes_on);
                    if fits && found.replace((glue, skipped, shown.len())).is_some() {
                        return None;
                    }
                }
            }
        }
        found.filter(|(glue, ..)| !glue.is_ambiguous)
    }

    /// Whether a prompt may have this rest behind a text.
    fn goes_on(&self, rest: &str, spot: Spot) -> bool {
        let [ends, others @ ..] = &self.between[spot as usize];
        ends.iter().any(|glue| rest == glue.text) || others.iter().flatten().any(|glue| rest.starts_with(&*glue.text))
    }
}

/// The texts of a request in order, if its conversation is ordinary: nothing but texts, such that each message has one.
pub(super) fn texts(request: &Request) -> Option<Vec<Text<'_>>> {
    let is_switch = |(name, value): (&String, &Value)| name == "enable_thinking" && value.is_boolean();
    let is_ordinary = request.template_kwargs.iter().all(is_switch)
        && request.continuation == Continuation::None
        && !request.force_pure_content;
    let mut texts = Vec::new();
    let mut message = |index: usize, role: &str, reasoning, content| {
        let spot = match role {
            "system" => Spot::System,
            "user" => Spot::User,
            "assistant" => Spot::Answer,
            _ => return None,
        };
        let all: [(Spot, &str); 2] = [(Spot::Reasoning, reasoning), (spot, content)];
        let before = texts.len();
        let shown = all.into_iter().filter(|(_, text)| !text.trim().is_empty());
        texts.extend(shown.map(|(spot, text)| Text { message: index, spot, text }));
        let has_reasoning = texts.get(before).is_some_and(|text| text.spot == Spot::Reasoning);
        (texts.len() > before && (spot == Spot::Answer || !has_reasoning)).then_some(())
    };
    match &request.plain {
        _ if !is_ordinary => return None,
        Some(given) => {
            let is_none = |list: &Value| list.as_array().map_or(list.is_null(), Vec::is_empty);
            if !is_none(&given.tools) || !is_none(&given.documents) {
                return None;
            }
            for (index, given) in given.messages.as_array()?.iter().enumerate() {
                let fields = given.as_object()?;
                let text = |name: &str| fields.get(name).map_or(Some(""), Value::as_str);
                let (role, reasoning, content) = (text("role")?, text("reasoning_content")?, text("content")?);
                let known = ["role", "reasoning_content", "content"];
                if fields.keys().any(|name| !known.contains(&&**name)) {
                    return None;
                }
                message(index, role, reasoning, content)?;
            }
        }
        None if !request.tools.is_empty() => return None,
        None => {
            for (index, given) in request.messages.iter().enumerate() {
                let is_text = given.parts.is_empty() && given.tool_calls.is_empty() && given.more.is_empty();
                if !is_text || !given.name.is_empty() || !given.tool_call_id.is_empty() {
                    return None;
                }
                message(index, &given.role, &given.reasoning_content, &given.content)?;
            }
        }
    }
    Some(texts)
}

/// The request with another conversation. `lead`: it begins with a system message; `count`: how many others it has; `thinks`: whether the
/// answers have reasoning, in turn.
fn conversation(request: &Request, lead: bool, count: usize, thinks: &[bool; 2]) -> Request {
    // Whatever a template does to texts shows in one of these.
    let text = |name: &str, number: usize| {
        format!("{name} {number} \"of\" a's <i>&\n\n\u{e9}\u{4e16} {{x}} \\ 34, (A) {number} {}", name.to_uppercase())
    };
    let lead = lead.then(|| Message::new("system", text("Fig", 0)));
    let others = (0..count).map(|number| {
        let mut message = match number % 2 {
            0 => Message::new("user", text("Quince", number)),
            _ => Message::new("assistant", text("Medlar", number)),
        };
        if number % 2 == 1 && thinks[number / 2 % 2] {
            message.reasoning_content = text("Plum", number);
        }
        message
    });
    let messages: Vec<Message> = lead.into_iter().chain(others).collect();
    let mut other = request.clone();
    if let Some(PlainConversation { messages: given, .. }) = &mut other.plain {
        let plain = |message: &Message| match &*message.reasoning_content {
            "" => json!({"role": message.role, "content": message.content}),
            thought => json!({"role": message.role, "content": message.content, "reasoning_content": thought}),
        };
        *given = Arc::new(messages.iter().map(plain).collect());
    } else {
        other.messages = messages;
    }
    other
}

/// Texts that a template may look for in values: those in quotes in its source with more than one character, not only of
/// letters and digits, and its tokens. By a byte that they have and few other texts.
#[derive(Debug, Default)]
struct Markers(Vec<(u8, Vec<Marker>)>);

#[derive(Debug)]
struct Marker {
    text: String,
    /// Where the byte is.
    at: usize,
}

impl Markers {
    fn of(taught: &Taught) -> Self {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | ' ' | '-' | '.');
        let template = &taught.template;
        let tokens = taught.ends().iter().map(String::as_str).chain([template.bos()]).map(str::to_owned);
        let mut all: Vec<(u8, Vec<Marker>)> = Vec::new();
        for text in literals(template.source()).into_iter().chain(tokens).filter(|text| text.len() > 1) {
            let Some(at) = text.find(['<', '[', '{', '|']).or_else(|| text.find(|c| !is_word(c))) else { continue };
            let (byte, marker) = (text.as_bytes()[at], Marker { text, at });
            match all.iter_mut().find(|(known, _)| *known == byte) {
                Some((_, markers)) => markers.push(marker),
                None => all.push((byte, vec![marker])),
            }
        }
        Markers(all)
    }

    fn is_in(&self, text: &str) -> bool {
        let text = text.as_bytes();
        let is_here = |at: usize, markers: &[Marker]| {
            let from = |marker: &Marker| text.get(at.checked_sub(marker.at)?..);
            markers.iter().any(|marker| from(marker).is_some_and(|text| text.starts_with(marker.text.as_bytes())))
        };
        // Three bytes are searched for at once.
        self.0.chunks(3).any(|some| {
            let [first, second, third] = [0, 1, 2].map(|index| some.get(index).unwrap_or(&some[0]).0);
            let mut at = 0;
            while let Some(more) = find3([first, second, third], &text[at..]) {
                at += more;
                if some.iter().any(|(byte, markers)| *byte == text[at] && is_here(at, markers)) {
                    return true;
                }
                at += 1;
            }
            false
        })
    }
}
