//! Usernames: whose one is, and when it may be given again.
//!
//! A username is one access's at a time: that of the access which isn't TERMINATED. Two indexes without a common row keep
//! it so. One has the accesses that aren't TERMINATED, each username once; the other has those that are.
//!
//! Programs before schema version 10 keep one index of all accesses, each username once for ever, and read no username
//! with a `:`. On PostgreSQL they may work beside this one while servers are replaced. So the two indexes are built
//! while all go on, and the old index goes when no older program has been heard of for a while. Until then usernames
//! are given once, without a `:`; from then on older programs are refused.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_core::{Status, TenantName, Timestamp, lifecycle};

use crate::Store;
use crate::access::Change;
use crate::bulk;
use crate::db::{Db, Dialect, Tx};
use crate::error::StoreError;
use crate::migrate;
use crate::moves::Moves;

/// The first schema version whose programs know that usernames are given again.
const KNOWN_SINCE: i64 = 10;

/// How long an older program must have been silent.
const SILENT_MILLISECONDS: i64 = 60_000;

/// The index of older programs.
const FORMER: &str = "access_username";

/// An index of usernames: its name, and how it is made in PostgreSQL while others write.
struct Index {
    name: &'static str,
    concurrently: &'static str,
}

const INDEXES: [Index; 2] = [
    Index {
        name: "access_username_live",
        concurrently: "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS access_username_live \
                       ON access (tenant, username) WHERE status <> 'TERMINATED'",
    },
    Index {
        name: "access_username_ended",
        concurrently: "CREATE INDEX CONCURRENTLY IF NOT EXISTS access_username_ended \
                       ON access (tenant, username) WHERE status = 'TERMINATED'",
    },
];

/// Whether usernames are given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// They are.
    Free,
    /// Not yet: the indexes for it are being built.
    Building,
    /// Not yet: a server of an older version is there, or was a moment ago.
    OlderServer,
}

/// Whether usernames are given again, as this program knows so far. Once they are, they stay so.
#[derive(Clone, Default)]
pub(crate) struct Usernames(Arc<AtomicBool>);

impl Usernames {
    /// What the schema says.
    pub(crate) async fn read(db: &Db) -> Result<Self, StoreError> {
        let usernames = Self::default();
        usernames.learn(db).await?;
        Ok(usernames)
    }

    async fn learn(&self, db: &Db) -> Result<bool, StoreError> {
        let is_free = !is_there(db, FORMER).await?;
        self.0.fetch_or(is_free, Ordering::Relaxed);
        Ok(is_free)
    }

    pub(crate) fn are_free(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Refuses for now what an older program beside this one could not read.
    pub(crate) fn refuse_unreadable(&self, username: &str) -> Result<(), StoreError> {
        if self.are_free() || !username.contains(':') {
            return Ok(());
        }
        let why = "a username with a `:` waits until no server of an older version is beside";
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
            return bulk::usernames_in_use(tx, tenant, usernames).await;
        }
        usernames.iter().try_for_each(|username| self.refuse_unreadable(username))?;
        let usernames = bulk::usernames_ever(tx, tenant, usernames).await?;
        Ok(Taken { usernames, ending: Vec::new() })
    }
}

/// Usernames that are taken.
#[derive(Default)]
pub(crate) struct Taken {
    /// All of them.
    pub(crate) usernames: HashSet<String>,
    /// Those of accesses that have an end: which it is, and the access's number.
    pub(crate) ending: Vec<(Timestamp, u64)>,
}

impl Taken {
    /// Writes down the ends among these that have come, counts them in `moves`, and tells which usernames are left. It
    /// locks accesses, so it comes before all that locks what counts them.
    pub(crate) async fn settle(
        mut self,
        tx: &Tx,
        tenant: &TenantName,
        now: Timestamp,
        moves: &mut Moves,
    ) -> Result<HashSet<String>, StoreError> {
        let come = self.ending.iter().filter(|(end, _)| *end <= now).map(|(_, number)| *number);
        let numbers: Vec<u64> = come.collect();
        if numbers.is_empty() {
            return Ok(self.usernames);
        }
        let mut changes = Vec::new();
        for before in bulk::lock_accesses(tx, tenant, numbers).await? {
            // The access may have another end by now, or its end is written down.
            let after = lifecycle::at(&before, now);
            if after.status == Status::Terminated {
                self.usernames.remove(after.username.as_str());
            }
            if after != before {
                moves.change(&before, &after);
                changes.push(Change { access: after, password: None });
            }
        }
        bulk::update(tx, tenant, &changes).await?;
        Ok(self.usernames)
    }
}

