//! What another revision of a template changes, each with the smallest request that shows it.

use std::rc::Rc;

use serde::Serialize;
use serde_json::Value;

use crate::bench::{ASKED, Bench, answered, around, called, conversations, plain};
use crate::law::{Law, Shown};
use crate::{Verdict, lint};
use chatparse_base::brackets;
use chatparse_base::find::{shared, shared_end};
use chatparse_base::{Error, Result};
use chatparse_chat::chat::ChatTemplate;
use chatparse_chat::proof::{RoundTrip, Thinking, Turn, Verdict as Read};
use chatparse_chat::segments::Origin;

chatparse_base::names! {
    /// What a change is about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum ChangeKind {
        /// Texts of the conversation that one of the two prompts does not have.
        Lost = "lost",
        /// An error that one of the two raises.
        Error = "error",
        /// Texts of the conversation in another order.
        Order = "order",
        /// The template's own text.
        Prompt = "prompt",
        /// An output that one of the two does not read.
        Output = "output",
        /// A law that one of the two breaks.
        Law = "law",
    }
}

/// A difference between two revisions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// What it is about.
    pub kind: ChangeKind,
    /// The difference, as a sentence.
    pub message: String,
    /// Whether the new revision does what the old one did not; `None` if that is no question.
    #[serde(rename = "better")]
    pub is_better: Option<bool>,
    /// The smallest request that shows it; null if it is about an output or a law.
    pub request: Value,
    /// The number of conversations or messages that show it.
    pub count: usize,
    /// The old and the new text.
    pub shown: [Shown; 2],
}

impl Change {
    fn new(kind: ChangeKind, better: Option<bool>, message: String, texts: [&str; 2]) -> Change {
        let [old, new] = texts.map(str::to_owned);
        Change {
            kind,
            message,
            is_better: better,
            request: Value::Null,
            count: 1,
            shown: [
                Shown {
                    from: "old",
                    text: old,
                },
                Shown {
                    from: "new",
                    text: new,
                },
            ],
        }
    }
}

/// All differences between two revisions of a template: prompts, outputs, and laws.
pub fn diff(old: &ChatTemplate, new: &ChatTemplate) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let mut bench = Bench::new(old);
    bench.takes_tools |= Bench::new(new).takes_tools;
    for request in requests(&bench) {
        for mut change in prompts(&[old, new], &request) {
            let known = changes.iter_mut().find(|known| {
                (known.kind, &known.message, &known.shown)
                    == (change.kind, &change.message, &change.shown)
            });
            match known {
                Some(known) => known.count += 1,
                None => {
                    change.request = request.clone();
                    changes.push(change);
                }
            }
        }
    }
    changes.extend(outputs(old, new));
    changes.extend(laws(old, new));
    changes.sort_by_key(|change| change.kind);
    changes
}

/// The conversations of the laws, with what clients send besides: reasoning, null, empty lists,
/// parts, and variables of templates.
fn requests(bench: &Bench) -> Vec<Value> {
    let mut all = conversations(bench.takes_tools);
    // Fields of a conversation with an answer.
    let (null, none) = (Value::Null, json!([]));
    let fields = [
        ("/messages/1/reasoning_content", "Serviceberry: why?".into()),
        ("/messages/1/tool_calls", null.clone()),
        ("/messages/1/tool_calls", none.clone()),
        ("/tools", none),
        ("/chat_template_kwargs", json!({"reasoning_effort": "low"})),
        ("/chat_template_kwargs", json!({"reasoning_effort": "high"})),
    ];
    let mut changes = Vec::from(fields.map(|(place, value)| (answered(), place, value)));
    // Conversations that end early, and those with a call.
    let parts = json!([{"type": "text", "text": ASKED}]);
    changes.push((answered()[..1].to_vec(), "/messages/0/content", parts));
    changes.push((
        answered()[..2].to_vec(),
        "/add_generation_prompt",
        json!(false),
    ));
    if bench.takes_tools {
        let thought = "Serviceberry: why?".into();
        changes.push((called(), "/messages/1/reasoning_content", thought));
        changes.push((called(), "/messages/1/content", null));
    }
    // Each with thinking as it is, and off.
    for (messages, place, value) in changes {
        let mut request = bench.request(messages);
        if let Some((object, name)) = place.rsplit_once('/')
            && let Some(object) = request.pointer_mut(object)
        {
            object[name] = value;
        }
        all.push(request);
    }
    for mut plain in all.clone() {
        plain["chat_template_kwargs"] = json!({"enable_thinking": false});
        all.push(plain);
    }
    all
}

