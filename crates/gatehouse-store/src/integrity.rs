//! Integrity checks of an embedded database.
//!
//! There are two checks. The quick one takes constant time: `file` reads the header and compares the file's length,
//! `schema` looks for gatehouse's tables, `figures` compares some counters with the newest rows. The full one also lets
//! SQLite read every page (`pages`).
//!
//! A check changes nothing. It has its own read-only connection without memory mapping: a mapped page that the disk
//! can't read would kill the process. Damage is a value, also where the disk fails during the check.

mod figures;
mod file;
mod pages;
mod schema;

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio_util::sync::CancellationToken;

use crate::Store;
use crate::db::{LastShutdown, OpenMode, PendingCheck};
use crate::error::{OpenRefused, StoreError};
use file::{Header, Log};

/// Most findings of one check; a damaged tree can have millions.
pub const FINDINGS_MAX: usize = 100;

/// Time that a check waits for a process that is recovering the log.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Processes that may have the database open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// A server may be writing to it. SQLite may leave an empty log and its index beside the file.
    Live,
    /// This process has it open. The file is read only through SQLite: opening and closing it would release every lock
    /// that SQLite holds on it.
    Own,
    /// No process has it open: a backup. Nothing is left beside it, and its directory may be read-only.
    Idle,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// The check has found nothing wrong.
    Sound,
    /// There is no store: no file, an empty one, or a database without tables. That is a new data directory, or the
    /// loss of everything; keys beside it tell which.
    Absent(String),
    /// The database is damaged.
    Damaged(Damage),
    /// The check was cancelled.
    Interrupted,
    /// The check could not run, for a reason that says nothing about the database: permissions, a lock, memory.
    Unchecked(String),
    /// The store is on PostgreSQL, which checks its pages itself.
    NotApplicable,
}

/// Descriptions of a database's damage: what is wrong, and where. Never empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    findings: Vec<String>,
    has_more: bool,
}

impl Damage {
    /// Damage with a single finding.
    pub fn new(finding: impl Into<String>) -> Self {
        let mut damage = Self::default();
        damage.add(finding);
        damage
    }

    /// The findings, at most [`FINDINGS_MAX`].
    pub fn findings(&self) -> &[String] {
        &self.findings
    }

    /// Whether there were more findings, or the check could not go on.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    fn add(&mut self, finding: impl Into<String>) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding.into());
        } else {
            self.has_more = true;
        }
    }

    fn add_all(&mut self, findings: impl IntoIterator<Item = String>) {
        findings.into_iter().for_each(|finding| self.add(finding));
    }

    fn outcome(self) -> Integrity {
        if self.findings.is_empty() { Integrity::Sound } else { Integrity::Damaged(self) }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.findings.join("; "))?;
        if self.has_more { f.write_str("; and more") } else { Ok(()) }
    }
}

/// Quick check, in constant time: the file's header and length, the tables, and some counters. Blocks.
pub fn check_quickly(path: &Path, usage: Usage) -> Integrity {
    check(path, usage, None).unwrap_or_else(|outcome| outcome)
}

/// Full check: after the quick one, SQLite reads every page and compares every index with its table. Blocks, and ends
/// soon after `stop` is cancelled.
pub fn check_fully(path: &Path, usage: Usage, stop: &CancellationToken) -> Integrity {
    check(path, usage, Some(stop)).unwrap_or_else(|outcome| outcome)
}

/// Runs the quick check, and the full one where `stop` is given. An error is also a result: of a check that can't go
/// on.
fn check(
    path: &Path,
    usage: Usage,
    full: Option<&CancellationToken>,
) -> Result<Integrity, Integrity> {
    // Before SQLite opens the file: beside an empty one it would delete the log.
    let header = if usage == Usage::Own { None } else { Some(Header::read(path)?) };
    let mut damage = Damage::default();
    let mut connection = open(path, usage, header.as_ref()).map_err(result_of)?;
    let header = match header {
        Some(header) => header,
        None => Header::read_through(&connection).map_err(result_of)?,
    };
    match begin(&connection) {
        Ok(n_pages) => damage.add_all(file::compare_length(path, &header, n_pages)),
        Err(cause) => {
            // SQLite reports only that the file is damaged; its length may tell how.
            gather(result_of(cause), &mut damage)?;
            damage.add_all(file::compare_length(path, &header, 0));
            return Ok(damage.outcome());
        }
    }
    if damage.findings.is_empty() && is_without_tables(&connection).map_err(result_of)? {
        return Err(Integrity::Absent(format!("{} has no tables", path.display())));
    }
    let looked = compare_contents(&connection, &mut damage);
    if let Err(cause) = looked {
        gather(result_of(cause), &mut damage)?;
    }
    if let Some(stop) = full {
        if stop.is_cancelled() {
            return Err(Integrity::Interrupted);
        }
        pages::check(&mut connection, stop, &mut damage)?;
    }
    Ok(damage.outcome())
}

/// Begins a snapshot for all reads of a check; returns the number of pages.
fn begin(connection: &Connection) -> rusqlite::Result<u64> {
    connection.execute_batch("BEGIN; SELECT COUNT(*) FROM sqlite_schema;")?;
    let n_pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    Ok(n_pages.unsigned_abs())
}

