//! Lists, maps and texts as templates see them. Python's: lists grow in place, maps keep their order.
//!
//! Every container that a template can reach is one of ours. Each knows an upper bound of how deep it nests, which keeps
//! printing, comparing and dropping within the stack: a container that lies inside another one never gets deeper, so no
//! cycle can arise and no bound goes stale.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use minijinja::value::{Enumerator, Object, ObjectRepr, Value, ValueKind};
use minijinja::{Error, ErrorKind};
use serde_json::Value as Json;

use super::print;
use super::trace::Trace;
use crate::limits::VALUE_DEPTH;

/// A container made by a template claims this many levels at once: room to fill it after it was put into another.
const HEADROOM: usize = 8;

/// How deep a container nests at most, and whether it lies inside another one.
#[derive(Debug)]
struct Height {
    levels: AtomicUsize,
    inside: AtomicBool,
}

impl Height {
    /// Above `children`, which from now on lie inside.
    fn above<'a>(children: impl Iterator<Item = &'a Value>, exact: bool) -> Result<Height, Error> {
        let mut levels = 0;
        for child in children {
            if let Some(height) = height_of(child) {
                height.inside.store(true, Ordering::Relaxed);
                levels = levels.max(height.levels.load(Ordering::Relaxed));
            }
        }
        levels = if exact { levels + 1 } else { (levels + 1).next_multiple_of(HEADROOM) };
        if levels > VALUE_DEPTH + HEADROOM {
            return Err(too_deep());
        }
        Ok(Height { levels: AtomicUsize::new(levels), inside: AtomicBool::new(false) })
    }

    /// Makes room for one more child.
    fn admit(&self, child: &Value) -> Result<(), Error> {
        let Some(height) = height_of(child) else { return Ok(()) };
        if std::ptr::eq(height, self) {
            return Err(too_deep());
        }
        let needed = height.levels.load(Ordering::Relaxed) + 1;
        if needed > self.levels.load(Ordering::Relaxed) {
            if self.inside.load(Ordering::Relaxed) || needed > VALUE_DEPTH + HEADROOM {
                return Err(too_deep());
            }
            self.levels.store(needed, Ordering::Relaxed);
        }
        height.inside.store(true, Ordering::Relaxed);
        Ok(())
    }
}

fn height_of(value: &Value) -> Option<&Height> {
    let object = value.as_object()?;
    object.downcast_ref::<List>().map(|list| &list.height).or_else(|| object.downcast_ref::<Dict>().map(|d| &d.height))
}

fn too_deep() -> Error {
    Error::new(ErrorKind::InvalidOperation, "lists and maps are nested too deeply")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A Python list, or a tuple.
pub(super) struct List {
    items: Mutex<Vec<Value>>,
    height: Height,
    /// Printed in parentheses, and cannot change.
    pub(super) tuple: bool,
    pub(super) trace: Option<Trace>,
}

impl List {
    fn make(items: Vec<Value>, tuple: bool) -> Result<Value, Error> {
        let height = Height::above(items.iter(), false)?;
        Ok(Value::from_object(List { items: Mutex::new(items), height, tuple, trace: None }))
    }

    /// A list of `items`.
    pub(super) fn of(items: Vec<Value>) -> Result<Value, Error> {
        List::make(items, false)
    }

    /// A tuple of `items`.
    pub(super) fn tuple(items: Vec<Value>) -> Result<Value, Error> {
        List::make(items, true)
    }

    /// What the list holds now.
    pub(super) fn items(&self) -> Vec<Value> {
        lock(&self.items).clone()
    }

    /// Changes the items; `added` is what the change puts in.
    pub(super) fn change<R>(&self, added: &[Value], change: impl FnOnce(&mut Vec<Value>) -> R) -> Result<R, Error> {
        if self.tuple {
            return Err(Error::new(ErrorKind::InvalidOperation, "a tuple cannot be changed"));
        }
        for value in added {
            self.height.admit(value)?;
        }
        Ok(change(&mut lock(&self.items)))
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(lock(&self.items).iter()).finish()
    }
}

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let index = key.as_usize()?;
        if let Some(trace) = &self.trace {
            trace.index();
            trace.child(index).read();
        }
        lock(&self.items).get(index).cloned()
    }

    /// A loop goes over a copy: its body may change the list.
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let items = self.items();
        if let Some(trace) = &self.trace {
            trace.index();
            (0..items.len()).for_each(|index| trace.child(index).read());
        }
        Enumerator::Values(items)
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(lock(&self.items).len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print::repr(&Value::from_dyn_object(self.clone())))
    }
}

