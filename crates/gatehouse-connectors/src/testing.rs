//! Tests of a manifest: recordings of a platform, their replay, and conformance checks for any connector.

pub mod conformance;
pub(super) mod one_account;
pub mod recording;
pub(super) mod replay;
pub(super) mod replay_platform;
