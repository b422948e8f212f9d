//! Going on behind an output: whatever it is like, it stays as it was written, or the reason why it
//! cannot is reported.

use chatparse::next::Reason;
use chatparse::{
    ChatTemplate, EndedBy, ErrorKind, Next, Request, Session, TemplateOptions, builtin,
};
use serde_json::{Value, json};

const TURN: &str = "<|turn|>assistant\n";

/// Calls as JSON in tags. `thought` writes a message's reasoning, `front` stands in front of each
/// message, `opening` behind the turn's.
fn template(thought: &str, front: &str, opening: &str) -> ChatTemplate {
    let source = [
        "{%- for m in messages -%}",
        front,
        "{{- '<|turn|>' ~ m.role ~ '\\n' -}}",
        thought,
        "{{- m.content or '' -}}{%- for c in m.tool_calls or [] -%}",
        "{{- '<call>{\"name\": \"' ~ c.function.name ~ '\", \"arguments\": ' ~ c.function.arguments | tojson ~ '}</call>' -}}",
        "{%- endfor -%}{{- '<|end|>\\n' -}}{%- endfor -%}",
        "{%- if add_generation_prompt -%}{{- '<|turn|>assistant\\n",
        opening,
        "' -}}{%- endif -%}{%- if tools -%}{%- endif -%}",
    ];
    ChatTemplate::new(&source.concat(), "", "").expect("the template compiles")
}

const THOUGHT: &str = "{%- if m.reasoning_content -%}{{- '<think>' ~ m.reasoning_content ~ '</think>' -}}{%- endif -%}";

fn request(more: Value) -> Request {
    let parameters = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}});
    let mut body = json!({
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}],
    });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    Request::from_json(&body).unwrap()
}

fn session(template: &ChatTemplate) -> Session {
    template.session(request(json!({}))).unwrap()
}

fn user() -> Value {
    json!([{"role": "user", "content": "Go on."}])
}

const TO_USER: &str = "<|end|>\n<|turn|>user\nGo on.<|end|>\n<|turn|>assistant\n";

#[track_caller]
fn appends(session: &Session, output: &[u8], new: &Value, expected: &str) -> Next {
    let next = session.next(output, new).unwrap();
    assert_eq!((next.append(), next.rewrite.clone()), (expected, None));
    let sent = [session.params.prompt.as_bytes(), output].concat();
    assert_eq!(
        (
            next.kept,
            &next.session.params.prompt.as_bytes()[..next.kept]
        ),
        (sent.len(), &sent[..])
    );
    next
}

#[track_caller]
fn rewrites(
    session: &Session,
    output: &str,
    new: &Value,
    reason: Reason,
    message: Option<usize>,
    stands: &str,
) -> Next {
    let next = session.next(output.as_bytes(), new).unwrap();
    let rewrite = next.rewrite.clone().expect("something is written anew");
    let sent = format!("{}{output}", session.params.prompt);
    assert_eq!(
        (rewrite.reason, rewrite.message, rewrite.at),
        (reason, message, next.kept)
    );
    assert!(
        sent[..next.kept].ends_with(stands)
            && next.session.params.prompt.starts_with(&sent[..next.kept]),
        "{next:?}"
    );
    next
}

#[test]
fn outputs_stay_as_they_were_written() {
    let template = template(THOUGHT, "", "");
    let session = session(&template);
    let result = json!([{"role": "tool", "tool_call_id": "1", "content": "R"}]);
    let to_tool = "<|end|>\n<|turn|>tool\nR<|end|>\n<|turn|>assistant\n";
    let calls = [
        r#"<call>{"name": "f", "arguments": {"a": 1, "b": "x"}}</call>"#,
        r#"Well. <call>{"name": "f", "arguments": {"b": "x", "a": 1}}</call>"#,
        "<call>\n{\"name\":\"f\",\n\"arguments\":{\"a\":1}}\n</call>",
        r#"<call>{"arguments": {"a": 1}, "name": "f"}</call>"#,
        r#"<call>{"name": "f", "arguments": {"b": "\u00e9"}}</call>"#,
        r#"<think>So.</think><call>{"name": "f", "arguments": {}}</call>"#,
        "<think>\nSo.\n</think>\n\n<call>{\"name\": \"f\", \"arguments\": {}}</call>",
        r#"<call>{"name": "f", "arguments": {}}</call><call>{"name": "f", "arguments": {"a":2}}</call>"#,
    ];
    for call in calls {
        let next = appends(&session, call.as_bytes(), &result, to_tool);
        // What ends the turn may be there, or not, and the conversation goes on from there.
        appends(
            &session,
            format!("{call}<|end|>").as_bytes(),
            &result,
            &to_tool["<|end|>".len()..],
        );
        appends(
            &session,
            format!("{call}<|end|>\n").as_bytes(),
            &result,
            &to_tool["<|end|>\n".len()..],
        );
        let next = appends(&next.session, b"So it is.", &user(), TO_USER);
        let next = appends(&next.session, call.as_bytes(), &result, to_tool);
        assert_eq!(next.session.params.prompt.matches(call).count(), 2);
        assert_eq!(
            next.session
                .params
                .parser
                .read(b"Bye", EndedBy::Model)
                .message
                .content,
            "Bye"
        );
    }
    for text in ["Hello", "Hello\n", "", "# <b> & [c]\n", "Hello<|end|>"] {
        let expected = if text.ends_with("<|end|>") {
            &TO_USER["<|end|>".len()..]
        } else {
            TO_USER
        };
        appends(&session, text.as_bytes(), &user(), expected);
    }
}

