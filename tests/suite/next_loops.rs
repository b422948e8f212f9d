//! What is appended behind an output, held to what the template renders of the whole conversation:
//! tool loops of six steps, answers, and the user again, with each built-in template and those next
//! to the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chatparse::{ChatTemplate, EndedBy, Message, Request, Session, ToolCall, builtin};
use serde_json::{Value, json};

fn templates() -> Vec<(String, ChatTemplate)> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folders =
        ["templates", "templates-wild"].map(|folder| std::fs::read_dir(shared.join(folder)));
    let entries = folders.into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    if files.is_empty() {
        println!(
            "skipped: there are no templates in ../shared; only the built-in ones are looked at"
        );
    }
    let files = files.iter().filter_map(|path| {
        let name = path.file_stem()?.to_str()?.to_owned();
        Some((
            name,
            ChatTemplate::new(&std::fs::read_to_string(path).ok()?, "<s>", "</s>").ok()?,
        ))
    });
    let builtins =
        builtin::names().map(|name| (name.to_owned(), ChatTemplate::builtin(name).unwrap()));
    builtins.chain(files).collect()
}

fn request(messages: &[Value], generate: bool) -> Request {
    request_with(messages, generate, "template")
}

fn request_with(messages: &[Value], generate: bool, append: &str) -> Request {
    let tool = |name: &str, properties: Value| {
        let parameters = json!({"type": "object", "properties": properties});
        json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
    };
    let tools = [
        tool(
            "look",
            json!({"place": {"type": "string"}, "days": {"type": "integer"}}),
        ),
        tool("now", json!({})),
    ];
    let body = json!({
        "messages": messages,
        "tools": tools,
        "parallel_tool_calls": true,
        "add_generation_prompt": generate,
        "now": 0,
        "append": append,
    });
    Request::from_json(&body).unwrap()
}

fn prompt(template: &ChatTemplate, messages: &[Value], generate: bool) -> Option<String> {
    template.prompt(&request(messages, generate)).ok()
}

/// How the assistants of a conversation write.
#[derive(Clone, Copy)]
struct Way {
    thinks: bool,
    parallel: bool,
    /// The text of what ends the turn is in the output.
    spelt: bool,
}

/// What an assistant says, and what comes behind it: results, or the user.
fn step(index: usize, calls: bool, way: Way) -> (Message, Vec<Value>) {
    let reasoning_content = if way.thinks {
        format!("Plum {index}: I have to see.")
    } else {
        String::new()
    };
    let mut message = Message::new("assistant", "");
    message.reasoning_content = reasoning_content;
    if !calls {
        let user = json!({"role": "user", "content": format!("And then {index}?")});
        message.content = format!("It rains {index}.");
        return (message, vec![user]);
    }
    let call = |number: usize, arguments: Value| {
        ToolCall::new(
            "look",
            arguments.to_string(),
            format!("call{index:03}{number:02}"),
        )
    };
    let mut tool_calls = vec![call(
        0,
        json!({"place": format!("Oslo {index}"), "days": index}),
    )];
    tool_calls.extend(
        way.parallel
            .then(|| call(1, json!({"place": format!("Rome {index}")}))),
    );
    let result = |(number, call): (usize, &ToolCall)| {
        let content = format!("Rain {index} {number}");
        json!({"role": "tool", "name": call.name, "tool_call_id": call.id, "content": content})
    };
    let results = tool_calls.iter().enumerate().map(result).collect();
    message.tool_calls = tool_calls;
    (message, results)
}

