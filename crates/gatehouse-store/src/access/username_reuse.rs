//! Reuse of usernames: from when on a TERMINATED access's username may be given to another access.
//!
//! A username belongs to one access at a time: the one that isn't TERMINATED. Two indexes without a common row ensure
//! that. One has the accesses that aren't TERMINATED, each username once; the other has the TERMINATED ones.
//!
//! Programs before schema version 10 have one index of all accesses, which allows each username once for ever, and
//! can't parse a username with a `:`. On PostgreSQL such servers may run beside this one during an upgrade. So this
//! program builds its indexes while all servers go on. When no older server has sent a heartbeat for a while, older
//! programs are refused. When none has for another while after that, the old index is dropped. Until then each username
//! is used once, and has no `:`. No step blocks readers or writers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_core::TenantName;

use crate::Store;
use crate::access::taken_usernames::{self, Taken};
use crate::db::{Db, Dialect, Tx, WriteKind};
use crate::error::StoreError;
use crate::migrate::older_servers::{self, Refusal};
use crate::migrate::schema_lock;

/// The first schema version whose programs reuse usernames.
const REUSE_SINCE: i64 = 10;

/// Index of programs before version 10: each username once.
pub(crate) const OLD_INDEX: &str = "access_username";

/// An index of usernames: its name, and the statement that builds it while other transactions write.
struct Index {
    name: &'static str,
    concurrently: &'static str,
}

// TERMINATED accesses may share a username, so their index also has the number, by which the last one is found.
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

/// Names of the indexes that replace the old one.
pub(crate) fn index_names() -> impl Iterator<Item = &'static str> {
    INDEXES.iter().map(|index| index.name)
}

/// Whether usernames of TERMINATED accesses are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsernameReuse {
    /// Usernames are reused.
    Allowed,
    /// Not yet: the indexes are being built, or have to be.
    BuildingIndexes,
    /// Not yet: a server of an older version runs, or did a short while ago.
    OlderServer,
}

/// Decides which usernames are taken. Remembers whether usernames are reused, which never ends again.
#[derive(Clone, Default)]
pub(crate) struct Usernames(Arc<Known>);

struct Known {
    is_allowed: AtomicBool,
    older: Refusal,
}

impl Default for Known {
    fn default() -> Self {
        Self { is_allowed: AtomicBool::default(), older: Refusal::before(REUSE_SINCE) }
    }
}

impl Usernames {
    /// Reads from the schema whether usernames are reused.
    pub(crate) async fn read(db: &Db) -> Result<Self, StoreError> {
        let usernames = Self::default();
        usernames.learn(db).await?;
        Ok(usernames)
    }

    async fn learn(&self, db: &Db) -> Result<bool, StoreError> {
        let is_allowed = find(db, OLD_INDEX).await?.is_none() && are_built(db).await?;
        self.0.is_allowed.fetch_or(is_allowed, Ordering::Relaxed);
        Ok(is_allowed)
    }

    pub(crate) fn is_allowed(&self) -> bool {
        self.0.is_allowed.load(Ordering::Relaxed)
    }

    /// Refuses a username that an older server could not parse, while one may run.
    pub(crate) fn refuse_unreadable(&self, username: &str) -> Result<(), StoreError> {
        if self.is_allowed() || !username.contains(':') {
            return Ok(());
        }
        let why = "a username with a `:` waits until no server of an older version is there";
        Err(StoreError::Unavailable(why.into()))
    }

    /// The usernames among these that are taken: by a present access, or by any access ever while usernames aren't
    /// reused.
    pub(crate) async fn taken(
        &self,
        tx: &Tx,
        tenant: &TenantName,
        usernames: &[&str],
    ) -> Result<Taken, StoreError> {
        if self.is_allowed() {
            return taken_usernames::in_use(tx, tenant, usernames).await;
        }
        usernames.iter().try_for_each(|username| self.refuse_unreadable(username))?;
        let usernames = taken_usernames::ever(tx, tenant, usernames).await?;
        Ok(Taken { usernames, ending: Vec::new() })
    }
}

