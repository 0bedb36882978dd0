//! Moving an estate from the embedded store to PostgreSQL: exactly, and from where it stopped if it was
//! interrupted.
//!
//! `table` lists what is copied. Rows go over as they are, in the order of their key, a chunk of one tenant's
//! at a time; each chunk is a transaction that also moves the `mark` on. Then both sides are read once more
//! and compared (`contents`), by what each database gives back. Only when all is equal does the last
//! transaction take the mark away, and servers may start.
//!
//! Nobody else may use the source meanwhile: the caller sees to that. The target refuses servers by its mark.

mod contents;
mod encoding;
mod mark;
mod table;

pub use contents::Contents;
pub(crate) use mark::{refuse_unfinished, refuse_unfinished_in};
#[cfg(test)]
pub(crate) use table::{Kind, NOT_COPIED, TABLES as ALL_TABLES};

use aws_lc_rs::digest::{Context, SHA256};
use futures_util::future::try_join;

use crate::Store;
use crate::clock::Clock;
use crate::db::{Cell, DatabaseUrl, Db, Line, Tx};
use crate::error::{Failure, StoreError};
use crate::migrate;
use contents::{Cells, key, page};
use mark::Mark;
use table::{Side, TABLES, Table};

/// What came of moving an estate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Everything is there, as the comparison of every table says.
    Whole(Vec<Compared>),
    /// Some tables differ, and the target can't be used.
    Differs(Vec<Compared>),
    /// It had been finished before; nothing was done.
    Before,
}

/// What a table holds on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The table.
    pub table: &'static str,
    /// In the source, as it was meant to go over.
    pub source: Contents,
    /// In the target.
    pub target: Contents,
}

impl Compared {
    /// Whether both sides hold the same.
    pub fn is_equal(&self) -> bool {
        self.source == self.target
    }
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// To which table.
    pub table: &'static str,
    /// Rows of it that are done, of this run.
    pub n_rows: u64,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Rows are copied.
    Copying,
    /// Both sides are read and compared.
    Comparing,
}

/// Why an estate was not moved. It says what to do.
#[derive(Debug, thiserror::Error)]
pub enum NotMoved {
    /// The source can't be read.
    #[error("the source: {}", .0.explained())]
    Source(#[source] StoreError),
    /// The target can't be used.
    #[error("the target: {}", .0.explained())]
    Target(#[from] StoreError),
    /// Somebody else's rows are there.
    #[error(
        "the target is not empty (there are rows in `{0}`): give an empty database, or an empty schema \
         of one"
    )]
    NotEmpty(&'static str),
    /// The migration that is there began elsewhere.
    #[error(
        "the target holds an unfinished migration of another source, or of this one before it was used \
         again: finish that one, or empty the target and begin anew"
    )]
    AnotherSource,
    /// The migration that is there was begun by another gatehouse.
    #[error(
        "the target holds an unfinished migration that a gatehouse with schema version {begun} began, and \
         this one has {newest}: finish it with that gatehouse, or empty the target and begin anew"
    )]
    AnotherSchema {
        /// Of the one that began.
        begun: i64,
        /// Of this one.
        newest: i64,
    },
    /// Two are at it.
    #[error(
        "the target is not where this `gatehouse migrate` left it: another one is at work on it, or PostgreSQL has \
         crashed and lost the last rows; let the other one finish, or give the command again"
    )]
    Overtaken,
    /// A text that PostgreSQL has no room for.
    #[error(
        "a row of `{table}` has a NUL character in `{column}`, which PostgreSQL can't hold: change that \
         row in the source, then empty the target and begin anew"
    )]
    Unfit {
        /// Where.
        table: &'static str,
        /// In which column.
        column: &'static str,
    },
}

impl Failure for NotMoved {
    fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::Source(error) | Self::Target(error) => Some(error),
            _ => None,
        }
    }
}

/// Who is told how far it is.
pub(crate) type Tell<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// Tables that are small, and in which nearly every use of a source shows.
const KNOWN_BY: [&str; 8] =
    ["server_key", "tenant", "contract", "counter", "tally", "day", "client", "account"];

/// What a finished migration leaves behind: which source came here.
const FINISHED: &str = "transferred-from";

