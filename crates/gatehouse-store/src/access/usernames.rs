//! Usernames: which access has one, and when it may be given again.
//!
//! A username belongs to one access at a time: to the one that isn't TERMINATED. Two indexes without a common row keep it
//! so. One has the accesses that aren't TERMINATED, each username once; the other has the TERMINATED ones.
//!
//! Programs before schema version 10 keep one index of all accesses, each username once for ever, and can't read a
//! username with a `:`. On PostgreSQL their servers may work beside this one while servers are replaced. So this program
//! builds its indexes while all servers go on. When no older server has been heard of for a while, older programs are
//! refused from then on; and when none has been heard of for a while after that, the former index is dropped. Until then
//! a username is given once, and without a `:`. Nothing of this blocks readers or writers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_core::{TenantName, Timestamp};
use parking_lot::Mutex;

use crate::Store;
use crate::access::taken_usernames::{self, Taken};
use crate::db::{Db, Dialect, Tx};
use crate::error::StoreError;
use crate::migrate::schema_lock;

/// The first schema version whose programs know that usernames are given again.
const KNOWN_SINCE: i64 = 10;

/// How long an older server must have been silent, before older programs are refused and again after that: a server that
/// was about to start is heard of in between.
const SILENT_MILLISECONDS: i64 = 60_000;

/// The index of older programs.
pub(crate) const FORMER: &str = "access_username";

/// An index of usernames: its name, and how PostgreSQL builds it while others write.
struct Index {
    name: &'static str,
    concurrently: &'static str,
}

// The number stands behind the usernames that any number of accesses may have: the last one is found by it.
const INDEXES: [Index; 2] = [
    Index {
        name: "access_username_live",
        concurrently: "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS access_username_live \
                       ON access (tenant, username) WHERE status <> 'TERMINATED'",
    },
    Index {
        name: "access_username_ended",
        concurrently: "CREATE INDEX CONCURRENTLY IF NOT EXISTS access_username_ended \
                       ON access (tenant, username, number) WHERE status = 'TERMINATED'",
    },
];

/// The names of the indexes that take the place of the former one.
pub(crate) fn index_names() -> impl Iterator<Item = &'static str> {
    INDEXES.iter().map(|index| index.name)
}

/// Whether usernames are given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Usernames are given again.
    Free,
    /// Not yet: the indexes for it are being built, or have to be.
    Building,
    /// Not yet: a server of an older version is there, or was a short while ago.
    OlderServer,
}

/// Whether usernames are given again, as far as this program knows. Once they are, they stay so.
#[derive(Clone, Default)]
pub(crate) struct Usernames(Arc<Known>);

#[derive(Default)]
struct Known {
    are_free: AtomicBool,
    /// When this program first saw that older ones are refused.
    refused_since: Mutex<Option<Timestamp>>,
}

impl Usernames {
    /// Reads from the schema whether usernames are given again.
    pub(crate) async fn read(db: &Db) -> Result<Self, StoreError> {
        let usernames = Self::default();
        usernames.learn(db).await?;
        Ok(usernames)
    }

    async fn learn(&self, db: &Db) -> Result<bool, StoreError> {
        let is_free = find(db, FORMER).await?.is_none() && are_built(db).await?;
        self.0.are_free.fetch_or(is_free, Ordering::Relaxed);
        Ok(is_free)
    }

    pub(crate) fn are_free(&self) -> bool {
        self.0.are_free.load(Ordering::Relaxed)
    }

    /// Refuses for now a username that an older server could not read.
    pub(crate) fn refuse_unreadable(&self, username: &str) -> Result<(), StoreError> {
        if self.are_free() || !username.contains(':') {
            return Ok(());
        }
        let why = "a username with a `:` waits until no server of an older version is there";
        Err(StoreError::Unavailable(why.into()))
    }

    /// Which of these usernames an access has, or ever had, as long as each is given once.
    pub(crate) async fn taken(
        &self,
        tx: &Tx,
        tenant: &TenantName,
        usernames: &[&str],
    ) -> Result<Taken, StoreError> {
        if self.are_free() {
            return taken_usernames::in_use(tx, tenant, usernames).await;
        }
        usernames.iter().try_for_each(|username| self.refuse_unreadable(username))?;
        let usernames = taken_usernames::ever(tx, tenant, usernames).await?;
        Ok(Taken { usernames, ending: Vec::new() })
    }

    /// How long older programs have been refused, in milliseconds, as far as this program has seen.
    fn refused_for(&self, now: Timestamp) -> i64 {
        let since = *self.0.refused_since.lock().get_or_insert(now);
        now.as_millisecond() - since.as_millisecond()
    }
}

/// Makes usernames free at once where no client has to wait for it: in an embedded store, which one server has for itself,
/// and in a database without accesses.
pub(crate) async fn free_at_once(db: &Db) -> Result<(), StoreError> {
    if find(db, FORMER).await?.is_none() {
        return Ok(());
    }
    if db.dialect() == Dialect::Postgres {
        let has_accesses = db.row("SELECT 1 FROM access LIMIT 1", &[], |_| Ok(())).await?.is_some();
        if has_accesses || is_begun(db).await? {
            return Ok(());
        }
    }
    let freed = db.write_unlimited(async move |tx| {
        schema_lock::take(&tx).await?;
        if is_older_beside(&tx).await? {
            return Ok(());
        }
        for index in INDEXES {
            tx.script(&index.concurrently.replace(" CONCURRENTLY", "")).await?;
        }
        tx.script(&format!("DROP INDEX IF EXISTS {FORMER}")).await?;
        refuse_older(&tx).await
    });
    match freed.await {
        // The server goes on with it once it runs.
        Err(StoreError::Locked(_)) => Ok(()),
        freed => freed,
    }
}

