//! Checking a device's credentials. The row is read at every check: what has been answered is obeyed.

use gatehouse_core::credential::Password;
use gatehouse_core::lifecycle::{self, Refused};
use gatehouse_core::{Access, TenantName, Username};
use gatehouse_store::{Change, Stored};

use super::{App, Error};

impl App {
    /// Lets a device in, or doesn't say why not. The first connection of a prepaid access activates it.
    pub async fn verify(
        &self,
        tenant: &TenantName,
        username: &Username,
        password: &Password,
    ) -> Result<Access, Error> {
        let Some(stored) = self.store.access_by_username(tenant, username).await? else {
            self.vault.check_nothing(username.as_str(), password).await?;
            return Err(self.refuse(tenant).await?);
        };
        let Ok(entry) = lifecycle::may_connect(&stored.access, self.now()) else {
            // Not by what is remembered: that would be quick for the right password alone.
            self.vault.check_afresh(&stored.password, password).await?;
            return Err(self.refuse(tenant).await?);
        };
        if !self.vault.check(&stored.password, password).await? {
            return Err(self.refuse(tenant).await?);
        }
        match entry {
            Some(access) => Ok(access),
            None => self.connect_first(tenant, stored).await,
        }
    }

    /// The one refusal. It looks for the tenant whatever the reason, so that each takes as long.
    async fn refuse(&self, tenant: &TenantName) -> Result<Error, Error> {
        Ok(match self.store.tenant(tenant).await? {
            Some(_) => Error::CredentialsRefused,
            None => Error::NoTenant(tenant.to_string()),
        })
    }

    /// Counts the first connection, exactly once however many come at the same time.
    async fn connect_first(&self, tenant: &TenantName, checked: Stored) -> Result<Access, Error> {
        let (id, now) = (checked.access.id, self.now());
        let access = self.store.change_access(tenant, id, move |stored, contract| {
            // A password that was rotated since it was checked lets nobody in.
            if stored.password != checked.password {
                return Err(Error::CredentialsRefused);
            }
            let access = lifecycle::connect(&stored.access, contract, now)?;
            Ok(Change { access, password: None })
        });
        access.await?.ok_or(Error::CredentialsRefused)
    }
}

impl From<Refused> for Error {
    fn from(_: Refused) -> Self {
        Self::CredentialsRefused
    }
}
