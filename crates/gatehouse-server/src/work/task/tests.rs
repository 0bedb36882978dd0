use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use gatehouse_core::credential::Password;
use gatehouse_core::lifecycle::TargetStatus;
use gatehouse_core::{
    AccessId, BatchFailureKind, Contract, Labels, Status, TaskId, TenantName, Username,
};

use super::*;
use crate::app::access::{AccessRequest, AccessUpdate, NewPassword};
use crate::app::batch::{
    AccessSelection, BatchChange, BatchOperation, NamedAccess, NewBatch, NewItem, NewItems,
    ValidItem,
};
use crate::app::chosen_password::ChosenPassword;
use crate::app::outcome::{ItemFilter, SucceededItem, TaskItem, TaskOutcome};
use crate::app::requester::Requester;
use crate::app::requester::testing::ORIGIN;
use crate::work::tests::{acme, apps, at, caller};
use gatehouse_store::CreatedAccess;
use gatehouse_store::Failpoints;
use gatehouse_vault::{ForeignHash, HashCaller};
use tokio_util::sync::CancellationToken;

fn count(n: u32) -> NewBatch {
    NewBatch { contract_id: "payg".parse().unwrap(), items: NewItems::Count(n, Labels::NONE) }
}

fn explicit(items: Vec<ValidItem>) -> NewBatch {
    let items = items.into_iter().map(NewItem::Valid).collect();
    NewBatch { contract_id: "payg".parse().unwrap(), items: NewItems::Explicit(items) }
}

fn chosen(username: &str, password: &str) -> ValidItem {
    ValidItem {
        username: Some(username.parse().unwrap()),
        password: Some(ChosenPassword::Clear(Password::new(password.into()).unwrap())),
        device_name: None,
        labels: Labels::NONE,
    }
}

async fn accept(app: &App, batch: NewBatch) -> TaskId {
    app.accept_batch(&acme(), batch, None, &ORIGIN).await.unwrap().0
}

/// The accesses that a Task has created.
async fn made(app: &App, task: TaskId) -> Vec<AccessId> {
    let id = |made: CreatedAccess<'_>| made.access.id;
    app.store.accesses_of_task(&acme(), task, 0, u32::MAX, id).await.unwrap()
}

async fn accept_change(app: &App, task: TaskId, operation: BatchOperation) -> TaskId {
    let ids = made(app, task).await.into_iter().zip(0..);
    let ids = ids.map(|(id, index)| NamedAccess { index, id: Ok(id) });
    let change = BatchChange { selection: AccessSelection::Named(ids.collect()), operation };
    app.accept_change(&acme(), change, None, &ORIGIN).await.unwrap().0
}

async fn run_all(app: &App) {
    let mut worker = TaskWorker::new(app.clone());
    while worker.run_one().await.unwrap() != StepOutcome::Nothing {}
}

async fn state(app: &App, task: TaskId) -> TaskState {
    app.store.task(&acme(), task).await.unwrap().unwrap().task.state
}

/// An item's result: username and password, or the kind of failure.
type Shown = Result<(String, Option<String>), BatchFailureKind>;

/// A Task's results by index.
async fn shown(app: &App, task: TaskId) -> BTreeMap<u32, Shown> {
    let outcome = app.outcome(&acme(), task).await.unwrap();
    items(&outcome, ItemFilter::All, 0, u32::MAX).await.into_iter().collect()
}

/// Some results with their indices.
async fn items(outcome: &TaskOutcome, which: ItemFilter, from: u32, n: u32) -> Vec<(u32, Shown)> {
    let mut items = Vec::new();
    let mut show = |item: TaskItem<'_>| {
        items.push(match item {
            TaskItem::Succeeded(SucceededItem { index, access, password }) => {
                let password = password.map(|it| it.reveal().to_owned());
                (index, Ok((access.username.to_owned(), password)))
            }
            TaskItem::Failed(item) => (item.index, Err(item.failure.kind)),
        });
    };
    outcome.show(which, from, n, &mut show).await.unwrap();
    items
}