impl Store {
    /// Moves everything that this store holds into an empty PostgreSQL database, or goes on with that.
    /// `keys` are kept there among the server's, in place of files that lie beside this store.
    pub async fn move_to(
        &self,
        target: &DatabaseUrl,
        clock: Clock,
        keys: Vec<(&'static str, Vec<u8>)>,
        tell: Tell<'_>,
    ) -> Result<Moved, NotMoved> {
        let target = Db::open_postgres(target, clock)?;
        let moved =
            Transfer { source: self.db.clone(), target: target.clone(), n_at_once: usize::MAX }
                .run(keys, tell)
                .await;
        target.close().await;
        moved
    }
}

/// A migration from one database to another.
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
    ) -> Result<Moved, NotMoved> {
        let source = self.known_by().await?;
        let Some(mark) = self.begin(source).await? else { return Ok(Moved::Before) };
        let mark = self.copy(mark, tell).await?;
        let compared = self.compare(tell).await?;
        if !compared.iter().all(Compared::is_equal) {
            return Ok(Moved::Differs(compared));
        }
        finish(&self.target, mark, keys).await?;
        Ok(Moved::Whole(compared))
    }

    /// What the source is known by: its keys, its tenants, what they have, every number that they have given out, and how
    /// many accesses have which status. So one that was used since is another, nearly always.
    async fn known_by(&self) -> Result<Vec<u8>, NotMoved> {
        let mut sum = Context::new(&SHA256);
        for table in TABLES.iter().filter(|it| KNOWN_BY.contains(&it.name)) {
            let n_at_once = table.n_at_once.min(self.n_at_once);
            let held = contents::read(&self.source, Side::Source, table, n_at_once, |_| ()).await;
            sum.update(&held.map_err(NotMoved::Source)?.sha256);
        }
        Ok(sum.finish().as_ref().to_vec())
    }

    /// Marks an empty target as ours, or finds our mark there; `None` when it has been finished before.
    async fn begin(&self, source: Vec<u8>) -> Result<Option<Mark>, NotMoved> {
        let newest = migrate::newest();
        if migrate::version(&self.target).await?.is_some() {
            if let Some(mark) = mark::find(&self.target).await? {
                return match mark {
                    Mark { schema: begun, .. } if begun != newest => {
                        Err(NotMoved::AnotherSchema { begun, newest })
                    }
                    mark if mark.source != source => Err(NotMoved::AnotherSource),
                    mark => Ok(Some(mark)),
                };
            }
            let sql = "SELECT value FROM server_key WHERE name = ?1";
            let finished = self.target.row(sql, &[FINISHED.into()], |row| row.bytes(0)).await?;
            if finished.is_some_and(|finished| finished == source) {
                return Ok(None);
            }
            // Before the schema is touched. These two are in every version of it, and whatever has rows has
            // some in one of them.
            for (table, sql) in [
                ("server_key", "SELECT 1 FROM server_key LIMIT 1"),
                ("tenant", "SELECT 1 FROM tenant LIMIT 1"),
            ] {
                if self.target.row(sql, &[], |_| Ok(())).await?.is_some() {
                    return Err(NotMoved::NotEmpty(table));
                }
            }
        }
        migrate::run(&self.target).await?;
        let first = &TABLES[0];
        let keys = page(&self.source, Side::Source, first, Cells::new(), first.n_at_once).await;
        let keys = keys.map_err(NotMoved::Source)?;
        let after = keys.last().map(|row| key(first, row)).unwrap_or_default();
        let mark = Mark { schema: newest, source, table: first.name.to_owned(), after };
        let bytes = mark.to_bytes();
        let begun = self.target.write(Line::Own, async move |tx| {
            let sql = "INSERT INTO server_key (name, value) VALUES (?1, ?2)";
            tx.execute(sql, &[mark::NAME.into(), bytes.as_slice().into()]).await?;
            for table in TABLES {
                let sql = table.page_sql(Side::Target, false, 1);
                if !tx.rows_once(&sql, &[], |_| Ok(())).await?.is_empty() {
                    return Err(NotMoved::NotEmpty(table.name));
                }
            }
            insert(&tx, first, &keys).await
        });
        match begun.await {
            Ok(()) => Ok(Some(mark)),
            // Somebody was quicker with the mark, or a server with its keys.
            Err(NotMoved::Target(StoreError::Taken(_))) => Err(NotMoved::Overtaken),
            Err(why) => Err(why),
        }
    }

    /// Copies what is left to copy.
    async fn copy(&self, mut mark: Mark, tell: Tell<'_>) -> Result<Mark, NotMoved> {
        let done = TABLES.iter().take_while(|table| table.name != mark.table).count();
        for table in &TABLES[done..] {
            let after = if table.name == mark.table { mark.after.clone() } else { Cells::new() };
            let n_at_once = table.n_at_once.min(self.n_at_once);
            let read = async |after: Cells| {
                let rows = page(&self.source, Side::Source, table, after, n_at_once).await;
                rows.map_err(NotMoved::Source)
            };
            let (mut rows, mut n_rows) = (read(after).await?, 0);
            while let Some(last) = rows.last().map(|row| key(table, row)) {
                n_rows += rows.len() as u64;
                let is_last = rows.len() < n_at_once;
                // The next page is read while this one is sent.
                let next = async { if is_last { Ok(Vec::new()) } else { read(last).await } };
                (rows, mark) = try_join(next, self.send(mark, table, rows)).await?;
                tell(Progress { stage: Stage::Copying, table: table.name, n_rows });
            }
            // What is read from now on is planned by what is there.
            let sql = format!("ANALYZE {}", table.name);
            self.target.write(Line::Own, async move |tx| tx.script(&sql).await).await?;
        }
        Ok(mark)
    }

    /// Sends a page, a tenant at a time.
    async fn send(
        &self,
        mut mark: Mark,
        table: &'static Table,
        rows: Vec<Cells>,
    ) -> Result<Mark, NotMoved> {
        refuse_unfit(table, &rows)?;
        for rows in by_tenant(rows) {
            let after = rows.last().map(|row| key(table, row)).unwrap_or_default();
            let next = Mark { table: table.name.to_owned(), after, ..mark.clone() };
            let (from, to) = (mark.to_bytes(), next.to_bytes());
            self.target
                .write(Line::Own, async move |tx| {
                    // A crash of PostgreSQL may take the last chunks away, and the mark with them. What
                    // removes the mark waits until everything before it is on the disk.
                    tx.script("SET LOCAL synchronous_commit = off").await?;
                    let sql = "UPDATE server_key SET value = ?3 WHERE name = ?1 AND value = ?2";
                    let values = [mark::NAME.into(), from.as_slice().into(), to.as_slice().into()];
                    if tx.execute(sql, &values).await? != 1 {
                        return Err(NotMoved::Overtaken);
                    }
                    insert(&tx, table, &rows).await
                })
                .await?;
            mark = next;
        }
        Ok(mark)
    }

    /// Reads every table on both sides, at the same time.
    async fn compare(&self, tell: Tell<'_>) -> Result<Vec<Compared>, NotMoved> {
        let mut compared = Vec::new();
        for table in TABLES {
            let n_at_once = table.n_at_once.min(self.n_at_once);
            let source = async {
                let held = contents::read(&self.source, Side::Source, table, n_at_once, |_| ());
                held.await.map_err(NotMoved::Source)
            };
            let target = async {
                let tell = |n_rows| {
                    tell(Progress { stage: Stage::Comparing, table: table.name, n_rows });
                };
                Ok(contents::read(&self.target, Side::Target, table, n_at_once, tell).await?)
            };
            let (source, target) = try_join(source, target).await?;
            compared.push(Compared { table: table.name, source, target });
        }
        Ok(compared)
    }
}

