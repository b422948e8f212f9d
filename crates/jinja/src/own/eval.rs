//! Runs a tree.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::calls;
use super::parse::{Args, Body, Expr, For, Given, MacroDef, Name, Stmt, Target, Tree};
use super::text::{Buf, From, TEMPLATE, Text};
use super::value::{Form, List, Made, Value, order};
use crate::budget::Meter;
use crate::python::numbers::from_end;
use crate::python::pystr::byte_of;
use chatparse_base::limits::RENDER_WORK;

/// The part of the stack of variables that code sees.
pub struct Frame {
    /// The first scope of its own.
    base: usize,
    /// Where it was defined: so many scopes of that frame are seen, too.
    outer: Option<(usize, Rc<Frame>)>,
}

pub struct Macro {
    def: Arc<MacroDef>,
    scopes: usize,
    frame: Rc<Frame>,
}

pub struct Loop {
    items: Vec<Value>,
    index: Cell<usize>,
    depth: usize,
    changed: RefCell<Option<Vec<Value>>>,
    node: Arc<For>,
}

/// Arguments of a call.
#[derive(Default)]
pub struct Call {
    pub given: Vec<Value>,
    pub named: Vec<(Arc<str>, Value)>,
}

enum Flow {
    Next,
    Break,
    Continue,
}

pub struct Run<'t> {
    tree: &'t Tree,
    /// The variables that the template is given, by their numbers.
    pub given: Vec<Option<Value>>,
    vars: Vec<(Name, Value)>,
    scopes: Vec<usize>,
    frame: Rc<Frame>,
    callers: Vec<Rc<Frame>>,
    pub sees_callers: bool,
    /// Text that is added to one that is marked as escaped is escaped.
    pub escapes: bool,
    pub out: Buf,
    captured: Vec<Value>,
    steps: u64,
    pub meter: Meter,
    /// The line of the statement that failed.
    pub line: u32,
    pub now: Option<i64>,
    loop_name: Option<Name>,
    caller_name: Option<Name>,
    depth: usize,
}

const STEPS: u64 = 50_000_000;
const DEPTH: usize = 60;

impl<'t> Run<'t> {
    pub fn new(tree: &'t Tree, given: Vec<Option<Value>>) -> Run<'t> {
        Run {
            tree,
            given,
            vars: Vec::with_capacity(64),
            scopes: vec![0],
            frame: Rc::new(Frame {
                base: 0,
                outer: None,
            }),
            callers: Vec::new(),
            sees_callers: false,
            escapes: false,
            out: Buf::with_capacity(4096),
            captured: Vec::new(),
            steps: 0,
            meter: Meter::start(RENDER_WORK),
            line: 0,
            now: None,
            loop_name: tree.names.get("loop").copied(),
            caller_name: tree.names.get("caller").copied(),
            depth: 0,
        }
    }

    pub fn run(&mut self) -> Made<()> {
        let tree = self.tree;
        self.body(&tree.body).map(drop)
    }

    fn seen(&self, frame: &Frame, end: usize, name: Name) -> Option<Value> {
        let start = self.scopes.get(frame.base).copied().unwrap_or(end).min(end);
        let vars = self.vars[start..end].iter().rev();
        let mut found = vars.filter(|(known, _)| *known == name);
        if let Some((_, value)) = found.next() {
            return Some(value.clone());
        }
        let (scopes, outer) = frame.outer.as_ref()?;
        let end = self.scopes.get(*scopes).copied();
        self.seen(outer, end.unwrap_or(self.vars.len()), name)
    }

    fn lookup(&self, name: Name) -> Value {
        if let Some(value) = self.seen(&self.frame, self.vars.len(), name) {
            return value;
        }
        if let Some(Some(value)) = self.given.get(name as usize) {
            return value.clone();
        }
        if self.sees_callers {
            for frame in self.callers.iter().rev() {
                if let Some(value) = self.seen(frame, self.vars.len(), name) {
                    return value;
                }
            }
        }
        let text = self.tree.names.iter().find(|(_, number)| **number == name);
        let functions = calls::FUNCTIONS.iter();
        let mut found =
            functions.filter(|function| text.is_some_and(|(text, _)| text == *function));
        found
            .next()
            .map_or(Value::Undefined, |name| Value::Function(name))
    }

    fn set(&mut self, name: Name, value: Value) {
        let start = self.scopes.last().copied().unwrap_or_default();
        let mut own = self.vars[start..].iter_mut();
        match own.find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.vars.push((name, value)),
        }
    }

