//! Qwen3-Coder, Qwen3.5, Nemotron Nano 3 and StepFun 3.5: calls as XML functions whose parameters are on separate lines.
//!
//! ```text
//! <think>
//! reasoning
//! </think>
//!
//! content
//! <tool_call>
//! <function=f>
//! <parameter=x>
//! text
//! </parameter>
//! </function>
//! </tool_call>
//! ```
//!
//! Qwen3-Coder, which does not reason, sometimes leaves out the first `<tool_call>`; the others may begin a call inside
//! unclosed reasoning.
//!
//! Not learnt, because renders never lack the `<tool_call>` and never have a call inside unclosed reasoning.

use super::has_all;
use crate::error::Result;
use crate::format::calls::members::{self, Member};
use crate::format::builder::FormatBuilder;
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Constraint, Delimiter, Format, Thinking, FormatSpec};
use crate::grammar::{Trigger, schema};
use crate::message::{Tool, ToolChoice};
use crate::peg::{Arena, ExprId};

/// Checks for the tags of a call with line breaks between them; templates without line breaks belong to another family.
pub fn detect(source: &str) -> bool {
    has_all(source, &["<tool_call>", "<function=", "<parameter="])
        && !source.contains("'<tool_call><function=' ~ tool_call.name ~ '>'")
}

/// Whether the template's model reasons.
pub fn reasons(source: &str) -> bool {
    source.contains("<think>")
}

/// Renders the prompt. For models that do not reason, only content is continued.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    let prompt = plain(input)?;
    if reasons(input.template.source()) {
        return Ok(prompt.continued(input, &format!("{TURN}<think>\n"), "\n</think>\n\n"));
    }
    Ok(prompt.continued_with(
        input,
        |message, in_content| {
            if in_content { format!("{TURN}{}", message.text()) } else { TURN.to_owned() }
        },
    ))
}

const TURN: &str = "<|im_start|>assistant\n";
const CALL: [&str; 2] = ["<tool_call>", "</tool_call>"];
const THINK: [&str; 2] = ["<think>", "</think>"];
const PARAMETER_END: &str = "</parameter>";
const FUNCTION_END: &str = "</function>";

/// The format for one request.
pub fn build(spec: &FormatSpec) -> Format {
    let reasons = reasons(spec.source);
    let constraint = if spec.response_schema().is_some() || !spec.tools().is_empty() {
        let lazy = !spec.offered.is_empty() && spec.tool_choice == ToolChoice::Auto;
        let starts = if lazy { call_starts(spec) } else { Vec::new() };
        Constraint::grammar(lazy, starts.into_iter().map(Trigger::word).collect())
    } else {
        Constraint::Free
    };
    let tokens = CALL.into_iter().chain(THINK.into_iter().filter(|_| reasons));
    Format {
        constraint,
        preserved_tokens: tokens.map(str::to_owned).collect(),
        // A host that ends the reasoning writes the first of these ends.
        thinking: reasons.then(|| Thinking::new(THINK[0], ["\n</think>", THINK[1], CALL[0]])),
        delimiters: Delimiter::list([
            ("assistant", "<|im_start|>assistant"),
            ("tool", "<|im_start|>user\n<tool_response>"),
            ("tool", "<|im_start|>tool_response"),
            ("user", "<|im_start|>user"),
            ("system", "<|im_start|>system"),
        ]),
        output: output(spec, reasons),
        ..Format::default()
    }
}

/// The texts that the first call of a message may begin with. They are whole tags, because `<function` alone may be content.
fn call_starts(spec: &FormatSpec) -> Vec<String> {
    let bare = spec.offered.iter().filter(|_| !reasons(spec.source));
    [CALL[0].to_owned()].into_iter().chain(bare.map(|tool| format!("<function={}>", tool.name))).collect()
}

fn output(spec: &FormatSpec, reasons: bool) -> Arena {
    let p = FormatBuilder::default();
    let turn = p.turn(spec.prefill, TURN);
    let reasoning = if reasons && spec.extract_reasoning() {
        let text = p.reasoning(p.until_any([THINK[1], CALL[0]]));
        let end = p.choice([p.literal(THINK[1]), p.tolerated(p.and(p.literal(CALL[0])))]);
        p.optional(p.sequence([p.literal(THINK[0]), p.space(), p.reopened(spec, THINK[0]), text, end]))
    } else {
        p.empty()
    };
    let answer = if let Some(schema) = spec.response_schema() {
        p.response(schema)
    } else if spec.tools().is_empty() {
        p.content(p.rest())
    } else {
        p.spaced([p.content(p.until_any(call_starts(spec))), calls(&p, spec, reasons)])
    };
    p.finish(p.sequence([turn, p.spaced([reasoning, answer, p.end()])]))
}

fn calls(p: &FormatBuilder, spec: &FormatSpec, reasons: bool) -> ExprId {
    let each = p.any_tool(spec, &|tool| call(p, tool));
    let start = p.sequence([p.literal(CALL[0]), p.space()]);
    let end = p.choice([p.literal(CALL[1]), p.end()]);
    let body = p.sequence([each, p.space(), end, p.markup_ends(), p.space()]);
    let first = p.sequence([if reasons { start } else { p.optional(start) }, body]);
    let more = if spec.parallel() { p.many(p.sequence([start, body])) } else { p.empty() };
    let calls = p.trigger_rule("tool-call", p.sequence([first, more]));
    p.calls(spec, calls)
}

fn call(p: &FormatBuilder, tool: &Tool) -> ExprId {
    let line_end = line_end(p);
    let open = [p.literal("<function="), p.tool_name(&tool.name), p.literal(">"), line_end];
    let arguments = members::arguments(p, tool, &|member| argument(p, tool, member));
    let left_out = p.tolerated(p.and(p.literal(CALL[1])));
    let close = p.tool_close(p.choice([p.sequence([p.literal(FUNCTION_END), line_end]), left_out]));
    p.sequence([p.tool_open(p.sequence(open)), arguments, p.space(), close])
}

/// The line break after a tag. It is required, or the end tag of an empty text would be read as text.
fn line_end(p: &FormatBuilder) -> ExprId {
    p.choice([p.literal("\n"), p.tolerated(p.empty())])
}

fn argument(p: &FormatBuilder, tool: &Tool, member: &Member) -> ExprId {
    let open = [p.literal("<parameter="), p.arg_name(member.name), p.literal(">"), line_end(p)];
    let close = p.sequence([p.space(), p.arg_close(p.literal(PARAMETER_END))]);
    let json = p.sequence([member.python(p), close]);
    p.sequence([p.atomic(p.sequence(open)), members::value(p, member.types(), close, json, text(p, tool))])
}

/// Text up to a closing tag on a separate line, or to one that another tag of the call follows. If the model leaves the
/// closing tag out: up to the next argument on a separate line, or to the end of the call.
fn text(p: &FormatBuilder, tool: &Tool) -> ExprId {
    let line = format!("\n{PARAMETER_END}\n");
    let schema = schema::parameters(&tool.parameters);
    let arguments = schema::members(&schema).map(|(name, ..)| format!("\n<parameter={name}>\n"));
    let left_out: Vec<String> = arguments.chain([format!("\n{FUNCTION_END}\n{}", CALL[1])]).collect();
    let value = p.arg_text_up_to(&line, &["<parameter=", FUNCTION_END, CALL[1]], &left_out);
    p.rule(format!("tool-{}-xml-arg-string", tool.name), p.excluding(value, [line]))
}
