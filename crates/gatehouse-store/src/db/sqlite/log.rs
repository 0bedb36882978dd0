//! Moving SQLite's log into the database, between two transactions of the writer.
//!
//! Until the database has it, on the disk and not only in the system's memory, the log is the only good copy of what
//! was answered. SQLite begins the log anew, over what it holds, only after a flush of the database that followed the
//! last page of it. The system reports a page that it could not write to such a flush, once, and then takes it for
//! written. So one connection moves all of the log, with one descriptor from start to end, and the first flush that
//! fails ends all writing: there is no second one that could seem to go well. The next start then moves all of the
//! log once more. (What counts as moved is kept in memory, and is gone with the processes that use the database.)
//!
//! That connection is the writer's, because it must hear of a failure before it appends again. Everyone who writes
//! waits meanwhile, so little is moved at a time, and least while somebody waits.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::growth::Growth;
use super::session::{Fault, Session, fault};
use super::writer::Duty;
use super::{BUSY_TIMEOUT, Place, files};
use crate::error::StoreError;

/// From how many pages on the log is moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// So many are worth moving while others wait. Most creations change the same few hundred pages again, which are moved
    /// once however often they are in the log.
    while_others_wait: i32,
    /// So many are worth moving while nobody waits.
    while_nobody_waits: i32,
    /// So many are worth moving when nothing has been written for a while.
    at_rest: i32,
    /// In a log of so many pages readers are waited for, so that it can begin anew.
    long: i32,
    /// In a log of so many they are waited for longer.
    very_long: i32,
}

impl Pace {
    /// 16 MB, 4 MB, a little; 32 MB, and 96 MB, so that the log stays below 128.
    pub(super) const USUAL: Self = Self {
        while_others_wait: 4000,
        while_nobody_waits: 1000,
        at_rest: 64,
        long: 8000,
        very_long: 24_000,
    };

    /// Of which a few writes show everything.
    #[cfg(test)]
    pub(crate) const FOR_TESTS: Self = Self {
        while_others_wait: 40,
        while_nobody_waits: 20,
        at_rest: 10,
        long: 60,
        very_long: 240,
    };
}

/// The lengths of what a log begins with, and of what stands before each page in it.
const LOG_HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: u64 = 24;

/// How long readers of a long log are waited for. Everyone who writes waits with it.
const PATIENCE: Duration = Duration::from_millis(20);

/// And of a very long one. Only who reads for longer, as a backup does, lets it grow further.
const MORE_PATIENCE: Duration = Duration::from_secs(1);

/// The log, as its writer knows it.
pub(super) struct Log {
    pace: Pace,
    /// The pages in it after the last commit, which SQLite tells.
    n_pages: Arc<AtomicI32>,
    /// The commits that wrote something.
    n_commits: Arc<AtomicU32>,
    /// Both, as the last look at it found them.
    n_seen: i32,
    n_commits_seen: u32,
    /// Those that are in the database.
    n_moved: i32,
    /// What the database and the log have grown by; `None` for a command, and on a disk of a test's.
    growths: Option<Growths>,
    /// How long it was when it was last tried to be moved.
    n_tried: i32,
}

/// What is known of a device that says it has taken what it hasn't.
pub(super) const LOST: &str =
    "the device has not kept what it took: is it an image, or a volume of a pool, that is full?";

/// The two files of a database, as they grow.
struct Growths {
    path: PathBuf,
    page_bytes: u64,
    database: Growth,
    /// The log; `None` before it is first written to, and when it was cut off.
    log: Option<Growth>,
}

impl Growths {
    fn of(path: &Path, page_bytes: u64) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), page_bytes, database: Growth::of(path)?, log: None })
    }

    fn log_is_on_device(&mut self, n_pages: i32) -> io::Result<bool> {
        if n_pages == 0 {
            return Ok(true);
        }
        let frame_bytes = FRAME_HEADER_BYTES + self.page_bytes;
        let n_bytes = LOG_HEADER_BYTES + u64::from(n_pages.unsigned_abs()) * frame_bytes;
        let log = match &mut self.log {
            Some(log) => log,
            // Nothing of it has been looked at.
            None => self.log.insert(Growth::from_nothing(&files::log_of(&self.path))?),
        };
        log.is_on_device_up_to(n_bytes)
    }
}

/// Whether readers are waited for.
#[derive(Clone, Copy)]
enum Way {
    /// What nobody reads is moved.
    Passive,
    /// Readers are waited for this long, and then the log begins anew.
    Restart(Duration),
}

impl Log {
    /// The log of the database that `writer` writes. SQLite moves nothing by itself any more.
    pub(super) fn of(
        writer: &mut Connection,
        place: &Place,
        duty: Duty,
    ) -> Result<Self, StoreError> {
        let n_pages = Arc::new(AtomicI32::new(0));
        let n_commits = Arc::new(AtomicU32::new(0));
        let told = (Arc::clone(&n_pages), Arc::clone(&n_commits));
        writer.wal_hook(Some(move |_: &mut Wal, n_pages| {
            told.0.store(n_pages, Ordering::Relaxed);
            told.1.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }))?;
        let page_bytes: i64 = writer.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let growths = match (place.vfs, duty) {
            (None, Duty::Keeper) => {
                let growths = Growths::of(&place.path, page_bytes.unsigned_abs());
                Some(growths.map_err(|cause| StoreError::Unavailable(cause.into()))?)
            }
            // What a command writes beside the server is not worth it.
            (None, Duty::Guest) | (Some(_), _) => None,
        };
        let pace = place.pace;
        Ok(Self {
            pace,
            n_pages,
            n_commits,
            n_seen: 0,
            n_commits_seen: 0,
            n_moved: 0,
            growths,
            n_tried: 0,
        })
    }

