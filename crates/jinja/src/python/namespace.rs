//! `namespace`: an object that a template can change in an inner block.

use std::fmt;
use std::sync::{Arc, Mutex};

use minijinja::value::{Enumerator, Object, Value};
use minijinja::{ErrorKind, State};

use super::pydict::Map;
use super::pyobject::{Dict, as_dict, own};
use super::{grown, pyrepr};
use crate::budget::{charge_container, charge_items};
use crate::builtins::args::exactly;
use crate::fault::{Result, invalid, lock};

/// Names and their values. The values are data, so they cannot refer to the namespace.
#[derive(Debug)]
pub struct Namespace(Mutex<Map>);

impl Namespace {
    /// A namespace of `entries`, which [`own`] has converted to data.
    pub fn of(entries: Vec<(Value, Value)>) -> Result<Value> {
        charge_container(2 * entries.len())?;
        Ok(Value::from_object(Namespace(Mutex::new(Map::of(entries)))))
    }

    /// The value of a name as it is kept: a text may be one that grows.
    fn held(&self, key: &str) -> Option<Value> {
        lock(&self.0).get_by_str(key)
    }
}

impl Object for Namespace {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.held(key).map(grown::whole)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        lock(&self.0).enumerate()
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(lock(&self.0).len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let map = lock(&self.0);
        let mut pairs = Vec::new();
        if charge_items(2 * map.len()).is_ok() {
            pairs.extend_from_slice(map.pairs());
        }
        drop(map);
        for (_, value) in &mut pairs {
            *value = grown::whole(std::mem::take(value));
        }
        let values = Dict::of(pairs).map_err(|_| fmt::Error)?;
        write!(f, "<Namespace {}>", pyrepr::repr(&values))
    }
}

/// `set a.b = value`, with the name of `b` and the value. Namespaces and maps store data only.
pub fn assign(_: &mut State, args: &[Value]) -> Result<Value> {
    let [target, name, value] = exactly(args)?;
    let name = name.as_str().ok_or(ErrorKind::InvalidOperation)?;
    let namespace = target.downcast_object_ref::<Namespace>();
    let value = match namespace.is_some() && grown::is(value) {
        true => value.clone(),
        false => own(grown::whole(value.clone()))?,
    };
    if let Some(namespace) = namespace {
        lock(&namespace.0).set(name, value)?;
    } else if let Some(dict) = as_dict(target) {
        dict.set(name, value)?;
    } else {
        let what = "only a namespace or a map can be assigned to";
        return Err(invalid(format!("{what}, not {}", target.kind())));
    }
    Ok(Value::UNDEFINED)
}

/// `a.b`, for [`grown::grow`].
pub fn held(_: &mut State, args: &[Value]) -> Result<Value> {
    let [target, name] = exactly(args)?;
    let name = name.as_str().unwrap_or_default();
    let held = target
        .downcast_object_ref::<Namespace>()
        .and_then(|namespace| namespace.held(name));
    Ok(held.unwrap_or_else(|| target.get_attr(name).unwrap_or_default()))
}
