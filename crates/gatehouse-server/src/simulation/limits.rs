//! Limits that the simulated servers and tenants have, which the model knows too.

/// How long Tasks are kept: longer than clients ask and work is drained, so that they can be judged.
pub(super) const RETENTION_MILLISECONDS: i64 = 3_600_000;

/// How far a server's clock may be from the database's.
pub(super) const SKEW_MILLISECONDS_MAX: i64 = 400;

/// Requests a second that the limited tenant may send.
pub(super) const REQUESTS_PER_SECOND: u64 = 12;

/// The tenant with a rate limit.
pub(super) const LIMITED: &str = "limited";

/// The contract with a quota, whose accesses the journal counts.
pub(super) const QUOTA_CONTRACT: &str = "few";

/// Quota of that contract.
pub(super) const N_ACCESSES_MAX: u64 = 8;
