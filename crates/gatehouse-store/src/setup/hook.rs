//! Hooks: gateways that may ask for checks of a tenant.

use gatehouse_core::event::audit::SetupObject;
use gatehouse_core::hook::HOOKS_MAX;
use gatehouse_core::{Dialect, Hook, HookId, Page, PageRequest, TenantName, Timestamp};

use crate::Store;
use crate::counts::counter;
use crate::db::{Row, Tx, WriteKind};
use crate::error::StoreError;
use crate::journal::audit::Audited;

/// The columns of a hook, in the order that [`read`] reads them.
macro_rules! select {
    () => {
        "SELECT id, dialect, name, created_at, used_at FROM hook"
    };
}

/// Why a hook was not created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookRefused {
    /// The tenant doesn't exist.
    NoTenant,
    /// The tenant has [`HOOKS_MAX`] hooks.
    TooMany,
}

/// Deletes the hooks of a tenant.
pub(crate) async fn delete_all(tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
    tx.execute("DELETE FROM hook WHERE tenant = ?1", &[tenant.as_str().into()]).await.map(drop)
}

impl Store {
    /// Creates a hook with the digest of its key.
    pub async fn create_hook(
        &self,
        tenant: &TenantName,
        hook: &Hook,
        key_digest: [u8; 32],
        audited: &Audited<Hook>,
    ) -> Result<Result<(), HookRefused>, StoreError> {
        let (tenant, hook, audited) = (tenant.clone(), hook.clone(), audited.clone());
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                // Locked, so that a tenant that is being deleted leaves no hook behind, and so that the limit holds.
                if counter::lock_tenant(&tx, &tenant).await?.is_none() {
                    return Ok(Err(HookRefused::NoTenant));
                }
                let sql = "SELECT COUNT(*) FROM hook WHERE tenant = ?1";
                let n = tx.row(sql, &[tenant.as_str().into()], |row| row.count(0)).await?;
                if n.unwrap_or_default() >= HOOKS_MAX {
                    return Ok(Err(HookRefused::TooMany));
                }
                let id = hook.id.to_string();
                let sql = "INSERT INTO hook (tenant, id, dialect, name, key_digest, created_at) \
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                let values = [
                    tenant.as_str().into(),
                    id.as_str().into(),
                    hook.dialect.as_str().into(),
                    hook.name.as_ref().map(|name| name.as_str()).into(),
                    key_digest.as_slice().into(),
                    hook.created_at.into(),
                ];
                tx.execute(sql, &values).await?;
                let changed = (SetupObject::Hook, id.as_str());
                audited.write(&tx, &tenant, changed, None, Some(&hook)).await?;
                Ok::<_, StoreError>(Ok(()))
            })
            .await
    }

    /// The hook with this identifier.
    pub async fn hook(&self, tenant: &TenantName, id: HookId) -> Result<Option<Hook>, StoreError> {
        let id = id.to_string();
        let sql = concat!(select!(), " WHERE tenant = ?1 AND id = ?2");
        self.db.row(sql, &[tenant.as_str().into(), id.as_str().into()], read).await
    }

    /// The hook whose key has this digest.
    pub async fn hook_by_key(
        &self,
        tenant: &TenantName,
        key_digest: &[u8; 32],
    ) -> Result<Option<Hook>, StoreError> {
        let sql = concat!(select!(), " WHERE tenant = ?1 AND key_digest = ?2");
        self.db.row(sql, &[tenant.as_str().into(), key_digest.as_slice().into()], read).await
    }

    /// A page of the tenant's hooks, the oldest first; `None` when the tenant doesn't exist. Uses COUNT and OFFSET,
    /// because hooks are few.
    pub async fn hooks(
        &self,
        tenant: &TenantName,
        request: PageRequest,
    ) -> Result<Option<Page<Hook>>, StoreError> {
        let sql = "SELECT (SELECT COUNT(*) FROM hook h WHERE h.tenant = t.tenant) \
                   FROM tenant t WHERE t.tenant = ?1";
        let total = self.db.row(sql, &[tenant.as_str().into()], |row| row.count(0)).await?;
        let Some(total) = total else { return Ok(None) };
        let sql = concat!(select!(), " WHERE tenant = ?1 ORDER BY id LIMIT ?2 OFFSET ?3");
        let values = [tenant.as_str().into(), request.size.into(), request.offset().into()];
        let items = self.db.rows(sql, &values, read).await?;
        Ok(Some(Page { request, items, total }))
    }

    /// Deletes a hook; false when it doesn't exist.
    pub async fn delete_hook(
        &self,
        tenant: &TenantName,
        id: HookId,
        audited: &Audited<Hook>,
    ) -> Result<bool, StoreError> {
        let (tenant, id, audited) = (tenant.clone(), id.to_string(), audited.clone());
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                let values = [tenant.as_str().into(), id.as_str().into()];
                let sql = concat!(select!(), " WHERE tenant = ?1 AND id = ?2");
                let Some(before) = tx.lock_row(sql, &values, read).await? else { return Ok(false) };
                tx.execute("DELETE FROM hook WHERE tenant = ?1 AND id = ?2", &values).await?;
                let changed = (SetupObject::Hook, id.as_str());
                audited.write(&tx, &tenant, changed, Some(&before), None).await?;
                Ok::<_, StoreError>(true)
            })
            .await
    }

    /// Records when keys of hooks were last used.
    pub async fn record_hook_uses(
        &self,
        uses: Vec<(TenantName, HookId, Timestamp)>,
    ) -> Result<(), StoreError> {
        self.db
            .write(WriteKind::Server, async move |tx| {
                for (tenant, id, at) in &uses {
                    let id = id.to_string();
                    let sql = "UPDATE hook SET used_at = ?3 WHERE tenant = ?1 AND id = ?2 \
                               AND (used_at IS NULL OR used_at < ?3)";
                    let values = [tenant.as_str().into(), id.as_str().into(), (*at).into()];
                    tx.execute(sql, &values).await?;
                }
                Ok(())
            })
            .await
    }
}

fn read(row: &Row<'_>) -> Result<Hook, StoreError> {
    let name = row.optional_text(2)?.map(|name| name.parse()).transpose();
    Ok(Hook {
        id: row.parsed(0)?,
        dialect: Dialect::from_word(&row.text(1)?)
            .ok_or_else(|| StoreError::corrupt("an unknown dialect of a hook"))?,
        name: name.map_err(StoreError::corrupt)?,
        created_at: row.time(3)?,
        used_at: row.optional_time(4)?,
    })
}
