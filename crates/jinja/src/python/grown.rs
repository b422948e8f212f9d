//! Texts that a template appends to again and again, in a namespace: `set a.b = a.b + c` costs only
//! the text that it adds. The source pass writes it as `op.held`, which reads the place without a
//! copy, and `op.grow`.

use std::sync::{Arc, Mutex, OnceLock};

use minijinja::value::{Object, ObjectRepr, Value};
use minijinja::{ErrorKind, State};

use super::ops;
use super::pyobject::as_text;
use super::pyrepr::text;
use super::scalar::without_labels;
use crate::budget::{self, LARGE, charge_output, check_text};
use crate::fault::{Result, lock};

/// The beginning of a buffer that later texts continue. Only a namespace holds one: a template that
/// reads it gets a text.
#[derive(Debug)]
struct Grown {
    buffer: Arc<Mutex<String>>,
    length: usize,
    /// The beginning as a text, once a template has read it.
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

    /// A text that cannot be built any more is undefined, and the render fails at its end.
    fn whole(&self) -> Value {
        let whole = self.whole.get_or_init(|| match check_text(self.length) {
            Ok(()) => {
                let text = lock(&self.buffer)[..self.length].to_owned();
                budget::text(text).unwrap_or_default()
            }
            Err(_) => Value::UNDEFINED,
        });
        whole.clone()
    }

    /// A buffer of its own with a text.
    fn buffer_of(first: &Value, length: usize) -> Result<Arc<Mutex<String>>> {
        budget::charge(length)?;
        let mut buffer = String::with_capacity(2 * length);
        buffer.push_str(as_text(&whole(first.clone())).unwrap_or_default());
        Ok(Arc::new(Mutex::new(buffer)))
    }
}

/// Whether a value is a [`Grown`].
pub fn is(value: &Value) -> bool {
    value.downcast_object_ref::<Grown>().is_some()
}

/// The value as templates see it.
pub fn whole(value: Value) -> Value {
    let grown = value.downcast_object_ref::<Grown>().map(Grown::whole);
    grown.unwrap_or(value)
}

/// The sum of a value and others, or their concatenation. A short text is appended to a long one in
/// place, so the long one's length counts once.
pub fn grow(state: &mut State, args: &[Value]) -> Result<Value> {
    let [first, way, rest @ ..] = args else {
        return Err(ErrorKind::MissingArgument.into());
    };
    let adds = way.as_str() == Some("op.add");
    let grown = first.downcast_object_ref::<Grown>();
    let length = match grown {
        Some(grown) => grown.length,
        None => as_text(first).map_or(0, str::len),
    };
    let terms = rest.iter().filter(|term| !adds || !term.is_none());
    let more: Option<usize> = terms.clone().map(|term| as_text(term).map(str::len)).sum();
    if let Some(more) = more
        && length >= LARGE
        && more < length / 4
        && !args.iter().any(Value::is_safe)
    {
        check_text(length + more)?;
        charge_output(more)?;
        let buffer = match grown {
            Some(grown) if lock(&grown.buffer).len() == length => Arc::clone(&grown.buffer),
            _ => Grown::buffer_of(first, length)?,
        };
        terms.for_each(|term| lock(&buffer).push_str(&text(term)));
        return Ok(Grown::of(buffer, length + more));
    }
    let all = [&[whole(first.clone())], rest].concat();
    match adds {
        false => ops::concat(state, &all),
        true if all.iter().any(|value| as_text(value).is_some()) => ops::add(state, &all),
        true => ops::add(state, &without_labels(&all)),
    }
}
