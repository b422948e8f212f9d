//! A store of values that are made from keys, within a bound in bytes: the value that was used
//! least recently goes first.
//!
//! It is locked only to look and to keep. Threads that need the same value at the same time each
//! make it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values by their keys. Threads may share it.
pub struct Store<K, V>(Mutex<Kept<K, V>>);

struct Kept<K, V> {
    /// By the hash of the key. Of two keys with one hash, the later one stays.
    entries: HashMap<u64, Entry<K, V>>,
    /// The hashes, the one that was used least recently first.
    order: BTreeMap<u64, u64>,
    /// Counts uses.
    clock: u64,
    bytes: usize,
    most: usize,
}

struct Entry<K, V> {
    key: K,
    value: V,
    bytes: usize,
    used: u64,
}

/// The hash of a key.
pub fn hash_of(key: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// A number for names, made of texts: the same on each machine (FNV-1a).
pub fn fingerprint<'t>(texts: impl IntoIterator<Item = &'t str>) -> u64 {
    let mut print = 0xCBF2_9CE4_8422_2325_u64;
    for text in texts {
        // No byte of UTF-8 is the last one, so the borders count.
        for byte in text.bytes().chain([u8::MAX]) {
            print = (print ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
    print
}

impl<K, V> Store<K, V> {
    /// An empty store of at most so many bytes.
    pub fn new(most: usize) -> Store<K, V> {
        let (entries, order) = Default::default();
        Store(Mutex::new(Kept {
            entries,
            order,
            clock: 0,
            bytes: 0,
            most,
        }))
    }

    /// The value of the key with this hash, if `is_key` accepts the key.
    pub fn get(&self, hash: u64, is_key: impl FnOnce(&K) -> bool) -> Option<V>
    where
        V: Clone,
    {
        let mut kept = self.locked();
        let Kept {
            entries,
            order,
            clock,
            ..
        } = &mut *kept;
        let entry = entries.get_mut(&hash).filter(|entry| is_key(&entry.key))?;
        *clock += 1;
        order.remove(&entry.used);
        order.insert(*clock, hash);
        entry.used = *clock;
        Some(entry.value.clone())
    }

    /// Keeps a value of this many bytes, unless it alone is too large.
    pub fn keep(&self, hash: u64, key: K, value: V, bytes: usize) {
        // Dropped after the lock.
        let mut gone = Vec::new();
        let mut kept = self.locked();
        gone.extend(kept.remove(hash));
        if bytes <= kept.most {
            kept.clock += 1;
            let used = kept.clock;
            kept.order.insert(used, hash);
            let entry = Entry {
                key,
                value,
                bytes,
                used,
            };
            kept.entries.insert(hash, entry);
            kept.bytes += bytes;
        }
        kept.shrink(&mut gone);
    }

    /// Measures all values again, which may have grown.
    pub fn measure(&self, bytes: impl Fn(&K, &V) -> usize) {
        // Dropped after the lock.
        let mut gone = Vec::new();
        let mut kept = self.locked();
        let mut sum = 0;
        for entry in kept.entries.values_mut() {
            entry.bytes = bytes(&entry.key, &entry.value);
            sum += entry.bytes;
        }
        kept.bytes = sum;
        kept.shrink(&mut gone);
    }

    /// The number of values, and their bytes.
    pub fn size(&self) -> (usize, usize) {
        let kept = self.locked();
        (kept.entries.len(), kept.bytes)
    }

    fn locked(&self) -> MutexGuard<'_, Kept<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V> Kept<K, V> {
    fn remove(&mut self, hash: u64) -> Option<Entry<K, V>> {
        let gone = self.entries.remove(&hash)?;
        self.order.remove(&gone.used);
        self.bytes -= gone.bytes;
        Some(gone)
    }

    /// Takes out the entries that exceed the bound.
    fn shrink(&mut self, gone: &mut Vec<Entry<K, V>>) {
        while self.bytes > self.most {
            let Some((_, hash)) = self.order.pop_first() else {
                break;
            };
            gone.extend(self.remove(hash));
        }
    }
}

impl<K, V> fmt::Debug for Store<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (entries, bytes) = self.size();
        write!(f, "{entries} entries, {bytes} bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(store: &Store<String, usize>, key: &str) -> Option<usize> {
        store.get(hash_of(key), |known| known == key)
    }

    fn keep(store: &Store<String, usize>, key: &str, bytes: usize) {
        store.keep(hash_of(key), key.to_owned(), bytes, bytes);
    }

    #[test]
    fn what_was_used_least_recently_goes_first() {
        let store = Store::new(100);
        ["a", "b", "c"].iter().for_each(|key| keep(&store, key, 30));
        assert_eq!(get(&store, "a"), Some(30));
        keep(&store, "d", 40);
        assert_eq!(
            ["a", "b", "c", "d"].map(|key| get(&store, key)),
            [Some(30), None, Some(30), Some(40)]
        );
        keep(&store, "e", 101);
        keep(&store, "a", 10);
        assert_eq!(
            (store.size(), get(&store, "e"), get(&store, "a")),
            ((3, 80), None, Some(10))
        );
        store.measure(|key, bytes| if key == "d" { 90 } else { *bytes });
        assert_eq!(
            ["a", "c", "d"].map(|key| get(&store, key)),
            [Some(10), None, Some(40)]
        );
        assert_eq!(store.size(), (2, 100));
    }

    #[test]
    fn keys_are_compared_whatever_their_hash() {
        let store = Store::new(100);
        store.keep(1, "a", 1, 1);
        assert_eq!(store.get(1, |key| *key == "b"), None);
        store.keep(1, "b", 2, 1);
        assert_eq!(
            (
                store.get(1, |key| *key == "a"),
                store.get(1, |key| *key == "b")
            ),
            (None, Some(2))
        );
    }

    #[test]
    fn a_million_keys_take_no_more_than_the_bound() {
        let store = Store::new(1_000);
        for number in 0..1_000_000_u64 {
            store.keep(number, number, (), number as usize % 40);
            assert!(store.size().1 <= 1_000);
        }
    }
}
