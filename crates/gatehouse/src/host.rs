//! Commands that work on the store and its machine, next to a server or as the server.

pub(super) mod demo;
pub(super) mod disk_failure;
pub(super) mod log_queue;
pub(super) mod logging;
pub(super) mod open_store;
pub(super) mod traces;
