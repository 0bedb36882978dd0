//! The server's own keys: sealed values and fingerprints that belong to no tenant.

use crate::db::WriteKind;
use crate::error::StoreError;
use crate::{Store, transfer};

impl Store {
    /// The value with this name.
    pub async fn server_key(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT value FROM server_key WHERE name = ?1";
        self.db.row(sql, &[name.into()], |row| row.bytes(0)).await
    }

    /// Stores a value unless another server was first; returns the value that is stored now.
    pub async fn keep_server_key(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.db
            .write(WriteKind::Server, async move |tx| {
                let sql = "INSERT INTO server_key (name, value) VALUES (?1, ?2) \
                           ON CONFLICT (name) DO NOTHING";
                tx.execute(sql, &[name.as_str().into(), value.as_slice().into()]).await?;
                // A migration into this database writes the same names, so one of the two waits for the other.
                transfer::refuse_unfinished(&tx).await?;
                let sql = "SELECT value FROM server_key WHERE name = ?1";
                let kept = tx.row(sql, &[name.as_str().into()], |row| row.bytes(0)).await?;
                kept.ok_or_else(|| StoreError::corrupt("a key that was just stored is missing"))
            })
            .await
    }

    /// Replaces a value; false when the present one isn't `before`.
    pub async fn replace_server_key(
        &self,
        name: &str,
        before: &[u8],
        after: &[u8],
    ) -> Result<bool, StoreError> {
        let (name, before, after) = (name.to_owned(), before.to_owned(), after.to_owned());
        self.db
            .write(WriteKind::Server, async move |tx| {
                let sql = "UPDATE server_key SET value = ?3 WHERE name = ?1 AND value = ?2";
                let values =
                    [name.as_str().into(), before.as_slice().into(), after.as_slice().into()];
                Ok::<_, StoreError>(tx.execute(sql, &values).await? == 1)
            })
            .await
    }
}
