//! MiniCPM5: calls as XML functions with parameters. Strings may be in CDATA sections; other values are JSON, or Python
//! literals as the template prints them.
//!
//! ```text
//! <think>
//! reasoning
//! </think>
//!
//! content
//! <function name="f"><param name="x"><![CDATA[a < b]]></param><param name="n">[1, True]</param></function>
//! ```
//!
//! Not learnt, because models leave out the end of their last call, which renders always have; and because the line break in
//! front of the end of the reasoning belongs to the reasoning, as in llama.cpp.

use super::has_all;
use super::rows::IM_START;
use crate::error::Result;
use crate::format::builder::FormatBuilder;
use crate::format::calls::members::{self, Member};
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Delimiter, Format, FormatSpec, Thinking};
use crate::grammar::Trigger;
use crate::message::Tool;
use crate::peg::{Arena, ExprId};

/// Checks for the instructions for tools and the tags of a call.
pub fn detect(source: &str) -> bool {
    has_all(source, &["Tool usage guidelines:", "<function name=\"", "<param name=\""])
}

/// As the template renders it.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    Ok(plain(input)?.continued(input, &format!("{TURN}<think>\n"), "\n</think>\n\n"))
}

const TURN: &str = "<|im_start|>assistant\n";
const CALL: &str = "<function";
const END: &str = "</param>";
const CDATA: &str = "<![CDATA[";

/// The format for one request.
pub fn build(spec: &FormatSpec) -> Format {
    let tokens = [CALL, "<param", "</function>", END, "<think>", "</think>"];
    Format {
        constraint: spec.constraint(spec.response_schema().is_some(), [Trigger::word(CALL)]),
        preserved_tokens: tokens.map(str::to_owned).to_vec(),
        thinking: Some(Thinking::new("<think>", ["</think>"])),
        delimiters: Delimiter::list(IM_START.iter().copied()),
        output: output(spec),
        ..Format::default()
    }
}

fn output(spec: &FormatSpec) -> Arena {
    let p = FormatBuilder::default();
    let turn = p.turn(spec.prefill, TURN);
    let reasoning = if spec.extract_reasoning() {
        let text = p.reasoning(p.until("</think>"));
        p.optional(p.sequence([
            p.literal("<think>"),
            p.space(),
            p.reopened(spec, "<think>"),
            text,
            p.literal("</think>"),
            p.space(),
        ]))
    } else {
        p.empty()
    };
    let answer = if let Some(schema) = spec.response_schema() {
        p.response(schema)
    } else if spec.tools().is_empty() {
        p.content(p.rest())
    } else {
        p.sequence([p.content(p.until(format!("{CALL} name=\""))), calls(&p, spec)])
    };
    p.finish(p.sequence([turn, reasoning, answer, p.end()]))
}

fn calls(p: &FormatBuilder, spec: &FormatSpec) -> ExprId {
    let each = p.any_tool(spec, &|tool| call(p, tool));
    let most = if spec.parallel() { None } else { Some(1) };
    let calls = p.trigger_rule("tool-call", p.repeat(p.sequence([each, p.space()]), 1, most));
    p.calls(spec, calls)
}

fn call(p: &FormatBuilder, tool: &Tool) -> ExprId {
    let open = [p.literal(format!("{CALL} name=\"")), p.tool_name(&tool.name), p.literal("\">")];
    let arguments = members::arguments(p, tool, &|member| argument(p, member));
    let close = p.choice([p.literal("</function>"), p.end()]);
    p.sequence([p.tool_open(p.sequence(open)), arguments, p.space(), p.tool_close(close)])
}

fn argument(p: &FormatBuilder, member: &Member) -> ExprId {
    let open = p.atomic(p.sequence([p.literal("<param name=\""), p.arg_name(member.name), p.literal("\">")]));
    let close = p.arg_close(p.literal(END));
    let json = p.sequence([member.python(p), p.space(), close]);
    // A section may contain the end tag of the parameter.
    let section_end = format!("]]>{END}");
    let section = p.arg_text(p.until(&*section_end));
    let section = p.sequence([p.literal(CDATA), section, p.literal("]]>"), close]);
    let bare = p.sequence([p.not(p.literal(CDATA)), p.arg_text(p.until(END)), close]);
    let text = p.choice([p.excluding(section, [section_end]), p.excluding(bare, [END])]);
    p.sequence([open, members::value(p, member.types(), close, json, text)])
}
