//! How to read the list of all connections.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::Call;
use super::path::Path;

/// How to read the list of all connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// The call.
    pub(crate) call: Call,
    /// Path to the connections in the response: the list itself.
    pub(crate) items: Path,
}
