//! The service on both stores, for tests that take its steps one by one.

use std::sync::Arc;

use gatehouse_core::{BillingModel, Contract, ContractStatus, Tenant, TenantName, Timestamp};
use gatehouse_store::{Clock, Store};
use gatehouse_testing::empty_schema;
use gatehouse_vault::{MasterKey, Vault};

use crate::app::App;
use crate::config::Tasks;

/// Twelve minutes before November is over in Berlin.
const LATE_IN_NOVEMBER: &str = "2026-11-30T22:48:00Z";

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(super) fn acme() -> TenantName {
    "acme".parse().unwrap()
}

/// The service on each store, with a tenant in Berlin and a contract without an end.
pub(super) async fn apps(test: &str) -> Vec<(&'static str, App, Option<tempfile::TempDir>)> {
    let dir = tempfile::tempdir().unwrap();
    let clock = || Clock::by_hand(at(LATE_IN_NOVEMBER));
    let (here, there) = (clock(), clock());
    let sqlite = Store::open_sqlite(&dir.path().join("test.db"), here.clone()).await.unwrap();
    let url = empty_schema(&format!("work_{test}")).await.parse().unwrap();
    let postgres = Store::open_postgres(&url, there.clone()).await.unwrap();
    let mut apps = Vec::new();
    for (kind, store, clock, dir) in
        [("SQLite", sqlite, here, Some(dir)), ("PostgreSQL", postgres, there, None)]
    {
        let vault = Arc::new(Vault::new(&MasterKey::generate()));
        let app = App::new(store, vault, clock, Tasks::default());
        let time_zone = "Europe/Berlin".parse().unwrap();
        let tenant = Tenant { name: acme(), time_zone, requests_per_second: None };
        app.put_tenant(&tenant).await.unwrap();
        let by_use = Contract {
            id: "payg".parse().unwrap(),
            offering_id: "po".parse().unwrap(),
            billing_model: BillingModel::PayPerUse,
            status: ContractStatus::Active,
            start: None,
            end: None,
            validity: None,
            n_accesses_max: None,
        };
        app.put_contract(&acme(), &by_use).await.unwrap();
        apps.push((kind, app, dir));
    }
    apps
}
