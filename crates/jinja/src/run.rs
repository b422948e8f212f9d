//! Runs a template's statements.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use crate::budget;
use crate::calls::{self, Call};
use crate::fault::{Made, fail};
use crate::ops::{attribute, compares, item, slice, two};
use crate::probe::trace::Trace;
use crate::text::{Buf, From, TEMPLATE, Text};
use crate::tree::{ASKS, Args, Body, Expr, For, Given, MacroDef, Name, Stmt, Target, Tree};
use crate::value::{Form, Frame, Loop, Macro, Value};
use chatparse_base::limits::STEP_WORK;

enum Flow {
    Next,
    Break,
    Continue,
}

/// Where a template reads whether to open a turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// How often it did.
    pub reads: usize,
    /// The length of the prompt before the first time.
    pub at: usize,
    /// Whether its last statement did.
    pub is_last: bool,
}

/// One render.
pub struct Run<'t> {
    tree: &'t Tree,
    /// The variables that the template is given, by their numbers.
    given: Vec<Option<Value>>,
    vars: Vec<(Name, Value)>,
    scopes: Vec<usize>,
    frame: Rc<Frame>,
    callers: Vec<Rc<Frame>>,
    /// As transformers renders: macros do not see their callers' variables, text that is added to
    /// one that is marked as escaped is escaped, and what Python or its sandbox refuses fails.
    pub is_plain: bool,
    is_traced: bool,
    /// What records the accesses of a trial.
    pub trace: Trace,
    pub out: Buf,
    /// The length of the prompt where captures are open.
    captured_at: Option<usize>,
    captured: Vec<Value>,
    /// The place of the statement that failed.
    pub at: Option<usize>,
    pub now: Option<i64>,
    pub asked: Asked,
    is_last: bool,
    asks: Option<Name>,
    loop_name: Option<Name>,
    caller_name: Option<Name>,
}

impl<'t> Run<'t> {
    pub fn new(tree: &'t Tree, given: Vec<Option<Value>>, is_traced: bool) -> Run<'t> {
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
            is_plain: false,
            is_traced,
            trace: Trace::default(),
            out: Buf::with_capacity(4096),
            captured_at: None,
            captured: Vec::new(),
            at: None,
            now: None,
            asked: Asked::default(),
            is_last: false,
            asks: tree.names.get(ASKS).copied(),
            loop_name: tree.names.get("loop").copied(),
            caller_name: tree.names.get("caller").copied(),
        }
    }

    /// Writes the prompt.
    pub fn run(&mut self) -> Made<()> {
        let tree = self.tree;
        if let Some((last, before)) = tree.body.split_last() {
            self.body(before)?;
            self.is_last = true;
            self.body(std::slice::from_ref(last))?;
        }
        budget::check()
    }

    fn seen(&self, frame: &Frame, end: usize, name: Name) -> Option<&Value> {
        let (mut frame, mut end) = (frame, end);
        loop {
            let start = self
                .scopes
                .get(frame.base)
                .map_or(end, |start| end.min(*start));
            let vars = &self.vars[start..end];
            budget::note(vars.len() / 8);
            if let Some((_, value)) = vars.iter().rev().find(|(known, _)| *known == name) {
                return Some(value);
            }
            let (scopes, outer) = frame.outer.as_ref()?;
            end = self.scopes.get(*scopes).copied().unwrap_or(self.vars.len());
            frame = outer;
        }
    }

    fn lookup(&mut self, name: Name) -> Value {
        if let Some(value) = self.seen(&self.frame, self.vars.len(), name) {
            return value.clone();
        }
        if let Some(Some(value)) = self.given.get(name as usize) {
            let value = value.clone();
            if self.trace.is_on() {
                self.trace_read(name);
            }
            if Some(name) == self.asks {
                self.note_asked();
            }
            return value;
        }
        if !self.is_plain {
            for frame in self.callers.iter().rev() {
                if let Some(value) = self.seen(frame, self.vars.len(), name) {
                    return value.clone();
                }
            }
        }
        match self.tree.function(name) {
            Some(name) => Value::Function(name),
            None => Value::Undefined,
        }
    }

    #[cold]
    fn trace_read(&self, name: Name) {
        let mut names = self.tree.names.iter();
        if let Some((text, _)) = names.find(|(_, number)| **number == name) {
            self.trace.read_child(text);
        }
    }

    fn note_asked(&mut self) {
        if self.asked.reads == 0 {
            self.asked.at = self.captured_at.unwrap_or(self.out.len());
        }
        self.asked.reads += 1;
        self.asked.is_last = self.is_last;
    }

