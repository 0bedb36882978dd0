//! Restoring a backup in place of the embedded store.
//!
//! The backup is checked and copied into the data directory (`swap`), and the copy is opened with its master key. Only
//! then the old store is moved aside, never deleted, and the copy takes its place. Interrupted before that, the old
//! store is unchanged; interrupted later, no server starts until the restore is run again and completed.

mod swap;

use std::io;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use gatehouse_store::{Clock, Damage, Integrity, Store, StoreError, Usage, check_fully};
use tokio_util::sync::CancellationToken;

use crate::backup::backup_directory::{BackupDirectory, name_of};
use crate::backup::{BackupError, make_directory};
use crate::config::{Config, DATABASE_FILE};
use crate::data_dir::lock;
use crate::keys::{self, KeysError};
use crate::transfer::{StoreMoved, refuse_moved};
use swap::{Plan, Swap};

/// Why a backup was not restored, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The settings name PostgreSQL.
    #[error(
        "this restores the embedded store, and the settings name a PostgreSQL database: restore that with \
         pg_restore, as docs/operating.md says"
    )]
    Postgres,
    /// The backup doesn't exist.
    #[error("there is no directory {}: give the directory of a backup", .0.display())]
    NoDirectory(PathBuf),
    /// The directory isn't a backup.
    #[error("{} is no backup, because there is no {DATABASE_FILE} in it{hint}", path.display())]
    NoBackup {
        /// The directory.
        path: PathBuf,
        /// A hint at a backup inside.
        hint: String,
    },
    /// The backup is the data directory itself.
    #[error(
        "{} is the data directory itself: give the directory of a backup with --from, and the data \
         directory with --data-dir",
        .0.display()
    )]
    Itself(PathBuf),
    /// The store was moved to PostgreSQL.
    #[error(transparent)]
    Moved(#[from] StoreMoved),
    /// A running server would keep writing to the moved files.
    #[error("another gatehouse uses the data directory {}: stop it, then restore", .0.display())]
    InUse(PathBuf),
    /// The backup is damaged.
    #[error("{} is damaged, so nothing was changed; try an older backup. Found: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        damage: Damage,
    },
    /// The backup can't be checked.
    #[error("{} could not be checked, so nothing was changed: {why}", path.display())]
    Unchecked {
        /// The file.
        path: PathBuf,
        /// The cause.
        why: String,
    },
    /// The backup can't be used by this version.
    #[error("the backup can't be used, so nothing was changed: {}", .0.explained())]
    Store(#[from] StoreError),
    /// The backup's master key is missing.
    #[error("the backup can't be used without its master key, so nothing was changed: {0}")]
    Keys(#[from] KeysError),
    /// A file can't be read or written.
    #[error(transparent)]
    File(#[from] BackupError),
}

/// A restore was interrupted.
#[derive(Debug, thiserror::Error)]
#[error(
    "a restore into this data directory was interrupted, as {} shows: finish it with `gatehouse restore --from \
     BACKUP`, with the same backup",
    .0.display()
)]
pub struct UnfinishedRestore(PathBuf);

/// Result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Directory of the replaced store, if there was one.
    pub replaced: Option<PathBuf>,
    /// Whether this completed an interrupted restore of the same backup.
    pub is_continued: bool,
}

/// Refuses a data directory with an interrupted restore.
pub fn refuse_unfinished(config: &Config) -> Result<(), UnfinishedRestore> {
    if config.database_url.is_some() {
        return Ok(());
    }
    swap::unfinished(&config.data_dir).map_or(Ok(()), |path| Err(UnfinishedRestore(path)))
}

