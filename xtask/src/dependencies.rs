//! Checks of the crates that gatehouse depends on, by deny.toml.

pub(crate) mod cargo_deny;
pub(crate) mod lock_file;
