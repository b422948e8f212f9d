//! Laws about what clients send: null, empty lists, arguments as text, content as parts. Hosts that
//! render as transformers does give them to the template as they are.

use serde_json::{Value, json};

use crate::bench::{
    ANSWERED, ASKED, Bench, FURTHER, TOLD, answer, calls, request, result, said, user, with_tools,
};
use crate::law::Law;
use chatparse_base::Result;
use chatparse_message::{ROLES, Request};

/// Compares each conversation with the same one as a client may send it.
pub fn sent(bench: &mut Bench) {
    let plain = request(vec![user(ASKED), answer(ANSWERED), user(FURTHER)]);
    absent(
        bench,
        &plain,
        "/messages/1",
        "tool_calls",
        &[Value::Null, json!([])],
    );
    absent(
        bench,
        &plain,
        "/messages/1",
        "reasoning_content",
        &[Value::Null],
    );
    absent(bench, &plain, "/messages/1", "refusal", &[Value::Null]);
    absent(bench, &plain, "/messages/0", "name", &[Value::Null]);
    absent(bench, &plain, "", "tools", &[Value::Null, json!([])]);
    if bench.takes_tools {
        let called = with_tools(vec![user(ASKED), calls("", &["Azarole"]), result(0, TOLD)]);
        null_content(bench, &called);
        for name in ["function_call", "refusal"] {
            absent(bench, &called, "/messages/1", name, &[Value::Null]);
        }
        arguments(bench, &called);
    }
    parts(bench);
    agrees(bench);
}

/// Compares with the field absent, and with each of these values.
fn absent(bench: &mut Bench, whole: &Value, place: &str, name: &str, values: &[Value]) {
    let Ok(expected) = bench.render(whole) else {
        return;
    };
    bench.ask(Law::Absent);
    for value in values {
        let mut request = whole.clone();
        if let Some(object) = request.pointer_mut(place) {
            object[name] = value.clone();
        }
        let path = format!("{place}/{name}");
        let message = format!(
            "{}: {value} does not render as if it were absent.",
            path[1..].replace('/', ".")
        );
        same(bench, (Law::Absent, true, &message), &request, &expected);
    }
}

/// Reports that a request renders otherwise, or raises an error.
fn same(bench: &mut Bench, finding: (Law, bool, &str), request: &Value, expected: &str) {
    match bench.render(request) {
        Ok(got) if got == expected => {}
        Ok(got) => bench.differ(finding, request, [expected, &got]),
        Err(error) => bench.differ(finding, request, [expected, &error.to_string()]),
    }
}

/// Content that is null beside a call: it shows no more than an empty one.
fn null_content(bench: &mut Bench, called: &Value) {
    let Ok(expected) = bench.render(called) else {
        return;
    };
    let mut request = called.clone();
    request["messages"][1]["content"] = Value::Null;
    let counts = |text: &str| ["None", "null"].map(|word| text.matches(word).count());
    let message = "messages.1.content: null beside a call does not render like an empty text.";
    let finding = (Law::Absent, true, message);
    match bench.render(&request) {
        Err(error) => bench.differ(finding, &request, [&expected, &error.to_string()]),
        Ok(got) if counts(&got) != counts(&expected) => {
            bench.differ(finding, &request, [&expected, &got])
        }
        Ok(_) => {}
    }
}

/// Arguments as an object, which transformers has, and as text, which clients send.
fn arguments(bench: &mut Bench, called: &Value) {
    let mut texts = called.clone();
    let function = &mut texts["messages"][1]["tool_calls"][0]["function"];
    function["arguments"] = function["arguments"].to_string().into();
    let (object, text) = (bench.render(called), bench.render(&texts));
    bench.ask(Law::Arguments);
    match (object, text) {
        (Ok(object), Ok(text)) if object.contains("{'sort': 'Azarole'") => {
            let message = "Arguments that are an object are written as Python's, not as JSON.";
            bench.differ((Law::Arguments, true, message), called, [&text, &object])
        }
        (Ok(object), text) if has_python(&object) => {
            let message = "Values in arguments are written as Python's, not as JSON.";
            let text = text.unwrap_or_else(|error| error.to_string());
            bench.differ((Law::Arguments, false, message), called, [&text, &object])
        }
        (Ok(object), Ok(text)) if text != object => {
            let message = "Arguments that are JSON text are written otherwise than the object.";
            bench.differ((Law::Arguments, false, message), &texts, [&object, &text])
        }
        (Ok(object), Err(error)) => {
            let message = "Arguments that are JSON text raise an error.";
            bench.differ(
                (Law::Arguments, false, message),
                &texts,
                [&object, &error.to_string()],
            )
        }
        (Err(error), Ok(text)) => {
            let message = "Arguments that are an object raise an error.";
            bench.differ(
                (Law::Arguments, false, message),
                called,
                [&text, &error.to_string()],
            )
        }
        _ => {}
    }
}

/// Whether the values between the first and the last text of the call are Python's.
fn has_python(prompt: &str) -> bool {
    let call = prompt.rfind("Azarole").map_or("", |at| &prompt[at..]);
    let end = call
        .find("old one")
        .map_or(call.len(), |at| at + "old one'}".len());
    let values = call.get(..end).unwrap_or(call);
    ["True", "None", "{'tree': 'old one'}"]
        .iter()
        .any(|value| values.contains(value))
}

/// Content as a list of one text part, for each role.
fn parts(bench: &mut Bench) {
    for role in ROLES {
        let (whole, index) = match role {
            "system" => (request(vec![said(role, TOLD), user(ASKED)]), 0),
            "user" => (request(vec![user(ASKED)]), 0),
            "assistant" => (
                request(vec![user(ASKED), answer(ANSWERED), user(FURTHER)]),
                1,
            ),
            _ if bench.takes_tools => (
                with_tools(vec![user(ASKED), calls("", &["Azarole"]), result(0, TOLD)]),
                2,
            ),
            _ => continue,
        };
        let Ok(expected) = bench.render(&whole) else {
            continue;
        };
        bench.ask(Law::Parts);
        let mut request = whole.clone();
        let content = &mut request["messages"][index]["content"];
        *content = json!([{"type": "text", "text": content.take()}]);
        let message = format!("Text parts of the role {role} do not render like the text.");
        same(bench, (Law::Parts, false, &message), &request, &expected);
    }
}

/// A conversation with all that is common, as transformers and as chatparse render it.
fn agrees(bench: &mut Bench) {
    let whole = bench.everything();
    let ours = own(bench, &whole);
    match (bench.render(&whole), ours) {
        (Ok(plain), Ok(ours)) if plain != ours => {
            let message = "chatparse renders another prompt than transformers, because it repairs what the template loses.";
            bench.differ((Law::Agrees, false, message), &whole, [&plain, &ours])
        }
        (Err(error), Ok(ours)) => {
            let message =
                "The template raises an error, and chatparse renders the request in another form.";
            bench.differ(
                (Law::Agrees, false, message),
                &whole,
                [&error.to_string(), &ours],
            )
        }
        _ => {}
    }
    bench.ask(Law::Agrees);
}

fn own(bench: &Bench, request: &Value) -> Result<String> {
    let request = Request::from_json_with(request, &json!({"now": 0}))?;
    bench.template.prompt(&request)
}
