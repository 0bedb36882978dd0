//! Expiry is stored once, exactly as readers already see it, whichever worker stores it.

use super::*;
use crate::access::bulk;
use crate::access::expiry::sweep_in;
use crate::counts::derived_counts::{self, DerivedCounts};
use crate::db::WriteKind;
use crate::work_queue::minute;
use crate::{Change, ExpiryResult, Lease, StoreError, WorkError, WorkKind};
use gatehouse_core::lifecycle::{self, TargetStatus};
use gatehouse_core::time::zone::ZoneName;
use gatehouse_core::{Access, Status};

const LEASE: i64 = 60_000;

/// Changes an access by a rule that never refuses.
async fn change(
    store: &Store,
    id: AccessId,
    rule: impl FnOnce(&Access, &Contract) -> Access + Clone + Send + 'static,
) -> Access {
    let tenant = acme();
    let changed = store.change_access(&tenant, id, origin(), |stored, contract| {
        Ok::<_, StoreError>(Change { access: rule(&stored.access, contract), password: None })
    });
    changed.await.unwrap().unwrap()
}

async fn create(store: &Store, contract: &str, username: &str) -> Access {
    store.create_access(&acme(), new(contract, username)).await.unwrap().unwrap()
}

async fn claim(store: &Store) -> Option<Lease> {
    store.claim_due(&[WorkKind::ExpiringAccesses], LEASE).await.unwrap()
}

/// Expires accesses until nothing is due; returns their number.
async fn sweep_all(store: &Store, n_max: u64) -> u64 {
    let mut n = 0;
    while let Some(lease) = claim(store).await {
        n += store.expire_accesses(&lease, n_max).await.unwrap().n;
    }
    n
}

/// One contract whose accesses end on day 3, one without an end, one whose accesses end two days after their first
/// connection.
async fn set_up_ends(case: &Case) {
    set_up(&case.store).await;
    let ending = Contract { end: Some(day(3)), ..contract("ending", "o2") };
    let prepaid = Contract {
        billing_model: BillingModel::Prepaid,
        validity: Some("P2D".parse().unwrap()),
        ..contract("pre", "o3")
    };
    for contract in [ending, prepaid] {
        case.store.put_contract(&acme(), &contract, &audited()).await.unwrap().unwrap();
    }
}

/// Creates ends of every origin, in every status: the contract's, a validity's, a planned one, one that was cancelled.
async fn live_a_little(case: &Case) {
    set_up_ends(case).await;
    let mut made = Vec::new();
    for contract in ["ending", "ending", "ending", "pre", "pre", "c1", "c1", "c1", "c3"] {
        made.push(create(&case.store, contract, &format!("u{}", made.len())).await);
    }
    let plan = |it: &Access, _: &Contract| {
        let utc = ZoneName::default();
        // Day 0 is in the middle of January; here the month ends early.
        let planned = lifecycle::plan_termination(it, &utc, day(0));
        Access { end: Some(day(2)), ..planned }
    };
    let set = |target| {
        move |it: &Access, contract: &Contract| {
            lifecycle::set_status(it, contract, target, day(0)).unwrap()
        }
    };
    change(&case.store, made[1].id, set(TargetStatus::Suspended)).await;
    change(&case.store, made[2].id, set(TargetStatus::Terminated)).await;
    change(&case.store, made[3].id, set(TargetStatus::Active)).await;
    change(&case.store, made[5].id, plan).await;
    change(&case.store, made[6].id, set(TargetStatus::Suspended)).await;
    change(&case.store, made[6].id, plan).await;
    change(&case.store, made[7].id, plan).await;
    change(&case.store, made[7].id, set(TargetStatus::Active)).await;
}

