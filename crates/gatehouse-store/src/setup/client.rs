//! Clients: machines that get their tokens from the built-in issuer.

use gatehouse_core::client::{Client, ClientId};
use gatehouse_core::credential::StoredHash;
use gatehouse_core::event::audit::SetupObject;
use gatehouse_core::rights::{scopes_from_words, scopes_to_words};
use gatehouse_core::{Page, PageRequest, TenantName};

use crate::Store;
use crate::counts::counter;
use crate::db::{Row, WriteKind};
use crate::error::StoreError;
use crate::journal::audit::Audited;
use crate::revocation::{self, Revocation, RevocationKind};

/// The columns of a client, in the order that [`read`] reads them.
macro_rules! columns {
    () => {
        "id, name, scope, created_at"
    };
}

impl Store {
    /// Creates a client with the hash of its secret; false when the tenant doesn't exist.
    pub async fn create_client(
        &self,
        tenant: &TenantName,
        client: &Client,
        secret: &StoredHash,
        audited: &Audited<Client>,
    ) -> Result<bool, StoreError> {
        let (tenant, client, secret) = (tenant.clone(), client.clone(), secret.clone());
        let audited = audited.clone();
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                // Locked, so that a tenant that is being deleted leaves no client behind.
                if counter::lock_tenant(&tx, &tenant).await?.is_none() {
                    return Ok(false);
                }
                let (id, scope) = (client.id.to_string(), scopes_to_words(&client.scopes));
                let sql = "INSERT INTO client (tenant, id, name, scope, secret_hash, created_at) \
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                let values = [
                    tenant.as_str().into(),
                    id.as_str().into(),
                    client.name.as_ref().map(|name| name.as_str()).into(),
                    scope.as_str().into(),
                    secret.as_str().into(),
                    client.created_at.into(),
                ];
                tx.execute(sql, &values).await?;
                let changed = (SetupObject::Client, id.as_str());
                audited.write(&tx, &tenant, changed, None, Some(&client)).await?;
                Ok::<_, StoreError>(true)
            })
            .await
    }

    /// The client with this identifier, and the hash of its secret.
    pub async fn client(
        &self,
        tenant: &TenantName,
        id: &ClientId,
    ) -> Result<Option<(Client, StoredHash)>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            ", secret_hash FROM client WHERE tenant = ?1 AND id = ?2"
        );
        let read_both = |row: &Row<'_>| Ok((read(row)?, StoredHash::new(row.text(4)?)));
        let id = id.to_string();
        self.db.row(sql, &[tenant.as_str().into(), id.as_str().into()], read_both).await
    }

    /// Replaces the hash of a client's secret by another of the same secret, unless the client was deleted meanwhile.
    pub async fn renew_client_secret(
        &self,
        tenant: &TenantName,
        id: &ClientId,
        before: &StoredHash,
        after: &StoredHash,
    ) -> Result<bool, StoreError> {
        let (tenant, id) = (tenant.clone(), id.to_string());
        let (before, after) = (before.clone(), after.clone());
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                let sql = "UPDATE client SET secret_hash = ?4 WHERE tenant = ?1 AND id = ?2 \
                           AND secret_hash = ?3";
                let values = [
                    tenant.as_str().into(),
                    id.as_str().into(),
                    before.as_str().into(),
                    after.as_str().into(),
                ];
                Ok::<_, StoreError>(tx.execute(sql, &values).await? == 1)
            })
            .await
    }

    /// A page of the tenant's clients, by identifier; `None` when the tenant doesn't exist. Uses COUNT and OFFSET,
    /// because clients are few.
    pub async fn clients(
        &self,
        tenant: &TenantName,
        request: PageRequest,
    ) -> Result<Option<Page<Client>>, StoreError> {
        let sql = "SELECT (SELECT COUNT(*) FROM client c WHERE c.tenant = t.tenant) \
                   FROM tenant t WHERE t.tenant = ?1";
        let total = self.db.row(sql, &[tenant.as_str().into()], |row| row.count(0)).await?;
        let Some(total) = total else { return Ok(None) };
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM client WHERE tenant = ?1 ORDER BY id LIMIT ?2 OFFSET ?3"
        );
        let values = [tenant.as_str().into(), request.size.into(), request.offset().into()];
        let items = self.db.rows(sql, &values, read).await?;
        Ok(Some(Page { request, items, total }))
    }

    /// Deletes a client and revokes its tokens; `None` when it doesn't exist.
    pub async fn delete_client(
        &self,
        tenant: &TenantName,
        id: &ClientId,
        audited: &Audited<Client>,
    ) -> Result<Option<Revocation>, StoreError> {
        let (tenant, id, audited) = (tenant.clone(), id.to_string(), audited.clone());
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                let values = [tenant.as_str().into(), id.as_str().into()];
                let sql =
                    concat!("SELECT ", columns!(), " FROM client WHERE tenant = ?1 AND id = ?2");
                let Some(before) = tx.lock_row(sql, &values, read).await? else { return Ok(None) };
                tx.execute("DELETE FROM client WHERE tenant = ?1 AND id = ?2", &values).await?;
                let changed = (SetupObject::Client, id.as_str());
                audited.write(&tx, &tenant, changed, Some(&before), None).await?;
                revocation::record_in(&tx, RevocationKind::Client, &id).await.map(Some)
            })
            .await
    }
}

fn read(row: &Row<'_>) -> Result<Client, StoreError> {
    Ok(Client {
        id: row.parsed(0)?,
        name: row
            .optional_text(1)?
            .map(|name| name.parse())
            .transpose()
            .map_err(StoreError::corrupt)?,
        scopes: scopes_from_words(&row.text(2)?),
        created_at: row.time(3)?,
    })
}
