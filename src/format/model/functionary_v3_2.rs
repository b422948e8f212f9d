//! Functionary 3.2: `>>>`, a recipient on the rest of the line, then what is for it: `all` or a tool.
//!
//! ```text
//! >>>all
//! text>>>f
//! {"a": 1}>>>g
//! {}
//! ```
//! The first `>>>` is the prompt's. In the text, only `>>>` with a tool's name and the end of the line is a recipient: other
//! lines may begin with it, as in an interpreter's session.
//!
//! Why it stays: no text that is rendered has `>>>` in it, so what of that is no recipient cannot be seen.

use super::has_all;
use crate::error::Result;
use crate::format::builder::FormatBuilder;
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Format, FormatSpec};
use crate::grammar::Trigger;
use crate::peg::ExprId;

/// What opens the turn.
const TURN: &str = "<|start_header_id|>assistant<|end_header_id|>\n\n";
/// What stands before a recipient.
const TO: &str = ">>>";

/// The recipient for text, and the example in the instructions.
pub fn detect(source: &str) -> bool {
    has_all(source, &[">>>all", ">>>${recipient}"])
}

/// As the template renders it. The format has no reasoning: content alone is continued.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued_with(input, |message, _| format!("{TURN}{TO}all\n{}", message.text())))
}

/// See the picture above.
pub fn build(spec: &FormatSpec) -> Format {
    let p = FormatBuilder::default();
    let begin = p.literal(format!("{TURN}{TO}"));
    let to_all = p.literal("all\n");
    let body = if spec.tools().is_empty() {
        p.sequence([to_all, p.content(p.rest())])
    } else {
        let recipients = spec.tools().iter().map(|tool| format!("{TO}{}\n", tool.name));
        let text = p.sequence([to_all, p.content(p.until_any(recipients))]);
        let calls = calls(&p, spec);
        let marked = p.sequence([p.literal(TO), calls]);
        let after_text = p.calls(spec, marked);
        // The prompt may have the first call's `>>>`.
        let first = p.trigger_rule("tools", p.sequence([p.optional(p.literal(TO)), calls]));
        p.sequence([p.choice([p.sequence([text, after_text]), first]), p.space()])
    };
    let root = p.sequence([begin, body, p.end()]);
    Format {
        output: p.finish(root),
        constraint: spec.constraint(false, [Trigger::pattern(">>>(?!all)")]),
        preserved_tokens: vec![format!("{TO}all")],
        ..Format::default()
    }
}

/// Calls, the first without its `>>>`.
fn calls(p: &FormatBuilder, spec: &FormatSpec) -> ExprId {
    let call = p.known_tool(spec.tools(), &|tool| {
        let name = p.tool_open(p.sequence([p.tool_name(&tool.name), p.literal("\n")]));
        p.sequence([name, p.json_args(tool), p.tool_close(p.empty())])
    });
    let next = p.sequence([p.space(), p.literal(TO), call]);
    if spec.parallel() { p.sequence([call, p.many(next)]) } else { call }
}
