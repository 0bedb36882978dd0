//! Tenants, as the operator sets them up.

use gatehouse_core::event::audit::SetupObject;
use gatehouse_core::list::{NumberedSet, SetSize};
use gatehouse_core::{Page, PageRequest, Tenant, TenantName, Timestamp};

use crate::counted_sets::{label_build, position};
use crate::counts::counter;
use crate::db::{Row, Tx, WriteKind};
use crate::error::StoreError;
use crate::journal::audit::Audited;
use crate::journal::{beginning, hub};
use crate::revocation::{self, Revocation, RevocationKind};
use crate::{Put, Store};

/// The columns of a tenant, in the order that [`read`] reads them.
macro_rules! columns {
    () => {
        "SELECT tenant, time_zone, requests_per_second, page_number_max, label_keys FROM tenant"
    };
}

/// A tenant with accesses can't be deleted, because accesses are kept for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TenantInUse {
    /// Number of accesses, including terminated ones.
    pub n_accesses: u64,
}

impl Store {
    /// Creates the tenant, or replaces the existing one.
    pub async fn put_tenant(
        &self,
        tenant: &Tenant,
        audited: &Audited<Tenant>,
    ) -> Result<Put, StoreError> {
        let (tenant, audited) = (tenant.clone(), audited.clone());
        let put = self.db.write(WriteKind::Tenant(tenant.name.clone()), async move |tx| {
            let sql = "INSERT INTO tenant (tenant, time_zone, requests_per_second, \
                           page_number_max, label_keys) VALUES (?1, ?2, ?3, ?4, ?5) \
                           ON CONFLICT (tenant) DO NOTHING";
            let label_keys = label_build::keys_text(&tenant.label_keys);
            let values = [
                tenant.name.as_str().into(),
                tenant.time_zone.as_str().into(),
                tenant.requests_per_second.into(),
                tenant.page_number_max.into(),
                label_keys.as_deref().into(),
            ];
            // A tenant that was just deleted can be made again.
            let mut before = None;
            while before.is_none() && tx.execute(sql, &values).await? == 0 {
                before = lock(&tx, &tenant.name).await?;
            }
            if before.is_none() {
                let none = SetSize { total: 0, latest_at: Timestamp::EPOCH };
                counter::put(&tx, &tenant.name, &NumberedSet::Tenant, none).await?;
                counter::open_tasks(&tx, &tenant.name).await?;
                beginning::begin_with_tenant(&tx, &tenant.name).await?;
                position::open(&tx, &tenant.name).await?;
                label_build::declare(&tx, &tenant.name, &tenant.label_keys, false).await?;
                let changed = (SetupObject::Tenant, tenant.name.as_str());
                audited.write(&tx, &tenant.name, changed, None, Some(&tenant)).await?;
                audited.write_to_estate(&tx, changed, None, Some(&tenant)).await?;
                return Ok((Put::Created, false));
            }
            let sql = "UPDATE tenant SET time_zone = ?2, requests_per_second = ?3, \
                           page_number_max = ?4, label_keys = ?5 WHERE tenant = ?1";
            tx.execute(sql, &values).await?;
            let keys = &tenant.label_keys;
            let is_work = label_build::declare(&tx, &tenant.name, keys, true).await?;
            let changed = (SetupObject::Tenant, tenant.name.as_str());
            audited.write(&tx, &tenant.name, changed, before.as_ref(), Some(&tenant)).await?;
            Ok::<_, StoreError>((Put::Replaced, is_work))
        });
        let (put, has_set_work) = put.await?;
        if has_set_work {
            self.set_builder.wake();
        }
        Ok(put)
    }

    /// The tenant with this name.
    pub async fn tenant(&self, name: &TenantName) -> Result<Option<Tenant>, StoreError> {
        let sql = concat!(columns!(), " WHERE tenant = ?1");
        self.db.row(sql, &[name.as_str().into()], read).await
    }

    /// A page of all tenants, by name. Uses COUNT and OFFSET, because tenants are few.
    pub async fn tenants(&self, request: PageRequest) -> Result<Page<Tenant>, StoreError> {
        let total = self.db.row("SELECT COUNT(*) FROM tenant", &[], |row| row.count(0)).await?;
        let sql = concat!(columns!(), " ORDER BY tenant LIMIT ?1 OFFSET ?2");
        let values = [request.size.into(), request.offset().into()];
        let items = self.db.rows(sql, &values, read).await?;
        Ok(Page { request, items, total: total.unwrap_or_default() })
    }

    /// The names of all tenants.
    pub async fn tenant_names(&self) -> Result<Vec<TenantName>, StoreError> {
        self.db.rows("SELECT tenant FROM tenant", &[], |row| row.parsed(0)).await
    }

