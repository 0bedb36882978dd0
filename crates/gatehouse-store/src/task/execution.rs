//! Working a Task off: starting it, doing a stretch of its items, ending it, stopping it.
//!
//! Every step is one transaction: its effects, the items that failed, how far the Task has come, and
//! the lease that allows it. A worker that has lost its lease, or whose Task was stopped, commits
//! nothing; one that dies has done whole stretches or nothing. Locks are taken in one order: the Task, the
//! tenant's counter, accesses by their numbers, tallies, days, and what is due last.

use std::time::Duration;

use futures_util::future::try_join;
use gatehouse_core::credential::StoredHash;
use gatehouse_core::lifecycle;
use gatehouse_core::task::{FailedItem, ItemName, Task, TaskState, Work};
use gatehouse_core::{AccessId, ContractId, TaskId, TenantName, Timestamp, Trouble};

use crate::Store;
use crate::access::changes::{self, ChangeRule};
use crate::access::creation::{self, NewAccess};
use crate::counts::{counter, tally};
use crate::db::{Company, Line, Tx};
use crate::error::StoreError;
use crate::probe::{Point, Probe};
use crate::setup::contract;
use crate::task::stretch::{ItemResult, Items, Stretch, Watch};
use crate::task::{self, StoredTask, item, task_columns, unfinished};
use crate::work_queue::{self, DueKey, DueKind, Lease, NotRun};

/// For how long things are held or kept.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// A lease, from each sign of life.
    pub lease_milliseconds: i64,
    /// Passwords, from when their Task is over; not longer than the Task.
    pub secrets_milliseconds: i64,
    /// A Task that is over.
    pub tasks_milliseconds: i64,
}

/// A step that was committed.
#[derive(Clone, Debug)]
pub struct Stepped {
    /// The Task as it is now.
    pub task: Task,
    /// Whether the lease is still held; it is given back where other tenants wait.
    pub keeps_lease: bool,
    /// Who waited for what the step kept from them.
    pub company: Company,
    /// How long it kept things from others, up to its commit.
    pub took: Duration,
}

impl Store {
    /// The Task of a tenant whose turn it is; `None` when all are over.
    ///
    /// Creations take turns, a stretch each. Changes keep their order among themselves: of two that set
    /// a status, the later one must win.
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

    /// Lets a tenant's other Tasks go before one that could not be worked on.
    pub async fn pass_turn(&self, tenant: &TenantName, id: TaskId) -> Result<(), StoreError> {
        let tenant = tenant.clone();
        self.db
            .write(Line::Of(tenant.clone()), async move |tx| {
                let sql = "UPDATE task SET turn = turn + 1 WHERE tenant = ?1 AND id = ?2";
                let values = [tenant.as_str().into(), id.as_bytes().as_slice().into()];
                tx.execute(sql, &values).await.map(drop)
            })
            .await
    }

    /// Ends the work for a tenant whose Tasks are all over; gives it back where there are more by now.
    pub async fn finish_queue(&self, lease: &Lease) -> Result<(), NotRun> {
        let lease = lease.clone();
        self.db
            .write(Line::Of(lease.key.tenant.clone()), async move |tx| {
                if !work_queue::lock(&tx, &lease).await? {
                    return Err(NotRun::Lost);
                }
                // In this order, because the index of those few has it.
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
                if done { Ok(()) } else { Err(NotRun::Lost) }
            })
            .await
    }

    /// Begins a creation: reserves room for all of it, or rejects it.
    pub async fn start_creation(
        &self,
        lease: &Lease,
        id: TaskId,
        terms: Terms,
        probe: Probe,
    ) -> Result<Stepped, NotRun> {
        let lease = lease.clone();
        self.db
            .write(Line::Of(lease.key.tenant.clone()), async move |tx| {
                let tenant = &lease.key.tenant;
                let mut task = lock(&tx, tenant, id, TaskState::Acknowledged).await?;
                let Work::Creation { contract_id, .. } = task.work.clone() else {
                    return Err(NotRun::Moved);
                };
                let now = tx.now().await?;
                match reserve(&tx, tenant, &contract_id, task.n_items, now).await? {
                    Ok(()) => move_to(&mut task, TaskState::InProgress)?,
                    Err(trouble) => reject(&tx, tenant, &mut task, trouble, terms, now).await?,
                }
                close(&tx, &lease, task, None, terms, now, &probe).await
            })
            .await
    }

