//! Ling 3.0: roles in `<role>` sections, calls as tagged arguments.
//!
//! ```text
//! <role>ASSISTANT</role>
//! <think>why</think>text
//! <tool_call>f
//! <arg_key>x</arg_key>
//! <arg_value>1</arg_value>
//! </tool_call> ... text<|role_end|>
//! ```
//! The prompt opens the reasoning, or closes it at once if thinking is off. A call may begin inside it.
//!
//! Not learnt, because a call inside the reasoning and text behind calls are never rendered.

use serde_json::Value;

use super::has_all;
use crate::error::Result;
use crate::format::builder::{FormatBuilder, is_ambiguous};
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Delimiter, Format, FormatSpec, Thinking};
use crate::grammar::Trigger;
use crate::grammar::schema::{self, Types};
use crate::message::{Continuation, Tool};
use crate::peg::{Arena, ExprId};

const OPENING: &str = "<role>ASSISTANT</role>";
const TURN_END: &str = "<|role_end|>";
const THINK_START: &str = "<think>";
const THINK_END: &str = "</think>";
const CALL_START: &str = "<tool_call>";
const CALL_END: &str = "</tool_call>";
const KEY_START: &str = "<arg_key>";
const KEY_END: &str = "</arg_key>";
const VALUE_START: &str = "<arg_value>";
const VALUE_END: &str = "</arg_value>";

/// Other templates with tagged arguments have no `<role>` sections.
pub fn detect(source: &str) -> bool {
    has_all(source, &[OPENING, KEY_START])
}

/// As the template renders it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued(input, &format!("{OPENING}\n{THINK_START}"), THINK_END))
}

/// The format for one request.
pub fn build(spec: &FormatSpec) -> Format {
    let preserved =
        [THINK_START, THINK_END, CALL_START, CALL_END, KEY_START, KEY_END, VALUE_START, VALUE_END, TURN_END];
    let delimiters = [
        ("assistant", OPENING),
        ("user", "<role>HUMAN</role>"),
        ("tool", "<role>OBSERVATION</role>"),
        ("system", "<role>SYSTEM</role>"),
    ];
    Format {
        output: output(spec),
        constraint: spec.constraint(spec.response_schema().is_some(), [Trigger::word(CALL_START)]),
        preserved_tokens: preserved.map(str::to_owned).into(),
        // The model may write the end of the turn as plain text, which does not stop the generation.
        additional_stops: vec![TURN_END.to_owned()],
        thinking: Some(Thinking::new(THINK_START, [THINK_END, CALL_START])),
        delimiters: Delimiter::list(delimiters),
        ..Format::default()
    }
}

/// Whether the output begins inside the reasoning.
fn begins_in_reasoning(spec: &FormatSpec) -> bool {
    match spec.continuation {
        Continuation::None => spec.prefill.rfind(THINK_START) > spec.prefill.rfind(THINK_END),
        continuation => continuation != Continuation::Content,
    }
}

fn output(spec: &FormatSpec) -> Arena {
    let p = FormatBuilder::default();
    let opening = p.optional(p.sequence([p.literal(OPENING), p.space()]));
    let in_reasoning = begins_in_reasoning(spec);
    let thought = p.until_any([THINK_END].into_iter().chain(in_reasoning.then_some(CALL_START)));
    let thought = if spec.extract_reasoning() { p.reasoning(thought) } else { p.content(thought) };
    let (start, end) = (p.literal(THINK_START), p.literal(THINK_END));
    let mut turn = vec![opening];
    if let Some(schema) = spec.response_schema() {
        let value = p.content(p.schema(p.json(), "response-format-schema", schema.clone(), false));
        turn.extend([start, thought, end, p.space(), value, p.space(), p.optional(p.literal(TURN_END))]);
    } else {
        turn.extend([p.optional(start), thought, p.optional(end)]);
        if spec.tools().is_empty() {
            turn.push(last_text(&p));
        } else {
            turn.extend([p.content(p.until(CALL_START)), calls(&p, spec)]);
        }
    }
    turn.push(p.end());
    p.finish(p.sequence(turn))
}

/// Text up to the end of the turn.
fn last_text(p: &FormatBuilder) -> ExprId {
    p.sequence([p.content(p.until(TURN_END)), p.optional(p.literal(TURN_END))])
}

/// Calls, and text behind them. A call of an unknown tool is text.
fn calls(p: &FormatBuilder, spec: &FormatSpec) -> ExprId {
    let tools = spec.tools();
    let each = p.known_tool(tools, &|tool| {
        let close = p.tool_close(p.literal(CALL_END));
        p.sequence([head(p, tool, tools), arguments(p, tool), p.space(), close, p.space()])
    });
    // Once a name was visible, the call cannot be read as text.
    let no_call = p.not(p.choice(tools.iter().map(|tool| head(p, tool, tools))));
    let (count, gap) = if spec.parallel() { (None, no_call) } else { (Some(1), p.empty()) };
    let calls = p.trigger_rule("tool-call", p.sequence([p.repeat(each, 1, count), gap, last_text(p)]));
    if spec.call_required() { calls } else { p.choice([calls, p.sequence([no_call, last_text(p)])]) }
}

/// The beginning of a call. The name ends at once if it is not a prefix of another, otherwise at the tag behind it.
fn head(p: &FormatBuilder, tool: &Tool, tools: &[Tool]) -> ExprId {
    let open = p.tool_open(p.sequence([p.literal(CALL_START), p.space(), p.tool_name(&tool.name)]));
    if is_ambiguous(&tool.name, tools.iter().map(|tool| tool.name.as_str())) {
        p.atomic(p.sequence([open, p.space(), p.and(p.literal("<"))]))
    } else {
        open
    }
}

fn arguments(p: &FormatBuilder, tool: &Tool) -> ExprId {
    let root = schema::parameters(&tool.parameters);
    let mut required = Vec::new();
    let mut optional = Vec::new();
    for (name, schema, must) in schema::members(&root) {
        let rule = format!("tool-{}-arg-{name}", tool.name);
        let key = p.sequence([p.literal(KEY_START), p.arg_name(name), p.literal(KEY_END)]);
        let value = value(p, &rule, schema, &root);
        let argument = p.sequence([p.space(), p.atomic(key), p.space(), p.literal(VALUE_START), value]);
        let argument = p.rule(rule, argument);
        if must { required.push(argument) } else { optional.push(argument) }
    }
    p.unordered(required, optional)
}

/// A value up to its end: strings as raw text, everything else as JSON.
fn value(p: &FormatBuilder, rule: &str, schema: &Value, root: &Value) -> ExprId {
    let close = p.arg_close(p.literal(VALUE_END));
    let text = p.excluding(p.sequence([p.arg_text(p.until(VALUE_END)), close]), [VALUE_END]);
    let json = p.argument(p.json(), format!("{rule}-schema"), schema.clone(), false);
    let json = p.sequence([p.arg_json(json), close]);
    let types = schema::types(schema, root);
    let value = match types.has(Types::STRING) {
        false => json,
        true if types == Types::STRING => text,
        true => p.choice([p.atomic(json), text]),
    };
    if types.has(Types::NULL) { p.choice([p.null(types, close), value]) } else { value }
}
