//! Macros with Python's calling convention: defaults that refer to earlier arguments, and `varargs`
//! and `kwargs`.
//!
//! In llama.cpp, a macro also sees its caller's variables, and templates made for it rely on that:
//! a macro reads the variable of the loop that calls it. In Jinja, a macro sees the variables of
//! the place where it is defined; they come first here as well.

use std::collections::HashSet;
use std::fmt::{self, Display};
use std::ops::Range;
use std::sync::Arc;

use minijinja::value::{Kwargs, Object, ObjectRepr, Value};
use minijinja::{ErrorKind, State};

use super::rewrite::expr::{Rewrite, Rewriter, Stop};
use super::rewrite::token::{self, Token, tokens};
use super::texts::SourceParts;
use crate::builtins::args::Args;
use crate::fault::Result;
use crate::python::pyobject::{Dict, List};

/// The tags to insert after a macro's opening tag, and after its closing tag. The end of the last
/// tag is missing in each.
#[derive(Default)]
pub struct Around {
    pub before: String,
    pub after: String,
}

/// Rewrites the inside of `{% macro name(parameters) %}`, a tag whose inside begins at `start`.
pub fn head<'s>(tag: &mut Rewriter<'s>, extras: &Extras, start: usize) -> Rewrite<Around> {
    tag.copy();
    let Token::Name(name) = tag.copy() else {
        return Err(Stop::Syntax);
    };
    tag.expect("(")?;
    let (mut names, mut known, mut before) = (Vec::<&'s str>::new(), HashSet::new(), String::new());
    while tag.peek() != Token::Sign(")") {
        let Token::Name(parameter) = tag.copy() else {
            return Err(Stop::Syntax);
        };
        if tag.copy_if(Token::Sign("=")) {
            let start = tag.out.len();
            tag.expression()?;
            // The engine sets the last parameter first, so defaults that name another parameter are
            // set in the body.
            if words(&tag.out[start..]).any(|word| known.contains(word)) {
                let value = tag.out.split_off(start);
                tag.out.push_str("0|op.absent");
                before += &format!(
                    "%}}{{% set {parameter} = ({value}) if {parameter} is undefined else {parameter} "
                );
            }
        }
        names.push(parameter);
        known.insert(parameter);
        if !tag.copy_if(Token::Sign(",")) {
            break;
        }
    }
    let asked = extras.asked(start);
    let extra = [0, 1].map(|at| asked[at] && !known.contains(EXTRAS[at]));
    let mut comma = if tag.out.ends_with(['(', ',']) {
        ""
    } else {
        ", "
    };
    for (extra, _) in EXTRAS.iter().zip(extra).filter(|(_, asked)| *asked) {
        tag.out.extend([comma, extra, "=0"]);
        comma = ", ";
    }
    if !extras.callers.is_empty() {
        tag.out.extend([comma, CALLER, "=0"]);
    }
    tag.expect(")")?;
    let mut after = String::new();
    if extra != [false; 2] || !extras.callers.is_empty() {
        let names: String = names.iter().map(|name| format!(", \"{name}\"")).collect();
        let callers = extras.callers.join(" ");
        after = format!(
            "%}}{{% set {name} = {name}|op.catch({}, {}, \"{callers}\"{names}) ",
            extra[0], extra[1]
        );
    }
    for name in extras.callers.iter().filter(|name| !known.contains(*name)) {
        before += &format!(
            "%}}{{% if {name} is undefined %}}{{% set {name} = {CALLER}.{name} %}}{{% endif "
        );
    }
    Ok(Around { before, after })
}

/// The positions of `varargs` and `kwargs`, and of the ends of macros.
#[derive(Default)]
pub struct Extras<'s> {
    named: [Vec<usize>; 2],
    ends: Vec<usize>,
    /// The variables that macros may read of their callers.
    callers: &'s [&'s str],
}

/// The variables for additional arguments.
const EXTRAS: [&str; 2] = ["varargs", "kwargs"];

/// The parameter that holds the caller's variables.
const CALLER: &str = "op_caller";

