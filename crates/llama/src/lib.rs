//! Turns schemas into rules with llama.cpp's text: which keywords it uses and how it writes the
//! rules, byte for byte.
//!
//! - **In:** a JSON schema and the style that a request asks for.
//! - **Out:** the rules that llama.cpp makes of the schema, letter by letter.
//! - **Never:** it makes no faithful grammar.
#![forbid(unsafe_code)]

mod excluded_keys;
mod number;
mod pattern;
mod resolve;
mod schema_graph;
mod schema_to_rules;
mod unsupported;

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;
use smol_str::SmolStr;

use self::schema_to_rules::Lowering;
use chatparse_base::Result;
use chatparse_grammar::rules::primitive::{Primitive, written};
use chatparse_grammar::rules::{Builder, Fidelity, clean, json};
use chatparse_grammar::{Grammar, Letter};
use chatparse_message::GrammarStyle;

/// How schemas are written in a style; `None`: faithfully.
pub fn letter(style: GrammarStyle) -> Option<&'static Letter> {
    const LLAMA_CPP: &Letter = &Letter {
        add: add::<false>,
        primitives: PRIMITIVES,
    };
    // Earlier versions of llama.cpp take `{}` for any object.
    const B10587: &Letter = &Letter {
        add: add::<true>,
        primitives: PRIMITIVES,
    };
    match style {
        GrammarStyle::LlamaCpp => Some(LLAMA_CPP),
        GrammarStyle::LlamaCppB10587 => Some(B10587),
        _ => None,
    }
}

/// The grammar of the JSON values that a schema allows, in the given style.
///
/// # Errors
/// As [`chatparse_grammar::from_json_schema`].
pub fn from_json_schema_as(schema: &Value, style: GrammarStyle) -> Result<Grammar> {
    let mut builder = Builder::with_letter(letter(style));
    builder.add_schema("", schema)?;
    Ok(builder.finish())
}

const PRIMITIVES: &[Primitive] = &[
    written(
        "number",
        r#"("-"? integral-part) ("." decimal-part)? ([eE] [-+]? integral-part)?"#,
        &["integral-part", "decimal-part"],
    ),
    written("integer", r#"("-"? integral-part)"#, &["integral-part"]),
    written(
        "char",
        r#"[^"\\\x7F\x00-\x1F] | [\\] (["\\bfnrt] | "u" [0-9a-fA-F]{4})"#,
        &[],
    ),
];

/// Adds the rules of `schema`. Returns the name of its rule (`name` `""`: the top) and the report.
/// References are resolved in `root`.
fn add<const EMPTY_IS_OBJECT: bool>(
    builder: &mut Builder,
    name: &str,
    schema: &Value,
    root: &Value,
) -> Result<(SmolStr, Vec<Fidelity>)> {
    let (graph, first) = resolve::resolve(schema, root, EMPTY_IS_OBJECT)?;
    let document = if graph.targets.is_empty() {
        0
    } else {
        document(builder, root)
    };
    let mut lowering = Lowering::new(builder, &graph, name, document);
    // The names of all rules below begin with it, so it is cleaned once.
    let added = lowering.all(first, &clean(name))?;
    Ok((added, lowering.notes.all))
}

/// An id for a document, because equal pointers refer to different schemas in different documents.
fn document(builder: &mut Builder, root: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match json::print(root) {
        // The order of members is that of properties.
        Some(text) => text.hash(&mut hasher),
        None => {
            builder.strange += 1;
            builder.strange.hash(&mut hasher);
        }
    }
    hasher.finish()
}
