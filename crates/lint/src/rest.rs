//! Laws about whose text a prompt has, what the next turn costs, grammars, and what a template
//! says beside its turns.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::bench::{
    ANSWERED, ASKED, Bench, FURTHER, LAST, answer, answered, around, called, calls, escaped, last,
    request, result, said, user,
};
use crate::law::{Finding, Law};
use chatparse_base::brackets;
use chatparse_base::find::shared;
use chatparse_chat::segments::Origin;
use chatparse_jinja::{SourceParts, place};
use chatparse_message::Request;

/// Asks the laws about the origin of a prompt's bytes: all are known, and a user's text with the
/// template's own texts in it changes nothing else.
pub fn origins(bench: &mut Bench) {
    let whole = bench.everything();
    let found = Request::from_json_with(&whole, &json!({"now": 0, "roles": "as_sent"}));
    let found = found.and_then(|request| bench.template.segments(&request));
    let Ok(found) = found else {
        return;
    };
    bench.ask(Law::Traced);
    let (mut unknown, mut markers) = (Vec::new(), BTreeSet::new());
    for segment in &found.segments {
        let text = &found.prompt[segment.bytes.clone()];
        match segment.origin {
            Origin::Unknown => unknown.push(text),
            // White space is escaped, trimmed or joined by many templates.
            Origin::Template => markers.extend(text.split_whitespace()),
            _ => {}
        }
    }
    if let [first, ..] = &unknown[..] {
        let message = format!(
            "The origin of {} texts of a prompt is unknown.",
            unknown.len()
        );
        let mut finding = Finding::new(Law::Traced, false, message).with("the first", *first);
        finding.request = whole;
        bench.findings.push(finding);
    }
    markers_in_texts(bench, &Vec::from_iter(markers));
}

/// The most markers that are tried one by one.
const MARKERS: usize = 200;
/// A word in a user's text, in whose place markers are put.
const WORD: &str = "Huckleberry";

/// Compares the prompt of a text that has all markers with that of a word in its place.
fn markers_in_texts(bench: &mut Bench, markers: &[&str]) {
    let text = format!("Quince {WORD} pear");
    let mut conversations = vec![
        ("system", vec![said("system", &text), user("Rowan?")]),
        ("user", vec![user(&text), answer(ANSWERED), user(FURTHER)]),
    ];
    if bench.takes_tools {
        let call = calls("", &["Azarole"]);
        conversations.push(("tool", vec![user("Rowan?"), call, result(0, &text)]));
    }
    for (role, messages) in conversations {
        let harmless = bench.request(messages);
        let prompt = bench.render(&harmless).unwrap_or_default();
        if !prompt.contains(WORD) {
            continue;
        }
        bench.ask(Law::Text);
        let Some(all) = changed_by(bench, &harmless, &prompt, &markers.join(" ")) else {
            continue;
        };
        // Each costs a render, and a template may have any number of words.
        let mut first = markers.iter().take(MARKERS);
        let one = first.find_map(|marker| changed_by(bench, &harmless, &prompt, marker));
        let (request, expected, got) = one.unwrap_or(all);
        let message = format!(
            "A marker in a text of the role {role} changes more of the prompt than this text."
        );
        // The host writes the system's text, and may mean a switch in it.
        let finding = (Law::Text, role != "system", &*message);
        bench.differ(finding, &request, [&expected, &got]);
    }
}

/// The request with markers in place of the word, the expected prompt, and the prompt.
type Changed = (Value, String, String);

/// Puts the markers in place of the word. `None` if they change nothing else.
fn changed_by(bench: &Bench, harmless: &Value, prompt: &str, markers: &str) -> Option<Changed> {
    let mut request = harmless.clone();
    for message in request["messages"].as_array_mut().into_iter().flatten() {
        if let Some(text) = message["content"]
            .as_str()
            .filter(|text| text.contains(WORD))
        {
            message["content"] = text.replace(WORD, markers).into();
        }
    }
    let got = bench.text(&request);
    let expected = prompt.replace(WORD, markers);
    let is_same = got == expected || got == prompt.replace(WORD, &escaped(markers));
    (!is_same).then_some((request, expected, got))
}

