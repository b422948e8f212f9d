//! Request JSON, and how a request is prepared for a template.

use std::collections::BTreeSet;

use chatparse::grammar::Recogniser;
use chatparse::internals::request::OPTIONS;
use chatparse::internals::template::{Prepared, Template, prepare};
use chatparse::message::{
    Continuation, GrammarStyle, MalformedArguments, Message, ReasoningFormat, Request, ToolChoice,
};
use chatparse::{ChatTemplate, EndedBy, Error, ErrorKind, Status};
use serde_json::{Value, json};

/// Takes strings and lists of parts, tools and calls.
const PLAIN: &str = "{% for m in messages %}{{ m.role }}:{% if m.content is string %}{{ m.content }}{% else %}\
    {% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% for c in m.tool_calls %}{{ c.function.name }}\
    {{ c.function.arguments }}{% endfor %};{% endfor %}{{ tools|tojson if tools }}";

fn prepared(source: &str, body: Value) -> Result<Prepared, Error> {
    prepare(
        &Template::new(source, "", "").unwrap(),
        &Request::from_json(&body).unwrap(),
        true,
    )
}

fn messages(source: &str, messages: Value) -> Value {
    Value::clone(
        &prepared(source, json!({"messages": messages}))
            .unwrap()
            .conversation
            .messages,
    )
}

#[test]
fn the_guide_has_each_option() {
    let guide = include_str!("../../docs/requests.md");
    let section = guide
        .split("\n## ")
        .find(|section| section.starts_with("Options of the host"))
        .unwrap();
    let rows = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once(" |"));
    let named: BTreeSet<&str> = rows
        .flat_map(|(names, _)| names.split(['`', ',', ' ']))
        .collect();
    let options: BTreeSet<&str> = OPTIONS.iter().copied().collect();
    assert_eq!(&named - &BTreeSet::from([""]), options);
}

#[test]
fn content_before_a_call_that_is_not_required_is_named() {
    let template = ChatTemplate::builtin("json-call").unwrap();
    let tool =
        json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}});
    let notes = |choice: &str, style: &str| {
        let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [&tool], "prose": true,
            "tool_choice": choice, "grammar_style": style});
        template
            .params(&Request::from_json(&body).unwrap())
            .unwrap()
            .notes
    };
    assert_eq!(notes("required", "faithful"), [""; 0]);
    for (choice, style) in [("auto", "faithful"), ("required", "llama.cpp")] {
        assert_eq!(
            notes(choice, style),
            ["prose: the grammar allows content before calls anyway"]
        );
    }
}

#[test]
fn a_block_around_a_schemas_answer_is_asked_for() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]});
    let block = "```json\n{\"a\": null}\n```";
    for (name, style, prose, allowed) in [
        ("json-call", "faithful", false, false),
        ("json-call", "faithful", true, true),
        ("json-call", "llama.cpp", false, true),
        ("qwen3-coder", "llama.cpp", false, false),
    ] {
        let body = json!({"messages": [{"role": "user", "content": "Hi"}], "json_schema": &schema, "prose": prose,
            "grammar_style": style, "enable_thinking": false});
        let params = ChatTemplate::builtin(name)
            .unwrap()
            .params(&Request::from_json(&body).unwrap())
            .unwrap();
        let recogniser = Recogniser::new(&params.grammar().text).unwrap();
        let allows =
            |answer: &str| recogniser.accepts(&format!("{}{answer}", params.generation_prompt));
        assert_eq!(
            (allows(block), allows("{\"a\": null}")),
            (allowed, true),
            "{name}, {style}, {prose}"
        );
        // The parser reads it anyway.
        let ended = params.parser.read(block.as_bytes(), EndedBy::Model);
        assert_eq!(
            (ended.status, &*ended.message.content),
            (Status::Complete, "{\"a\": null}"),
            "{name}, {style}"
        );
    }
}

