//! Tokens that were found good, remembered so that the next request with one is fast.
//!
//! What is kept is a digest of the token, and what it said. Times are looked at again at every
//! request, and so is whether the issuer still has the keys that it was checked with.

use std::sync::Arc;

use gatehouse_core::GenerationalCache;
use gatehouse_vault::KeySet;
use parking_lot::Mutex;

use super::Caller;
use super::claims::Validity;
use super::revocations::RevocationKey;

/// Tokens in one generation; two generations are kept.
const GENERATION: usize = 16_384;

/// What is known of a token.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) caller: Arc<Caller>,
    pub(super) validity: Validity,
    /// What tells it from others.
    pub(super) token: Arc<RevocationKey>,
    /// Whose it is: the number of an issuer, or nothing for our own.
    pub(super) issuer: Option<usize>,
    /// What it was checked with.
    pub(super) keys: Arc<KeySet>,
}

/// Tokens that were checked, by digest.
#[derive(Default)]
pub(super) struct Remembered(Mutex<GenerationalCache<[u8; 32], Known, GENERATION>>);

impl Remembered {
    pub(super) fn recall(&self, digest: &[u8; 32]) -> Option<Known> {
        self.0.lock().get(digest).cloned()
    }

    pub(super) fn remember(&self, digest: [u8; 32], known: Known) {
        self.0.lock().insert(digest, known);
    }
}
