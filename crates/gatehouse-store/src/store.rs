//! The store: opening it, its health, closing it. Each noun adds its own methods in its own file.

use std::path::Path;
use std::sync::Arc;

use gatehouse_core::Timestamp;

use crate::access::{gather, usernames};
use crate::db::{self, DatabaseUrl, InMemoryDatabase, LastEnd, Network, Opener};
use crate::error::{DiskTrouble, StoreError};
use crate::meter::StoreMeter;
use crate::{Clock, integrity, migrate, transfer};

/// Whether a PUT made the thing or found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It was not there before.
    Created,
    /// It was there, and is now as was asked.
    Replaced,
}

/// Everything that gatehouse remembers. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(crate) db: db::Db,
    pub(crate) gather: gather::Gather,
    pub(crate) usernames: usernames::Usernames,
    pub(crate) known_damage: integrity::KnownDamage,
    last_end: LastEnd,
}

impl Store {
    /// Opens, or makes, the embedded store in this file and brings its schema up to date.
    pub async fn open_sqlite(path: &Path, clock: Clock) -> Result<Self, StoreError> {
        Self::open_sqlite_as(Opener::Server, path, clock).await
    }

    /// The same for somebody who knows whether there must be one.
    pub async fn open_sqlite_as(
        opener: Opener,
        path: &Path,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        Self::open_place(path.into(), opener, clock).await
    }

    pub(crate) async fn open_place(
        place: db::Location,
        opener: Opener,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        let last_end = db::look(&place.path, opener)?;
        integrity::refuse_damaged(&place.path, &last_end, opener).await?;
        let db = db::Db::open_sqlite(place, db::Duty::Keeper, clock)?;
        match &last_end {
            // All of it has been looked at.
            LastEnd::DiskFailed(_) => db.settle()?,
            LastEnd::CutOff => drop(db.health().inspect(|health| health.owe(db::Debt::Check))),
            LastEnd::Clean | LastEnd::Beginning => {}
        }
        Ok(Self { last_end, ..Self::with(db).await? })
    }

    /// How the last use of the embedded store ended.
    pub fn last_end(&self) -> &LastEnd {
        &self.last_end
    }

    /// Opens the store in a PostgreSQL database and brings its schema up to date.
    pub async fn open_postgres(url: &DatabaseUrl, clock: Clock) -> Result<Self, StoreError> {
        Self::with(db::Db::open_postgres(url, clock)?).await
    }

    /// Opens the store in a database in memory, for one of the servers that a simulation has share it.
    #[doc(hidden)]
    pub async fn open_in_memory(
        database: &InMemoryDatabase,
        network: Arc<dyn Network>,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        Self::with(db::Db::open_in_memory(database, network, clock)).await
    }

    /// Opens the embedded store as it is, to be read only; `None` where no server has made one yet.
    pub async fn attach_sqlite(path: &Path, clock: Clock) -> Result<Option<Self>, StoreError> {
        if !path.exists() {
            return Ok(None);
        }
        Self::attach(db::Db::attach_sqlite(path, clock)?).await
    }

    /// Opens the embedded store as it is, also while a server uses it, to write a little beside it;
    /// `None` where no server has made one yet.
    pub async fn join_sqlite(path: &Path, clock: Clock) -> Result<Option<Self>, StoreError> {
        if !path.exists() {
            return Ok(None);
        }
        db::look(path, Opener::Command)?;
        Self::attach(db::Db::open_sqlite(path, db::Duty::Guest, clock)?).await
    }

    /// Opens the store in a PostgreSQL database as it is; `None` where no server has made one yet.
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

    /// The version of the schema that the database has, and the one that this program makes of it.
    pub async fn schema_versions(&self) -> Result<(i64, i64), StoreError> {
        Ok((migrate::version(&self.db).await?.unwrap_or_default(), migrate::newest()))
    }

    async fn with(db: db::Db) -> Result<Self, StoreError> {
        // Before the schema is touched: whoever finishes must find it as it was.
        if migrate::version(&db).await?.is_some() {
            transfer::refuse_unfinished_in(&db).await?;
        }
        migrate::run(&db).await?;
        Self::of(db).await
    }

    async fn of(db: db::Db) -> Result<Self, StoreError> {
        let usernames = usernames::Usernames::read(&db).await?;
        let (gather, known_damage) = Default::default();
        Ok(Self { db, gather, usernames, known_damage, last_end: LastEnd::Clean })
    }

    /// Whether the database answers and takes writes. It tells soon.
    pub async fn ping(&self) -> Result<(), StoreError> {
        if self.damage().is_some() {
            return Err(StoreError::NotReady(DiskTrouble::Damaged));
        }
        self.db.ping().await
    }

    /// Comes when the embedded store has stopped because its disk failed, with the reason: nothing is written any more,
    /// everyone who waited has been answered, and the process has to end as it is. PostgreSQL is another's to keep.
    pub async fn until_disk_fails(&self) -> std::sync::Arc<str> {
        match self.db.health() {
            Some(health) => health.until_stopped().await,
            None => std::future::pending().await,
        }
    }

    /// Why the embedded store has stopped, if it has.
    pub fn disk_failure(&self) -> Option<std::sync::Arc<str>> {
        self.db.health().and_then(db::Health::stopped)
    }

    /// Comes when a read of the embedded store has failed, and no full check has found since that all can be read.
    pub async fn until_unreadable(&self) {
        match self.db.health() {
            Some(health) => health.until_unreadable().await,
            None => std::future::pending().await,
        }
    }

    /// Has the next start know that all that belongs to a new store is there: its keys, too.
    pub fn settle(&self) -> Result<(), StoreError> {
        self.db.settle()
    }

    /// The protocol by which PostgreSQL's connections are encrypted, as it sees them itself; `None` where they aren't.
    pub async fn encryption(&self) -> Result<Option<String>, StoreError> {
        let sql = "SELECT MAX(version) FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl";
        Ok(self.db.row(sql, &[], |row| row.optional_text(0)).await?.flatten())
    }

    /// What time it is for the store, by which it decides what is due.
    pub async fn now(&self) -> Result<Timestamp, StoreError> {
        self.db.now().await
    }

    /// What the store measures of itself.
    pub fn meter(&self) -> &StoreMeter {
        self.db.meter()
    }

    /// Finishes what has begun and lets go of the database. Nothing may be asked of it afterwards.
    pub async fn close(&self) {
        self.gather.finish().await;
        self.db.close().await;
    }
}
