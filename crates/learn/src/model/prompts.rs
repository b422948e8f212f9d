//! Prompts that take more than a render of the request: the hooks of the families.
//! Not learnt, because renders show what a template writes, and not what it should be given.

use std::collections::HashMap;

use serde_json::Value;

use crate::prompt::{Prompt, PromptInput, calls_of, plain, render, render_changed, render_with};
use chatparse_base::{Result, number};
use chatparse_jinja::Conversation;
use chatparse_message::{Compat, text_part};

/// Muse's prompt ends with the opening; the model writes the recipient after it.
pub fn muse(input: &PromptInput) -> Result<Prompt> {
    let prompt = input.template.render(&input.prepared.conversation)?;
    let prompt = Prompt {
        prompt,
        generation_prompt: "<|start|>assistant".to_owned(),
    };
    Ok(prompt.continued(
        input,
        "<|start|>assistant to=self<|message|>",
        "<|eom|><|start|>assistant to=user<|message|>",
    ))
}

/// DeepSeek V4 renders tool results in the order of the calls and the schema of the response, and
/// closes empty reasoning without opening it.
pub fn deepseek_v4(input: &PromptInput) -> Result<Prompt> {
    let mut conversation: Conversation = input.prepared.conversation.clone();
    let mut messages = Value::clone(&conversation.messages);
    order_results(messages.as_array_mut().map_or(&mut [], Vec::as_mut_slice));
    conversation.messages = messages.into();
    if input.request.output.json_schema.is_object() {
        conversation.extra.insert(
            "response_format".to_owned(),
            input.request.output.json_schema.0.clone(),
        );
    }
    let prompt = render(input, &conversation)?;
    let continued = input.prepared.continued.as_ref();
    let reasons = continued.is_some_and(|message| !message.reasoning_content.is_empty());
    let (opening, end) = match reasons {
        true => ("<｜Assistant｜><think>", "</think>"),
        false => ("<｜Assistant｜></think>", ""),
    };
    Ok(prompt.continued(input, opening, end))
}

/// Sorts the results in each run of tool and user messages by the order of the calls they answer.
/// Results of unknown calls go first.
fn order_results(messages: &mut [Value]) {
    let mut order: HashMap<String, usize> = HashMap::new();
    let mut at = 0;
    while at < messages.len() {
        if let Some(calls) = calls_of(&messages[at]) {
            let ids = calls
                .iter()
                .map(|call| call["id"].as_str().unwrap_or_default());
            let ids = ids.map(str::to_owned).zip(0..);
            order = ids.filter(|(id, _)| !id.is_empty()).collect();
            at += 1;
            continue;
        }
        let run = messages[at..].iter_mut();
        let run = run.take_while(|message| message["role"] == "tool" || message["role"] == "user");
        let mut run: Vec<&mut Value> = run.collect();
        at += run.len().max(1);
        run.retain(|message| message["role"] == "tool");
        let mut results: Vec<Value> = run.iter().map(|result| Value::clone(result)).collect();
        chatparse_base::sort::by_key(&mut results, |result| {
            let id = result["tool_call_id"].as_str();
            id.and_then(|id| order.get(id)).copied().unwrap_or(0)
        });
        for (place, result) in run.into_iter().zip(results) {
            *place = result;
        }
    }
}

