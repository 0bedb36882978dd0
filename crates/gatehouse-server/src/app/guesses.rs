//! How often a secret may be guessed.
//!
//! Of each name, some failures are free. After those there must be a second between two tries, then two, and so on up to a
//! minute; what comes sooner is refused and not looked at. A success ends it, and so does a while without a try. Of
//! several servers each has its slice: fewer free failures, and longer waits.
//!
//! A check counts when it begins, so that parallel checks count, too. A check that the server did not compute is given
//! back.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use gatehouse_core::{CurrentShare, GenerationalCache, ReplicaShare, TenantName};
use parking_lot::{Mutex, MutexGuard};

/// How long is waited after the last failure that is free. Each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// How long is waited at most.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Names in one generation; two generations are kept. A try at an access that is counted is a slow hash: to have a name
/// forgotten, an attacker would have to make the server hash for a quarter of an hour. Clients are counted that exist.
const GENERATION: usize = 65_536;

/// Who guesses whose secrets.
pub(crate) struct Guesses {
    /// Failures that are free, over all servers; 0 for any number.
    free: u32,
    slice: CurrentShare,
    /// Names are told apart by these, which no attacker knows.
    hashers: [RandomState; 2],
    /// Apart from each other: trying a client's secret costs next to nothing, and must not have accesses forgotten.
    accesses: Mutex<NameCache>,
    clients: Mutex<NameCache>,
}

/// A name, told apart from others.
type Name = [u64; 2];

type NameCache = GenerationalCache<Name, Tries, GENERATION>;

/// The tries of one name that failed, or are under way.
#[derive(Clone, Copy)]
struct Tries {
    n: u32,
    last: Instant,
    /// When the next is looked at.
    next: Instant,
}

/// Whose secret is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Guessed {
    /// That of an access, by its username.
    Access,
    /// That of a client.
    Client,
}

/// A try that may be looked at. It counts as a failure unless it turns out otherwise.
#[must_use]
pub(crate) struct Try<'a> {
    guesses: &'a Guesses,
    whose: Guessed,
    name: Option<Name>,
}

impl Guesses {
    pub(crate) fn new(free: u32, slice: CurrentShare) -> Self {
        let hashers = [RandomState::new(), RandomState::new()];
        Self { free, slice, hashers, accesses: Mutex::default(), clients: Mutex::default() }
    }

    /// Begins a try, or says how long none is looked at.
    pub(crate) fn begin(
        &self,
        whose: Guessed,
        tenant: &TenantName,
        name: &str,
    ) -> Result<Try<'_>, Duration> {
        if self.free == 0 {
            return Ok(Try { guesses: self, whose, name: None });
        }
        let name = self.hashers.each_ref().map(|it| it.hash_one((tenant, name)));
        self.count(whose, name, Instant::now())?;
        Ok(Try { guesses: self, whose, name: Some(name) })
    }

    fn count(&self, whose: Guessed, name: Name, now: Instant) -> Result<(), Duration> {
        let slice = self.slice.get();
        // In that time as many would have been let through at the slowest.
        let forgotten_after = LONGEST_WAIT * self.free.max(2) * slice.of();
        let (free, _) = slice.calls(self.free, FIRST_WAIT);
        let mut names = self.lock(whose);
        let known = names.peek(&name).filter(|it| now < it.next.max(it.last + forgotten_after));
        let mut tries = known.copied().unwrap_or(Tries { n: 0, last: now, next: now });
        if now < tries.next {
            return Err(tries.next - now);
        }
        tries.n = tries.n.saturating_add(1);
        tries.last = now;
        if tries.n >= free {
            tries.next = now + wait_after(tries.n - free, slice);
        }
        names.insert(name, tries);
        Ok(())
    }

    fn forget(&self, whose: Guessed, name: Name) {
        self.lock(whose).remove(&name);
    }

    fn give_back(&self, whose: Guessed, name: Name) {
        let mut names = self.lock(whose);
        if let Some(mut tries) = names.peek(&name).copied() {
            tries.n = tries.n.saturating_sub(1);
            tries.next = tries.last;
            names.insert(name, tries);
        }
    }

    fn lock(&self, whose: Guessed) -> MutexGuard<'_, NameCache> {
        let names = match whose {
            Guessed::Access => &self.accesses,
            Guessed::Client => &self.clients,
        };
        names.lock()
    }
}

/// How long is waited after so many failures beyond those that are free, where all servers together wait a part of it each.
fn wait_after(n_beyond: u32, slice: ReplicaShare) -> Duration {
    let wait = FIRST_WAIT.checked_mul(1 << n_beyond.min(16)).unwrap_or(LONGEST_WAIT);
    wait.min(LONGEST_WAIT) * slice.of()
}

impl Try<'_> {
    /// It was right.
    pub(crate) fn succeed(self) {
        if let Some(name) = self.name {
            self.guesses.forget(self.whose, name);
        }
    }

    /// It was not looked at.
    pub(crate) fn give_back(self) {
        if let Some(name) = self.name {
            self.guesses.give_back(self.whose, name);
        }
    }
}

#[cfg(test)]
mod tests;
