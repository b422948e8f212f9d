//! Brackets of a turn with calls whose values have none.

use super::*;

/// The brackets of notations.
const PAIRS: [(char, char); 3] = [('{', '}'), ('[', ']'), ('(', ')')];

/// Brackets of a call that do not match.
pub fn brackets(facts: &Facts, probes: &mut ProbeSet, all: &mut Vec<Suspect>) {
    let Some(probe) = (0..probes.probes().len()).find(|&probe| probes.probes()[probe].calls() == 1) else { return };
    let Some(turn_of_call) = turn(probes, probe) else { return };
    // What a turn without calls has as well is of no call, as the end of turns.
    let plain = (0..probes.probes().len()).find(|&probe| probes.probes()[probe].calls() == 0);
    let plain = plain.and_then(|probe| turn(probes, probe)).unwrap_or_default();
    for (open, close) in PAIRS {
        let [(opened, closed), others] = [&turn_of_call, &plain].map(|turn| counts(turn, open, close));
        if opened + others.1 == closed + others.0 || opened == 0 {
            continue;
        }
        let missing = if opened > closed { close } else { open };
        let message = format!("A call of the history has {opened} times {open} and {closed} times {close}.");
        let changes = facts.skeleton.map_or(Vec::new(), |skeleton| unclosed(skeleton, open, close));
        let edits = facts.skeleton.filter(|_| !changes.is_empty()).map(|skeleton| Edit::Prompt(skeleton.with(changes)));
        let only = turn_of_call.chars().filter(|c| [open, close].contains(c)).collect();
        let shown = [("history", turn_of_call.clone()), ("its brackets", only)];
        let mut suspect = facts.suspect(Rule::UnbalancedBracket, "", message, shown, edits.into_iter().collect());
        suspect.finding.subject = missing.to_string();
        all.push(suspect);
    }
}

/// A turn without its markers.
fn turn(probes: &mut ProbeSet, probe: usize) -> Option<String> {
    let case = probes.case(probe, Thinking::Off);
    let case = case.as_ref().as_ref().ok().filter(|case| !case.no_output)?;
    let mut turn = case.rendered[case.begin?..].to_owned();
    markers(&turn).into_iter().rev().for_each(|marker| turn.replace_range(marker.bytes, ""));
    Some(turn)
}

/// How often the brackets stand there; those beside markers are part of them.
fn counts(turn: &str, open: char, close: char) -> (usize, usize) {
    let beside =
        |at: usize| open == '[' && (turn[..at].ends_with(['<', '>']) || turn[at + 1..].starts_with(['<', '>']));
    let count = |c: char| turn.match_indices(c).filter(|(at, _)| !beside(*at)).count();
    (count(open), count(close))
}

/// Where brackets of the calls should close: in front of a marker, of another bracket that closes, or of a further object.
fn unclosed(skeleton: &Skeleton, open: char, close: char) -> Vec<Change> {
    let (Some(user), Some(calls)) = (skeleton.extent(USER), skeleton.extent(CALLS)) else { return Vec::new() };
    let end = calls.end + skeleton.behind(CALLS).map_or(0, str::len);
    let text = &skeleton.text[..end];
    let found: Vec<Marker> = markers(text).into_iter().filter(|marker| marker.bytes.start >= user.end).collect();
    let (mut stack, mut changes, mut at) = (Vec::new(), Vec::new(), user.end);
    while at < end {
        let marker = &found[found.partition_point(|marker| marker.bytes.start < at)..];
        let marker = marker.first().filter(|marker| marker.bytes.start == at);
        let c = text[at..].chars().next().unwrap_or(VALUE);
        let before = text[..at].trim_end();
        let mut miss = |stack: &mut Vec<char>| {
            stack.pop();
            changes.push(Change { bytes: before.len()..before.len(), text: close.to_string() });
        };
        match marker {
            Some(_) => {
                while stack.last() == Some(&open) {
                    miss(&mut stack)
                }
            }
            None if PAIRS.iter().any(|(open, _)| *open == c) => {
                if c == open && stack.last() == Some(&open) && before.ends_with([',', VALUE]) {
                    let before = before.trim_end_matches(',').len();
                    stack.pop();
                    changes.push(Change { bytes: before..before, text: close.to_string() });
                }
                stack.push(c);
            }
            None => {
                if let Some((opener, _)) = PAIRS.iter().find(|(_, close)| *close == c) {
                    while stack.last() == Some(&open) && *opener != open && stack.contains(opener) {
                        miss(&mut stack)
                    }
                    if stack.last() == Some(opener) {
                        stack.pop();
                    }
                }
            }
        }
        at = marker.map_or(at + c.len_utf8(), |marker| marker.bytes.end);
    }
    let before = text.trim_end().len();
    changes.extend(
        stack.iter().filter(|c| **c == open).map(|_| Change { bytes: before..before, text: close.to_string() }),
    );
    changes
}
