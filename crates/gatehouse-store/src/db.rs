//! The two databases, as one. Nothing outside this module knows which is there. (A third, in memory, is for tests that simulate
//! several servers.)
//!
//! Statements are written once, with `?1`, `?2`, … for values, in the part of SQL that both
//! understand. Values and columns are 64-bit integers, texts and bytes.
//!
//! Reads run where they are asked for: on SQLite directly on the caller's thread, on PostgreSQL
//! pipelined over a few shared connections. A write is an async function of a [`Tx`]. On SQLite it
//! runs on the one writer thread and never waits; on PostgreSQL it has a connection for itself. What
//! looks at many rows is a [`Db::snapshot`]: few at a time, out of the way of everything else.

mod in_memory;
mod lane;
mod postgres;
mod row;
mod sqlite;
mod work;

pub use in_memory::{Fate, InMemoryDatabase, Network, SentCall};
pub(crate) use postgres::Session;
pub use postgres::{DatabaseUrl, PATIENCE};
pub(crate) use row::{Cell, Row, Value};
#[cfg(test)]
pub(crate) use sqlite::Pace;
pub(crate) use sqlite::{Debt, Duty, Health, Location, look};
pub use sqlite::{LastEnd, Opener};
pub(crate) use work::TxFailed;

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{TenantName, Timestamp};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::error::{DiskTrouble, Failure, StoreError};
use crate::meter::{Kind, StoreMeter};
use work::{ReadRow, StartWork, collect_into, once, repeatable};

/// How long a request may look at many rows.
pub const SNAPSHOT_SECONDS_MAX: u64 = 10;

/// Time limit of a request that looks at many rows.
pub(crate) const FOR_A_REQUEST: Duration = Duration::from_secs(SNAPSHOT_SECONDS_MAX);

/// Caller of a snapshot, which decides the turn that the snapshot takes and its time limit.
#[derive(Clone, Copy)]
pub(crate) enum SnapshotFor<'a> {
    /// A tenant's request, in the tenant's turn and with the limit of requests.
    Tenant(&'a TenantName),
    /// Work of the server or of an operator, with this limit.
    Server(Option<Duration>),
}

impl<'a> SnapshotFor<'a> {
    fn tenant(self) -> Option<&'a TenantName> {
        match self {
            Self::Tenant(tenant) => Some(tenant),
            Self::Server(_) => None,
        }
    }

    fn limit(self) -> Option<Duration> {
        match self {
            Self::Tenant(_) => Some(FOR_A_REQUEST),
            Self::Server(limit) => limit,
        }
    }
}

/// How long a write may take on PostgreSQL that may take long.
const LONG_WRITE_MAX: Duration = Duration::from_secs(60);

/// How long the database may take to say that it is there.
const PING_MAX: Duration = Duration::from_secs(1);

/// A database of either kind.
#[derive(Clone)]
pub(crate) struct Db {
    engine: Engine,
    clock: Clock,
    meter: Arc<StoreMeter>,
}

#[derive(Clone)]
enum Engine {
    Sqlite(Arc<sqlite::Sqlite>),
    Postgres(Arc<postgres::Postgres>),
    /// Tests alone have one.
    InMemory(in_memory::InMemory),
}

