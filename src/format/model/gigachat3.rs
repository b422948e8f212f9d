//! GigaChat 3: messages between separators, a call as a message of its own.
//!
//! ```text
//! assistant<|role_sep|>
//! text<|message_sep|>
//!
//! function call<|role_sep|>
//! {"name": "f", "arguments": {"x": 1}}
//! ```
//!
//! Why it stays: a structured response is not held to its schema, as llama.cpp has it, and the separators of messages are
//! tokens of the format; both are about requests, not renders.

use super::has_all;
use crate::analysis::ToolsLayout;
use crate::error::Result;
use crate::format::calls::json;
use crate::format::builder::FormatBuilder;
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Format, FormatSpec};
use crate::grammar::Trigger;
use crate::peg::Arena;

const OPENING: &str = "assistant<|role_sep|>\n";
const MESSAGE_END: &str = "<|message_sep|>\n\n";
const CALL_START: &str = "<|message_sep|>\n\nfunction call<|role_sep|>\n";

/// The separators, without the call marker of other GigaChat templates.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<|role_sep|>", "<|message_sep|>"]) && !source.contains("<|function_call|>")
}

/// As the template renders it. The format has no reasoning: content alone is continued.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued_with(input, |message, _| format!("{OPENING}{}", message.text())))
}

/// The format for one request.
pub fn build(spec: &FormatSpec) -> Format {
    Format {
        output: output(spec),
        constraint: spec.constraint(false, [Trigger::word(CALL_START)]),
        preserved_tokens: [MESSAGE_END, "<|role_sep|>\n"].map(str::to_owned).into(),
        ..Format::default()
    }
}

/// There is one call at most.
fn output(spec: &FormatSpec) -> Arena {
    let p = FormatBuilder::default();
    let mut turn = vec![p.literal(OPENING)];
    if spec.tools().is_empty() {
        turn.push(p.content(p.rest()));
    } else {
        let call = json::any(&p, &ToolsLayout::default(), spec, true);
        let call = p.trigger_rule("tool-call", p.sequence([p.literal(CALL_START), p.space(), call]));
        let calls = p.calls(spec, call);
        // The separator ends the call's message, too.
        let ending = p.optional(p.literal(MESSAGE_END));
        turn.extend([p.content(p.until(MESSAGE_END)), calls, p.space(), ending]);
    }
    turn.push(p.end());
    p.finish(p.sequence(turn))
}
