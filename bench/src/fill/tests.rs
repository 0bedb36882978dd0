//! A filled store is one that the server could have made: the server's own recount says so, on both databases and in the
//! server's schema.

use gatehouse_core::event::{Cause, Origin};
use gatehouse_core::{BillingModel, Contract, Tenant};
use gatehouse_store::{Audited, Clock, Store};

use super::*;

const FLEET: Fleet = Fleet { n_accesses: 10_000, latest_at: 1_800_000_000_000 };

fn audited<T: std::fmt::Debug>() -> Audited<T> {
    Audited { origin: Origin::of(Cause::Server), record: |it| format!("{it:?}") }
}

/// Creates the tenant and contracts of the server's setup file, before a store is filled.
async fn set_up(store: &Store) {
    let tenant = Tenant::new(TENANT.parse().unwrap(), "UTC".parse().unwrap());
    store.put_tenant(&tenant, &audited()).await.unwrap();
    for (n, id) in CONTRACTS.iter().enumerate() {
        let offering_id = OFFERINGS[offering_of(n)].parse().unwrap();
        let contract = Contract::active(id.parse().unwrap(), offering_id, BillingModel::PayPerUse);
        store.put_contract(&tenant.name, &contract, &audited()).await.unwrap().unwrap();
    }
}

async fn assert_recount_passes(store: &Store) {
    let recount = store.recount(&TENANT.parse().unwrap()).await.unwrap();
    assert_eq!(recount.discrepancies, Vec::<String>::new());
    assert_eq!(recount.n_accesses, FLEET.n_accesses);
}

#[tokio::test]
async fn a_filled_sqlite_store_passes_the_recount() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let definitions = || {
        let connection = rusqlite::Connection::open(&path).unwrap();
        let sql = "SELECT sql FROM sqlite_master ORDER BY type, name";
        let mut statement = connection.prepare(sql).unwrap();
        let definitions = statement.query_map([], |row| row.get(0)).unwrap();
        definitions.collect::<Result<Vec<Option<String>>, _>>().unwrap()
    };
    let store = Store::open_sqlite(&path, Clock::machine()).await.unwrap();
    set_up(&store).await;
    store.close().await;
    let before = definitions();

    sqlite::fill(&path, FLEET).unwrap();

    assert_eq!(definitions(), before);
    let store = Store::open_sqlite(&path, Clock::machine()).await.unwrap();
    assert_recount_passes(&store).await;
    store.close().await;
}

#[tokio::test]
async fn a_filled_postgres_store_passes_the_recount() {
    let url = gatehouse_testing::empty_schema("bench_fill").await;
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let definitions = async || {
        let sql = "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1";
        let rows = client.query(sql, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect::<Vec<String>>()
    };
    let store = Store::open_postgres(&url.parse().unwrap(), Clock::machine()).await.unwrap();
    set_up(&store).await;
    let before = definitions().await;

    postgres::fill(&url, FLEET).await.unwrap();

    assert_eq!(definitions().await, before);
    assert_recount_passes(&store).await;
    store.close().await;
    drop(client);
    connection.await.unwrap().unwrap();
}
