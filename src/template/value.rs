//! Lists, maps and texts as templates see them. Python's: lists grow in place, maps keep their order.
//!
//! Every container that a template can reach is one of ours. Each knows an upper bound of how deep it nests, which keeps
//! printing, comparing and dropping within the stack: a container that lies inside another one never gets deeper, so no
//! cycle can arise and no bound goes stale.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use minijinja::value::{DynObject, Enumerator, Object, ObjectRepr, Value, ValueKind};
use minijinja::{Error, ErrorKind};

use super::map::Map;
use super::print;
use super::scalar::Scalar;
use super::trace::Trace;
use crate::limits::VALUE_DEPTH;

/// A container made by a template claims this many levels at once: room to fill it after it was put into another.
const HEADROOM: usize = 8;

/// How deep a container nests at most, and whether it lies inside another one.
#[derive(Debug)]
struct Height {
    levels: AtomicUsize,
    inside: AtomicBool,
    /// Something in it is no data, and may lead to other containers: it must not be put into a container that exists.
    loose: bool,
}

impl Height {
    /// Above `children`, which from now on lie inside.
    fn above<'a>(children: impl Iterator<Item = &'a Value>) -> Result<Height, Error> {
        let (mut levels, mut loose) = (0, false);
        for child in children {
            if let Some(height) = height_of(child) {
                height.inside.store(true, Ordering::Relaxed);
                levels = levels.max(height.levels.load(Ordering::Relaxed));
                loose |= height.loose;
            } else {
                loose |= child.as_object().is_some_and(|object| !object.is::<Text>() && !object.is::<Scalar>());
            }
        }
        let known = Height::known((levels + 1).next_multiple_of(HEADROOM), false)?;
        Ok(Height { loose, ..known })
    }

    fn known(levels: usize, inside: bool) -> Result<Height, Error> {
        if levels > VALUE_DEPTH + HEADROOM {
            return Err(too_deep());
        }
        Ok(Height { levels: AtomicUsize::new(levels), inside: AtomicBool::new(inside), loose: false })
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

/// What a list is to Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// What alone can change.
    List,
    Tuple,
    /// A tuple of a value and the list of all items that have it.
    Group,
    /// From, to, by.
    Range(i64, i64, i64),
}

impl Form {
    /// Printed in parentheses.
    pub(super) fn is_tuple(self) -> bool {
        matches!(self, Form::Tuple | Form::Group)
    }
}

/// A Python list, a tuple or a range.
pub(super) struct List {
    items: Mutex<Vec<Value>>,
    height: Height,
    pub(super) form: Form,
    pub(super) trace: Option<Trace>,
}

impl List {
    /// Items in the given form.
    pub(super) fn make(items: Vec<Value>, form: Form) -> Result<Value, Error> {
        let height = Height::above(items.iter())?;
        Ok(Value::from_object(List { items: Mutex::new(items), height, form, trace: None }))
    }

    /// A list of `items`.
    pub(super) fn of(items: Vec<Value>) -> Result<Value, Error> {
        List::make(items, Form::List)
    }

    /// A tuple of `items`.
    pub(super) fn tuple(items: Vec<Value>) -> Result<Value, Error> {
        List::make(items, Form::Tuple)
    }

    /// What the list holds now.
    pub(super) fn items(&self) -> Vec<Value> {
        lock(&self.items).clone()
    }

    /// Shows all items to `look`, which must do nothing with this list itself. It does not meet it in the items: there are no
    /// cycles.
    pub(super) fn look<R>(&self, look: impl FnOnce(&[Value]) -> R) -> R {
        look(&lock(&self.items))
    }

    /// Reports that all items were looked at.
    pub(super) fn read_items(&self) {
        if let Some(trace) = &self.trace {
            (0..self.look(<[_]>::len)).for_each(|index| trace.read_child(&index.to_string()));
        }
    }

    /// Changes the items; `added` is what the change puts in.
    pub(super) fn change<R>(&self, added: &[Value], change: impl FnOnce(&mut Vec<Value>) -> R) -> Result<R, Error> {
        if self.form != Form::List {
            return Err(Error::new(ErrorKind::InvalidOperation, "a tuple or range cannot be changed"));
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
        let index = match (self.form, key.as_str()) {
            (Form::Group, Some("grouper")) => 0,
            (Form::Group, Some("list")) => 1,
            _ => key.as_usize()?,
        };
        if let Some(trace) = &self.trace {
            trace.index();
            trace.read_child(&index.to_string());
        }
        lock(&self.items).get(index).cloned()
    }

    /// A loop goes over a copy: its body may change the list.
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        if let Some(trace) = &self.trace {
            trace.index();
            self.read_items();
        }
        Enumerator::Values(self.items())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(lock(&self.items).len())
    }

    /// A list never equals a tuple, whatever they hold.
    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<std::cmp::Ordering> {
        let class = |form: Form| (form.is_tuple(), matches!(form, Form::Range(..)));
        let order = class(self.form).cmp(&class(other.downcast_ref::<List>()?.form));
        order.is_ne().then_some(order)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print::repr(&Value::from_dyn_object(self.clone())))
    }
}

/// A Python dict.
pub(super) struct Dict {
    map: Mutex<Map>,
    height: Height,
    pub(super) trace: Option<Trace>,
}

