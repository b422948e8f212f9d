//! Gemma 4: calls in a notation of its own, and tool results as a part of the assistant's turn.

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, plain, render};
use crate::template::Conversation;

/// The opening of a call, as the template writes it.
pub fn detect(source: &str) -> bool {
    source.contains("'<|tool_call>call:'")
}

/// As the template renders it, except that older ones know no tool messages, and that after a turn that ended, the model
/// always begins a new one.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    const TURN: &str = "<|turn>model\n";
    const TURN_END: &str = "<turn|>\n";
    let conversation = &input.prepared.conversation;
    let mut prompt = match &conversation.messages {
        Value::Array(messages) if !input.template.source().contains("{#- OpenAI Chat Completions:") => {
            let messages = Value::Array(fold_results(messages));
            render(input, &Conversation { messages, ..conversation.clone() })?
        }
        _ => plain(input)?,
    };
    let ended = prompt.prompt.ends_with(TURN_END);
    if conversation.add_generation_prompt && ended {
        prompt.generation_prompt = TURN.to_owned();
        prompt.prompt.push_str(TURN);
    }
    let opening = format!("{}<|channel>thought\n", if ended { TURN } else { "" });
    Ok(prompt.continued(input, &opening, "<channel|>"))
}

/// Folds an assistant message with calls, the tool messages that answer it, and an assistant message with content after
/// those into one assistant message with `tool_responses`.
fn fold_results(messages: &[Value]) -> Vec<Value> {
    let mut folded = Vec::new();
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        rest = after;
        let Some(calls) = calls_of(message) else {
            folded.push(message.clone());
            continue;
        };
        let (results, after) = rest.split_at(rest.iter().take_while(|message| message["role"] == "tool").count());
        rest = after;
        let mut turn = Map::new();
        turn.insert("role".to_owned(), json!("assistant"));
        turn.insert("tool_calls".to_owned(), json!(calls));
        if !results.is_empty() {
            let responses = results.iter().enumerate().map(|(index, result)| response(result, calls.get(index)));
            turn.insert("tool_responses".to_owned(), responses.collect());
        }
        if let Some((content, after)) = closing_content(rest) {
            turn.insert("content".to_owned(), content.clone());
            rest = after;
        }
        if let Some(reasoning @ Value::String(_)) = message.get("reasoning_content") {
            turn.insert("reasoning_content".to_owned(), reasoning.clone());
        }
        folded.push(Value::Object(turn));
    }
    folded
}

/// The calls of an assistant message that makes some.
fn calls_of(message: &Value) -> Option<&Vec<Value>> {
    let calls = message.get("tool_calls").filter(|_| message["role"] == "assistant")?.as_array()?;
    (!calls.is_empty()).then_some(calls)
}

/// The content of an assistant message that only says something, and what follows it.
fn closing_content(messages: &[Value]) -> Option<(&Value, &[Value])> {
    let (message, after) = messages.split_first()?;
    let content = message.get("content").filter(|_| message["role"] == "assistant" && calls_of(message).is_none())?;
    let says = match content {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        _ => false,
    };
    says.then_some((content, after))
}

/// A tool message as a response: under the name of the call in the same place, or else its id. JSON text is read.
fn response(result: &Value, call: Option<&Value>) -> Value {
    let name = call.and_then(|call| call["function"]["name"].as_str()).filter(|name| !name.is_empty());
    let name = name.or_else(|| result["tool_call_id"].as_str()).unwrap_or_default();
    let response = match result.get("content") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        content => content.cloned().unwrap_or_default(),
    };
    json!({"name": name, "response": response})
}
