//! Moving SQLite's write-ahead log into the database, which SQLite calls a checkpoint.
//!
//! Until the database is on the disk, and not only in the system's memory, the log is the only good copy of answered
//! writes. SQLite lets the log begin anew, over its pages, only after a flush of the database that followed the last page
//! of it. The system reports a page that it could not write to such a flush, once, and then takes the page for written.
//! So one connection moves all of the log, and the first error ends all writing: there is no second flush that could seem
//! to go well. The next start then moves all of the log once more, because SQLite keeps in shared memory which pages
//! are moved.
//!
//! Most pages are moved while the writer appends others. A read transaction holds the log meanwhile, so that it can't
//! begin anew before the database was flushed and read back. A log that has become long is moved to its end while the
//! writer waits, after most of it was moved beside the writer.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::OpenFlags;

use super::growth::Growth;
use super::health::Health;
use super::log_length::{LogLength, Patience};
use super::session::{Fault, Role, Session, fault};
use super::{BUSY_TIMEOUT, Location};
use crate::error::StoreError;

/// How long a long log waits for its readers, while every write waits with it.
const PATIENCE: Duration = Duration::from_millis(20);

/// How long a very long log waits for its readers. Only a longer read, as a backup does it, lets the log grow further.
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
    database: Option<Growth>,
}

impl Log {
    pub(super) fn open(
        place: &Location,
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
        let database = match place.vfs {
            None => {
                let growth = Growth::of(&place.path);
                Some(growth.map_err(|cause| StoreError::Unavailable(cause.into()))?)
            }
            Some(_) => None,
        };
        Ok(Self { length: Arc::clone(length), mover, holder, database })
    }

    /// Moves pages while the writer may append others.
    pub(super) fn move_beside_writer(&mut self) -> Result<(), StoreError> {
        // The read transaction begins with the first read.
        self.holder.script("BEGIN; SELECT COUNT(*) FROM sqlite_schema")?;
        self.checkpoint(Mode::Passive)?;
        // After an error the transaction stays open, and the log as it is.
        self.holder.script("ROLLBACK")
    }

    /// Moves the log to its end, while the writer waits; less where readers stay in the way.
    pub(super) fn move_to_end(&mut self) -> Result<(), StoreError> {
        let mode = match self.length.patience() {
            Patience::None => Mode::Passive,
            Patience::Short => Mode::Restart(PATIENCE),
            Patience::Long => Mode::Restart(MORE_PATIENCE),
        };
        self.length.is_end_tried();
        self.checkpoint(mode)
    }

    /// Moves the log to its end and cuts it off, while the writer waits. False where a reader stands in the way.
    pub(super) fn truncate(&mut self) -> Result<bool, StoreError> {
        let connection = self.mover.connection();
        let is_busy = connection.busy_timeout(Duration::ZERO).and_then(|()| {
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            connection.query_row(sql, [], |row| row.get::<_, bool>(0))
        });
        let is_busy = is_busy.map_err(|cause| self.mover.heard(cause))?;
        self.flush()?;
        if !is_busy {
            self.length.is_cut_off();
        }
        Ok(!is_busy)
    }

    fn checkpoint(&mut self, mode: Mode) -> Result<(), StoreError> {
        let (sql, patience) = match mode {
            Mode::Passive => ("PRAGMA wal_checkpoint(PASSIVE)", Duration::ZERO),
            Mode::Restart(patience) => ("PRAGMA wal_checkpoint(RESTART)", patience),
        };
        self.length.is_tried();
        let connection = self.mover.connection();
        let moved = connection
            .busy_timeout(patience)
            .and_then(|()| connection.query_row(sql, [], |row| row.get::<_, i32>(2)));
        match moved {
            // Another process is moving it.
            Ok(..0) => Ok(()),
            Ok(n_moved) => {
                self.length.is_moved(n_moved);
                self.mover.health().log_moved();
                self.flush()
            }
            Err(cause) if fault(&cause) == Some(Fault::Full) => {
                // The log still has everything.
                self.length.is_stuck();
                self.mover.health().log_stuck(&cause.to_string());
                Ok(())
            }
            Err(cause) => Err(self.mover.heard(cause)),
        }
    }

    /// Flushes the database, and reads its new parts back from the device. SQLite flushes only a log that it has moved to
    /// the end.
    fn flush(&mut self) -> Result<(), StoreError> {
        let Some(database) = &mut self.database else { return Ok(()) };
        let is_there = database.flush().and_then(|()| database.is_on_device());
        let why = match is_there {
            Ok(true) => return Ok(()),
            Ok(false) => LOST.to_owned(),
            Err(cause) => format!("the database can't be flushed or read back: {cause}"),
        };
        self.mover.health().stop(&why);
        Err(StoreError::Disk(why.into()))
    }
}
