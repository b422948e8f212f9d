//! Writes arenas as JSON and reads them back, so that a format can be stored, or described by a
//! host.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::builder::Builder;
use super::expr::{Arena, Expr, ExprId, Spacing, TagId};
use chatparse_base::{Error, Result, json, stack};

/// The JSON form. A schema document that several nodes use is written once, in `schemas`; nodes
/// refer to it by index. `labels` is left out if empty. Where a node has an index of a node,
/// descriptions may have that node itself.
#[derive(Serialize, Deserialize)]
struct Stored {
    root: Value,
    #[serde(default)]
    nodes: Vec<Value>,
    #[serde(default)]
    schemas: Vec<Arc<Value>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    labels: Vec<String>,
    #[serde(default)]
    spacing: Spacing,
}

/// Makes the expression of a node of a kind that only the caller knows. Otherwise returns `None`,
/// and may change the node.
pub type ReadKind = fn(&mut Builder, &mut Value) -> Result<Option<ExprId>>;

/// Reads the nodes of a format in their order.
struct Reader {
    builder: Builder,
    /// The expressions of the nodes so far.
    ids: Vec<ExprId>,
    schemas: Vec<Arc<Value>>,
    read_kind: ReadKind,
}

impl Reader {
    /// The node that is read, for errors.
    fn place(&self) -> String {
        format!("format: node {}", self.ids.len())
    }

    fn wrong(&self, reason: &str) -> Error {
        Error::invalid(format!("{} {reason}", self.place()))
    }

    fn add(&mut self, mut node: Value) -> Result<ExprId> {
        for place in child_places(&mut node) {
            *place = self.child(place.take())?.index().into();
        }
        let read = (self.read_kind)(&mut self.builder, &mut node);
        if let Some(id) = read.map_err(|error| error.within(&self.place()))? {
            return Ok(id);
        }
        let mut node =
            serde_json::from_value(node).map_err(|error| json::wrong(self.place(), &error))?;
        let parts = if let Expr::Unordered(_, parts) = &node {
            parts.all().collect()
        } else {
            Vec::new()
        };
        if node
            .children()
            .chain(parts)
            .any(|child| self.builder.at(child.index()).is_none())
        {
            return Err(self.wrong("must refer to nodes before it only"));
        }
        match &mut node {
            Expr::StringBody(delimiter) | Expr::StringLine(delimiter) if !delimiter.is_ascii() => {
                return Err(self.wrong("has a delimiter beyond ASCII"));
            }
            Expr::Schema(value) if value.schema.document.is_number() => {
                let index = value
                    .schema
                    .document
                    .as_u64()
                    .and_then(|index| usize::try_from(index).ok());
                let known = index.and_then(|index| self.schemas.get(index));
                value.schema.document =
                    Arc::clone(known.ok_or_else(|| self.wrong("has no schema"))?);
            }
            _ => {}
        }
        Ok(match node {
            Expr::Sequence(children) => self.builder.sequence(children),
            Expr::Choice(children) => self.builder.choice(children),
            node => self.builder.node(node),
        })
    }

    /// The expression at a child's place: a node before, by its index, or one that is written here.
    /// A rule is referred to by its name, so that the last one of that name counts.
    fn child(&mut self, child: Value) -> Result<ExprId> {
        let id = match child.as_u64().map(usize::try_from) {
            None => self.add(child)?,
            Some(index) => {
                let known = index.ok().and_then(|index| self.ids.get(index).copied());
                known.ok_or_else(|| self.wrong("must refer to nodes before it only"))?
            }
        };
        let rule = self.builder.with_arena(|arena| match arena.get(id) {
            Expr::Rule { name, .. } => Some(name.clone()),
            _ => None,
        });
        Ok(rule.map_or(id, |name| self.builder.reference(name)))
    }
}

/// The places in a node where its children are.
fn child_places(node: &mut Value) -> Vec<&mut Value> {
    let Some((kind, value)) = node
        .as_object_mut()
        .and_then(|fields| fields.iter_mut().next())
    else {
        return Vec::new();
    };
    match kind.as_str() {
        "and" | "not" | "atomic" | "tolerated" => vec![value],
        "sequence" | "choice" => value.as_array_mut().into_iter().flatten().collect(),
        "repeat" | "excluding" | "gbnf" | "written" => value.get_mut(0).into_iter().collect(),
        "tag" => value.get_mut(1).into_iter().collect(),
        "rule" | "schema" => value.get_mut("child").into_iter().collect(),
        "unordered" => leaves(value),
        _ => Vec::new(),
    }
}

/// The values in lists and objects that are neither, without nulls.
fn leaves(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(list) => list.iter_mut().flat_map(leaves).collect(),
        Value::Object(fields) => fields.values_mut().flat_map(leaves).collect(),
        Value::Null => Vec::new(),
        leaf => vec![leaf],
    }
}

impl Arena {
    /// The arena as JSON: `root`, `nodes` (an id is an index) and `schemas`. `Null` without a root.
    pub fn to_json(&self) -> Value {
        let Some(root) = self.root() else {
            return Value::Null;
        };
        let mut schemas: Vec<Arc<Value>> = Vec::new();
        let mut known = HashMap::new();
        let mut nodes = Vec::with_capacity(self.len());
        for node in self.nodes() {
            let mut node = node.clone();
            if let Expr::Schema(value) = &mut node {
                let document = &mut value.schema.document;
                let index = *known.entry(Arc::as_ptr(document)).or_insert_with(|| {
                    schemas.push(Arc::clone(document));
                    schemas.len() - 1
                });
                *document = Arc::new(index.into());
            }
            nodes.push(serde_json::to_value(node).unwrap_or_default());
        }
        let (root, labels) = (root.index().into(), self.labels().to_vec());
        serde_json::to_value(Stored {
            root,
            nodes,
            schemas,
            labels,
            spacing: self.spacing,
        })
        .unwrap_or_default()
    }

    /// Reads the JSON of [`Arena::to_json`], or a description of a format. Whether the arena can be
    /// compiled is for [`compile`](fn@crate::compile) to say.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for another shape, and if a node refers to itself, to
    /// a later one or to a missing one. Those of `read_kind`.
    #[doc(hidden)]
    pub fn from_json(json: Value, read_kind: ReadKind) -> Result<Arena> {
        stack::deep(move || read(json, read_kind))
    }
}

fn read(json: Value, read_kind: ReadKind) -> Result<Arena> {
    let Stored {
        root,
        nodes,
        schemas,
        labels,
        spacing,
    } = serde_json::from_value(json).map_err(|error| json::wrong("format", &error))?;
    let builder = Builder::new();
    builder.set_spacing(spacing);
    for (index, label) in labels.iter().enumerate() {
        if builder
            .label(label)
            .is_none_or(|tag| usize::from(tag.0 - TagId::LABELS.start) != index)
        {
            return Err(Error::invalid(format!(
                "format: label {index} is a duplicate, or there are too many"
            )));
        }
    }
    let mut reader = Reader {
        builder,
        ids: Vec::with_capacity(nodes.len()),
        schemas,
        read_kind,
    };
    for node in nodes {
        let id = reader.add(node)?;
        reader.ids.push(id);
    }
    if root
        .as_u64()
        .is_some_and(|root| root >= reader.ids.len() as u64)
    {
        return Err(Error::invalid("format: the root is not one of the nodes"));
    }
    let root = reader.child(root)?;
    Ok(reader.builder.finish(root))
}
