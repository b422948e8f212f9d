//! Calls with the name in a tag: arguments as one JSON object, or one by one in tags of their own.

use std::sync::Arc;

use super::super::FormatSpec;
use super::super::builder::FormatBuilder;
use super::members::{self, Member};
use crate::analysis::{CallIdPosition, Layout, ToolFormat};
use crate::grammar::schema::{self, Types};
use crate::message::Tool;
use crate::peg::{ExprId, SchemaRef};

/// Between calls where nothing else separates them.
const SEPARATOR: &str = ", ";

/// All calls of a message, with the markers around them.
pub(in crate::format) fn calls(p: &FormatBuilder, layout: &Layout, spec: &FormatSpec) -> ExprId {
    let tools = &layout.tools;
    let by_tag = tools.format == ToolFormat::TagWithTagged;
    let each = p.any_tool(spec, |tool| {
        let call = Call { p, layout, tool };
        if by_tag { call.with_tagged_arguments() } else { call.with_json_arguments() }
    });
    // Argument tags leave room for white space around them; a JSON object does not.
    let gap = || if by_tag { p.space() } else { p.empty() };
    let calls = if tools.per_call_start.is_empty() {
        let mut list = vec![p.literal(&*tools.section_start), gap(), each];
        if spec.parallel() {
            let separator = if tools.side_by_side { p.space() } else { p.literal(SEPARATOR) };
            list.push(p.many(p.sequence([separator, each])));
        }
        list.extend([gap(), p.markup(&tools.section_end)]);
        p.trigger_rule("tool-call", p.sequence(list))
    } else {
        let start = p.literal(&*tools.per_call_start);
        let one = p.sequence([start, gap(), each, gap(), p.markup(&tools.per_call_end)]);
        let mut list = vec![one];
        if spec.parallel() {
            list.push(p.many(p.sequence([p.space(), one])));
        }
        list.push(gap());
        let calls = p.trigger_rule("tool-call", p.sequence(list));
        if tools.section_start.is_empty() {
            calls
        } else {
            let end =
                if tools.section_end.is_empty() { p.end() } else { p.sequence([p.markup(&tools.section_end), gap()]) };
            p.trigger_rule("tool-calls", p.spaced([p.literal(&*tools.section_start), calls, end]))
        }
    };
    p.calls(spec, calls)
}

/// A tool's arguments, each in tags of its own, in any order, with white space before each; and whether one of them must be
/// there. A tool that nobody knows takes any.
pub(in crate::format) fn arguments(p: &FormatBuilder, layout: &Layout, tool: &Tool) -> (ExprId, bool) {
    if tool.name == FormatBuilder::ANY {
        return (p.many(any_argument(p, layout, FormatBuilder::ANY)), false);
    }
    let root = schema::parameters(&tool.parameters);
    let unlisted = members::unlisted_name(p, &tool.name, &SchemaRef::from(Arc::clone(&root)));
    let mut required = Vec::new();
    let mut optional = Vec::new();
    for (name, schema, must) in schema::members(&root) {
        let rule = format!("tool-{}-arg-{name}", tool.name);
        let value = match schema::may_be_string(schema, &root) {
            true => text_value(p, layout),
            false => {
                let json = json_value(p, layout, &rule, SchemaRef::property(&root, name));
                members::json_or_text(p, json, text_value(p, layout))
            }
        };
        let types = schema::types(schema, &root);
        let value = match types.has(Types::NULL) {
            true => p.choice([p.null(types, p.arg_close(p.literal(&*layout.arguments.value_suffix))), value]),
            false => value,
        };
        let argument = p.rule(rule, p.sequence([open(p, layout, name), value]));
        let argument = p.sequence([p.space(), argument]);
        if must { required.push(argument) } else { optional.push(argument) }
    }
    optional.push(p.tolerated(any_argument(p, layout, &unlisted)));
    let has_required = !required.is_empty();
    (p.unordered(required, optional), has_required)
}

