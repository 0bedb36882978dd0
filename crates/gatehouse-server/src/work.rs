//! Background work: batches, expiry of accesses, deletion of expired data, the server's heartbeat, the release of
//! usernames, the journals with their followers and the audit, the counted sets, the indexes of starts and ends, and
//! backups and checks of the embedded store.
//!
//! Each kind of work has a step that claims due work, does a little in one transaction, and returns what it did. Any
//! server can run it at any time; the rest is due again. Tests run single steps, a server runs loops.

mod audit;
pub(crate) mod backup;
pub(crate) mod check;
mod chunk_size;
pub(crate) mod event_watch;
mod heartbeat;
mod hook_uses;
pub mod journal;
pub mod lifecycle;
pub(crate) mod meter;
pub mod retention;
mod retry;
mod sets;
pub mod task;
mod time_indexes;
mod usernames;

pub(crate) use audit::finish as finish_audit;
pub(crate) use heartbeat::Heartbeat;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use gatehouse_store::{Lease, StoreError, WorkError, WorkKind};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::{App, Error};
use task::{Claim, TaskWorker};

/// Polling interval for due work, which other servers may have left.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Lease time of an upkeep step.
const LEASE_MILLISECONDS: i64 = 60_000;

/// Delay of failed work.
const RETRY_DELAY_MILLISECONDS: i64 = 1000;

/// Loops per permit: a loop that waits for slow hashes holds none.
const LOOPS_PER_WORKER: u64 = 4;

/// A server's loops.
pub struct Workers {
    loops: TaskTracker,
    stopping: CancellationToken,
}

impl Workers {
    /// Starts the loops, including the heartbeat if there is one.
    pub(crate) fn start(app: &App, heartbeat: Option<Heartbeat>) -> Self {
        let (loops, stopping) = (TaskTracker::new(), CancellationToken::new());
        let n_permits = usize::try_from(app.tasks.workers).unwrap_or(Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(n_permits));
        for _ in 0..app.tasks.workers * LOOPS_PER_WORKER {
            let worker = TaskWorker::new(app.clone());
            let worker = worker.with_permits(Arc::clone(&permits));
            loops.spawn(work_tasks(app.clone(), worker, stopping.clone()));
        }
        loops.spawn(run_upkeep(app.clone(), stopping.clone()));
        loops.spawn(watch_queue(app.clone(), stopping.clone()));
        if let Some(heartbeat) = heartbeat {
            loops.spawn(heartbeat.run(stopping.clone()));
        }
        loops.spawn(usernames::enable_reuse(app.store.clone(), stopping.clone()));
        loops.spawn(journal::number(app.clone(), stopping.clone()));
        loops.spawn(audit::write_counts(app.clone(), stopping.clone()));
        loops.spawn(hook_uses::write(app.clone(), stopping.clone()));
        loops.spawn(journal::keep_up(app.clone(), stopping.clone()));
        let (watch, store) = (Arc::clone(&app.event_watch), app.store.clone());
        let watching = stopping.clone();
        loops.spawn(async move { watch.run(&store, &watching).await });
        loops.spawn(sets::build(app.store.clone(), stopping.clone()));
        loops.spawn(time_indexes::build(app.store.clone(), stopping.clone()));
        if let Some(backups) = app.backups.clone() {
            let stopping = stopping.clone();
            loops.spawn(async move { backups.run(&stopping).await });
        }
        if let Some(checks) = app.checks.clone() {
            let stopping = stopping.clone();
            loops.spawn(async move { checks.run(&stopping).await });
        }
        loops.close();
        Self { loops, stopping }
    }

    /// Stops the loops. They release their leases, so that other servers continue at once.
    pub async fn stop(self) {
        self.stopping.cancel();
        self.loops.wait().await;
    }
}

async fn work_tasks(app: App, mut worker: TaskWorker, stopping: CancellationToken) {
    while !stopping.is_cancelled() {
        match worker.claim().await {
            Ok(Claim::Held) => {}
            // There may be more.
            Ok(Claim::New) => app.wake.notify_one(),
            Ok(Claim::NothingDue) => {
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

async fn run_upkeep(app: App, stopping: CancellationToken) {
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

/// Polls for due batches, and measures the lag of due work.
async fn watch_queue(app: App, stopping: CancellationToken) {
    while !stopping.is_cancelled() {
        // Errors are logged by the loops that do the work.
        if let Ok(true) = app.measure_lag().await {
            app.wake.notify_one();
        }
        pause(&stopping).await;
    }
}

impl App {
    /// Measures the lag of each kind of work; returns whether batches are due.
    async fn measure_lag(&self) -> Result<bool, StoreError> {
        let now = self.store.now().await?;
        let mut tasks_are_due = false;
        for kind in WorkKind::ALL {
            // Without NATS, its work stays where it is.
            if kind == WorkKind::Outlet && self.events.nats.servers.is_empty() {
                continue;
            }
            let since = self.store.next_due(&[kind]).await?;
            let is_due = since.is_some_and(|since| since <= now);
            let milliseconds =
                since.map_or(0, |since| now.as_millisecond() - since.as_millisecond());
            self.meter.set_lag(kind, milliseconds.max(0));
            tasks_are_due |= is_due && kind == WorkKind::UnfinishedTasks;
        }
        Ok(tasks_are_due)
    }

    /// Runs one step of each kind of upkeep; false if there was nothing to do.
    pub async fn run_upkeep_step(&self) -> Result<bool, Error> {
        // Both in any case: a failure of one must not block the other.
        let (swept, deleted) = (self.sweep_one().await, self.delete_expired_once().await);
        Ok(swept?.is_some() | deleted?)
    }

    /// Result of an upkeep step: `None` if another worker has taken over. Postpones failed work.
    async fn finish_step<T>(
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
                // Best effort: the lease expires anyway.
                let _ = self.store.postpone(lease, RETRY_DELAY_MILLISECONDS).await;
                Err(error)
            }
        }
    }
}

/// Logs the error, and waits before the next step.
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
        () = tokio::time::sleep(POLL_INTERVAL) => {}
    }
}

#[cfg(test)]
mod tests;
