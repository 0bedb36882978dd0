//! Tokens that were found good, remembered so that the next request with one is fast.
//!
//! What is kept is a digest of the token, and what it said. Times are looked at again at every
//! request, and so is whether the issuer still has the keys that it was checked with.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_vault::KeySet;
use parking_lot::Mutex;

use super::Caller;
use super::claims::Validity;
use super::ended::TokenName;

/// Tokens in one generation; two generations are kept.
const GENERATION: usize = 16_384;

/// What is known of a token.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) caller: Arc<Caller>,
    pub(super) validity: Validity,
    /// What tells it from others.
    pub(super) token: Arc<TokenName>,
    /// Whose it is: the number of an issuer, or nothing for our own.
    pub(super) issuer: Option<usize>,
    /// What it was checked with.
    pub(super) keys: Arc<KeySet>,
}

/// The young are filled; when they are full they become the old, and the old are forgotten.
#[derive(Default)]
pub(super) struct Remembered(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    young: HashMap<[u8; 32], Known>,
    old: HashMap<[u8; 32], Known>,
}

impl Remembered {
    pub(super) fn recall(&self, digest: &[u8; 32]) -> Option<Known> {
        let mut generations = self.0.lock();
        if let Some(known) = generations.young.get(digest) {
            return Some(known.clone());
        }
        let known = generations.old.remove(digest)?;
        generations.insert(*digest, known.clone());
        Some(known)
    }

    pub(super) fn remember(&self, digest: [u8; 32], known: Known) {
        self.0.lock().insert(digest, known);
    }
}

impl Generations {
    fn insert(&mut self, digest: [u8; 32], known: Known) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(digest, known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::claims::ClaimRules;
    use gatehouse_vault::TokenKeys;

    #[test]
    fn memory_does_not_grow_without_bound() {
        let remembered = Remembered::default();
        let claims = serde_json::json!({"iss": "gatehouse", "aud": "a", "exp": 1});
        let rules = ClaimRules::of_our_own("a".into());
        let claims = claims.as_object().unwrap();
        let (caller, validity) = rules.read(claims, gatehouse_core::Timestamp::EPOCH).unwrap();
        let token = Arc::new(rules.name_of(claims));
        let keys = Arc::new(TokenKeys::generate().key_set(gatehouse_core::Timestamp::EPOCH));
        let known = Known { caller: Arc::new(caller), validity, token, issuer: None, keys };
        let digest = |n: usize| {
            let mut digest = [0; 32];
            digest[..8].copy_from_slice(&n.to_be_bytes());
            digest
        };
        for n in 0..3 * GENERATION {
            remembered.remember(digest(n), known.clone());
            assert!(remembered.recall(&digest(0)).is_some(), "what is used is not forgotten");
        }
        let generations = remembered.0.lock();
        assert!(generations.young.len() + generations.old.len() <= 2 * GENERATION);
        assert!(!generations.young.contains_key(&digest(1)));
        assert!(!generations.old.contains_key(&digest(1)), "what is not used is");
    }
}
