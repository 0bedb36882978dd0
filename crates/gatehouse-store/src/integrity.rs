//! Whether an embedded database is whole.
//!
//! There are two checks. The quick one takes the same time however large the database is: `file` reads the header and
//! compares the file's length, `schema` looks for our tables, `figures` holds some counters against the last rows that
//! they speak of. The full one also has SQLite read every page (`pages`).
//!
//! A check changes nothing, has a connection of its own that only reads, and maps nothing into memory: a mapped page that
//! the disk can't read would end the process. What is wrong is a value, also where the disk fails while it is read.

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
use crate::db::{Debt, LastEnd, Opener};
use crate::error::{Refused, StoreError};
use file::{Header, Log};

/// Most findings that one check tells; a broken tree can have millions.
pub const FINDINGS_MAX: usize = 100;

/// How long a check waits for a process that is recovering the log.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether other processes may have the database open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// A server may be writing to it. SQLite may leave an empty log and an index of it beside the file.
    Live,
    /// This process has it open. Nothing of it is looked at past SQLite: to open the file and close it again would let go
    /// of every lock that SQLite holds on it.
    Own,
    /// No process has it open: a backup. Nothing is left beside it, and it may lie where nothing can be written.
    Idle,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// Nothing is wrong, as far as the check looks.
    Sound,
    /// There is no store: no file, an empty one, or a database without a table. That is a new data directory, or the
    /// loss of everything; keys that lie beside it tell which.
    Absent(String),
    /// The database is damaged.
    Damaged(Damage),
    /// The check was stopped before its end.
    Interrupted,
    /// The check could not be made, for a reason that says nothing about the database: permissions, a lock, memory.
    Unchecked(String),
    /// The store is on PostgreSQL, which has its own ways to check its pages.
    NotApplicable,
}

/// Findings about a damaged database, in words: what is wrong, and where. Never empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    findings: Vec<String>,
    has_more: bool,
}

impl Damage {
    /// A single finding.
    pub fn new(finding: impl Into<String>) -> Self {
        let mut damage = Self::default();
        damage.add(finding);
        damage
    }

    /// The findings, at most [`FINDINGS_MAX`].
    pub fn findings(&self) -> &[String] {
        &self.findings
    }