async fn lets_in(app: &App, tenant: &TenantName, username: &str, password: &str) -> bool {
    let username: Username = username.parse().unwrap();
    app.verify(
        Requester::in_test(HashCaller { tenant, disconnection: &CancellationToken::new() }),
        &username,
        &Password::new(password.into()).unwrap(),
    )
    .await
    .is_ok()
}

async fn assert_sound(app: &App) {
    let recount = app.store.recount(&acme()).await.unwrap();
    assert_eq!(recount.discrepancies, Vec::<String>::new());
}

#[tokio::test]
async fn every_shown_password_of_a_creation_passes_the_check() {
    for (kind, app, _dir) in apps("task_passwords").await {
        let task = accept(&app, count(1200)).await;
        run_all(&app).await;
        assert_eq!(state(&app, task).await, TaskState::Done, "{kind}");
        let shown = shown(&app, task).await;
        assert_eq!(shown.len(), 1200);
        let mut usernames = HashSet::new();
        for (index, item) in shown {
            let (username, password) = item.unwrap();
            if index % 100 == 0 {
                assert!(lets_in(&app, &acme(), &username, &password.unwrap()).await, "{kind}");
            }
            usernames.insert(username);
        }
        assert_eq!(usernames.len(), 1200);
        assert_sound(&app).await;
    }
}

#[tokio::test]
async fn chosen_values_are_kept_and_a_taken_username_fails_alone() {
    for (kind, app, _dir) in apps("task_chosen").await {
        let mut batch = explicit(vec![
            chosen("ann", "s3cret"),
            ValidItem::default(),
            chosen("ann", "other"),
            ValidItem { device_name: Some("pump".parse().unwrap()), ..ValidItem::default() },
        ]);
        if let NewItems::Explicit(items) = &mut batch.items {
            let reason = "must be shorter".to_owned();
            let faults = vec![crate::reader::Fault { name: "password".into(), reason }];
            let invalid = crate::app::batch::InvalidItem { faults, ..Default::default() };
            items.insert(1, NewItem::Invalid(invalid));
        }
        let task = accept(&app, batch).await;
        run_all(&app).await;
        assert_eq!(state(&app, task).await, TaskState::Failed, "{kind}");
        let shown = shown(&app, task).await;
        assert_eq!(shown[&0], Ok(("ann".into(), Some("s3cret".into()))), "{kind}");
        assert_eq!(shown[&1], Err(BatchFailureKind::OutOfBounds));
        assert_eq!(shown[&3], Err(BatchFailureKind::UsernameTaken));
        assert!(lets_in(&app, &acme(), "ann", "s3cret").await);
        let (username, password) = shown[&4].clone().unwrap();
        assert!(lets_in(&app, &acme(), &username, &password.unwrap()).await, "{kind}");

        let outcome = app.outcome(&acme(), task).await.unwrap();
        let indices = async |which, from, n| -> Vec<u32> {
            items(&outcome, which, from, n).await.into_iter().map(|(index, _)| index).collect()
        };
        assert_eq!(indices(ItemFilter::Succeeded, 0, 10).await, [0, 2, 4], "{kind}");
        assert_eq!(indices(ItemFilter::Succeeded, 1, 1).await, [2]);
        assert_eq!(indices(ItemFilter::Succeeded, 2, 5).await, [4]);
        assert_eq!(indices(ItemFilter::Failed, 1, 1).await, [3]);
        assert_eq!(indices(ItemFilter::All, 1, 3).await, [1, 2, 3]);
        assert_eq!(indices(ItemFilter::All, 5, 3).await, [0_u32; 0]);
    }
}

