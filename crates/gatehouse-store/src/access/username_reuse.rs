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
use crate::migrate::access_index::{AccessIndex, build, find};
use crate::migrate::older_servers::{self, Refusal};
use crate::migrate::schema_lock;

/// The first schema version whose programs reuse usernames.
const REUSE_SINCE: i64 = 10;

/// Index of programs before version 10: each username once.
pub(crate) const OLD_INDEX: &str = "access_username";

// TERMINATED accesses may share a username, so their index also has the number, by which the last one is found.
const INDEXES: [AccessIndex; 2] = [
    AccessIndex {
        name: "access_username_live",
        concurrently: "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS access_username_live \
                       ON access (tenant, username) WHERE status <> 'TERMINATED'",
    },
    AccessIndex {
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
            tx.script(&index.at_once()).await?;
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
