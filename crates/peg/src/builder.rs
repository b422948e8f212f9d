//! Combinators that fill an [`Arena`] with expressions. They take `&self`, so that calls can be
//! nested like the expressions.

use std::cell::{Cell, RefCell};

use smol_str::SmolStr;

use super::expr::{
    Annotated, Arena, CharSet, Children, Expr, ExprId, Notation, Parts, SchemaRef, Spacing, TagId,
};
use chatparse_base::limits;

/// Builds an arena.
///
/// ```
/// use chatparse::Parser;
/// use chatparse::expr::{Builder, Tag};
/// let p = Builder::new();
/// let word = p.tag(Tag::Content, p.until("</b>"));
/// let arena = p.finish(p.sequence([p.literal("<b>"), word, p.literal("</b>"), p.end()]));
/// assert!(Parser::new(arena, "").is_ok());
/// ```
#[derive(Clone, Default)]
pub struct Builder {
    arena: RefCell<Arena>,
    /// The expressions without content that were made: a format needs each once.
    plain: Cell<[Option<ExprId>; 5]>,
}

impl Builder {
    /// A builder of an empty arena.
    pub fn new() -> Self {
        Builder::default()
    }

    /// A builder that adds to an existing arena.
    pub fn extending(arena: Arena) -> Self {
        Builder {
            arena: RefCell::new(arena),
            ..Builder::default()
        }
    }

    /// Sets the white space in the JSON of a faithful grammar.
    pub fn set_spacing(&self, spacing: Spacing) {
        self.arena.borrow_mut().spacing = spacing;
    }

    /// The white space in the JSON of a faithful grammar.
    pub fn spacing(&self) -> Spacing {
        self.arena.borrow().spacing
    }

    /// Returns the arena with this root, and leaves the builder empty.
    pub fn finish(&self, root: ExprId) -> Arena {
        let mut arena = self.arena.take();
        self.plain.take();
        arena.set_root(root);
        arena
    }

    /// The expression with this index, for callers that keep indices.
    pub fn at(&self, index: usize) -> Option<ExprId> {
        let known = index < self.arena.borrow().len();
        u32::try_from(index).ok().filter(|_| known).map(ExprId)
    }

    /// Passes the arena, as built so far, to a function.
    pub fn with_arena<T>(&self, look: impl FnOnce(&Arena) -> T) -> T {
        look(&self.arena.borrow())
    }

    // There are thousands of uses: inlined, it is a tenth of the library.
    #[inline(never)]
    fn add(&self, node: Expr) -> ExprId {
        self.arena.borrow_mut().add(node)
    }

    fn plain(&self, place: usize, node: Expr) -> ExprId {
        let mut plain = self.plain.get();
        let id = *plain[place].get_or_insert_with(|| self.add(node));
        self.plain.set(plain);
        id
    }

    /// Whether a rule of this name is defined.
    pub fn is_defined(&self, name: &str) -> bool {
        self.arena.borrow().rule_named(name).is_some()
    }

    /// Matches nothing, always.
    pub fn empty(&self) -> ExprId {
        self.plain(0, Expr::Empty)
    }

    /// Matches at the start of the output only.
    pub fn start(&self) -> ExprId {
        self.plain(1, Expr::Start)
    }

    /// Matches at the end of the output only. Text after a format without it is content.
    pub fn end(&self) -> ExprId {
        self.plain(2, Expr::End)
    }

    /// Matches this text.
    pub fn literal(&self, text: impl Into<SmolStr>) -> ExprId {
        self.add(Expr::Literal(text.into()))
    }

    /// Matches this text with any white space around it and between its parts. A grammar has it as
    /// it is.
    pub fn marker(&self, text: impl Into<SmolStr>) -> ExprId {
        self.add(Expr::Marker(text.into()))
    }

    /// All, in order. Sequences in it are laid out in place.
    pub fn sequence(&self, children: impl IntoIterator<Item = ExprId>) -> ExprId {
        let parts = self.flat(&mut children.into_iter(), |node| match node {
            Expr::Sequence(inner) => Some(inner),
            _ => None,
        });
        match *parts {
            [only] => only,
            _ => self.add(Expr::Sequence(parts)),
        }
    }

    /// The first that matches; an empty list never does. Choices in it are laid out in place.
    pub fn choice(&self, children: impl IntoIterator<Item = ExprId>) -> ExprId {
        let branches = self.flat(&mut children.into_iter(), |node| match node {
            Expr::Choice(inner) => Some(inner),
            _ => None,
        });
        match *branches {
            [only] => only,
            _ => self.add(Expr::Choice(branches)),
        }
    }