fn is_without_tables(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

fn compare_contents(connection: &Connection, damage: &mut Damage) -> rusqlite::Result<()> {
    let Some(version) = schema::compare(connection, damage)? else { return Ok(()) };
    figures::compare(connection, version, damage)
}

/// Adds the findings of another result; a result without findings is returned as an error.
fn gather(outcome: Integrity, damage: &mut Damage) -> Result<(), Integrity> {
    match outcome {
        Integrity::Damaged(found) => {
            damage.add_all(found.findings);
            Ok(())
        }
        other => Err(other),
    }
}

/// I/O errors that concern the file being read.
const READING_FAILED: [i32; 3] = [
    rusqlite::ffi::SQLITE_IOERR_READ,
    rusqlite::ffi::SQLITE_IOERR_SHORT_READ,
    rusqlite::ffi::SQLITE_IOERR_CORRUPTFS,
];

fn extended(cause: &rusqlite::Error) -> i32 {
    cause.sqlite_error().map_or(0, |error| error.extended_code)
}

/// The result that an error of SQLite means.
fn result_of(cause: rusqlite::Error) -> Integrity {
    let code = cause.sqlite_error_code();
    match code {
        Some(ErrorCode::OperationInterrupted) => Integrity::Interrupted,
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::OutOfMemory
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly
            | ErrorCode::DiskFull
            | ErrorCode::FileLockingProtocolFailed,
        ) => Integrity::Unchecked(cause.to_string()),
        // Other I/O errors don't concern the file being read.
        Some(ErrorCode::SystemIoFailure) if !READING_FAILED.contains(&extended(&cause)) => {
            Integrity::Unchecked(cause.to_string())
        }
        _ => Integrity::Damaged(Damage::new(format!("reading the database failed: {cause}"))),
    }
}

fn open(path: &Path, usage: Usage, header: Option<&Header>) -> rusqlite::Result<Connection> {
    // An immutable database is read without locks, and without the log's files. So its log must be empty.
    let is_immutable = usage == Usage::Idle
        && header.is_some_and(|it| Log::read(path, it).is_ok_and(|log| !log.has_frames));
    if !is_immutable {
        return open_unmapped(path);
    }
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = percent_encode(path.as_os_str().as_bytes(), NON_ALPHANUMERIC);
    open_unmapped(Path::new(&format!("file:{path}?immutable=1")))
}

/// Opens a read-only connection without memory mapping.
pub(crate) fn open_unmapped(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// Refuses to open a damaged database, by the quick check, or by the full one after the disk has failed.
pub(crate) async fn refuse_damaged(
    path: &Path,
    last_shutdown: &LastShutdown,
    mode: OpenMode,
) -> Result<(), StoreError> {
    if *last_shutdown == LastShutdown::NewStore {
        return Ok(());
    }
    let (path, disk_failed) =
        (path.to_owned(), matches!(last_shutdown, LastShutdown::DiskFailed(_)));
    let checked = tokio::task::spawn_blocking({
        let path = path.clone();
        move || match disk_failed {
            true => check_fully(&path, Usage::Live, &CancellationToken::new()),
            false => check_quickly(&path, Usage::Live),
        }
    });
    let checked = checked.await;
    match checked.unwrap_or_else(|_| Integrity::Unchecked("the check panicked".into())) {
        Integrity::Damaged(damage) => Err(OpenRefused::Damaged(damage.to_string()).into()),
        Integrity::Absent(_) if mode == OpenMode::MustExist => Err(OpenRefused::Empty(path).into()),
        Integrity::Unchecked(why) if disk_failed => Err(StoreError::Unavailable(why.into())),
        // The same obstacle will prevent opening, and is reported then.
        _ => Ok(()),
    }
}

/// Damage that checks of an open store have found.
#[derive(Clone, Default)]
pub(crate) struct KnownDamage(Arc<Mutex<Option<Damage>>>);

impl Store {
    /// Quick check of the embedded store. Damage is remembered in [`Store::damage`].
    pub async fn check_quickly(&self) -> Integrity {
        let outcome = self.check_on_thread(|path| check_quickly(&path, Usage::Own)).await;
        self.remember(&outcome);
        outcome
    }

    /// Full check of the embedded store, until `stop` is cancelled. Damage is remembered in [`Store::damage`], and
    /// forgotten after a check without findings.
    ///
    /// Reads and writes go on meanwhile, but the log can't restart, and grows.
    pub async fn check_fully(&self, stop: &CancellationToken) -> Integrity {
        let stop = stop.clone();
        let outcome = self.check_on_thread(move |path| check_fully(&path, Usage::Own, &stop)).await;
        self.remember(&outcome);
        if outcome == Integrity::Sound {
            self.known_damage.0.lock().take();
            self.db.health().inspect(|health| health.record_clean_check());
        }
        outcome
    }

    /// Damage that a check has found since the store was opened.
    pub fn damage(&self) -> Option<Damage> {
        self.known_damage.0.lock().clone()
    }

    /// Records that the store is damaged.
    pub fn record_damage(&self, damage: Damage) {
        *self.known_damage.0.lock() = Some(damage);
        self.db.health().inspect(|health| health.require_check(PendingCheck::BeforeStart));
    }

    /// Remembers damage. An open store whose file is absent is damaged.
    fn remember(&self, outcome: &Integrity) {
        match outcome {
            Integrity::Damaged(damage) => self.record_damage(damage.clone()),
            Integrity::Absent(what) => self.record_damage(Damage::new(what)),
            _ => {}
        }
    }

    /// Runs a check on a blocking thread.
    async fn check_on_thread(
        &self,
        check: impl FnOnce(PathBuf) -> Integrity + Send + 'static,
    ) -> Integrity {
        let Some(path) = self.db.sqlite_file() else { return Integrity::NotApplicable };
        let path = path.to_owned();
        let checked = tokio::task::spawn_blocking(move || check(path)).await;
        checked.unwrap_or_else(|_| Integrity::Unchecked("the check panicked".into()))
    }
}
