//! The figures of tokens: how many were accepted, and why the others were not.

use prometheus::core::Collector;
use prometheus::{IntCounterVec, Opts};

use super::SOUND;
use crate::auth::Unknown;

/// The figures of tokens.
pub(crate) struct TokenMeter {
    checks: IntCounterVec,
}

impl TokenMeter {
    pub(super) fn new() -> Self {
        let checks = Opts::new(
            "gatehouse_token_checks_total",
            "Requests that had to show a token, by what came of it",
        );
        Self { checks: IntCounterVec::new(checks, &["outcome"]).expect(SOUND) }
    }

    pub(super) fn collectors(&self) -> Vec<Box<dyn Collector>> {
        vec![Box::new(self.checks.clone())]
    }

    /// Counts a token that was looked at.
    pub(crate) fn count<T>(&self, checked: &Result<T, Unknown>) {
        let outcome = match checked {
            Ok(_) => "accepted",
            Err(Unknown::NoToken) => "no_token",
            Err(Unknown::NotTrusted) => "not_trusted",
            Err(Unknown::Expired) => "expired",
            Err(Unknown::NotYetValid) => "not_yet_valid",
            Err(Unknown::OtherAudience) => "other_audience",
            Err(Unknown::OtherIssuer) => "other_issuer",
        };
        self.checks.with_label_values(&[outcome]).inc();
    }
}
