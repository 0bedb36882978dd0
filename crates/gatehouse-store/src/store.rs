//! The store: opening it, its health, closing it. Each noun adds its methods in its own file.

use std::path::Path;
use std::sync::Arc;

use gatehouse_core::Timestamp;

use crate::access::creation_groups::CreationGroups;
use crate::access::username_reuse;
use crate::counted_sets::building;
use crate::db::{self, DatabaseUrl, InMemoryDatabase, LastShutdown, Network, OpenMode};
use crate::error::{DiskTrouble, StoreError};
use crate::failpoint::{Failpoint, Failpoints};
use crate::journal::beginning::JournalBeginning;
use crate::meter::StoreMeter;
use crate::{Clock, integrity, migrate, transfer};

/// Whether a PUT created the resource or replaced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The resource did not exist before.
    Created,
    /// The resource existed, and now has the requested content.
    Replaced,
}

/// Everything that gatehouse stores. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(crate) db: db::Db,
    pub(crate) creation_groups: CreationGroups,
    pub(crate) usernames: username_reuse::Usernames,
    pub(crate) set_builder: building::SetBuilder,
    pub(crate) journal_beginning: JournalBeginning,
    pub(crate) failpoints: Failpoints,
    pub(crate) known_damage: integrity::KnownDamage,
    last_shutdown: LastShutdown,
}

impl Store {
    /// Opens the embedded store in this file, or creates it, and brings its schema up to date.
    pub async fn open_sqlite(path: &Path, clock: Clock) -> Result<Self, StoreError> {
        Self::open_sqlite_as(OpenMode::CreateIfNew, path, clock).await
    }

    /// Opens the embedded store in this mode, which says whether the store must exist, and brings its schema up to
    /// date.
    pub async fn open_sqlite_as(
        mode: OpenMode,
        path: &Path,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        Self::open_at(path.into(), mode, clock).await
    }

    pub(crate) async fn open_at(
        location: db::Location,
        mode: OpenMode,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        let last_shutdown = db::inspect(&location.path, mode)?;
        integrity::refuse_damaged(&location.path, &last_shutdown, mode).await?;
        let db = db::Db::open_sqlite(location, db::ProcessRole::Server, clock)?;
        match &last_shutdown {
            // The full check has passed.
            LastShutdown::DiskFailed(_) => db.mark_in_use()?,
            LastShutdown::Unclean => drop(
                db.health().inspect(|health| health.require_check(db::PendingCheck::AfterStart)),
            ),
            LastShutdown::Clean | LastShutdown::NewStore => {}
        }
        Ok(Self { last_shutdown, ..Self::with(db).await? })
    }

    /// How the embedded store was last shut down.
    pub fn last_shutdown(&self) -> &LastShutdown {
        &self.last_shutdown
    }

    /// Opens the store in a PostgreSQL database and brings its schema up to date.
    pub async fn open_postgres(url: &DatabaseUrl, clock: Clock) -> Result<Self, StoreError> {
        Self::with(db::Db::open_postgres(url, clock)?).await
    }

    /// Opens the store in a database in memory, for one of the servers that share it in a simulation.
    #[doc(hidden)]
    pub async fn open_in_memory(
        database: &InMemoryDatabase,
        network: Arc<dyn Network>,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        Self::with(db::Db::open_in_memory(database, network, clock)).await
    }

    /// Turns the journals off: they get nothing from now on. For the bench alone, as a yardstick of what they cost.
    #[doc(hidden)]
    #[must_use]
    pub fn without_journal(self) -> Self {
        Self { db: self.db.without_journal(), ..self }
    }

    /// Opens the embedded store read-only, with its present schema; `None` where no server has created one yet.
    pub async fn attach_sqlite(path: &Path, clock: Clock) -> Result<Option<Self>, StoreError> {
        if !path.exists() {
            return Ok(None);
        }
        Self::attach(db::Db::attach_sqlite(path, clock)?).await
    }

    /// Opens the embedded store for a few writes of a command, also while a server uses it; `None` where no server has
    /// created one yet.
    pub async fn join_sqlite(path: &Path, clock: Clock) -> Result<Option<Self>, StoreError> {
        if !path.exists() {
            return Ok(None);
        }
        db::inspect(path, OpenMode::Command)?;
        Self::attach(db::Db::open_sqlite(path, db::ProcessRole::Command, clock)?).await
    }

