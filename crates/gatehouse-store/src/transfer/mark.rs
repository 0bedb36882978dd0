//! The mark of a migration that is under way: whose it is, and how far it has come.
//!
//! It lies among the server's keys, which are no tenant's. While it is there no server starts. Each chunk of
//! rows moves it on in its own transaction, from exactly where it was: so rows and mark can't part, and of two
//! who migrate at the same time one finds that it was overtaken.

use super::encoding;
use crate::db::{Cell, Db, Line, Tx};
use crate::error::StoreError;

/// The table that it lies in.
pub(super) const TABLE: &str = "server_key";

/// Its name there.
pub(super) const NAME: &str = "transfer";

/// How far a migration has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The version of the schema on both sides.
    pub(super) schema: i64,
    /// What the source is known by.
    pub(super) source: Vec<u8>,
    /// The table whose rows were copied last. Those before it are complete.
    pub(super) table: String,
    /// The key of the last row that was copied.
    pub(super) after: Vec<Cell>,
}

impl Mark {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (source, table) = (self.source.clone(), self.table.clone());
        let mut cells = vec![Cell::Integer(self.schema), Cell::Bytes(source), Cell::Text(table)];
        cells.extend_from_slice(&self.after);
        let mut bytes = Vec::new();
        encoding::write(&cells, &mut bytes);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut cells = encoding::read(bytes)?.into_iter();
        match (cells.next()?, cells.next()?, cells.next()?) {
            (Cell::Integer(schema), Cell::Bytes(source), Cell::Text(table)) => {
                Some(Self { schema, source, table, after: cells.collect() })
            }
            _ => None,
        }
    }
}

const FIND: &str = "SELECT value FROM server_key WHERE name = ?1";

/// The mark that is there. Whoever was about to move it on, and may be gone by now, is waited for.
pub(super) async fn find(db: &Db) -> Result<Option<Mark>, StoreError> {
    let find = async |tx: Tx| tx.lock_row(FIND, &[NAME.into()], |row| row.bytes(0)).await;
    let unreadable = || StoreError::corrupt("the mark of a migration means nothing");
    let read = |bytes: Vec<u8>| Mark::from_bytes(&bytes).ok_or_else(unreadable);
    db.write(Line::Own, find).await?.map(read).transpose()
}

/// Fails while a migration into this database is unfinished.
pub(crate) async fn refuse_unfinished_in(db: &Db) -> Result<(), StoreError> {
    refuse(db.row(FIND, &[NAME.into()], |_| Ok(())).await?)
}

/// The same in a transaction.
pub(crate) async fn refuse_unfinished(tx: &Tx) -> Result<(), StoreError> {
    refuse(tx.row(FIND, &[NAME.into()], |_| Ok(())).await?)
}

fn refuse(found: Option<()>) -> Result<(), StoreError> {
    if found.is_some() { Err(StoreError::Unfinished) } else { Ok(()) }
}