    fn set(&mut self, name: Name, value: Value) {
        let start = self.scopes.last().copied().unwrap_or_default();
        let own = &mut self.vars[start..];
        budget::note(own.len() / 8);
        match own.iter_mut().find(|(known, _)| *known == name) {
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

    /// What `run` writes, as a text.
    fn capture(&mut self, run: impl FnOnce(&mut Self) -> Made<()>) -> Made<Text> {
        let at = self.captured_at;
        self.captured_at = at.or(Some(self.out.len()));
        let before = std::mem::take(&mut self.out);
        let result = run(self);
        let captured = std::mem::replace(&mut self.out, before);
        self.captured_at = at;
        result.map(|()| captured.text())
    }

    fn body(&mut self, body: &[(u32, Stmt)]) -> Made<Flow> {
        if !budget::deeper() {
            budget::check()?;
        }
        for (at, stmt) in body {
            match self.stmt(stmt) {
                Ok(Flow::Next) => {}
                Ok(flow) => {
                    budget::shallower();
                    return Ok(flow);
                }
                Err(fault) => {
                    self.at.get_or_insert(*at as usize);
                    return Err(fault);
                }
            }
        }
        budget::shallower();
        Ok(Flow::Next)
    }

    fn plain_body(&mut self, body: &Body) -> Made<()> {
        self.body(body).map(drop)
    }

    fn stmt(&mut self, stmt: &Stmt) -> Made<Flow> {
        budget::work(STEP_WORK)?;
        match stmt {
            Stmt::Raw(text) => self.out.push_text(text),
            Stmt::Emit(expr) => self.emit(expr)?,
            Stmt::If(condition, body, otherwise) => {
                let condition = self.eval(condition)?;
                let chosen = if condition.is_true() { body } else { otherwise };
                let start = self.out.len();
                let flow = self.body(chosen)?;
                let flag = flag_of(&condition);
                if flag != TEMPLATE && spells_flag(&self.out[start..]) {
                    self.out.relabel(start, flag);
                }
                return Ok(flow);
            }
            Stmt::For(node) => {
                let all = self.eval(&node.all)?;
                self.each(node, all, 0)?;
            }
            Stmt::Set(Target::Attr(Expr::Var(name), key), Expr::Concat(parts))
                if grows(*name, key, &parts[0]) =>
            {
                self.grow(*name, key, &parts[1..], false)?;
            }
            Stmt::Set(Target::Attr(Expr::Var(name), key), Expr::Sum(terms))
                if grows(*name, key, &terms[0]) =>
            {
                self.grow(*name, key, &terms[1..], true)?;
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
            // Scopes of their own.
            Stmt::With(set, body) => {
                return self.scoped(|run| {
                    for (target, expr) in set {
                        let value = run.eval(expr)?;
                        run.assign(target, value)?;
                    }
                    run.body(body)
                });
            }
            // Macros and what they are called with.
            Stmt::Macro(def) => {
                let value = self.macro_of(def);
                self.set(def.name, value);
            }
            Stmt::CallBlock(callee, args, def) => {
                let caller = self.macro_of(def);
                let callee = self.eval(callee)?;
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
                if self.is_traced {
                    self.out.generated(start);
                }
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
        let parts = self.all(parts)?;
        let Value::Dict(dict) = self.lookup(name) else {
            fail!("only a namespace or a map can be assigned to");
        };
        let first = dict.get(key).unwrap_or(Value::Undefined);
        let is_safe = |value: &Value| value.as_text().is_some_and(Text::is_safe);
        let is_text = |value: &Value| value.as_text().is_some();
        let can_grow = is_text(&first) && !is_safe(&first) && !parts.iter().any(is_safe);
        if !can_grow || adds && self.is_plain && !parts.iter().all(is_text) {
            let mut sum = first;
            for part in parts {
                sum = match adds {
                    true => self.sum(sum, part)?,
                    false => two("~", sum, part)?,
                };
            }
            return dict.set((&**key).into(), sum);
        }
        drop(first);
        dict.change(&[], |pairs| {
            let mut names = pairs.iter_mut();
            let place = names.find(|(known, _)| known.as_str() == Some(key));
            if let Some((_, Value::Text(text))) = place {
                let mut out = std::mem::replace(text, "".into()).into_buf();
                let terms = parts.iter().filter(|part| !adds || !part.is_none());
                terms.for_each(|part| part.print(&mut out));
                *text = out.text();
            }
        })
    }

    /// `left + right`.
    fn sum(&mut self, left: Value, right: Value) -> Made<Value> {
        let texts = [&left, &right].map(Value::as_text);
        let has_text = texts.iter().any(Option::is_some);
        if !self.is_plain || !has_text {
            return two("+", left, right);
        }
        if let Some(other) = [&left, &right]
            .into_iter()
            .find(|term| term.as_text().is_none())
        {
            fail!("{} cannot be added to a string", other.kind());
        }
        if !texts.iter().flatten().any(|text| text.is_safe()) {
            return two("+", left, right);
        }
        let mut out = Buf::default();
        for text in texts.into_iter().flatten() {
            match text.is_safe() {
                true => out.push_text(text),
                false => calls::escape(&mut out, text),
            }
        }
        Ok(Value::Text(out.text().safe()))
    }

    fn filter_captured(&mut self, filter: &Expr, text: Text) -> Made<Value> {
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
            Target::Attr(holder, key) => match self.eval(holder)? {
                Value::Dict(dict) => dict.set(Value::from(&**key), value)?,
                other => {
                    let what = "only a namespace or a map can be assigned to";
                    fail!("{what}, not {}", other.kind());
                }
            },
            Target::Many(targets) => {
                let items = value.items()?;
                if items.len() != targets.len() {
                    fail!(
                        "{} values cannot be unpacked to {}",
                        items.len(),
                        targets.len()
                    );
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
            fail!("none cannot be looped over");
        }
        let mut items = all.items()?;
        if !budget::deeper() {
            budget::check()?;
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
                budget::work(STEP_WORK)?;
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
        budget::shallower();
        result
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
            given: Vec::with_capacity(args.len()),
            named: Vec::new(),
        };
        for given in args {
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

    pub fn eval(&mut self, expr: &Expr) -> Made<Value> {
        budget::work(STEP_WORK)?;
        if !budget::deeper() {
            budget::check()?;
        }
        let value = self.value(expr)?;
        budget::shallower();
        Ok(value)
    }

    fn value(&mut self, expr: &Expr) -> Made<Value> {
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
                calls::filter(self.now, name, value, call)?
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
            Expr::Sign(value, minus) => match self.eval(value)? {
                Value::Float(number, from) => {
                    Value::Float(if *minus { -number } else { number }, from)
                }
                value => {
                    let number = value
                        .int()
                        .ok_or_else(|| format!("{} has no sign", value.kind()))?;
                    Value::Int(if *minus { -number } else { number }, value.whole())
                }
            },
            Expr::Two(op, left, right) => {
                let left = self.eval(left)?;
                let right = self.eval(right)?;
                match &left {
                    Value::Text(text) if *op == "%" => calls::printf(text, &right)?,
                    _ => two(op, left, right)?,
                }
            }
            Expr::Sum(terms) => {
                let mut sum = self.eval(&terms[0])?;
                for term in &terms[1..] {
                    let term = self.eval(term)?;
                    sum = self.sum(sum, term)?;
                }
                sum
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
            Expr::List(items) => Value::list(self.data(items)?),
            Expr::Tuple(items) => Value::tuple(self.data(items)?),
            Expr::Dict(pairs) => {
                let mut all = Vec::with_capacity(pairs.len());
                for (key, value) in pairs {
                    let key = self.eval(key)?;
                    let is_open = matches!(&key, Value::List(list) if list.form == Form::List);
                    if is_open || matches!(key, Value::Dict(_)) {
                        fail!("{} cannot be a key", key.kind());
                    }
                    all.push((key, self.eval(value)?.data()?));
                }
                Value::dict(all)
            }
        })
    }

    fn data(&mut self, items: &[Expr]) -> Made<Vec<Value>> {
        items.iter().map(|item| self.eval(item)?.data()).collect()
    }

    fn all(&mut self, items: &[Expr]) -> Made<Vec<Value>> {
        items.iter().map(|item| self.eval(item)).collect()
    }

    pub fn call(&mut self, callee: &Value, call: Call) -> Made<Value> {
        match callee {
            Value::Macro(of) => self.call_macro(of, call),
            Value::Function(name) => calls::function(self.now, name, call),
            Value::Method(method) => self.method(&method.0, &method.1, call),
            Value::Loop(state) if state.node.recursive => {
                let all = call.given.into_iter().next().unwrap_or(Value::Undefined);
                let (node, depth) = (Arc::clone(&state.node), state.depth + 1);
                let text = self.capture(|run| run.each(&node, all, depth))?;
                Ok(Value::Text(text))
            }
            other => Err(format!("{} cannot be called", other.kind()).into()),
        }
    }

    fn method(&mut self, value: &Value, name: &str, call: Call) -> Made<Value> {
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
                _ => Err(format!("loop has no method {name}").into()),
            },
            Value::Function("dict") if name != "fromkeys" => {
                calls::function(self.now, "dict", call)
            }
            value => calls::method(value, name, call, self.is_plain),
        }
    }

    fn call_macro(&mut self, of: &Rc<Macro>, call: Call) -> Made<Value> {
        if !budget::deeper() {
            budget::check()?;
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
        budget::shallower();
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
            fail!("too many arguments");
        }
        if let Some(name) = names.get("kwargs") {
            let pairs = named
                .into_iter()
                .map(|(name, value)| (Value::from(&*name), value));
            self.vars.push((*name, Value::dict(pairs.collect())));
        } else if let Some((name, _)) = named.first() {
            fail!("unknown keyword argument {name:?}");
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
