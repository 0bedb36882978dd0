//! Tasks: accepted, executed under a lease, stopped, deleted.

use std::time::Duration;

use gatehouse_core::task::{ItemReference, Task, TaskState, TaskWork};
use gatehouse_core::{BatchFailure, BatchFailureKind, PageRequest, TaskId};
use gatehouse_meter::GaugeGuard;

use super::*;
use crate::db::WriteKind;
use crate::task::chunk::ChunkTimer;
use crate::{
    ChunkLimits, CreatedAccess, Failpoint, Failpoints, ItemChunk, Lease, NewTask, PlannedItem,
    SecretKind, TaskLifetimes, Waiters, WorkError, WorkKind,
};

const TERMS: TaskLifetimes = TaskLifetimes {
    lease_milliseconds: 15_000,
    secrets_milliseconds: 86_400_000,
    tasks_milliseconds: 30 * 86_400_000,
};

/// Longer than any chunk of a test.
const LONG: ChunkLimits = ChunkLimits {
    requests: Duration::from_secs(60),
    batches: Duration::from_secs(60),
    journal: Duration::from_secs(60),
};

fn job(n: u8) -> TaskId {
    TaskId::new(1, &[n; 10])
}

fn creation(n: u8, contract: &str, n_items: u32) -> NewTask {
    NewTask {
        id: job(n),
        work: TaskWork::Creation {
            contract_id: contract.parse().unwrap(),
            is_explicit: true,
            labels: Labels::NONE,
        },
        n_items,
        parts: vec![(0, b"first".to_vec()), (1, b"second".to_vec())],
        sealed_key: Some(b"sealed".to_vec()),
        origin: origin(),
        idempotent: None,
    }
}

async fn accept(store: &Store, new: NewTask) {
    store.accept_task(&acme(), new).await.unwrap();
}

async fn claim(store: &Store) -> Option<Lease> {
    store.claim_due(&[WorkKind::UnfinishedTasks], TERMS.lease_milliseconds).await.unwrap()
}

async fn start(store: &Store, lease: &Lease, n: u8) -> Task {
    store.start_creation(lease, job(n), TERMS).await.unwrap().task
}

fn stretch(n: u8, from: u32, names: &[&str]) -> ItemChunk<NewAccess> {
    let items = (from..).zip(names).map(|(index, name)| {
        let one = NewAccess { created_by: Some(job(n)), ..new("c1", name) };
        (index, PlannedItem::Do(one))
    });
    ItemChunk { task: job(n), from, items: items.collect(), limits: LONG }
}

async fn run(
    store: &Store,
    lease: &Lease,
    stretch: ItemChunk<NewAccess>,
) -> Result<Task, WorkError> {
    let (stepped, left) = store.run_creation(lease, stretch, TERMS).await?;
    assert!(left.is_empty());
    Ok(stepped.task)
}

fn username(made: CreatedAccess<'_>) -> String {
    made.access.username.to_owned()
}

#[tokio::test]
async fn a_batch_takes_the_usernames_of_expired_accesses() {
    // More than are written together, on either database.
    const N: u32 = 300;
    for Case { kind, store, clock, .. } in stores("task_takes_usernames").await {
        set_up(&store).await;
        let ending = Contract { end: Some(day(1)), ..contract("ending", "o2") };
        store.put_contract(&acme(), &ending, &audited()).await.unwrap().unwrap();
        let names: Vec<_> = (0..N).map(|n| format!("u{n}")).collect();
        let first = names.iter().map(|name| new("ending", name)).collect();
        assert!(store.create_accesses(&acme(), first).await.unwrap().iter().all(Result::is_ok));
        clock.set(day(1));
        store.create_access(&acme(), new("c1", "u299")).await.unwrap().unwrap();
        accept(&store, creation(1, "c1", N)).await;
        let lease = claim(&store).await.unwrap();
        start(&store, &lease, 1).await;
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let task = run(&store, &lease, stretch(1, 0, &names)).await.unwrap();
        assert_eq!((task.n_succeeded, task.n_failed), (N - 1, 1), "{kind}");
        let failed = store.failed_items(&acme(), job(1), 0, 10).await.unwrap();
        assert_eq!(failed[0].name.username.as_deref(), Some("u299"), "{kind}");
        assert_sound(&store, kind).await;
    }
}

