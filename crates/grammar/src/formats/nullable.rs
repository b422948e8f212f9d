//! Finds the expressions of a format whose grammar rules may be empty.

use smol_str::SmolStr;

use crate::schema;
use chatparse_base::limits::{EXPR_DEPTH, LOWERING_DEPTH};
use chatparse_peg::{Arena, Children, Expr, ExprId, Notation, SchemaRef};

/// What is known about an arena's expressions. Each is computed once, on first use.
pub struct Nullable<'a> {
    arena: &'a Arena,
    /// By expression. While one is being computed it counts as non-empty, because it may begin with
    /// itself.
    known: Vec<Option<bool>>,
}

impl<'a> Nullable<'a> {
    pub fn new(arena: &'a Arena) -> Self {
        Nullable {
            arena,
            known: vec![None; arena.len()],
        }
    }

    /// Whether the grammar's rule for `id` may be empty.
    pub fn is_nullable(&mut self, id: ExprId) -> bool {
        self.below(id, 0)
    }

    /// What a parser takes nests no deeper than [`EXPR_DEPTH`] before it reads a byte.
    fn below(&mut self, id: ExprId, depth: usize) -> bool {
        if let Some(known) = self.known[id.index()] {
            return known;
        }
        self.known[id.index()] = Some(false);
        let known = depth < EXPR_DEPTH && self.of_parts(id, depth + 1);
        self.known[id.index()] = Some(known);
        known
    }

    fn of_parts(&mut self, id: ExprId, depth: usize) -> bool {
        let arena = self.arena;
        match arena.get(id) {
            Expr::Empty
            | Expr::Start
            | Expr::End
            | Expr::And(_)
            | Expr::Not(_)
            | Expr::Tolerated(_)
            | Expr::Space
            | Expr::Until(_)
            | Expr::UntilMarker(_)
            | Expr::StringBody(_)
            | Expr::StringLine(_)
            | Expr::Repeat(_, 0, _) => true,
            Expr::Literal(text) | Expr::Marker(text) => text.is_empty(),
            Expr::Schema(value) => match value.notation {
                Notation::Text
                | Notation::Parts
                | Notation::PerhapsLeftOut
                | Notation::PerhapsMore => self.below(value.child, depth),
                Notation::JsonOrChild => {
                    may_be_string(&value.schema) && self.below(value.child, depth)
                }
                _ => false,
            },
            // A call has its name, and a part follows one.
            Expr::Any | Expr::Char(_) | Expr::Late(_) | Expr::Named { .. } => false,
            Expr::Excluding(_, markers) => markers[0].iter().any(SmolStr::is_empty),
            // GBNF from the author counts as non-empty.
            Expr::Gbnf(_, text) | Expr::Written(_, text) => text.is_empty(),
            Expr::Sequence(children) => children.iter().all(|&child| self.below(child, depth)),
            Expr::Choice(children) => written(arena, children)
                .into_iter()
                .any(|child| self.below(child, depth)),
            Expr::Unordered(_, parts) if parts.between.is_some() => parts
                .required
                .iter()
                .chain(&parts.optional)
                .any(|&part| self.below(part, depth)),
            Expr::Unordered(_, parts) => parts.required.iter().all(|&part| self.below(part, depth)),
            Expr::Repeat(child, ..)
            | Expr::Tag(_, child)
            | Expr::Atomic(child)
            | Expr::Rule { child, .. } => self.below(*child, depth),
            Expr::Ref(name) => arena
                .rule_named(name)
                .is_some_and(|rule| self.below(rule, depth)),
        }
    }
}

/// Whether only the parser reads an expression: the end of the output, or a deviation, by whatever
/// name.
pub fn is_only_read(arena: &Arena, mut id: ExprId) -> bool {
    for _ in 0..LOWERING_DEPTH {
        id = match arena.get(id) {
            Expr::End | Expr::Tolerated(_) => return true,
            Expr::Tag(_, child) | Expr::Atomic(child) | Expr::Rule { child, .. } => *child,
            Expr::Ref(name) => match arena.rule_named(name) {
                Some(rule) => rule,
                None => return false,
            },
            _ => return false,
        };
    }
    false
}

/// The alternatives that a grammar has.
pub fn written(arena: &Arena, children: &[ExprId]) -> Children {
    let written: Children = children
        .iter()
        .copied()
        .filter(|&child| !is_only_read(arena, child))
        .collect();
    if written.is_empty() {
        children.into()
    } else {
        written
    }
}

/// Whether a raw value may be a string.
pub fn may_be_string(schema: &SchemaRef) -> bool {
    schema::may_be_string(schema.get(), &schema.document)
}
