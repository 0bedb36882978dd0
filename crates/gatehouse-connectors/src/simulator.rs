//! Platforms that are simulated: something to ask where there is no platform, or none that may be broken.
//!
//! The far side is a real HTTP server ([`Server`]) that shows the connections of a [`Platform`] and
//! misbehaves as its [`Profile`] says. No connection is stored: each is computed from the platform's seed,
//! the account and its place in the list (`fleet`), and each identifier can be turned back into that place.
//! So a million of them cost no memory, and the last page costs what the first one does.
//!
//! `connectors/simulator.yaml` is the manifest of these platforms. It shares no code with the server: each writes down the
//! wire's shapes for itself, as two companies would.

mod api;
mod body;
mod draw;
mod fleet;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod permutation;
mod platform;
mod profile;
mod server;
mod throttle;

pub use platform::{CONNECTIONS_MAX, LOOK_UP_MAX, PAGE_SIZE_MAX, PagingKind, Platform, Tokens};
pub use profile::{LATENCY_MS_MAX, Misbehaviour, Profile};
pub use server::Server;
