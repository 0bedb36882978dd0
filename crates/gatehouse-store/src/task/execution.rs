//! Executing a Task: starting it, working on chunks of its items, finishing it, stopping it.
//!
//! Every step is one transaction: its effects, the failed items, the Task's progress, and a check of the lease. A
//! worker that has lost its lease, or whose Task was stopped, commits nothing; one that dies has committed whole
//! chunks. Locks are taken in one order: the Task, the tenant's counter, accesses by their numbers, tallies, days,
//! counted sets, the work queue.

use std::time::Duration;

use futures_util::future::try_join;
use gatehouse_core::credential::StoredHash;
use gatehouse_core::event::{Entry, Origin, TaskEntry};
use gatehouse_core::lifecycle;
use gatehouse_core::task::{FailedItem, ItemReference, Task, TaskState, TaskWork};
use gatehouse_core::{BatchFailure, ContractId, TaskId, TenantName, Timestamp};

use crate::Store;
use crate::access::changes::{self, ChangeRule, ItemChange};
use crate::access::creation::{self, NewAccess};
use crate::counts::{counter, tally};
use crate::db::{Tx, Waiters, WriteKind};
use crate::error::StoreError;
use crate::failpoint::{Failpoint, Failpoints};
use crate::journal::{Journal, new_events};
use crate::setup::contract;
use crate::task::chunk::{ChunkTimer, ItemChunk, ItemResult, PlannedItems};
use crate::task::{self, StoredTask, item, task_columns, unfinished};
use crate::work_queue::{self, Lease, WorkError, WorkKey, WorkKind};

/// Lifetimes of leases, secrets and Tasks.
#[derive(Clone, Copy, Debug)]
pub struct TaskLifetimes {
    /// Of a lease, from its last renewal.
    pub lease_milliseconds: i64,
    /// Of passwords, from the end of their Task; at most as long as the Task's.
    pub secrets_milliseconds: i64,
    /// Of a Task, from its end.
    pub tasks_milliseconds: i64,
}

/// Result of a step, which is committed.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// The Task after the step.
    pub task: Task,
    /// Whether the worker still has the lease; it is released where other tenants wait.
    pub keeps_lease: bool,
    /// Callers that were blocked behind the step.
    pub waiters: Waiters,
    /// How long the step blocked others, up to its commit.
    pub took: Duration,
}

impl Store {
    /// The Task of a tenant to work on next; `None` when all are finished.
    ///
    /// Creations take turns, a chunk each. Changes keep their order: of two that set a status, the later one must win.
    pub async fn next_task(&self, tenant: &TenantName) -> Result<Option<StoredTask>, StoreError> {
        let creation = concat!(
            task_columns!(),
            " WHERE tenant = ?1 AND kind = 'batchCreation' AND ",
            unfinished!(),
            " ORDER BY turn, number LIMIT 1"
        );
        let change = concat!(
            task_columns!(),
            " WHERE tenant = ?1 AND kind <> 'batchCreation' AND ",
            unfinished!(),
            " ORDER BY number LIMIT 1"
        );
        let values = [tenant.as_str().into()];
        let creation = self.db.row(creation, &values, task::read_queued);
        let change = self.db.row(change, &values, task::read_queued);
        let (creation, change) = try_join(creation, change).await?;
        let first = creation.into_iter().chain(change).min_by_key(|(place, _)| *place);
        Ok(first.map(|(_, task)| task))
    }