    /// Begins a change of accesses, which set this password, or rejects it.
    pub async fn start_change(
        &self,
        lease: &Lease,
        id: TaskId,
        begin: Result<Option<StoredHash>, Trouble>,
        terms: Terms,
        probe: Probe,
    ) -> Result<Stepped, NotRun> {
        let lease = lease.clone();
        self.db
            .write(Line::Of(lease.key.tenant.clone()), async move |tx| {
                let tenant = &lease.key.tenant;
                let mut task = lock(&tx, tenant, id, TaskState::Acknowledged).await?;
                let now = tx.now().await?;
                let password = match begin {
                    Ok(password) => {
                        move_to(&mut task, TaskState::InProgress)?;
                        password
                    }
                    Err(trouble) => {
                        reject(&tx, tenant, &mut task, trouble, terms, now).await?;
                        None
                    }
                };
                close(&tx, &lease, task, password, terms, now, &probe).await
            })
            .await
    }

    /// Makes the accesses of a stretch, as many of them as patience allows; tells which are left.
    pub async fn run_creation(
        &self,
        lease: &Lease,
        stretch: Stretch<NewAccess>,
        terms: Terms,
        probe: Probe,
    ) -> Result<(Stepped, Items<NewAccess>), NotRun> {
        let (lease, usernames) = (lease.clone(), self.usernames.clone());
        self.db
            .write_long(lease.key.tenant.clone(), async move |tx| {
                let tenant = &lease.key.tenant;
                let Stretch { task: id, from, items, patience } = stretch;
                let mut task = lock_at(&tx, tenant, id, from).await?;
                let counter = counter::lock_tenant(&tx, tenant).await?;
                let counter =
                    counter.ok_or_else(|| StoreError::corrupt("a Task without its tenant"))?;
                let watch = Watch::begin(patience);
                let Work::Creation { contract_id, .. } = task.work.clone() else {
                    return Err(NotRun::Moved);
                };
                let n_reserved = task.n_left().into();
                let room = creation::Room { counter, contract_id, n_reserved };
                let made = creation::create_reserved(&tx, &usernames, tenant, items, room, &watch);
                let (results, left) = made.await?;
                advance(&tx, tenant, &mut task, results).await?;
                let now = tx.now().await?;
                let stepped = close(&tx, &lease, task, None, terms, now, &probe).await?;
                Ok((Stepped { took: watch.elapsed(&tx), ..stepped }, left))
            })
            .await
    }

    /// Changes the accesses of a stretch by a rule, each by itself, as many of them as patience allows.
    pub async fn run_change(
        &self,
        lease: &Lease,
        stretch: Stretch<AccessId>,
        rule: ChangeRule,
        terms: Terms,
        probe: Probe,
    ) -> Result<Stepped, NotRun> {
        let lease = lease.clone();
        self.db
            .write_long(lease.key.tenant.clone(), async move |tx| {
                let tenant = &lease.key.tenant;
                let Stretch { task: id, from, mut items, patience } = stretch;
                let mut task = lock_at(&tx, tenant, id, from).await?;
                let watch = Watch::begin(patience);
                let items = items.make_contiguous();
                let results = changes::change_each(&tx, tenant, items, &rule, &watch).await?;
                advance(&tx, tenant, &mut task, results).await?;
                let now = tx.now().await?;
                let stepped = close(&tx, &lease, task, None, terms, now, &probe).await?;
                Ok(Stepped { took: watch.elapsed(&tx), ..stepped })
            })
            .await
    }

    /// Stops a Task that is not over: what it has done stays. `None` when there is no such Task, and the
    /// state that it has when it is over already.
    pub async fn stop_task(
        &self,
        tenant: &TenantName,
        id: TaskId,
        terms: Terms,
    ) -> Result<Option<Result<Task, TaskState>>, StoreError> {
        let tenant = tenant.clone();
        self.db
            .write(Line::Of(tenant.clone()), async move |tx| {
                let Some(mut task) = locked(&tx, &tenant, id).await? else { return Ok(None) };
                if task.state.is_terminal() {
                    return Ok(Some(Err(task.state)));
                }
                let now = tx.now().await?;
                if let (Work::Creation { contract_id, .. }, TaskState::InProgress) =
                    (&task.work, task.state)
                {
                    let n = i64::from(task.n_left());
                    tally::reserve(&tx, &tenant, contract_id, -n).await?;
                }
                move_to(&mut task, TaskState::Terminated)?;
                end(&tx, &tenant, &mut task, terms, now).await?;
                write(&tx, &tenant, &task, None).await?;
                Ok(Some(Ok(task)))
            })
            .await
    }
}

