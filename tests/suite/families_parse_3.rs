//! Outputs in the formats of MiniMax-M3, DeepSeek V3.2, Gemma 4, MiniCPM5 and Qwen3-Coder, as the
//! models write them and as they sometimes do, cut in all ways.

use crate::support::{check_streaming, parse};
use chatparse::{ChatTemplate, Request, Status, TemplateOptions, builtin};
use serde_json::{Map, Value, json};

const CODE: &str = "fn f<'a>() {\n\tif a < b && \"\\n\" > c { /* </x> Grüße 世界 🌧️ */ }\n}\n";

/// How a family writes.
struct Family {
    template: &'static str,
    /// What stands around reasoning, less what the prompt has begun.
    thought: [&'static str; 2],
    /// What closes reasoning that the prompt has begun, where there is none.
    no_thought: &'static str,
    /// All calls from each of them.
    calls: fn(&[String]) -> String,
    /// A call from its name and arguments, each with the value as it is written.
    call: fn(&str, &[(&str, String)]) -> String,
    text: fn(&str) -> String,
    /// The value of `options` in [`options`].
    options: &'static str,
}

fn attribute_call(tags: [&str; 4], name: &str, arguments: &[(&str, String)]) -> String {
    let [open, argument, argument_end, close] = tags;
    let one = |(key, value): &(&str, String)| {
        argument.replace('$', key) + value + &argument_end.replace('$', key)
    };
    open.replace('$', name) + &arguments.iter().map(one).collect::<String>() + close
}

const FAMILIES: &[Family] = &[
    Family {
        template: "minimax-m3",
        thought: ["<mm:think>", "</mm:think>"],
        no_thought: "",
        calls: |calls| {
            format!(
                "]<]minimax[>[<tool_call>\n{}\n]<]minimax[>[</tool_call>",
                calls.join("\n")
            )
        },
        call: |name, arguments| {
            let tags = ["<invoke name=\"$\">", "<$>", "</$>", "</invoke>"]
                .map(|tag| format!("]<]minimax[>[{tag}"));
            attribute_call([&tags[0], &tags[1], &tags[2], &tags[3]], name, arguments)
        },
        text: str::to_owned,
        options: "]<]minimax[>[<tags>]<]minimax[>[<item>a]<]minimax[>[</item>]<]minimax[>[<item>b}]<]minimax[>[</item>\
            ]<]minimax[>[</tags>]<]minimax[>[<deep>]<]minimax[>[<n>-2.5]<]minimax[>[</n>]<]minimax[>[</deep>",
    },
    Family {
        template: "deepseek-v3.2",
        thought: ["", "</think>"],
        no_thought: "</think>",
        calls: |calls| {
            format!(
                "\n\n<｜DSML｜function_calls>\n{}\n</｜DSML｜function_calls>",
                calls.join("\n")
            )
        },
        call: |name, arguments| {
            let tags = [
                "<｜DSML｜invoke name=\"$\">\n",
                "<｜DSML｜parameter name=\"$\" string=\"",
            ];
            attribute_call(
                [
                    tags[0],
                    tags[1],
                    "</｜DSML｜parameter>\n",
                    "</｜DSML｜invoke>",
                ],
                name,
                arguments,
            )
        },
        text: |text| format!("true\">{text}"),
        options: "false\">{\"tags\": [\"a\", \"b}\"], \"deep\": {\"n\": -2.5}}",
    },
    Family {
        template: "gemma-4",
        thought: ["<|channel>thought\n", "<channel|>"],
        no_thought: "",
        calls: |calls| {
            calls
                .iter()
                .map(|call| format!("<|tool_call>call:{call}<tool_call|>"))
                .collect()
        },
        call: |name, arguments| {
            let members: Vec<String> = arguments
                .iter()
                .map(|(key, value)| format!("{key}:{value}"))
                .collect();
            format!("{name}{{{}}}", members.join(","))
        },
        text: |text| format!("<|\"|>{text}<|\"|>"),
        options: "{tags:[<|\"|>a<|\"|>,<|\"|>b}<|\"|>],deep:{n:-2.5}}",
    },
    Family {
        template: "minicpm5",
        thought: ["", "</think>\n\n"],
        no_thought: "</think>\n\n",
        calls: |calls| calls.join("\n"),
        call: |name, arguments| {
            attribute_call(
                [
                    "<function name=\"$\">",
                    "<param name=\"$\">",
                    "</param>",
                    "</function>",
                ],
                name,
                arguments,
            )
        },
        text: |text| format!("<![CDATA[{text}]]>"),
        options: "{'tags': ['a', \"b}\"], 'deep': {'n': -2.5}}",
    },
    Family {
        template: "qwen3-coder",
        thought: ["", "</think>\n\n"],
        no_thought: "</think>\n\n",
        calls: |calls| {
            let calls: Vec<String> = calls
                .iter()
                .map(|call| format!("<tool_call>\n{call}\n</tool_call>"))
                .collect();
            calls.join("\n")
        },
        call: |name, arguments| {
            attribute_call(
                [
                    "<function=$>\n",
                    "<parameter=$>\n",
                    "\n</parameter>\n",
                    "</function>",
                ],
                name,
                arguments,
            )
        },
        text: str::to_owned,
        options: "{\"tags\": [\"a\", \"b}\"], \"deep\": {\"n\": -2.5}}",
    },
];

impl Family {
    fn number(&self, number: &str) -> String {
        if self.template.starts_with("deepseek") {
            format!("false\">{number}")
        } else {
            number.to_owned()
        }
    }