impl<'s> Extras<'s> {
    /// `callers`: from [`callers`].
    pub fn of(source: &str, callers: &'s [&'s str]) -> Extras<'s> {
        let [varargs, kwargs] = EXTRAS;
        let [varargs, kwargs, ends] = [varargs, kwargs, "endmacro"]
            .map(|word| source.match_indices(word).map(|(at, _)| at).collect());
        Extras {
            named: [varargs, kwargs],
            ends,
            callers,
        }
    }

    /// Which of them the macro that begins at `start` uses.
    fn asked(&self, start: usize) -> [bool; 2] {
        let end = next_place(&self.ends, start).unwrap_or(start);
        let named = self.named.each_ref();
        named.map(|places| next_place(places, start).is_some_and(|at| at < end))
    }
}

fn next_place(places: &[usize], start: usize) -> Option<usize> {
    let index = places.partition_point(|at| *at < start);
    places.get(index).copied()
}

/// Variables that are set inside of loops and macros only, and that another macro reads: the
/// variables of callers. At most [`CALLERS`].
pub fn callers(source: &str) -> Vec<&str> {
    if !source.contains("endmacro") {
        return Vec::new();
    }
    let tags = SourceParts::of(source).tags;
    let scopes = Scopes::of(source, &tags);
    let mut inner: Vec<&str> = scopes.inner.iter().map(|(name, _)| *name).collect();
    chatparse_base::sort::sort(&mut inner);
    inner.dedup();
    inner.retain(|name| !scopes.outer.contains(name) && !CONTEXT.contains(name));
    inner.truncate(CANDIDATES);
    inner.retain(|name| {
        scopes.macros.iter().enumerate().any(|(index, body)| {
            let from = tags.partition_point(|tag| tag.start < body.start);
            let mut inside = tags[from..].iter().take_while(|tag| tag.start < body.end);
            !scopes.inner.contains(&(*name, Some(index)))
                && inside.any(|tag| reads_variable(&source[tag.clone()], name))
        })
    });
    inner.truncate(CALLERS);
    inner
}

/// The maximum numbers of variables that are looked for, and that are passed on.
const CANDIDATES: usize = 64;
const CALLERS: usize = 8;

/// Variables of every render.
const CONTEXT: [&str; 3] = ["messages", "tools", "loop"];

/// Where variables are set.
#[derive(Default)]
struct Scopes<'s> {
    /// Those set outside of loops and macros.
    outer: HashSet<&'s str>,
    /// Those set inside of them, and parameters, with the macro.
    inner: HashSet<(&'s str, Option<usize>)>,
    /// The bodies of macros.
    macros: Vec<Range<usize>>,
}

impl<'s> Scopes<'s> {
    fn of(source: &'s str, tags: &[Range<usize>]) -> Scopes<'s> {
        let mut scopes = Scopes::default();
        // The open macro, and the number of open loops and calls.
        let (mut inside, mut depth) = (None, 0_usize);
        for tag in tags {
            if !source[tag.start..].starts_with("{%") {
                continue;
            }
            let start = token::inside(source, tag.start);
            let mut tokens = names(source, start);
            match tokens.next() {
                Some("for") => {
                    depth += 1;
                    let targets = tokens.take_while(|name| *name != "in");
                    scopes.inner.extend(targets.map(|name| (name, inside)));
                }
                Some("call") => depth += 1,
                Some("endfor" | "endcall") => depth = depth.saturating_sub(1),
                Some("macro") => {
                    inside = Some(scopes.macros.len());
                    scopes.macros.push(start..source.len());
                    scopes.outer.extend(tokens.next());
                    let parameters = parameters(source, start);
                    scopes.inner.extend(parameters.map(|name| (name, inside)));
                }
                Some("endmacro") => {
                    if let Some(body) = inside.take() {
                        scopes.macros[body].end = tag.start;
                    }
                }
                Some("set") => {
                    let target = tokens.next();
                    match inside.is_some() || depth > 0 {
                        true => scopes.inner.extend(target.map(|name| (name, inside))),
                        false => scopes.outer.extend(target),
                    }
                }
                _ => {}
            }
        }
        scopes
    }
}

/// The names in a tag.
fn names(source: &str, from: usize) -> impl Iterator<Item = &str> {
    tokens(source, from, "%}").filter_map(|token| match token {
        Token::Name(name) => Some(name),
        _ => None,
    })
}

/// The parameters of the macro whose tag begins at `from`.
fn parameters(source: &str, from: usize) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let mut last = Token::None;
    tokens(source, from, "%}").filter_map(move |token| {
        let before = std::mem::replace(&mut last, token);
        token.count_brackets(&mut depth);
        match token {
            Token::Name(name) if depth == 1 && matches!(before, Token::Sign("(" | ",")) => {
                Some(name)
            }
            _ => None,
        }
    })
}