    /// All tenants.
    pub async fn every_tenant(&self) -> Result<Vec<Tenant>, StoreError> {
        let mut tenants = Vec::new();
        for number in 1.. {
            let request = PageRequest { number, size: 1000 };
            let Page { items, total, .. } = self.tenants(request).await?;
            tenants.extend(items);
            if number >= request.last(total) {
                break;
            }
        }
        Ok(tenants)
    }

    /// Deletes a tenant without accesses, with its contracts, accounts, clients and queued work, and revokes its
    /// tokens; `None` when it doesn't exist.
    pub async fn delete_tenant(
        &self,
        name: &TenantName,
        audited: &Audited<Tenant>,
    ) -> Result<Option<Result<Vec<Revocation>, TenantInUse>>, StoreError> {
        let (name, audited) = (name.clone(), audited.clone());
        self.db
            .write(WriteKind::Tenant(name.clone()), async move |tx| {
                // Locks in the order of transactions that accept and execute batches, so that they leave nothing behind
                // and don't deadlock with this one.
                counter::next_task(&tx, &name).await?;
                let values = [name.as_str().into()];
                let sql = concat!(
                    "UPDATE task SET turn = turn WHERE tenant = ?1 AND ",
                    crate::task::unfinished!()
                );
                tx.execute(sql, &values).await?;
                let Some(counter) = counter::lock_tenant(&tx, &name).await? else {
                    return Ok(None);
                };
                if counter.total > 0 {
                    return Ok(Some(Err(TenantInUse { n_accesses: counter.total })));
                }
                // Locked, so that a concurrent change has written into the audit before that is deleted.
                let before = lock(&tx, &name).await?;
                let changed = (SetupObject::Tenant, name.as_str());
                audited.write_to_estate(&tx, changed, before.as_ref(), None).await?;
                // Revoked too, because a client may be about to get a token.
                let clients = "SELECT id FROM client WHERE tenant = ?1";
                let clients = tx.rows(clients, &values, |row| row.text(0)).await?;
                // The rows that lock: the ends of the journal, hubs, then their work, like a transaction that numbers events.
                tx.execute("DELETE FROM journal WHERE tenant = ?1", &values).await?;
                hub::delete_all(&tx, &name).await?;
                for sql in [
                    "DELETE FROM due WHERE tenant = ?1",
                    "DELETE FROM contract WHERE tenant = ?1",
                    "DELETE FROM account WHERE tenant = ?1",
                    "DELETE FROM client WHERE tenant = ?1",
                    "DELETE FROM hook WHERE tenant = ?1",
                    "DELETE FROM tally WHERE tenant = ?1",
                    "DELETE FROM day WHERE tenant = ?1",
                    "DELETE FROM task WHERE tenant = ?1",
                    "DELETE FROM task_part WHERE tenant = ?1",
                    "DELETE FROM task_failure WHERE tenant = ?1",
                    "DELETE FROM secret WHERE tenant = ?1",
                    "DELETE FROM request WHERE tenant = ?1",
                    "DELETE FROM counter WHERE tenant = ?1",
                    "DELETE FROM set_part WHERE tenant = ?1",
                    "DELETE FROM set_sum WHERE tenant = ?1",
                    "DELETE FROM set_build WHERE tenant = ?1",
                    "DELETE FROM label_build WHERE tenant = ?1",
                    "DELETE FROM event_new WHERE tenant = ?1",
                    "DELETE FROM event WHERE tenant = ?1",
                    "DELETE FROM audit_ends WHERE tenant = ?1",
                    "DELETE FROM audit_new WHERE tenant = ?1",
                    "DELETE FROM audit WHERE tenant = ?1",
                    "DELETE FROM tenant WHERE tenant = ?1",
                ] {
                    tx.execute(sql, &values).await?;
                }
                let mut all =
                    vec![revocation::record_in(&tx, RevocationKind::Tenant, name.as_str()).await?];
                for client in clients {
                    all.push(revocation::record_in(&tx, RevocationKind::Client, &client).await?);
                }
                Ok::<_, StoreError>(Some(Ok(all)))
            })
            .await
    }
}

/// Locks a tenant's row.
async fn lock(tx: &Tx, name: &TenantName) -> Result<Option<Tenant>, StoreError> {
    let sql = concat!(columns!(), " WHERE tenant = ?1");
    tx.lock_row(sql, &[name.as_str().into()], read).await
}

/// Reads a tenant in a transaction.
pub(crate) async fn read_in(tx: &Tx, name: &TenantName) -> Result<Option<Tenant>, StoreError> {
    let sql = concat!(columns!(), " WHERE tenant = ?1");
    tx.row(sql, &[name.as_str().into()], read).await
}

fn read(row: &Row<'_>) -> Result<Tenant, StoreError> {
    Ok(Tenant {
        name: row.parsed(0)?,
        time_zone: row.parsed(1)?,
        requests_per_second: row.optional_count(2)?,
        page_number_max: row.optional_count(3)?,
        label_keys: label_build::read_keys(row, 4)?,
    })
}
