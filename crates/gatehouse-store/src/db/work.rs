//! A transaction's work with its types erased, so that each driver is compiled once and not once for each write.
//!
//! A driver needs to know whether the work succeeded, and whether its error is transient. The result stays in a
//! [`ResultSlot`] for the caller, which knows its type.

use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;

use super::row::Row;
use super::{Tx, TxSession};
use crate::error::{ErrorKind, RuleError, StoreError};
use crate::meter::Measured;

/// Receives the rows of a query, one after the other. A read is retried only before the first row, so no row comes
/// twice. An error that the receiver returns must not look transient.
pub(super) type ReadRow<'a> = dyn FnMut(&Row<'_>) -> Result<(), StoreError> + Send + 'a;

/// Starts the work on a connection. A driver that retries calls it again.
pub(super) type StartWork = Box<dyn FnMut(TxSession) -> RunningWork + Send>;

/// Work in progress.
pub(super) type RunningWork = Pin<Box<dyn Future<Output = Result<(), WorkFailed>> + Send>>;

/// The work returned an error, which is in its [`ResultSlot`].
#[derive(Debug)]
pub(crate) struct WorkFailed {
    /// Kind of the store's error; `None` where a rule of the caller refused.
    kind: Option<ErrorKind>,
}

/// Why a transaction was not committed.
#[derive(Debug)]
pub(crate) enum TxFailed {
    /// The work failed.
    Work(WorkFailed),
    /// The database failed while it began, ran or committed the transaction.
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

/// Holds the result of the work until the caller takes it.
pub(super) struct ResultSlot<T, E>(Arc<Mutex<Option<Result<T, E>>>>);

impl<T, E> ResultSlot<T, E>
where
    T: Send + 'static,
    E: RuleError + Send + 'static,
{
    fn new() -> Self {
        Self(Arc::default())
    }

    /// Runs the work and stores its result in the slot.
    fn run(&self, work: impl Future<Output = Result<T, E>> + Send + 'static) -> RunningWork {
        let slot = Arc::clone(&self.0);
        Box::pin(async move {
            let result = work.await;
            let kind = result.as_ref().err().map(|error| error.of_store().map(StoreError::kind));
            *slot.lock() = Some(result);
            kind.map_or(Ok(()), |kind| Err(WorkFailed { kind }))
        })
    }

    /// Returns the work's result, or the error of the transaction around it.
    pub(super) fn take(self, ended: Result<(), TxFailed>) -> Result<T, E> {
        match ended {
            Err(TxFailed::Store(error)) => Err(error.into()),
            Ok(()) | Err(TxFailed::Work(_)) => {
                self.0.lock().take().expect("work that has ended has left its result")
            }
        }
    }
}

/// Erases the types of `work`, which a driver that retries calls again.
pub(super) fn erase<T, E, Run>(
    tx: impl FnOnce(TxSession) -> Tx + Clone + Send + 'static,
    mut work: impl FnMut(Tx) -> Run + Send + 'static,
) -> (StartWork, ResultSlot<T, E>)
where
    T: Send + 'static,
    E: RuleError + Send + 'static,
    Run: Future<Output = Result<T, E>> + Send + 'static,
{
    let slot = ResultSlot::new();
    let results = ResultSlot(Arc::clone(&slot.0));
    let start = move |session| results.run(work(tx.clone()(session)));
    (Box::new(start), slot)
}

/// Turns work into a function that can be called repeatedly. Where it `runs_once`, the work is moved instead of cloned.
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

/// Makes a row receiver that pushes what `read` returns onto `found`.
pub(super) fn collect_into<'a, T: Send>(
    found: &'a mut Vec<T>,
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send + 'a,
) -> impl FnMut(&Row<'_>) -> Result<(), StoreError> + Send + 'a {
    move |row| {
        found.push(read(row)?);
        Ok(())
    }
}
