//! Grammars put together from rules and schemas.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::Arc;

use smol_str::SmolStr;

use super::error::chat_error;
use super::grammar::{chat_grammar, style_of};
use super::guard::{Guarded, guard};
use super::parser::chat_parser;
use super::ptr::{Out, give, required};
use super::status::chat_status;
use super::text::{chat_str, utf8, view};
use crate::error::{Error, Result};
use crate::grammar::{Builder, Rule, schema};

/// Puts a grammar together from rules, texts and JSON schemas. One thread at a time.
///
/// Each rule gets a name of its own, and the functions that add one tell it: refer to the rule by that name, not by the one that
/// was asked for. It is the asked one with characters that names cannot have replaced by dashes, a dash behind it where it is
/// the name of a rule that schemas share (`string`, `object`, ...), and a number where another rule has the name already. A
/// rule that is there already, under that name, is used again. The name `root`, or none, is where the grammar starts.
///
/// ```c
/// // An answer by a schema, between tags:
/// chat_grammar_builder *builder = NULL;
/// chat_grammar *grammar = NULL;
/// chat_str name;
/// char body[128];
/// chat_grammar_builder_new(&builder, &error);
/// chat_grammar_builder_add_schema(builder, "answer", 6, schema, schema_len, &name, &error);
/// snprintf(body, sizeof body, "\"<answer>\" %.*s \"</answer>\"", (int)name.len, name.data);
/// chat_grammar_builder_add_rule(builder, "root", 4, body, strlen(body), &name, &error);
/// chat_grammar_builder_build(builder, &grammar, &error);
/// chat_grammar_builder_free(builder);
/// ```
pub struct chat_grammar_builder(Guarded<Building>);

#[derive(Default)]
struct Building {
    builder: Builder,
    /// What the rule that was added last is called.
    name: String,
}

/// A builder without rules but for `space`: the blanks that may stand between the parts of a JSON value.
///
/// On success `*out` is a new builder, to be freed with `chat_grammar_builder_free`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_builder_new(
    out: Option<&mut MaybeUninit<*mut chat_grammar_builder>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let out = required(out, "out")?;
        out.write(give(chat_grammar_builder(Guarded::new(Building::default()))));
        Ok(())
    })
}

/// Schemas that are added from now on become rules in this style, a `chat_grammar_style`; a new builder is faithful.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for a number without a style, and where something was added before.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_builder_set_style(
    builder: Option<&mut chat_grammar_builder>,
    style: u32,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (builder, style) = (required(builder, "builder")?, style_of(style)?);
        builder.0.change(|building| {
            if !building.builder.is_new() {
                return Err(Error::invalid("builder: its style is chosen before anything is added"));
            }
            building.builder = Builder::with_style(style);
            Ok(())
        })
    })
}

/// Adds a rule. `body` is what GBNF has right of `::=`, in one line, e.g. `"yes" | "no" | number{1,3}`; it may refer to rules that
/// are added later. Use `chat_grammar_builder_add_literal` for a text that may hold quotes or backslashes. Name and body are copied.
///
/// On success `*out` is the rule's actual name, valid until the next call that takes the builder without `const`. A rule that is
/// refused changes nothing.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for text that is not UTF-8, and, with the byte where it goes wrong, for a body
/// that is no GBNF, or not one rule: it is blank, has a line break or a comment outside of literals, or ends with an empty
/// alternative. Tokens (`<think>`) are not supported: write them as literals.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_grammar_builder_add_rule(
    builder: Option<&mut chat_grammar_builder>,
    name: *const c_char,
    name_len: usize,
    body: *const c_char,
    body_len: usize,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        // SAFETY: the caller's two texts, by the contract.
        let [name, body] = unsafe { [utf8(name, name_len, "name")?, utf8(body, body_len, "body")?] };
        add(builder, out, |builder| Ok(builder.add_rule(name, Rule::gbnf(body)?)))
    })
}

/// Adds a rule for exactly this text; it may hold quotes, backslashes, line breaks and NUL. Name and text are copied.
///
/// On success `*out` is the rule's actual name, valid until the next call that takes the builder without `const`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for text that is not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_grammar_builder_add_literal(
    builder: Option<&mut chat_grammar_builder>,
    name: *const c_char,
    name_len: usize,
    text: *const c_char,
    text_len: usize,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        // SAFETY: the caller's two texts, by the contract.
        let [name, text] = unsafe { [utf8(name, name_len, "name")?, utf8(text, text_len, "text")?] };
        add(builder, out, |builder| Ok(builder.add_rule(name, Rule::literal(text))))
    })
}

/// Adds the rules of a JSON schema. Schemas may be added under one name and have equal `$ref`s; each gets rules of its own.
/// `schema` is JSON text; name and schema are copied.
///
/// On success `*out` is the actual name of the rule that stands for the whole schema, valid until the next call that takes the
/// builder without `const`. Where the rules allow more than the schema, the report of the grammar says so, under `name`. A schema
/// that is refused changes nothing.
///
/// Errors: as `chat_grammar_from_json_schema`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_grammar_builder_add_schema(
    builder: Option<&mut chat_grammar_builder>,
    name: *const c_char,
    name_len: usize,
    schema: *const c_char,
    schema_len: usize,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        // SAFETY: the caller's two texts, by the contract.
        let [name, schema] = unsafe { [utf8(name, name_len, "name")?, utf8(schema, schema_len, "schema")?] };
        add(builder, out, |builder| builder.add_schema(name, &schema::from_text(schema)?))
    })
}

/// Adds the rules of what a parser reads, as `chat_parser_grammar` has them. The one that stands for all of it is `root`, so add them
/// to a builder that has none.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and where there is a rule `root` already.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_builder_add_parser(
    builder: Option<&mut chat_grammar_builder>,
    parser: Option<&chat_parser>,
    lazy: bool,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
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
        out.write(view(Some(&building.name)));
        Ok(())
    })
}

/// The grammar of all that was added so far. It does not change with the builder, to which more may be added.
///
/// On success `*out` is a new grammar, to be freed with `chat_grammar_free`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for what llama.cpp's reader of grammars refuses: no rule is called `root`, a
/// rule refers to one that is not there, or begins with itself; `CHAT_STATUS_LIMIT` where they are too large.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_builder_build(
    builder: Option<&chat_grammar_builder>,
    out: Option<&mut MaybeUninit<*mut chat_grammar>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (builder, out) = (required(builder, "builder")?, required(out, "out")?);
        let grammar = builder.0.get()?.builder.build()?;
        out.write(give(chat_grammar(Arc::new(grammar))));
        Ok(())
    })
}

/// Frees the builder. Grammars that it has built stay valid. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_builder_free(builder: Option<Box<chat_grammar_builder>>) {
    drop(builder);
}
