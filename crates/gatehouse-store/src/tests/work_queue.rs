use super::*;
use crate::db::WriteKind;
use crate::{Lease, StoreError, WorkError, WorkKey, WorkKind, work_queue};
use std::collections::HashSet;

const MINUTE: i64 = 60_000;

fn key(kind: WorkKind, name: &str) -> WorkKey {
    WorkKey { tenant: acme(), kind, name: name.into(), part: 0 }
}

async fn add(case: &Case, key: WorkKey, due_at: Timestamp) {
    let added = case
        .store
        .db
        .write(WriteKind::Server, async move |tx| work_queue::add(&tx, &key, due_at).await);
    added.await.unwrap();
}

async fn add_locking(case: &Case, key: WorkKey, due_at: Timestamp) {
    let added = case
        .store
        .db
        .write(WriteKind::Server, async move |tx| work_queue::add_locking(&tx, &key, due_at).await);
    added.await.unwrap();
}

async fn claim(case: &Case) -> Option<Lease> {
    case.store.claim_due(&WorkKind::ALL, MINUTE).await.unwrap()
}

async fn finish(case: &Case, lease: &Lease) -> bool {
    let lease = lease.clone();
    case.store
        .db
        .write(WriteKind::Server, async move |tx| work_queue::finish(&tx, &lease).await)
        .await
        .unwrap()
}

#[tokio::test]
async fn the_longest_due_row_is_claimed_first_and_none_early() {
    for case in stores("what_is_due_longest_is_taken_first").await {
        let (tasks, ends) = (WorkKind::UnfinishedTasks, WorkKind::ExpiringAccesses);
        for (kind, name, n) in [(ends, "c", 3), (tasks, "a", 1), (ends, "b", 2), (tasks, "d", 9)] {
            add(&case, key(kind, name), day(n)).await;
        }
        assert_eq!(claim(&case).await, None, "{}", case.kind);
        assert_eq!(case.store.next_due(&WorkKind::ALL).await.unwrap(), Some(day(1)));
        assert_eq!(case.store.next_due(&[ends]).await.unwrap(), Some(day(2)));
        assert_eq!(case.store.next_due(&[WorkKind::OldSecret]).await.unwrap(), None);

        case.clock.set(day(3));
        let of_ends = case.store.claim_due(&[ends], MINUTE).await.unwrap();
        assert_eq!(of_ends.unwrap().key, key(ends, "b"), "{}: only what was asked for", case.kind);
        for name in ["a", "c"] {
            assert_eq!(claim(&case).await.unwrap().key.name, name, "{}", case.kind);
        }
        assert_eq!(claim(&case).await, None, "{}: the last is not due", case.kind);
    }
}

#[tokio::test]
async fn a_lease_holds_until_it_expires_and_then_commits_nothing() {
    for case in stores("a_lease_holds_until_it_is_over").await {
        add(&case, key(WorkKind::ExpiringAccesses, "a"), day(0)).await;
        let first = claim(&case).await.unwrap();
        assert!(case.store.renew_lease(&first, 2 * MINUTE).await.unwrap());
        case.clock.set(day(0).plus_milliseconds(2 * MINUTE - 1));
        assert_eq!(claim(&case).await, None, "{}", case.kind);
        assert!(case.store.renew_lease(&first, MINUTE).await.unwrap(), "over, but still its own");

        case.clock.set(day(1));
        let second = claim(&case).await.unwrap();
        assert_eq!(second.key, first.key);
        assert_ne!(second, first);
        // Work under the first lease is rolled back by each check of the lease.
        for fence in ["lock", "hold", "release", "finish"] {
            let lease = first.clone();
            let done = case.store.db.write(WriteKind::Server, async move |tx| {
                work_queue::add(&tx, &key(WorkKind::OldTask, "done twice"), day(0)).await?;
                let is_held = match fence {
                    "lock" => work_queue::lock(&tx, &lease).await?,
                    "hold" => work_queue::hold(&tx, &lease, day(9)).await?,
                    "release" => work_queue::release(&tx, &lease, day(0)).await?,
                    _ => work_queue::finish(&tx, &lease).await?,
                };
                if is_held { Ok(()) } else { Err(WorkError::LeaseLost) }
            });
            assert!(matches!(done.await, Err(WorkError::LeaseLost)), "{}: {fence}", case.kind);
        }
        assert!(!case.store.renew_lease(&first, MINUTE).await.unwrap());
        assert!(!case.store.release(&first).await.unwrap());
        assert!(finish(&case, &second).await, "{}: nothing of that harmed the second", case.kind);
        assert_eq!(case.store.next_due(&WorkKind::ALL).await.unwrap(), None, "{}", case.kind);
        assert!(!finish(&case, &second).await, "once");
    }
}

