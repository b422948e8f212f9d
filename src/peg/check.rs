//! What must hold before an arena is compiled: a root, no dangling reference, no left recursion, bounded nesting.

use std::collections::HashMap;

use super::expr::{Arena, Expr, ExprId};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;

/// Checks the part of `arena` that its root reaches.
pub(super) fn check(arena: &Arena) -> Result<ExprId> {
    let root = arena.root().ok_or_else(|| Error::new(ErrorKind::Internal, "the format description has no root"))?;
    let mut checker = Checker { arena, nullable: HashMap::new(), entered: Vec::new(), checked: Default::default() };
    checker.visit(root, 0)?;
    checker.left(root)?;
    Ok(root)
}

/// The direct children of a node.
pub(super) fn children(node: &Expr) -> &[ExprId] {
    match node {
        Expr::Sequence(children) | Expr::Choice(children) => children,
        Expr::Repeat(child, ..)
        | Expr::And(child)
        | Expr::Not(child)
        | Expr::Tag(_, child)
        | Expr::Atomic(child)
        | Expr::Rule { child, .. }
        | Expr::Schema { child, .. }
        | Expr::Excluding(child, _) => std::slice::from_ref(child),
        _ => &[],
    }
}

struct Checker<'a> {
    arena: &'a Arena,
    /// Whether a rule may match nothing; `None` while that is being found out.
    nullable: HashMap<&'a str, Option<bool>>,
    /// Rules that are entered without having consumed anything, outermost first.
    entered: Vec<&'a str>,
    checked: std::collections::HashSet<ExprId>,
}

impl<'a> Checker<'a> {
    fn rule(&self, name: &str) -> Result<ExprId> {
        self.arena.rule_named(name).ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!("the format refers to a rule {name:?} that it does not define"),
            )
        })
    }

    fn visit(&mut self, id: ExprId, depth: usize) -> Result<()> {
        if depth > limits::EXPR_DEPTH {
            let text = format!("the format description nests deeper than {} expressions", limits::EXPR_DEPTH);
            return Err(Error::new(ErrorKind::Limit, text));
        }
        if !self.checked.insert(id) {
            return Ok(());
        }
        let node = self.arena.get(id);
        if let Expr::Ref(name) = node {
            let target = self.rule(name)?;
            return self.visit(target, depth + 1);
        }
        children(node).iter().try_for_each(|&child| self.visit(child, depth + 1))
    }

    /// Walks what `id` may enter before it consumes a byte; says whether it may match without consuming any.
    fn left(&mut self, id: ExprId) -> Result<bool> {
        let arena = self.arena;
        Ok(match arena.get(id) {
            Expr::Empty | Expr::End | Expr::Space | Expr::StringBody(_) | Expr::Until(_) => true,
            Expr::Literal(text) => text.is_empty(),
            Expr::Any | Expr::Char(_) => false,
            Expr::Sequence(children) => {
                for &child in children {
                    if !self.left(child)? {
                        return Ok(false);
                    }
                }
                true
            }
            Expr::Choice(children) => {
                let mut nullable = false;
                for &child in children {
                    nullable |= self.left(child)?;
                }
                nullable
            }
            Expr::Repeat(child, min, _) => self.left(*child)? || *min == 0,
            Expr::And(child) | Expr::Not(child) => {
                self.left(*child)?;
                true
            }
            Expr::Tag(_, child)
            | Expr::Atomic(child)
            | Expr::Rule { child, .. }
            | Expr::Schema { child, .. }
            | Expr::Excluding(child, _) => self.left(*child)?,
            Expr::Ref(name) => {
                if let Some(Some(known)) = self.nullable.get(name.as_str()) {
                    return Ok(*known);
                }
                if self.entered.contains(&name.as_str()) {
                    let text = format!("the rule {name:?} begins with itself (left recursion)");
                    return Err(Error::new(ErrorKind::InvalidArgument, text));
                }
                self.entered.push(name);
                let target = self.rule(name)?;
                let nullable = self.left(target)?;
                self.entered.pop();
                self.nullable.insert(name, Some(nullable));
                nullable
            }
        })
    }
}
