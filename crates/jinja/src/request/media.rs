//! Media in the parts of messages: as the template writes them, or as the host's marker.

use std::collections::HashMap;

use serde_json::Value;

use super::prepare::UNKNOWN;
use crate::env::Engine;
use crate::probe::caps::prompts_of_role;
use crate::{Caps, Prepared, SourceParts, Template};
use chatparse_base::find::shared;
use chatparse_message::{Compat, Media, Message, Request, text_part};

/// The kinds of media in templates.
const KINDS: [&str; 3] = ["image", "audio", "video"];

/// The texts beside media: before them, and after them.
const PLACES: [[&[&str]; 2]; 4] =
    [[&[], &[]], [&[], &["BEHIND_MARKER"]], [&["BEFORE_MARKER"], &[]], [&["BEFORE_MARKER"], &["BEHIND_MARKER"]]];

/// The text of each of [`KINDS`] in each of [`PLACES`]; `None`: the template does not write it there.
pub(crate) type Shown = [[Option<String>; KINDS.len()]; PLACES.len()];

/// The text in the place of media.
const MARK: &str = "MEDIA_MARKER";

/// What a template may write for media, in bytes, where it does not write them as it writes texts.
const WRAPPED: usize = 512;

/// Finds out what the template writes for media of this role, with trial renders.
pub(crate) fn shown(engine: &Engine, source: &str, role: &str, caps: &Caps) -> Shown {
    PLACES.map(|beside| {
        KINDS.map(|kind| {
            // A template cannot tell a kind that its source does not name.
            source.contains(kind).then(|| written(engine, source, role, caps, beside, kind)).flatten()
        })
    })
}

/// Renders a text, a medium, and two. What is found with tools must be what is found without.
fn written(
    engine: &Engine,
    source: &str,
    role: &str,
    caps: &Caps,
    [before, behind]: [&[&str]; 2],
    kind: &str,
) -> Option<String> {
    // If an unknown field of a part is rendered, the template prints the list of parts.
    let media = json!({"type": kind, "unknown": UNKNOWN});
    let [marked, one, two] = [vec![text_part(MARK)], vec![media.clone()], vec![media.clone(), media]].map(|parts| {
        let [before, behind] = [before, behind].map(|texts| texts.iter().map(|text| text_part(text)));
        prompts_of_role(engine, role, &before.chain(parts).chain(behind).collect::<Value>(), caps)
    });
    let mut found = marked.iter().zip(one.iter().zip(&two)).filter_map(|(marked, (one, two))| {
        let around = marked.as_ref()?.split_once(MARK)?;
        let is_whole = |one: &&String| before.iter().chain(behind).all(|text| one.contains(text));
        let one = one.as_ref().filter(is_whole).filter(|one| !one.contains(UNKNOWN));
        Some(one.zip(two.as_ref()).and_then(|(one, two)| text(around, one, two, source)))
    });
    let first = found.next()??;
    found.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// The text of a medium in the prompt `one`, which `two` has twice. `around`: what is before and after a text in its place.
fn text((before, behind): (&str, &str), one: &str, two: &str, source: &str) -> Option<String> {
    let exact = one.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind)).map(str::to_owned);
    let found = exact.or_else(|| {
        // Where it begins is not certain, so the longest text of the source in it is taken.
        let (at, length) = (shared(one, two), two.len().checked_sub(one.len())?);
        let more = two.get(at..at + length).filter(|_| length <= WRAPPED && two.ends_with(&one[at..]))?.repeat(2);
        let texts = SourceParts::of(source).texts.into_iter().map(|text| text.text.trim().to_owned());
        texts.filter(|text| more.contains(text)).max_by_key(String::len)
    })?;
    let is_there = |prompt: &str, times: usize| prompt.matches(&*found).count() == times;
    (!found.is_empty() && is_there(one, 1) && is_there(two, 2)).then_some(found)
}

/// Replaces media in a message by the template's text or the host's marker, and appends them to `found` in order. `native`: whether
/// the template's text may be used.
pub(crate) fn placed(
    message: &Message,
    index: usize,
    template: &Template,
    request: &Request,
    native: bool,
    found: &mut Vec<Media>,
) -> Message {
    let mut message = message.clone();
    let texts = || message.parts.iter().enumerate().filter(|(_, part)| part.kind == "text").map(|(index, _)| index);
    let (first, last) = (texts().next(), texts().next_back());
    let role = if request.compat == Compat::LlamaCpp { "user" } else { template.role(&message.role) };
    let shown = template.media(role).filter(|_| native);
    for (part_index, part) in message.parts.iter_mut().enumerate() {
        let Some(source) = part.source.take() else { continue };
        let beside = match request.compat {
            Compat::LlamaCpp => [true, true],
            _ => [first < Some(part_index) && first.is_some(), last > Some(part_index)],
        };
        let place = PLACES.iter().position(|texts| texts.map(|texts| !texts.is_empty()) == beside);
        let kind = KINDS.iter().position(|kind| *kind == part.kind);
        let shown = shown.zip(place).zip(kind).and_then(|((shown, place), kind)| shown[place][kind].clone());
        let kind = part.kind.clone();
        let native = shown.is_some();
        if !native {
            "media_marker".clone_into(&mut part.kind);
        }
        part.text = shown.unwrap_or_else(|| request.media_marker.clone());
        found.push(Media { kind, message: index, part: part_index, native, text: part.text.clone(), source });
    }
    message
}

impl Prepared {
    /// Whether the prompt has each text of media as often as there are media with it.
    pub fn is_shown(&self, prompt: &str) -> bool {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        self.media.iter().for_each(|media| *counts.entry(&media.text).or_default() += 1);
        counts.into_iter().all(|(text, count)| prompt.matches(text).count() >= count)
    }
}
