//! Three replicas over one database, under continuous kills: every response holds, nothing is done twice, and every
//! Task ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::history::call::{Answer, Call, N_KINDS};
use super::history::{Fleet, Load, Replicas, Scale, estate, judge, read_settled};
use super::process::*;
use gatehouse_testing::SeededRandom;

const N_REPLICAS: usize = 3;

fn n_wanted() -> usize {
    if std::env::var_os("TEST_LONG").is_some() { 100 } else { 20 }
}

/// Longest time between two kills, and longest absence of a replica.
const LONGEST_LIFE_MS: u64 = 4000;
const LONGEST_ABSENCE_MS: u64 = 2000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_replicas_under_kills_lose_nothing_and_do_nothing_twice() {
    let mut random = SeededRandom::from_entropy("three_replicas_under_kills");
    let setup = Arc::new(Setup::postgres("three_replicas_under_kills").await);
    std::fs::write(setup.path("estate.yaml"), estate()).unwrap();
    let mut servers = vec![Some(setup.serve_allowing_guesses())];
    let fleet = Arc::new(Fleet::new(servers[0].as_ref().unwrap().token.clone()));
    servers.resize_with(N_REPLICAS, || Some(setup.serve_allowing_guesses()));
    for (replica, server) in servers.iter().enumerate() {
        fleet.runs(replica, &server.as_ref().unwrap().url);
    }

    let load = Load::begin(&fleet, &mut random, Scale::OF_PROCESSES).await;
    let mut n_kills = 0;
    loop {
        let kinds = n_done_by_kind(&fleet.history());
        if n_kills >= n_wanted() && kinds.len() == N_KINDS {
            break;
        }
        assert!(n_kills < 10 * n_wanted(), "after {n_kills} kills only {kinds:?} were done");
        tokio::time::sleep(Duration::from_millis(random.roll(LONGEST_LIFE_MS))).await;
        // Mostly one, now and then two: one replica always runs.
        let n = if random.roll(4) == 0 { 2 } else { 1 };
        for _ in 0..n {
            let running = fleet.running();
            if running.len() > 1 {
                let replica = *random.pick(&running);
                servers[replica].take().unwrap().kill();
                fleet.is_gone(replica);
                n_kills += 1;
            }
        }
        tokio::time::sleep(Duration::from_millis(random.roll(LONGEST_ABSENCE_MS))).await;
        for (replica, server) in servers.iter_mut().enumerate().filter(|it| it.1.is_none()) {
            let setup = Arc::clone(&setup);
            let begun =
                tokio::task::spawn_blocking(move || setup.serve_allowing_guesses()).await.unwrap();
            fleet.runs(replica, &begun.url);
            *server = Some(begun);
        }
    }
    load.end().await;

    let settled = read_settled(&fleet, &mut random).await;
    let history = fleet.history().clone();
    let kinds = n_done_by_kind(&history);
    let is_unknown = |it: &&Call| matches!(it.answer, Answer::Lost | Answer::Unavailable { .. });
    eprintln!(
        "{n_kills} kills, {} calls, {} of unknown outcome, {} Tasks, {} accesses; done: {kinds:?}",
        history.len(),
        history.iter().filter(is_unknown).count(),
        settled.iter().map(|it| it.tasks.len()).sum::<usize>(),
        settled.iter().map(|it| it.accesses.len()).sum::<usize>(),
    );
    let faults = judge(&history, &settled);
    assert!(faults.is_empty(), "{} faults:\n{}\n{}", faults.len(), faults.join("\n"), setup.log());
    let doctor = setup.run(&["doctor", "--deep"]);
    assert!(doctor.status.success(), "{}", printed(&doctor));
}

/// Number of completed calls of each kind.
fn n_done_by_kind(history: &[Call]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for call in history.iter().filter(|it| it.answer.done().is_some()) {
        *counts.entry(call.request.kind()).or_default() += 1;
    }
    counts
}
