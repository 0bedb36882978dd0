//! Checkpoints: moving SQLite's write-ahead log into the database.
//!
//! Until the database is on the disk, and not only in the page cache, the log is the only good copy of committed
//! writes. SQLite restarts the log, over its old pages, only after a flush of the database that followed the log's last
//! page. The system reports a page that it could not write to such a flush, once, and then takes the page for written.
//! So one connection makes all checkpoints, and the first I/O error ends all writing: no second flush could seem to
//! succeed. The next start then checkpoints the whole log again: SQLite keeps the number of checkpointed pages in
//! shared memory, which is gone with the last process that uses the database.
//!
//! Most pages are checkpointed while the writer appends more. A read transaction pins the log meanwhile, so that it
//! can't restart before the database was flushed and read back. The end of a long log is checkpointed while the writer
//! waits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::OpenFlags;

use super::files;
use super::growth::{Device, Growth};
use super::health::Health;
use super::log_length::{LogLength, ReaderWait};
use super::log_pages::parts_in_log;
use super::session::{Fault, Role, Session, fault};
use super::{BUSY_TIMEOUT, Location};
use crate::error::StoreError;

/// Busy timeout of a RESTART checkpoint of a long log. All writes wait meanwhile.
const SHORT_READER_WAIT: Duration = Duration::from_millis(20);

/// Busy timeout of a RESTART checkpoint of a very long log. Only longer reads, such as a backup, let the log grow
/// further.
const LONG_READER_WAIT: Duration = Duration::from_secs(1);

/// Reason to stop where the device holds other bytes than those that were written.
pub(super) const LOST: &str =
    "the device has not kept what it took: is it an image, or a volume of a pool, that is full?";

/// SQLite's checkpoint modes.
#[derive(Clone, Copy)]
enum Mode {
    /// Checkpoints the pages that no reader needs.
    Passive,
    /// Waits for readers this long, and then lets the log restart.
    Restart(Duration),
}

/// The connections that make checkpoints.
pub(super) struct Log {
    length: Arc<LogLength>,
    checkpointer: Session,
    /// Holds a read transaction during a checkpoint, so that the log can't restart.
    pin: Session,
    /// The database's file, whose new parts are read back from the device; `None` on a test's disk.
    database: Option<Box<dyn Device>>,
    path: PathBuf,
    other_checkpoints: OtherCheckpoints,
    /// Whether the log may hold pages that another process has checkpointed and not read back.
    is_taken_over: bool,
}

/// When other processes may make checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherCheckpoints {
    /// Before this process started.
    Earlier,
    /// At any time: the server does, while this process is a command.
    Concurrent,
}

/// How far a checkpoint came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checkpoint {
    /// The database has the whole log, and was read back.
    Complete,
    /// A reader or another process prevented a complete checkpoint.
    Partial,
    /// The disk had no room.
    DiskFull,
}

impl Log {
    pub(super) fn open(
        location: &Location,
        other_checkpoints: OtherCheckpoints,
        length: &Arc<LogLength>,
        health: &Arc<Health>,
    ) -> Result<Self, StoreError> {
        let database: Option<Box<dyn Device>> = match location.vfs {
            None => {
                let growth = Growth::of(&location.path);
                Some(Box::new(growth.map_err(|cause| StoreError::Unavailable(cause.into()))?))
            }
            Some(_) => None,
        };
        Self::open_on(database, location, other_checkpoints, length, health)
    }

    /// Opens the log of a database on this device.
    fn open_on(
        database: Option<Box<dyn Device>>,
        location: &Location,
        other_checkpoints: OtherCheckpoints,
        length: &Arc<LogLength>,
        health: &Arc<Health>,
    ) -> Result<Self, StoreError> {
        let connect = |flags| {
            let connection = location.connect(flags)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            // SQLite flushes the log before a checkpoint and the database after it.
            connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0")?;
            Session::new(connection, Role::Writer, Arc::clone(health))
        };
        let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let (checkpointer, pin) = (connect(OpenFlags::default())?, connect(read_only)?);
        let path = files::log_of(&location.path);
        let length = Arc::clone(length);
        Ok(Self {
            length,
            checkpointer,
            pin,
            database,
            path,
            other_checkpoints,
            is_taken_over: true,
        })
    }

