//! The data directory, which one process has for itself.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Takes a data directory for this process alone, until the file is dropped; `None` while another has it.
pub(crate) fn hold(data_dir: &Path) -> io::Result<Option<File>> {
    let mut owners_own = OpenOptions::new();
    owners_own.write(true).create(true).truncate(false).mode(0o600);
    let lock = owners_own.open(data_dir.join("lock"))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(cause)) => Err(cause),
    }
}
