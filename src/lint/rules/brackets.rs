//! Brackets of a turn with calls whose values have none.

use super::*;

/// The brackets of notations.
const PAIRS: [(char, char); 3] = [('{', '}'), ('[', ']'), ('(', ')')];

/// Brackets of a call that do not match.
pub fn brackets(facts: &Facts, probes: &mut ProbeSet, all: &mut Vec<Finding>) {
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
        let only = turn_of_call.chars().filter(|c| [open, close].contains(c)).collect();
        let shown = [("history", turn_of_call.clone()), ("its brackets", only)];
        let mut finding = facts.finding(Rule::UnbalancedBracket, "", message, shown);
        finding.subject = missing.to_string();
        all.push(finding);
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