/// Which of the two it is, for what can't be written once: migrations and bulk statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Db {
    pub(crate) fn open_sqlite(
        place: impl Into<Location>,
        duty: Duty,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        let meter = Arc::new(StoreMeter::new());
        let db = sqlite::Sqlite::open(place.into(), duty, Arc::clone(&meter))?;
        Ok(Self { engine: Engine::Sqlite(Arc::new(db)), clock, meter })
    }

    /// An embedded database that can only be read.
    pub(crate) fn attach_sqlite(
        place: impl Into<Location>,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        let meter = Arc::new(StoreMeter::new());
        let db = sqlite::Sqlite::attach(place.into(), Arc::clone(&meter))?;
        Ok(Self { engine: Engine::Sqlite(Arc::new(db)), clock, meter })
    }

    pub(crate) fn open_postgres(url: &DatabaseUrl, clock: Clock) -> Result<Self, StoreError> {
        let meter = Arc::new(StoreMeter::new());
        let engine = Engine::Postgres(Arc::new(postgres::Postgres::new(url, Arc::clone(&meter))));
        Ok(Self { engine, clock, meter })
    }

    /// A database in memory, as one of the servers that share it reaches it.
    pub(crate) fn open_in_memory(
        database: &InMemoryDatabase,
        network: Arc<dyn Network>,
        clock: Clock,
    ) -> Self {
        let engine = Engine::InMemory(in_memory::InMemory::new(database, network));
        Self { engine, clock, meter: Arc::new(StoreMeter::new()) }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self.engine {
            Engine::Sqlite(_) | Engine::InMemory(_) => Dialect::Sqlite,
            Engine::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Whether other servers may use the same database.
    pub(crate) fn is_shared(&self) -> bool {
        match self.engine {
            Engine::Sqlite(_) => false,
            Engine::Postgres(_) | Engine::InMemory(_) => true,
        }
    }

    pub(crate) fn meter(&self) -> &StoreMeter {
        &self.meter
    }

    /// What `read` makes of the rows that a statement finds. It sees each of them once, in their order.
    pub(crate) async fn rows<T: Send>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.read(sql, values, &mut collect_into(&mut found, read)).await?;
        Ok(found)
    }

    async fn read(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        each: &mut ReadRow<'_>,
    ) -> Result<(), StoreError> {
        let read = pin!(async {
            match &self.engine {
                Engine::Sqlite(db) => db.read(|session| session.rows(sql, values, each)),
                Engine::Postgres(db) => db.read(sql, values, each).await,
                Engine::InMemory(db) => db.read(sql, values, each).await,
            }
        });
        self.meter.watch(Kind::Read, read).await
    }

    /// The one row that a statement finds, if it finds one.
    pub(crate) async fn row<T: Send>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Option<T>, StoreError> {
        self.rows(sql, values, read).await.map(|rows| rows.into_iter().next())
    }

    /// Whether the driver never runs work again: SQLite's has nothing that passes.
    fn runs_work_once(&self) -> bool {
        self.dialect() == Dialect::Sqlite
    }

    /// Makes transactions out of the links that the drivers give.
    fn tx(&self) -> impl FnOnce(Link) -> Tx + Clone + Send + 'static {
        let (clock, meter) = (self.clock.clone(), Arc::clone(&self.meter));
        let network = match &self.engine {
            Engine::Sqlite(_) | Engine::Postgres(_) => None,
            Engine::InMemory(db) => Some(db.network()),
        };
        move |link| Tx { link, clock, meter, network }
    }

    /// Runs one write, which waits in this line: all of it happens, durably, or, when it returns an error other than
    /// [`StoreError::Unsure`], nothing. PostgreSQL may have to run it more than once, until it happens.
    pub(crate) async fn write<T, E, Work, Run>(&self, line: Line, work: Work) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure + Send + 'static,
        Work: FnOnce(Tx) -> Run + Clone + Send + 'static,
        Run: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (start, result) = work::erase(self.tx(), repeatable(self.runs_work_once(), work));
        result.take(self.transact(Limit::Short(line), start).await)
    }

    /// Runs one write of a tenant's that may take long, and asks for [`Tx::company`] where it can stop early. The
    /// driver runs it once, and begins a transaction for it alone.
    pub(crate) async fn write_long<T, E, Work, Run>(
        &self,
        tenant: TenantName,
        work: Work,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure + Send + 'static,
        Work: FnOnce(Tx) -> Run + Send + 'static,
        Run: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.write_once(Line::Of(tenant), LONG_WRITE_MAX, work).await
    }

    /// Runs one write that takes as long as it takes, once: the schema may have much to go through.
    pub(crate) async fn write_unlimited<T, E, Work, Run>(&self, work: Work) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure + Send + 'static,
        Work: FnOnce(Tx) -> Run + Send + 'static,
        Run: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.write_once(Line::Own, Duration::MAX, work).await
    }

    /// How many writes of tenants wait for their turn.
    #[cfg(test)]
    pub(crate) fn n_waiting(&self) -> usize {
        match &self.engine {
            Engine::Sqlite(_) | Engine::InMemory(_) => 0,
            Engine::Postgres(db) => db.n_waiting(),
        }
    }

    /// Runs a statement of PostgreSQL's that goes into no transaction, on a connection of its own. It takes as long as
    /// it takes.
    pub(crate) async fn run_alone(&self, sql: &str) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(_) | Engine::InMemory(_) => {
                Err(StoreError::corrupt("every statement of SQLite's can go into one"))
            }
            Engine::Postgres(db) => db.run_alone(sql).await,
        }
    }

    async fn write_once<T, E, Work, Run>(
        &self,
        line: Line,
        limit: Duration,
        work: Work,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure + Send + 'static,
        Work: FnOnce(Tx) -> Run + Send + 'static,
        Run: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (start, result) = work::erase(self.tx(), once(work));
        result.take(self.transact(Limit::Long(line, limit), start).await)
    }

    async fn transact(&self, limit: Limit, start: StartWork) -> Result<(), TxFailed> {
        let written = pin!(async {
            match (&self.engine, limit) {
                (Engine::Sqlite(db), Limit::Short(_)) => db.write(Length::Short, start).await,
                (Engine::Sqlite(db), Limit::Long(..)) => db.write(Length::Long, start).await,
                (Engine::Postgres(db), Limit::Short(line)) => db.write(line, start).await,
                (Engine::Postgres(db), Limit::Long(line, limit)) => {
                    db.write_once(line, limit, start).await
                }
                (Engine::InMemory(db), _) => db.write(start).await,
            }
        });
        self.meter.watch(Kind::Write, written).await
    }

    /// Runs reads that look at many rows, all of them at one moment: away from the threads that answer
    /// requests, and, where there is a limit, not for longer than that. PostgreSQL may have to run them more than once.
    pub(crate) async fn snapshot<T, Work, Run>(
        &self,
        caller: SnapshotFor<'_>,
        work: Work,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        Work: FnOnce(Tx) -> Run + Clone + Send + 'static,
        Run: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let (start, result) = work::erase(self.tx(), repeatable(self.runs_work_once(), work));
        result.take(self.look(caller, start).await)
    }

    async fn look(&self, caller: SnapshotFor<'_>, start: StartWork) -> Result<(), TxFailed> {
        let read = pin!(async {
            match &self.engine {
                Engine::Sqlite(db) => db.snapshot(caller, start).await,
                Engine::Postgres(db) => db.snapshot(caller, start).await,
                Engine::InMemory(db) => db.snapshot(start).await,
            }
        });
        self.meter.watch(Kind::Snapshot, read).await
    }

    /// Whether the database answers now and takes writes: PostgreSQL as far as can be told without one.
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        let db = match &self.engine {
            Engine::Sqlite(db) => db,
            Engine::Postgres(db) => return db.ping(PING_MAX).await,
            Engine::InMemory(_) => return Ok(()),
        };
        let probed = tokio::time::timeout(PING_MAX, async {
            let _turn = db.probe_turn().await;
            if let Some(told) = db.is_well() {
                return told.map_err(StoreError::NotReady);
            }
            let touched = self.write(Line::Own, async |tx| tx.touch().await).await;
            if db.health().trouble() == Some(DiskTrouble::Full) {
                let _ = db.move_log().await;
            }
            // The disk's health says more than an error does.
            db.health().trouble().map_or(touched, |trouble| Err(StoreError::NotReady(trouble)))
        });
        probed.await.unwrap_or(Err(StoreError::NotReady(DiskTrouble::Stuck)))?;
        self.rows("SELECT 1 FROM tenant LIMIT 1", &[], |_| Ok(())).await.map(drop)
    }

    /// How SQLite's disk is.
    pub(crate) fn health(&self) -> Option<&Health> {
        match &self.engine {
            Engine::Sqlite(db) => Some(db.health()),
            Engine::Postgres(_) | Engine::InMemory(_) => None,
        }
    }

    /// Has the next start know that what was begun here is complete, and was found to be whole.
    pub(crate) fn settle(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(db) => db.settle(),
            Engine::Postgres(_) | Engine::InMemory(_) => Ok(()),
        }
    }

    /// The file of SQLite's database.
    pub(crate) fn sqlite_file(&self) -> Option<&Path> {
        match &self.engine {
            Engine::Sqlite(db) => Some(db.file()),
            Engine::Postgres(_) | Engine::InMemory(_) => None,
        }
    }

    /// Moves SQLite's log into the database and cuts it off; false when readers stood in the way.
    pub(crate) async fn truncate_log(&self) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(db) => db.truncate_log().await,
            Engine::Postgres(_) | Engine::InMemory(_) => Ok(true),
        }
    }

    /// The database's time: a server's own, which is the same for all of its clients.
    pub(crate) async fn now(&self) -> Result<Timestamp, StoreError> {
        match &self.engine {
            Engine::Postgres(_) if self.clock.is_machine() => {
                let now = self.row(postgres::NOW, &[], |row| row.time(0)).await?;
                now.ok_or_else(|| StoreError::corrupt("the server has no clock"))
            }
            Engine::Sqlite(_) | Engine::Postgres(_) | Engine::InMemory(_) => Ok(self.clock.now()),
        }
    }

    /// Lets go of the database; SQLite first finishes the writes that wait.
    pub(crate) async fn close(&self) {
        match &self.engine {
            Engine::Sqlite(db) => db.close().await,
            Engine::Postgres(db) => db.close(),
            Engine::InMemory(_) => {}
        }
    }
}

