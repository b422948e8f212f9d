//! Checks an arena before it is compiled: it has a root, no dangling reference, no left recursion,
//! bounded nesting and size.

use smol_str::SmolStr;

use super::expr::{Arena, Expr, ExprId};
use chatparse_base::{Error, ErrorKind, Result, limits};

/// The result of checking an arena.
pub struct Checked {
    pub root: ExprId,
    /// By expression: the rule that a reference refers to.
    targets: Vec<Option<ExprId>>,
}

impl Checked {
    /// The rule that this reference refers to.
    pub fn target(&self, reference: ExprId) -> ExprId {
        self.targets[reference.index()].expect("references were looked up")
    }
}

/// Checks the expressions that the root of `arena` and the rules at which a grammar may start
/// reach.
pub fn check(arena: &Arena) -> Result<Checked> {
    let root = arena
        .root()
        .ok_or_else(|| Error::new(ErrorKind::Internal, "the format description has no root"))?;
    let mut checker = Checker {
        arena,
        known: vec![Known::default(); arena.len()],
        targets: vec![None; arena.len()],
        entered: Vec::new(),
        pending: Vec::new(),
        size: 0,
    };
    for name in arena.trigger_rules() {
        checker.pending.extend(arena.rule_named(name));
    }
    checker.pending.push(root);
    while let Some(next) = checker.pending.pop() {
        let size = checker.visit(next, 0)?.size as usize;
        checker.size = checker.size.saturating_add(size);
        if checker.size > limits::PROGRAM_SIZE {
            let text = format!(
                "the format description is longer than {} when written out",
                limits::PROGRAM_SIZE
            );
            return Err(Error::limit(text));
        }
        checker.left(next, 0)?;
    }
    Ok(Checked {
        root,
        targets: checker.targets,
    })
}

const MOST_LEVELS: u32 = limits::EXPR_DEPTH as u32;

fn too_deep() -> Error {
    Error::limit(format!(
        "the format description nests deeper than {} expressions",
        limits::EXPR_DEPTH
    ))
}

/// The size of an expression that is laid out in place.
#[derive(Clone, Copy, Default)]
struct Extent {
    /// Levels of nesting; 0 if it was not visited yet.
    height: u32,
    /// Number of expressions, and the bytes of their texts. A shared expression counts once for
    /// each place that uses it.
    size: u32,
}

impl Extent {
    /// The extent of a node without its children.
    fn of(node: &Expr) -> Self {
        let text = match node {
            Expr::Literal(text) | Expr::Marker(text) => text.len(),
            Expr::Until(markers) | Expr::UntilMarker(markers) => {
                markers.iter().map(SmolStr::len).sum()
            }
            Expr::Char(set) => set.ranges.len(),
            _ => 0,
        };
        Extent {
            height: 1,
            size: u32::try_from(text).map_or(u32::MAX, |text| text.saturating_add(1)),
        }
    }
}

/// The behaviour of an expression before it consumes a byte.
#[derive(Clone, Copy, Default)]
struct Left {
    /// Levels of expressions that it may enter, including rules; 0 if it was not walked yet.
    height: u32,
    /// Whether it may match without consuming any.
    nullable: bool,
}

/// The findings about an expression.
#[derive(Clone, Copy, Default)]
struct Known {
    extent: Extent,
    left: Left,
    /// Whether a reference refers to it.
    referred: bool,
}

struct Checker<'a> {
    arena: &'a Arena,
    /// By expression.
    known: Vec<Known>,
    /// By expression: the rule that a reference refers to, if it was looked up.
    targets: Vec<Option<ExprId>>,
    /// Rules that were entered before any byte was consumed, outermost first.
    entered: Vec<ExprId>,
    /// Rules that are referred to and not visited yet.
    pending: Vec<ExprId>,
    /// Of the rules that were visited.
    size: usize,
}

