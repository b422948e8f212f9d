//! How messages end: where those of all others end with a marker, those of one role do too.

use super::*;

/// Characters of a text that is a message by itself, without a value.
const SAID: usize = 20;

/// A part of the prompt from what opens a message to what opens the next one.
struct Turn {
    bytes: std::ops::Range<usize>,
    /// The last message in it.
    message: usize,
    /// The markers at its end, with no word between them, but for those that close a part of it.
    tail: Vec<Marker>,
}

/// The role of calls and answers.
const ASSISTANT: usize = 1;

/// Whose message it is.
fn role(message: usize) -> (usize, &'static str) {
    match message {
        SYSTEM => (0, "a system message"),
        CALLS => (ASSISTANT, "a turn with calls"),
        ANSWER => (ASSISTANT, "an answer"),
        RESULT => (2, "a result"),
        _ => (3, "a question"),
    }
}

/// Messages without the end that others have.
pub fn ends(facts: &Facts, skeleton: &Skeleton, openings: &[String], all: &mut Vec<Finding>) {
    let turns = turns(facts, skeleton, openings);
    let has = |turn: &Turn, kind: &str| turn.tail.iter().any(|marker| marker.kind == kind);
    let mut kinds: Vec<&Marker> = Vec::new();
    for marker in turns.iter().flat_map(|turn| &turn.tail) {
        if kinds.iter().all(|known| known.kind != marker.kind) {
            kinds.push(marker);
        }
    }
    // What most messages end with comes first.
    kinds.sort_by_key(|known| turns.iter().filter(|turn| !has(turn, &known.kind)).count());
    for known in kinds {
        let kind = &known.kind;
        let with: Vec<&Turn> = turns.iter().filter(|turn| has(turn, kind)).collect();
        // A message may end in its own way.
        let without: Vec<&Turn> = turns.iter().filter(|turn| turn.tail.is_empty()).collect();
        let of = |turn: &&Turn| role(turn.message).0;
        let Some(own) = without.first().map(of) else { continue };
        let others: Vec<usize> = with.iter().map(of).filter(|role| *role != own).collect();
        let own = if without.iter().all(|turn| of(turn) == own) && others.iter().any(|role| *role != others[0]) {
            own
        } else if is_end(facts, known) && with.iter().all(|turn| of(turn) == ASSISTANT) {
            // Of turns of the model alone, what ends by its name.
            ASSISTANT
        } else {
            continue;
        };
        let Some(first) = without.iter().find(|turn| of(turn) == own) else { continue };
        let message = format!("Messages end with {kind}, and {} does not.", role(first.message).1);
        let shown = [
            ("history", skeleton.shown(first.bytes.end..first.bytes.end)),
            ("elsewhere", skeleton.shown(known.bytes.clone())),
        ];
        return all.push(facts.finding(Rule::MissingEnd, kind, message, shown));
    }
}

fn turns(facts: &Facts, skeleton: &Skeleton, openings: &[String]) -> Vec<Turn> {
    let text = &skeleton.text;
    let found = markers(text);
    let openers = openers(facts, skeleton, openings);
    let starts = found.iter().filter(|marker| openers.contains(&marker.kind)).map(|marker| marker.bytes.start);
    let starts: Vec<usize> = [0].into_iter().chain(starts).chain([text.len()]).collect();
    let said = |bytes: &std::ops::Range<usize>| {
        let mut said = text[bytes.clone()].to_owned();
        markers(&said).into_iter().rev().for_each(|marker| said.replace_range(marker.bytes, ""));
        said.trim().chars().count() > SAID
    };
    let last_value = skeleton.values.last().map_or(0, |(at, _)| *at);
    let turns = starts.windows(2).map(|pair| pair[0]..pair[1]).filter(|bytes| bytes.start <= last_value);
    let turns = turns.filter_map(|bytes| {
        let value = skeleton.values.iter().rfind(|(at, _)| bytes.contains(at));
        let from = match value {
            Some((at, _)) => at + VALUE.len_utf8(),
            None if said(&bytes) => bytes.start,
            None => return None,
        };
        let tail = found
            .iter()
            .filter(|marker| (from..bytes.end).contains(&marker.bytes.start) && !openers.contains(&marker.kind));
        let mut tail: Vec<Marker> = tail.cloned().collect();
        let mut end = bytes.end;
        let words = tail.iter().rposition(|marker| {
            let is_apart = text.get(marker.bytes.end..end).is_some_and(|between| !between.trim().is_empty());
            end = marker.bytes.start;
            is_apart
        });
        tail.drain(..words.map_or(0, |last| last + 1));
        // What closes a part of the message does not end it.
        let own: Vec<String> =
            markers(&text[bytes.clone()]).iter().skip(1).flat_map(|marker| closing(&marker.kind)).collect();
        tail.retain(|end| !own.contains(&end.kind));
        let message = value.and_then(|(_, message)| *message).unwrap_or(SYSTEM);
        // Where another message goes on in the same part, its last one may go on in the next.
        let mut of = skeleton.values.iter().filter(|(at, _)| bytes.contains(at));
        let is_mixed = of.any(|(_, other)| other.is_some_and(|other| other != message));
        (!is_mixed || !tail.is_empty()).then_some(Turn { message, tail, bytes })
    });
    turns.collect()
}