#[tokio::test]
async fn a_lease_of_a_finished_row_is_none_of_a_row_that_is_added_later() {
    for case in stores("a_lease_of_what_was_finished").await {
        add_locking(&case, key(WorkKind::UnfinishedTasks, ""), day(0)).await;
        let held_up = claim(&case).await.unwrap();
        case.clock.set(day(1));
        let second = claim(&case).await.unwrap();
        assert!(finish(&case, &second).await);
        let now = day(1).plus_milliseconds(1);
        add_locking(&case, key(WorkKind::UnfinishedTasks, ""), now).await;
        case.clock.set(now);
        for _ in 0..2 {
            // No lease of the new row is equal to one of the earlier row.
            let third = claim(&case).await.unwrap();
            for former in [&held_up, &second] {
                assert!(!case.store.renew_lease(former, MINUTE).await.unwrap(), "{}", case.kind);
                assert!(!finish(&case, former).await, "{}", case.kind);
            }
            assert!(case.store.release(&third).await.unwrap(), "{}", case.kind);
        }
    }
}

#[tokio::test]
async fn a_released_row_goes_to_the_end_of_the_queue() {
    for case in stores("what_is_given_back_goes_to_the_end").await {
        for (n, name) in ["a", "b", "c"].into_iter().enumerate() {
            add(&case, key(WorkKind::UnfinishedTasks, name), day(n as i64)).await;
        }
        case.clock.set(day(5));
        for name in ["a", "b", "c", "a", "b"] {
            case.clock.set(case.clock.now().plus_milliseconds(1));
            let lease = claim(&case).await.unwrap();
            assert_eq!(lease.key.name, name, "{}", case.kind);
            assert!(case.store.release(&lease).await.unwrap());
            assert!(!case.store.release(&lease).await.unwrap(), "{}: given away", case.kind);
        }
    }
}

#[tokio::test]
async fn adding_makes_an_unclaimed_row_due_earlier() {
    for case in stores("adding_hastens_what_nobody_has").await {
        let key = key(WorkKind::UnfinishedTasks, "");
        let next = async || case.store.next_due(&WorkKind::ALL).await.unwrap().unwrap();
        add_locking(&case, key.clone(), day(3)).await;
        add_locking(&case, key.clone(), day(4)).await;
        add(&case, key.clone(), day(1)).await;
        assert_eq!(next().await, day(3), "{}", case.kind);
        add_locking(&case, key.clone(), day(2)).await;
        assert_eq!(next().await, day(2), "{}", case.kind);

        case.clock.set(day(2));
        let lease = claim(&case).await.unwrap();
        add_locking(&case, key, day(0)).await;
        assert_eq!(claim(&case).await, None, "{}: a lease is a lease", case.kind);
        assert!(finish(&case, &lease).await, "{}", case.kind);
    }
}

