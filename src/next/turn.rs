//! Finds the end of the output's turn in a render.
//!
//! The render begins with the previous prompt, and continues with the turn as the template writes it. There are three ways
//! to find the end of the turn, in this order:
//!
//! - The render continues with the output itself.
//! - It does apart from white space.
//! - The output matches the format, or has complete calls in another dialect, and the turn in the render, up to some
//!   position, is read as the same message. A render that ends with the message limits how far the turn may reach. Of the
//!   positions before that, the one is used at which turn and output have the longest common end, apart from white space, so
//!   that both have the same closing markers.

use serde_json::Value;

use super::{Session, Shown};
use crate::proof::{is_border, is_marker, shown as said};
use chatparse_jinja::shared;
use chatparse_stream::Status;

/// The maximum number of positions that are tried, from the end of the turn on.
const ENDS: usize = 16;
/// The maximum number of markers that may end a turn.
const MARKERS: usize = 4;
/// Bytes in front of them by which they are found in a render.
const TAIL: usize = 32;

/// The end of the turn; `None` if it is not in the render behind the previous prompt, or differs from what was written. The
/// output from `cut` on ends the turn, and is not part of the message.
pub(super) fn end(session: &Session, shown: &Shown, output: &str, cut: usize) -> Option<usize> {
    let turn = session.behind_rendered(shown.render())?;
    let (said, ending) = output.split_at(cut);
    let same = turn.starts_with(said).then_some(cut);
    let end = same.or_else(|| spaced(turn, said)).or_else(|| read_back(session, shown, said))?;
    let end = if ending.is_empty() { end } else { end + spaced(&turn[end..], ending)? };
    // The opening of the next turn never belongs to the output.
    (turn.len() - end >= shown.prompts.prompt.generation_prompt.len()).then_some(shown.base + end)
}

/// The end of the output in a text that is equal apart from white space.
fn spaced(text: &str, output: &str) -> Option<usize> {
    let mut rest = text;
    for c in output.chars().filter(|c| !c.is_whitespace()) {
        rest = rest.trim_start().strip_prefix(c)?;
    }
    Some(text.len() - behind_space(rest, output).len())
}

/// The text behind the white space that the output ends with, as far as the text has it.
fn behind_space<'t>(text: &'t str, output: &str) -> &'t str {
    let space = &output[output.trim_end().len()..];
    let same = text.char_indices().zip(space.chars()).find(|((_, a), b)| a != b);
    let end = same.map_or(space.len().min(text.len()), |((at, _), _)| at);
    text.get(end..).unwrap_or(text)
}

/// The position up to which the turn is read as the same message, and ends like the output.
fn read_back(session: &Session, shown: &Shown, output: &str) -> Option<usize> {
    // Behind calls in another dialect, a marker must show where they end.
    let least = match (shown.is_whole, last_marker(output)) {
        (false, 0) => return None,
        (false, _) if !shown.has_calls => return None,
        (_, marker) => marker.max(1),
    };
    let alone = session.ending_with(&shown.message).ok()?;
    let turn = shown.behind(shown.base);
    let reach = shared(alone.get(shown.base..)?, turn);
    let ends = (1..=reach).rev().filter(|&at| turn.is_char_boundary(at) && is_border(turn, at));
    let mut ends: Vec<(usize, usize)> = ends.take(ENDS).map(|at| (alike(&turn[..at], output), at)).collect();
    ends.retain(|&(alike, at)| alike >= last_marker(&turn[..at]).max(least));
    chatparse_base::sort::by_key(&mut ends, |(alike, at)| (std::cmp::Reverse(*alike), *at));
    let expected = said(&shown.message);
    let is_same = |at: usize| {
        let read = session.params.parser.read(&turn.as_bytes()[..at], false, false);
        read.is_ok_and(|read| read.status == Status::Complete && said(&read.message) == expected)
    };
    let (_, end) = ends.into_iter().find(|(_, at)| is_same(*at))?;
    let inked = turn[..end].trim_end().len();
    Some(turn.len() - behind_space(&turn[inked..], output).len())
}

/// The number of visible characters that two texts end with in common.
fn alike(a: &str, b: &str) -> usize {
    let (a, b) = (a.chars().rev().filter(|c| !c.is_whitespace()), b.chars().rev().filter(|c| !c.is_whitespace()));
    a.zip(b).take_while(|(a, b)| a == b).count()
}

/// The number of characters of the marker at the end of a text.
fn last_marker(text: &str) -> usize {
    let text = text.trim_end();
    let marker = text.rfind(['<', '[']).map(|open| &text[open..]).filter(|marker| is_marker(marker));
    marker.map_or(0, |marker| marker.chars().count())
}

/// If the output ends with the text of the tokens that end its turn, and that was read as a part of the message: where that
/// text begins. The template writes it again.
pub(super) fn spelt_end(session: &Session, shown: &Shown, output: &str) -> Option<usize> {
    let inked = output.trim_end();
    let render = shown.behind(shared(session.rendered(), shown.render()));
    let is_twice = |from: &usize| {
        let tail = (from.saturating_sub(TAIL)..=*from).find(|&at| inked.is_char_boundary(at));
        let tail = tail.map_or("", |at| &inked[at..]);
        let behind = render.find(tail).map(|at| &render[at + tail.len()..]);
        behind.is_some_and(|behind| spaced(behind, &inked[*from..]).is_some())
    };
    spelt_ends(session, output).into_iter().rev().find(is_twice)
}

/// The positions where the text of the tokens that end the output's turn may begin, last one first.
pub(super) fn spelt_ends(session: &Session, output: &str) -> Vec<usize> {
    let eos = session.template.eos();
    let mut ends = Vec::new();
    let mut rest = output;
    while ends.len() < MARKERS {
        rest = rest.trim_end();
        let token = rest.strip_suffix(eos).filter(|_| !eos.is_empty()).map(str::len);
        let marker = || rest.rfind(['<', '[']).filter(|&open| is_marker(&rest[open..]));
        let Some(at) = token.or_else(marker) else { break };
        rest = &rest[..at];
        ends.push(at);
    }
    ends
}

/// Completes arguments that were cut off, with the ends of their texts, lists and objects; `None` if they are complete, or
/// if more is missing.
pub(super) fn closed(arguments: &str) -> Option<String> {
    if serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok() {
        return None;
    }
    let mut open = Vec::new();
    let mut escaped = false;
    let mut in_text = false;
    for c in arguments.chars() {
        match c {
            _ if std::mem::take(&mut escaped) => {}
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            _ if in_text => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
    let quote = if in_text { "\"" } else { "" };
    let closed: String =
        [arguments, quote].into_iter().map(str::to_owned).chain(open.iter().rev().map(char::to_string)).collect();
    serde_json::from_str::<Value>(&closed).is_ok().then_some(closed)
}