/// Asks whether prompts only grow, after a result and after the user's next message.
pub fn grows(bench: &mut Bench) {
    let mut conversations = vec![answered()];
    if bench.takes_tools {
        conversations.extend([called(), [called(), answered()[1..].to_vec()].concat()]);
    }
    for messages in conversations {
        for thought in ["", "Serviceberry: why?"] {
            let mut messages = messages.clone();
            for message in messages.iter_mut().filter(|_| !thought.is_empty()) {
                if message["role"] == "assistant" {
                    message["reasoning_content"] = thought.into();
                }
            }
            if let Some(next) = messages.pop() {
                grows_after(bench, messages, &next, thought);
            }
        }
    }
}

/// Compares what was sent up to the end of the last message with the prompt of the next turn.
fn grows_after(bench: &mut Bench, messages: Vec<Value>, next: &Value, thought: &str) {
    let before = messages[..messages.len() - 1].to_vec();
    let whole = [&messages[..], std::slice::from_ref(next)].concat();
    let [before, mut closed, whole] = [before, messages, whole].map(|messages| {
        let mut request = bench.request(messages);
        if thought.is_empty() {
            request["chat_template_kwargs"] = json!({"enable_thinking": false});
        }
        request
    });
    closed["add_generation_prompt"] = false.into();
    let prompts = [&before, &closed, &whole].map(|request| bench.render(request));
    let [Ok(prompt), Ok(closed), Ok(now)] = prompts else {
        return;
    };
    // Where the template never shows a thought, none was sent.
    if !closed.contains(thought) {
        return;
    }
    bench.ask(Law::Grows);
    let sent = if closed.starts_with(&prompt) {
        without_end(bench, &closed)
    } else {
        &prompt
    };
    let (at, all) = (shared(sent, &now), sent.len());
    if at < all {
        let thinking = ["", " with reasoning"][usize::from(!thought.is_empty())];
        let what = ["the user's next message", "a result"][usize::from(next["role"] == "tool")];
        let message = format!(
            "After an answer{thinking}, {what} changes the prompt from byte {at} of {all} on."
        );
        bench.differ((Law::Grows, false, &message), &whole, [sent, &now]);
    }
}

/// A history without the end of its last turn, which a model may write as another token.
fn without_end<'h>(bench: &Bench, history: &'h str) -> &'h str {
    let history = history.trim_end();
    for end in bench.template.turn_ends() {
        let rest = history.strip_suffix(end.trim());
        if let Some(rest) = rest.filter(|rest| rest.len() < history.len()) {
            return rest;
        }
    }
    let ends = [ANSWERED, LAST].map(|text| last(history, text).map_or(0, |at| at.end));
    &history[..ends[0].max(ends[1])]
}

/// Asks the grammar of required calls about the turns of calls that are read back.
pub fn grammar(bench: &mut Bench) {
    let proof = bench.template.proof();
    if proof.grammar_cases == 0 {
        return;
    }
    bench.ask(Law::Grammar);
    if let Some((what, text)) = proof.grammar_fault.split_once(' ') {
        let (right, cases) = (proof.grammar_right, proof.grammar_cases);
        let message = format!(
            "The grammar of calls {what} a text, and is right for {right} of {cases} messages."
        );
        bench
            .findings
            .push(Finding::new(Law::Grammar, false, message).with("text", text));
    }
}

