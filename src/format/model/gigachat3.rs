//! GigaChat 3: messages between separators; a call is a message.
//!
//! ```text
//! assistant<|role_sep|>
//! text<|message_sep|>
//!
//! function call<|role_sep|>
//! {"name": "f", "arguments": {"x": 1}}
//! ```
//!
//! Not learnt, because a structured response is not held to its schema (as in llama.cpp), and the message separators are
//! tokens of the format. Both concern requests, and renders do not have them.

use super::has_all;
use crate::analysis::{ToolFormat, ToolsLayout};
use crate::error::Result;
use crate::format::builder::FormatBuilder;
use crate::format::calls::described::Described;
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Format, FormatSpec, learnt};
use crate::grammar::Trigger;
use crate::peg::Arena;

const OPENING: &str = "assistant<|role_sep|>\n";
const MESSAGE_END: &str = "<|message_sep|>\n\n";
const CALL_START: &str = "<|message_sep|>\n\nfunction call<|role_sep|>\n";

/// Checks for the separators, and that the call marker of other GigaChat templates is missing.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<|role_sep|>", "<|message_sep|>"]) && !source.contains("<|function_call|>")
}

/// Renders the prompt. The format has no reasoning, so only content is continued.
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

/// The output has at most one call.
fn output(spec: &FormatSpec) -> Arena {
    let p = FormatBuilder::default();
    let mut turn = vec![p.literal(OPENING)];
    if spec.tools().is_empty() {
        turn.push(p.content(p.rest()));
    } else {
        let section_start = CALL_START.to_owned();
        let tools = ToolsLayout { format: ToolFormat::JsonNative, section_start, ..ToolsLayout::default() };
        let json = Described { tools, ..Described::default() }.turn();
        let calls = p.calls(spec, learnt::calls(&p, &json, spec));
        // The separator also ends the call's message.
        let ending = p.optional(p.literal(MESSAGE_END));
        turn.extend([p.content(p.until(MESSAGE_END)), calls, p.space(), ending]);
    }
    turn.push(p.end());
    p.finish(p.sequence(turn))
}
