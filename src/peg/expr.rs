//! Expressions: an arena of nodes that describe what an output may look like, and the combinators that fill it.
//!
//! One arena is the single description of a format: [`super::compile`] turns it into a [`super::Program`] that parses,
//! and the grammar stage prints it. Annotations that only one of them reads ([`Expr::Schema`], rule names, triggers) are
//! nodes that the other passes through.

use std::collections::HashMap;

use serde_json::Value;

/// Index of an expression in its [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExprId(pub(super) u32);

/// Names what a captured region means. The engine only carries it; whoever builds the arena gives it its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TagId(pub u16);

/// A set of characters: ranges, and whether the set is their complement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CharSet {
    /// Inclusive ranges.
    pub ranges: Vec<(char, char)>,
    /// True for "any character but these".
    pub negated: bool,
}

impl CharSet {
    /// Whether `c` is in the set.
    pub fn contains(&self, c: char) -> bool {
        self.ranges.iter().any(|&(low, high)| low <= c && c <= high) != self.negated
    }
}

/// One node. Positions are bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Matches nothing, always.
    Empty,
    /// Matches at the end of the output only.
    End,
    /// Matches this text.
    Literal(String),
    /// All, in order.
    Sequence(Vec<ExprId>),
    /// The first that matches; an empty list never does.
    Choice(Vec<ExprId>),
    /// As often as it matches, between the bounds (`None`: no upper bound). A round that consumes nothing ends it.
    Repeat(ExprId, u32, Option<u32>),
    /// Matches where the child would, and consumes nothing.
    And(ExprId),
    /// Matches where the child would not, and consumes nothing.
    Not(ExprId),
    /// Any one character.
    Any,
    /// White space, as much as there is.
    Space,
    /// One character of a set.
    Char(CharSet),
    /// The inside of a quoted string: up to this delimiter, with JSON's backslash escapes.
    StringBody(u8),
    /// Text up to the first of these markers, or to the end of the output. No markers: everything.
    Until(Vec<String>),
    /// The child's extent is captured under the tag.
    Tag(TagId, ExprId),
    /// Captures inside show only once the whole child has matched.
    Atomic(ExprId),
    /// A named rule, referred to by [`Expr::Ref`].
    Rule {
        /// The rule's name, unique in the arena.
        name: String,
        /// What it stands for.
        child: ExprId,
        /// Whether a lazily applied grammar may start here.
        trigger: bool,
    },
    /// The rule of that name; rules may recurse.
    Ref(String),
    /// The child parses; in a grammar the JSON schema speaks instead.
    Schema {
        /// What parses.
        child: ExprId,
        /// Names the grammar's rule.
        name: String,
        /// The JSON schema.
        schema: Value,
        /// True where the value is written as raw text instead of JSON.
        raw: bool,
    },
    /// The child parses; in a grammar it is text that ends with the first of these markers, marker included.
    Excluding(ExprId, Vec<String>),
}

/// Expressions, the rules among them by name, and the root.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arena {
    nodes: Vec<Expr>,
    rules: HashMap<String, ExprId>,
    root: Option<ExprId>,
}

impl Arena {
    /// An empty arena.
    pub fn new() -> Self {
        Arena::default()
    }

    /// The node behind an id of this arena.
    pub fn get(&self, id: ExprId) -> &Expr {
        &self.nodes[id.0 as usize]
    }

    /// The expression of a rule, as an [`Expr::Rule`] node.
    pub fn rule_named(&self, name: &str) -> Option<ExprId> {
        self.rules.get(name).copied()
    }

    /// Where parsing starts; unset in a new arena.
    pub fn root(&self) -> Option<ExprId> {
        self.root
    }

