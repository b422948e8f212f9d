//! Kimi K2: calls in a section, each with an id that contains the tool's name and a count.
//!
//! ```text
//! <think>why</think>text<|tool_calls_section_begin|>
//!     <|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"x": 1}<|tool_call_end|> ...
//! <|tool_calls_section_end|>
//! ```
//! Calls may begin inside the reasoning, and without a section.
//!
//! Not learnt, because renders have no calls inside the reasoning or without a section, and do not show that the name is
//! part of the id.

use super::has_all;
use crate::error::Result;
use crate::format::builder::FormatBuilder;
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Format, FormatSpec, Thinking};
use crate::grammar::Trigger;
use crate::message::Tool;
use crate::peg::{Arena, ExprId};

const OPENING: &str = "<|im_assistant|>assistant<|im_middle|>";
const THINK_START: &str = "<think>";
const THINK_END: &str = "</think>";
const SECTION_START: &str = "<|tool_calls_section_begin|>";
/// Variants that models write.
const OTHER_SECTION: [&str; 2] = ["<|tool_call_section_begin|>", "<|tool_call_section_end|>"];
const SECTION_END: &str = "<|tool_calls_section_end|>";
const CALL_START: &str = "<|tool_call_begin|>";
const CALL_END: &str = "<|tool_call_end|>";
const ARGUMENTS: &str = "<|tool_call_argument_begin|>";

/// Checks for the markers of the section and of a call.
pub fn detect(source: &str) -> bool {
    has_all(source, &[SECTION_START, CALL_START])
}

/// As the template renders it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    let opening = format!("{OPENING}{THINK_START}");
    Ok(plain(input)?.continued(input, &opening, THINK_END))
}

/// The format for one request.
pub fn build(spec: &FormatSpec) -> Format {
    let markers = [SECTION_START, SECTION_END, CALL_START, ARGUMENTS, CALL_END, THINK_START, THINK_END];
    Format {
        output: output(spec),
        constraint: spec.constraint(false, [Trigger::word(CALL_START)]),
        preserved_tokens: markers.map(str::to_owned).into(),
        thinking: Some(Thinking::new(THINK_START, [THINK_END])),
        ..Format::default()
    }
}

fn output(spec: &FormatSpec) -> Arena {
    let p = FormatBuilder::default();
    let mut turn = vec![p.literal(OPENING)];
    if spec.extract_reasoning() {
        let thought = p.reasoning(p.until_any([THINK_END, SECTION_START, OTHER_SECTION[0], CALL_START]));
        turn.push(p.optional(p.sequence([
            p.literal(THINK_START),
            p.reopened(spec, THINK_START),
            thought,
            p.optional(p.literal(THINK_END)),
        ])));
    }
    if spec.tools().is_empty() {
        turn.push(p.content(p.rest()));
    } else {
        turn.extend([p.content(p.until_any([SECTION_START, OTHER_SECTION[0], CALL_START])), calls(&p, spec)]);
    }
    turn.push(p.end());
    p.finish(p.sequence(turn))
}

/// The section of the calls. The model may leave out its markers.
fn calls(p: &FormatBuilder, spec: &FormatSpec) -> ExprId {
    let each = p.choice([p.tolerated(near(p, spec)), p.any_tool("tool", spec, &|tool| call(p, tool))]);
    let one = p.sequence([p.literal(CALL_START), each, p.space()]);
    let many = p.repeat(one, 1, (!spec.parallel()).then_some(1));
    let [other_start, other_end] = OTHER_SECTION.map(|marker| p.tolerated(p.literal(marker)));
    let end = p.choice([p.literal(SECTION_END), other_end]);
    let to_end = p.sequence([many, p.optional(p.sequence([end, p.space()]))]);
    let start = p.optional(p.sequence([p.choice([p.literal(SECTION_START), other_start]), p.space()]));
    let calls = p.trigger_rule("tool-call", to_end);
    let empty = p.sequence([p.literal(SECTION_START), p.space(), p.literal(SECTION_END), p.markup_ends(), p.space()]);
    p.sequence([p.tolerated(p.optional(empty)), start, p.calls(spec, calls)])
}

/// The id contains the name. A call can end without its marker.
fn call(p: &FormatBuilder, tool: &Tool) -> ExprId {
    let number = p.some(p.one_of(&[('0', '9')]));
    let id = p.sequence([p.literal("functions."), p.tool_name(&tool.name), p.literal(":"), number]);
    let open = p.tool_open(p.sequence([p.tool_id(id), p.literal(ARGUMENTS)]));
    p.sequence([open, p.tolerated(p.space()), p.json_args(tool), p.tool_close(p.optional(p.literal(CALL_END)))])
}

/// A call whose id has another form: `functions_f_0`, `functionsf0`. If the id has the usual form, the name is visible at
/// once.
fn near(p: &FormatBuilder, spec: &FormatSpec) -> ExprId {
    let joint = || p.optional(p.one_of(&[('_', '_'), (':', ':')]));
    let number = p.many(p.one_of(&[('0', '9')]));
    let id = p.sequence([p.exact("functions"), joint(), p.listed_tool_name(spec.tools()), joint(), number]);
    let open = p.tool_open(p.sequence([p.tool_id(id), p.literal(ARGUMENTS)]));
    let close = p.tool_close(p.optional(p.literal(CALL_END)));
    p.sequence([p.not(p.exact("functions.")), open, p.space(), p.any_json_args(), close])
}
