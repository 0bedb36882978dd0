//! One connection to PostgreSQL.
//!
//! Each statement is prepared once. Behind a pooler that gives each transaction another server connection, nothing can
//! be prepared: every statement is sent unnamed, with its text and the types of its values, in one round trip.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gatehouse_core::Timestamp;
use gatehouse_meter::GaugeGuard;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row as PostgresRow, Statement};

use super::connect::Opened;
use super::connection_task::ConnectionTask;
use super::encryption::Encryption;
use super::warnings::Warnings;
use super::{NOW, fault};
use crate::db::row::{Cell, Row, TypedValue, Value};
use crate::db::work::ReadRow;
use crate::error::StoreError;
use crate::meter::StoreMeter;

/// Time limit of a request to cancel a statement.
const CANCEL_MAX: Duration = Duration::from_secs(5);

/// A connection, with its prepared statements.
pub(crate) struct Session {
    client: Client,
    encryption: Encryption,
    task: ConnectionTask,
    warnings: Warnings,
    /// `None` behind a pooler.
    prepared: Option<Prepared>,
    /// When the connection was made.
    made: Instant,
    /// Whether this program has closed the connection.
    is_given_up: AtomicBool,
    _counted: GaugeGuard,
}

#[derive(Default)]
struct Prepared {
    plain: Mutex<HashMap<&'static str, Statement>>,
    locking: Mutex<HashMap<&'static str, Statement>>,
}

/// Whether a statement locks the rows that it finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locking {
    No,
    Yes,
}

impl Session {
    /// Wraps a new connection. Behind a pooler nothing is prepared.
    pub(super) fn new(
        Opened { client, task, warnings }: Opened,
        encryption: Encryption,
        is_pooled: bool,
        meter: &StoreMeter,
    ) -> Self {
        Self {
            client,
            encryption,
            task,
            warnings,
            prepared: (!is_pooled).then(Prepared::default),
            made: Instant::now(),
            is_given_up: AtomicBool::new(false),
            _counted: GaugeGuard::new(&meter.connections),
        }
    }

    /// Prepares the connection for several callers at the same time.
    pub(super) fn share(&self) {
        self.task.share();
    }