#[tokio::test]
async fn a_creation_runs_from_acceptance_to_its_end() {
    for Case { kind, store, .. } in stores("task_walk").await {
        set_up(&store).await;
        accept(&store, creation(1, "c1", 4)).await;
        let lease = claim(&store).await.unwrap();
        assert_eq!(claim(&store).await, None, "{kind}: one at a time");
        let next = store.next_task(&acme()).await.unwrap().unwrap().task;
        assert_eq!((next.id, next.state), (job(1), TaskState::Acknowledged));
        assert_eq!(start(&store, &lease, 1).await.state, TaskState::InProgress);
        let task = run(&store, &lease, stretch(1, 0, &["a", "b"])).await.unwrap();
        assert_eq!((task.n_succeeded, task.n_failed), (2, 0));
        assert_sound(&store, kind).await;
        let mut last = stretch(1, 2, &["a", "d"]);
        let unfit = BatchFailure::out_of_bounds(vec![gatehouse_core::batch_failure::FieldFault {
            name: "password".into(),
            reason: "must be shorter".into(),
        }]);
        last.items[1].1 = PlannedItem::Fail(ItemReference::default(), unfit.clone());
        let task = run(&store, &lease, last).await.unwrap();
        assert_eq!((task.n_succeeded, task.n_failed), (2, 2), "{kind}");
        assert_eq!(task.state, TaskState::Failed);
        assert_eq!(task.shows_secrets_until, Some(day(1)));

        let failed = store.failed_items(&acme(), job(1), 0, 10).await.unwrap();
        assert_eq!((failed[0].ordinal, failed[0].index), (2, 2));
        assert_eq!(failed[0].failure.kind, BatchFailureKind::UsernameTaken);
        assert_eq!(failed[0].name.username.as_deref(), Some("a"));
        assert_eq!(failed[1].failure, unfit);
        let within = store.failed_items_within(&acme(), job(1), 3, 4).await.unwrap();
        assert_eq!(within, failed[1..]);
        for (ordinal, n) in [(0, 0), (2, 0), (3, 1), (4, 2)] {
            assert_eq!(store.n_failed_before(&acme(), job(1), ordinal).await.unwrap(), n);
        }
        let made = store.accesses_of_task(&acme(), job(1), 0, 10, username).await.unwrap();
        assert_eq!(made, ["a", "b"]);

        store.finish_queue(&lease).await.unwrap();
        assert_eq!(claim(&store).await, None);
        assert_sound(&store, kind).await;
    }
}

#[tokio::test]
async fn a_taken_username_fails_alone_anywhere_in_a_long_chunk() {
    for Case { kind, store, .. } in stores("task_long").await {
        set_up(&store).await;
        store.create_access(&acme(), new("c1", "user-640")).await.unwrap().unwrap();
        accept(&store, creation(1, "c1", 1300)).await;
        let lease = claim(&store).await.unwrap();
        start(&store, &lease, 1).await;
        let mut names: Vec<String> = (0..1300).map(|n| format!("user-{n}")).collect();
        names[1201] = "user-1200".into();
        names[1299] = "user-3".into();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let task = run(&store, &lease, stretch(1, 0, &names)).await.unwrap();
        assert_eq!((task.n_succeeded, task.n_failed), (1297, 3), "{kind}");
        let failed = store.failed_items(&acme(), job(1), 0, 10).await.unwrap();
        let ordinals: Vec<u32> = failed.iter().map(|item| item.ordinal).collect();
        assert_eq!(ordinals, [640, 1201, 1299], "{kind}");
        let made = store.accesses_of_task(&acme(), job(1), 0, 2000, username).await.unwrap();
        assert_eq!(made.len(), 1297, "{kind}");
        assert_sound(&store, kind).await;
    }
}

