//! Moving SQLite's write-ahead log into the database, which SQLite calls a checkpoint.
//!
//! Until the database is on the disk, and not only in the system's memory, the log is the only good copy of answered
//! writes. SQLite lets the log begin anew, over its pages, only after a flush of the database that followed the last page
//! of it. The system reports a page that it could not write to such a flush, once, and then takes the page for written.
//! So one connection moves all of the log, and the first error of the disk ends all writing: there is no second flush that
//! could seem to go well. The next start then moves all of the log once more: SQLite keeps the number of moved pages in
//! shared memory, which is gone with the last process that uses the database.
//!
//! Most pages are moved while the writer appends others. A read transaction holds the log meanwhile, so that it can't
//! begin anew before the database was flushed and read back. A log that has become long is moved to its end while the
//! writer waits, after most of it was moved beside the writer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::OpenFlags;

use super::files;
use super::growth::{Device, Growth};
use super::health::Health;
use super::log_length::{LogLength, Patience};
use super::log_pages::parts_in_log;
use super::session::{Fault, Role, Session, fault};
use super::{BUSY_TIMEOUT, Location};
use crate::error::StoreError;

/// Busy timeout of a RESTART checkpoint of a long log. All writes wait meanwhile.
const PATIENCE: Duration = Duration::from_millis(20);

/// Busy timeout of a RESTART checkpoint of a very long log. Only a longer read, such as a backup, lets it grow further.
const MORE_PATIENCE: Duration = Duration::from_secs(1);

/// Reason to stop where the device holds other bytes than those that were written.
pub(super) const LOST: &str =
    "the device has not kept what it took: is it an image, or a volume of a pool, that is full?";

/// SQLite's modes of a checkpoint.
#[derive(Clone, Copy)]
enum Mode {
    /// Moves the pages that no reader needs.
    Passive,
    /// Waits for readers this long, and then lets the log begin anew.
    Restart(Duration),
}

/// The connections that move the log.
pub(super) struct Log {
    length: Arc<LogLength>,
    mover: Session,
    /// Reads while pages are moved beside the writer.
    holder: Session,
    /// The database's file, of which new parts are read back from the device; `None` on a test's disk.
    database: Option<Box<dyn Device>>,
    path: PathBuf,
    others: Others,
    /// Whether the log may hold pages that another process has moved, and that this one has not read back.
    is_taken_over: bool,
}

/// When other processes move pages of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// Another process may have moved pages, and has ended.
    Before,
    /// The server moves pages at any time.
    Beside,
}

/// How far a checkpoint came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// The database has the whole log, and was read back.
    Whole,
    /// A reader or another process stands in the way.
    Part,
    /// There was no room.
    NoRoom,
}

impl Log {
    pub(super) fn open(
        place: &Location,
        others: Others,
        length: &Arc<LogLength>,
        health: &Arc<Health>,
    ) -> Result<Self, StoreError> {
        let database: Option<Box<dyn Device>> = match place.vfs {
            None => {
                let growth = Growth::of(&place.path);
                Some(Box::new(growth.map_err(|cause| StoreError::Unavailable(cause.into()))?))
            }
            Some(_) => None,
        };
        Self::open_on(database, place, others, length, health)
    }

    /// Opens the log of a database on this device.
    fn open_on(
        database: Option<Box<dyn Device>>,
        place: &Location,
        others: Others,
        length: &Arc<LogLength>,
        health: &Arc<Health>,
    ) -> Result<Self, StoreError> {
        let connect = |flags| {
            let connection = place.connect(flags)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            // Flushes before and after the pages are moved.
            connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0")?;
            Session::new(connection, Role::Writer, Arc::clone(health))
        };
        let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let (mover, holder) = (connect(OpenFlags::default())?, connect(read_only)?);
        let path = files::log_of(&place.path);
        let length = Arc::clone(length);
        Ok(Self { length, mover, holder, database, path, others, is_taken_over: true })
    }