    /// Opens the store in a PostgreSQL database with its present schema; `None` where no server has created one yet.
    pub async fn attach_postgres(
        url: &DatabaseUrl,
        clock: Clock,
    ) -> Result<Option<Self>, StoreError> {
        Self::attach(db::Db::open_postgres(url, clock)?).await
    }

    async fn attach(db: db::Db) -> Result<Option<Self>, StoreError> {
        if migrate::version(&db).await?.is_none() {
            return Ok(None);
        }
        transfer::refuse_unfinished_in(&db).await?;
        Self::of(db).await.map(Some)
    }

    /// Schema versions: the database's, and the newest that this program knows.
    pub async fn schema_versions(&self) -> Result<(i64, i64), StoreError> {
        Ok((migrate::version(&self.db).await?.unwrap_or_default(), migrate::newest()))
    }

    async fn with(db: db::Db) -> Result<Self, StoreError> {
        // Before the schema changes: the migration must find the schema that it began with.
        if migrate::version(&db).await?.is_some() {
            transfer::refuse_unfinished_in(&db).await?;
        }
        migrate::run(&db).await?;
        Self::of(db).await
    }

    async fn of(db: db::Db) -> Result<Self, StoreError> {
        let usernames = username_reuse::Usernames::read(&db).await?;
        let (creation_groups, known_damage) = Default::default();
        let (failpoints, set_builder, journal_beginning) = Default::default();
        let last_shutdown = LastShutdown::Clean;
        Ok(Self {
            db,
            creation_groups,
            usernames,
            set_builder,
            journal_beginning,
            failpoints,
            known_damage,
            last_shutdown,
        })
    }

    /// The store with failpoints, for tests of its workers.
    pub fn with_failpoints(self, failpoints: Failpoints) -> Self {
        Self { failpoints, ..self }
    }

    /// Passes a failpoint; fails where a test interrupts the work.
    pub fn pass(&self, point: Failpoint) -> Result<(), Failpoint> {
        self.failpoints.pass(point)
    }

    /// Checks within about a second that the database answers and takes writes.
    pub async fn ping(&self) -> Result<(), StoreError> {
        if self.damage().is_some() {
            return Err(StoreError::NotReady(DiskTrouble::Damaged));
        }
        self.db.ping().await
    }

    /// Waits until the embedded store stops because its disk failed, and returns the reason. By then all waiting
    /// callers have their errors, nothing more is written, and the process must exit without closing the store. Never
    /// returns on PostgreSQL.
    pub async fn until_disk_fails(&self) -> std::sync::Arc<str> {
        match self.db.health() {
            Some(health) => health.until_stopped().await,
            None => std::future::pending().await,
        }
    }

    /// Why the embedded store has stopped; `None` while it runs.
    pub fn disk_failure(&self) -> Option<std::sync::Arc<str>> {
        self.db.health().and_then(db::Health::stopped)
    }

    /// Waits until a read of the embedded store has failed and no full check has passed since.
    pub async fn until_unreadable(&self) {
        match self.db.health() {
            Some(health) => health.until_unreadable().await,
            None => std::future::pending().await,
        }
    }

    /// Records that a new store is complete, its keys included: the next start no longer takes it for a new one.
    pub fn finish_setup(&self) -> Result<(), StoreError> {
        self.db.mark_in_use()
    }

    /// TLS version of PostgreSQL's connections, as the database sees them; `None` where they aren't encrypted.
    pub async fn encryption(&self) -> Result<Option<String>, StoreError> {
        let sql = "SELECT MAX(version) FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl";
        Ok(self.db.row(sql, &[], |row| row.optional_text(0)).await?.flatten())
    }

    /// The store's time, which decides what is due.
    pub async fn now(&self) -> Result<Timestamp, StoreError> {
        self.db.now().await
    }

    /// The store's metrics.
    pub fn meter(&self) -> &StoreMeter {
        self.db.meter()
    }

    /// Finishes the writes that have begun and closes the database. No other call may follow.
    pub async fn close(&self) {
        self.creation_groups.finish().await;
        self.db.close().await;
    }
}
