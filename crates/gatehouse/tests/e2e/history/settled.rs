//! The final state, when the load and every Task have ended.

use std::time::{Duration, Instant};

use super::call::Request;
use super::{Fleet, Replicas, TENANTS, is_over};
use gatehouse_testing::SeededRandom;
use gatehouse_testing::history::{PAUSE, Settled, SettledTask};
use serde_json::Value;

/// Longest time for Tasks after the load: leases of dead workers have to expire first.
const LONGEST_TASKS: Duration = Duration::from_secs(120);

/// Waits until every Task has ended, and reads the final state. All replicas have to run.
pub(crate) async fn read_settled(fleet: &Fleet, random: &mut SeededRandom) -> Vec<Settled> {
    let mut tenants = Vec::new();
    for tenant in 0..TENANTS.len() {
        tenants.push(read_tenant(fleet, random, tenant).await);
    }
    tenants
}

async fn read_tenant(fleet: &Fleet, random: &mut SeededRandom, tenant: usize) -> Settled {
    let (name, mut settled) = (TENANTS[tenant], Settled::default());
    let anyone = fleet.anyone(random).await;
    for task in all(fleet, anyone, &format!("/{name}/access/batch")).await.1 {
        let id = task["id"].as_str().unwrap().to_owned();
        settled.tasks.push(read_task(fleet, random, tenant, id).await);
    }
    for replica in fleet.running() {
        // A total is read before the next replica's.
        settled.totals.push(all(fleet, replica, &format!("/{name}/access")).await.0);
        settled.summaries.push(json(fleet, replica, &format!("/{name}/summary")).await);
    }
    settled.accesses = all(fleet, anyone, &format!("/{name}/access")).await.1;
    settled
}

async fn read_task(
    fleet: &Fleet,
    random: &mut SeededRandom,
    tenant: usize,
    id: String,
) -> SettledTask {
    let (began, look) = (Instant::now(), Request::Look { task: id.clone() });
    let state = loop {
        let answer = fleet.insist(random, tenant, &look).await;
        if let Some(shown) = answer.done().filter(|it| is_over(it)) {
            break shown["state"].as_str().unwrap().to_owned();
        }
        assert!(began.elapsed() < LONGEST_TASKS, "it is not over: {id}, {answer:?}");
        tokio::time::sleep(PAUSE).await;
    };
    let path = format!("/{}/access/batch/{id}", TENANTS[tenant]);
    let anyone = fleet.anyone(random).await;
    let progress = json(fleet, anyone, &format!("{path}/progress")).await;
    let items = all(fleet, anyone, &format!("{path}/items")).await.1;
    SettledTask { id, state, progress, items }
}

async fn json(fleet: &Fleet, replica: usize, path: &str) -> Value {
    let response = fleet.get(replica, path).await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    response.json().await.unwrap()
}

/// All items of a list, with the announced total.
async fn all(fleet: &Fleet, replica: usize, path: &str) -> (u64, Vec<Value>) {
    let mut items = Vec::new();
    for number in 1.. {
        let page = format!("{path}?pageSize=1000&pageNumber={number}");
        let response = fleet.get(replica, &page).await.unwrap();
        assert_eq!(response.status(), 200, "{page}");
        let total = response.headers()["x-total-count"].to_str().unwrap().parse().unwrap();
        let more: Vec<Value> = response.json().await.unwrap();
        let is_last = more.is_empty() || number * 1000 >= total;
        items.extend(more);
        if is_last {
            return (total, items);
        }
    }
    unreachable!("there is a last page")
}