#[tokio::test]
async fn accesses_of_a_task_are_found_also_with_others_between_them() {
    for Case { kind, store, .. } in stores("task_between").await {
        set_up(&store).await;
        accept(&store, creation(1, "c1", 6)).await;
        let lease = claim(&store).await.unwrap();
        start(&store, &lease, 1).await;
        run(&store, &lease, stretch(1, 0, &["a", "b", "c"])).await.unwrap();
        store.create_access(&acme(), new("c1", "another's")).await.unwrap().unwrap();
        run(&store, &lease, stretch(1, 3, &["d", "e", "f"])).await.unwrap();
        let names = ["a", "b", "c", "d", "e", "f"];
        for (after, to) in (0..=7).flat_map(|after| (0..=7).map(move |to| (after, to))) {
            let found = store.accesses_of_task(&acme(), job(1), after, to, username).await.unwrap();
            let expected = (after..to).filter_map(|n| names.get(n as usize).copied());
            assert_eq!(found, expected.collect::<Vec<_>>(), "{kind}: after {after} to {to}");
        }
    }
}

#[tokio::test]
async fn a_long_write_begins_its_own_transaction() {
    let cases = stores("task_company").await.into_iter();
    for Case { store, .. } in cases.filter(|case| case.kind == "SQLite") {
        set_up(&store).await;
        let waiting = store.db.meter().writer_waiting.clone();
        // Blocks the writer until the other two wait, so that they could share a transaction.
        let first = store.db.write::<_, crate::StoreError, _, _>(
            crate::db::WriteKind::Server,
            async move |_| {
                while waiting.get() < 2 {
                    std::thread::yield_now();
                }
                Ok(())
            },
        );
        let (answered, committed) = std::sync::mpsc::channel();
        let short = async {
            store
                .db
                .write::<_, crate::StoreError, _, _>(crate::db::WriteKind::Server, async |_| Ok(()))
                .await
                .unwrap();
            answered.send(()).unwrap();
        };
        let long = store.db.write::<_, crate::StoreError, _, _>(
            WriteKind::Batch(acme()),
            once(async move |_| Ok(committed.recv_timeout(Duration::from_secs(20)).is_ok())),
        );
        let (first, (), long) = futures_util::join!(first, short, long);
        first.unwrap();
        assert!(long.unwrap(), "an earlier write is answered without waiting for the long one");
    }
}

