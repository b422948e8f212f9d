//! Expressions: an arena of nodes that describe what an output may look like.
//!
//! One arena is the single description of a format: [`compile`](fn@super::compile) turns it into a
//! [`super::Program`] that parses, and the grammar stage prints it. Annotations that only one of
//! them reads ([`Expr::Schema`], rule names, triggers) are nodes that the other passes through.

use std::collections::HashMap;
use std::sync::Arc;

pub use chatparse_base::json::Spacing;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use smallvec::SmallVec;
use smol_str::{SmolStr, SmolStrBuilder};

use chatparse_base::bytes::Bytes;
use chatparse_base::limits;
use chatparse_base::pointer::escaped;

/// Index of an expression in its [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ExprId(pub(super) u32);

impl ExprId {
    /// Its index among the arena's nodes, in the order in which they were made.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The meaning of a captured region. The engine only passes it on; the code that builds the arena
/// defines what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TagId(pub u16);

impl TagId {
    /// The tags that [`Arena::label`] resolves.
    pub const LABELS: std::ops::Range<u16> = 256..1024;
}

/// Children in order. Up to four need no allocation.
pub type Children = SmallVec<[ExprId; 4]>;

/// Inclusive ranges of characters.
pub type Ranges = SmallVec<[(char, char); 2]>;

/// A set of characters: ranges, and whether the set is their complement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CharSet {
    /// The ranges.
    pub ranges: Ranges,
    /// True for "any character but these".
    pub negated: bool,
}

impl CharSet {
    /// Whether `c` is in the set.
    pub fn contains(&self, c: char) -> bool {
        self.ranges.iter().any(|&(low, high)| low <= c && c <= high) != self.negated
    }
}

/// A JSON schema and the document that its `$ref`s refer to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemaRef {
    /// The document.
    pub document: Arc<Value>,
    /// The schema's place in the document, as a JSON pointer; empty for the whole document.
    #[serde(default)]
    pub pointer: SmolStr,
}

impl From<Value> for SchemaRef {
    fn from(schema: Value) -> Self {
        SchemaRef::from(Arc::new(schema))
    }
}

impl From<Arc<Value>> for SchemaRef {
    fn from(document: Arc<Value>) -> Self {
        SchemaRef {
            document,
            pointer: SmolStr::default(),
        }
    }
}

impl SchemaRef {
    /// The schema itself; `null` if the pointer does not resolve.
    pub fn get(&self) -> &Value {
        self.document.pointer(&self.pointer).unwrap_or(&Value::Null)
    }

    /// The subschema under these keys and indices.
    pub fn within(&self, path: &[&str]) -> Self {
        let mut pointer = SmolStrBuilder::new();
        pointer.push_str(&self.pointer);
        for step in path {
            pointer.push('/');
            pointer.push_str(&escaped(step));
        }
        SchemaRef {
            document: Arc::clone(&self.document),
            pointer: pointer.finish(),
        }
    }

    /// The schema of a property of an object schema.
    pub fn property(document: &Arc<Value>, name: &str) -> Self {
        SchemaRef::from(Arc::clone(document)).within(&["properties", name])
    }
}

/// How a grammar writes the values that a schema allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notation {
    /// All, as JSON.
    #[default]
    Json,
    /// As JSON; where the schema allows a string, as the child reads it.
    JsonOrChild,
    /// Its strings only, as they are: the child is text up to markers ([`Expr::Until`],
    /// [`Expr::Excluding`]).
    Text,
    /// Its strings only, in quotes.
    Quoted(Literals),
    /// Its values other than strings, which are beside it. llama.cpp's grammars have all, as
    /// JSON.
    Others(Literals),
    /// Its values other than strings, as literals of Python; in llama.cpp's grammars, as the child
    /// reads them.
    Printed,
    /// An object or an array as the child reads it, which has the types of the parts and the names
    /// that are required.
    Parts,
    /// As the child reads it, an object's member, which may be missing although the schema requires
    /// it.
    PerhapsLeftOut,
    /// The same for a text that may have the markup of an undeclared argument.
    PerhapsMore,
    /// All, as JSON in a JSON string, with its quotes. llama.cpp's grammars have the child.
    Escaped,
}

/// How a format spells literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Literals {
    /// As JSON.
    Json,
    /// As JSON; a value that is one word also as in Python: `True`, `False`, `None`.
    Words,
    /// As JSON; a value that is null also as `none`.
    Lowercase,
    /// As JSON or Python: its words, and strings in single quotes.
    Python,
}