#[tokio::test]
async fn stored_expiry_equals_what_readers_saw() {
    for n_max in [1, 500] {
        for case in stores(&format!("what_is_swept_is_what_everyone_saw_{n_max}")).await {
            live_a_little(&case).await;
            assert_sound(&case.store, case.kind).await;
            let mut n_swept = Vec::new();
            for n in 0..5 {
                case.clock.set(day(n));
                let stored = every_access(&case.store).await;
                let seen: Vec<_> = stored.iter().map(|it| lifecycle::at(it, day(n))).collect();
                let summary = case.store.summary(&acme(), day(n), 90).await.unwrap();
                let contract = case.store.contract(&acme(), &"c1".parse().unwrap(), day(n)).await;

                n_swept.push(sweep_all(&case.store, n_max).await);

                assert_eq!(every_access(&case.store).await, seen, "{} on day {n}", case.kind);
                assert_eq!(case.store.summary(&acme(), day(n), 90).await.unwrap(), summary);
                let again = case.store.contract(&acme(), &"c1".parse().unwrap(), day(n)).await;
                assert_eq!(again.unwrap(), contract.unwrap(), "{}", case.kind);
                assert_sound(&case.store, case.kind).await;
                assert_eq!(sweep_all(&case.store, n_max).await, 0, "{}: once", case.kind);
            }
            // Two planned ends and one validity on day 2, two of the contract on day 3.
            assert_eq!(n_swept, [0, 0, 3, 2, 0], "{}", case.kind);
            assert_eq!(case.store.next_due(&[WorkKind::ExpiringAccesses]).await.unwrap(), None);
            let live = every_access(&case.store).await;
            let live = live.iter().filter(|it| it.status != Status::Terminated);
            let names: Vec<_> = live.map(|it| it.username.as_str()).collect();
            assert_eq!(names, ["u4", "u7", "u8"], "{}: no end, or called off", case.kind);
        }
    }
}

#[tokio::test]
async fn ends_of_one_minute_share_a_row_that_is_due_when_it_is_over() {
    for case in stores("ends_of_one_minute_are_one_piece").await {
        set_up_ends(&case).await;
        let ending = Contract { end: Some(day(3).plus_milliseconds(1)), ..contract("later", "o2") };
        case.store.put_contract(&acme(), &ending, &audited()).await.unwrap().unwrap();
        let many = (0..20).map(|n| new(["ending", "later"][n % 2], &format!("u{n}"))).collect();
        case.store.create_accesses(&acme(), many).await.unwrap();
        let sql = "SELECT name, due_at FROM due ORDER BY name";
        let due = case.store.db.rows(sql, &[], |row| Ok((row.text(0)?, row.time(1)?)));
        // An end at a full minute is due at once, any other when its minute is over.
        let expected =
            [("ending".into(), day(3)), ("later".into(), day(3).plus_milliseconds(60_000))];
        assert_eq!(due.await.unwrap(), expected, "{}", case.kind);

        case.clock.set(day(3).plus_milliseconds(-1));
        assert_eq!(claim(&case.store).await, None, "{}", case.kind);
        case.clock.set(day(3));
        assert_eq!(sweep_all(&case.store, 500).await, 10, "{}", case.kind);
        case.clock.set(day(4));
        assert_eq!(sweep_all(&case.store, 500).await, 10, "{}", case.kind);
    }
}

#[tokio::test]
async fn an_end_without_end_is_due_within_the_calendar() {
    assert_eq!(minute(Timestamp::EPOCH), 0);
    assert_eq!(minute(Timestamp::EPOCH.plus_milliseconds(1)), 1);
    assert_eq!(minute(Timestamp::EPOCH.plus_milliseconds(60_000)), 1);
    for case in stores("an_end_without_end").await {
        set_up(&case.store).await;
        let last = Contract { end: Some(Timestamp::LATEST), ..contract("last", "o2") };
        case.store.put_contract(&acme(), &last, &audited()).await.unwrap().unwrap();
        create(&case.store, "last", "ann").await;
        let next = case.store.next_due(&[WorkKind::ExpiringAccesses]).await.unwrap();
        assert_eq!(next, Some(Timestamp::LATEST), "{}", case.kind);
        assert_sound(&case.store, case.kind).await;
    }
}