#[tokio::test]
async fn items_with_a_hash_show_no_password() {
    for (kind, app, _dir) in apps("task_hashes").await {
        // `correct horse`, as htpasswd hashes it.
        let hash = "$2y$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv396";
        let hashed = |username: &str| ValidItem {
            username: username.parse().ok(),
            password: Some(ChosenPassword::Hash(ForeignHash::parse(hash.into()).unwrap())),
            ..ValidItem::default()
        };
        let items =
            vec![hashed("ann"), chosen("bob", "s3cret"), ValidItem::default(), hashed("cleo")];
        let task = accept(&app, explicit(items)).await;
        run_all(&app).await;
        assert_eq!(state(&app, task).await, TaskState::Done, "{kind}");
        let n_hashes = app.vault.meter().n_hashes();
        for _ in 0..2 {
            let shown = shown(&app, task).await;
            assert_eq!(shown[&0], Ok(("ann".into(), None)), "{kind}");
            assert_eq!(shown[&1], Ok(("bob".into(), Some("s3cret".into()))), "{kind}");
            assert!(matches!(&shown[&2], Ok((_, Some(_)))), "{kind}");
            assert_eq!(shown[&3], Ok(("cleo".into(), None)), "{kind}");
            // The first check replaces the hash, and the Task shows no password after that either.
            assert!(lets_in(&app, &acme(), "ann", "correct horse").await, "{kind}");
            assert!(!lets_in(&app, &acme(), "cleo", "wrong").await, "{kind}");
        }
        assert!(app.vault.meter().n_hashes() >= n_hashes + 3, "in the pool of the checks");
        assert_sound(&app).await;
    }
}

#[tokio::test]
async fn items_are_shown_in_request_order_with_failures_anywhere() {
    for (kind, app, _dir) in apps("task_order").await {
        // All fail except 0, 3 and 4: the username is taken by then.
        let named = |name: &str| ValidItem { username: name.parse().ok(), ..ValidItem::default() };
        let names = ["ann", "ann", "ann", "bob", "cleo", "bob", "ann"];
        let first = accept(&app, explicit(names.map(named).to_vec())).await;
        run_all(&app).await;
        // Here all fail except 2.
        let second = accept(&app, explicit(["ann", "bob", "dan"].map(named).to_vec())).await;
        run_all(&app).await;
        for (task, succeeded) in [(first, vec![0, 3, 4]), (second, vec![2])] {
            let outcome = app.outcome(&acme(), task).await.unwrap();
            let n_items = outcome.n_items(ItemFilter::All);
            for (from, n) in (0..n_items).flat_map(|from| (1..=n_items).map(move |n| (from, n))) {
                let shown = items(&outcome, ItemFilter::All, from, n).await;
                let shown: Vec<_> = shown.into_iter().map(|(at, it)| (at, it.is_ok())).collect();
                let to = (from + n).min(n_items);
                let expected: Vec<_> = (from..to).map(|at| (at, succeeded.contains(&at))).collect();
                assert_eq!(shown, expected, "{kind}: {n} from {from}");
            }
        }
    }
}

#[tokio::test]
async fn a_generated_username_that_is_taken_fails_alone() {
    for (kind, app, _dir) in apps("task_drawn").await {
        let task = accept(&app, count(300)).await;
        let key = app.task_key(&acme(), task).await.unwrap().unwrap();
        let request = AccessRequest {
            contract_id: "payg".parse().unwrap(),
            username: Some(key.username(250)),
            password: None,
            device_name: None,
            labels: Labels::NONE,
        };
        app.create_access(caller(), request, None).await.unwrap();
        run_all(&app).await;
        assert_eq!(state(&app, task).await, TaskState::Failed, "{kind}");
        let shown = shown(&app, task).await;
        let failed: Vec<_> = shown.iter().filter(|(_, item)| item.is_err()).collect();
        assert_eq!(failed, [(&250, &Err(BatchFailureKind::UsernameTaken))], "{kind}");
        assert_eq!(shown.len(), 300);
        assert_sound(&app).await;
    }
}

#[tokio::test]
async fn a_chosen_password_is_hashed_once_when_batches_alternate() {
    for (kind, app, _dir) in apps("task_turns").await {
        let batch = |name: &str| {
            explicit((0..150).map(|n| chosen(&format!("{name}-{n}"), "s3cret")).collect())
        };
        let tasks = [accept(&app, batch("a")).await, accept(&app, batch("b")).await];
        run_all(&app).await;
        for task in tasks {
            assert_eq!(state(&app, task).await, TaskState::Done, "{kind}");
        }
        let registry = prometheus::Registry::new();
        app.vault.meter().metrics().register(&registry);
        let figures = prometheus::TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        assert!(
            figures.contains("\ngatehouse_vault_quiet_hashes_total 300\n"),
            "{kind}: {figures}"
        );
    }
}

