//! The built-in issuer's current keys: the signing key, and the trusted ones.
//!
//! An operator may rotate them while servers run. Every server reloads them periodically, and at once when a token
//! names an unknown key: another server or the command line may have reloaded earlier. That reload costs a point read
//! and is rate limited, however many tokens invent key ids.

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

/// Interval of periodic reloads.
const RELOAD_INTERVAL: Duration = Duration::from_secs(30);

/// Shortest interval of reloads that tokens trigger.
const TOKEN_RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// The built-in issuer's keys.
pub(super) struct BuiltInIssuer {
    current: RwLock<CurrentKeys>,
    source: Option<Source>,
}

struct CurrentKeys {
    keys: Arc<TokenKeys>,
    trusted: Arc<KeySet>,
    jwks: Value,
}

/// Where the keys are reloaded from.
struct Source {
    store: TokenKeyStore,
    clock: Clock,
    /// Last reload for a token; held during one, so that concurrent requests wait for its result.
    reloaded_at: Mutex<Option<Instant>>,
}

impl CurrentKeys {
    fn new(keys: TokenKeys, now: Timestamp) -> Self {
        let (trusted, jwks) = (Arc::new(keys.key_set(now)), keys.jwks(now));
        Self { keys: Arc::new(keys), trusted, jwks }
    }
}

impl BuiltInIssuer {
    /// Keys that are never reloaded.
    pub(super) fn fixed(keys: TokenKeys) -> Self {
        // Expired keys are included: [`Self::with_reload`] finds out which.
        Self { current: RwLock::new(CurrentKeys::new(keys, Timestamp::EPOCH)), source: None }
    }

    /// Reloads the keys from `store` from now on.
    pub(super) fn with_reload(self, store: TokenKeyStore, clock: Clock) -> Self {
        let source = Source { store, clock, reloaded_at: Mutex::new(None) };
        Self { source: Some(source), ..self }
    }

    /// The signing keys.
    pub(super) fn signing(&self) -> Arc<TokenKeys> {
        Arc::clone(&self.current.read().keys)
    }

    /// The trusted keys.
    pub(super) fn trusted(&self) -> Arc<KeySet> {
        Arc::clone(&self.current.read().trusted)
    }

    /// The public keys as a JSON Web Key Set.
    pub(super) fn jwks(&self) -> Value {
        self.current.read().jwks.clone()
    }

    /// Verifies a token; returns its claims, and the keys that it was verified with.
    pub(super) async fn verify(&self, token: &str) -> Result<(Claims, Arc<KeySet>), AuthError> {
        let trusted = self.trusted();
        match trusted.verify(token) {
            Ok(claims) => return Ok((claims, trusted)),
            Err(BadToken::NotSigned) => return Err(AuthError::NotTrusted),
            Err(BadToken::UnknownKey) => {}
        }
        // Boxed: it is rare, and would enlarge the future of every request.
        Box::pin(self.reload_for_token()).await;
        let trusted = self.trusted();
        let claims = trusted.verify(token).map_err(|_| AuthError::NotTrusted)?;
        Ok((claims, trusted))
    }

    /// Reloads the keys periodically. Never returns.
    pub(super) async fn keep_fresh(&self) {
        let Some(source) = &self.source else { return std::future::pending().await };
        loop {
            self.reload(source).await;
            tokio::time::sleep(RELOAD_INTERVAL).await;
        }
    }

    /// Reloads the keys for a token with an unknown key, unless another request has just done so.
    async fn reload_for_token(&self) {
        let Some(source) = &self.source else { return };
        let mut reloaded_at = source.reloaded_at.lock().await;
        if reloaded_at.is_none_or(|at| at.elapsed() >= TOKEN_RELOAD_INTERVAL) {
            self.reload(source).await;
            *reloaded_at = Some(Instant::now());
        }
    }

    /// Loads the keys; unreadable keys leave the current ones in place.
    async fn reload(&self, source: &Source) {
        let loaded = match source.store.read_existing().await {
            Ok(keys) => CurrentKeys::new(keys, source.clock.now()),
            Err(why) => {
                tracing::warn!(%why, "the token key can't be reloaded");
                return;
            }
        };
        let mut current = self.current.write();
        // Equal keys keep their identity: tokens are cached with the keys that they were checked with.
        if loaded.trusted.digest() != current.trusted.digest() {
            tracing::info!(key = loaded.keys.id(), "the keys of the built-in issuer have changed");
            *current = loaded;
        }
    }
}

#[cfg(test)]
mod tests;