/// Makes usernames free at once where nobody has to wait for it: in an embedded store, which one server has for itself,
/// and in a database without accesses.
pub(crate) async fn free_at_once(db: &Db) -> Result<(), StoreError> {
    if !is_there(db, FORMER).await? {
        return Ok(());
    }
    if db.dialect() == Dialect::Postgres {
        let has_accesses = db.row("SELECT 1 FROM access LIMIT 1", &[], |_| Ok(())).await?.is_some();
        if has_accesses || is_begun(db).await? {
            return Ok(());
        }
    }
    match drop_former(db).await {
        // Whoever holds the lock uses it, and a server's own work goes on with this.
        Ok(_) | Err(StoreError::Locked(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

impl Store {
    /// Whether this server gives usernames again whose accesses are TERMINATED.
    pub fn usernames_are_free(&self) -> bool {
        self.usernames.are_free()
    }

    /// Takes a step towards it: builds the indexes, and drops the one of older programs when none is left. Building
    /// takes long where there are many accesses, and nobody waits for it.
    pub async fn free_usernames(&self) -> Result<Reuse, StoreError> {
        if self.usernames.learn(&self.db).await? {
            return Ok(Reuse::Free);
        }
        for index in INDEXES {
            match is_valid(&self.db, index.name).await? {
                Some(true) => continue,
                _ if is_building(&self.db).await? => return Ok(Reuse::Building),
                Some(false) => {
                    // Whoever built it has not come to the end.
                    let dropped = format!("DROP INDEX CONCURRENTLY IF EXISTS {}", index.name);
                    self.db.run_alone(&dropped).await?;
                }
                None => {}
            }
            self.db.run_alone(index.concurrently).await?;
        }
        if !drop_former(&self.db).await? {
            return Ok(Reuse::OlderServer);
        }
        self.usernames.learn(&self.db).await?;
        Ok(Reuse::Free)
    }

    /// How far it is, for an operator.
    pub async fn reuse(&self) -> Result<Reuse, StoreError> {
        if self.usernames.learn(&self.db).await? {
            return Ok(Reuse::Free);
        }
        for index in INDEXES {
            if is_valid(&self.db, index.name).await? != Some(true) {
                return Ok(Reuse::Building);
            }
        }
        Ok(Reuse::OlderServer)
    }
}

/// Drops the index of older programs, and refuses those from now on; false where one is there. The indexes that replace
/// it are made here where they aren't there yet.
async fn drop_former(db: &Db) -> Result<bool, StoreError> {
    let dropped = db.write_unlimited(async move |tx| {
        // Programs that start look at the versions under this lock.
        migrate::lock(&tx).await?;
        if is_older_beside(&tx).await? {
            return Ok(false);
        }
        for index in INDEXES {
            tx.script(&index.concurrently.replace(" CONCURRENTLY", "")).await?;
        }
        tx.script(&format!("DROP INDEX IF EXISTS {FORMER}")).await?;
        let sql = "UPDATE schema_version SET needs = ?1 WHERE version = ?1";
        tx.execute(sql, &[KNOWN_SINCE.into()]).await?;
        Ok::<_, StoreError>(true)
    });
    dropped.await
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

async fn is_there(db: &Db, index: &str) -> Result<bool, StoreError> {
    let sql = match db.dialect() {
        Dialect::Sqlite => "SELECT 1 FROM sqlite_schema WHERE name = ?1",
        Dialect::Postgres => "SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass(?1)",
    };
    Ok(db.row(sql, &[index.into()], |_| Ok(())).await?.is_some())
}

/// Whether somebody has begun to build one of the indexes.
async fn is_begun(db: &Db) -> Result<bool, StoreError> {
    for index in INDEXES {
        if is_there(db, index.name).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether PostgreSQL has built an index to its end; `None` where there is none.
async fn is_valid(db: &Db, index: &str) -> Result<Option<bool>, StoreError> {
    let sql = "SELECT CAST(CASE WHEN indisvalid THEN 1 ELSE 0 END AS BIGINT) \
               FROM pg_catalog.pg_index WHERE indexrelid = to_regclass(?1)";
    db.row(sql, &[index.into()], |row| Ok(row.integer(0)? == 1)).await
}

/// Whether somebody builds an index of accesses just now.
async fn is_building(db: &Db) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM pg_catalog.pg_stat_progress_create_index \
               WHERE relid = to_regclass('access') LIMIT 1";
    Ok(db.row(sql, &[], |_| Ok(())).await?.is_some())
}
