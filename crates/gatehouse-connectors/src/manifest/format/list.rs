//! How the list of all connections is asked for.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::Call;
use super::path::Path;

/// How the list of all connections is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// What is asked.
    pub(crate) call: Call,
    /// Where in the answer the connections are: the list itself.
    pub(crate) items: Path,
}