/// A prompt as the values of its conversation, and the template's texts before, between and after
/// them.
struct Parts {
    prompt: String,
    values: Vec<(Origin, String)>,
    glues: Vec<String>,
}

fn parts(template: &ChatTemplate, request: &Value) -> Result<Parts> {
    let found = template.segments(&plain(template, request)?)?;
    let (mut values, mut glues) = (Vec::new(), vec![String::new()]);
    for segment in found.segments {
        let text = &found.prompt[segment.bytes];
        match (segment.origin, glues.last_mut()) {
            (Origin::Template | Origin::Unknown, Some(glue)) => glue.push_str(text),
            (origin, _) => {
                values.push((origin, text.to_owned()));
                glues.push(String::new());
            }
        }
    }
    let prompt = found.prompt;
    Ok(Parts {
        prompt,
        values,
        glues,
    })
}

/// The differences of the prompts of one request.
fn prompts(templates: &[&ChatTemplate; 2], request: &Value) -> Vec<Change> {
    let parts = templates.map(|template| parts(template, request));
    let errors = parts
        .each_ref()
        .map(|parts| parts.as_ref().err().map_or("", Error::reason));
    let (old, new) = match &parts {
        [Ok(old), Ok(new)] => (old, new),
        _ if errors[0] == errors[1] => return Vec::new(),
        _ => {
            let (better, which) = match errors.map(str::is_empty) {
                [true, _] => (Some(false), "The new one raises an error."),
                [_, true] => (Some(true), "The old one raises an error."),
                _ => (None, "Both raise an error, in other words."),
            };
            return vec![Change::new(
                ChangeKind::Error,
                better,
                which.to_owned(),
                errors,
            )];
        }
    };
    if old.values == new.values {
        let pairs = old.glues.iter().zip(&new.glues);
        return pairs.filter_map(|(old, new)| changed(old, new)).collect();
    }
    for (from, other, is_better) in [(old, new, false), (new, old, true)] {
        let lost = from
            .values
            .iter()
            .find(|value| !other.prompt.contains(&*value.1));
        if let Some((origin, text)) = lost {
            let which = if is_better { "old" } else { "new" };
            let message = format!("{} is not in the {which} prompt.", named(origin));
            let texts = if is_better { ["", text] } else { [&**text, ""] };
            return vec![Change::new(
                ChangeKind::Lost,
                Some(is_better),
                message,
                texts,
            )];
        }
    }
    let at = shared(&old.prompt, &new.prompt);
    let texts = [&old.prompt, &new.prompt].map(|prompt| around(prompt, at));
    let mut sorted = [&old.values, &new.values].map(|values| values.clone());
    sorted.iter_mut().for_each(|values| values.sort());
    let (kind, message) = match sorted[0] == sorted[1] {
        true => (
            ChangeKind::Order,
            "The conversation's texts come in another order.",
        ),
        // The same texts, escaped, counted or divided in another way.
        false => (
            ChangeKind::Prompt,
            "The conversation's texts are written in another form.",
        ),
    };
    vec![Change::new(
        kind,
        None,
        message.to_owned(),
        [&texts[0], &texts[1]],
    )]
}

