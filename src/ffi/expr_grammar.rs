//! Expressions that say what a grammar makes of them: rules, schemas, GBNF.

use std::ffi::c_char;

use super::expr::{add, chat_expr, chat_expr_builder};
use super::text::{chat_str, utf8};
use crate::error::Error;
use crate::format::described_calls;
use crate::grammar::{Rule, schema};
use crate::message::Request;

/// Matches one JSON value. In a grammar the schema speaks (JSON text, `{}` for any value), under the rule name `name`, which may be
/// empty. Texts are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_json(
    builder: Option<&mut chat_expr_builder>,
    name: *const c_char,
    name_len: usize,
    schema: *const c_char,
    schema_len: usize,
) -> chat_expr {
    add(builder, "chat_expr_json", |formats| {
        // SAFETY: the caller's two texts, by the contract.
        let (name, schema) = unsafe { (utf8(name, name_len, "name")?, utf8(schema, schema_len, "schema")?) };
        let schema = schema::from_text(schema)?;
        let (p, name) = (&formats.builder, if name.is_empty() { "json" } else { name });
        Ok(Some(p.schema(p.json(), name, schema, false)))
    })
}

/// What a value may look like.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_value_kind {
    /// Any JSON value.
    Json = 1,
    /// A JSON object.
    JsonObject = 2,
    /// A JSON array.
    JsonArray = 3,
    /// A JSON string, quotes included.
    JsonString = 4,
    /// A JSON number. It ends only where a character follows that cannot extend it.
    JsonNumber = 5,
    /// Any Python literal: `{'a': [True, None]}`.
    Python = 6,
    /// A Python dict.
    PythonDict = 7,
    /// A Python list.
    PythonList = 8,
    /// A string in double or single quotes.
    PythonString = 9,
    /// Any value, as JSON or as a Python literal.
    PythonOrJson = 10,
}

/// Matches a value: a `chat_value_kind`. A grammar has it as it is parsed; `chat_expr_json` is for a schema of it. An earlier
/// `chat_expr_rule` of the name `json-string` says what the strings in JSON look like.
#[unsafe(no_mangle)]
pub extern "C" fn chat_expr_value(builder: Option<&mut chat_expr_builder>, kind: u32) -> chat_expr {
    add(builder, "chat_expr_value", |formats| {
        let p = &formats.builder;
        Ok(Some(match kind {
            k if k == chat_value_kind::Json as u32 => p.json(),
            k if k == chat_value_kind::JsonObject as u32 => p.json_object(),
            k if k == chat_value_kind::JsonArray as u32 => p.json_array(),
            k if k == chat_value_kind::JsonString as u32 => p.json_string(),
            k if k == chat_value_kind::JsonNumber as u32 => p.json_number(),
            k if k == chat_value_kind::Python as u32 => p.python_literal(),
            k if k == chat_value_kind::PythonOrJson as u32 => p.python(),
            k if k == chat_value_kind::PythonDict as u32 => p.python_dict(),
            k if k == chat_value_kind::PythonList as u32 => p.python_list(),
            k if k == chat_value_kind::PythonString as u32 => p.python_string(),
            _ => return Err(Error::invalid(format!("kind: {kind} is unknown"))),
        }))
    })
}

/// Matches the tool calls of a message, with the markers around them, and tags them (`chat_tag`). `request` is JSON as
/// `chat_params_from_template` takes it; `tools`, `tool_choice` and `parallel_tool_calls` count, and `messages` may be empty. Without tools, or
/// with `tool_choice` `none`, it matches nothing. The calls are a rule `tool-call` that triggers a lazy grammar.
///
/// `layout` is a JSON object that says how calls are written, with the groups and fields that `chat_template_layout_json` prints: `tools`,
/// `function`, `arguments`, `call_id`; what is left out is empty. `tools.format` must be there. Besides those of templates it may be
/// `pythonic`: a list like `[f(x=1, s='text'), g()]`. E.g. for `<tool_call>{"name": "f", "arguments": {}}</tool_call>`:
/// `{"tools": {"format": "json_native", "section_start": "<tool_call>", "section_end": "</tool_call>"}}`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_calls(
    builder: Option<&mut chat_expr_builder>,
    request: *const c_char,
    request_len: usize,
    layout: *const c_char,
    layout_len: usize,
) -> chat_expr {
    add(builder, "chat_expr_calls", |formats| {
        // SAFETY: the caller's two texts, by the contract.
        let (request, layout) =
            unsafe { (utf8(request, request_len, "request")?, utf8(layout, layout_len, "layout")?) };
        let request = Request::from_text(request)?;
        described_calls(&mut formats.builder, &request, layout).map(Some)
    })
}

