//! Calls that are JSON throughout: `{"name": "f", "arguments": {...}}`, with the fields and wrappers of the layout.

use super::super::FormatSpec;
use super::super::builder::FormatBuilder;
use crate::analysis::ToolsLayout;
use crate::json_string::quoted;
use crate::message::Tool;
use crate::peg::ExprId;

/// All calls of a message, with the markers around them.
pub(in crate::format) fn calls(p: &FormatBuilder, tools: &ToolsLayout, spec: &FormatSpec) -> ExprId {
    let marked = !tools.section_start.is_empty() || !tools.per_call_start.is_empty();
    let each = any(p, tools, spec, marked);
    let per_call = tools.section_start.is_empty() && !tools.per_call_start.is_empty();
    let (start, end) = match per_call {
        true => (&tools.per_call_start, &tools.per_call_end),
        false => (&tools.section_start, &tools.section_end),
    };
    let mut list = each;
    if spec.parallel() {
        let comma = p.literal(",");
        let comma = if tools.side_by_side { p.optional(comma) } else { comma };
        let next = p.sequence([p.space(), comma, p.space(), each]);
        list = p.sequence([each, p.many(next)]);
    }
    if tools.array_wrapped {
        list = p.spaced([p.literal("["), list, p.literal("]")]);
    }
    let section = p.trigger_rule("tool-call", p.spaced([p.literal(&**start), list, p.markup(end)]));
    if per_call {
        let sections = p.trigger_rule("tool-calls", p.some(p.sequence([section, p.space()])));
        return p.calls(spec, sections);
    }
    p.calls(spec, section)
}

/// One call of any tool, without the markers. `marked`: a marker identifies calls, so tools that are not offered can be
/// read. If the name is a key, it is visible before its closing quote, so only known names match.
pub(in crate::format) fn any(p: &FormatBuilder, tools: &ToolsLayout, spec: &FormatSpec, marked: bool) -> ExprId {
    let call = |tool: &Tool| Call { p, tools, tool, others: spec.tools() }.expr();
    if marked && !tools.name_is_key { p.any_tool(spec, &call) } else { p.known_tool(spec.tools(), &call) }
}

/// One tool's call.
struct Call<'a> {
    p: &'a FormatBuilder,
    tools: &'a ToolsLayout,
    tool: &'a Tool,
    others: &'a [Tool],
}