    /// Whether there were more of them, or the check went no further.
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

/// Checks in constant time: the file's header and length, the tables, and some counters. It blocks.
pub fn check_quickly(path: &Path, usage: Usage) -> Integrity {
    check(path, usage, None).unwrap_or_else(|outcome| outcome)
}

/// Checks quickly, and then has SQLite read every page and compare every index with its table. It blocks, and ends soon
/// after `stop` is cancelled.
pub fn check_fully(path: &Path, usage: Usage, stop: &CancellationToken) -> Integrity {
    check(path, usage, Some(stop)).unwrap_or_else(|outcome| outcome)
}

/// The quick check, and the full one where there is something that stops it. The error is an outcome, too: of a check that
/// can't go on.
fn check(
    path: &Path,
    usage: Usage,
    full: Option<&CancellationToken>,
) -> Result<Integrity, Integrity> {
    // Before SQLite sees the file: beside an empty one it would delete the log.
    let header = if usage == Usage::Own { None } else { Some(Header::read(path)?) };
    let mut damage = Damage::default();
    let mut connection = open(path, usage, header.as_ref()).map_err(told)?;
    let header = match header {
        Some(header) => header,
        None => Header::told_by(&connection).map_err(told)?,
    };
    match begin(&connection) {
        Ok(n_pages) => damage.add_all(file::compare_length(path, &header, n_pages)),
        Err(cause) => {
            // SQLite says no more than that it is damaged; the length may tell how.
            gather(told(cause), &mut damage)?;
            damage.add_all(file::compare_length(path, &header, 0));
            return Ok(damage.outcome());
        }
    }
    if damage.findings.is_empty() && is_without_tables(&connection).map_err(told)? {
        return Err(Integrity::Absent(format!("{} has no tables", path.display())));
    }
    let looked = look_inside(&connection, &mut damage);
    if let Err(cause) = looked {
        gather(told(cause), &mut damage)?;
    }
    if let Some(stop) = full {
        if stop.is_cancelled() {
            return Err(Integrity::Interrupted);
        }
        pages::check(&mut connection, stop, &mut damage)?;
    }
    Ok(damage.outcome())
}

/// Begins one snapshot for all that a check reads, and tells how many pages the database has in it.
fn begin(connection: &Connection) -> rusqlite::Result<u64> {
    connection.execute_batch("BEGIN; SELECT COUNT(*) FROM sqlite_schema;")?;
    let n_pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    Ok(n_pages.unsigned_abs())
}

fn is_without_tables(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

fn look_inside(connection: &Connection, damage: &mut Damage) -> rusqlite::Result<()> {
    let Some(version) = schema::compare(connection, damage)? else { return Ok(()) };
    figures::compare(connection, version, damage)
}

/// Takes the findings of another outcome over; an outcome without any is an error.
fn gather(outcome: Integrity, damage: &mut Damage) -> Result<(), Integrity> {
    match outcome {
        Integrity::Damaged(found) => {
            damage.add_all(found.findings);
            Ok(())
        }
        other => Err(other),
    }
}

/// Errors of the system's that say something about the file that is read.
const READING_FAILED: [i32; 3] = [
    rusqlite::ffi::SQLITE_IOERR_READ,
    rusqlite::ffi::SQLITE_IOERR_SHORT_READ,
    rusqlite::ffi::SQLITE_IOERR_CORRUPTFS,
];

fn extended(cause: &rusqlite::Error) -> i32 {
    cause.sqlite_error().map_or(0, |error| error.extended_code)
}

/// What an error of SQLite's says about the database.
fn told(cause: rusqlite::Error) -> Integrity {
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
        // Of the many errors of the system's, these are about the file that is read.
        Some(ErrorCode::SystemIoFailure) if !READING_FAILED.contains(&extended(&cause)) => {
            Integrity::Unchecked(cause.to_string())
        }
        _ => Integrity::Damaged(Damage::new(format!("reading the database failed: {cause}"))),
    }
}

fn open(path: &Path, usage: Usage, header: Option<&Header>) -> rusqlite::Result<Connection> {
    // An immutable database is read without locks, and without the files that the log needs. So its log must be empty.
    let is_immutable = usage == Usage::Idle
        && header.is_some_and(|it| Log::read(path, it).is_ok_and(|log| !log.has_frames));
    if !is_immutable {
        return open_unmapped(path);
    }
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = percent_encode(path.as_os_str().as_bytes(), NON_ALPHANUMERIC);
    open_unmapped(Path::new(&format!("file:{path}?immutable=1")))
}

/// Opens a connection that only reads, and maps nothing into memory.
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

/// Refuses to open a database that is damaged: the quick check tells, and the full one where the disk failed.
pub(crate) async fn refuse_damaged(
    path: &Path,
    last_end: &LastEnd,
    opener: Opener,
) -> Result<(), StoreError> {
    if *last_end == LastEnd::Beginning {
        return Ok(());
    }
    let (path, disk_failed) = (path.to_owned(), matches!(last_end, LastEnd::DiskFailed(_)));
    let checked = tokio::task::spawn_blocking({
        let path = path.clone();
        move || match disk_failed {
            true => check_fully(&path, Usage::Live, &CancellationToken::new()),
            false => check_quickly(&path, Usage::Live),
        }
    });
    let checked = checked.await;
    match checked.unwrap_or_else(|_| Integrity::Unchecked("the check panicked".into())) {
        Integrity::Damaged(damage) => Err(Refused::Damaged(damage.to_string()).into()),
        Integrity::Absent(_) if opener == Opener::Returning => Err(Refused::Empty(path).into()),
        Integrity::Unchecked(why) if disk_failed => Err(StoreError::Unavailable(why.into())),
        // What stands in the way of looking stands in the way of opening, and is told then.
        _ => Ok(()),
    }
}

/// The damage that an open store is known to have.
#[derive(Clone, Default)]
pub(crate) struct KnownDamage(Arc<Mutex<Option<Damage>>>);

impl Store {
    /// Checks the embedded store in constant time. What is wrong is remembered in [`Store::damage`].
    pub async fn check_quickly(&self) -> Integrity {
        let outcome = self.check_apart(|path| check_quickly(&path, Usage::Own)).await;
        self.remember(&outcome);
        outcome
    }

    /// Checks every page of the embedded store, until `stop` is cancelled. What is wrong is remembered in
    /// [`Store::damage`], and forgotten where nothing is wrong any more.
    ///
    /// Requests and writes go on meanwhile, but the log can't begin anew: it grows with what is written.
    pub async fn check_fully(&self, stop: &CancellationToken) -> Integrity {
        let stop = stop.clone();
        let outcome = self.check_apart(move |path| check_fully(&path, Usage::Own, &stop)).await;
        self.remember(&outcome);
        if outcome == Integrity::Sound {
            self.known_damage.0.lock().take();
            self.db.health().inspect(|health| health.found_sound());
        }
        outcome
    }

    /// The damage that a check has found since the store was opened.
    pub fn damage(&self) -> Option<Damage> {
        self.known_damage.0.lock().clone()
    }

    /// Records that the store is damaged.
    pub fn record_damage(&self, damage: Damage) {
        *self.known_damage.0.lock() = Some(damage);
        self.db.health().inspect(|health| health.owe(Debt::CheckFirst));
    }

    /// Remembers damage. A store that is open and isn't there is damaged.
    fn remember(&self, outcome: &Integrity) {
        match outcome {
            Integrity::Damaged(damage) => self.record_damage(damage.clone()),
            Integrity::Absent(what) => self.record_damage(Damage::new(what)),
            _ => {}
        }
    }

    /// Runs a check on a thread where it may take long.
    async fn check_apart(
        &self,
        check: impl FnOnce(PathBuf) -> Integrity + Send + 'static,
    ) -> Integrity {
        let Some(path) = self.db.sqlite_file() else { return Integrity::NotApplicable };
        let path = path.to_owned();
        let checked = tokio::task::spawn_blocking(move || check(path)).await;
        checked.unwrap_or_else(|_| Integrity::Unchecked("the check panicked".into()))
    }
}
