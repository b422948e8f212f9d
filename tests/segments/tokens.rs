//! Labels of tokens, batches, and what is said where something runs out.

use std::ops::Range;

use chatparse::{ChatTemplate, MaskParts, Offsets, Origin, Request};
use serde_json::{Value, json};

const THINKING: &str = "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}<think>{{ m.reasoning_content }}</think>{% endif %}\
    {{ m.content }}<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|><think>{% endif %}";

fn request(messages: &Value, more: &Value) -> Request {
    let mut options = json!({"for_training": true, "now": 0});
    options
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    Request::from_json_with(&json!({"messages": messages}), &options).unwrap()
}

fn conversation() -> Value {
    json!([{"role": "user", "content": "Grüß dich 👋"}, {"role": "assistant", "reasoning_content": "Ähm.", "content": "Ja?"}])
}

#[test]
fn each_token_has_its_message_and_part() {
    let template = ChatTemplate::new(THINKING, "", "").unwrap();
    let found = template
        .segments(&request(&conversation(), &json!({})))
        .unwrap();
    assert_eq!(
        found.prompt,
        "<|user|>Grüß dich 👋<|end|>\n<|assistant|><think>Ähm.</think>Ja?<|end|>\n"
    );
    // One token for each character, in characters and in bytes.
    let chars: Vec<_> = (0..found.prompt.chars().count())
        .map(|at| at..at + 1)
        .collect();
    let bytes: Vec<_> = found
        .prompt
        .char_indices()
        .map(|(at, c)| at..at + c.len_utf8())
        .collect();
    let texts = |parts: MaskParts| {
        let labels = found.tokens(Offsets::Chars(&chars), parts).unwrap();
        assert_eq!(labels, found.tokens(Offsets::Bytes(&bytes), parts).unwrap());
        let is = |wanted: &dyn Fn(usize) -> bool| -> String {
            found
                .prompt
                .chars()
                .enumerate()
                .filter(|(index, _)| wanted(*index))
                .map(|(_, c)| c)
                .collect()
        };
        let sampled = is(&|index| labels[index].sampled);
        let body = is(&|index| labels[index].is_body());
        let of_user = is(&|index| labels[index].message == Some(0));
        (
            sampled,
            body,
            of_user,
            is(&|index| labels[index].message == Some(1)),
        )
    };
    let (sampled, body, of_user, of_model) = texts(MaskParts::default());
    assert_eq!(sampled, "Ähm.</think>Ja?<|end|>");
    assert_eq!(
        (body.as_str(), of_user.as_str()),
        ("Grüß dich 👋Ähm.Ja?", "Grüß dich 👋")
    );
    assert_eq!(of_model, "<think>Ähm.</think>Ja?<|end|>\n");
    let mut besides = MaskParts::default();
    (besides.prefill, besides.space) = (true, true);
    assert_eq!(texts(besides).0, of_model);
    let mut content = MaskParts::default();
    (content.reasoning, content.end) = (false, false);
    assert_eq!(texts(content).0, "Ja?");
}

#[test]
fn a_token_over_a_border_is_never_the_templates() {
    let template = ChatTemplate::new(
        "[{{ messages[0].content }}][{{ messages[1].content[1:] }}]",
        "",
        "",
    )
    .unwrap();
    let messages = json!([{"role": "user", "content": "ab"}, {"role": "user", "content": "cde"}]);
    let found = template.segments(&request(&messages, &json!({}))).unwrap();
    assert_eq!(found.prompt, "[ab][de]");
    let origin = |place| {
        found
            .tokens(Offsets::Bytes(&[place]), MaskParts::default())
            .unwrap()[0]
            .origin
            .name()
    };
    assert_eq!(
        [
            origin(0..1),
            origin(0..2),
            origin(2..5),
            origin(3..5),
            origin(3..6)
        ],
        ["template", "message", "message", "template", "unknown"]
    );
    // Empty tokens are nobody's; those outside are errors.
    assert_eq!([origin(0..0), origin(2..2), origin(8..8)], ["template"; 3]);
    for wrong in [8..9, Range { start: 5, end: 4 }, usize::MAX..usize::MAX] {
        let error = found
            .tokens(Offsets::Chars(&[0..1, wrong]), MaskParts::default())
            .unwrap_err();
        assert!(error.message().starts_with("offsets[1]: "), "{error}");
    }
}

#[test]
fn a_batch_has_what_each_request_has_alone() {
    let template = ChatTemplate::new(THINKING, "", "").unwrap();
    let requests: Vec<Request> = (0..40)
        .map(|index| {
            request(
                &json!([{"role": "user", "content": format!("Say {index}")}, {"role": "assistant", "content": "No"}]),
                &json!({}),
            )
        })
        .collect();
    let alone: Vec<_> = requests
        .iter()
        .map(|request| template.segments(request).unwrap())
        .collect();
    for threads in [0, 1, 3, 100] {
        let batch: Vec<_> = template
            .segments_batch(&requests, threads)
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert_eq!(batch, alone, "{threads}");
    }
    let refusing = ChatTemplate::new(
        "{{ messages[0].content if messages|length > 1 else raise_exception('one') }}",
        "",
        "",
    )
    .unwrap();
    let one = request(&json!([{"role": "user", "content": "a"}]), &json!({}));
    let batch = refusing.segments_batch(&[requests[0].clone(), one], 2);
    assert!(batch[0].is_ok() && batch[1].is_err());
}

#[test]
fn any_text_and_any_comparison_is_known() {
    let template = ChatTemplate::new(THINKING, "", "").unwrap();
    let limit = |template: &ChatTemplate, messages: Value| {
        template
            .segments(&request(&messages, &json!({})))
            .unwrap()
            .limit
    };
    assert_eq!(limit(&template, conversation()), None);
    // Letters that no prompt has.
    let letters: String = ('\u{a840}'..='\u{a871}')
        .chain('\u{a500}'..='\u{a60b}')
        .chain('\u{a000}'..='\u{a0ff}')
        .collect();
    let messages =
        json!([{"role": "user", "content": letters}, {"role": "assistant", "content": "x"}]);
    let variable = json!({"chat_template_kwargs": {"note": "mine"}});
    let found = template.segments(&request(&messages, &variable)).unwrap();
    assert_eq!((found.limit, found.turns.len()), (None, 1));
    let content = Origin::Message {
        index: 0,
        path: "/content".to_owned(),
    };
    assert!(
        found
            .segments
            .iter()
            .any(|segment| segment.origin == content)
    );
    // Each value is compared by itself.
    let compared: String = (0..60)
        .map(|index| {
            format!("{{% if messages[{index}].content == 'v{index}' %}}{index}{{% endif %}}")
        })
        .collect();
    let comparing = ChatTemplate::new(
        &format!("{{% for m in messages %}}{{{{ m.content }}}}{{% endfor %}}{compared}"),
        "",
        "",
    )
    .unwrap();
    let messages: Value = (0..60)
        .map(|index| json!({"role": "user", "content": format!("v{index}")}))
        .collect();
    assert_eq!(limit(&comparing, messages), None);
}
