//! A file beside the database that says how its last use ended, so that the next start knows what to look at.
//!
//! It is made durable before the database is touched, and removed when all of the log is in the database. Where it is
//! missing, the last end was clean.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::files::{beside, sync_directory_of};

/// State of the store's last use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The first start was cut off: keys may be there, and nothing else.
    Beginning,
    /// A server uses the database, or was killed.
    Open,
    /// The disk failed.
    Failed(String),
}

impl Mark {
    /// The mark beside a database; `None` after a clean end.
    pub(crate) fn read(database: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read_to_string(file(database)) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            // Written half: as bad as a failure that it may have been about to tell of.
            Err(cause) if cause.kind() == io::ErrorKind::InvalidData => String::new(),
            Err(cause) => return Err(cause),
        };
        let text = text.trim_end();
        Ok(Some(match text {
            "beginning" => Self::Beginning,
            "open" => Self::Open,
            _ => Self::Failed(text.strip_prefix("failed: ").unwrap_or("unknown").to_owned()),
        }))
    }

    /// Writes the mark durably. An equal mark is left as it is, because a full disk has no room for another.
    pub(crate) fn write(&self, database: &Path) -> io::Result<()> {
        if Self::read(database).is_ok_and(|found| found.as_ref() == Some(self)) {
            return Ok(());
        }
        let text = match self {
            Self::Beginning => "beginning\n".to_owned(),
            Self::Open => "open\n".to_owned(),
            Self::Failed(why) => format!("failed: {}\n", why.replace('\n', " ")),
        };
        let (whole, part) = (file(database), beside(database, "-mark-new"));
        // A crash leaves the old mark or the new one.
        let mut owners_own = OpenOptions::new();
        owners_own.write(true).create(true).truncate(true).mode(0o600);
        let mut new = owners_own.open(&part)?;
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        fs::rename(part, whole)?;
        sync_directory_of(database)
    }

    /// Removes the mark after a clean end.
    pub(crate) fn remove(database: &Path) -> io::Result<()> {
        match fs::remove_file(file(database)) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
            _ => sync_directory_of(database),
        }
    }
}

fn file(database: &Path) -> PathBuf {
    beside(database, "-mark")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("test.db");
        assert_eq!(Mark::read(&database).unwrap(), None);
        for mark in [Mark::Beginning, Mark::Open, Mark::Failed("EIO on a flush".into())] {
            mark.write(&database).unwrap();
            assert_eq!(Mark::read(&database).unwrap(), Some(mark));
        }
        for text in [&b"ope"[..], b"", b"\xff\xff"] {
            fs::write(file(&database), text).unwrap();
            let found = Mark::read(&database).unwrap();
            assert!(matches!(found, Some(Mark::Failed(_))), "{text:?}: {found:?}");
        }
        Mark::remove(&database).unwrap();
        Mark::remove(&database).unwrap();
        assert_eq!(Mark::read(&database).unwrap(), None);
    }
}
