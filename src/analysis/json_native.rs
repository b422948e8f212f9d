//! Learns calls that are JSON throughout: the role of each field, and the text around the JSON.
//!
//! The text from the first `{` to the last `}` of the call text is one call. A field is recognised by its value: the probe's
//! function name, argument or id. The text before and after has the section's markers and possibly the brackets of an array.
//! Comparing one call with two shows whether the markers occur once or with each call.

use serde_json::Value;

use super::context::{AnalysisContext, Pair};
use super::layout::{ToolFormat, ToolsLayout};
use super::markup::{is_space, trim, trim_start};
use super::probe::{ARGUMENT, FUNCTION, ID_ROOT};

/// Reads `text`, the call text in `pair`. If it is not one JSON object, nothing is learnt.
pub(super) fn run(context: &mut AnalysisContext, pair: &Pair, text: &str) {
    let (Some(open), Some(close)) = (text.find('{'), text.rfind('}')) else { return };
    let Some(Ok(Value::Object(call))) = text.get(open..=close).map(serde_json::from_str) else { return };
    let (before, after) = (&text[..open], &text[close + 1..]);
    let array = before.trim_end_matches(is_space).strip_suffix('[').zip(trim_start(after).strip_prefix(']'));

    context.learn("a reply / a call", pair, |layout| {
        let tools = &mut layout.tools;
        tools.format = ToolFormat::JsonNative;
        for (key, value) in &call {
            read_field(tools, key, value);
        }
        tools.field_order = in_order_of_appearance(tools, text);
        tools.array_wrapped = array.is_some();
        let (start, end) = array.unwrap_or((before, after));
        tools.section_start = trim_start(start).into();
        tools.section_end = trim(end).into();
    });
}

/// Reads the fields from one member of the call's object.
fn read_field(tools: &mut ToolsLayout, key: &str, value: &Value) {
    if key == FUNCTION {
        tools.name_is_key = true;
        tools.name_field.clear();
        tools.args_field.clear();
        return;
    }
    if let Value::Object(inner) = value
        && (!mentions_argument(value) || inner.values().any(|value| value == FUNCTION))
    {
        tools.function_field = key.into();
        for (name, value) in inner {
            assign_role(tools, format!("{key}.{name}"), name, value);
        }
        return;
    }
    assign_role(tools, key.into(), key, value);
}

/// Recognises a field by its value. An id that the template makes up is recognised by its key.
fn assign_role(tools: &mut ToolsLayout, path: String, key: &str, value: &Value) {
    match value {
        Value::String(text) if text.contains(ID_ROOT) => tools.id_field = path,
        Value::String(text) if text == FUNCTION => tools.name_field = path,
        _ if mentions_argument(value) => tools.args_field = path,
        _ if key.contains("id") => tools.gen_id_field = path,
        _ => {}
    }
}

/// Whether the argument's name is in `value`, as a key or inside JSON text in a string.
fn mentions_argument(value: &Value) -> bool {
    value.to_string().contains(ARGUMENT)
}

fn in_order_of_appearance(tools: &ToolsLayout, text: &str) -> Vec<String> {
    let fields = [&tools.name_field, &tools.args_field, &tools.id_field, &tools.gen_id_field];
    let mut placed: Vec<(usize, String)> = fields
        .into_iter()
        .filter(|field| !field.is_empty())
        .map(|field| (text.find(field.as_str()).unwrap_or(usize::MAX), field.clone()))
        .collect();
    placed.sort();
    placed.into_iter().map(|(_, field)| field).collect()
}

/// If the second call repeats the section start, the section belongs to each call.
pub(super) fn check_repetition(context: &mut AnalysisContext) {
    let Some(pair) = context.one_and_two_calls() else { return };
    let start = &context.layout().tools.section_start;
    if !start.is_empty() && pair.diff().right.contains(start.as_str()) {
        context.learn("one call / two calls", &pair, |layout| layout.tools.make_section_per_call());
    }
}

impl ToolsLayout {
    /// Moves the section's markers to each call.
    pub(super) fn make_section_per_call(&mut self) {
        self.per_call_start = std::mem::take(&mut self.section_start);
        self.per_call_end = std::mem::take(&mut self.section_end);
    }
}
