//! Turns schemas into rules with llama.cpp's text: which keywords it uses and how it writes the rules, byte for byte.

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
use crate::rules::builder::{Builder, Fidelity, clean};
use chatparse_base::Result;
use chatparse_base::limits;

/// What the schema `{}` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    AnyValue,
    AnyObject,
}

/// Adds the rules of `schema`. Returns the name of its rule (`name` `""`: the top) and the report. References are resolved
/// in `root`.
pub(super) fn add(
    builder: &mut Builder,
    name: &str,
    schema: &Value,
    root: &Value,
    empty: Empty,
) -> Result<(SmolStr, Vec<Fidelity>)> {
    let (graph, first) = resolve::resolve(schema, root, empty)?;
    let document = if graph.targets.is_empty() { 0 } else { document(builder, root) };
    let mut lowering = Lowering::new(builder, &graph, name, document);
    // The names of all rules below begin with it, so it is cleaned once.
    let added = lowering.all(first, &clean(&name.into()))?;
    Ok((added, lowering.notes.all))
}

/// An id for a document, because equal pointers refer to different schemas in different documents.
fn document(builder: &mut Builder, root: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    if fingerprint(root, 0, &mut hasher).is_none() {
        builder.strange += 1;
        builder.strange.hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns `None` if the value is nested too deeply. The order of fields is included, because it is the order of properties.
fn fingerprint(value: &Value, depth: usize, hasher: &mut impl Hasher) -> Option<()> {
    if depth > limits::JSON_DEPTH {
        return None;
    }
    match value {
        Value::Array(items) => {
            (0_u8, items.len()).hash(hasher);
            items.iter().try_for_each(|item| fingerprint(item, depth + 1, hasher))
        }
        Value::Object(fields) => {
            (1_u8, fields.len()).hash(hasher);
            fields.iter().try_for_each(|(name, field)| {
                name.hash(hasher);
                fingerprint(field, depth + 1, hasher)
            })
        }
        scalar => {
            (2_u8, scalar).hash(hasher);
            Some(())
        }
    }
}
