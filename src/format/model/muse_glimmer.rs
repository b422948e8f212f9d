//! Muse Glimmer: a turn is a list of messages, each to a recipient: the model itself (reasoning), the user, or a tool.
//!
//! ```text
//! <|start|>assistant to=self<|message|>why<|eom|>
//! <|start|>assistant to=user<|message|>text<|eom|>
//! <|start|>assistant to=f<|message|><atem:function_calls>
//! <atem:invoke name="f">
//! <atem:parameter name="a">1</atem:parameter>
//! </atem:invoke>
//! </atem:function_calls><|eot|>
//! ```
//! without the line ends after `<|eom|>`. The last message ends with `<|eot|>`.
//!
//! Not learnt, because models leave out the recipient of the answer, which the template always writes, and because a
//! structured response is a block of code.

use super::has_all;
use crate::analysis::{ArgumentsLayout, FunctionLayout, ToolFormat, ToolsLayout};
use crate::error::Result;
use crate::format::builder::FormatBuilder;
use crate::format::calls::described::Described;
use crate::format::calls::learnt;
use crate::format::prompt::{Prompt, PromptInput};
use crate::format::{Delimiter, Format, FormatSpec, Tag, Thinking};
use crate::grammar::Trigger;
use crate::peg::{Arena, ExprId};

/// The opening of an assistant message; the model writes the recipient behind it.
const OPENING: &str = "<|start|>assistant";

/// Checks for the tags of calls and the marker between messages.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<atem:function_calls>", "<|eom|>"])
}

/// Renders the prompt. The generation prompt is always the opening without a recipient.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    let prompt = input.template.render(&input.prepared.conversation)?;
    let prompt = Prompt { prompt, generation_prompt: OPENING.to_owned() };
    Ok(prompt.continued(input, "<|start|>assistant to=self<|message|>", "<|eom|><|start|>assistant to=user<|message|>"))
}

/// Ends a message that is not the last.
const NEXT: &str = "<|eom|>";
/// Ends the last message.
const LAST: &str = "<|eot|>";
const MESSAGE: &str = "<|message|>";
/// A recipient that is neither the model itself nor the user.
const TO_TOOL: &str = r"(?:^|<\|start\|>assistant)( to=(?!self<\|message\|>)(?!user<\|message\|>)[^<]*?<\|message\|>)";

/// Builds the format in the head of this file.
pub fn build(spec: &FormatSpec) -> Format {
    let tokens = ["<|start|>", MESSAGE, NEXT, LAST, "<atem:function_calls>", "<atem:invoke", "<atem:parameter"];
    let closing = ["</atem:parameter>", "</atem:invoke>", "</atem:function_calls>"];
    let turns = [("assistant", OPENING), ("user", "<|start|>user"), ("system", "<|start|>system")];
    let turns = turns.into_iter().chain([("tool", "<|start|>tool")]);
    Format {
        output: output(spec),
        constraint: spec.constraint(spec.response_object().is_some(), [Trigger::pattern(TO_TOOL)]),
        preserved_tokens: tokens.into_iter().chain(closing).map(str::to_owned).collect(),
        thinking: Some(Thinking::default()),
        delimiters: Delimiter::list(turns),
        ..Format::default()
    }
}

fn output(spec: &FormatSpec) -> Arena {
    let p = FormatBuilder::default();
    let start = p.rule("start", p.literal(OPENING));
    let schema = spec.response_object();
    if !spec.extract_reasoning() && schema.is_none() && spec.tools().is_empty() {
        let root = p.sequence([start, p.content(p.rest()), p.end()]);
        return p.finish(root);
    }
    let thought = if spec.extract_reasoning() { Tag::Reasoning } else { Tag::Content };
    let analysis = p.sequence([p.literal(" to=self"), p.literal(MESSAGE), p.closed(thought, NEXT, OPENING)]);
    let analysis = p.rule("analysis", analysis);
    let to_user = p.sequence([p.optional(p.literal(" to=user")), p.literal(MESSAGE)]);
    let text = p.rule("final", p.sequence([to_user, p.content(p.until_any([LAST, NEXT]))]));

    let mut may_end = false;
    let last = if let Some(schema) = schema {
        let value = p.content(p.schema(p.json(), "response-format-schema", schema.clone(), false));
        let block = p.spaced([p.literal("```json"), value, p.literal("```")]);
        p.rule("response-format", p.sequence([to_user, p.choice([block, value])]))
    } else if spec.tools().is_empty() {
        may_end = true;
        text
    } else {
        let calls = calls(&p, spec, start);
        may_end = !spec.call_required();
        let then_calls = p.optional(p.sequence([p.literal(NEXT), start, calls]));
        if may_end { p.choice([calls, p.sequence([text, then_calls])]) } else { calls }
    };
    let ended = p.spaced([last, p.optional(p.choice([p.literal(LAST), p.literal(NEXT)])), p.end()]);
    let last = p.sequence([start, ended]);
    let last = if may_end { p.choice([last, p.end()]) } else { last };
    let root = p.sequence([p.many(p.sequence([start, analysis])), last]);
    p.finish(root)
}

fn calls(p: &FormatBuilder, spec: &FormatSpec, start: ExprId) -> ExprId {
    let call = call(p, spec);
    let next = p.sequence([p.literal(NEXT), start, call]);
    p.trigger_rule("tool-call", if spec.parallel() { p.sequence([call, p.many(next)]) } else { call })
}

/// The recipient's name is ignored, because the name in the call counts. It must not contain a marker: such text does not
/// match, so that it is not lost.
fn call(p: &FormatBuilder, spec: &FormatSpec) -> ExprId {
    let arguments = ArgumentsLayout {
        name_prefix: "<atem:parameter name=\"".to_owned(),
        name_suffix: "\">".to_owned(),
        value_suffix: "</atem:parameter>\n".to_owned(),
        ..ArgumentsLayout::default()
    };
    let function = FunctionLayout {
        name_prefix: "<atem:invoke name=\"".to_owned(),
        name_suffix: "\">\n".to_owned(),
        close: "</atem:invoke>\n</atem:function_calls>".to_owned(),
        ..FunctionLayout::default()
    };
    let tools = ToolsLayout { format: ToolFormat::TagWithTagged, ..ToolsLayout::default() };
    let turn = Described { tools, function, arguments, ..Described::default() }.turn();
    let call = learnt::any(p, &turn, spec, true);
    let open = [p.literal(" to="), p.until("<"), p.literal(format!("{MESSAGE}<atem:function_calls>")), p.space()];
    p.sequence([p.sequence(open), call])
}
