//! Ministral 3 and Magistral: reasoning as a typed part of the content, calls as a name and JSON arguments.
//!
//! ```text
//! [THINK]why[/THINK]text[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{}
//! ```
//! A structured response is a ```` ```json ```` block.
//!
//! Not learnt, because models write white space between the parts that the template does not have, some of the templates do
//! not render reasoning although their models reason, and a structured response is a block of code that no message contains.

use super::has_all;
use crate::error::Result;
use crate::format::builder::FormatBuilder;
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Format, Tag, Thinking, FormatSpec};
use crate::grammar::Trigger;
use crate::peg::ExprId;

const THINK: &str = "[THINK]";
const THINK_END: &str = "[/THINK]";
const CALL: &str = "[TOOL_CALLS]";
const ARGUMENTS: &str = "[ARGS]";

/// Mistral Small 3.2 is similar, but its calls have ids.
pub fn detect(source: &str) -> bool {
    has_all(source, &["[SYSTEM_PROMPT]", CALL, ARGUMENTS]) && !source.contains("[CALL_ID]")
}

/// As the template renders it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued(input, THINK, THINK_END))
}

/// Builds the format in the head of this file.
pub fn build(spec: &FormatSpec) -> Format {
    let p = FormatBuilder::default();
    let schema = spec.response_schema();
    let reasoning = match spec.extract_reasoning() {
        true => p.optional(p.sequence([p.literal(THINK), p.closed(Tag::Reasoning, THINK_END)])),
        false => p.empty(),
    };
    let parts = if let Some(schema) = schema {
        let value = p.content(p.schema(p.json(), "response-format", schema.clone(), false));
        vec![reasoning, p.literal("```json"), value, p.literal("```"), p.end()]
    } else if spec.tools().is_empty() {
        vec![reasoning, p.content(p.rest()), p.end()]
    } else {
        vec![reasoning, p.content(p.until(CALL)), calls(&p, spec), p.end()]
    };
    let root = p.spaced(parts);
    Format {
        output: p.finish(root),
        constraint: spec.constraint(schema.is_some(), [Trigger::word(CALL)]),
        preserved_tokens: [THINK, THINK_END, CALL, ARGUMENTS].map(str::to_owned).into(),
        thinking: Some(Thinking::new(THINK, [THINK_END])),
        ..Format::default()
    }
}

fn calls(p: &FormatBuilder, spec: &FormatSpec) -> ExprId {
    let call = p.any_tool(spec, &|tool| {
        let name = p.tool_open(p.sequence([p.tool_name(&tool.name), p.literal(ARGUMENTS)]));
        p.sequence([name, p.json_args(tool), p.tool_close(p.empty())])
    });
    let each = p.sequence([p.literal(CALL), call]);
    let next = p.sequence([p.space(), each]);
    let calls = if spec.parallel() { p.sequence([each, p.many(next)]) } else { each };
    let calls = p.trigger_rule("tool-call", calls);
    p.calls(spec, calls)
}
