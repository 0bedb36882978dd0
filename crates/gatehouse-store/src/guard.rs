//! Locks that outlive a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock, also after its last holder panicked: what is kept under locks here (connections, lists of
/// them, prepared statements, who waits) is whole all the same, and a database rolls back what was half done.
pub(crate) fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
