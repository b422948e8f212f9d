//! Conversations in the ids of a small tokenizer, with the built-in templates.

mod loops;
mod prompts;
mod seams;
mod toy;

use chatparse_stream::EndedBy;
use std::sync::Arc;

use chatparse::conversation::{Conversation, FieldKind};
use chatparse::{ChatTemplate, Request, builtin};
use serde_json::{Value, json};

use toy::Toy;

/// What looks like a special token of a template.
fn markers(template: &ChatTemplate) -> Vec<String> {
    let source = template.source();
    let mut found: Vec<String> = Vec::new();
    for (at, open) in source.match_indices(['<', '[']) {
        let close = if open == "<" { '>' } else { ']' };
        let Some(end) = source[at..].find(close) else {
            continue;
        };
        let text = &source[at..=at + end];
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '|' | '/' | '▁' | '｜');
        let inner = &text[1..end];
        let is_marker = !inner.is_empty()
            && inner.chars().all(is_name)
            && (open == "<"
                || inner
                    .chars()
                    .all(|c| c.is_uppercase() || c == '_' || c == '/'));
        if is_marker && !found.iter().any(|known| known == text) {
            found.push(text.to_owned());
        }
    }
    found
}

fn templates() -> Vec<(String, ChatTemplate, Arc<Toy>)> {
    let all = builtin::names().map(|name| (name.to_owned(), ChatTemplate::builtin(name).unwrap()));
    all.map(|(name, template)| {
        let toy = Toy::new(&markers(&template));
        (name, template, Arc::new(toy))
    })
    .collect()
}