/// Allows reuse at once where no client has to wait for it: in an embedded store, which has one server, and in a
/// database without accesses.
pub(crate) async fn allow_at_once(db: &Db) -> Result<(), StoreError> {
    if find(db, OLD_INDEX).await?.is_none() {
        return Ok(());
    }
    let is_begun = db.dialect() == Dialect::Postgres && is_begun(db).await?;
    if is_begun || !older_servers::are_impossible(db).await? {
        return Ok(());
    }
    let freed = db.write(WriteKind::Schema, async move |tx| {
        schema_lock::take(&tx).await?;
        if older_servers::is_any_alive(&tx, REUSE_SINCE).await? {
            return Ok(());
        }
        for index in INDEXES {
            tx.script(&index.concurrently.replace(" CONCURRENTLY", "")).await?;
        }
        tx.script(&format!("DROP INDEX IF EXISTS {OLD_INDEX}")).await?;
        older_servers::refuse(&tx, REUSE_SINCE).await
    });
    match freed.await {
        // The running server continues with it.
        Err(StoreError::Locked(_)) => Ok(()),
        freed => freed,
    }
}

impl Store {
    /// Whether this server reuses the usernames of TERMINATED accesses.
    pub fn reuses_usernames(&self) -> bool {
        self.usernames.is_allowed()
    }

    /// Takes the next step towards username reuse. Building the indexes takes long where there are many accesses; no
    /// client waits for it.
    pub async fn advance_username_reuse(&self) -> Result<UsernameReuse, StoreError> {
        let db = &self.db;
        if self.usernames.learn(db).await? {
            return Ok(UsernameReuse::Allowed);
        }
        for index in INDEXES {
            if !build(db, &index).await? {
                return Ok(UsernameReuse::BuildingIndexes);
            }
        }
        if !self.usernames.0.older.advance(db).await? {
            return Ok(UsernameReuse::OlderServer);
        }
        if let Some(former) = find(db, OLD_INDEX).await? {
            db.run_outside_transaction(&format!(
                "DROP INDEX CONCURRENTLY IF EXISTS {}",
                former.name
            ))
            .await?;
        }
        let is_allowed = self.usernames.learn(db).await?;
        Ok(if is_allowed { UsernameReuse::Allowed } else { UsernameReuse::BuildingIndexes })
    }

    /// State of username reuse, for operators.
    pub async fn username_reuse(&self) -> Result<UsernameReuse, StoreError> {
        Ok(if self.usernames.learn(&self.db).await? {
            UsernameReuse::Allowed
        } else if are_built(&self.db).await? {
            UsernameReuse::OlderServer
        } else {
            UsernameReuse::BuildingIndexes
        })
    }
}

/// Builds an index on PostgreSQL; false while another server is building it.
async fn build(db: &Db, index: &Index) -> Result<bool, StoreError> {
    match find(db, index.name).await? {
        Some(Found { is_valid: true, .. }) => return Ok(true),
        _ if is_building(db).await? => return Ok(false),
        // The server that built it was interrupted.
        Some(broken) => {
            db.run_outside_transaction(&format!(
                "DROP INDEX CONCURRENTLY IF EXISTS {}",
                broken.name
            ))
            .await?;
        }
        None => {}
    }
    db.run_outside_transaction(index.concurrently).await?;
    // Where another server began at the same moment, the statement waited for that one, which may have failed.
    Ok(find(db, index.name).await?.is_some_and(|found| found.is_valid))
}

/// An index that exists.
struct Found {
    /// Qualified with its schema: the next schema of the search path may belong to another gatehouse and have an index
    /// of the same name.
    name: String,
    /// Whether the index was built completely.
    is_valid: bool,
}

/// Finds an index of the accesses.
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

/// Whether both indexes are built completely.
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