/// Compares the prompts of levels of reasoning effort.
pub fn effort(bench: &mut Bench) {
    let mut prompts: Vec<(&str, String)> = Vec::new();
    for level in ["low", "medium", "high"] {
        let mut request = request(vec![user(ASKED)]);
        request["chat_template_kwargs"] = json!({"reasoning_effort": level});
        prompts.push((level, bench.text(&request)));
    }
    if prompts.iter().all(|(_, prompt)| *prompt == prompts[0].1) {
        return;
    }
    bench.ask(Law::Effort);
    for (index, (level, prompt)) in prompts.iter().enumerate() {
        let mut lower = prompts[..index].iter();
        if let Some((same, _)) = lower.find(|(_, lower)| lower == prompt) {
            let message = format!("{same} and {level} reasoning effort render the same prompt.");
            let finding = Finding::new(Law::Effort, false, message);
            bench
                .findings
                .push(finding.with("prompt", around(prompt, 0)));
        }
    }
}

/// Compares the template's own response template with the reader in use.
pub fn response(bench: &mut Bench) {
    let Some(proof) = bench.template.response_proof() else {
        return;
    };
    bench.ask(Law::Response);
    let by_reader = bench.template.proof().read_back;
    let (message, why) = match &proof {
        Err(error) => (
            "The response template cannot be read.".to_owned(),
            error.message(),
        ),
        Ok(proof) if proof.read_back < by_reader => {
            let back = proof.read_back;
            let first = proof.failures.first().map_or("", |first| &first.why);
            let message = format!(
                "The response template reads {back} messages back, and the reader in use {by_reader}."
            );
            (message, first)
        }
        Ok(_) => return,
    };
    let finding = Finding::new(Law::Response, true, message);
    bench.findings.push(finding.with("the first", why));
}

/// Most characters of a special token.
const TOKEN: usize = 80;
/// Most tokens that are told.
const TOLD_TOKENS: usize = 50;

/// Asks whether the vocabulary has the template's special tokens.
pub fn vocabulary(bench: &mut Bench) {
    let template = bench.template;
    let known: BTreeSet<&str> = template
        .special_tokens()
        .iter()
        .map(|token| &**token)
        .collect();
    if known.is_empty() {
        return;
    }
    bench.ask(Law::Vocabulary);
    stops(bench);
    let source = template.jinja().written();
    let parts = SourceParts::of(source);
    // Each token that the vocabulary lacks, with its first place in the template's texts.
    let mut unknown = BTreeMap::new();
    for text in &parts.texts {
        for (at, open) in text.text.match_indices(brackets::opens) {
            let rest = &text.text[at..];
            let closer = open.chars().next().and_then(brackets::closer);
            let mut near = rest.char_indices().take(TOKEN);
            let Some((end, closer)) = near.find(|(_, c)| Some(*c) == closer) else {
                continue;
            };
            let token = &rest[..end + closer.len_utf8()];
            let is_special = brackets::begins_token(token) || brackets::ends_token(token);
            let inside = &token[open.len()..end];
            let is_one =
                inside.contains(char::is_alphabetic) && !inside.contains(['<', '=', ' ', '\n']);
            if is_special && is_one && !known.contains(token) {
                unknown.entry(token).or_insert((text, at));
            }
        }
    }
    for (token, (text, at)) in unknown.into_iter().take(TOLD_TOKENS) {
        let message = format!("The template writes {token}, and the vocabulary does not have it.");
        let mut finding = Finding::new(Law::Vocabulary, true, message);
        finding.places.push(place(source, text.place(at)));
        let finding = finding.with("template", around(&text.text, at));
        bench.findings.push(finding);
    }
}

/// Asks whether a token that ends the model's output ends its turns.
fn stops(bench: &mut Bench) {
    let Some(params) = bench.params() else {
        return;
    };
    let (end, known) = (params.end_of_turn(), bench.template.ends());
    if !end.is_empty() && !known.is_empty() && !known.iter().any(|token| end.contains(&**token)) {
        let message = format!(
            "Turns end with {end}, and the model's end tokens are {}: the engine needs it as a stop.",
            known.join(", ")
        );
        bench
            .findings
            .push(Finding::new(Law::Vocabulary, false, message));
    }
}
