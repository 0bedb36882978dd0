//! An OpenID Connect issuer: its current keys, and how often they are fetched.
//!
//! The keys are fetched at start, and again before they are stale. A token with an unknown key may mean that the issuer
//! has rotated its keys, or that a client invents key ids. It triggers a fetch at once, but only at a limited rate,
//! however many such tokens arrive. While the issuer can't be reached, the last keys stay valid for a day.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::Timestamp;
use gatehouse_core::rights::scopes_from_words;
use gatehouse_vault::{BadToken, Claims, KeySet};
use parking_lot::RwLock;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;

use super::AuthError;
use super::claims::{Bounds, ClaimRules};
use super::discovery::{BadIssuer, Discovery, FRESH_DEFAULT, Fetched};
use super::meter::TokenMeter;
use super::sign_in::{ConsoleClient, SignIn, SignInDocument};
use crate::config;

/// Burst of fetches that tokens can trigger, and the interval in which one more is allowed.
const FETCHES_MAX: u32 = 2;
const FETCH_INTERVAL: Duration = Duration::from_secs(10);

/// Time after a failed fetch in which requests don't wait for another.
const FAILURE_SHARED_FOR: Duration = Duration::from_secs(5);

/// Requests that may wait for a fetch; further ones fail at once.
const WAITING_MAX: usize = 1024;

/// Retry interval after a failed fetch.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Longest use of keys while no new ones can be fetched.
const STALE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// A trusted external issuer.
pub struct Issuer {
    rules: ClaimRules,
    console: Option<ConsoleClient>,
    discovery: Discovery,
    state: RwLock<FetchState>,
    /// Held during a fetch: concurrent requests wait for its result.
    fetching: Mutex<FetchLimit>,
    waiting: Semaphore,
}

/// The last fetched keys and endpoints.
#[derive(Clone)]
struct FetchState {
    keys: Option<Arc<KeySet>>,
    document: Option<SignInDocument>,
    fetched_at: Instant,
    fresh: Duration,
    /// Number of fetches, failed ones included.
    n_fetches: u64,
    /// When the last fetch failed; `None` if it succeeded.
    failed_at: Option<Instant>,
}

/// Rate limit of fetches that tokens trigger.
struct FetchLimit {
    n_remaining: u32,
    refilled_at: Instant,
}

/// Result of asking an issuer for its keys.
#[derive(Clone, Copy, Debug)]
pub struct IssuerStatus {
    /// Number of keys.
    pub n_keys: usize,
    /// The issuer's time.
    pub time: Option<Timestamp>,
}

impl Issuer {
    /// Creates the issuers in the settings.
    pub fn all(settings: &config::Auth) -> Result<Vec<Self>, BadIssuer> {
        let new = |issuer: &config::Issuer| Self::new(issuer, &settings.audience);
        settings.issuers.iter().map(new).collect()
    }

    fn new(settings: &config::Issuer, audience: &str) -> Result<Self, BadIssuer> {
        let now = Instant::now();
        let rules = ClaimRules {
            issuer: settings.issuer.as_str().to_owned(),
            audience: settings.audience.clone().unwrap_or_else(|| audience.to_owned()),
            tenants_claim: settings.tenants_claim.clone(),
            scope_claim: settings.scope_claim.clone(),
            bounds: Some(Bounds {
                tenants: settings.tenants.as_ref().map(|it| it.iter().cloned().collect()),
                scopes: settings.scopes.as_ref().map(|it| scopes_from_words(&it.join(" "))),
                token_types: settings.token_types.clone(),
                lifetime_max: settings.token_lifetime_max.get().as_secs_f64(),
            }),
        };
        let state = FetchState {
            keys: None,
            document: None,
            fetched_at: now,
            fresh: FRESH_DEFAULT,
            n_fetches: 0,
            failed_at: None,
        };
        let fetching = Mutex::new(FetchLimit::new(now));
        let waiting = Semaphore::new(WAITING_MAX);
        let discovery = Discovery::of(&settings.issuer)?;
        let (console, state) = (ConsoleClient::of(settings), RwLock::new(state));
        Ok(Self { rules, console, discovery, state, fetching, waiting })
    }

    /// The issuer's name in tokens (`iss`).
    pub fn name(&self) -> &str {
        &self.rules.issuer
    }

    pub(super) fn rules(&self) -> &ClaimRules {
        &self.rules
    }

    /// The current keys.
    pub(super) fn keys(&self) -> Option<Arc<KeySet>> {
        let state = self.state.read();
        state.keys.clone().filter(|_| state.fetched_at.elapsed() < STALE_MAX)
    }

    /// Sign-in with this issuer, if the settings and its document allow it.
    pub(super) fn sign_in(&self) -> Option<SignIn> {
        self.console.as_ref()?.sign_in(self.name(), self.state.read().document.as_ref())
    }