    fn weather(&self, city: &str) -> String {
        (self.call)(
            "get_weather",
            &[("city", (self.text)(city)), ("days", self.number("2"))],
        )
    }
}

fn options() -> Value {
    json!({"tags": ["a", "b}"], "deep": {"n": -2.5}})
}

fn tools() -> Value {
    let tool = |name: &str, properties: Value, required: &[&str]| {
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
    };
    let deep =
        json!({"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]});
    let tags = json!({"type": "array", "items": {"type": "string"}});
    let options = json!({"type": "object", "properties": {"tags": tags, "deep": deep}});
    json!([
        tool(
            "get_weather",
            json!({"city": {"type": "string"}, "days": {"type": "integer"}}),
            &["city", "days"]
        ),
        tool(
            "write",
            json!({"text": {"type": "string"}, "options": options}),
            &["text"]
        ),
        tool("now", json!({}), &[]),
        tool(
            "find",
            json!({
                "limit": {"type": ["integer", "string"]},
                "flag": {"type": "boolean"},
                "filter": {"anyOf": [tags, deep, {"type": "integer"}]},
                "any": {},
                "free": {"type": "object"}
            }),
            &[]
        ),
    ])
}

fn message(reasoning: &str, content: &str, calls: &[(&str, Value)]) -> Value {
    let calls = calls
        .iter()
        .map(|(name, arguments)| json!({"name": name, "arguments": arguments, "id": ""}));
    json!({"reasoning": reasoning, "content": content, "calls": calls.collect::<Vec<_>>()})
}

/// Checks the message, and that the way the output is cut makes no difference. What is wrong.
fn check(
    source: &str,
    more: Value,
    output: &str,
    expected: &Value,
    status: Status,
) -> Option<String> {
    let mut body = json!({
        "messages": [{"role": "user", "content": "Well?"}],
        "reasoning_format": "auto",
        "parallel_tool_calls": true,
        "tools": tools(),
    });
    let more: Map<String, Value> = serde_json::from_value(more).unwrap();
    body.as_object_mut().unwrap().extend(more);
    // What the family says counts, whether the template writes so or not.
    let mut options = TemplateOptions::default();
    options.prove = false;
    let template = ChatTemplate::with_options(source, &options).unwrap();
    let params = template
        .params(&Request::from_json(&body).unwrap())
        .unwrap();
    let (got, got_status) = parse(&params.parser, output.as_bytes(), false);
    let mut wrong = check_streaming(
        &params.parser,
        output.as_bytes(),
        status == Status::Complete,
    );
    if got != *expected || got_status != status {
        wrong.push(format!(
            "expected {} {expected}\n     got {} {got}",
            status.name(),
            got_status.name()
        ));
    }
    (!wrong.is_empty()).then(|| format!("{output:?}\n  {}", wrong.join("\n  ")))
}

fn source(template: &str) -> &'static str {
    builtin::find(template).unwrap().source
}

fn report(failures: Vec<String>) {
    assert!(
        failures.is_empty(),
        "{} failures:\n\n{}\n",
        failures.len(),
        failures.join("\n\n")
    );
}

#[test]
fn what_every_family_can_say() {
    let mut failures = Vec::new();
    for family in FAMILIES {
        let [open, close] = family.thought;
        let none = family.no_thought;
        let thought = format!("{open}if a < b then {{\"x\": 1}}{close}");
        let thinks = "if a < b then {\"x\": 1}";
        let calls = family.calls;
        let weather = |city: &str| ("get_weather", json!({"city": city, "days": 2}));
        let now = (family.call)("now", &[]);
        let write = (family.call)(
            "write",
            &[
                ("text", (family.text)(CODE)),
                ("options", family.options.to_owned()),
            ],
        );
        let text = "Grüße, 世界 🌧️: a < b, [x], {y}";
        let oslo = family.weather("Oslo");
        let one = calls(std::slice::from_ref(&oslo));
        let rows = [
            (
                "content",
                json!({}),
                format!("{none}{text}"),
                message("", text, &[]),
            ),
            (
                "no tools",
                json!({"tools": []}),
                format!("{none}{text}"),
                message("", text, &[]),
            ),
            (
                "a thought",
                json!({}),
                format!("{thought}{text}"),
                message(thinks, text, &[]),
            ),
            (
                "a call",
                json!({}),
                format!("{none}{}", one),
                message("", "", &[weather("Oslo")]),
            ),
            (
                "two calls",
                json!({}),
                format!(
                    "{thought}{}",
                    calls(&[oslo.clone(), family.weather("東京 \"x\"")])
                ),
                message(thinks, "", &[weather("Oslo"), weather("東京 \"x\"")]),
            ),
            (
                "content and a call",
                json!({}),
                format!("{thought}Let me look.{}", one),
                message(thinks, "Let me look.", &[weather("Oslo")]),
            ),
            (
                "code and nesting",
                json!({}),
                format!("{none}{}", calls(&[write])),
                message(
                    "",
                    "",
                    &[("write", json!({"text": CODE, "options": options()}))],
                ),
            ),
            (
                "no arguments",
                json!({}),
                format!("{none}{}", calls(&[now])),
                message("", "", &[("now", json!({}))]),
            ),
            (
                "thinking off",
                json!({"enable_thinking": false}),
                format!("So.{}", one),
                message("", "So.", &[weather("Oslo")]),
            ),
            (
                "a required call",
                json!({"tool_choice": "required"}),
                format!("{thought}{}", one),
                message(thinks, "", &[weather("Oslo")]),
            ),
        ];
        for (name, more, output, expected) in rows {
            let wrong = check(
                source(family.template),
                more,
                &output,
                &expected,
                Status::Complete,
            );
            failures.extend(wrong.map(|wrong| format!("{}, {name}: {wrong}", family.template)));
        }
        // A second call where there may be one, a tool that there is not, and words after the calls
        // are content.
        let single =
            json!({"parallel_tool_calls": false, "unknown_tools": "content", "dialects": "off"});
        let first = format!("{none}{}", one);
        let rest = if family.template == "gemma-4" {
            "<|tool_call>call:nothing{}"
        } else {
            "More."
        };
        // Where dialects are off, what closes a call's wrapper is text with what follows it.
        let said = if family.template == "qwen3-coder" {
            "\n</tool_call>More."
        } else {
            rest
        };
        let expected = message("", said, &[weather("Oslo")]);
        let wrong = check(
            source(family.template),
            single,
            &format!("{first}{rest}"),
            &expected,
            Status::Recovered,
        );
        failures.extend(wrong.map(|wrong| format!("{}, trailing: {wrong}", family.template)));
    }
    report(failures);
}

/// What one family alone writes or forgives: outputs after the reasoning, with the message.
fn check_all(template: &str, source: &str, rows: &[(impl AsRef<str>, Value)]) {
    let none = FAMILIES
        .iter()
        .find(|family| family.template == template)
        .unwrap()
        .no_thought;
    let none = if source.contains("<think>") { none } else { "" };
    report(
        rows.iter()
            .filter_map(|(output, expected)| {
                let more = json!({"calls_in_reasoning": "llama.cpp"});
                check(
                    source,
                    more,
                    &format!("{none}{}", output.as_ref()),
                    expected,
                    Status::Complete,
                )
            })
            .collect(),
    );
}

fn found(arguments: Value) -> Value {
    message("", "", &[("find", arguments)])
}

#[test]
fn minimax_m3_elements() {
    let call = |arguments: &str| {
        let call = format!("<tool_call><invoke name=\"find\">{arguments}</invoke></tool_call>");
        call.replace('<', "]<]minimax[>[<")
    };
    let rows = [
        (
            call("<limit>5</limit><flag>true</flag>"),
            found(json!({"limit": 5, "flag": true})),
        ),
        (
            call("<limit>5 or so</limit>"),
            found(json!({"limit": "5 or so"})),
        ),
        (
            call("<flag>false</flag> <limit>x</limit>"),
            found(json!({"flag": false, "limit": "x"})),
        ),
        (
            call("<filter><item>a</item>\n<item>b</item></filter>"),
            found(json!({"filter": ["a", "b"]})),
        ),
        (
            call("<filter><n>-1.5</n></filter>"),
            found(json!({"filter": {"n": -1.5}})),
        ),
        (call("<filter>12</filter>"), found(json!({"filter": 12}))),
        (
            call("<filter>[\"a\", \"b\"]</filter>"),
            found(json!({"filter": ["a", "b"]})),
        ),
        (
            call("<free><a>[1, 2</a></free>"),
            found(json!({"free": {"a": "[1, 2"}})),
        ),
        (call("<any>a b</any>"), found(json!({"any": "a b"}))),
        (
            call("<any>{\"a\": [1]}</any>"),
            found(json!({"any": {"a": [1]}})),
        ),
        (
            call("<any><a><item>1</item><item>x</item></a></any>"),
            found(json!({"any": {"a": [1, "x"]}})),
        ),
        (call("<free></free>"), found(json!({"free": {}}))),
        (
            format!("</mm:think>\n{}", call("<limit>5</limit>")),
            found(json!({"limit": 5})),
        ),
        (
            call("<free><a>1</a><b><c>x y</c></b></free>"),
            found(json!({"free": {"a": 1, "b": {"c": "x y"}}})),
        ),
    ];
    check_all("minimax-m3", source("minimax-m3"), &rows);
    let broken = call("<free><a><item>x</y></a></free>");
    let item = broken.split_once("<item>").expect("there is an item").1;
    let expected = message(
        "",
        "",
        &[("find", json!(format!("{{\"free\":{{\"a\":[\"{item}")))],
    );
    report(
        check(
            source("minimax-m3"),
            json!({}),
            &broken,
            &expected,
            Status::Partial,
        )
        .into_iter()
        .collect(),
    );
    let bare = ("</mm:think>Well.", message("", "Well.", &[]));
    check_all("minimax-m3", source("minimax-m3"), &[bare]);
}

#[test]
fn minimax_m3_schemas_that_refer_to_themselves() {
    let node = json!({"type": "object", "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}});
    let parameters = json!({"type": "object", "properties": {"list": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}});
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": parameters}}]);
    let mut value = json!({"value": 7});
    let mut text = "<value>7</value>".to_owned();
    for number in 0..7 {
        value = json!({"value": number, "next": value});
        text = format!("<value>{number}</value><next>{text}</next>");
    }
    let call = format!("<tool_call><invoke name=\"f\"><list>{text}</list></invoke></tool_call>");
    let expected = message("", "", &[("f", json!({"list": value}))]);
    let output = call.replace('<', "]<]minimax[>[<");
    let wrong = check(
        source("minimax-m3"),
        json!({"tools": tools}),
        &output,
        &expected,
        Status::Complete,
    );
    report(wrong.into_iter().collect());
}

#[test]
fn deepseek_attributes_and_reasoning_that_is_not_closed() {
    let call = |arguments: &str| {
        let invoke = format!("<｜DSML｜invoke name=\"find\">{arguments}</｜DSML｜invoke>");
        format!("<｜DSML｜function_calls>\n{invoke}\n</｜DSML｜function_calls>")
    };
    let argument = |name: &str, is_text: bool, value: &str| {
        format!(
            "<｜DSML｜parameter name=\"{name}\" string=\"{is_text}\">{value}</｜DSML｜parameter>"
        )
    };
    let rows = [
        (
            call(&argument("limit", true, "5")),
            found(json!({"limit": "5"})),
        ),
        (
            call(&argument("limit", false, "5")),
            found(json!({"limit": 5})),
        ),
        (
            call(&argument("any", false, "{\"a\": null}")),
            found(json!({"any": {"a": null}})),
        ),
        (
            call(&(argument("flag", false, "true") + &argument("any", true, "a\n"))),
            { found(json!({"flag": true, "any": "a\n"})) },
        ),
    ];
    check_all("deepseek-v3.2", source("deepseek-v3.2"), &rows);

    let now = "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"now\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>";
    let quoted = "The tag <｜DSML｜function_calls> begins calls.";
    let rows = [
        (
            format!("I see.\n\n{now}"),
            message("I see.", "", &[("now", json!({}))]),
        ),
        (
            format!("{quoted}</think>Yes."),
            message(quoted, "Yes.", &[]),
        ),
        (
            format!("I see.</think>Well.\n\n{now}"),
            message("I see.", "Well.", &[("now", json!({}))]),
        ),
    ];
    let at_once = || json!({"calls_in_reasoning": "llama.cpp"});
    let each = rows.iter().filter_map(|(output, expected)| {
        check(
            source("deepseek-v3.2"),
            at_once(),
            output,
            expected,
            Status::Complete,
        )
    });
    report(each.collect());
    let v4 = source("deepseek-v3.2").replace("function_calls", "tool_calls");
    let now = now.replace("function_calls", "tool_calls");
    report(
        check(
            &v4,
            json!({}),
            &format!("</think>{now}"),
            &message("", "", &[("now", json!({}))]),
            Status::Complete,
        )
        .into_iter()
        .collect(),
    );
}

#[test]
fn gemma_4_notation_and_stray_markers() {
    let rows = [
        (
            "<|tool_call>call:find{limit:5,flag:true}<tool_call|>",
            found(json!({"limit": 5, "flag": true})),
        ),
        (
            "<|tool_call>call:find{ any: [1, {}, [], null], limit:<|\"|><|\"|> }<tool_call|>",
            { found(json!({"any": [1, {}, [], null], "limit": ""})) },
        ),
        (
            "<|tool_call>call:find{any:{a b:<|\"|>x<|\"|>,ü:[<|\"|>y<|\"|>,<|\"|>{z}<|\"|>]}}<tool_call|>",
            { found(json!({"any": {"a b": "x", "ü": ["y", "{z}"]}})) },
        ),
        (
            "<|tool_call>call:find{flag:false}",
            found(json!({"flag": false})),
        ),
        // Without the word behind a special token.
        (
            "<|tool_call>:find{limit:5}<tool_call|>",
            found(json!({"limit": 5})),
        ),
        ("<|channel>Hm.<channel|>Well.", message("Hm.", "Well.", &[])),
        // Names between quotes, and texts without them.
        (
            "<|tool_call>call:find{any:{\"a\": <|\"|>x<|\"|>, 'b':1,<|\"|>c:d<|\"|>:2,e\"f:3},<|\"|>limit<|\"|>:4,'flag':true}",
            {
                found(
                    json!({"any": {"a": "x", "b": 1, "c:d": 2, "e\"f": 3}, "limit": 4, "flag": true}),
                )
            },
        ),
        (
            "<|tool_call>call:write{text:<|\"|><|\"|>,options:{\"deep\":{<|\"|>n<|\"|>:1},tags:[a, <|\"|>b<|\"|>, c d]}}<tool_call|>",
            message(
                "",
                "",
                &[(
                    "write",
                    json!({"text": "", "options": {"deep": {"n": 1}, "tags": ["a", "b", "c d"]}}),
                )],
            ),
        ),
        (
            "<|channel><|channel>thought\nHm.<channel|>Well<channel|>.<|channel>thought\n<channel|>",
            { message("Hm.", "<|channel>Well.", &[]) },
        ),
    ];
    check_all("gemma-4", source("gemma-4"), &rows);

    // What shows of a member without a name stays, whatever stands behind it; and behind the
    // format, a call is one.
    let argument = "<|tool_call>call:write{text:<|\"|>a<|\"|>,options:";
    let rows = [
        (
            format!("{argument}{{:\"\"|"),
            message(
                "",
                "",
                &[("write", json!("{\"text\":\"a\",\"options\":{\"\":\"\"|"))],
            ),
        ),
        (
            "<turn|><|tool_call>call:find{limit:1}<tool_call|><|tool_response>\
            <|tool_call>call:find{limit:<|\"|>b<|\"|>}<tool_call|>Text"
                .to_owned(),
            message(
                "",
                "<turn|><|tool_response>Text",
                &[
                    ("find", json!({"limit": 1})),
                    ("find", json!({"limit": "b"})),
                ],
            ),
        ),
    ];
    let check = |(output, expected): &(String, Value)| {
        check(
            source("gemma-4"),
            json!({}),
            output,
            expected,
            Status::Recovered,
        )
    };
    report(rows.iter().filter_map(check).collect());
}

/// Where a tag stands twice, in the place of another or not at all, what is in front of a value is
/// no part of it.
#[test]
fn tags_around_the_names_of_arguments() {
    let value = "<arg_value>5</arg_value>";
    let names = [
        "<arg_key>city</arg_key>",
        "<arg_key>city</arg_key></arg_key>",
        "<arg_key><arg_key>city</arg_key>",
        "<arg_key>\n<arg_key>city</arg_key>\n</arg_key>\n",
        "<arg_key>city",
        "<arg_key>city</arg_key></arg_value>",
    ];
    let (mut failures, days) = (
        Vec::new(),
        "<arg_key>days</arg_key></arg_key><arg_value>3</arg_value>",
    );
    for (template, thought) in [("tag-arguments", ""), ("ling-3", "</think>")] {
        let mut check = |call: &str, expected: &[(&str, Value)], status| {
            let output = format!("{thought}<tool_call>{call}</tool_call>");
            let wrong = check(
                source(template),
                json!({}),
                &output,
                &message("", "", expected),
                status,
            );
            failures.extend(wrong.map(|wrong| format!("{template}: {wrong}")));
        };
        let call = |name: &str, arguments: &str| match template {
            "ling-3" => format!("{name}{arguments}"),
            _ => format!("{name}\n{arguments}"),
        };
        for name in names {
            let known = call("get_weather", &format!("{name}{value}{days}"));
            check(
                &known,
                &[("get_weather", json!({"city": "5", "days": 3}))],
                Status::Complete,
            );
            let unlisted = call("now", &format!("{name}{value}"));
            check(&unlisted, &[("now", json!({"city": 5}))], Status::Complete);
        }
        // Without a value there is none: the next name is not it.
        let none = call("get_weather", &format!("<arg_key>city</arg_key>{days}"));
        let rest = format!("{{\"city\":</arg_key>{days}");
        check(&none, &[("get_weather", json!(rest))], Status::Recovered);
    }
    report(failures);
}

/// Escapes that JSON does not have are Python's: the backslash is one.
#[test]
fn backslashes_in_strings_of_python() {
    let printed = "{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}{% if m.tool_calls %}[\
        {%- for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}=\
        {{- '%s' | format(v) }}{% if not loop.last %}, {% endif %}{% endfor %}){% if not loop.last %}, {% endif %}\
        {%- endfor %}]{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
    let mut failures = Vec::new();
    for (source, around) in [
        (source("lfm2"), ["<|tool_call_start|>", "<|tool_call_end|>"]),
        (printed, ["", ""]),
    ] {
        for (string, text) in [
            (r#""C:\Users\x""#, r"C:\Users\x"),
            (r#""re.match('\d+', s)""#, r"re.match('\d+', s)"),
            (r"'a\.b \'c\' \\ \n'", "a\\.b 'c' \\ \n"),
            (
                r#""say \"hi\", it\'s \é\u00e9\u12 \(""#,
                "say \"hi\", it's \\é\u{e9}\\u12 \\(",
            ),
        ] {
            let output = format!("{}[write(text={string}), now()]{}", around[0], around[1]);
            let expected = message(
                "",
                "",
                &[("write", json!({"text": text})), ("now", json!({}))],
            );
            failures.extend(check(
                source,
                json!({}),
                &output,
                &expected,
                Status::Complete,
            ));
        }
    }
    report(failures);
}

/// What JSON has no notation for: tuples, sets, and numbers with zeros in front or underscores.
#[test]
fn values_of_python_only() {
    let mut failures = Vec::new();
    for (python, json) in [
        ("('a', \"b)\")", json!(["a", "b)"])),
        ("()", json!([])),
        (
            "[(1, [(2, 5)]), (3,), {4, 5}]",
            json!([[1, [[2, 5]]], [3], [4, 5]]),
        ),
        ("{'a', 'b',}", json!(["a", "b"])),
        ("{'a': (1, {2}), 'b': {}}", json!({"a": [1, [2]], "b": {}})),
        ("-007", json!(-7)),
        ("1_000", json!(1000)),
        ("0_0", json!(0)),
        ("0", json!(0)),
    ] {
        let output =
            format!("<|tool_call_start|>[find(any={python}, flag=True), now()]<|tool_call_end|>");
        let expected = message(
            "",
            "",
            &[
                ("find", json!({"any": json, "flag": true})),
                ("now", json!({})),
            ],
        );
        failures.extend(check(
            source("lfm2"),
            json!({}),
            &output,
            &expected,
            Status::Complete,
        ));
    }
    report(failures);
}

#[test]
fn minicpm5_values() {
    let rows = [
        (
            "<function name=\"find\"><param name=\"limit\">5</param></function>",
            found(json!({"limit": 5})),
        ),
        (
            "<function name=\"find\"><param name=\"limit\">5 €</param></function>",
            found(json!({"limit": "5 €"})),
        ),
        (
            "<function name=\"find\"><param name=\"flag\">True</param>\n<param name=\"limit\"></param></function>",
            { found(json!({"flag": true, "limit": ""})) },
        ),
        (
            "<function name=\"find\"><param name=\"any\">{'a': [None, 'it\\'s']}</param></function>",
            { found(json!({"any": {"a": [null, "it's"]}})) },
        ),
        (
            "<function name=\"find\"><param name=\"limit\"><![CDATA[a</param>]]>b]]></param></function>",
            { found(json!({"limit": "a</param>]]>b"})) },
        ),
        ("#include <functional><function name=\"now\">", {
            message("", "#include <functional>", &[("now", json!({}))])
        }),
    ];
    check_all("minicpm5", source("minicpm5"), &rows);
}

#[test]
fn qwen3_coder_lines() {
    let plain: String = source("qwen3-coder").replace("<think>\\n", "");
    let function = "<function=find>\n<parameter=limit>\n";
    let rows = [
        (
            format!("{function}5\n</parameter>\n</function>\n</tool_call>"),
            found(json!({"limit": 5})),
        ),
        (
            format!("{function}5 €\n</parameter>\n</function>"),
            found(json!({"limit": "5 €"})),
        ),
        (
            format!("{function}a\n\n</parameter></function></tool_call>"),
            found(json!({"limit": "a\n"})),
        ),
        (
            format!(
                "{function}\n</parameter>\n<parameter=flag>True</parameter>\n</function>\n</tool_call>"
            ),
            { found(json!({"limit": "", "flag": true})) },
        ),
        (
            format!(
                "{function}a</parameter>\nb\n</parameter> c\n</parameter>\n</function>\n</tool_call>"
            ),
            { found(json!({"limit": "a</parameter>\nb\n</parameter> c"})) },
        ),
    ];
    // Without the tag around it only where the model does not reason.
    check_all("qwen3-coder", &plain, &rows);
    let tagged = rows.map(|(call, expected)| (format!("<tool_call>\n{call}"), expected));
    check_all("qwen3-coder", source("qwen3-coder"), &tagged);

    let now = "<tool_call>\n<function=now>\n</function>\n</tool_call>";
    let expected = message("I see.", "", &[("now", json!({}))]);
    let output = format!("I see.\n{now}");
    let at_once = json!({"calls_in_reasoning": "llama.cpp"});
    report(
        check(
            source("qwen3-coder"),
            at_once,
            &output,
            &expected,
            Status::Complete,
        )
        .into_iter()
        .collect(),
    );
}
