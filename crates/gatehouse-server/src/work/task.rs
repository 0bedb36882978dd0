//! Processing batches, a chunk at a time.
//!
//! One worker at a time processes a tenant's Tasks, under a lease on all of them. Each step is one transaction: it
//! starts a Task, or processes a chunk of its items. If other tenants wait, the step also releases the lease, so
//! tenants alternate however large their batches are. Everything that a step creates is derived from the Task's key, so
//! a repeated step creates the same.

mod change;
mod creation;

use std::ops::{Range, RangeInclusive};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use gatehouse_core::TaskId;
use gatehouse_core::task::{Task, TaskState, TaskWork};
use gatehouse_store::{
    Failpoint, Lease, StepResult, StoreError, TaskLifetimes, Waiters, WorkError, WorkKind,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::RETRY_DELAY_MILLISECONDS;
use super::chunk_size::ChunkSize;
use crate::app::batch::PART_ITEMS;
use crate::app::{App, Error};
use creation::Prepared;

/// Interval of lease renewals during long waits.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(5);

/// Longest pause for waiting requests. They didn't wait much longer, however long the chunk was.
const YIELD_MAX: Duration = Duration::from_millis(4);

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// Nothing was due.
    Nothing,
    /// A Task was started, or rejected.
    Started,
    /// This many items were processed.
    Worked(u32),
    /// All Tasks of a tenant have ended.
    Finished,
    /// Another worker has taken over, or the Task was stopped.
    Yielded,
}

/// Result of claiming work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nothing is due.
    NothingDue,
    /// The worker has claimed new work.
    New,
    /// The worker holds a lease already.
    Held,
}

/// Processes batches.
pub struct TaskWorker {
    app: App,
    lifetimes: TaskLifetimes,
    lease: Option<Lease>,
    /// The Task of the current step.
    current: Option<TaskId>,
    prepared: Vec<Prepared>,
    /// The Task whose generated usernames must be looked up.
    looked_up: Option<TaskId>,
    chunk_size: ChunkSize,
    /// Pause before the next step.
    yield_time: Duration,
    permits: Arc<Semaphore>,
}

impl TaskWorker {
    /// Creates a worker.
    pub fn new(app: App) -> Self {
        let lifetimes = app.tasks.lifetimes();
        Self {
            app,
            lifetimes,
            lease: None,
            current: None,
            prepared: Vec::new(),
            looked_up: None,
            chunk_size: ChunkSize::default(),
            yield_time: Duration::ZERO,
            permits: Arc::new(Semaphore::new(1)),
        }
    }

    /// Shares permits with other workers: a step holds one, except while it waits for hashes.
    pub(super) fn with_permits(self, permits: Arc<Semaphore>) -> Self {
        Self { permits, ..self }
    }

    /// Claims due work, unless the worker holds a lease, and runs one step.
    pub async fn run_one(&mut self) -> Result<StepOutcome, Error> {
        match self.claim().await? {
            Claim::NothingDue => Ok(StepOutcome::Nothing),
            Claim::New | Claim::Held => self.work().await,
        }
    }

    /// Claims due work, unless the worker holds a lease.
    ///
    /// Must not be cancelled: a lease claimed at that moment could not be released.
    pub(super) async fn claim(&mut self) -> Result<Claim, Error> {
        if self.lease.is_some() {
            return Ok(Claim::Held);
        }
        let milliseconds = self.lifetimes.lease_milliseconds;
        self.lease = self.app.store.claim_due(&[WorkKind::UnfinishedTasks], milliseconds).await?;
        if self.lease.is_some() {
            return Ok(Claim::New);
        }
        // Keys are not kept for nothing.
        self.prepared.clear();
        Ok(Claim::NothingDue)
    }

    /// Runs one step. If it is cancelled, all or nothing of the step is done, and the lease can be released.
    pub(super) async fn work(&mut self) -> Result<StepOutcome, Error> {
        let Some(lease) = self.lease.clone() else { return Ok(StepOutcome::Nothing) };
        tokio::time::sleep(std::mem::take(&mut self.yield_time)).await;
        // A panic counts as a failure: the next step must still run.
        let step = AssertUnwindSafe(self.step(&lease)).catch_unwind();
        let step = step.await.unwrap_or_else(|_| {
            tracing::error!("a step of a Task panicked; it is tried again");
            Err(StepError::Failed(StoreError::Unexpected("a step panicked".into()).into()))
        });
        match step {
            Ok((outcome, keeps_lease)) => {
                self.lease = self.lease.take().filter(|_| keeps_lease);
                Ok(outcome)
            }
            Err(StepError::LeaseLost) => {
                self.lease = None;
                self.prepared.clear();
                Ok(StepOutcome::Yielded)
            }
            Err(StepError::TaskChanged) => {
                self.prepared.clear();
                Ok(StepOutcome::Yielded)
            }
            Err(StepError::UsernameTaken(task)) => {
                self.looked_up = Some(task);
                Ok(StepOutcome::Yielded)
            }
            // As a dead worker would: neither the lease nor the Task is touched.
            Err(StepError::Interrupted) => Err(StoreError::Unexpected("interrupted".into()).into()),
            Err(StepError::Failed(error)) => {
                self.prepared.clear();
                if let Some(task) = self.current.take() {
                    // Best effort: it only affects the order of Tasks.
                    let _ = self.app.store.pass_turn(&lease.key.tenant, task).await;
                }
                let postpone = self.app.store.postpone(&lease, RETRY_DELAY_MILLISECONDS).await;
                // A full or unreachable store can't release the lease either. The worker keeps it, and continues as
                // soon as the store is back instead of when the lease expires.
                self.lease = self.lease.take().filter(|_| postpone.is_err());
                Err(error)
            }
        }
    }

