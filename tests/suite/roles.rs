//! `roles: "fit"`: messages are changed where a template raises on them or leaves out what they
//! say, and only there.

use chatparse::{ChatTemplate, ErrorKind, Request};
use serde_json::{Value, json};

/// Roles alternate behind one system message, calls have ids of nine characters, and no turn of the
/// assistant is empty.
const STRICT: &str = "{% set ns = namespace(turns=0) %}{% for m in messages %}\
    {% if m.role == 'system' %}{% if not loop.first %}{{ raise_exception('late') }}{% endif %}\
    {% elif m.role == 'critic' %}{{ raise_exception('critic') }}{% elif m.role != 'tool' and not m.tool_calls %}\
    {% if (m.role == 'user') != (ns.turns % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}\
    {% if m.role == 'assistant' and m.content == '' %}{{ raise_exception('empty') }}{% endif %}\
    {% set ns.turns = ns.turns + 1 %}{% endif %}\
    <{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}{% if c.id|length != 9 %}{{ raise_exception('id') }}{% endif %}\
    [{{ c.id }} {{ c.function.name }}]{% endfor %}{% if m.tool_call_id %}[{{ m.tool_call_id }}]{% endif %}\
    {% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

fn request(messages: Value, more: Value) -> Request {
    let mut body = json!({"messages": messages, "roles": "fit", "now": 0});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    Request::from_json(&body).unwrap()
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

fn called(ids: &[&str]) -> Value {
    let call = |id: &&str| json!({"type": "function", "id": id, "function": {"name": "f", "arguments": "{}"}});
    json!({"role": "assistant", "content": "", "tool_calls": ids.iter().map(call).collect::<Value>()})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "content": "42", "tool_call_id": id})
}

fn fitted(messages: Value) -> (String, Vec<String>) {
    let template = ChatTemplate::new(STRICT, "", "").unwrap();
    let params = template.params(&request(messages, json!({}))).unwrap();
    (params.prompt, params.notes)
}

