//! `audit` against seeded faults: answers that this library makes of what a template's model
//! writes, each with one fault, and the same without. `CHATPARSE_CASES` says how many of each
//! fault, `CHATPARSE_SEED` where they start, `CHATPARSE_TEMPLATES` in which folder the templates
//! are, if not the built-in ones. The table says for each kind how many were named, and how often
//! the kind was named beside another one.

mod answers;
mod faults;
#[path = "../../../../tests/support/seeds.rs"]
mod seeds;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chatparse::{ChatTemplate, builtin};
use chatparse_audit::audit;
use serde_json::{Value, json};

use answers::{Case, Random};
use faults::{FAULTS, Stage};

/// The findings by line, from 1: kind and message.
fn audited(template: &ChatTemplate, lines: &[Value]) -> BTreeMap<u64, Vec<(String, String)>> {
    let mut rows = BTreeMap::new();
    for (number, line) in (1..).zip(lines) {
        let found = audit(&line.to_string(), template).unwrap();
        let found = found.into_iter();
        let found: Vec<_> = found
            .map(|found| (found.kind.to_owned(), found.message))
            .collect();
        if !found.is_empty() {
            rows.insert(number, found);
        }
    }
    rows
}

fn json_call() -> ChatTemplate {
    ChatTemplate::builtin("json-call").unwrap()
}

/// The templates, by name.
fn templates() -> Vec<(String, ChatTemplate)> {
    let Ok(folder) = std::env::var("CHATPARSE_TEMPLATES") else {
        return builtin::names()
            .map(|name| (name.to_owned(), ChatTemplate::builtin(name).unwrap()))
            .collect();
    };
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|end| end == "jinja"))
        .collect();
    files.sort();
    let read = |file: PathBuf| {
        let template = ChatTemplate::new(&std::fs::read_to_string(&file).unwrap(), "", "").ok()?;
        Some((file.to_str().unwrap().to_owned(), template))
    };
    files.into_iter().filter_map(read).collect()
}

#[derive(Default)]
struct Tally {
    seeded: usize,
    named: usize,
    beside: usize,
}

#[test]
fn seeded_faults_are_named_and_nothing_else() {
    let templates = templates();
    let mut lines: BTreeMap<&str, Vec<(Option<usize>, Value)>> = BTreeMap::new();
    let mut kinds: BTreeMap<&str, Tally> = BTreeMap::new();
    for (number, fault) in FAULTS.iter().enumerate() {
        for seed in seeds::seeds(6) {
            let mut random = Random::new(seed.wrapping_mul(1009).wrapping_add(number as u64));
            let seeded = (0..4000).find_map(|_| {
                let (name, template) = &templates[random.below(templates.len())];
                let mut case = Case::new(template, &mut random)?;
                let sound = case.written().line();
                let is_seeded = match fault.stage {
                    Stage::Said => {
                        (fault.seed)(&mut case, &mut random) && {
                            case.write();
                            true
                        }
                    }
                    Stage::Sent => (fault.seed)(&mut case, &mut random),
                };
                is_seeded.then(|| (name.as_str(), sound, case.line()))
            });
            let (name, sound, line) =
                seeded.unwrap_or_else(|| panic!("{}: no case can have it", fault.name));
            lines
                .entry(name)
                .or_default()
                .extend([(None, sound), (Some(number), line)]);
        }
    }
    let (mut sound, mut alarms) = (0, BTreeMap::<String, usize>::new());
    let mut rows = vec![(0, 0); FAULTS.len()];
    for (template, compiled) in &templates {
        let Some(lines) = lines.get(template.as_str()) else {
            continue;
        };
        let found = audited(
            compiled,
            &lines
                .iter()
                .map(|(_, line)| line.clone())
                .collect::<Vec<_>>(),
        );
        for (number, (fault, _)) in (1..).zip(lines) {
            let found = found.get(&number).cloned().unwrap_or_default();
            let Some(fault) = fault else {
                sound += 1;
                for (kind, message) in &found {
                    *alarms.entry(kind.clone()).or_default() += 1;
                    eprintln!("false alarm, {template}.jsonl:{number}: {kind}: {message}");
                }
                continue;
            };
            let expected = FAULTS[*fault].kind;
            let named: BTreeSet<&str> = found.iter().map(|(kind, _)| kind.as_str()).collect();
            rows[*fault].0 += 1;
            kinds.entry(expected).or_default().seeded += 1;
            if named.contains(expected) {
                rows[*fault].1 += 1;
                kinds.entry(expected).or_default().named += 1;
            } else {
                eprintln!(
                    "missed, {template}.jsonl:{number}: {}: {found:?}",
                    FAULTS[*fault].name
                );
            }
            for kind in named.into_iter().filter(|kind| *kind != expected) {
                let kind = FAULTS
                    .iter()
                    .find(|fault| fault.kind == kind)
                    .map_or("others", |fault| fault.kind);
                kinds.entry(kind).or_default().beside += 1;
            }
        }
    }
    println!("{:44} {:18} named", "fault", "kind");
    for (fault, (seeded, named)) in FAULTS.iter().zip(&rows) {
        println!("{:44} {:18} {named} of {seeded}", fault.name, fault.kind);
    }
    println!(
        "\n{:18} {:>8} {:>8} {:>20} {:>12}",
        "kind", "seeded", "named", "beside other faults", "false alarms"
    );
    for (
        kind,
        Tally {
            seeded,
            named,
            beside,
        },
    ) in &kinds
    {
        let alarms = alarms.get(*kind).copied().unwrap_or(0);
        println!("{kind:18} {seeded:8} {named:8} {beside:20} {alarms:12}");
    }
    let (seeded, named): (usize, usize) = (
        rows.iter().map(|row| row.0).sum(),
        rows.iter().map(|row| row.1).sum(),
    );
    let alarms: usize = alarms.values().sum();
    println!("{} templates", lines.len());
    println!(
        "{named} of {seeded} faults named; {alarms} false alarms in {sound} answers without a fault"
    );
    assert!(
        FAULTS.len() >= 30 && named * 100 >= seeded * 98,
        "{named} of {seeded} faults are named"
    );
    assert!(
        alarms * 1000 <= sound * 2,
        "{alarms} false alarms in {sound} answers"
    );
}

