//! Cache of verified tokens, by digest, so that the next request with one needs no signature check.
//!
//! Every request checks again the token's times, and whether the issuer still has the keys that verified it.

use std::sync::Arc;

use gatehouse_core::GenerationalCache;
use gatehouse_vault::KeySet;
use parking_lot::Mutex;

use super::Caller;
use super::claims::Validity;
use super::revocations::RevocationKey;

/// Tokens in one generation; the cache has two generations.
const GENERATION: usize = 16_384;

/// A verified token.
#[derive(Clone)]
pub(super) struct CachedToken {
    pub(super) caller: Arc<Caller>,
    pub(super) validity: Validity,
    /// The token's identity, for revocations.
    pub(super) token: Arc<RevocationKey>,
    /// The number of its issuer; `None` for the built-in one.
    pub(super) issuer: Option<usize>,
    /// The keys that verified it.
    pub(super) keys: Arc<KeySet>,
}

/// Verified tokens, by digest.
#[derive(Default)]
pub(super) struct TokenCache(Mutex<GenerationalCache<[u8; 32], CachedToken, GENERATION>>);

impl TokenCache {
    pub(super) fn get(&self, digest: &[u8; 32]) -> Option<CachedToken> {
        self.0.lock().get(digest).cloned()
    }

    pub(super) fn insert(&self, digest: [u8; 32], cached: CachedToken) {
        self.0.lock().insert(digest, cached);
    }
}
