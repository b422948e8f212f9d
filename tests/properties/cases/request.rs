//! Any request: an error, or params whose parts hold together. Nothing panics, whatever the types.

use chatparse::grammar::Recogniser;
use chatparse::message::Continuation;
use chatparse::{EndedBy, ErrorKind, Message, Parser, Request, Stream};
use serde_json::Value;

use super::choices::Choices;
use super::known;

/// Names of fields, and texts that mean something as values.
const WORDS: &[&str] = &[
    "messages",
    "role",
    "user",
    "assistant",
    "system",
    "developer",
    "tool",
    "content",
    "text",
    "type",
    "media_marker",
    "name",
    "reasoning_content",
    "tool_calls",
    "tool_call_id",
    "id",
    "function",
    "arguments",
    "{",
    "{}",
    "{\"a\": [1]}",
    "[1]",
    "tools",
    "description",
    "parameters",
    "properties",
    "required",
    "object",
    "string",
    "tool_choice",
    "auto",
    "required",
    "none",
    "parallel_tool_calls",
    "reasoning_format",
    "deepseek",
    "malformed_arguments",
    "keep",
    "empty",
    "error",
    "enable_thinking",
    "json_schema",
    "grammar",
    "root ::= \"a\"",
    "add_generation_prompt",
    "continue_final_message",
    "chat_template_kwargs",
    "force_pure_content",
    "now",
    "get",
    "<think>",
    "</think>",
    "<tool_call>",
    "<|im_end|>",
    "é😀\0",
    "{{ x }}",
    "{% if %}",
];

pub fn case(bytes: &[u8]) {
    if let Some(text) = Choices::text(bytes) {
        if let Ok(request) = Request::from_text(text) {
            use_it(0, &request);
        }
        return;
    }
    let mut choices = Choices::new(bytes);
    let number = choices.below(known::templates());
    let mut body = known::request(choices.below(known::REQUESTS));
    for _ in 0..choices.below(4) {
        body["messages"]
            .as_array_mut()
            .expect("an array")
            .push(choices.pick(&known::messages()).clone());
    }
    for _ in 0..choices.below(6) {
        choices.mutate_json(&mut body, WORDS);
    }
    let read = if choices.once_in(6) {
        let pieces: Vec<String> = WORDS.iter().map(|word| (*word).to_owned()).collect();
        Request::from_text(&choices.mutate_text(&body.to_string(), &pieces))
    } else {
        Request::from_json(&body)
    };
    match read {
        Ok(request) => use_it(number, &request),
        Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{body}: {error}"),
    }
    drop(Message::from_json(&body));
}

fn use_it(template: usize, request: &Request) {
    let template = known::template(template);
    for message in &request.messages {
        let again = Message::from_json(&message.to_json())
            .unwrap_or_else(|error| panic!("{message:?}: {error}"));
        assert_eq!(again.to_json(), message.to_json());
    }
    drop(template.prompt(request));
    let params = match template.params(request) {
        Ok(params) => params,
        Err(error) => {
            let kind = error.kind();
            assert!(
                !matches!(kind, ErrorKind::Internal | ErrorKind::Parse),
                "{kind:?}: {error}"
            );
            return;
        }
    };
    let grammar = &params.grammar().text;
    if !grammar.is_empty() {
        Recogniser::new(grammar).unwrap_or_else(|error| panic!("{request:?}: {error}\n{grammar}"));
    }
    assert!(matches!(params.to_json(), Value::Object(_)));
    if request.add_generation_prompt && request.continuation == Continuation::None {
        let end = &params.generation_prompt;
        assert!(
            params.prompt.ends_with(end),
            "{request:?}: {:?} does not end with {end:?}",
            params.prompt
        );
    }
    let stored = Parser::from_text(&params.parser.to_text())
        .unwrap_or_else(|error| panic!("{request:?}: {error}"));
    assert_eq!(stored.to_text(), params.parser.to_text());
    let mut stream = Stream::new(&params.parser);
    let _ = stream.feed(b"Hi<tool_call>\n{\"name\": \"get\", \"arguments\": {\"key\": 1");
    stream.finish(EndedBy::Limit);
}