#[tokio::test]
async fn rotated_and_expired_passwords_are_not_shown() {
    for (kind, app, _dir) in apps("task_rotated").await {
        let task = accept(&app, explicit(vec![chosen("ann", "first"), ValidItem::default()])).await;
        run_all(&app).await;
        let made = made(&app, task).await;
        for id in &made {
            for status in [TargetStatus::Suspended, TargetStatus::Active] {
                let update = AccessUpdate { status: Some(status), password: None, labels: None };
                app.update_access(caller(), *id, update, |_| true).await.unwrap();
            }
        }
        let kept: Vec<_> = shown(&app, task).await.into_values().flatten().collect();
        assert!(kept.iter().all(|it| it.1.is_some()), "{kind}: another change keeps the password");
        for (n, id) in made.into_iter().enumerate() {
            let password = Password::new(format!("rotated {n}")).unwrap();
            let password = Some(NewPassword::Chosen(password));
            let update = AccessUpdate { status: None, password, labels: None };
            app.update_access(caller(), id, update, |_| true).await.unwrap();
            let left: Vec<_> = shown(&app, task).await.into_values().flatten().collect();
            assert_eq!(left.iter().filter(|it| it.1.is_some()).count(), 1 - n, "{kind}");
        }
        let password = Password::new("shared".into()).unwrap();
        let operation = BatchOperation::Update {
            status: None,
            password: Some(NewPassword::Chosen(password)),
            labels: None,
        };
        let change = accept_change(&app, task, operation).await;
        run_all(&app).await;
        let all: Vec<_> = shown(&app, change).await.into_values().flatten().collect();
        assert!(all.iter().all(|it| it.1.as_deref() == Some("shared")), "{kind}");
        assert!(lets_in(&app, &acme(), "ann", "shared").await);

        app.clock.set(app.now().plus_milliseconds(86_400_000));
        let hidden: Vec<_> = shown(&app, change).await.into_values().flatten().collect();
        assert!(hidden.iter().all(|it| it.1.is_none()), "{kind}: before it is destroyed");
        while app.run_upkeep_step().await.unwrap() {}
        assert!(app.task_key(&acme(), change).await.unwrap().is_none(), "{kind}");
        let hidden: Vec<_> = shown(&app, change).await.into_values().flatten().collect();
        assert_eq!(hidden.len(), 2);
        let gone = shown(&app, task).await.into_values().flatten();
        assert_eq!(gone.filter(|it| it.1.is_none()).count(), 2, "{kind}: creations too");
        app.clock.set(app.now().plus_milliseconds(30 * 86_400_000));
        while app.run_upkeep_step().await.unwrap() {}
        assert!(app.store.task(&acme(), change).await.unwrap().is_none(), "{kind}");
    }
}

/// The passwords are destroyed while a client slowly reads a long Task.
#[tokio::test]
async fn a_task_can_be_read_to_its_end_while_its_passwords_expire() {
    for (kind, app, _dir) in apps("task_read_meanwhile").await {
        let batch = vec![chosen("ann", "first"), ValidItem::default()];
        let task = accept(&app, explicit(batch)).await;
        run_all(&app).await;
        let outcome = app.outcome(&acme(), task).await.unwrap();
        let begun = app.now();
        app.clock.set(begun.plus_milliseconds(86_400_000));
        while app.run_upkeep_step().await.unwrap() {}
        // Another server's clock may be behind: no generated password may replace the destroyed chosen one.
        for now in [app.now(), begun] {
            app.clock.set(now);
            let shown = items(&outcome, ItemFilter::All, 0, 9).await;
            let passwords: Vec<_> = shown.into_iter().map(|(_, it)| it.unwrap().1).collect();
            assert_eq!(passwords, [None, None], "{kind}: both are shown, without");
        }
    }
}