#[tokio::test]
async fn a_process_that_starts_releases_stale_leases() {
    for case in stores("a_process_that_starts_ends").await {
        for name in ["held", "free"] {
            add(&case, key(WorkKind::ExpiringAccesses, name), day(0)).await;
        }
        let held = claim(&case).await.unwrap();
        case.clock.set(day(0).plus_milliseconds(1));
        let n_forgotten = case.store.release_stale_leases().await.unwrap();
        let other = claim(&case).await.unwrap();
        assert_ne!(other.key, held.key);
        match case.place {
            Place::Sqlite(_) => {
                assert_eq!(n_forgotten, 1);
                assert_eq!(claim(&case).await.unwrap().key, held.key);
                assert!(!finish(&case, &held).await);
            }
            // Another server may hold the lease.
            Place::Postgres(_) => {
                assert_eq!((n_forgotten, claim(&case).await), (0, None));
                assert!(finish(&case, &held).await);
            }
        }
    }
}

/// Twelve workers on two stores: each row has one lease at a time, and is done once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_row_has_one_lease_among_many_workers() {
    const ROWS: usize = 60;
    for case in stores("each_row_has_one_lease_among_many_workers").await {
        for n in 0..ROWS {
            add(&case, key(WorkKind::OldSecret, &format!("row {n}")), day(0)).await;
        }
        let second = match case.place {
            Place::Sqlite(_) => case.store.clone(),
            Place::Postgres(_) => case.another().await.unwrap(),
        };
        let claimants = (0..12).map(|n| {
            let store = if n % 2 == 0 { case.store.clone() } else { second.clone() };
            tokio::spawn(async move {
                let mut won = Vec::new();
                while let Some(lease) = store.claim_due(&WorkKind::ALL, MINUTE).await.unwrap() {
                    won.push(lease.key.name);
                }
                won
            })
        });
        let mut won = Vec::new();
        for claimant in claimants.collect::<Vec<_>>() {
            won.extend(claimant.await.unwrap());
        }
        assert_eq!(won.len(), ROWS, "{}: no worker stops while work is due", case.kind);
        assert_eq!(won.iter().collect::<HashSet<_>>().len(), ROWS, "{}", case.kind);
    }
}

/// Work that is added while a worker finishes: either the worker sees it, or the row is added again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_added_work_is_missed_by_a_worker_that_finishes() {
    for case in stores("nothing_added_is_missed").await {
        let queue = key(WorkKind::UnfinishedTasks, "");
        add(&case, queue.clone(), day(0)).await;
        // The row of kind `task` stands for the work.
        let adder = {
            let (store, queue) = (case.store.clone(), queue.clone());
            tokio::spawn(async move {
                for n in 0..50 {
                    let (queue, task) = (queue.clone(), key(WorkKind::OldTask, &n.to_string()));
                    let added = store.db.write(WriteKind::Server, async move |tx| {
                        work_queue::add(&tx, &task, day(100)).await?;
                        work_queue::add_locking(&tx, &queue, day(0)).await
                    });
                    added.await.unwrap();
                }
            })
        };
        let n_left = "SELECT COUNT(*) FROM due WHERE kind = 'task'";
        let mut n_done = 0;
        // Until nothing more is added and nothing is due.
        loop {
            let is_all_there = adder.is_finished();
            let lease = case.store.claim_due(&[WorkKind::UnfinishedTasks], MINUTE).await.unwrap();
            let Some(lease) = lease else {
                if is_all_there {
                    break;
                }
                tokio::task::yield_now().await;
                continue;
            };
            let done = case.store.db.write(WriteKind::Server, async move |tx| {
                let n = tx.execute("DELETE FROM due WHERE kind = 'task'", &[]).await?;
                assert!(work_queue::lock(&tx, &lease).await?);
                let left = tx.row(n_left, &[], |row| row.count(0)).await?.unwrap();
                let is_held = match left {
                    0 => work_queue::finish(&tx, &lease).await?,
                    _ => work_queue::release(&tx, &lease, day(0)).await?,
                };
                assert!(is_held);
                Ok::<_, StoreError>(n)
            });
            n_done += done.await.unwrap();
        }
        adder.await.unwrap();
        assert_eq!(n_done, 50, "{}", case.kind);
        assert_eq!(case.store.next_due(&WorkKind::ALL).await.unwrap(), None, "{}", case.kind);
    }
}
