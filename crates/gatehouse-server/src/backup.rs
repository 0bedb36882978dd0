//! Backups of the embedded store: a directory with the store as one file, and the keys that lie beside it.
//!
//! The command and the schedule of the server (`work/backup.rs`) make them alike. The store gets its name in the backup
//! last, when every page of the copy has been checked. A directory without that name is no backup, whatever else is in it.
//! `directory` keeps backups that are named by their time.

pub(crate) mod backup_directory;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use gatehouse_store::{Damage, Integrity, Store, StoreError, Usage, check_fully};
use tokio_util::sync::CancellationToken;

use crate::config::DATABASE_FILE;

/// The store in a backup that isn't made yet.
const UNFINISHED_FILE: &str = "unfinished";

/// A backup that was made and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSummary {
    /// How large the store is in it.
    pub n_bytes: u64,
    /// The files of keys that went along.
    pub keys: Vec<String>,
}

/// Why there is no backup. Nothing is left of it.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is something that it would be mixed with.
    #[error(
        "{} is not empty: give a directory that is not there yet, so that no backup is overwritten",
        .0.display()
    )]
    NotEmpty(PathBuf),
    /// A file or directory can't be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The store can't be copied.
    #[error("{}", .0.explained())]
    Store(#[from] StoreError),
    /// The copy was made, and isn't whole.
    #[error(
        "the copy was made, but it is damaged, and has been removed ({0}): look at the store with \
         `gatehouse doctor --deep`, and at the disk that the copy was written to"
    )]
    Damaged(Damage),
    /// The copy was made, and can't be checked.
    #[error("the copy was made, but could not be checked, and has been removed: {0}")]
    Unchecked(String),
    /// The server stops.
    #[error("it was stopped before its end")]
    Stopped,
}

/// An error of a file, with its name.
pub(crate) fn of(path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    move |cause| BackupError::File { path: path.to_owned(), cause }
}

/// Makes a backup in `to`, a directory that isn't there yet or is empty: of the store, and of the keys in its data
/// directory. A failure leaves nothing behind. Nothing of it runs on the threads that answer requests.
pub fn make<'a>(
    store: &'a Store,
    data_dir: &'a Path,
    to: &'a Path,
    stop: &'a CancellationToken,
) -> BoxFuture<'a, Result<BackupSummary, BackupError>> {
    Box::pin(async move {
        let (data_dir, to) = (data_dir.to_owned(), to.to_owned());
        let directory = to.clone();
        let (part, is_new) = apart(move || begin(&directory)).await?;
        let copied = store.copy_to(&part, stop).await;
        let stop = stop.clone();
        apart(move || {
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

/// Does what may take long on a thread for that.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackupError> + Send + 'static,
) -> Result<T, BackupError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(StoreError::Unexpected("a backup panicked".into()).into()))
}

/// Makes the directory with an empty file for the copy; tells that file, and whether the directory is new.
fn begin(to: &Path) -> Result<(PathBuf, bool), BackupError> {
    let is_new = make_empty(to)?;
    let part = to.join(UNFINISHED_FILE);
    drop(owners_own().open(&part).map_err(of(&part))?);
    Ok((part, is_new))
}

/// Adds the keys, checks the copy, and gives it its name.
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

/// A file that is new, and its owner's alone.
fn owners_own() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

/// Makes a directory that its owner alone can look into; whether it wasn't there before.
fn make_empty(directory: &Path) -> Result<bool, BackupError> {
    let is_new = !directory.exists();
    make_directory(directory)?;
    match fs::read_dir(directory).map_err(of(directory))?.next() {
        None => Ok(is_new),
        Some(_) => Err(BackupError::NotEmpty(directory.to_owned())),
    }
}

/// Makes a directory that its owner alone can look into, unless it is there.
pub(crate) fn make_directory(directory: &Path) -> Result<(), BackupError> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(of(directory))
}

/// Has the names of a directory's files survive a loss of power.
pub(crate) fn sync_directory(directory: &Path) -> Result<(), BackupError> {
    File::open(directory).and_then(|it| it.sync_all()).map_err(of(directory))
}

/// Copies the files of keys that lie beside a store.
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

/// Whether a file holds a key, by its name.
fn is_key(path: &Path) -> bool {
    path.extension() == Some("key".as_ref())
}

/// Copies a file to one that isn't there yet, and has it survive a loss of power.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), BackupError> {
    let mut source = File::open(from).map_err(of(from))?;
    let mut target = owners_own().open(to).map_err(of(to))?;
    io::copy(&mut source, &mut target).and_then(|_| target.sync_all()).map_err(of(to))
}

/// Whether SQLite gives files such an ending that it makes beside a database.
fn is_of_sqlite(ending: &str) -> bool {
    matches!(ending, "-wal" | "-shm" | "-journal")
}

/// Removes a backup: first the name that makes it one, then its files, and the directory where nothing else is in it and it
/// may go. What can't be removed stays, and is no backup any more.
fn remove(directory: &Path, with_directory: bool) -> bool {
    let _ = fs::rename(directory.join(DATABASE_FILE), directory.join(UNFINISHED_FILE));
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let of_store = |file: &str| name.strip_prefix(file).is_some_and(is_of_sqlite);
        if of_store(UNFINISHED_FILE) || of_store(DATABASE_FILE) || is_key(&path) {
            let _ = fs::remove_file(&path);
        }
    }
    // Last, because it says that the rest is ours to remove.
    let _ = fs::remove_file(directory.join(UNFINISHED_FILE));
    !with_directory || fs::remove_dir(directory).is_ok()
}

#[cfg(test)]
mod tests;
