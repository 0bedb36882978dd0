//! Simulated platforms, for tests and demos without a real platform.
//!
//! A [`Server`] is a real HTTP server. It serves the connections of a [`Platform`], with the latency and faults of its
//! [`Profile`]. No connection is stored: each is computed from the platform's seed, the account and its index in the
//! list (`fleet`), and each identifier can be converted back to that index. So a million connections need no memory,
//! and the last page costs as much as the first.
//!
//! `connectors/simulator.yaml` is the manifest of these platforms. Manifest and server share no code: each defines the
//! wire format on its own, as two companies would.

mod api;
mod body;
mod fleet;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod permutation;
mod platform;
mod profile;
mod pseudo_random;
mod server;
mod throttle;

pub use platform::{CONNECTIONS_MAX, LOOK_UP_MAX, PAGE_SIZE_MAX, PagingKind, Platform, Tokens};
pub use profile::{LATENCY_MS_MAX, Misbehaviour, Profile};
pub use server::Server;
