//! Counts that are kept beside the rows: of tenants, contracts and days, and how they are checked.

pub(super) mod audit;
pub(super) mod counter;
pub(super) mod day;
pub(super) mod derived_counts;
pub(super) mod summary;
pub(super) mod tally;
