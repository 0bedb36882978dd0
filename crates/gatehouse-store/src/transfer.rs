//! Transfer of a whole store from SQLite to PostgreSQL: an exact copy, resumed where it was interrupted.
//!
//! `table` lists what is copied. Rows are copied unchanged, in the order of their keys, in chunks of one tenant; each
//! chunk is a transaction that also advances the `watermark`. Then both databases are read again and compared
//! (`contents`). Only when all tables are equal does the last transaction delete the watermark, and servers may start.
//!
//! The caller ensures that no other process uses the source. The target refuses servers while it has a watermark.

mod contents;
mod encoding;
mod table;
mod watermark;

pub use contents::TableContents;
#[cfg(test)]
pub(crate) use table::{ColumnKind, NOT_COPIED, TABLES as ALL_TABLES};
pub(crate) use watermark::{refuse_unfinished, refuse_unfinished_in};

use aws_lc_rs::digest::{Context, SHA256};
use futures_util::future::try_join;

use crate::Store;
use crate::clock::Clock;
use crate::db::{Cell, DatabaseUrl, Db, Tx, WriteKind};
use crate::error::{RuleError, StoreError};
use crate::migrate;
use contents::{Cells, key, page};
use table::{Side, TABLES, Table};
use watermark::Watermark;

/// Result of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferResult {
    /// Everything was copied, and every table is equal.
    Whole(Vec<TableComparison>),
    /// Some tables differ, and the target can't be used.
    Differs(Vec<TableComparison>),
    /// The transfer was finished before; nothing was done.
    AlreadyDone,
}

/// A table's contents in both databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableComparison {
    /// The table.
    pub table: &'static str,
    /// Contents in the source, with the intended replacements.
    pub source: TableContents,
    /// Contents in the target.
    pub target: TableContents,
}

impl TableComparison {
    /// Whether both are equal.
    pub fn is_equal(&self) -> bool {
        self.source == self.target
    }
}

/// Progress of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferProgress {
    /// The present stage.
    pub stage: TransferStage,
    /// The present table.
    pub table: &'static str,
    /// Rows of the table that this run has processed.
    pub n_rows: u64,
}

/// Stage of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferStage {
    /// Rows are copied.
    Copying,
    /// Both databases are read and compared.
    Comparing,
}

/// Why a store was not transferred. Each text tells the operator what to do.
#[derive(Debug, thiserror::Error)]
pub enum NotTransferred {
    /// The source can't be read.
    #[error("the source: {}", .0.explained())]
    Source(#[source] StoreError),
    /// The target can't be used.
    #[error("the target: {}", .0.explained())]
    Target(#[from] StoreError),
    /// The target holds rows of another store.
    #[error(
        "the target is not empty (there are rows in `{0}`): give an empty database, or an empty schema \
         of one"
    )]
    NotEmpty(&'static str),
    /// The target holds an unfinished transfer of another source.
    #[error(
        "the target holds an unfinished migration of another source, or of this one before it was used \
         again: finish that one, or empty the target and begin anew"
    )]
    AnotherSource,
    /// The target holds an unfinished transfer by a gatehouse with another schema version.
    #[error(
        "the target holds an unfinished migration that a gatehouse with schema version {begun} began, and \
         this one has {newest}: finish it with that gatehouse, or empty the target and begin anew"
    )]
    AnotherSchema {
        /// Schema version of the gatehouse that began.
        begun: i64,
        /// Schema version of this one.
        newest: i64,
    },
    /// Another transfer into the target is running.
    #[error(
        "the target is not where this `gatehouse migrate` left it: another one is at work on it, or PostgreSQL has \
         crashed and lost the last rows; let the other one finish, or give the command again"
    )]
    Overtaken,
    /// A text that PostgreSQL can't store.
    #[error(
        "a row of `{table}` has a NUL character in `{column}`, which PostgreSQL can't hold: change that \
         row in the source, then empty the target and begin anew"
    )]
    Unfit {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
    },
}

impl RuleError for NotTransferred {
    fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::Source(error) | Self::Target(error) => Some(error),
            _ => None,
        }
    }
}

/// Receives the progress.
pub(crate) type Tell<'a> = &'a (dyn Fn(TransferProgress) + Send + Sync);

/// Small tables that nearly every use of a source changes.
const KNOWN_BY: [&str; 8] =
    ["server_key", "tenant", "contract", "counter", "tally", "day", "client", "account"];

/// Name of the server key that a finished transfer leaves: it identifies the source.
const FINISHED: &str = "transferred-from";

