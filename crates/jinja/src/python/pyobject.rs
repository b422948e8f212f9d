//! Lists, maps and texts with Python's behaviour: lists can be changed in place, maps keep their
//! order.
//!
//! Templates only ever access containers of these types. Each container has an upper bound of its
//! depth, so that printing, comparing and dropping stay within the stack. The depth of a container
//! that is inside of another one never grows, so that no cycle can arise and all bounds stay valid.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use minijinja::Error;
use minijinja::value::{DynObject, Object, ObjectRepr, Value, ValueKind};
use serde_json::Value as Json;

use super::memo::{Part, ToolMemo};
use super::numbers::from_end;
use super::pydict::Map;
use super::scalar::Scalar;
use crate::budget::{self, charge_container, charge_items, charge_piece};
use crate::fault::{Result, invalid, lock};
use crate::probe::trace::Trace;
use chatparse_base::limits::VALUE_DEPTH;
use chatparse_message::Tool;

/// The levels that a container made by a template reserves, so that it can be filled after it was
/// put into another one, and how many more the container around it reserves.
const HEADROOM: usize = 16;
const STEP: usize = 8;

/// The levels that each container of the context reserves, because templates put lists and maps
/// into messages.
const ROOM: usize = 6;

/// The maximum depth of a container.
const DEPTH: usize = VALUE_DEPTH + HEADROOM;

/// The maximum depth of a container, and whether it is inside of another one.
#[derive(Debug)]
struct Height {
    levels: AtomicUsize,
    inside: AtomicBool,
    /// It contains a value that is not data and may refer to other containers, so it must not be
    /// put into an existing container.
    loose: bool,
    /// The template was given it.
    given: bool,
}

