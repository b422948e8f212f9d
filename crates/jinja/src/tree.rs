//! What a template does, as the evaluator runs it: minijinja's syntax tree without its source.

use std::collections::HashMap;
use std::sync::Arc;

use minijinja::machinery::ast::{self, BinOpKind, CallArg, CompareOpKind, UnaryOpKind};

use crate::text::Text;

/// The variable that asks for the opening of the assistant's turn.
pub const ASKS: &str = "add_generation_prompt";

/// The functions that templates may call.
const FUNCTIONS: [&str; 5] = [
    "dict",
    "namespace",
    "raise_exception",
    "range",
    "strftime_now",
];

/// A name, by its number in the tree's table.
pub type Name = u32;

#[derive(Debug)]
pub enum Expr {
    Text(Text),
    Int(i128),
    Float(f64),
    Bool(bool),
    None,
    Var(Name),
    Attr(Box<Expr>, Arc<str>),
    Item(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, [Option<Box<Expr>>; 3]),
    Call(Box<Expr>, Args),
    Method(Box<Expr>, Arc<str>, Args),
    Filter(Box<Expr>, Arc<str>, Args),
    Test(Box<Expr>, Arc<str>, Args),
    Not(Box<Expr>),
    /// A sign, and whether it is minus.
    Sign(Box<Expr>, bool),
    Two(&'static str, Box<Expr>, Box<Expr>),
    Concat(Vec<Expr>),
    Sum(Vec<Expr>),
    Compare(Box<Expr>, Vec<(&'static str, Expr)>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    /// What a filter block or a capture is applied to.
    Captured,
}

pub type Args = Vec<Given>;

#[derive(Debug)]
pub enum Given {
    One(Expr),
    Named(Arc<str>, Expr),
    All(Expr),
    AllNamed(Expr),
}

#[derive(Debug)]
pub enum Target {
    Var(Name),
    Attr(Expr, Arc<str>),
    Many(Vec<Target>),
}

/// Statements, each with the place of its tag in the source.
pub type Body = Vec<(u32, Stmt)>;

#[derive(Debug)]
pub enum Stmt {
    Raw(Text),
    Emit(Expr),
    If(Expr, Body, Body),
    For(Arc<For>),
    Set(Target, Expr),
    Capture(Target, Expr, Body),
    With(Vec<(Target, Expr)>, Body),
    Macro(Arc<MacroDef>),
    CallBlock(Expr, Args, Arc<MacroDef>),
    Filter(Expr, Body),
    Generation(Body),
    Block(Body),
    Do(Expr),
    Break,
    Continue,
}

#[derive(Debug)]
pub struct For {
    pub target: Target,
    pub all: Expr,
    pub only: Option<Expr>,
    pub body: Body,
    pub otherwise: Body,
    pub recursive: bool,
}

#[derive(Debug)]
pub struct MacroDef {
    pub name: Name,
    pub params: Vec<(Name, Arc<str>, Option<Expr>)>,
    pub body: Body,
}

/// A template's statements, and the numbers of its names.
#[derive(Debug, Default)]
pub struct Tree {
    pub body: Body,
    pub names: HashMap<String, Name>,
    functions: Vec<(Name, &'static str)>,
}

/// A statement that no prompt has, with its place.
pub type Unknown = (usize, &'static str);

type Made<T> = Result<T, Unknown>;

impl Tree {
    /// `source`: the text that was parsed to `root`.
    pub fn of(root: &ast::Stmt, source: &str) -> Made<Tree> {
        let ast::Stmt::Template(root) = root else {
            return Ok(Tree::default());
        };
        let mut copy = Copy {
            source,
            names: HashMap::new(),
        };
        let body = copy.body(&root.children)?;
        let mut functions = Vec::new();
        for name in FUNCTIONS {
            functions.extend(copy.names.get(name).map(|number| (*number, name)));
        }
        Ok(Tree {
            body,
            names: copy.names,
            functions,
        })
    }

    /// The function of this name.
    pub fn function(&self, name: Name) -> Option<&'static str> {
        let mut functions = self.functions.iter();
        functions
            .find(|(known, _)| *known == name)
            .map(|(_, function)| *function)
    }

    /// Whether its last statement writes what opens a turn, if it is asked for, and nothing
    /// else.
    pub fn opens_last(&self) -> bool {
        let Some((_, Stmt::If(condition, _, otherwise))) = self.body.last() else {
            return false;
        };
        let mut first = condition;
        while let Expr::And(left, _) = first {
            first = left;
        }
        let is_asked = matches!(first, Expr::Var(name) if self.names.get(ASKS) == Some(name));
        is_asked && otherwise.is_empty()
    }
}

struct Copy<'s> {
    source: &'s str,
    names: HashMap<String, Name>,
}

impl Copy<'_> {
    fn number(&mut self, name: &str) -> Name {
        let next = self.names.len() as Name;
        match self.names.get(name) {
            Some(number) => *number,
            None => {
                self.names.insert(name.to_owned(), next);
                next
            }
        }
    }

    fn body(&mut self, body: &[ast::Stmt]) -> Made<Body> {
        body.iter().map(|stmt| self.statement(stmt)).collect()
    }

    fn statement(&mut self, stmt: &ast::Stmt) -> Made<(u32, Stmt)> {
        use ast::Stmt as S;
        let (span, made) = match stmt {
            S::Template(s) => (s.span(), Stmt::Block(self.body(&s.children)?)),
            S::EmitRaw(s) => (s.span(), Stmt::Raw(s.raw.into())),
            S::EmitExpr(s) => (s.span(), Stmt::Emit(self.expr(&s.expr))),
            // Conditions and loops.
            S::IfCond(s) => {
                let body = self.body(&s.true_body)?;
                let otherwise = self.body(&s.false_body)?;
                (s.span(), Stmt::If(self.expr(&s.expr), body, otherwise))
            }
            S::ForLoop(s) => {
                let node = For {
                    target: self.target(&s.target),
                    all: self.expr(&s.iter),
                    only: s.filter_expr.as_ref().map(|only| self.expr(only)),
                    body: self.body(&s.body)?,
                    otherwise: self.body(&s.else_body)?,
                    recursive: s.recursive,
                };
                (s.span(), Stmt::For(Arc::new(node)))
            }
            S::WithBlock(s) => {
                let mut set = Vec::new();
                for (target, value) in &s.assignments {
                    set.push((self.target(target), self.expr(value)));
                }
                (s.span(), Stmt::With(set, self.body(&s.body)?))
            }
            S::Set(s) => (
                s.span(),
                Stmt::Set(self.target(&s.target), self.expr(&s.expr)),
            ),
            S::SetBlock(s) => {
                let filter = match &s.filter {
                    Some(filter) => self.expr(filter),
                    None => Expr::Captured,
                };
                let made = Stmt::Capture(self.target(&s.target), filter, self.body(&s.body)?);
                (s.span(), made)
            }
            S::FilterBlock(s) => {
                let body = self.body(&s.body)?;
                let is_generation =
                    self.source[s.span().start_offset as usize..].starts_with(crate::read::MARK);
                let made = match is_generation {
                    true => Stmt::Generation(body),
                    false => Stmt::Filter(self.expr(&s.filter), body),
                };
                (s.span(), made)
            }
            S::AutoEscape(s) => (s.span(), Stmt::Block(self.body(&s.body)?)),
            S::Block(s) => (s.span(), Stmt::Block(self.body(&s.body)?)),
            // Macros.
            S::Macro(s) => {
                let name = self.number(s.name);
                (s.span(), Stmt::Macro(self.macro_of(name, s)?))
            }
            S::CallBlock(s) => {
                let name = self.number("caller");
                let def = self.macro_of(name, &s.macro_decl)?;
                let made = Stmt::CallBlock(self.expr(&s.call.expr), self.args(&s.call.args), def);
                (s.span(), made)
            }
            S::Continue(s) => (s.span(), Stmt::Continue),
            S::Break(s) => (s.span(), Stmt::Break),
            S::Do(s) => (s.span(), Stmt::Do(self.call(&s.call))),
            // What needs another template.
            S::Import(s) => return Err((s.span().start_offset as usize, "import")),
            S::FromImport(s) => return Err((s.span().start_offset as usize, "from")),
            S::Extends(s) => return Err((s.span().start_offset as usize, "extends")),
            S::Include(s) => return Err((s.span().start_offset as usize, "include")),
        };
        Ok((span.start_offset, made))
    }

    fn macro_of(&mut self, name: Name, def: &ast::Macro) -> Made<Arc<MacroDef>> {
        let mut params = Vec::new();
        let first_default = def.args.len() - def.defaults.len();
        for (index, arg) in def.args.iter().enumerate() {
            if let ast::Expr::Var(var) = arg {
                let default = index.checked_sub(first_default);
                let default = default.map(|index| self.expr(&def.defaults[index]));
                params.push((self.number(var.id), var.id.into(), default));
            }
        }
        let body = self.body(&def.body)?;
        Ok(Arc::new(MacroDef { name, params, body }))
    }

    fn target(&mut self, target: &ast::Expr) -> Target {
        match target {
            ast::Expr::List(list) => {
                Target::Many(list.items.iter().map(|item| self.target(item)).collect())
            }
            ast::Expr::GetAttr(attr) => Target::Attr(self.expr(&attr.expr), attr.name.into()),
            ast::Expr::Var(var) => Target::Var(self.number(var.id)),
            _ => Target::Many(Vec::new()),
        }
    }

    fn args(&mut self, args: &[CallArg]) -> Args {
        let mut given = Vec::with_capacity(args.len());
        for arg in args {
            given.push(match arg {
                CallArg::Pos(value) => Given::One(self.expr(value)),
                CallArg::Kwarg(name, value) => Given::Named((*name).into(), self.expr(value)),
                CallArg::PosSplat(value) => Given::All(self.expr(value)),
                CallArg::KwargSplat(value) => Given::AllNamed(self.expr(value)),
            });
        }
        given
    }

    fn boxed(&mut self, expr: &ast::Expr) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    fn all(&mut self, items: &[ast::Expr]) -> Vec<Expr> {
        items.iter().map(|item| self.expr(item)).collect()
    }

    fn call(&mut self, call: &ast::Call) -> Expr {
        let args = self.args(&call.args);
        match &call.expr {
            ast::Expr::GetAttr(attr) => {
                Expr::Method(self.boxed(&attr.expr), attr.name.into(), args)
            }
            callee => Expr::Call(self.boxed(callee), args),
        }
    }

    fn expr(&mut self, expr: &ast::Expr) -> Expr {
        use ast::Expr as E;
        match expr {
            E::Var(e) => Expr::Var(self.number(e.id)),
            E::Const(e) => constant(&e.value),
            E::Slice(e) => {
                let bounds = [&e.start, &e.stop, &e.step];
                let bounds = bounds.map(|bound| bound.as_ref().map(|bound| self.boxed(bound)));
                Expr::Slice(self.boxed(&e.expr), bounds)
            }
            E::UnaryOp(e) => match e.op {
                UnaryOpKind::Not => Expr::Not(self.boxed(&e.expr)),
                UnaryOpKind::Neg => {
                    let is_plus = self.source[e.span().start_offset as usize..].starts_with('+');
                    Expr::Sign(self.boxed(&e.expr), !is_plus)
                }
            },
            E::BinOp(e) => self.two(e),
            E::Compare(e) => {
                let first = self.boxed(&e.expr);
                let mut rest = Vec::new();
                for next in &e.ops {
                    rest.push((comparison(next.op), self.expr(&next.expr)));
                }
                Expr::Compare(first, rest)
            }
            E::IfExpr(e) => {
                let otherwise = e.false_expr.as_ref().map(|other| self.boxed(other));
                Expr::If(
                    self.boxed(&e.test_expr),
                    self.boxed(&e.true_expr),
                    otherwise,
                )
            }
            E::Filter(e) => {
                let value = match &e.expr {
                    Some(value) => self.boxed(value),
                    None => Box::new(Expr::Captured),
                };
                Expr::Filter(value, e.name.into(), self.args(&e.args))
            }
            E::Test(e) => Expr::Test(self.boxed(&e.expr), e.name.into(), self.args(&e.args)),
            E::GetAttr(e) => Expr::Attr(self.boxed(&e.expr), e.name.into()),
            E::GetItem(e) => Expr::Item(self.boxed(&e.expr), self.boxed(&e.subscript_expr)),
            E::Call(e) => self.call(e),
            E::List(e) => Expr::List(self.all(&e.items)),
            E::Tuple(e) => Expr::Tuple(self.all(&e.items)),
            E::Map(e) => {
                let pairs = e.keys.iter().zip(&e.values);
                Expr::Dict(
                    pairs
                        .map(|(key, value)| (self.expr(key), self.expr(value)))
                        .collect(),
                )
            }
        }
    }

    fn two(&mut self, e: &ast::BinOp) -> Expr {
        let op = match e.op {
            BinOpKind::ScAnd => return Expr::And(self.boxed(&e.left), self.boxed(&e.right)),
            BinOpKind::ScOr => return Expr::Or(self.boxed(&e.left), self.boxed(&e.right)),
            BinOpKind::Concat => {
                let mut parts = match self.expr(&e.left) {
                    Expr::Concat(parts) => parts,
                    first => vec![first],
                };
                parts.push(self.expr(&e.right));
                return Expr::Concat(parts);
            }
            BinOpKind::Add => {
                let mut terms = match self.expr(&e.left) {
                    Expr::Sum(terms) => terms,
                    first => vec![first],
                };
                terms.push(self.expr(&e.right));
                return Expr::Sum(terms);
            }
            BinOpKind::Eq => "==",
            BinOpKind::Ne => "!=",
            BinOpKind::Lt => "<",
            BinOpKind::Lte => "<=",
            BinOpKind::Gt => ">",
            BinOpKind::Gte => ">=",
            BinOpKind::In => "in",
            BinOpKind::Sub => "-",
            BinOpKind::Mul => "*",
            BinOpKind::Div => "/",
            BinOpKind::FloorDiv => "//",
            BinOpKind::Rem => "%",
            BinOpKind::Pow => "**",
        };
        match e.op {
            BinOpKind::Sub
            | BinOpKind::Mul
            | BinOpKind::Div
            | BinOpKind::FloorDiv
            | BinOpKind::Rem
            | BinOpKind::Pow => Expr::Two(op, self.boxed(&e.left), self.boxed(&e.right)),
            _ => Expr::Compare(self.boxed(&e.left), vec![(op, self.expr(&e.right))]),
        }
    }
}

fn comparison(op: CompareOpKind) -> &'static str {
    match op {
        CompareOpKind::Eq => "==",
        CompareOpKind::Ne => "!=",
        CompareOpKind::Lt => "<",
        CompareOpKind::Lte => "<=",
        CompareOpKind::Gt => ">",
        CompareOpKind::Gte => ">=",
        CompareOpKind::In => "in",
        CompareOpKind::NotIn => "not in",
    }
}

fn constant(value: &minijinja::Value) -> Expr {
    if let Some(text) = value.as_str() {
        return Expr::Text(text.into());
    }
    match value.kind() {
        minijinja::value::ValueKind::Bool => Expr::Bool(value.is_true()),
        minijinja::value::ValueKind::Number if value.is_integer() => {
            Expr::Int(i128::try_from(value.clone()).unwrap_or(i128::MAX))
        }
        minijinja::value::ValueKind::Number => {
            Expr::Float(f64::try_from(value.clone()).unwrap_or_default())
        }
        _ => Expr::None,
    }
}