impl Store {
    /// Copies this store into an empty PostgreSQL database, or resumes that. `keys` are stored there as server keys, in
    /// place of the files beside this store.
    pub async fn transfer_to(
        &self,
        target: &DatabaseUrl,
        clock: Clock,
        keys: Vec<(&'static str, Vec<u8>)>,
        tell: Tell<'_>,
    ) -> Result<TransferResult, NotTransferred> {
        let target = Db::open_postgres(target, clock)?;
        let moved =
            Transfer { source: self.db.clone(), target: target.clone(), n_at_once: usize::MAX }
                .run(keys, tell)
                .await;
        target.close().await;
        moved
    }
}

/// A transfer from one database to another.
pub(crate) struct Transfer {
    pub(crate) source: Db,
    pub(crate) target: Db,
    /// Most rows in a page.
    pub(crate) n_at_once: usize,
}

impl Transfer {
    pub(crate) async fn run(
        &self,
        keys: Vec<(&'static str, Vec<u8>)>,
        tell: Tell<'_>,
    ) -> Result<TransferResult, NotTransferred> {
        let source = self.known_by().await?;
        let Some(mark) = self.begin(source).await? else { return Ok(TransferResult::AlreadyDone) };
        let mark = self.copy(mark, tell).await?;
        let compared = self.compare(tell).await?;
        if !compared.iter().all(TableComparison::is_equal) {
            return Ok(TransferResult::Differs(compared));
        }
        finish(&self.target, mark, keys).await?;
        Ok(TransferResult::Whole(compared))
    }

    /// Identifies the source by its keys, its tenants with their objects, all counters, and all tallies. A source that
    /// was used since nearly always differs.
    async fn known_by(&self) -> Result<Vec<u8>, NotTransferred> {
        let mut sum = Context::new(&SHA256);
        for table in TABLES.iter().filter(|it| KNOWN_BY.contains(&it.name)) {
            let n_at_once = table.n_at_once.min(self.n_at_once);
            let held = contents::read(&self.source, Side::Source, table, n_at_once, |_| ()).await;
            sum.update(&held.map_err(NotTransferred::Source)?.sha256);
        }
        Ok(sum.finish().as_ref().to_vec())
    }

    /// Creates the watermark in an empty target, or finds this transfer's watermark there; `None` when the transfer was
    /// finished before.
    async fn begin(&self, source: Vec<u8>) -> Result<Option<Watermark>, NotTransferred> {
        let newest = migrate::newest();
        if migrate::version(&self.target).await?.is_some() {
            if let Some(mark) = watermark::find(&self.target).await? {
                return match mark {
                    Watermark { schema: begun, .. } if begun != newest => {
                        Err(NotTransferred::AnotherSchema { begun, newest })
                    }
                    mark if mark.source != source => Err(NotTransferred::AnotherSource),
                    mark => Ok(Some(mark)),
                };
            }
            let sql = "SELECT value FROM server_key WHERE name = ?1";
            let finished = self.target.row(sql, &[FINISHED.into()], |row| row.bytes(0)).await?;
            if finished.is_some_and(|finished| finished == source) {
                return Ok(None);
            }
            // Before the schema is touched. Every version has these two tables, and any store with rows has some in one
            // of them.
            for (table, sql) in [
                ("server_key", "SELECT 1 FROM server_key LIMIT 1"),
                ("tenant", "SELECT 1 FROM tenant LIMIT 1"),
            ] {
                if self.target.row(sql, &[], |_| Ok(())).await?.is_some() {
                    return Err(NotTransferred::NotEmpty(table));
                }
            }
        }
        migrate::run(&self.target).await?;
        let first = &TABLES[0];
        let keys = page(&self.source, Side::Source, first, Cells::new(), first.n_at_once).await;
        let keys = keys.map_err(NotTransferred::Source)?;
        let after = keys.last().map(|row| key(first, row)).unwrap_or_default();
        let mark = Watermark { schema: newest, source, table: first.name.to_owned(), after };
        let bytes = mark.to_bytes();
        let begun = self.target.write(WriteKind::Server, async move |tx| {
            let sql = "INSERT INTO server_key (name, value) VALUES (?1, ?2)";
            tx.execute(sql, &[watermark::NAME.into(), bytes.as_slice().into()]).await?;
            for table in TABLES {
                let sql = table.page_sql(Side::Target, false, 1);
                if !tx.rows_once(&sql, &[], |_| Ok(())).await?.is_empty() {
                    return Err(NotTransferred::NotEmpty(table.name));
                }
            }
            insert(&tx, first, &keys).await
        });
        match begun.await {
            Ok(()) => Ok(Some(mark)),
            // Another transfer has created the watermark first, or a server its keys.
            Err(NotTransferred::Target(StoreError::Taken(_))) => Err(NotTransferred::Overtaken),
            Err(why) => Err(why),
        }
    }

    /// Copies the rows that are left.
    async fn copy(&self, mut mark: Watermark, tell: Tell<'_>) -> Result<Watermark, NotTransferred> {
        let done = TABLES.iter().take_while(|table| table.name != mark.table).count();
        for table in &TABLES[done..] {
            let after = if table.name == mark.table { mark.after.clone() } else { Cells::new() };
            let n_at_once = table.n_at_once.min(self.n_at_once);
            let read = async |after: Cells| {
                let rows = page(&self.source, Side::Source, table, after, n_at_once).await;
                rows.map_err(NotTransferred::Source)
            };
            let (mut rows, mut n_rows) = (read(after).await?, 0);
            while let Some(last) = rows.last().map(|row| key(table, row)) {
                n_rows += rows.len() as u64;
                let is_last = rows.len() < n_at_once;
                // The next page is read while this one is sent.
                let next = async { if is_last { Ok(Vec::new()) } else { read(last).await } };
                (rows, mark) = try_join(next, self.send(mark, table, rows)).await?;
                tell(TransferProgress { stage: TransferStage::Copying, table: table.name, n_rows });
            }
            // Updates the statistics, which later reads are planned by.
            let sql = format!("ANALYZE {}", table.name);
            self.target.write(WriteKind::Server, async move |tx| tx.script(&sql).await).await?;
        }
        Ok(mark)
    }

    /// Sends a page, one tenant at a time.
    async fn send(
        &self,
        mut mark: Watermark,
        table: &'static Table,
        rows: Vec<Cells>,
    ) -> Result<Watermark, NotTransferred> {
        refuse_unfit(table, &rows)?;
        for rows in by_tenant(rows) {
            let after = rows.last().map(|row| key(table, row)).unwrap_or_default();
            let next = Watermark { table: table.name.to_owned(), after, ..mark.clone() };
            let (from, to) = (mark.to_bytes(), next.to_bytes());
            self.target
                .write(WriteKind::Server, async move |tx| {
                    // A crash of PostgreSQL may lose the last chunks together with their watermark. The transaction
                    // that deletes the watermark waits until everything before it is on the disk.
                    tx.script("SET LOCAL synchronous_commit = off").await?;
                    let sql = "UPDATE server_key SET value = ?3 WHERE name = ?1 AND value = ?2";
                    let values =
                        [watermark::NAME.into(), from.as_slice().into(), to.as_slice().into()];
                    if tx.execute(sql, &values).await? != 1 {
                        return Err(NotTransferred::Overtaken);
                    }
                    insert(&tx, table, &rows).await
                })
                .await?;
            mark = next;
        }
        Ok(mark)
    }

    /// Reads every table of both databases at the same time.
    async fn compare(&self, tell: Tell<'_>) -> Result<Vec<TableComparison>, NotTransferred> {
        let mut compared = Vec::new();
        for table in TABLES {
            let n_at_once = table.n_at_once.min(self.n_at_once);
            let source = async {
                let held = contents::read(&self.source, Side::Source, table, n_at_once, |_| ());
                held.await.map_err(NotTransferred::Source)
            };
            let target = async {
                let tell = |n_rows| {
                    tell(TransferProgress {
                        stage: TransferStage::Comparing,
                        table: table.name,
                        n_rows,
                    });
                };
                Ok(contents::read(&self.target, Side::Target, table, n_at_once, tell).await?)
            };
            let (source, target) = try_join(source, target).await?;
            compared.push(TableComparison { table: table.name, source, target });
        }
        Ok(compared)
    }
}

/// Deletes the watermark and stores the server keys.
async fn finish(
    target: &Db,
    mark: Watermark,
    keys: Vec<(&'static str, Vec<u8>)>,
) -> Result<(), NotTransferred> {
    target
        .write(WriteKind::Server, async move |tx| {
            let sql = "DELETE FROM server_key WHERE name = ?1 AND value = ?2";
            let bytes = mark.to_bytes();
            if tx.execute(sql, &[watermark::NAME.into(), bytes.as_slice().into()]).await? != 1 {
                return Err(NotTransferred::Overtaken);
            }
            let sql = "INSERT INTO server_key (name, value) VALUES (?1, ?2)";
            for (name, value) in keys.iter().chain([&(FINISHED, mark.source)]) {
                tx.execute(sql, &[(*name).into(), value.as_slice().into()]).await?;
            }
            Ok(())
        })
        .await
}

async fn insert(tx: &Tx, table: &Table, rows: &[Cells]) -> Result<(), NotTransferred> {
    let session = tx.postgres().ok_or_else(|| {
        StoreError::Address("an estate is moved to PostgreSQL: postgres://…".to_owned())
    })?;
    Ok(session.copy_cells(&table.copy_sql(), &table.types(), rows).await?)
}

fn refuse_unfit(table: &Table, rows: &[Cells]) -> Result<(), NotTransferred> {
    let unfit = |cell: &Cell| matches!(cell, Cell::Text(text) if text.contains('\0'));
    let column = rows.iter().find_map(|row| row.iter().position(unfit));
    match column.and_then(|column| table.columns.get(column)) {
        Some(column) => Err(NotTransferred::Unfit { table: table.name, column: column.name }),
        None => Ok(()),
    }
}

/// Splits rows, which are ordered by key, by the first column of the key.
fn by_tenant(rows: Vec<Cells>) -> Vec<Vec<Cells>> {
    let mut chunks: Vec<Vec<Cells>> = Vec::new();
    for row in rows {
        match chunks.last_mut() {
            Some(chunk) if chunk[0][0] == row[0] => chunk.push(row),
            _ => chunks.push(vec![row]),
        }
    }
    chunks
}