/// The difference of two texts of the template at the same place; `None` if they are equal.
fn changed(old: &str, new: &str) -> Option<Change> {
    if old == new {
        return None;
    }
    let mut begin = shared(old, new);
    let mut end = shared_end(&old[begin..], &new[begin..]);
    // Markers are shown whole.
    let before = &old[..begin];
    if let Some(open) = before.rfind(brackets::opens)
        && !before[open..].contains(brackets::closes)
    {
        begin = open;
    }
    let after = &old[old.len() - end..];
    if let Some((close, sign)) = after.char_indices().find(|(_, c)| brackets::closes(*c))
        && !after[..close].contains(brackets::opens)
    {
        end -= close + sign.len_utf8();
    }
    let texts = [old, new].map(|text| {
        let text = text.get(begin..text.len() - end).unwrap_or(text);
        text.chars().take(200).collect::<String>()
    });
    let message = match texts.each_ref().map(|text| text.is_empty()) {
        [true, _] => "The new one writes a text more.",
        [_, true] => "The new one leaves out a text of its own.",
        _ => "A text of the template differs.",
    };
    Some(Change::new(
        ChangeKind::Prompt,
        None,
        message.to_owned(),
        [&texts[0], &texts[1]],
    ))
}

/// A place of a request in words.
fn named(origin: &Origin) -> String {
    match origin {
        Origin::Message { index, path } => format!("messages[{index}]{}", path.replace('/', ".")),
        Origin::Tool(index) => format!("A text of tools[{index}]"),
        _ => "A text".to_owned(),
    }
}

/// Turns that one of the two reads, and the other one does not.
fn outputs(old: &ChatTemplate, new: &ChatTemplate) -> Vec<Change> {
    let mut changes = Vec::new();
    let (mut first, mut second) = (old.probes(), new.probes());
    for is_better in [false, true] {
        let (own, others) = if is_better {
            (&mut second, &mut first)
        } else {
            (&mut first, &mut second)
        };
        let (probes, other_probes) = (Rc::clone(&own.probes), Rc::clone(&others.probes));
        let mut found: Option<Change> = None;
        let mut modes = Vec::new();
        for (index, probe) in probes.probes().iter().enumerate() {
            let mut known = other_probes.probes().iter();
            let Some(place) = known.position(|known| known.name == probe.name) else {
                continue;
            };
            for thinking in Thinking::ALL {
                let Some(mut turn) = probes.turn(index, thinking) else {
                    continue;
                };
                if !reads(own, index, thinking, &turn) {
                    continue;
                }
                // After the prompt of the writer, or after the other one's own.
                let mut is_read = reads(others, place, thinking, &turn);
                if let Some(other) = other_probes.turn(place, thinking) {
                    turn.opening = other.opening;
                    is_read |= reads(others, place, thinking, &turn);
                }
                if is_read {
                    continue;
                }
                modes.push(format!("{} ({thinking})", probe.name));
                let (mut names, mut texts) = (["old", "new"], [&*turn.text, ""]);
                if is_better {
                    names.reverse();
                    texts.reverse();
                }
                let [writes, reads] = names;
                let message = format!(
                    "Outputs as the {writes} one writes them are not read by the {reads} one"
                );
                found.get_or_insert_with(|| {
                    Change::new(ChangeKind::Output, Some(is_better), message, texts)
                });
            }
        }
        if let Some(mut change) = found {
            change.count = modes.len();
            modes.truncate(4);
            change.message += &format!(", {} messages: {} …", change.count, modes.join(", "));
            changes.push(change);
        }
    }
    changes
}

/// Whether a turn of this message is read back.
fn reads(reading: &mut RoundTrip, probe: usize, thinking: Thinking, turn: &Turn) -> bool {
    let read = reading.read(probe, thinking, turn);
    read.is_ok_and(|read| read.verdict == Read::Same)
}

/// Laws with another verdict.
fn laws(old: &ChatTemplate, new: &ChatTemplate) -> Vec<Change> {
    let (old, new) = (lint(old), lint(new));
    let mut changes = Vec::new();
    for law in Law::ALL {
        let [before, after] = [&old, &new].map(|report| report.verdict(law));
        if before == after {
            continue;
        }
        let reports = [&old, &new].map(|report| {
            let mut found = report.findings.iter().filter(|finding| finding.law == law);
            found.next().map_or("", |finding| &*finding.message)
        });
        let is_better = match (before, after) {
            (Verdict::NotAsked, Verdict::Holds) | (Verdict::Holds, Verdict::NotAsked) => None,
            _ => Some(after > before),
        };
        let message = format!("{law}: {before} → {after}. {}", law.sentence());
        changes.push(Change::new(ChangeKind::Law, is_better, message, reports));
    }
    changes
}
