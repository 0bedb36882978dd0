//! PostgreSQL: a few shared connections for reads, a pool of exclusive ones for writes.
//!
//! Reads are pipelined: many requests are under way on one connection, and nobody waits for a free
//! one. A write has its connection alone from BEGIN to COMMIT; one that is dropped half-way is closed,
//! which rolls it back, and never used again.

use std::collections::HashMap;
use std::fmt;
use std::pin::pin;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gatehouse_core::Timestamp;
use tokio::sync::Semaphore;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, NoTls, Statement};

use super::guard::guard;
use super::lane::Lane;
use super::row::{Row, Value};
use crate::error::StoreError;
use crate::meter::{Held, StoreMeter};

/// Connections that all reads share.
const READERS: usize = 4;

/// Transactions at the same time.
const WRITERS: usize = 12;

/// Snapshots at the same time.
const SNAPSHOTS: usize = 4;

/// What every snapshot begins with.
const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// The server's clock.
pub(crate) const NOW: &str =
    "SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT)";

/// How long a connection may take to come about, unless the address says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What every write begins with. Each statement must see what was committed before it took its locks,
/// whatever the server's default is.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// Where a PostgreSQL database is. Shows itself without its password.
#[derive(Clone)]
pub struct DatabaseUrl {
    config: Arc<Config>,
    shown: String,
}

impl FromStr for DatabaseUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let expected = "a database URL is `postgres://user:password@host:port/database`";
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(StoreError::Address(expected.into()));
        }
        // The parser's own words may repeat the password.
        let mut config: Config =
            text.parse().map_err(|_| StoreError::Address(format!("unreadable: {expected}")))?;
        if config.get_ssl_mode() == SslMode::Require {
            let why =
                "sslmode=require can't be met: connections to PostgreSQL are not encrypted yet";
            return Err(StoreError::Address(format!("{why}; use a private network or a tunnel")));
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("gatehouse");
        }
        Ok(Self { shown: without_secrets(&config), config: Arc::new(config) })
    }
}

/// Hosts, ports and database: whatever else an address holds may be a secret, or a piece of one.
fn without_secrets(config: &Config) -> String {
    let hosts = config.get_hosts().iter().enumerate().map(|(n, host)| {
        let host = match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        };
        let ports = config.get_ports();
        match ports.get(n).or(ports.first()) {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    });
    let hosts = hosts.collect::<Vec<_>>().join(",");
    format!("postgres://***@{hosts}/{}", config.get_dbname().unwrap_or_default())
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl PartialEq for DatabaseUrl {
    fn eq(&self, other: &Self) -> bool {
        self.config == other.config
    }
}

pub(crate) struct Postgres {
    config: Arc<Config>,
    readers: [Reader; READERS],
    next_reader: AtomicUsize,
    writers: Mutex<Vec<Arc<Session>>>,
    writers_free: Semaphore,
    lookers: Mutex<Vec<Arc<Session>>>,
    snapshots: Lane,
    meter: Arc<StoreMeter>,
}

/// A shared connection, made when it is first needed and again when it was lost.
#[derive(Default)]
struct Reader {
    session: Mutex<Option<Arc<Session>>>,
    connecting: tokio::sync::Mutex<()>,
}

impl Postgres {
    pub(crate) fn new(url: &DatabaseUrl, meter: Arc<StoreMeter>) -> Self {
        Self {
            config: Arc::clone(&url.config),
            readers: Default::default(),
            next_reader: AtomicUsize::new(0),
            writers: Mutex::default(),
            writers_free: Semaphore::new(WRITERS),
            lookers: Mutex::default(),
            snapshots: Lane::new(SNAPSHOTS),
            meter,
        }
    }

    pub(crate) async fn read<T>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: &impl Fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let turn = self.next_reader.fetch_add(1, Ordering::Relaxed) % READERS;
        let session = self.reader(turn).await?;
        match session.rows(sql, values, read).await {
            // The server went away between two requests: a read may simply be asked again.
            Err(StoreError::Unavailable(_)) if session.is_closed() => {
                let session = self.reader(turn).await?;
                session.rows(sql, values, read).await
            }
            result => result,
        }
    }

    pub(crate) async fn write<T, E, Run>(
        &self,
        work: impl FnOnce(Arc<Session>) -> Run,
    ) -> Result<T, E>
    where
        E: From<StoreError>,
        Run: Future<Output = Result<T, E>>,
    {
        let _turn = self.writers_free.acquire().await.map_err(|_| StoreError::gone())?;
        // Out of the pool until it is known to be clean: dropped half-way, it is closed.
        let session = self.idle(&self.writers).await?;
        // BEGIN and the first statement travel together.
        let (begun, result) =
            futures_util::join!(session.script(BEGIN), work(Arc::clone(&session)));
        begun?;
        match result {
            Ok(value) => {
                session.script("COMMIT").await?;
                guard(&self.writers).push(session);
                Ok(value)
            }
            Err(error) => {
                if session.script("ROLLBACK").await.is_ok() {
                    guard(&self.writers).push(session);
                }
                Err(error)
            }
        }
    }

    /// Reads several things at one moment, on a connection of its own.
    pub(crate) async fn snapshot<T, Run>(
        &self,
        limit: Option<Duration>,
        work: impl FnOnce(Arc<Session>) -> Run,
    ) -> Result<T, StoreError>
    where
        Run: Future<Output = Result<T, StoreError>>,
    {
        let _turn = self.snapshots.enter(limit).await?;
        let session = self.idle(&self.lookers).await?;
        // The server gives up when we do: zero is no limit.
        let milliseconds = limit.map_or(0, |limit| limit.as_millis());
        let begin = format!("{BEGIN_SNAPSHOT}; SET LOCAL statement_timeout = {milliseconds}");
        let read = async {
            session.script(&begin).await?;
            work(Arc::clone(&session)).await
        };
        let result = match limit {
            Some(limit) => match tokio::time::timeout(limit, read).await {
                Ok(result) => result,
                Err(_) => {
                    // The server would work on for nothing, and for longer than its turn.
                    let _ = session.client.cancel_token().cancel_query(NoTls).await;
                    return Err(StoreError::TooSlow);
                }
            },
            None => read.await,
        };
        if session.script("ROLLBACK").await.is_ok() {
            guard(&self.lookers).push(session);
        }
        result
    }

    async fn reader(&self, turn: usize) -> Result<Arc<Session>, StoreError> {
        self.readers[turn].session(&self.config, &self.meter).await
    }

    async fn idle(&self, pool: &Mutex<Vec<Arc<Session>>>) -> Result<Arc<Session>, StoreError> {
        loop {
            let idle = guard(pool).pop();
            match idle {
                Some(session) if session.is_closed() => {}
                Some(session) => return Ok(session),
                None => return Session::connect(&self.config, &self.meter).await.map(Arc::new),
            }
        }
    }

    pub(crate) fn close(&self) {
        self.writers_free.close();
        guard(&self.writers).clear();
        guard(&self.lookers).clear();
        for reader in &self.readers {
            guard(&reader.session).take();
        }
    }
}

