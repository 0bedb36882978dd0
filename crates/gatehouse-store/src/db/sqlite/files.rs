//! The files of SQLite's database, seen from outside: before it is opened, and without its help.
//!
//! Nothing here may open a file of a database that this process uses: to close it again would let go of every lock that
//! SQLite holds on it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};
use rustix::process::{Flock, FlockType, fcntl_getlk};

/// The byte of the log's index that everyone locks who uses the database.
const IN_USE_BYTE: u64 = 128;

/// A file whose name begins with that of the database.
pub(super) fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The log of a database.
pub(super) fn log_of(database: &Path) -> PathBuf {
    beside(database, "-wal")
}

/// How large a file is; nothing where it is missing.
pub(super) fn size(file: &Path) -> io::Result<u64> {
    match fs::metadata(file) {
        Ok(found) => Ok(found.len()),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(cause) => Err(cause),
    }
}

/// Makes the database's file, for its owner alone whatever the directory allows, or finds it. SQLite gives its other
/// files the same rights.
pub(super) fn make(database: &Path) -> io::Result<()> {
    let mut owners_own = OpenOptions::new();
    owners_own.write(true).create_new(true).mode(0o600);
    match owners_own.open(database) {
        Ok(_) => sync_directory_of(database),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(cause),
    }
}

/// Has the directory itself remember which files are in it.
pub(super) fn sync_directory_of(file: &Path) -> io::Result<()> {
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new("."))).and_then(|directory| directory.sync_all())
}

/// Drops the cached pages of the database and its log, so that the next read comes from the disk: after a failed write they
/// may differ. An error is a write-back error that no process has been told of.
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
    /// Its number; `None` where it isn't one of ours to know, because it is in another container.
    pub(super) process: Option<u32>,
}

/// Another process that uses the database, if there is one.
pub(super) fn used_by(database: &Path) -> io::Result<Option<User>> {
    let index = match OpenOptions::new().read(true).write(true).open(beside(database, "-shm")) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let lock = Flock { start: IN_USE_BYTE, length: 1, ..Flock::from(FlockType::WriteLock) };
    let found = fcntl_getlk(&index, &lock)?;
    Ok(found.map(|lock| User {
        process: lock.pid.map(|pid| pid.as_raw_nonzero().get().unsigned_abs()),
    }))
}
