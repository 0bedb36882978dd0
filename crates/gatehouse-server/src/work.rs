//! Work that nobody waits for: batches, ends that have come, what has had its time.
//!
//! Each kind of work has a step that takes up what is due, does little of it, all of that or nothing, and
//! says what it did. Any server can take it at any time; what is left is due again. Tests take the steps
//! one by one, a server in loops.

pub mod lifecycle;
mod meter;
mod pace;
pub mod retention;
pub mod task;

pub(crate) use meter::WorkMeter;

use std::time::Duration;

use gatehouse_store::{DueKind, StoreError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::{App, Error};
use task::TaskWorker;

/// How long a loop without work waits before it looks again: others may have left something due.
const LULL: Duration = Duration::from_secs(1);

/// How often it is looked how long work has waited.
const WATCH: Duration = Duration::from_secs(5);

/// What the second loop takes up.
const UPKEEP: [DueKind; 4] = [DueKind::Ends, DueKind::Secret, DueKind::Answer, DueKind::Task];

/// The loops of a server.
pub struct Workers {
    loops: TaskTracker,
    stopping: CancellationToken,
}

impl Workers {
    /// Starts them.
    pub fn start(app: &App) -> Self {
        let (loops, stopping) = (TaskTracker::new(), CancellationToken::new());
        for _ in 0..app.tasks.workers {
            loops.spawn(work_tasks(app.clone(), stopping.clone()));
        }
        loops.spawn(keep_up(app.clone(), stopping.clone()));
        loops.spawn(watch(app.clone(), stopping.clone()));
        loops.close();
        Self { loops, stopping }
    }

    /// Ends them. What they had taken up is given back, for others to go on at once.
    pub async fn stop(self) {
        self.stopping.cancel();
        self.loops.wait().await;
    }
}

async fn work_tasks(app: App, stopping: CancellationToken) {
    let mut worker = TaskWorker::new(app.clone());
    while !stopping.is_cancelled() {
        match worker.take_up().await {
            Ok(true) => {}
            Ok(false) => {
                lie_idle(&app, &[DueKind::Tasks], &stopping).await;
                continue;
            }
            Err(error) => {
                recover(&app, &error, &stopping).await;
                continue;
            }
        }
        let worked = tokio::select! {
            worked = worker.work() => worked,
            () = stopping.cancelled() => break,
        };
        if let Err(error) = worked {
            recover(&app, &error, &stopping).await;
        }
    }
    if let Err(error) = worker.hand_back().await {
        tracing::warn!(%error, "a Task was not handed back; it goes on when its lease is over");
    }
}

async fn keep_up(app: App, stopping: CancellationToken) {
    while !stopping.is_cancelled() {
        match app.keep_up_one().await {
            Ok(true) => {}
            Ok(false) => lie_idle(&app, &UPKEEP, &stopping).await,
            Err(error) => recover(&app, &error, &stopping).await,
        }
    }
}

/// Looks from time to time how long what is due has waited.
async fn watch(app: App, stopping: CancellationToken) {
    loop {
        // Who can't look just now says so elsewhere.
        let _ = app.measure_lag().await;
        tokio::select! {
            () = stopping.cancelled() => return,
            () = tokio::time::sleep(WATCH) => {}
        }
    }
}

impl App {
    /// Measures how long the work has waited that has waited for longest.
    async fn measure_lag(&self) -> Result<(), StoreError> {
        for kind in DueKind::ALL {
            let since = self.store.next_due(&[kind]).await?;
            let milliseconds =
                since.map_or(0, |since| self.now().as_millisecond() - since.as_millisecond());
            self.meter.set_lag(kind, milliseconds.max(0));
        }
        Ok(())
    }

    /// Takes one step of what keeps the house in order; false when there was nothing to do.
    pub async fn keep_up_one(&self) -> Result<bool, Error> {
        Ok(self.sweep_one().await?.is_some() || self.let_go_one().await?)
    }
}

/// Waits until there may be something to do.
async fn lie_idle(app: &App, kinds: &[DueKind], stopping: &CancellationToken) {
    loop {
        tokio::select! {
            () = app.wake.notified(), if kinds == [DueKind::Tasks] => return,
            () = stopping.cancelled() => return,
            () = tokio::time::sleep(LULL) => {}
        }
        match app.store.next_due(kinds).await {
            Ok(Some(due)) if due <= app.now() => return,
            Ok(_) => {}
            Err(error) => recover(app, &error.into(), stopping).await,
        }
    }
}

/// Says what went wrong, and leaves the store alone for a while.
async fn recover(app: &App, error: &Error, stopping: &CancellationToken) {
    app.meter.failures.inc();
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::warn!(%error, cause, "work that was due failed; it is tried again");
    tokio::select! {
        () = stopping.cancelled() => {}
        () = tokio::time::sleep(LULL) => {}
    }
}

#[cfg(test)]
mod tests;
