//! Finds the end of the output's turn in a render.
//!
//! The render begins with the previous prompt, and continues with the turn as the template writes
//! it. There are three ways to find the end of the turn, in this order:
//!
//! - The render continues with the output itself.
//! - It does apart from white space.
//! - The output matches the format, or has complete calls in another dialect, and the turn in the
//!   render, up to some position, is read as the same message. A render that ends with the message
//!   limits how far the turn may reach. Of the positions before that, the one is used at which turn
//!   and output have the longest common end, apart from white space, so that both have the same
//!   closing markers.
//!
//! Where the template changes what was sent, none of them helps, and the end is found by a change:
//! a render in which the message says more is the same after the last of the message.

use serde_json::{Map, Value};

use super::{New, Session, Shown};
use crate::proof::{borders, is_one_marker, marker_at_end, shown as said};
use crate::texts::{to_first_close, uncut};
use chatparse_base::find::{shared, shared_end};
use chatparse_base::{Result, number};
use chatparse_message::Message;
use chatparse_stream::{EndedBy, Json, Status};

/// The maximum number of positions that are tried, from the end of the turn on.
const ENDS: usize = 16;
/// The maximum number of markers that may end a turn.
const MARKERS: usize = 4;

/// The end of the turn; `None` if it is not in the render after the previous prompt, or differs
/// from what was written. The output from `cut` on ends the turn, and is not part of the message.
pub(super) fn end(session: &Session, shown: &Shown, output: &str, cut: usize) -> Option<usize> {
    let turn = session.behind_rendered(shown.render())?;
    let (said, ending) = output.split_at(cut);
    let same = turn.starts_with(said).then_some(cut);
    let end = same
        .or_else(|| spaced(turn, said))
        .or_else(|| read_back(session, shown, said))?;
    let end = if ending.is_empty() {
        end
    } else {
        end + spaced(&turn[end..], ending)?
    };
    // The opening of the next turn never belongs to the output.
    (turn.len() - end >= shown.prompts.opening.prefill.len()).then_some(shown.base + end)
}

/// The end of the output in a text that is equal apart from white space.
fn spaced(text: &str, output: &str) -> Option<usize> {
    let mut rest = text;
    for c in output.chars().filter(|c| !c.is_whitespace()) {
        rest = rest.trim_start().strip_prefix(c)?;
    }
    Some(text.len() - rest.len() + spaces_of(rest, output))
}

/// The position up to which the turn is read as the same message, and ends like the output.
fn read_back(session: &Session, shown: &Shown, output: &str) -> Option<usize> {
    // After calls in another dialect, a marker must show where they end.
    let least = match (shown.is_whole, last_marker(output)) {
        (false, 0) => return None,
        (false, _) if !shown.has_calls => return None,
        (_, marker) => marker.max(1),
    };
    let alone = session.ending_with(&shown.message, &shown.request).ok()?;
    let turn = &shown.render()[shown.base..];
    let reach = shared(alone.get(shown.base..)?, turn);
    let mut ends: Vec<(usize, usize)> = Vec::new();
    for at in borders(turn, 1..=reach).rev().take(ENDS) {
        let alike = alike(&turn[..at], output);
        if alike >= last_marker(&turn[..at]).max(least) {
            ends.push((alike, at));
        }
    }
    chatparse_base::sort::by_key(&mut ends, |(alike, at)| (std::cmp::Reverse(*alike), *at));
    let expected = said(&shown.message);
    for (_, at) in ends {
        let parser = &session.params.parser;
        let read = parser.read(&turn.as_bytes()[..at], EndedBy::Model);
        if read.status == Status::Complete && said(&read.message) == expected {
            return Some(spaced_as(turn, at, output));
        }
    }
    None
}

/// The end of the turn in a render that may change what was sent. If the message is not in the
/// render, that is where the new messages begin.
pub(super) fn end_by_change(
    session: &Session,
    shown: &Shown,
    new: &New,
    output: &str,
) -> Result<usize> {
    let render = shown.render();
    for message in longer(&shown.message) {
        // A template may refuse what the message says for the trial.
        let Ok(other) = session.shown_as(message, new) else {
            continue;
        };
        let other = other.render();
        let alike = shared_end(render, other);
        if alike < render.len().max(other.len()) {
            let behind = render.len() - alike;
            let text = new
                .messages
                .get(0)
                .map_or(String::new(), |first| first.text());
            let rest = &render[behind..];
            let next = Some(text.trim()).filter(|text| !text.is_empty());
            let next = next.and_then(|text| rest.find(text)).unwrap_or(rest.len());
            if let Some(written) = written_of(rest, next, output) {
                return Ok(behind + written);
            }
            // The render may have no token there that ended the output.
            let mut shorter = spelt_ends(session, output).into_iter();
            let written = shorter.find_map(|cut| written_of(rest, next, &output[..cut]));
            let from = behind + written.unwrap_or(0);
            let rest = &render[from..];
            let replaced = replaced(session, shown, new, rest, output);
            return Ok(from + replaced.unwrap_or_else(|| spaces_of(rest, output)));
        }
    }
    let closed = session.ending_with(&shown.message, &shown.request)?;
    let same = shared(&closed, render).max(shared(session.rendered(), render));
    Ok(uncut(&render[..same]))
}

