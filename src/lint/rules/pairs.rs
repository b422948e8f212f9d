//! Markers of the history that pair.

use std::collections::BTreeSet;

use super::*;
use crate::lint::marker::{is_near, says_open};

/// Most markers that are taken for another one with a slip.
const SLIPS: usize = 4;

/// Markers of the history that do not pair.
pub fn pairs(facts: &Facts, skeleton: &Skeleton, openings: &[String], all: &mut Vec<Suspect>) {
    let mut said = [USER, CALLS, RESULT, ANSWER, ANSWER + 1].into_iter().filter_map(|message| skeleton.extent(message));
    let (Some(user), Some(next)) = (skeleton.extent(USER), said.next_back()) else { return };
    let Some(answer) = said.next_back() else { return };
    let found = markers(&skeleton.text[..next.start]);
    // What opens the user's message stands right in front of it.
    let header = found.partition_point(|marker| marker.bytes.end <= user.start);
    let is_paired = |marker: &Marker| closing(&marker.kind).iter().any(|closing| facts.has(closing));
    let of_header = |last: &&Marker| is_paired(last) && !skeleton.text[last.bytes.end..user.start].contains("\n\n");
    let mut open: Vec<&Marker> = found[..header].last().into_iter().filter(of_header).collect();
    let mut unclosed: Vec<&Marker> = Vec::new();
    let turn_of_calls = skeleton.extent(CALLS);
    let behind_user = &found[header..];
    let in_calls = |marker: &&Marker| {
        turn_of_calls.as_ref().is_some_and(|calls| marker.bytes.start > user.end && marker.bytes.start <= calls.end)
    };
    let closes_tags = facts.parts.texts.iter().any(|text| text.text.contains("</"));
    let of_answer: Vec<Marker> = skeleton.before(ANSWER).into_iter().flat_map(markers).collect();
    let heads: Vec<Marker> = openings.iter().flat_map(|opening| markers(opening)).collect();
    let is_of_calls = |marker: &&Marker| {
        let closes = opening(&marker.kind).iter().any(|opening| facts.has(opening));
        in_calls(marker) && !closes && !of_answer.iter().chain(&heads).any(|other| other.kind == marker.kind)
    };
    let first_of_calls = behind_user.iter().find(is_of_calls).map(|marker| &marker.kind);
    for marker in behind_user {
        if marker.is_closing()
            || !open.is_empty() && closes(&open, marker).is_some()
            || opening(&marker.kind).iter().any(|open| facts.has(open))
        {
            match closes(&open, marker) {
                Some(at) => unclosed.extend(open.drain(at..).skip(1)),
                // A turn may begin inside of a pair, as with reasoning that is never opened.
                None if turn_of_calls.as_ref().is_some_and(|calls| {
                    (calls.start..marker.bytes.start).len()
                        == VALUE.len_utf8() + white(&skeleton.text[calls.start + VALUE.len_utf8()..])
                }) => {}
                None if marker.is_closing() && !opening(&marker.kind).iter().any(|open| facts.has(open)) => {
                    let near = unclosed
                        .iter()
                        .chain(&open)
                        .flat_map(|open| closing(&open.kind))
                        .filter(|closing| is_near(closing, &marker.kind))
                        .take(SLIPS);
                    let mut edits: Vec<Edit> =
                        near.map(|near| exchanged(skeleton, behind_user, marker, &near)).collect();
                    if let Some(opening) = opening(&marker.kind).into_iter().next() {
                        let same = behind_user.iter().enumerate().filter(|(_, other)| other.kind == marker.kind);
                        let changes = same.map(|(at, _)| {
                            let at = if at == 0 { user.end } else { behind_user[at - 1].bytes.end };
                            Change { bytes: at..at, text: opening.clone() }
                        });
                        edits.push(Edit::Prompt(skeleton.with(changes.collect())));
                    }
                    let message = format!("{} closes in the history, and nothing opens it.", marker.kind);
                    let known =
                        format!("no {} in the source", opening(&marker.kind).first().map_or("", String::as_str));
                    let shown = [("history", skeleton.shown(marker.bytes.clone())), ("source", known)];
                    all.push(facts.suspect(Rule::UnopenedMarker, &marker.kind, message, shown, edits));
                }
                None => {}
            }
            continue;
        }
        let paired = is_paired(marker);
        let is_tag = !marker.kind.contains(['|', '｜']) && marker.kind.starts_with('<');
        // A tag that ends one call and begins the next.
        let twice = !paired && is_tag && in_calls(&marker) && {
            let same: Vec<&Marker> =
                behind_user.iter().filter(in_calls).filter(|other| other.kind == marker.kind).collect();
            let meet = |pair: &[&Marker]| !skeleton.text[pair[0].bytes.end..pair[1].bytes.start].contains(VALUE);
            same.len() > skeleton.shape.calls && same.windows(2).any(meet)
        };
        // A marker that stands behind a value in one place, as what closes, and in another does not.
        let both = !paired && (is_tag || says_open(&marker.kind)) && in_calls(&marker) && {
            let near = |other: &&Marker| {
                let (before, behind) = (&skeleton.text[..other.bytes.start], &skeleton.text[other.bytes.end..]);
                (before.trim_end().ends_with(VALUE), behind.trim_start().starts_with(VALUE))
            };
            let same = || behind_user.iter().filter(in_calls).filter(|other| other.kind == marker.kind);
            same().any(|other| near(&other) == (true, false)) && same().any(|other| !near(&other).0)
        };
        // A tag that begins the calls, where the template closes others.
        let begins = !paired && is_tag && closes_tags && first_of_calls == Some(&marker.kind) && in_calls(&marker);
        let named = !paired && says_open(&marker.kind) && first_of_calls == Some(&marker.kind) && in_calls(&marker);
        if paired || twice || both || begins || named {
            open.push(marker);
        }
    }
    // The next question's opening, and what stands behind the last answer.
    unclosed.extend(open.iter().filter(|marker| marker.bytes.start < answer.end));
    unclosed.sort_by_key(|marker| marker.bytes.start);
    let openers = openers(facts, skeleton, openings);
    let heads = |kind: &str| {
        openers.iter().any(|opener| opener == kind) || found[..header].last().is_some_and(|last| last.kind == kind)
    };
    let opens_message =
        |kind: &str| heads(kind) && !behind_user.iter().any(|other| other.kind == kind && is_of_calls(&other));
    let mut told = BTreeSet::new();
    for &marker in &unclosed {
        // A quote: the same marker on both sides of each value, in a template that has nothing to close it.
        let same: Vec<&Marker> = found.iter().filter(|other| other.kind == marker.kind).collect();
        let is_quote = |pair: &[&Marker]| {
            matches!(pair, [open, close] if skeleton.text[open.bytes.end..close.bytes.start].chars().eq([VALUE])
                && skeleton.text[open.bytes.clone()] == skeleton.text[close.bytes.clone()])
        };
        if !is_paired(marker) && same.chunks(2).all(is_quote) {
            continue;
        }
        // A message may have another end, as where it is a call.
        let again = same.iter().find(|other| other.bytes.start > marker.bytes.start);
        let until = again.map_or(next.start, |same| same.bytes.start);
        if opens_message(&marker.kind)
            && found.iter().any(|end| {
                (marker.bytes.end..until).contains(&end.bytes.start)
                    && is_end(facts, end)
                    && !end.is_closing()
                    && opening(&end.kind).iter().all(|opening| !facts.has(opening))
            })
        {
            continue;
        }
        if !told.insert(marker.kind.clone()) {
            continue;
        }
        let known = closing(&marker.kind).into_iter().find(|closing| facts.has(closing)).or_else(|| {
            let all = closing(&marker.kind);
            if says_open(&marker.kind) { all.into_iter().next_back() } else { all.into_iter().next() }
        });
        let Some(closer) = known else { continue };
        let same: Vec<&Marker> =
            found.iter().filter(|other| other.kind == marker.kind && other.bytes.start >= marker.bytes.start).collect();
        let again = same.len() > 1;
        let message = match again {
            true => format!(
                "{} opens in the history and is not closed: the next marker is {} again.",
                marker.kind, marker.kind
            ),
            false => format!("{} opens in the history and is not closed.", marker.kind),
        };
        let mut edits: Vec<Edit> = Vec::new();
        // A closer with a slip in it.
        let near = |other: &&Marker| {
            other.bytes.start > marker.bytes.start
                && other.kind != marker.kind
                && is_near(&other.kind, &closer)
                && opening(&other.kind).iter().chain(&closing(&other.kind)).all(|kind| !facts.has(kind))
        };
        let mut kinds = BTreeSet::new();
        let slips =
            behind_user.iter().filter(|other| kinds.len() < SLIPS && near(other) && kinds.insert(other.kind.clone()));
        edits.extend(slips.map(|other| exchanged(skeleton, behind_user, other, &closer)));
        // Every other one closes.
        if again && !opens_message(&marker.kind) {
            let changes = same.iter().skip(1).step_by(2);
            let changes = changes.map(|other| Change { bytes: other.bytes.clone(), text: closer.clone() });
            edits.push(Edit::Prompt(skeleton.with(changes.collect())));
        }
        // It is missing: in front of what comes next, or behind the last value. Where questions lack it, so does the last one.
        let same = |all: &[&Marker]| all.iter().copied().filter(|other| other.kind == marker.kind).cloned().collect();
        let (of_kind, of_last): (Vec<Marker>, Vec<Marker>) = (same(&unclosed), same(&open));
        let text = spaced(skeleton, marker, &closer);
        let all_found = markers(&skeleton.text);
        let flat = |marker: &Marker| {
            turn_of_calls.as_ref().filter(|_| is_of_calls(&marker)).map_or(usize::MAX, |calls| calls.end)
        };
        let there = |marker: &Marker| closing_place(facts, &skeleton.text, &all_found, marker, flat(marker));
        let by_value = |marker: &Marker| {
            let end = there(marker);
            // The results of calls are values as well.
            let calls_end = flat(marker).clamp(marker.bytes.end, end);
            let until = skeleton.text[calls_end..end].find(VALUE).map_or(end, |at| calls_end + at);
            behind_value(&skeleton.text, marker.bytes.end, until).unwrap_or(end)
        };
        let last = of_last.iter().filter(|last| last.bytes.start > answer.end);
        for markers in [of_kind.clone(), of_kind.iter().chain(last).cloned().collect()] {
            for places in [markers.iter().map(there).collect::<Vec<usize>>(), markers.iter().map(by_value).collect()] {
                let changes = places.into_iter().map(|at| Change { bytes: at..at, text: text.clone() });
                let edit = Edit::Prompt(skeleton.with(changes.collect()));
                if !edits.contains(&edit) {
                    edits.push(edit);
                }
            }
        }
        let paired = facts.parts.texts.iter().find(|text| text.text.contains(&*closer));
        let elsewhere = match paired {
            Some(text) => around(&text.text, text.text.find(&*closer).unwrap_or(0)),
            None => format!("no {closer} in the source"),
        };
        let shown = [("history", skeleton.shown(marker.bytes.clone())), ("source", elsewhere)];
        all.push(facts.suspect(Rule::UnclosedMarker, &marker.kind, message, shown, edits));
    }
}

/// Another text for all markers of this kind.
fn exchanged(skeleton: &Skeleton, found: &[Marker], wrong: &Marker, right: &str) -> Edit {
    let same = found.iter().filter(|other| other.kind == wrong.kind);
    let changes = same.map(|other| Change { bytes: other.bytes.clone(), text: right.to_owned() });
    Edit::Prompt(skeleton.with(changes.collect()))
}

/// The white space at the start of a text, in bytes.
fn white(text: &str) -> usize {
    text.len() - text.trim_start().len()
}
