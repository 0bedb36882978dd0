//! Exclusive use of the data directory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Locks a data directory until the file is dropped; `None` if another process holds it.
pub(crate) fn lock(data_dir: &Path) -> io::Result<Option<File>> {
    let mut private_file = OpenOptions::new();
    private_file.write(true).create(true).truncate(false).mode(0o600);
    let file = private_file.open(data_dir.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(cause)) => Err(cause),
    }
}