#[tokio::test]
async fn each_access_of_a_change_succeeds_or_fails_alone() {
    for (kind, app, _dir) in apps("task_changes").await {
        let prepaid = app.store.contract(&acme(), &"payg".parse().unwrap(), app.now()).await;
        let prepaid = Contract {
            id: "pre".parse().unwrap(),
            billing_model: gatehouse_core::BillingModel::Prepaid,
            ..prepaid.unwrap().unwrap().contract
        };
        app.put_contract(&acme(), &prepaid, &ORIGIN).await.unwrap();
        let task = accept(&app, count(3)).await;
        let other = NewBatch {
            contract_id: "pre".parse().unwrap(),
            items: NewItems::Count(1, Labels::NONE),
        };
        let other = accept(&app, other).await;
        run_all(&app).await;
        let (made, bad) = (made(&app, task).await, made(&app, other).await[0]);
        let end =
            AccessUpdate { status: Some(TargetStatus::Terminated), password: None, labels: None };
        app.update_access(caller(), made[1], end, |_| true).await.unwrap();
        let unknown = gatehouse_core::AccessId::from_bytes([9; 16]);
        let named = [Ok(made[0]), Ok(made[1]), Ok(bad), Ok(unknown), Err("nonsense".to_owned())];
        let change = |operation| {
            let ids =
                named.iter().zip(0..).map(|(id, index)| NamedAccess { index, id: id.clone() });
            BatchChange { selection: AccessSelection::Named(ids.collect()), operation }
        };
        let suspend = BatchOperation::Update {
            status: Some(TargetStatus::Suspended),
            password: None,
            labels: None,
        };
        let task = app.accept_change(&acme(), change(suspend), None, &ORIGIN).await.unwrap().0;
        run_all(&app).await;
        let failed = [
            (1, BatchFailureKind::AccessTerminated),
            (2, BatchFailureKind::NotPayPerUse),
            (3, BatchFailureKind::NotFound),
            (4, BatchFailureKind::NotFound),
        ];
        let seen = shown(&app, task).await;
        assert!(seen[&0].is_ok(), "{kind}");
        for (index, failure) in failed {
            assert_eq!(seen[&index], Err(failure), "{kind}: {index}");
        }
        let task =
            app.accept_change(&acme(), change(BatchOperation::Terminate), None, &ORIGIN).await;
        run_all(&app).await;
        let seen = shown(&app, task.unwrap().0).await;
        assert!(seen[&0].is_ok() && seen[&1].is_ok(), "{kind}: a terminated access stays so");
        let access = app.store.access(&acme(), made[0]).await.unwrap().unwrap();
        assert_eq!(access.status, Status::Suspended, "{kind}: it stays suspended");
        assert_eq!(access.end, Some(at("2026-11-30T23:00:00Z")), "{kind}: when December begins");

        let nothing = BatchChange {
            selection: AccessSelection::Named(vec![NamedAccess { index: 0, id: Ok(unknown) }]),
            operation: BatchOperation::Terminate,
        };
        let task = app.accept_change(&acme(), nothing, None, &ORIGIN).await.unwrap().0;
        run_all(&app).await;
        let outcome = app.outcome(&acme(), task).await.unwrap();
        assert_eq!(outcome.task.state, TaskState::Rejected, "{kind}");
        let why = outcome.rejection().await.unwrap().unwrap();
        assert_eq!(why.failure.kind, BatchFailureKind::NotFound);
        assert_sound(&app).await;
    }
}