#[test]
fn what_json_lacks_is_named() {
    for (word, value) in [("NaN", "NaN"), ("Infinity", "Infinity")] {
        let error =
            Request::from_text(&format!(r#"{{"messages": [], "now": {value}}}"#)).unwrap_err();
        let said =
            format!("the request: not JSON: JSON has no {word}: no value at line 1 column 25");
        assert_eq!(error.message(), said);
    }
    assert_eq!(
        Request::from_text("").unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
}

#[test]
fn the_way_that_tools_are_revealed_can_be_set() {
    use chatparse::message::RevealedTools;
    let mut request = Request::from_json(&json!({"messages": []})).unwrap();
    request.revealed_tools = RevealedTools::Listed;
    assert_eq!(request.revealed_tools, RevealedTools::Listed);
}

#[test]
fn an_empty_template_is_refused() {
    let error = chatparse::ChatTemplate::new("", "", "").unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::InvalidArgument, "the template is empty")
    );
}

#[test]
fn a_bare_request_has_defaults() {
    let request =
        Request::from_json(&json!({"messages": [], "unknown": 1, "grammar": null})).unwrap();
    assert_eq!(request.output.tool_choice, ToolChoice::Auto);
    assert_eq!(request.output.reasoning_format, ReasoningFormat::Auto);
    assert_eq!(request.continuation, Continuation::None);
    assert_eq!(request.malformed_arguments, MalformedArguments::Keep);
    assert!(
        request.output.parallel_tool_calls
            && request.output.enable_thinking
            && request.add_generation_prompt
    );
    assert!(
        !request.force_pure_content
            && request.output.json_schema.is_null()
            && request.grammar.is_empty()
    );
    assert!(
        request.tools.is_empty() && request.template_kwargs.is_empty() && request.now.is_none()
    );
}

#[test]
fn a_text_says_what_its_json_says() {
    let call = r#"{"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]}"#;
    let messages = [
        r#"{"role": "user", "content": "Hi"}"#,
        r#"{"content": "Hi", "name": "n", "tool_call_id": "1", "reasoning_content": "r", "role": "tool"}"#,
        r#"{"role": "user", "content": "a", "role": "system", "content": "b"}"#,
        r#"{"role": "user", "content": "a", "content": ["b"]}"#,
        r#"{"role": "user", "content": "a", "cache_control": {}, "name": "n"}"#,
        r#"{"role": "user", "content": [{"type": "text", "text": "a"}]}"#,
        r#"{"role": "assistant", "content": null, "refusal": "No.", "thinking": "t"}"#,
        r#"{"role": "user"}"#,
        r#"{"content": "Hi", "role": 1.50}"#,
        call,
        "{}",
        "7",
        "null",
    ];
    let lists = messages
        .iter()
        .map(|message| format!(r#""messages": [{message}, {call}]"#));
    let others = [
        r#""messages": null"#,
        r#""messages": 1"#,
        r#""parallel_tool_calls": false"#,
        r#""messages": [{"role": "user", "content": "Hi"}"#,
    ];
    for fields in lists.chain(others.map(str::to_owned)) {
        for body in [
            format!("{{{fields}}}"),
            format!("{{{fields}, \"plain\": true, \"now\": 7}}"),
            format!("[{fields}]"),
        ] {
            let json = serde_json::from_str(&body);
            let expected = json.map(|json| Request::from_json(&json));
            match expected {
                Ok(expected) => assert_eq!(Request::from_text(&body), expected, "{body}"),
                Err(error) => assert!(
                    Request::from_text(&body)
                        .unwrap_err()
                        .message()
                        .ends_with(&error.to_string())
                ),
            }
        }
    }
    // A body as a value has each name once.
    for twice in [
        r#"{"messages": [1], "messages": []}"#,
        r#"{"messages": [], "messages": null}"#,
    ] {
        let error = Request::from_text(twice).unwrap_err();
        assert_eq!(
            error.message(),
            "messages: occurs in the request more than once"
        );
    }
}

#[test]
fn every_option_is_read() {
    let request = Request::from_json(&json!({
        "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "media_marker", "text": "<m>"}]},
                     {"role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [
                         {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": 1.0}}}]},
                     {"role": "tool", "content": "x", "name": "f", "tool_call_id": "1"}],
        "tools": [{"type": "function", "function": {"name": "f"}},
                  {"type": "function", "function": {"name": "g", "description": "d", "parameters": {"z": 1, "a": 2}}}],
        "tool_choice": "required", "parallel_tool_calls": true, "reasoning_format": "deepseek-legacy", "malformed_arguments": "error",
        "enable_thinking": false, "json_schema": 12, "grammar": "root ::= \"a\"", "add_generation_prompt": false,
        "continue_final_message": "reasoning_content", "chat_template_kwargs": {"k": [1]}, "force_pure_content": true,
        "now": 7}))
    .unwrap();
    assert_eq!(request.messages[0].parts[1].kind, "media_marker");
    assert_eq!(request.messages[1].tool_calls[0].arguments, r#"{"a":1.0}"#);
    assert_eq!(request.messages[2].tool_call_id, "1");
    assert_eq!(*request.tools[0].parameters, json!({}));
    assert_eq!(
        request.tools[1].to_json()["function"]["parameters"].to_string(),
        r#"{"z":1,"a":2}"#
    );
    assert_eq!(request.output.tool_choice, ToolChoice::Required);
    assert_eq!(
        request.output.reasoning_format,
        ReasoningFormat::DeepSeekLegacy
    );
    assert_eq!(request.malformed_arguments, MalformedArguments::Error);
    assert_eq!(request.continuation, Continuation::Reasoning);
    assert_eq!(
        (request.output.json_schema.0, request.now),
        (json!(12), Some(7))
    );
    assert!(request.output.parallel_tool_calls && request.force_pure_content);
    assert!(!request.output.enable_thinking && !request.add_generation_prompt);
}

#[test]
fn names_of_tools_differ_and_ids_may_repeat() {
    let named = |name: &str| json!({"type": "function", "function": {"name": name}});
    let tools = |tools: Value| {
        Request::from_json(&json!({"messages": [], "tools": tools})).map(|read| read.tools.len())
    };
    let custom = json!({"type": "custom", "custom": {"name": "f"}});
    let twice = "there is another tool \"f\"";
    for (given, message) in [
        (
            json!([named("f"), named("g"), named("f")]),
            format!("tools[2].function.name: {twice}"),
        ),
        (
            json!([named("f"), custom]),
            format!("tools[1].custom.name: {twice}"),
        ),
        (
            json!([named(&"f".repeat(1025))]),
            "tools[0].function.name: must have at most 1024 bytes, not 1025".to_owned(),
        ),
    ] {
        assert_eq!(tools(given).unwrap_err().message(), message);
    }
    assert_eq!(
        tools(json!([named(&"f".repeat(1024)), named("F"), named("f")])).unwrap(),
        3
    );

    let turn = |id: &str, result: &str| {
        let call =
            json!({"type": "function", "id": id, "function": {"name": "f", "arguments": "{}"}});
        json!([{"role": "assistant", "tool_calls": [call, call]}, {"role": "tool", "content": "1", "tool_call_id": result}])
    };
    let long = "i".repeat((64 << 10) + 1);
    for (messages, place) in [
        (turn("a", "b"), None),
        (turn(&long[1..], &long[1..]), None),
        (
            turn(&long, ""),
            Some("messages[0].tool_calls[0].id: must have at most 65536 bytes, not 65537"),
        ),
        (
            turn("", &long),
            Some("messages[1].tool_call_id: must have at most 65536 bytes, not 65537"),
        ),
    ] {
        let body = json!({"messages": messages});
        let read = [
            Request::from_json(&body),
            Request::from_text(&body.to_string()),
        ];
        for read in read {
            assert_eq!(
                read.as_ref()
                    .err()
                    .map(|error| (error.kind(), error.message())),
                place.map(|place| (ErrorKind::Limit, place))
            );
        }
    }
}

#[test]
fn messages_survive_the_wire() {
    let json = json!({"role": "assistant", "content": "c", "reasoning_content": "r", "name": "n", "tool_call_id": "i",
                      "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}, "id": "1"}]});
    assert_eq!(
        Message::from_json(&json).unwrap().to_json().to_string(),
        json.to_string()
    );
    let absent = Message::from_json(&json!({"role": "assistant", "content": null})).unwrap();
    assert_eq!(
        absent.to_json(),
        json!({"role": "assistant", "content": ""})
    );
    let media = json!({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"},
                       {"type": "media_marker", "text": "<m>"}, {"type": "text", "text": "c"}]});
    assert_eq!(
        Message::from_json(&media).unwrap().to_json()["content"],
        "a\nb<m>c"
    );
}

#[test]
fn messages_of_texts_are_what_their_json_says() {
    let source = "{% for m in messages %}{{ m.content }}{{ m|tojson }}{% endfor %}";
    for message in [
        json!({"role": "user", "content": "Hi"}),
        json!({"role": "assistant", "content": "", "reasoning_content": "r"}),
        json!({"role": "tool", "content": "one that is longer than a few letters", "name": "n", "tool_call_id": "1"}),
    ] {
        let prepared = prepared(source, json!({"messages": [message]})).unwrap();
        assert_eq!(*prepared.conversation.messages, json!([message]));
        let rendered = Template::new(source, "", "")
            .unwrap()
            .render(&prepared.conversation)
            .unwrap();
        let shown: Value =
            serde_json::from_str(&rendered[message["content"].as_str().unwrap().len()..]).unwrap();
        assert_eq!(shown.to_string(), message.to_string());
    }
}

#[test]
fn content_takes_the_only_form_that_the_template_takes() {
    let parts = json!([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]);
    let text = json!([{"role": "user", "content": "a"}]);
    let strings = "{% for m in messages %}{{ m.content + ';' }}{% endfor %}";
    assert_eq!(messages(strings, parts.clone())[0]["content"], "a\nb");
    let typed =
        "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}";
    assert_eq!(
        messages(typed, text.clone())[0]["content"],
        json!([{"type": "text", "text": "a"}])
    );
    // What shows the first part only shows one text whole.
    let first = "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% elif m.content %}\
        {{ m.content[0].text }}{% endif %}{% endfor %}";
    assert_eq!(messages(first, parts.clone())[0]["content"], "a\nb");
    assert_eq!(messages(PLAIN, parts.clone()), parts);
    assert_eq!(messages(PLAIN, text.clone()), text);
}

#[test]
fn reasoning_goes_where_the_template_looks() {
    let said_with = |content: &str| json!([{"role": "assistant", "content": content, "reasoning_content": "r"}]);
    let message = |source: &str, content: &str| messages(source, said_with(content))[0].clone();
    for field in ["m.thinking", "m.reasoning", "m['reasoning']"] {
        let source =
            format!("{{% for m in messages %}}{{{{ {field} }}}}{{{{ m.content }}}}{{% endfor %}}");
        let name = if field.contains("thinking") {
            "thinking"
        } else {
            "reasoning"
        };
        assert_eq!(message(&source, "c")[name], "r");
    }
    let parts = "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}\
        {% if p.type == 'thinking' %}{{ p.thinking }}{% else %}{{ p.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}";
    let thought = json!({"type": "thinking", "thinking": "r"});
    assert_eq!(
        message(parts, "c")["content"],
        json!([thought, {"type": "text", "text": "c"}])
    );
    assert_eq!(message(parts, "")["content"], json!([thought]));
    // So does reasoning between other parts, which has one place elsewhere.
    let said = json!([
        {"type": "thinking", "thinking": "r"}, {"type": "text", "text": "c"},
        {"type": "thinking", "thinking": "s"}, {"type": "text", "text": "d"},
    ]);
    let mixed =
        |source: &str| messages(source, json!([{"role": "assistant", "content": said}]))[0].clone();
    assert_eq!(mixed(parts)["content"], said);
    let apart =
        mixed("{% for m in messages %}{{ m.reasoning_content }}{{ m.content }}{% endfor %}");
    assert_eq!(
        apart,
        json!({"role": "assistant", "content": "c\nd", "reasoning_content": "r\ns"})
    );
    // A template that would lose the content gets no part.
    let first = "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{{ m.content[0].text }}\
        {% endif %}{% endfor %}{# 'thinking' #}";
    assert_eq!(message(first, "c"), said_with("c")[0]);
    // One that prints what it is given has no place for it.
    let whole = "{% if thinking %}!{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}";
    assert_eq!(message(whole, "c"), said_with("c")[0]);
    // Who looks in the usual place is given nothing else.
    let usual =
        "{% for m in messages %}{{ m.reasoning_content or m.thinking }}{{ m.content }}{% endfor %}";
    assert_eq!(message(usual, "c"), said_with("c")[0]);
}

/// Rejects an assistant message without a thought, and arguments as a text.
const STRICT: &str = "{% for m in messages %}{% if m.role == 'assistant' %}\
    {% if m.FIELD is not defined %}{{ raise_exception('a thought is missing') }}{% endif %}<t>{{ m.FIELD }}</t>{% endif %}\
    {{ m.content }}{% for c in m.tool_calls %}\
    {% if c.function.arguments is string %}{{ raise_exception('not an object') }}{% endif %}\
    {{ c.function.name }}{% for k, v in c.function.arguments|items %}{{ k }}={{ v }}{% endfor %}{% endfor %};{% endfor %}\
    {% for t in tools %}{{ t.function.name }}{% endfor %}";

#[test]
fn what_a_template_demands_is_given() {
    let call = json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}});
    let body = json!({"messages": [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "r", "tool_call_id": "1"},
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "b", "reasoning_content": "why"},
    ]});
    for field in ["reasoning_content", "thinking", "reasoning"] {
        let source = STRICT.replace("FIELD", field);
        let template = Template::new(&source, "", "").unwrap();
        let caps = template.caps();
        assert_eq!(caps.demanded_reasoning.as_deref(), Some(field));
        assert!(caps.tools && caps.tool_calls && caps.parallel_tool_calls && caps.object_arguments);
        let prepared = prepared(&source, body.clone()).unwrap();
        assert_eq!(
            template.render(&prepared.conversation).unwrap(),
            "u;<t></t>fa=1;r;<t></t>a;<t>why</t>b;"
        );
        assert_eq!(
            prepared.conversation.messages[0], body["messages"][0],
            "nothing is demanded of others"
        );
    }
    // A message may be rejected for another reason, or lack nothing.
    for source in [
        "{% for m in messages %}{{ m.reasoning_content }}{{ raise_exception('no') if m.role == 'assistant' }}{% endfor %}",
        "{% for m in messages %}{{ m.reasoning_content }}{{ raise_exception('no') if m.role == 'tool' }}{% endfor %}",
        &STRICT.replace("FIELD", "thought"),
        PLAIN,
    ] {
        assert_eq!(
            Template::new(source, "", "")
                .unwrap()
                .caps()
                .demanded_reasoning,
            None,
            "{source}"
        );
    }
}

#[test]
fn roles_that_the_template_lacks_are_replaced() {
    let developer =
        json!([{"role": "developer", "content": "d"}, {"role": "user", "content": "u"}]);
    assert_eq!(messages(PLAIN, developer.clone())[0]["role"], "system");
    let channels = format!("{PLAIN}{{# <|channel|> #}}");
    assert_eq!(messages(&channels, developer)[0]["role"], "developer");

    let no_system =
        "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}";
    let system = json!({"role": "system", "content": "s"});
    let merged = messages(no_system, json!([system, {"role": "user", "content": "u"}]));
    assert_eq!(merged, json!([{"role": "user", "content": "s\nu"}]));
    assert_eq!(messages(no_system, json!([system])), json!([]));
}

/// Takes a call's arguments as an object only.
const OBJECTS: &str = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}\
    {% for k, v in c.function.arguments.items() %}{{ k }}{{ v }}{% endfor %}{% endfor %}{% endfor %}";

