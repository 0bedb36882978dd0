//! The built-in issuer's keys as they are now: the one that signs, and those whose tokens are trusted.
//!
//! An operator may change them while servers run. Every server looks now and then, and at once when a token names a key
//! that it doesn't know: another server, or the command line, may have looked before it. That look costs a point read
//! and can be had once in a while, however many tokens make names up.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::Timestamp;
use gatehouse_store::Clock;
use gatehouse_vault::{BadToken, Claims, KeySet, TokenKeys};
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::AuthError;
use crate::keys::TokenKeyStore;

/// How often somebody looks whether the keys have changed.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// How long nobody looks again because of a token.
const REQUESTED_INTERVAL: Duration = Duration::from_secs(1);

/// The built-in issuer's keys.
pub(super) struct BuiltInIssuer {
    present: RwLock<Present>,
    source: Option<Source>,
}

struct Present {
    keys: Arc<TokenKeys>,
    trusted: Arc<KeySet>,
    jwks: Value,
}

/// Where the keys are looked for.
struct Source {
    place: TokenKeyStore,
    clock: Clock,
    /// One look at a time; who comes meanwhile waits for its result.
    looked_at: Mutex<Option<Instant>>,
}

impl Present {
    fn new(keys: TokenKeys, now: Timestamp) -> Self {
        let (trusted, jwks) = (Arc::new(keys.key_set(now)), keys.jwks(now));
        Self { keys: Arc::new(keys), trusted, jwks }
    }
}

impl BuiltInIssuer {
    /// Keys that stay what they are.
    pub(super) fn fixed(keys: TokenKeys) -> Self {
        // Those that have had their time are found out by who looks.
        Self { present: RwLock::new(Present::new(keys, Timestamp::EPOCH)), source: None }
    }

    /// The same keys, looked for in their place from now on.
    pub(super) fn found_in(self, place: TokenKeyStore, clock: Clock) -> Self {
        let source = Source { place, clock, looked_at: Mutex::new(None) };
        Self { source: Some(source), ..self }
    }

    /// What signs now.
    pub(super) fn signing(&self) -> Arc<TokenKeys> {
        Arc::clone(&self.present.read().keys)
    }

    /// What is trusted now.
    pub(super) fn trusted(&self) -> Arc<KeySet> {
        Arc::clone(&self.present.read().trusted)
    }

    /// The public keys, for whoever wants to check our tokens.
    pub(super) fn jwks(&self) -> Value {
        self.present.read().jwks.clone()
    }

    /// The claims of a token that we signed, and the keys that say so.
    pub(super) async fn verify(&self, token: &str) -> Result<(Claims, Arc<KeySet>), AuthError> {
        let trusted = self.trusted();
        match trusted.verify(token) {
            Ok(claims) => return Ok((claims, trusted)),
            Err(BadToken::NotSigned) => return Err(AuthError::NotTrusted),
            Err(BadToken::UnknownKey) => {}
        }
        // In a box: it is rare, and every request would have to have room for it.
        Box::pin(self.look_as_requested()).await;
        let trusted = self.trusted();
        let claims = trusted.verify(token).map_err(|_| AuthError::NotTrusted)?;
        Ok((claims, trusted))
    }

    /// Looks now and then whether the keys have changed. It never ends.
    pub(super) async fn keep_fresh(&self) {
        let Some(source) = &self.source else { return std::future::pending().await };
        loop {
            self.look(source).await;
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Looks because a token names a key that is not there, unless somebody has just done so.
    async fn look_as_requested(&self) {
        let Some(source) = &self.source else { return };
        let mut looked_at = source.looked_at.lock().await;
        if looked_at.is_none_or(|at| at.elapsed() >= REQUESTED_INTERVAL) {
            self.look(source).await;
            *looked_at = Some(Instant::now());
        }
    }

    /// Takes up the keys that are there. Where there are none that can be read, those that were remain.
    async fn look(&self, source: &Source) {
        let found = match source.place.read_existing().await {
            Ok(keys) => Present::new(keys, source.clock.now()),
            Err(why) => {
                tracing::warn!(%why, "can't look whether the token key has changed");
                return;
            }
        };
        let mut present = self.present.write();
        // Tokens are remembered with the keys that they were checked with.
        if found.trusted.digest() != present.trusted.digest() {
            tracing::info!(key = found.keys.id(), "the keys of the built-in issuer have changed");
            *present = found;
        }
    }
}

#[cfg(test)]
mod tests;