#[tokio::test]
async fn a_step_that_is_interrupted_or_late_leaves_nothing_behind() {
    for case in stores("a_step_that_is_interrupted").await {
        live_a_little(&case).await;
        case.clock.set(day(3));
        let before = every_access(&case.store).await;
        let lease = claim(&case.store).await.unwrap();
        let interrupted = {
            let lease = lease.clone();
            case.store.db.write(WriteKind::Server, async move |tx| {
                let swept = sweep_in(&tx, &lease, 500).await?;
                assert!(swept.n > 0);
                Err::<(), _>(WorkError::Store(StoreError::Unexpected("interrupted".into())))
            })
        };
        assert!(interrupted.await.is_err());
        assert_eq!(every_access(&case.store).await, before, "{}", case.kind);
        assert_sound(&case.store, case.kind).await;

        // Another worker claims the row; the first comes back too late.
        case.clock.set(day(3).plus_milliseconds(LEASE));
        let mut second = claim(&case.store).await.unwrap();
        while second.key != lease.key {
            second = claim(&case.store).await.unwrap();
        }
        let late = case.store.expire_accesses(&lease, 500).await;
        assert!(matches!(late, Err(WorkError::LeaseLost)), "{}", case.kind);
        assert_eq!(every_access(&case.store).await, before, "{}", case.kind);
        let swept = case.store.expire_accesses(&second, 500).await.unwrap();
        assert!(swept.n > 0 && !swept.more, "{}: {swept:?}", case.kind);
        let again = case.store.expire_accesses(&second, 500).await;
        assert!(matches!(again, Err(WorkError::LeaseLost)), "a lease is used once");
        assert_sound(&case.store, case.kind).await;
    }
}

#[tokio::test]
async fn small_steps_go_on_until_everything_is_done() {
    for case in stores("small_steps_go_on").await {
        set_up_ends(&case).await;
        let many = (0..7).map(|n| new("ending", &format!("u{n}"))).collect();
        case.store.create_accesses(&acme(), many).await.unwrap();
        case.clock.set(day(3));
        for (n, more) in [(3, true), (3, true), (1, false)] {
            let lease = claim(&case.store).await.unwrap();
            let swept = case.store.expire_accesses(&lease, 3).await.unwrap();
            assert_eq!(swept, ExpiryResult { n, more }, "{}", case.kind);
            assert_sound(&case.store, case.kind).await;
        }
        assert_eq!(claim(&case.store).await, None, "{}", case.kind);
    }
}

#[tokio::test]
async fn a_clock_that_is_set_back_expires_nothing_early() {
    for case in stores("a_clock_that_is_put_back").await {
        set_up_ends(&case).await;
        create(&case.store, "ending", "ann").await;
        case.clock.set(day(3));
        let lease = claim(&case.store).await.unwrap();
        case.clock.set(day(2));
        let swept = case.store.expire_accesses(&lease, 500).await.unwrap();
        assert_eq!(swept, ExpiryResult { n: 0, more: true }, "{}", case.kind);
        assert_eq!(claim(&case.store).await, None, "{}: not before its time", case.kind);
        case.clock.set(day(3));
        assert_eq!(sweep_all(&case.store, 500).await, 1, "{}", case.kind);
    }
}