    /// Whether the connection can't be used any more.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.is_given_up()
    }

    /// Whether this program has closed the connection, because it hung or was of no use.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// When the connection was made.
    pub(super) fn made(&self) -> Instant {
        self.made
    }

    /// Closes the connection at once and cancels its statement: otherwise the server might wait for a lock, and hold
    /// its own, for a client that is gone. Other callers on the connection get an error.
    pub(super) fn give_up(&self) {
        if self.is_given_up.swap(true, Ordering::Relaxed) {
            return;
        }
        self.task.abort();
        let cancel = self.cancel();
        tokio::spawn(async move {
            let _ = timeout(CANCEL_MAX, cancel).await;
        });
    }

    /// Cancels the statement that the server is running. Not behind a pooler: the statement may be another client's by
    /// now, PgBouncer 1.18 crashed in a test that cancelled, and a pooler itself ends the statements of clients that
    /// are gone.
    pub(super) fn cancel(&self) -> impl Future<Output = ()> + Send + 'static {
        let token = self.client.cancel_token();
        let encryption = self.encryption.clone();
        let is_pooled = self.prepared.is_none();
        async move {
            if !is_pooled {
                let _ = token.cancel_query(encryption).await;
            }
        }
    }

    /// Converts an error. Closes a connection whose server is read-only by now, or has lost the prepared statements.
    fn store_error(&self, cause: tokio_postgres::Error) -> StoreError {
        if cause.code().is_some_and(fault::is_connection_specific) {
            self.give_up();
        }
        cause.into()
    }

    /// Whether a pooler may give each transaction another server connection.
    pub(super) fn is_pooled(&self) -> bool {
        self.prepared.is_none()
    }

    /// Whether rows can be sent with COPY, which must be prepared.
    pub(crate) fn copies(&self) -> bool {
        self.prepared.is_some()
    }

    pub(crate) fn rows<'a>(
        &'a self,
        sql: &'static str,
        values: &'a [Value<'a>],
        each: &'a mut ReadRow<'_>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            // All rows arrive before `each` sees the first one, so a retried read shows no row twice.
            let rows = self.query(sql, Locking::No, &sent(values)).await?;
            rows.iter().try_for_each(|row| each(&Row::Postgres(row)))
        })
    }

    pub(crate) fn locked_rows<'a>(
        &'a self,
        sql: &'static str,
        values: &'a [Value<'a>],
        each: &'a mut ReadRow<'_>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let rows = self.query(sql, Locking::Yes, &sent(values)).await?;
            rows.iter().try_for_each(|row| each(&Row::Postgres(row)))
        })
    }

    pub(crate) fn rows_once<'a>(
        &'a self,
        sql: &'a str,
        values: &'a [Value<'a>],
        each: &'a mut ReadRow<'_>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let rows =
                self.client.query_typed(&text(sql, Locking::No), &typed(&sent(values))).await;
            let rows = rows.map_err(|cause| self.store_error(cause))?;
            rows.iter().try_for_each(|row| each(&Row::Postgres(row)))
        })
    }

    /// Runs a bulk statement, whose values are whole columns.
    pub(crate) fn bulk<'a>(
        &'a self,
        sql: &'static str,
        columns: &'a [&'a dyn TypedValue],
    ) -> BoxFuture<'a, Result<Vec<PostgresRow>, StoreError>> {
        Box::pin(async move { self.query(sql, Locking::No, columns).await })
    }

    async fn query(
        &self,
        sql: &'static str,
        locking: Locking,
        values: &[&dyn TypedValue],
    ) -> Result<Vec<PostgresRow>, StoreError> {
        let found = match &self.prepared {
            Some(prepared) => {
                let statement = self.statement(prepared, sql, locking).await?;
                self.client.query(&statement, &plain(values)).await
            }
            None => self.client.query_typed(&text(sql, locking), &typed(values)).await,
        };
        found.map_err(|cause| self.store_error(cause))
    }

    pub(crate) fn execute<'a>(
        &'a self,
        sql: &'static str,
        values: &'a [Value<'a>],
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            let values = sent(values);
            let done = match &self.prepared {
                Some(prepared) => {
                    let statement = self.statement(prepared, sql, Locking::No).await?;
                    self.client.execute(&statement, &plain(&values)).await
                }
                None => self.client.execute_typed(&text(sql, Locking::No), &typed(&values)).await,
            };
            done.map_err(|cause| self.store_error(cause))
        })
    }

    /// Copies rows into a table in the binary format. `sql` names the columns, which have these `types`.
    pub(crate) async fn copy<const N: usize>(
        &self,
        sql: &'static str,
        types: &[Type; N],
        rows: &[[Value<'_>; N]],
    ) -> Result<(), StoreError> {
        let prepared = self.prepared.as_ref();
        let prepared = prepared
            .ok_or_else(|| StoreError::Unexpected("a copy can't be made behind a pooler".into()))?;
        let statement = self.statement(prepared, sql, Locking::No).await?;
        let sink = self.client.copy_in(&statement).await?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, types));
        for row in rows {
            writer.as_mut().write(&plain(&sent(row))).await?;
        }
        writer.finish().await?;
        Ok(())
    }

    /// Copies rows that were read from another database, in the binary format. `sql` names the columns, which have
    /// these `types`.
    pub(crate) fn copy_cells<'a>(
        &'a self,
        sql: &'a str,
        types: &'a [Type],
        rows: &'a [Vec<Cell>],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            if !self.copies() {
                let why = "an estate can't be moved through a pooler: give the address of PostgreSQL itself";
                return Err(StoreError::Address(why.into()));
            }
            let sink = self.client.copy_in(sql).await?;
            let mut writer = pin!(BinaryCopyInWriter::new(sink, types));
            for row in rows {
                writer.as_mut().write_raw(row.iter().map(Cell::as_value)).await?;
            }
            writer.finish().await?;
            Ok(())
        })
    }

    /// Whether another transaction waits for a row that this one has locked.
    pub(crate) fn others_wait(&self) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            let sql = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'transactionid' \
                   AND NOT granted AND transactionid = pg_current_xact_id_if_assigned()::xid";
            let rows = self.query(sql, Locking::No, &[]).await?;
            let n_waiting = rows.first().map(|row| Row::Postgres(row).count(0)).transpose()?;
            Ok(n_waiting.is_some_and(|n| n > 0))
        })
    }

    pub(crate) fn script<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.client.batch_execute(sql).await.map_err(|cause| self.store_error(cause))
        })
    }

    /// Commits the transaction; returns a warning that came with the response. The error is the driver's, because the
    /// caller must judge whether the transaction was rolled back.
    pub(super) async fn commit(&self) -> Result<Option<String>, tokio_postgres::Error> {
        // A warning of an earlier statement says nothing about the commit.
        self.warnings.take();
        self.client.batch_execute("COMMIT").await?;
        Ok(self.warnings.take())
    }

    pub(crate) fn now(&self) -> BoxFuture<'_, Result<Timestamp, StoreError>> {
        Box::pin(async move {
            let rows = self.query(NOW, Locking::No, &[]).await?;
            let now = rows.first().map(|row| Row::Postgres(row).time(0)).transpose()?;
            now.ok_or_else(|| StoreError::corrupt("the server has no clock"))
        })
    }

    async fn statement(
        &self,
        prepared: &Prepared,
        sql: &'static str,
        locking: Locking,
    ) -> Result<Statement, StoreError> {
        let prepared = match locking {
            Locking::No => &prepared.plain,
            Locking::Yes => &prepared.locking,
        };
        if let Some(statement) = prepared.lock().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&text(sql, locking)).await;
        let statement = statement.map_err(|cause| self.store_error(cause))?;
        prepared.lock().insert(sql, statement.clone());
        Ok(statement)
    }
}

/// A statement in PostgreSQL's syntax.
fn text(sql: &str, locking: Locking) -> String {
    let suffix = if locking == Locking::Yes { " FOR UPDATE" } else { "" };
    sql.replace('?', "$") + suffix
}

fn sent<'a>(values: &'a [Value<'a>]) -> Vec<&'a dyn TypedValue> {
    values.iter().map(|value| value as &dyn TypedValue).collect()
}

fn plain<'a>(values: &[&'a dyn TypedValue]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| *value as &(dyn ToSql + Sync)).collect()
}

fn typed<'a>(values: &[&'a dyn TypedValue]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    values.iter().map(|value| (*value as &(dyn ToSql + Sync), value.pg_type())).collect()
}