    /// Whether something was written since this was asked last.
    pub(super) fn has_grown(&mut self) -> bool {
        let n_pages = self.n_pages.load(Ordering::Relaxed);
        let n_commits = self.n_commits.load(Ordering::Relaxed);
        let has_grown = n_commits != self.n_commits_seen;
        if has_grown && n_pages <= self.n_seen {
            // It has begun anew, because all of it was moved.
            (self.n_moved, self.n_tried) = (0, 0);
        }
        (self.n_seen, self.n_commits_seen) = (n_pages, n_commits);
        has_grown
    }

    /// Moves it if that is worth the while.
    pub(super) fn move_if_long(
        &mut self,
        writer: &Session,
        somebody_waits: bool,
    ) -> Result<(), StoreError> {
        let Pace { while_others_wait, while_nobody_waits, long, very_long, .. } = self.pace;
        let enough = if somebody_waits { while_others_wait } else { while_nobody_waits };
        // Where somebody reads for long, trying after each commit would only hold everyone up.
        if self.n_seen - self.n_moved.max(self.n_tried) < enough {
            return Ok(());
        }
        self.move_into_database(
            writer,
            match self.n_seen {
                n_pages if n_pages >= very_long => Way::Restart(MORE_PATIENCE),
                n_pages if n_pages >= long => Way::Restart(PATIENCE),
                _ => Way::Passive,
            },
        )
    }

    /// Moves what there is, when nothing has been written for a while.
    pub(super) fn move_at_rest(&mut self, writer: &Session) -> Result<(), StoreError> {
        if self.n_seen - self.n_moved < self.pace.at_rest {
            return Ok(());
        }
        self.move_into_database(writer, Way::Passive)
    }

    fn move_into_database(&mut self, writer: &Session, way: Way) -> Result<(), StoreError> {
        let (sql, patience) = match way {
            Way::Passive => ("PRAGMA wal_checkpoint(PASSIVE)", Duration::ZERO),
            Way::Restart(patience) => ("PRAGMA wal_checkpoint(RESTART)", patience),
        };
        self.n_tried = self.n_seen;
        let connection = writer.connection();
        let moved = connection.busy_timeout(patience).and_then(|()| {
            let counted = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i32>(1)?, row.get(2)?));
            let moved = connection.query_row(sql, [], counted);
            connection.busy_timeout(BUSY_TIMEOUT)?;
            moved
        });
        match moved {
            // Somebody else is at it.
            Ok((_, ..0)) => Ok(()),
            Ok((n_pages, n_moved)) => {
                self.n_moved = n_moved;
                writer.health().log_moved();
                // Of what is moved in part, some pages are still to come, and nothing was flushed.
                if n_moved == n_pages { self.look_at_database(writer) } else { Ok(()) }
            }
            Err(cause) if fault(&cause) == Some(Fault::Full) => {
                // The log still has everything. It is tried again after some more of it.
                self.n_moved = self.n_seen - self.pace.while_nobody_waits / 2;
                writer.health().log_stuck(&cause.to_string());
                Ok(())
            }
            Err(cause) => Err(writer.heard(cause)),
        }
    }

    /// Moves all of it and cuts it off, without waiting for readers: everyone who writes would wait with it. False where
    /// one stands in the way.
    pub(super) fn truncate(&mut self, writer: &Session) -> Result<bool, StoreError> {
        let connection = writer.connection();
        let is_busy = connection.busy_timeout(Duration::ZERO).and_then(|()| {
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            let is_busy = connection.query_row(sql, [], |row| row.get::<_, bool>(0));
            connection.busy_timeout(BUSY_TIMEOUT)?;
            is_busy
        });
        let is_busy = is_busy.map_err(|cause| writer.heard(cause))?;
        if !is_busy {
            self.look_at_database(writer)?;
        }
        if !is_busy {
            (self.n_seen, self.n_moved, self.n_tried) = (0, 0, 0);
            self.n_pages.store(0, Ordering::Relaxed);
            if let Some(growths) = &mut self.growths {
                growths.log = None;
            }
        }
        Ok(!is_busy)
    }

    /// Looks whether the last commit is on the device, where the log has become longer by it. Who waits for it must not be
    /// answered otherwise.
    pub(super) fn is_on_device(&mut self) -> io::Result<bool> {
        let n_pages = self.n_pages.load(Ordering::Relaxed);
        self.growths.as_mut().map_or(Ok(true), |growths| growths.log_is_on_device(n_pages))
    }

    /// Looks whether the database is on the device, where it has become larger. Nothing may be written to the log before:
    /// it would begin anew.
    fn look_at_database(&mut self, writer: &Session) -> Result<(), StoreError> {
        let Some(growths) = &mut self.growths else { return Ok(()) };
        let why = match growths.database.is_on_device() {
            Ok(true) => return Ok(()),
            Ok(false) => LOST.to_owned(),
            Err(cause) => format!("what was written can't be read again: {cause}"),
        };
        writer.health().stop(&why);
        Err(StoreError::Disk(why.into()))
    }
}
