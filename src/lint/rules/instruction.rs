//! What the instruction says of calls, against the calls of the history.

use super::*;
use crate::lint::marker::is_near;

/// What the instruction says of calls, against the calls of the history.
pub fn instruction(facts: &Facts, skeleton: &Skeleton, all: &mut Vec<Finding>) {
    let (Some(user), Some(calls)) = (skeleton.extent(USER), skeleton.extent(CALLS)) else { return };
    let told = &skeleton.text[..user.start];
    let history = &skeleton.text[user.start..];
    let calls_end = calls.end + skeleton.behind(CALLS).map_or(0, str::len);
    let of_calls = &skeleton.text[user.end..calls_end];
    let results = calls.end - user.end;
    let kinds = |text: &str| markers(text).into_iter().map(|marker| marker.kind).collect::<Vec<String>>();
    let (in_history, in_told) = (kinds(history), kinds(told));
    let of_answer: Vec<String> =
        skeleton.before(ANSWER).into_iter().chain(skeleton.behind(ANSWER)).flat_map(kinds).collect();
    let mut in_calls = kinds(&of_calls[..results]);
    // Behind the last value, only what closes.
    let closers = kinds(&of_calls[results..]).into_iter();
    in_calls.extend(
        closers.filter(|kind| opening(kind).iter().any(|opening| in_calls.contains(opening))).collect::<Vec<_>>(),
    );
    in_calls.retain(|kind| !of_answer.contains(kind));
    let mut marked = markers(told);
    marked.retain(|marker| ![BOS, EOS].contains(&&*marker.kind));
    let show = |marker: &Marker| skeleton.shown(marker.bytes.clone());
    let show_calls = || ("history", skeleton.shown(calls.clone()));
    let unknown = |marker: &&Marker| !in_history.contains(&marker.kind);
    // A marker that is no slip may be of something else.
    let other_than = |kind: &str, marker: &Marker| {
        let message = format!("The instruction says {}, and the history writes {kind}.", marker.kind);
        let shown = [("instruction", show(marker)), show_calls()];
        let mut finding = facts.finding(Rule::OtherInstruction, &marker.kind, message, shown);
        finding.is_fault = is_near(kind, &marker.kind);
        finding
    };
    let mut reported: Vec<String> = Vec::new();
    // A slip, or another marker where the history has its own.
    for marker in marked.iter().filter(unknown) {
        let partner = |kind: &String| {
            closing(kind)
                .iter()
                .chain(&opening(kind))
                .any(|other| in_told.contains(other) && in_history.contains(other))
        };
        let missing: Vec<&String> = in_calls.iter().filter(|kind| !in_told.contains(kind)).collect();
        let near = missing.iter().find(|kind| is_near(kind, &marker.kind));
        // The partner of a marker that stands there, if this one is of no pair.
        let lonely = closing(&marker.kind).iter().chain(&opening(&marker.kind)).all(|other| !in_told.contains(other));
        let shape = |kind: &str| (kind.starts_with("</"), kind.contains(['|', '｜']), kind.starts_with('['));
        let placed = |kind: &String| match closing(kind).iter().find(|closing| in_told.contains(closing)) {
            // The closer stands behind it, and nothing else opens there.
            Some(closer) => told[marker.bytes.end..].find(&**closer).is_some_and(|at| {
                !told[marker.bytes.end..][..at].contains(['\n', '<']) || in_calls.first() == Some(kind)
            }),
            None => marker.is_closing(),
        };
        let half =
            missing.iter().find(|kind| partner(kind) && lonely && shape(kind) == shape(&marker.kind) && placed(kind));
        if let Some(kind) = near.or(half)
            && !reported.contains(&marker.kind)
        {
            reported.push(marker.kind.clone());
            // The partners with the same slip.
            for (from, to) in closing(&marker.kind).into_iter().zip(closing(kind)) {
                if in_told.contains(&from) && !in_history.contains(&from) && in_history.contains(&to) {
                    reported.push(from);
                }
            }
            all.push(other_than(kind, marker));
        }
    }
    // Another pair around an example.
    let outer = in_calls.iter().find(|kind| closing(kind).iter().any(|closing| in_calls.contains(closing)));
    if let Some(outer) = outer.filter(|outer| !in_told.contains(outer)) {
        let keys = keys(of_calls);
        for marker in marked.iter().filter(unknown) {
            let Some(closer) = marked.iter().rev().find(|other| {
                closing(&marker.kind).contains(&other.kind) && unknown(other) && other.bytes.start > marker.bytes.end
            }) else {
                continue;
            };
            let inside = &told[marker.bytes.end..closer.bytes.start];
            let shows = kinds(inside).iter().any(|kind| in_calls.contains(kind))
                || !keys.is_empty()
                    && keys.iter().all(|key| inside.contains(&format!("\"{key}\"")))
                    && !inside.contains(VALUE);
            if shows && !reported.contains(&marker.kind) {
                reported.push(marker.kind.clone());
                all.push(other_than(outer, marker));
            }
        }
    }
    // An example that does not end as the history does.
    let mut open: Vec<(&Marker, bool)> = Vec::new();
    for marker in marked.iter().filter(|marker| in_calls.contains(&marker.kind)) {
        let opens: Vec<&Marker> = open.iter().map(|(marker, _)| *marker).collect();
        match closes(&opens, marker) {
            Some(at) => open.truncate(at),
            None if closing(&marker.kind).iter().any(|closing| in_calls.contains(closing)) => {
                // In prose, a marker may be named alone.
                let in_prose = told[..marker.bytes.start].ends_with([' ', '`', '"', '\'', '“', '('])
                    || told[marker.bytes.end..].starts_with([' ', '`', '"', '\'', '”', ',', '.', ')']);
                open.push((marker, in_prose));
            }
            None => {}
        }
    }
    // A pair with nothing in it, as in prose.
    let is_empty = |pair: &&[Marker]| {
        let inside = &told[pair[0].bytes.end..pair[1].bytes.start];
        pair[0].kind == pair[1].kind && inside.trim_matches(['.', '…', ' ', '\n']).is_empty()
    };
    let empty: Vec<&Marker> = marked.windows(2).filter(is_empty).map(|pair| &pair[0]).collect();
    for marker in empty.iter().copied().chain(open.iter().filter(|(_, in_prose)| !in_prose).map(|(marker, _)| *marker))
    {
        if reported.contains(&marker.kind) {
            continue;
        }
        let Some(closer) = closing(&marker.kind).into_iter().find(|closing| in_calls.contains(closing)) else {
            continue;
        };
        let again = marked.iter().find(|other| other.kind == marker.kind && other.bytes.start > marker.bytes.start);
        if again.is_none()
            && !in_told.contains(&closer)
            && open.len() == 1
            && !told[marker.bytes.end..].contains(&in_calls[0])
            && !in_told.iter().any(|kind| kind.starts_with("</") && in_calls.contains(kind))
        {
            continue;
        }
        reported.push(marker.kind.clone());
        let message = format!("The example in the instruction does not close {}, and the history does.", marker.kind);
        let shown = [("instruction", show(marker)), show_calls()];
        all.push(facts.finding(Rule::OtherInstruction, &marker.kind, message, shown));
    }
    other_keys(facts, skeleton, told, of_calls, all);
}

