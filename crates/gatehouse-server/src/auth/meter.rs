//! The figures of tokens: what came of those that were shown, what was issued, and how often issuers
//! were asked.

use prometheus::core::Collector;
use prometheus::{IntCounter, IntCounterVec, Opts};

use super::AuthError;

/// Why making a metric can't fail.
const SOUND: &str = "names and labels are written soundly here";

/// The figures of tokens.
pub(crate) struct TokenMeter {
    checks: IntCounterVec,
    remembered: IntCounter,
    issued: IntCounter,
    fetches: IntCounterVec,
}

impl TokenMeter {
    pub(super) fn new() -> Self {
        let checks = Opts::new(
            "gatehouse_token_checks_total",
            "Requests that had to show a token, by what came of it",
        );
        let fetches = Opts::new(
            "gatehouse_issuer_fetches_total",
            "How often the keys of an issuer were fetched, and whether they came",
        );
        Self {
            checks: IntCounterVec::new(checks, &["outcome"]).expect(SOUND),
            remembered: IntCounter::new(
                "gatehouse_tokens_remembered_total",
                "Tokens whose signature had been checked before",
            )
            .expect(SOUND),
            issued: IntCounter::new(
                "gatehouse_tokens_issued_total",
                "Tokens that the built-in issuer has given out",
            )
            .expect(SOUND),
            // An issuer is one of those in the settings.
            fetches: IntCounterVec::new(fetches, &["issuer", "outcome"]).expect(SOUND),
        }
    }

    pub(crate) fn collectors(&self) -> Vec<Box<dyn Collector>> {
        vec![
            Box::new(self.checks.clone()),
            Box::new(self.remembered.clone()),
            Box::new(self.issued.clone()),
            Box::new(self.fetches.clone()),
        ]
    }

    /// Counts a token that was looked at.
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

    /// Counts a token that was remembered.
    pub(super) fn count_remembered(&self) {
        self.remembered.inc();
    }

    /// Counts a token that was given out.
    pub(super) fn count_issued(&self) {
        self.issued.inc();
    }

    /// Counts a fetch of an issuer's keys.
    pub(super) fn count_fetch(&self, issuer: &str, has_come: bool) {
        let outcome = if has_come { "came" } else { "failed" };
        self.fetches.with_label_values(&[issuer, outcome]).inc();
    }
}
