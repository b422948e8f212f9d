//! Families with dedicated formats: Kimi K2 and K3, Ling 3, Cohere2 MoE, LFM2 and GigaChat 3. What
//! the built-in templates in their ways render is read back, and what the models write besides is
//! read as it is meant, however it is cut.

use crate::support::{check_streaming, parse};
use chatparse::{ChatTemplate, Params, Request, Status, builtin};
use serde_json::{Value, json};

const CODE: &str =
    "fn main() {\n    let s = \"<a href='x'>{}</a>\\n\";\n    println!(\"{s}\"); // 100 %\n}\n";

/// A built-in template, and the ids that it gives to a message's calls.
struct Family {
    name: &'static str,
    id: fn(usize, &str) -> String,
}

fn no_id(_: usize, _: &str) -> String {
    String::new()
}

const FAMILIES: &[Family] = &[
    Family {
        name: "kimi-k2",
        id: |index, name| format!("functions.{name}:{index}"),
    },
    Family {
        name: "kimi-k3",
        id: no_id,
    },
    Family {
        name: "ling-3",
        id: no_id,
    },
    Family {
        name: "cohere2-moe",
        id: |index, _| index.to_string(),
    },
    Family {
        name: "lfm2",
        id: no_id,
    },
    Family {
        name: "gigachat-3",
        id: no_id,
    },
];

/// What a model says.
#[derive(Clone, Copy)]
struct Said<'a> {
    what: &'static str,
    reasoning: &'static str,
    content: &'static str,
    calls: &'a [(&'static str, Value)],
}

impl Said<'_> {
    fn message(&self) -> Value {
        let calls = self
            .calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| {
                let function = json!({"name": name, "arguments": arguments.to_string()});
                json!({"type": "function", "id": index.to_string(), "function": function})
            });
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = json!(self.reasoning);
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = calls.collect();
        }
        message
    }

    fn parsed(&self, family: &Family) -> Value {
        let calls = self.calls.iter().enumerate().map(
            |(index, (name, arguments))| json!({"name": name, "arguments": arguments, "id": (family.id)(index, name)}),
        );
        let calls: Vec<Value> = calls.collect();
        json!({"reasoning": self.reasoning, "content": self.content, "calls": calls})
    }
}

fn tools() -> Value {
    let tool = |name: &str, properties: Value, required: Value| {
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
    };
    let write = json!({
        "path": {"type": "string"},
        "path_to": {"type": ["string", "null"]},
        "text": {"type": "string"},
        "options": {"type": "object"},
        "any": {},
    });
    json!([
        tool(
            "get",
            json!({"city": {"type": "string"}, "days": {"type": "integer"}}),
            json!(["city"])
        ),
        tool("get_now", json!({}), json!([])),
        tool("write", write, json!(["path", "text"])),
    ])
}

/// A request with one question, and with what `more` adds to the body.
fn request(more: &Value) -> Value {
    let mut body = json!({
        "messages": [{"role": "user", "content": "Well?"}],
        "tools": tools(),
        "reasoning_format": "auto",
        "parallel_tool_calls": true,
    });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    body
}

