//! A database in memory that several simulated servers share, for tests alone.
//!
//! All servers share one SQLite connection. Every call runs on the calling thread, without interruption. The
//! [`Network`] of its server decides when the call arrives, whether it does, and when the response is back. So a
//! simulation controls every order and every failure, and can repeat them.
//!
//! Transactions are serializable here. Conflicts between PostgreSQL's transactions are not simulated.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rusqlite::Connection;

use super::Waiters;
use super::row::Value;
use super::sqlite::Session;
use super::work::{ReadRow, StartWork, TxFailed};
use crate::error::StoreError;

/// Kind of a server's call to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatabaseCall {
    /// One or several statements that only read.
    Read,
    /// A transaction that writes.
    Write,
}

/// Fate of a call, which the [`Network`] decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallFate {
    /// The server gets the response.
    Answered,
    /// The call never arrives, and the server gets an error.
    Unavailable,
    /// The connection breaks during the COMMIT, which succeeds. A read gets its response.
    LostCommitted,
    /// The connection breaks during the COMMIT, which fails. A read gets its response.
    LostUndone,
}

/// The simulated connection between one server and the database. Responses arrive at once unless the implementation
/// delays them.
pub trait Network: Send + Sync {
    /// Waits until a call arrives, and decides its fate. Calls of a dead server never arrive.
    fn send(&self, call: DatabaseCall) -> BoxFuture<'_, CallFate>;

    /// Called right after each commit of this server, before anything else happens.
    fn committed(&self, _: &Connection) {}

    /// Waits until the response is back at the server.
    fn receive(&self, _: DatabaseCall) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Simulated time that a chunk has taken so far, in place of the time by the clock.
    fn elapsed(&self, by_clock: Duration) -> Duration {
        by_clock
    }

    /// Simulated callers blocked behind a transaction.
    fn waiters(&self) -> Waiters {
        Waiters::None
    }
}

/// A database that exists until its last clone is dropped. Cheap to clone.
#[derive(Clone)]
pub struct InMemoryDatabase(Arc<Mutex<Session>>);

impl InMemoryDatabase {
    /// Creates an empty database.
    pub fn new() -> Result<Self, StoreError> {
        let session = Session::in_memory()?;
        session.connection().set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        Ok(Self(Arc::new(Mutex::new(session))))
    }

    /// Runs statements outside of the simulated servers, between two of their calls.
    pub fn with<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        work(self.0.lock().connection())
    }
}

/// Cached prepared statements: room for all that there are.
const STATEMENTS_MAX: usize = 256;

/// One server's connection to the database.
#[derive(Clone)]
pub(super) struct InMemory {
    session: Arc<Mutex<Session>>,
    network: Arc<dyn Network>,
}

impl InMemory {
    pub(super) fn new(database: &InMemoryDatabase, network: Arc<dyn Network>) -> Self {
        Self { session: Arc::clone(&database.0), network }
    }

    pub(super) fn network(&self) -> Arc<dyn Network> {
        Arc::clone(&self.network)
    }

    pub(super) async fn read(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        each: &mut ReadRow<'_>,
    ) -> Result<(), StoreError> {
        if self.network.send(DatabaseCall::Read).await == CallFate::Unavailable {
            return Err(unavailable());
        }
        let read = self.session.lock().rows(sql, values, each);
        self.network.receive(DatabaseCall::Read).await;
        read
    }

    pub(super) async fn write(&self, start: StartWork) -> Result<(), TxFailed> {
        let fate = self.network.send(DatabaseCall::Write).await;
        if fate == CallFate::Unavailable {
            return Err(unavailable().into());
        }
        let written = self.transact(start, fate != CallFate::LostUndone);
        self.network.receive(DatabaseCall::Write).await;
        match (fate, written) {
            (CallFate::LostCommitted | CallFate::LostUndone, Ok(())) => {
                Err(StoreError::OutcomeUnknown("the simulated connection was lost".into()).into())
            }
            (_, written) => written,
        }
    }

    pub(super) async fn snapshot(&self, start: StartWork) -> Result<(), TxFailed> {
        if self.network.send(DatabaseCall::Read).await == CallFate::Unavailable {
            return Err(unavailable().into());
        }
        let read = self.transact(start, false);
        self.network.receive(DatabaseCall::Read).await;
        read
    }

    /// Runs a transaction, and commits it if `is_kept` and the work succeeds.
    fn transact(&self, mut start: StartWork, is_kept: bool) -> Result<(), TxFailed> {
        self.script("BEGIN IMMEDIATE")?;
        let work = start(super::TxSession::Sqlite(Arc::clone(&self.session)));
        let done = work.now_or_never().expect("nothing in memory ever waits");
        match done {
            Ok(()) if is_kept => {
                self.script("COMMIT")?;
                self.network.committed(self.session.lock().connection());
                Ok(())
            }
            done => {
                self.script("ROLLBACK")?;
                Ok(done?)
            }
        }
    }

    fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.session.lock().script(sql)
    }
}

fn unavailable() -> StoreError {
    StoreError::Unavailable("the simulated connection is down".into())
}