/// The message with more in one of its texts, the one that is last in a turn first.
fn longer(message: &Message) -> impl Iterator<Item = Message> {
    let changes: [fn(&mut Message); 3] = [
        |message| {
            let Some(call) = message.tool_calls.last_mut() else {
                return;
            };
            match number::read::<Map<String, Value>>(&call.arguments) {
                Ok(mut arguments) => {
                    arguments.insert(
                        format!("{}x", arguments.keys().max().map_or("", String::as_str)),
                        "x".into(),
                    );
                    call.arguments = number::write(&arguments.into());
                }
                Err(_) => call.arguments.push_str(other(&call.arguments)),
            }
        },
        |message| message.content.push_str(other(&message.content)),
        |message| {
            message
                .reasoning_content
                .push_str(other(&message.reasoning_content))
        },
    ];
    let changed = changes.into_iter().map(|change| {
        let mut longer = message.clone();
        change(&mut longer);
        longer
    });
    changed.filter(move |longer| longer != message)
}

/// A character that the text does not end with.
fn other(text: &str) -> &'static str {
    if text.trim_end().ends_with('x') {
        "y"
    } else {
        "x"
    }
}

/// How much of the text after the last of a message, up to the next one, the output has written
/// already.
fn written_of(behind: &str, next: usize, output: &str) -> Option<usize> {
    let mut best = None;
    let mut most = 0;
    for at in borders(behind, 1..=next).take(ENDS) {
        let text = &behind[..at];
        let least = match last_marker(text) {
            0 => text.chars().filter(|c| !c.is_whitespace()).count().max(1),
            marker => marker,
        };
        let alike = alike(text, output);
        if alike >= least && alike > most {
            (best, most) = (Some(at), alike);
        }
    }
    Some(spaced_as(behind, best?, output))
}

/// The length of the marker that the template writes after an earlier turn, where the output has
/// another token that ended it. Such a marker is known to end the model's turns, or ends the new
/// messages, too: it does not open them.
fn replaced(
    session: &Session,
    shown: &Shown,
    new: &New,
    behind: &str,
    output: &str,
) -> Option<usize> {
    known_end(session, output)?;
    let text = behind.trim_start();
    let marker = to_first_close(text)?;
    let asked = shown
        .render()
        .strip_suffix(&shown.prompts.opening.prefill)?
        .trim_end();
    let last = new.messages.get(new.messages.len().checked_sub(1)?)?.text();
    let ends_message = asked.ends_with(marker) && !last.trim_end().ends_with(marker);
    let ends_turn = marker == session.params.end_of_turn().trim();
    (ends_turn || is_one_marker(marker) && ends_message).then(|| {
        let end = behind.len() - text.len() + marker.len();
        end + spaces_of(&behind[end..], output)
    })
}

/// An end in a text, with as much of the white space there as the output ends with.
fn spaced_as(text: &str, end: usize, output: &str) -> usize {
    let inked = text[..end].trim_end().len();
    inked + spaces_of(&text[inked..], output)
}

/// The length of the white space at the start of a text that the output ends with.
fn spaces_of(text: &str, output: &str) -> usize {
    shared(text, &output[output.trim_end().len()..])
}

/// The number of visible characters that two texts end with in common.
fn alike(a: &str, b: &str) -> usize {
    let (a, b) = (
        a.chars().rev().filter(|c| !c.is_whitespace()),
        b.chars().rev().filter(|c| !c.is_whitespace()),
    );
    a.zip(b).take_while(|(a, b)| a == b).count()
}

/// The number of characters of the marker at the end of a text.
fn last_marker(text: &str) -> usize {
    let text = text.trim_end();
    marker_at_end(text).map_or(0, |at| text[at..].chars().count())
}

/// Where the text of a token begins that ended the output, as the host has told, or as the template
/// ends turns.
pub(super) fn known_end(session: &Session, output: &str) -> Option<usize> {
    let inked = output.trim_end();
    let learnt = session.params.end_of_turn();
    let mut at = told_end(session, inked);
    if is_one_marker(learnt)
        && let Some(text) = inked.strip_suffix(learnt)
    {
        at = Some(at.map_or(text.len(), |at| at.min(text.len())));
    }
    at
}

/// The positions where the text of the tokens that end the output's turn may begin, last one first.
pub(super) fn spelt_ends(session: &Session, output: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut rest = output;
    while ends.len() < MARKERS {
        rest = rest.trim_end();
        let Some(at) = told_end(session, rest).or_else(|| marker_at_end(rest)) else {
            break;
        };
        rest = &rest[..at];
        ends.push(at);
    }
    ends
}

/// Where the longest of the tokens begins that the text ends with, among those that end outputs as
/// far as hosts told.
fn told_end(session: &Session, text: &str) -> Option<usize> {
    let ends = session.template.ends().iter();
    let before = ends.filter_map(|end| text.strip_suffix(&**end));
    before.map(str::len).min()
}

/// Completes arguments that were cut off, with the ends of their texts, lists and objects; `None`
/// if they are complete, or if more is missing.
pub(super) fn closed(arguments: &str) -> Option<String> {
    if serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok() {
        return None;
    }
    let mut json = Json::default();
    json.read(arguments, &mut |_, _| {});
    let closers = json
        .open
        .iter()
        .rev()
        .map(|(_, item)| if item.is_some() { ']' } else { '}' });
    let closed: String = arguments
        .chars()
        .chain(json.in_string.then_some('"'))
        .chain(closers)
        .collect();
    number::read::<Value>(&closed).is_ok().then_some(closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_closed_if_nothing_else_is_missing() {
        let cut = r#"{"a": [1, {"b": "x"#;
        assert_eq!(closed(cut), Some(format!("{cut}\"}}]}}")));
        assert_eq!(closed("{}"), None);
        assert_eq!(closed(r#"{"a": "#), None);
    }
}
