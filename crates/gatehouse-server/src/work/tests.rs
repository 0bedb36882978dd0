//! The service on both stores, for tests that run single steps.

use std::sync::{Arc, LazyLock};

use gatehouse_connectors::Platforms;
use gatehouse_core::{BillingModel, Contract, Labels, Tenant, TenantName, Timestamp};
use gatehouse_store::{Clock, Store};
use gatehouse_testing::empty_schema;
use gatehouse_vault::{HashCaller, MasterKey, Vault};
use tokio_util::sync::CancellationToken;

use super::task::{StepOutcome, TaskWorker};
use crate::app::App;
use crate::app::access::AccessRequest;
use crate::app::batch::{NewBatch, NewItems};
use crate::app::requester::Requester;
use crate::app::requester::testing::ORIGIN;
use crate::config::{Config, Tasks};

/// Twelve minutes before November ends in Berlin.
const LATE_IN_NOVEMBER: &str = "2026-11-30T22:48:00Z";

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A caller whose client never disconnects.
pub(super) fn caller() -> Requester<'static> {
    static ACME: LazyLock<TenantName> = LazyLock::new(acme);
    static NEVER: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);
    Requester::in_test(HashCaller { tenant: &ACME, disconnection: &*NEVER })
}

pub(super) fn acme() -> TenantName {
    "acme".parse().unwrap()
}

fn pay_per_use() -> Contract {
    Contract::active("payg".parse().unwrap(), "po".parse().unwrap(), BillingModel::PayPerUse)
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
        let vault = Arc::new(Vault::new(&MasterKey::generate().into()));
        let options = Config::default().platforms.options(Default::default());
        let platforms = Arc::new(Platforms::new(options).unwrap());
        let app = App::new(store, vault, clock, Tasks::default(), platforms);
        let time_zone = "Europe/Berlin".parse().unwrap();
        app.put_tenant(&Tenant::new(acme(), time_zone), &ORIGIN).await.unwrap();
        app.put_contract(&acme(), &pay_per_use(), &ORIGIN).await.unwrap();
        apps.push((kind, app, dir));
    }
    apps
}

#[tokio::test]
async fn a_failing_expiry_does_not_delay_the_destruction_of_secrets() {
    for (_, app, dir) in apps("upkeep").await {
        // Only a file can be damaged by hand.
        let Some(dir) = dir else { continue };
        let batch = NewBatch {
            contract_id: "payg".parse().unwrap(),
            items: NewItems::Count(1, Labels::NONE),
        };
        app.accept_batch(&acme(), batch, None, &ORIGIN).await.unwrap();
        let mut worker = TaskWorker::new(app.clone());
        while worker.run_one().await.unwrap() != StepOutcome::Nothing {}

        let ending = Contract {
            id: "ending".parse().unwrap(),
            end: Some(at("2026-11-30T23:00:00Z")),
            ..pay_per_use()
        };
        app.put_contract(&acme(), &ending, &ORIGIN).await.unwrap();
        let contract_id = ending.id.clone();
        let new = AccessRequest {
            contract_id,
            username: None,
            password: None,
            device_name: None,
            labels: Labels::NONE,
        };
        app.create_access(caller(), new, None).await.unwrap();
        let file = rusqlite::Connection::open(dir.path().join("test.db")).unwrap();
        let sql = "UPDATE access SET status = 'NONSENSE' WHERE contract_id = 'ending'";
        assert_eq!(file.execute(sql, []).unwrap(), 1);

        app.clock.set(at("2026-12-02T00:00:00Z"));
        for _ in 0..4 {
            app.run_upkeep_step().await.unwrap_err();
            app.clock.set(app.now().plus_milliseconds(1001));
        }
        assert_eq!(app.meter.secrets_destroyed.get(), 1);
    }
}