    /// Moves pages while the writer may append others.
    pub(super) fn move_beside_writer(&mut self) -> Result<Moved, StoreError> {
        if let Some(why) = self.mover.health().stopped() {
            return Err(StoreError::Disk(why.as_ref().into()));
        }
        if !self.holder.connection().is_autocommit() {
            // An earlier attempt has failed, and not because of the disk.
            self.holder.script("ROLLBACK")?;
        }
        // The read transaction begins with the first read.
        self.holder.script("BEGIN; SELECT COUNT(*) FROM sqlite_schema")?;
        let moved = self.checkpoint(Mode::Passive)?;
        // After an error of the disk the transaction stays open, and the log as it is.
        self.holder.script("ROLLBACK")?;
        Ok(moved)
    }

    /// Whether the disk has failed.
    pub(super) fn is_stopped(&self) -> bool {
        self.mover.health().stopped().is_some()
    }

    /// Moves the log to its end while the writer waits; less where readers stay in the way. A long log also waits for
    /// readers, so that it can begin anew.
    pub(super) fn move_to_end(&mut self) -> Result<(), StoreError> {
        let patience = self.length.patience();
        self.length.raise_end();
        self.move_beside_writer()?;
        let patience = match patience {
            Patience::None => return Ok(()),
            Patience::Short => PATIENCE,
            Patience::Long => MORE_PATIENCE,
        };
        self.checkpoint(Mode::Restart(patience)).map(drop)
    }

    /// Moves the log to its end and cuts it off, while the writer waits. False where a reader stands in the way.
    pub(super) fn truncate(&mut self) -> Result<bool, StoreError> {
        // The log is the only good copy until the database was read back.
        match self.move_beside_writer()? {
            Moved::Whole => {}
            Moved::Part => return Ok(false),
            Moved::NoRoom => {
                let why = "there is no room to move the write-ahead log into the database";
                return Err(StoreError::Unavailable(why.into()));
            }
        }
        let connection = self.mover.connection();
        let is_busy = connection.busy_timeout(Duration::ZERO).and_then(|()| {
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            connection.query_row(sql, [], |row| row.get::<_, bool>(0))
        });
        let is_busy = is_busy.map_err(|cause| self.mover.heard(cause))?;
        if !is_busy {
            self.length.on_truncate();
        }
        Ok(!is_busy)
    }

