//! Working batches off, a stretch at a time.
//!
//! One tenant's Tasks are worked on by one worker at a time, which holds a lease on all of them. It does
//! one step, a transaction: it starts a Task, or does a stretch of its items. When other tenants wait, the
//! lease goes back with that step, so tenants take turns however long their batches are. Everything that
//! a step makes follows from the Task's key, so a step that is done again makes the same.

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
    Failpoint, Failpoints, Lease, StepResult, StoreError, TaskLifetimes, Waiters, WorkError,
    WorkKind,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::PUT_OFF_MILLISECONDS;
use super::pace::Pace;
use crate::app::batch::PART_ITEMS;
use crate::app::{App, Error};
use creation::Prepared;

/// How often a worker that is busy with something long says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How long the store is left to those who waited, at most. Nobody was kept waiting for much longer, however
/// long the stretch was that they came upon.
const COURTESY_MAX: Duration = Duration::from_millis(4);

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// There was nothing to do.
    Nothing,
    /// A Task was begun, or rejected.
    Started,
    /// So many items were worked on.
    Worked(u32),
    /// All Tasks of a tenant are over.
    Finished,
    /// Somebody else has taken over, or has stopped the Task.
    Yielded,
}

/// What a worker has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Nothing is due.
    Nothing,
    /// It has taken something up.
    Now,
    /// It had something already.
    Before,
}

/// Works batches off.
pub struct TaskWorker {
    app: App,
    lifetimes: TaskLifetimes,
    lease: Option<Lease>,
    /// The Task that the step is about.
    current: Option<TaskId>,
    prepared: Vec<Prepared>,
    /// The Task whose usernames are looked up, although it has drawn them.
    doubtful: Option<TaskId>,
    pace: Pace,
    /// How long to leave the store to others before the next step.
    courtesy: Duration,
    places: Arc<Semaphore>,
    failpoints: Failpoints,
}

impl TaskWorker {
    /// A worker for this service.
    pub fn new(app: App) -> Self {
        Self::with_failpoints(app, Failpoints::default())
    }

    /// One that a test may interrupt.
    pub fn with_failpoints(app: App, failpoints: Failpoints) -> Self {
        let lifetimes = app.tasks.lifetimes();
        Self {
            app,
            lifetimes,
            lease: None,
            current: None,
            prepared: Vec::new(),
            doubtful: None,
            pace: Pace::default(),
            courtesy: Duration::ZERO,
            places: Arc::new(Semaphore::new(1)),
            failpoints,
        }
    }

    /// The same, which shares places with others: a step takes one, except while it waits for hashes.
    pub(super) fn with_places(self, places: Arc<Semaphore>) -> Self {
        Self { places, ..self }
    }

    /// Takes up what is due, unless it has something already, and does one step of it.
    pub async fn run_one(&mut self) -> Result<StepOutcome, Error> {
        match self.take_up().await? {
            Taken::Nothing => Ok(StepOutcome::Nothing),
            Taken::Now | Taken::Before => self.work().await,
        }
    }

    /// Takes up what is due, unless it has something already.
    ///
    /// Not to be dropped half-way: what was taken up then could not be handed back.
    pub(super) async fn take_up(&mut self) -> Result<Taken, Error> {
        if self.lease.is_some() {
            return Ok(Taken::Before);
        }
        let milliseconds = self.lifetimes.lease_milliseconds;
        self.lease = self.app.store.claim_due(&[WorkKind::Tasks], milliseconds).await?;
        if self.lease.is_some() {
            return Ok(Taken::Now);
        }
        // Keys are not kept for nothing.
        self.prepared.clear();
        Ok(Taken::Nothing)
    }

    /// Does one step of what it has taken up. Dropped half-way, it has done all of the step or nothing, and
    /// can hand back what it holds.
    pub(super) async fn work(&mut self) -> Result<StepOutcome, Error> {
        let Some(lease) = self.lease.clone() else { return Ok(StepOutcome::Nothing) };
        tokio::time::sleep(std::mem::take(&mut self.courtesy)).await;
        // A step that panics is one that failed: the next one must still be taken.
        let step = AssertUnwindSafe(self.step(&lease)).catch_unwind();
        let step = step.await.unwrap_or_else(|_| {
            tracing::error!("a step of a Task panicked; it is tried again");
            Err(Stopped::Failed(StoreError::Unexpected("a step panicked".into()).into()))
        });
        match step {
            Ok((did, keeps_lease)) => {
                self.lease = self.lease.take().filter(|_| keeps_lease);
                Ok(did)
            }
            Err(Stopped::Lost) => {
                self.lease = None;
                self.prepared.clear();
                Ok(StepOutcome::Yielded)
            }
            Err(Stopped::Moved) => {
                self.prepared.clear();
                Ok(StepOutcome::Yielded)
            }
            Err(Stopped::Doubtful(task)) => {
                self.doubtful = Some(task);
                Ok(StepOutcome::Yielded)
            }
            Err(Stopped::Interrupted) => Err(Error::Interrupted),
            Err(Stopped::Failed(error)) => {
                self.prepared.clear();
                if let Some(task) = self.current.take() {
                    // Best effort: it only decides who is next.
                    let _ = self.app.store.pass_turn(&lease.key.tenant, task).await;
                }
                let postpone = self.app.store.postpone(&lease, PUT_OFF_MILLISECONDS).await;
                // A store that is full or away takes no word of this either. Then nobody else knows that the work is left:
                // it is gone on with here as soon as the store is back, and not when the lease has run out.
                self.lease = self.lease.take().filter(|_| postpone.is_err());
                Err(error)
            }
        }
    }