    /// Checkpoints as many pages as possible while the writer may append more.
    pub(super) fn checkpoint(&mut self) -> Result<Checkpoint, StoreError> {
        if let Some(why) = self.checkpointer.health().stopped() {
            return Err(StoreError::Disk(why.as_ref().into()));
        }
        if !self.pin.connection().is_autocommit() {
            // An earlier attempt has failed, and not because of the disk.
            self.pin.script("ROLLBACK")?;
        }
        // The read transaction begins with the first read.
        self.pin.script("BEGIN; SELECT COUNT(*) FROM sqlite_schema")?;
        let moved = self.run_pragma(Mode::Passive)?;
        // After an I/O error the transaction stays open, so that the log can't restart.
        self.pin.script("ROLLBACK")?;
        Ok(moved)
    }

    /// Whether the disk has failed.
    pub(super) fn is_stopped(&self) -> bool {
        self.checkpointer.health().stopped().is_some()
    }

    /// Checkpoints the whole log while the writer waits, as far as readers allow. For a long log, waits for readers so
    /// that it can restart.
    pub(super) fn finish_checkpoint(&mut self) -> Result<(), StoreError> {
        let wait = self.length.wait();
        self.length.raise_finish_length();
        self.checkpoint()?;
        let wait = match wait {
            ReaderWait::None => return Ok(()),
            ReaderWait::Short => SHORT_READER_WAIT,
            ReaderWait::Long => LONG_READER_WAIT,
        };
        self.run_pragma(Mode::Restart(wait)).map(drop)
    }

    /// Checkpoints the whole log and truncates it while the writer waits; false where a reader prevents that.
    pub(super) fn truncate(&mut self) -> Result<bool, StoreError> {
        // The log is the only good copy until the database was read back.
        match self.checkpoint()? {
            Checkpoint::Complete => {}
            Checkpoint::Partial => return Ok(false),
            Checkpoint::DiskFull => {
                let why = "there is no room to move the write-ahead log into the database";
                return Err(StoreError::Unavailable(why.into()));
            }
        }
        let connection = self.checkpointer.connection();
        let is_busy = connection.busy_timeout(Duration::ZERO).and_then(|()| {
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            connection.query_row(sql, [], |row| row.get::<_, bool>(0))
        });
        let is_busy = is_busy.map_err(|cause| self.checkpointer.record_error(cause))?;
        if !is_busy {
            self.length.on_truncate();
        }
        Ok(!is_busy)
    }