/// Takes them as an object, and shows anything.
const ANYTHING: &str = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}\
    {% if c.function.arguments is string %}{{ c.function.arguments }}{% else %}{{ c.function.arguments.arg }}\
    {{ c.function.arguments|tojson }}{% endif %}{% endfor %}{% endfor %}";

/// Fails where their text is not what it should be.
const PICKY: &str = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}\
    {{ c.function.arguments if c.function.arguments.endswith('}') else raise_exception('JSON!') }}{% endfor %}{% endfor %}";

fn with_arguments(arguments: &str) -> Value {
    let call = |arguments: &str| json!({"type": "function", "function": {"name": "f", "arguments": arguments}});
    json!([{"role": "user", "content": "u"},
           {"role": "assistant", "content": "", "tool_calls": [call("{}"), call(arguments)]},
           {"role": "tool", "content": "no JSON"}])
}

fn shown(source: &str, policy: &str, arguments: &str) -> Result<Value, Error> {
    let body = json!({"messages": with_arguments(arguments), "malformed_arguments": policy});
    let prepared = prepared(source, body)?;
    Template::new(source, "", "")
        .unwrap()
        .render(&prepared.conversation)?;
    Ok(prepared.conversation.messages[1]["tool_calls"][1]["function"]["arguments"].clone())
}

