//! A disk that fails at any call, and a power cut at any call: what was answered is there afterwards, what was refused is
//! not, and the database is whole.
//!
//! The same short piece of work runs once for each call that it makes of the disk, which fails there in one of the ways
//! that disks have. Some hundreds of them are tried each time, all with `cargo xtask test --long`.

mod after;
mod readiness;
mod work;

use gatehouse_lying_disk::{Call, Failure, Plan};

use work::{Ended, Run};

/// How many points of each kind are tried.
fn n_points(all: usize) -> usize {
    if std::env::var_os("TEST_LONG").is_some() { all } else { all.min(120) }
}

/// So many of these numbers, spread evenly.
fn spread(all: usize, n: usize) -> impl Iterator<Item = usize> {
    (0..n).map(move |nth| nth * all / n)
}

/// The calls of the work when nothing fails.
async fn calls() -> Vec<Call> {
    let run = Run::begin(0, None).await.end().await;
    assert_eq!(run.ended, Ended::Orderly);
    assert!(run.n_answered() >= work::N_WRITES, "all of it");
    run.disk.calls()
}

#[tokio::test]
async fn an_error_of_the_disk_at_any_call_loses_nothing_that_was_answered() {
    let calls = calls().await;
    let (mut n_tried, mut n_stopped) = (0, 0);
    for first in spread(calls.len(), n_points(calls.len())) {
        let run = Run::begin(first as u64, Some(Plan::once(first, Failure::Io))).await.end().await;
        let met = run.disk.calls().get(first).copied();
        let place = format!("call {first} ({met:?})");
        if !run.disk.has_failed() {
            // It got by with a few calls less.
            continue;
        }
        n_tried += 1;
        if met != Some(Call::Read) {
            assert_eq!(run.ended, Ended::Stopped, "{place}");
        }
        n_stopped += usize::from(run.ended == Ended::Stopped);
        run.must_hold(&place).await;
    }
    assert!(n_tried * 10 >= n_points(calls.len()) * 9, "{n_tried}");
    assert!(n_stopped * 2 >= n_tried, "{n_stopped} of {n_tried}");
    println!("{} calls, failed at {n_tried}, stopped by {n_stopped}", calls.len());
}

#[tokio::test]
async fn a_power_cut_at_any_call_loses_nothing_that_was_answered() {
    let calls = calls().await;
    for first in spread(calls.len(), n_points(calls.len())) {
        let plan = Plan::once(first, Failure::PowerCut);
        let run = Run::begin(first as u64, Some(plan)).await.end().await;
        run.must_hold(&format!("power cut at call {first}")).await;
    }
}

#[tokio::test]
async fn a_full_disk_at_any_write_is_refused_and_heals() {
    let calls = calls().await;
    for (first, _) in calls.iter().enumerate().filter(|(_, call)| **call == Call::Write) {
        let plan =
            Plan { only: Some(Call::Write), n_calls: 30, ..Plan::once(first, Failure::Full) };
        let run = Run::begin(first as u64, Some(plan)).await.end().await;
        assert_eq!(run.ended, Ended::Orderly, "call {first}");
        run.must_hold(&format!("no room from call {first} on")).await;
    }
}
