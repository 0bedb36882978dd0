//! Failover: the primary of a cluster dies under three replicas over three PostgreSQL nodes, behind a proxy and without
//! one. The primary is killed with `-9` under load, during a batch, without notice to the replicas. No
//! confirmed write is lost, and the service recovers by itself.
//!
//! A separate program, which only `cargo xtask test --failover` runs: it needs the cluster.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]
#![expect(dead_code, reason = "the other program of this directory uses the rest of these modules")]

mod cluster;
mod figures;
mod history;
mod process;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::Cluster;
use figures::{Figures, Kill};
use gatehouse_testing::SeededRandom;
use history::call::{Answer, Items, Request};
use history::{Fleet, Load, Replicas, Scale, TENANTS, estate, judge, read_settled};
use process::{Setup, printed};
use serde_json::Value;

const N_REPLICAS: usize = 3;

/// Primaries that are killed, one after the other.
const N_KILLS: usize = 2;

/// Items of the batch that each kill hits.
const N_ITEMS: u64 = 20_000;

/// Confirmed writes between two kills, and after the last one.
const N_WRITES: usize = 200;

/// Longest effect of a kill.
const OUTAGE_MAX: Duration = Duration::from_secs(90);

/// Longest time until every replica notices the loss.
const DETECTION_TIME_MAX: Duration = Duration::from_secs(2);

const PAUSE: Duration = Duration::from_millis(50);

/// One after the other: there is one cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_is_lost_with_a_primary() {
    let cluster = Cluster::of_environment();
    let mut faults = Vec::new();
    for (phase, url) in [
        ("HAProxy", cluster.behind_proxy("proxied").await),
        ("all hosts in the address", cluster.all_hosts("direct").await),
    ] {
        let (figures, found) = survive(&cluster, phase, url).await;
        println!("\n{figures}");
        faults.extend(found.into_iter().map(|it| format!("{phase}: {it}")));
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Kills primaries under load; returns the measurements and the violations.
async fn survive(cluster: &Cluster, phase: &str, url: String) -> (Figures, Vec<String>) {
    let mut random = SeededRandom::from_entropy(phase);
    let setup = Setup { database_url: Some(url), kind: "PostgreSQL", ..Setup::sqlite() };
    std::fs::write(setup.path("estate.yaml"), estate()).unwrap();
    let servers: Vec<_> = (0..N_REPLICAS).map(|_| setup.serve_allowing_guesses()).collect();
    let fleet = Arc::new(Fleet::new(servers[0].token.clone()));
    for (replica, server) in servers.iter().enumerate() {
        fleet.runs(replica, &server.url);
    }
    let watch = figures::watch(&fleet);
    let load = Load::begin(&fleet, &mut random, Scale::OF_PROCESSES).await;
    let mut kills = Vec::new();
    for n in 0..N_KILLS {
        cluster.until_whole().await;
        let primary = cluster.primary().await.unwrap();
        begin_batch(&fleet, &mut random, n).await;
        cluster.kill(primary);
        let at = fleet.now();
        let next = until("another node is the primary", || cluster.primary_but(primary)).await;
        eprintln!("{phase}: n{primary} was killed, n{next} is the primary");
        let new_primary = fleet.now();
        let is_back = |replica| figures::first_write(&fleet.history(), replica, at).is_some();
        until("every replica writes again", async || (0..N_REPLICAS).all(is_back).then_some(()))
            .await;
        cluster.until_whole().await;
        until("the load goes on", async || {
            let writes = figures::n_writes(&fleet.history(), new_primary);
            (writes >= N_WRITES).then_some(())
        })
        .await;
        kills.push(Kill { at, new_primary, over: fleet.now() });
    }
    load.end().await;
    let settled = read_settled(&fleet, &mut random).await;
    let polls = watch.end().await;
    let history = fleet.history().clone();
    let mut faults = judge(&history, &settled);
    // The replicas live, so they respond. Only a streamed response can end early: a Task's.
    let broken = history.iter().filter(|it| it.answer == Answer::Lost);
    let broken = broken.filter(|it| !matches!(it.request, Request::Look { .. }));
    faults.extend(broken.map(|it| format!("no answer, and the replica lives: {it:?}")));
    let doctor = setup.run(&["doctor", "--deep"]);
    if !doctor.status.success() {
        faults.push(printed(&doctor));
    }
    let n_lost = faults.iter().filter(|it| it.contains("lost: ")).count();
    let figures = Figures { phase: phase.to_owned(), kills, polls, history, n_lost };
    for (replica, detection_times) in figures.detection_times() {
        if detection_times.is_none_or(|it| it > DETECTION_TIME_MAX) {
            faults.push(format!("replica {replica}: /-/ready was 503 after {detection_times:?}"));
        }
    }
    (figures, faults)
}

/// Requests a batch, and returns when some of it is done, but not all.
async fn begin_batch(fleet: &Fleet, random: &mut SeededRandom, n: usize) {
    let name = format!("killed-{n}");
    let (key, items) = (Some(format!("key-{name}")), Items::Number(N_ITEMS));
    let answer = fleet.insist(random, 0, &Request::Batch { name, key, items }).await;
    let Answer::Done(task) = answer else { panic!("{answer:?}") };
    let path = format!("/{}/access/batch/{}/progress", TENANTS[0], task["id"].as_str().unwrap());
    let n_done = until("the batch has begun", async || {
        let progress: Value = fleet.get(0, &path).await?.json().await.ok()?;
        progress["succeeded"].as_u64().filter(|it| *it > 0)
    })
    .await;
    assert!(
        n_done < N_ITEMS,
        "the batch has ended, and nothing is left to interrupt: take more items"
    );
}

/// Waits until `look` returns a value.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < OUTAGE_MAX, "waited in vain: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
