//! Calls with the name in a tag: arguments as one JSON object, or one by one in tags of their own.

use std::sync::Arc;

use super::super::FormatSpec;
use super::super::builder::FormatBuilder;
use super::super::wrappers::is_marker;
use super::members::{self, Member};
use crate::analysis::{CallIdPosition, Layout, ToolFormat};
use crate::grammar::schema::{self, Types};
use crate::message::Tool;
use crate::peg::{ExprId, SchemaRef};

/// The separator of calls, if the layout has none.
const SEPARATOR: &str = ", ";

/// All calls of a message, with the markers around them.
pub(in crate::format) fn calls(p: &FormatBuilder, layout: &Layout, spec: &FormatSpec) -> ExprId {
    let tools = &layout.tools;
    let by_tag = tools.format == ToolFormat::TagWithTagged;
    let each = p.any_tool(spec, &|tool| {
        let call = Call { p, layout, tool };
        if by_tag { call.with_tagged_arguments() } else { call.with_json_arguments() }
    });
    // White space around argument tags is free; around a JSON object it is not.
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
        let end = p.choice([p.markup(&tools.per_call_end), p.tolerated(look_ahead(p, layout, true))]);
        let one = p.sequence([start, gap(), each, gap(), end]);
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

/// Looks ahead to what follows a call, where the model has left out its end. `next`: the beginning of another call is
/// accepted.
fn look_ahead(p: &FormatBuilder, layout: &Layout, next: bool) -> ExprId {
    let tools = &layout.tools;
    let next = next.then_some(&tools.per_call_start);
    let behind = [&tools.per_call_end, &tools.section_end].into_iter().chain(next).map(|marker| marker.trim());
    p.and(p.any_of(behind.filter(|marker| is_marker(marker))))
}

/// A tool's arguments, each in its own tags, in any order, with white space before each; and whether one is required. A tool
/// that is not offered may have any arguments.
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

/// The opening of an argument, up to its value. The name is visible once the text behind it confirms that it is complete.
fn open(p: &FormatBuilder, layout: &Layout, name: &str) -> ExprId {
    let arguments = &layout.arguments;
    let named = p.sequence([p.arg_name(name), p.literal(&*arguments.name_suffix)]);
    let mut open = p.sequence([p.literal(&*arguments.name_prefix), named]);
    if is_marker(arguments.name_suffix.trim()) && !FormatBuilder::is_any(name) {
        open = p.choice([open, p.tolerated(unopened(p, layout, named))]);
    }
    let before_value = p.literal(&*arguments.value_prefix);
    if arguments.name_suffix.trim().is_empty() {
        return p.atomic(p.sequence([open, before_value]));
    }
    p.sequence([p.atomic(open), before_value])
}

/// An argument's name and the marker behind it, for models that leave out the marker in front or write the opening of calls
/// instead. The name must be in the schema.
fn unopened(p: &FormatBuilder, layout: &Layout, named: ExprId) -> ExprId {
    let tools = &layout.tools;
    let bare = p.sequence([p.space(), named]);
    // Some templates use the same marker to close calls.
    if !is_marker(&tools.per_call_start) || tools.per_call_start == tools.per_call_end {
        return bare;
    }
    p.choice([bare, p.sequence([p.literal(tools.per_call_start.trim()), named])])
}

/// A raw text value and its end.
fn text_value(p: &FormatBuilder, layout: &Layout) -> ExprId {
    let Layout { arguments, function, tools, .. } = layout;
    let next = [&*arguments.name_prefix, &arguments.end, &function.close, &tools.per_call_end, &tools.section_end];
    p.excluding(p.arg_text_up_to(&arguments.value_suffix, &next, &[]), [&*arguments.value_suffix])
}

/// A value other than text, and its end. Templates without `tojson` print Python literals, and their models imitate that.
fn json_value(p: &FormatBuilder, layout: &Layout, rule: &str, schema: SchemaRef) -> ExprId {
    let value = p.arg_json(p.argument(p.python(), format!("{rule}-schema"), schema, false));
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
        // An argument's tag proves that the name is complete, and so does the end of a call without required arguments.
        let sign = (!arguments.name_prefix.is_empty()).then(|| p.literal(&*arguments.name_prefix));
        let sign = sign.map(|sign| {
            // The beginning of another call proves nothing, because a text may quote one.
            let may_end = !has_required || !self.layout.function.name_suffix.is_empty();
            let end = may_end.then(|| self.close(false));
            p.choice([sign].into_iter().chain(self.unopened_argument()).chain(end))
        });
        self.wrap(id, p.sequence(body), sign)
    }

    /// Looks ahead to an argument whose first marker is missing.
    fn unopened_argument(&self) -> Option<ExprId> {
        let (p, suffix) = (self.p, self.layout.arguments.name_suffix.trim());
        if !is_marker(suffix) || self.tool.name == FormatBuilder::ANY {
            return None;
        }
        let parameters = SchemaRef::from(schema::parameters(&self.tool.parameters));
        let listed = p.listed_name(&members::unlisted_name(p, &self.tool.name, &parameters));
        Some(unopened(p, self.layout, p.sequence([listed, p.literal(suffix)])))
    }

    /// The id between name and arguments: its marker and text, and the text behind it.
    fn id(&self) -> Option<(ExprId, ExprId)> {
        let (p, id) = (self.p, &self.layout.call_id);
        if id.position != CallIdPosition::BetweenNameAndArguments || id.prefix.is_empty() {
            return None;
        }
        let end = if id.suffix.is_empty() { &self.layout.arguments.start } else { &id.suffix };
        let text = p.tool_id(p.until(&**end));
        (!end.is_empty()).then(|| (p.sequence([p.literal(&*id.prefix), text]), p.literal(&*id.suffix)))
    }

    /// The call around its arguments. The name is visible once something proves that it is complete: the text behind it, an
    /// id, or the beginning of the arguments (`sign`); without any of these, the whole call.
    fn wrap(&self, id: Option<ExprId>, arguments: ExprId, sign: Option<ExprId>) -> ExprId {
        let (p, function) = (self.p, &self.layout.function);
        let name_ends = match &sign {
            // White space that differs from the template's proves nothing.
            Some(sign) if !function.name_suffix.is_empty() && function.name_suffix.trim().is_empty() => {
                let near = p.tolerated(p.sequence([p.space(), p.and(*sign)]));
                p.choice([p.exact(&*function.name_suffix), near])
            }
            _ => p.literal(&*function.name_suffix),
        };
        let name = [self.before_name(), p.tool_name(&self.tool.name), name_ends];
        let mut open = vec![p.tool_open(p.sequence(name))];
        let has_id = id.is_some();
        if !function.args_separator.is_empty() {
            let separator = p.sequence([p.space(), p.literal(&*function.args_separator)]);
            // The sign is enough.
            let may_miss = function.name_suffix.is_empty() && !has_id && sign.is_some();
            open.push(if may_miss { p.choice([separator, p.tolerated(p.empty())]) } else { separator });
        }
        open.extend(id);
        let head = p.sequence(open);
        let close = self.close(true);
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

    /// The text before the name. If the template's prefix contains the id of a probe, any id matches there.
    fn before_name(&self) -> ExprId {
        let (p, prefix, example) = (self.p, &self.layout.function.name_prefix, &self.layout.call_id.example);
        match prefix.split_once(example.as_str()) {
            Some((before, after)) if !example.is_empty() && !after.is_empty() => {
                p.sequence([p.literal(before), p.until(after), p.literal(after)])
            }
            _ => p.literal(&**prefix),
        }
    }

    /// The end of the call: its own marker, a look ahead to the marker around it, or nothing. `next`: as in [`look_ahead`].
    fn close(&self, next: bool) -> ExprId {
        let (p, layout) = (self.p, self.layout);
        let seen = p.tolerated(look_ahead(p, layout, next));
        if !layout.function.close.is_empty() {
            let close = p.choice([p.literal(&*layout.function.close), seen]);
            return p.sequence([self.extra_ends(), p.space(), p.tool_close(close)]);
        }
        if layout.tools.per_call_end.is_empty() {
            return p.sequence([p.tool_close(p.empty()), p.space()]);
        }
        let end = p.literal(&*layout.tools.per_call_end);
        let end = if layout.arguments.loose_whitespace { p.spaced([p.empty(), end]) } else { end };
        p.sequence([self.extra_ends(), p.tool_close(p.choice([p.and(end), seen]))])
    }

    /// Closing tags of arguments without an opening one.
    fn extra_ends(&self) -> ExprId {
        let (p, layout) = (self.p, self.layout);
        let end = layout.arguments.value_suffix.trim();
        let ends = [&layout.function.close, &layout.tools.per_call_end, &layout.tools.section_end];
        if !is_marker(end) || ends.iter().any(|other| other.trim().starts_with(end)) {
            return p.empty();
        }
        p.tolerated(p.many(p.literal(end)))
    }
}
