//! Functionary 3.2: `>>>`, a recipient (`all` or a tool) on the rest of the line, then the text for it.
//!
//! ```text
//! >>>all
//! text>>>f
//! {"a": 1}>>>g
//! {}
//! ```
//! The first `>>>` is in the prompt. Inside the text, `>>>` is a recipient only with a tool's name and the end of the
//! line: other lines may begin with it, such as those of an interpreter's session.
//!
//! Not learnt, because no rendered text contains `>>>`, so the analysis cannot see which of them are recipients.

use super::has_all;
use crate::error::Result;
use crate::format::builder::FormatBuilder;
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Format, FormatSpec};
use crate::grammar::Trigger;
use crate::peg::ExprId;

/// The opening of the turn.
const TURN: &str = "<|start_header_id|>assistant<|end_header_id|>\n\n";
/// The marker before a recipient.
const TO: &str = ">>>";

/// Checks for the recipient for text and for the example in the instructions.
pub fn detect(source: &str) -> bool {
    has_all(source, &[">>>all", ">>>${recipient}"])
}

/// Renders the prompt. The format has no reasoning, so only content is continued.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued_with(input, |message, _| format!("{TURN}{TO}all\n{}", message.text())))
}

/// Builds the format in the head of this file.
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
        // The first `>>>` of a call may be in the prompt.
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
