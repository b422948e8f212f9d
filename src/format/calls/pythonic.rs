//! Calls as a Python list: `[f(x=1, s='text'), g()]`.

use super::super::Wanted;
use super::super::parts::Parts;
use crate::grammar::schema;
use crate::message::Tool;
use crate::peg::ExprId;

/// The list of calls, brackets included.
pub(in crate::format) fn calls(p: &Parts, wanted: &Wanted) -> ExprId {
    let value = value(p);
    let each = p.any_tool(wanted.tools(), |tool| call(p, tool, value));
    let mut list = each;
    if wanted.parallel() {
        list = p.sequence([each, p.many(p.sequence([comma(p), each]))]);
    }
    p.spaced([p.literal("["), list, p.literal("]")])
}

/// `f(x=1, s='text')`, the arguments in any order. A name is certain once its bracket or equals sign is there.
fn call(p: &Parts, tool: &Tool, value: ExprId) -> ExprId {
    let root = schema::parameters(&tool.parameters);
    let each = p.choice(schema::members(&root).map(|(name, schema, _)| {
        let is_string = schema.get("type").is_some_and(|kind| kind == "string");
        let value = p.arg_json(if is_string { string(p) } else { value });
        p.sequence([p.atomic(p.sequence([p.arg_name(name), p.literal("=")])), value])
    }));
    let arguments = p.optional(p.sequence([each, p.many(p.sequence([comma(p), each]))]));
    let open = p.tool_open(p.sequence([p.tool_name(&tool.name), p.literal("(")]));
    p.spaced([open, arguments, p.tool_close(p.literal(")"))])
}

fn comma(p: &Parts) -> ExprId {
    p.spaced([p.empty(), p.literal(","), p.empty()])
}

/// A string in either kind of quotes.
fn string(p: &Parts) -> ExprId {
    p.choice(
        [("\"", b'"'), ("'", b'\'')]
            .map(|(quote, delimiter)| p.sequence([p.literal(quote), p.string_body(delimiter), p.literal(quote)])),
    )
}

/// A Python literal; JSON's words are taken, too.
fn value(p: &Parts) -> ExprId {
    const NAME: &str = "python-value";
    let member = p.spaced([string(p), p.literal(":"), p.reference(NAME)]);
    let container = |open: &str, close: &str, item: ExprId| {
        let items = p.sequence([item, p.many(p.sequence([comma(p), item])), p.space(), p.literal(close)]);
        p.spaced([p.literal(open), p.choice([p.literal(close), items])])
    };
    let words = ["True", "False", "None", "true", "false", "null"];
    let alternatives = [
        p.rule("python-dict", container("{", "}", member)),
        p.rule("python-list", container("[", "]", p.reference(NAME))),
        string(p),
        p.json_number(),
    ];
    p.rule(NAME, p.choice(alternatives.into_iter().chain(words.map(|word| p.literal(word)))))
}