    /// Moves pages, flushes the database, and reads it back if it has the whole log.
    fn checkpoint(&mut self, mode: Mode) -> Result<Moved, StoreError> {
        let (sql, patience) = match mode {
            Mode::Passive => ("PRAGMA wal_checkpoint(PASSIVE)", Duration::ZERO),
            Mode::Restart(patience) => ("PRAGMA wal_checkpoint(RESTART)", patience),
        };
        self.length.record_attempt();
        let connection = self.mover.connection();
        let moved = connection.busy_timeout(patience).and_then(|()| {
            let counted = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i32>(1)?, row.get(2)?));
            connection.query_row(sql, [], counted)
        });
        match moved {
            // Another process is moving it.
            Ok((_, ..0)) => Ok(Moved::Part),
            Ok((n_pages, n_moved)) => {
                self.length.set_moved(n_moved);
                self.mover.health().log_moved();
                let moved = if n_moved == n_pages { Moved::Whole } else { Moved::Part };
                self.flush(moved)?;
                Ok(moved)
            }
            Err(cause) if fault(&cause) == Some(Fault::Full) => {
                // The log still has everything.
                self.length.retry_sooner();
                self.mover.health().log_stuck(&cause.to_string());
                Ok(Moved::NoRoom)
            }
            Err(cause) => Err(self.mover.heard(cause)),
        }
    }

    /// Flushes the database, which SQLite itself does only after the log was moved to its end. Then the new parts of the
    /// database are read back from the device. Before that they may have holes, which later pages fill.
    fn flush(&mut self, moved: Moved) -> Result<(), StoreError> {
        let Some(database) = &mut self.database else { return Ok(()) };
        let is_there =
            database.flush().and_then(|()| match moved {
                Moved::Part | Moved::NoRoom => Ok(true),
                Moved::Whole if !self.is_taken_over => database.is_on_device(),
                // A process that was ended may have moved pages to new parts, and not have read them back.
                Moved::Whole => Ok(database.are_on_device(&parts_in_log(&self.path)?)?
                    && database.is_on_device()?),
            });
        let why = match is_there {
            Ok(true) => {
                self.is_taken_over &= moved != Moved::Whole || self.others == Others::Beside;
                return Ok(());
            }
            Ok(false) => LOST.to_owned(),
            Err(cause) => format!("the database can't be flushed or read back: {cause}"),
        };
        self.mover.health().stop(&why);
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

    use super::super::log_length::Pace;

    /// A device that notes how it is used, and may lose what it took.
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

    /// A directory with a database of so many rows, and the connection that has written them.
    fn filled(n_rows: usize) -> (tempfile::TempDir, Location, Connection) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("test.db");
        let location = Location { path, vfs: None, pace: Pace::FOR_TESTS };
        let writer = writer(&location);
        insert(&writer, n_rows);
        (dir, location, writer)
    }

    /// A connection that writes, to a database with a table.
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

    /// A connection with a read transaction, which keeps later pages in the log.
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
        let length = Arc::new(LogLength::new(location.pace));
        let calls = Arc::new(Mutex::new(Vec::new()));
        let device =
            Box::new(Noting { calls: Arc::clone(&calls), losing, reader: Mutex::new(reader) });
        let health = Arc::new(Health::new());
        (Log::open_on(Some(device), location, Others::Before, &length, &health).unwrap(), calls)
    }

    /// Has the device lose pages while the log is moved this way.
    fn lose_pages<T>(move_log: impl FnOnce(&mut Log) -> Result<T, StoreError>) {
        let (_dir, location, writer) = filled(50);
        // To close the file would let go of SQLite's locks: it stays open as long as the log.
        let database = File::options().write(true).open(&location.path).unwrap();
        let (mut log, calls) = open_log(&location, Some(Losing { database, writer }), None);
        assert!(matches!(move_log(&mut log), Err(StoreError::Disk(_))));
        assert!(matches!(log.move_to_end(), Err(StoreError::Disk(_))));
        assert_eq!(*calls.lock(), ["flush", "pages", "read back"], "the log was moved again");
        drop(log);
        let next = location.connect(OpenFlags::default()).unwrap();
        let text = |sql: &str| next.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(text("PRAGMA integrity_check"), "ok");
        assert_eq!(text("SELECT CAST(COUNT(*) AS TEXT) FROM device"), "51");
    }

    #[test]
    fn pages_that_the_device_loses_are_still_in_the_log() {
        lose_pages(Log::move_beside_writer);
    }

    #[test]
    fn pages_that_the_device_loses_are_not_cut_off() {
        lose_pages(Log::truncate);
    }

    #[test]
    fn the_database_is_read_back_when_it_has_the_whole_log() {
        let (_dir, location, writer) = filled(10);
        let (mut log, calls) = open_log(&location, None, None);
        let reader = reader(&location);
        insert(&writer, 10);
        // The reader needs the database without the last pages.
        log.move_beside_writer().unwrap();
        assert_eq!(*calls.lock(), ["flush"]);
        reader.execute_batch("COMMIT").unwrap();
        log.move_beside_writer().unwrap();
        assert_eq!(*calls.lock(), ["flush", "flush", "pages", "read back"]);
    }

    #[test]
    fn a_log_is_cut_off_only_when_the_whole_database_was_read_back() {
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
        for others in [Others::Before, Others::Beside] {
            let (mut log, calls) = open_log(&location, None, None);
            log.others = others;
            for _ in 0..2 {
                assert_eq!(log.move_beside_writer().unwrap(), Moved::Whole);
            }
            let first = ["flush", "pages", "read back"];
            let next = if others == Others::Before { &["flush", "read back"] } else { &first[..] };
            assert_eq!(*calls.lock(), [&first, next].concat(), "{others:?}");
        }
    }
}