    /// Gives back what it holds, so that another may go on at once.
    pub async fn release_lease(&mut self) -> Result<(), Error> {
        self.prepared.clear();
        if let Some(lease) = self.lease.take() {
            self.app.store.release(&lease).await?;
        }
        Ok(())
    }

    /// One step, and whether the lease is still held after it.
    async fn step(&mut self, lease: &Lease) -> Result<(StepOutcome, bool), Stopped> {
        self.current = None;
        self.failpoints.pass(Failpoint::Claimed)?;
        let tenant = &lease.key.tenant;
        let Some(next) = self.app.store.next_task(tenant).await? else {
            self.app.store.finish_queue(lease).await?;
            return Ok((StepOutcome::Finished, false));
        };
        let (task, password) = (next.task, next.password);
        self.current = Some(task.id);
        let n_before = task.n_processed();
        let place = self.place(lease).await?;
        let step = match (task.state, &task.work) {
            (TaskState::Acknowledged, TaskWork::Creation { .. }) => {
                let started = self.app.store.start_creation(
                    lease,
                    task.id,
                    self.lifetimes,
                    self.failpoints.clone(),
                );
                started.await?
            }
            (TaskState::Acknowledged, TaskWork::Update { .. } | TaskWork::Termination) => {
                self.start_change(lease, &task, place).await?
            }
            (_, TaskWork::Creation { contract_id, is_explicit }) => {
                let (contract_id, is_explicit) = (contract_id.clone(), *is_explicit);
                self.create(lease, &task, &contract_id, is_explicit, place).await?
            }
            (_, TaskWork::Update { .. } | TaskWork::Termination) => {
                self.change(lease, &task, password).await?
            }
        };
        self.failpoints.pass(Failpoint::AfterCommit)?;
        self.tell(lease, &step.task, step.task.n_processed() - n_before);
        let did = match task.state {
            TaskState::Acknowledged => StepOutcome::Started,
            _ => StepOutcome::Worked(step.task.n_processed() - n_before),
        };
        Ok((did, step.keeps_lease))
    }

    /// Counts what a step did; a Task that is over goes into the log.
    fn tell(&self, lease: &Lease, task: &Task, n_worked: u32) {
        self.app.meter.items.inc_by(n_worked.into());
        if task.state.is_terminal() {
            self.app.report_task_end(&lease.key.tenant, task);
        }
    }

    /// Learns how long the next stretch should be.
    fn learn(&mut self, n_items: u32, step: &StepResult) {
        let tenants = if step.keeps_lease { Waiters::None } else { Waiters::Batches };
        self.app.meter.stretches.observe(step.took.as_secs_f64());
        self.pace.learn(n_items, step.took, step.waiters.max(tenants));
        // Those who waited have the next turn.
        self.courtesy = match step.waiters {
            Waiters::Requests => step.took.min(COURTESY_MAX),
            Waiters::None | Waiters::Batches => Duration::ZERO,
        };
    }

    /// A place among those who work on Tasks at the same time.
    async fn place(&self, lease: &Lease) -> Result<OwnedSemaphorePermit, Stopped> {
        let place = Arc::clone(&self.places).acquire_owned();
        Ok(self.alive(lease, place).await?.expect("nobody closes the places"))
    }

    /// A part of what the client sent.
    async fn part(&self, lease: &Lease, task: TaskId, part: u32) -> Result<Vec<u8>, Stopped> {
        let bytes = self.app.store.task_part(&lease.key.tenant, task, part).await?;
        Ok(bytes.ok_or_else(|| StoreError::Unexpected("a part is missing".into()))?)
    }

    /// Waits for something that may take long, and keeps the lease meanwhile.
    async fn alive<T>(&self, lease: &Lease, work: impl Future<Output = T>) -> Result<T, Stopped> {
        let mut work = std::pin::pin!(work);
        loop {
            match tokio::time::timeout(HEARTBEAT, &mut work).await {
                Ok(done) => return Ok(done),
                Err(_) => {
                    let milliseconds = self.lifetimes.lease_milliseconds;
                    if !self.app.store.renew_lease(lease, milliseconds).await? {
                        return Err(Stopped::Lost);
                    }
                }
            }
        }
    }
}

/// So many ordinals of a Task from this one on, as far as there are any.
fn span(task: &Task, from: u32, n_items: u32) -> Range<u32> {
    from..from.saturating_add(n_items).min(task.n_items)
}

/// The parts of a request that have these ordinals.
fn parts(ordinals: &Range<u32>) -> RangeInclusive<u32> {
    ordinals.start / PART_ITEMS..=(ordinals.end - 1) / PART_ITEMS
}

/// Why a step was not taken.
enum Stopped {
    /// Somebody else has the lease.
    Lost,
    /// The Task was stopped.
    Moved,
    /// Somebody has a username that the Task has drawn: it is to look its usernames up.
    Doubtful(TaskId),
    /// A test wanted it so.
    Interrupted,
    /// Something failed.
    Failed(Error),
}

impl From<WorkError> for Stopped {
    fn from(not_run: WorkError) -> Self {
        match not_run {
            WorkError::LeaseLost => Self::Lost,
            WorkError::TaskChanged => Self::Moved,
            WorkError::Interrupted(_) => Self::Interrupted,
            WorkError::Store(error) => Self::Failed(error.into()),
        }
    }
}

impl From<Failpoint> for Stopped {
    fn from(_: Failpoint) -> Self {
        Self::Interrupted
    }
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

#[cfg(test)]
mod tests;
