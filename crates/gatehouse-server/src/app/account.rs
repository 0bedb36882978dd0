//! Accounts at external platforms.
//!
//! Credentials are sealed per account: one account's can't be opened as another's. They are sent only to the addresses
//! that they were given for; when these change, the caller must give the credentials again.

use std::collections::BTreeMap;
use std::fmt;

use gatehouse_connectors::Settings;
use gatehouse_core::account::{AddressSource, Credentials};
use gatehouse_core::event::Origin;
use gatehouse_core::{Account, AccountName, TenantName};
use gatehouse_store::{
    AccountChange, AccountPut, Put, PutAccountRefused, StoreError, StoredAccount,
};
use zeroize::Zeroizing;

use super::{App, Error, audit};
use crate::reader::Fault;

/// Attempts to store an account while other requests change it.
const PUT_TRIES_MAX: u32 = 8;

/// An account to create or replace.
#[derive(Clone, PartialEq, Eq)]
pub struct AccountInput {
    /// The account.
    pub account: Account,
    /// The connector's settings.
    pub settings: Settings,
    /// The credentials; `None` to keep the stored ones.
    pub credentials: Option<Credentials>,
}

/// Shows the account without settings and credentials.
impl fmt::Debug for AccountInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountInput").field("account", &self.account).finish_non_exhaustive()
    }
}

/// Result of creating or replacing an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutAccount {
    /// Created or replaced.
    pub put: Put,
    /// The fields that changed; empty for a new account.
    pub changed: Vec<&'static str>,
    /// Whether the account has credentials now.
    pub has_credentials: bool,
}

impl App {
    /// Creates or replaces the account. `by` tells whether an operator or the tenant gave its addresses.
    pub async fn put_account(
        &self,
        tenant: &TenantName,
        input: &AccountInput,
        by: AddressSource,
        origin: &Origin,
    ) -> Result<PutAccount, Error> {
        for _ in 0..PUT_TRIES_MAX {
            if let Some(put) = self.try_put_account(tenant, input, by, origin).await? {
                return Ok(put);
            }
        }
        Err(Error::AccountChanging(input.account.name.to_string()))
    }

    /// Stores the account; `None` if another request changed it meanwhile.
    async fn try_put_account(
        &self,
        tenant: &TenantName,
        input: &AccountInput,
        by: AddressSource,
        origin: &Origin,
    ) -> Result<Option<PutAccount>, Error> {
        let AccountInput { account, settings, credentials } = input;
        let stored = self.store.account(tenant, &account.name).await?;
        let old = stored.as_ref().map(|stored| OldAccount::new(self, tenant, stored));
        self.check_input(input, old.as_ref())?;
        let address_source = match (by, &old) {
            (AddressSource::Tenant, Some(old)) if !self.changes_addresses(input, old) => {
                old.stored.address_source
            }
            _ => by,
        };
        // Unchanged values keep their stored bytes: sealing them again would look like a change.
        let is_same = |is_same: &dyn Fn(&(Settings, Credentials)) -> bool| {
            old.as_ref().is_some_and(|old| old.opened.as_ref().is_ok_and(is_same))
        };
        let settings = match &stored {
            Some(stored) if is_same(&|old| old.0 == *settings) => stored.settings.clone(),
            _ => serde_json::to_string(settings).expect("settings are plain data"),
        };
        let sealed = credentials.as_ref().map(|credentials| match &stored {
            Some(stored) if is_same(&|old| old.1 == *credentials) => {
                stored.credentials.clone().unwrap_or_default()
            }
            _ => self.seal(tenant, &account.name, credentials),
        });
        let change = AccountChange {
            account: account.clone(),
            settings,
            credentials: sealed,
            address_source,
            seen_version: stored.as_ref().map(|stored| stored.version),
        };
        match self.store.put_account(tenant, change, &audit::of_account(origin)).await? {
            Ok(put) => {
                if put.before.as_ref().map(|it| it.version) != Some(put.after.version) {
                    // Drops the connection state of the old version.
                    self.platforms.close(tenant, &account.name);
                }
                if let Some(before) = &put.before
                    && before.credentials.is_some()
                    && before.credentials != put.after.credentials
                {
                    self.scrub_credentials().await;
                }
                Ok(Some(PutAccount {
                    put: put.put(),
                    changed: changed(&put),
                    has_credentials: put.after.credentials.is_some(),
                }))
            }
            Err(PutAccountRefused::Changed) => Ok(None),
            Err(PutAccountRefused::NoTenant) => Err(Error::NoTenant(tenant.to_string())),
            Err(PutAccountRefused::TooMany) => Err(Error::TooManyAccounts),
        }
    }

