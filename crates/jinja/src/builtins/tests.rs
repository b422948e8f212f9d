//! Tests (`is ...`), as Jinja2 defines them.

use std::cmp::Ordering;

use minijinja::value::{Value, ValueKind};

use super::args::missing;
use super::list_filters::is_filter;
use crate::budget;
use crate::fault::Result;
use crate::python::numbers::{self, real, remainder};
use crate::python::pyobject::{List, Text, as_text};
use crate::python::{ops, pyrepr, pystr};
use crate::reading;

type Test = fn(&[Value]) -> Result<bool>;

/// Names and code of each test.
pub const TESTS: &[(&[&str], Test)] = &[
    (&["boolean"], |args| Ok(kind(args) == ValueKind::Bool)),
    (&["callable"], |args| Ok(callable(subject(args)))),
    (&["defined"], |args| Ok(kind(args) != ValueKind::Undefined)),
    (&["divisibleby"], |args| {
        Ok(real(&remainder(subject(args), other(args)?)?) == Some(0.0))
    }),
    (&["eq", "equalto", "=="], |args| equal(args)),
    (&["escaped"], |args| Ok(subject(args).is_safe())),
    (&["even"], |args| Ok(half(args)? == Some(0.0))),
    (&["false"], |args| {
        Ok(kind(args) == ValueKind::Bool && !subject(args).is_true())
    }),
    (&["filter"], |args| Ok(known(args, is_filter))),
    (&["float"], |args| {
        Ok(numbers::float(subject(args)).is_some())
    }),
    (&["ge", ">="], |args| compares(args, Ordering::is_ge)),
    (&["gt", "greaterthan", ">"], |args| {
        compares(args, Ordering::is_gt)
    }),
    (&["in"], |args| ops::is_in(other(args)?, subject(args))),
    (&["integer"], |args| {
        Ok(kind(args) == ValueKind::Number && subject(args).is_integer())
    }),
    (&["iterable"], |args| {
        Ok(sequence(args) || kind(args) == ValueKind::Iterable)
    }),
    (&["le", "<="], |args| compares(args, Ordering::is_le)),
    (&["lt", "lessthan", "<"], |args| {
        compares(args, Ordering::is_lt)
    }),
    (&["lower"], |args| {
        cased(args, char::is_lowercase, char::is_uppercase)
    }),
    (&["mapping"], |args| Ok(kind(args) == ValueKind::Map)),
    (&["ne", "!="], |args| equal(args).map(|equal| !equal)),
    (&["none"], |args| Ok(kind(args) == ValueKind::None)),
    (&["number"], |args| {
        Ok(matches!(kind(args), ValueKind::Number | ValueKind::Bool))
    }),
    (&["odd"], |args| Ok(half(args)? == Some(1.0))),
    (&["sameas"], |args| same(subject(args), other(args)?)),
    (&["sequence"], |args| Ok(sequence(args))),
    (&["string"], |args| {
        let value = subject(args);
        if let Some(trace) = value.downcast_object_ref::<Text>().map(|text| &text.trace) {
            trace.tested_for_string();
        }
        Ok(as_text(value).is_some())
    }),
    (&["test"], |args| {
        Ok(known(args, |name| {
            TESTS.iter().any(|(names, _)| names.contains(&name))
        }))
    }),
    (&["true"], |args| {
        Ok(kind(args) == ValueKind::Bool && subject(args).is_true())
    }),
    (
        &["undefined"],
        |args| Ok(kind(args) == ValueKind::Undefined),
    ),
    (&["upper"], |args| {
        cased(args, char::is_uppercase, char::is_lowercase)
    }),
];

/// Whether a value can be called: functions, and undefined, as in Jinja2.
fn callable(value: &Value) -> bool {
    value.is_undefined() || value.kind() == ValueKind::Plain && as_text(value).is_none()
}

fn sequence(args: &[Value]) -> bool {
    use ValueKind::{Map, Seq, Undefined};
    as_text(subject(args)).is_some() || matches!(kind(args), Map | Seq | Undefined)
}

fn kind(args: &[Value]) -> ValueKind {
    subject(args).kind()
}

/// The value that a test is about.
fn subject(args: &[Value]) -> &Value {
    const MISSING: &Value = &Value::UNDEFINED;
    args.first().unwrap_or(MISSING)
}

fn other(args: &[Value]) -> Result<&Value> {
    args.get(1)
        .ok_or_else(|| missing("the test needs something to compare with"))
}

/// The remainder of a number divided by two.
fn half(args: &[Value]) -> Result<Option<f64>> {
    Ok(real(&remainder(subject(args), &Value::from(2))?))
}

/// Whether both arguments are equal.
fn equal(args: &[Value]) -> Result<bool> {
    let (left, right) = (subject(args), other(args)?);
    reading::compare(left, right)?;
    Ok(left == right)
}

fn cased(args: &[Value], expected: fn(char) -> bool, unwanted: fn(char) -> bool) -> Result<bool> {
    let text = pyrepr::text(subject(args));
    budget::work(2 * text.len())?;
    Ok(pystr::cased(&text, expected, unwanted))
}

/// `holds` decides by the order of both arguments.
fn compares(args: &[Value], holds: fn(Ordering) -> bool) -> Result<bool> {
    other(args)?;
    ops::compares(args, holds)
}

fn known(args: &[Value], known: impl Fn(&str) -> bool) -> bool {
    args.first().and_then(Value::as_str).is_some_and(known)
}

/// Python's `is`: one object, or equal scalars of one type.
fn same(left: &Value, right: &Value) -> Result<bool> {
    Ok(
        match (
            left.downcast_object::<List>(),
            right.downcast_object::<List>(),
        ) {
            (Some(a), Some(b)) => std::sync::Arc::ptr_eq(&a, &b),
            _ => {
                reading::compare(left, right)?;
                left.kind() == right.kind() && left == right
            }
        },
    )
}