    /// Releases the lease, so that another worker can continue at once.
    pub async fn release_lease(&mut self) -> Result<(), Error> {
        self.prepared.clear();
        if let Some(lease) = self.lease.take() {
            self.app.store.release(&lease).await?;
        }
        Ok(())
    }

    /// Runs one step; returns whether the lease is still held.
    async fn step(&mut self, lease: &Lease) -> Result<(StepOutcome, bool), StepError> {
        self.current = None;
        self.app.store.pass(Failpoint::Claimed)?;
        let tenant = &lease.key.tenant;
        let Some(next) = self.app.store.next_task(tenant).await? else {
            self.app.store.finish_queue(lease).await?;
            return Ok((StepOutcome::Finished, false));
        };
        let (task, password) = (next.task, next.password);
        self.current = Some(task.id);
        let n_before = task.n_processed();
        let permit = self.permit(lease).await?;
        let step = match (task.state, &task.work) {
            (TaskState::Acknowledged, TaskWork::Creation { .. }) => {
                let started = self.app.store.start_creation(lease, task.id, self.lifetimes);
                started.await?
            }
            (TaskState::Acknowledged, TaskWork::Update { .. } | TaskWork::Termination) => {
                self.start_change(lease, &task, permit).await?
            }
            (_, TaskWork::Creation { contract_id, is_explicit, .. }) => {
                let (contract_id, is_explicit) = (contract_id.clone(), *is_explicit);
                self.create(lease, &task, &contract_id, is_explicit, permit).await?
            }
            (_, TaskWork::Update { .. } | TaskWork::Termination) => {
                self.change(lease, &task, password).await?
            }
        };
        self.app.store.pass(Failpoint::AfterCommit)?;
        self.report(lease, &step.task, step.task.n_processed() - n_before);
        let outcome = match task.state {
            TaskState::Acknowledged => StepOutcome::Started,
            _ => StepOutcome::Worked(step.task.n_processed() - n_before),
        };
        Ok((outcome, step.keeps_lease))
    }

    /// Counts processed items; logs a finished Task.
    fn report(&self, lease: &Lease, task: &Task, n_worked: u32) {
        self.app.meter.items.inc_by(n_worked.into());
        if task.state.is_terminal() {
            self.app.report_task_end(&lease.key.tenant, task);
        }
    }

    /// Adjusts the size of the next chunk.
    fn adjust_chunk_size(&mut self, n_items: u32, step: &StepResult) {
        let tenants = if step.keeps_lease { Waiters::None } else { Waiters::Batches };
        self.app.meter.chunks.observe(step.took.as_secs_f64());
        self.chunk_size.adjust(n_items, step.took, step.waiters.max(tenants));
        // Waiting requests go first.
        self.yield_time = match step.waiters {
            Waiters::Requests => step.took.min(YIELD_MAX),
            Waiters::None | Waiters::Journal | Waiters::Batches => Duration::ZERO,
        };
    }

    /// Waits for a permit to work on a Task.
    async fn permit(&self, lease: &Lease) -> Result<OwnedSemaphorePermit, StepError> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        Ok(self.hold(lease, permit).await?.expect("the semaphore is never closed"))
    }

    /// A part of the client's request.
    async fn part(&self, lease: &Lease, task: TaskId, part: u32) -> Result<Vec<u8>, StepError> {
        let bytes = self.app.store.task_part(&lease.key.tenant, task, part).await?;
        Ok(bytes.ok_or_else(|| StoreError::Unexpected("a part is missing".into()))?)
    }

    /// Waits for something slow, and renews the lease meanwhile.
    async fn hold<T>(&self, lease: &Lease, work: impl Future<Output = T>) -> Result<T, StepError> {
        let mut work = std::pin::pin!(work);
        loop {
            match tokio::time::timeout(RENEWAL_INTERVAL, &mut work).await {
                Ok(done) => return Ok(done),
                Err(_) => {
                    let milliseconds = self.lifetimes.lease_milliseconds;
                    if !self.app.store.renew_lease(lease, milliseconds).await? {
                        return Err(StepError::LeaseLost);
                    }
                }
            }
        }
    }
}

/// Up to `n_items` ordinals of a Task, beginning with `from`.
fn ordinals(task: &Task, from: u32, n_items: u32) -> Range<u32> {
    from..from.saturating_add(n_items).min(task.n_items)
}

/// The parts that hold these ordinals.
fn parts(ordinals: &Range<u32>) -> RangeInclusive<u32> {
    ordinals.start / PART_ITEMS..=(ordinals.end - 1) / PART_ITEMS
}

/// Why a step was not completed.
enum StepError {
    /// Another worker holds the lease.
    LeaseLost,
    /// The Task was changed by another transaction.
    TaskChanged,
    /// A generated username of the Task is taken: its usernames must be looked up.
    UsernameTaken(TaskId),
    /// A test interrupted the step.
    Interrupted,
    /// The step failed.
    Failed(Error),
}

impl From<WorkError> for StepError {
    fn from(error: WorkError) -> Self {
        match error {
            WorkError::LeaseLost => Self::LeaseLost,
            WorkError::TaskChanged => Self::TaskChanged,
            WorkError::Interrupted(_) => Self::Interrupted,
            WorkError::Store(error) => Self::Failed(error.into()),
        }
    }
}

impl From<Failpoint> for StepError {
    fn from(_: Failpoint) -> Self {
        Self::Interrupted
    }
}

impl From<StoreError> for StepError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Error> for StepError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

#[cfg(test)]
mod tests;
