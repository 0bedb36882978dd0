//! Public pages and operators' endpoints: console, documentation, sign-in, health, metrics.

pub(super) mod asset;
pub(super) mod console;
pub(super) mod demo;
pub(super) mod docs;
pub(super) mod metrics;
pub(super) mod public;
pub(super) mod sign_in;
