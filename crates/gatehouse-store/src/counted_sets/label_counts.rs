//! How many accesses have each value of a label.

use gatehouse_core::{LabelKey, LabelValue, TenantName};

use super::label_build::{self, LabelBuild};
use super::position::{self, COMPLETE};
use crate::Store;
use crate::db::{Row, SnapshotFor};
use crate::error::StoreError;

/// A label's value, and the number of accesses that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelCount {
    /// The value.
    pub value: LabelValue,
    /// Number of accesses, terminated ones included.
    pub total: u64,
}

impl Store {
    /// The most frequent values of a label, the most frequent first; `None` while the key's sets are not complete. Reads
    /// all values, which may be many.
    pub async fn label_counts(
        &self,
        tenant: &TenantName,
        key: &LabelKey,
        n_max: u64,
    ) -> Result<Option<Vec<LabelCount>>, StoreError> {
        let (name, key) = (tenant.clone(), key.clone());
        let counted = self.db.snapshot(SnapshotFor::Scan(tenant), async move |tx| {
            let is_complete = position::position(&tx, &name).await? == COMPLETE
                && label_build::read(&tx, &name).await?.get(&key)
                    == Some(&LabelBuild::BuiltTo(COMPLETE));
            if !is_complete {
                return Ok(None);
            }
            // A key has no `=`, and names are ordered by their bytes.
            let sql = "SELECT name, CAST(SUM(n) AS BIGINT) AS total FROM set_sum \
                       WHERE tenant = ?1 AND kind = 'label' AND name >= ?2 || '=' AND name < ?2 || '>' \
                       GROUP BY name HAVING SUM(n) > 0 ORDER BY total DESC, name LIMIT ?3";
            let values = [name.as_str().into(), key.as_str().into(), n_max.into()];
            tx.rows(sql, &values, read).await.map(Some)
        });
        counted.await
    }
}

fn read(row: &Row<'_>) -> Result<LabelCount, StoreError> {
    let name = row.text_ref(0)?;
    let value = name.split_once('=').map_or("", |(_, value)| value);
    Ok(LabelCount { value: value.parse().map_err(StoreError::corrupt)?, total: row.count(1)? })
}
