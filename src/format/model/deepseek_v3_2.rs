//! DeepSeek V3.2 and V4: calls as XML whose tags carry the DSML token.

use std::collections::HashMap;

use serde_json::Value;

use super::has_all;
use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, plain, render};
use crate::template::Conversation;

/// The token, kept in a variable, and either name of the block of calls.
pub fn detect(source: &str) -> bool {
    has_all(source, &["dsml_token", "DSML"]) && (source.contains("function_calls") || source.contains("tool_calls"))
}

/// Whether the template is V4's, which calls the block of calls `tool_calls`.
pub fn is_v4(source: &str) -> bool {
    !source.contains("function_calls")
}

/// V4 renders tool results in the order of the calls, knows the schema of the response, and closes empty reasoning
/// without having opened it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    const OPENING: &str = "<｜Assistant｜>";
    let reasoning = format!("{OPENING}<think>");
    if !is_v4(input.template.source()) {
        return Ok(plain(input)?.continued(input, &reasoning, "</think>"));
    }
    let mut conversation: Conversation = input.prepared.conversation.clone();
    if let Value::Array(messages) = &mut conversation.messages {
        order_results(messages);
    }
    if input.request.json_schema.is_object() {
        conversation.extra.insert("response_format".to_owned(), input.request.json_schema.clone());
    }
    let prompt = render(input, &conversation)?;
    if input.prepared.continued.as_ref().is_some_and(|message| message.reasoning_content.is_empty()) {
        return Ok(prompt.continued(input, &format!("{OPENING}</think>"), ""));
    }
    Ok(prompt.continued(input, &reasoning, "</think>"))
}

/// Within each run of tool and user messages, puts the results in the order of the calls they answer. Results of unknown
/// calls go first.
fn order_results(messages: &mut [Value]) {
    let mut order: HashMap<String, usize> = HashMap::new();
    let mut at = 0;
    while at < messages.len() {
        if let Some(calls) = calls_of(&messages[at]) {
            let ids =
                calls.iter().enumerate().filter_map(|(index, call)| Some((call["id"].as_str()?.to_owned(), index)));
            order = ids.filter(|(id, _)| !id.is_empty()).collect();
            at += 1;
            continue;
        }
        let in_run = |message: &&Value| message["role"] == "tool" || message["role"] == "user";
        let len = messages[at..].iter().take_while(in_run).count();
        let run = &mut messages[at..at + len];
        let places: Vec<usize> = (0..len).filter(|&index| run[index]["role"] == "tool").collect();
        let mut results: Vec<Value> = places.iter().map(|&index| run[index].clone()).collect();
        let place = |result: &Value| result["tool_call_id"].as_str().and_then(|id| order.get(id)).copied().unwrap_or(0);
        results.sort_by_key(place);
        for (index, result) in places.into_iter().zip(results) {
            run[index] = result;
        }
        at += len.max(1);
    }
}

/// The calls of an assistant message that makes some.
fn calls_of(message: &Value) -> Option<&Vec<Value>> {
    let calls = message.get("tool_calls").filter(|_| message["role"] == "assistant")?.as_array()?;
    (!calls.is_empty()).then_some(calls)
}