/// Whether a tag reads the variable `name`.
fn reads_variable(tag: &str, name: &str) -> bool {
    let end = if tag.starts_with("{{") { "}}" } else { "%}" };
    if !tag.contains(name) {
        return false;
    }
    let mut before = Token::None;
    for token in tokens(tag, token::inside(tag, 0), end) {
        if token == Token::Name(name) && before != Token::Sign(".") {
            return true;
        }
        before = token;
    }
    false
}

/// The words in an expression, including words in strings.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '_' && !c.is_alphanumeric())
}

/// A macro that accepts additional arguments.
#[derive(Debug)]
struct Catching {
    inner: Value,
    varargs: bool,
    kwargs: bool,
    /// The variables of the caller that it may read.
    callers: Vec<String>,
    names: Vec<String>,
}

/// `op.catch`: its arguments are the macro, whether it uses `varargs` and `kwargs`, the variables
/// of callers, and the macro's parameters.
pub fn catch(_: &mut State, args: &[Value]) -> Result<Value> {
    let [inner, varargs, kwargs, callers, names @ ..] = args else {
        return Err(ErrorKind::MissingArgument.into());
    };
    let callers = callers.as_str().unwrap_or_default().split_whitespace();
    let names = names.iter().filter_map(Value::as_str);
    Ok(Value::from_object(Catching {
        inner: inner.clone(),
        varargs: varargs.is_true(),
        kwargs: kwargs.is_true(),
        callers: callers.map(str::to_owned).collect(),
        names: names.map(str::to_owned).collect(),
    }))
}

impl Object for Catching {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "arguments" => {
                let names = self.names.iter().map(|name| name.as_str().into());
                List::tuple(names.collect()).ok()
            }
            "catch_varargs" => Some(self.varargs.into()),
            "catch_kwargs" => Some(self.kwargs.into()),
            key => self.inner.get_attr(key).ok(),
        }
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }

    fn call(self: &Arc<Self>, state: &mut State, args: &[Value]) -> Result<Value> {
        let given = Args::new(args)?;
        let positional = given.positional();
        let own = positional.len().min(self.names.len());
        let mut call = positional[..if self.varargs { own } else { positional.len() }].to_vec();
        let mut named: Vec<(String, Value)> = Vec::new();
        let mut others = Vec::new();
        for name in given.names() {
            let known =
                !self.kwargs || name == "caller" || self.names.iter().any(|known| known == name);
            match known {
                true => named.push((name.to_owned(), given.named(name))),
                false => others.push((name.into(), given.named(name))),
            }
        }
        if self.varargs {
            let more = List::tuple(positional[own..].to_vec())?;
            named.push(("varargs".to_owned(), more));
        }
        if self.kwargs {
            named.push(("kwargs".to_owned(), Dict::of(others)?));
        }
        if !self.callers.is_empty() {
            let callers = self.callers.iter();
            let seen = callers.filter_map(|name| Some((name.as_str(), state.lookup(name)?)));
            named.push((CALLER.to_owned(), Value::from_pairs(seen)));
        }
        call.push(named.into_iter().collect::<Kwargs>().into());
        self.inner.call(state, &call)
    }
}