impl Call<'_> {
    fn expr(&self) -> ExprId {
        if self.tools.name_is_key {
            return self.name_as_key();
        }
        let (holder, name_field, args_field) = self.fields();
        match holder {
            Some(holder) => self.nested(holder, name_field, args_field),
            None => self.flat(name_field, args_field),
        }
    }

    /// The object that holds name and arguments, unless it is the call itself, and their field names.
    fn fields(&self) -> (Option<&str>, &str, &str) {
        let tools = self.tools;
        let name = if tools.name_field.is_empty() { "name" } else { &tools.name_field };
        let args = if tools.args_field.is_empty() { "arguments" } else { &tools.args_field };
        if !tools.function_field.is_empty() && tools.function_field != "function" && !name.contains('.') {
            return (Some(&tools.function_field), name, args);
        }
        let split = |field| str::split_once(field, '.').map_or((None, field), |(holder, field)| (Some(holder), field));
        let ((name_holder, name), (args_holder, args)) = (split(name), split(args));
        (name_holder.or(args_holder), name, args)
    }

    fn open(&self) -> ExprId {
        self.p.tool_open(self.p.literal("{"))
    }

    fn close(&self) -> ExprId {
        self.p.tool_close(self.p.literal("}"))
    }

    /// `"name": "f"`. Nothing of a call is visible before its name is certain, so the text up to there is one group.
    fn up_to_name(&self, before: Vec<ExprId>, key: &str) -> ExprId {
        let p = self.p;
        let name = p.sequence([p.literal("\""), p.tool_name(&self.tool.name), p.literal("\"")]);
        let name = p.json_member(key, name);
        p.atomic(p.sequence(before.into_iter().chain([name])))
    }

    /// An id field with a string or a number.
    fn id(&self, key: &str) -> ExprId {
        let p = self.p;
        let string = p.sequence([p.literal("\""), p.tool_id(p.string_body(b'"')), p.literal("\"")]);
        p.atomic(p.json_member(key, p.choice([string, p.tool_id(p.json_number())])))
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        [&self.tools.id_field, &self.tools.gen_id_field].into_iter().map(String::as_str).filter(|id| !id.is_empty())
    }

    fn comma(&self) -> ExprId {
        self.p.sequence([self.p.space(), self.p.literal(","), self.p.space()])
    }

    /// `{"f": {...}}`, or with an arguments field and ids in the inner object.
    fn name_as_key(&self) -> ExprId {
        let p = self.p;
        let name = p.sequence([self.open(), p.space(), p.literal("\""), p.tool_name(&self.tool.name)]);
        let quote = p.literal("\"");
        // The name is visible before its closing quote if no other name begins with it.
        let certain = !self.others.iter().any(|o| o.name != self.tool.name && o.name.starts_with(&self.tool.name));
        let head = match certain {
            true => p.sequence([p.atomic(name), quote]),
            false => p.atomic(p.sequence([name, quote])),
        };
        let ids: Vec<ExprId> = self.ids().map(|id| self.leading(self.id(id))).collect();
        let arguments = match self.tools.args_field.as_str() {
            "" => p.json_args(self.tool),
            field => p.arguments_member(field, p.json_args(self.tool)),
        };
        let inner = if self.tools.args_field.is_empty() && ids.is_empty() {
            arguments
        } else {
            let fields = p.sequence(ids.into_iter().chain([arguments]));
            p.spaced([p.literal("{"), fields, p.literal("}")])
        };
        p.spaced([head, p.literal(":"), inner, self.close()])
    }

    /// `{"id": "1", "function": {"name": "f", "arguments": {...}}}`.
    fn nested(&self, holder: &str, name_field: &str, args_field: &str) -> ExprId {
        let p = self.p;
        let mut before = vec![self.open(), p.space()];
        before.extend(self.ids().filter(|id| !id.contains('.')).map(|id| self.leading(self.id(id))));
        before.extend([p.literal(quoted(holder)), p.space(), p.literal(":"), p.space()]);
        before.extend([p.literal("{"), p.space()]);
        let head = self.up_to_name(before, name_field);
        let arguments = p.arguments_member(args_field, p.json_args(self.tool));
        p.sequence([head, self.comma(), arguments, p.space(), p.literal("}"), p.space(), self.close()])
    }

    /// `{"name": "f", "arguments": {...}, "id": "1"}` in the layout's order; ids may be missing.
    fn flat(&self, name_field: &str, args_field: &str) -> ExprId {
        let p = self.p;
        let mut fields = vec![name_field, args_field];
        fields.extend(self.ids());
        let order = &self.tools.field_order;
        fields.sort_by_cached_key(|field| order.iter().position(|known| known == field).unwrap_or(order.len()));

        let mut head = vec![self.open(), p.space()];
        if self.tools.openai_wrapper {
            let kind = p.json_member("type", p.literal("\"function\""));
            head.push(p.optional(p.sequence([kind, self.comma()])));
        }
        let mut named = None;
        let mut rest = Vec::new();
        let mut first = true;
        for (index, &field) in fields.iter().enumerate() {
            let is_id = field != name_field && field != args_field;
            let last = index + 1 == fields.len();
            let parts = if named.is_none() { &mut head } else { &mut rest };
            if is_id {
                // A missing id is left out together with its comma.
                parts.push(match first && !last {
                    true => self.leading(self.id(field)),
                    false => p.optional(p.sequence([self.comma(), self.id(field)])),
                });
                continue;
            }
            if !first {
                parts.push(self.comma());
            }
            first = false;
            if field == name_field {
                named = Some(self.up_to_name(std::mem::take(&mut head), field));
            } else {
                parts.push(p.arguments_member(field, p.json_args(self.tool)));
            }
        }
        let head = named.unwrap_or_else(|| p.empty());
        p.sequence([head].into_iter().chain(rest).chain([p.space(), self.close()]))
    }

    /// A field that others may follow.
    fn leading(&self, field: ExprId) -> ExprId {
        self.p.optional(self.p.sequence([field, self.comma()]))
    }
}
