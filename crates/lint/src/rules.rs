//! The rules: what renders and reads show of calls, of content as parts, and of the vocabulary's
//! tokens.
//!
//! No rule knows a template, and none guesses what a text is for.

use std::collections::BTreeSet;

use crate::finding::{Finding, Rule, Shown};
use crate::{Case, Outcome};
use chatparse_base::Place;
use chatparse_chat::chat::ChatTemplate;
use chatparse_chat::proof::{ProbeSet, Thinking};
use chatparse_jinja::{SourceParts, place};
use chatparse_message::ROLES;
use chatparse_message::Request;

/// All findings, in the order of the rules.
pub fn findings(template: &ChatTemplate, cases: &[Case], probes: &ProbeSet) -> Vec<Finding> {
    let parts = SourceParts::of(template.jinja().written());
    let mut all: Vec<Finding> = calls(template, &parts, cases, probes).into_iter().collect();
    unknown_tokens(template, &parts, &mut all);
    all.extend(printed_parts(template));
    all
}

fn finding(rule: Rule, message: String, shown: [(&'static str, String); 2]) -> Finding {
    let shown = shown.map(|(from, text)| Shown { from, text }).into();
    Finding {
        rule,
        is_fault: true,
        message,
        subject: String::new(),
        places: Vec::new(),
        shown,
    }
}

/// Calls that the history does not show, or not as they are, or that are not read back.
fn calls(
    template: &ChatTemplate,
    parts: &SourceParts,
    cases: &[Case],
    probes: &ProbeSet,
) -> Option<Finding> {
    let with_calls: Vec<usize> = (0..probes.probes().len())
        .filter(|&probe| probes.probes()[probe].calls() > 0)
        .collect();
    let has_calls = |case: &&Case| {
        with_calls
            .iter()
            .any(|&probe| probes.probes()[probe].name == case.probe)
    };
    let cases: Vec<&Case> = cases.iter().filter(has_calls).collect();
    let takes_tools = template.caps().tools;
    let asks_for_calls = parts
        .tags
        .iter()
        .any(|tag| template.jinja().written()[tag.clone()].contains("tool_calls"));
    let all_refused = cases
        .iter()
        .all(|case| matches!(case.outcome, Outcome::Refused(_)));
    if !takes_tools && !asks_for_calls || all_refused && !cases.is_empty() {
        return None;
    }
    let prompt = probes.asked(Thinking::On).ok()?.prompt();
    if cases.iter().all(|case| {
        matches!(
            case.outcome,
            Outcome::Omitted("calls") | Outcome::Refused(_)
        )
    }) {
        let turn = probes.case(with_calls.first().copied().unwrap_or(0), Thinking::On);
        let turn = turn.map_or("", |case| &case.rendered);
        let takes = if takes_tools {
            "takes tools"
        } else {
            "asks for calls"
        };
        let message = format!("The template {takes}, and shows nothing of a call in the history.");
        let shown = [
            ("prompt", end(prompt).to_owned()),
            ("history", end(turn).to_owned()),
        ];
        return Some(finding(Rule::HiddenCalls, message, shown));
    }
    if !takes_tools {
        return None;
    }
    with_calls
        .iter()
        .find_map(|&probe| changed_name(probes, probe))
        .or_else(|| unread_calls(&cases))
}

/// A call whose name is written in another case.
fn changed_name(probes: &ProbeSet, probe: usize) -> Option<Finding> {
    let mut cases = Thinking::ALL
        .into_iter()
        .filter_map(|thinking| probes.case(probe, thinking).ok());
    let (case, begin) = cases.find_map(|case| Some((case, case.begin?)))?;
    let turn = &case.rendered[begin..];
    let lower = turn.to_lowercase();
    let mut names = case.whole.tool_calls.iter().map(|call| &call.name);
    let name =
        names.find(|name| !turn.contains(&**name) && lower.contains(&name.to_lowercase()))?;
    let message = format!("The call of {name} is written under a name in another case.");
    Some(finding(
        Rule::ChangedName,
        message,
        [("request", name.clone()), ("history", turn.to_owned())],
    ))
}

/// The first of the calls, if none is read back.
fn unread_calls(cases: &[&Case]) -> Option<Finding> {
    let is_read = |case: &&Case| match case.outcome {
        Outcome::Survives | Outcome::Spaced(_) | Outcome::Alike(_) | Outcome::Rewritten(_) => true,
        Outcome::Omitted(part) => part != "calls",
        _ => false,
    };
    if cases.iter().any(is_read) {
        return None;
    }
    cases.iter().find_map(|case| {
        let Outcome::Lost(lost) = &case.outcome else {
            return None;
        };
        let message =
            "The template takes tools, and no call that it writes is read back.".to_owned();
        Some(finding(
            Rule::UnreadCalls,
            message,
            [
                ("history", case.turn.clone()),
                ("read as", lost.got.clone()),
            ],
        ))
    })
}

/// Most bytes of a special token.
const TOKEN: usize = 80;

/// Special tokens of the template that the vocabulary does not have.
fn unknown_tokens(template: &ChatTemplate, parts: &SourceParts, all: &mut Vec<Finding>) {
    let special = template.special_tokens();
    if special.is_empty() {
        return;
    }
    let mut told = BTreeSet::new();
    for text in &parts.texts {
        for (at, _) in text.text.match_indices('<') {
            let rest = &text.text[at..];
            let Some(token) = rest
                .find('>')
                .filter(|end| *end < TOKEN)
                .map(|end| &rest[..=end])
            else {
                continue;
            };
            let inside = &token[1..token.len() - 1];
            let is_special = inside.starts_with(['|', '｜']) || inside.ends_with(['|', '｜']);
            let is_one =
                inside.contains(char::is_alphabetic) && !inside.contains(['<', '=', ' ', '\n']);
            if !is_special
                || !is_one
                || special.iter().any(|known| known == token)
                || !told.insert(token)
            {
                continue;
            }
            let message =
                format!("The template writes {token}, and the vocabulary does not have it.");
            let known = format!("{} special tokens, and not this one", special.len());
            let shown = [("template", around(&text.text, at)), ("vocabulary", known)];
            let mut found = finding(Rule::UnknownToken, message, shown);
            (found.subject, found.places) = (token.to_owned(), places(template, parts, token));
            all.push(found);
        }
    }
}

/// Where a text stands in the source's own texts.
fn places(template: &ChatTemplate, parts: &SourceParts, subject: &str) -> Vec<Place> {
    let mut places = Vec::new();
    for text in &parts.texts {
        let found = text
            .text
            .match_indices(subject)
            .map(|(at, _)| text.place(at));
        places.extend(found.map(|at| place(template.jinja().written(), at)));
    }
    places
}

const TEXT: &str = "Quince";
/// The part with it in the notations of Python and JSON.
const DATA: [&str; 3] = ["'text': 'Quince", "\"text\": \"Quince", "\"text\":\"Quince"];

/// Roles whose parts show in the template language's own notation, where those of another role are
/// texts.
fn printed_parts(template: &ChatTemplate) -> Option<Finding> {
    let (mut data, mut texts) = (Vec::new(), Vec::new());
    for role in ROLES {
        if prompt_with(template, role, json!(TEXT)).is_none() {
            continue;
        }
        let Some(prompt) = prompt_with(template, role, json!([{"type": "text", "text": TEXT}]))
        else {
            continue;
        };
        let is_data = DATA.iter().any(|data| prompt.contains(data));
        if is_data { &mut data } else { &mut texts }.push((role, prompt));
    }
    let ([(role, printed), ..], [(other, text), ..]) = (&*data, &*texts) else {
        return None;
    };
    let roles: Vec<&str> = data.iter().map(|(role, _)| *role).collect();
    let message = format!(
        "Parts of the role {other} are written as texts, and those of {} as data.",
        roles.join(", ")
    );
    let shown = [(*role, printed), (*other, text)];
    let shown =
        shown.map(|(from, prompt)| (from, around(prompt, prompt.find(TEXT).unwrap_or_default())));
    // Hosts may send texts only.
    Some(Finding {
        is_fault: false,
        ..finding(Rule::PrintedParts, message, shown)
    })
}

/// The prompt of a conversation in which this role says this; `None` if the text does not show.
fn prompt_with(template: &ChatTemplate, role: &str, content: serde_json::Value) -> Option<String> {
    let message =
        json!({"role": role, "content": content, "tool_call_id": "call00001", "name": "note"});
    let call = json!({"type": "function", "id": "call00001", "function": {"name": "note", "arguments": {}}});
    let user = json!({"role": "user", "content": "Well?"});
    let messages = match role {
        "system" => json!([message, user]),
        "user" => json!([message]),
        "assistant" => json!([user, message, user]),
        _ => json!([user, {"role": "assistant", "content": "", "tool_calls": [call]}, message]),
    };
    let request =
        Request::from_json(&json!({"messages": messages, "plain": true, "now": 0})).ok()?;
    template
        .prompt(&request)
        .ok()
        .filter(|prompt| prompt.contains(TEXT))
}

/// The end of a text.
fn end(text: &str) -> &str {
    const CHARS: usize = 160;
    text.char_indices()
        .nth_back(CHARS - 1)
        .map_or(text, |(at, _)| &text[at..])
}

/// A text around a place.
fn around(text: &str, at: usize) -> String {
    const CHARS: usize = 40;
    let from = text[..at]
        .char_indices()
        .nth_back(CHARS - 1)
        .map_or(0, |(at, _)| at);
    text[from..at]
        .chars()
        .chain(text[at..].chars().take(CHARS))
        .collect()
}
