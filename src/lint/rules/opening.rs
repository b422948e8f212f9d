//! How the prompt opens a turn, against how turns of the history begin.

use super::*;
use crate::lint::marker::is_near;

/// A thought that the prompt opens, and that no turn shows.
pub fn thought(facts: &Facts, probes: &mut ProbeSet, all: &mut Vec<Finding>) {
    let (asked, case) = (probes.asked(Thinking::On), probes.case(0, Thinking::On));
    let (Ok(asked), Ok(case)) = (&*asked, &*case) else { return };
    let opening = &asked.prompts.opening.text;
    let Some(last) = markers(opening).pop().filter(|last| opening[last.bytes.end..].trim().is_empty()) else { return };
    let closers: Vec<String> = closing(&last.kind).into_iter().filter(|closing| facts.has(closing)).collect();
    let shows = case.omitted != Some("reasoning");
    let opens_all = [Thinking::On, Thinking::Off].map(|thinking| probes.asked(thinking));
    let forced = opens_all.iter().all(|asked| {
        asked.as_ref().as_ref().is_ok_and(|asked| asked.prompts.opening.text.trim_end().ends_with(&last.kind))
    });
    if shows || closers.is_empty() || case.rendered.contains(&last.kind) || !forced && case.begin.is_some() {
        return;
    }
    let turn = case.rendered.len() - case.rendered.len().min(opening.len() + 200);
    let border = (turn..case.rendered.len()).find(|at| case.rendered.is_char_boundary(*at)).unwrap_or(0);
    if closers.iter().any(|closer| case.rendered[border..].contains(&**closer)) {
        return;
    }
    let message = format!("The prompt ends with {}, and a turn with a thought shows none in the history.", last.kind);
    let shown = [("prompt", opening.clone()), ("history", case.rendered[border..].to_owned())];
    all.push(facts.finding(Rule::UnseenThought, &last.kind, message, shown));
}

/// A prompt that ends otherwise than turns of the history begin, by a slip.
pub fn other_opening(facts: &Facts, probes: &mut ProbeSet, all: &mut Vec<Finding>) {
    let begins =
        |probes: &mut ProbeSet, thinking| matches!(&*probes.case(0, thinking), Ok(case) if case.begin.is_some());
    let is_known = all.iter().any(|finding| finding.rule == Rule::OtherOpening);
    if is_known || Thinking::ALL.into_iter().any(|thinking| begins(probes, thinking)) {
        return;
    }
    for thinking in Thinking::ALL {
        let (asked, case) = (probes.asked(thinking), probes.case(0, thinking));
        let (Ok(asked), Ok(case)) = (&*asked, &*case) else { continue };
        let (prompt, rendered) = (&asked.prompts.prompt, &case.rendered);
        let shared = prompt.bytes().zip(rendered.bytes()).take_while(|(a, b)| a == b).count();
        let from = (0..=shared)
            .rev()
            .find(|&at| prompt.is_char_boundary(at) && prompt[at..].starts_with(['<', '[']))
            .unwrap_or(0);
        // The prompt's end, and as much of the turn.
        let expected = &prompt[from..];
        let (Some(got), false) = (rendered.get(from..), expected.len() > 200) else { continue };
        let mut lengths: Vec<usize> = (expected.len().saturating_sub(3)..=expected.len() + 3).collect();
        // Those first that end alike.
        let same_end = |len: usize| {
            let got = got.as_bytes().get(..len).unwrap_or_default();
            got.iter().rev().zip(expected.as_bytes().iter().rev()).take_while(|(a, b)| a == b).count()
        };
        lengths.sort_by_key(|len| std::cmp::Reverse(same_end(*len)));
        for len in lengths {
            let Some(got) = got.get(..len).filter(|got| is_near(got, expected)) else { continue };
            if closing(expected.trim()).contains(&got.trim().to_owned()) {
                continue;
            }
            let message = format!("The prompt ends with {expected:?}, and turns of the history begin with {got:?}.");
            let shown = [
                ("prompt", expected.to_owned()),
                ("history", rendered[from..].chars().take(expected.len() + 40).collect()),
            ];
            let mut finding = facts.finding(Rule::OtherOpening, "", message, shown);
            finding.subject = slip(expected, got).to_owned();
            all.push(finding);
            return;
        }
    }
}

/// A prompt that opens no turn, although the source asks whether it should, and turns of the history have an opening.
pub fn unopened(facts: &Facts, skeleton: &Skeleton, openings: &[String], all: &mut Vec<Finding>) {
    let asks = facts.parts.tags.iter().any(|tag| facts.source[tag.clone()].contains("add_generation_prompt"));
    if !asks || openings.is_empty() || openings.iter().any(|opening| !opening.is_empty()) {
        return;
    }
    let (Some(user), Some(calls)) = (skeleton.extent(USER), skeleton.extent(CALLS)) else { return };
    let (Some(behind), Some(last)) = (skeleton.behind(USER), skeleton.extent(ANSWER + 1)) else { return };
    // What ends a question stands behind the last one as well.
    let ends = &skeleton.text[last.end..];
    let opening = behind.strip_prefix(ends).unwrap_or(behind);
    let Some(marker) =
        markers(opening).into_iter().next().filter(|marker| opening[..marker.bytes.start].trim().is_empty())
    else {
        return;
    };
    // Answers begin with it as well, or end with what closes it.
    let before = skeleton.before(ANSWER).unwrap_or_default();
    let begins = markers(before).iter().any(|other| other.kind == marker.kind);
    let behind = skeleton.behind(ANSWER).map(markers).unwrap_or_default();
    if !begins && behind.iter().all(|other| !closing(&marker.kind).contains(&other.kind)) {
        return;
    }
    let message = format!("The prompt opens no turn, and turns of the history begin with {}.", marker.kind);
    let shown = [("prompt", skeleton.shown(last)), ("history", skeleton.shown(user.start..calls.end))];
    all.push(facts.finding(Rule::OtherOpening, &marker.kind, message, shown));
}

/// The word of a text in which another one differs.
fn slip<'t>(a: &'t str, b: &str) -> &'t str {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '|' | '<' | '>' | '/' | '｜' | '▁');
    let before = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let before = (0..=before).rev().find(|&at| a.is_char_boundary(at) && b.is_char_boundary(at)).unwrap_or(0);
    let start = before - a[..before].chars().rev().take_while(|c| word(*c)).map(char::len_utf8).sum::<usize>();
    &a[start..a[before..].find(|c| !word(c)).map_or(a.len(), |at| before + at)]
}
