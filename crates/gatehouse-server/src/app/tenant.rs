//! Creating, reading, replacing and deleting tenants.

use std::collections::BTreeSet;

use gatehouse_core::event::Origin;
use gatehouse_core::{LabelKey, Tenant, TenantName};
use gatehouse_store::{Put, TenantInUse};

use super::{App, Error, audit};

impl App {
    /// Creates or replaces the tenant.
    pub async fn put_tenant(&self, tenant: &Tenant, origin: &Origin) -> Result<Put, Error> {
        Ok(self.store.put_tenant(tenant, &audit::of_tenant(origin)).await?)
    }

    /// The keys of labels that the tenant filters by.
    pub(crate) async fn label_keys(&self, name: &TenantName) -> Result<BTreeSet<LabelKey>, Error> {
        let tenant = self.store.tenant(name).await?;
        Ok(tenant.ok_or_else(|| Error::NoTenant(name.to_string()))?.label_keys)
    }

    /// Deletes a tenant without accesses, its contracts included. Its tokens stay revoked if the name is used again.
    pub async fn delete_tenant(&self, name: &TenantName, origin: &Origin) -> Result<(), Error> {
        match self.store.delete_tenant(name, &audit::of_tenant(origin)).await? {
            None => Err(Error::NoTenant(name.to_string())),
            Some(Ok(revoked)) => {
                revoked.into_iter().for_each(|it| self.revocations.add(it));
                self.hook_keys.forget_all();
                self.platforms.keep_only(name, &[]);
                // Overwrites deleted secrets, unless readers of the database prevent it just now.
                let _ = self.store.scrub().await;
                Ok(())
            }
            Some(Err(TenantInUse { n_accesses })) => {
                Err(Error::InUse { what: "the tenant can't be deleted", n_accesses })
            }
        }
    }
}
