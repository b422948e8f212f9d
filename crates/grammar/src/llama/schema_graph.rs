//! A JSON schema as a graph: keywords are checked and references are resolved.

use std::collections::HashMap;

use serde_json::Value;

use crate::schema::{Format, escaped};

/// Index of a node in its [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeId(pub u32);

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a schema allows. If several keywords compete, the one that llama.cpp reads first is used.
#[derive(Debug)]
pub(super) enum Node<'a> {
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
pub(super) struct Text<'a> {
    pub pattern: Option<&'a str>,
    pub format: Option<Format>,
    pub length: Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub min: u64,
    pub max: Option<u64>,
}

impl Count {
    pub const ANY: Count = Count { min: 0, max: None };
}

#[derive(Debug)]
pub(super) struct Property<'a> {
    pub name: &'a str,
    pub schema: NodeId,
    pub required: bool,
}

/// The place of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    Root,
    /// The target of this `$ref`.
    Target(&'a str),
    /// The same place as another node: one type of several.
    Same(NodeId),
    Key(NodeId, &'static str),
    Named(NodeId, &'static str, &'a str),
    Item(NodeId, &'static str, usize),
}

/// A schema and the targets of its references.
#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    pub nodes: Vec<(Node<'a>, Place<'a>)>,
    pub targets: HashMap<&'a str, NodeId>,
    /// Keywords that no rule expresses: the node, the keyword, and what happens instead.
    pub lost: Vec<(NodeId, &'static str, String)>,
}

impl<'a> Graph<'a> {
    pub fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id.index()].0
    }

    /// The target of a [`Node::Ref`] of this graph.
    pub fn target(&self, pointer: &str) -> NodeId {
        self.targets[pointer]
    }

    /// The JSON pointer to a node, after `#`.
    pub fn pointer(&self, id: NodeId) -> String {
        let mut steps = Vec::new();
        let mut place = self.nodes[id.index()].1;
        let start = loop {
            let parent = match place {
                Place::Root => break "#",
                Place::Target(pointer) => break pointer,
                Place::Same(parent) => parent,
                Place::Key(parent, key) => {
                    steps.push(key.to_owned());
                    parent
                }
                Place::Named(parent, key, name) => {
                    steps.push(format!("{key}/{}", escaped(name)));
                    parent
                }
                Place::Item(parent, key, index) => {
                    steps.push(format!("{key}/{index}"));
                    parent
                }
            };
            place = self.nodes[parent.index()].1;
        };
        steps.push(start.to_owned());
        steps.reverse();
        steps.join("/")
    }

    /// By node: whether it is on a cycle of `edges`.
    pub fn cyclic(&self, edges: impl Fn(NodeId) -> Vec<NodeId>) -> Vec<bool> {
        // Without references a schema is a tree.
        if self.targets.is_empty() {
            return vec![false; self.nodes.len()];
        }
        let mut search = Search { state: vec![State::default(); self.nodes.len()], open: Vec::new(), entered: 0 };
        let mut cyclic = vec![false; self.nodes.len()];
        for start in (0..self.nodes.len() as u32).map(NodeId) {
            if search.state[start.index()].entered == 0 {
                search.run(start, &edges, &mut cyclic);
            }
        }
        cyclic
    }
}

/// Tarjan's search for strongly connected components, without recursion.
struct Search {
    state: Vec<State>,
    open: Vec<NodeId>,
    entered: u32,
}

#[derive(Clone, Default)]
struct State {
    /// The time at which the node was entered, from 1 on; 0 if it was not.
    entered: u32,
    /// The earliest open node that it reaches.
    low: u32,
    open: bool,
}

impl Search {
    fn enter(&mut self, node: NodeId) {
        self.entered += 1;
        self.state[node.index()] = State { entered: self.entered, low: self.entered, open: true };
        self.open.push(node);
    }

    fn lower(&mut self, node: NodeId, to: u32) {
        let low = &mut self.state[node.index()].low;
        *low = to.min(*low);
    }

    fn run(&mut self, start: NodeId, edges: &impl Fn(NodeId) -> Vec<NodeId>, cyclic: &mut [bool]) {
        self.enter(start);
        let mut path = vec![(start, edges(start).into_iter())];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            if let Some(to) = next.next() {
                cyclic[node.index()] |= to == node;
                let state = &self.state[to.index()];
                if state.entered == 0 {
                    self.enter(to);
                    path.push((to, edges(to).into_iter()));
                } else if state.open {
                    self.lower(node, state.entered);
                }
                continue;
            }
            path.pop();
            let State { entered, low, .. } = self.state[node.index()];
            if let Some((before, _)) = path.last() {
                self.lower(*before, low);
            }
            if low == entered {
                let from = self.open.iter().rposition(|open| *open == node).unwrap_or(0);
                let component = self.open.split_off(from);
                for member in &component {
                    self.state[member.index()].open = false;
                    cyclic[member.index()] |= component.len() > 1;
                }
            }
        }
    }
}
