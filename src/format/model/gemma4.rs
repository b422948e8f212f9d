//! Gemma 4: calls in a notation other than JSON, and tool results inside the assistant's turn.
//!
//! ```text
//! <|channel>thought
//! reasoning<channel|>content<|tool_call>call:f{x:<|"|>text<|"|>,n:[1,{k:true}]}<tool_call|>
//! ```
//!
//! Models write unpaired markers of channels; the parser skips them.
//!
//! Not learnt, because unpaired channel markers are never rendered, and because results must be moved into the turn before
//! the template renders them.

use serde_json::{Map, Value};

use crate::error::Result;
use crate::format::builder::FormatBuilder;
use crate::format::prompt::{Prompt, PromptInput, calls_of, plain, render};
use crate::format::{Delimiter, Format, FormatSpec, Thinking};
use crate::grammar::Trigger;
use crate::message::Tool;
use crate::peg::{Arena, ExprId};
use crate::template::Conversation;

/// The opening of a call, as the template writes it.
pub fn detect(source: &str) -> bool {
    source.contains("'<|tool_call>call:'")
}

/// Renders the prompt. Older templates do not accept tool messages, and behind a finished turn the model always begins a new
/// one.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    const TURN: &str = "<|turn>model\n";
    const TURN_END: &str = "<turn|>\n";
    let conversation = &input.prepared.conversation;
    let mut prompt = match &*conversation.messages {
        Value::Array(messages) if !input.template.source().contains("{#- OpenAI Chat Completions:") => {
            let messages = Value::Array(fold_results(messages)).into();
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
        // A turn has one content: the one behind the results or, without it, the one beside the calls.
        if let Some((content, after)) = closing_content(rest) {
            turn.insert("content".to_owned(), content.clone());
            rest = after;
        } else if let Some(content) = message.get("content").filter(|content| has_text(content)) {
            turn.insert("content".to_owned(), content.clone());
        }
        if let Some(reasoning @ Value::String(_)) = message.get("reasoning_content") {
            turn.insert("reasoning_content".to_owned(), reasoning.clone());
        }
        folded.push(Value::Object(turn));
    }
    folded
}

/// The content of an assistant message without calls, and the messages after it.
fn closing_content(messages: &[Value]) -> Option<(&Value, &[Value])> {
    let (message, after) = messages.split_first()?;
    let content = message.get("content").filter(|_| message["role"] == "assistant" && calls_of(message).is_none())?;
    has_text(content).then_some((content, after))
}

fn has_text(content: &Value) -> bool {
    match content {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        _ => false,
    }
}

/// A tool message as a response, named after the call at the same index or, without one, by its id. JSON text is parsed.
fn response(result: &Value, call: Option<&Value>) -> Value {
    let name = call.and_then(|call| call["function"]["name"].as_str()).filter(|name| !name.is_empty());
    let name = name.or_else(|| result["tool_call_id"].as_str()).unwrap_or_default();
    let response = match result.get("content") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        content => content.cloned().unwrap_or_default(),
    };
    json!({"name": name, "response": response})
}

const CHANNEL: [&str; 2] = ["<|channel>", "<channel|>"];
const THOUGHT: &str = "<|channel>thought";
const CALL: [&str; 2] = ["<|tool_call>", "<tool_call|>"];
const RESPONSE: &str = "<|tool_response>";
const QUOTE: &str = "<|\"|>";

/// The format for one request.
pub fn build(spec: &FormatSpec) -> Format {
    let tokens = [CHANNEL[0], CHANNEL[1], CALL[0], CALL[1], "<|turn>"];
    Format {
        name: "peg-gemma4",
        constraint: spec.constraint(spec.response_object().is_some(), [Trigger::word(CALL[0])]),
        preserved_tokens: tokens.map(str::to_owned).to_vec(),
        thinking: Some(Thinking::new(THOUGHT, [CHANNEL[1]])),
        delimiters: Delimiter::list([("user", "<|turn>user"), ("assistant", "<|turn>model")]),
        output: output(spec),
        ..Format::default()
    }
}

fn output(spec: &FormatSpec) -> Arena {
    let p = FormatBuilder::default();
    let turn = p.optional(p.literal("<|turn>model\n"));
    let open = p.sequence([p.literal(THOUGHT), p.space()]);
    // The line break in front of the end is the template's, unless another thought follows.
    let end = format!("\n{}", CHANNEL[1]);
    let close = p.sequence([p.optional(p.literal("\n")), p.literal(CHANNEL[1])]);
    let text = p.until_any([&*end, CHANNEL[1]]);
    let thought = match spec.extract_reasoning() {
        true => {
            let between = [p.reasoning(p.literal("\n")), p.literal(CHANNEL[1]), p.and(p.literal(THOUGHT))];
            let close = p.choice([p.tolerated(p.atomic(p.sequence(between))), close]);
            p.sequence([open, p.reasoning(text), close, p.markup_ends()])
        }
        false => p.sequence([p.and(p.literal(THOUGHT)), p.content(p.sequence([open, text, close]))]),
    };
    let unpaired = CHANNEL.map(|marker| p.literal(marker));
    let before = |markers: &[&str]| {
        let said = p.content(p.until_any(markers.iter().copied()));
        p.many(p.choice([thought, unpaired[0], unpaired[1], said]))
    };
    let body = if let Some(schema) = spec.response_object() {
        p.sequence([p.many(p.choice([thought, unpaired[0], unpaired[1]])), p.response(schema)])
    } else if spec.tools().is_empty() {
        before(&CHANNEL)
    } else {
        let calls = calls(&p, spec);
        let calls = p.calls(spec, calls);
        p.sequence([before(&[CHANNEL[0], CHANNEL[1], CALL[0]]), calls])
    };
    p.finish(p.sequence([turn, body, p.end()]))
}