impl Height {
    /// The height above `children`, which from now on are inside of a container.
    fn above<'a>(children: impl Iterator<Item = &'a Value>) -> Result<Height> {
        let (mut levels, mut loose) = (0, false);
        for child in children {
            if let Some(height) = height_of(child) {
                height.inside.store(true, Ordering::Relaxed);
                levels = levels.max(height.levels.load(Ordering::Relaxed));
                loose |= height.loose;
            } else {
                loose |= child.as_object().is_some_and(|object| !is_scalar(object));
            }
        }
        Ok(Height {
            loose,
            ..Height::known((levels + STEP).max(HEADROOM), false)?
        })
    }

    fn known(levels: usize, inside: bool) -> Result<Height> {
        if levels > DEPTH {
            return Err(too_deep());
        }
        Ok(Height {
            levels: AtomicUsize::new(levels),
            inside: AtomicBool::new(inside),
            loose: false,
            given: false,
        })
    }

    /// The height of a container that a template is given, at so many levels below.
    fn given(below: usize, inside: bool) -> Result<Height> {
        Ok(Height {
            given: true,
            ..Height::known(below + 1 + ROOM, inside)?
        })
    }

    /// Called before a change.
    fn changes(&self) {
        if self.given {
            budget::note_given_changed();
        }
    }

    /// Makes room for another child.
    fn admit(&self, child: &Value) -> Result<()> {
        let Some(height) = height_of(child) else {
            return Ok(());
        };
        if std::ptr::eq(height, self) {
            return Err(invalid("a list or map cannot be put into itself"));
        }
        let needed = height.levels.load(Ordering::Relaxed) + 1;
        if needed > self.levels.load(Ordering::Relaxed) {
            if self.inside.load(Ordering::Relaxed) || needed > DEPTH {
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
    match object.downcast_ref::<List>() {
        Some(list) => Some(&list.height),
        None => Some(&object.downcast_ref::<Dict>()?.height),
    }
}

/// Whether an object of the engine is a text or another scalar.
fn is_scalar(object: &DynObject) -> bool {
    object.is::<Text>() || object.is::<Scalar>()
}

fn too_deep() -> Error {
    invalid("lists and maps are nested too deeply, or hold themselves")
}

/// The Python type of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// The only one that can be changed.
    List,
    Tuple,
    /// A tuple of a value and the list of all items with that value, from `groupby`.
    Group,
    /// Start, stop and step.
    Range(i64, i64, i64),
}

impl Form {
    /// Whether it prints in parentheses.
    pub fn is_tuple(self) -> bool {
        matches!(self, Form::Tuple | Form::Group)
    }
}

/// A Python list, a tuple or a range.
#[derive(Debug)]
pub struct List {
    items: Mutex<Vec<Value>>,
    height: Height,
    pub form: Form,
    pub trace: Trace,
}

impl List {
    /// A list of this type.
    pub fn make(items: Vec<Value>, form: Form) -> Result<Value> {
        charge_container(items.len())?;
        let height = Height::above(items.iter())?;
        Ok(Value::from_object(List::new(items, height, form)))
    }

    fn new(items: Vec<Value>, height: Height, form: Form) -> List {
        List {
            items: Mutex::new(items),
            height,
            form,
            trace: Trace::default(),
        }
    }

    /// A list of `items`.
    pub fn of(items: Vec<Value>) -> Result<Value> {
        List::make(items, Form::List)
    }

    /// A tuple of `items`.
    pub fn tuple(items: Vec<Value>) -> Result<Value> {
        List::make(items, Form::Tuple)
    }

    /// A copy of the items.
    pub fn items(&self) -> Result<Vec<Value>> {
        self.look(|items| charge_items(items.len()).map(|()| items.to_vec()))
    }

    /// Passes the items to `look`, which must not access this list. It cannot meet it among the
    /// items, because there are no cycles.
    pub fn look<R>(&self, look: impl FnOnce(&[Value]) -> R) -> R {
        look(&lock(&self.items))
    }

    /// Records that all items were read.
    pub fn read_items(&self) {
        if self.trace.is_on() {
            (0..self.look(<[_]>::len)).for_each(|index| self.trace.read_child(index));
        }
    }

    /// Adds items at the end.
    pub fn extend(&self, added: Vec<Value>) -> Result<()> {
        self.change(&added, |items| items.extend_from_slice(&added))
    }

    /// Changes the items; `added`: the values that the change adds.
    pub fn change<R>(
        &self,
        added: &[Value],
        change: impl FnOnce(&mut Vec<Value>) -> R,
    ) -> Result<R> {
        if self.form != Form::List {
            return Err(invalid("a tuple or range cannot be changed"));
        }
        self.height.changes();
        for value in added {
            self.height.admit(value)?;
        }
        // The list may grow by half of its length, or all items after a place may move.
        charge_items(2 * added.len())?;
        budget::scan(self.look(<[_]>::len) * size_of::<Value>())?;
        Ok(change(&mut lock(&self.items)))
    }
}

/// A map that is still to be made.
#[derive(Debug)]
struct Unread {
    from: Source,
    is_unread: AtomicBool,
}

/// The source of a map that is made on its first read. Most templates only print a tool's schema.
#[derive(Debug)]
pub enum Source {
    Json(Arc<Json>, fn(&Json) -> Pairs),
    Tool(
        Arc<[Tool]>,
        usize,
        fn(&Tool, &Arc<ToolMemo>) -> Option<Pairs>,
    ),
}

pub type Pairs = Vec<(Value, Value)>;

/// A map in a tool of the request, and the memory of the tool.
pub type KnownPart = (Arc<ToolMemo>, Part);

/// A Python dict.
#[derive(Debug)]
pub struct Dict {
    map: Mutex<Map>,
    height: Height,
    pub trace: Trace,
    unread: Option<Unread>,
    /// Of a map in a tool: the memory of the tool.
    memo: Option<KnownPart>,
}

impl Dict {
    /// A map of `pairs`. For equal keys the last value is used.
    pub fn of(pairs: Pairs) -> Result<Value> {
        charge_container(4 * pairs.len())?;
        for (key, _) in &pairs {
            check_key(key)?;
        }
        let height = Height::above(pairs.iter().flat_map(|(key, value)| [key, value]))?;
        Ok(Value::from_object(Dict::new(Map::of(pairs), height)))
    }

    fn new(map: Map, height: Height) -> Dict {
        Dict {
            map: Mutex::new(map),
            height,
            trace: Trace::default(),
            unread: None,
            memo: None,
        }
    }

    /// The map, locked: no other method of this dict may be called meanwhile.
    pub fn map(&self) -> MutexGuard<'_, Map> {
        let mut map = lock(&self.map);
        if let Some(Unread { from, is_unread }) = &self.unread
            && is_unread.swap(false, Ordering::Relaxed)
        {
            *map = Map::of_json(match from {
                Source::Json(json, pairs) => pairs(json),
                Source::Tool(tools, index, pairs) => self
                    .memo
                    .as_ref()
                    .and_then(|(memo, _)| pairs(&tools[*index], memo))
                    .unwrap_or_default(),
            });
        }
        map
    }

    /// The JSON that it is, if nobody has looked at it.
    pub fn unread(&self) -> Option<&Json> {
        let Unread {
            from: Source::Json(json, _),
            is_unread,
        } = self.unread.as_ref()?
        else {
            return None;
        };
        let _map = lock(&self.map);
        is_unread.load(Ordering::Relaxed).then_some(json)
    }

    /// The memory of its tool, unless the template has changed a value that it was given.
    pub fn known(&self) -> Option<(&ToolMemo, Part)> {
        let (memo, part) = self.memo.as_ref().filter(|_| !budget::given_changed())?;
        Some((memo, *part))
    }

    /// A copy of the pairs, in order.
    pub fn pairs(&self) -> Result<Pairs> {
        let map = self.map();
        charge_items(2 * map.len())?;
        Ok(map.pairs().to_vec())
    }

    /// Passes the pairs to `look`, in order; as [`List::look`].
    pub fn look<R>(&self, look: impl FnOnce(&[(Value, Value)]) -> R) -> R {
        look(self.map().pairs())
    }

    /// Records that all values were read.
    pub fn read_values(&self) {
        if self.trace.is_on() {
            let map = self.map();
            let names = map.pairs().iter().filter_map(|(key, _)| key.as_str());
            names.for_each(|name| self.trace.read_child(name));
        }
    }

    /// The value at `key`, without recording an access.
    pub fn get(&self, key: &Value) -> Option<Value> {
        match (key.as_object(), as_text(key)) {
            (Some(_), Some(text)) => self.map().get_by_str(text),
            // A value that cannot be a key is excluded: comparing it could access this map.
            (Some(_), None) if check_key(key).is_err() => None,
            _ => self.map().get(key),
        }
    }

    /// Sets the value of a key; the value must be data. A value that is too deep for this place,
    /// because it contains this map or reserves too many levels, is copied as it is now.
    pub fn set(&self, key: &str, value: Value) -> Result<()> {
        self.height.changes();
        let mut value = value;
        if self.height.admit(&value).is_err() {
            (value, _) = copied(&value)?;
            self.height.admit(&value)?;
        }
        self.map().set(key, value)
    }

    /// Adds pairs at the end.
    pub fn extend(&self, added: Pairs) -> Result<()> {
        self.change(&added, |pairs| pairs.extend_from_slice(&added))
    }

    /// Changes the pairs; `added`: the values that the change adds.
    pub fn change<R>(
        &self,
        added: &[(Value, Value)],
        change: impl FnOnce(&mut Pairs) -> R,
    ) -> Result<R> {
        self.height.changes();
        for (key, value) in added {
            check_key(key)?;
            self.height.admit(key)?;
            self.height.admit(value)?;
        }
        let mut pairs = self.pairs()?;
        charge_items(4 * added.len())?;
        let result = change(&mut pairs);
        *self.map() = Map::of(pairs);
        Ok(result)
    }
}