#[tokio::test]
async fn a_batch_is_rejected_if_its_contract_has_ended() {
    for (kind, app, _dir) in apps("task_ended").await {
        let early = accept(&app, count(2)).await;
        let unknown = NewBatch {
            contract_id: "no".parse().unwrap(),
            items: NewItems::Count(1, Labels::NONE),
        };
        let unknown = accept(&app, unknown).await;
        let contract = app.store.contract(&acme(), &"payg".parse().unwrap(), app.now()).await;
        let contract = contract.unwrap().unwrap().contract;
        let over = Contract { end: Some(app.now()), ..contract.clone() };
        app.put_contract(&acme(), &over, &ORIGIN).await.unwrap();
        run_all(&app).await;
        for (task, failure) in
            [(early, BatchFailureKind::ContractEnded), (unknown, BatchFailureKind::UnknownContract)]
        {
            let outcome = app.outcome(&acme(), task).await.unwrap();
            assert_eq!(outcome.task.state, TaskState::Rejected, "{kind}");
            assert_eq!(outcome.rejection().await.unwrap().unwrap().failure.kind, failure);
        }
        // A contract that ends during a batch fails the rest.
        app.put_contract(&acme(), &contract, &ORIGIN).await.unwrap();
        let task = accept(&app, count(4000)).await;
        let mut worker = TaskWorker::new(app.clone());
        while !matches!(worker.run_one().await.unwrap(), StepOutcome::Worked(_)) {}
        app.put_contract(&acme(), &over, &ORIGIN).await.unwrap();
        while worker.run_one().await.unwrap() != StepOutcome::Nothing {}
        let outcome = app.outcome(&acme(), task).await.unwrap().task;
        assert_eq!((outcome.state, outcome.n_processed()), (TaskState::Failed, 4000), "{kind}");
        assert!(outcome.n_succeeded > 0 && outcome.n_failed > 0, "{kind}");
        assert_sound(&app).await;
    }
}

#[tokio::test]
async fn an_interrupted_and_resumed_batch_has_the_same_result() {
    for (kind, app, _dir) in apps("task_interrupted").await {
        for (n, point) in Failpoint::ALL.into_iter().enumerate() {
            let items = (0..70).map(|i| match i % 3 {
                0 => chosen(&format!("user-{n}-{i}"), "chosen"),
                _ => ValidItem::default(),
            });
            let task = accept(&app, explicit(items.collect())).await;
            work_with_interruptions(&app, point).await;
            assert_eq!(state(&app, task).await, TaskState::Done, "{kind}: {point:?}");
            assert_eq!(shown(&app, task).await.len(), 70);
            let password = Password::new("shared".into()).unwrap();
            let status = Some(TargetStatus::Suspended);
            let operation = BatchOperation::Update {
                status,
                password: Some(NewPassword::Chosen(password)),
                labels: None,
            };
            let change = accept_change(&app, task, operation).await;
            work_with_interruptions(&app, point).await;
            let seen: Vec<_> = shown(&app, change).await.into_values().flatten().collect();
            assert!(seen.len() == 70 && seen.iter().all(|it| it.1.as_deref() == Some("shared")));
            let password = Some(NewPassword::Generated);
            let operation = BatchOperation::Update { status: None, password, labels: None };
            let rotation = accept_change(&app, task, operation).await;
            work_with_interruptions(&app, point).await;
            assert_eq!(state(&app, rotation).await, TaskState::Done, "{kind}: {point:?}");
            let rotated = shown(&app, rotation).await;
            let drawn: HashSet<_> =
                rotated.values().flatten().filter_map(|it| it.1.clone()).collect();
            assert_eq!(drawn.len(), 70, "{kind}: each access has a password of its own");
            assert!(shown(&app, change).await.values().flatten().all(|it| it.1.is_none()));
            assert_sound(&app).await;
            let summary = app.store.summary(&acme(), app.now(), 1).await.unwrap().unwrap();
            let n_suspended = summary.tally().get(Status::Suspended);
            assert_eq!(n_suspended, 70 * (n as u64 + 1), "{kind}: {point:?}");
        }
    }
}

/// A server on this store whose workers die at the failpoints that `interrupts` names.
fn with_failpoints(
    app: &App,
    interrupts: impl Fn(Failpoint) -> bool + Send + Sync + 'static,
) -> App {
    App { store: app.store.clone().with_failpoints(Failpoints::new(interrupts)), ..app.clone() }
}

/// Runs everything; the worker dies every other time that it passes the failpoint.
async fn work_with_interruptions(app: &App, at: Failpoint) {
    let n_passed = Arc::new(AtomicUsize::new(0));
    let n_passes = Arc::clone(&n_passed);
    let app = with_failpoints(app, move |point| {
        point == at && n_passes.fetch_add(1, Ordering::Relaxed).is_multiple_of(2)
    });
    let mut n_deaths = 0;
    loop {
        let mut worker = TaskWorker::new(app.clone());
        loop {
            match worker.run_one().await {
                Ok(StepOutcome::Nothing) => {
                    assert!(n_deaths > 0, "{at:?} was never passed");
                    return;
                }
                Ok(_) => {}
                Err(error) => {
                    let n_interruptions = n_passed.load(Ordering::Relaxed).div_ceil(2);
                    assert_eq!(n_interruptions, n_deaths + 1, "{error:?}");
                    break;
                }
            }
        }
        n_deaths += 1;
        // A dead worker keeps its lease until it expires.
        app.clock.set(app.now().plus_milliseconds(15_001));
    }
}

