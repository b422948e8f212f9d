//! Texts that a template appends to again and again, in a namespace: `set a.b = a.b + c` costs what
//! it adds. The source pass writes it as `op.held`, which reads the place without a copy, and
//! `op.grow`.

use std::sync::{Arc, Mutex, OnceLock};

use minijinja::value::{Object, ObjectRepr, Value};
use minijinja::{Error, ErrorKind, State};

use super::ops;
use super::pyobject::as_text;
use super::pyrepr::text;
use super::scalar::without_labels;
use crate::budget::{self, LARGE, charge_output, check_text};
use crate::fault::{Result, lock};

/// The beginning of a text that others go on with. Only a namespace holds one: what reads it gets a
/// text.
#[derive(Debug)]
struct Grown {
    buffer: Arc<Mutex<String>>,
    length: usize,
    /// The same as a text, once it was read.
    whole: OnceLock<Value>,
}

impl Object for Grown {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

impl Grown {
    fn of(buffer: Arc<Mutex<String>>, length: usize) -> Value {
        Value::from_object(Grown {
            buffer,
            length,
            whole: OnceLock::new(),
        })
    }

    /// What cannot be built any more is missing, and the render fails at its end.
    fn whole(&self) -> Value {
        let read = || {
            check_text(self.length).ok()?;
            budget::text(lock(&self.buffer)[..self.length].to_owned()).ok()
        };
        self.whole
            .get_or_init(|| read().unwrap_or_default())
            .clone()
    }
}

/// Whether a value is such a text.
pub fn is(value: &Value) -> bool {
    value.downcast_object_ref::<Grown>().is_some()
}

/// The value as templates see it.
pub fn whole(value: Value) -> Value {
    value
        .downcast_object_ref::<Grown>()
        .map(Grown::whole)
        .unwrap_or(value)
}

/// The sum of a value and others, or their concatenation. A long text with little behind it goes on
/// in place, so its length counts once.
pub fn grow(state: &mut State, args: &[Value]) -> Result<Value> {
    let [first, way, rest @ ..] = args else {
        return Err(Error::from(ErrorKind::MissingArgument));
    };
    let adds = way.as_str() == Some("op.add");
    let grown = first.downcast_object_ref::<Grown>();
    let known = grown
        .map(|grown| grown.length)
        .or_else(|| Some(as_text(first)?.len()))
        .filter(|known| *known >= LARGE && !args.iter().any(Value::is_safe));
    if let Some(known) = known {
        let terms = rest.iter().filter(|term| !adds || !term.is_none());
        let little = terms
            .clone()
            .map(|term| as_text(term).map(str::len))
            .sum::<Option<usize>>();
        if let Some(more) = little.filter(|more| *more < known / 4) {
            check_text(known + more)?;
            charge_output(more)?;
            let append = |buffer: &mut String| {
                terms.for_each(|term| buffer.push_str(&text(term)));
                buffer.len()
            };
            let (buffer, length) = match grown {
                Some(grown) if lock(&grown.buffer).len() == known => {
                    (Arc::clone(&grown.buffer), append(&mut lock(&grown.buffer)))
                }
                _ => {
                    budget::charge(known)?;
                    let whole = whole(first.clone());
                    let mut buffer = String::with_capacity(2 * known);
                    buffer.push_str(as_text(&whole).unwrap_or_default());
                    let length = append(&mut buffer);
                    (Arc::new(Mutex::new(buffer)), length)
                }
            };
            return Ok(Grown::of(buffer, length));
        }
    }
    let all: Vec<Value> = std::iter::once(whole(first.clone()))
        .chain(rest.iter().cloned())
        .collect();
    match adds {
        false => ops::concat(state, &all),
        true if all.iter().any(|value| as_text(value).is_some()) => ops::add(state, &all),
        true => ops::add(state, &without_labels(&all)),
    }
}
