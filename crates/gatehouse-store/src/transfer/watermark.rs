//! The watermark of an unfinished transfer: its source, and how far it has come.
//!
//! The watermark is stored among the server's keys, which belong to no tenant. While it exists, no server starts. Each
//! chunk of rows advances it in the same transaction, from exactly its last position. So rows and watermark always
//! agree, and of two concurrent transfers one gets an error.

use super::encoding;
use crate::db::{Cell, Db, Tx, WriteKind};
use crate::error::StoreError;

/// The watermark's table.
pub(super) const TABLE: &str = "server_key";

/// The watermark's name in this table.
pub(super) const NAME: &str = "transfer";

/// Progress of a transfer, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Watermark {
    /// Schema version of both databases.
    pub(super) schema: i64,
    /// Identifies the source.
    pub(super) source: Vec<u8>,
    /// The table whose rows were copied last. All tables before it are complete.
    pub(super) table: String,
    /// Key of the last row that was copied.
    pub(super) after: Vec<Cell>,
}

impl Watermark {
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

/// The stored watermark. Waits for a transaction that is advancing it.
pub(super) async fn find(db: &Db) -> Result<Option<Watermark>, StoreError> {
    let find = async |tx: Tx| tx.lock_row(FIND, &[NAME.into()], |row| row.bytes(0)).await;
    let unreadable = || StoreError::corrupt("the watermark of a migration can't be parsed");
    let read = |bytes: Vec<u8>| Watermark::from_bytes(&bytes).ok_or_else(unreadable);
    db.write(WriteKind::Server, find).await?.map(read).transpose()
}

/// Fails while a transfer into this database is unfinished.
pub(crate) async fn refuse_unfinished_in(db: &Db) -> Result<(), StoreError> {
    refuse(db.row(FIND, &[NAME.into()], |_| Ok(())).await?)
}

/// Fails in a transaction while a transfer into its database is unfinished.
pub(crate) async fn refuse_unfinished(tx: &Tx) -> Result<(), StoreError> {
    refuse(tx.row(FIND, &[NAME.into()], |_| Ok(())).await?)
}

fn refuse(found: Option<()>) -> Result<(), StoreError> {
    if found.is_some() { Err(StoreError::Unfinished) } else { Ok(()) }
}