impl Dict {
    /// A map of `pairs`; of equal keys the last counts.
    pub(super) fn of(pairs: Vec<(Value, Value)>) -> Result<Value, Error> {
        for (key, _) in &pairs {
            check_key(key)?;
        }
        let height = Height::above(pairs.iter().flat_map(|(key, value)| [key, value]))?;
        Ok(Value::from_object(Dict { map: Mutex::new(Map::of(pairs)), height, trace: None }))
    }

    /// What the map holds now, in order.
    pub(super) fn pairs(&self) -> Vec<(Value, Value)> {
        lock(&self.map).pairs()
    }

    /// Shows all pairs to `look`, in order; as [`List::look`].
    pub(super) fn look<R>(&self, look: impl FnOnce(&[(Value, Value)]) -> R) -> R {
        lock(&self.map).look(look)
    }

    /// Reports that all values were looked at.
    pub(super) fn read_values(&self) {
        if let Some(trace) = &self.trace {
            self.look(|pairs| pairs.iter().filter_map(|(key, _)| key.as_str()).for_each(|key| trace.read_child(key)));
        }
    }

    /// The value at `key`, without leaving a trace.
    pub(super) fn get(&self, key: &Value) -> Option<Value> {
        match key.as_object() {
            None => lock(&self.map).get(key),
            // What is no key could look at this very map while it is looked at.
            Some(_) => match as_text(key) {
                Some(text) => lock(&self.map).get_by_str(text),
                None if check_key(key).is_ok() => lock(&self.map).get(key),
                None => None,
            },
        }
    }

    /// Puts `value`, which is data, at `key`.
    pub(super) fn set(&self, key: &str, value: Value) -> Result<(), Error> {
        self.height.admit(&value)?;
        lock(&self.map).set(key, value);
        Ok(())
    }

    /// Changes the pairs; `added` is what the change puts in.
    pub(super) fn change<R>(
        &self,
        added: &[(Value, Value)],
        change: impl FnOnce(&mut Vec<(Value, Value)>) -> R,
    ) -> Result<R, Error> {
        for (key, value) in added {
            check_key(key)?;
            self.height.admit(key)?;
            self.height.admit(value)?;
        }
        let mut pairs = self.pairs();
        let result = change(&mut pairs);
        *lock(&self.map) = Map::of(pairs);
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
            trace.read_child(name);
        }
        self.get(key)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if let Some(trace) = &self.trace {
            trace.read_child(key);
        }
        lock(&self.map).get_by_str(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(lock(&self.map).keys())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(lock(&self.map).len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print::repr(&Value::from_dyn_object(self.clone())))
    }
}

/// Keys are scalars and tuples of them, as in Python: what cannot change.
fn check_key(key: &Value) -> Result<(), Error> {
    let tuple =
        |list: &List| list.form.is_tuple() && list.look(|items| items.iter().all(|item| check_key(item).is_ok()));
    match key.as_object() {
        None => Ok(()),
        Some(object) if object.is::<Text>() || object.downcast_ref::<List>().is_some_and(tuple) => Ok(()),
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
        list.read_items();
        return Ok(list.items());
    }
    if let Some(dict) = value.downcast_object_ref::<Dict>() {
        return Ok(lock(&dict.map).keys());
    }
    if let Some(text) = value.downcast_object_ref::<Text>() {
        text.trace.index();
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
        dict.read_values();
        return Ok(dict.pairs());
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
    if object.is::<Text>() || object.is::<Scalar>() || height_of(&value).is_some_and(|height| !height.loose) {
        return Ok(value);
    }
    match object.repr() {
        ObjectRepr::Seq | ObjectRepr::Iterable => {
            let form = object.downcast_ref::<List>().map_or(Form::List, |list| list.form);
            let items = value.try_iter()?.map(|item| own_at(item, depth + 1)).collect::<Result<_, _>>()?;
            List::make(items, form)
        }
        ObjectRepr::Map => {
            let pairs = pairs(&value)?.into_iter().map(|(key, item)| Ok((key, own_at(item, depth + 1)?)));
            Dict::of(pairs.collect::<Result<_, Error>>()?)
        }
        _ => Err(Error::new(ErrorKind::InvalidOperation, "only data can be kept in a list, a map or a namespace")),
    }
}

/// A list of `items`, which nest `below` levels deep and know that they lie inside; it lies `inside` another container, or in none.
/// Also how deep it nests.
pub(super) fn nested_list(
    items: Vec<Value>,
    below: usize,
    inside: bool,
    trace: Option<Trace>,
) -> Result<(Value, usize), Error> {
    let height = Height::known(below + 1, inside)?;
    Ok((Value::from_object(List { items: Mutex::new(items), height, form: Form::List, trace }), below + 1))
}

/// A map as [`nested_list`] makes a list; its keys are texts, each another one.
pub(super) fn nested_dict(
    pairs: Vec<(Value, Value)>,
    below: usize,
    inside: bool,
    trace: Option<Trace>,
) -> Result<(Value, usize), Error> {
    let height = Height::known(below + 1, inside)?;
    Ok((Value::from_object(Dict { map: Mutex::new(Map::of_json(pairs)), height, trace }), below + 1))
}
