//! Running a manifest: the connector, and the sessions of its accounts.

pub(crate) mod manifest_connector;
pub(super) mod session_cache;
