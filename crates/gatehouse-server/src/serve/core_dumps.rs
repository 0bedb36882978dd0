//! Disabling core dumps, which would hold every key and password in memory.

#[cfg(target_os = "linux")]
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

#[cfg(target_os = "linux")]
use crate::metrics::open_process_files;

/// Disables core dumps, and lets only root inspect the process. Call it before a key is in memory.
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

/// Does nothing: only Linux supports it.
#[cfg(not(target_os = "linux"))]
pub fn forbid_core_dumps() {}
