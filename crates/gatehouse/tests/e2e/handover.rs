//! A server that is asked to end releases its leases, and another continues at once.

use super::batch::has_ended;
use super::process::*;
use gatehouse_testing::SeededRandom;
use reqwest::Method;
use serde_json::json;

const TENANTS: [&str; 6] = ["t0", "t1", "t2", "t3", "t4", "t5"];

const ROUNDS: u64 = 10;

const N_ITEMS: u64 = 700;

const N_LONG: usize = 30_000;

fn estate() -> String {
    let tenants = TENANTS.map(|name| {
        let contract = "{ id: payg, productOfferingId: po, billingModel: PAY_PER_USE }";
        format!("  - name: {name}\n    contracts:\n      - {contract}\n")
    });
    format!("tenants:\n{}", tenants.concat())
}

async fn query(setup: &Setup, sql: &str) -> i64 {
    let url = setup.database_url.as_ref().unwrap();
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// Number of times that a tenant's lease has changed its holder.
async fn epoch(setup: &Setup, tenant: &str) -> i64 {
    let sql = "SELECT COALESCE(MAX(epoch), -1) FROM due WHERE kind = 'tasks' AND tenant = ";
    query(setup, &format!("{sql}'{tenant}'")).await
}

async fn state(server: &Server, tenant: &str, task: &str) -> serde_json::Value {
    let tasks = server.json(Method::GET, &format!("/{tenant}/access/batch"), None).await.1;
    let tasks = tasks.as_array().unwrap().iter();
    tasks.clone().find(|it| it["id"] == task).unwrap().clone()
}

/// Without another server: the work is left without a lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_releases_its_leases() {
    let mut random = SeededRandom::from_entropy("a_server_that_ends_leaves_nothing_taken_up");
    let setup = Setup::postgres("leaves_nothing_taken_up").await;
    std::fs::write(setup.path("estate.yaml"), estate()).unwrap();
    let mut server = setup.serve();
    let mut n_unfinished = 0;
    for _ in 0..ROUNDS {
        let body = json!({"contractId": "payg", "numberOfAccesses": N_ITEMS});
        let mut tasks = Vec::new();
        for tenant in TENANTS {
            tasks.push((tenant, server.batch(tenant, "batch", &body).await));
        }
        let (tenant, task) = random.pick(&tasks);
        let enough = random.roll(N_ITEMS * 3 / 4);
        server.until_processed(tenant, task, enough).await;
        server.terminate();
        assert!(server.wait().success(), "{}", setup.log());
        let taken = "SELECT COUNT(*) FROM due WHERE kind = 'tasks' AND is_leased = 1";
        assert_eq!(query(&setup, taken).await, 0, "what was worked on is free for others");
        n_unfinished += query(&setup, "SELECT COUNT(*) FROM due WHERE kind = 'tasks'").await;
        let later = "SELECT COUNT(*) FROM due WHERE kind = 'tasks' \
                     AND due_at > EXTRACT(EPOCH FROM clock_timestamp()) * 1000";
        assert_eq!(query(&setup, later).await, 0, "and at once");
        server = setup.serve();
    }
    assert!(n_unfinished > 0, "nothing was under way");
    for tenant in TENANTS {
        for task in server.all(&format!("/{tenant}/access/batch")).await {
            server.until_ended(tenant, task["id"].as_str().unwrap()).await;
        }
        let n_made = server.all(&format!("/{tenant}/access")).await.len();
        assert_eq!(n_made as u64, ROUNDS * N_ITEMS, "{tenant}");
    }
    assert!(!setup.log().contains("not handed back"), "{}", setup.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_server_continues_the_work_at_once() {
    let setup = Setup::postgres("another_server_goes_on").await;
    std::fs::write(setup.path("estate.yaml"), estate()).unwrap();
    let first = setup.serve();
    let body = json!({"contractId": "payg", "numberOfAccesses": N_LONG});
    let task = first.batch("t0", "batch", &body).await;
    first.until_processed("t0", &task, 1).await;
    let second = setup.serve();
    let held = epoch(&setup, "t0").await;
    first.terminate();
    assert!(first.wait().success(), "{}", setup.log());
    // A lease that expires by waiting keeps its epoch.
    assert!(epoch(&setup, "t0").await > held, "it was given back");
    assert!(!has_ended(&state(&second, "t0", &task).await), "there was something left to do");
    let shown = second.until_ended("t0", &task).await;
    assert_eq!(
        (&shown["state"], shown["accesses"].as_array().unwrap().len()),
        (&"DONE".into(), N_LONG)
    );
}
