//! Markers of the history that pair.

use std::collections::BTreeSet;

use super::*;
use crate::lint::marker::says_open;

/// Markers of the history that do not pair.
pub fn pairs(facts: &Facts, skeleton: &Skeleton, openings: &[String], all: &mut Vec<Finding>) {
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
                    let message = format!("{} closes in the history, and nothing opens it.", marker.kind);
                    let known =
                        format!("no {} in the source", opening(&marker.kind).first().map_or("", String::as_str));
                    let shown = [("history", skeleton.shown(marker.bytes.clone())), ("source", known)];
                    all.push(facts.finding(Rule::UnopenedMarker, &marker.kind, message, shown));
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
        let message = match again {
            Some(_) => format!(
                "{} opens in the history and is not closed: the next marker is {} again.",
                marker.kind, marker.kind
            ),
            None => format!("{} opens in the history and is not closed.", marker.kind),
        };
        let paired = facts.parts.texts.iter().find(|text| text.text.contains(&*closer));
        let elsewhere = match paired {
            Some(text) => around(&text.text, text.text.find(&*closer).unwrap_or(0)),
            None => format!("no {closer} in the source"),
        };
        let shown = [("history", skeleton.shown(marker.bytes.clone())), ("source", elsewhere)];
        all.push(facts.finding(Rule::UnclosedMarker, &marker.kind, message, shown));
    }
}

/// The white space at the start of a text, in bytes.
fn white(text: &str) -> usize {
    text.len() - text.trim_start().len()
}
