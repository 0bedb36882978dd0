//! Limits on calls in a manifest.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::short_duration::ShortDuration;
use super::source::header_name;
use crate::connector::{self, CallKind, Quota, QuotaScope, ResetUnit};

/// Limits on concurrent calls, and on calls over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// Most concurrent calls of an account, unless the account sets its own limit.
    #[serde(default)]
    pub(crate) calls_at_once: Option<u32>,
    /// Most calls per period; all of them hold.
    #[serde(default)]
    pub(crate) buckets: Vec<Bucket>,
    /// Rate-limit headers of the platform.
    #[serde(default)]
    pub(crate) wait: Option<Wait>,
}

/// Most calls per period.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Bucket {
    /// Number of calls.
    pub(crate) calls: u32,
    /// Length of the period.
    pub(crate) per: ShortDuration,
    /// Kinds of calls; all if missing.
    #[serde(default)]
    pub(crate) of: Vec<CallKind>,
    /// Whose calls count together: one account's, or those of all accounts of this connector at the same host, for
    /// platforms that count by IP address.
    #[serde(default)]
    pub(crate) scope: QuotaScope,
}

/// Rate-limit headers beside `Retry-After`, which always counts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Wait {
    /// Header with the number of remaining calls; at zero, calls pause. Without it, calls pause only after status 429.
    #[serde(default)]
    pub(crate) remaining: Option<String>,
    /// Header with the time when more calls are allowed.
    pub(crate) reset: String,
    /// Unit of `reset`.
    #[serde(default)]
    pub(crate) reset_is: ResetUnit,
}

impl Limits {
    /// Applies the manifest's limits to an account's.
    pub(crate) fn apply_to(&self, limits: &mut connector::PlatformLimits) {
        limits.calls_at_once = self.calls_at_once.unwrap_or(limits.calls_at_once);
        limits.quotas = self.buckets.iter().map(Bucket::quota).collect();
        limits.wait = self.wait.as_ref().and_then(|wait| {
            let remaining = wait.remaining.as_deref().map(header_name).transpose().ok()?;
            Some(connector::WaitRule {
                remaining,
                reset: header_name(&wait.reset).ok()?,
                unit: wait.reset_is,
            })
        });
    }
}

impl Bucket {
    fn quota(&self) -> Quota {
        Quota { calls: self.calls, per: self.per.0, of: self.of.clone(), scope: self.scope }
    }
}

#[cfg(test)]
mod tests;
