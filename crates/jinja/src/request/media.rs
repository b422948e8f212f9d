//! Media in the parts of messages: as the template writes them, or as the host's marker.

use serde_json::Value;

use crate::Template;
use crate::env::Engine;
use crate::probe::caps;
use chatparse_message::{Media, Message, text_part};

/// The kinds of media in templates.
const KINDS: [&str; 3] = ["image", "audio", "video"];

/// The text of each of [`KINDS`] in a prompt; `None`: the template does not write it.
pub(crate) type Shown = [Option<String>; KINDS.len()];

/// Finds out what the template writes, with trial renders.
pub(crate) fn shown(engine: &Engine) -> Shown {
    const ENDS: [&str; 2] = ["BEFORE_MARKER", "BEHIND_MARKER"];
    let between = |media: Option<Value>| {
        let parts: Vec<Value> = [text_part(ENDS[0])].into_iter().chain(media).chain([text_part(ENDS[1])]).collect();
        let prompt = caps::prompt_of(engine, json!([{"role": "user", "content": parts}]))?;
        let from = prompt.find(ENDS[0])? + ENDS[0].len();
        let length = prompt[from..].find(ENDS[1])?;
        Some(prompt[from..from + length].to_owned())
    };
    // A template that prints the list of parts does not write media.
    let is_list = |between: &String| between.contains("type");
    let Some(without) = between(None).filter(|between| !is_list(between)) else { return Shown::default() };
    let shown = |kind: &str| between(Some(json!({"type": kind}))).filter(|with| *with != without && !is_list(with));
    KINDS.map(shown)
}

/// Replaces media in a message by the template's text or the host's marker, and appends them to `found` in order.
pub(crate) fn placed(
    message: &Message,
    index: usize,
    template: &Template,
    marker: &str,
    found: &mut Vec<Media>,
) -> Message {
    let mut message = message.clone();
    for (part_index, part) in message.parts.iter_mut().enumerate() {
        let Some(source) = part.source.take() else { continue };
        let shown = KINDS.iter().position(|kind| *kind == part.kind).and_then(|kind| template.media()[kind].clone());
        let kind = part.kind.clone();
        let native = shown.is_some();
        if !native {
            "media_marker".clone_into(&mut part.kind);
        }
        part.text = shown.unwrap_or_else(|| marker.to_owned());
        found.push(Media { kind, message: index, part: part_index, native, text: part.text.clone(), source });
    }
    message
}
