//! Limits of the simulated servers and tenants, shared with the model.

/// Retention of Tasks: longer than the clients and the drain take, so that Tasks can be judged.
pub(super) const RETENTION_MILLISECONDS: i64 = 3_600_000;

/// Largest clock skew between a server and the database.
pub(super) const SKEW_MILLISECONDS_MAX: i64 = 400;

/// Rate limit of the limited tenant, per second.
pub(super) const REQUESTS_PER_SECOND: u64 = 12;

/// The tenant with a rate limit.
pub(super) const LIMITED: &str = "limited";

/// The contract with a quota, whose accesses the history of the tables counts.
pub(super) const QUOTA_CONTRACT: &str = "few";

/// Quota of that contract.
pub(super) const N_ACCESSES_MAX: u64 = 8;