/// Keys must be immutable: scalars and tuples of them, as in Python. Their parts are copied, and
/// count: a tuple may hold one many times.
fn check_key(key: &Value) -> Result<()> {
    if let Some(text) = as_text(key) {
        return budget::scan(text.len());
    }
    match (as_list(key), key.as_object()) {
        (Some(list), _) if list.form.is_tuple() => list.look(|items| {
            charge_items(2 * items.len())?;
            items.iter().try_for_each(check_key)
        }),
        (None, None) => Ok(()),
        _ => Err(invalid("a list or map cannot be the key of a map")),
    }
}

/// A string that records accesses.
#[derive(Debug)]
pub struct Text {
    pub text: String,
    pub trace: Trace,
}

impl Object for Text {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let index = key.as_i64()?;
        self.trace.index();
        budget::note(self.text.len() as u64);
        let index = from_end(index, self.text.chars().count());
        let mut chars = self.text.chars();
        Some(chars.nth(index.try_into().ok()?)?.into())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        !self.text.is_empty()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The list that a value is.
pub fn as_list(value: &Value) -> Option<&List> {
    value.downcast_object_ref()
}

/// The map that a value is.
pub fn as_dict(value: &Value) -> Option<&Dict> {
    value.downcast_object_ref()
}

/// The text of a string.
pub fn as_text(value: &Value) -> Option<&str> {
    match value.as_str() {
        None => Some(&value.downcast_object_ref::<Text>()?.text),
        text => text,
    }
}

/// The item of a value at a key of a path: a number is an index.
pub fn item_at(value: &Value, key: &str) -> Value {
    let index = key.parse::<usize>().map(Value::from);
    let key = index.unwrap_or_else(|_| key.into());
    value.get_item(&key).unwrap_or_default()
}

/// The items of a list, the keys of a map or the characters of a string, for filters; empty for
/// undefined and none. They are copies, and count.
pub fn items(value: &Value) -> Result<Vec<Value>> {
    if let Some(list) = as_list(value) {
        list.read_items();
        return list.items();
    }
    if let Some(dict) = as_dict(value) {
        let map = dict.map();
        charge_items(map.len())?;
        return Ok(map.keys());
    }
    if let Some(text) = value.downcast_object_ref::<Text>() {
        text.trace.index();
    }
    if let Some(text) = as_text(value) {
        charge_items(text.chars().count())?;
        return Ok(text.chars().map(Value::from).collect());
    }
    if value.is_none() {
        return Ok(Vec::new());
    }
    let items = value.try_iter()?;
    items.map(|item| charge_piece(0).map(|()| item)).collect()
}

/// The first of [`items`], or the last. Undefined if there is none.
pub fn end_item(value: &Value, last: bool) -> Result<Value> {
    let end = if let Some(list) = as_list(value) {
        list.read_items();
        list.look(|items| if last { items.last() } else { items.first() }.cloned())
    } else if let Some(text) = as_text(value) {
        if let Some(text) = value.downcast_object_ref::<Text>() {
            text.trace.index();
        }
        let mut chars = text.chars();
        if last {
            chars.next_back()
        } else {
            chars.next()
        }
        .map(Value::from)
    } else {
        let mut all = items(value)?.into_iter();
        if last { all.next_back() } else { all.next() }
    };
    Ok(end.unwrap_or_default())
}

/// The pairs of a map; empty for undefined and none.
pub fn pairs(value: &Value) -> Result<Pairs> {
    if let Some(dict) = as_dict(value) {
        dict.read_values();
        return dict.pairs();
    }
    match (
        value.kind(),
        value.as_object().and_then(|object| object.try_iter_pairs()),
    ) {
        (ValueKind::Map, Some(pairs)) => pairs.map(|pair| charge_piece(0).map(|()| pair)).collect(),
        (ValueKind::Undefined | ValueKind::None, _) => Ok(Vec::new()),
        (kind, _) => Err(invalid(format!("a map is needed here, not {kind}"))),
    }
}

/// `value` as data that may be stored: the engine's containers are converted, and values that are
/// not data are rejected.
pub fn own(value: Value) -> Result<Value> {
    own_at(value, 0)
}

fn own_at(value: Value, depth: usize) -> Result<Value> {
    if depth > VALUE_DEPTH {
        return Err(too_deep());
    }
    let Some(object) = value.as_object() else {
        return Ok(value);
    };
    if is_scalar(object) || height_of(&value).is_some_and(|height| !height.loose) {
        return Ok(value);
    }
    match object.repr() {
        ObjectRepr::Seq | ObjectRepr::Iterable => {
            let form = as_list(&value).map_or(Form::List, |list| list.form);
            let items = value.try_iter()?.map(|item| own_at(item, depth + 1));
            List::make(items.collect::<Result<_>>()?, form)
        }
        ObjectRepr::Map => {
            let mut pairs = pairs(&value)?;
            for (_, item) in &mut pairs {
                *item = own_at(std::mem::take(item), depth + 1)?;
            }
            Dict::of(pairs)
        }
        _ => Err(invalid(
            "only data can be kept in a list, a map or a namespace",
        )),
    }
}

/// A copy of a value with all that is in it, and its exact depth.
fn copied(value: &Value) -> Result<(Value, usize)> {
    if let Some(list) = as_list(value) {
        let mut items = list.items()?;
        charge_container(0)?;
        let levels = copy_each(items.iter_mut())? + 1;
        let copy = List::new(items, Height::known(levels, true)?, list.form);
        return Ok((Value::from_object(copy), levels));
    }
    if let Some(dict) = as_dict(value) {
        let mut pairs = dict.pairs()?;
        charge_container(2 * pairs.len())?;
        let levels = copy_each(pairs.iter_mut().map(|(_, item)| item))? + 1;
        let copy = Dict::new(Map::of(pairs), Height::known(levels, true)?);
        return Ok((Value::from_object(copy), levels));
    }
    Ok((value.clone(), 0))
}

/// Replaces values by copies, and returns the greatest of their depths.
fn copy_each<'v>(items: impl Iterator<Item = &'v mut Value>) -> Result<usize> {
    let mut below = 0;
    for item in items {
        let (copy, levels) = copied(item)?;
        (*item, below) = (copy, below.max(levels));
    }
    Ok(below)
}

