//! `roles: "fit"`: messages are changed where a template raises on them, and only there.

use chatparse::{ChatTemplate, ErrorKind, Request};
use serde_json::{Value, json};

/// Roles alternate behind one system message, calls have ids of nine characters, and no turn of the assistant is empty.
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
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
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
    let (prompt, notes) =
        fitted(json!([said("system", "S"), said("user", "A"), called(&["call00001"]), result("call00001")]));
    assert_eq!(prompt, "<system>S<user>A<assistant>[call00001 f]<tool>42[call00001]<assistant>");
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
            "<system>C\n\nD<user>A<assistant>B<user>E<assistant>",
            &[
                "messages[2] (system): moved to the front",
                "messages[3] (developer): moved to the front",
                "messages[3] (developer): joined to messages[2] (system)",
            ],
        ),
        (
            json!([said("system", "S"), said("assistant", "A"), said("user", "B")]),
            "<system>S<user><assistant>A<user>B<assistant>",
            &["in front of messages[1] (assistant): an empty turn of the user was put"],
        ),
        (
            json!([said("user", "A"), called(&["call00001"]), result("call00001"), said("user", "B")]),
            "<user>A<assistant>[call00001 f]<tool>42[call00001]<assistant> <user>B<assistant>",
            &["in front of messages[3] (user): a blank turn of the assistant was put"],
        ),
        (
            json!([said("user", "A"), called(&["toolu_01", "toolu_01", "x"]), result("x"), result("toolu_01")]),
            "<user>A<assistant>[call00000 f][call00000 f][call00001 f]<tool>42[call00001]<tool>42[call00000]<assistant>",
            &[
                "messages[1].tool_calls[0].id: \"toolu_01\" is \"call00000\" in the prompt",
                "messages[1].tool_calls[2].id: \"x\" is \"call00001\" in the prompt",
            ],
        ),
        (
            json!([said("user", "A"), called(&["", ""]), json!({"role": "tool", "content": "1"}), said("tool", "2")]),
            "<user>A<assistant>[call00000 f][call00001 f]<tool>1[call00000]<tool>2[call00001]<assistant>",
            &[
                "messages[1].tool_calls[0].id: \"\" is \"call00000\" in the prompt",
                "messages[1].tool_calls[1].id: \"\" is \"call00001\" in the prompt",
            ],
        ),
        (
            json!([said("user", "A"), called(&["call00001"]), result("call00001"), called(&["a"]), result("a")]),
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
        assert_eq!(fitted(messages), (prompt.to_owned(), notes.iter().map(|note| (*note).to_owned()).collect()));
    }
}

#[test]
fn media_stand_where_they_were_sent() {
    let image = json!({"type": "image_url", "image_url": {"url": "U"}});
    let sent = request(json!([said("user", "A"), {"role": "user", "content": [image]}]), json!({}));
    let params = ChatTemplate::new(STRICT, "", "").unwrap().params(&sent).unwrap();
    let places: Vec<(usize, usize)> = params.media.iter().map(|media| (media.message, media.part)).collect();
    assert_eq!(places, [(1, 0)]);
    assert_eq!(params.to_json()["notes"], json!(["messages[1] (user): joined to messages[0] (user)"]));
}

#[test]
fn where_nothing_helps_the_error_is_the_templates() {
    let template = ChatTemplate::new(STRICT, "", "").unwrap();
    let odd = json!([said("user", "A"), said("user", "B"), said("critic", "C")]);
    for roles in ["as_sent", "fit"] {
        let error = template.params(&request(odd.clone(), json!({"roles": roles}))).unwrap_err();
        assert!(error.kind() == ErrorKind::Template && error.message().contains("roles must alternate"), "{error}");
    }
    // What would leave out a text helps nobody.
    let hides = "{% for m in messages %}{% set text = m.content %}{% if m.role == 'system' and loop.index > 1 %}\
        {{ raise_exception('late') }}{% endif %}{% if m.role != 'system' %}{{ text }}{% endif %}{% endfor %}";
    let late = json!([said("user", "A"), said("system", "Rule")]);
    let error = ChatTemplate::new(hides, "", "").unwrap().params(&request(late, json!({}))).unwrap_err();
    assert!(error.message().contains("late"));
    let plain = json!({"messages": [], "roles": "fit", "plain": true});
    assert!(Request::from_json(&plain).unwrap_err().message().starts_with("roles: "));
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
    assert!(template.prompt(&request(all, json!({}))).unwrap_err().message().contains("no"));
}

#[test]
fn a_session_keeps_what_was_sent() {
    let template = ChatTemplate::new(STRICT, "", "").unwrap();
    let sent = json!([said("user", "A"), called(&["toolu_01"]), result("toolu_01")]);
    let session = template.session(request(sent, json!({}))).unwrap();
    let next = session.next(b"Yes.", &json!([said("user", "B"), said("user", "C")])).unwrap();
    assert_eq!(next.append(), "<user>B\n\nC<assistant>");
    assert!(next.rewrite.is_none());
    let notes = [
        "messages[1].tool_calls[0].id: \"toolu_01\" is \"call00000\" in the prompt",
        "messages[5] (user): joined to messages[4] (user)",
    ];
    assert_eq!(next.session.params.notes, notes);
    // A continued message stays as it is.
    let begun = json!([said("user", "A"), said("assistant", "B"), said("assistant", "C")]);
    let begun = request(begun, json!({"continue_final_message": true}));
    let params = template.params(&begun).unwrap();
    assert_eq!((&*params.prompt, params.notes.len()), ("<user>A<assistant>B<assistant>C", 0));
}
