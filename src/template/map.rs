//! The pairs of a dict, in order.

use std::sync::Arc;

use minijinja::value::{Enumerator, Object, Value};

/// Most pairs that are searched one after another: for so few, that costs less than an index.
const SHORT: usize = 16;

/// Keys and values; no key is there twice.
#[derive(Debug)]
pub(super) enum Map {
    /// A few texts and their values.
    Short(Vec<(Value, Value)>),
    /// A map of the engine's own, which has an index.
    Long(Value),
}

impl Map {
    /// A map of `pairs`; of equal keys the last counts, at the place of the first.
    pub(super) fn of(mut pairs: Vec<(Value, Value)>) -> Map {
        if pairs.len() > SHORT || pairs.iter().any(|(key, _)| key.as_str().is_none()) {
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

    /// A map of `pairs` whose keys are texts, each another one.
    pub(super) fn of_json(pairs: Vec<(Value, Value)>) -> Map {
        if pairs.len() > SHORT { Map::Long(Value::from_pairs(pairs)) } else { Map::Short(pairs) }
    }

    pub(super) fn get(&self, key: &Value) -> Option<Value> {
        match self {
            Map::Short(_) => self.get_by_str(key.as_str()?),
            // Nothing but scalars is a key. Other values could look at this very map while it is looked at.
            Map::Long(_) if key.as_object().is_some() => None,
            Map::Long(map) => map.as_object()?.get_value(key),
        }
    }

    pub(super) fn get_by_str(&self, key: &str) -> Option<Value> {
        match self {
            Map::Short(pairs) => {
                pairs.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value.clone())
            }
            Map::Long(map) => map.as_object()?.get_value_by_str(key),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Map::Short(pairs) => pairs.len(),
            Map::Long(map) => map.len().unwrap_or_default(),
        }
    }

    pub(super) fn keys(&self) -> Vec<Value> {
        match self {
            Map::Short(pairs) => pairs.iter().map(|(key, _)| key.clone()).collect(),
            Map::Long(map) => map.try_iter().map(Iterator::collect).unwrap_or_default(),
        }
    }

    pub(super) fn pairs(&self) -> Vec<(Value, Value)> {
        match self {
            Map::Short(pairs) => pairs.clone(),
            Map::Long(map) => map.as_object().and_then(|map| map.try_iter_pairs()).into_iter().flatten().collect(),
        }
    }

    /// Shows all pairs to `look`.
    pub(super) fn look<R>(&self, look: impl FnOnce(&[(Value, Value)]) -> R) -> R {
        match self {
            Map::Short(pairs) => look(pairs),
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
    }
}
