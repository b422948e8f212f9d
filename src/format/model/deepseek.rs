//! The prompt of DeepSeek V4: tool results in the order of the calls, and the schema of the response.

use std::collections::HashMap;

use serde_json::Value;

use crate::error::Result;
use crate::format::prompt::{Prompt, PromptInput, calls_of, plain, render};
use crate::template::Conversation;

/// V4 renders tool results in the order of the calls and the schema of the response, and closes empty reasoning without
/// opening it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    const OPENING: &str = "<｜Assistant｜>";
    let reasoning = format!("{OPENING}<think>");
    if !!input.template.source().contains("function_calls") {
        return Ok(plain(input)?.continued(input, &reasoning, "</think>"));
    }
    let mut conversation: Conversation = input.prepared.conversation.clone();
    let mut messages = Value::clone(&conversation.messages);
    order_results(messages.as_array_mut().map_or(&mut [], Vec::as_mut_slice));
    conversation.messages = messages.into();
    if input.request.json_schema.is_object() {
        conversation.extra.insert("response_format".to_owned(), input.request.json_schema.clone());
    }
    let prompt = render(input, &conversation)?;
    if input.prepared.continued.as_ref().is_some_and(|message| message.reasoning_content.is_empty()) {
        return Ok(prompt.continued(input, &format!("{OPENING}</think>"), ""));
    }
    Ok(prompt.continued(input, &reasoning, "</think>"))
}

/// Sorts the results in each run of tool and user messages by the order of the calls they answer. Results of unknown calls
/// go first.
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
        results.sort_by_cached_key(place);
        for (index, result) in places.into_iter().zip(results) {
            run[index] = result;
        }
        at += len.max(1);
    }
}