/// Matches as the expression does. In a grammar the schema speaks (JSON text), under the rule name `name`; but with `raw`, where the
/// value is written as raw text unless it cannot be a string, the grammar has the expression of a value that may be one. Texts are
/// copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_schema(
    builder: Option<&mut chat_expr_builder>,
    child: chat_expr,
    name: *const c_char,
    name_len: usize,
    schema: *const c_char,
    schema_len: usize,
    raw: bool,
) -> chat_expr {
    add(builder, "chat_expr_schema", |formats| {
        // SAFETY: the caller's two texts, by the contract.
        let (name, schema) = unsafe { (utf8(name, name_len, "name")?, utf8(schema, schema_len, "schema")?) };
        let schema = schema::from_text(schema)?;
        Ok(formats.child(child)?.map(|child| formats.builder.schema(child, name, schema, raw)))
    })
}

/// Matches as the expression does. A grammar has this body in its place: what GBNF has right of `::=` (UTF-8; copied), or nothing
/// where it is empty. The rules that it refers to must be there by their names, see `chat_expr_rule`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_gbnf(
    builder: Option<&mut chat_expr_builder>,
    child: chat_expr,
    body: *const c_char,
    body_len: usize,
) -> chat_expr {
    add(builder, "chat_expr_gbnf", |formats| {
        // SAFETY: the caller's text, by the contract.
        let body = unsafe { utf8(body, body_len, "body") }?;
        if !body.is_empty() {
            Rule::gbnf(body)?;
        }
        Ok(formats.child(child)?.map(|child| formats.builder.gbnf(child, body)))
    })
}

/// Matches as the expression does, which is to be text up to the first of these markers, and the marker (UTF-8; copied). A grammar has
/// text that ends with the first marker in it, so that it ends where the parser does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_excluding(
    builder: Option<&mut chat_expr_builder>,
    child: chat_expr,
    markers: *const chat_str,
    marker_count: usize,
) -> chat_expr {
    add(builder, "chat_expr_excluding", |formats| {
        // SAFETY: the caller's array and the texts in it, by the contract.
        let texts = unsafe { super::expr::markers(markers, marker_count) }?;
        if texts.is_empty() {
            return Err(Error::invalid("markers: must not be none"));
        }
        Ok(formats.child(child)?.map(|child| formats.builder.excluding(child, texts)))
    })
}

/// Names the expression (UTF-8; copied) and matches as it does. `chat_expr_reference` may refer to it, also from inside it. With
/// `trigger`, a lazy grammar may start here. A second rule of a name replaces the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_rule(
    builder: Option<&mut chat_expr_builder>,
    name: *const c_char,
    name_len: usize,
    child: chat_expr,
    trigger: bool,
) -> chat_expr {
    add(builder, "chat_expr_rule", |formats| {
        // SAFETY: the caller's text, by the contract.
        let name = unsafe { utf8(name, name_len, "name") }?;
        let p = &formats.builder;
        let rule = |child| if trigger { p.trigger_rule(name, child) } else { p.rule(name, child) };
        Ok(formats.child(child)?.map(rule))
    })
}

/// Matches as the rule of that name (UTF-8; copied) does, which may be added later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_reference(
    builder: Option<&mut chat_expr_builder>,
    name: *const c_char,
    name_len: usize,
) -> chat_expr {
    add(builder, "chat_expr_reference", |formats| {
        // SAFETY: the caller's text, by the contract.
        let name = unsafe { utf8(name, name_len, "name") }?;
        Ok(Some(formats.builder.reference(name)))
    })
}
