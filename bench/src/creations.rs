//! Cases 7 and 8: what many clients get that make accesses of one tenant, one by one, durably.
//!
//! A commit costs one flush however many rows it carries, so those that wait are made together. `driven.rs` has the
//! store make them, together or each alone; `slow_flush.rs` has every flush take longer.

mod driven;
mod gathered;
pub(crate) mod postgres;
mod slow_flush;
pub(crate) mod sqlite;

use std::time::Duration;

use crate::options::Options;

/// Clients that make accesses at the same time.
const N_CLIENTS: usize = 64;

/// How long each way is watched in its turn.
fn stretch(options: &Options) -> Duration {
    Duration::from_millis(if options.quick { 400 } else { 2000 })
}

/// How long each goes before the first turn: connections are made, and statements prepared.
const WARM_UP: Duration = Duration::from_millis(500);
