//! Laws about what clients send: null, empty lists, arguments as text, content as parts. Hosts that
//! render as transformers does give them to the template as they are.

use serde_json::{Value, json};

use crate::bench::{ASKED, Bench, LAST, TOLD, answered, called, request, said, user};
use crate::law::Law;
use chatparse_message::Request;

/// Compares each conversation with the same one as a client may send it.
pub fn sent(bench: &mut Bench) {
    let (null, none) = (Value::Null, json!([]));
    for (message, name, value) in [
        (Some(1), "tool_calls", &null),
        (Some(1), "tool_calls", &none),
        (Some(1), "reasoning_content", &null),
        (Some(1), "refusal", &null),
        (Some(0), "name", &null),
        (None, "tools", &null),
        (None, "tools", &none),
    ] {
        absent(bench, &request(answered()), message, name, value);
    }
    if bench.takes_tools {
        let called = bench.request(called());
        null_content(bench, &called);
        for name in ["function_call", "refusal"] {
            absent(bench, &called, Some(1), name, &null);
        }
        arguments(bench, &called);
    }
    parts(bench);
    agrees(bench);
}

/// Compares with a field of the request, or of one of its messages, that is absent.
fn absent(bench: &mut Bench, whole: &Value, message: Option<usize>, name: &str, value: &Value) {
    let mut request = whole.clone();
    let (object, place) = match message {
        Some(index) => (
            &mut request["messages"][index],
            format!("messages[{index}]."),
        ),
        None => (&mut request, String::new()),
    };
    object[name] = value.clone();
    let message = format!("{place}{name}: {value} does not render as if it were absent.");
    same(bench, (Law::Absent, true, &message), &request, whole);
}

/// Reports that a request renders otherwise than another one, or raises an error.
fn same(bench: &mut Bench, finding: (Law, bool, &str), request: &Value, whole: &Value) {
    let Ok(expected) = bench.render(whole) else {
        return;
    };
    bench.ask(finding.0);
    let got = bench.text(request);
    if got != expected {
        bench.differ(finding, request, [&expected, &got]);
    }
}

/// Content that is null beside a call: no null shows that an empty content does not have.
fn null_content(bench: &mut Bench, called: &Value) {
    let mut request = called.clone();
    request["messages"][1]["content"] = Value::Null;
    let texts = [called, &request].map(|request| bench.text(request));
    let nulls = texts
        .each_ref()
        .map(|text| ["None", "null"].map(|word| text.matches(word).count()));
    if nulls[0] != nulls[1] || bench.render(&request).is_err() && bench.render(called).is_ok() {
        let message = "messages[1].content: null beside a call does not render like an empty text.";
        let finding = (Law::Absent, true, message);
        bench.differ(finding, &request, texts.each_ref().map(|text| &**text));
    }
}

/// Arguments as an object, which transformers has, and as text, which clients send.
fn arguments(bench: &mut Bench, called: &Value) {
    let mut texts = called.clone();
    let function = &mut texts["messages"][1]["tool_calls"][0]["function"];
    function["arguments"] = function["arguments"].to_string().into();
    if bench.render(called).is_err() && bench.render(&texts).is_err() {
        return;
    }
    bench.ask(Law::Arguments);
    let (object, text) = (bench.text(called), bench.text(&texts));
    let (is_fault, message) = if object.contains("{'sort': 'Azarole'") {
        (
            true,
            "Arguments that are an object are written as Python's, not as JSON.",
        )
    } else if has_python(&object) {
        (
            false,
            "Values in arguments are written as Python's, not as JSON.",
        )
    } else if object != text {
        (
            false,
            "Arguments that are an object and arguments that are its text do not render alike.",
        )
    } else {
        return;
    };
    bench.differ(
        (Law::Arguments, is_fault, message),
        called,
        [&text, &object],
    );
}

/// Whether the values between the first and the last text of the call are Python's.
fn has_python(prompt: &str) -> bool {
    let call = prompt.rfind("Azarole").map_or("", |at| &prompt[at..]);
    let end = call.find(LAST).map_or(call.len(), |at| at + LAST.len());
    let values = &call[..end];
    ["True", "None", "{'tree': '"]
        .iter()
        .any(|value| values.contains(value))
}

/// Content as a list of one text part, for the first message of each role.
fn parts(bench: &mut Bench) {
    let mut conversations = vec![vec![said("system", TOLD), user(ASKED)], answered()];
    if bench.takes_tools {
        conversations.push(called());
    }
    let mut known = Vec::new();
    for messages in conversations {
        let whole = bench.request(messages);
        for index in 0..whole["messages"].as_array().map_or(0, Vec::len) {
            let mut request = whole.clone();
            let message = &mut request["messages"][index];
            let role = message["role"].clone();
            if known.contains(&role) {
                continue;
            }
            message["content"] = json!([{"type": "text", "text": message["content"].take()}]);
            let message = format!("Text parts of the role {role} do not render like the text.");
            same(bench, (Law::Parts, false, &message), &request, &whole);
            known.push(role);
        }
    }
}

/// A conversation with all that is common, as transformers and as chatparse render it.
fn agrees(bench: &mut Bench) {
    let whole = bench.everything();
    bench.ask(Law::Agrees);
    let request = Request::from_json_with(&whole, &json!({"now": 0}));
    let ours = request.and_then(|request| bench.template.prompt(&request));
    let plain = bench.text(&whole);
    if let Ok(ours) = ours
        && ours != plain
    {
        let message = "chatparse renders another prompt than transformers, because it repairs what the template loses or refuses.";
        bench.differ((Law::Agrees, false, message), &whole, [&plain, &ours]);
    }
}