#[tokio::test]
async fn another_worker_continues_a_released_lease_at_once() {
    for (kind, app, _dir) in apps("task_handed_back").await {
        let task = accept(&app, count(4000)).await;
        let mut first = TaskWorker::new(app.clone());
        while !matches!(first.run_one().await.unwrap(), StepOutcome::Worked(_)) {}
        let mut second = TaskWorker::new(app.clone());
        assert_eq!(second.run_one().await.unwrap(), StepOutcome::Nothing, "{kind}: it is leased");
        first.release_lease().await.unwrap();
        while second.run_one().await.unwrap() != StepOutcome::Nothing {}
        assert_eq!(state(&app, task).await, TaskState::Done, "{kind}");
    }
}

#[tokio::test]
async fn a_small_batch_overtakes_a_huge_one_of_another_tenant() {
    for (kind, app, _dir) in apps("task_fair").await {
        let rival: TenantName = "rival".parse().unwrap();
        let tenant = app.store.tenant(&acme()).await.unwrap().unwrap();
        app.put_tenant(&gatehouse_core::Tenant { name: rival.clone(), ..tenant }, &ORIGIN)
            .await
            .unwrap();
        let contract = app.store.contract(&acme(), &"payg".parse().unwrap(), app.now()).await;
        app.put_contract(&rival, &contract.unwrap().unwrap().contract, &ORIGIN).await.unwrap();
        let huge = accept(&app, count(100_000)).await;
        let mut worker = TaskWorker::new(app.clone());
        while !matches!(worker.run_one().await.unwrap(), StepOutcome::Worked(_)) {}
        let small = app.accept_batch(&rival, count(10), None, &ORIGIN).await.unwrap().0;
        let mine = accept(&app, count(10)).await;
        let is_over = async |tenant: &TenantName, id| {
            let stored = app.store.task(tenant, id).await.unwrap().unwrap();
            stored.task.state == TaskState::Done
        };
        let mut n_steps = 0;
        while !(is_over(&rival, small).await && is_over(&acme(), mine).await) {
            // A released queue is due from now on, and the others were before.
            app.clock.set(app.now().plus_milliseconds(1));
            worker.run_one().await.unwrap();
            n_steps += 1;
            assert!(n_steps < 20, "{kind}: both are processed");
        }
        assert_eq!(state(&app, huge).await, TaskState::InProgress, "{kind}");
        app.stop_task(&acme(), huge, &ORIGIN).await.unwrap();
        while worker.run_one().await.unwrap() != StepOutcome::Nothing {}
        assert_eq!(state(&app, huge).await, TaskState::Terminated, "{kind}");
        assert_sound(&app).await;
    }
}

#[tokio::test]
async fn a_broken_task_does_not_block_others() {
    for (kind, app, _dir) in apps("task_broken").await {
        // The client's items are missing, which can't happen by our rules.
        let broken = gatehouse_store::NewTask {
            id: TaskId::new(1, &[1; 10]),
            work: TaskWork::Creation {
                contract_id: "payg".parse().unwrap(),
                is_explicit: true,
                labels: Labels::NONE,
            },
            n_items: 3,
            parts: Vec::new(),
            sealed_key: None,
            origin: ORIGIN.clone(),
            idempotent: None,
        };
        let broken_id = broken.id;
        app.store.accept_task(&acme(), broken).await.unwrap();
        let task = accept(&app, count(5)).await;
        let mut worker = TaskWorker::new(app.clone());
        for _ in 0..20 {
            // Failed work is postponed by a second.
            let _ = worker.run_one().await;
            app.clock.set(app.now().plus_milliseconds(1001));
        }
        assert_eq!(state(&app, task).await, TaskState::Done, "{kind}");
        assert_eq!(state(&app, broken_id).await, TaskState::InProgress, "{kind}");
        app.stop_task(&acme(), broken_id, &ORIGIN).await.unwrap();
        run_all(&app).await;
        assert_sound(&app).await;
    }
}

