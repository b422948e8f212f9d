//! The pairs of a dict, in order.

use std::collections::HashMap;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, Value};

use crate::budget::charge_items;
use crate::fault::Result;
use crate::python::numbers::{integer, real, truncate};

/// The maximum number of pairs for linear search, which is faster than an index for few pairs.
const SHORT: usize = 16;

/// Keys and values, without duplicate keys.
#[derive(Debug)]
pub enum Map {
    /// A few pairs with text keys.
    Short(Vec<(Value, Value)>),
    /// A map of the engine, which has an index; its keys are texts.
    Long(Value),
    /// Pairs with other keys, and an index.
    Mixed(Vec<(Value, Value)>, HashMap<Key, usize>),
}

/// A key in Python's sense of equality: 1, 1.0 and true are equal.
#[derive(Debug, PartialEq, Eq, Hash)]
pub enum Key {
    Nothing,
    Text(Box<str>),
    Whole(i128),
    Real(u64),
    Tuple(Vec<Key>),
}

impl Key {
    /// The key for a scalar or a tuple of scalars; callers must not pass other values.
    fn of(value: &Value) -> Key {
        if let Some(text) = value.as_str() {
            return Key::Text(text.into());
        }
        match (integer(value), real(value)) {
            (Some(number), _) => Key::Whole(number),
            (None, Some(number)) if number.fract() == 0.0 && truncate(number).is_some() => Key::Whole(number as i128),
            (None, Some(number)) => Key::Real(number.to_bits()),
            _ => match value.as_object().and_then(|object| object.try_iter()) {
                Some(items) => Key::Tuple(items.map(|item| Key::of(&item)).collect()),
                None => Key::Nothing,
            },
        }
    }
}

impl Map {
    /// A map of `pairs`. For equal keys the last value is used, at the position of the first.
    pub fn of(mut pairs: Vec<(Value, Value)>) -> Map {
        if pairs.iter().any(|(key, _)| key.as_str().is_none()) {
            return Map::mixed(pairs);
        }
        if pairs.len() > SHORT {
            return Map::Long(Value::from_pairs(pairs));
        }
        let mut len = 0;
        for at in 0..pairs.len() {
            match (0..len).find(|&known| pairs[known].0 == pairs[at].0) {
                Some(known) => pairs[known].1 = std::mem::take(&mut pairs[at].1),
                None => {
                    pairs.swap(len, at);
                    len += 1;
                }
            }
        }
        pairs.truncate(len);
        Map::Short(pairs)
    }

    fn mixed(given: Vec<(Value, Value)>) -> Map {
        let (mut pairs, mut index) = (Vec::<(Value, Value)>::with_capacity(given.len()), HashMap::new());
        for (key, value) in given {
            let at = *index.entry(Key::of(&key)).or_insert(pairs.len());
            match pairs.get_mut(at) {
                Some(pair) => pair.1 = value,
                None => pairs.push((key, value)),
            }
        }
        Map::Mixed(pairs, index)
    }

    /// A map of `pairs` with distinct text keys.
    pub fn of_json(pairs: Vec<(Value, Value)>) -> Map {
        if pairs.len() > SHORT { Map::Long(Value::from_pairs(pairs)) } else { Map::Short(pairs) }
    }

    pub fn get(&self, key: &Value) -> Option<Value> {
        match self {
            Map::Short(_) => self.get_by_str(key.as_str()?),
            Map::Long(map) => map.as_object()?.get_value_by_str(key.as_str()?),
            Map::Mixed(pairs, index) => index.get(&Key::of(key)).map(|at| pairs[*at].1.clone()),
        }
    }

    pub fn get_by_str(&self, key: &str) -> Option<Value> {
        match self {
            Map::Short(pairs) => {
                pairs.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value.clone())
            }
            Map::Long(map) => map.as_object()?.get_value_by_str(key),
            Map::Mixed(pairs, index) => index.get(&Key::Text(key.into())).map(|at| pairs[*at].1.clone()),
        }
    }

    /// Sets the value of a key.
    pub fn set(&mut self, key: &str, value: Value) -> Result<()> {
        if let Map::Short(pairs) = self
            && let Some(pair) = pairs.iter_mut().find(|(name, _)| name.as_str() == Some(key))
        {
            pair.1 = value;
            return Ok(());
        }
        charge_items(2 * self.len() + 2)?;
        let mut pairs = self.pairs();
        pairs.push((Value::from(key), value));
        *self = Map::of(pairs);
        Ok(())
    }

    pub fn len(&self) -> usize {
        match self {
            Map::Short(pairs) | Map::Mixed(pairs, _) => pairs.len(),
            Map::Long(map) => map.len().unwrap_or_default(),
        }
    }

    pub fn keys(&self) -> Vec<Value> {
        match self {
            Map::Short(pairs) | Map::Mixed(pairs, _) => pairs.iter().map(|(key, _)| key.clone()).collect(),
            Map::Long(map) => map.try_iter().map(Iterator::collect).unwrap_or_default(),
        }
    }

    pub fn pairs(&self) -> Vec<(Value, Value)> {
        match self {
            Map::Short(pairs) | Map::Mixed(pairs, _) => pairs.clone(),
            Map::Long(map) => map.as_object().and_then(|map| map.try_iter_pairs()).into_iter().flatten().collect(),
        }
    }

    /// Passes all pairs to a function.
    pub fn look<R>(&self, look: impl FnOnce(&[(Value, Value)]) -> R) -> R {
        match self {
            Map::Short(pairs) | Map::Mixed(pairs, _) => look(pairs),
            Map::Long(_) => look(&self.pairs()),
        }
    }
}

impl Object for Map {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get(key)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.get_by_str(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.keys())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_maps_are_alike() {
        for count in [3, SHORT, SHORT + 1, 100] {
            let pair = |n: usize| (Value::from(format!("key {n}")), Value::from(n));
            let mut pairs: Vec<_> = (0..count).map(pair).collect();
            pairs.extend([(Value::from("key 1"), Value::from("again")), (Value::from("last"), Value::from(()))]);
            let map = Map::of(pairs);
            assert_eq!(map.len(), count + 1);
            assert_eq!(map.keys().len(), count + 1);
            assert_eq!(map.look(|pairs| pairs[1].clone()), (Value::from("key 1"), Value::from("again")));
            assert_eq!(map.pairs()[count].0, Value::from("last"));
            assert_eq!(map.get(&Value::from("key 1")), map.get_by_str("key 1"));
            assert_eq!(map.get_by_str("key 2"), Some(Value::from(2)));
            assert_eq!((map.get_by_str("key"), map.get(&Value::from(1))), (None, None));
        }
    }

    #[test]
    fn keys_that_are_no_texts_are_found() {
        let map = Map::of(vec![(Value::from(1), Value::from("one")), (Value::from("a"), Value::from("b"))]);
        assert_eq!(map.get(&Value::from(1)), Some(Value::from("one")));
        assert_eq!(map.get_by_str("a"), Some(Value::from("b")));
        let map = Map::of(vec![(Value::from(true), Value::from("one")), (Value::from(1.0), Value::from("again"))]);
        assert_eq!((map.len(), map.get(&Value::from(1))), (1, Some(Value::from("again"))));
        assert_eq!(map.keys(), [Value::from(true)]);
    }
}