/// Renders the prompt. Older templates do not accept tool messages, and after a finished turn the
/// model always begins a new one.
pub fn gemma_4(input: &PromptInput) -> Result<Prompt> {
    const TURN: &str = "<|turn>model\n";
    const TURN_END: &str = "<turn|>\n";
    let conversation = &input.prepared.conversation;
    let mut prompt = match &*conversation.messages {
        Value::Array(messages)
            if !input
                .template
                .source()
                .contains("{#- OpenAI Chat Completions:") =>
        {
            let joins = input.request.output.compat == Compat::Off;
            render_with(input, fold_results(messages, joins).into())?
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

/// Folds an assistant message with calls, the tool messages that answer it, and an assistant
/// message with content after those into one assistant message with `tool_responses`.
fn fold_results(messages: &[Value], joins: bool) -> Vec<Value> {
    let mut folded = Vec::new();
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        rest = after;
        let Some(calls) = calls_of(message) else {
            folded.push(message.clone());
            continue;
        };
        let (results, after) = rest.split_at(
            rest.iter()
                .take_while(|message| message["role"] == "tool")
                .count(),
        );
        rest = after;
        let mut turn = json!({"role": "assistant", "tool_calls": calls});
        if !results.is_empty() {
            let responses = results
                .iter()
                .enumerate()
                .map(|(index, result)| response(result, calls.get(index), joins));
            turn["tool_responses"] = responses.collect();
        }
        // A turn has one content: the one after the results or, without it, the one beside the
        // calls.
        if let Some((content, after)) = closing_content(rest) {
            turn["content"] = content.clone();
            rest = after;
        } else if let Some(content) = message.get("content").filter(|content| has_text(content)) {
            turn["content"] = content.clone();
        }
        if let Some(reasoning @ Value::String(_)) = message.get("reasoning_content") {
            turn["reasoning_content"] = reasoning.clone();
        }
        folded.push(turn);
    }
    folded
}

/// The content of an assistant message without calls, and the messages after it.
fn closing_content(messages: &[Value]) -> Option<(&Value, &[Value])> {
    let (message, after) = messages.split_first()?;
    let content = message
        .get("content")
        .filter(|_| message["role"] == "assistant" && calls_of(message).is_none())?;
    has_text(content).then_some((content, after))
}

fn has_text(content: &Value) -> bool {
    match content {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        _ => false,
    }
}

/// A tool message as a response, named after the call at the same index or, without one, by its id.
/// JSON text is parsed.
fn response(result: &Value, call: Option<&Value>, joins: bool) -> Value {
    let name = call
        .and_then(|call| call["function"]["name"].as_str())
        .filter(|name| !name.is_empty())
        .or_else(|| result["tool_call_id"].as_str())
        .unwrap_or_default();
    let content = &result["content"];
    let texts = content
        .as_array()
        .is_some_and(|parts| joins && parts.iter().all(|part| part["type"] == "text"));
    let response = if texts || content.is_string() {
        let text = text(content);
        number::read(&text).unwrap_or_else(|_| json!(text))
    } else {
        content.clone()
    };
    json!({"name": name, "response": response})
}

/// Renders the prompt. The template accepts only one of reasoning and content beside calls: the
/// content follows the reasoning as the model writes it, except in llama.cpp's way. If the prompt
/// ends with a complete turn, that turn ends as one inside a conversation, not as the last.
pub fn harmony(input: &PromptInput) -> Result<Prompt> {
    const ANALYSIS: &str = "<|start|>assistant<|channel|>analysis<|message|>";
    const PREAMBLE: &str = "<|end|><|start|>assistant<|channel|>commentary<|message|>";
    let keeps =
        input.request.output.compat == Compat::Off && input.template.source().contains(ANALYSIS);
    let mut prompt = if input
        .request
        .messages
        .iter()
        .any(|message| !message.tool_calls.is_empty() && !message.reasoning_content.is_empty())
    {
        render_changed(input, |message| {
            let calls = message
                .get("tool_calls")
                .and_then(Value::as_array)
                .is_some_and(|calls| !calls.is_empty());
            if calls && message.get("thinking").is_some() {
                let said = message
                    .as_object_mut()
                    .and_then(|map| map.shift_remove("content"))
                    .unwrap_or_default();
                if let (true, Value::String(thinking)) =
                    (keeps && has_text(&said), &mut message["thinking"])
                {
                    *thinking += PREAMBLE;
                    *thinking += &text(&said);
                }
            }
        })?
    } else {
        plain(input)?
    };
    if !input.prepared.conversation.add_generation_prompt {
        const LAST_WORD: &str = "<|return|>";
        if let Some(at) = prompt.prompt.rfind(LAST_WORD) {
            prompt
                .prompt
                .replace_range(at..at + LAST_WORD.len(), "<|end|>");
        }
    }
    Ok(prompt.continued(
        input,
        ANALYSIS,
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ))
}

/// The fields of the part.
const LANGUAGES: [&str; 2] = ["source_lang_code", "target_lang_code"];
/// The language that a request does not name, as in llama.cpp.
const DEFAULT_LANGUAGE: &str = "en-GB";

/// Renders the prompt, with the texts of each user message as one part.
pub fn translate_gemma(input: &PromptInput) -> Result<Prompt> {
    let prompt = render_changed(input, |message| {
        if message["role"] == "user" {
            let mut part = text_part(&text(&message["content"]));
            for name in LANGUAGES {
                part[name] = input
                    .request
                    .template_kwargs
                    .get(name)
                    .cloned()
                    .unwrap_or_else(|| json!(DEFAULT_LANGUAGE));
            }
            message["content"] = [part].into_iter().collect();
        }
    })?;
    Ok(prompt.continued_with(input.prepared, |message, _| {
        format!("<start_of_turn>model\n{}", message.text())
    }))
}

/// A content as one text.
fn text(content: &Value) -> String {
    let texts = match content {
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        text => Vec::from_iter(text.as_str()),
    };
    texts.join("\n")
}
