//! Inspection of a database before it is opened: its last shutdown, and whether SQLite may open it.
//!
//! SQLite takes an empty file for a new database, and deletes the log beside it. So these checks come first.

use std::io;
use std::path::Path;

use super::OpenMode;
use super::files;
use super::shutdown_mark::ShutdownMark;
use crate::error::{OpenRefused, StoreError};

/// How an embedded store was last shut down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LastShutdown {
    /// The server stopped in order.
    Clean,
    /// The store is new, or its first start was interrupted.
    NewStore,
    /// The process was killed, or the machine lost power.
    Unclean,
    /// The disk failed: the database needs a full check before anything is read.
    DiskFailed(String),
}

/// Refuses a database whose log SQLite would delete on opening it.
pub(super) fn refuse_lone_log(database: &Path) -> Result<(), StoreError> {
    let size = |file: &Path| files::size(file).map_err(|cause| unreadable(file, &cause));
    if size(database)? == 0 && size(&files::log_of(database))? > 0 {
        return Err(OpenRefused::OnlyLog(database.to_owned()).into());
    }
    Ok(())
}

/// Checks the files, creates the database's file where that is allowed, and writes the shutdown mark of the coming use.
pub(crate) fn inspect(database: &Path, mode: OpenMode) -> Result<LastShutdown, StoreError> {
    refuse_lone_log(database)?;
    let failed = |cause: io::Error| unreadable(database, &cause);
    let mark = ShutdownMark::read(database).map_err(failed)?;
    if mode == OpenMode::Command {
        return match mark {
            Some(ShutdownMark::DiskFailed(why)) => Err(OpenRefused::DiskFailed(why).into()),
            _ => Ok(LastShutdown::Clean),
        };
    }
    let is_new = files::size(database).map_err(failed)? == 0;
    let may_be_new = match (mode, &mark) {
        (OpenMode::StartEmpty, _) | (_, Some(ShutdownMark::NewStore)) => true,
        (OpenMode::MustExist, _) | (_, Some(ShutdownMark::InUse | ShutdownMark::DiskFailed(_))) => {
            false
        }
        (OpenMode::CreateIfNew | OpenMode::Command, None) => true,
    };
    if is_new && !may_be_new {
        let path = database.to_owned();
        let refused =
            if database.exists() { OpenRefused::Empty(path) } else { OpenRefused::Missing(path) };
        return Err(refused.into());
    }
    let last_shutdown = match &mark {
        _ if is_new => LastShutdown::NewStore,
        Some(ShutdownMark::NewStore) => LastShutdown::NewStore,
        None => LastShutdown::Clean,
        Some(ShutdownMark::DiskFailed(why)) => LastShutdown::DiskFailed(why.clone()),
        Some(ShutdownMark::InUse) => LastShutdown::Unclean,
    };
    let last_shutdown = match last_shutdown {
        LastShutdown::Clean | LastShutdown::NewStore => last_shutdown,
        // A killed server may not have written the mark of a failed disk.
        unclean => match files::forget_cached(database) {
            Ok(()) => unclean,
            Err(cause) => LastShutdown::DiskFailed(cause.to_string()),
        },
    };
    if let LastShutdown::DiskFailed(why) = &last_shutdown {
        // Until a full check has passed.
        ShutdownMark::DiskFailed(why.clone()).write(database).map_err(failed)?;
        if let Some(user) = files::used_by(database).map_err(failed)? {
            return Err(OpenRefused::InUse(user.process).into());
        }
    } else {
        let is_beginning = last_shutdown == LastShutdown::NewStore;
        let next = if is_beginning { ShutdownMark::NewStore } else { ShutdownMark::InUse };
        next.write(database).map_err(failed)?;
    }
    files::make(database).map_err(failed)?;
    Ok(last_shutdown)
}

fn unreadable(file: &Path, cause: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {cause}", file.display()).into())
}