fn params(name: &str, body: &Value) -> Params {
    let template = ChatTemplate::builtin(name).expect("a built-in template");
    template
        .params(&Request::from_json(body).unwrap())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The output of a model that says so: what the template writes after the prompt, up to the end of
/// the turn.
fn rendered(family: &Family, prompt: &str, body: &Value, said: &Said) -> String {
    let mut body = body.clone();
    body["messages"]
        .as_array_mut()
        .unwrap()
        .push(said.message());
    body["add_generation_prompt"] = json!(false);
    let whole = params(family.name, &body).prompt;
    let output = whole
        .strip_prefix(prompt)
        .unwrap_or_else(|| panic!("{whole:?} does not start with {prompt:?}"));
    let eos = builtin::find(family.name).unwrap().eos;
    let output = output.strip_suffix(eos).or(output
        .strip_suffix('\n')
        .and_then(|output| output.strip_suffix(eos)));
    output
        .unwrap_or_else(|| panic!("{whole:?} does not end with {eos:?}"))
        .to_owned()
}

fn check(what: &str, params: &Params, output: &str, expected: &Value, status: Status) {
    let (message, ended) = parse(&params.parser, output.as_bytes(), false);
    assert_eq!(message, *expected, "{what}: {output:?}");
    assert_eq!(ended, status, "{what}: {output:?}");
    let wrong = check_streaming(
        &params.parser,
        output.as_bytes(),
        status == Status::Complete,
    );
    assert!(
        wrong.is_empty(),
        "{what}: {output:?}\n  {}",
        wrong.join("\n  ")
    );
}

#[test]
fn what_the_templates_write_comes_back() {
    let get = || ("get", json!({"city": "Oslo", "days": 2}));
    let now = || ("get_now", json!({}));
    let write = |text: &str| ("write", json!({"path": "a.txt", "text": text}));
    let deep = json!({"tags": ["a", "b}", {"c": [[]]}], "deep": {"n": [1, -2.5e3, null, true]}});
    let odd = json!({"path": "C:\\a \"b\"", "text": "\\\" \\n '\"' \\u0041", "path_to": null, "options": deep});
    let none: &[(&str, Value)] = &[];
    let (one, two) = ([get()], [write("x"), get()]);
    let said = |what, reasoning, content, calls| Said {
        what,
        reasoning,
        content,
        calls,
    };
    let (code, markup) = (
        [write(CODE)],
        [write("<p class=\"x\">1 < 2 &amp; </p></arg> Grüße 世界 🌧️")],
    );
    let (odd, now, prefixes) = ([("write", odd)], [now()], [now(), get(), now()]);
    let (text, more) = (
        [("get", json!({"city": "90210"}))],
        [("write", json!({"path": "", "text": " \n", "any": [1]}))],
    );
    let table = [
        said(
            "content",
            "",
            "Grüße, 世界 🌧️:\n\n  a < b, <th, [x], <|im",
            none,
        ),
        said(
            "reasoning and content",
            "if a < b && <b>c</b> then {\"x\": 1}\n",
            "It rains.",
            none,
        ),
        said("a call", "", "", &one),
        said("two calls", "", "", &two),
        said("content and a call", "", "Let me look.", &one),
        said("all of them", "Both.", "Both, then:", &two),
        said("code", "", "", &code),
        said("markup and scripts", "", "", &markup),
        said("quotes and nesting", "", "", &odd),
        said("no arguments", "", "", &now),
        said("a name that begins with another", "", "", &prefixes),
        said("a number as text", "", "", &text),
        said("empty and blank texts", "", "", &more),
    ];
    let bodies = [
        json!({}),
        json!({"tool_choice": "required"}),
        json!({"enable_thinking": false}),
    ];
    for (family, more) in FAMILIES
        .iter()
        .flat_map(|family| bodies.iter().map(move |more| (family, more)))
    {
        let body = request(more);
        let params = params(family.name, &body);
        for said in &table {
            let thinks = more["enable_thinking"] != false && family.name != "gigachat-3";
            let parallel = family.name != "gigachat-3";
            let writes =
                (said.reasoning.is_empty() || thinks) && (said.calls.len() < 2 || parallel);
            // Where a call is required, Cohere2 has no room for text.
            let asked =
                !said.calls.is_empty() && (family.name != "cohere2-moe" || said.content.is_empty());
            if writes && (asked || more["tool_choice"] != "required") {
                let output = rendered(family, &params.prompt, &body, said);
                let what = format!("{}, {more}: {}", family.name, said.what);
                check(
                    &what,
                    &params,
                    &output,
                    &said.parsed(family),
                    Status::Complete,
                );
            }
        }
    }
}

#[test]
fn what_models_write_besides() {
    let k2 = "<|tool_call_begin|>functions.get_now:7<|tool_call_argument_begin|>{}";
    let k3 = "<|open|>tools<|sep|><|open|>call tool=\"write\"<|sep|>";
    let argument = |attributes: &str, value: &str| {
        format!("<|open|>argument key={attributes}<|sep|>{value}<|close|>argument<|sep|>")
    };
    let k3_types = [
        argument("\"any\" type=\"string\"", "5"),
        argument("\"path_to\"", "null"),
        argument("\"path\"", "5"),
    ];
    let k3_end = "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>";
    let call = |name: &str, arguments: Value, id: &str| json!([{"name": name, "arguments": arguments, "id": id}]);
    let now = |id: &str| call("get_now", json!({}), id);
    let table: Vec<(&str, &str, String, &str, &str, Value)> = vec![
        ("kimi-k2", "a call inside the reasoning", format!("<think>Now.{k2}"), "Now.", "", now("functions.get_now:7")),
        ("kimi-k2", "no section", format!("So:{k2}<|tool_call_end|>\n"), "", "So:", now("functions.get_now:7")),
        (
            "kimi-k3",
            "types that only attributes tell",
            format!("<|close|>think<|sep|>{k3}{}{k3_end}", k3_types.concat()),
            "",
            "",
            call("write", json!({"any": "5", "path_to": null, "path": "5"}), ""),
        ),
        (
            "kimi-k3",
            "a name that begins like another",
            format!("<|close|>think<|sep|>{k3}{}{k3_end}", argument("\"path<b\"", "5")),
            "",
            "",
            call("write", json!({"path<b": 5}), ""),
        ),
        (
            "kimi-k3",
            "arguments in one",
            format!(
                "Hm.<|close|>think<|sep|><|open|>response<|sep|>{k3}<|open|>json type=\"object\"<|sep|>{{\"path\": \"a\"}}\
                <|close|>json<|sep|>{k3_end}"
            ),
            "Hm.",
            "",
            call("write", json!({"path": "a"}), ""),
        ),
        ("kimi-k3", "no closing tags", "Hm.<|open|>response<|sep|>Yes.<|end_of_msg".into(), "Hm.", "Yes.<|end_of_msg", json!([])),
        (
            "ling-3",
            "a call inside the reasoning, text behind it",
            "Now.<tool_call>get_now</tool_call>\nDone.<|role_end|>".into(),
            "Now.",
            "\nDone.",
            now(""),
        ),
        (
            "ling-3",
            "a call of no tool is text",
            "</think><tool_call>get_then\n</tool_call>".into(),
            "",
            "<tool_call>get_then\n</tool_call>",
            json!([]),
        ),
        (
            "ling-3",
            "arguments in another order, and one that may be text",
            "</think><tool_call>write<arg_key>text</arg_key><arg_value>\n</arg_value><arg_key>path_to</arg_key>\
            <arg_value>null and void</arg_value><arg_key>path</arg_key><arg_value>p</arg_value></tool_call>"
                .into(),
            "",
            "",
            call("write", json!({"text": "\n", "path_to": "null and void", "path": "p"}), ""),
        ),
        (
            "cohere2-moe",
            "no end of the reasoning, numbers as ids",
            "Hm.<|START_ACTION|>[{\"tool_call_id\": 3, \"tool_name\": \"get_now\", \"parameters\": {}}]<|END_ACTION|>\
            <|END_OF_TURN_TOKEN|>"
                .into(),
            "Hm.",
            "",
            now("3"),
        ),
        (
            "lfm2",
            "Python's literals",
            "<|tool_call_start|>[write(any={'a': [True, None, 'it\\'s \"so\"\n']}, text='x\ty', path=\"it's\")]<|tool_call_end|>"
                .into(),
            "",
            "",
            call("write", json!({"any": {"a": [true, null, "it's \"so\"\n"]}, "text": "x\ty", "path": "it's"}), ""),
        ),
        (
            "lfm2",
            "quotes in texts of lists and objects, and in an argument that is not listed",
            "<|tool_call_start|>[write(any=['it's', {'a': 'so' \n, 'b's': [\"say \"hi\"\"]}], more='it's', path='p')]\
            <|tool_call_end|>"
                .into(),
            "",
            "",
            call("write", json!({"any": ["it's", {"a": "so", "b's": ["say \"hi\""]}], "more": "it's", "path": "p"}), ""),
        ),
        (
            "lfm2",
            "a text printed as it is, quotes and backslashes in it",
            "<|tool_call_start|>[write(path='it\\'s', text='a = 1\nb = {'k': '\\n', 'l': ('x')}\n'), get_now()]\
            <|tool_call_end|>"
                .into(),
            "",
            "",
            json!([
                {"name": "write", "arguments": {"path": "it's", "text": "a = 1\nb = {'k': '\\n', 'l': ('x')}\n"}, "id": ""},
                {"name": "get_now", "arguments": {}, "id": ""},
            ]),
        ),
        (
            "gigachat-3",
            "spaced JSON",
            "Now:<|message_sep|>\n\nfunction call<|role_sep|>\n{ \"name\" : \"get_now\",\n\"arguments\" : {} }\n".into(),
            "",
            "Now:",
            now(""),
        ),
    ];
    for (name, what, output, reasoning, content, calls) in table {
        let expected = json!({"reasoning": reasoning, "content": content, "calls": calls});
        let params = params(name, &request(&json!({"calls_in_reasoning": "llama.cpp"})));
        check(
            &format!("{name}: {what}"),
            &params,
            &output,
            &expected,
            Status::Complete,
        );
    }
}

/// Text behind a call fits no format. What closes the calls is no part of it.
#[test]
fn text_behind_calls_is_content() {
    for name in ["kimi-k2", "kimi-k3", "cohere2-moe", "lfm2", "gigachat-3"] {
        let family = FAMILIES.iter().find(|family| family.name == name).unwrap();
        let body = request(&json!({}));
        let params = params(family.name, &body);
        let calls = [("get", json!({"city": "Oslo"}))];
        let said = Said {
            what: "",
            reasoning: "",
            content: "Look: ",
            calls: &calls,
        };
        let output = rendered(family, &params.prompt, &body, &said);
        let mut expected = said.parsed(family);
        expected["content"] = json!("Look: Done.");
        check(
            family.name,
            &params,
            &format!("{output}Done."),
            &expected,
            Status::Recovered,
        );
    }
}

#[test]
fn structured_responses_are_content() {
    let schema = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
    for (name, output) in [
        ("ling-3", "Hm.</think>\n{\"x\": 1}<|role_end|>"),
        (
            "cohere2-moe",
            "Hm.<|END_THINKING|><|START_TEXT|>{\"x\": 1}<|END_TEXT|>",
        ),
        ("lfm2", "<think>Hm.</think>{\"x\": 1}"),
    ] {
        let params = params(name, &request(&json!({"json_schema": schema, "tools": []})));
        let expected = json!({"reasoning": "Hm.", "content": "{\"x\": 1}", "calls": []});
        check(name, &params, output, &expected, Status::Complete);
    }
}

#[test]
fn messages_are_continued() {
    for (family, end) in FAMILIES.iter().zip([
        "</think>",
        "<|close|>think<|sep|><|open|>response<|sep|>",
        "</think>",
        "<|END_THINKING|><|START_TEXT|>",
        "</think>",
        "",
    ]) {
        let continued = |last: Value| {
            let mut body = request(&json!({"continue_final_message": true}));
            body["messages"].as_array_mut().unwrap().push(last);
            params(family.name, &body)
        };
        let said = |reasoning: &str, content: &str| json!({"reasoning": reasoning, "content": content, "calls": []});
        let params = continued(json!({"role": "assistant", "content": "Once upon"}));
        check(
            family.name,
            &params,
            " a time.",
            &said("", "Once upon a time."),
            Status::Complete,
        );
        if family.name != "gigachat-3" {
            let params = continued(
                json!({"role": "assistant", "content": "", "reasoning_content": "First"}),
            );
            check(
                family.name,
                &params,
                &format!(", this.{end}So."),
                &said("First, this.", "So."),
                Status::Complete,
            );
        }
    }
}
