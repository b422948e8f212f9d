//! Turns schemas into rules with llama.cpp's text: which keywords it uses and how it writes the
//! rules, byte for byte.

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
use crate::rules::json;
use crate::rules::{Builder, Fidelity, clean};
use chatparse_base::Result;
use chatparse_message::GrammarStyle;

/// Adds the rules of `schema`. Returns the name of its rule (`name` `""`: the top) and the report.
/// References are resolved in `root`.
pub fn add(
    builder: &mut Builder,
    name: &str,
    schema: &Value,
    root: &Value,
) -> Result<(SmolStr, Vec<Fidelity>)> {
    // Earlier versions of llama.cpp take `{}` for any object.
    let empty_is_object = builder.style != GrammarStyle::LlamaCpp;
    let (graph, first) = resolve::resolve(schema, root, empty_is_object)?;
    let document = if graph.targets.is_empty() {
        0
    } else {
        document(builder, root)
    };
    let mut lowering = Lowering::new(builder, &graph, name, document);
    // The names of all rules below begin with it, so it is cleaned once.
    let added = lowering.all(first, &clean(&name.into()))?;
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
