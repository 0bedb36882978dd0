//! Checks before a database is opened: how its last use ended, and whether SQLite may open it.
//!
//! SQLite takes an empty file for a new database, and deletes the log beside it. So these checks come first.

use std::io;
use std::path::Path;

use super::Opener;
use super::files;
use super::mark::Mark;
use crate::error::{Refused, StoreError};

/// How the last use of an embedded store ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LastEnd {
    /// The server stopped in order.
    Clean,
    /// The store is new, or its first start was cut off.
    Beginning,
    /// The process was killed, or the machine lost power.
    CutOff,
    /// The disk failed: the database must be checked whole before anything is read.
    DiskFailed(String),
}

/// Refuses a database whose log SQLite would delete on opening it.
pub(super) fn refuse_lone_log(database: &Path) -> Result<(), StoreError> {
    let size = |file: &Path| files::size(file).map_err(|cause| unreadable(file, &cause));
    if size(database)? == 0 && size(&files::log_of(database))? > 0 {
        return Err(Refused::OnlyLog(database.to_owned()).into());
    }
    Ok(())
}

/// Checks the files, creates the database's file where that is allowed, and writes the mark of its next use.
pub(crate) fn look(database: &Path, opener: Opener) -> Result<LastEnd, StoreError> {
    refuse_lone_log(database)?;
    let failed = |cause: io::Error| unreadable(database, &cause);
    let mark = Mark::read(database).map_err(failed)?;
    if opener == Opener::Command {
        return match mark {
            Some(Mark::Failed(why)) => Err(Refused::DiskFailed(why).into()),
            _ => Ok(LastEnd::Clean),
        };
    }
    let is_new = files::size(database).map_err(failed)? == 0;
    let may_be_new = match (opener, &mark) {
        (Opener::Anew, _) | (_, Some(Mark::Beginning)) => true,
        (Opener::Returning, _) | (_, Some(Mark::Open | Mark::Failed(_))) => false,
        (Opener::Server | Opener::Command, None) => true,
    };
    if is_new && !may_be_new {
        let path = database.to_owned();
        let refused = if database.exists() { Refused::Empty(path) } else { Refused::Missing(path) };
        return Err(refused.into());
    }
    let last_end = match &mark {
        _ if is_new => LastEnd::Beginning,
        Some(Mark::Beginning) => LastEnd::Beginning,
        None => LastEnd::Clean,
        Some(Mark::Failed(why)) => LastEnd::DiskFailed(why.clone()),
        Some(Mark::Open) => LastEnd::CutOff,
    };
    let last_end = match last_end {
        LastEnd::Clean | LastEnd::Beginning => last_end,
        // A killed server may not have come to mark that the disk failed.
        unclean => match files::forget_cached(database) {
            Ok(()) => unclean,
            Err(cause) => LastEnd::DiskFailed(cause.to_string()),
        },
    };
    if let LastEnd::DiskFailed(why) = &last_end {
        // Until all of it has been looked at.
        Mark::Failed(why.clone()).write(database).map_err(failed)?;
        if let Some(user) = files::used_by(database).map_err(failed)? {
            return Err(Refused::InUse(user.process).into());
        }
    } else {
        let is_beginning = last_end == LastEnd::Beginning;
        let next = if is_beginning { Mark::Beginning } else { Mark::Open };
        next.write(database).map_err(failed)?;
    }
    files::make(database).map_err(failed)?;
    Ok(last_end)
}

fn unreadable(file: &Path, cause: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {cause}", file.display()).into())
}
