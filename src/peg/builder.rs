//! Combinators that fill an [`Arena`]. They take `&self`, so that calls nest as the expressions do.

use std::cell::RefCell;

use smol_str::SmolStr;

use super::expr::{Annotated, Arena, CharSet, Children, Expr, ExprId, SchemaRef, TagId};
use crate::limits;

/// Builds an arena.
///
/// ```
/// use chatparse::peg::{Builder, TagId};
/// let p = Builder::new();
/// let word = p.tag(TagId(0), p.until("</b>"));
/// let arena = p.finish(p.sequence([p.literal("<b>"), word, p.literal("</b>"), p.end()]));
/// assert!(chatparse::peg::compile(&arena).is_ok());
/// ```
#[derive(Clone, Default)]
pub struct Builder {
    arena: RefCell<Arena>,
}

impl Builder {
    /// A builder of an empty arena.
    pub fn new() -> Self {
        Builder::default()
    }

    /// A builder that goes on where an arena ends.
    pub fn extending(arena: Arena) -> Self {
        Builder { arena: RefCell::new(arena) }
    }

    /// The arena, with `root` as its root. The builder is empty afterwards.
    pub fn finish(&self, root: ExprId) -> Arena {
        let mut arena = self.arena.take();
        arena.set_root(root);
        arena
    }

    /// The expression at this position, for callers that count them.
    pub fn at(&self, index: usize) -> Option<ExprId> {
        let known = index < self.arena.borrow().len();
        u32::try_from(index).ok().filter(|_| known).map(ExprId)
    }

    /// Looks at the expressions so far.
    pub(crate) fn with_arena<T>(&self, look: impl FnOnce(&Arena) -> T) -> T {
        look(&self.arena.borrow())
    }

    fn add(&self, node: Expr) -> ExprId {
        self.arena.borrow_mut().add(node)
    }

    /// Whether there is a rule of that name.
    pub fn is_defined(&self, name: &str) -> bool {
        self.arena.borrow().rule_named(name).is_some()
    }

    /// [`Expr::Empty`].
    pub fn empty(&self) -> ExprId {
        self.add(Expr::Empty)
    }

    /// [`Expr::Start`].
    pub fn start(&self) -> ExprId {
        self.add(Expr::Start)
    }

    /// [`Expr::End`].
    pub fn end(&self) -> ExprId {
        self.add(Expr::End)
    }

    /// [`Expr::Literal`].
    pub fn literal(&self, text: impl Into<SmolStr>) -> ExprId {
        self.add(Expr::Literal(text.into()))
    }

    /// [`Expr::Marker`].
    pub fn marker(&self, text: impl Into<SmolStr>) -> ExprId {
        self.add(Expr::Marker(text.into()))
    }

    /// [`Expr::Sequence`]. Sequences in it are laid out in place.
    pub fn sequence(&self, children: impl IntoIterator<Item = ExprId>) -> ExprId {
        let parts = self.flat(&mut children.into_iter(), |node| match node {
            Expr::Sequence(inner) => Some(inner),
            _ => None,
        });
        self.add(Expr::Sequence(parts))
    }

    /// [`Expr::Choice`]. Choices in it are laid out in place.
    pub fn choice(&self, children: impl IntoIterator<Item = ExprId>) -> ExprId {
        let branches = self.flat(&mut children.into_iter(), |node| match node {
            Expr::Choice(inner) => Some(inner),
            _ => None,
        });
        self.add(Expr::Choice(branches))
    }

    /// Compiled once, whatever the children come from.
    fn flat(&self, children: &mut dyn Iterator<Item = ExprId>, inner: fn(&Expr) -> Option<&Children>) -> Children {
        let mut out = Children::new();
        for child in children {
            match inner(self.arena.borrow().get(child)).filter(|inner| inner.len() <= limits::EXPR_INLINE) {
                Some(grandchildren) => out.extend_from_slice(grandchildren),
                None => out.push(child),
            };
        }
        out
    }

    /// [`Expr::Repeat`].
    pub fn repeat(&self, child: ExprId, min: u32, max: Option<u32>) -> ExprId {
        self.add(Expr::Repeat(child, min, max))
    }

    /// Zero or one.
    pub fn optional(&self, child: ExprId) -> ExprId {
        self.repeat(child, 0, Some(1))
    }

    /// Zero or more.
    pub fn many(&self, child: ExprId) -> ExprId {
        self.repeat(child, 0, None)
    }

    /// One or more.
    pub fn some(&self, child: ExprId) -> ExprId {
        self.repeat(child, 1, None)
    }

    /// [`Expr::Unordered`]: the required ones and the optional ones.
    pub fn unordered(
        &self,
        required: impl IntoIterator<Item = ExprId>,
        optional: impl IntoIterator<Item = ExprId>,
    ) -> ExprId {
        self.add(Expr::Unordered(Box::new((required.into_iter().collect(), optional.into_iter().collect()))))
    }

    /// [`Expr::And`].
    pub fn and(&self, child: ExprId) -> ExprId {
        self.add(Expr::And(child))
    }

    /// [`Expr::Not`].
    pub fn not(&self, child: ExprId) -> ExprId {
        self.add(Expr::Not(child))
    }