fn options(append: &str) -> Request {
    let tool = |name: &str, properties: Value| {
        let parameters = json!({"type": "object", "properties": properties});
        json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
    };
    let tools = [
        tool(
            "look",
            json!({"place": {"type": "string"}, "days": {"type": "integer"}}),
        ),
        tool("now", json!({})),
    ];
    Request::from_json(&json!({"messages": [], "tools": tools, "now": 0, "append": append}))
        .unwrap()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The ids of what a model writes: its markers are special tokens.
fn sampled(toy: &Toy, text: &str) -> Vec<u32> {
    toy.encode_all(text)
}

fn json_call() -> (Conversation, Arc<Toy>) {
    opened("json-call", "always")
}

fn opened(name: &str, append: &str) -> (Conversation, Arc<Toy>) {
    let template = ChatTemplate::builtin(name).unwrap();
    let toy = Arc::new(Toy::new(&markers(&template)));
    let mut conversation = template.conversation(toy.clone(), options(append)).unwrap();
    conversation
        .prompt_ids(&json!([user("How is it?")]))
        .unwrap();
    (conversation, toy)
}

/// The decoded ids are the text in front of the output, and the output.
fn assert_decodes(conversation: &Conversation) {
    let text = conversation.decode(conversation.ids()).unwrap();
    let expected = [conversation.prompt().as_bytes(), conversation.output()].concat();
    assert_eq!(
        String::from_utf8_lossy(&text),
        String::from_utf8_lossy(&expected)
    );
}

#[test]
fn what_tokens_became() {
    let (mut conversation, toy) = json_call();
    let text = "<think>\nSee.\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"place\": \"Oslo\", \"days\": 3}}\n</tool_call><|im_end|>";
    let ids = sampled(&toy, text);
    let logprobs: Vec<f32> = (0..ids.len()).map(|number| -(number as f32)).collect();
    let from = conversation.ids().len();
    let observed = conversation.observe_with(&ids, &logprobs).unwrap();
    assert!(observed.ended);
    conversation.finish(EndedBy::Model).unwrap();
    let of = |kind: FieldKind, argument: Option<&str>| {
        let tokens = conversation.tokens()[from..].iter().zip(&ids);
        let own = tokens.filter(|(token, _)| {
            token.field.kind == kind
                && argument.is_none_or(|argument| token.field.argument.as_deref() == Some(argument))
        });
        let ids: Vec<u32> = own.map(|(_, id)| *id).collect();
        String::from_utf8(conversation.decode(&ids).unwrap()).unwrap()
    };
    assert!(
        of(FieldKind::Reasoning, None).contains("See."),
        "{:?}",
        conversation.tokens()
    );
    assert!(of(FieldKind::Content, None).contains("I look."));
    assert!(of(FieldKind::ToolName, None).contains("look"));
    assert!(of(FieldKind::ToolArguments, Some("place")).contains("Oslo"));
    assert!(of(FieldKind::ToolArguments, Some("days")).contains('3'));
    assert!(!of(FieldKind::ToolArguments, Some("days")).contains("Oslo"));
    let markup = of(FieldKind::Markup, None);
    assert!(
        [
            "<think>",
            "</think>",
            "<tool_call>",
            "</tool_call>",
            "<|im_end|>"
        ]
        .iter()
        .all(|text| markup.contains(text)),
        "{markup}"
    );
    assert_eq!(conversation.tokens()[from + 3].logprob, Some(-3.0));
    assert!(
        conversation.mask().take(from).all(|sampled| !sampled)
            && conversation.mask().skip(from).all(|sampled| sampled)
    );
    assert_eq!(conversation.message().tool_calls[0].name, "look");
}

#[test]
fn back_and_aside() {
    let (mut conversation, toy) = json_call();
    let first = conversation.ids().len();
    conversation
        .observe(&sampled(&toy, "It rains in Os"))
        .unwrap();
    let there = conversation.ids().len();
    let mut other = conversation.clone();
    other.observe(&sampled(&toy, "ter.<|im_end|>")).unwrap();
    conversation
        .observe_with(&sampled(&toy, "l"), &[-1.0])
        .unwrap();
    conversation.rewind(there).unwrap();
    conversation
        .observe(&sampled(&toy, "lo.<|im_end|>"))
        .unwrap();
    assert_eq!(other.message().content, "It rains in Oster.");
    assert_eq!(conversation.message().content, "It rains in Oslo.");
    assert_eq!(other.ids()[..there], conversation.ids()[..there]);
    assert!(conversation.rewind(first - 1).is_err());
    conversation.rewind(first).unwrap();
    assert_eq!(conversation.message().content, "");
    // A clone goes back further.
    let before = other.clone();
    other.extend(&json!([user("And then?")])).unwrap();
    assert!(other.rewind(there).is_err());
    assert_eq!(before.message().content, "It rains in Oster.");
}

#[test]
fn what_cannot_be() {
    let (mut conversation, toy) = json_call();
    let before = conversation.ids().to_vec();
    assert!(conversation.observe(&[65, 99_999]).is_err());
    assert!(conversation.observe_with(&[65], &[-1.0, -2.0]).is_err());
    assert!(conversation.extend(&json!([{"content": 3}])).is_err());
    assert_eq!(conversation.ids(), before);
    conversation.finish(EndedBy::Model).unwrap();
    assert!(conversation.observe(&[65]).is_err());
    let mut fresh = conversation.fresh();
    assert!(fresh.observe(&[65]).is_err() && fresh.ids().is_empty());
    fresh.prompt_ids(&json!([user("How is it?")])).unwrap();
    assert_eq!(fresh.ids(), before);
    assert!(!toy.is_special(65));
}

/// Where the ids are those of the whole conversation, its segments have the same mask.
#[test]
fn masks_are_those_of_segments() {
    let mut same = Vec::new();
    for (name, template, toy) in templates() {
        let request = |messages: &[Value], ask: bool| {
            let mut request = options("template");
            request.messages = Request::from_json(&json!({"messages": messages}))
                .unwrap()
                .messages;
            request.add_generation_prompt = ask;
            request
        };
        let mut messages = vec![user("How is it?")];
        let mut conversation = template
            .conversation(toy.clone(), options("template"))
            .unwrap();
        conversation.prompt_ids(&json!(messages)).unwrap();
        for answer in ["It rains.", "More rain."] {
            let with = [
                &messages[..],
                &[json!({"role": "assistant", "content": answer})],
            ]
            .concat();
            let whole = template.params(&request(&with, false)).unwrap();
            let Some(output) = whole.prompt.strip_prefix(conversation.prompt()) else {
                break;
            };
            let end = whole.end_of_turn();
            let length = output.find(end).map_or(output.len(), |at| at + end.len());
            conversation
                .observe(&sampled(&toy, &output[..length]))
                .unwrap();
            let next = conversation.extend(&json!([user("And?")])).unwrap();
            if next.rewrite.is_some() {
                break;
            }
            messages = [&with[..], &[user("And?")]].concat();
        }
        if messages.len() < 5 {
            continue;
        }
        let found = template.segments(&request(&messages, true)).unwrap();
        assert_eq!(found.prompt, conversation.prompt(), "{name}");
        let mut begin = 0;
        let places: Vec<_> = conversation
            .tokens()
            .iter()
            .map(|t| std::mem::replace(&mut begin, t.end)..t.end)
            .collect();
        let labels = found
            .tokens(
                chatparse::Offsets::Bytes(&places),
                chatparse::MaskParts::default(),
            )
            .unwrap();
        let labels: Vec<bool> = labels.iter().map(|label| label.sampled).collect();
        assert_eq!(conversation.mask().collect::<Vec<_>>(), labels, "{name}");
        same.push(name);
    }
    assert!(same.len() > 5, "{same:?}");
}

#[test]
fn whether_a_tokenizer_goes_with_a_template() {
    use chatparse::conversation::FindingKind;
    let found = |name: &str, special: &[&str]| {
        let template = ChatTemplate::builtin(name).unwrap();
        let conversation = template
            .conversation(Arc::new(Toy::new(special)), options("template"))
            .unwrap();
        conversation.check().unwrap()
    };
    let lacking = found("chatml", &["<|im_start|>"]);
    assert_eq!(
        (lacking[0].kind, lacking[0].token),
        (FindingKind::End, None)
    );
    assert!(lacking[0].words.contains("<|im_end|>") && lacking[0].messages == json!([]));
    let whole = found("chatml", &["<|im_start|>", "<|im_end|>"]);
    assert!(
        whole
            .iter()
            .all(|found| found.kind == FindingKind::Seam && found.token.is_some()),
        "{whole:?}"
    );
    let unmarked = found("json-call", &["<|im_start|>", "<|im_end|>"]);
    assert!(
        unmarked
            .iter()
            .any(|found| found.kind == FindingKind::Marker && found.words.contains("<tool_call>"))
    );
}
