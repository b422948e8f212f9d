//! Macros with Python's calling convention: defaults that refer to earlier arguments, and `varargs` and `kwargs`.

use std::collections::HashSet;
use std::sync::Arc;

use minijinja::value::{Kwargs, Object, ObjectRepr, Value};
use minijinja::{Error, State};

use super::args::Args;
use super::pyobject::{Dict, List};
use super::rewrite::expr::{Rewriter, Stop};
use super::rewrite::token::Token;

/// The tags to insert behind a macro's opening tag, and behind its closing one. The end of the last tag is missing in each.
#[derive(Default)]
pub(super) struct Around {
    pub(super) before: String,
    pub(super) after: String,
}

/// Rewrites the inside of `{% macro name(parameters) %}`, a tag whose inside begins at `start`.
pub(super) fn head<'s>(tag: &mut Rewriter<'s>, extras: &Extras, start: usize) -> Result<Around, Stop> {
    tag.copy();
    let Token::Name(name) = tag.copy() else { return Err(Stop::Syntax) };
    if tag.copy() != Token::Sign("(") {
        return Err(Stop::Syntax);
    }
    let (mut names, mut known, mut before) = (Vec::<&'s str>::new(), HashSet::new(), String::new());
    while tag.peek() != Token::Sign(")") {
        let Token::Name(parameter) = tag.copy() else { return Err(Stop::Syntax) };
        if tag.peek() == Token::Sign("=") {
            tag.copy();
            let start = tag.out.len();
            tag.expression()?;
            // The engine sets the last parameter first, so defaults that name another parameter are set in the body.
            if words(&tag.out[start..]).any(|word| known.contains(word)) {
                let value = tag.out.split_off(start);
                tag.out.push_str("0|op.absent");
                before += &format!("%}}{{% set {parameter} = ({value}) if {parameter} is undefined else {parameter} ");
            }
        }
        names.push(parameter);
        known.insert(parameter);
        if tag.peek() != Token::Sign(",") {
            break;
        }
        tag.copy();
    }
    let asked = extras.asked(start);
    let extra = [0, 1].map(|at| asked[at] && !known.contains(EXTRAS[at]));
    let mut comma = if tag.out.ends_with(['(', ',']) { "" } else { ", " };
    for (extra, _) in EXTRAS.iter().zip(extra).filter(|(_, asked)| *asked) {
        tag.out.extend([comma, extra, "=0"]);
        comma = ", ";
    }
    if tag.copy() != Token::Sign(")") {
        return Err(Stop::Syntax);
    }
    let mut after = String::new();
    if extra != [false; 2] {
        let names: String = names.iter().map(|name| format!(", \"{name}\"")).collect();
        after = format!("%}}{{% set {name} = {name}|op.catch({}, {}{names}) ", extra[0], extra[1]);
    }
    Ok(Around { before, after })
}

/// The positions of `varargs` and `kwargs`, and of the ends of macros.
pub(super) struct Extras {
    named: [Vec<usize>; 2],
    ends: Vec<usize>,
}

/// The variables for additional arguments.
const EXTRAS: [&str; 2] = ["varargs", "kwargs"];

impl Extras {
    pub(super) fn of(source: &str) -> Extras {
        let places = |word: &str| source.match_indices(word).map(|(at, _)| at).collect();
        Extras { named: EXTRAS.map(places), ends: places("endmacro") }
    }

    /// Which of them the macro that begins at `start` uses.
    fn asked(&self, start: usize) -> [bool; 2] {
        let behind = |places: &[usize]| places.get(places.partition_point(|at| *at < start)).copied();
        let end = behind(&self.ends).unwrap_or(start);
        self.named.each_ref().map(|places| behind(places).is_some_and(|at| at < end))
    }
}

/// The words in an expression, including those in strings.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '_' && !c.is_alphanumeric())
}

/// A macro that accepts additional arguments.
#[derive(Debug)]
struct Catching {
    inner: Value,
    varargs: bool,
    kwargs: bool,
    names: Vec<String>,
}

/// `op.catch`: its arguments are the macro, whether it uses `varargs` and `kwargs`, and the macro's parameters.
pub(super) fn catch(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let flag = |at: usize| args.get(at).is_some_and(Value::is_true);
    let names = args.iter().skip(3).filter_map(|name| name.as_str().map(str::to_owned)).collect();
    let inner = args.first().cloned().unwrap_or_default();
    Ok(Value::from_object(Catching { inner, varargs: flag(1), kwargs: flag(2), names }))
}

impl Object for Catching {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "arguments" => List::tuple(self.names.iter().map(|name| Value::from(name.as_str())).collect()).ok(),
            "catch_varargs" => Some(Value::from(self.varargs)),
            "catch_kwargs" => Some(Value::from(self.kwargs)),
            key => self.inner.get_attr(key).ok(),
        }
    }

    fn call(self: &Arc<Self>, state: &mut State, args: &[Value]) -> Result<Value, Error> {
        let given = Args::new(args)?;
        let positional = given.positional();
        let own = positional.len().min(self.names.len());
        let mut call = positional[..if self.varargs { own } else { positional.len() }].to_vec();
        let mut named: Vec<(String, Value)> = Vec::new();
        let mut others = Vec::new();
        for name in given.names() {
            let known = !self.kwargs || name == "caller" || self.names.iter().any(|known| known == name);
            match known {
                true => named.push((name.to_owned(), given.named(name))),
                false => others.push((Value::from(name), given.named(name))),
            }
        }
        if self.varargs {
            named.push(("varargs".to_owned(), List::tuple(positional[own..].to_vec())?));
        }
        if self.kwargs {
            named.push(("kwargs".to_owned(), Dict::of(others)?));
        }
        call.push(Value::from(named.into_iter().collect::<Kwargs>()));
        self.inner.call(state, &call)
    }
}