/// An argument of any name and type, with white space before it.
fn any_argument(p: &FormatBuilder, layout: &Layout, name: &str) -> ExprId {
    let any = Member { name, ..Member::any() };
    let end = p.arg_close(p.literal(&*layout.arguments.value_suffix));
    let json = p.sequence([any.python(p), end]);
    let value = members::value(p, any.types(), end, json, text_value(p, layout));
    p.sequence([p.space(), open(p, layout, any.name), value])
}

/// What opens an argument, up to its value. The name shows once what follows it says that it is whole.
fn open(p: &FormatBuilder, layout: &Layout, name: &str) -> ExprId {
    let layout = &layout.arguments;
    let mut open = vec![p.literal(&*layout.name_prefix), p.arg_name(name), p.literal(&*layout.name_suffix)];
    let before_value = p.literal(&*layout.value_prefix);
    if layout.name_suffix.trim().is_empty() {
        open.push(before_value);
        return p.atomic(p.sequence(open));
    }
    p.sequence([p.atomic(p.sequence(open)), before_value])
}

/// A value that is raw text, and its end.
fn text_value(p: &FormatBuilder, layout: &Layout) -> ExprId {
    let Layout { arguments, function, tools, .. } = layout;
    let next = [&*arguments.name_prefix, &arguments.end, &function.close, &tools.per_call_end, &tools.section_end];
    p.excluding(p.arg_text_up_to(&arguments.value_suffix, &next, &[]), [&*arguments.value_suffix])
}

/// A value that is no text, and its end. Templates print Python's literals where they do not ask for JSON, and their
/// models write what they have seen.
fn json_value(p: &FormatBuilder, layout: &Layout, rule: &str, schema: SchemaRef) -> ExprId {
    let value = p.arg_json(p.schema(p.python(), format!("{rule}-schema"), schema, false));
    p.sequence([value, p.arg_close(p.literal(&*layout.arguments.value_suffix))])
}

/// One tool's call.
struct Call<'a> {
    p: &'a FormatBuilder,
    layout: &'a Layout,
    tool: &'a Tool,
}

impl Call<'_> {
    /// `<function=f>{"a": 1}</function>`.
    fn with_json_arguments(&self) -> ExprId {
        let (p, arguments) = (self.p, &self.layout.arguments);
        let body = p.sequence([p.literal(&*arguments.start), p.json_args(self.tool), p.literal(&*arguments.end)]);
        let id = self.id().map(|(marked, suffix)| p.sequence([p.optional(marked), suffix]));
        let sign = (!arguments.start.is_empty()).then(|| p.literal(&*arguments.start));
        self.wrap(id, body, sign)
    }

    /// `<function=f><parameter=a>1</parameter></function>`: the arguments in any order.
    fn with_tagged_arguments(&self) -> ExprId {
        let (p, arguments) = (self.p, &self.layout.arguments);
        let (all, has_required) = self::arguments(p, self.layout, self.tool);
        let body = [p.literal(&*arguments.start), all, p.literal(&*arguments.end)];
        let id = self.id().map(|(marked, suffix)| p.optional(p.sequence([marked, suffix])));
        // The tag of an argument proves that the name is whole, and so does the end of a call that needs none.
        let sign = (!arguments.name_prefix.is_empty()).then(|| p.literal(&*arguments.name_prefix));
        let sign = sign.map(|sign| if has_required { sign } else { p.choice([sign, self.close()]) });
        self.wrap(id, p.sequence(body), sign)
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
        let name = [self.before_name(), p.tool_name(&self.tool.name), p.literal(&*function.name_suffix)];
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

    /// What stands before the name, with any id where the template's prefix has the one of a probe.
    fn before_name(&self) -> ExprId {
        let (p, prefix, example) = (self.p, &self.layout.function.name_prefix, &self.layout.call_id.example);
        match prefix.split_once(example.as_str()) {
            Some((before, after)) if !example.is_empty() && !after.is_empty() => {
                p.sequence([p.literal(before), p.until(after), p.literal(after)])
            }
            _ => p.literal(&**prefix),
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
