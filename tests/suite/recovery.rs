//! Calls in other ways of writing them, in every way to cut the output: where they are read, and
//! where they are not.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::cases;
use crate::support::{check_streaming, parse};
use chatparse::internals::analysis::turn;
use chatparse::internals::brackets::is_marker;
use chatparse::internals::format::wrappers::THOUGHT;
use chatparse::internals::template::Template;
use chatparse::message::{Diagnostic, DiagnosticKind};
use chatparse::stream::Ended;
use chatparse::{ChatTemplate, DeltaKind, EndedBy, Params, Request, Status, builtin};
use serde_json::{Value, json};

fn params(template: &str, more: &Value) -> Params {
    let parameters = json!({"type": "object", "properties": {
        "path": {"type": "string"}, "line": {"type": "integer"}, "deep": {"type": "boolean"}}});
    let mut body = json!({
        "messages": [{"role": "user", "content": "Hi"}],
        "reasoning_format": "auto",
        "parallel_tool_calls": true,
        "tools": [
            {"type": "function", "function": {"name": "read", "parameters": parameters}},
            {"type": "function", "function": {"name": "list"}},
        ],
    });
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    ChatTemplate::builtin(template)
        .unwrap()
        .params(&Request::from_json(&body).unwrap())
        .unwrap()
}

fn read(params: &Params, output: &str) -> Ended {
    params.parser.read(output.as_bytes(), EndedBy::Model)
}

