//! Variants of a manifest that an account's settings choose: other paging, smaller pages and look-ups.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::list::List;
use super::paging::Paging;

/// Replacement of the manifest's `paging` and `list` for one value of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Variant {
    /// How lists are paged.
    pub(crate) paging: Paging,
    /// How to read the list of all connections.
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