impl Reader {
    async fn session(
        &self,
        config: &Config,
        meter: &StoreMeter,
    ) -> Result<Arc<Session>, StoreError> {
        if let Some(session) = self.open() {
            return Ok(session);
        }
        // One connects, the others wait for it.
        let _connecting = self.connecting.lock().await;
        if let Some(session) = self.open() {
            return Ok(session);
        }
        let session = Arc::new(Session::connect(config, meter).await?);
        *guard(&self.session) = Some(Arc::clone(&session));
        Ok(session)
    }

    fn open(&self) -> Option<Arc<Session>> {
        guard(&self.session).as_ref().filter(|session| !session.is_closed()).cloned()
    }
}

/// One connection, with the statements that were prepared on it.
pub(crate) struct Session {
    client: Client,
    plain: Mutex<HashMap<&'static str, Statement>>,
    locking: Mutex<HashMap<&'static str, Statement>>,
    _counted: Held,
}

impl Session {
    async fn connect(config: &Config, meter: &StoreMeter) -> Result<Self, StoreError> {
        let (client, connection) = config.connect(NoTls).await?;
        // Ends by itself when the client is dropped.
        tokio::spawn(async move {
            if let Err(cause) = connection.await {
                tracing::warn!(%cause, "a database connection was lost");
            }
        });
        Ok(Self {
            client,
            plain: Mutex::default(),
            locking: Mutex::default(),
            _counted: Held::new(&meter.connections),
        })
    }

    fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(crate) async fn rows<T>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: &impl Fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let statement = self.statement(&self.plain, sql, "").await?;
        self.query(&statement, values, read).await
    }

    pub(crate) async fn locked_rows<T>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
        read: &impl Fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let statement = self.statement(&self.locking, sql, " FOR UPDATE").await?;
        self.query(&statement, values, read).await
    }

    pub(crate) async fn rows_once<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: &impl Fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let statement = self.client.prepare(&sql.replace('?', "$")).await?;
        self.query(&statement, values, read).await
    }

    async fn query<T>(
        &self,
        statement: &Statement,
        values: &[Value<'_>],
        read: &impl Fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.client.query(statement, &references(values)).await?;
        rows.iter().map(|row| read(&Row::Postgres(row))).collect()
    }

    pub(crate) async fn execute(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let statement = self.statement(&self.plain, sql, "").await?;
        Ok(self.client.execute(&statement, &references(values)).await?)
    }

    /// Runs a bulk statement, whose values are whole columns.
    pub(crate) async fn bulk(
        &self,
        sql: &'static str,
        columns: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        let statement = self.statement(&self.plain, sql, "").await?;
        Ok(self.client.query(&statement, columns).await?)
    }

    /// Copies rows into a table, in the binary format; `sql` says into which columns, which are of `types`.
    pub(crate) async fn copy<const N: usize>(
        &self,
        sql: &'static str,
        types: &[Type; N],
        rows: &[[Value<'_>; N]],
    ) -> Result<(), StoreError> {
        let statement = self.statement(&self.plain, sql, "").await?;
        let sink = self.client.copy_in(&statement).await?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, types));
        for row in rows {
            writer.as_mut().write(&references(row)).await?;
        }
        writer.finish().await?;
        Ok(())
    }

    /// Whether somebody waits for a row that this transaction has locked.
    pub(crate) async fn others_wait(&self) -> Result<bool, StoreError> {
        let sql = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'transactionid' \
                   AND NOT granted AND transactionid = pg_current_xact_id_if_assigned()::xid";
        let rows = self.rows(sql, &[], &|row: &Row<'_>| row.count(0)).await?;
        Ok(rows.first().is_some_and(|n| *n > 0))
    }

    pub(crate) async fn script(&self, sql: &str) -> Result<(), StoreError> {
        Ok(self.client.batch_execute(sql).await?)
    }

    pub(crate) async fn now(&self) -> Result<Timestamp, StoreError> {
        let rows = self.rows(NOW, &[], &|row: &Row<'_>| row.time(0)).await?;
        rows.into_iter().next().ok_or_else(|| StoreError::corrupt("the server has no clock"))
    }

    async fn statement(
        &self,
        prepared: &Mutex<HashMap<&'static str, Statement>>,
        sql: &'static str,
        suffix: &str,
    ) -> Result<Statement, StoreError> {
        if let Some(statement) = guard(prepared).get(sql) {
            return Ok(statement.clone());
        }
        let text = sql.replace('?', "$") + suffix;
        let statement = self.client.prepare(&text).await?;
        guard(prepared).insert(sql, statement.clone());
        Ok(statement)
    }
}

fn references<'a>(values: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(cause: tokio_postgres::Error) -> Self {
        if cause.code() == Some(&SqlState::QUERY_CANCELED) {
            return Self::TooSlow;
        }
        let passing = cause.code().is_none_or(is_passing);
        let is_taken = cause.code() == Some(&SqlState::UNIQUE_VIOLATION);
        // The driver's own text is only "db error": what the server said is its source.
        let text = match cause.as_db_error() {
            Some(said) => format!("{}: {}", said.code().code(), said.message()),
            None => chain(&cause),
        };
        match passing {
            true => Self::Unavailable(text.into()),
            false if is_taken => Self::Taken(text.into()),
            false => Self::Unexpected(text.into()),
        }
    }
}

fn chain(cause: &dyn std::error::Error) -> String {
    let source = cause.source().map(|source| format!(": {}", chain(source))).unwrap_or_default();
    format!("{cause}{source}")
}

/// Whether the same may work later: connection, resources, operator's intervention, lost races.
fn is_passing(code: &SqlState) -> bool {
    ["08", "40", "53", "57", "58"].iter().any(|class| code.code().starts_with(class))
        || *code == SqlState::READ_ONLY_SQL_TRANSACTION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_never_shows_its_secrets() {
        for (text, shown) in [
            ("postgres://ann:s3cret@db:5432/fleet", "postgres://***@db:5432/fleet"),
            ("postgresql://ann@db/fleet?password=s3cret", "postgres://***@db:5432/fleet"),
            ("postgres://db/fleet", "postgres://***@db:5432/fleet"),
            ("postgres://ann:s3cret?@db:1,db2:2/fleet", "postgres://***@db:1,db2:2/fleet"),
        ] {
            let url: DatabaseUrl = text.parse().unwrap();
            assert_eq!((url.to_string(), format!("{url:?}")), (shown.into(), shown.into()));
        }
        let tls = "postgres://ann:s3cret@db/x?sslmode=require".parse::<DatabaseUrl>().unwrap_err();
        assert!(tls.to_string().contains("not encrypted"), "{tls}");
        for bad in [
            "mysql://db",
            "s3cret",
            "postgres://ann:s3cret@db:port/x",
            "postgres://ann:p@db?s3cret=x@db/f",
            "postgres://ann@db/x?s3cret=red",
        ] {
            let error = bad.parse::<DatabaseUrl>().unwrap_err().to_string();
            assert!(error.contains("postgres://user") && !error.contains("s3cret"), "{error}");
        }
    }
}