/// Checks the backup in `from` and puts it in place of the store in the data directory.
pub fn restore<'a>(
    config: &'a Config,
    from: &'a Path,
    clock: Clock,
) -> BoxFuture<'a, Result<Restored, RestoreError>> {
    Box::pin(async move {
        if config.database_url.is_some() {
            return Err(RestoreError::Postgres);
        }
        refuse_moved(config)?;
        let data_dir = &config.data_dir;
        let from = locate(from, data_dir)?;
        check(&from.join(DATABASE_FILE))?;
        make_directory(data_dir)?;
        let locked =
            lock(data_dir).map_err(|cause| BackupError::File { path: data_dir.clone(), cause })?;
        let _lock = locked.ok_or_else(|| RestoreError::InUse(data_dir.clone()))?;
        let mut failpoint = || Ok(());
        let mut swap = Swap::new(data_dir, &mut failpoint);
        if let Some(plan) = swap.finish()?
            && plan.from == from
        {
            return Ok(restored(data_dir, &plan, true));
        }
        let staged = match swap.copy(&from) {
            Ok(staging) => check_usable(config, &staging, clock.clone()).await,
            Err(why) => Err(why.into()),
        };
        if let Err(why) = staged {
            swap.discard_copy();
            return Err(why);
        }
        let plan = swap.commit(&from, &name_of(clock.now()))?;
        Ok(restored(data_dir, &plan, false))
    })
}

fn restored(data_dir: &Path, plan: &Plan, is_continued: bool) -> Restored {
    let replaced = Some(data_dir.join(&plan.replaced)).filter(|it| it.is_dir());
    Restored { replaced, is_continued }
}

/// The absolute path of a backup.
fn locate(from: &Path, data_dir: &Path) -> Result<PathBuf, RestoreError> {
    let failed = |cause: io::Error| match cause.kind() {
        io::ErrorKind::NotFound => RestoreError::NoDirectory(from.to_owned()),
        _ => BackupError::File { path: from.to_owned(), cause }.into(),
    };
    let path = from.canonicalize().map_err(failed)?;
    if !path.is_dir() {
        return Err(RestoreError::NoDirectory(from.to_owned()));
    }
    if data_dir.canonicalize().is_ok_and(|it| it == path) {
        return Err(RestoreError::Itself(from.to_owned()));
    }
    if path.join(DATABASE_FILE).is_file() {
        return Ok(path);
    }
    let backups = BackupDirectory::new(&path).backups()?;
    let hint = backups
        .last()
        .map(|newest| format!(": it holds backups, the newest of them {}", newest.path.display()));
    Err(RestoreError::NoBackup { path: from.to_owned(), hint: hint.unwrap_or_default() })
}

/// Refuses a damaged backup.
fn check(file: &Path) -> Result<(), RestoreError> {
    let path = file.to_owned();
    match check_fully(file, Usage::Idle, &CancellationToken::new()) {
        Integrity::Sound => Ok(()),
        Integrity::Damaged(damage) => Err(RestoreError::Damaged { path, damage }),
        Integrity::Absent(what) => Err(RestoreError::Damaged { path, damage: Damage::new(what) }),
        Integrity::Unchecked(why) => Err(RestoreError::Unchecked { path, why }),
        Integrity::Interrupted | Integrity::NotApplicable => {
            Err(RestoreError::Unchecked { path, why: "the check was stopped".into() })
        }
    }
}

/// Checks that this version can open the copy with the master keys of the settings, the backup or the data directory.
async fn check_usable(config: &Config, staging: &Path, clock: Clock) -> Result<(), RestoreError> {
    let file = staging.join(DATABASE_FILE);
    let store = Store::attach_sqlite(&file, clock).await?.ok_or_else(|| {
        let damage = Damage::new("there is no store in it");
        RestoreError::Damaged { path: file.clone(), damage }
    })?;
    let key_dir = match keys::has_master_key(staging) {
        true => staging.to_owned(),
        false => config.data_dir.clone(),
    };
    let with_key_dir = Config { data_dir: key_dir, ..config.clone() };
    let checked = keys::checked_master_keys(&with_key_dir, &store).await.map(drop);
    store.close().await;
    Ok(checked?)
}

#[cfg(test)]
mod tests;
