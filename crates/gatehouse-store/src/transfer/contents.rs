//! Contents of a table: its rows in the order of the key, page by page, and their checksum.

use aws_lc_rs::digest::{Context, SHA256};

use super::encoding;
use super::table::{Side, Table};
use crate::db::{Cell, Db, SnapshotFor, Tx, Value};
use crate::error::StoreError;

/// A row, in the order of the table's columns.
pub(super) type Cells = Vec<Cell>;

/// Number of a table's rows, and their SHA-256 in the order of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableContents {
    /// Number of rows.
    pub n_rows: u64,
    /// Checksum of the rows.
    pub sha256: [u8; 32],
}

/// The rows after a key, at most `n_rows`; an empty key means the first rows.
pub(super) async fn page(
    db: &Db,
    side: Side,
    table: &'static Table,
    after: Cells,
    n_rows: usize,
) -> Result<Vec<Cells>, StoreError> {
    db.snapshot(SnapshotFor::Server(None), async move |tx| {
        page_in(&tx, side, table, &after, n_rows).await
    })
    .await
}

async fn page_in(
    tx: &Tx,
    side: Side,
    table: &'static Table,
    after: &[Cell],
    n_rows: usize,
) -> Result<Vec<Cells>, StoreError> {
    let sql = table.page_sql(side, !after.is_empty(), n_rows);
    let values: Vec<Value<'_>> = after.iter().map(Cell::as_value).collect();
    let columns = 0..table.columns.len();
    tx.rows_once(&sql, &values, |row| columns.clone().map(|column| row.cell(column)).collect())
        .await
}

/// The key of a row.
pub(super) fn key(table: &Table, row: &[Cell]) -> Cells {
    row[..table.n_key].to_vec()
}

/// Reads a whole table, and reports the number of rows after each page.
pub(super) async fn read(
    db: &Db,
    side: Side,
    table: &'static Table,
    n_at_once: usize,
    mut tell: impl FnMut(u64),
) -> Result<TableContents, StoreError> {
    let mut sum = Context::new(&SHA256);
    let (mut n_rows, mut after) = (0, Cells::new());
    loop {
        // Hashed where the page is read, not on the thread that waits for the other database.
        let look = async move |tx: Tx| {
            let rows = page_in(&tx, side, table, &after, n_at_once).await?;
            let mut bytes = Vec::new();
            for row in &rows {
                bytes.clear();
                encoding::write(row, &mut bytes);
                sum.update(&bytes);
            }
            let last = rows.last().map(|row| key(table, row));
            Ok((sum, rows.len(), last))
        };
        let (summed, n_read, last) = db.snapshot(SnapshotFor::Server(None), look).await?;
        sum = summed;
        n_rows += n_read as u64;
        tell(n_rows);
        match last {
            Some(last) if n_read == n_at_once => after = last,
            _ => break,
        }
    }
    let mut sha256 = [0; 32];
    sha256.copy_from_slice(sum.finish().as_ref());
    Ok(TableContents { n_rows, sha256 })
}
