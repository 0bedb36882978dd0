//! SQLite's files, handled without SQLite, before the database is opened.
//!
//! Nothing here may open a file of a database that this process uses: closing the file would release every lock that
//! SQLite holds on it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};
use rustix::process::{Flock, FlockType, fcntl_getlk};

/// Byte of the `-shm` file that every process locks while it uses the database.
const IN_USE_BYTE: u64 = 128;

/// Path of a file whose name is the database's and an ending.
pub(super) fn sibling(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Path of a database's log.
pub(super) fn log_of(database: &Path) -> PathBuf {
    sibling(database, "-wal")
}

/// Size of a file; 0 where it doesn't exist.
pub(super) fn size(file: &Path) -> io::Result<u64> {
    match fs::metadata(file) {
        Ok(found) => Ok(found.len()),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(cause) => Err(cause),
    }
}

/// Creates the database's file unless it exists, accessible only for its owner. SQLite gives its other files the same
/// permissions.
pub(super) fn make(database: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(database) {
        Ok(_) => sync_directory_of(database),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(cause),
    }
}

/// Makes new, renamed and removed names in the file's directory durable.
pub(super) fn sync_directory_of(file: &Path) -> io::Result<()> {
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new("."))).and_then(|directory| directory.sync_all())
}

/// Drops the cached pages of the database and its log, so that the next read comes from the disk: after a failed write
/// both may differ. An error is a write-back error that no process has seen yet.
pub(super) fn forget_cached(database: &Path) -> io::Result<()> {
    let mut told = Ok(());
    for file in [database.to_owned(), log_of(database)] {
        let file = match File::open(&file) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        // Dirty pages can't be dropped.
        told = told.and(file.sync_all());
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    told
}

/// Another process that uses the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct User {
    /// Process number; `None` for a process in another container.
    pub(super) process: Option<u32>,
}

/// Finds another process that uses the database.
pub(super) fn used_by(database: &Path) -> io::Result<Option<User>> {
    let index = match OpenOptions::new().read(true).write(true).open(sibling(database, "-shm")) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let lock = Flock { start: IN_USE_BYTE, length: 1, ..Flock::from(FlockType::WriteLock) };
    let found = fcntl_getlk(&index, &lock)?;
    Ok(found.map(|lock| User {
        process: lock.pid.map(|pid| pid.as_raw_nonzero().get().unsigned_abs()),
    }))
}
