//! Writes arenas as JSON and reads them back, so that a format can be stored.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::expr::{Arena, Expr, ExprId, Spacing, TagId};
use chatparse_base::{Error, Result};

/// The JSON form. A schema document that several nodes use is written once, in `schemas`; nodes refer to it by index.
/// `labels` is left out if empty.
#[derive(Serialize, Deserialize)]
struct Stored {
    root: ExprId,
    nodes: Vec<Expr>,
    schemas: Vec<Arc<Value>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    labels: Vec<String>,
    #[serde(default)]
    spacing: Spacing,
}

impl Arena {
    /// The arena as JSON: `root`, `nodes` (an id is an index) and `schemas`. `Null` without a root.
    pub fn to_json(&self) -> Value {
        let Some(root) = self.root() else { return Value::Null };
        let mut schemas: Vec<Arc<Value>> = Vec::new();
        let mut known = HashMap::new();
        let mut store = |document: &Arc<Value>| -> Value {
            let index = *known.entry(Arc::as_ptr(document)).or_insert_with(|| {
                schemas.push(Arc::clone(document));
                schemas.len() - 1
            });
            index.into()
        };
        let nodes = self.nodes().iter().map(|node| match node.clone() {
            Expr::Schema(mut value) => {
                value.schema.document = Arc::new(store(&value.schema.document));
                Expr::Schema(value)
            }
            other => other,
        });
        let nodes = nodes.collect();
        let labels = self.labels().to_vec();
        serde_json::to_value(Stored { root, nodes, schemas, labels, spacing: self.spacing }).unwrap_or_default()
    }

    /// Reads what [`Arena::to_json`] wrote. Whether the arena can be compiled is for [`compile`](fn@crate::compile) to say.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for another shape, and if a node refers to itself, to a later one or to a
    /// missing one.
    pub fn from_json(json: Value) -> Result<Arena> {
        let Stored { root, nodes, schemas, labels, spacing } =
            serde_json::from_value(json).map_err(|error| Error::invalid(format!("format: {error}")))?;
        let mut arena = Arena::default();
        arena.spacing = spacing;
        for (index, mut node) in nodes.into_iter().enumerate() {
            let wrong = |what: &str| Error::invalid(format!("format: node {index} {what}"));
            let parts = if let Expr::Unordered(_, parts) = &node { parts.all().collect() } else { Vec::new() };
            if node.children().chain(parts).any(|child| child.index() >= index) {
                return Err(wrong("must refer to nodes before it only"));
            }
            match &mut node {
                Expr::StringBody(delimiter) | Expr::StringLine(delimiter) if !delimiter.is_ascii() => {
                    return Err(wrong("has a delimiter beyond ASCII"));
                }
                Expr::Schema(value) => {
                    let schema = &mut value.schema;
                    let at = schema.document.as_u64().and_then(|at| usize::try_from(at).ok());
                    let known = at.and_then(|at| schemas.get(at)).ok_or_else(|| wrong("has no schema"))?;
                    schema.document = Arc::clone(known);
                }
                _ => {}
            }
            let rule = if let Expr::Rule { name, .. } = &node { Some(name.clone()) } else { None };
            let id = arena.add(node);
            if let Some(name) = rule {
                arena.define(name, id);
            }
        }
        for (index, label) in labels.iter().enumerate() {
            if arena.add_label(label).is_none_or(|tag| usize::from(tag.0 - TagId::LABELS.start) != index) {
                return Err(Error::invalid(format!("format: label {index} is a duplicate, or there are too many")));
            }
        }
        if root.index() >= arena.len() {
            return Err(Error::invalid("format: the root is not one of the nodes"));
        }
        arena.set_root(root);
        Ok(arena)
    }
}
