//! How much a platform may be asked, as a manifest says it.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::source::header_name;
use super::span::Span;
use crate::connector::{self, CallKind, Quota, QuotaScope, ResetUnit};

/// How much a platform may be asked at once and over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// Most calls of an account at the same time, unless the account says otherwise.
    #[serde(default)]
    pub(crate) calls_at_once: Option<u32>,
    /// Most calls in a length of time; all of them hold.
    #[serde(default)]
    pub(crate) buckets: Vec<Bucket>,
    /// Headers that tell when to ask again.
    #[serde(default)]
    pub(crate) wait: Option<Wait>,
}

/// Most calls in a length of time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Bucket {
    /// How many.
    pub(crate) calls: u32,
    /// In how long.
    pub(crate) per: Span,
    /// Which calls; without it, all of them.
    #[serde(default)]
    pub(crate) of: Vec<CallKind>,
    /// Whose calls are counted together: one account's, or those of all accounts of this connector at the same host,
    /// since platforms count by address, too.
    #[serde(default)]
    pub(crate) scope: QuotaScope,
}

/// Headers that tell when to ask again, beside `Retry-After`, which always counts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Wait {
    /// How many calls are left; at none, the platform is left alone. Without it, that is so after 429 alone.
    #[serde(default)]
    pub(crate) remaining: Option<String>,
    /// When there are some again.
    pub(crate) reset: String,
    /// How that is written.
    #[serde(default)]
    pub(crate) reset_is: ResetUnit,
}

impl Limits {
    /// The same, as a line keeps to it.
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
