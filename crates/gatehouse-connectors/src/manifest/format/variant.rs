//! What a setting of an account changes about a manifest: how the list is paged, and how much is asked for at once.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::list::List;
use super::paging::Paging;

/// What an account with one value of a setting has in place of the manifest's `paging` and `list`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Variant {
    /// How lists are paged through.
    pub(crate) paging: Paging,
    /// How the list of all connections is asked for.
    pub(crate) list: List,
}

/// A size of the manifest that a setting makes smaller for its account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Narrows {
    /// The largest page: `paging.size.max`.
    PageSize,
    /// The most values in one call of a look-up: `at_once`.
    LookUp,
}
