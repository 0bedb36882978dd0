//! The manifest format, a file for each part.

pub(crate) mod account;
pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod condition;
pub(crate) mod detail;
pub(crate) mod errors;
pub(super) mod field_position;
pub(super) mod limits;
pub(crate) mod list;
pub(crate) mod look_up;
pub(crate) mod paging;
pub(crate) mod parameter;
pub(crate) mod path;
pub(crate) mod pattern;
pub(crate) mod product;
pub(crate) mod property;
pub(crate) mod selection;
pub(crate) mod session;
pub(super) mod short_duration;
pub(crate) mod source;
pub(crate) mod status;
pub(crate) mod template;
pub(super) mod transform;
pub(crate) mod variant;