#[test]
fn the_guide_and_the_help_have_all_kinds() {
    let guide =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/server.md"))
            .unwrap();
    let help = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/src/audit.rs"))
        .unwrap();
    for kind in FAULTS.iter().map(|fault| fault.kind) {
        assert!(
            guide.contains(&format!("`{kind}`")) && help.contains(kind),
            "{kind}"
        );
    }
}

#[test]
fn lines_have_one_of_several_forms() {
    let request = json!({"messages": [{"role": "user", "content": "What does <think> do?"}]});
    let body = |content: &str| {
        json!({"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": content}}]})
    };
    let answered = |content: &str| json!({"request": request, "response": body(content)});
    let chunk = r#"{"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}"#;
    let stream =
        |end: &str| json!({"request": request, "stream": format!("data: {chunk}\n\n{end}")});
    let of_data = json!({"request": request, "events": [{"data": chunk}, "[DONE]"]});
    let failed = json!({"request": request, "response": {"error": {"message": "overloaded"}}});
    let mut output = answered("The end: </tool_call>");
    output["output"] = "The end: </tool_call>".into();
    // The end of the turn is no part of the message.
    let mut ended = answered("Hi");
    ended["output"] = "Hi<|im_end|>".into();
    let mut of_two = request.clone();
    of_two["n"] = 2.into();
    let two = json!({"request": of_two, "response": {"choices": [body("Hi")["choices"][0],
        {"index": 1, "message": {"role": "assistant", "content": "<|im_end|>"}, "finish_reason": "stop"}]}});
    let rows = [
        (answered("Hi"), None),
        // The user has asked for it.
        (answered("It <think>s."), None),
        (answered("The end: </tool_call>"), Some("shown-markup")),
        // So the model has written it.
        (output, None),
        (ended, None),
        (stream("data: [DONE]\n\n"), None),
        (stream(""), Some("no-end")),
        (stream("data: {\"a\n\n"), Some("not-json")),
        (of_data, None),
        (failed, Some("error")),
        (two, Some("shown-markup")),
    ];
    let found = audited(&json_call(), &rows.clone().map(|(line, _)| line));
    for (number, (line, kind)) in (1..).zip(rows) {
        let kinds: Vec<&str> = found
            .get(&number)
            .into_iter()
            .flatten()
            .map(|(kind, _)| &**kind)
            .collect();
        assert_eq!(kinds, Vec::from_iter(kind), "{line}");
    }
}

#[test]
fn what_answers_of_today_have_is_no_fault() {
    let space = json!({"type": "namespace", "name": "crm", "description": "", "tools": [{"type": "custom", "name": "apply"}]});
    let asked = json!({"reasoning": {"effort": "low", "summary": "auto"}, "include": ["reasoning.encrypted_content"], "input": [
        {"type": "additional_tools", "role": "developer", "tools": [space]},
        {"role": "user", "content": "Hi"}, {"role": "assistant", "phase": "final_answer", "content": "Ho"},
        {"role": "user", "content": "Apply it."}, {"type": "compaction_trigger"},
    ]});
    let part = |kind: &str, text: &str| json!({"type": kind, "text": text});
    let item = |name: &str| {
        json!([
            {"type": "reasoning", "id": "rs_1", "summary": [part("summary_text", "I look.")], "content": [part("reasoning_text", "I look.")], "encrypted_content": "x"},
            {"type": "message", "id": "msg_1", "role": "assistant", "phase": "commentary", "content": [part("output_text", "So.")]},
            {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": name, "namespace": "crm", "input": "abc"},
        ])
    };
    let output = "<think>\nI look.\n</think>\n\nSo.\n<tool_call>\n{\"name\": \"crm.apply\", \"arguments\": {\"input\": \"abc\"}}\n</tool_call>";
    let answered = |name: &str| {
        json!({"request": asked, "output": output,
            "response": {"object": "response", "id": "resp_1", "status": "completed", "output": item(name)}})
    };
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let stream = json!([
        {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        delta(json!({"type": "thinking_delta", "thinking": "I look."})),
        delta(json!({"type": "signature_delta", "signature": "ours"})),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "So."}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]);
    let whole = json!({"type": "message", "id": "msg_1", "role": "assistant", "stop_reason": "end_turn", "content": [
        {"type": "thinking", "thinking": "I look.", "signature": "ours"}, {"type": "text", "text": "So."},
    ]});
    let said = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "thinking": {"type": "adaptive"}});
    let streamed = json!({"request": said, "events": stream, "response": whole});
    let found = audited(
        &json_call(),
        &[answered("apply"), streamed, answered("other")],
    );
    let kinds = |line: u64| {
        found
            .get(&line)
            .into_iter()
            .flatten()
            .map(|(kind, _)| &**kind)
            .collect::<Vec<_>>()
    };
    assert_eq!([kinds(1), kinds(2)], [vec![""; 0], vec![]], "{found:?}");
    assert!(kinds(3).contains(&"unknown-tool"), "{found:?}");
}