/// A Python dict.
pub(super) struct Dict {
    /// Always a map of the engine's own, which keeps the order and finds keys fast.
    map: Mutex<Value>,
    height: Height,
    pub(super) trace: Option<Trace>,
}

impl Dict {
    /// A map of `pairs`; of equal keys the last counts.
    pub(super) fn of(pairs: Vec<(Value, Value)>) -> Result<Value, Error> {
        for (key, _) in &pairs {
            check_key(key)?;
        }
        let height = Height::above(pairs.iter().map(|(_, value)| value), false)?;
        Ok(Value::from_object(Dict { map: Mutex::new(Value::from_pairs(pairs)), height, trace: None }))
    }

    /// What the map holds now, in order.
    pub(super) fn pairs(&self) -> Vec<(Value, Value)> {
        let map = lock(&self.map).clone();
        map.as_object().and_then(|map| map.try_iter_pairs()).map(Iterator::collect).unwrap_or_default()
    }

    /// The value at `key`, without leaving a trace.
    pub(super) fn get(&self, key: &Value) -> Option<Value> {
        lock(&self.map).as_object().and_then(|map| map.get_value(key))
    }

    /// Changes the pairs; `added` is what the change puts in.
    pub(super) fn change<R>(
        &self,
        added: &[(Value, Value)],
        change: impl FnOnce(&mut Vec<(Value, Value)>) -> R,
    ) -> Result<R, Error> {
        for (key, value) in added {
            check_key(key)?;
            self.height.admit(value)?;
        }
        let mut pairs = self.pairs();
        let result = change(&mut pairs);
        *lock(&self.map) = Value::from_pairs(pairs);
        Ok(result)
    }
}

impl fmt::Debug for Dict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.pairs()).finish()
    }
}

impl Object for Dict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        if let (Some(trace), Some(name)) = (&self.trace, key.as_str()) {
            trace.child(name).read();
        }
        self.get(key)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if let Some(trace) = &self.trace {
            trace.child(key).read();
        }
        lock(&self.map).as_object().and_then(|map| map.get_value_by_str(key))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let map = lock(&self.map).clone();
        Enumerator::Values(map.try_iter().map(Iterator::collect).unwrap_or_default())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        lock(&self.map).len()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print::repr(&Value::from_dyn_object(self.clone())))
    }
}

/// Keys are scalars, as in Python: they can be compared and dropped without recursion.
fn check_key(key: &Value) -> Result<(), Error> {
    match key.as_object() {
        None => Ok(()),
        Some(_) => Err(Error::new(ErrorKind::InvalidOperation, "a list or map cannot be the key of a map")),
    }
}

/// A string that reports how a template treats it.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) trace: Trace,
}

impl Object for Text {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let index = key.as_i64()?;
        self.trace.index();
        let index = if index < 0 { index + self.text.chars().count() as i64 } else { index };
        self.text.chars().nth(usize::try_from(index).ok()?).map(|c| Value::from(c.to_string()))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.trace.index();
        Enumerator::NonEnumerable
    }

    fn is_true(self: &Arc<Self>) -> bool {
        !self.text.is_empty()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The text, where `value` is one.
pub(super) fn as_text(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.downcast_object_ref::<Text>().map(|text| text.text.as_str()))
}

