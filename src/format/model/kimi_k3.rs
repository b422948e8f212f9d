//! Kimi K3: sections and calls in tags made of `<|open|>`, `<|sep|>` and `<|close|>`.
//!
//! ```text
//! <|open|>message role="assistant"<|sep|>
//!     <|open|>think<|sep|>why<|close|>think<|sep|>
//!     <|open|>response<|sep|>text<|close|>response<|sep|>
//!     <|open|>tools<|sep|>
//!         <|open|>call tool="f" index="1"<|sep|>
//!             <|open|>argument key="x" type="number"<|sep|>1<|close|>argument<|sep|> ...
//!         <|close|>call<|sep|> ...
//!     <|close|>tools<|sep|>
//! <|close|>message<|sep|><|end_of_msg|>
//! ```
//! (On one line.) The prompt opens the reasoning or the response; a section may lack its own tags. All arguments at once may
//! stand in a `json` tag.
//!
//! Not learnt, because models leave tags out, write all arguments in one `json` tag, and give the type of a value that the
//! schema leaves open.

use std::sync::Arc;

use serde_json::Value;

use super::has_all;
use crate::error::Result;
use crate::format::builder::{FormatBuilder, is_ambiguous};
use crate::format::calls::members::unlisted_name;
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Delimiter, Format, FormatSpec, Thinking};
use crate::grammar::{Trigger, schema};
use crate::message::Tool;
use crate::peg::{Arena, ExprId, SchemaRef};

const OPENING: &str = "<|open|>message role=\"assistant\"<|sep|>";
const MESSAGE_END: &str = "<|close|>message<|sep|>";
const END_OF_MESSAGE: &str = "<|end_of_msg|>";
const THINK_START: &str = "<|open|>think<|sep|>";
const THINK_END: &str = "<|close|>think<|sep|>";
const RESPONSE_START: &str = "<|open|>response<|sep|>";
const RESPONSE_END: &str = "<|close|>response<|sep|>";
const TOOLS_START: &str = "<|open|>tools<|sep|>";
const TOOLS_END: &str = "<|close|>tools<|sep|>";
const ARGUMENT_END: &str = "<|close|>argument<|sep|>";
const SEPARATOR: &str = "<|sep|>";

/// Checks for the markers that make up tags.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<|open|>", "<|close|>", END_OF_MESSAGE])
}

/// As the template renders it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    let opening = format!("{OPENING}{THINK_START}");
    Ok(plain(input)?.continued(input, &opening, &format!("{THINK_END}{RESPONSE_START}")))
}

/// The format for one request.
pub fn build(spec: &FormatSpec) -> Format {
    // Names of tags are not preserved as tokens, because that would split them in prose.
    let preserved = ["<|open|>", "<|close|>", SEPARATOR, END_OF_MESSAGE];
    let delimiters = [
        ("assistant", OPENING),
        ("user", "<|open|>message role=\"user\"<|sep|>"),
        // The tags of these two have more attributes.
        ("tool", "<|open|>message role=\"tool\""),
        ("system", "<|open|>message role=\"system\""),
    ];
    Format {
        output: output(spec),
        constraint: spec.constraint(false, [Trigger::word(TOOLS_START)]),
        preserved_tokens: preserved.map(str::to_owned).into(),
        thinking: Some(Thinking::new(THINK_START, [THINK_END])),
        delimiters: Delimiter::list(delimiters),
        ..Format::default()
    }
}

fn output(spec: &FormatSpec) -> Arena {
    let p = FormatBuilder::default();
    let may = |marker: &str| p.optional(p.literal(marker));
    // Calls may begin inside the reasoning.
    let ends: &[&str] = if spec.tools().is_empty() { &[] } else { &[TOOLS_START] };
    let thought = p.until_any([THINK_END, RESPONSE_START].iter().chain(ends).copied());
    let thought = if spec.extract_reasoning() { p.reasoning(thought) } else { p.content(thought) };
    let text = p.content(p.until_any([RESPONSE_END, TOOLS_START, MESSAGE_END]));
    let mut turn = vec![may(OPENING), may(THINK_START), thought, may(THINK_END)];
    turn.extend([may(RESPONSE_START), text, may(RESPONSE_END)]);
    let ending = p.sequence([may(MESSAGE_END), may(END_OF_MESSAGE)]);
    if !spec.tools().is_empty() {
        let calls = calls(&p, spec, ending);
        turn.push(p.calls(spec, calls));
    }
    turn.extend([ending, p.end()]);
    p.finish(p.sequence(turn))
}

