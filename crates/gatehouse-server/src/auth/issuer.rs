//! An OpenID Connect issuer: which of its keys are good, and how often anyone may look for new ones.
//!
//! The keys are fetched when the server starts and again before they are old. A token that names a
//! key which is not there may mean that the issuer has a new one, or that somebody makes names up: it
//! gets the keys fetched at once, but only so often, however many such tokens come. While the issuer
//! can't be reached, the keys that were fetched last are good for a day. How it is asked is in `discovery`.

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
use super::sign_in::{ConsoleClient, Described, SignIn};
use crate::config;

/// Fetches that tokens can cause one after the other, and the time in which one more is allowed.
const REQUESTED_MAX: u32 = 2;
const REQUESTED_INTERVAL: Duration = Duration::from_secs(10);

/// How long nobody waits for another fetch after one that failed.
const FAILED_FOR: Duration = Duration::from_secs(5);

/// Requests that may wait for a fetch; those after them hear at once that there are no keys.
const WAITING_MAX: usize = 1024;

/// How long to wait after a fetch that failed.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// How long keys are used while no new ones can be fetched.
const STALE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// An issuer whose tokens are trusted.
pub struct Issuer {
    rules: ClaimRules,
    console: Option<ConsoleClient>,
    discovery: Discovery,
    latest: RwLock<Latest>,
    /// One fetch at a time; who comes meanwhile waits for its result.
    fetching: Mutex<Requested>,
    waiting: Semaphore,
}

/// What was fetched last.
#[derive(Clone)]
struct Latest {
    keys: Option<Arc<KeySet>>,
    described: Option<Described>,
    fetched_at: Instant,
    fresh: Duration,
    /// How often it was tried, well or in vain.
    n_tried: u64,
    /// When it was tried in vain, if that was the last time.
    failed_at: Option<Instant>,
}

/// What tokens with unknown keys may still cause.
struct Requested {
    n_left: u32,
    refilled_at: Instant,
}

/// What an issuer answers.
#[derive(Clone, Copy, Debug)]
pub struct IssuerStatus {
    /// How many keys it has.
    pub n_keys: usize,
    /// What time it is there.
    pub time: Option<Timestamp>,
}

