//! Tests (`is ...`), as Jinja2 defines them.

use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State};

use super::value::{List, Text, as_text};
use super::{filters, print, sequences};

type Test = fn(&State, &[Value]) -> Result<bool, Error>;

/// Name and code of each test.
pub(super) const TESTS: &[(&str, Test)] = &[
    ("boolean", |_, args| Ok(kind(args) == ValueKind::Bool)),
    ("callable", |_, args| Ok(kind(args) == ValueKind::Plain && as_text(&subject(args)).is_none())),
    ("defined", |_, args| Ok(kind(args) != ValueKind::Undefined)),
    ("divisibleby", |_, args| match (subject(args).as_i64(), other(args)?.as_i64()) {
        (Some(number), Some(by)) if by != 0 => Ok(number.checked_rem(by).unwrap_or(0) == 0),
        _ => Err(Error::new(ErrorKind::InvalidOperation, "divisibleby needs integers")),
    }),
    ("eq", |_, args| Ok(subject(args) == *other(args)?)),
    ("equalto", |_, args| Ok(subject(args) == *other(args)?)),
    ("==", |_, args| Ok(subject(args) == *other(args)?)),
    ("even", |_, args| Ok(integer(args)? % 2 == 0)),
    ("false", |_, args| Ok(kind(args) == ValueKind::Bool && !subject(args).is_true())),
    ("filter", |state, args| Ok(known(state.env(), args, has_filter))),
    ("float", |_, args| Ok(print::float(&subject(args)).is_some())),
    ("ge", |_, args| Ok(subject(args) >= *other(args)?)),
    (">=", |_, args| Ok(subject(args) >= *other(args)?)),
    ("gt", |_, args| Ok(subject(args) > *other(args)?)),
    ("greaterthan", |_, args| Ok(subject(args) > *other(args)?)),
    (">", |_, args| Ok(subject(args) > *other(args)?)),
    ("in", |_, args| super::ops::is_in(other(args)?, &subject(args))),
    ("integer", |_, args| Ok(kind(args) == ValueKind::Number && subject(args).is_integer())),
    ("iterable", |_, args| {
        let value = subject(args);
        Ok(as_text(&value).is_some()
            || matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::Iterable | ValueKind::Undefined))
    }),
    ("le", |_, args| Ok(subject(args) <= *other(args)?)),
    ("<=", |_, args| Ok(subject(args) <= *other(args)?)),
    ("lt", |_, args| Ok(subject(args) < *other(args)?)),
    ("lessthan", |_, args| Ok(subject(args) < *other(args)?)),
    ("<", |_, args| Ok(subject(args) < *other(args)?)),
    ("lower", |_, args| Ok(cased(args, char::is_lowercase, char::is_uppercase))),
    ("mapping", |_, args| Ok(kind(args) == ValueKind::Map)),
    ("ne", |_, args| Ok(subject(args) != *other(args)?)),
    ("!=", |_, args| Ok(subject(args) != *other(args)?)),
    ("none", |_, args| Ok(kind(args) == ValueKind::None)),
    ("number", |_, args| Ok(matches!(kind(args), ValueKind::Number | ValueKind::Bool))),
    ("odd", |_, args| Ok(integer(args)? % 2 != 0)),
    ("sameas", |_, args| Ok(same(&subject(args), other(args)?))),
    ("sequence", |_, args| {
        let value = subject(args);
        Ok(as_text(&value).is_some() || matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::Undefined))
    }),
    ("string", |_, args| {
        let value = subject(args);
        if let Some(trace) = value.downcast_object_ref::<Text>().map(|text| &text.trace) {
            trace.asked_for_string();
        }
        Ok(as_text(&value).is_some())
    }),
    ("test", |state, args| Ok(known(state.env(), args, |name| TESTS.iter().any(|(known, _)| *known == name)))),
    ("true", |_, args| Ok(kind(args) == ValueKind::Bool && subject(args).is_true())),
    ("undefined", |_, args| Ok(kind(args) == ValueKind::Undefined)),
    ("upper", |_, args| Ok(cased(args, char::is_uppercase, char::is_lowercase))),
];

fn subject(args: &[Value]) -> Value {
    args.first().cloned().unwrap_or_default()
}

fn kind(args: &[Value]) -> ValueKind {
    args.first().map_or(ValueKind::Undefined, Value::kind)
}

fn other(args: &[Value]) -> Result<&Value, Error> {
    args.get(1).ok_or_else(|| Error::new(ErrorKind::MissingArgument, "the test needs something to compare with"))
}

fn integer(args: &[Value]) -> Result<i64, Error> {
    subject(args).as_i64().ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "the test needs an integer"))
}

/// Some character is of the wanted case, and none of the other.
fn cased(args: &[Value], wanted: fn(char) -> bool, unwanted: fn(char) -> bool) -> bool {
    let value = subject(args);
    let text = print::text(&value);
    text.chars().any(wanted) && !text.chars().any(unwanted)
}

/// Whether a template may use the filter.
fn has_filter(name: &str) -> bool {
    filters::FILTERS.iter().chain(sequences::FILTERS).any(|(known, _)| *known == name)
}

fn known(_: &Environment, args: &[Value], known: impl Fn(&str) -> bool) -> bool {
    args.first().and_then(Value::as_str).is_some_and(known)
}

/// Python's `is`: one object, or equal scalars of one type.
fn same(left: &Value, right: &Value) -> bool {
    match (left.downcast_object::<List>(), right.downcast_object::<List>()) {
        (Some(a), Some(b)) => std::sync::Arc::ptr_eq(&a, &b),
        _ => left.kind() == right.kind() && left == right,
    }
}