/// Checks the message and, whatever the chunks, that it is always the same.
#[track_caller]
fn check(params: &Params, output: &str, content: &str, calls: &[(&str, Value)]) {
    let (message, status) = parse(&params.parser, output.as_bytes(), false);
    let calls: Vec<Value> = calls
        .iter()
        .map(|(name, arguments)| json!({"name": name, "arguments": arguments}))
        .collect();
    let found: Vec<Value> = message["calls"].as_array().unwrap().clone();
    let found: Vec<Value> = found
        .into_iter()
        .map(|call| json!({"name": call["name"], "arguments": call["arguments"]}))
        .collect();
    assert_eq!(
        (message["content"].as_str().unwrap(), &found),
        (content, &calls),
        "{output:?}"
    );
    assert_eq!(status, Status::Recovered, "{output:?}");
    let wrong = check_streaming(&params.parser, output.as_bytes(), false);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each way to write a call of `read` that is not that of the template `tag-json-id`, with its name.
fn dialects() -> Vec<(String, String)> {
    cases::outputs("dialects.toml")
}

/// Templates whose own format takes a part of such a call for all of it.
const APART: &[(&str, &str)] = &[
    ("json-bare", "deepseek-r1-list"),
    ("json-bare", "inkling"),
    ("ling-3", "minimax-m3"),
];

#[test]
fn each_dialect_is_read_by_every_template_that_has_free_content() {
    let call = ("read", json!({"path": "a", "line": 2}));
    let (dialects, mut wrong) = (dialects(), Vec::new());
    for template in builtin::names() {
        let params = params(
            template,
            &json!({"dialects": "always", "enable_thinking": false}),
        );
        if read(&params, "a text").message.content != "a text" {
            continue;
        }
        for (name, written) in &dialects {
            let ended = read(&params, &format!("I look.\n{written}"));
            let calls: Vec<_> = ended
                .message
                .tool_calls
                .iter()
                .map(|call| (&*call.name, &*call.arguments))
                .collect();
            let read = matches!(&*calls, [(name, arguments)] if *name == call.0 && serde_json::from_str::<Value>(arguments).is_ok_and(|all| all == call.1));
            let known = APART.contains(&(template, &**name));
            if (read && ended.message.content.trim_end() == "I look.") == known {
                wrong.push(format!(
                    "{template}, {name}: {:?} {calls:?}",
                    ended.message.content
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What makes an output of the template `tag-json-id` leave its format.
const OFF_FORMAT: &str = "[TOOL_CALLS]no";

#[test]
fn each_dialect_is_read_once_the_output_has_left_the_format() {
    let params = params("tag-json-id", &json!({}));
    let call = ("read", json!({"path": "a", "line": 2}));
    for (name, written) in dialects() {
        let output = format!("{OFF_FORMAT} {written} More.");
        check(
            &params,
            &output,
            &format!("{OFF_FORMAT} More."),
            std::slice::from_ref(&call),
        );
        let ended = read(&params, &output);
        let found = ended
            .diagnostics()
            .iter()
            .find(|found| found.kind == DiagnosticKind::Dialect)
            .unwrap();
        assert_eq!(found.message, format!("a call in the format of {name}"));
        assert_eq!(found.call, Some(0));
        assert!(
            ended.calls()[0].complete && ended.calls()[0].known && ended.calls()[0].valid,
            "{written}: {ended:?}"
        );
    }
}

#[test]
fn dialects_are_read_nowhere_or_everywhere_as_the_request_says() {
    let (off, always) = (
        params("tag-json-id", &json!({"dialects": "off"})),
        params("tag-json-id", &json!({"dialects": "always"})),
    );
    let by_default = params("tag-json-id", &json!({}));
    let call = ("read", json!({"path": "a", "line": 2}));
    for (_, written) in dialects() {
        check(
            &off,
            &format!("{OFF_FORMAT} {written}"),
            &format!("{OFF_FORMAT} {written}"),
            &[],
        );
        let ended = read(&by_default, &format!("Text {written}"));
        assert_eq!(
            (ended.status, &*ended.message.content),
            (Status::Complete, &*format!("Text {written}"))
        );
        check(
            &always,
            &format!("Text\n{written}"),
            "Text",
            std::slice::from_ref(&call),
        );
    }
}

#[test]
fn a_call_that_breaks_off_is_told_with_its_bytes() {
    let written = "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\", oops}} then";
    let output = format!("{OFF_FORMAT} {written} <function=list></function>");
    let ended = read(&params("tag-json-id", &json!({})), &output);
    let complete: Vec<bool> = ended.calls().iter().map(|call| call.complete).collect();
    assert_eq!(complete, [false, true]);
    let is_unfinished = |found: &&Diagnostic| found.kind == DiagnosticKind::UnfinishedCall;
    let found = ended.diagnostics().iter().find(is_unfinished).unwrap();
    assert_eq!(
        (found.call, &output[found.span.clone()]),
        (Some(0), written)
    );
}

#[test]
fn broken_bytes_between_calls() {
    let params = params("tag-json-id", &json!({}));
    let mut output = format!("{OFF_FORMAT} ").into_bytes();
    output.extend(b"\xE6\x80 \xFF<tool_call>{\"name\": \"list\", \"arguments\": {}}\xF0\x9F");
    let ended = params.parser.read(&output, EndedBy::Model);
    assert_eq!(
        ended.message.content,
        format!("{OFF_FORMAT} \u{fffd} \u{fffd}\u{fffd}")
    );
    assert_eq!(ended.message.tool_calls.len(), 1);
    let wrong = check_streaming(&params.parser, &output, false);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn calls_without_an_end_are_settled_as_the_host_asks() {
    let whole = "<tool_call>\n{\"name\": \"list\", \"arguments\": {}}\n</tool_call>";
    let half = "\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a";
    let list = || ("list", json!({}));
    let read_half = || ("read", json!("{\"path\": \"a"));
    for (option, before, content, calls) in [
        ("keep", whole, "Text", vec![list(), read_half()]),
        ("drop", whole, "Text", vec![list()]),
        // The end of the call before is not known to be read before the next one is.
        (
            "content",
            whole,
            &*format!("Text\n</tool_call>{half}"),
            vec![list()],
        ),
        ("keep", "", "Text", vec![read_half()]),
        ("drop", "", "Text", vec![]),
        ("content", "", &*format!("Text{half}"), vec![]),
    ] {
        let params = params("json-call", &json!({"incomplete_calls": option}));
        let output = format!("Text{before}{half}");
        let ended = params.parser.read(output.as_bytes(), EndedBy::Limit);
        let found = (
            &*ended.message.content,
            ended.message.tool_calls.len(),
            ended.calls().len(),
        );
        assert_eq!(
            found,
            (content, calls.len(), calls.len()),
            "{option} {ended:?}"
        );
        for (call, (name, arguments)) in ended.message.tool_calls.iter().zip(&calls) {
            let expected = arguments
                .as_str()
                .map_or_else(|| arguments.to_string(), str::to_owned);
            assert_eq!((&*call.name, &call.arguments), (*name, &expected));
        }
        // Its bytes are told, and what is content comes from there.
        let unfinished = ended
            .diagnostics()
            .iter()
            .find(|found| found.kind == DiagnosticKind::UnfinishedCall)
            .unwrap();
        assert!(
            output[unfinished.span.clone()].contains("read"),
            "{unfinished:?}"
        );
        let says = match option {
            "keep" => "the call has no end",
            "drop" => "a call that has no end is not in the message",
            _ => "a call that has no end is content",
        };
        assert_eq!(unfinished.message, says);
        let written = ended
            .spans(DeltaKind::Content, 0)
            .iter()
            .map(|span| &output[span.clone()]);
        assert_eq!(written.collect::<String>(), content);
    }
}

/// Two meanings of leaving a format: its first unusual byte, and the byte from which on it was
/// given up.
#[test]
fn where_an_output_left_its_format() {
    let params = params("json-call", &json!({}));
    let unknown = "<tool_call>\n{\"name\": \"none\", \"arguments\": {}}\n</tool_call>";
    let [at, end] = ["none", "\n</tool_call>"].map(|text| unknown.find(text).unwrap());
    for (output, given_up) in [
        (unknown.to_owned(), None),
        (format!("{unknown}\n<foo>"), Some(end)),
    ] {
        let ended = read(&params, &output);
        let kind = |kind| move |found: &&Diagnostic| found.kind == kind;
        let left = ended
            .diagnostics()
            .iter()
            .find(kind(DiagnosticKind::LeftFormat))
            .map(|found| found.span.start);
        assert_eq!(
            (ended.status, ended.left_at, left),
            (Status::Recovered, Some(at), given_up),
            "{output}"
        );
        assert!(
            ended
                .diagnostics()
                .iter()
                .any(|found| kind(DiagnosticKind::UnknownTool)(&found) && found.span.start == at)
        );
    }
}

/// A call is there once its tool's name has ended, also where more would say that it has begun.
/// Half of a name is content; half of a marker after a call is not.
#[test]
fn an_output_that_ends_after_the_name_of_a_tool_has_the_call() {
    for (template, open, close) in [
        (
            "json-call",
            "<tool_call>\n{\"name\": \"",
            "\", \"arguments\": {}}\n</tool_call>\n<tool_ca",
        ),
        ("tag-arguments", "<tool_call>", "\n</tool_call>\n<tool_ca"),
        (
            "k2-horizon",
            "<ifm|tool_calls>\n<ifm|tool_call>",
            "\n</ifm|tool_call>\n</ifm|tool_ca",
        ),
        (
            "seed-oss",
            "<seed:tool_call>\n<function=",
            ">\n</function>\n</seed:tool_ca",
        ),
    ] {
        let params = params(template, &json!({"enable_thinking": false}));
        let half = format!("{open}lis");
        assert_eq!(read(&params, &half).message.content, half, "{template}");
        for end in 1..=close.len() {
            let output = format!("{open}list{}", &close[..end]);
            let ended = read(&params, &output);
            let names: Vec<&str> = ended
                .message
                .tool_calls
                .iter()
                .map(|call| &*call.name)
                .collect();
            assert_eq!(
                (&names[..], &*ended.message.content),
                (&["list"][..], ""),
                "{template}: {output:?}"
            );
            let wrong = check_streaming(&params.parser, output.as_bytes(), false);
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}

#[test]
fn calls_at_the_end_of_the_content_are_calls_only_whole_and_alone() {
    let params = params("tag-json-id", &json!({"dialects": "tail"}));
    let call = ("read", json!({"path": "a", "line": 2}));
    for (name, written) in dialects().iter().filter(|(name, _)| name != "json-in-tags") {
        let calls = std::slice::from_ref(&call);
        check(&params, &format!("I look.\n{written}"), "I look.", calls);
        for text in [
            format!("I would write {written}, but need not."),
            format!("```\n{written}\n```\nis how."),
            format!("I look.\n{}", written.replacen("read", "no_tool", 1)),
            format!("I look.\n{}", written.replacen('2', "\"two\"", 1)),
        ] {
            let ended = read(&params, &text);
            assert_eq!(
                (ended.calls().len(), &*ended.message.content),
                (0, &*text),
                "{name}"
            );
        }
    }
}

/// What a template writes that is a dialect: calls with a marker, other than JSON with its usual
/// keys.
fn dialect_of(name: &str) -> Option<Value> {
    let builtin = builtin::find(name).unwrap();
    let template = Template::new(builtin.source, builtin.bos, builtin.eos).unwrap();
    let mut turn = turn::learn(&template.probing(), true);
    turn.edges
        .retain(|edge| edge.to == turn::SlotKind::Call || edge.from == turn::SlotKind::Call);
    turn.edges
        .iter_mut()
        .filter(|edge| edge.from != turn::SlotKind::Call)
        .for_each(|edge| edge.glue = edge.glue.trim_start());
    // A marker alone in front of JSON with its usual keys is a wrapper.
    let words = |edge: &turn::Edge| {
        edge.glue
            .head()
            .split_once('{')
            .is_some_and(|(before, _)| before.contains("> ") || before.contains("\n\n"))
    };
    let usual = turn
        .call_keys()
        .is_some_and(|[name, arguments]| name == "name" && arguments != "args");
    let usual = usual && !turn.edges.iter().any(words);
    let marked = turn
        .before_calls()
        .all(|glue| !glue.marker_spans().is_empty())
        || turn.marker_behind_names().is_some();
    // The parts of its headers are in any order: a row of its own.
    let harmony = turn
        .edges
        .iter()
        .any(|edge| edge.glue.head().contains("<|channel|>"));
    (!usual && !harmony && marked && !turn.calls.is_empty()).then(|| {
        (turn.opening, turn.delimiters, turn.stops) = Default::default();
        turn.spacing = Default::default();
        json!([name, starts_of(&turn), without_defaults(json!(turn))])
    })
}

/// A turn without the fields that say nothing; its edges and its reasoning have all.
fn without_defaults(mut turn: Value) -> Value {
    let says_nothing = |value: &Value| {
        let empty = [
            json!(""),
            json!([]),
            json!({}),
            json!(null),
            json!(false),
            json!("raw"),
            json!("free"),
        ];
        empty.contains(value)
    };
    match &mut turn {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| *item = without_defaults(item.take())),
        Value::Object(fields) => {
            let has_all = ["shown", "quoted", "from"]
                .iter()
                .any(|field| fields.contains_key(*field));
            let shorter = std::mem::take(fields)
                .into_iter()
                .map(|(name, value)| (name, without_defaults(value)));
            *fields = shorter
                .filter(|(name, value)| has_all || name != "delimiters" && !says_nothing(value))
                .collect();
        }
        _ => {}
    }
    turn
}

/// The texts that such calls begin with: each marker in front of a name, as a model may leave out
/// those before it, and what opens and closes reasoning.
fn starts_of(turn: &turn::TurnFormat) -> Vec<String> {
    if turn.marker_behind_names().is_some() {
        return Vec::new();
    }
    let glues = turn
        .edges
        .iter()
        .filter(|edge| edge.to == turn::SlotKind::Call)
        .map(|edge| &edge.glue);
    let thoughts = turn
        .reasoning
        .iter()
        .flat_map(|thought| [&*thought.start, thought.open.head(), thought.close.head()]);
    let starts = glues
        .flat_map(markers)
        .chain(thoughts.map(|text| text.trim().to_owned()));
    let starts: BTreeSet<String> = starts
        .filter(|start| is_marker(start) && !THOUGHT.contains(&&**start))
        .collect();
    starts.into_iter().collect()
}

/// The markers in a text. A word in front of the first one belongs to it, and one behind the last
/// and behind one that stands there several times: without that it says nothing.
fn markers(glue: &turn::Glue) -> Vec<String> {
    let (text, spans) = (glue.head(), glue.marker_spans());
    let first = spans.first().map_or(0, |first| first.start);
    let ends = spans
        .iter()
        .skip(1)
        .map(|span| span.start)
        .chain([text.len()]);
    let marks = spans.iter().zip(ends).filter_map(|(span, end)| {
        let again = spans
            .iter()
            .filter(|other| text[(*other).clone()] == text[span.clone()])
            .count()
            > 1;
        let word = text[span.end..end].starts_with(char::is_alphanumeric);
        let end = if word && (again || end == text.len()) {
            end
        } else {
            span.end
        };
        let start = if span.start == first { 0 } else { span.start };
        (word || !again).then(|| text[start..end].trim().to_owned())
    });
    marks.collect()
}

#[test]
fn the_table_of_dialects_is_what_the_built_in_templates_write() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/stream/src/fallback/dialects.json");
    let learnt = builtin::names()
        .filter_map(dialect_of)
        .map(|row| row.to_string());
    // Rows of no template are written by hand, behind the others.
    let known: Vec<Value> = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let is_learnt = |row: &&Value| {
        row[0]
            .as_str()
            .is_some_and(|name| builtin::find(name).is_some())
    };
    let by_hand = known
        .iter()
        .filter(|row| !is_learnt(row))
        .map(Value::to_string);
    let rows: Vec<String> = learnt.chain(by_hand).collect();
    let text = format!("[\n{}\n]\n", rows.join(",\n"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        text,
        "UPDATE_SNAPSHOTS=1 writes it anew"
    );
}