impl Issuer {
    /// The issuers that the settings name.
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
        let latest = Latest {
            keys: None,
            described: None,
            fetched_at: now,
            fresh: FRESH_DEFAULT,
            n_tried: 0,
            failed_at: None,
        };
        let fetching = Mutex::new(Requested::new(now));
        let waiting = Semaphore::new(WAITING_MAX);
        let discovery = Discovery::of(&settings.issuer)?;
        let (console, latest) = (ConsoleClient::of(settings), RwLock::new(latest));
        Ok(Self { rules, console, discovery, latest, fetching, waiting })
    }

    /// The name that its tokens carry.
    pub fn name(&self) -> &str {
        &self.rules.issuer
    }

    pub(super) fn rules(&self) -> &ClaimRules {
        &self.rules
    }

    /// The keys that are good now.
    pub(super) fn keys(&self) -> Option<Arc<KeySet>> {
        let latest = self.latest.read();
        latest.keys.clone().filter(|_| latest.fetched_at.elapsed() < STALE_MAX)
    }

    /// How people sign in with it, if the settings let them and it has a way to.
    pub(super) fn sign_in(&self) -> Option<SignIn> {
        self.console.as_ref()?.sign_in(self.name(), self.latest.read().described.as_ref())
    }

    /// The claims of a token that this issuer signed, and the keys that say so.
    pub(super) async fn verify(
        &self,
        token: &str,
        meter: &TokenMeter,
    ) -> Result<(Claims, Arc<KeySet>), AuthError> {
        let n_seen = self.n_tried();
        if let Some(keys) = self.keys() {
            match keys.verify(token) {
                Ok(claims) => return Ok((claims, keys)),
                Err(BadToken::NotSigned) => return Err(AuthError::NotTrusted),
                Err(BadToken::UnknownKey) => {}
            }
        }
        self.fetch_as_requested(n_seen, meter).await?;
        let keys = self.keys().ok_or(AuthError::IssuerDown)?;
        let claims = keys.verify(token).map_err(|_| AuthError::NotTrusted)?;
        Ok((claims, keys))
    }

    /// Fetches the keys because a token wants one that is not there, unless somebody has just done so
    /// or it has been done too often.
    async fn fetch_as_requested(&self, n_seen: u64, meter: &TokenMeter) -> Result<(), AuthError> {
        self.check_up()?;
        let _waiting = self.waiting.try_acquire().map_err(|_| AuthError::IssuerDown)?;
        let mut requested = self.fetching.lock().await;
        if self.n_tried() == n_seen && requested.take(Instant::now()) {
            self.fetch(meter).await;
        }
        self.check_up()
    }

    /// Refuses to try again what has failed a moment ago: everyone who waited shares that.
    fn check_up(&self) -> Result<(), AuthError> {
        let failed_at = self.latest.read().failed_at;
        match failed_at {
            Some(at) if at.elapsed() < FAILED_FOR => Err(AuthError::IssuerDown),
            _ => Ok(()),
        }
    }

    /// Fetches the keys now, and again before they are old, for ever.
    pub(super) async fn keep_fresh(&self, meter: &TokenMeter) {
        loop {
            let has_come = {
                let _turn = self.fetching.lock().await;
                self.fetch(meter).await
            };
            let fresh = self.latest.read().fresh;
            tokio::time::sleep(if has_come { fresh } else { RETRY_INTERVAL }).await;
        }
    }

    /// Fetches the keys and puts them in place; whether that went well.
    async fn fetch(&self, meter: &TokenMeter) -> bool {
        let issuer = self.name();
        let asked = self.discovery.ask().await;
        meter.count_fetch(issuer, asked.is_ok());
        let fetched = match asked {
            Ok(fetched) => fetched,
            Err(why) => {
                let mut latest = self.latest.write();
                // Told once, not every time until it is up again.
                match latest.failed_at {
                    None => tracing::warn!(issuer, %why, "the keys of an issuer can't be fetched"),
                    Some(_) => tracing::debug!(issuer, %why, "they still can't be fetched"),
                }
                latest.n_tried += 1;
                latest.failed_at = Some(Instant::now());
                return false;
            }
        };
        let mut latest = self.latest.write();
        if latest.failed_at.is_some() {
            tracing::info!(issuer, "the keys of an issuer can be fetched again");
        }
        let is_same = |keys: &Arc<KeySet>| keys.digest() == fetched.keys.digest();
        // The same keys stay the same: what was checked with them is still good.
        if !latest.keys.as_ref().is_some_and(is_same) {
            let n_keys = fetched.keys.n_keys();
            if n_keys == 0 {
                tracing::warn!(issuer, "an issuer has given up all its keys");
            } else {
                tracing::info!(issuer, n_keys, "an issuer has new keys");
            }
            latest.keys = Some(Arc::new(fetched.keys));
        }
        if latest.described.as_ref() != Some(&fetched.described) {
            if self.console.is_some() && !fetched.described.has_endpoints() {
                tracing::warn!(
                    issuer,
                    "nobody can sign in with an issuer: its document has no authorization_endpoint or no \
                     token_endpoint that is as safe as the issuer"
                );
            }
            latest.described = Some(fetched.described);
        }
        latest.fetched_at = Instant::now();
        latest.fresh = fetched.fresh;
        latest.n_tried += 1;
        latest.failed_at = None;
        true
    }

    fn n_tried(&self) -> u64 {
        self.latest.read().n_tried
    }

    /// What the issuer answers just now, for whoever wants to know whether all is well.
    pub async fn examine(&self) -> Result<IssuerStatus, BadIssuer> {
        let Fetched { keys, time, .. } = self.discovery.ask().await?;
        Ok(IssuerStatus { n_keys: keys.n_keys(), time })
    }
}

impl Requested {
    fn new(now: Instant) -> Self {
        Self { n_left: REQUESTED_MAX, refilled_at: now }
    }

    /// Takes one of the fetches that are left, if one is.
    fn take(&mut self, now: Instant) -> bool {
        while self.n_left < REQUESTED_MAX && now >= self.refilled_at + REQUESTED_INTERVAL {
            self.n_left += 1;
            self.refilled_at += REQUESTED_INTERVAL;
        }
        if self.n_left == REQUESTED_MAX {
            // What is full gains nothing by waiting.
            self.refilled_at = now;
        }
        let is_left = self.n_left > 0;
        self.n_left = self.n_left.saturating_sub(1);
        is_left
    }
}

#[cfg(test)]
pub(super) mod tests;