    /// Moves a Task that could not be worked on behind the tenant's other Tasks.
    pub async fn pass_turn(&self, tenant: &TenantName, id: TaskId) -> Result<(), StoreError> {
        let tenant = tenant.clone();
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                let sql = "UPDATE task SET turn = turn + 1 WHERE tenant = ?1 AND id = ?2";
                let values = [tenant.as_str().into(), id.as_bytes().as_slice().into()];
                tx.execute(sql, &values).await.map(drop)
            })
            .await
    }

    /// Removes a tenant's row from the work queue if all its Tasks are finished; releases the lease otherwise.
    pub async fn finish_queue(&self, lease: &Lease) -> Result<(), WorkError> {
        let lease = lease.clone();
        self.db
            .write(WriteKind::Tenant(lease.key.tenant.clone()), async move |tx| {
                if !work_queue::lock(&tx, &lease).await? {
                    return Err(WorkError::LeaseLost);
                }
                // Ordered, so that the small index of unfinished Tasks is used.
                let sql = concat!(
                    "SELECT 1 FROM task WHERE tenant = ?1 AND ",
                    unfinished!(),
                    " ORDER BY turn LIMIT 1"
                );
                let tenant = lease.key.tenant.as_str();
                let more = tx.row(sql, &[tenant.into()], |_| Ok(())).await?.is_some();
                let done = match more {
                    true => work_queue::release(&tx, &lease, tx.now().await?).await?,
                    false => work_queue::finish(&tx, &lease).await?,
                };
                if done { Ok(()) } else { Err(WorkError::LeaseLost) }
            })
            .await
    }

    /// Starts a creation: reserves quota for all items, or rejects it.
    pub async fn start_creation(
        &self,
        lease: &Lease,
        id: TaskId,
        lifetimes: TaskLifetimes,
    ) -> Result<StepResult, WorkError> {
        let (lease, failpoints) = (lease.clone(), self.failpoints.clone());
        self.db
            .write(WriteKind::Tenant(lease.key.tenant.clone()), async move |tx| {
                let tenant = &lease.key.tenant;
                let mut task = lock(&tx, tenant, id, TaskState::Acknowledged).await?;
                let TaskWork::Creation { contract_id, .. } = task.work.clone() else {
                    return Err(WorkError::TaskChanged);
                };
                let now = tx.now().await?;
                match reserve(&tx, tenant, &contract_id, task.n_items, now).await? {
                    Ok(()) => move_to(&mut task, TaskState::InProgress)?,
                    Err(failure) => reject(&tx, tenant, &mut task, failure, lifetimes, now).await?,
                }
                let from = TaskState::Acknowledged;
                close(&tx, &lease, (from, task), None, lifetimes, now, &failpoints).await
            })
            .await
    }

    /// Starts a change of accesses, with the hash of the password that it sets, or rejects it.
    pub async fn start_change(
        &self,
        lease: &Lease,
        id: TaskId,
        begin: Result<Option<StoredHash>, BatchFailure>,
        lifetimes: TaskLifetimes,
    ) -> Result<StepResult, WorkError> {
        let (lease, failpoints) = (lease.clone(), self.failpoints.clone());
        self.db
            .write(WriteKind::Tenant(lease.key.tenant.clone()), async move |tx| {
                let tenant = &lease.key.tenant;
                let mut task = lock(&tx, tenant, id, TaskState::Acknowledged).await?;
                let now = tx.now().await?;
                let password = match begin {
                    Ok(password) => {
                        move_to(&mut task, TaskState::InProgress)?;
                        password
                    }
                    Err(failure) => {
                        reject(&tx, tenant, &mut task, failure, lifetimes, now).await?;
                        None
                    }
                };
                let from = TaskState::Acknowledged;
                close(&tx, &lease, (from, task), password, lifetimes, now, &failpoints).await
            })
            .await
    }

    /// Creates the accesses of a chunk within its time limits; returns the items that are left.
    pub async fn run_creation(
        &self,
        lease: &Lease,
        chunk: ItemChunk<NewAccess>,
        lifetimes: TaskLifetimes,
    ) -> Result<(StepResult, PlannedItems<NewAccess>), WorkError> {
        let (lease, usernames) = (lease.clone(), self.usernames.clone());
        let failpoints = self.failpoints.clone();
        self.db
            .write(WriteKind::Batch(lease.key.tenant.clone()), async move |tx| {
                let tenant = &lease.key.tenant;
                let ItemChunk { task: id, from, items, limits } = chunk;
                let mut task = lock_at(&tx, tenant, id, from).await?;
                let counter = counter::lock_tenant(&tx, tenant).await?;
                let counter =
                    counter.ok_or_else(|| StoreError::corrupt("a Task without its tenant"))?;
                let timer = ChunkTimer::begin(limits);
                let TaskWork::Creation { contract_id, .. } = task.work.clone() else {
                    return Err(WorkError::TaskChanged);
                };
                let n_reserved = task.n_left().into();
                let reserved = creation::ReservedQuota { counter, contract_id, n_reserved };
                let made =
                    creation::create_reserved(&tx, &usernames, tenant, items, reserved, &timer);
                let (results, left) = made.await?;
                advance(&tx, tenant, &mut task, results).await?;
                let now = tx.now().await?;
                let task = (TaskState::InProgress, task);
                let stepped = close(&tx, &lease, task, None, lifetimes, now, &failpoints).await?;
                Ok((StepResult { took: timer.elapsed(&tx), ..stepped }, left))
            })
            .await
    }

    /// Changes the accesses of a chunk by a rule, each with its own result, within its time limits.
    pub async fn run_change(
        &self,
        lease: &Lease,
        chunk: ItemChunk<ItemChange>,
        rule: ChangeRule,
        lifetimes: TaskLifetimes,
    ) -> Result<StepResult, WorkError> {
        let (lease, failpoints) = (lease.clone(), self.failpoints.clone());
        self.db
            .write(WriteKind::Batch(lease.key.tenant.clone()), async move |tx| {
                let tenant = &lease.key.tenant;
                let ItemChunk { task: id, from, mut items, limits } = chunk;
                let mut task = lock_at(&tx, tenant, id, from).await?;
                let timer = ChunkTimer::begin(limits);
                let (items, origin) = (items.make_contiguous(), Origin::of_task(&task));
                let results =
                    changes::change_each(&tx, tenant, items, &rule, &origin, &timer).await?;
                advance(&tx, tenant, &mut task, results).await?;
                let now = tx.now().await?;
                let task = (TaskState::InProgress, task);
                let stepped = close(&tx, &lease, task, None, lifetimes, now, &failpoints).await?;
                Ok(StepResult { took: timer.elapsed(&tx), ..stepped })
            })
            .await
    }

    /// Stops an unfinished Task; its effects stay. `None` for an unknown Task, and the state of one that is finished
    /// already.
    pub async fn stop_task(
        &self,
        tenant: &TenantName,
        id: TaskId,
        origin: Origin,
        lifetimes: TaskLifetimes,
    ) -> Result<Option<Result<Task, TaskState>>, StoreError> {
        let tenant = tenant.clone();
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                let Some(mut task) = locked(&tx, &tenant, id).await? else { return Ok(None) };
                if task.state.is_terminal() {
                    return Ok(Some(Err(task.state)));
                }
                let now = tx.now().await?;
                if let (TaskWork::Creation { contract_id, .. }, TaskState::InProgress) =
                    (&task.work, task.state)
                {
                    let n = i64::from(task.n_left());
                    tally::reserve(&tx, &tenant, contract_id, -n).await?;
                }
                move_to(&mut task, TaskState::Terminated)?;
                end(&tx, &tenant, &mut task, lifetimes, now).await?;
                write(&tx, &tenant, &task, None).await?;
                let entry = Entry::Task(TaskEntry::of(&task, origin));
                new_events::write_all(&tx, &Journal::Changes(tenant.clone()), &[entry]).await?;
                Ok(Some(Ok(task)))
            })
            .await
    }
}