#[test]
fn arguments_become_objects_where_the_template_needs_them() {
    for policy in ["keep", "empty", "error"] {
        assert_eq!(shown(PLAIN, policy, "{\"a\": 1}").unwrap(), "{\"a\": 1}");
        assert_eq!(
            shown(OBJECTS, policy, "{\"a\": 1}").unwrap(),
            json!({"a": 1})
        );
        assert_eq!(
            shown(ANYTHING, policy, "{\"a\": 1}").unwrap(),
            json!({"a": 1})
        );
    }
}

#[test]
fn what_is_null_is_empty() {
    let function = json!({"name": "f", "parameters": null});
    let body = json!({"messages": [
        {"role": "user", "content": "u"},
        {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": null}}]},
        {"role": "tool", "name": "f"},
    ], "tools": [{"type": "function", "function": function}]});
    let prompt = "user:u;assistant:f{};tool:;[{\"type\": \"function\", \"function\": {\"name\": \"f\", \
        \"description\": \"\", \"parameters\": {}}}]";
    let template = ChatTemplate::new(PLAIN, "", "").unwrap();
    assert_eq!(
        template
            .prompt(&Request::from_json(&body).unwrap())
            .unwrap(),
        prompt
    );
    // The same through tools that the template knows by their text.
    for _ in 0..2 {
        assert_eq!(
            template.request(&body.to_string(), "{}").unwrap(),
            Request::from_json(&body).unwrap()
        );
    }
}

/// Goes through results, and writes each of what it finds there.
const LETTERS: &str = "{% for m in messages %}{% if m.role == 'tool' %}{% for c in m.content %}{{ loop.index0 }}: \
    {{ ITEM }};{% endfor %}{% else %}{{ m.content }}{% endif %}{% endfor %}";

#[test]
fn a_text_that_is_shown_by_its_letters_is_a_list() {
    let body = |content: &Value, compat: &str| {
        json!({"messages": [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"},
            {"role": "tool", "content": content}], "compat": compat})
    };
    let parts = json!([{"type": "text", "text": "ZQ"}]);
    for item in ["c | tojson", "'\"' ~ c.text ~ '\"'"] {
        let source = LETTERS.replace("ITEM", item);
        let template = Template::new(&source, "", "").unwrap();
        let prompt = |content: &Value, compat: &str| {
            let request = Request::from_json(&body(content, compat)).unwrap();
            template
                .render(&prepare(&template, &request, true).unwrap().conversation)
                .unwrap()
        };
        assert_eq!(prompt(&json!("ZQ"), "off"), "ua0: \"ZQ\";", "{item}");
        assert_eq!(prompt(&parts, "off"), prompt(&json!("ZQ"), "off"), "{item}");
        assert_eq!(
            prompt(&json!("ZQ"), "llama.cpp").matches(';').count(),
            2,
            "{item}"
        );
        let stored = Template::stored(&source, "", "", &template.findings()).unwrap();
        assert_eq!(stored.findings(), template.findings());
    }
}

#[test]
fn malformed_arguments_spoil_no_conversation() {
    let deep = "[".repeat(3_000);
    for broken in ["{", "{\"a\": 1} and", "nothing", "\u{0}", &*deep] {
        assert_eq!(shown(PLAIN, "keep", broken).unwrap(), broken);
        assert_eq!(shown(ANYTHING, "keep", broken).unwrap(), broken);
        assert_eq!(shown(OBJECTS, "keep", broken).unwrap(), json!({}));
        assert_eq!(shown(PICKY, "keep", broken).unwrap(), "{}");
    }
    // Where none are there, none are meant.
    for none in ["", " ", "null"] {
        assert_eq!(shown(PLAIN, "keep", none).unwrap(), "{}");
        assert_eq!(shown(ANYTHING, "keep", none).unwrap(), json!({}));
        assert_eq!(shown(OBJECTS, "keep", none).unwrap(), json!({}));
        let body = json!({"messages": with_arguments(none), "compat": "llama.cpp"});
        let theirs = prepared(PLAIN, body).unwrap();
        assert_eq!(
            theirs.conversation.messages[1]["tool_calls"][1]["function"]["arguments"],
            none
        );
    }
    assert_eq!(shown(PLAIN, "error", "null").unwrap(), "{}");
    // JSON, but no object.
    assert_eq!(shown(ANYTHING, "keep", "[1]").unwrap(), json!([1]));
    assert_eq!(shown(OBJECTS, "keep", "[1]").unwrap(), json!({}));
    for broken in ["{", "", "[1]", "null"] {
        assert_eq!(shown(PLAIN, "empty", broken).unwrap(), "{}");
        assert_eq!(shown(ANYTHING, "empty", broken).unwrap(), json!({}));
        assert_eq!(shown(OBJECTS, "empty", broken).unwrap(), json!({}));
    }
    for (broken, says) in [
        ("{", "not JSON: it ends in an object at line 1"),
        ("", "not JSON: it ends in a value at line 1"),
        ("[1]", "not a JSON object"),
    ] {
        for source in [PLAIN, ANYTHING, OBJECTS] {
            let error = shown(source, "error", broken).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            let start = format!("messages[1].tool_calls[1].function.arguments: {says}");
            assert!(error.message().starts_with(&start), "{error}");
        }
    }
}

#[test]
fn malformed_arguments_in_every_builtin_template() {
    for name in chatparse::builtin::names() {
        let template = chatparse::ChatTemplate::builtin(name).unwrap();
        let tools = json!([{"type": "function", "function": {"name": "f"}}]);
        let prompt = |arguments: &str, policy: &str| {
            let body = json!({"messages": with_arguments(arguments), "tools": tools, "malformed_arguments": policy});
            template.prompt(&Request::from_json(&body).unwrap())
        };
        for broken in ["{", "{\"a\": 1} and", "", "[1]"] {
            assert!(
                prompt("{}", "keep").is_err() || prompt(broken, "keep").is_ok(),
                "{name}: {broken}"
            );
        }
        assert_eq!(prompt("{", "empty"), prompt("{}", "keep"), "{name}");
        assert_eq!(
            prompt("{", "error").unwrap_err().kind(),
            ErrorKind::InvalidArgument,
            "{name}"
        );
    }
}

/// An option that is said counts all the same.
#[test]
fn compat_says_what_others_mean() {
    let read = |more: Value| {
        let mut body = json!({"messages": [], "compat": "llama.cpp"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let request = Request::from_json(&body).unwrap();
        (
            request.output.reasoning_format,
            request.output.parallel_tool_calls,
            request.output.grammar_style,
        )
    };
    assert_eq!(
        read(json!({})),
        (ReasoningFormat::None, false, GrammarStyle::LlamaCpp)
    );
    let said = json!({"reasoning_format": "auto", "parallel_tool_calls": true, "grammar_style": "faithful"});
    assert_eq!(
        read(said),
        (ReasoningFormat::Auto, true, GrammarStyle::Faithful)
    );
    assert!(Request::from_json(&json!({"messages": [], "compat": "vllm"})).is_err());
}

#[test]
fn continuation_takes_the_last_message_out() {
    let body = |mode: Value, last: Value| json!({"messages": [{"role": "user", "content": "u"}, last], "continue_final_message": mode});
    let said = json!({"role": "assistant", "content": "c", "reasoning_content": "r"});
    let thought = json!({"role": "assistant", "content": "", "reasoning_content": "r"});
    for (mode, last, expected) in [
        (json!(true), &said, Continuation::Content),
        (json!(true), &thought, Continuation::Reasoning),
        (json!("content"), &thought, Continuation::Content),
        (json!("reasoning_content"), &said, Continuation::Reasoning),
    ] {
        let prepared = prepared(PLAIN, body(mode, last.clone())).unwrap();
        assert_eq!(prepared.continuation, expected);
        assert_eq!(prepared.continued.unwrap().reasoning_content, "r");
        assert_eq!(prepared.conversation.messages.as_array().unwrap().len(), 1);
        assert!(!prepared.conversation.add_generation_prompt);
    }
    let all = prepared(PLAIN, body(json!(false), said)).unwrap();
    assert!(all.continued.is_none() && all.conversation.add_generation_prompt);
    let empty = prepared(
        PLAIN,
        body(json!(true), json!({"role": "assistant", "content": ""})),
    )
    .unwrap();
    assert!(empty.continued.is_none());
    assert_eq!(empty.conversation.messages.as_array().unwrap().len(), 1);
}

#[test]
fn a_grammar_does_not_go_with_tools() {
    let body = |choice: &str| {
        let tools = json!([{"type": "function", "function": {"name": "f"}}]);
        json!({"messages": [], "grammar": "root ::= \"a\"", "tools": tools, "tool_choice": choice})
    };
    assert_eq!(
        prepared(PLAIN, body("auto")).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    assert!(prepared(PLAIN, body("none")).is_ok());
}

#[test]
fn stepfun_gets_no_white_space_at_ends() {
    let source =
        format!("{PLAIN}{{# You have access to the following functions in JSONSchema format #}}");
    assert_eq!(
        messages(&source, json!([{"role": "user", "content": " \n a \t"}]))[0]["content"],
        "a"
    );
}

#[test]
fn trial_renders_find_what_a_template_accepts() {
    let caps = |source: &str| Template::new(source, "", "").unwrap().caps().clone();
    let plain = caps(PLAIN);
    assert!(
        plain.string_content
            && plain.typed_content
            && plain.tools
            && plain.tool_calls
            && plain.parallel_tool_calls
    );
    assert!(
        plain.system_role
            && !plain.preserve_reasoning
            && !plain.reasoning_effort
            && !plain.object_arguments
    );
    let bare = caps("{% for m in messages %}{{ m.content }}{% endfor %}");
    assert!(bare.string_content && !bare.typed_content && !bare.tools && !bare.tool_calls);
    let first_call = caps("{% for m in messages %}{{ m.tool_calls[0].function.name }}{% endfor %}");
    assert!(first_call.tool_calls && !first_call.parallel_tool_calls);
    let thoughts =
        caps("{{ reasoning_effort }}{% for m in messages %}{{ m.reasoning_content }}{% endfor %}");
    assert!(thoughts.preserve_reasoning && thoughts.reasoning_effort && !thoughts.system_role);
    assert!(
        thoughts.reasoning_effort_levels == ["minimal", "low", "medium", "high", "xhigh", "max"]
    );
    let levels = "{{ 'much' if reasoning_effort in ['high', 'max'] else 'little' if reasoning_effort == 'low' }}";
    assert!(
        caps(levels).reasoning_effort_levels == ["low", "max"]
            && plain.reasoning_effort_levels.is_empty()
    );
    // Asked again with an empty reasoning.
    let strict = format!(
        "{{% for m in messages %}}{{% if m.role == 'assistant' and m.reasoning_content is not defined %}}\
         {{{{ raise_exception('no') }}}}{{% endif %}}{{% endfor %}}{PLAIN}"
    );
    assert!(caps(&strict).parallel_tool_calls);
    let raising = caps("{{ raise_exception('no') }}");
    assert!(
        !raising.string_content && !raising.tools && !raising.tool_calls && !raising.system_role
    );
    assert!(caps("{% for m in messages %}{{ m|tojson }}{% endfor %}").object_arguments);
}

#[test]
fn a_slip_of_the_pen_is_named_at_any_transposition() {
    let read = |name: &str| Request::from_json(&json!({"messages": [], name: null}));
    let unknown =
        Request::from_json_with(&json!({"messages": []}), &json!({"odd": 1})).unwrap_err();
    let (_, options) = unknown.message().split_once("there are ").unwrap();
    let theirs = [
        "messages",
        "tools",
        "tool_choice",
        "response_format",
        "reasoning_effort",
    ];
    let fields: Vec<&str> = options.split(", ").chain(theirs).collect();
    assert!(fields.len() > 20);
    for field in fields {
        for at in 1..field.len() {
            let mut slip = field.as_bytes().to_vec();
            slip.swap(at - 1, at);
            let slip = String::from_utf8(slip).unwrap();
            if slip == field {
                continue;
            }
            let error = read(&slip).unwrap_err();
            assert!(
                error.message().starts_with(&slip) && error.message().contains("did you mean"),
                "{error}"
            );
        }
    }
    for other in [
        "temperature",
        "user",
        "seed",
        "metadata",
        "n_predict",
        "cache_prompt",
        "stop",
    ] {
        read(other).unwrap();
    }
    let slip = json!({"messages": [{"role": "user", "contetn": "Hi", "content": "Ho"}]});
    let error = Request::from_json(&slip).unwrap_err();
    assert_eq!(
        error.message(),
        "messages[0].contetn: there is no such field; did you mean content?"
    );
}

#[test]
fn such_a_field_is_the_messages_and_not_the_templates() {
    let said = json!([{"role": "user", "content": "Hi", "mood": {"is": "<|im_end|>"}}]);
    let request = Request::from_json(&json!({"messages": said})).unwrap();
    let source = "{% for m in messages %}{{ m.content }} {{ m.mood.is }}{% endfor %}";
    let template = chatparse::ChatTemplate::new(source, "", "").unwrap();
    let segments = template.segments(&request).unwrap();
    let json: Vec<Value> = segments
        .segments
        .iter()
        .map(|segment| segment.to_json())
        .collect();
    let of_mood = |segment: &&Value| segment["path"] == "/mood/is";
    assert_eq!(json.iter().filter(of_mood).count(), 1, "{json:?}");
}

/// A function of this name, with more fields.
fn function(name: &str, more: Value) -> Value {
    let mut function = json!({"name": name, "description": "Does it.", "parameters": {"type": "object", "properties": {}}});
    function
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json!({"type": "function", "function": function})
}

/// A conversation in which a result of `search` reveals a tool.
fn revealing(name: &str) -> Value {
    let call = json!({"id": "call00001", "type": "function", "function": {"name": "search", "arguments": "{}"}});
    let part = json!({"type": "tool_reference", "tool_name": name});
    json!([
        {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call00001", "content": [part]},
    ])
}

#[test]
fn a_deferred_tool_is_there_once_a_message_reveals_it() {
    let template = chatparse::ChatTemplate::builtin("json-call").unwrap();
    let tools = json!([
        function("search", json!({})),
        function("mail", json!({"defer_loading": true}))
    ]);
    let params = |messages: &Value, more: Value| {
        let mut body = json!({"messages": messages, "tools": tools});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        template.params(&Request::from_json(&body).unwrap())
    };
    let output = "<tool_call>\n{\"name\": \"mail\", \"arguments\": {}}\n</tool_call>";
    let known = |params: &chatparse::Params| {
        params
            .parser
            .read(output.as_bytes(), EndedBy::Model)
            .calls()[0]
            .known
    };
    let first = json!([{"role": "user", "content": "Hi"}]);
    let before = params(&first, json!({})).unwrap();
    assert!(
        !before.prompt.contains("mail")
            && !known(&before)
            && !before.grammar().text.contains("mail")
    );

    let after = params(&revealing("mail"), json!({})).unwrap();
    let list = before.prompt.find("Hi").unwrap();
    assert_eq!(
        after.prompt[..list],
        before.prompt[..list],
        "what was sent stays"
    );
    assert!(
        after.prompt[list..].contains("\"name\":\"mail\""),
        "{}",
        after.prompt
    );
    assert!(known(&after) && after.grammar().text.contains("mail"));

    let listed = params(&revealing("mail"), json!({"revealed_tools": "listed"})).unwrap();
    assert!(listed.prompt[..listed.prompt.find("Hi").unwrap()].contains("mail") && known(&listed));

    let error = params(&revealing("post"), json!({})).unwrap_err();
    assert_eq!(
        error.message(),
        "messages[2].content[0]: there is no tool \"post\""
    );
    let choice = json!({"tool_choice": {"type": "function", "function": {"name": "mail"}}});
    let error = params(&first, choice.clone()).unwrap_err();
    assert_eq!(
        error.message(),
        "tool_choice: the tool \"mail\" is deferred, and no message reveals it"
    );
    params(&revealing("mail"), choice).unwrap();
}

#[test]
fn revealing_a_tool_keeps_what_was_sent_unless_it_is_listed() {
    let template = chatparse::ChatTemplate::builtin("json-call").unwrap();
    let tools = json!([
        function("search", json!({})),
        function("mail", json!({"defer_loading": true}))
    ]);
    for (way, stays) in [("inline", true), ("listed", false)] {
        let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": tools, "revealed_tools": way});
        let session = template
            .session(Request::from_json(&body).unwrap())
            .unwrap();
        let output = "<tool_call>\n{\"name\": \"search\", \"arguments\": {}}\n</tool_call>";
        let result = revealing("mail")[2].clone();
        let next = session.next(output.as_bytes(), &json!([result])).unwrap();
        assert_eq!(next.rewrite.is_none(), stays, "{way}: {:?}", next.rewrite);
        let known = next.session.params.grammar().text.contains("mail");
        assert!(known, "{way}");
    }
}

/// The pattern of a custom tool with this Lark grammar.
fn pattern(grammar: &str) -> Result<String, Error> {
    let format = json!({"type": "grammar", "grammar": {"syntax": "lark", "definition": grammar}});
    let body = json!({"messages": [], "tools": [{"type": "custom", "custom": {"name": "f", "format": format}}]});
    let request = Request::from_json(&body)?;
    Ok(
        request.tools[0].parameters["properties"]["input"]["pattern"]
            .as_str()
            .unwrap()
            .to_owned(),
    )
}

#[test]
fn a_lark_grammar_of_a_custom_tool_is_that_of_its_text() {
    let sums = "start: sum\nsum: product (SP ADD SP product)* -> add\n  | product\nproduct: INT (SP MUL SP INT)~0..2\n\
        SP: \" \"\nADD: \"+\" // plus\nMUL: \"*\"\n%import common.INT\n";
    let list = "start: list\nlist: item \",\" list | item\nitem: \"a\"..\"c\" | \"it\"i [\"!\"]\n";
    let left = "start: start \"+\" N | N\nN: /[0-9]{1,3}/\n";
    let blanks = "start: \"select\" NAME \";\"\nNAME: /[a-z]+/\n%ignore \" \"\n";
    for (grammar, fit, others) in [
        (
            sums,
            &["1 + 2", "1 * 2 + 30", "7"][..],
            &["1+2", "1 * 2 * 3 * 4", ""][..],
        ),
        (list, &["a,b,IT!", "it", "c"], &["d", "a,", "iT?"]),
        (left, &["1+22+333", "4"], &["4444", "+1"]),
        (
            blanks,
            &["select  a ;", "selecta;", " select a;"],
            &["select A;", "select a"],
        ),
        ("start: /a.c/ \"(\" \"\\n\"", &["abc(\n"], &["a\nc(\n"]),
    ] {
        let schema = json!({"type": "string", "pattern": pattern(grammar).unwrap()});
        let grammar_of = chatparse::grammar::from_json_schema(&schema).unwrap();
        assert!(
            grammar_of.report.is_empty(),
            "{grammar}: {:?}",
            grammar_of.report
        );
        let recogniser = Recogniser::new(&grammar_of.text).unwrap();
        let accepts = |text: &str| recogniser.accepts(&json!(text).to_string());
        for text in fit {
            assert!(accepts(text), "{grammar}: {text:?}, {schema}");
        }
        for text in others {
            assert!(!accepts(text), "{grammar}: {text:?}, {schema}");
        }
    }
}

#[test]
fn tools_of_the_wire_are_translated_kept_or_refused() {
    let read = |tool: Value, more: Value| {
        let mut body = json!({"messages": [], "tools": [tool]});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        Request::from_json(&body)
    };
    for (kind, name) in [
        ("apply_patch", "apply_patch"),
        ("shell", "shell"),
        ("local_shell", "local_shell"),
        ("bash_20250124", "bash"),
        ("text_editor_20250728", "str_replace_based_edit_tool"),
        ("memory_20250818", "memory"),
    ] {
        let request = read(json!({"type": kind}), json!({})).unwrap();
        assert_eq!(
            (
                &*request.tools[0].name,
                &request.tools[0].parameters["type"]
            ),
            (name, &json!("object"))
        );
    }
    let search = json!({"type": "tool_search", "execution": "client", "parameters": {"type": "object", "properties": {"goal": {}}}});
    let request = read(search, json!({})).unwrap();
    assert_eq!(
        (
            &*request.tools[0].name,
            &request.tools[0].parameters["properties"]
        ),
        ("tool_search", &json!({"goal": {}}))
    );
    for kind in [
        "web_search",
        "web_search_20250305",
        "mcp",
        "code_interpreter",
        "tool_search",
        "tool_search_tool_regex_20251119",
    ] {
        let error = read(json!({"type": kind}), json!({})).unwrap_err();
        assert!(
            error
                .message()
                .starts_with(&format!("tools[0].type: \"{kind}\" is run by a server")),
            "{error}"
        );
        let kept = read(
            json!({"type": kind, "name": "x"}),
            json!({"hosted_tools": "keep"}),
        )
        .unwrap();
        assert_eq!(
            (kept.tools.len(), kept.hosted_tools),
            (0, vec![json!({"type": kind, "name": "x"})])
        );
    }
}

/// The library's dependencies are the host's as well: a feature that changes how serde reads
/// numbers breaks a host's own types.
#[test]
fn the_types_of_a_host_are_read_as_ever() {
    #[derive(serde::Deserialize)]
    struct Rest {
        temperature: f32,
    }
    #[derive(serde::Deserialize)]
    struct Flat {
        #[serde(flatten)]
        rest: Rest,
    }
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Float(f64),
    }
    #[derive(serde::Deserialize)]
    #[serde(tag = "type")]
    enum Tagged {
        A { x: f64 },
    }
    assert_eq!(
        serde_json::from_str::<Flat>("{\"temperature\": 0.7}")
            .unwrap()
            .rest
            .temperature,
        0.7
    );
    let Untagged::Float(number) = serde_json::from_str("1.5").unwrap();
    let Tagged::A { x } = serde_json::from_str("{\"type\": \"A\", \"x\": 1.5}").unwrap();
    assert_eq!((number, x), (1.5, 1.5));
    assert_eq!(json!(1.0), serde_json::from_str::<Value>("1.00").unwrap());
}

#[test]
fn a_field_stands_once() {
    for (body, name) in [
        (r#"{"messages": [], "messages": []}"#, "messages"),
        (
            r#"{"messages": [], "temperature": 1, "temperature": 1}"#,
            "temperature",
        ),
        (r#"{"tools": [], "messages": [], "tools": []}"#, "tools"),
    ] {
        let error = Request::from_text(body).unwrap_err();
        assert_eq!(
            error.message(),
            format!("{name}: occurs in the request more than once")
        );
    }
    assert!(
        Request::from_text(r#"{"messages": [{"role": "user", "content": "a"}], "tools": []}"#)
            .is_ok()
    );
}
