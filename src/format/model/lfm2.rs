//! LFM2 and LFM2.5: calls as a Python list between markers.
//!
//! ```text
//! <think>why</think>text<|tool_call_start|>[f(x=1, s='text'), g()]<|tool_call_end|>
//! ```
//!
//! Not learnt, because LFM2's template does not render calls, and LFM2.5's renders neither Python literals nor unescaped
//! quotes.

use super::has_all;
use crate::error::Result;
use crate::format::builder::FormatBuilder;
use crate::format::calls::described::pythonic;
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Format, FormatSpec, Thinking, learnt};
use crate::grammar::Trigger;
use crate::peg::Arena;

const OPENING: &str = "<|im_start|>assistant\n";
const THINK_START: &str = "<think>";
const THINK_END: &str = "</think>";
const CALLS_START: &str = "<|tool_call_start|>";
const CALLS_END: &str = "<|tool_call_end|>";
const LIST_START: &str = "<|tool_list_start|>";
const LIST_END: &str = "<|tool_list_end|>";

/// Checks for the list of tools, which is between markers (LFM2) or in plain text (LFM2.5).
pub fn detect(source: &str) -> bool {
    marks_list(source) || source.contains("List of tools: [") && !source.contains(LIST_START)
}

fn marks_list(source: &str) -> bool {
    has_all(source, &[LIST_START, LIST_END])
}

/// As the template renders it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued(input, &format!("{OPENING}{THINK_START}"), THINK_END))
}

/// Builds the format in the head of this file.
pub fn build(spec: &FormatSpec) -> Format {
    let list: &[&str] = if marks_list(spec.source) { &[LIST_START, LIST_END] } else { &[] };
    let preserved = [CALLS_START, CALLS_END, THINK_START, THINK_END].iter().chain(list);
    Format {
        output: output(spec),
        constraint: spec.constraint(spec.response_object().is_some(), [Trigger::word(CALLS_START)]),
        preserved_tokens: preserved.map(|&token| token.to_owned()).collect(),
        thinking: Some(Thinking::new(THINK_START, [THINK_END])),
        ..Format::default()
    }
}

fn output(spec: &FormatSpec) -> Arena {
    let p = FormatBuilder::default();
    let mut turn = vec![p.literal(OPENING)];
    // Templates of models without reasoning do not have its marker.
    if spec.extract_reasoning() && spec.source.contains(THINK_START) {
        let thought = p.reasoning(p.until(THINK_END));
        turn.push(p.optional(p.sequence([p.literal(THINK_START), thought, p.literal(THINK_END)])));
    }
    if !spec.tools().is_empty() {
        let list = pythonic(&format!("{CALLS_START}["), &format!("]{CALLS_END}"));
        let calls = p.sequence([learnt::calls(&p, &list, spec), p.space()]);
        turn.push(p.content(p.until(CALLS_START)));
        turn.push(p.calls(spec, calls));
    } else if let Some(schema) = spec.response_object() {
        turn.push(p.content(p.schema(p.json(), "response-format-schema", schema.clone(), false)));
    } else {
        turn.push(p.content(p.rest()));
    }
    turn.push(p.end());
    p.finish(p.sequence(turn))
}