/// Reserves room for a batch, under the tenant's lock.
async fn reserve(
    tx: &Tx,
    tenant: &TenantName,
    contract_id: &ContractId,
    n_items: u32,
    now: Timestamp,
) -> Result<Result<(), Trouble>, StoreError> {
    counter::lock_tenant(tx, tenant).await?;
    let Some(counted) = contract::read_limited_in(tx, tenant, contract_id, now).await? else {
        return Ok(Err(Trouble::unknown_contract(contract_id)));
    };
    let n_items = u64::from(n_items);
    let reserved = lifecycle::reserve(&counted.contract, counted.n_taken(), n_items, now);
    if let Err(refusal) = reserved {
        return Ok(Err(Trouble::refused(&refusal)));
    }
    tally::reserve(tx, tenant, contract_id, n_items.cast_signed()).await?;
    Ok(Ok(()))
}

/// Ends a Task before it has begun, with the one thing that stands against it.
async fn reject(
    tx: &Tx,
    tenant: &TenantName,
    task: &mut Task,
    trouble: Trouble,
    terms: Terms,
    now: Timestamp,
) -> Result<(), StoreError> {
    let name = ItemName::default();
    let why = FailedItem { ordinal: 0, index: 0, name, trouble };
    item::put_failed(tx, tenant, task.id, 0, &[why]).await?;
    move_to(task, TaskState::Rejected)?;
    // There is nothing to show.
    end(tx, tenant, task, Terms { secrets_milliseconds: 0, ..terms }, now).await
}

/// Counts what was done. A Task that has come to its end is over.
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

/// Moves a Task on, by one of the moves that there are.
fn move_to(task: &mut Task, next: TaskState) -> Result<(), StoreError> {
    if !task.state.may_become(next) {
        return Err(StoreError::corrupt("a Task can't move so"));
    }
    task.state = next;
    Ok(())
}

/// Says what is to happen to a Task that is over.
async fn end(
    tx: &Tx,
    tenant: &TenantName,
    task: &mut Task,
    terms: Terms,
    now: Timestamp,
) -> Result<(), StoreError> {
    let key = |kind| DueKey { tenant: tenant.clone(), kind, name: task.id.to_string(), part: 0 };
    if task.work.has_passwords() {
        // Who is told a time finds the Task until then.
        let kept = terms.secrets_milliseconds.min(terms.tasks_milliseconds);
        let until = now.plus_milliseconds(kept);
        work_queue::add(tx, &key(DueKind::Secret), until).await?;
        task.shows_secrets_until = Some(until);
    }
    work_queue::add(tx, &key(DueKind::Task), now.plus_milliseconds(terms.tasks_milliseconds)).await
}

/// Writes the Task down, ends it where it is over, and keeps the lease or gives it to whoever waits.
async fn close(
    tx: &Tx,
    lease: &Lease,
    mut task: Task,
    password: Option<StoredHash>,
    terms: Terms,
    now: Timestamp,
    probe: &Probe,
) -> Result<Stepped, NotRun> {
    let tenant = &lease.key.tenant;
    // Rejected, it has been ended already.
    if matches!(task.state, TaskState::Done | TaskState::Failed) {
        end(tx, tenant, &mut task, terms, now).await?;
    }
    // Sent together: others may be waiting for each of these journeys.
    let seen = try_join(work_queue::is_waiting(tx, DueKind::Tasks, now), tx.company());
    let ((), (is_waiting, company)) =
        try_join(write(tx, tenant, &task, password.as_ref()), seen).await?;
    let keeps_lease = !is_waiting;
    let is_ours = match keeps_lease {
        true => {
            work_queue::hold(tx, lease, now.plus_milliseconds(terms.lease_milliseconds)).await?
        }
        false => work_queue::release(tx, lease, now).await?,
    };
    if !is_ours {
        return Err(NotRun::Lost);
    }
    probe.pass(Point::BeforeCommit).map_err(NotRun::Interrupted)?;
    Ok(Stepped { task, keeps_lease, company, took: Duration::ZERO })
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

/// A Task that nobody else changes until the transaction ends.
async fn locked(tx: &Tx, tenant: &TenantName, id: TaskId) -> Result<Option<Task>, StoreError> {
    let sql = concat!(task_columns!(), " WHERE tenant = ?1 AND id = ?2");
    let values = [tenant.as_str().into(), id.as_bytes().as_slice().into()];
    tx.lock_row(sql, &values, |row| Ok(task::read(row)?.task)).await
}

/// The same, if it is in this state.
async fn lock(tx: &Tx, tenant: &TenantName, id: TaskId, state: TaskState) -> Result<Task, NotRun> {
    let task = locked(tx, tenant, id).await?;
    task.filter(|task| task.state == state).ok_or(NotRun::Moved)
}

/// The same, if it is under way and has come just so far.
async fn lock_at(tx: &Tx, tenant: &TenantName, id: TaskId, from: u32) -> Result<Task, NotRun> {
    let task = lock(tx, tenant, id, TaskState::InProgress).await?;
    if task.n_processed() == from { Ok(task) } else { Err(NotRun::Moved) }
}
