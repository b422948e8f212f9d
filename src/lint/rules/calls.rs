//! Whether calls show as they are, and are read back.

use super::*;

/// Calls that do not show, or not as they are.
pub fn calls(facts: &Facts, probes: &mut ProbeSet, all: &mut Vec<Finding>) {
    let calls: Vec<usize> = (0..probes.probes().len()).filter(|&probe| probes.probes()[probe].calls() > 0).collect();
    let names: Vec<&str> = calls.iter().map(|&probe| probes.probes()[probe].name).collect();
    let cases: Vec<&Case> = facts.cases.iter().filter(|case| names.contains(&case.probe)).collect();
    let named = facts.parts.tags.iter().any(|tag| facts.source[tag.clone()].contains("tool_calls"));
    if !facts.tools && !named {
        return;
    }
    let refused = cases.iter().filter(|case| matches!(case.outcome, Outcome::Refused(_))).count();
    if refused > 0 && refused == cases.len() || probes.asked(Thinking::On).is_err() {
        return;
    }
    if cases.iter().all(|case| matches!(case.outcome, Outcome::Omitted("calls") | Outcome::Refused(_))) {
        let prompt =
            probes.asked(Thinking::On).as_ref().as_ref().map_or(String::new(), |asked| asked.prompts.prompt.clone());
        let turn = probes.case(calls.first().copied().unwrap_or(0), Thinking::On);
        let turn = turn.as_ref().as_ref().map_or(String::new(), |case| case.rendered.clone());
        let end =
            |text: String| text.chars().rev().take(160).collect::<Vec<char>>().into_iter().rev().collect::<String>();
        let shown = [("prompt", end(prompt)), ("history", end(turn))];
        let takes = if facts.tools { "takes tools" } else { "asks for calls" };
        let message = format!("The template {takes}, and shows nothing of a call in the history.");
        all.push(facts.finding(Rule::HiddenCalls, "", message, shown));
        return;
    }
    if !facts.tools {
        return;
    }
    // A name in another case.
    for &probe in &calls {
        let cases = Thinking::ALL.map(|thinking| probes.case(probe, thinking));
        let begun = cases.iter().filter_map(|case| case.as_ref().as_ref().ok()).find(|case| case.begin.is_some());
        let Some((case, begin)) = begun.and_then(|case| Some((case, case.begin?))) else { continue };
        let turn = &case.rendered[begin..];
        let changed = case
            .whole
            .tool_calls
            .iter()
            .find(|call| !turn.contains(&call.name) && turn.to_lowercase().contains(&call.name.to_lowercase()));
        if let Some(call) = changed {
            let message = format!("The call of {} is written under a name in another case.", call.name);
            let shown = [("request", call.name.clone()), ("history", turn.to_owned())];
            all.push(facts.finding(Rule::ChangedName, "", message, shown));
            return;
        }
    }
    let back = cases.iter().any(|case| {
        matches!(
            case.outcome,
            Outcome::Survives
                | Outcome::Spaced(_)
                | Outcome::Alike { .. }
                | Outcome::Rewritten(_)
                | Outcome::Omitted("content" | "reasoning")
        )
    });
    let lost = cases.iter().find(|case| matches!(case.outcome, Outcome::Lost { .. }));
    if let (false, Some(lost)) = (back, lost)
        && let Outcome::Lost { got, .. } = &lost.outcome
    {
        let message = "The template takes tools, and no call that it writes is read back.".to_owned();
        let shown = [("history", lost.turn.clone()), ("read as", got.clone())];
        all.push(facts.finding(Rule::UnreadCalls, "", message, shown));
    }
}
