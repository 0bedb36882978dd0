//! One connection to PostgreSQL.
//!
//! Statements are prepared on it once and kept. Behind a pooler that gives each transaction another
//! connection of the server's, nothing can be kept: there every statement goes with its text and the types
//! of its values, unnamed, in one journey.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gatehouse_core::Timestamp;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row as PostgresRow, Statement};

use super::carrier::Carrier;
use super::encryption::Encryption;
use super::warnings::Warnings;
use super::way::Opened;
use super::{NOW, fault};
use crate::db::row::{Cell, Row, Sent, Value};
use crate::db::work::ReadRow;
use crate::error::StoreError;
use crate::meter::{Held, StoreMeter};

/// How long it is tried to have a server stop what it is at.
const CANCEL_MAX: Duration = Duration::from_secs(5);

/// One connection, with the statements that were prepared on it.
pub(crate) struct Session {
    client: Client,
    encryption: Encryption,
    carrier: Carrier,
    warnings: Warnings,
    /// `None` where nothing can be kept.
    prepared: Option<Prepared>,
    /// When it came about.
    made: Instant,
    /// Whether somebody has waited in vain for an answer.
    is_given_up: AtomicBool,
    _counted: Held,
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
    /// A connection that has come about, and what carries its bytes. Behind a pooler nothing is prepared on it.
    pub(super) fn new(
        Opened { client, carrier, warnings }: Opened,
        encryption: Encryption,
        is_pooled: bool,
        meter: &StoreMeter,
    ) -> Self {
        Self {
            client,
            encryption,
            carrier,
            warnings,
            prepared: (!is_pooled).then(Prepared::default),
            made: Instant::now(),
            is_given_up: AtomicBool::new(false),
            _counted: Held::new(&meter.connections),
        }
    }

    /// Lets many ask on it at the same time.
    pub(super) fn share(&self) {
        self.carrier.share();
    }

    /// Whether nothing can be asked of it any more.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.is_given_up()
    }

    /// Whether it was closed from this side, because it was of no use.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// When it came about.
    pub(super) fn made(&self) -> Instant {
        self.made
    }

    /// Closes it at once, and has the server stop what it is at: left alone, it would wait for its locks for as long as
    /// they are held, with nobody there to answer. Who else waits for an answer on it is told that it is gone.
    pub(super) fn give_up(&self) {
        if self.is_given_up.swap(true, Ordering::Relaxed) {
            return;
        }
        self.carrier.abort();
        let cancel = self.cancel();
        tokio::spawn(async move {
            let _ = timeout(CANCEL_MAX, cancel).await;
        });
    }

    /// Has the server stop what it is at. Not behind a pooler, which would have to find out whose statement that is
    /// by now, and PgBouncer 1.18 was seen to end in a test that did so: it ends what it carries for whoever is gone.
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

    /// What went wrong, in the store's words. A connection that leads to a server which takes no writes any more, or
    /// that knows its statements no more, is of no use for longer.
    fn told(&self, cause: tokio_postgres::Error) -> StoreError {
        if cause.code().is_some_and(fault::is_of_connection) {
            self.give_up();
        }
        cause.into()
    }

    /// Whether a pooler gives the server's connection to others in between.
    pub(super) fn is_pooled(&self) -> bool {
        self.prepared.is_none()
    }

    /// Whether rows can be copied in: a copy must be prepared.
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
            // All rows come before `each` sees the first one, so a read that is tried again shows no row twice.
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
            let rows = rows.map_err(|cause| self.told(cause))?;
            rows.iter().try_for_each(|row| each(&Row::Postgres(row)))
        })
    }

    /// Runs a bulk statement, whose values are whole columns.
    pub(crate) fn bulk<'a>(
        &'a self,
        sql: &'static str,
        columns: &'a [&'a dyn Sent],
    ) -> BoxFuture<'a, Result<Vec<PostgresRow>, StoreError>> {
        Box::pin(async move { self.query(sql, Locking::No, columns).await })
    }

    async fn query(
        &self,
        sql: &'static str,
        locking: Locking,
        values: &[&dyn Sent],
    ) -> Result<Vec<PostgresRow>, StoreError> {
        let found = match &self.prepared {
            Some(prepared) => {
                let statement = self.statement(prepared, sql, locking).await?;
                self.client.query(&statement, &plain(values)).await
            }
            None => self.client.query_typed(&text(sql, locking), &typed(values)).await,
        };
        found.map_err(|cause| self.told(cause))
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
            done.map_err(|cause| self.told(cause))
        })
    }

    /// Copies rows into a table, in the binary format; `sql` says into which columns, which are of `types`.
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

    /// Copies rows as they were read elsewhere, in the binary format; `sql` says into which columns, which
    /// are of `types`.
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

    /// Whether somebody waits for a row that this transaction has locked.
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
        Box::pin(
            async move { self.client.batch_execute(sql).await.map_err(|cause| self.told(cause)) },
        )
    }

    /// Commits the transaction; returns the warning that came with the response, if there was one. The error is the
    /// driver's own, because its meaning is for the caller to judge.
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
        let statement = statement.map_err(|cause| self.told(cause))?;
        prepared.lock().insert(sql, statement.clone());
        Ok(statement)
    }
}

/// A statement as PostgreSQL writes it.
fn text(sql: &str, locking: Locking) -> String {
    let suffix = if locking == Locking::Yes { " FOR UPDATE" } else { "" };
    sql.replace('?', "$") + suffix
}

fn sent<'a>(values: &'a [Value<'a>]) -> Vec<&'a dyn Sent> {
    values.iter().map(|value| value as &dyn Sent).collect()
}

fn plain<'a>(values: &[&'a dyn Sent]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| *value as &(dyn ToSql + Sync)).collect()
}

fn typed<'a>(values: &[&'a dyn Sent]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    values.iter().map(|value| (*value as &(dyn ToSql + Sync), value.sent_as())).collect()
}
