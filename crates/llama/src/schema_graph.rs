//! A JSON schema as a graph: keywords are checked and references are resolved.

use std::collections::HashMap;

use serde_json::Value;

use chatparse_grammar::schema::Places;
use chatparse_grammar::text::circles;

/// Index of a node in its [`Graph`].
pub type NodeId = usize;

/// What a schema allows. If several keywords compete, the one that llama.cpp reads first is used.
#[derive(Debug)]
pub enum Node<'a> {
    Any,
    /// The schema at the pointer, see [`Graph::target`].
    Ref(&'a str),
    AnyOf(Vec<NodeId>),
    AllOf(Vec<NodeId>),
    Const(&'a Value),
    Enum(&'a [Value]),
    Null,
    Boolean,
    Number,
    /// Inclusive bounds.
    Integer(Option<i64>, Option<i64>),
    String(Text<'a>),
    Array(NodeId, Count),
    Tuple(Vec<NodeId>),
    Object(Vec<Property<'a>>, Option<NodeId>),
}

#[derive(Debug)]
pub struct Text<'a> {
    pub pattern: Option<&'a str>,
    /// The shared rule of the format.
    pub format: Option<&'static str>,
    pub length: Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub min: u64,
    pub max: Option<u64>,
}

impl Count {
    pub const ANY: Count = Count { min: 0, max: None };
}

#[derive(Clone, Copy, Debug)]
pub struct Property<'a> {
    pub name: &'a str,
    pub schema: NodeId,
    pub required: bool,
}

/// A schema and the targets of its references.
#[derive(Debug)]
pub struct Graph<'a> {
    /// Each with its place.
    pub nodes: Vec<(Node<'a>, usize)>,
    pub places: Places<'a>,
    pub targets: HashMap<&'a str, NodeId>,
    /// Keywords that no rule expresses: the node, the keyword, and what happens instead.
    pub lost: Vec<(NodeId, &'static str, String)>,
}

impl<'a> Graph<'a> {
    pub fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id].0
    }

    /// Whether a node allows any value.
    pub fn is_any(&self, id: NodeId) -> bool {
        matches!(self.node(id), Node::Any)
    }

    /// The target of a [`Node::Ref`] of this graph.
    pub fn target(&self, pointer: &str) -> NodeId {
        self.targets[pointer]
    }

    /// The JSON pointer to a keyword of a node (`""`: to the node), after `#`.
    pub fn pointer(&self, id: NodeId, key: &str) -> String {
        self.places.pointer(self.place(id), key)
    }

    pub fn place(&self, id: NodeId) -> usize {
        self.nodes[id].1
    }

    /// By node: whether it is on a cycle of `edges`.
    pub fn cyclic(&self, edges: impl Fn(NodeId) -> Vec<NodeId>) -> Vec<bool> {
        let mut cyclic = vec![false; self.nodes.len()];
        // Without references a schema is a tree.
        if !self.targets.is_empty() {
            let leads: Vec<Vec<NodeId>> = (0..cyclic.len()).map(edges).collect();
            for node in circles::find(&leads, 0..leads.len()).into_iter().flatten() {
                cyclic[node] = true;
            }
        }
        cyclic
    }
}