#[test]
fn findings_name_what_is_there() {
    let said = json!([{"role": "user", "content": "Rain?"}]);
    let chat = |more: Value| {
        let mut request = json!({"messages": said});
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        request
    };
    let choice = |content: &str| json!({"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}});
    let answer = |choices: Value| json!({"object": "chat.completion", "choices": choices});
    let mut counted = answer(json!([choice("No.")]));
    counted["usage"] = json!({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 31});
    let tools = json!([{"name": "look", "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}}}]);
    let messages = json!({"model": "m", "max_tokens": 64, "messages": said, "tools": tools});
    let called = |input: Value| {
        json!({"type": "message", "role": "assistant", "stop_reason": "tool_use",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": input}]})
    };
    let ended = |content: Value| json!({"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"});
    let failed = |error: Value| json!({"error": error});
    let rows = [
        (
            chat(json!({})),
            counted,
            "usage",
            "total_tokens is 31, but 10 + 20 = 30",
        ),
        (
            chat(json!({})),
            answer(json!([])),
            "choices",
            "the answer has no choice",
        ),
        (
            chat(json!({"n": 2})),
            answer(json!([])),
            "choices",
            "the answer has no choice",
        ),
        (
            chat(json!({"n": 2})),
            answer(json!([choice("No.")])),
            "choices",
            "choices: 1, and the request asks for 2",
        ),
        (
            chat(json!({"n": 1})),
            answer(json!([choice("No.")])),
            "",
            "",
        ),
        (
            chat(json!({"stop": ["\n", "END"]})),
            answer(json!([choice("No. END")])),
            "shown-stop",
            "the content has \"END\", at which the request asks to stop",
        ),
        (
            chat(json!({"stop": "END"})),
            answer(json!([choice("No.")])),
            "",
            "",
        ),
        (
            chat(json!({"stop": "END", "include_stop_str_in_output": true})),
            answer(json!([choice("No. END")])),
            "",
            "",
        ),
        (
            chat(json!({})),
            answer(json!([choice("")])),
            "empty",
            "the answer is empty, and its finish is \"stop\"",
        ),
        (
            chat(json!({"stop": ""})),
            answer(json!([choice(" ")])),
            "empty",
            "the answer is empty, and its finish is \"stop\"",
        ),
        (
            chat(json!({"stop": "END"})),
            answer(json!([choice("")])),
            "",
            "",
        ),
        (
            messages.clone(),
            ended(json!([])),
            "empty",
            "the answer is empty, and its finish is \"end_turn\"",
        ),
        (messages.clone(), called(json!({"at": "x"})), "", ""),
        (
            messages.clone(),
            called(json!("{\"at\": \"x\"}")),
            "not-object",
            "the input is a text, and no object",
        ),
        (
            chat(json!({})),
            failed(json!({"message": "overloaded"})),
            "error",
            "the answer is an error: overloaded",
        ),
        (
            chat(json!({})),
            failed(json!("overloaded")),
            "error",
            "the answer is an error: overloaded",
        ),
        (
            messages.clone(),
            json!({"type": "error", "error": {"type": "overloaded_error"}}),
            "error",
            "the answer is an error: {\"type\":\"overloaded_error\"}",
        ),
        (
            chat(json!({})),
            json!({"object": "error", "message": "too long", "code": 400}),
            "error",
            "the answer is an error: too long",
        ),
    ];
    let lines: Vec<Value> = rows
        .iter()
        .map(|(request, response, ..)| json!({"request": request, "response": response}))
        .collect();
    let found = audited(&json_call(), &lines);
    for (number, (_, response, kind, message)) in (1..).zip(&rows) {
        let found: Vec<(&str, &str)> = found
            .get(&number)
            .into_iter()
            .flatten()
            .map(|(kind, message)| (&**kind, &**message))
            .collect();
        assert_eq!(
            found,
            Vec::from_iter(Some((*kind, *message)).filter(|_| !kind.is_empty())),
            "{response}"
        );
    }
}
