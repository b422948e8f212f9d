//! Where a turn of ids ends and another begins: a test for each rule of docs/tokens.md.

use chatparse::conversation::{Extended, FieldKind};
use chatparse_stream::EndedBy;
use serde_json::json;

use super::{assert_decodes, opened, sampled, user};

fn bytes(extended: &Extended, conversation: &chatparse::conversation::Conversation) -> String {
    String::from_utf8(conversation.decode(&extended.ids).unwrap()).unwrap()
}

#[test]
fn no_token_spans_a_border() {
    let (mut conversation, toy) = opened("json-call", "template");
    // The prompt ends with a line break, and the output begins with one: the tokenizer would have
    // one token for both.
    conversation
        .observe(&sampled(&toy, "<think>\nYes.\n</think>\n\nYes."))
        .unwrap();
    let before = conversation.ids().to_vec();
    let next = conversation.extend(&json!([user("And?")])).unwrap();
    assert_eq!(
        (next.kept, &conversation.ids()[..before.len()]),
        (before.len(), &before[..])
    );
    assert!(bytes(&next, &conversation).starts_with("<|im_end|>\n<|im_start|>user\nAnd?"));
    assert_eq!(next.ids[0], toy.id("<|im_end|>"));
}

#[test]
fn an_output_may_end_inside_of_a_character() {
    for append in ["always", "template"] {
        let (mut conversation, _) = opened("json-call", append);
        let half: Vec<u32> = "Yes \u{1F327}".bytes().map(u32::from).collect();
        conversation.observe(&half[..6]).unwrap();
        let before = conversation.ids().to_vec();
        let next = conversation.extend(&json!([user("And?")])).unwrap();
        let text = conversation.decode(conversation.ids()).unwrap();
        match append {
            // All ids stay, and so does half the character.
            "always" => {
                assert_eq!(
                    (next.kept, &conversation.ids()[..before.len()]),
                    (before.len(), &before[..])
                );
                assert!(bytes(&next, &conversation).starts_with("<|im_end|>\n<|im_start|>user\n"));
                assert!(text.windows(3).any(|three| three == b" \xF0\x9F"));
            }
            // The ids of half the character go, and the rewrite says so.
            _ => {
                let rewrite = next.rewrite.as_ref().unwrap();
                assert_eq!(
                    (next.kept, rewrite.token, rewrite.why.reason),
                    (before.len() - 2, before.len() - 2, "output")
                );
                assert_eq!(String::from_utf8(text).unwrap(), conversation.prompt());
            }
        }
        // What follows is in order.
        conversation.observe(&[65]).unwrap();
        conversation.extend(&json!([user("And?")])).unwrap();
    }
}

#[test]
fn several_tokens_end_outputs() {
    let call = r#"<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>"#;
    let tool = json!({"role": "tool", "content": "Rain"});
    for (name, output, new) in [("chatml", "Yes.", user("And?")), ("json-call", call, tool)] {
        let builtin = chatparse::ChatTemplate::builtin(name).unwrap();
        let mut options = chatparse::TemplateOptions::default();
        options.eos = "<|im_end|>".to_owned();
        options.ends = vec!["<|stop|>".to_owned()];
        let template = chatparse::ChatTemplate::with_options(builtin.source(), &options).unwrap();
        let toy = std::sync::Arc::new(super::toy::Toy::new(&[
            "<|im_start|>",
            "<|im_end|>",
            "<|stop|>",
        ]));
        let function = json!({"name": "weather", "parameters": {"type": "object", "properties": {"city": {}}}});
        let tools = json!([{"type": "function", "function": function}]);
        let request = chatparse::Request::from_json(
            &json!({"messages": [], "tools": tools, "append": "always"}),
        )
        .unwrap();
        for end in ["<|im_end|>", "<|stop|>"] {
            let mut conversation = template.conversation(toy.clone(), request.clone()).unwrap();
            conversation
                .prompt_ids(&json!([user("How is it?")]))
                .unwrap();
            assert!(!conversation.observe(&sampled(&toy, output)).unwrap().ended);
            assert!(conversation.observe(&[toy.id(end)]).unwrap().ended);
            let next = conversation.extend(&json!([new])).unwrap();
            // The token that ended the output stays, and no other is written.
            let behind = bytes(&next, &conversation);
            assert!(
                behind.starts_with("\n<|im_start|>"),
                "{name}, {end}: {behind}"
            );
            assert_eq!(
                (&*next.message.content, next.message.tool_calls.len()),
                if name == "chatml" {
                    ("Yes.", 0)
                } else {
                    ("", 1)
                }
            );
        }
    }
}