/// Parts in any order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// Each of these once.
    pub required: Children,
    /// Any of these, any number of times.
    pub optional: Children,
    /// The expression between two parts. With it, there is at least one part.
    pub between: Option<ExprId>,
}

impl Parts {
    /// All expressions.
    pub fn all(&self) -> impl Iterator<Item = ExprId> {
        self.required
            .iter()
            .chain(&self.optional)
            .chain(&self.between)
            .copied()
    }
}

/// An expression for a value, with the value's JSON schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Annotated {
    /// The expression that the parser uses.
    pub child: ExprId,
    /// Name of the grammar's rule.
    pub name: SmolStr,
    /// The JSON schema.
    pub schema: SchemaRef,
    /// How the grammar writes the values.
    #[serde(default)]
    pub notation: Notation,
    /// True for the arguments of a tool, or one of them: objects in it may have only the properties
    /// that they declare.
    #[serde(default)]
    pub argument: bool,
}

/// One node. Positions are in bytes. Large, rare data is boxed, because there are many nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expr {
    /// Always matches, and consumes nothing.
    Empty,
    /// Matches at the start of the output only.
    Start,
    /// Matches at the end of the output only.
    End,
    /// Matches exactly this text.
    Literal(SmolStr),
    /// Matches this text with any white space around it and between its parts. A grammar has the
    /// text as written.
    Marker(SmolStr),
    /// All children, in order.
    Sequence(Children),
    /// The first child that matches. An empty list never matches.
    Choice(Children),
    /// The child as often as it matches, between the bounds (`None`: unbounded). A round that
    /// consumes nothing ends the repetition.
    Repeat(ExprId, u32, Option<u32>),
    /// Matches if the child does, and consumes nothing.
    And(ExprId),
    /// Matches if the child does not, and consumes nothing.
    Not(ExprId),
    /// Any one character.
    Any,
    /// White space, as long as it continues; may be empty.
    Space,
    /// One character of this set.
    Char(CharSet),
    /// The inside of a string, with JSON's backslash escapes, up to this delimiter or an escape
    /// that JSON does not have.
    StringBody(u8),
    /// Like [`Expr::StringBody`], but ends at the first line break at the latest.
    StringLine(u8),
    /// Text up to the first of these markers, or to the end of the output. Without markers: the
    /// rest of the output.
    Until(Vec<SmolStr>),
    /// Like [`Expr::Until`], where a marker also matches with other white space ([`Expr::Marker`])
    /// if it is distinctive enough.
    UntilMarker(Vec<SmolStr>),
    /// The parser uses the child. A grammar has parts in any order.
    Unordered(ExprId, Box<Parts>),
    /// Captures the child's match, under the tag.
    Tag(TagId, ExprId),
    /// Hides the captures inside until the whole child has matched.
    Atomic(ExprId),
    /// The parser accepts the child; a grammar leaves it out.
    Tolerated(ExprId),
    /// A named rule, referred to by [`Expr::Ref`].
    Rule {
        /// The rule's name, unique in the arena.
        name: SmolStr,
        /// The rule's expression.
        child: ExprId,
        /// Whether a lazily applied grammar may start here.
        #[serde(default)]
        trigger: bool,
    },
    /// Refers to the rule of this name; rules may recurse.
    Ref(SmolStr),
    /// The parser uses the child, a grammar the JSON schema.
    Schema(Box<Annotated>),
    /// The parser uses the child. A grammar has text that ends with the first of the first markers.
    /// The second markers, with which the parser may end it instead, are not in it; llama.cpp's
    /// grammars allow that.
    Excluding(ExprId, Box<[Vec<SmolStr>; 2]>),
    /// The parser uses the child, a grammar this GBNF.
    Gbnf(ExprId, SmolStr),
    /// The parser uses the child, a grammar this text.
    Written(ExprId, SmolStr),
    /// A part of this number, of another arena: see [`compile_late`](fn@super::compile_late). It
    /// reads at least a byte, or none.
    #[serde(skip)]
    Late(u32),
    /// A rule that a grammar links, perhaps equal to others except for a name: the child, with this
    /// name for [`Expr::NAME`] and with larger numbers of its parts.
    #[serde(skip)]
    Named {
        /// The expression that it shares with others.
        child: ExprId,
        /// Its name; for a child with [`Expr::NAME`] of letters and digits of ASCII, `_`, `-` and
        /// `.`.
        name: SmolStr,
        /// The number that is added to those of its parts.
        part: u32,
        /// Which of the rules of this name it is.
        rule: u32,
    },
}

