//! DeepSeek V3.2 and V4: calls as XML whose tags contain the DSML token. An attribute of each argument tells text from JSON.
//!
//! ```text
//! <think>reasoning</think>content
//!
//! <｜DSML｜function_calls>
//! <｜DSML｜invoke name="f">
//! <｜DSML｜parameter name="x" string="true">text</｜DSML｜parameter>
//! <｜DSML｜parameter name="n" string="false">[1, 2]</｜DSML｜parameter>
//! </｜DSML｜invoke>
//! </｜DSML｜function_calls>
//! ```
//!
//! Not learnt, because renders never have a call inside unclosed reasoning, nor reasoning that only mentions a tag. V4 also
//! needs tool results in the order of the calls, and the schema in the prompt.

use std::collections::HashMap;

use serde_json::Value;

use super::has_all;
use crate::error::Result;
use crate::format::builder::FormatBuilder;
use crate::format::calls::members::{Member, arguments, json_or_text};
use crate::format::prompt::{Prompt, PromptInput, calls_of, plain, render};
use crate::format::{Constraint, Delimiter, Format, FormatSpec, Thinking};
use crate::grammar::Trigger;
use crate::grammar::schema::Types;
use crate::message::Tool;
use crate::peg::{Arena, ExprId};
use crate::template::Conversation;

/// The token, in a variable, and one of the names of the block of calls.
pub fn detect(source: &str) -> bool {
    has_all(source, &["dsml_token", "DSML"]) && (source.contains("function_calls") || source.contains("tool_calls"))
}

/// Whether the template is V4's, which names the block of calls `tool_calls`.
pub fn is_v4(source: &str) -> bool {
    !source.contains("function_calls")
}

