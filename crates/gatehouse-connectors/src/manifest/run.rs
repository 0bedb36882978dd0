//! Running a manifest: a connector that speaks as it says, and the sessions of its accounts.

pub(crate) mod manifest_connector;
pub(super) mod session_cache;