    /// Takes a `dyn` iterator, so that it is compiled once for all callers.
    #[inline(never)]
    fn flat(
        &self,
        children: &mut dyn Iterator<Item = ExprId>,
        inner: fn(&Expr) -> Option<&Children>,
    ) -> Children {
        let mut out = Children::new();
        for child in children {
            match inner(self.arena.borrow().get(child))
                .filter(|inner| inner.len() <= limits::EXPR_INLINE)
            {
                Some(grandchildren) => out.extend_from_slice(grandchildren),
                None => out.push(child),
            };
        }
        out
    }

    /// As often as it matches, between the bounds (`None`: no upper bound). A round that consumes
    /// nothing ends it.
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

    /// Any of these, in any order and any number. A grammar has each required one once.
    pub fn unordered(
        &self,
        required: impl IntoIterator<Item = ExprId>,
        optional: impl IntoIterator<Item = ExprId>,
    ) -> ExprId {
        let (required, optional): (Children, Children) = (
            required.into_iter().collect(),
            optional.into_iter().collect(),
        );
        let any = self.choice(required.iter().chain(&optional).copied());
        self.parts(
            self.many(any),
            Parts {
                required,
                optional,
                between: None,
            },
        )
    }

    /// The child parses; a grammar has the parts.
    pub fn parts(&self, child: ExprId, parts: Parts) -> ExprId {
        self.add(Expr::Unordered(child, Box::new(parts)))
    }

    /// Matches where the child would, and consumes nothing.
    pub fn and(&self, child: ExprId) -> ExprId {
        self.add(Expr::And(child))
    }

    /// Matches where the child would not, and consumes nothing.
    pub fn not(&self, child: ExprId) -> ExprId {
        self.add(Expr::Not(child))
    }

    /// Any one character.
    pub fn any(&self) -> ExprId {
        self.plain(3, Expr::Any)
    }

    /// White space, as much as there is.
    pub fn space(&self) -> ExprId {
        self.plain(4, Expr::Space)
    }

    /// One character of this set.
    pub fn character(&self, set: CharSet) -> ExprId {
        self.add(Expr::Char(set))
    }

    /// One character of these inclusive ranges.
    pub fn one_of(&self, ranges: &[(char, char)]) -> ExprId {
        self.add(Expr::Char(CharSet {
            ranges: ranges.into(),
            negated: false,
        }))
    }

    /// One character outside of these inclusive ranges.
    pub fn none_of(&self, ranges: &[(char, char)]) -> ExprId {
        self.add(Expr::Char(CharSet {
            ranges: ranges.into(),
            negated: true,
        }))
    }

    /// The inside of a quoted string: up to this delimiter, or an escape that JSON does not have.
    pub fn string_body(&self, delimiter: u8) -> ExprId {
        self.add(Expr::StringBody(delimiter))
    }

    /// [`Builder::string_body`] up to the first line break, if there is one. A grammar has the
    /// whole body.
    pub fn string_line(&self, delimiter: u8) -> ExprId {
        self.add(Expr::StringLine(delimiter))
    }

    /// Text up to the first of several markers, or to the end of the output. Empty markers never
    /// match and are dropped.
    pub fn until_any<S: Into<SmolStr>>(&self, markers: impl IntoIterator<Item = S>) -> ExprId {
        self.add(Expr::Until(not_empty(
            &mut markers.into_iter().map(Into::into),
        )))
    }

    /// Text up to one marker, or to the end of the output.
    pub fn until(&self, marker: impl Into<SmolStr>) -> ExprId {
        self.until_any([marker])
    }

    /// The same up to a match of a [`Builder::marker`] of one of these texts, if the text is
    /// distinctive enough. Empty ones never match and are dropped.
    pub fn until_marker<S: Into<SmolStr>>(&self, markers: impl IntoIterator<Item = S>) -> ExprId {
        self.add(Expr::UntilMarker(not_empty(
            &mut markers.into_iter().map(Into::into),
        )))
    }

    /// The rest of the output.
    pub fn rest(&self) -> ExprId {
        self.add(Expr::Until(Vec::new()))
    }

    /// The child's extent is captured under the tag.
    pub fn tag(&self, tag: impl Into<TagId>, child: ExprId) -> ExprId {
        self.add(Expr::Tag(tag.into(), child))
    }

    /// The tag of a label. `None`: there are too many labels.
    pub fn label(&self, label: &str) -> Option<TagId> {
        self.arena.borrow_mut().add_label(label)
    }

    /// [`Builder::tag`] with the tag of a label. `None`: there are too many labels.
    pub fn labelled(&self, label: &str, child: ExprId) -> Option<ExprId> {
        Some(self.tag(self.label(label)?, child))
    }