/// Reserves quota for a batch, under the tenant's lock.
async fn reserve(
    tx: &Tx,
    tenant: &TenantName,
    contract_id: &ContractId,
    n_items: u32,
    now: Timestamp,
) -> Result<Result<(), BatchFailure>, StoreError> {
    counter::lock_tenant(tx, tenant).await?;
    let Some(counted) = contract::read_limited_in(tx, tenant, contract_id, now).await? else {
        return Ok(Err(BatchFailure::unknown_contract(contract_id)));
    };
    let n_items = u64::from(n_items);
    let reserved = lifecycle::reserve(&counted.contract, counted.n_taken(), n_items, now);
    if let Err(refusal) = reserved {
        return Ok(Err(BatchFailure::refused(&refusal)));
    }
    tally::reserve(tx, tenant, contract_id, n_items.cast_signed()).await?;
    Ok(Ok(()))
}

/// Finishes a Task before it has started, with one failure.
async fn reject(
    tx: &Tx,
    tenant: &TenantName,
    task: &mut Task,
    failure: BatchFailure,
    lifetimes: TaskLifetimes,
    now: Timestamp,
) -> Result<(), StoreError> {
    let name = ItemReference::default();
    let failed_item = FailedItem { ordinal: 0, index: 0, name, failure };
    item::put_failed(tx, tenant, task.id, 0, &[failed_item]).await?;
    move_to(task, TaskState::Rejected)?;
    // A rejected Task has no passwords to show.
    end(tx, tenant, task, TaskLifetimes { secrets_milliseconds: 0, ..lifetimes }, now).await
}

