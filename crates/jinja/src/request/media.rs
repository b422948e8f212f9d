//! Media in the parts of messages: as the template writes them, or as the host's marker.

use serde_json::Value;

use crate::env::Engine;
use crate::probe::caps::{UNKNOWN, prompts_of_role};
use crate::{Caps, SourceParts, Template};
use chatparse_message::{Compat, Media, Message, Part, Request, text_part};

/// The kinds of media in templates.
const KINDS: [&str; 3] = ["image", "audio", "video"];

/// Texts before media and after them.
type Beside = [&'static [&'static str]; 2];

/// The places of media; the index of one has a bit for each side.
const PLACES: [Beside; 4] = [
    [&[], &[]],
    [&[], &["BEHIND_MARKER"]],
    [&["BEFORE_MARKER"], &[]],
    [&["BEFORE_MARKER"], &["BEHIND_MARKER"]],
];

/// The text of each of [`KINDS`] in each of [`PLACES`]; `None`: the template does not write it
/// there.
pub type Shown = [[Option<String>; KINDS.len()]; PLACES.len()];

/// The text in the place of media.
const MARK: &str = "MEDIA_MARKER";

/// The longest prompt of a trial in which texts of the source are looked for, in bytes, and how
/// many of them.
const SEARCHED: usize = 1 << 15;
const TEXTS: usize = 1024;

/// Finds out what the template writes for media of this role, with trial renders.
pub fn shown(engine: &Engine, source: &str, role: &str, caps: &Caps) -> Shown {
    let texts = SourceParts::of(source)
        .texts
        .into_iter()
        .map(|text| text.text.trim().to_owned());
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).take(TEXTS).collect();
    // A template cannot tell a kind that its source does not name.
    let kinds = KINDS.map(|kind| Some(kind).filter(|kind| source.contains(kind)));
    let prompts = |content: Value| prompts_of_role(engine, role, &content, caps);
    PLACES.map(|beside| kinds.map(|kind| written(prompts, &texts, beside, kind?)))
}

/// Renders a text, a medium, and two. What is found with tools must be what is found without.
fn written(
    prompts: impl Fn(Value) -> [Option<String>; 2],
    texts: &[String],
    [before, behind]: Beside,
    kind: &str,
) -> Option<String> {
    let media = json!({"type": kind, "unknown": UNKNOWN});
    let [marked, one, two] = [
        vec![text_part(MARK)],
        vec![media.clone()],
        vec![media.clone(), media],
    ]
    .map(|parts| {
        let [before, behind] =
            [before, behind].map(|texts| texts.iter().map(|text| text_part(text)));
        prompts(before.chain(parts).chain(behind).collect())
    });
    let mut found = marked
        .iter()
        .zip(one.iter().zip(&two))
        .filter_map(|(marked, (one, two))| {
            let marked = marked.as_ref().filter(|marked| marked.contains(MARK))?;
            let one = one
                .as_ref()
                .filter(|one| before.iter().chain(behind).all(|text| one.contains(text)));
            let one = one.filter(|one| !one.contains(UNKNOWN));
            Some(
                one.zip(two.as_ref())
                    .and_then(|(one, two)| text(marked, one, two, texts))
                    .map(str::to_owned),
            )
        });
    let first = found.next()??;
    found
        .all(|other| other.as_ref() == Some(&first))
        .then_some(first)
}

/// The text of a medium in the prompt `one`, which `two` has twice, and `marked` has a text in its
/// place.
fn text<'t>(marked: &str, one: &'t str, two: &str, texts: &'t [String]) -> Option<&'t str> {
    let is_it = |text: &&str| {
        let has = |prompt: &str, times: usize| prompt.matches(*text).count() == times;
        !text.is_empty() && has(one, 1) && has(two, 2)
    };
    // White space beside texts may be another than beside media.
    let (before, behind) = marked.split_once(MARK)?;
    let exact = one
        .strip_prefix(before.trim_end())
        .and_then(|rest| rest.strip_suffix(behind.trim_start()));
    let exact = exact.map(str::trim);
    // It may have a number, or other texts around it than texts have: then a text of the source
    // shows it.
    let is_written = exact != Some("") && one.len().max(marked.len()) <= SEARCHED;
    let texts = texts
        .iter()
        .filter(|text| is_written && one.contains(*text) && !marked.contains(*text));
    exact.filter(is_it).or_else(|| {
        texts
            .map(String::as_str)
            .max_by_key(|text| text.len())
            .filter(is_it)
    })
}

/// Replaces media in a message by the template's text or the host's marker, and appends them to
/// `found` in order. `native`: whether the template's text may be used.
pub fn placed(
    message: &Message,
    index: usize,
    template: &Template,
    request: &Request,
    native: bool,
    found: &mut Vec<Media>,
) -> Message {
    let mut message = message.clone();
    let is_text = |part: &Part| part.kind == "text";
    let (first, last) = (
        message.parts.iter().position(is_text),
        message.parts.iter().rposition(is_text),
    );
    let is_ours = request.output.compat == Compat::Off;
    let shown = template
        .media(if is_ours {
            template.role(&message.role)
        } else {
            "user"
        })
        .filter(|_| native);
    for (part_index, part) in message.parts.iter_mut().enumerate() {
        let Some(source) = part.source.take() else {
            continue;
        };
        let beside = [
            first.is_some_and(|first| first < part_index),
            last > Some(part_index),
        ]
        .map(|it| it || !is_ours);
        let [before, behind] = beside.map(usize::from);
        let known = KINDS.iter().position(|kind| *kind == part.kind);
        let shown = shown
            .zip(known)
            .and_then(|(shown, kind)| shown[2 * before + behind][kind].clone());
        let kind = part.kind.clone();
        let native = shown.is_some();
        if !native {
            "media_marker".clone_into(&mut part.kind);
        }
        part.text = shown.unwrap_or_else(|| request.media_marker.clone());
        found.push(Media {
            kind,
            message: index,
            part: part_index,
            native,
            text: part.text.clone(),
            source,
        });
    }
    message
}
