//! Cases 7 and 8: durable creations of one tenant by many clients, one access per request.
//!
//! A commit costs one flush however many rows it carries, so the server groups waiting creations. `driven.rs` calls the
//! store, with groups or with a transaction each; `slow_flush.rs` makes every flush take longer.

mod driven;
mod gather_metrics;
pub(crate) mod postgres;
mod slow_flush;
pub(crate) mod sqlite;

use std::time::Duration;

use crate::options::Options;

/// Clients that create accesses at the same time.
const N_CLIENTS: usize = 64;

/// Duration of each mode in a round.
fn period(options: &Options) -> Duration {
    Duration::from_millis(if options.quick { 400 } else { 2000 })
}

/// Warm-up of each mode: connections are opened, and statements prepared.
const WARM_UP: Duration = Duration::from_millis(500);