    /// Deletes an account.
    pub async fn delete_account(
        &self,
        tenant: &TenantName,
        name: &AccountName,
        origin: &Origin,
    ) -> Result<(), Error> {
        if !self.store.delete_account(tenant, name, &audit::of_account(origin)).await? {
            return Err(Error::NotFound("account", name.to_string()));
        }
        self.platforms.close(tenant, name);
        self.scrub_credentials().await;
        Ok(())
    }

    /// Overwrites deleted credentials, unless readers of the database prevent it just now.
    async fn scrub_credentials(&self) {
        let _ = self.store.scrub().await;
    }

    /// Decodes the settings and opens the credentials of a stored account.
    pub(crate) fn open_account(
        &self,
        tenant: &TenantName,
        stored: &StoredAccount,
    ) -> Result<(Settings, Credentials), Error> {
        let unreadable = |why: Box<dyn std::error::Error + Send + Sync>| {
            Error::Storage(StoreError::Unexpected(why))
        };
        let settings = serde_json::from_str(&stored.settings);
        let settings = settings.map_err(|bad| unreadable(bad.into()))?;
        let mut credentials = Credentials::default();
        if let Some(sealed) = &stored.credentials {
            let plain = self.vault.unseal(&purpose(tenant, &stored.account.name), sealed);
            let plain = Zeroizing::new(plain.map_err(|bad| unreadable(bad.into()))?);
            let secrets = serde_json::from_slice::<BTreeMap<String, String>>(&plain);
            // The parser's message might quote a secret.
            let secrets = secrets.map_err(|_| unreadable("credentials are no object".into()))?;
            for (name, secret) in secrets {
                credentials.insert(name, secret);
            }
        }
        Ok((settings, credentials))
    }

    /// Checks that a stored account can be opened and that its connector accepts it. Doesn't call the platform.
    pub fn check_account(&self, tenant: &TenantName, stored: &StoredAccount) -> Result<(), Error> {
        let (settings, credentials) = self.open_account(tenant, stored)?;
        self.check(&stored.account, &settings, &credentials)
    }

    /// Checks whether an account can be stored. Doesn't call the platform, changes nothing.
    pub async fn check_account_input(
        &self,
        tenant: &TenantName,
        input: &AccountInput,
    ) -> Result<(), Error> {
        let stored = self.store.account(tenant, &input.account.name).await?;
        let old = stored.as_ref().map(|stored| OldAccount::new(self, tenant, stored));
        self.check_input(input, old.as_ref())
    }

    /// Checks the new settings with the new credentials, or with the stored ones.
    fn check_input(&self, input: &AccountInput, old: Option<&OldAccount<'_>>) -> Result<(), Error> {
        let no_credentials = Credentials::default();
        let must_be_given = |why: &str| {
            let reason = format!("must be given: {why}");
            Err(Error::InvalidAccount(vec![Fault { name: "credentials".into(), reason }]))
        };
        let credentials = match (&input.credentials, old) {
            (Some(given), _) => given,
            (None, None) => &no_credentials,
            (None, Some(old)) => match &old.opened {
                Ok((_, credentials)) => {
                    if !credentials.is_empty() && self.changes_addresses(input, old) {
                        // Reports the other faults too.
                        let mut faults = self.faults(&input.account, &input.settings, credentials);
                        let reason = "must be given again: connector and settings change where they are sent";
                        faults.push(Fault { name: "credentials".into(), reason: reason.into() });
                        return Err(Error::InvalidAccount(faults));
                    }
                    credentials
                }
                Err(_) => {
                    return must_be_given(
                        "the stored settings or credentials can't be read with the present master keys",
                    );
                }
            },
        };
        self.check(&input.account, &input.settings, credentials)
    }