#[test]
fn what_is_rendered_as_sent_stays() {
    let (prompt, notes) = fitted(json!([
        said("system", "S"),
        said("user", "A"),
        called(&["call00001"]),
        result("call00001")
    ]));
    assert_eq!(
        prompt,
        "<system>S<user>A<assistant>[call00001 f]<tool>42[call00001]<assistant>"
    );
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn each_change_is_noted_and_no_other_is_made() {
    let rows: [(Value, &str, &[&str]); 8] = [
        (
            json!([said("user", "A"), said("user", "B")]),
            "<user>A\n\nB<assistant>",
            &["messages[1] (user): joined to messages[0] (user)"],
        ),
        (
            json!([
                said("user", "A"),
                said("assistant", "B"),
                said("system", "C"),
                said("developer", "D"),
                said("user", "E")
            ]),
            "<user>A<assistant>B<user>C\n\nD\n\nE<assistant>",
            &[
                "messages[2] (system): is the user's in the prompt",
                "messages[3] (developer): is the user's in the prompt",
                "messages[3] (user): joined to messages[2] (user)",
                "messages[4] (user): joined to messages[2] (user)",
            ],
        ),
        (
            json!([
                said("system", "S"),
                said("assistant", "A"),
                said("user", "B")
            ]),
            "<system>S<user><assistant>A<user>B<assistant>",
            &["in front of messages[1] (assistant): an empty turn of the user was put"],
        ),
        (
            json!([
                said("user", "A"),
                called(&["call00001"]),
                result("call00001"),
                said("user", "B")
            ]),
            "<user>A<assistant>[call00001 f]<tool>42[call00001]<assistant> <user>B<assistant>",
            &["in front of messages[3] (user): a blank turn of the assistant was put"],
        ),
        (
            json!([
                said("user", "A"),
                called(&["toolu_01", "toolu_01", "x"]),
                result("x"),
                result("toolu_01")
            ]),
            "<user>A<assistant>[call00000 f][call00000 f][call00001 f]<tool>42[call00001]<tool>42[call00000]<assistant>",
            &[
                "messages[1].tool_calls[0].id: \"toolu_01\" is \"call00000\" in the prompt",
                "messages[1].tool_calls[2].id: \"x\" is \"call00001\" in the prompt",
            ],
        ),
        (
            json!([
                said("user", "A"),
                called(&["", ""]),
                json!({"role": "tool", "content": "1"}),
                said("tool", "2")
            ]),
            "<user>A<assistant>[call00000 f][call00001 f]<tool>1[call00000]<tool>2[call00001]<assistant>",
            &[
                "messages[1].tool_calls[0].id: \"\" is \"call00000\" in the prompt",
                "messages[1].tool_calls[1].id: \"\" is \"call00001\" in the prompt",
            ],
        ),
        (
            json!([
                said("user", "A"),
                called(&["call00001"]),
                result("call00001"),
                called(&["a"]),
                result("a")
            ]),
            "<user>A<assistant>[call00001 f]<tool>42[call00001]<assistant>[call00000 f]<tool>42[call00000]<assistant>",
            &["messages[3].tool_calls[0].id: \"a\" is \"call00000\" in the prompt"],
        ),
        (
            json!([said("user", "A"), {"role": "user", "content": [{"type": "text", "text": "B"},
                {"type": "image_url", "image_url": {"url": "U"}}]}]),
            "<user>A\n\nB<__media__><assistant>",
            &["messages[1] (user): joined to messages[0] (user)"],
        ),
    ];
    for (messages, prompt, notes) in rows {
        assert_eq!(
            fitted(messages),
            (
                prompt.to_owned(),
                notes.iter().map(|note| (*note).to_owned()).collect()
            )
        );
    }
}

#[test]
fn media_stand_where_they_were_sent() {
    let image = json!({"type": "image_url", "image_url": {"url": "U"}});
    let sent = request(
        json!([said("user", "A"), {"role": "user", "content": [image]}]),
        json!({}),
    );
    let params = ChatTemplate::new(STRICT, "", "")
        .unwrap()
        .params(&sent)
        .unwrap();
    let places: Vec<(usize, usize)> = params
        .media
        .iter()
        .map(|media| (media.message, media.part))
        .collect();
    assert_eq!(places, [(1, 0)]);
    assert_eq!(
        params.to_json()["notes"],
        json!(["messages[1] (user): joined to messages[0] (user)"])
    );
}

#[test]
fn where_nothing_helps_the_error_is_the_templates() {
    let template = ChatTemplate::new(STRICT, "", "").unwrap();
    let odd = json!([said("user", "A"), said("user", "B"), said("critic", "C")]);
    for roles in ["as_sent", "fit"] {
        let error = template
            .params(&request(odd.clone(), json!({"roles": roles})))
            .unwrap_err();
        assert!(
            error.kind() == ErrorKind::Template && error.message().contains("roles must alternate"),
            "{error}"
        );
    }
    // A text that the template does not show helps nobody where it stands.
    let hides = "{% for m in messages %}{% set text = m.content %}{% if m.role == 'system' and loop.index > 1 %}\
        {{ raise_exception('late') }}{% endif %}{% if m.role != 'system' %}{{ text }}{% endif %}{% endfor %}";
    let late = json!([said("user", "A"), said("system", "Rule")]);
    let params = ChatTemplate::new(hides, "", "")
        .unwrap()
        .params(&request(late, json!({})))
        .unwrap();
    assert_eq!(
        (&*params.prompt, &*params.notes),
        (
            "ARule",
            &["messages[1] (system): is the user's in the prompt".to_owned()][..]
        )
    );
    let plain = json!({"messages": [], "roles": "fit", "plain": true});
    assert!(
        Request::from_json(&plain)
            .unwrap_err()
            .message()
            .starts_with("roles: ")
    );
}

#[test]
fn renders_are_few() {
    // It raises, whatever is sent, and each render costs a tenth of what one may.
    let costly = "{% for i in range(900000) %}{% endfor %}{{ raise_exception('no') }}";
    let template = ChatTemplate::new(costly, "", "").unwrap();
    let all = json!([
        said("assistant", "A"),
        said("assistant", "B"),
        result(""),
        said("user", "C"),
        said("system", "D"),
        said("user", "E")
    ]);
    assert!(
        template
            .prompt(&request(all, json!({})))
            .unwrap_err()
            .message()
            .contains("no")
    );
}

#[test]
fn a_session_keeps_what_was_sent() {
    let template = ChatTemplate::new(STRICT, "", "").unwrap();
    let sent = json!([said("user", "A"), called(&["toolu_01"]), result("toolu_01")]);
    let session = template.session(request(sent, json!({}))).unwrap();
    let next = session
        .next(b"Yes.", &json!([said("user", "B"), said("user", "C")]))
        .unwrap();
    assert_eq!(next.append(), "<user>B\n\nC<assistant>");
    assert!(next.rewrite.is_none());
    let notes = [
        "messages[1].tool_calls[0].id: \"toolu_01\" is \"call00000\" in the prompt",
        "messages[5] (user): joined to messages[4] (user)",
    ];
    assert_eq!(next.session.params.notes, notes);
    // A continued message stays as it is.
    let begun = json!([
        said("user", "A"),
        said("assistant", "B"),
        said("assistant", "C")
    ]);
    let begun = request(begun, json!({"continue_final_message": true}));
    let params = template.params(&begun).unwrap();
    assert_eq!(
        (&*params.prompt, params.notes.len()),
        ("<user>A<assistant>B<assistant>C", 0)
    );
}

/// Shows the first instruction, the first call of a turn, no text beside calls, and each result
/// under the name of the last call.
const FORGETFUL: &str = "{% set ns = namespace(name='') %}{% for m in messages %}{% if m.role == 'system' %}\
    {% if loop.first %}<system>{{ m.content }}{% endif %}{% elif m.tool_calls %}{% set ns.name = m.tool_calls[0].function.name %}\
    <call>{{ ns.name }} {{ m.tool_calls[0].function.arguments }}{% elif m.role == 'tool' %}<{{ ns.name }}>{{ m.content|tojson }}\
    {% else %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

/// Calls of `a` and `b`, with a text.
fn two_calls(text: &str) -> Value {
    let call = |name: &str| {
        let arguments = json!({"word": format!("asks {name}")}).to_string();
        json!({"type": "function", "id": format!("id_{name}"), "function": {"name": name, "arguments": arguments}})
    };
    json!({"role": "assistant", "content": text, "tool_calls": [call("a"), call("b")]})
}

fn result_of(name: &str) -> Value {
    json!({"role": "tool", "tool_call_id": format!("id_{name}"), "content": format!("\"found\" {name}")})
}

#[test]
fn what_a_template_leaves_out_has_another_place() {
    let template = ChatTemplate::new(FORGETFUL, "", "").unwrap();
    let rows: [(Value, &str, &[&str]); 6] = [
        (
            // A text that others have as well proves nothing.
            json!([
                said("user", "asks a, asks b"),
                two_calls(""),
                result_of("a"),
                result_of("b"),
                said("user", "asks b")
            ]),
            "<user>asks a, asks b<call>a {\"word\":\"asks a\"}<a>\"\\\"found\\\" a\"<call>b {\"word\":\"asks b\"}<b>\"\\\"found\\\" b\"<user>asks b<assistant>",
            &["messages[1] (assistant): call 1 is a turn of its own in the prompt"],
        ),
        (
            json!([
                said("system", "Be brief"),
                said("developer", "Be kind"),
                said("user", "Hello")
            ]),
            "<system>Be brief\n\nBe kind<user>Hello<assistant>",
            &["messages[1] (developer): joined to messages[0] (system)"],
        ),
        (
            json!([
                said("user", "Hello"),
                said("system", "Be brief"),
                said("user", "Bye")
            ]),
            "<user>Hello<user>Be brief<user>Bye<assistant>",
            &["messages[1] (system): is the user's in the prompt"],
        ),
        (
            json!([
                said("user", "Hello"),
                two_calls(""),
                result_of("b"),
                result_of("a")
            ]),
            "<user>Hello<call>a {\"word\":\"asks a\"}<a>\"\\\"found\\\" a\"<call>b {\"word\":\"asks b\"}<b>\"\\\"found\\\" b\"<assistant>",
            &[
                "messages[3] (tool): in the order of the calls in the prompt",
                "messages[2] (tool): in the order of the calls in the prompt",
                "messages[1] (assistant): call 1 is a turn of its own in the prompt",
            ],
        ),
        (
            json!([
                said("user", "Hello"),
                two_calls("I look"),
                result_of("a"),
                result_of("b")
            ]),
            "<user>Hello<assistant>I look<call>a {\"word\":\"asks a\"}<a>\"\\\"found\\\" a\"<call>b {\"word\":\"asks b\"}<b>\"\\\"found\\\" b\"<assistant>",
            &[
                "messages[1] (assistant): call 1 is a turn of its own in the prompt",
                "messages[1] (assistant): its text is a message of its own in the prompt",
            ],
        ),
        (
            json!([said("user", "Hello"), {"role": "assistant", "content": "Yes", "reasoning_content": "So it is"}, said("user", "Bye")]),
            "<user>Hello<assistant>Yes<user>Bye<assistant>",
            &["messages[1].reasoning_content: not in the prompt"],
        ),
    ];
    for (messages, prompt, notes) in rows {
        let params = template.params(&request(messages, json!({}))).unwrap();
        assert_eq!(
            (&*params.prompt, &*params.notes),
            (
                prompt,
                &*notes
                    .iter()
                    .map(|note| (*note).to_owned())
                    .collect::<Vec<_>>()
            )
        );
    }
}

#[test]
fn as_sent_what_is_left_out_is_noted() {
    let template = ChatTemplate::new(FORGETFUL, "", "").unwrap();
    let messages = json!([
        said("user", "Hello"),
        said("system", "Be brief"),
        two_calls("I look"),
        result_of("b"),
        result_of("a")
    ]);
    let params = template
        .params(&request(messages.clone(), json!({"roles": "as_sent"})))
        .unwrap();
    let notes = [
        "messages[1].content: not in the prompt",
        "messages[2].content: not in the prompt",
        "messages[2].tool_calls[1].function.arguments: not in the prompt",
    ];
    assert_eq!(params.notes, notes);
    assert!(
        params
            .prompt
            .ends_with("<a>\"\\\"found\\\" b\"<a>\"\\\"found\\\" a\"<assistant>"),
        "{}",
        params.prompt
    );
    let plain = template
        .params(&request(
            messages,
            json!({"roles": "as_sent", "plain": true}),
        ))
        .unwrap();
    assert_eq!((plain.prompt, plain.notes), (params.prompt, Vec::new()));
}

#[test]
fn what_is_arranged_stays_so_in_the_next_turn() {
    let template = ChatTemplate::new(FORGETFUL, "", "").unwrap();
    let sent = json!([
        said("user", "Hello"),
        two_calls("I look"),
        result_of("b"),
        result_of("a")
    ]);
    let session = template.session(request(sent, json!({}))).unwrap();
    let next = session
        .next(
            b"Yes.",
            &json!([said("system", "Be brief"), said("user", "Bye")]),
        )
        .unwrap();
    assert_eq!(next.append(), "<user>Be brief<user>Bye<assistant>");
    assert!(next.rewrite.is_none());
}

#[test]
fn a_level_of_effort_is_one_that_the_template_takes() {
    const LEVELS: &str = "{% if reasoning_effort is defined and reasoning_effort not in ['low', 'max'] %}{{ raise_exception('level') }}{% endif %}\
        {% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>{{ reasoning_effort or '' }}{% if not enable_thinking %}<off>{% endif %}";
    let template = ChatTemplate::new(LEVELS, "", "").unwrap();
    let ask = |effort: &str, more: Value| {
        let mut more = more;
        more["reasoning_effort"] = effort.into();
        template.params(&request(json!([said("user", "A")]), more))
    };
    let refused = |level: &str, nearest: &str| {
        vec![format!(
            "reasoning_effort: the template refuses {level:?}; {nearest:?} is the nearest level that it takes"
        )]
    };
    for (level, end, notes) in [
        ("low", "low", vec![]),
        ("minimal", "low", refused("minimal", "low")),
        ("high", "low", refused("high", "low")),
        ("none", "<off>", vec![]),
    ] {
        let params = ask(level, json!({})).unwrap();
        assert_eq!(
            (params.prompt, params.notes),
            (format!("<user>A<assistant>{end}"), notes)
        );
    }
    assert!(
        ask("high", json!({"effort": "as_sent"}))
            .unwrap_err()
            .message()
            .contains("level")
    );
    // One that it does not know changes nothing.
    let unknown = LEVELS.replace("raise_exception('level')", "''").replace(
        "reasoning_effort or ''",
        "reasoning_effort if reasoning_effort in ['low', 'max']",
    );
    let params = ChatTemplate::new(&unknown, "", "")
        .unwrap()
        .params(&request(
            json!([said("user", "A")]),
            json!({"reasoning_effort": "high"}),
        ))
        .unwrap();
    assert_eq!(
        params.notes,
        ["reasoning_effort: the template knows no level \"high\""]
    );
}

#[test]
fn a_switch_of_another_name_is_turned_off() {
    const SWITCH: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>\
        {% if thinking is not defined or thinking %}<think>{% endif %}{{ tools is none and documents is none }}";
    let template = ChatTemplate::new(SWITCH, "", "").unwrap();
    for (more, end) in [
        (json!({}), "<think>True"),
        (json!({"reasoning_effort": "none"}), "True"),
        (
            json!({"reasoning_effort": "none", "chat_template_kwargs": {"thinking": true}}),
            "<think>True",
        ),
        (json!({"tools": []}), "<think>True"),
        (
            json!({"compat": "llama.cpp", "reasoning_effort": "none"}),
            "<think>False",
        ),
    ] {
        let params = template
            .params(&request(json!([said("user", "A")]), more))
            .unwrap();
        assert_eq!(params.prompt, format!("<user>A<assistant>{end}"));
        assert!(
            !params
                .notes
                .iter()
                .any(|note| note.starts_with("enable_thinking")),
            "{:?}",
            params.notes
        );
    }
}
