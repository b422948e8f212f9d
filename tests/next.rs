//! What is appended behind an output, held to what the template renders of the whole conversation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chatparse::{ChatTemplate, Message, Request, Session, ToolCall, builtin};
use serde_json::{Value, json};

fn templates() -> Vec<(String, ChatTemplate)> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let mut files: Vec<PathBuf> = ["templates", "templates-wild"]
        .iter()
        .filter_map(|folder| std::fs::read_dir(shared.join(folder)).ok())
        .flat_map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())))
        .collect();
    files.sort();
    if files.is_empty() {
        println!("no templates in ../shared: only the built-in ones are looked at");
    }
    let files = files.iter().filter_map(|path| {
        let name = path.file_stem()?.to_str()?.to_owned();
        Some((name, ChatTemplate::new(&std::fs::read_to_string(path).ok()?, "<s>", "</s>").ok()?))
    });
    let builtins = builtin::names().map(|name| (name.to_owned(), ChatTemplate::builtin(name).unwrap()));
    builtins.chain(files).collect()
}

fn tools() -> Value {
    let tool = |name: &str, properties: Value| {
        let parameters = json!({"type": "object", "properties": properties});
        json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
    };
    json!([tool("look", json!({"place": {"type": "string"}, "days": {"type": "integer"}})), tool("now", json!({}))])
}

fn request(messages: &[Value], generate: bool) -> Request {
    Request::from_json(&json!({
        "messages": messages,
        "tools": tools(),
        "parallel_tool_calls": true,
        "add_generation_prompt": generate,
        "now": 0,
    }))
    .unwrap()
}

/// An assistant's message of one step, and the results of its calls.
fn step(index: usize, thinks: bool, parallel: bool) -> (Message, Vec<Value>) {
    let id = |call: usize| format!("call{index:03}{call:02}");
    let call = |number: usize, name: &str, arguments: Value| ToolCall {
        name: name.to_owned(),
        arguments: arguments.to_string(),
        id: id(number),
    };
    let mut calls = vec![call(0, "look", json!({"place": format!("Oslo {index}"), "days": index}))];
    if parallel {
        calls.push(call(1, "look", json!({"place": format!("Rome {index}")})));
    }
    let results = calls.iter().enumerate();
    let results = results.map(|(number, call)| json!({"role": "tool", "name": call.name, "tool_call_id": call.id, "content": format!("Rain {index} {number}")}));
    let results = results.collect();
    let reasoning_content = if thinks { format!("Plum {index}: I have to look.") } else { String::new() };
    (Message { role: "assistant".into(), reasoning_content, tool_calls: calls, ..Message::default() }, results)
}

fn answer(index: usize, thinks: bool) -> (Message, Vec<Value>) {
    let reasoning_content = if thinks { format!("Pear {index}: I know it.") } else { String::new() };
    let message = Message {
        role: "assistant".into(),
        content: format!("It rains {index}."),
        reasoning_content,
        ..Message::default()
    };
    (message, vec![json!({"role": "user", "content": format!("And then {index}?")})])
}

fn json_of(message: &Message) -> Value {
    message.to_json()
}

/// How the template writes the message behind the prompt, with the end of its turn; `None` where it does not write it there.
fn written(template: &ChatTemplate, messages: &[Value], prompt: &str, message: &Message) -> Option<String> {
    let all: Vec<Value> = messages.iter().cloned().chain([json_of(message)]).collect();
    let whole = template.prompt(&request(&all, false)).ok()?;
    whole.strip_prefix(prompt).map(str::to_owned)
}

#[test]
fn explore() {
    let mut totals: BTreeMap<String, usize> = BTreeMap::new();
    let verbose = std::env::var("VERBOSE").is_ok();
    for (name, template) in templates() {
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for thinks in [false, true] {
            for parallel in [false, true] {
                for spelt in [false, true] {
                    let _ = run(&name, &template, thinks, parallel, spelt, &mut kinds, verbose);
                }
            }
        }
        println!("{name}: {kinds:?}");
        for (kind, count) in kinds {
            *totals.entry(kind).or_default() += count;
        }
    }
    println!("{totals:#?}");
}