impl Expr {
    /// The text of a literal or a marker in place of the name of an [`Expr::Named`]. No name is
    /// equal to it.
    pub const NAME: &str = "name\u{10FFFF}";

    /// The bytes of these names.
    pub fn in_names() -> Bytes {
        let ranges = [
            (b'-', b'.'),
            (b'0', b'9'),
            (b'A', b'Z'),
            (b'_', b'_'),
            (b'a', b'z'),
        ];
        ranges
            .into_iter()
            .map(|(low, high)| Bytes::range(low, high))
            .collect()
    }

    /// The direct children.
    pub fn children(&self) -> impl Iterator<Item = ExprId> {
        self.child_list().iter().copied()
    }

    /// The direct children.
    pub(super) fn child_list(&self) -> &[ExprId] {
        match self {
            Expr::Sequence(children) | Expr::Choice(children) => children,
            Expr::Repeat(child, ..)
            | Expr::And(child)
            | Expr::Not(child)
            | Expr::Tag(_, child)
            | Expr::Atomic(child)
            | Expr::Tolerated(child)
            | Expr::Rule { child, .. }
            | Expr::Named { child, .. }
            | Expr::Unordered(child, _)
            | Expr::Excluding(child, _)
            | Expr::Gbnf(child, _)
            | Expr::Written(child, _) => std::slice::from_ref(child),
            Expr::Schema(value) => std::slice::from_ref(&value.child),
            _ => &[],
        }
    }

    /// Approximate memory use in bytes, without a JSON schema.
    fn bytes(&self) -> usize {
        size_of::<Expr>()
            + match self {
                Expr::Literal(text) | Expr::Marker(text) | Expr::Ref(text) => text.len(),
                Expr::Named { name, .. } => name.len(),
                Expr::Rule { name, .. } => {
                    name.len() + size_of::<SmolStr>() + 3 * size_of::<usize>()
                }
                Expr::Schema(value) => size_of::<Annotated>() + value.name.len(),
                Expr::Sequence(children) | Expr::Choice(children) => {
                    size_of_val(children.as_slice())
                }
                Expr::Unordered(_, parts) => {
                    size_of::<Parts>()
                        + size_of_val(&*parts.required)
                        + size_of_val(&*parts.optional)
                }
                Expr::Until(texts) | Expr::UntilMarker(texts) => texts_bytes(texts),
                Expr::Excluding(_, texts) => texts_bytes(texts.iter().flatten()),
                Expr::Char(set) => size_of_val(set.ranges.as_slice()),
                _ => 0,
            }
    }
}

/// The memory of texts in bytes.
pub(super) fn texts_bytes<'t>(texts: impl IntoIterator<Item = &'t SmolStr>) -> usize {
    let sizes = texts
        .into_iter()
        .map(|text| size_of::<SmolStr>() + text.len());
    sizes.sum()
}

/// Collects the texts that an expression may begin with.
#[derive(Default)]
struct Firsts {
    texts: Vec<String>,
    /// Rules whose texts were added already, and whether a match must begin with one of them.
    /// Without it, the work would double with each level of rules that refer to others twice.
    rules: HashMap<ExprId, bool>,
}

impl Firsts {
    /// Adds a text. Returns whether it has a byte.
    fn add(&mut self, text: &str) -> bool {
        if !text.is_empty() {
            self.texts.push(text.to_owned());
        }
        !text.is_empty()
    }
}

/// An arena of expressions: the nodes, the rules by name, and the root.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arena {
    nodes: Vec<Expr>,
    rules: HashMap<SmolStr, ExprId>,
    root: Option<ExprId>,
    labels: Vec<String>,
    /// The white space in the JSON of a faithful grammar.
    pub spacing: Spacing,
}

impl Arena {
    /// The node with this id, which must be from this arena.
    pub fn get(&self, id: ExprId) -> &Expr {
        &self.nodes[id.0 as usize]
    }

    /// Makes this expression the root.
    pub fn set_root(&mut self, root: ExprId) {
        self.root = Some(root);
        self.nodes.shrink_to_fit();
    }

    /// All nodes, by their ids' indices.
    pub fn nodes(&self) -> &[Expr] {
        &self.nodes
    }