impl Store {
    /// Whether this server gives usernames again whose accesses are TERMINATED.
    pub fn usernames_are_free(&self) -> bool {
        self.usernames.are_free()
    }

    /// Takes a step towards it. Building the indexes takes long where there are many accesses; no client waits for it.
    pub async fn free_usernames(&self) -> Result<Reuse, StoreError> {
        let db = &self.db;
        if self.usernames.learn(db).await? {
            return Ok(Reuse::Free);
        }
        for index in INDEXES {
            if !build(db, &index).await? {
                return Ok(Reuse::Building);
            }
        }
        let is_refused = db.write_unlimited(async move |tx| {
            // A program that starts looks at the versions under this lock.
            schema_lock::take(&tx).await?;
            let is_older_beside = is_older_beside(&tx).await?;
            if !is_older_beside {
                refuse_older(&tx).await?;
            }
            Ok::<_, StoreError>(!is_older_beside)
        });
        let is_refused = is_refused.await?;
        if !is_refused || self.usernames.refused_for(self.now().await?) < SILENT_MILLISECONDS {
            return Ok(Reuse::OlderServer);
        }
        if let Some(former) = find(db, FORMER).await? {
            db.run_alone(&format!("DROP INDEX CONCURRENTLY IF EXISTS {}", former.name)).await?;
        }
        let is_free = self.usernames.learn(db).await?;
        Ok(if is_free { Reuse::Free } else { Reuse::Building })
    }

    /// How far it is, for an operator.
    pub async fn reuse(&self) -> Result<Reuse, StoreError> {
        Ok(if self.usernames.learn(&self.db).await? {
            Reuse::Free
        } else if are_built(&self.db).await? {
            Reuse::OlderServer
        } else {
            Reuse::Building
        })
    }
}

/// Builds an index on PostgreSQL; false where it isn't there yet, because another server is at it.
async fn build(db: &Db, index: &Index) -> Result<bool, StoreError> {
    match find(db, index.name).await? {
        Some(Found { is_valid: true, .. }) => return Ok(true),
        _ if is_building(db).await? => return Ok(false),
        // The server that built it has not come to the end.
        Some(broken) => {
            db.run_alone(&format!("DROP INDEX CONCURRENTLY IF EXISTS {}", broken.name)).await?;
        }
        None => {}
    }
    db.run_alone(index.concurrently).await?;
    // Where another server began at the same moment, the statement waited for that one, whatever came of it.
    Ok(find(db, index.name).await?.is_some_and(|found| found.is_valid))
}

/// Has programs refused that don't know of this.
async fn refuse_older(tx: &Tx) -> Result<(), StoreError> {
    let sql = "UPDATE schema_version SET needs = ?1 WHERE version = ?1 AND needs < ?1";
    tx.execute(sql, &[KNOWN_SINCE.into()]).await.map(drop)
}

/// Whether a server has been heard of lately that doesn't know of this.
async fn is_older_beside(tx: &Tx) -> Result<bool, StoreError> {
    let now = tx.now().await?;
    // What was heard in the future was heard before the clock was set back.
    let sql = "SELECT 1 FROM replica WHERE seen_at > ?1 AND seen_at < ?2 \
               AND COALESCE(knows, 0) < ?3 LIMIT 1";
    let (from, to) =
        (now.plus_milliseconds(-SILENT_MILLISECONDS), now.plus_milliseconds(SILENT_MILLISECONDS));
    let older = tx.row(sql, &[from.into(), to.into(), KNOWN_SINCE.into()], |_| Ok(())).await?;
    Ok(older.is_some())
}

/// An index that there is.
struct Found {
    /// With its schema: another gatehouse may have one of the same name in the next schema of the search path.
    name: String,
    /// Whether it was built to its end.
    is_valid: bool,
}

/// An index of the accesses.
async fn find(db: &Db, index: &str) -> Result<Option<Found>, StoreError> {
    let sql = match db.dialect() {
        Dialect::Sqlite => "SELECT name, 1 FROM sqlite_schema WHERE type = 'index' AND name = ?1",
        Dialect::Postgres => {
            "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), \
             CAST(CASE WHEN i.indisvalid THEN 1 ELSE 0 END AS BIGINT) \
             FROM pg_catalog.pg_index i \
             JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE i.indrelid = to_regclass('access') AND CAST(c.relname AS TEXT) = ?1"
        }
    };
    let read =
        |row: &crate::db::Row<'_>| Ok(Found { name: row.text(0)?, is_valid: row.integer(1)? == 1 });
    db.row(sql, &[index.into()], read).await
}

/// Whether both indexes are there, and built to their end.
async fn are_built(db: &Db) -> Result<bool, StoreError> {
    for index in INDEXES {
        if find(db, index.name).await?.is_none_or(|found| !found.is_valid) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a server has begun to build one of the indexes.
async fn is_begun(db: &Db) -> Result<bool, StoreError> {
    for index in INDEXES {
        if find(db, index.name).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an index of the accesses is being built, as far as this role may see.
async fn is_building(db: &Db) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM pg_catalog.pg_stat_progress_create_index \
               WHERE datname = current_database() \
               AND (relid IS NULL OR relid = to_regclass('access')) LIMIT 1";
    Ok(db.row(sql, &[], |_| Ok(())).await?.is_some())
}