    /// Whether the change sends the credentials to other addresses.
    fn changes_addresses(&self, input: &AccountInput, old: &OldAccount<'_>) -> bool {
        let Ok((settings, _)) = &old.opened else { return true };
        let connector = &old.stored.account.connector;
        if (connector, settings) == (&input.account.connector, &input.settings) {
            return false;
        }
        let catalog = self.platforms.catalog();
        let old_addresses = catalog.addresses(connector, settings);
        let new_addresses = catalog.addresses(&input.account.connector, &input.settings);
        *connector != input.account.connector
            || old_addresses.is_none()
            || old_addresses != new_addresses
    }

    fn check(
        &self,
        account: &Account,
        settings: &Settings,
        credentials: &Credentials,
    ) -> Result<(), Error> {
        let faults = self.faults(account, settings, credentials);
        if faults.is_empty() { Ok(()) } else { Err(Error::InvalidAccount(faults)) }
    }

    fn faults(
        &self,
        account: &Account,
        settings: &Settings,
        credentials: &Credentials,
    ) -> Vec<Fault> {
        let faults = self.platforms.catalog().faults(&account.connector, settings, credentials);
        faults.into_iter().map(|it| Fault { name: it.name, reason: it.reason }).collect()
    }

    /// Seals credentials for one account; no credentials are empty bytes.
    fn seal(&self, tenant: &TenantName, name: &AccountName, credentials: &Credentials) -> Vec<u8> {
        if credentials.is_empty() {
            return Vec::new();
        }
        let secrets: BTreeMap<&str, &str> =
            credentials.names().filter_map(|it| Some((it, credentials.reveal(it)?))).collect();
        // The maximum size: a reallocation would leave a copy of the secrets in memory.
        let n_bytes: usize =
            secrets.iter().map(|(name, secret)| 6 * (name.len() + secret.len()) + 6).sum();
        let mut plain = Zeroizing::new(Vec::with_capacity(n_bytes + 2));
        serde_json::to_writer(&mut *plain, &secrets).expect("texts are plain data");
        self.vault.seal(&purpose(tenant, name), &plain)
    }
}

/// A stored account, opened where the keys allow it.
struct OldAccount<'a> {
    stored: &'a StoredAccount,
    opened: Result<(Settings, Credentials), Error>,
}

impl<'a> OldAccount<'a> {
    fn new(app: &App, tenant: &TenantName, stored: &'a StoredAccount) -> Self {
        Self { stored, opened: app.open_account(tenant, stored) }
    }
}

/// Purpose of an account's seal. Unique, because tenant names have no spaces.
pub(super) fn purpose(tenant: &TenantName, name: &AccountName) -> String {
    format!("account {tenant} {name}")
}

/// Names of the changed fields in the API.
fn changed(put: &AccountPut) -> Vec<&'static str> {
    let Some(before) = &put.before else { return Vec::new() };
    let (was, is) = (&before.account, &put.after.account);
    let fields = [
        ("platform", was.platform != is.platform),
        ("connector", was.connector != is.connector),
        ("platformAccount", was.platform_account != is.platform_account),
        ("settings", before.settings != put.after.settings),
        ("credentials", before.credentials != put.after.credentials),
    ];
    fields.into_iter().filter(|(_, is_different)| *is_different).map(|(name, _)| name).collect()
}
