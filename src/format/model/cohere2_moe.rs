//! Cohere2 MoE: reasoning, text and calls, each between its own markers.
//!
//! ```text
//! <|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>
//!     <|START_THINKING|>why<|END_THINKING|>
//!     <|START_TEXT|>text<|END_TEXT|>
//!     <|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {"x": 1}}, ...]<|END_ACTION|>
//! <|END_OF_TURN_TOKEN|>
//! ```
//! (On one line.) The prompt opens the reasoning. The template writes text or calls, not both; both are read.
//!
//! Not learnt, because the template always closes the reasoning in front of calls, and the model does not.

use super::has_all;
use crate::analysis::ToolsLayout;
use crate::error::Result;
use crate::format::calls::json;
use crate::format::builder::FormatBuilder;
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Delimiter, Format, Thinking, FormatSpec};
use crate::grammar::Trigger;
use crate::peg::{Arena, ExprId};

const OPENING: &str = "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>";
const TURN_END: &str = "<|END_OF_TURN_TOKEN|>";
const THINK_START: &str = "<|START_THINKING|>";
const THINK_END: &str = "<|END_THINKING|>";
const TEXT_START: &str = "<|START_TEXT|>";
const TEXT_END: &str = "<|END_TEXT|>";
const CALLS_START: &str = "<|START_ACTION|>";
const CALLS_END: &str = "<|END_ACTION|>";

/// Older Cohere templates have no marker for text.
pub fn detect(source: &str) -> bool {
    has_all(source, &[TEXT_START, CALLS_START])
}

/// As the template renders it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    let between = format!("{THINK_END}{TEXT_START}");
    Ok(plain(input)?.continued(input, &format!("{OPENING}{THINK_START}"), &between))
}

/// The format for one request.
pub fn build(spec: &FormatSpec) -> Format {
    let roles = ["<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|USER_TOKEN|>", "<|SYSTEM_TOKEN|>"];
    let parts = [TURN_END, THINK_START, THINK_END, TEXT_START, TEXT_END, CALLS_START, CALLS_END];
    let results = ["<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"];
    let delimiters = [
        ("assistant", OPENING),
        ("user", "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>"),
        // Before the entry for `system`, which is a prefix of this text.
        ("tool", "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|><|START_TOOL_RESULT|>"),
        ("system", "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>"),
    ];
    Format {
        output: output(spec),
        constraint: spec.constraint(spec.response_schema().is_some(), [Trigger::word(CALLS_START)]),
        preserved_tokens: roles.into_iter().chain(parts).chain(results).map(str::to_owned).collect(),
        thinking: Some(Thinking::new(THINK_START, [THINK_END])),
        delimiters: Delimiter::list(delimiters),
        ..Format::default()
    }
}

fn output(spec: &FormatSpec) -> Arena {
    let p = FormatBuilder::default();
    let mut turn = vec![p.literal(OPENING), p.optional(reasoning(&p, spec)), p.space()];
    let text = text(&p, spec);
    if spec.tools().is_empty() {
        turn.push(text);
    } else {
        if !spec.call_required() {
            turn.extend([p.optional(text), p.space()]);
        }
        turn.push(json::calls(&p, &layout(), spec));
    }
    turn.extend([p.space(), p.optional(p.literal(TURN_END)), p.end()]);
    p.finish(p.sequence(turn))
}

/// Reasoning up to its end, or up to the next part if the model leaves the end out. If reasoning is not extracted, it stays
/// in the content with its markers.
fn reasoning(p: &FormatBuilder, spec: &FormatSpec) -> ExprId {
    let start = p.literal(THINK_START);
    let thought = p.until_any([THINK_END, TEXT_START, CALLS_START]);
    let end = p.optional(p.literal(THINK_END));
    if spec.extract_reasoning() {
        p.sequence([start, p.reasoning(thought), end])
    } else {
        p.content(p.sequence([start, thought, end]))
    }
}

fn text(p: &FormatBuilder, spec: &FormatSpec) -> ExprId {
    let text = match spec.response_schema() {
        Some(schema) => p.schema(p.json(), "response-format-schema", schema.clone(), false),
        None => p.until(TEXT_END),
    };
    p.sequence([p.literal(TEXT_START), p.content(text), p.optional(p.literal(TEXT_END))])
}

fn layout() -> ToolsLayout {
    ToolsLayout {
        section_start: CALLS_START.to_owned(),
        section_end: CALLS_END.to_owned(),
        array_wrapped: true,
        name_field: "tool_name".to_owned(),
        args_field: "parameters".to_owned(),
        gen_id_field: "tool_call_id".to_owned(),
        field_order: ["tool_call_id", "tool_name", "parameters"].map(str::to_owned).into(),
        ..ToolsLayout::default()
    }
}
