//! Calls as a Python list: `[f(x=1, s='text'), g()]`.
//!
//! In Python, quoted strings have no line breaks. Templates print a text between single quotes unescaped, whatever it
//! contains. So after a line break the string is read as unescaped text: a backslash is a backslash, and a quote closes the
//! string only if what may follow an argument follows the quote.

use super::super::FormatSpec;
use super::super::builder::FormatBuilder;
use crate::grammar::schema;
use crate::message::Tool;
use crate::peg::ExprId;

/// The list of calls, brackets included. `end`: what may follow the list.
pub(in crate::format) fn calls(p: &FormatBuilder, spec: &FormatSpec, end: &str) -> ExprId {
    let heads = spec.tools().iter().map(|tool| p.spaced([p.literal(&*tool.name), p.literal("(")]));
    let next_call = p.spaced([p.literal(","), p.choice(heads)]);
    let end = p.spaced([p.literal("]"), p.literal(end)]);
    // A rule, because each argument looks ahead to it: otherwise the program would hold the names once for each argument.
    let after = p.rule("after-arguments", p.spaced([p.literal(")"), p.choice([next_call, end])]));
    let each = p.known_tool(spec.tools(), &|tool| call(p, tool, after));
    let mut list = each;
    if spec.parallel() {
        list = p.sequence([each, p.many(p.sequence([comma(p), each]))]);
    }
    p.spaced([p.literal("["), list, p.literal("]")])
}

/// `f(x=1, s='text')`, with the arguments in any order. A name is complete at its bracket or equals sign. `after`: the
/// closing bracket and what may follow a call.
fn call(p: &FormatBuilder, tool: &Tool, after: ExprId) -> ExprId {
    let root = schema::parameters(&tool.parameters);
    let equals = |name: ExprId| p.sequence([name, p.literal("=")]);
    let names = p.choice(schema::members(&root).map(|(name, ..)| equals(p.literal(name))));
    let after = p.rule(format!("after-{}-argument", tool.name), p.choice([p.spaced([p.literal(","), names]), after]));
    let members: Vec<ExprId> = schema::members(&root)
        .map(|(name, schema, _)| {
            let is_string = schema.get("type").is_some_and(|kind| kind == "string");
            let value = if is_string { text(p, after) } else { p.arg_json(p.python()) };
            p.sequence([p.atomic(equals(p.arg_name(name))), value])
        })
        .collect();
    let arguments = if members.is_empty() {
        p.empty()
    } else {
        let each = p.choice(members);
        p.optional(p.sequence([each, p.many(p.sequence([comma(p), each]))]))
    };
    let open = p.tool_open(p.sequence([p.tool_name(&tool.name), p.literal("(")]));
    p.spaced([open, arguments, p.tool_close(p.literal(")"))])
}

/// A quoted text, as Python or a template writes it. `after`: what may follow an argument.
fn text(p: &FormatBuilder, after: ExprId) -> ExprId {
    const QUOTE: &str = "'";
    let quote = p.literal(QUOTE);
    let close = p.arg_close(quote);
    let inner_quote = p.sequence([p.not(p.spaced([quote, after])), quote]);
    let printed = p.arg_text(p.many(p.choice([inner_quote, p.until(QUOTE)])));
    let printed = p.tolerated(p.sequence([printed, close]));
    let line = p.arg_json(p.sequence([quote, p.string_line(b'\'')]));
    let single = p.sequence([line, p.choice([close, printed])]);
    let double = p.arg_json(p.sequence([p.literal("\""), p.string_body(b'"'), p.literal("\"")]));
    p.choice([double, single])
}

fn comma(p: &FormatBuilder) -> ExprId {
    p.spaced([p.empty(), p.literal(","), p.empty()])
}
