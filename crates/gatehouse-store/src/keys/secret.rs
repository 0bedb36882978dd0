//! Sealed secrets, whose bytes must be erased when they are deleted.
//!
//! SQLite overwrites deleted bytes, but not the copies that it leaves when rows move between pages. So a secret is
//! stored behind a page of zeros, which puts its bytes on a page that no other row shares and that never moves. Copies
//! in the log are gone when the log is checkpointed and truncated, which [`Store::scrub`] does. PostgreSQL keeps sealed
//! copies until VACUUM and until its log is recycled.

use gatehouse_core::TenantName;

use crate::Store;
use crate::db::{Dialect, Row, Tx};
use crate::error::StoreError;

/// Owner of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// A Task: its key.
    Task,
    /// An idempotent request: its response.
    Response,
}

impl SecretKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Response => "answer",
        }
    }
}

/// More bytes of a row than SQLite stores on a page with other rows.
const PADDING: usize = 4096;

/// SQL expression for a secret without the zeros.
pub(crate) const SEALED_IN_SQLITE: &str = "substr(body, 4097)";

const _: () = assert!(PADDING + 1 == 4097);

impl Store {
    /// The sealed bytes; `None` after they were deleted.
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

    /// Erases deleted bytes from the embedded database's files; false where a reader prevented that, and the caller
    /// must retry. PostgreSQL erases them later.
    pub async fn scrub(&self) -> Result<bool, StoreError> {
        self.db.truncate_log().await
    }
}

/// The sealed bytes in a stored body.
pub(crate) fn sealed(dialect: Dialect, mut body: Vec<u8>) -> Vec<u8> {
    if dialect == Dialect::Sqlite {
        body.drain(..PADDING.min(body.len()));
    }
    body
}

/// Position of the sealed bytes in a stored body, from 1.
pub(crate) fn first_byte(dialect: Dialect) -> u64 {
    match dialect {
        Dialect::Sqlite => PADDING as u64 + 1,
        Dialect::Postgres => 1,
    }
}

/// A body to store the sealed bytes in.
pub(crate) fn body(dialect: Dialect, sealed: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    if dialect == Dialect::Sqlite {
        body.resize(PADDING, 0);
    }
    body.extend_from_slice(sealed);
    body
}

/// Stores sealed bytes.
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

/// Deletes sealed bytes; false when there were none.
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
