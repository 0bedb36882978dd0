//! Sealed bytes that must be gone after their time, not only out of reach.
//!
//! SQLite overwrites what is deleted, but not what it leaves behind when rows move between pages. So a
//! secret lies behind a page of zeros, which puts its own bytes on a page that no other row shares and
//! that never moves. What was written to the log is gone when the log is moved into the database and cut
//! off, which [`Store::scrub`] does. PostgreSQL keeps sealed remnants until vacuum and until its log is
//! recycled.

use gatehouse_core::TenantName;

use crate::Store;
use crate::db::{Dialect, Row, Tx};
use crate::error::StoreError;

/// What a secret belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// A Task: its key.
    Task,
    /// A request that may be repeated: its answer.
    Answer,
}

impl SecretKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Answer => "answer",
        }
    }
}

/// More than any page of the embedded database holds of a row beside others.
const PADDING: usize = 4096;

/// What SQLite gives of a secret without the zeros before it.
pub(crate) const SEALED_IN_SQLITE: &str = "substr(body, 4097)";

const _: () = assert!(PADDING + 1 == 4097);

impl Store {
    /// The sealed bytes, while they are kept.
    pub async fn secret(
        &self,
        tenant: &TenantName,
        kind: SecretKind,
        name: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT body FROM secret WHERE tenant = ?1 AND kind = ?2 AND name = ?3";
        let values = [tenant.as_str().into(), kind.as_str().into(), name.into()];
        let dialect = self.db.dialect();
        let read = |row: &Row<'_>| Ok(sealed(dialect, row.bytes(0)?));
        self.db.row(sql, &values, read).await
    }

    /// Makes sure that what was deleted is gone from the embedded database's files; false when readers
    /// stood in the way, and it must be tried again. PostgreSQL does this in its own time.
    pub async fn scrub(&self) -> Result<bool, StoreError> {
        self.db.truncate_log().await
    }
}

/// The sealed bytes of what was stored.
pub(crate) fn sealed(dialect: Dialect, mut body: Vec<u8>) -> Vec<u8> {
    if dialect == Dialect::Sqlite {
        body.drain(..PADDING.min(body.len()));
    }
    body
}

/// Where the sealed bytes begin in what is stored, counted from 1.
pub(crate) fn first_byte(dialect: Dialect) -> u64 {
    match dialect {
        Dialect::Sqlite => PADDING as u64 + 1,
        Dialect::Postgres => 1,
    }
}

/// Sealed bytes as they are stored.
pub(crate) fn body(dialect: Dialect, sealed: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    if dialect == Dialect::Sqlite {
        body.resize(PADDING, 0);
    }
    body.extend_from_slice(sealed);
    body
}

/// Keeps sealed bytes.
pub(crate) async fn put(
    tx: &Tx,
    tenant: &TenantName,
    kind: SecretKind,
    name: &str,
    sealed: &[u8],
) -> Result<(), StoreError> {
    let body = body(tx.dialect(), sealed);
    let sql = "INSERT INTO secret (tenant, kind, name, body) VALUES (?1, ?2, ?3, ?4)";
    let values =
        [tenant.as_str().into(), kind.as_str().into(), name.into(), body.as_slice().into()];
    tx.execute(sql, &values).await.map(drop)
}

/// Deletes sealed bytes; whether there were any.
pub(crate) async fn remove(
    tx: &Tx,
    tenant: &TenantName,
    kind: SecretKind,
    name: &str,
) -> Result<bool, StoreError> {
    let sql = "DELETE FROM secret WHERE tenant = ?1 AND kind = ?2 AND name = ?3";
    let values = [tenant.as_str().into(), kind.as_str().into(), name.into()];
    Ok(tx.execute(sql, &values).await? > 0)
}