impl Checker<'_> {
    fn rule(&mut self, reference: ExprId, name: &str) -> Result<ExprId> {
        let target = match self.targets[reference.index()] {
            Some(target) => target,
            None => self.arena.rule_named(name).ok_or_else(|| {
                Error::invalid(format!(
                    "the format refers to a rule {name:?} that it does not define"
                ))
            })?,
        };
        self.targets[reference.index()] = Some(target);
        Ok(target)
    }

    /// Checks a node and its descendants, once. Rules are visited separately, because they are
    /// compiled separately.
    fn visit(&mut self, id: ExprId, depth: u32) -> Result<Extent> {
        let known = self.known[id.index()].extent;
        if depth + known.height > MOST_LEVELS {
            return Err(too_deep());
        }
        if known.height > 0 {
            return Ok(known);
        }
        let arena = self.arena;
        let node = arena.get(id);
        match node {
            Expr::Ref(name) => {
                let target = self.rule(id, name)?;
                if !std::mem::replace(&mut self.known[target.index()].referred, true) {
                    self.pending.push(target);
                }
            }
            Expr::Repeat(_, min, Some(max)) if min > max => {
                let text =
                    format!("the format repeats something at least {min} and at most {max} times");
                return Err(Error::invalid(text));
            }
            Expr::Excluding(_, markers) if markers[0].is_empty() => {
                return Err(Error::invalid(
                    "excluding: the format has text that ends with a marker, but no markers for it",
                ));
            }
            _ => {}
        }
        let mut extent = Extent::of(node);
        for &child in node.child_list() {
            let below = self.visit(child, depth + 1)?;
            extent.height = extent.height.max(1 + below.height);
            match node {
                Expr::Named { .. } => self.size = self.size.saturating_add(below.size as usize),
                _ => extent.size = extent.size.saturating_add(below.size),
            }
        }
        self.known[id.index()].extent = extent;
        Ok(extent)
    }

    /// Walks the expressions that `id` may enter before it consumes a byte. The depth does not
    /// depend on where the walk began.
    fn left(&mut self, id: ExprId, depth: u32) -> Result<Left> {
        let known = self.known[id.index()].left;
        if depth + known.height > MOST_LEVELS {
            return Err(too_deep());
        }
        if known.height > 0 {
            return Ok(known);
        }
        let mut height = 0;
        let nullable = self.left_of(id, &mut |checker, child| {
            let left = checker.left(child, depth + 1)?;
            height = height.max(left.height);
            Ok(left.nullable)
        })?;
        let left = Left {
            nullable,
            height: height + 1,
        };
        self.known[id.index()].left = left;
        Ok(left)
    }

    /// Whether `id` may match nothing; `below` answers that for the expressions that it enters.
    fn left_of(
        &mut self,
        id: ExprId,
        below: &mut dyn FnMut(&mut Self, ExprId) -> Result<bool>,
    ) -> Result<bool> {
        let arena = self.arena;
        Ok(match arena.get(id) {
            Expr::Empty
            | Expr::Start
            | Expr::End
            | Expr::Space
            | Expr::StringBody(_)
            | Expr::StringLine(_)
            | Expr::Until(_)
            | Expr::UntilMarker(_)
            | Expr::Late(_) => true,
            Expr::Literal(text) => text.is_empty(),
            Expr::Marker(text) => text.trim().is_empty(),
            Expr::Any | Expr::Char(_) => false,
            Expr::Sequence(children) => {
                for &child in children {
                    if !below(self, child)? {
                        return Ok(false);
                    }
                }
                true
            }
            Expr::Choice(children) => {
                let mut nullable = false;
                for &child in children {
                    nullable |= below(self, child)?;
                }
                nullable
            }
            Expr::Repeat(child, min, _) => below(self, *child)? || *min == 0,
            Expr::And(child) | Expr::Not(child) => {
                below(self, *child)?;
                true
            }
            Expr::Ref(name) => {
                let target = self.rule(id, name)?;
                if self.entered.contains(&target) {
                    let text = format!("the rule {name:?} begins with itself (left recursion)");
                    return Err(Error::invalid(text));
                }
                self.entered.push(target);
                let nullable = below(self, target)?;
                self.entered.pop();
                nullable
            }
            // Others have one child.
            other => {
                let mut nullable = false;
                for child in other.children() {
                    nullable = below(self, child)?;
                }
                nullable
            }
        })
    }
}
