//! A database in memory that several simulated servers share, for tests alone.
//!
//! It is one connection of SQLite's. Every call runs on the calling thread, as a whole, and waits for nothing but for what the
//! [`Network`] of its server says: that decides when a call arrives, whether it does, and when the answer is back. So a
//! simulation decides about every order and every failure, and can repeat them.
//!
//! Transactions are serializable here. What PostgreSQL's do to one another is not simulated.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rusqlite::Connection;

use super::Company;
use super::row::Value;
use super::sqlite::Session;
use super::work::{ReadRow, StartWork, TxFailed};
use crate::error::StoreError;

/// What a server asks of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SentCall {
    /// A statement, or several at one moment, that only look.
    Read,
    /// A transaction that changes something.
    Write,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It is answered.
    Answered,
    /// It never arrives, and the server gets an error.
    Unavailable,
    /// The connection breaks at the commit, which has happened. Reads are answered.
    LostCommitted,
    /// The connection breaks at the commit, which has not happened. Reads are answered.
    LostUndone,
}

/// The simulated connection between one server and the database. Answers arrive at once unless the implementation delays them.
pub trait Network: Send + Sync {
    /// Waits until a call arrives, and decides its fate. The calls of a dead server never arrive.
    fn send(&self, call: SentCall) -> BoxFuture<'_, Fate>;

    /// Called right after each commit of this server, before anything else happens.
    fn committed(&self, _: &Connection) {}

    /// Waits until the answer is back at the server.
    fn receive(&self, _: SentCall) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// The time that a stretch is said to have taken so far, instead of the time by the clock.
    fn elapsed(&self, by_clock: Duration) -> Duration {
        by_clock
    }

    /// Callers that are said to be blocked behind a transaction.
    fn company(&self) -> Company {
        Company::None
    }
}

/// A database that lasts as long as somebody holds it. Cheap to clone.
#[derive(Clone)]
pub struct InMemoryDatabase(Arc<Mutex<Session>>);

impl InMemoryDatabase {
    /// An empty one.
    pub fn new() -> Result<Self, StoreError> {
        let session = Session::in_memory()?;
        session.connection().set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        Ok(Self(Arc::new(Mutex::new(session))))
    }

    /// Runs statements beside the servers, between two of their calls.
    pub fn with<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        work(self.0.lock().connection())
    }
}

/// Statements that are kept ready: all that there are.
const STATEMENTS_MAX: usize = 256;

/// The database, as one server reaches it.
#[derive(Clone)]
pub(super) struct InMemory {
    link: Arc<Mutex<Session>>,
    network: Arc<dyn Network>,
}

impl InMemory {
    pub(super) fn new(database: &InMemoryDatabase, network: Arc<dyn Network>) -> Self {
        Self { link: Arc::clone(&database.0), network }
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
        if self.network.send(SentCall::Read).await == Fate::Unavailable {
            return Err(unavailable());
        }
        let read = self.link.lock().rows(sql, values, each);
        self.network.receive(SentCall::Read).await;
        read
    }

    pub(super) async fn write(&self, start: StartWork) -> Result<(), TxFailed> {
        let fate = self.network.send(SentCall::Write).await;
        if fate == Fate::Unavailable {
            return Err(unavailable().into());
        }
        let written = self.transact(start, fate != Fate::LostUndone);
        self.network.receive(SentCall::Write).await;
        match (fate, written) {
            (Fate::LostCommitted | Fate::LostUndone, Ok(())) => {
                Err(StoreError::Unsure("the simulated connection broke".into()).into())
            }
            (_, written) => written,
        }
    }

    pub(super) async fn snapshot(&self, start: StartWork) -> Result<(), TxFailed> {
        if self.network.send(SentCall::Read).await == Fate::Unavailable {
            return Err(unavailable().into());
        }
        let read = self.transact(start, false);
        self.network.receive(SentCall::Read).await;
        read
    }

    /// Runs a transaction, and commits it if it is to be kept and its work succeeds.
    fn transact(&self, mut start: StartWork, is_kept: bool) -> Result<(), TxFailed> {
        self.script("BEGIN IMMEDIATE")?;
        let work = start(super::Link::Sqlite(Arc::clone(&self.link)));
        let done = work.now_or_never().expect("nothing in memory ever waits");
        match done {
            Ok(()) if is_kept => {
                self.script("COMMIT")?;
                self.network.committed(self.link.lock().connection());
                Ok(())
            }
            done => {
                self.script("ROLLBACK")?;
                Ok(done?)
            }
        }
    }

    fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.link.lock().script(sql)
    }
}

fn unavailable() -> StoreError {
    StoreError::Unavailable("the simulated connection is down".into())
}
