//! A cache of successful slow checks, which makes the next check fast.
//!
//! An entry is a digest of hash and password under a random key, which is only in this process's memory. The digest
//! includes the stored hash, so a rotation makes it useless at once. Every check still reads the row, so a suspension
//! holds. Failures are not cached.

use aws_lc_rs::hmac;
use gatehouse_core::GenerationalCache;
use gatehouse_core::credential::{Password, StoredHash};
use parking_lot::Mutex;

use crate::random;

/// Successes in one generation of the cache.
const GENERATION: usize = 65_536;

pub(crate) struct SuccessCache {
    key: hmac::Key,
    digests: Mutex<GenerationalCache<[u8; 32], (), GENERATION>>,
}

impl SuccessCache {
    pub(crate) fn new() -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &random::bytes::<32>());
        Self { key, digests: Mutex::default() }
    }

    pub(crate) fn contains(&self, stored: &StoredHash, password: &Password) -> bool {
        let digest = self.digest(stored, password);
        self.digests.lock().get(&digest).is_some()
    }

    pub(crate) fn insert(&self, stored: &StoredHash, password: &Password) {
        let digest = self.digest(stored, password);
        self.digests.lock().insert(digest, ());
    }

    fn digest(&self, stored: &StoredHash, password: &Password) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.key);
        // The length separates the stored hash from the password.
        context.update(&(stored.as_str().len() as u64).to_be_bytes());
        context.update(stored.as_str().as_bytes());
        context.update(password.reveal().as_bytes());
        context.sign().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}