    /// Runs a checkpoint, flushes the database, and reads it back if it has the whole log.
    fn run_pragma(&mut self, mode: Mode) -> Result<Checkpoint, StoreError> {
        let (sql, wait) = match mode {
            Mode::Passive => ("PRAGMA wal_checkpoint(PASSIVE)", Duration::ZERO),
            Mode::Restart(wait) => ("PRAGMA wal_checkpoint(RESTART)", wait),
        };
        self.length.record_attempt();
        let connection = self.checkpointer.connection();
        let moved = connection.busy_timeout(wait).and_then(|()| {
            let counted = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i32>(1)?, row.get(2)?));
            connection.query_row(sql, [], counted)
        });
        match moved {
            // Another process is making a checkpoint.
            Ok((_, ..0)) => Ok(Checkpoint::Partial),
            Ok((n_pages, n_checkpointed)) => {
                self.length.set_checkpointed(n_checkpointed);
                self.checkpointer.health().checkpoint_done();
                let moved = if n_checkpointed == n_pages {
                    Checkpoint::Complete
                } else {
                    Checkpoint::Partial
                };
                self.flush(moved)?;
                Ok(moved)
            }
            Err(cause) if fault(&cause) == Some(Fault::Full) => {
                // The log still has everything.
                self.length.retry_sooner();
                self.checkpointer.health().checkpoint_stuck(&cause.to_string());
                Ok(Checkpoint::DiskFull)
            }
            Err(cause) => Err(self.checkpointer.record_error(cause)),
        }
    }

    /// Flushes the database, which SQLite itself does only after a complete checkpoint, and then reads its new parts
    /// back from the device. After a partial checkpoint they may have holes, which later pages fill.
    fn flush(&mut self, moved: Checkpoint) -> Result<(), StoreError> {
        let Some(database) = &mut self.database else { return Ok(()) };
        let is_there =
            database.flush().and_then(|()| match moved {
                Checkpoint::Partial | Checkpoint::DiskFull => Ok(true),
                Checkpoint::Complete if !self.is_taken_over => database.is_on_device(),
                // A killed process may have checkpointed pages to new parts without reading them back.
                Checkpoint::Complete => Ok(database.are_on_device(&parts_in_log(&self.path)?)?
                    && database.is_on_device()?),
            });
        let why = match is_there {
            Ok(true) => {
                self.is_taken_over &= moved != Checkpoint::Complete
                    || self.other_checkpoints == OtherCheckpoints::Concurrent;
                return Ok(());
            }
            Ok(false) => LOST.to_owned(),
            Err(cause) => format!("the database can't be flushed or read back: {cause}"),
        };
        self.checkpointer.health().stop(&why);
        Err(StoreError::Disk(why.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs::File;
    use std::io;
    use std::ops::Range;
    use std::os::unix::fs::FileExt;

    use parking_lot::Mutex;
    use rusqlite::Connection;

    use super::super::log_length::CheckpointLengths;

    /// A device that records its calls, and may lose what was written.
    struct Noting {
        calls: Arc<Mutex<Vec<&'static str>>>,
        losing: Option<Losing>,
        /// A read transaction that ends during the next flush.
        reader: Mutex<Option<Connection>>,
    }

    /// Loses the database's second half while a writer commits.
    struct Losing {
        database: File,
        writer: Connection,
    }

    impl Device for Noting {
        fn flush(&self) -> io::Result<()> {
            self.calls.lock().push("flush");
            if let Some(reader) = self.reader.lock().take() {
                reader.execute_batch("COMMIT").unwrap();
            }
            Ok(())
        }

        fn is_on_device(&mut self) -> io::Result<bool> {
            self.calls.lock().push("read back");
            let Some(Losing { database, writer }) = &self.losing else { return Ok(true) };
            insert(writer, 1);
            let n_bytes = database.metadata()?.len();
            let half = n_bytes / 2;
            database.write_all_at(&vec![0; usize::try_from(n_bytes - half).unwrap()], half)?;
            Ok(false)
        }

        fn are_on_device(&mut self, parts: &[Range<u64>]) -> io::Result<bool> {
            self.calls.lock().push(if parts.is_empty() { "no pages" } else { "pages" });
            Ok(true)
        }
    }

    /// Creates a database with so many rows; returns the connection that has written them.
    fn filled(n_rows: usize) -> (tempfile::TempDir, Location, Connection) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("test.db");
        let location = Location { path, vfs: None, lengths: CheckpointLengths::FOR_TESTS };
        let writer = writer(&location);
        insert(&writer, n_rows);
        (dir, location, writer)
    }

    /// Opens a connection for writing, and creates the table.
    fn writer(location: &Location) -> Connection {
        let writer = location.connect(OpenFlags::default()).unwrap();
        let set_up = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
            CREATE TABLE IF NOT EXISTS device (text TEXT)";
        writer.execute_batch(set_up).unwrap();
        writer
    }

    fn insert(writer: &Connection, n_rows: usize) {
        for _ in 0..n_rows {
            writer.execute("INSERT INTO device VALUES (hex(randomblob(1500)))", []).unwrap();
        }
    }

    /// Opens a connection with a read transaction, which keeps later pages in the log.
    fn reader(location: &Location) -> Connection {
        let reader = location.connect(OpenFlags::default()).unwrap();
        reader.execute_batch("BEGIN; SELECT COUNT(*) FROM device").unwrap();
        reader
    }

    fn open_log(
        location: &Location,
        losing: Option<Losing>,
        reader: Option<Connection>,
    ) -> (Log, Arc<Mutex<Vec<&'static str>>>) {
        let length = Arc::new(LogLength::new(location.lengths));
        let calls = Arc::new(Mutex::new(Vec::new()));
        let device =
            Box::new(Noting { calls: Arc::clone(&calls), losing, reader: Mutex::new(reader) });
        let health = Arc::new(Health::new());
        (
            Log::open_on(Some(device), location, OtherCheckpoints::Earlier, &length, &health)
                .unwrap(),
            calls,
        )
    }

    /// Makes the device lose pages during this kind of checkpoint.
    fn lose_pages<T>(move_log: impl FnOnce(&mut Log) -> Result<T, StoreError>) {
        let (_dir, location, writer) = filled(50);
        // Closing the file would release SQLite's locks, so it stays open as long as the log.
        let database = File::options().write(true).open(&location.path).unwrap();
        let (mut log, calls) = open_log(&location, Some(Losing { database, writer }), None);
        assert!(matches!(move_log(&mut log), Err(StoreError::Disk(_))));
        assert!(matches!(log.finish_checkpoint(), Err(StoreError::Disk(_))));
        assert_eq!(*calls.lock(), ["flush", "pages", "read back"], "the log was moved again");
        drop(log);
        let next = location.connect(OpenFlags::default()).unwrap();
        let text = |sql: &str| next.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(text("PRAGMA integrity_check"), "ok");
        assert_eq!(text("SELECT CAST(COUNT(*) AS TEXT) FROM device"), "51");
    }

    #[test]
    fn pages_that_the_device_loses_are_still_in_the_log() {
        lose_pages(Log::checkpoint);
    }

    #[test]
    fn pages_that_the_device_loses_are_not_truncated() {
        lose_pages(Log::truncate);
    }

    #[test]
    fn the_database_is_read_back_when_it_has_the_whole_log() {
        let (_dir, location, writer) = filled(10);
        let (mut log, calls) = open_log(&location, None, None);
        let reader = reader(&location);
        insert(&writer, 10);
        // The reader needs the database without the last pages.
        log.checkpoint().unwrap();
        assert_eq!(*calls.lock(), ["flush"]);
        reader.execute_batch("COMMIT").unwrap();
        log.checkpoint().unwrap();
        assert_eq!(*calls.lock(), ["flush", "flush", "pages", "read back"]);
    }

    #[test]
    fn a_log_is_truncated_only_after_the_whole_database_was_read_back() {
        let (_dir, location, writer) = filled(0);
        let reader = reader(&location);
        insert(&writer, 10);
        let (mut log, calls) = open_log(&location, None, Some(reader));
        assert!(!log.truncate().unwrap(), "the reader left between the flush and the cut");
        assert_eq!(*calls.lock(), ["flush"]);
        assert!(log.truncate().unwrap());
        assert_eq!(*calls.lock(), ["flush", "flush", "pages", "read back"]);
    }

    #[test]
    fn pages_of_a_log_that_was_taken_over_are_read_back() {
        let (_dir, location, _writer) = filled(10);
        for other_checkpoints in [OtherCheckpoints::Earlier, OtherCheckpoints::Concurrent] {
            let (mut log, calls) = open_log(&location, None, None);
            log.other_checkpoints = other_checkpoints;
            for _ in 0..2 {
                assert_eq!(log.checkpoint().unwrap(), Checkpoint::Complete);
            }
            let first = ["flush", "pages", "read back"];
            let next = if other_checkpoints == OtherCheckpoints::Earlier {
                &["flush", "read back"]
            } else {
                &first[..]
            };
            assert_eq!(*calls.lock(), [&first, next].concat(), "{other_checkpoints:?}");
        }
    }
}
