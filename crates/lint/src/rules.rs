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
    let mut with_calls = Vec::new();
    let mut shown = Vec::new();
    for (index, probe) in probes.probes().iter().enumerate() {
        if probe.calls() > 0 {
            with_calls.push(index);
            shown.extend(cases.iter().filter(|case| case.probe == probe.name));
        }
    }
    let takes_tools = template.caps().tools;
    let source = template.jinja().written();
    let mut tags = parts.tags.iter().map(|tag| &source[tag.clone()]);
    if !takes_tools && !tags.any(|tag| tag.contains("tool_calls")) {
        return None;
    }
    let mut outcomes = shown.iter().map(|case| &case.outcome);
    if !shown.is_empty() && outcomes.all(|outcome| matches!(outcome, Outcome::Refused(_))) {
        return None;
    }
    let prompt = probes.asked(Thinking::On).ok()?.prompt();
    let mut outcomes = shown.iter().map(|case| &case.outcome);
    if outcomes.all(|outcome| matches!(outcome, Outcome::Omitted("calls") | Outcome::Refused(_))) {
        let turn = probes.case(with_calls.first().copied().unwrap_or(0), Thinking::On);
        let turn = turn.map_or("", |case| &case.rendered);
        let takes = if takes_tools {
            "takes tools"
        } else {
            "asks for calls"
        };
        let message = format!("The template {takes}, and shows nothing of a call in the history.");
        let renders = [
            ("prompt", end(prompt).to_owned()),
            ("history", end(turn).to_owned()),
        ];
        return Some(finding(Rule::HiddenCalls, message, renders));
    }
    if !takes_tools {
        return None;
    }
    with_calls
        .iter()
        .find_map(|&probe| changed_name(probes, probe))
        .or_else(|| unread_calls(&shown))
}

/// A call whose name is written in another case.
fn changed_name(probes: &ProbeSet, probe: usize) -> Option<Finding> {
    let mut cases = Thinking::ALL.into_iter();
    let (case, begin) = cases.find_map(|thinking| {
        let case = probes.case(probe, thinking).ok()?;
        Some((case, case.begin?))
    })?;
    let turn = &case.rendered[begin..];
    let lower = turn.to_lowercase();
    let mut names = case.whole.tool_calls.iter().map(|call| &call.name);
    let name =
        names.find(|name| !turn.contains(&**name) && lower.contains(&name.to_lowercase()))?;
    let message = format!("The call of {name} is written under a name in another case.");
    let shown = [("request", name.clone()), ("history", turn.to_owned())];
    Some(finding(Rule::ChangedName, message, shown))
}

/// The first of the calls, if none is read back.
fn unread_calls(cases: &[&Case]) -> Option<Finding> {
    let mut first = None;
    for case in cases {
        match &case.outcome {
            Outcome::Lost(lost) if first.is_none() => first = Some((&case.turn, &lost.got)),
            Outcome::Omitted("calls")
            | Outcome::Lost(_)
            | Outcome::NoTurn(_)
            | Outcome::Refused(_) => {}
            _ => return None,
        }
    }
    let (turn, got) = first?;
    let message = "The template takes tools, and no call that it writes is read back.".to_owned();
    let shown = [("history", turn.clone()), ("read as", got.clone())];
    Some(finding(Rule::UnreadCalls, message, shown))
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
            let Some(end) = rest.find('>').filter(|end| *end < TOKEN) else {
                continue;
            };
            let token = &rest[..=end];
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

/// The places of a text in the source's own texts.
fn places(template: &ChatTemplate, parts: &SourceParts, subject: &str) -> Vec<Place> {
    let mut places = Vec::new();
    for text in &parts.texts {
        for (at, _) in text.text.match_indices(subject) {
            places.push(place(template.jinja().written(), text.place(at)));
        }
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