    /// Sets where parsing starts.
    pub fn set_root(&mut self, root: ExprId) {
        self.root = Some(root);
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn add(&mut self, node: Expr) -> ExprId {
        let id = ExprId(u32::try_from(self.nodes.len()).expect("an arena holds fewer than 2^32 nodes"));
        self.nodes.push(node);
        id
    }

    /// [`Expr::Empty`].
    pub fn empty(&mut self) -> ExprId {
        self.add(Expr::Empty)
    }

    /// [`Expr::End`].
    pub fn end(&mut self) -> ExprId {
        self.add(Expr::End)
    }

    /// [`Expr::Literal`].
    pub fn literal(&mut self, text: impl Into<String>) -> ExprId {
        self.add(Expr::Literal(text.into()))
    }

    /// [`Expr::Sequence`].
    pub fn sequence(&mut self, children: impl IntoIterator<Item = ExprId>) -> ExprId {
        let children = children.into_iter().collect();
        self.add(Expr::Sequence(children))
    }

    /// [`Expr::Choice`].
    pub fn choice(&mut self, children: impl IntoIterator<Item = ExprId>) -> ExprId {
        let children = children.into_iter().collect();
        self.add(Expr::Choice(children))
    }

    /// [`Expr::Repeat`].
    pub fn repeat(&mut self, child: ExprId, min: u32, max: Option<u32>) -> ExprId {
        self.add(Expr::Repeat(child, min, max))
    }

    /// Zero or one.
    pub fn optional(&mut self, child: ExprId) -> ExprId {
        self.repeat(child, 0, Some(1))
    }

    /// Zero or more.
    pub fn many(&mut self, child: ExprId) -> ExprId {
        self.repeat(child, 0, None)
    }

    /// One or more.
    pub fn some(&mut self, child: ExprId) -> ExprId {
        self.repeat(child, 1, None)
    }

    /// [`Expr::And`].
    pub fn and(&mut self, child: ExprId) -> ExprId {
        self.add(Expr::And(child))
    }

    /// [`Expr::Not`].
    pub fn not(&mut self, child: ExprId) -> ExprId {
        self.add(Expr::Not(child))
    }

    /// [`Expr::Any`].
    pub fn any(&mut self) -> ExprId {
        self.add(Expr::Any)
    }

    /// [`Expr::Space`].
    pub fn space(&mut self) -> ExprId {
        self.add(Expr::Space)
    }

    /// One character of these inclusive ranges.
    pub fn one_of(&mut self, ranges: &[(char, char)]) -> ExprId {
        self.add(Expr::Char(CharSet { ranges: ranges.to_vec(), negated: false }))
    }

    /// [`Expr::StringBody`].
    pub fn string_body(&mut self, delimiter: u8) -> ExprId {
        self.add(Expr::StringBody(delimiter))
    }

    /// [`Expr::Until`] the first of several markers. Empty markers never match and are dropped.
    pub fn until_any<S: Into<String>>(&mut self, markers: impl IntoIterator<Item = S>) -> ExprId {
        let markers = markers.into_iter().map(Into::into).filter(|m: &String| !m.is_empty()).collect();
        self.add(Expr::Until(markers))
    }

    /// [`Expr::Until`] one marker.
    pub fn until(&mut self, marker: impl Into<String>) -> ExprId {
        self.until_any([marker])
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> ExprId {
        self.add(Expr::Until(Vec::new()))
    }

    /// [`Expr::Tag`].
    pub fn tag(&mut self, tag: impl Into<TagId>, child: ExprId) -> ExprId {
        self.add(Expr::Tag(tag.into(), child))
    }

    /// [`Expr::Atomic`].
    pub fn atomic(&mut self, child: ExprId) -> ExprId {
        self.add(Expr::Atomic(child))
    }

    /// [`Expr::Schema`].
    pub fn schema(&mut self, child: ExprId, name: impl Into<String>, schema: Value, raw: bool) -> ExprId {
        self.add(Expr::Schema { child, name: name.into(), schema, raw })
    }

    /// [`Expr::Excluding`].
    pub fn excluding(&mut self, child: ExprId, markers: Vec<String>) -> ExprId {
        self.add(Expr::Excluding(child, markers))
    }

    /// A reference to a rule that is defined now or later.
    pub fn reference(&mut self, name: impl Into<String>) -> ExprId {
        self.add(Expr::Ref(name.into()))
    }

    /// Names an expression and gives a reference to it. A second rule of the same name replaces the first.
    pub fn rule(&mut self, name: impl Into<String>, child: ExprId) -> ExprId {
        self.add_rule(name.into(), child, false)
    }

    /// A rule at which a lazily applied grammar may start.
    pub fn trigger_rule(&mut self, name: impl Into<String>, child: ExprId) -> ExprId {
        self.add_rule(name.into(), child, true)
    }

    fn add_rule(&mut self, name: String, child: ExprId, trigger: bool) -> ExprId {
        let id = self.add(Expr::Rule { name: name.clone(), child, trigger });
        self.rules.insert(name.clone(), id);
        self.add(Expr::Ref(name))
    }
}