/// Workers of two servers, terminations that are planned and cancelled, accesses that are created and that end: all
/// concurrent, on the same contracts. Nothing deadlocks, and all counts are right.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn expiry_does_not_deadlock_with_other_writes() {
    const ACCESSES: i64 = 60;
    for case in stores("sweepers_and_everyone_else").await {
        set_up(&case.store).await;
        let mut made = Vec::new();
        for n in 0..ACCESSES {
            made.push(create(&case.store, ["c1", "c2"][n as usize % 2], &format!("u{n}")).await);
        }
        let second = match case.place {
            Place::Sqlite(_) => case.store.clone(),
            Place::Postgres(_) => case.another().await.unwrap(),
        };
        let stores = [case.store.clone(), second];
        let mut everyone = tokio::task::JoinSet::new();
        for n in 0..4_usize {
            // Ends in few minutes, so that they are added to rows that are being processed.
            let (store, made) = (stores[n % 2].clone(), made.clone());
            everyone.spawn(async move {
                for (round, access) in made.iter().enumerate() {
                    if round % 4 != n {
                        continue;
                    }
                    change(&store, access.id, move |it, _| {
                        let planned =
                            lifecycle::plan_termination(it, &ZoneName::default(), day(-1));
                        // Ended long ago, for a server whose clock is behind.
                        Access { end: Some(day(-1 - round as i64 % 3)), ..planned }
                    })
                    .await;
                }
            });
            let store = stores[n % 2].clone();
            everyone.spawn(async move {
                for _ in 0..40 {
                    sweep_all(&store, 7).await;
                    tokio::task::yield_now().await;
                }
            });
            let store = stores[n % 2].clone();
            everyone.spawn(async move {
                for round in 0..20 {
                    create(&store, ["c1", "c2"][round % 2], &format!("new {n} {round}")).await;
                }
            });
        }
        while let Some(done) = everyone.join_next().await {
            done.unwrap();
        }
        sweep_all(&case.store, 7).await;
        assert_sound(&case.store, case.kind).await;
        let accesses = every_access(&case.store).await;
        let over = accesses.iter().filter(|it| it.status == Status::Terminated);
        assert_eq!(over.count(), ACCESSES as usize, "{}: none is missed", case.kind);
        assert!(accesses.iter().all(|it| it.version <= 3), "{}: none is ended twice", case.kind);
        let n_left = case.store.next_due(&[WorkKind::ExpiringAccesses]).await.unwrap();
        assert_eq!(n_left, None, "{}", case.kind);
    }
}

/// The one moment at which an end could be missed: a transaction gives an access an end in a minute that a worker has
/// just queried for the last time. On SQLite the two are serialized anyway.
#[tokio::test]
async fn an_end_that_is_added_while_its_minute_is_finished_is_not_missed() {
    let url = empty_schema("an_end_that_is_added_while").await;
    let store = Store::open_postgres(&url, Clock::by_hand(day(0))).await.unwrap();
    set_up(&store).await;
    let before = create(&store, "c1", "ann").await;
    let after = Access { end: Some(day(0)), ..before.clone() };
    let change = Change { access: after, password: None };
    let minute = minute(day(0));
    let expected = store.db.write(WriteKind::Server, async move |tx| {
        derived_counts::expect_expiry(&tx, &acme(), &"c1".parse().unwrap(), minute).await
    });
    expected.await.unwrap();
    let lease = claim(&store).await.unwrap();

    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (go_on, may_go_on) = tokio::sync::oneshot::channel::<()>();
    let adder = {
        let store = store.clone();
        tokio::spawn(async move {
            let added = store.db.write(
                WriteKind::Batch(acme()),
                once(async move |tx| {
                    let mut counts = DerivedCounts::of(&tx);
                    counts.change(1, &before, &change, &origin());
                    bulk::update(&tx, &acme(), &[change]).await?;
                    counts.write(&tx, &acme()).await?;
                    let pid = "SELECT CAST(pg_backend_pid() AS BIGINT)";
                    begun.send(tx.row(pid, &[], |row| row.integer(0)).await?.unwrap()).unwrap();
                    may_go_on.await.unwrap();
                    Ok::<_, StoreError>(())
                }),
            );
            added.await.unwrap();
        })
    };
    let adder_pid = has_begun.await.unwrap();
    let sweeper = {
        let store = store.clone();
        tokio::spawn(async move { store.expire_accesses(&lease, 500).await.unwrap() })
    };
    // Waits until the worker is blocked by the other transaction, as it must be, or has finished.
    let waits = "SELECT COUNT(*) FROM pg_stat_activity \
                 WHERE CAST(?1 AS BIGINT) = ANY(pg_blocking_pids(pid))";
    while !sweeper.is_finished() {
        let n_waiting = store.db.row(waits, &[adder_pid.into()], |row| row.count(0)).await;
        if n_waiting.unwrap() > Some(0) {
            break;
        }
        tokio::task::yield_now().await;
    }
    go_on.send(()).unwrap();
    adder.await.unwrap();
    assert_eq!(sweeper.await.unwrap(), ExpiryResult { n: 0, more: true });
    assert_eq!(sweep_all(&store, 500).await, 1);
    assert_eq!(store.recount(&acme()).await.unwrap().discrepancies, Vec::<String>::new());
}
