//! `namespace`: an object that a template can change in an inner block.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Enumerator, Object, Value};
use minijinja::{Error, ErrorKind, State};

use super::budget::charge_items;
use super::pydict::Map;
use super::pyobject::{Dict, own};
use super::pyrepr;

/// Names and their values. The values are data, so they cannot refer to the namespace.
#[derive(Debug)]
pub(super) struct Namespace(Mutex<Map>);

impl Namespace {
    /// A namespace of `entries`, which [`own`] has converted to data.
    pub(super) fn of(entries: Vec<(Value, Value)>) -> Value {
        Value::from_object(Namespace(Mutex::new(Map::of(entries))))
    }

    fn with<R>(&self, look: impl FnOnce(&mut Map) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Object for Namespace {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.with(|map| map.get_by_str(key))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.with(|map| map.keys()))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.with(|map| map.len()))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = Dict::of(self.with(|map| map.pairs())).map_err(|_| fmt::Error)?;
        write!(f, "<Namespace {}>", pyrepr::repr(&values))
    }
}

/// `set a.b = value`, with the name of `b` and the value. Namespaces and maps store data only.
pub(super) fn assign(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [target, name, value] = args else { return Err(Error::from(ErrorKind::MissingArgument)) };
    let value = own(value.clone())?;
    let name = name.as_str().ok_or(ErrorKind::InvalidOperation)?;
    charge_items(state, target.len().unwrap_or(0) / 16)?;
    if let Some(namespace) = target.downcast_object_ref::<Namespace>() {
        namespace.with(|map| map.set(name, value));
    } else if let Some(dict) = target.downcast_object_ref::<Dict>() {
        dict.set(name, value, &mut |items| charge_items(state, items))?;
    } else {
        let message = format!("only a namespace or a map can be assigned to, not {}", target.kind());
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    Ok(Value::UNDEFINED)
}
