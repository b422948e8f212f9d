//! Calls with the name in a tag: arguments as one JSON object, or one by one in tags of their own.

use super::super::Wanted;
use super::super::parts::Parts;
use super::members::{Member, members};
use crate::analysis::{CallIdPosition, Layout, ToolFormat};
use crate::grammar::schema;
use crate::message::Tool;
use crate::peg::ExprId;

/// Between calls where nothing else separates them.
const SEPARATOR: &str = ", ";

/// All calls of a message, with the markers around them.
pub(in crate::format) fn calls(p: &Parts, layout: &Layout, wanted: &Wanted) -> ExprId {
    let tools = &layout.tools;
    let by_tag = tools.format == ToolFormat::TagWithTagged;
    let each = p.choice(wanted.tools().iter().map(|tool| {
        let call = Call { p, layout, tool };
        let call = if by_tag { call.with_tagged_arguments() } else { call.with_json_arguments() };
        p.rule(format!("tool-{}", tool.name), call)
    }));
    // Argument tags leave room for white space around them; a JSON object does not.
    let gap = || if by_tag { p.space() } else { p.empty() };
    let calls = if tools.per_call_start.is_empty() {
        let mut list = vec![p.literal(&*tools.section_start), gap(), each];
        if wanted.parallel() {
            list.push(p.many(p.sequence([p.literal(SEPARATOR), each])));
        }
        list.extend([gap(), p.literal(&*tools.section_end)]);
        p.trigger_rule("tool-call", p.sequence(list))
    } else {
        let start = p.literal(&*tools.per_call_start);
        let one = p.sequence([start, gap(), each, gap(), p.literal(&*tools.per_call_end)]);
        let mut list = vec![one];
        if wanted.parallel() {
            list.push(p.many(p.sequence([p.space(), one])));
        }
        list.push(gap());
        let calls = p.trigger_rule("tool-call", p.sequence(list));
        if tools.section_start.is_empty() {
            calls
        } else {
            let end = if tools.section_end.is_empty() {
                p.end()
            } else {
                p.sequence([p.literal(&*tools.section_end), gap()])
            };
            p.trigger_rule("tool-calls", p.spaced([p.literal(&*tools.section_start), calls, end]))
        }
    };
    if wanted.call_required() { calls } else { p.optional(calls) }
}

/// One tool's call.
struct Call<'a> {
    p: &'a Parts,
    layout: &'a Layout,
    tool: &'a Tool,
}

impl Call<'_> {
    /// `<function=f>{"a": 1}</function>`.
    fn with_json_arguments(&self) -> ExprId {
        let (p, arguments) = (self.p, &self.layout.arguments);
        let schema = schema::parameters(&self.tool.parameters);
        let name = format!("tool-{}-schema", self.tool.name);
        let object = p.tool_args(p.schema(p.json(), name, schema, false));
        let body = p.sequence([p.literal(&*arguments.start), object, p.literal(&*arguments.end)]);
        let id = self.id().map(|(marked, suffix)| p.sequence([p.optional(marked), suffix]));
        let sign = (!arguments.start.is_empty()).then(|| p.literal(&*arguments.start));
        self.wrap(id, body, sign)
    }

    /// `<function=f><parameter=a>1</parameter></function>`: the arguments in any order.
    fn with_tagged_arguments(&self) -> ExprId {
        let (p, arguments) = (self.p, &self.layout.arguments);
        let root = schema::parameters(&self.tool.parameters);
        let prefix = format!("tool-{}-arg-", self.tool.name);
        let (required, optional): (Vec<_>, Vec<_>) = members(&root, &root, &prefix).partition(|member| member.required);
        let each = |members: Vec<Member>| -> Vec<ExprId> {
            members.iter().map(|member| p.sequence([p.space(), self.argument(member)])).collect()
        };
        let (required, optional) = (each(required), each(optional));
        let has_required = !required.is_empty();
        let all = p.unordered(required, optional);
        let body = [p.literal(&*arguments.start), all, p.literal(&*arguments.end)];
        let id = self.id().map(|(marked, suffix)| p.optional(p.sequence([marked, suffix])));
        // Only where an argument must follow does its tag prove that the name is whole.
        let sign = (has_required && !arguments.name_prefix.is_empty()).then(|| p.literal(&*arguments.name_prefix));
        self.wrap(id, p.sequence(body), sign)
    }

    fn argument(&self, member: &Member) -> ExprId {
        let (p, arguments) = (self.p, &self.layout.arguments);
        let Member { name, schema, root, rule, .. } = member;
        let open =
            p.sequence([p.literal(&*arguments.name_prefix), p.arg_name(name), p.literal(&*arguments.name_suffix)]);
        let close = p.arg_close(p.literal(&*arguments.value_suffix));
        let value = if schema::may_be_string(schema, root) {
            let text = p.arg_text(p.until(&*arguments.value_suffix));
            p.excluding(p.sequence([text, close]), vec![arguments.value_suffix.clone()])
        } else {
            let value = p.schema(p.json(), format!("{rule}-schema"), (*schema).clone(), false);
            p.sequence([p.arg_json(value), close])
        };
        p.rule(&**rule, p.sequence([p.atomic(open), p.literal(&*arguments.value_prefix), value]))
    }

    /// The id between name and arguments: its marker and text, and what follows it.
    fn id(&self) -> Option<(ExprId, ExprId)> {
        let (p, id) = (self.p, &self.layout.call_id);
        if id.position != CallIdPosition::BetweenNameAndArguments || id.prefix.is_empty() {
            return None;
        }
        let end = if id.suffix.is_empty() { &self.layout.arguments.start } else { &id.suffix };
        let text = p.tool_id(p.until(&**end));
        (!end.is_empty()).then(|| (p.sequence([p.literal(&*id.prefix), text]), p.literal(&*id.suffix)))
    }

    /// The call around its arguments. The name shows once something proves that it is whole: what follows it, an id, or
    /// the `sign` that the arguments begin with; failing all these, the whole call.
    fn wrap(&self, id: Option<ExprId>, arguments: ExprId, sign: Option<ExprId>) -> ExprId {
        let (p, function) = (self.p, &self.layout.function);
        let name = [p.literal(&*function.name_prefix), p.tool_name(&self.tool.name), p.literal(&*function.name_suffix)];
        let mut open = vec![p.tool_open(p.sequence(name))];
        if !function.args_separator.is_empty() {
            open.extend([p.space(), p.literal(&*function.args_separator)]);
        }
        let has_id = id.is_some();
        open.extend(id);
        let head = p.sequence(open);
        let close = self.close();
        if !function.name_suffix.is_empty() {
            p.sequence([head, p.space(), arguments, close])
        } else if has_id {
            p.sequence([p.atomic(head), p.space(), arguments, close])
        } else if let Some(sign) = sign {
            let head = p.atomic(p.sequence([head, p.space(), p.and(sign)]));
            p.sequence([head, arguments, close])
        } else {
            p.atomic(p.sequence([head, p.space(), arguments, close]))
        }
    }

    /// What ends the call: its own marker, or the sight of the one around it, or nothing.
    fn close(&self) -> ExprId {
        let (p, layout) = (self.p, self.layout);
        if !layout.function.close.is_empty() {
            return p.sequence([p.space(), p.tool_close(p.literal(&*layout.function.close))]);
        }
        if layout.tools.per_call_end.is_empty() {
            return p.sequence([p.tool_close(p.empty()), p.space()]);
        }
        let end = p.literal(&*layout.tools.per_call_end);
        let end = if layout.arguments.loose_whitespace { p.spaced([p.empty(), end]) } else { end };
        p.tool_close(p.and(end))
    }
}