/// Where a write waits for its turn. SQLite has one line for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// With those of this tenant.
    Of(TenantName),
    /// With a server's own, which are few.
    Own,
    /// With a server's own signs of life.
    Beats,
}

/// How long a write may take, and where it waits.
#[derive(Clone, Debug)]
enum Limit {
    Short(Line),
    /// On PostgreSQL, this long.
    Long(Line, Duration),
}

/// Whether a write may take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Short,
    Long,
}

/// Who waits for what a transaction keeps from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Company {
    /// Nobody.
    None,
    /// Other batches, for which nobody waits in turn.
    Batches,
    /// Somebody who asked for something.
    Requests,
}

/// A transaction that is under way.
#[derive(Clone)]
pub(crate) struct Tx {
    link: Link,
    clock: Clock,
    meter: Arc<StoreMeter>,
    /// Of a database in memory: what it says of time and company.
    network: Option<Arc<dyn Network>>,
}

#[derive(Clone)]
enum Link {
    // Behind a lock that nobody else takes: a connection may change threads but not be shared.
    Sqlite(Arc<Mutex<sqlite::Session>>),
    Postgres(Arc<postgres::Session>),
}

impl Tx {
    pub(crate) fn dialect(&self) -> Dialect {
        match self.link {
            Link::Sqlite(_) => Dialect::Sqlite,
            Link::Postgres(_) => Dialect::Postgres,
        }
    }