/// What a filter over `value` sees: items, keys or characters; nothing for undefined and none.
pub(super) fn items(value: &Value) -> Result<Vec<Value>, Error> {
    if let Some(list) = value.downcast_object_ref::<List>() {
        let items = list.items();
        if let Some(trace) = &list.trace {
            (0..items.len()).for_each(|index| trace.child(index).read());
        }
        return Ok(items);
    }
    if let Some(dict) = value.downcast_object_ref::<Dict>() {
        return Ok(dict.pairs().into_iter().map(|(key, _)| key).collect());
    }
    if let Some(text) = as_text(value) {
        return Ok(text.chars().map(|c| Value::from(c.to_string())).collect());
    }
    if value.is_none() {
        return Ok(Vec::new());
    }
    Ok(value.try_iter()?.collect())
}

/// The pairs of a map; nothing for undefined and none.
pub(super) fn pairs(value: &Value) -> Result<Vec<(Value, Value)>, Error> {
    if let Some(dict) = value.downcast_object_ref::<Dict>() {
        let pairs = dict.pairs();
        if let Some(trace) = &dict.trace {
            pairs.iter().for_each(|(key, _)| trace.child(key).read());
        }
        return Ok(pairs);
    }
    match (value.kind(), value.as_object().and_then(|object| object.try_iter_pairs())) {
        (ValueKind::Map, Some(pairs)) => Ok(pairs.collect()),
        (ValueKind::Undefined | ValueKind::None, _) => Ok(Vec::new()),
        (kind, _) => Err(Error::new(ErrorKind::InvalidOperation, format!("a map is needed here, not {kind}"))),
    }
}

/// `value` as plain data that may be kept: the engine's own containers become ours, and what is not data is refused.
pub(super) fn own(value: Value) -> Result<Value, Error> {
    own_at(value, 0)
}

fn own_at(value: Value, depth: usize) -> Result<Value, Error> {
    if depth > VALUE_DEPTH {
        return Err(too_deep());
    }
    let Some(object) = value.as_object() else { return Ok(value) };
    if object.is::<List>() || object.is::<Dict>() || object.is::<Text>() {
        return Ok(value);
    }
    match object.repr() {
        ObjectRepr::Seq | ObjectRepr::Iterable => {
            let items = value.try_iter()?.map(|item| own_at(item, depth + 1)).collect::<Result<_, _>>()?;
            List::make(items, value.is_tuple())
        }
        ObjectRepr::Map => {
            let pairs = pairs(&value)?.into_iter().map(|(key, item)| Ok((key, own_at(item, depth + 1)?)));
            Dict::of(pairs.collect::<Result<_, Error>>()?)
        }
        _ => Err(Error::new(ErrorKind::InvalidOperation, "only data can be kept in a list, a map or a namespace")),
    }
}

/// JSON as a template's value. Integers stay integers.
pub(super) fn from_json(json: &Json) -> Result<Value, Error> {
    traced(json, None)
}

/// [`from_json`] for a value that reports to `trace`.
pub(super) fn traced(json: &Json, trace: Option<Trace>) -> Result<Value, Error> {
    let child = |key: &dyn fmt::Display| trace.as_ref().map(|trace| trace.child(key));
    Ok(match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::from(value),
            (None, Some(value)) => Value::from(value),
            (None, None) => Value::from(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => match &trace {
            Some(trace) if trace.watches_text() => {
                Value::from_object(Text { text: text.clone(), trace: trace.clone() })
            }
            _ => Value::from(text.as_str()),
        },
        Json::Array(array) => {
            let items = array.iter().enumerate().map(|(index, item)| traced(item, child(&index)));
            let items = items.collect::<Result<Vec<_>, _>>()?;
            let height = Height::above(items.iter(), true)?;
            Value::from_object(List { items: Mutex::new(items), height, tuple: false, trace })
        }
        Json::Object(map) => {
            let pairs = map.iter().map(|(key, item)| Ok((Value::from(key.as_str()), traced(item, child(key))?)));
            let pairs = pairs.collect::<Result<Vec<_>, Error>>()?;
            let height = Height::above(pairs.iter().map(|(_, value)| value), true)?;
            Value::from_object(Dict { map: Mutex::new(Value::from_pairs(pairs)), height, trace })
        }
    })
}