/// The section of the calls. A grammar that starts here must allow the end of the message.
fn calls(p: &FormatBuilder, spec: &FormatSpec, ending: ExprId) -> ExprId {
    let each = p.any_tool(spec, &|tool| call(p, tool));
    let all = p.some(p.sequence([each, p.space()]));
    p.trigger_rule("tool-call", p.sequence([p.literal(TOOLS_START), p.space(), all, p.markup(TOOLS_END), ending]))
}

fn call(p: &FormatBuilder, tool: &Tool) -> ExprId {
    let name = p.sequence([
        p.literal("<|open|>call tool=\""),
        p.entities(),
        p.tool_name(&escaped(&tool.name)),
        p.literal("\""),
    ]);
    let open = p.tool_open(p.sequence([name, attributes(p)]));
    let key = |name: ExprId| p.sequence([p.literal("<|open|>argument key=\""), name]);
    let root = schema::parameters(&tool.parameters);
    let mut required = Vec::new();
    let mut optional = Vec::new();
    for (name, schema, must) in schema::members(&root) {
        let names = schema::members(&root).map(|(name, ..)| name);
        let rule = format!("tool-{}-arg-{name}", tool.name);
        let annotated = |value| p.argument(value, format!("{rule}-schema"), SchemaRef::property(&root, name), false);
        let value = typed_value(p, schema, annotated);
        let argument = p.sequence([key(p.arg_name_before(&escaped(name), names, "\"")), value, p.space()]);
        let argument = p.rule(rule.as_str(), argument);
        if must { required.push(argument) } else { optional.push(argument) }
    }
    let unlisted = unlisted_name(p, &tool.name, &SchemaRef::from(Arc::clone(&root)));
    // A listed name that was visible cannot be read as the beginning of another one.
    let names = || schema::members(&root).map(|(name, ..)| name);
    let shown: Vec<ExprId> =
        names().filter(|name| !is_ambiguous(name, names())).map(|name| p.exact(escaped(name))).collect();
    let any = p.atomic(p.sequence([p.not(p.choice(shown)), p.arg_name(&unlisted), p.literal("\"")]));
    optional.push(p.tolerated(p.sequence([key(any), typed_value(p, &Value::Null, |value| value), p.space()])));
    let one_by_one = p.unordered(required, optional);
    let whole = [p.literal("<|open|>json"), attributes(p), p.json_args(tool), p.literal("<|close|>json<|sep|>")];
    let arguments = p.choice([p.spaced(whole), one_by_one]);
    p.sequence([open, p.space(), arguments, p.space(), p.tool_close(p.literal("<|close|>call<|sep|>"))])
}

/// A name, escaped as in the template's attributes.
fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('"', "&quot;")
}

/// The other attributes of a tag, up to its end; their values are not needed. A tag with another marker inside does not
/// match, so that its text is not lost.
fn attributes(p: &FormatBuilder) -> ExprId {
    p.sequence([p.until("<"), p.literal(SEPARATOR)])
}

/// The `type` attribute and the value. The schema decides how the value is written or, if it has no single type, the
/// attribute.
fn typed_value(p: &FormatBuilder, schema: &Value, annotated: impl Fn(ExprId) -> ExprId) -> ExprId {
    let close = p.arg_close(p.literal(ARGUMENT_END));
    let text = p.sequence([p.arg_text(p.until(ARGUMENT_END)), close]);
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => p.sequence([attributes(p), text]),
        Some(_) => p.sequence([attributes(p), p.arg_json(annotated(p.until(ARGUMENT_END))), close]),
        None => {
            let json = p.atomic(p.sequence([p.arg_json(annotated(p.json())), close]));
            let string_type = p.sequence([p.literal(" type=\"string\""), attributes(p), text]);
            p.choice([string_type, p.sequence([attributes(p), p.choice([json, text])])])
        }
    }
}
