//! Programs that chores need: finding them on this machine, running them, and installing the missing ones.
//!
//! [`requirement`] lists what the distribution provides, each with its least version. [`installer`] puts packages of npm and
//! PyPI below `target`.

pub(crate) mod distribution_packages;
pub(crate) mod installer;
pub(crate) mod issuer;
pub(crate) mod node;
pub(crate) mod program;
pub(crate) mod requirement;
pub(crate) mod subscribers;
pub(crate) mod version;
