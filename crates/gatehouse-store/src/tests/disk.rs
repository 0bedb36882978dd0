//! A disk that fails at any call, and a power cut at any call: afterwards every committed write exists, no refused one
//! does, and the database is undamaged.
//!
//! A short workload runs once for each of its disk calls, which fails in one of the ways that disks fail. Some hundreds
//! of points are tried each time, all of them with `cargo xtask test --long`.

mod after;
mod points;
mod readiness;
mod work;

use gatehouse_lying_disk::{Call, Failure, Plan};
use gatehouse_testing::record;

use points::Tally;
use work::{Run, RunEnd};

/// Number of points of each kind to try.
fn n_points(all: usize) -> usize {
    if std::env::var_os("TEST_LONG").is_some() { all } else { all.min(120) }
}

/// Number of random outcomes of a power cut to try at each point.
fn n_chances() -> usize {
    if std::env::var_os("TEST_LONG").is_some() { 10 } else { 1 }
}

/// The condition that every test checks.
const HELD: &str = "everything answered is there, nothing refused is, the database is whole; also after the next start, \
                    more writes and a power cut";

/// So many of the workload's calls, spread evenly.
fn spread(n_calls: usize) -> Vec<usize> {
    let n = n_points(n_calls);
    (0..n).map(|nth| nth * n_calls / n).collect()
}

/// The workload's disk calls when nothing fails.
async fn calls() -> Vec<Call> {
    let run = Run::begin(0, None).await.end().await;
    assert_eq!(run.ended, RunEnd::Orderly);
    assert!(run.n_answered() >= work::N_WRITES, "all of it");
    let calls = run.disk.calls();
    assert!(calls.len() > work::N_WRITES, "each creation calls the disk: {calls:?}");
    calls
}

#[tokio::test]
async fn an_io_error_at_any_call_loses_no_committed_write() {
    let test = "an_io_error_at_any_call_loses_no_committed_write";
    let points = spread(calls().await.len());
    let tried = points::try_each(test, &points, async |first| {
        let run = Run::begin(first as u64, Some(Plan::once(first, Failure::Io))).await.end().await;
        let met = run.disk.calls().get(first).copied();
        let place = format!("call {first} ({met:?})");
        if !run.disk.has_failed() {
            // The workload needed a few calls less.
            return None;
        }
        if met != Some(Call::Read) {
            assert_eq!(run.ended, RunEnd::Stopped, "{place}");
        }
        let ended = run.ended;
        run.must_hold(&place).await;
        Some(ended)
    });
    let Some(Tally { n_tried, n_stopped }) = tried.await else { return };
    assert!(n_tried * 10 >= points.len() * 9, "{n_tried}");
    assert!(n_stopped * 2 >= n_tried, "{n_stopped} of {n_tried}");
    record(
        "embedded store: an I/O error at one call of the disk (read, write, truncate or flush), of each in turn",
        n_tried,
        HELD,
    );
}

#[tokio::test]
async fn a_power_cut_at_any_call_loses_no_committed_write() {
    let test = "a_power_cut_at_any_call_loses_no_committed_write";
    let seeds: Vec<usize> = spread(calls().await.len())
        .into_iter()
        .flat_map(|first| (0..n_chances()).map(move |chance| first * 100 + chance))
        .collect();
    let tried = points::try_each(test, &seeds, async |seed| {
        let first = seed / 100;
        let plan = Plan::once(first, Failure::PowerCut);
        let run = Run::begin(seed as u64, Some(plan)).await.end().await;
        let ended = run.disk.has_failed().then_some(run.ended);
        run.must_hold(&format!("power cut at call {first}, seed {seed}")).await;
        ended
    });
    let Some(Tally { n_tried, .. }) = tried.await else { return };
    assert!(n_tried * 10 >= seeds.len() * 9, "{n_tried}");
    record(
        "embedded store: a power cut at one call of the disk, of each in turn; what was not flushed is dropped, torn and \
         reordered",
        n_tried,
        HELD,
    );
}

#[tokio::test]
async fn a_full_disk_at_any_write_is_refused_and_recovers() {
    let test = "a_full_disk_at_any_write_is_refused_and_recovers";
    let calls = calls().await;
    let writes: Vec<usize> = (0..calls.len()).filter(|&nth| calls[nth] == Call::Write).collect();
    let tried = points::try_each(test, &writes, async |first| {
        let plan =
            Plan { only: Some(Call::Write), n_calls: 30, ..Plan::once(first, Failure::Full) };
        let run = Run::begin(first as u64, Some(plan)).await.end().await;
        assert_eq!(run.ended, RunEnd::Orderly, "call {first}");
        let ended = run.disk.has_failed().then_some(run.ended);
        run.must_hold(&format!("no room from call {first} on")).await;
        ended
    });
    let Some(Tally { n_tried, .. }) = tried.await else { return };
    assert!(n_tried * 10 >= writes.len() * 9, "{n_tried}");
    record(
        "embedded store: no room on the disk, from each write on, for 30 calls",
        n_tried,
        "writes are refused, then taken again; nothing answered is lost; the database is whole",
    );
}
