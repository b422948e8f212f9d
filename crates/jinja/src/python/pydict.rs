//! The pairs of a dict, in order.

use std::collections::HashMap;

use minijinja::value::{Enumerator, Value};

use super::numbers::{integer, real, truncate};
use crate::budget::charge_items;
use crate::fault::Result;

/// The maximum number of pairs for linear search, which is faster than an index for few pairs.
const SHORT: usize = 16;

/// Keys and values, without duplicate keys.
#[derive(Debug)]
pub struct Map {
    pairs: Vec<(Value, Value)>,
    /// Where the pair of each key is; `None` for a few pairs with text keys.
    index: Option<HashMap<Key, usize>>,
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
        if let Some(number) = integer(value) {
            return Key::Whole(number);
        }
        if let Some(number) = real(value) {
            return match truncate(number) {
                Some(whole) if number.fract() == 0.0 => Key::Whole(whole),
                _ => Key::Real(number.to_bits()),
            };
        }
        match value.as_object().and_then(|object| object.try_iter()) {
            Some(items) => Key::Tuple(items.map(|item| Key::of(&item)).collect()),
            None => Key::Nothing,
        }
    }
}

impl Map {
    /// A map of `pairs`. For equal keys the last value is used, at the position of the first.
    pub fn of(pairs: Vec<(Value, Value)>) -> Map {
        let is_short = pairs.len() <= SHORT && pairs.iter().all(|(key, _)| key.as_str().is_some());
        let mut map = Map {
            pairs: Vec::with_capacity(pairs.len()),
            index: (!is_short).then(HashMap::new),
        };
        for (key, value) in pairs {
            let end = map.pairs.len();
            let at = match &mut map.index {
                Some(index) => *index.entry(Key::of(&key)).or_insert(end),
                None => map
                    .pairs
                    .iter()
                    .position(|(known, _)| *known == key)
                    .unwrap_or(end),
            };
            match map.pairs.get_mut(at) {
                Some(pair) => pair.1 = value,
                None => map.pairs.push((key, value)),
            }
        }
        map
    }

    /// A map of `pairs` with distinct text keys.
    pub fn of_json(pairs: Vec<(Value, Value)>) -> Map {
        if pairs.len() > SHORT {
            Map::of(pairs)
        } else {
            Map { pairs, index: None }
        }
    }

    pub fn get(&self, key: &Value) -> Option<Value> {
        match &self.index {
            Some(index) => index.get(&Key::of(key)).map(|at| self.pairs[*at].1.clone()),
            None => self.get_by_str(key.as_str()?),
        }
    }

    pub fn get_by_str(&self, key: &str) -> Option<Value> {
        self.place(key).map(|at| self.pairs[at].1.clone())
    }

    fn place(&self, key: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(&Key::Text(key.into())).copied(),
            None => self
                .pairs
                .iter()
                .position(|(name, _)| name.as_str() == Some(key)),
        }
    }

    /// Sets the value of a key.
    pub fn set(&mut self, key: &str, value: Value) -> Result<()> {
        if let Some(at) = self.place(key) {
            self.pairs[at].1 = value;
            return Ok(());
        }
        charge_items(2 * self.len() + 2)?;
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.push((Value::from(key), value));
        *self = Map::of(pairs);
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn keys(&self) -> Vec<Value> {
        self.pairs.iter().map(|(key, _)| key.clone()).collect()
    }

    /// The keys for the engine's loops; none if the render may not copy them.
    pub fn enumerate(&self) -> Enumerator {
        charge_items(self.len()).map_or(Enumerator::Empty, |()| Enumerator::Values(self.keys()))
    }

    /// The pairs, in order.
    pub fn pairs(&self) -> &[(Value, Value)] {
        &self.pairs
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
            pairs.extend([
                (Value::from("key 1"), Value::from("again")),
                (Value::from("last"), Value::from(())),
            ]);
            let map = Map::of(pairs);
            assert_eq!(map.len(), count + 1);
            assert_eq!(map.keys().len(), count + 1);
            assert_eq!(
                map.pairs()[1].clone(),
                (Value::from("key 1"), Value::from("again"))
            );
            assert_eq!(map.pairs()[count].0, Value::from("last"));
            assert_eq!(map.get(&Value::from("key 1")), map.get_by_str("key 1"));
            assert_eq!(map.get_by_str("key 2"), Some(Value::from(2)));
            assert_eq!(
                (map.get_by_str("key"), map.get(&Value::from(1))),
                (None, None)
            );
        }
    }

    #[test]
    fn keys_that_are_no_texts_are_found() {
        let map = Map::of(vec![
            (Value::from(1), Value::from("one")),
            (Value::from("a"), Value::from("b")),
        ]);
        assert_eq!(map.get(&Value::from(1)), Some(Value::from("one")));
        assert_eq!(map.get_by_str("a"), Some(Value::from("b")));
        let map = Map::of(vec![
            (Value::from(true), Value::from("one")),
            (Value::from(1.0), Value::from("again")),
        ]);
        assert_eq!(
            (map.len(), map.get(&Value::from(1))),
            (1, Some(Value::from("again")))
        );
        assert_eq!(map.keys(), [Value::from(true)]);
    }
}
