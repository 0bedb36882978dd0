//! Tenants, as the operator wants them.

use gatehouse_core::{Tenant, TenantName};
use gatehouse_store::{Put, TenantInUse};

use super::{App, Error};

impl App {
    /// Makes the tenant, or makes the one that is there as given.
    pub async fn put_tenant(&self, tenant: &Tenant) -> Result<Put, Error> {
        Ok(self.store.put_tenant(tenant).await?)
    }

    /// Deletes a tenant that has no accesses, and its contracts. Its tokens are taken no more, also where another one of its
    /// name is made.
    pub async fn delete_tenant(&self, name: &TenantName) -> Result<(), Error> {
        match self.store.delete_tenant(name).await? {
            None => Err(Error::NoTenant(name.to_string())),
            Some(Ok(ended)) => {
                ended.into_iter().for_each(|it| self.revocations.add(it));
                self.platforms.keep_only(name, &[]);
                // What was sealed goes for good, as far as nobody reads just now.
                let _ = self.store.scrub().await;
                Ok(())
            }
            Some(Err(TenantInUse { n_accesses })) => {
                Err(Error::InUse { what: "the tenant can't be deleted", n_accesses })
            }
        }
    }
}