    /// Captures inside show only once the whole child has matched.
    pub fn atomic(&self, child: ExprId) -> ExprId {
        self.add(Expr::Atomic(child))
    }

    /// Parses where models write it, though a grammar does not let them.
    pub fn tolerated(&self, child: ExprId) -> ExprId {
        self.add(Expr::Tolerated(child))
    }

    /// The child parses; in a grammar the JSON schema replaces it, as a rule of this name.
    pub fn schema(
        &self,
        child: ExprId,
        name: impl Into<SmolStr>,
        schema: impl Into<SchemaRef>,
        notation: Notation,
    ) -> ExprId {
        self.annotated(child, name.into(), schema.into(), notation, false)
    }

    /// [`Builder::schema`] of a tool's arguments: objects have only the properties that they
    /// declare.
    pub fn argument(
        &self,
        child: ExprId,
        name: impl Into<SmolStr>,
        schema: impl Into<SchemaRef>,
        notation: Notation,
    ) -> ExprId {
        self.annotated(child, name.into(), schema.into(), notation, true)
    }

    #[inline(never)]
    fn annotated(
        &self,
        child: ExprId,
        name: SmolStr,
        schema: SchemaRef,
        notation: Notation,
        argument: bool,
    ) -> ExprId {
        self.add(Expr::Schema(Box::new(Annotated {
            child,
            name,
            schema,
            notation,
            argument,
        })))
    }

    /// The child parses; in a grammar it is text that ends with the first of these markers, marker
    /// included.
    pub fn excluding<S: Into<SmolStr>>(
        &self,
        child: ExprId,
        markers: impl IntoIterator<Item = S>,
    ) -> ExprId {
        self.excluding_all(child, markers, Vec::new())
    }

    /// The same, for a parser that may end the text with `others`, too: they are not in the text.
    pub fn excluding_all<S: Into<SmolStr>>(
        &self,
        child: ExprId,
        markers: impl IntoIterator<Item = S>,
        others: Vec<SmolStr>,
    ) -> ExprId {
        self.add(Expr::Excluding(
            child,
            Box::new([markers.into_iter().map(Into::into).collect(), others]),
        ))
    }

    /// The child parses; in a grammar this GBNF replaces it.
    pub fn gbnf(&self, child: ExprId, text: impl Into<SmolStr>) -> ExprId {
        self.add(Expr::Gbnf(child, text.into()))
    }

    /// The child parses; in a grammar this text replaces it.
    pub fn written(&self, child: ExprId, text: impl Into<SmolStr>) -> ExprId {
        self.add(Expr::Written(child, text.into()))
    }

    /// The part of this number, of another arena: [`compile_late`](fn@super::compile_late).
    pub fn late(&self, part: u32) -> ExprId {
        self.add(Expr::Late(part))
    }

    /// The child as a rule of its own, with this name and other parts: [`Expr::Named`].
    pub fn named(&self, child: ExprId, name: impl Into<SmolStr>, part: u32, rule: u32) -> ExprId {
        self.add(Expr::Named {
            child,
            name: name.into(),
            part,
            rule,
        })
    }

    /// A reference to a rule, which may be defined later.
    pub fn reference(&self, name: impl Into<SmolStr>) -> ExprId {
        self.add(Expr::Ref(name.into()))
    }

    /// Defines a rule and returns a reference to it. A second rule of the same name replaces the
    /// first.
    pub fn rule(&self, name: impl Into<SmolStr>, child: ExprId) -> ExprId {
        self.add_rule(name.into(), child, false)
    }

    /// Like [`Builder::rule`], for a rule at which a lazily applied grammar may start.
    pub fn trigger_rule(&self, name: impl Into<SmolStr>, child: ExprId) -> ExprId {
        self.add_rule(name.into(), child, true)
    }

    #[inline(never)]
    fn add_rule(&self, name: SmolStr, child: ExprId, trigger: bool) -> ExprId {
        self.node(Expr::Rule {
            name: name.clone(),
            child,
            trigger,
        });
        self.add(Expr::Ref(name))
    }

    /// This node as it is; a rule is defined.
    pub(super) fn node(&self, node: Expr) -> ExprId {
        let id = self.add(node);
        let mut arena = self.arena.borrow_mut();
        if let Expr::Rule { name, .. } = arena.get(id) {
            let name = name.clone();
            arena.define(name, id);
        }
        id
    }
}

/// The markers that can match. Compiled once for all kinds of iterators.
#[inline(never)]
fn not_empty(markers: &mut dyn Iterator<Item = SmolStr>) -> Vec<SmolStr> {
    markers.filter(|marker| !marker.is_empty()).collect()
}