fn calls(p: &FormatBuilder, spec: &FormatSpec) -> ExprId {
    notation(p);
    let each = p.any_tool(spec, &|tool| call(p, tool));
    let end = p.choice([p.literal(CALL[1]), p.end()]);
    let one = p.sequence([p.literal(format!("{}call:", CALL[0])), each, end, p.markup_ends()]);
    let most = if spec.parallel() { None } else { Some(1) };
    let calls = p.trigger_rule("tool-call", p.repeat(one, 1, most));
    // Some templates put the content behind the calls. A response to the calls ends the turn.
    let after = p.content(p.until_any([CALL[0], RESPONSE]));
    let end = p.optional(p.sequence([p.literal(RESPONSE), p.markup_ends()]));
    p.sequence([calls, p.tolerated(p.sequence([after, end]))])
}

/// The braces around the arguments are captured with the name and with the end of the call.
fn call(p: &FormatBuilder, tool: &Tool) -> ExprId {
    // The model may write the name twice.
    let again = Some(&tool.name).filter(|name| !FormatBuilder::is_any(name)).map(|name| p.literal(format!(":{name}")));
    let again = again.map_or_else(|| p.empty(), |again| p.tolerated(p.optional(again)));
    let open = p.tool_open(p.sequence([p.tool_name(&tool.name), again, p.and(p.one_of(&[('{', '{'), ('(', '(')]))]));
    let between = |left: &str, right: &str| {
        p.sequence([p.literal(left), listed(p, p.reference("gemma4-member"), p.tool_close(p.literal(right)))])
    };
    p.sequence([open, p.choice([between("{", "}"), p.tolerated(between("(", ")"))])])
}

/// Rules for members and values. Keys have no quotes; strings are between two special tokens. Models also write both as in
/// JSON or Python.
fn notation(p: &FormatBuilder) {
    // White space in front of the colon is not part of the name; white space inside is.
    let colon = p.choice([p.exact(":"), p.tolerated(p.exact("="))]);
    let end = p.sequence([p.space(), colon]);
    let inside = p.none_of(&[(':', ':'), ('=', '='), ('}', '}')]);
    let run = p.until_any([":", "=", "}", " ", "\n", "\t"]);
    let key = p.key(p.sequence([run, p.many(p.sequence([p.not(end), inside, run]))]));
    let quoted = p.sequence([p.exact("\""), p.key(p.string_body(b'"')), p.exact("\""), p.and(end)]);
    let key = p.choice([p.tolerated(p.atomic(quoted)), key]);
    p.rule("gemma4-member", p.sequence([key, p.space(), colon, p.space(), p.reference("gemma4-value")]));
    // The first character distinguishes a string from other values.
    let start = p.sequence([p.and(p.literal("<")), p.arg_text(p.empty()), p.literal(QUOTE)]);
    let text = p.sequence([start, p.arg_text(p.until(QUOTE)), p.arg_close(p.literal(QUOTE))]);
    let dict = p.object(listed(p, p.reference("gemma4-member"), p.literal("}")));
    let array = p.array(listed(p, p.reference("gemma4-value"), p.literal("]")));
    let words = ["true", "false", "null"].map(|word| p.literal(word));
    // The templates print null as `None`.
    let none = p.tolerated(p.literal("None"));
    let quote = p.and(p.one_of(&[('"', '"'), ('\'', '\'')]));
    let literal = p.tolerated(p.sequence([quote, p.arg_json(p.python())]));
    let plain = p.arg_json(p.choice([p.json_number()].into_iter().chain(words).chain([none])));
    let value = [text, p.sequence([p.literal("{"), dict]), p.sequence([p.literal("["), array]), literal, plain];
    p.rule("gemma4-value", p.choice(value));
}

/// Items up to the closing bracket, bracket included.
fn listed(p: &FormatBuilder, item: ExprId, close: ExprId) -> ExprId {
    let more = p.many(p.sequence([p.separator(p.literal(",")), p.space(), item]));
    p.sequence([p.space(), p.choice([close, p.sequence([item, more, p.space(), close])])])
}