/// Stores failed items and updates the Task's counts. A Task without items left is finished.
async fn advance(
    tx: &Tx,
    tenant: &TenantName,
    task: &mut Task,
    results: Vec<ItemResult>,
) -> Result<(), StoreError> {
    let n_results = u32::try_from(results.len()).map_err(StoreError::corrupt)?;
    let mut failed: Vec<FailedItem> = Vec::new();
    for (result, ordinal) in results.into_iter().zip(task.n_processed()..) {
        failed.extend(result.err().map(|item| FailedItem { ordinal, ..*item }));
    }
    item::put_failed(tx, tenant, task.id, task.n_failed, &failed).await?;
    let n_failed = u32::try_from(failed.len()).map_err(StoreError::corrupt)?;
    task.n_failed += n_failed;
    task.n_succeeded += n_results - n_failed;
    if task.n_left() == 0 {
        let end = if task.n_failed == 0 { TaskState::Done } else { TaskState::Failed };
        move_to(task, end)?;
    }
    Ok(())
}

/// Changes a Task's state; an error where the transition isn't allowed.
fn move_to(task: &mut Task, next: TaskState) -> Result<(), StoreError> {
    if !task.state.may_become(next) {
        return Err(StoreError::corrupt("a Task can't change to this state"));
    }
    task.state = next;
    Ok(())
}

/// Schedules the deletion of a finished Task and its secrets.
async fn end(
    tx: &Tx,
    tenant: &TenantName,
    task: &mut Task,
    lifetimes: TaskLifetimes,
    now: Timestamp,
) -> Result<(), StoreError> {
    let key = |kind| WorkKey { tenant: tenant.clone(), kind, name: task.id.to_string(), part: 0 };
    if task.work.has_passwords() {
        // Passwords must not outlive the Task that shows them.
        let kept = lifetimes.secrets_milliseconds.min(lifetimes.tasks_milliseconds);
        let until = now.plus_milliseconds(kept);
        work_queue::add(tx, &key(WorkKind::OldSecret), until).await?;
        task.shows_secrets_until = Some(until);
    }
    work_queue::add(
        tx,
        &key(WorkKind::OldTask),
        now.plus_milliseconds(lifetimes.tasks_milliseconds),
    )
    .await
}