    /// Verifies a token; returns its claims, and the keys that it was verified with.
    pub(super) async fn verify(
        &self,
        token: &str,
        meter: &TokenMeter,
    ) -> Result<(Claims, Arc<KeySet>), AuthError> {
        let n_before = self.n_fetches();
        if let Some(keys) = self.keys() {
            match keys.verify(token) {
                Ok(claims) => return Ok((claims, keys)),
                Err(BadToken::NotSigned) => return Err(AuthError::NotTrusted),
                Err(BadToken::UnknownKey) => {}
            }
        }
        self.fetch_for_token(n_before, meter).await?;
        let keys = self.keys().ok_or(AuthError::IssuerDown)?;
        let claims = keys.verify(token).map_err(|_| AuthError::NotTrusted)?;
        Ok((claims, keys))
    }

    /// Fetches the keys for a token with an unknown key, unless that was just done or the rate limit is reached.
    async fn fetch_for_token(&self, n_before: u64, meter: &TokenMeter) -> Result<(), AuthError> {
        self.check_available()?;
        let _waiting = self.waiting.try_acquire().map_err(|_| AuthError::IssuerDown)?;
        let mut limit = self.fetching.lock().await;
        if self.n_fetches() == n_before && limit.take(Instant::now()) {
            self.fetch(meter).await;
        }
        self.check_available()
    }

    /// Fails shortly after a failed fetch: all waiting requests share its failure.
    fn check_available(&self) -> Result<(), AuthError> {
        let failed_at = self.state.read().failed_at;
        match failed_at {
            Some(at) if at.elapsed() < FAILURE_SHARED_FOR => Err(AuthError::IssuerDown),
            _ => Ok(()),
        }
    }

    /// Fetches the keys now, and again before they are stale. Never returns.
    pub(super) async fn keep_fresh(&self, meter: &TokenMeter) {
        loop {
            let is_fetched = {
                let _fetching = self.fetching.lock().await;
                self.fetch(meter).await
            };
            let fresh = self.state.read().fresh;
            tokio::time::sleep(if is_fetched { fresh } else { RETRY_INTERVAL }).await;
        }
    }

    /// Fetches and stores the keys; false if that failed.
    async fn fetch(&self, meter: &TokenMeter) -> bool {
        let issuer = self.name();
        let fetched = self.discovery.fetch().await;
        meter.count_fetch(issuer, fetched.is_ok());
        let fetched = match fetched {
            Ok(fetched) => fetched,
            Err(why) => {
                let mut state = self.state.write();
                // Warns once per outage.
                match state.failed_at {
                    None => tracing::warn!(issuer, %why, "the keys of an issuer can't be fetched"),
                    Some(_) => {
                        tracing::debug!(issuer, %why, "its keys still can't be fetched")
                    }
                }
                state.n_fetches += 1;
                state.failed_at = Some(Instant::now());
                return false;
            }
        };
        let mut state = self.state.write();
        if state.failed_at.is_some() {
            tracing::info!(issuer, "the keys of an issuer can be fetched again");
        }
        let is_same = |keys: &Arc<KeySet>| keys.digest() == fetched.keys.digest();
        // Equal keys keep their identity, so tokens that were checked with them stay cached.
        if !state.keys.as_ref().is_some_and(is_same) {
            let n_keys = fetched.keys.n_keys();
            if n_keys == 0 {
                tracing::warn!(issuer, "an issuer has no keys any more");
            } else {
                tracing::info!(issuer, n_keys, "an issuer has new keys");
            }
            state.keys = Some(Arc::new(fetched.keys));
        }
        if state.document.as_ref() != Some(&fetched.document) {
            if self.console.is_some() && !fetched.document.has_endpoints() {
                tracing::warn!(
                    issuer,
                    "users can't sign in with an issuer: its document has no authorization_endpoint or no \
                     token_endpoint that is as safe as the issuer"
                );
            }
            state.document = Some(fetched.document);
        }
        state.fetched_at = Instant::now();
        state.fresh = fetched.fresh;
        state.n_fetches += 1;
        state.failed_at = None;
        true
    }

    fn n_fetches(&self) -> u64 {
        self.state.read().n_fetches
    }

    /// Asks the issuer for its keys, to check that it works.
    pub async fn examine(&self) -> Result<IssuerStatus, BadIssuer> {
        let Fetched { keys, time, .. } = self.discovery.fetch().await?;
        Ok(IssuerStatus { n_keys: keys.n_keys(), time })
    }
}

impl FetchLimit {
    fn new(now: Instant) -> Self {
        Self { n_remaining: FETCHES_MAX, refilled_at: now }
    }

    /// Takes one fetch, if the limit allows it.
    fn take(&mut self, now: Instant) -> bool {
        while self.n_remaining < FETCHES_MAX && now >= self.refilled_at + FETCH_INTERVAL {
            self.n_remaining += 1;
            self.refilled_at += FETCH_INTERVAL;
        }
        if self.n_remaining == FETCHES_MAX {
            // A full bucket gains nothing by waiting.
            self.refilled_at = now;
        }
        let is_allowed = self.n_remaining > 0;
        self.n_remaining = self.n_remaining.saturating_sub(1);
        is_allowed
    }
}

#[cfg(test)]
pub(super) mod tests;