/// What the model may write for the message, with what ends its turn, as far as the template shows
/// it; `None` where the template does not write such a message.
fn written(template: &ChatTemplate, messages: &[Value], message: &Message) -> Option<String> {
    let all = prompt(template, &[messages, &[message.to_json()]].concat(), false)?;
    let params = template.params(&request(messages, true)).ok()?;
    if let Some(turn) = all.strip_prefix(&params.prompt) {
        return Some(turn.to_owned());
    }
    // The prompt opens what the template does not write again, or what was said before is written
    // in another way now. The turn begins where the two part, where the prompt's end stands once
    // more, or at the first text of the message.
    let shared = params
        .prompt
        .bytes()
        .zip(all.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let tail = &params.prompt[params
        .prompt
        .trim_end()
        .rfind(['<', '[', '\n'])
        .unwrap_or(0)..];
    let texts = [&message.reasoning_content, &message.content];
    let texts = texts
        .into_iter()
        .filter(|text| !text.is_empty())
        .filter_map(|text| all.rfind(text.as_str()));
    let begins = [Some(shared), all.rfind(tail).map(|at| at + tail.len())]
        .into_iter()
        .flatten()
        .chain(texts);
    let closes = params.thinking.as_ref().map_or("", |thinking| {
        thinking.ends.first().map_or("", String::as_str)
    });
    let reasoned = format!("{}{closes}", message.reasoning_content);
    let candidates = begins.flat_map(|at| {
        let at = (0..=at)
            .rev()
            .find(|at| all.is_char_boundary(*at))
            .unwrap_or(0);
        let marker = all[..at]
            .rfind(['<', '['])
            .filter(|open| !all[*open..at].contains(['>', ']']));
        let turn = &all[marker.unwrap_or(at)..];
        [
            turn.to_owned(),
            format!("{reasoned}{turn}"),
            format!("{reasoned}\n\n{}", turn.trim_start()),
        ]
    });
    let is_message = |turn: &String| {
        let read = params
            .parser
            .read(turn.trim_end().as_bytes(), EndedBy::Model);

        let calls = |message: &Message| -> Vec<(String, Option<Value>)> {
            let arguments = |text: &str| serde_json::from_str(text).ok();
            message
                .tool_calls
                .iter()
                .map(|call| (call.name.clone(), arguments(&call.arguments)))
                .collect()
        };
        // The text of what ends the turn is content to a parser, and what the prompt says
        // of reasoning is reasoning.
        let says = read.message.content.trim().starts_with(&message.content);
        let thinks = read
            .message
            .reasoning_content
            .trim()
            .ends_with(&message.reasoning_content);
        says && thinks && calls(&read.message) == calls(message)
    };
    candidates.into_iter().find(is_message)
}

/// What the model writes: that, with what all turns end with or without it.
fn output(
    template: &ChatTemplate,
    messages: &[Value],
    message: &Message,
    way: Way,
) -> Option<String> {
    let turn = written(template, messages, message)?;
    if way.spelt {
        return Some(turn.trim_end().to_owned());
    }
    let others = [step(77, true, way), step(99, false, way)];
    let alike = |other: String| {
        turn.bytes()
            .rev()
            .zip(other.bytes().rev())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let others = others
        .iter()
        .map(|(other, _)| written(template, messages, other).map_or(0, alike));
    let mut cut = turn.len() - others.min().unwrap_or(0);
    while !turn.is_char_boundary(cut) {
        cut += 1;
    }
    // No marker is cut in two.
    let open = turn[..cut]
        .rfind(['<', '['])
        .filter(|open| !turn[*open..cut].contains(['>', ']', ' ', '\n']));
    Some(turn[..open.unwrap_or(cut)].to_owned())
}

/// One conversation; what came of each kind of step.
fn converse(template: &ChatTemplate, way: Way, count: &mut impl FnMut(&str, &str)) -> Option<()> {
    let mut messages = vec![json!({"role": "user", "content": "How is it?"})];
    let mut session: Session = template.session(request(&messages, true)).ok()?;
    for (index, calls) in [true, true, true, true, true, true, false, true, false]
        .into_iter()
        .enumerate()
    {
        let kind = if calls { "tool step" } else { "user turn" };
        // Some templates write no reasoning, or one call at most.
        let ways = [
            way,
            Way {
                thinks: false,
                ..way
            },
            Way {
                thinks: false,
                parallel: false,
                ..way
            },
        ];
        let said = ways.into_iter().find_map(|way| {
            let (message, new) = step(index, calls, way);
            Some((output(template, &messages, &message, way)?, message, new))
        });
        let Some((output, message, mut new)) = said else {
            let (message, new) = step(index, calls, way);
            count(kind, "not written");
            messages.push(message.to_json());
            messages.extend(new);
            session = template.session(request(&messages, true)).ok()?;
            continue;
        };
        // The results answer the ids that the model wrote.
        let read = session
            .params
            .parser
            .read(output.as_bytes(), EndedBy::Model)
            .message;
        let mut given = message;
        for ((call, read), result) in given
            .tool_calls
            .iter_mut()
            .zip(&read.tool_calls)
            .zip(&mut new)
        {
            if !read.id.is_empty() {
                call.id.clone_from(&read.id);
                result["tool_call_id"] = json!(read.id);
            }
        }
        let next = session.next(output.as_bytes(), &json!(new)).ok()?;
        let whole_of = |message: &Message| {
            prompt(
                template,
                &[&messages, &[message.to_json()][..], &new].concat(),
                true,
            )
            .unwrap_or_default()
        };
        let sent = format!("{}{output}", session.params.prompt);
        let got = &next.session.params.prompt;
        let (whole, whole_given) = (whole_of(&next.message), whole_of(&given));
        assert!(sent.starts_with(&got[..next.kept]), "{output:?}");
        match &next.rewrite {
            None => {
                assert_eq!(next.kept, sent.len());
                assert!(
                    *got == whole || *got == whole_given,
                    "{output:?}\n{:?}\n{whole:?}",
                    next.append()
                );
                count(kind, "appends");
            }
            Some(rewrite) => {
                assert!(!whole.starts_with(&sent), "{rewrite:?} {output:?}");
                assert_eq!(*got, whole, "{rewrite:?}");
                assert_eq!(rewrite.at, next.kept);
                assert_ne!(
                    whole.as_bytes().get(next.kept),
                    sent.as_bytes().get(next.kept),
                    "{rewrite:?}"
                );
                count(kind, &format!("rewrites: {}", rewrite.reason.name()));
            }
        }
        messages.push(if *got == whole {
            next.message.to_json()
        } else {
            given.to_json()
        });
        messages.extend(new);
        // Where the message is written otherwise, the template would go on with other bytes than
        // those that are checked here.
        session = if *got == whole {
            next.session
        } else {
            template.session(request(&messages, true)).ok()?
        };
    }
    Some(())
}

/// One conversation in which nothing that was sent may change; how many steps appended what the
/// template would have changed.
fn converse_by_appending(template: &ChatTemplate, way: Way) -> Option<usize> {
    let mut messages = vec![json!({"role": "user", "content": "How is it?"})];
    let mut session: Session = template
        .session(request_with(&messages, true, "always"))
        .ok()?;
    let mut kept_anyway = 0;
    for (index, calls) in [true, true, false, true, false, false]
        .into_iter()
        .enumerate()
    {
        let ways = [
            way,
            Way {
                thinks: false,
                ..way
            },
            Way {
                thinks: false,
                parallel: false,
                ..way
            },
        ];
        let (output, new) = ways.into_iter().find_map(|way| {
            let (message, new) = step(index, calls, way);
            Some((output(template, &messages, &message, way)?, new))
        })?;
        let next = session.next(output.as_bytes(), &json!(new)).ok()?;
        let sent = format!("{}{output}", session.params.prompt);
        assert_eq!(next.kept, sent.len());
        assert!(next.session.params.prompt.starts_with(&sent), "{output:?}");
        messages.push(next.message.to_json());
        messages.extend(new);
        let whole = prompt(template, &messages, true)?;
        assert_eq!(next.session.rendered(), whole);
        // What ends the turn, and all behind it, is the template's.
        let text = messages
            .last()
            .and_then(|last| last["content"].as_str())
            .unwrap();
        let is_shown = next.append().contains(text) || !whole.contains(text);
        assert!(
            whole.ends_with(next.append()) && is_shown,
            "{output:?} {:?}",
            next.append()
        );
        assert!(
            !next.append().contains("It rains"),
            "{output:?} {:?}",
            next.append()
        );
        kept_anyway += usize::from(next.rewrite.is_some());
        session = next.session;
    }
    Some(kept_anyway)
}

#[test]
fn always_appending_breaks_no_prefix() {
    let (mut loops, mut kept_anyway) = (0, 0);
    for (name, template) in templates() {
        for (thinks, parallel, spelt) in [
            (true, true, true),
            (true, false, false),
            (false, false, true),
        ] {
            match converse_by_appending(
                &template,
                Way {
                    thinks,
                    parallel,
                    spelt,
                },
            ) {
                Some(kept) => (loops, kept_anyway) = (loops + 1, kept_anyway + kept),
                None => println!("{name}: a step cannot be written"),
            }
        }
    }
    println!("{loops} loops; in {kept_anyway} steps the template would have changed what was sent");
    assert!(loops > 20 && kept_anyway > loops / 10);
}

#[test]
fn what_is_appended_is_what_the_whole_renders() {
    let mut steps: BTreeMap<(String, bool, String), (usize, BTreeSet<String>)> = BTreeMap::new();
    let all = templates();
    for (name, template) in &all {
        for (thinks, parallel, spelt) in [(false, true, true), (true, false, false)] {
            converse(
                template,
                Way {
                    thinks,
                    parallel,
                    spelt,
                },
                &mut |kind, what| {
                    let row = steps
                        .entry((kind.to_owned(), thinks, what.to_owned()))
                        .or_default();
                    row.0 += 1;
                    row.1.insert(name.clone());
                },
            );
        }
    }
    let mut appended = 0;
    for ((kind, thinks, what), (count, names)) in &steps {
        println!(
            "{kind}{}: {what}: {count} steps of {} templates",
            if *thinks { ", thinking" } else { "" },
            names.len()
        );
        appended += if what == "appends" { *count } else { 0 };
    }
    assert!(appended > 10 * all.len(), "{appended} steps append");
}