#[tokio::test]
async fn a_step_that_panics_fails_and_other_tasks_continue() {
    for (kind, app, _dir) in apps("task_panic").await {
        let tasks = [accept(&app, count(3)).await, accept(&app, count(4)).await];
        let is_first = Arc::new(Mutex::new(true));
        let panics = Arc::clone(&is_first);
        let app = with_failpoints(&app, move |point| {
            let is_first =
                point == Failpoint::Hashed && std::mem::take(&mut *panics.lock().unwrap());
            assert!(!is_first, "a bug");
            false
        });
        let mut worker = TaskWorker::new(app.clone());
        let mut n_failed = 0;
        // Failed work is postponed by a second, not longer.
        for _ in 0..20 {
            n_failed += u32::from(worker.run_one().await.is_err());
            app.clock.set(app.now().plus_milliseconds(101));
        }
        assert_eq!(n_failed, 1, "{kind}");
        for task in tasks {
            assert_eq!(state(&app, task).await, TaskState::Done, "{kind}");
        }
        assert_sound(&app).await;
    }
}

#[tokio::test]
async fn a_contract_with_reserved_accesses_cannot_be_deleted() {
    for (kind, app, _dir) in apps("task_reserved").await {
        let task = accept(&app, count(5)).await;
        let mut worker = TaskWorker::new(app.clone());
        assert_eq!(worker.run_one().await.unwrap(), StepOutcome::Started);
        let id = "payg".parse().unwrap();
        let refused = app.delete_contract(&acme(), &id, &ORIGIN).await;
        assert!(matches!(refused, Err(Error::InUse { n_accesses: 5, .. })), "{kind}: {refused:?}");
        app.stop_task(&acme(), task, &ORIGIN).await.unwrap();
        app.delete_contract(&acme(), &id, &ORIGIN).await.unwrap();
        assert_sound(&app).await;
    }
}

#[tokio::test]
async fn a_batch_of_invalid_items_releases_its_reservations() {
    for (kind, app, _dir) in apps("task_unfit").await {
        let invalid = || {
            let reason = "must be shorter".to_owned();
            let faults = vec![crate::reader::Fault { name: "password".into(), reason }];
            NewItem::Invalid(crate::app::batch::InvalidItem { faults, ..Default::default() })
        };
        let items = NewItems::Explicit((0..700).map(|_| invalid()).collect());
        let batch = NewBatch { contract_id: "payg".parse().unwrap(), items };
        let task = accept(&app, batch).await;
        run_all(&app).await;
        assert_eq!(state(&app, task).await, TaskState::Failed, "{kind}");
        assert_sound(&app).await;
    }
}

#[tokio::test]
async fn a_large_task_disappears_at_once() {
    for (kind, app, _dir) in apps("task_forgotten").await {
        let names: Vec<ValidItem> = (0..1500)
            .map(|_| ValidItem { username: Some("same".parse().unwrap()), ..ValidItem::default() })
            .collect();
        let task = accept(&app, explicit(names)).await;
        run_all(&app).await;
        assert_eq!(state(&app, task).await, TaskState::Failed, "{kind}");
        app.clock.set(app.now().plus_milliseconds(30 * 86_400_000));
        let mut n_steps = 0;
        while app.run_upkeep_step().await.unwrap() {
            n_steps += 1;
            let read = app.outcome(&acme(), task).await;
            let is_whole = match read {
                Ok(outcome) => items(&outcome, ItemFilter::All, 0, 2000).await.len() == 1500,
                Err(error) => matches!(error, Error::NotFound(..)),
            };
            assert!(is_whole, "{kind}: never half of it");
        }
        assert!(n_steps > 2, "{kind}");
        assert!(app.store.failed_items(&acme(), task, 0, 2000).await.unwrap().is_empty(), "{kind}");
    }
}