    /// The expression of a rule.
    pub fn rule_named(&self, name: &str) -> Option<ExprId> {
        self.rules.get(name).copied()
    }

    /// The names of the rules at which a lazily applied grammar may start, sorted.
    pub fn trigger_rules(&self) -> impl Iterator<Item = &SmolStr> {
        let mut names: Vec<&SmolStr> = Vec::new();
        for (name, id) in &self.rules {
            if matches!(self.get(*id), Expr::Rule { trigger: true, .. }) {
                names.push(name);
            }
        }
        chatparse_base::sort::sort(&mut names);
        names.into_iter()
    }

    /// The texts that a match of this rule can begin with, without leading white space. `None` if
    /// it can begin with anything else.
    pub fn first_texts(&self, rule: &str) -> Option<Vec<String>> {
        let mut firsts = Firsts::default();
        let opaque = self.firsts(self.rule_named(rule)?, &mut firsts, 0)?;
        opaque.then_some(firsts.texts)
    }

    /// Adds the texts that `id` may begin with. Returns whether a match must begin with one, or
    /// `None` if that is unknown.
    fn firsts(&self, id: ExprId, into: &mut Firsts, depth: usize) -> Option<bool> {
        if depth > limits::EXPR_DEPTH {
            return None;
        }
        let mut below = |id: ExprId| self.firsts(id, into, depth + 1);
        match self.get(id) {
            Expr::Literal(text) => Some(into.add(text)),
            Expr::Marker(text) => Some(into.add(text.trim())),
            Expr::Empty | Expr::Start | Expr::Space | Expr::And(_) | Expr::Not(_) => Some(false),
            Expr::Sequence(children) => {
                for &child in children {
                    if below(child)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            Expr::Choice(children) => {
                let mut always = true;
                for &child in children {
                    always &= below(child)?;
                }
                Some(always)
            }
            Expr::Repeat(child, min, _) => Some(below(*child)? && *min > 0),
            Expr::Named { child, name, .. } => {
                let known = into.texts.len();
                let must = self.firsts(*child, into, depth + 1)?;
                for text in &mut into.texts[known..] {
                    if text == Expr::NAME {
                        *text = name.to_string();
                    }
                }
                Some(must)
            }
            Expr::Ref(name) => {
                let rule = self.rule_named(name)?;
                if let Some(known) = into.rules.get(&rule) {
                    return Some(*known);
                }
                let must = self.firsts(rule, into, depth + 1)?;
                into.rules.insert(rule, must);
                Some(must)
            }
            Expr::Unordered(..) => None,
            // Others have one child, or begin with anything.
            other => below(*other.child_list().first()?),
        }
    }

    /// The label of a tag, if it has one.
    pub fn label(&self, tag: TagId) -> Option<&str> {
        let index = tag.0.checked_sub(TagId::LABELS.start)?;
        self.labels.get(usize::from(index)).map(String::as_str)
    }

    /// All labels, in the order of their ids.
    pub(super) fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Returns the tag of a label, adding it if it is new. `None` if there are too many labels.
    pub(super) fn add_label(&mut self, label: &str) -> Option<TagId> {
        let index = self
            .labels
            .iter()
            .position(|known| known == label)
            .unwrap_or(self.labels.len());
        let id = u16::try_from(index)
            .ok()?
            .checked_add(TagId::LABELS.start)
            .filter(|id| TagId::LABELS.contains(id))?;
        if index == self.labels.len() {
            self.labels.push(label.to_owned());
        }
        Some(TagId(id))
    }

    /// The expression where parsing starts; unset in a new arena.
    pub fn root(&self) -> Option<ExprId> {
        self.root
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Approximate memory use in bytes, without the JSON schemas.
    pub fn bytes(&self) -> usize {
        self.nodes.iter().map(Expr::bytes).sum()
    }

    /// Whether the arena has no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn add(&mut self, node: Expr) -> ExprId {
        /// Initial capacity: enough for a format with one or two tools.
        const USUAL: usize = 512;
        if self.nodes.is_empty() {
            self.nodes.reserve(USUAL);
        }
        let id =
            ExprId(u32::try_from(self.nodes.len()).expect("an arena holds fewer than 2^32 nodes"));
        self.nodes.push(node);
        id
    }

    /// Defines a rule. A second rule of the same name replaces the first.
    pub(super) fn define(&mut self, name: SmolStr, rule: ExprId) {
        self.rules.insert(name, rule);
    }
}
