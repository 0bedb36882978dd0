//! Backups of the embedded store: a directory with the store as one file, and its key files.
//!
//! The command and the server's schedule (`work/backup.rs`) make backups the same way. The store's file gets its final
//! name last, after every page of the copy is checked. A directory without that name is not a backup.
//! `backup_directory` holds backups that are named by time.

pub(crate) mod backup_directory;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use gatehouse_store::{Damage, Integrity, Store, StoreError, Usage, check_fully};
use tokio_util::sync::CancellationToken;

use crate::config::DATABASE_FILE;

/// Name of the store's file until the backup is complete.
const UNFINISHED_FILE: &str = "unfinished";

/// A complete, checked backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSummary {
    /// Size of the store's file.
    pub n_bytes: u64,
    /// The copied key files.
    pub keys: Vec<String>,
}

/// Why no backup was made. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The directory has other files.
    #[error(
        "{} is not empty: give a directory that is not there yet, so that no backup is overwritten",
        .0.display()
    )]
    NotEmpty(PathBuf),
    /// A file or directory can't be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// The store can't be copied.
    #[error("{}", .0.explained())]
    Store(#[from] StoreError),
    /// The copy is damaged.
    #[error(
        "the copy was made, but it is damaged, and has been removed ({0}): look at the store with \
         `gatehouse doctor --deep`, and at the disk that the copy was written to"
    )]
    Damaged(Damage),
    /// The copy can't be checked.
    #[error("the copy was made, but could not be checked, and has been removed: {0}")]
    Unchecked(String),
    /// The server is stopping.
    #[error("it was stopped before it was complete")]
    Stopped,
}

/// Adds the path to an I/O error.
pub(crate) fn of(path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    move |cause| BackupError::File { path: path.to_owned(), cause }
}

/// Backs the store and the key files of its data directory up to `to`, which must be new or empty. A failure leaves
/// nothing behind. Runs on other threads than requests.
pub fn make<'a>(
    store: &'a Store,
    data_dir: &'a Path,
    to: &'a Path,
    stop: &'a CancellationToken,
) -> BoxFuture<'a, Result<BackupSummary, BackupError>> {
    Box::pin(async move {
        let (data_dir, to) = (data_dir.to_owned(), to.to_owned());
        let directory = to.clone();
        let (part, is_new) = run_blocking(move || begin(&directory)).await?;
        let copied = store.copy_to(&part, stop).await;
        let stop = stop.clone();
        run_blocking(move || {
            let made = match copied {
                _ if stop.is_cancelled() => Err(BackupError::Stopped),
                Ok(()) => finish(&data_dir, &to, &part, &stop),
                Err(why) => Err(why.into()),
            };
            if made.is_err() {
                remove(&to, is_new);
            }
            made
        })
        .await
    })
}

/// Runs blocking work on a thread of its own.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackupError> + Send + 'static,
) -> Result<T, BackupError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(StoreError::Unexpected("a backup panicked".into()).into()))
}

/// Creates the directory with an empty file for the copy; returns the file, and whether the directory is new.
fn begin(to: &Path) -> Result<(PathBuf, bool), BackupError> {
    let is_new = make_empty(to)?;
    let part = to.join(UNFINISHED_FILE);
    drop(private_file().open(&part).map_err(of(&part))?);
    Ok((part, is_new))
}

/// Adds the keys, checks the copy, and gives it its final name.
fn finish(
    data_dir: &Path,
    to: &Path,
    part: &Path,
    stop: &CancellationToken,
) -> Result<BackupSummary, BackupError> {
    let keys = copy_keys(data_dir, to)?;
    let copied = File::open(part).and_then(|it| it.sync_all().and_then(|()| it.metadata()));
    let n_bytes = copied.map_err(of(part))?.len();
    match check_fully(part, Usage::Idle, stop) {
        Integrity::Sound => {}
        Integrity::Damaged(damage) => return Err(BackupError::Damaged(damage)),
        Integrity::Absent(what) => return Err(BackupError::Damaged(Damage::new(what))),
        Integrity::Unchecked(why) => return Err(BackupError::Unchecked(why)),
        Integrity::Interrupted => return Err(BackupError::Stopped),
        Integrity::NotApplicable => {
            return Err(BackupError::Unchecked("the copy is no embedded store".into()));
        }
    }
    let whole = to.join(DATABASE_FILE);
    fs::rename(part, &whole).map_err(of(&whole))?;
    sync_directory(to)?;
    let parent = std::path::absolute(to).map_err(of(to))?;
    parent.parent().map_or(Ok(()), sync_directory)?;
    Ok(BackupSummary { n_bytes, keys })
}

/// Options for a new file that only its owner can read.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

/// Creates a directory that only its owner can read, and fails if it has files; returns whether it is new.
fn make_empty(directory: &Path) -> Result<bool, BackupError> {
    let is_new = !directory.exists();
    make_directory(directory)?;
    match fs::read_dir(directory).map_err(of(directory))?.next() {
        None => Ok(is_new),
        Some(_) => Err(BackupError::NotEmpty(directory.to_owned())),
    }
}

/// Creates a directory that only its owner can read, unless it exists.
pub(crate) fn make_directory(directory: &Path) -> Result<(), BackupError> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(of(directory))
}

/// Flushes a directory, so that its entries survive a power failure.
pub(crate) fn sync_directory(directory: &Path) -> Result<(), BackupError> {
    File::open(directory).and_then(|it| it.sync_all()).map_err(of(directory))
}

/// Copies the key files of a data directory.
fn copy_keys(from: &Path, to: &Path) -> Result<Vec<String>, BackupError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(from).map_err(of(from))? {
        let path = entry.map_err(of(from))?.path();
        let Some(name) = path.file_name().filter(|_| is_key(&path)) else { continue };
        copy(&path, &to.join(name))?;
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Whether a file is a key file, by its name.
fn is_key(path: &Path) -> bool {
    path.extension() == Some("key".as_ref())
}

/// Copies a file to a new one and flushes it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), BackupError> {
    let mut source = File::open(from).map_err(of(from))?;
    let mut target = private_file().open(to).map_err(of(to))?;
    io::copy(&mut source, &mut target).and_then(|_| target.sync_all()).map_err(of(to))
}

/// Whether SQLite appends this suffix to its auxiliary files.
fn is_sqlite_suffix(ending: &str) -> bool {
    matches!(ending, "-wal" | "-shm" | "-journal")
}

/// Removes a backup: first the store's final name, then its files, then the directory if it `with_directory` and is
/// empty. Returns false if the directory could not be removed.
fn remove(directory: &Path, with_directory: bool) -> bool {
    let _ = fs::rename(directory.join(DATABASE_FILE), directory.join(UNFINISHED_FILE));
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let belongs_to = |file: &str| name.strip_prefix(file).is_some_and(is_sqlite_suffix);
        if belongs_to(UNFINISHED_FILE) || belongs_to(DATABASE_FILE) || is_key(&path) {
            let _ = fs::remove_file(&path);
        }
    }
    // Last: the file marks the rest as ours to remove.
    let _ = fs::remove_file(directory.join(UNFINISHED_FILE));
    !with_directory || fs::remove_dir(directory).is_ok()
}

#[cfg(test)]
mod tests;
