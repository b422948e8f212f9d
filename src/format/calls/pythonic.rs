//! Calls as a Python list: `[f(x=1, s='text'), g()]`.

use super::super::Wanted;
use super::super::parts::Parts;
use crate::grammar::schema;
use crate::message::Tool;
use crate::peg::ExprId;

/// The list of calls, brackets included.
pub(in crate::format) fn calls(p: &Parts, wanted: &Wanted) -> ExprId {
    let each = p.any_tool(wanted.tools(), |tool| call(p, tool));
    let mut list = each;
    if wanted.parallel() {
        list = p.sequence([each, p.many(p.sequence([comma(p), each]))]);
    }
    p.spaced([p.literal("["), list, p.literal("]")])
}

/// `f(x=1, s='text')`, the arguments in any order. A name is certain once its bracket or equals sign is there.
fn call(p: &Parts, tool: &Tool) -> ExprId {
    let root = schema::parameters(&tool.parameters);
    let members: Vec<ExprId> = schema::members(&root)
        .map(|(name, schema, _)| {
            let is_string = schema.get("type").is_some_and(|kind| kind == "string");
            let value = p.arg_json(if is_string { p.python_string() } else { p.python() });
            p.sequence([p.atomic(p.sequence([p.arg_name(name), p.literal("=")])), value])
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

fn comma(p: &Parts) -> ExprId {
    p.spaced([p.empty(), p.literal(","), p.empty()])
}