    /// What `read` makes of the rows that a statement finds. It sees each of them once, in their order.
    pub(crate) async fn rows<T: Send>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.read(sql, values, &mut collect_into(&mut found, read)).await?;
        Ok(found)
    }

    async fn read(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        each: &mut ReadRow<'_>,
    ) -> Result<(), StoreError> {
        match &self.link {
            Link::Sqlite(link) => link.lock().rows(sql, values, each),
            Link::Postgres(session) => session.rows(sql, values, each).await,
        }
    }

    /// The one row that a statement finds, if it finds one.
    pub(crate) async fn row<T: Send>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Option<T>, StoreError> {
        self.rows(sql, values, read).await.map(|rows| rows.into_iter().next())
    }

    /// The rows that a statement finds which is made for this one time.
    pub(crate) async fn rows_once<T: Send>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        let mut each = collect_into(&mut found, read);
        match &self.link {
            Link::Sqlite(link) => link.lock().rows_once(sql, values, &mut each),
            Link::Postgres(session) => session.rows_once(sql, values, &mut each).await,
        }?;
        drop(each);
        Ok(found)
    }

    /// The one row that a statement finds, and nobody else changes or locks it until the transaction ends.
    pub(crate) async fn lock_row<T: Send>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Option<T>, StoreError> {
        let mut found = None;
        let mut each = |row: &Row<'_>| {
            let value = read(row)?;
            found.get_or_insert(value);
            Ok(())
        };
        self.lock(sql, values, &mut each).await?;
        Ok(found)
    }

    async fn lock(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        each: &mut ReadRow<'_>,
    ) -> Result<(), StoreError> {
        match &self.link {
            // SQLite's writer is alone from the start.
            Link::Sqlite(link) => link.lock().rows(sql, values, each),
            Link::Postgres(session) => session.locked_rows(sql, values, each).await,
        }
    }

    /// Runs a statement and tells how many rows it touched.
    pub(crate) async fn execute(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        match &self.link {
            Link::Sqlite(link) => link.lock().execute(sql, values),
            Link::Postgres(session) => session.execute(sql, values).await,
        }
    }

    /// Runs several statements without values, as migrations do.
    pub(crate) async fn script(&self, sql: &str) -> Result<(), StoreError> {
        match &self.link {
            Link::Sqlite(link) => link.lock().script(sql),
            Link::Postgres(session) => session.script(sql).await,
        }
    }

    /// Writes something to SQLite's database that changes nothing of ours: the one number in it that is left to its
    /// users.
    async fn touch(&self) -> Result<(), StoreError> {
        let found = self.row("PRAGMA user_version", &[], |row| row.integer(0)).await?;
        let next = (found.unwrap_or_default() + 1) % i64::from(i32::MAX);
        self.script(&format!("PRAGMA user_version = {next}")).await
    }

    /// The database's time: a server's own, which is the same for all of its clients.
    pub(crate) async fn now(&self) -> Result<Timestamp, StoreError> {
        match &self.link {
            Link::Postgres(session) if self.clock.is_machine() => session.now().await,
            Link::Sqlite(_) | Link::Postgres(_) => Ok(self.clock.now()),
        }
    }

    /// Runs a statement once for each row of values.
    pub(crate) async fn execute_each<const N: usize>(
        &self,
        sql: &'static str,
        rows: &[[Value<'_>; N]],
    ) -> Result<(), StoreError> {
        match &self.link {
            Link::Sqlite(link) => link.lock().execute_each(sql, rows),
            Link::Postgres(session) => {
                for row in rows {
                    session.execute(sql, row).await?;
                }
                Ok(())
            }
        }
    }

    /// Whether the database is one in memory.
    pub(crate) fn is_simulated(&self) -> bool {
        self.network.is_some()
    }

    /// How long something takes that has begun then.
    pub(crate) fn elapsed(&self, begun: Instant) -> Duration {
        let elapsed = begun.elapsed();
        self.network.as_ref().map_or(elapsed, |network| network.elapsed(elapsed))
    }

    /// Who waits for what this transaction keeps from them: on PostgreSQL also those of other servers. There
    /// a batch keeps nothing from those of other tenants.
    pub(crate) async fn company(&self) -> Result<Company, StoreError> {
        if let Some(network) = &self.network {
            return Ok(network.company());
        }
        let (n_requests, n_batches) = match &self.link {
            Link::Sqlite(_) => {
                let n_batches = self.meter.batches_waiting.get();
                let n_writes = self.meter.writer_waiting.get() - n_batches;
                // Creations that wait for each other come to the writer when those before them are done.
                (n_writes + self.meter.gather_waiting.get(), n_batches)
            }
            Link::Postgres(session) => (i64::from(session.others_wait().await?), 0),
        };
        Ok(match (n_requests > 0, n_batches > 0) {
            (true, _) => Company::Requests,
            (false, true) => Company::Batches,
            (false, false) => Company::None,
        })
    }

    /// The connection itself, for a bulk statement of PostgreSQL's.
    pub(crate) fn postgres(&self) -> Option<&postgres::Session> {
        match &self.link {
            Link::Sqlite(_) => None,
            Link::Postgres(session) => Some(session),
        }
    }
}
