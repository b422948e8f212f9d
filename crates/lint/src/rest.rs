//! Laws about whose text a prompt has, what the next turn costs, grammars, and what a template
//! says beside its turns.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::bench::{
    ANSWERED, ASKED, Bench, FURTHER, LAST, TOLD, answer, around, calls, request, result, said,
    user, with_tools,
};
use crate::law::{Finding, Law};
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
        bench.add(finding);
    }
    markers_in_texts(bench, &Vec::from_iter(markers));
}

/// Compares the prompt of a text that has all markers with that of a word in its place.
fn markers_in_texts(bench: &mut Bench, markers: &[&str]) {
    const WORD: &str = "Huckleberry";
    let text = |inner: &str| format!("Quince {inner} pear");
    let mut conversations: Vec<(&str, fn(String) -> Value)> = vec![
        ("system", |text| {
            request(vec![said("system", &text), user("Rowan?")])
        }),
        ("user", |text| {
            request(vec![user(&text), answer(ANSWERED), user(FURTHER)])
        }),
    ];
    if bench.takes_tools {
        conversations.push(("tool", |text| {
            with_tools(vec![
                user("Rowan?"),
                calls("", &["Azarole"]),
                result(0, &text),
            ])
        }));
    }
    for (role, conversation) in conversations {
        let harmless = bench.render(&conversation(text(WORD)));
        let Some(harmless) = harmless.ok().filter(|prompt| prompt.contains(WORD)) else {
            continue;
        };
        bench.ask(Law::Text);
        let is_kept = |bench: &Bench, inner: &str| {
            let request = conversation(text(inner));
            let got = bench.render(&request).map_err(|error| error.to_string());
            let quoted = Value::from(inner).to_string();
            let forms = [inner, &quoted[1..quoted.len() - 1]];
            let expected = forms.map(|form| harmless.replace(WORD, form));
            match got {
                Ok(got) if expected.contains(&got) => None,
                Ok(got) | Err(got) => Some((request, expected, got)),
            }
        };
        if is_kept(bench, &markers.join(" ")).is_none() {
            continue;
        }
        let first = markers.iter().find_map(|marker| is_kept(bench, marker));
        if let Some((request, [expected, _], got)) = first {
            let message = format!(
                "A marker in a text of the role {role} changes more of the prompt than this text."
            );
            // The host writes the system's text, and may mean a switch in it.
            let finding = (Law::Text, role != "system", &*message);
            bench.differ(finding, &request, [&expected, &got]);
        }
    }
}

/// Asks whether prompts only grow, after a result and after the user's next message.
pub fn grows(bench: &mut Bench) {
    let called = || vec![user(ASKED), calls("", &["Azarole"])];
    let mut conversations = vec![(vec![user(ASKED), answer(ANSWERED)], user(FURTHER))];
    if bench.takes_tools {
        let answered = [called(), vec![result(0, TOLD), answer(ANSWERED)]].concat();
        conversations.extend([(called(), result(0, TOLD)), (answered, user(FURTHER))]);
    }
    for (messages, next) in conversations {
        for thought in ["", "Serviceberry: why?"] {
            let mut messages = messages.clone();
            for message in messages.iter_mut().filter(|_| !thought.is_empty()) {
                if message["role"] == "assistant" {
                    message["reasoning_content"] = thought.into();
                }
            }
            grows_after(bench, messages, &next, thought);
        }
    }
}

/// Compares what was sent up to the end of the last message with the prompt of the next turn.
fn grows_after(bench: &mut Bench, messages: Vec<Value>, next: &Value, thought: &str) {
    let before = bench.request(messages[..messages.len() - 1].to_vec());
    let whole = bench.request([&messages[..], std::slice::from_ref(next)].concat());
    let closed = bench.history(messages);
    let (Ok(prompt), Ok(closed), Ok(now)) = (bench.render(&before), closed, bench.render(&whole))
    else {
        return;
    };
    // Where the template never shows a thought, none was sent.
    if !closed.contains(thought) {
        return;
    }
    bench.ask(Law::Grows);
    let ends = [ANSWERED, LAST].map(|text| closed.rfind(text).map_or(0, |at| at + text.len()));
    let sent = match closed.starts_with(&prompt) {
        true => &closed[..ends[0].max(ends[1]).max(prompt.len())],
        false => &prompt,
    };
    let at = shared(sent, &now);
    if at < sent.len() {
        let thinking = if thought.is_empty() {
            ""
        } else {
            " with reasoning"
        };
        let what = if next["role"] == "tool" {
            "a result"
        } else {
            "the user's next message"
        };
        let message = format!(
            "After an answer{thinking}, {what} changes the prompt from byte {at} of {} on.",
            sent.len()
        );
        bench.differ((Law::Grows, false, &message), &whole, [sent, &now]);
    }
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
        bench.add(Finding::new(Law::Grammar, false, message).with("text", text));
    }
}

/// Compares the prompts of levels of reasoning effort.
pub fn effort(bench: &mut Bench) {
    let asked = |level: &str| {
        let mut request = request(vec![user(ASKED)]);
        request["chat_template_kwargs"] = json!({"reasoning_effort": level});
        request
    };
    let levels = ["low", "medium", "high"];
    let prompts = levels.map(|level| bench.render(&asked(level)).ok());
    let is_used = prompts.iter().any(|prompt| *prompt != prompts[0]);
    if !is_used {
        return;
    }
    bench.ask(Law::Effort);
    for (low, high) in [(0, 1), (1, 2), (0, 2)] {
        if let (Some(a), Some(b)) = (&prompts[low], &prompts[high])
            && a == b
        {
            let message = format!(
                "The levels {} and {} of reasoning effort render the same prompt.",
                levels[low], levels[high]
            );
            let mut finding = Finding::new(Law::Effort, false, message);
            finding.request = asked(levels[high]);
            bench.add(finding.with("prompt", around(b, shared(b, ""))));
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
    let (message, why) = match proof {
        Err(error) => (
            format!("The response template cannot be read: {}", error.message()),
            String::new(),
        ),
        Ok(proof) if proof.read_back < by_reader => {
            let message = format!(
                "The response template reads {} messages back, and the reader in use {by_reader}.",
                proof.read_back
            );
            let first = proof.failures.first();
            (
                message,
                first.map_or(String::new(), |first| {
                    format!("{}: {}", first.probe, first.why)
                }),
            )
        }
        Ok(_) => return,
    };
    bench.add(Finding::new(Law::Response, true, message).with("the first", why));
}

/// Most bytes of a special token.
const TOKEN: usize = 80;

/// Asks whether the vocabulary has the template's special tokens.
pub fn vocabulary(bench: &mut Bench) {
    let template = bench.template;
    let special = template.special_tokens();
    if special.is_empty() {
        return;
    }
    bench.ask(Law::Vocabulary);
    let source = template.jinja().written();
    let parts = SourceParts::of(source);
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
            let mut finding = Finding::new(Law::Vocabulary, true, message);
            for text in &parts.texts {
                for (at, _) in text.text.match_indices(token) {
                    finding.places.push(place(source, text.place(at)));
                }
            }
            bench.add(finding.with("template", around(&text.text, at)));
        }
    }
}