/// The keys of JSON objects that the template writes by itself.
fn keys(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let parts: Vec<&str> = text.split('"').collect();
    for pair in parts.windows(2).skip(1) {
        let (key, behind) = (pair[0], pair[1]);
        let named = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        if named
            && behind.trim_start().starts_with(':')
            && !matches!(key, "place" | "days")
            && !keys.iter().any(|known| known == key)
        {
            keys.push(key.to_owned());
        }
    }
    keys
}

/// An example object of the instruction that has other keys than the calls.
fn other_keys(facts: &Facts, skeleton: &Skeleton, told: &str, of_calls: &str, all: &mut Vec<Finding>) {
    let of_history = keys(of_calls);
    if of_history.len() < 2 {
        return;
    }
    // Objects of one line, without values of the request.
    for line in told.lines().filter(|line| line.contains('{') && !line.contains(VALUE)) {
        let shown = keys(line);
        let known = of_history.iter().filter(|key| shown.contains(key)).count();
        let mut missing = of_history.iter().filter(|key| !shown.contains(key));
        let mut other = shown.iter().filter(|key| !of_history.contains(key));
        let (Some(missing), Some(other), None, true) = (missing.next(), other.next(), missing.next(), known > 0) else {
            continue;
        };
        if line.contains("\"properties\"") || line.contains("\"type\"") {
            continue;
        }
        let message =
            format!("The instruction names the key \"{other}\", and the calls of the history have \"{missing}\".");
        let at = skeleton.text.find(line).unwrap_or(0);
        let shown = [("instruction", skeleton.shown(at..at + line.len())), ("history", of_calls.replace(VALUE, "…"))];
        all.push(facts.finding(Rule::OtherInstruction, &format!("\"{other}\""), message, shown));
        return;
    }
}