#[tokio::test]
async fn a_chunk_ends_for_waiting_requests_and_returns_the_remaining_items() {
    let cases = stores("task_behind").await.into_iter();
    for Case { store, .. } in cases.filter(|case| case.kind == "SQLite") {
        set_up(&store).await;
        accept(&store, creation(1, "c1", 1300)).await;
        let lease = claim(&store).await.unwrap();
        start(&store, &lease, 1).await;
        let names: Vec<String> = (0..1300).map(|n| format!("user-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hasty = ChunkLimits { requests: Duration::ZERO, ..LONG };
        let stretch = ItemChunk { limits: hasty, ..stretch(1, 0, &names) };
        // Blocks the writer until the other two wait.
        let waiting = store.db.meter().writer_waiting.clone();
        let first = store.db.write::<_, crate::StoreError, _, _>(
            crate::db::WriteKind::Server,
            async move |_| {
                while waiting.get() < 2 {
                    std::thread::yield_now();
                }
                Ok(())
            },
        );
        let tenant = acme();
        let batch = store.run_creation(&lease, stretch, TERMS);
        let single = store.create_access(&tenant, new("c1", "single"));
        let (first, batch, single) = futures_util::join!(first, batch, single);
        first.unwrap();
        single.unwrap().unwrap();
        let (stepped, left) = batch.unwrap();
        assert_eq!(stepped.waiters, Waiters::Requests);
        assert!(stepped.task.n_processed() > 0 && !left.is_empty());
        assert_eq!(stepped.task.n_processed() as usize + left.len(), 1300);
        assert_sound(&store, "SQLite").await;
    }
}

#[tokio::test]
async fn a_chunk_blocks_batches_longer_than_requests() {
    let cases = stores("task_patience").await.into_iter();
    for Case { store, .. } in cases.filter(|case| case.kind == "SQLite") {
        let hasty = ChunkLimits { requests: Duration::ZERO, ..LONG };
        let come = std::sync::Arc::new(tokio::sync::Notify::new());
        let next = std::sync::Arc::clone(&come);
        let holder = store.db.write::<_, crate::StoreError, _, _>(
            WriteKind::Batch(acme()),
            async move |tx| {
                let (watch, mut seen) = (ChunkTimer::begin(hasty), Vec::new());
                for waiters in [Waiters::None, Waiters::Batches, Waiters::Requests] {
                    while tx.waiters().await? < waiters {
                        std::thread::yield_now();
                    }
                    seen.push(watch.is_over(&tx).await?);
                    next.notify_one();
                }
                Ok(seen)
            },
        );
        let others = async {
            come.notified().await;
            let batch = store
                .db
                .write::<_, crate::StoreError, _, _>(WriteKind::Batch(acme()), async |_| Ok(()));
            let request = async {
                come.notified().await;
                store
                    .db
                    .write::<_, crate::StoreError, _, _>(crate::db::WriteKind::Server, async |_| {
                        Ok(())
                    })
                    .await
            };
            let (batch, request) = futures_util::join!(batch, request);
            batch.and(request)
        };
        let (seen, others) = futures_util::join!(holder, others);
        others.unwrap();
        assert_eq!(seen.unwrap(), [false, false, true]);
    }
}

#[tokio::test]
async fn creations_that_wait_for_a_group_count_as_waiters() {
    let cases = stores("task_gathering").await.into_iter();
    for Case { store, .. } in cases.filter(|case| case.kind == "SQLite") {
        let waiters = async || {
            store.db.write(WriteKind::Server, async |tx| tx.waiters().await).await.unwrap()
        };
        assert_eq!(waiters().await, Waiters::None);
        let _waits = GaugeGuard::new(&store.db.meter().gather_waiting);
        assert_eq!(waiters().await, Waiters::Requests);
    }
}

#[tokio::test]
async fn a_transaction_that_locks_a_tenant_sees_its_waiters() {
    for case in stores("task_others").await {
        let Case { kind, store, .. } = &case;
        set_up(store).await;
        // On PostgreSQL, requests of another server.
        let another = if *kind == "SQLite" { None } else { case.another().await.ok() };
        let locked = std::sync::Arc::new(tokio::sync::Notify::new());
        let notify = std::sync::Arc::clone(&locked);
        let holder = store.db.write::<_, crate::StoreError, _, _>(
            crate::db::WriteKind::Server,
            async move |tx| {
                crate::counts::counter::lock_tenant(&tx, &acme()).await?;
                let before = tx.waiters().await? > Waiters::None;
                notify.notify_one();
                while tx.waiters().await? < Waiters::Requests {
                    std::thread::yield_now();
                }
                Ok(before)
            },
        );
        let tenant = acme();
        let other = async {
            locked.notified().await;
            another.as_ref().unwrap_or(store).create_access(&tenant, new("c1", "other")).await
        };
        let (holder, other) = futures_util::join!(holder, other);
        assert!(!holder.unwrap(), "{kind}: no request waits at first");
        other.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_worker_without_its_lease_commits_nothing() {
    for Case { kind, store, clock, .. } in stores("task_fence").await {
        set_up(&store).await;
        accept(&store, creation(1, "c1", 3)).await;
        let first = claim(&store).await.unwrap();
        start(&store, &first, 1).await;
        clock.set(day(0).plus_milliseconds(15_001));
        let second = claim(&store).await.unwrap();
        let late = run(&store, &first, stretch(1, 0, &["a"])).await;
        assert!(matches!(late, Err(WorkError::LeaseLost)), "{kind}: {late:?}");
        assert!(matches!(store.finish_queue(&first).await, Err(WorkError::LeaseLost)));
        // A worker that was interrupted has left nothing behind.
        let failpoints = Failpoints::new(|point| point == Failpoint::BeforeCommit);
        let dying = store.clone().with_failpoints(failpoints);
        let cut = dying.run_creation(&second, stretch(1, 0, &["a"]), TERMS).await;
        assert!(matches!(cut, Err(WorkError::Interrupted(Failpoint::BeforeCommit))), "{kind}");
        let task = run(&store, &second, stretch(1, 0, &["a", "b"])).await.unwrap();
        assert_eq!((task.n_succeeded, task.n_failed), (2, 0));
        let again = run(&store, &second, stretch(1, 0, &["c"])).await;
        assert!(
            matches!(again, Err(WorkError::TaskChanged)),
            "{kind}: an item is never done twice"
        );
        assert_sound(&store, kind).await;
    }
}

#[tokio::test]
async fn a_batch_reserves_its_quota_and_gives_it_back() {
    for Case { kind, store, .. } in stores("task_room").await {
        set_up(&store).await;
        let limited = Contract { n_accesses_max: Some(5), ..contract("c1", "o1") };
        store.put_contract(&acme(), &limited, &audited()).await.unwrap().unwrap();
        for (n, n_items) in [(1, 4), (2, 2), (3, 1)] {
            accept(&store, creation(n, "c1", n_items)).await;
        }
        let lease = claim(&store).await.unwrap();
        assert_eq!(start(&store, &lease, 1).await.state, TaskState::InProgress);
        let rejected = start(&store, &lease, 2).await;
        assert_eq!((rejected.state, rejected.n_failed), (TaskState::Rejected, 0), "{kind}");
        let why = store.failed_items(&acme(), job(2), 0, 10).await.unwrap();
        assert_eq!(why[0].failure.kind, BatchFailureKind::QuotaReached);
        assert!(why[0].failure.detail.contains("2 more don't fit"), "{}", why[0].failure.detail);
        assert_eq!(start(&store, &lease, 3).await.state, TaskState::InProgress);
        assert!(store.create_access(&acme(), new("c1", "single")).await.unwrap().is_err());
        run(&store, &lease, stretch(1, 0, &["a", "a"])).await.unwrap();
        assert_sound(&store, kind).await;
        // One item failed, which has freed quota for one access; stopping frees quota for two more.
        store.create_access(&acme(), new("c1", "single")).await.unwrap().unwrap();
        assert!(store.create_access(&acme(), new("c1", "too many")).await.unwrap().is_err());
        let stopped =
            store.stop_task(&acme(), job(1), origin(), TERMS).await.unwrap().unwrap().unwrap();
        assert_eq!((stopped.state, stopped.n_succeeded), (TaskState::Terminated, 1));
        let again = store.stop_task(&acme(), job(1), origin(), TERMS).await.unwrap().unwrap();
        assert_eq!(again, Err(TaskState::Terminated));
        let late = run(&store, &lease, stretch(1, 2, &["x"])).await;
        assert!(matches!(late, Err(WorkError::TaskChanged)), "{kind}");
        for name in ["two", "three"] {
            store.create_access(&acme(), new("c1", name)).await.unwrap().unwrap();
        }
        assert!(store.create_access(&acme(), new("c1", "four")).await.unwrap().is_err(), "{kind}");
        assert_eq!(run(&store, &lease, stretch(3, 0, &["y"])).await.unwrap().n_succeeded, 1);
        assert_sound(&store, kind).await;
    }
}

#[tokio::test]
async fn tasks_take_turns_and_changes_keep_their_order() {
    for Case { kind, store, .. } in stores("task_turns").await {
        set_up(&store).await;
        accept(&store, creation(1, "c1", 100)).await;
        let lease = claim(&store).await.unwrap();
        start(&store, &lease, 1).await;
        run(&store, &lease, stretch(1, 0, &["a"])).await.unwrap();
        let change = |n| NewTask { work: TaskWork::Termination, ..creation(n, "c1", 1) };
        accept(&store, change(2)).await;
        accept(&store, change(3)).await;
        let next = async || store.next_task(&acme()).await.unwrap().unwrap().task.id;
        assert_eq!(next().await, job(2), "{kind}: the new batch goes first");
        store.pass_turn(&acme(), job(2)).await.unwrap();
        store.pass_turn(&acme(), job(2)).await.unwrap();
        assert_eq!(next().await, job(1), "{kind}: but not for ever");
        run(&store, &lease, stretch(1, 1, &["b"])).await.unwrap();
        assert_eq!(next().await, job(2));
        store.stop_task(&acme(), job(2), origin(), TERMS).await.unwrap().unwrap().unwrap();
        assert_eq!(next().await, job(3));
        let page = store.tasks(&acme(), PageRequest { number: 1, size: 2 }).await.unwrap().unwrap();
        let ids: Vec<_> = page.items.iter().map(|task| task.id).collect();
        assert_eq!((ids, page.total), (vec![job(3), job(2)], 3));
    }
}

#[tokio::test]
async fn passwords_do_not_outlive_their_task() {
    for Case { kind, store, clock, .. } in stores("task_kept_shortly").await {
        set_up(&store).await;
        accept(&store, creation(1, "c1", 1)).await;
        let lifetimes = TaskLifetimes { tasks_milliseconds: 3_600_000, ..TERMS };
        let stopped =
            store.stop_task(&acme(), job(1), origin(), lifetimes).await.unwrap().unwrap().unwrap();
        let until = clock.now().plus_milliseconds(3_600_000);
        assert_eq!(stopped.shows_secrets_until, Some(until), "{kind}");
        clock.set(until);
        for due in [WorkKind::OldSecret, WorkKind::OldTask] {
            assert!(store.claim_due(&[due], 15_000).await.unwrap().is_some(), "{kind}: {due:?}");
        }
    }
}

#[tokio::test]
async fn secrets_and_tasks_are_deleted_after_their_lifetime() {
    for Case { kind, store, clock, .. } in stores("task_gone").await {
        set_up(&store).await;
        accept(&store, creation(1, "c1", 2)).await;
        let lease = claim(&store).await.unwrap();
        start(&store, &lease, 1).await;
        run(&store, &lease, stretch(1, 0, &["a", "a"])).await.unwrap();
        let key =
            async || store.secret(&acme(), SecretKind::Task, &job(1).to_string()).await.unwrap();
        assert_eq!(key().await.as_deref(), Some(b"sealed".as_slice()), "{kind}");
        let due = async |kind| store.claim_due(&[kind], 15_000).await.unwrap();
        assert_eq!(due(WorkKind::OldSecret).await, None);
        clock.set(day(1));
        let lease = due(WorkKind::OldSecret).await.unwrap();
        store.destroy_secret(&lease).await.unwrap();
        assert!(store.scrub().await.unwrap());
        store.finish_due(&lease).await.unwrap();
        assert_eq!(key().await, None);
        assert_eq!(store.task_part(&acme(), job(1), 0).await.unwrap(), None);
        assert_eq!(due(WorkKind::OldTask).await, None);
        clock.set(day(30));
        let lease = due(WorkKind::OldTask).await.unwrap();
        let mut n_steps = 0;
        while store.forget_task(&lease, 1).await.unwrap() {
            n_steps += 1;
        }
        assert!(n_steps > 0, "{kind}");
        assert_eq!(store.task(&acme(), job(1)).await.unwrap(), None);
        assert_eq!(store.failed_items(&acme(), job(1), 0, 10).await.unwrap(), []);
        assert_eq!(due(WorkKind::OldTask).await, None);
        assert_sound(&store, kind).await;
    }
}
