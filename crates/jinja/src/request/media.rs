//! Media in the parts of messages: as the template writes them, or as the host's marker.

use std::collections::HashMap;

use serde_json::Value;

use crate::env::Engine;
use crate::probe::caps::{UNKNOWN, prompts_of_role};
use crate::{Caps, Prepared, SourceParts, Template};
use chatparse_base::find::{char_border_before, char_border_behind, shared, shared_end};
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

/// The most bytes of a medium and beside it in which texts of the source are looked for, and the most of such texts.
const SEARCHED: usize = 1024;
const TEXTS: usize = 4096;

/// Finds out what the template writes for media of this role, with trial renders.
pub(crate) fn shown(engine: &Engine, source: &str, role: &str, caps: &Caps) -> Shown {
    let texts = SourceParts::of(source).texts.into_iter().map(|text| text.text.trim().to_owned());
    let texts: Vec<String> = texts.filter(|text| (1..SEARCHED).contains(&text.len())).take(TEXTS).collect();
    PLACES.map(|beside| {
        KINDS.map(|kind| {
            // A template cannot tell a kind that its source does not name.
            let is_known = source.contains(kind);
            is_known.then(|| written(engine, &texts, role, caps, beside, kind)).flatten()
        })
    })
}

/// Renders a text, a medium, and two. What is found with tools must be what is found without.
fn written(
    engine: &Engine,
    texts: &[String],
    role: &str,
    caps: &Caps,
    [before, behind]: [&[&str]; 2],
    kind: &str,
) -> Option<String> {
    let media = json!({"type": kind, "unknown": UNKNOWN});
    let [marked, one, two] = [vec![text_part(MARK)], vec![media.clone()], vec![media.clone(), media]].map(|parts| {
        let [before, behind] = [before, behind].map(|texts| texts.iter().map(|text| text_part(text)));
        prompts_of_role(engine, role, &before.chain(parts).chain(behind).collect::<Value>(), caps)
    });
    let mut found = marked.iter().zip(one.iter().zip(&two)).filter_map(|(marked, (one, two))| {
        let marked = marked.as_ref().filter(|marked| marked.contains(MARK))?;
        let is_whole = |one: &&String| before.iter().chain(behind).all(|text| one.contains(text));
        let one = one.as_ref().filter(is_whole).filter(|one| !one.contains(UNKNOWN));
        Some(one.zip(two.as_ref()).and_then(|(one, two)| text(marked, one, two, texts)))
    });
    let first = found.next()??;
    found.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// The text of a medium in the prompt `one`, which `two` has twice, and `marked` has a text in its place.
fn text(marked: &str, one: &str, two: &str, texts: &[String]) -> Option<String> {
    let is_it = |text: &&str| {
        let has = |prompt: &str, times: usize| prompt.matches(*text).count() == times;
        !text.is_empty() && has(one, 1) && has(two, 2)
    };
    let (before, behind) = marked.split_once(MARK)?;
    // White space beside texts may be another than beside media.
    let exact = one.strip_prefix(before.trim_end()).and_then(|rest| rest.strip_suffix(behind.trim_start()));
    // It may have a number, or other texts around it than texts have: then a text of the source shows it.
    let found = exact.map(str::trim).filter(is_it).or_else(|| {
        let (from, end) = (shared(marked, one), shared_end(marked, one));
        let [with, without] = [one, marked].map(|prompt| {
            let around = char_border_before(prompt, from.saturating_sub(SEARCHED / 8));
            let to = char_border_behind(prompt, (prompt.len() - end + SEARCHED / 8).min(prompt.len()));
            prompt.get(around..to).filter(|near| near.len() <= SEARCHED)
        });
        let (with, without) = (with?, without?);
        let is_new = |text: &&str| with.contains(text) && !without.contains(text);
        texts.iter().map(String::as_str).filter(is_new).max_by_key(|text| text.len()).filter(is_it)
    })?;
    Some(found.to_owned())
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
