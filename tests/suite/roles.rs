//! `roles: "fit"`: messages are changed where a template raises on them or leaves out what they
//! say, and only there.

use chatparse::{ChatTemplate, Request};
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
