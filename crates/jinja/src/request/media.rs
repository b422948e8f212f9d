//! Media in the parts of messages: as the template writes them, or as the host's marker.

use crate::probe::caps::{Trials, UNKNOWN};
use crate::{SourceParts, Template};
use chatparse_message::{Compat, Media, Message, Request, text_part};

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

/// Finds the texts that the template writes for media of this role.
pub fn shown(trials: &Trials, role: &str) -> Shown {
    let mut texts = Vec::new();
    for text in SourceParts::of(trials.source).texts {
        let text = text.text.trim();
        if !text.is_empty() && texts.len() < TEXTS {
            texts.push(text.to_owned());
        }
    }
    // A template cannot tell a kind that its source does not name.
    let kinds = KINDS.map(|kind| Some(kind).filter(|kind| trials.source.contains(kind)));
    PLACES.map(|beside| kinds.map(|kind| written(trials, role, &texts, beside, kind?)))
}

/// Renders a text, a medium, and two. The text for media must be the same with tools and without.
fn written(
    trials: &Trials,
    role: &str,
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
        trials.prompts_of_role(role, &before.chain(parts).chain(behind).collect())
    });
    let mut known: Option<&str> = None;
    for (marked, (one, two)) in marked.iter().zip(one.iter().zip(&two)) {
        let Some(marked) = marked.as_ref().filter(|marked| marked.contains(MARK)) else {
            continue;
        };
        let (one, two) = (one.as_ref()?, two.as_ref()?);
        if one.contains(UNKNOWN) || !before.iter().chain(behind).all(|text| one.contains(text)) {
            return None;
        }
        let text = text(marked, one, two, texts)?;
        if *known.get_or_insert(text) != text {
            return None;
        }
    }
    known.map(str::to_owned)
}

/// The text of a medium in the prompt `one`, which `two` has twice, and `marked` has a text in its
/// place.
fn text<'t>(marked: &str, one: &'t str, two: &str, texts: &'t [String]) -> Option<&'t str> {
    // White space beside texts may be another than beside media.
    let (before, behind) = marked.split_once(MARK)?;
    let rest = one.strip_prefix(before.trim_end());
    let exact = rest
        .and_then(|rest| rest.strip_suffix(behind.trim_start()))
        .map(str::trim);
    if let Some(exact) = exact
        && is_medium(exact, one, two)
    {
        return Some(exact);
    }
    if exact == Some("") || one.len().max(marked.len()) > SEARCHED {
        return None;
    }
    // It may have a number, or other texts around it than texts have: then a text of the source
    // shows it.
    let texts = texts.iter().map(|text| &**text);
    let longest = texts
        .filter(|text| one.contains(text) && !marked.contains(text))
        .max_by_key(|text| text.len());
    longest.filter(|text| is_medium(text, one, two))
}

/// Whether the prompt `one` has a text once, and `two` has it twice.
fn is_medium(text: &str, one: &str, two: &str) -> bool {
    !text.is_empty() && one.matches(text).count() == 1 && two.matches(text).count() == 2
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
    let texts = message.parts.iter().map(|part| part.kind == "text");
    let texts: Vec<bool> = texts.collect();
    let is_ours = request.output.compat == Compat::Off;
    let role = match is_ours {
        true => template.role(&message.role),
        false => "user",
    };
    let shown = template.media(role).filter(|_| native);
    for (part_index, part) in message.parts.iter_mut().enumerate() {
        let Some(source) = part.source.take() else {
            continue;
        };
        let (before, behind) = texts.split_at(part_index);
        let beside = [before, behind].map(|texts| !is_ours || texts.contains(&true));
        let [before, behind] = beside.map(usize::from);
        let mut kinds = shown
            .into_iter()
            .flat_map(|shown| KINDS.iter().zip(&shown[2 * before + behind]));
        let text = kinds.find_map(|(kind, text)| text.clone().filter(|_| part.kind == *kind));
        let kind = part.kind.clone();
        let native = text.is_some();
        if !native {
            "media_marker".clone_into(&mut part.kind);
        }
        part.text = text.unwrap_or_else(|| request.media_marker.clone());
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
