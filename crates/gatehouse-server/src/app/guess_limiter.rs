//! Rate limit for guessing passwords and client secrets, by name.
//!
//! Each name has some free failures. After those the wait between two attempts is a second, and doubles with every
//! failure up to a minute; an earlier attempt is refused without a check. A success resets the count, and so does a
//! while without attempts. Each of several servers has its share: fewer free failures, and longer waits.
//!
//! An attempt counts from its start, so that parallel attempts count, too. An attempt without a check is given back.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use gatehouse_core::{CurrentShare, GenerationalCache, ReplicaShare, TenantName};
use parking_lot::{Mutex, MutexGuard};

/// Wait after the last free failure. Each further failure doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Names in one generation; the cache has two. A counted attempt at an access is a slow hash: to evict a name, an
/// attacker would have to keep the server hashing for a quarter of an hour. Of clients, only existing ones count.
const GENERATION: usize = 65_536;

/// Counts failed attempts at the secrets of accesses and clients.
pub(crate) struct GuessLimiter {
    /// Free failures over all servers; 0 for no limit.
    free: u32,
    share: CurrentShare,
    /// Hashers with random keys, so that an attacker can't provoke collisions of names.
    hashers: [RandomState; 2],
    /// Separate from `clients`: attempts at a client's secret are cheap, and must not evict accesses.
    accesses: Mutex<NameCache>,
    clients: Mutex<NameCache>,
}

/// Two hashes of a tenant and a name.
type NameHash = [u64; 2];

type NameCache = GenerationalCache<NameHash, Attempts, GENERATION>;

/// The failed and running attempts of one name.
#[derive(Clone, Copy)]
struct Attempts {
    n: u32,
    last: Instant,
    /// When the next attempt is allowed.
    next: Instant,
}

/// The kind of object whose secret is guessed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SecretOwner {
    /// An access, by its username.
    Access,
    /// A client.
    Client,
}

/// An allowed attempt. It counts as a failure unless it succeeds or is given back.
#[must_use]
pub(crate) struct Attempt<'a> {
    limiter: &'a GuessLimiter,
    owner: SecretOwner,
    name: Option<NameHash>,
}

impl GuessLimiter {
    pub(crate) fn new(free: u32, share: CurrentShare) -> Self {
        let hashers = [RandomState::new(), RandomState::new()];
        Self { free, share, hashers, accesses: Mutex::default(), clients: Mutex::default() }
    }

    /// Begins an attempt, or returns the wait until the next one is allowed.
    pub(crate) fn begin(
        &self,
        owner: SecretOwner,
        tenant: &TenantName,
        name: &str,
    ) -> Result<Attempt<'_>, Duration> {
        if self.free == 0 {
            return Ok(Attempt { limiter: self, owner, name: None });
        }
        let name = self.hashers.each_ref().map(|it| it.hash_one((tenant, name)));
        self.count(owner, name, Instant::now())?;
        Ok(Attempt { limiter: self, owner, name: Some(name) })
    }

    fn count(&self, owner: SecretOwner, name: NameHash, now: Instant) -> Result<(), Duration> {
        let share = self.share.get();
        // At the slowest rate, as many attempts would be allowed in that time.
        let forgotten_after = LONGEST_WAIT * self.free.max(2) * share.of();
        let (free, _) = share.calls(self.free, FIRST_WAIT);
        let mut names = self.lock(owner);
        let known = names.peek(&name).filter(|it| now < it.next.max(it.last + forgotten_after));
        let mut attempts = known.copied().unwrap_or(Attempts { n: 0, last: now, next: now });
        if now < attempts.next {
            return Err(attempts.next - now);
        }
        attempts.n = attempts.n.saturating_add(1);
        attempts.last = now;
        if attempts.n >= free {
            attempts.next = now + wait_after(attempts.n - free, share);
        }
        names.insert(name, attempts);
        Ok(())
    }

    fn forget(&self, owner: SecretOwner, name: NameHash) {
        self.lock(owner).remove(&name);
    }

    fn give_back(&self, owner: SecretOwner, name: NameHash) {
        let mut names = self.lock(owner);
        if let Some(mut attempts) = names.peek(&name).copied() {
            attempts.n = attempts.n.saturating_sub(1);
            attempts.next = attempts.last;
            names.insert(name, attempts);
        }
    }

    fn lock(&self, owner: SecretOwner) -> MutexGuard<'_, NameCache> {
        let names = match owner {
            SecretOwner::Access => &self.accesses,
            SecretOwner::Client => &self.clients,
        };
        names.lock()
    }
}

/// Wait after `n_beyond` failures beyond the free ones. Each server waits longer, so that all together keep the rate.
fn wait_after(n_beyond: u32, share: ReplicaShare) -> Duration {
    let wait = FIRST_WAIT.checked_mul(1 << n_beyond.min(16)).unwrap_or(LONGEST_WAIT);
    wait.min(LONGEST_WAIT) * share.of()
}

impl Attempt<'_> {
    /// Resets the count: the secret was right.
    pub(crate) fn succeed(self) {
        if let Some(name) = self.name {
            self.limiter.forget(self.owner, name);
        }
    }

    /// Takes the attempt back: the secret was not checked.
    pub(crate) fn give_back(self) {
        if let Some(name) = self.name {
            self.limiter.give_back(self.owner, name);
        }
    }
}

#[cfg(test)]
mod tests;
