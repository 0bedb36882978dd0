//! A bounded cache that evicts by generation, without a clock and without a list of uses.

use std::collections::HashMap;
use std::hash::Hash;

/// A map of at most `2 * GENERATION` entries. Entries that no caller uses are evicted first.
///
/// New entries fill the young generation. When it is full, it becomes the old one, and the former old one is dropped.
#[derive(Clone, Debug)]
pub struct GenerationalCache<K, V, const GENERATION: usize> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V, const GENERATION: usize> Default for GenerationalCache<K, V, GENERATION> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Eq + Hash, V, const GENERATION: usize> GenerationalCache<K, V, GENERATION> {
    /// The value of `key`. The entry becomes young again.
    pub fn get(&mut self, key: &K) -> Option<&V> {
        if let Some((key, value)) = self.old.remove_entry(key) {
            self.insert(key, value);
        }
        self.young.get(key)
    }

    /// The value of `key`. The entry doesn't become young again, so reads evict nothing.
    pub fn peek(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// Inserts or replaces an entry. The entry is young.
    pub fn insert(&mut self, key: K, value: V) {
        self.old.remove(&key);
        if self.young.len() >= GENERATION && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &K) {
        self.young.remove(key);
        self.old.remove(key);
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether the cache has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