/// Takes the mark away and keeps what servers need.
async fn finish(
    target: &Db,
    mark: Mark,
    keys: Vec<(&'static str, Vec<u8>)>,
) -> Result<(), NotMoved> {
    target
        .write(Line::Own, async move |tx| {
            let sql = "DELETE FROM server_key WHERE name = ?1 AND value = ?2";
            let bytes = mark.to_bytes();
            if tx.execute(sql, &[mark::NAME.into(), bytes.as_slice().into()]).await? != 1 {
                return Err(NotMoved::Overtaken);
            }
            let sql = "INSERT INTO server_key (name, value) VALUES (?1, ?2)";
            for (name, value) in keys.iter().chain([&(FINISHED, mark.source)]) {
                tx.execute(sql, &[(*name).into(), value.as_slice().into()]).await?;
            }
            Ok(())
        })
        .await
}

async fn insert(tx: &Tx, table: &Table, rows: &[Cells]) -> Result<(), NotMoved> {
    let session = tx.postgres().ok_or_else(|| {
        StoreError::Address("an estate is moved to PostgreSQL: postgres://…".to_owned())
    })?;
    Ok(session.copy_cells(&table.copy_sql(), &table.types(), rows).await?)
}

fn refuse_unfit(table: &Table, rows: &[Cells]) -> Result<(), NotMoved> {
    let unfit = |cell: &Cell| matches!(cell, Cell::Text(text) if text.contains('\0'));
    let column = rows.iter().find_map(|row| row.iter().position(unfit));
    match column.and_then(|column| table.columns.get(column)) {
        Some(column) => Err(NotMoved::Unfit { table: table.name, column: column.name }),
        None => Ok(()),
    }
}

/// Rows in the order of their keys, apart by what those begin with.
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
