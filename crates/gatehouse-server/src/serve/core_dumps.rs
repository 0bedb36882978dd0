//! Core dumps: a copy of the process on a disk would hold every key and password that is in memory.

#[cfg(target_os = "linux")]
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

#[cfg(target_os = "linux")]
use crate::metrics::open_process_files;

/// Switches core dumps off, and lets only root inspect the process.
///
/// First of all, before there is a key in memory.
#[cfg(target_os = "linux")]
pub fn forbid_core_dumps() {
    open_process_files();
    let limit = Rlimit { current: Some(0), maximum: getrlimit(Resource::Core).maximum };
    let forbidden = setrlimit(Resource::Core, limit)
        .and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable));
    if let Err(cause) = forbidden {
        tracing::warn!(%cause, "core dumps can't be forbidden: one would hold keys and passwords");
    }
}

/// Only Linux knows this.
#[cfg(not(target_os = "linux"))]
pub fn forbid_core_dumps() {}