    /// [`Expr::Any`].
    pub fn any(&self) -> ExprId {
        self.add(Expr::Any)
    }

    /// [`Expr::Space`].
    pub fn space(&self) -> ExprId {
        self.add(Expr::Space)
    }

    /// One character of a set.
    pub fn character(&self, set: CharSet) -> ExprId {
        self.add(Expr::Char(set))
    }

    /// One character of these inclusive ranges.
    pub fn one_of(&self, ranges: &[(char, char)]) -> ExprId {
        self.add(Expr::Char(CharSet { ranges: ranges.into(), negated: false }))
    }

    /// One character that is in none of these inclusive ranges.
    pub fn none_of(&self, ranges: &[(char, char)]) -> ExprId {
        self.add(Expr::Char(CharSet { ranges: ranges.into(), negated: true }))
    }

    /// [`Expr::StringBody`].
    pub fn string_body(&self, delimiter: u8) -> ExprId {
        self.add(Expr::StringBody(delimiter))
    }

    /// [`Expr::StringLine`].
    pub fn string_line(&self, delimiter: u8) -> ExprId {
        self.add(Expr::StringLine(delimiter))
    }

    /// [`Expr::Until`] the first of several markers. Empty markers never match and are dropped.
    pub fn until_any<S: Into<SmolStr>>(&self, markers: impl IntoIterator<Item = S>) -> ExprId {
        let markers = markers.into_iter().map(Into::into).filter(|m: &SmolStr| !m.is_empty()).collect();
        self.add(Expr::Until(markers))
    }

    /// [`Expr::Until`] one marker.
    pub fn until(&self, marker: impl Into<SmolStr>) -> ExprId {
        self.until_any([marker])
    }

    /// [`Expr::UntilMarker`] the first of several. Empty ones never match and are dropped.
    pub fn until_marker<S: Into<SmolStr>>(&self, markers: impl IntoIterator<Item = S>) -> ExprId {
        let markers = markers.into_iter().map(Into::into).filter(|m: &SmolStr| !m.is_empty()).collect();
        self.add(Expr::UntilMarker(markers))
    }

    /// Everything that is left.
    pub fn rest(&self) -> ExprId {
        self.add(Expr::Until(Vec::new()))
    }

    /// [`Expr::Tag`].
    pub fn tag(&self, tag: impl Into<TagId>, child: ExprId) -> ExprId {
        self.add(Expr::Tag(tag.into(), child))
    }

    /// [`Expr::Tag`] with the tag of a label. `None`: there are too many labels.
    pub fn labelled(&self, label: &str, child: ExprId) -> Option<ExprId> {
        let tag = self.arena.borrow_mut().add_label(label)?;
        Some(self.tag(tag, child))
    }

    /// [`Expr::Atomic`].
    pub fn atomic(&self, child: ExprId) -> ExprId {
        self.add(Expr::Atomic(child))
    }

    /// [`Expr::Tolerated`].
    pub fn tolerated(&self, child: ExprId) -> ExprId {
        self.add(Expr::Tolerated(child))
    }

    /// [`Expr::Schema`].
    pub fn schema(&self, child: ExprId, name: impl Into<SmolStr>, schema: impl Into<SchemaRef>, raw: bool) -> ExprId {
        self.annotated(Annotated { child, name: name.into(), schema: schema.into(), raw, argument: false })
    }

    /// [`Expr::Schema`] of what a tool is called with.
    pub fn argument(&self, child: ExprId, name: impl Into<SmolStr>, schema: impl Into<SchemaRef>, raw: bool) -> ExprId {
        self.annotated(Annotated { child, name: name.into(), schema: schema.into(), raw, argument: true })
    }

    fn annotated(&self, value: Annotated) -> ExprId {
        self.add(Expr::Schema(Box::new(value)))
    }

    /// [`Expr::Excluding`].
    pub fn excluding<S: Into<SmolStr>>(&self, child: ExprId, markers: impl IntoIterator<Item = S>) -> ExprId {
        self.add(Expr::Excluding(child, markers.into_iter().map(Into::into).collect()))
    }

    /// [`Expr::Gbnf`].
    pub fn gbnf(&self, child: ExprId, text: impl Into<SmolStr>) -> ExprId {
        self.add(Expr::Gbnf(child, text.into()))
    }

    /// A reference to a rule that is defined now or later.
    pub fn reference(&self, name: impl Into<SmolStr>) -> ExprId {
        self.add(Expr::Ref(name.into()))
    }

    /// Names an expression and gives a reference to it. A second rule of the same name replaces the first.
    pub fn rule(&self, name: impl Into<SmolStr>, child: ExprId) -> ExprId {
        self.add_rule(name.into(), child, false)
    }

    /// A rule at which a lazily applied grammar may start.
    pub fn trigger_rule(&self, name: impl Into<SmolStr>, child: ExprId) -> ExprId {
        self.add_rule(name.into(), child, true)
    }

    fn add_rule(&self, name: SmolStr, child: ExprId, trigger: bool) -> ExprId {
        let rule = self.add(Expr::Rule { name: name.clone(), child, trigger });
        self.arena.borrow_mut().define(name.clone(), rule);
        self.add(Expr::Ref(name))
    }
}
