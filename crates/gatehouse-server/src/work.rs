//! Work in the background: batches, ends of accesses, deletion of what has had its time, the server's signs of life, the
//! release of usernames after an upgrade, and backups and checks of the embedded store.
//!
//! Each kind of work has a step that takes up what is due, does little of it, all of that or nothing, and
//! says what it did. Any server can take it at any time; what is left is due again. Tests take the steps
//! one by one, a server in loops.

pub(crate) mod backup;
pub(crate) mod check;
pub mod lifecycle;
pub(crate) mod meter;
mod pace;
mod replica;
pub mod retention;
pub mod task;
mod usernames;

pub(crate) use replica::Presence;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use gatehouse_store::{Failpoints, Lease, StoreError, WorkError, WorkKind};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::{App, Error};
use task::{Taken, TaskWorker};

/// Why making a metric can't fail.
const SOUND: &str = "names, labels and buckets are written soundly here";

/// How often it is looked whether something has become due: others may have left it.
const LULL: Duration = Duration::from_secs(1);

/// How long one step of upkeep may take before another server takes it up.
const LEASE_MILLISECONDS: i64 = 60_000;

/// How long what can't be done is left alone.
const PUT_OFF_MILLISECONDS: i64 = 1000;

/// Loops for each place: those who wait for slow hashes need none.
const LOOPS_PER_WORKER: u64 = 4;

/// The loops of a server.
pub struct Workers {
    loops: TaskTracker,
    stopping: CancellationToken,
}

impl Workers {
    /// Starts them, also the one that says that the server is there, where that is to be said.
    pub(crate) fn start(app: &App, presence: Option<Presence>) -> Self {
        Self::start_with_failpoints(app, presence, &Failpoints::default())
    }

    /// Starts them, of a server that a test may interrupt.
    pub(crate) fn start_with_failpoints(
        app: &App,
        presence: Option<Presence>,
        failpoints: &Failpoints,
    ) -> Self {
        let (loops, stopping) = (TaskTracker::new(), CancellationToken::new());
        let n_places = usize::try_from(app.tasks.workers).unwrap_or(Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(n_places));
        for _ in 0..app.tasks.workers * LOOPS_PER_WORKER {
            let worker = TaskWorker::with_failpoints(app.clone(), failpoints.clone());
            let worker = worker.with_places(Arc::clone(&places));
            loops.spawn(work_tasks(app.clone(), worker, stopping.clone()));
        }
        loops.spawn(keep_up(app.clone(), stopping.clone()));
        loops.spawn(watch(app.clone(), stopping.clone()));
        if let Some(presence) = presence {
            loops.spawn(presence.keep(stopping.clone()));
        }
        loops.spawn(usernames::free(app.store.clone(), stopping.clone()));
        if let Some(backups) = app.backups.clone() {
            let stopping = stopping.clone();
            loops.spawn(async move { backups.keep(&stopping).await });
        }
        if let Some(checks) = app.checks.clone() {
            let stopping = stopping.clone();
            loops.spawn(async move { checks.keep(&stopping).await });
        }
        loops.close();
        Self { loops, stopping }
    }

    /// Ends them. What they had taken up is given back, for others to go on at once.
    pub async fn stop(self) {
        self.stopping.cancel();
        self.loops.wait().await;
    }
}

async fn work_tasks(app: App, mut worker: TaskWorker, stopping: CancellationToken) {
    while !stopping.is_cancelled() {
        match worker.take_up().await {
            Ok(Taken::Before) => {}
            // Where there was one thing there may be more.
            Ok(Taken::Now) => app.wake.notify_one(),
            Ok(Taken::Nothing) => {
                tokio::select! {
                    biased;
                    () = stopping.cancelled() => {}
                    () = app.wake.notified() => {}
                }
                continue;
            }
            Err(error) => {
                recover(&app, &error, &stopping).await;
                continue;
            }
        }
        let worked = tokio::select! {
            biased;
            () = stopping.cancelled() => break,
            worked = worker.work() => worked,
        };
        if let Err(error) = worked {
            recover(&app, &error, &stopping).await;
        }
    }
    if let Err(error) = worker.release_lease().await {
        tracing::warn!(%error, "a Task was not handed back; it goes on when its lease is over");
    }
}

async fn keep_up(app: App, stopping: CancellationToken) {
    while !stopping.is_cancelled() {
        match AssertUnwindSafe(app.run_upkeep_step()).catch_unwind().await {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => pause(&stopping).await,
            Ok(Err(error)) => recover(&app, &error, &stopping).await,
            Err(_) => {
                tracing::error!("a step of upkeep panicked; it is tried again");
                app.meter.failures.inc();
                pause(&stopping).await;
            }
        }
    }
}

/// Looks from time to time whether batches are due, and how long what is due has waited.
async fn watch(app: App, stopping: CancellationToken) {
    while !stopping.is_cancelled() {
        // Who can't look just now says so elsewhere.
        if let Ok(true) = app.measure_lag().await {
            app.wake.notify_one();
        }
        pause(&stopping).await;
    }
}

impl App {
    /// Measures how long the work has waited that has waited for longest; whether there are batches due.
    async fn measure_lag(&self) -> Result<bool, StoreError> {
        let now = self.store.now().await?;
        let mut tasks_are_due = false;
        for kind in WorkKind::ALL {
            let since = self.store.next_due(&[kind]).await?;
            let is_due = since.is_some_and(|since| since <= now);
            let milliseconds =
                since.map_or(0, |since| now.as_millisecond() - since.as_millisecond());
            self.meter.set_lag(kind, milliseconds.max(0));
            tasks_are_due |= is_due && kind == WorkKind::Tasks;
        }
        Ok(tasks_are_due)
    }

    /// Takes a step of each kind of upkeep; false when there was nothing to do.
    pub async fn run_upkeep_step(&self) -> Result<bool, Error> {
        // Both in any case: what fails in one must not keep the other from its work.
        let (swept, let_go) = (self.sweep_one().await, self.let_go_one().await);
        Ok(swept?.is_some() | let_go?)
    }

    /// What came of a step of upkeep: nothing, where somebody else is at it. What failed is put off.
    async fn settled<T>(
        &self,
        lease: &Lease,
        done: Result<T, WorkError>,
    ) -> Result<Option<T>, StoreError> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(WorkError::LeaseLost | WorkError::TaskChanged | WorkError::Interrupted(_)) => {
                Ok(None)
            }
            Err(WorkError::Store(error)) => {
                // Best effort: the lease runs out by itself.
                let _ = self.store.postpone(lease, PUT_OFF_MILLISECONDS).await;
                Err(error)
            }
        }
    }
}

/// Says what went wrong, and leaves the store alone for a while.
async fn recover(app: &App, error: &Error, stopping: &CancellationToken) {
    app.meter.failures.inc();
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::warn!(%error, cause, "work that was due failed; it is tried again");
    pause(stopping).await;
}

async fn pause(stopping: &CancellationToken) {
    tokio::select! {
        biased;
        () = stopping.cancelled() => {}
        () = tokio::time::sleep(LULL) => {}
    }
}

#[cfg(test)]
mod tests;
