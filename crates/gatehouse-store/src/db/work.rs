//! A transaction's work with its types erased, so that each driver is compiled once and not once for each write.
//!
//! A driver needs to know whether the work succeeded, and whether its error may pass. The result waits in a
//! [`ResultSlot`] for the caller, who knows its type.

use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;

use super::row::Row;
use super::{Link, Tx};
use crate::error::{ErrorKind, Failure, StoreError};
use crate::meter::Measured;

/// Receives the rows that a statement finds, one after the other. A read is retried only before the first row, so no row
/// comes twice; an error of the receiver's own must not be one that passes.
pub(super) type ReadRow<'a> = dyn FnMut(&Row<'_>) -> Result<(), StoreError> + Send + 'a;

/// Starts the work on a connection. A driver that runs the work again calls it again.
pub(super) type StartWork = Box<dyn FnMut(Link) -> RunningWork + Send>;

/// Work that is under way.
pub(super) type RunningWork = Pin<Box<dyn Future<Output = Result<(), WorkFailed>> + Send>>;

/// The work returned an error, which is in its slot.
#[derive(Debug)]
pub(crate) struct WorkFailed {
    /// The kind of the store's error; `None` where a rule of the caller's refused.
    kind: Option<ErrorKind>,
}

/// Why a transaction was not committed.
#[derive(Debug)]
pub(crate) enum TxFailed {
    /// Its work failed.
    Work(WorkFailed),
    /// The database failed around it.
    Store(StoreError),
}

impl Measured for TxFailed {
    fn kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Work(failed) => failed.kind,
            Self::Store(error) => Some(error.kind()),
        }
    }
}

impl From<StoreError> for TxFailed {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<WorkFailed> for TxFailed {
    fn from(failed: WorkFailed) -> Self {
        Self::Work(failed)
    }
}

/// Where the work leaves its result.
pub(super) struct ResultSlot<T, E>(Arc<Mutex<Option<Result<T, E>>>>);

impl<T, E> ResultSlot<T, E>
where
    T: Send + 'static,
    E: Failure + Send + 'static,
{
    fn new() -> Self {
        Self(Arc::default())
    }

    /// Runs the work, and leaves its result here.
    fn run(&self, work: impl Future<Output = Result<T, E>> + Send + 'static) -> RunningWork {
        let slot = Arc::clone(&self.0);
        Box::pin(async move {
            let result = work.await;
            let kind = result.as_ref().err().map(|error| error.of_store().map(StoreError::kind));
            *slot.lock() = Some(result);
            kind.map_or(Ok(()), |kind| Err(WorkFailed { kind }))
        })
    }

    /// The result of the work, or why the transaction around it failed.
    pub(super) fn take(self, ended: Result<(), TxFailed>) -> Result<T, E> {
        match ended {
            Err(TxFailed::Store(error)) => Err(error.into()),
            Ok(()) | Err(TxFailed::Work(_)) => {
                self.0.lock().take().expect("work that has ended has left its result")
            }
        }
    }
}

/// Erases work. A driver that runs the work again calls `work` again.
pub(super) fn erase<T, E, Run>(
    tx: impl FnOnce(Link) -> Tx + Clone + Send + 'static,
    mut work: impl FnMut(Tx) -> Run + Send + 'static,
) -> (StartWork, ResultSlot<T, E>)
where
    T: Send + 'static,
    E: Failure + Send + 'static,
    Run: Future<Output = Result<T, E>> + Send + 'static,
{
    let slot = ResultSlot::new();
    let results = ResultSlot(Arc::clone(&slot.0));
    let start = move |link| results.run(work(tx.clone()(link)));
    (Box::new(start), slot)
}

/// Work for a driver that runs it once: moved, not cloned.
pub(super) fn once<Run>(work: impl FnOnce(Tx) -> Run) -> impl FnMut(Tx) -> Run {
    let mut work = Some(work);
    move |tx| work.take().expect("a driver that runs work once runs it once")(tx)
}

/// Work for a driver that may run it several times; where it `runs_once`, moved and not cloned.
pub(super) fn repeatable<Run>(
    runs_once: bool,
    work: impl FnOnce(Tx) -> Run + Clone,
) -> impl FnMut(Tx) -> Run {
    let mut work = Some(work);
    move |tx| {
        let work = if runs_once { work.take() } else { work.clone() };
        work.expect("a driver that runs work once runs it once")(tx)
    }
}

/// Receives rows into a list, each as `read` makes it.
pub(super) fn collect_into<'a, T: Send>(
    found: &'a mut Vec<T>,
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send + 'a,
) -> impl FnMut(&Row<'_>) -> Result<(), StoreError> + Send + 'a {
    move |row| {
        found.push(read(row)?);
        Ok(())
    }
}
