//! Figures of tokens: checks, issued tokens, and fetches of issuers' keys.

use gatehouse_meter::MetricSet;
use prometheus::{IntCounter, IntCounterVec};

use super::AuthError;

/// Figures of tokens.
pub(crate) struct TokenMeter {
    checks: IntCounterVec,
    remembered: IntCounter,
    issued: IntCounter,
    fetches: IntCounterVec,
    metrics: MetricSet,
}

impl TokenMeter {
    pub(super) fn new() -> Self {
        let mut metrics = MetricSet::default();
        Self {
            checks: metrics.counters(
                "gatehouse_token_checks_total",
                "Requests that need a token, by the outcome of its check",
                &["outcome"],
            ),
            remembered: metrics.counter(
                "gatehouse_tokens_remembered_total",
                "Tokens whose signature had been checked before",
            ),
            issued: metrics.counter(
                "gatehouse_tokens_issued_total",
                "Tokens that the built-in issuer has issued",
            ),
            // Bounded: issuers come from the settings.
            fetches: metrics.counters(
                "gatehouse_issuer_fetches_total",
                "Fetches of an issuer's keys, by outcome",
                &["issuer", "outcome"],
            ),
            metrics,
        }
    }

    /// All metrics of tokens.
    pub(crate) fn metrics(&self) -> &MetricSet {
        &self.metrics
    }

    /// Counts a checked token by its outcome.
    pub(super) fn count<T>(&self, checked: &Result<T, AuthError>) {
        let outcome = match checked {
            Ok(_) => "accepted",
            Err(AuthError::NoToken) => "no_token",
            Err(AuthError::NotTrusted) => "not_trusted",
            Err(AuthError::Expired) => "expired",
            Err(AuthError::NotYetValid) => "not_yet_valid",
            Err(AuthError::OtherAudience) => "other_audience",
            Err(AuthError::OtherIssuer) => "other_issuer",
            Err(AuthError::Revoked) => "ended",
            Err(AuthError::NotForAccess) => "not_for_access",
            Err(AuthError::IssuerDown) => "issuer_down",
        };
        self.checks.with_label_values(&[outcome]).inc();
    }

    /// Counts a token that was in the cache.
    pub(super) fn count_cached(&self) {
        self.remembered.inc();
    }

    /// Counts an issued token.
    pub(super) fn count_issued(&self) {
        self.issued.inc();
    }

    /// Counts a fetch of an issuer's keys.
    pub(super) fn count_fetch(&self, issuer: &str, is_fetched: bool) {
        let outcome = if is_fetched { "came" } else { "failed" };
        self.fetches.with_label_values(&[issuer, outcome]).inc();
    }
}
