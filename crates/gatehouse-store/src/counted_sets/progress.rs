//! How far the counted sets of all tenants are built, for operators.

use gatehouse_core::{LabelKey, TenantName};

use super::position::COMPLETE;
use crate::Store;
use crate::db::Row;
use crate::error::StoreError;

/// Sets of a tenant that are not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnbuiltSets {
    /// The tenant.
    pub tenant: TenantName,
    /// The label whose sets they are; `None` for those of status, contract, offering and job.
    pub label: Option<LabelKey>,
    /// Accesses that are in their sets.
    pub n_built: u64,
    /// Accesses of the tenant.
    pub n_accesses: u64,
}

impl Store {
    /// The sets that are being built or wait for it, of tenants with accesses.
    pub async fn unbuilt_sets(&self) -> Result<Vec<UnbuiltSets>, StoreError> {
        let sql = "SELECT t.tenant, CAST(NULL AS TEXT), COALESCE(b.built_to, 0), c.total FROM tenant t \
                   JOIN counter c ON c.tenant = t.tenant AND c.kind = 'tenant' AND c.name = '' \
                   LEFT JOIN set_build b ON b.tenant = t.tenant \
                   WHERE COALESCE(b.built_to, 0) <> ?1 AND c.total > 0 ORDER BY t.tenant";
        let mut unbuilt = self.db.rows(sql, &[COMPLETE.into()], read).await?;
        // Sets of a key that the tenant no longer filters by are being deleted, and have a position below 0.
        let sql = "SELECT b.tenant, b.label_key, b.built_to, c.total FROM label_build b \
                   JOIN counter c ON c.tenant = b.tenant AND c.kind = 'tenant' AND c.name = '' \
                   WHERE b.built_to <> ?1 AND b.built_to >= 0 AND c.total > 0 \
                   ORDER BY b.tenant, b.label_key";
        unbuilt.extend(self.db.rows(sql, &[COMPLETE.into()], read).await?);
        Ok(unbuilt)
    }
}

fn read(row: &Row<'_>) -> Result<UnbuiltSets, StoreError> {
    let label = row.optional_text(1)?.map(|key| key.parse().map_err(StoreError::corrupt));
    Ok(UnbuiltSets {
        tenant: row.parsed(0)?,
        label: label.transpose()?,
        n_built: row.count(2)?,
        n_accesses: row.count(3)?,
    })
}
