//! Counts that are derived from rows and stored with them: of tenants, contracts and days; and their recount.

pub(super) mod counter;
pub(super) mod day;
pub(super) mod derived_counts;
pub(super) mod recount;
pub(super) mod summary;
pub(super) mod tally;