/// V4 renders tool results in the order of the calls and the schema of the response, and closes empty reasoning without
/// opening it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    const OPENING: &str = "<｜Assistant｜>";
    let reasoning = format!("{OPENING}<think>");
    if !is_v4(input.template.source()) {
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

const TURN: &str = "<｜Assistant｜>";
const THINK: [&str; 2] = ["<think>", "</think>"];
const INVOKE: [&str; 2] = ["<｜DSML｜invoke name=\"", "</｜DSML｜invoke>"];
const PARAMETER: [&str; 2] = ["<｜DSML｜parameter name=\"", "</｜DSML｜parameter>"];

/// The tags around all calls.
fn block(source: &str) -> [String; 2] {
    block_named(if is_v4(source) { "tool_calls" } else { "function_calls" })
}

fn block_named(name: &str) -> [String; 2] {
    [format!("<｜DSML｜{name}>"), format!("</｜DSML｜{name}>")]
}

/// The tags of the other version: models mix the two up.
fn other_block(block: &[String; 2]) -> [String; 2] {
    block_named(if block[0].contains("tool_calls") { "function_calls" } else { "tool_calls" })
}

/// The format for one request.
pub fn build(spec: &FormatSpec) -> Format {
    let calls = block(spec.source);
    let constraint = if spec.response_object().is_some() || !spec.tools().is_empty() {
        let lazy = !spec.offered.is_empty() && !spec.call_required();
        Constraint::grammar(lazy, vec![Trigger::word(&*calls[0])])
    } else {
        Constraint::Free
    };
    Format {
        constraint,
        preserved_tokens: ["｜DSML｜", THINK[0], THINK[1]].map(str::to_owned).to_vec(),
        thinking: Some(Thinking::new(THINK[0], [THINK[1], &calls[0]])),
        delimiters: Delimiter::list([("assistant", TURN), ("user", "<｜User｜>")]),
        output: output(spec, &calls),
        ..Format::default()
    }
}

fn output(spec: &FormatSpec, block: &[String; 2]) -> Arena {
    let p = FormatBuilder::default();
    let turn = p.turn(spec.prefill, TURN);
    let [think, thought] = THINK.map(|tag| p.literal(tag));
    let until_thought = || p.sequence([p.reopened(spec, THINK[0]), p.reasoning(p.until(THINK[1]))]);
    let callable = spec.response_object().is_none() && !spec.tools().is_empty();
    let extract = spec.extract_reasoning();

    let answer = if let Some(schema) = spec.response_object() {
        p.response(schema)
    } else if callable {
        // Unclosed reasoning is not content.
        let guard = if extract { p.not(think) } else { p.empty() };
        let calls = calls(&p, spec, block);
        let calls = p.calls(spec, calls);
        p.sequence([guard, p.content(before_calls(&p, block, &[])), p.space(), calls])
    } else {
        p.content(p.rest())
    };
    let answer = p.rule("answer", p.sequence([answer, p.end()]));
    if !extract {
        return p.finish(p.sequence([turn, answer]));
    }
    let plain = p.sequence([until_thought(), thought, answer]);
    let reasoned = if callable && spec.enable_thinking {
        // Calls may begin inside unclosed reasoning. Because reasoning may also mention the tags, they count as calls from
        // the name of a tool on.
        let names = spec.tools().iter().map(|tool| p.literal(format!("{}{}\">", INVOKE[0], tool.name)));
        let calling = p.spaced([p.empty(), p.literal(&*block[0]), p.choice(names)]);
        let closed = p.sequence([thought, answer]);
        let called = p.sequence([p.and(calling), p.space(), calls(&p, spec, block), p.end()]);
        let text = p.reasoning(before_calls(&p, block, &[THINK[1]]));
        p.sequence([p.reopened(spec, THINK[0]), text, p.choice([closed, called, p.sequence([p.not(calling), plain])])])
    } else {
        plain
    };
    let unreasoned = p.sequence([p.optional(thought), answer]);
    p.finish(p.sequence([turn, p.choice([p.sequence([think, reasoned]), unreasoned])]))
}

/// Text up to the calls, without the line breaks in front of them, or up to any of `others`.
fn before_calls(p: &FormatBuilder, block: &[String; 2], others: &[&str]) -> ExprId {
    let calls = [&*block[0], &*other_block(block)[0], INVOKE[0]].map(spellings).into_iter().flatten();
    let calls = [format!("\n\n{}", block[0])].into_iter().chain(calls);
    p.until_any(calls.chain(others.iter().map(|&other| other.to_owned())))
}

/// A marker with the bars of its token as in the template, doubled, and in ASCII: models write all three.
fn spellings(marker: &str) -> [String; 3] {
    ["｜", "｜｜", "|"].map(|bar| marker.replace('｜', bar))
}

/// A marker in any of its spellings.
fn marker(p: &FormatBuilder, text: &str) -> ExprId {
    let [own, doubled, ascii] = spellings(text);
    p.choice([p.literal(own), p.tolerated(p.literal(doubled)), p.tolerated(p.literal(ascii))])
}

fn calls(p: &FormatBuilder, spec: &FormatSpec, block: &[String; 2]) -> ExprId {
    let each = p.choice([p.any_tool(spec, &|tool| call(p, tool)), p.tolerated(other_call(p, spec))]);
    let more = if spec.parallel() { p.many(p.sequence([p.space(), each])) } else { p.empty() };
    let other = other_block(block).map(|text| p.tolerated(marker(p, &text)));
    let none = p.tolerated(p.empty());
    let start = p.choice([marker(p, &block[0]), other[0], none]);
    let end = p.choice([marker(p, &block[1]), p.end(), other[1], none]);
    let end = p.sequence([end, p.markup_ends()]);
    p.trigger_rule("tool-call", p.spaced([start, p.sequence([each, more]), end]))
}

fn call(p: &FormatBuilder, tool: &Tool) -> ExprId {
    let open = |end: ExprId| p.tool_open(p.sequence([p.literal(INVOKE[0]), p.tool_name(&tool.name), end]));
    let close = p.tool_close(p.literal(INVOKE[1]));
    let one_by_one = arguments(p, tool, &|member| argument(p, member));
    // Models also write the arguments as one JSON object, or an empty tag if there are none.
    let whole = p.tolerated(p.sequence([p.space(), p.and(p.exact("{")), p.json_args(tool)]));
    let body = p.choice([whole, one_by_one]);
    let all = p.sequence([open(p.sequence([p.literal("\">"), p.optional(p.literal("\n"))])), body, p.space(), close]);
    let empty = p.sequence([open(p.literal("\"/>")), p.tool_close(p.empty())]);
    p.choice([all, p.tolerated(empty)])
}

/// A call with the token's bars in another spelling. Attributes give the types of its values.
fn other_call(p: &FormatBuilder, spec: &FormatSpec) -> ExprId {
    let others = |text: &str| {
        let [_, doubled, ascii] = spellings(text);
        p.choice([p.literal(doubled), p.literal(ascii)])
    };
    let name = p.sequence([others(INVOKE[0]), p.listed_tool_name(spec.tools()), p.literal("\">")]);
    let open = |is_text: bool| {
        let attribute = p.literal(format!("\" string=\"{is_text}\">"));
        p.atomic(p.sequence([others(PARAMETER[0]), p.arg_name(FormatBuilder::ANY), attribute]))
    };
    let close = p.arg_close(others(PARAMETER[1]));
    let text = p.sequence([p.arg_text(p.until_any(spellings(PARAMETER[1]))), close]);
    let json = p.sequence([p.arg_json(p.json()), p.space(), close]);
    let one = p.choice([p.sequence([open(true), text]), p.sequence([open(false), json_or_text(p, json, text)])]);
    let all = p.many(p.sequence([p.space(), one]));
    p.sequence([p.atomic(p.tool_open(name)), all, p.space(), p.tool_close(others(INVOKE[1]))])
}

/// The attribute, not the schema, decides how the value is read.
fn argument(p: &FormatBuilder, member: &Member) -> ExprId {
    let schema =
        |value, kind: &str, raw| p.argument(value, format!("{}-{kind}", member.rule), member.schema.clone(), raw);
    let open = |is_text: bool| {
        let attribute = format!("\" string=\"{is_text}\">");
        p.atomic(p.sequence([p.literal(PARAMETER[0]), p.arg_name(member.name), p.literal(attribute)]))
    };
    let close = p.arg_close(p.literal(PARAMETER[1]));
    let text = p.until(PARAMETER[1]);
    let any_text = p.sequence([p.arg_text(text), close]);
    let text = if member.types().has(Types::STRING) {
        p.excluding(p.sequence([p.arg_text(text), close]), [PARAMETER[1]])
    } else {
        p.sequence([p.arg_text(schema(text, "text", true)), close])
    };
    let json = p.sequence([p.arg_json(schema(p.json(), "schema", false)), p.space(), close]);
    p.choice([p.sequence([open(true), text]), p.sequence([open(false), json_or_text(p, json, any_text)])])
}
