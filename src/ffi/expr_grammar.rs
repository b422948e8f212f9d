//! Expressions that say what a grammar makes of them: rules, schemas, GBNF.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use super::error::chat_error;
use super::expr::{add, chat_expr, chat_expr_builder};
use super::guard::guard;
use super::ptr::required;
use super::status::chat_status;
use super::text::{chat_str, utf8};
use chatparse_base::Error;
use chatparse_grammar::{Rule, schema};
use chatparse_learn::format::described_calls;
use chatparse_message::Request;
use chatparse_peg::Notation;

/// Matches one JSON value. The grammar gets the rules of `schema` (JSON text, `{}` for any value) under the rule name
/// `name`, which may be empty.
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
        Ok(Some(p.schema(p.json(), name, schema, Notation::Json)))
    })
}

/// Writes whether a schema (JSON text) allows any string, in any of its branches. Tagged formats write such values as
/// raw text. A reference without a target, or in a circle, counts as no string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_schema_allows_string(
    schema: *const c_char,
    schema_len: usize,
    out: Option<&mut MaybeUninit<bool>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let out = required(out, "out")?;
        // SAFETY: the caller's text, by the contract.
        let schema = schema::from_text(unsafe { utf8(schema, schema_len, "schema") }?)?;
        out.write(schema::may_be_string(&schema, &schema));
        Ok(())
    })
}

/// The notations of a value.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_value_kind {
    /// Any JSON value.
    Json = 1,
    /// A JSON object.
    JsonObject = 2,
    /// A JSON array.
    JsonArray = 3,
    /// A JSON string with its quotes.
    JsonString = 4,
    /// A JSON number, up to a character that cannot extend it.
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

/// Matches a value in one of the notations `chat_value_kind`, the same in the grammar; for a schema use
/// `chat_expr_json`. A rule `json-string` (`chat_expr_rule`) that was added before replaces the strings of JSON.
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

/// Matches the tool calls of a message with their markers, and tags them. `request` is as for
/// `chat_params_from_template`; only `tools`, `tool_choice` and `parallel_tool_calls` count, and `messages` may be
/// empty. Without tools, or with `tool_choice` `none`, it matches empty text. The rule of a call is `tool-call`, a
/// trigger of lazy grammars.
///
/// `turn` is a JSON object: how the calls are written, as the field `turn` of `CHAT_REPORT_LAYOUT` of
/// `chat_template_report` has it. Of its fields only `calls` must be there.
///
/// - `calls`: the ways to write a call, each an object of `pieces` and `close`, the text after the call. A piece is
///   `"name"`, `"id"`, `{"arguments": {"quoted": false}}` (a JSON object; `true`: as a JSON string), `{"glue": ...}`, the
///   text between two of them, or `{"members": ...}` for arguments one by one;
/// - `members` has `first` and `next`, the texts before the name of the first argument and of each other one, and `slots`:
///   pairs of the kinds of values (`text`, `integer`, `number`, `boolean`, `null`, `array`, `object`) and an object: the
///   text `before` the name, `open` between name and value, `close` after the value, and its `encoding`: `raw`, `quoted`
///   or `python`;
/// - `edges`: the texts around calls, each an array of a place, a text, and the place after it: `["prompt", "<calls>",
///   "call"]`, `["call", ", ", "call"]`, `["call", "</calls>", "end"]`.
///
/// E.g. `{"edges": [["prompt", "<tool_call>{\"name\": \"", "call"], ["call", "</tool_call>", "end"]], "calls": [{"pieces":
/// ["name", {"glue": "\", \"arguments\": "}, {"arguments": {"quoted": false}}], "close": "}"}]}`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_expr_calls(
    builder: Option<&mut chat_expr_builder>,
    request: *const c_char,
    request_len: usize,
    turn: *const c_char,
    turn_len: usize,
) -> chat_expr {
    add(builder, "chat_expr_calls", |formats| {
        // SAFETY: the caller's two texts, by the contract.
        let (request, turn) = unsafe { (utf8(request, request_len, "request")?, utf8(turn, turn_len, "turn")?) };
        let request = Request::from_text(request)?;
        described_calls(&mut formats.builder, &request, turn).map(Some)
    })
}

/// Uses `child` to parse, and `schema` (JSON text) to generate the grammar rule `name`. Set `raw` if strings are
/// written without JSON quotes: then, if the schema allows strings, the grammar uses `child` instead of the schema.
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
        let notation = if raw { Notation::JsonOrChild } else { Notation::Json };
        Ok(formats.child(child)?.map(|child| formats.builder.schema(child, name, schema, notation)))
    })
}

/// Uses `child` to parse, and `body` in the grammar: the part of a GBNF rule after `::=`, or empty text. It refers to
/// rules by their names in `chat_expr_rule`, which must exist.
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

/// Uses `child` to parse: it must match text up to and including the first of these markers. The grammar gets text that
/// ends with the first marker, so that it ends where the parser does.
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

/// Matches the expression as a rule, for `chat_expr_reference`, also from inside it. If `trigger`, a lazy grammar may
/// start at this rule. A second rule of the same name replaces the first.
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

/// Matches the rule of that name, which may be added later.
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