    fn scoped<T>(&mut self, run: impl FnOnce(&mut Self) -> Made<T>) -> Made<T> {
        self.scopes.push(self.vars.len());
        let result = run(self);
        let start = self.scopes.pop().unwrap_or_default();
        self.vars.truncate(start);
        result
    }

    fn capture(&mut self, run: impl FnOnce(&mut Self) -> Made<()>) -> Made<Text> {
        let before = std::mem::take(&mut self.out);
        let result = run(self);
        let captured = std::mem::replace(&mut self.out, before);
        result.map(|()| captured.text())
    }

    fn body(&mut self, body: &Body) -> Made<Flow> {
        for (line, stmt) in body {
            match self.stmt(stmt) {
                Ok(Flow::Next) => {}
                Ok(flow) => return Ok(flow),
                Err(error) => {
                    if self.line == 0 {
                        self.line = *line;
                    }
                    return Err(error);
                }
            }
        }
        Ok(Flow::Next)
    }

    fn plain_body(&mut self, body: &Body) -> Made<()> {
        self.body(body).map(drop)
    }

    fn stmt(&mut self, stmt: &Stmt) -> Made<Flow> {
        self.step()?;
        match stmt {
            Stmt::Raw(text) => self.out.push_text(text),
            Stmt::Emit(expr) => self.emit(expr)?,
            Stmt::If(branches, otherwise) => {
                let (mut chosen, mut flag) = (otherwise, TEMPLATE);
                for (condition, body) in branches {
                    let condition = self.eval(condition)?;
                    if let Value::Bool(_, from @ 1..) = condition {
                        flag = from;
                    }
                    if condition.is_true() {
                        chosen = body;
                        break;
                    }
                }
                let start = self.out.len();
                let flow = self.body(chosen)?;
                if flag != TEMPLATE && spells_flag(&self.out[start..]) {
                    self.out.relabel(start, flag);
                }
                return Ok(flow);
            }
            Stmt::For(node) => {
                let all = self.eval(&node.all)?;
                self.each(node, all, 0)?;
            }
            Stmt::Set(Target::Attr(name, key), Expr::Concat(parts))
                if grows(*name, key, &parts[0]) =>
            {
                self.grow(*name, key, &parts[1..], false)?;
            }
            Stmt::Set(Target::Attr(name, key), Expr::Two("+", first, more))
                if grows(*name, key, first) =>
            {
                self.grow(*name, key, std::slice::from_ref(more), true)?;
            }
            Stmt::Set(target, expr) => {
                let value = self.eval(expr)?;
                self.assign(target, value)?;
            }
            Stmt::Capture(target, filter, body) => {
                let text = self.capture(|run| run.scoped(|run| run.plain_body(body)))?;
                let value = self.filter_captured(filter, text)?;
                self.assign(target, value)?;
            }
            Stmt::With(set, body) => {
                return self.scoped(|run| {
                    for (target, expr) in set {
                        let value = run.eval(expr)?;
                        run.assign(target, value)?;
                    }
                    run.body(body)
                });
            }
            Stmt::Macro(def) => {
                let value = self.macro_of(def);
                self.set(def.name, value);
            }
            Stmt::CallBlock(expr, def) => {
                let caller = self.macro_of(def);
                let (callee, args) = match expr {
                    Expr::Call(callee, args) => (self.eval(callee)?, args),
                    _ => return Err("a call block needs a call".to_owned()),
                };
                let mut call = self.args(args)?;
                call.named.push(("caller".into(), caller));
                let value = self.call(&callee, call)?;
                value.print(&mut self.out);
            }
            Stmt::Filter(filter, body) => {
                let text = self.capture(|run| run.scoped(|run| run.plain_body(body)))?;
                let value = self.filter_captured(filter, text)?;
                value.print(&mut self.out);
            }
            Stmt::Generation(body) => {
                let start = self.out.len();
                let flow = self.scoped(|run| run.body(body))?;
                self.out.generated(start);
                return Ok(flow);
            }
            Stmt::Block(body) => return self.scoped(|run| run.body(body)),
            Stmt::Do(expr) => drop(self.eval(expr)?),
            Stmt::Break => return Ok(Flow::Break),
            Stmt::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    /// `set a.b = a.b ~ c`: costs only what it adds.
    fn grow(&mut self, name: Name, key: &Arc<str>, parts: &[Expr], adds: bool) -> Made<()> {
        let Value::Dict(dict) = self.lookup(name) else {
            return Err("only a namespace or a map can be assigned to".to_owned());
        };
        let parts = self.all(parts)?;
        let first = dict.get(key).unwrap_or(Value::Undefined);
        if first.as_text().is_none() {
            let mut sum = first;
            for part in parts {
                sum = match adds {
                    true => two("+", sum, part)?,
                    false => two("+", Value::Text(sum.text()), Value::Text(part.text()))?,
                };
            }
            dict.set((&**key).into(), sum);
            return Ok(());
        }
        drop(first);
        let mut pairs = dict.pairs.borrow_mut();
        let place = pairs
            .iter_mut()
            .find(|(known, _)| known.as_str() == Some(key));
        if let Some((_, Value::Text(text))) = place {
            let mut out = std::mem::replace(text, "".into()).into_buf();
            parts
                .iter()
                .filter(|part| !adds || !part.is_none())
                .for_each(|part| part.print(&mut out));
            *text = out.text();
        }
        Ok(())
    }

    fn filter_captured(&mut self, filter: &Expr, text: Text) -> Made {
        self.captured.push(Value::Text(text));
        let value = self.eval(filter);
        self.captured.pop();
        value
    }

    fn macro_of(&self, def: &Arc<MacroDef>) -> Value {
        Value::Macro(Rc::new(Macro {
            def: Arc::clone(def),
            scopes: self.scopes.len(),
            frame: Rc::clone(&self.frame),
        }))
    }

    fn assign(&mut self, target: &Target, value: Value) -> Made<()> {
        match target {
            Target::Var(name) => self.set(*name, value),
            Target::Attr(name, key) => match self.lookup(*name) {
                Value::Dict(dict) => dict.set(Value::from(&**key), value),
                other => {
                    let what = "only a namespace or a map can be assigned to";
                    return Err(format!("{what}, not {}", other.kind()));
                }
            },
            Target::Many(targets) => {
                let items = value.items()?;
                if items.len() != targets.len() {
                    return Err("the number of values to unpack is another".to_owned());
                }
                for (target, item) in targets.iter().zip(items) {
                    self.assign(target, item)?;
                }
            }
        }
        Ok(())
    }

    fn each(&mut self, node: &Arc<For>, all: Value, depth: usize) -> Made<()> {
        if all.is_none() {
            return Err("none cannot be looped over".to_owned());
        }
        let mut items = all.items()?;
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("recursion limit".to_owned());
        }
        let result = self.scoped(|run| {
            if let Some(only) = &node.only {
                let mut kept = Vec::new();
                for item in items {
                    run.assign(&node.target, item.clone())?;
                    if run.eval(only)?.is_true() {
                        kept.push(item);
                    }
                }
                items = kept;
                let start = run.scopes.last().copied().unwrap_or_default();
                run.vars.truncate(start);
            }
            if items.is_empty() {
                return run.plain_body(&node.otherwise);
            }
            let state = run.loop_name.map(|name| {
                let state = Rc::new(Loop {
                    items: items.clone(),
                    index: Cell::new(0),
                    depth,
                    changed: RefCell::new(None),
                    node: Arc::clone(node),
                });
                run.set(name, Value::Loop(Rc::clone(&state)));
                state
            });
            let kept = run.vars.len().min(
                run.scopes
                    .last()
                    .map_or(0, |start| start + usize::from(state.is_some())),
            );
            for (index, item) in items.into_iter().enumerate() {
                // Each round begins without the variables of the one before.
                run.vars.truncate(kept);
                run.step()?;
                if let Some(state) = &state {
                    state.index.set(index);
                }
                run.assign(&node.target, item)?;
                match run.body(&node.body)? {
                    Flow::Break => break,
                    Flow::Next | Flow::Continue => {}
                }
            }
            Ok(())
        });
        self.depth -= 1;
        result
    }

    fn step(&mut self) -> Made<()> {
        self.steps += 1;
        if self.steps > STEPS {
            return Err("the render takes too many steps".to_owned());
        }
        if self.steps.is_multiple_of(16) {
            self.meter.check().map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Writes what an expression gives, its parts without making one text of them.
    fn emit(&mut self, expr: &Expr) -> Made<()> {
        match expr {
            Expr::Text(text) => self.out.push_text(text),
            Expr::Concat(parts) => {
                // A part may fail after another one was written: the render is lost then.
                for part in parts {
                    self.emit(part)?;
                }
            }
            expr => {
                let value = self.eval(expr)?;
                value.print(&mut self.out);
            }
        }
        Ok(())
    }

    pub fn args(&mut self, args: &Args) -> Made<Call> {
        let mut call = Call {
            given: Vec::with_capacity(args.given.len()),
            named: Vec::new(),
        };
        for given in &args.given {
            match given {
                Given::One(expr) => call.given.push(self.eval(expr)?),
                Given::Named(name, expr) => {
                    let value = self.eval(expr)?;
                    call.named.push((Arc::clone(name), value));
                }
                Given::All(expr) => call.given.extend(self.eval(expr)?.items()?),
                Given::AllNamed(expr) => {
                    for (name, value) in self.eval(expr)?.pairs()? {
                        call.named
                            .push((name.as_str().unwrap_or_default().into(), value));
                    }
                }
            }
        }
        Ok(call)
    }

    pub fn eval(&mut self, expr: &Expr) -> Made {
        self.step()?;
        Ok(match expr {
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::Int(value) => Value::Int(*value, TEMPLATE),
            Expr::Float(value) => Value::Float(*value, TEMPLATE),
            Expr::Bool(value) => Value::from(*value),
            Expr::None => Value::None(TEMPLATE),
            Expr::Var(name) => self.lookup(*name),
            Expr::Captured => self.captured.last().cloned().unwrap_or(Value::Undefined),
            Expr::Attr(value, name) => attribute(&self.eval(value)?, name),
            Expr::Item(value, index) => {
                let (value, index) = (self.eval(value)?, self.eval(index)?);
                item(&value, &index)
            }
            Expr::Slice(value, bounds) => {
                let value = self.eval(value)?;
                let mut numbers = [None; 3];
                for (number, bound) in numbers.iter_mut().zip(bounds) {
                    if let Some(bound) = bound {
                        *number = self.eval(bound)?.int().map(|at| at as i64);
                    }
                }
                slice(&value, numbers)?
            }
            Expr::Call(callee, args) => {
                let callee = self.eval(callee)?;
                let call = self.args(args)?;
                self.call(&callee, call)?
            }
            Expr::Method(value, name, args) => {
                let value = self.eval(value)?;
                let call = self.args(args)?;
                self.method(&value, name, call)?
            }
            Expr::Filter(value, name, args) => {
                let value = self.eval(value)?;
                let call = self.args(args)?;
                calls::filter(self, name, value, call)?
            }
            Expr::Test(value, name, args) => {
                let value = self.eval(value)?;
                let call = self.args(args)?;
                let holds = calls::test(name, &value, call.given.first())?;
                Value::Bool(holds, flag_of(&value))
            }
            Expr::Not(value) => {
                let value = self.eval(value)?;
                Value::Bool(!value.is_true(), flag_of(&value))
            }
            Expr::Sign(value, negative) => match (self.eval(value)?, negative) {
                (Value::Float(number, from), true) => Value::Float(-number, from),
                (Value::Float(number, from), false) => Value::Float(number, from),
                (value, negative) => {
                    let number = value
                        .int()
                        .ok_or_else(|| format!("{} has no sign", value.kind()))?;
                    Value::Int(if *negative { -number } else { number }, value.whole())
                }
            },
            Expr::Two(op, left, right) => {
                let left = self.eval(left)?;
                let right = self.eval(right)?;
                let safe = |value: &Value| value.as_text().is_some_and(Text::is_safe);
                if self.escapes && *op == "+" && (safe(&left) || safe(&right)) {
                    let mut out = Buf::default();
                    for term in [&left, &right] {
                        match safe(term) {
                            true => term.print(&mut out),
                            false => calls::escape(&mut out, &term.text()),
                        }
                    }
                    return Ok(Value::Text(out.text().safe()));
                }
                two(op, left, right)?
            }
            Expr::Concat(parts) => {
                let mut out = Buf::default();
                for part in parts {
                    self.eval(part)?.print(&mut out);
                }
                Value::Text(out.text())
            }
            Expr::Compare(first, rest) => {
                let mut left = self.eval(first)?;
                let from = flag_of(&left);
                for (op, right) in rest {
                    let right = self.eval(right)?;
                    if !compares(op, &left, &right)? {
                        return Ok(Value::Bool(false, from));
                    }
                    left = right;
                }
                Value::Bool(true, from)
            }
            Expr::And(left, right) => match self.eval(left)? {
                left if left.is_true() => self.eval(right)?,
                left => left,
            },
            Expr::Or(left, right) => match self.eval(left)? {
                left if left.is_true() => left,
                _ => self.eval(right)?,
            },
            Expr::If(condition, value, otherwise) => {
                let condition = self.eval(condition)?;
                let value = match (condition.is_true(), otherwise) {
                    (true, _) => self.eval(value)?,
                    (false, Some(otherwise)) => self.eval(otherwise)?,
                    (false, None) => return Ok(Value::Undefined),
                };
                // `"true" if flag else "false"` spells out the flag.
                match (&condition, &value) {
                    (Value::Bool(_, from @ 1..), Value::Text(text)) if spells_flag(text) => {
                        Value::Text(Text::of(text, *from))
                    }
                    _ => value,
                }
            }
            Expr::List(items) => Value::list(self.all(items)?),
            Expr::Tuple(items) => Value::tuple(self.all(items)?),
            Expr::Dict(pairs) => {
                let mut all = Vec::with_capacity(pairs.len());
                for (key, value) in pairs {
                    let key = self.eval(key)?;
                    let is_open = matches!(&key, Value::List(list) if list.form == Form::List);
                    if is_open || matches!(key, Value::Dict(_)) {
                        return Err(format!("{} cannot be a key", key.kind()));
                    }
                    all.push((key, self.eval(value)?));
                }
                Value::dict(all, false)
            }
        })
    }

    fn all(&mut self, items: &[Expr]) -> Made<Vec<Value>> {
        items.iter().map(|item| self.eval(item)).collect()
    }

    pub fn call(&mut self, callee: &Value, call: Call) -> Made {
        match callee {
            Value::Macro(of) => self.call_macro(of, call),
            Value::Function(name) => calls::function(self, name, call),
            Value::Method(method) => self.method(&method.0, &method.1, call),
            Value::Loop(state) if state.node.recursive => {
                let all = call.given.into_iter().next().unwrap_or(Value::Undefined);
                let (node, depth) = (Arc::clone(&state.node), state.depth + 1);
                let text = self.capture(|run| run.each(&node, all, depth))?;
                Ok(Value::Text(text))
            }
            other => Err(format!("{} cannot be called", other.kind())),
        }
    }

    fn method(&mut self, value: &Value, name: &str, call: Call) -> Made {
        match value {
            Value::Loop(state) => match name {
                "cycle" => {
                    let count = call.given.len().max(1);
                    let item = call.given.get(state.index.get() % count);
                    Ok(item.cloned().unwrap_or(Value::Undefined))
                }
                "changed" => {
                    let mut last = state.changed.borrow_mut();
                    let is_new = last.as_ref() != Some(&call.given);
                    *last = Some(call.given);
                    Ok(is_new.into())
                }
                _ => Err(format!("loop has no method {name}")),
            },
            Value::Function("dict") if name != "fromkeys" => calls::function(self, "dict", call),
            value => calls::method(value, name, call),
        }
    }

    fn call_macro(&mut self, of: &Rc<Macro>, call: Call) -> Made {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("recursion limit".to_owned());
        }
        let frame = Rc::new(Frame {
            base: self.scopes.len(),
            outer: Some((of.scopes, Rc::clone(&of.frame))),
        });
        let before = std::mem::replace(&mut self.frame, frame);
        self.callers.push(before);
        let text = self.capture(|run| {
            run.scoped(|run| {
                run.bind(&of.def, call)?;
                run.plain_body(&of.def.body)
            })
        });
        if let Some(before) = self.callers.pop() {
            self.frame = before;
        }
        self.depth -= 1;
        Ok(Value::Text(text?))
    }

    fn bind(&mut self, def: &MacroDef, call: Call) -> Made<()> {
        let mut given = call.given.into_iter();
        let mut named = call.named;
        for (name, text, default) in &def.params {
            let by_name = named.iter().position(|(known, _)| known == text);
            let value = match (given.next(), by_name) {
                (Some(value), _) => value,
                (None, Some(at)) => named.remove(at).1,
                (None, None) => match default {
                    Some(default) => self.eval(default)?,
                    None => Value::Undefined,
                },
            };
            self.vars.push((*name, value));
        }
        if let Some(at) = named.iter().position(|(name, _)| &**name == "caller") {
            let (_, value) = named.remove(at);
            if let Some(name) = self.caller_name {
                self.vars.push((name, value));
            }
        }
        let names = &self.tree.names;
        if let Some(name) = names.get("varargs") {
            self.vars
                .push((*name, Value::tuple(given.by_ref().collect())));
        } else if given.next().is_some() {
            return Err("too many arguments".to_owned());
        }
        if let Some(name) = names.get("kwargs") {
            let pairs = named
                .into_iter()
                .map(|(name, value)| (Value::from(&*name), value));
            self.vars.push((*name, Value::dict(pairs.collect(), false)));
        } else if let Some((name, _)) = named.first() {
            return Err(format!("unknown keyword argument {name:?}"));
        }
        Ok(())
    }
}

/// The origin of a flag: what a template says of it may spell it out.
fn flag_of(value: &Value) -> From {
    match value {
        Value::Bool(_, from) => *from,
        _ => TEMPLATE,
    }
}

fn spells_flag(text: &str) -> bool {
    ["true", "false"]
        .iter()
        .any(|word| text.trim().eq_ignore_ascii_case(word))
}

/// Whether an expression is `name.key`.
fn grows(name: Name, key: &Arc<str>, first: &Expr) -> bool {
    matches!(first, Expr::Attr(value, known) if known == key && matches!(**value, Expr::Var(of) if of == name))
}

/// `value.name`.
pub fn attribute(value: &Value, name: &str) -> Value {
    match value {
        Value::Dict(dict) if dict.is_namespace => dict.get(name).unwrap_or(Value::Undefined),
        Value::Dict(dict) => match calls::OF_MAPS.contains(&name) {
            true => Value::Method(Rc::new((value.clone(), name.into()))),
            false => dict.get(name).unwrap_or(Value::Undefined),
        },
        Value::Text(_) if calls::OF_TEXTS.contains(&name) => {
            Value::Method(Rc::new((value.clone(), name.into())))
        }
        Value::List(list) if list.form == Form::Group => match name {
            "grouper" => list.items.borrow()[0].clone(),
            "list" => list.items.borrow()[1].clone(),
            _ => Value::Undefined,
        },
        Value::List(_) if calls::OF_LISTS.contains(&name) => {
            Value::Method(Rc::new((value.clone(), name.into())))
        }
        Value::Loop(state) => {
            let (index, len) = (state.index.get(), state.items.len());
            let neighbour = |at: Option<usize>| {
                at.and_then(|at| state.items.get(at).cloned())
                    .unwrap_or(Value::Undefined)
            };
            match name {
                "index" => (index + 1).into(),
                "index0" => index.into(),
                "revindex" => (len - index).into(),
                "revindex0" => (len - index - 1).into(),
                "first" => (index == 0).into(),
                "last" => (index + 1 == len).into(),
                "length" => len.into(),
                "depth" => (state.depth + 1).into(),
                "depth0" => state.depth.into(),
                "previtem" => neighbour(index.checked_sub(1)),
                "nextitem" => neighbour(Some(index + 1)),
                _ => Value::Undefined,
            }
        }
        _ => Value::Undefined,
    }
}

/// `value[index]`.
pub fn item(value: &Value, index: &Value) -> Value {
    let found = match (value, index) {
        (Value::Dict(dict), index) => dict.get_value(index),
        (Value::List(list), Value::Text(name)) if list.form == Form::Group => {
            Some(attribute(value, name))
        }
        (Value::List(list), index) => index.int().and_then(|at| {
            let items = list.items.borrow();
            let at = from_end(at as i64, items.len());
            items.get(usize::try_from(at).ok()?).cloned()
        }),
        (Value::Text(text), index) => index.int().and_then(|at| {
            let at = if at < 0 {
                from_end(at as i64, text.chars().count())
            } else {
                at as i64
            };
            let (start, c) = text.char_indices().nth(usize::try_from(at).ok()?)?;
            Some(Value::Text(text.part(start..start + c.len_utf8())))
        }),
        (Value::Loop(_), index) => index.as_str().map(|name| attribute(value, name)),
        _ => None,
    };
    found.unwrap_or(Value::Undefined)
}

fn slice(value: &Value, [start, stop, step]: [Option<i64>; 3]) -> Made {
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err("slice step cannot be zero".to_owned());
    }
    let places = |len: usize| {
        let end = len as i64;
        let (low, high) = if step > 0 { (0, end) } else { (-1, end - 1) };
        let [start, stop] =
            [start, stop].map(|bound| bound.map(|at| from_end(at, len).clamp(low, high)));
        let (first, last) = if step > 0 { (low, high) } else { (high, low) };
        let (mut next, stop) = (start.or(Some(first)), stop.unwrap_or(last));
        std::iter::from_fn(move || {
            let at = next.filter(|&at| if step > 0 { at < stop } else { at > stop })?;
            next = at.checked_add(step);
            usize::try_from(at).ok()
        })
    };
    Ok(match value {
        Value::Text(text) => {
            let count = text.chars().count();
            let mut all = places(count);
            if step != 1 {
                let starts: Vec<(usize, char)> = text.char_indices().collect();
                let mut out = Buf::default();
                for index in all {
                    let (at, c) = starts[index];
                    out.push_part(text, at..at + c.len_utf8());
                }
                return Ok(Value::Text(out.text()));
            }
            let Some(first) = all.next() else {
                return Ok("".into());
            };
            let start = byte_of(text, first);
            let end = start + byte_of(&text[start..], 1 + all.count());
            Value::Text(text.part(start..end))
        }
        Value::List(list) => {
            let items = list.items.borrow();
            let part = places(items.len())
                .map(|index| items[index].clone())
                .collect();
            match list.form {
                Form::List | Form::Range(..) => Value::list(part),
                _ => Value::tuple(part),
            }
        }
        Value::Undefined => Value::list(Vec::new()),
        Value::None(_) | Value::Bool(..) | Value::Int(..) | Value::Float(..) => Value::Undefined,
        other => return Err(format!("{} cannot be sliced", other.kind())),
    })
}

pub fn two(op: &str, left: Value, right: Value) -> Made {
    let impossible = || format!("{} {op} {} is not possible", left.kind(), right.kind());
    match (op, &left, &right) {
        ("+", Value::Text(_), _) | ("+", _, Value::Text(_)) => {
            let mut out = Buf::default();
            for term in [&left, &right] {
                if !term.is_none() {
                    term.print(&mut out);
                }
            }
            return Ok(Value::Text(out.text()));
        }
        ("+", Value::List(a), Value::List(b)) => {
            let mut all = a.items.borrow().clone();
            all.extend(b.items.borrow().iter().cloned());
            return Ok(match (a.form, b.form) {
                (Form::Tuple, Form::Tuple) => Value::tuple(all),
                _ => Value::list(all),
            });
        }
        ("%", Value::Text(text), _) => return calls::printf(text, &right),
        ("*", Value::Text(_) | Value::List(_), _) | ("*", _, Value::Text(_) | Value::List(_)) => {
            let (thing, times) = match left.int() {
                Some(times) => (&right, Some(times)),
                None => (&left, right.int()),
            };
            let times = times.ok_or_else(impossible)?.max(0) as usize;
            return Ok(match thing {
                Value::List(list) => {
                    let once = list.items.borrow();
                    let all = once
                        .iter()
                        .cycle()
                        .take(once.len() * times)
                        .cloned()
                        .collect();
                    match list.form {
                        Form::Tuple | Form::Group => Value::tuple(all),
                        _ => Value::list(all),
                    }
                }
                thing => {
                    let (once, mut out) = (thing.text(), Buf::default());
                    (0..times).for_each(|_| out.push_text(&once));
                    Value::Text(out.text())
                }
            });
        }
        _ => {}
    }
    let is_whole = op != "/" && !(op == "**" && right.int().is_some_and(|right| right < 0));
    if let (true, Some(a), Some(b)) = (is_whole, left.int(), right.int()) {
        let number = match op {
            "+" => a.checked_add(b),
            "-" => a.checked_sub(b),
            "*" => a.checked_mul(b),
            _ if b == 0 && op != "**" => return Err("division by zero".to_owned()),
            "//" => Some(a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)),
            "%" => Some(((a % b) + b) % b),
            _ => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        };
        return match number {
            Some(number) => Ok(Value::Int(number, TEMPLATE)),
            None => Err("a number of more than 128 bits".to_owned()),
        };
    }
    let (Some(a), Some(b)) = (left.real(), right.real()) else {
        return Err(impossible());
    };
    Ok(Value::Float(
        match op {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            "**" if a != 0.0 || b >= 0.0 => a.powf(b),
            _ if b == 0.0 || op == "**" => return Err("division by zero".to_owned()),
            "/" => a / b,
            "//" => (a / b).floor(),
            _ => match a % b {
                0.0 => 0_f64.copysign(b),
                rest if (rest < 0.0) != (b < 0.0) => rest + b,
                rest => rest,
            },
        },
        TEMPLATE,
    ))
}

pub fn compares(op: &str, left: &Value, right: &Value) -> Made<bool> {
    Ok(match op {
        "==" => left == right,
        "!=" => left != right,
        "in" => is_in(right, left)?,
        "not in" => !is_in(right, left)?,
        _ => {
            let order = order(left, right);
            match op {
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            }
        }
    })
}

pub fn is_in(whole: &Value, part: &Value) -> Made<bool> {
    Ok(match (whole, part) {
        (Value::Text(whole), Value::Text(part)) => whole.contains(&**part),
        (Value::Text(_), part) if part.is_undefined() => false,
        (Value::Text(_), part) => {
            let kind = part.kind();
            return Err(format!(
                "'in' needs a string on the left of a string, not {kind}"
            ));
        }
        (Value::Dict(dict), part) => dict.get_value(part).is_some(),
        (Value::List(list), part) => {
            let List { items, .. } = &**list;
            items.borrow().iter().any(|item| item == part)
        }
        (Value::Undefined, _) => false,
        (whole, _) => return Err(format!("nothing can be in {}", whole.kind())),
    })
}