#[test]
fn what_was_cut_off_is_closed() {
    let template = template(THOUGHT, "", "");
    let session = session(&template);
    let cases = [
        ("Hello, I", ""),
        ("Hello <cal", ""),
        (
            r#"<call>{"name": "f", "arguments": {"b": "Par"#,
            "\"}}</call>",
        ),
        (r#"<call>{"name": "f", "arguments": {"a": 1"#, "}}</call>"),
        ("<think>So it", "</think>"),
    ];
    for (output, closes) in cases {
        let next = appends(
            &session,
            output.as_bytes(),
            &user(),
            &format!("{closes}{TO_USER}"),
        );
        let calls = &next.message.tool_calls;
        assert!(
            calls
                .iter()
                .all(|call| serde_json::from_str::<Value>(&call.arguments).is_ok()),
            "{calls:?}"
        );
    }
    // Half a character cannot stay.
    let next = session.next(b"caf\xc3", &user()).unwrap();
    let rewrite = next.rewrite.clone().unwrap();
    assert_eq!(
        (rewrite.reason, rewrite.at),
        (Reason::Output, session.params.prompt.len() + 3)
    );
    assert!(next.session.params.prompt.contains("caf\u{fffd}<|end|>"));
}

#[test]
fn calls_have_the_ids_of_their_results() {
    let template = template(THOUGHT, "{{- m.tool_call_id or '' -}}", "");
    let output = r#"<call>{"name": "f", "arguments": {}}</call><call>{"name": "f", "arguments": {"a": 1}}</call>"#;
    let results = json!([
        {"role": "tool", "tool_call_id": "one", "content": "1"},
        {"role": "tool", "tool_call_id": "two", "content": "2"},
    ]);
    let next = session(&template)
        .next(output.as_bytes(), &results)
        .unwrap();
    let ids: Vec<&str> = next
        .message
        .tool_calls
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(ids, ["one", "two"]);
    assert!(next.append().contains("two<|turn|>tool\n2"));
}

/// Reasoning counts behind the user's last message only.
fn dropping() -> ChatTemplate {
    let since_user = "{%- set ns = namespace(last=0) -%}{%- for n in messages if n.role == 'user' -%}\
                      {%- set ns.last = ns.last + 1 -%}{%- endfor -%}";
    let count = "{%- if m.role == 'user' -%}{%- set seen.users = seen.users + 1 -%}{%- endif -%}";
    let thought = format!("{since_user}{{%- if seen.users == ns.last -%}}{THOUGHT}{{%- endif -%}}");
    let source = template(&thought, count, "").source().to_owned();
    let source = format!("{{%- set seen = namespace(users=0) -%}}{source}");
    ChatTemplate::new(&source, "", "").unwrap()
}

#[test]
fn what_is_written_anew_is_told() {
    let call = r#"<think>Why?</think><call>{"name": "f", "arguments": {}}</call>"#;
    let result = json!([{"role": "tool", "content": "R"}]);
    let dropping = dropping();
    let next = appends(
        &session(&dropping),
        call.as_bytes(),
        &result,
        "<|end|>\n<|turn|>tool\nR<|end|>\n<|turn|>assistant\n",
    );
    let next = rewrites(
        &next.session,
        "<think>Ah.</think>Yes.",
        &user(),
        Reason::Reasoning,
        Some(1),
        "assistant\n<",
    );
    // And on behind it.
    appends(&next.session, b"Bye.", &user(), TO_USER);

    let empty_thought = template(THOUGHT, "", "<think></think>");
    rewrites(
        &session(&empty_thought),
        "Yes.",
        &user(),
        Reason::Opening,
        Some(1),
        TURN,
    );

    let tools_at_the_end = template(
        THOUGHT,
        "{%- if loop.last -%}{{- '[tools: look, find, and many more of that kind, as long as this]' -}}{%- endif -%}",
        "",
    );
    rewrites(
        &session(&tools_at_the_end),
        "Yes.",
        &user(),
        Reason::Moved,
        None,
        "",
    );

    let counting = template(THOUGHT, "{{- messages | length -}}", "");
    rewrites(
        &session(&counting),
        "Yes.",
        &user(),
        Reason::Changed,
        None,
        "",
    );

    let no_reasoning = template("", "", "");
    let first = session(&no_reasoning);
    appends(&first, b"Yes.", &user(), TO_USER);
    let content_or_calls = template(
        "{%- if m.tool_calls -%}{%- set m = dict(m, content='') -%}{%- endif -%}",
        "",
        "",
    );
    let said = r#"Well. <call>{"name": "f", "arguments": {}}</call>"#;
    let as_sent = content_or_calls
        .session(request(json!({"roles": "as_sent"})))
        .unwrap();
    rewrites(&as_sent, said, &result, Reason::Output, Some(1), TURN);
    // The text beside the call is a message of its own there, which is read as the same turn.
    let to_tool = "<|end|>\n<|turn|>tool\nR<|end|>\n<|turn|>assistant\n";
    appends(
        &session(&content_or_calls),
        said.as_bytes(),
        &result,
        to_tool,
    );
}

#[test]
fn always_append_keeps_what_the_template_changes() {
    let always = |template: &ChatTemplate| {
        template
            .session(request(json!({"append": "always"})))
            .unwrap()
    };
    #[track_caller]
    fn keeps(session: &Session, output: &str, new: &Value, reason: Reason, append: &str) -> Next {
        let next = session.next(output.as_bytes(), new).unwrap();
        let sent = format!("{}{output}", session.params.prompt);
        assert_eq!(
            (
                next.append(),
                next.kept,
                next.rewrite.as_ref().map(|it| it.reason)
            ),
            (append, sent.len(), Some(reason))
        );
        assert_eq!(next.session.params.prompt, format!("{sent}{append}"));
        next
    }
    let result = json!([{"role": "tool", "content": "R"}]);
    let to_tool = "<|end|>\n<|turn|>tool\nR<|end|>\n<|turn|>assistant\n";
    // Reasoning that is left out, and what follows behind a prompt with another text in front.
    let silent = always(&dropping());
    let call = r#"<think>Why?</think><call>{"name": "f", "arguments": {"b": "x", "a": 1}}</call>"#;
    let next = appends(&silent, call.as_bytes(), &result, to_tool);
    let next = keeps(
        &next.session,
        "<think>Ah.</think>Yes.",
        &user(),
        Reason::Reasoning,
        TO_USER,
    );
    assert!(
        next.session.rendered().contains("assistant\n<call>")
            && next.session.rendered().ends_with(TO_USER)
    );
    let next = appends(
        &next.session,
        format!("{call}<|end|>").as_bytes(),
        &result,
        &to_tool["<|end|>".len()..],
    );
    let next = keeps(
        &next.session,
        "<think>Ah.</think>Yes.<|end|>",
        &user(),
        Reason::Reasoning,
        &TO_USER["<|end|>".len()..],
    );
    assert!(
        next.session
            .params
            .prompt
            .starts_with(&silent.params.prompt)
            && !next.session.rendered().contains("Why?")
    );
    // The new messages are counted as the template counts them.
    let counting = always(&template(THOUGHT, "{{- messages | length -}}", ""));
    keeps(
        &counting,
        "Yes.",
        &user(),
        Reason::Changed,
        "<|end|>\n3<|turn|>user\nGo on.<|end|>\n<|turn|>assistant\n",
    );
    // A turn that the template opens otherwise; one that says nothing; a call that was cut off is
    // closed.
    let empty_thought = always(&template(THOUGHT, "", "<think></think>"));
    let opened = format!("{TO_USER}<think></think>");
    keeps(&empty_thought, "Yes.", &user(), Reason::Opening, &opened);
    keeps(&empty_thought, "", &user(), Reason::Opening, &opened);
    let cut = r#"<call>{"name": "f", "arguments": {"b": "Par"#;
    keeps(
        &empty_thought,
        cut,
        &result,
        Reason::Opening,
        &format!("\"}}}}</call>{to_tool}<think></think>"),
    );
    // A message that the template leaves out ends where the next one begins.
    let users = "{% for m in messages if m.role == 'user' %}<u>{{ m.content }}{% endfor %}<a>";
    keeps(
        &always(&ChatTemplate::new(users, "", "").unwrap()),
        "Hello",
        &user(),
        Reason::Moved,
        "<u>Go on.<a>",
    );
    // Half a character cannot stay.
    let next = always(&template(THOUGHT, "", ""))
        .next(b"caf\xc3", &user())
        .unwrap();
    assert_eq!(next.append(), format!("\u{fffd}{TO_USER}"));
}

/// The last turn ends with another token than earlier ones.
#[test]
fn a_turn_is_not_ended_twice() {
    let source = "{%- for m in messages -%}<|start|>{{ m.role }}<|say|>{{ m.content }}\
        {%- if loop.last and m.role == 'assistant' -%}<|return|>{%- else -%}<|end|>{%- endif -%}{%- endfor -%}\
        {%- if add_generation_prompt -%}<|start|>assistant<|say|>{%- endif -%}";
    let to_user = "<|start|>user<|say|>Go on.<|end|><|start|>assistant<|say|>";
    let always = |source: &str, ends: Value| {
        let options = TemplateOptions::from_text(&json!({"ends": ends}).to_string()).unwrap();
        let template = ChatTemplate::with_options(source, &options).unwrap();
        template
            .session(request(json!({"append": "always"})))
            .unwrap()
    };
    let learnt = always(source, json!([]));
    let told = always(source, json!(["<|stop|>", "<|halt|>"]));
    for (session, output, ended) in [
        (&learnt, "Yes.<|return|>", true),
        (&learnt, "Yes.", false),
        (&learnt, "Yes.<|stop|>", false),
        (&told, "Yes.<|stop|>", true),
        (&told, "Yes.<|halt|>", true),
    ] {
        let next = session.next(output.as_bytes(), &user()).unwrap();
        let append = if ended {
            to_user.to_owned()
        } else {
            format!("<|end|>{to_user}")
        };
        assert_eq!(next.append(), append, "{output}");
        // What was sent stays in the turns that follow.
        let sent = format!("{}Done.<|return|>", next.session.params.prompt);
        let then = next.session.next(b"Done.<|return|>", &user()).unwrap();
        assert_eq!(
            (&*then.session.params.prompt, then.append()),
            (&*format!("{sent}{to_user}"), to_user),
            "{output}"
        );
    }
    // Nor where the template drops the thought in front.
    let next = session(&dropping())
        .next(b"<think>Ah.</think>Yes.<|end|>", &user())
        .unwrap();
    assert_eq!(next.session.params.prompt.matches("Yes.<|end|>").count(), 1);
    assert!(
        !next.session.params.prompt.contains("<|end|><|end|>"),
        "{}",
        next.session.params.prompt
    );
    // Where nothing ends earlier turns, the marker behind is that of the next one.
    let open = "{%- for m in messages -%}<|{{ m.role }}|>{{ m.content }}{%- if loop.last and m.role == 'assistant' -%}<|return|>\
        {%- endif -%}{%- endfor -%}{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}";
    let next = always(open, json!([]))
        .next(b"Yes.<|return|>", &user())
        .unwrap();
    assert_eq!(next.append(), "<|user|>Go on.<|assistant|>");
    // Nor does a user who writes a marker take one away.
    let quoting = json!([{"role": "user", "content": "<|user|>"}]);
    let next = always(open, json!([]))
        .next(b"Yes.<|return|>", &quoting)
        .unwrap();
    assert_eq!(next.append(), "<|user|><|user|><|assistant|>");
}

#[test]
fn all_ways_to_ask() {
    let template = template(THOUGHT, "", "");
    // A message that was continued is whole then.
    let begun =
        json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Well, "}]);
    let session_of = |more: Value| template.session(request(more)).unwrap();
    let silent = self::template("", "", "");
    let continued = silent
        .session(request(
            json!({"messages": begun, "continue_final_message": true}),
        ))
        .unwrap();
    assert!(continued.params.prompt.ends_with("Well, "));
    let next = appends(&continued, b"yes.", &user(), TO_USER);
    assert_eq!(next.message.content, "Well, yes.");
    // Plain requests have messages of any form.
    let plain = session_of(json!({"plain": true}));
    let result = json!([{"role": "tool", "content": "R", "more": [1]}]);
    let to_tool = "<|end|>\n<|turn|>tool\nR<|end|>\n<|turn|>assistant\n";
    let next = appends(
        &plain,
        br#"<call>{"name": "f",  "arguments": {"a": 1}}</call>"#,
        &result,
        to_tool,
    );
    appends(&next.session, b"Yes.", &user(), TO_USER);
    // Several choices of one request go on by themselves.
    let first = session(&template);
    appends(&first, b"One.", &user(), TO_USER);
    appends(&first, b"Two.", &user(), TO_USER);
    // The clock stands still.
    let dated = template_with_clock();
    let first = session(&dated);
    appends(&first, b"Yes.", &user(), TO_USER);
    let wrong = |messages: Value| first.next(b"", &messages).unwrap_err();
    assert!(
        wrong(json!([{"content": "x"}]))
            .message()
            .contains("messages[0].role")
    );
    assert_eq!(
        wrong(json!({"role": "user"})).kind(),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        plain.next(b"", &json!(7)).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
}

fn template_with_clock() -> ChatTemplate {
    template(
        THOUGHT,
        "{%- if loop.first -%}{{- strftime_now('%Y-%m-%d %H:%M:%S') -}}{%- endif -%}",
        "",
    )
}

/// A tool whose definition comes with the messages that reveal it, or an option of the next turn.
#[test]
fn a_turn_may_bring_tools_and_options() {
    let tool = |name: &str, deferred: bool| {
        let parameters = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        json!({"type": "function", "defer_loading": deferred, "function": {"name": name, "parameters": parameters}})
    };
    let result = |part: Value| json!([{"role": "tool", "tool_call_id": "1", "content": [part]}]);
    let reference = || json!({"type": "tool_reference", "name": "late"});
    let mut tried = 0;
    for name in builtin::names() {
        let template = ChatTemplate::builtin(name).unwrap();
        let body =
            json!({"messages": [{"role": "user", "content": "Q"}], "tools": [tool("find", false)]});
        if !template.caps().tool_calls {
            continue;
        }
        let session = template
            .session(Request::from_json(&body).unwrap())
            .unwrap();
        let Ok(next) = session.next(b"", &result(json!({"type": "text", "text": "r"}))) else {
            continue;
        };
        let unknown = session.next(b"", &result(reference())).unwrap_err();
        assert!(
            unknown.to_string().contains("there is no tool \"late\""),
            "{name}: {unknown}"
        );
        let new = json!({"messages": result(reference()), "tools": [tool("find", false), tool("late", true)]});
        let later = session
            .next(b"", &new)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            (later.kept, &later.rewrite),
            (next.kept, &next.rewrite),
            "{name}"
        );
        let grammar = &later.session.params.grammar().text;
        assert!(
            later.append().contains("late") && (grammar.is_empty() || grammar.contains("late")),
            "{name}"
        );
        let listed = json!({"messages": result(reference()), "tools": [tool("find", false), tool("late", false)]});
        let listed = session.next(b"", &listed).unwrap();
        assert!(
            listed.rewrite.is_some() || !session.params.prompt.contains("find"),
            "{name}"
        );
        // All that the turn has not stays, and stays for the turns after it.
        let chosen = json!({"messages": user(), "tool_choice": {"type": "function", "function": {"name": "find"}}});
        let chosen = session.next(b"", &chosen).unwrap().session;
        let again = chosen.next(b"", &user()).unwrap().session;
        assert_eq!(
            chosen.params.grammar().text,
            again.params.grammar().text,
            "{name}"
        );
        let none = session
            .next(b"", &json!({"messages": user(), "tool_choice": "none"}))
            .unwrap()
            .session;
        assert!(
            none.params.grammar().text.is_empty() || !none.params.grammar().text.contains("find"),
            "{name}"
        );
        tried += 1;
    }
    assert!(tried > 30, "{tried}");
}

#[test]
fn a_turn_has_a_body_or_a_list() {
    let session = session(&template("", "", ""));
    let error = |new: Value| session.next(b"", &new).unwrap_err().to_string();
    assert!(error(json!("Hi")).contains("messages"));
    assert!(error(json!({"tools": []})).contains("messages: missing"));
    assert!(
        error(json!({"messages": user(), "tool_choise": "none"}))
            .contains("did you mean tool_choice?")
    );
    assert!(error(json!({"messages": user(), "compat": "llama.cpp"})).contains("compat: stays"));
    assert!(error(json!({"messages": user(), "plain": true})).contains("plain: stays"));
    let begun = json!({"messages": [user()[0], {"role": "assistant", "content": "We"}], "continue_final_message": true});
    let begun = session.next(b"Hi", &begun).unwrap().session;
    assert!(
        begun.params.prompt.ends_with("assistant\nWe"),
        "{}",
        begun.params.prompt
    );
    let done = begun.next(b"ll.", &user()).unwrap();
    assert_eq!((&*done.message.content, done.append()), ("Well.", TO_USER));
}