fn run(
    name: &str,
    template: &ChatTemplate,
    thinks: bool,
    parallel: bool,
    spelt: bool,
    kinds: &mut BTreeMap<String, usize>,
    verbose: bool,
) -> Option<()> {
    let mut messages = vec![json!({"role": "user", "content": "How is it?"})];
    let mut session: Session = match template.session(request(&messages, true)) {
        Ok(s) => s,
        Err(_) => {
            *kinds.entry("refused".into()).or_default() += 1;
            return None;
        }
    };
    let steps = (0..6).map(|index| ("tool", step(index, thinks, parallel))).chain([
        ("user", answer(6, thinks)),
        ("tool", step(7, thinks, parallel)),
        ("user", answer(8, thinks)),
    ]);
    for (kind, (message, new)) in steps {
        let kind = format!("{kind}{}", if thinks { "+think" } else { "" });
        let mut all = messages.clone();
        all.push(json_of(&message));
        all.extend(new.clone());
        let Ok(whole) = template.prompt(&request(&all, true)) else {
            *kinds.entry(format!("{kind} raises")).or_default() += 1;
            return None;
        };
        let rendered = template.prompt(&request(&messages, true)).unwrap();
        let Some(turn) = written(template, &messages, &rendered, &message) else {
            *kinds.entry(format!("{kind} no turn")).or_default() += 1;
            messages = all;
            session = template.session(request(&messages, true)).unwrap();
            continue;
        };
        // End of turn: shared with another message
        let other = answer(99, false).0;
        let other2 = step(77, thinks, false).0;
        let ends = [other, other2].map(|m| written(template, &messages, &rendered, &m).unwrap_or_default());
        let shared = ends
            .iter()
            .map(|e| e.bytes().rev().zip(turn.bytes().rev()).take_while(|(a, b)| a == b).count())
            .min()
            .unwrap();
        let mut cut = turn.len() - shared;
        while !turn.is_char_boundary(cut) {
            cut += 1;
        }
        if let Some(open) =
            turn[..cut].rfind(['<', '[']).filter(|open| !turn[*open..cut].contains(['>', ']', ' ', '\n']))
        {
            cut = open;
        }
        let output = if spelt { turn.trim_end().to_owned() } else { turn[..cut].to_owned() };
        let read = session.params.parser.read(output.as_bytes(), false, false).unwrap().message;
        let mut new = new;
        for (call, result) in read.tool_calls.iter().zip(&mut new) {
            if !call.id.is_empty() {
                result["tool_call_id"] = json!(call.id);
            }
        }
        if read.tool_calls.len() != message.tool_calls.len()
            || read.content.is_empty() != message.content.is_empty()
            || read.reasoning_content.is_empty() != message.reasoning_content.is_empty()
        {
            *kinds.entry(format!("{kind} misread")).or_default() += 1;
        }
        let next = match session.next(output.as_bytes(), &Value::Array(new.clone())) {
            Ok(next) => next,
            Err(error) => {
                *kinds.entry(format!("{kind} error")).or_default() += 1;
                if verbose {
                    println!("  {name} {kind}: {error} {output:?}");
                }
                return None;
            }
        };
        let mut given = message.clone();
        for (call, read) in given.tool_calls.iter_mut().zip(&read.tool_calls) {
            if !read.id.is_empty() {
                call.id = read.id.clone();
            }
        }
        let mut all = messages.clone();
        all.push(json_of(&given));
        all.extend(new.clone());
        let learnt = session.next_learnt(output.as_bytes(), &Value::Array(new.clone())).unwrap();
        *kinds.entry(format!("{kind} short {}", learnt.short)).or_default() += 1;
        if learnt.session.params.prompt != next.session.params.prompt || learnt.rewrite != next.rewrite {
            *kinds.entry(format!("{kind} LEARNT WRONG")).or_default() += 1;
            println!("LEARNT {name} {kind} {:?} {:?}", learnt.append(), next.append());
        }
        if learnt.short == false && next.rewrite.is_none() {
            *kinds.entry(format!("{kind} long appends")).or_default() += 1;
        }
        let whole_given = template.prompt(&request(&all, true)).unwrap();
        let mut all = messages.clone();
        all.push(json_of(&next.message));
        all.extend(new.clone());
        let whole = template.prompt(&request(&all, true)).unwrap();
        let sent = format!("{}{output}", session.params.prompt);
        let appends = whole.starts_with(&sent);
        let equal = next.session.params.prompt == whole;
        let what = match (&next.rewrite, appends, equal) {
            (None, true, true) => "appends".to_owned(),
            (None, true, false) => "WRONG append".to_owned(),
            (None, false, _) if next.session.params.prompt == whole_given => "kept as given".to_owned(),
            (None, false, _) => "kept".to_owned(),
            (Some(r), false, true) => format!("rewrite {}", r.reason.name()),
            (Some(r), false, false) => format!("rewrite OTHER {}", r.reason.name()),
            (Some(r), true, _) => format!("WRONG rewrite {}", r.reason.name()),
        };
        if verbose && (what == "kept" || what.contains("WRONG") || what.contains("OTHER")) {
            let at = whole.bytes().zip(sent.bytes()).take_while(|(a, b)| a == b).count();
            println!(
                "  {name} {kind} spelt {spelt} par {parallel}: {what} {:?}\n     sent {:?}\n     whole {:?}\n   got {:?}",
                next.rewrite,
                String::from_utf8_lossy(&sent.as_bytes()[at.saturating_sub(60)..]),
                String::from_utf8_lossy(&whole.as_bytes()[at.saturating_sub(60)..]),
                next.append()
            );
        }
        *kinds.entry(format!("{kind} {what}")).or_default() += 1;
        messages = all;
        if verbose && what == "kept" {
            println!("   given {:?}", whole_given.ends_with(next.append()));
        }
        session = next.session;
        if next.rewrite.is_none() && !equal {
            session = template.session(request(&messages, true)).unwrap();
        }
    }
    Some(())
}