#[test]
fn another_end_where_answers_alone_have_one() {
    let source = "{% for m in messages %}{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]{% else %}{{ m.content }}</s>{% endif %}{% endfor %}";
    let mut options = chatparse::TemplateOptions::default();
    (options.eos, options.ends) = ("</s>".to_owned(), vec!["<stop>".to_owned()]);
    let template = chatparse::ChatTemplate::with_options(source, &options).unwrap();
    let toy = std::sync::Arc::new(super::toy::Toy::new(&[
        "[INST]", "[/INST]", "</s>", "<stop>",
    ]));
    let request =
        chatparse::Request::from_json(&json!({"messages": [], "append": "always"})).unwrap();
    for end in ["</s>", "<stop>"] {
        let mut conversation = template.conversation(toy.clone(), request.clone()).unwrap();
        conversation
            .prompt_ids(&json!([user("How is it?")]))
            .unwrap();
        conversation
            .observe(&sampled(&toy, &format!("Yes.{end}")))
            .unwrap();
        let next = conversation.extend(&json!([user("And?")])).unwrap();
        assert_eq!(
            (&*bytes(&next, &conversation), &*next.message.content),
            ("[INST]And?[/INST]", "Yes."),
            "{end}"
        );
    }
}

#[test]
fn what_an_output_lacks_of_its_end_is_sent() {
    let (mut conversation, toy) = opened("json-call", "template");
    conversation
        .observe(&sampled(
            &toy,
            "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"place\": \"Os",
        ))
        .unwrap();
    let kept = conversation.ids().len();
    let next = conversation
        .extend(&json!([{"role": "tool", "name": "look", "content": "Rain"}]))
        .unwrap();
    assert_eq!((next.kept, &next.rewrite), (kept, &None));
    assert!(
        bytes(&next, &conversation).starts_with("\"}}\n</tool_call><|im_end|>\n"),
        "{:?}",
        bytes(&next, &conversation)
    );
    // What closes the call was sent, not sampled.
    assert!(conversation.mask().skip(kept).all(|sampled| !sampled));
    assert_decodes(&conversation);
}

#[test]
fn white_space_stays_as_it_was_sampled() {
    let (mut conversation, toy) = opened("json-call", "template");
    conversation
        .observe(&sampled(&toy, "Yes.  \n\n<|im_end|>"))
        .unwrap();
    let kept = conversation.ids().len();
    let next = conversation.extend(&json!([user("And?")])).unwrap();
    assert_eq!((next.kept, &next.rewrite), (kept, &None));
    assert_decodes(&conversation);
}

#[test]
fn a_marker_that_is_quoted_is_text() {
    let (mut conversation, toy) = opened("json-call", "always");
    let mut ids = sampled(&toy, "<think>\nIs it ");
    ids.extend("</think>".bytes().map(u32::from));
    ids.extend(sampled(&toy, "?\n</think>\n\nYes.<|im_end|>"));
    let from = conversation.ids().len();
    conversation.observe(&ids).unwrap();
    conversation.finish(EndedBy::Model).unwrap();
    assert_eq!(conversation.message().content, "Yes.");
    assert!(
        conversation
            .message()
            .reasoning_content
            .contains("Is it </think>?")
    );
    let reasoning = conversation.tokens()[from..]
        .iter()
        .filter(|token| token.field.kind == FieldKind::Reasoning)
        .count();
    assert!(reasoning >= 8);
    // The next turn has the same message.
    let next = conversation.extend(&json!([user("And?")])).unwrap();
    assert_eq!(
        (&*next.message.content, next.kept),
        ("Yes.", from + ids.len())
    );
    assert!(bytes(&next, &conversation).ends_with("And?<|im_end|>\n<|im_start|>assistant\n"));
}

/// A template that drops the thoughts of earlier turns.
#[test]
fn thoughts_that_history_drops() {
    let source = "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.reasoning_content and loop.last %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    let toy = std::sync::Arc::new(super::toy::Toy::new(&[
        "<|im_start|>",
        "<|im_end|>",
        "<think>",
        "</think>",
    ]));
    for append in ["template", "always"] {
        let template = chatparse::ChatTemplate::new(source, "", "<|im_end|>").unwrap();
        let request =
            chatparse::Request::from_json(&json!({"messages": [], "append": append})).unwrap();
        let mut conversation = template.conversation(toy.clone(), request).unwrap();
        let prompt = conversation
            .prompt_ids(&json!([user("How is it?")]))
            .unwrap()
            .len();
        conversation
            .observe(&sampled(
                &toy,
                "<think>\nI see.\n</think>\n\nYes.<|im_end|>",
            ))
            .unwrap();
        let before = conversation.ids().to_vec();
        let next = conversation.extend(&json!([user("And?")])).unwrap();
        let rewrite = next.rewrite.as_ref().unwrap();
        assert_eq!((rewrite.why.reason, rewrite.token), ("reasoning", prompt));
        if append == "always" {
            assert_eq!(
                (next.kept, &conversation.ids()[..before.len()]),
                (before.len(), &before[..])
            );
            assert!(bytes(&next, &conversation).starts_with("\n<|im_start|>user\nAnd?"));
        } else {
            // What the template writes in its place was not sampled.
            assert_eq!(next.kept, prompt);
            assert!(
                bytes(&next, &conversation).contains("Yes.<|im_end|>\n<|im_start|>user\nAnd?"),
                "{:?}",
                bytes(&next, &conversation)
            );
            assert!(conversation.mask().all(|sampled| !sampled));
        }
        assert_decodes(&conversation);
    }
}
