//! Where calls come from: the template's own way, another way with a marker, or nothing but how
//! they look.

use chatparse::message::CallOrigin::{self, Bare, Dialect, Format};
use chatparse::stream::Ended;
use chatparse::{ChatTemplate, EndedBy, Request, Status};
use serde_json::{Value, json};

const OWN: &str = "[TOOL_CALLS]list[CALL_ID]abc123def[ARGS]{}";
const TAGGED: &str = "<tool_call>{\"name\": \"list\", \"arguments\": {}}</tool_call>";
const BARE: &str = "{\"name\": \"list\", \"arguments\": {}}";

/// What is read of an output of a template.
fn read(template: &str, more: &Value, output: &str) -> Ended {
    let mut body = json!({
        "messages": [{"role": "user", "content": "Hi"}],
        "reasoning_format": "auto",
        "parallel_tool_calls": true,
        "tools": [{"type": "function", "function": {"name": "list"}}],
    });
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    let params = ChatTemplate::builtin(template)
        .unwrap()
        .params(&Request::from_json(&body).unwrap())
        .unwrap();
    params.parser.read(output.as_bytes(), EndedBy::Model)
}

#[track_caller]
fn check(template: &str, more: &Value, output: &str, origins: &[CallOrigin]) -> Ended {
    let ended = read(template, more, output);
    let found: Vec<CallOrigin> = ended.calls().iter().map(|call| call.origin).collect();
    assert_eq!(found, origins, "{output:?}: {ended:?}");
    ended
}

#[test]
fn calls_of_the_format() {
    check("tag-json-id", &json!({}), OWN, &[Format]);
    check(
        "tag-json-id",
        &json!({}),
        &format!("{OWN}{OWN}"),
        &[Format, Format],
    );
    check("json-call", &json!({}), TAGGED, &[Format]);
    // By its marker, also where the format has no call.
    check(
        "tag-json-id",
        &json!({}),
        &format!("[TOOL_CALLS]no {OWN} and {OWN}"),
        &[Format, Format],
    );
    // Nobody offers it, but it is a call.
    let ended = check(
        "json-call",
        &json!({}),
        &TAGGED.replace("list", "other"),
        &[Format],
    );
    assert!(!ended.calls()[0].known);
    // Half of it, too.
    let ended = check(
        "json-call",
        &json!({}),
        &TAGGED[..TAGGED.len() - 14],
        &[Format],
    );
    assert!(!ended.calls()[0].complete);
}

#[test]
fn calls_in_another_way() {
    let off_format = |call: &str| format!("[TOOL_CALLS]no {call}");
    check("tag-json-id", &json!({}), &off_format(TAGGED), &[Dialect]);
    check(
        "tag-json-id",
        &json!({}),
        &off_format("<function=list></function>"),
        &[Dialect],
    );
    check(
        "tag-json-id",
        &json!({"dialects": "always"}),
        &format!("Text {TAGGED} text"),
        &[Dialect],
    );
    check(
        "tag-json-id",
        &json!({}),
        &off_format(&format!("{TAGGED} and {OWN}")),
        &[Dialect, Format],
    );
    // What holds a bare call marks it.
    for held in [
        "<tools>@</tools>",
        "<|tool|>@<|/tool|>",
        "[TOOL_CALL]@[/TOOL_CALL]",
        "<tool_calls>[@, @]</tool_calls>",
    ] {
        let count = held.matches('@').count();
        check(
            "tag-json-id",
            &json!({}),
            &off_format(&held.replace('@', BARE)),
            &[Dialect, Dialect][..count],
        );
        check(
            "tag-json-id",
            &json!({}),
            &held.replace('@', BARE),
            &[Dialect, Dialect][..count],
        );
    }
}

#[test]
fn bare_calls() {
    check("tag-json-id", &json!({}), BARE, &[Bare]);
    check(
        "tag-json-id",
        &json!({}),
        &format!("{BARE}\n{BARE}"),
        &[Bare, Bare],
    );
    check(
        "tag-json-id",
        &json!({}),
        &format!("```json\n{BARE}\n```"),
        &[Bare],
    );
    check(
        "tag-json-id",
        &json!({}),
        &format!("[{BARE}, {BARE}]"),
        &[Bare, Bare],
    );
    check("tag-json-id", &json!({"bare_calls": "off"}), BARE, &[]);
    let anywhere = json!({"bare_calls": "anywhere", "dialects": "always"});
    check(
        "tag-json-id",
        &anywhere,
        &format!("See {BARE} and {OWN}"),
        &[Bare, Format],
    );
}

/// Such a format reads its calls itself, where they stand.
#[test]
fn where_the_format_is_bare() {
    let bare = "{\"name\": \"list\", \"parameters\": {}}";
    check("json-bare", &json!({}), bare, &[Format]);
    let ended = check(
        "json-bare",
        &json!({}),
        &format!("{bare} and {bare}"),
        &[Format, Bare],
    );
    assert_eq!(ended.status, Status::Recovered);
}

#[test]
fn what_a_model_quotes_is_no_call() {
    for template in ["tag-json-id", "json-call", "tag-parameters"] {
        for quoted in [
            format!("The page says {BARE}"),
            format!("The page says:\n\n{BARE}\n\nI would not run that."),
            format!("```json\n{BARE}\n```\nis how to call it."),
            format!("{BARE} is what it says."),
            format!("> {BARE}\n"),
        ] {
            let ended = check(template, &json!({}), &quoted, &[]);
            assert_eq!(
                (ended.message.content.trim(), ended.status),
                (quoted.trim(), Status::Complete),
                "{template}"
            );
        }
    }
}

#[test]
fn the_report_names_it() {
    let ended = read("tag-json-id", &json!({}), BARE);
    let call = json!({"complete": true, "known": true, "valid": true, "origin": "bare"});
    assert_eq!(ended.report_json()["calls"], json!([call]));
    assert_eq!(
        [Format, Dialect, Bare].map(CallOrigin::name),
        ["format", "dialect", "bare"]
    );
}
