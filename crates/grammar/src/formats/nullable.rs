//! Finds the expressions of a format whose grammar rules may be empty.

use smol_str::SmolStr;

use crate::schema;
use chatparse_base::limits::LOWERING_DEPTH;
use chatparse_peg::{Arena, Children, Expr, ExprId, Notation, SchemaRef};

/// What is known about an arena's expressions. Each is computed once, on first use; chains of rules use no stack.
pub struct Nullable<'a> {
    arena: &'a Arena,
    /// By expression. While one is being computed it counts as non-empty, because it may begin with itself.
    known: Vec<Option<bool>>,
}

/// What decides whether an expression may be empty.
enum Depends {
    Itself(bool),
    /// All of these if true, or one of them: whether they may be empty.
    On(bool, Children),
}

/// An expression that waits for its parts.
struct Open {
    id: ExprId,
    /// Whether all parts must allow the empty text, or one.
    all: bool,
    rest: smallvec::IntoIter<[ExprId; 4]>,
}

impl<'a> Nullable<'a> {
    pub fn new(arena: &'a Arena) -> Self {
        Nullable { arena, known: vec![None; arena.len()] }
    }

    /// Whether the grammar's rule for `id` may be empty.
    pub fn is_nullable(&mut self, id: ExprId) -> bool {
        let mut open = Vec::new();
        if self.known[id.index()].is_none() {
            self.enter(id, &mut open);
        }
        while let Some(top) = open.last_mut() {
            let part = top.rest.as_slice().first().copied();
            match part.map(|part| (part, self.known[part.index()])) {
                Some((part, None)) => self.enter(part, &mut open),
                Some((_, Some(known))) if known == top.all => drop(top.rest.next()),
                decided => {
                    self.known[top.id.index()] = Some(decided.map_or(top.all, |_| !top.all));
                    open.pop();
                }
            }
        }
        self.known[id.index()] == Some(true)
    }

    fn enter(&mut self, id: ExprId, open: &mut Vec<Open>) {
        self.known[id.index()] = Some(match self.depends(id) {
            Depends::Itself(known) => known,
            Depends::On(all, parts) => {
                open.push(Open { id, all, rest: parts.into_iter() });
                false
            }
        });
    }

    fn depends(&self, id: ExprId) -> Depends {
        let on = |child: ExprId| Depends::On(true, Children::from_iter([child]));
        match self.arena.get(id) {
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
            | Expr::Repeat(_, 0, _) => Depends::Itself(true),
            Expr::Literal(text) | Expr::Marker(text) => Depends::Itself(text.is_empty()),
            Expr::Schema(value) => match value.notation {
                Notation::Text | Notation::Parts | Notation::PerhapsLeftOut | Notation::PerhapsMore => on(value.child),
                Notation::JsonOrChild if may_be_string(&value.schema) => on(value.child),
                _ => Depends::Itself(false),
            },
            // A call has its name, and a part follows one.
            Expr::Any | Expr::Char(_) | Expr::Late(_) | Expr::Named { .. } => Depends::Itself(false),
            Expr::Excluding(_, markers) => Depends::Itself(markers[0].iter().any(SmolStr::is_empty)),
            // GBNF from the author counts as non-empty.
            Expr::Gbnf(_, text) | Expr::Written(_, text) => Depends::Itself(text.is_empty()),
            Expr::Sequence(children) => Depends::On(true, children.clone()),
            Expr::Choice(children) => Depends::On(false, written(self.arena, children)),
            Expr::Unordered(_, parts) if parts.between.is_some() => {
                Depends::On(false, parts.required.iter().chain(&parts.optional).copied().collect())
            }
            Expr::Unordered(_, parts) => Depends::On(true, parts.required.clone()),
            Expr::Repeat(child, ..) | Expr::Tag(_, child) | Expr::Atomic(child) | Expr::Rule { child, .. } => {
                on(*child)
            }
            Expr::Ref(name) => self.arena.rule_named(name).map_or(Depends::Itself(false), on),
        }
    }
}

/// Whether only the parser reads an expression: the end of the output, or a deviation, by whatever name.
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
    let written: Children = children.iter().copied().filter(|&child| !is_only_read(arena, child)).collect();
    if written.is_empty() { children.into() } else { written }
}

/// Whether a raw value may be a string.
pub fn may_be_string(schema: &SchemaRef) -> bool {
    schema::may_be_string(schema.get(), &schema.document)
}
