//! One suite that SQLite and PostgreSQL must pass, PostgreSQL also behind a pooler. None of them is ever skipped.

mod access;
mod account;
mod audit;
mod catalogue;
mod client;
mod contract;
mod counted_sets;
mod disk;
mod encryption;
mod expiry;
mod failover;
mod full;
mod gaps;
mod in_memory;
mod integrity;
mod journal;
mod key_uses;
mod label;
mod last_events;
mod list;
mod log;
mod meter;
mod replica;
mod request;
mod schema;
mod secret;
mod set_changes;
mod snapshot;
mod summary;
mod task;
mod tenant;
mod transfer;
mod upgrade;
mod username_reuse;
mod work_queue;
mod write_permits;

use gatehouse_core::credential::StoredHash;
use gatehouse_core::event::{Cause, Origin};
use gatehouse_core::lifecycle::{self, TargetStatus};
use gatehouse_core::{
    Access, AccessId, BillingModel, Contract, ContractStatus, Labels, Tenant, TenantName, Timestamp,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::access::{columns, read};
use crate::db::Tx;

use crate::{Audited, Change, Clock, DatabaseUrl, NewAccess, Store, StoreError};

/// An empty store on one of the databases, with a clock that the test sets.
struct Case {
    kind: &'static str,
    store: Store,
    clock: Clock,
    place: Place,
}

enum Place {
    Sqlite(tempfile::TempDir),
    Postgres(DatabaseUrl),
}

impl Case {
    /// Opens the database once more, as another process would.
    async fn another(&self) -> Result<Store, crate::StoreError> {
        let clock = self.clock.clone();
        match &self.place {
            Place::Sqlite(dir) => Store::open_sqlite(&dir.path().join("test.db"), clock).await,
            Place::Postgres(url) => Store::open_postgres(url, clock).await,
        }
    }
}

/// SQLite in a temporary directory, PostgreSQL in a schema named after the test, and PostgreSQL behind a pooler in its
/// own database.
async fn stores(test: &str) -> Vec<Case> {
    let start = day(0);
    let dir = tempfile::tempdir().unwrap();
    let url = empty_schema(test).await;
    let mut cases = Vec::new();
    let pooled = gatehouse_testing::empty_pooled_database(&format!("store_{test}")).await;
    for (kind, place) in [
        ("SQLite", Place::Sqlite(dir)),
        ("PostgreSQL", Place::Postgres(url)),
        ("PostgreSQL behind PgBouncer", Place::Postgres(pooled.parse().unwrap())),
    ] {
        let clock = Clock::by_hand(start);
        let store = match &place {
            Place::Sqlite(dir) => {
                Store::open_sqlite(&dir.path().join("test.db"), clock.clone()).await.unwrap()
            }
            Place::Postgres(url) => Store::open_postgres(url, clock.clone()).await.unwrap(),
        };
        cases.push(Case { kind, store, clock, place });
    }
    cases
}

async fn empty_schema(test: &str) -> DatabaseUrl {
    gatehouse_testing::empty_schema(&format!("store_{test}")).await.parse().unwrap()
}

fn day(n: i64) -> Timestamp {
    Timestamp::from_millisecond((1_800_000_000 + 86_400 * n) * 1000).unwrap()
}

fn acme() -> TenantName {
    "acme".parse().unwrap()
}

fn contract(id: &str, offering: &str) -> Contract {
    Contract::active(id.parse().unwrap(), offering.parse().unwrap(), BillingModel::PayPerUse)
}

/// Where the changes of tests come from.
fn origin() -> Origin {
    Origin::of(Cause::Server)
}

/// How the setup of tests comes into the audit.
fn audited<T: std::fmt::Debug>() -> Audited<T> {
    Audited { origin: origin(), record: |it| format!("{it:?}") }
}

fn new(contract: &str, username: &str) -> NewAccess {
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    let mut random = [0; 10];
    random[2..].copy_from_slice(&DRAWN.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    NewAccess {
        id: AccessId::new(1, &random),
        contract_id: contract.parse().unwrap(),
        is_drawn: false,
        username: username.parse().unwrap(),
        password: StoredHash::new(format!("hash of {username}")),
        device_name: None,
        labels: Labels::NONE,
        created_by: None,
        idempotent: None,
        origin: origin(),
    }
}

/// The tenant `acme` with contracts `c1` and `c2` of offering `o1`, and `c3` of `o2`, and with complete counted sets.
async fn set_up(store: &Store) {
    store.put_tenant(&tenant("acme"), &audited()).await.unwrap();
    for (id, offering) in [("c1", "o1"), ("c2", "o1"), ("c3", "o2")] {
        store.put_contract(&acme(), &contract(id, offering), &audited()).await.unwrap().unwrap();
    }
    store.build_sets(acme(), 1000).await.unwrap();
}

/// Changes an access to another status, and returns it as it is then.
async fn set_status(store: &Store, id: AccessId, target: TargetStatus, now: Timestamp) -> Access {
    let tenant = acme();
    let changed = store.change_access(&tenant, id, origin(), move |stored, contract| {
        let access = lifecycle::set_status(&stored.access, contract, target, now);
        Ok::<_, StoreError>(Change { access: access.unwrap(), password: None })
    });
    changed.await.unwrap().unwrap()
}

/// All accesses of `acme`, as stored, in the order of their numbers.
async fn every_access(store: &Store) -> Vec<Access> {
    let sql = concat!("SELECT ", columns!(), " FROM access WHERE tenant = ?1 ORDER BY number");
    store.db.rows(sql, &["acme".into()], read).await.unwrap()
}

/// Checks that everything that is derived from the accesses of `acme` equals them.
async fn assert_sound(store: &Store, kind: &str) {
    let recount = store.recount(&acme()).await.unwrap();
    assert_eq!(recount.discrepancies, Vec::<String>::new(), "{kind}");
}

fn tenant(name: &str) -> Tenant {
    Tenant::new(name.parse().unwrap(), "Europe/Berlin".parse().unwrap())
}

/// Adds the tables and columns that the present program writes to, on a schema of version 10, which it stands in for.
async fn add_later_tables(db: &crate::db::Db) {
    let added = db.write(crate::db::WriteKind::Schema, async |tx| {
        for step in crate::migrate::STEPS.iter().filter(|step| step.version >= 11) {
            let sql = match tx.dialect() {
                crate::db::Dialect::Sqlite => step.sqlite,
                crate::db::Dialect::Postgres => step.postgres,
            };
            tx.script(sql).await?;
        }
        Ok::<_, crate::StoreError>(())
    });
    added.await.unwrap();
}

/// Removes the columns that [`add_later_tables`] has added to an embedded store, so that the next program finds the schema
/// of the older one.
async fn remove_later_columns(db: &crate::db::Db) {
    let removed = db.write(crate::db::WriteKind::Schema, async |tx| {
        for (table, column) in [
            ("access", "labels"),
            ("request", "labels"),
            ("task", "labels"),
            ("tenant", "label_keys"),
            ("journal", "ends_mac"),
            ("contract", "policy"),
        ] {
            tx.script(&format!("ALTER TABLE {table} DROP COLUMN {column}")).await?;
        }
        Ok::<_, crate::StoreError>(())
    });
    removed.await.unwrap();
}

/// Makes work that can't be cloned usable for a kind of write that isn't retried.
fn once<Run>(work: impl FnOnce(Tx) -> Run + Send) -> impl FnOnce(Tx) -> Run + Clone + Send {
    let work = Arc::new(Mutex::new(Some(work)));
    move |tx| work.lock().take().expect("a write that isn't retried runs once")(tx)
}
