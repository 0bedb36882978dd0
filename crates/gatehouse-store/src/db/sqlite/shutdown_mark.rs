//! A file beside the database that tells the next start how the last use ended.
//!
//! The mark is made durable before the database is touched, and removed when the whole log is checkpointed. No mark
//! means a clean shutdown.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::files::{sibling, sync_directory_of};

/// State of the store's last use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ShutdownMark {
    /// A first start: keys may exist, and nothing else.
    NewStore,
    /// A server uses the database, or was killed.
    InUse,
    /// The disk failed.
    DiskFailed(String),
}

impl ShutdownMark {
    /// The mark beside a database; `None` after a clean shutdown.
    pub(crate) fn read(database: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read_to_string(file(database)) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            // A damaged mark counts as a failed disk.
            Err(cause) if cause.kind() == io::ErrorKind::InvalidData => String::new(),
            Err(cause) => return Err(cause),
        };
        let text = text.trim_end();
        Ok(Some(match text {
            "beginning" => Self::NewStore,
            "open" => Self::InUse,
            _ => Self::DiskFailed(text.strip_prefix("failed: ").unwrap_or("unknown").to_owned()),
        }))
    }

    /// Writes the mark durably. An equal mark stays, because a full disk may have no room for another.
    pub(crate) fn write(&self, database: &Path) -> io::Result<()> {
        if Self::read(database).is_ok_and(|found| found.as_ref() == Some(self)) {
            return Ok(());
        }
        let text = match self {
            Self::NewStore => "beginning\n".to_owned(),
            Self::InUse => "open\n".to_owned(),
            Self::DiskFailed(why) => format!("failed: {}\n", why.replace('\n', " ")),
        };
        let (whole, part) = (file(database), sibling(database, "-mark-new"));
        // A crash leaves the old mark or the new one.
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut new = options.open(&part)?;
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        fs::rename(part, whole)?;
        sync_directory_of(database)
    }

    /// Removes the mark after a clean shutdown.
    pub(crate) fn remove(database: &Path) -> io::Result<()> {
        match fs::remove_file(file(database)) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
            _ => sync_directory_of(database),
        }
    }
}

fn file(database: &Path) -> PathBuf {
    sibling(database, "-mark")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("test.db");
        assert_eq!(ShutdownMark::read(&database).unwrap(), None);
        for mark in [
            ShutdownMark::NewStore,
            ShutdownMark::InUse,
            ShutdownMark::DiskFailed("EIO on a flush".into()),
        ] {
            mark.write(&database).unwrap();
            assert_eq!(ShutdownMark::read(&database).unwrap(), Some(mark));
        }
        for text in [&b"ope"[..], b"", b"\xff\xff"] {
            fs::write(file(&database), text).unwrap();
            let found = ShutdownMark::read(&database).unwrap();
            assert!(matches!(found, Some(ShutdownMark::DiskFailed(_))), "{text:?}: {found:?}");
        }
        ShutdownMark::remove(&database).unwrap();
        ShutdownMark::remove(&database).unwrap();
        assert_eq!(ShutdownMark::read(&database).unwrap(), None);
    }
}
