//! Counts that are derived from rows and stored with them: of tenants, contracts and days; and their audit.

pub(super) mod audit;
pub(super) mod counter;
pub(super) mod day;
pub(super) mod derived_counts;
pub(super) mod summary;
pub(super) mod tally;