/// Stores the Task, which was in this state, finishes it if it is at its end, and renews the lease or releases it for waiting tenants.
async fn close(
    tx: &Tx,
    lease: &Lease,
    (from, mut task): (TaskState, Task),
    password: Option<StoredHash>,
    lifetimes: TaskLifetimes,
    now: Timestamp,
    failpoints: &Failpoints,
) -> Result<StepResult, WorkError> {
    let tenant = &lease.key.tenant;
    // A rejected Task has been finished already.
    if matches!(task.state, TaskState::Done | TaskState::Failed) {
        end(tx, tenant, &mut task, lifetimes, now).await?;
    }
    if task.state != from {
        let entry = TaskEntry::of(&task, Origin::of_task(&task));
        new_events::write_all(tx, &Journal::Changes(tenant.clone()), &[Entry::Task(entry)]).await?;
    }
    // Sent together: other transactions may wait during each of these round trips.
    let seen = try_join(work_queue::is_waiting(tx, WorkKind::UnfinishedTasks, now), tx.waiters());
    let ((), (is_waiting, waiters)) =
        try_join(write(tx, tenant, &task, password.as_ref()), seen).await?;
    let keeps_lease = !is_waiting;
    let is_ours = match keeps_lease {
        true => {
            work_queue::hold(tx, lease, now.plus_milliseconds(lifetimes.lease_milliseconds)).await?
        }
        false => work_queue::release(tx, lease, now).await?,
    };
    if !is_ours {
        return Err(WorkError::LeaseLost);
    }
    failpoints.pass(Failpoint::BeforeCommit).map_err(WorkError::Interrupted)?;
    Ok(StepResult { task, keeps_lease, waiters, took: Duration::ZERO })
}

async fn write(
    tx: &Tx,
    tenant: &TenantName,
    task: &Task,
    password: Option<&StoredHash>,
) -> Result<(), StoreError> {
    let now = tx.now().await?;
    let is_begun =
        matches!(task.state, TaskState::InProgress | TaskState::Done | TaskState::Failed);
    let sql = "UPDATE task SET state = ?3, n_succeeded = ?4, n_failed = ?5, \
               shows_secrets_until = ?6, password_hash = COALESCE(?7, password_hash), \
               started_at = COALESCE(started_at, ?8), ended_at = COALESCE(ended_at, ?9), \
               turn = turn + 1 WHERE tenant = ?1 AND id = ?2";
    let values = [
        tenant.as_str().into(),
        task.id.as_bytes().as_slice().into(),
        task.state.as_str().into(),
        u64::from(task.n_succeeded).into(),
        u64::from(task.n_failed).into(),
        task.shows_secrets_until.into(),
        password.map(StoredHash::as_str).into(),
        Some(now).filter(|_| is_begun).into(),
        Some(now).filter(|_| task.state.is_terminal()).into(),
    ];
    tx.execute(sql, &values).await.map(drop)
}

/// Locks the Task's row; `None` for an unknown Task.
async fn locked(tx: &Tx, tenant: &TenantName, id: TaskId) -> Result<Option<Task>, StoreError> {
    let sql = concat!(task_columns!(), " WHERE tenant = ?1 AND id = ?2");
    let values = [tenant.as_str().into(), id.as_bytes().as_slice().into()];
    tx.lock_row(sql, &values, |row| Ok(task::read(row)?.task)).await
}

/// Locks the Task's row if the Task is in this state; an error otherwise.
async fn lock(
    tx: &Tx,
    tenant: &TenantName,
    id: TaskId,
    state: TaskState,
) -> Result<Task, WorkError> {
    let task = locked(tx, tenant, id).await?;
    task.filter(|task| task.state == state).ok_or(WorkError::TaskChanged)
}

/// Locks the Task's row if the Task is in progress and at this item; an error otherwise.
async fn lock_at(tx: &Tx, tenant: &TenantName, id: TaskId, from: u32) -> Result<Task, WorkError> {
    let task = lock(tx, tenant, id, TaskState::InProgress).await?;
    if task.n_processed() == from { Ok(task) } else { Err(WorkError::TaskChanged) }
}
