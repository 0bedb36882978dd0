//! A cache of hook keys, so that most checks need no look-up of their gateway's hook.
//!
//! An entry is trusted for half a second from the start of its look-up: so a deleted hook is refused by every server
//! within a second. The server that deletes it refuses it at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gatehouse_core::{GenerationalCache, Hook, HookId, TenantName, Timestamp};
use parking_lot::Mutex;

/// Age from which an entry is looked up again.
const TRUSTED_FOR: Duration = Duration::from_millis(500);

/// Keys in one generation; the cache has two.
const GENERATION: usize = 4096;

const MINUTE_MILLISECONDS: i64 = 60_000;

/// A tenant, and the digest of a key.
pub(crate) type TenantKey = (TenantName, [u8; 32]);

/// Hooks by their keys, and when the keys were used.
#[derive(Default)]
pub(crate) struct HookKeys {
    known: Mutex<Known>,
    /// The last use of each hook that isn't written yet.
    uses: Mutex<HashMap<(TenantName, HookId), Timestamp>>,
}

#[derive(Default)]
struct Known {
    cache: GenerationalCache<TenantKey, Entry, GENERATION>,
    /// Number of deletions that this server has made.
    n_deletions: u64,
}

#[derive(Clone)]
struct Entry {
    hook: Arc<Hook>,
    looked_up_at: Instant,
}

/// A look-up that has begun. What was read before a deletion must not be cached after it.
pub(crate) struct Lookup {
    n_deletions: u64,
    begun_at: Instant,
}

impl HookKeys {
    /// The hook of this key, if its look-up is recent.
    pub(crate) fn get(&self, key: &TenantKey) -> Option<Arc<Hook>> {
        let mut known = self.known.lock();
        let entry = known.cache.get(key)?;
        (entry.looked_up_at.elapsed() < TRUSTED_FOR).then(|| Arc::clone(&entry.hook))
    }

    pub(crate) fn begin(&self) -> Lookup {
        Lookup { n_deletions: self.known.lock().n_deletions, begun_at: Instant::now() }
    }

    /// Caches what a look-up has found.
    pub(crate) fn insert(&self, lookup: Lookup, key: TenantKey, hook: Hook) -> Arc<Hook> {
        let hook = Arc::new(hook);
        let entry = Entry { hook: Arc::clone(&hook), looked_up_at: lookup.begun_at };
        let mut known = self.known.lock();
        if known.n_deletions == lookup.n_deletions {
            known.cache.insert(key, entry);
        }
        hook
    }

    /// Forgets every key, because a hook was deleted. Those of the others are looked up again.
    pub(crate) fn forget_all(&self) {
        let mut known = self.known.lock();
        known.cache = GenerationalCache::default();
        known.n_deletions += 1;
    }

    /// Notes the minute of a use, unless it is stored already.
    pub(crate) fn note_use(&self, tenant: &TenantName, hook: &Hook, now: Timestamp) {
        let minute = minute(now);
        if hook.used_at.is_some_and(|at| at >= minute) {
            return;
        }
        let mut uses = self.uses.lock();
        let last = uses.entry((tenant.clone(), hook.id)).or_insert(minute);
        *last = minute.max(*last);
    }

    /// Takes the uses that aren't written yet.
    pub(crate) fn take_uses(&self) -> Vec<(TenantName, HookId, Timestamp)> {
        let uses = std::mem::take(&mut *self.uses.lock());
        uses.into_iter().map(|((tenant, id), at)| (tenant, id, at)).collect()
    }

    /// Puts back uses that could not be written.
    pub(crate) fn put_back(&self, uses: Vec<(TenantName, HookId, Timestamp)>) {
        let mut all = self.uses.lock();
        for (tenant, id, at) in uses {
            let last = all.entry((tenant, id)).or_insert(at);
            *last = at.max(*last);
        }
    }
}

/// The beginning of a time's minute.
fn minute(at: Timestamp) -> Timestamp {
    let milliseconds = at.as_millisecond();
    at.plus_milliseconds(-milliseconds.rem_euclid(MINUTE_MILLISECONDS))
}

#[cfg(test)]
mod tests {
    use gatehouse_core::Dialect;

    use super::*;

    fn key() -> TenantKey {
        ("acme".parse().unwrap(), [7; 32])
    }

    fn hook(used_at: Option<Timestamp>) -> Hook {
        let id = HookId::new(1, &[0; 10]);
        Hook { id, dialect: Dialect::Basic, name: None, created_at: Timestamp::EPOCH, used_at }
    }

    #[test]
    fn nothing_that_was_read_before_a_deletion_is_cached_after_it() {
        let keys = HookKeys::default();
        let before = keys.begin();
        keys.insert(keys.begin(), key(), hook(None));
        assert!(keys.get(&key()).is_some());
        keys.forget_all();
        assert!(keys.get(&key()).is_none());
        keys.insert(before, key(), hook(None));
        assert!(keys.get(&key()).is_none());
        keys.insert(keys.begin(), key(), hook(None));
        assert!(keys.get(&key()).is_some());
    }

    #[test]
    fn an_old_look_up_is_not_trusted() {
        let keys = HookKeys::default();
        let Some(begun_at) = Instant::now().checked_sub(TRUSTED_FOR) else { return };
        keys.insert(Lookup { begun_at, ..keys.begin() }, key(), hook(None));
        assert!(keys.get(&key()).is_none());
    }

    #[test]
    fn the_latest_minute_of_a_use_is_written_once() {
        let keys = HookKeys::default();
        let (tenant, _) = key();
        let at = |seconds: i64| Timestamp::EPOCH.plus_milliseconds(seconds * 1000);
        for seconds in [59, 61, 119, 30] {
            keys.note_use(&tenant, &hook(None), at(seconds));
        }
        let uses = keys.take_uses();
        assert_eq!(uses, [(tenant.clone(), hook(None).id, at(60))]);
        keys.put_back(uses);
        keys.note_use(&tenant, &hook(Some(at(60))), at(70));
        assert_eq!(keys.take_uses(), [(tenant.clone(), hook(None).id, at(60))]);
        keys.note_use(&tenant, &hook(Some(at(60))), at(70));
        assert_eq!(keys.take_uses(), []);
    }
}
