//! Grammars put together from rules and schemas.

use std::ffi::c_char;

use smol_str::SmolStr;

use super::grammar::{chat_grammar, made, style_of};
use super::parser::chat_parser;
use super::status::{ErrorOut, Guarded, Out, chat_status, filled, give, guard, required, written};
use super::text::{chat_str, utf8, view};
use chatparse_base::{Error, Result};
use chatparse_grammar::{Builder, Rule, schema};

/// A builder of grammars from rules, texts and JSON schemas. One thread at a time.
///
/// Each rule has a unique name. The functions that add a rule write its name to `*out`: use that
/// one in other rules. It is the name you asked for, changed as follows: characters that names
/// cannot have become dashes; a name of the rules that schemas share (`string`, `object`, ...) gets
/// a dash at its end; a name that another rule has gets a number. An equal rule of that name is
/// used again. The name `root`, or an empty one, is the start of the grammar.
///
/// ```c
/// // An answer by a schema, between tags:
/// chat_grammar_builder *builder = NULL;
/// chat_grammar *grammar = NULL;
/// chat_str name;
/// char body[128];
/// chat_status status = chat_grammar_builder_new(&builder, &error);
/// if (status == CHAT_STATUS_OK)
///   status = chat_grammar_builder_add_schema(builder, "answer", 6, schema, schema_len, &name, &error);
/// if (status == CHAT_STATUS_OK) {
///   snprintf(body, sizeof body, "\"<answer>\" %.*s \"</answer>\"", (int)name.len, name.data);
///   status = chat_grammar_builder_add_rule(builder, "root", 4, body, strlen(body), &name, &error);
/// }
/// if (status == CHAT_STATUS_OK) status = chat_grammar_builder_build(builder, &grammar, &error);
/// chat_grammar_builder_free(builder);
/// ```
pub struct chat_grammar_builder(Guarded<Building>);

#[derive(Default)]
struct Building {
    builder: Builder,
    /// What the rule that was added last is called.
    name: String,
}

/// Makes a builder. It has one rule, `space`: the blanks between the parts of a JSON value.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_builder_new(
    out: Out<*mut chat_grammar_builder>,
    error: ErrorOut,
) -> chat_status {
    written(out, error, || {
        Ok(give(chat_grammar_builder(
            Guarded::new(Building::default()),
        )))
    })
}

/// Sets the `chat_grammar_style` of the schemas to come. The default is
/// `CHAT_GRAMMAR_STYLE_FAITHFUL`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` after something was added.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_builder_set_style(
    builder: Option<&mut chat_grammar_builder>,
    style: u32,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let (builder, style) = (required(builder, "builder")?, style_of(style)?);
        builder.0.change(|building| {
            if !building.builder.is_new() {
                return Err(Error::invalid(
                    "builder: its style is chosen before anything is added",
                ));
            }
            building.builder = Builder::with_letter(chatparse_llama::letter(style));
            Ok(())
        })
    })
}

/// Adds a rule. `body` is the part of a GBNF rule after `::=`, on one line, e.g. `"yes" | "no" |
/// number{1,3}`; it may refer to rules that are added later. Use `chat_grammar_builder_add_literal`
/// for text with quotes or backslashes. A refused rule changes nothing.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the byte, for a body that is not GBNF, is blank,
/// has a line break or a comment outside of literals, or ends with an empty alternative. Tokens
/// (`<think>`) are not supported: write them as literals.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_grammar_builder_add_rule(
    builder: Option<&mut chat_grammar_builder>,
    name: *const c_char,
    name_len: usize,
    body: *const c_char,
    body_len: usize,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        // SAFETY: the caller's two texts, by the contract.
        let [name, body] =
            unsafe { [utf8(name, name_len, "name")?, utf8(body, body_len, "body")?] };
        add(builder, out, |builder| {
            Ok(builder.add_rule(name, Rule::gbnf(body)?))
        })
    })
}

/// Adds a rule for exactly this text. It may hold quotes, backslashes, line breaks and NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_grammar_builder_add_literal(
    builder: Option<&mut chat_grammar_builder>,
    name: *const c_char,
    name_len: usize,
    text: *const c_char,
    text_len: usize,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        // SAFETY: the caller's two texts, by the contract.
        let [name, text] =
            unsafe { [utf8(name, name_len, "name")?, utf8(text, text_len, "text")?] };
        add(builder, out, |builder| {
            Ok(builder.add_rule(name, Rule::literal(text)))
        })
    })
}

/// Adds the rules of a JSON schema and writes the name of the one for the whole schema. Each schema
/// gets rules of its own, even if names or `$ref`s are the same. The grammar's report lists
/// departures under `name`. A refused schema changes nothing.
///
/// Errors: as `chat_grammar_from_json_schema`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_grammar_builder_add_schema(
    builder: Option<&mut chat_grammar_builder>,
    name: *const c_char,
    name_len: usize,
    schema: *const c_char,
    schema_len: usize,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        // SAFETY: the caller's two texts, by the contract.
        let [name, schema] = unsafe {
            [
                utf8(name, name_len, "name")?,
                utf8(schema, schema_len, "schema")?,
            ]
        };
        add(builder, out, |builder| {
            builder.add_schema(name, &schema::from_text(schema)?)
        })
    })
}

/// Adds the rules of `chat_parser_grammar`, with the same `lazy`. The top rule is `root`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` if there is a rule `root`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_builder_add_parser(
    builder: Option<&mut chat_grammar_builder>,
    parser: Option<&chat_parser>,
    lazy: bool,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let (builder, parser) = (required(builder, "builder")?, required(parser, "parser")?);
        builder.0.change(|building| {
            if building.builder.has_rule("root") {
                return Err(Error::invalid("builder: has a rule \"root\" already"));
            }
            building.builder.add_format(parser.parser.format(), lazy);
            Ok(())
        })
    })
}

fn add(
    handle: Option<&mut chat_grammar_builder>,
    out: Out<'_, chat_str>,
    added: impl FnOnce(&mut Builder) -> Result<SmolStr>,
) -> Result<()> {
    let (handle, out) = (required(handle, "builder")?, required(out, "out")?);
    handle.0.change(|building| {
        building.name = added(&mut building.builder)?.into();
        out.write(view(&building.name));
        Ok(())
    })
}

/// Makes the grammar of all rules so far. The builder can add more; grammars that it made do not
/// change.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a grammar that llama.cpp refuses: no rule `root`, a
/// reference to a missing rule, or a rule that begins with itself; `CHAT_STATUS_LIMIT` for one that
/// is too large.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_builder_build(
    builder: Option<&chat_grammar_builder>,
    out: Out<*mut chat_grammar>,
    error: ErrorOut,
) -> chat_status {
    filled(builder, "builder", out, error, |builder| {
        Ok(made(builder.0.get()?.builder.build()?))
    })
}

/// Frees the builder. Grammars that it made stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_builder_free(builder: Option<Box<chat_grammar_builder>>) {
    drop(builder);
}