/// A list of `items` of the depth `below`, which know that they are inside of a list, and its
/// depth. `inside`: whether the list is inside of another container.
pub fn nested_list(
    items: Vec<Value>,
    below: usize,
    inside: bool,
    trace: Trace,
) -> Result<(Value, usize)> {
    let list = List {
        trace,
        ..List::new(items, Height::given(below, inside)?, Form::List)
    };
    Ok((Value::from_object(list), below + 1))
}

/// A map, as [`nested_list`] makes a list; its keys are distinct texts. `memo`: of a map in a tool,
/// the memory of the tool.
pub fn nested_dict(
    pairs: Pairs,
    below: usize,
    inside: bool,
    trace: Trace,
    memo: Option<KnownPart>,
) -> Result<(Value, usize)> {
    let dict = Dict {
        trace,
        memo,
        ..Dict::new(Map::of_json(pairs), Height::given(below, inside)?)
    };
    Ok((Value::from_object(dict), below + 1))
}

/// A map that is made once somebody looks at it, as [`nested_dict`] makes one inside of another
/// container.
pub fn unread_dict(from: Source, below: usize, memo: Option<KnownPart>) -> Result<(Value, usize)> {
    let dict = Dict {
        unread: Some(Unread {
            from,
            is_unread: AtomicBool::new(true),
        }),
        memo,
        ..Dict::new(Map::of_json(Vec::new()), Height::given(below, true)?)
    };
    Ok((Value::from_object(dict), below + 1))
}
