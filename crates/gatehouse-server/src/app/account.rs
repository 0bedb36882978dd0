//! Accounts at external platforms, as the operator wants them.
//!
//! Credentials are sealed before they are kept, each account's for itself: what was sealed for one can't be
//! opened as another's. They are sent where their giver said, and nowhere else: a change of that takes them again.

use std::collections::BTreeMap;
use std::fmt;

use gatehouse_connectors::Settings;
use gatehouse_core::account::{AddressSource, Credentials};
use gatehouse_core::{Account, AccountName, TenantName};
use gatehouse_store::{
    AccountChange, AccountPut, Put, PutAccountRefused, StoreError, StoredAccount,
};
use zeroize::Zeroizing;

use super::{App, Error};
use crate::reader::Fault;

/// How often a change is tried while others change the same account.
const PUT_TRIES_MAX: u32 = 8;

/// An account as it is to be.
#[derive(Clone, PartialEq, Eq)]
pub struct AccountInput {
    /// The account.
    pub account: Account,
    /// How its platform is reached.
    pub settings: Settings,
    /// What it proves itself with; `None` for what it has already.
    pub credentials: Option<Credentials>,
}

/// Shows which account it is, not what it is reached with.
impl fmt::Debug for AccountInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountInput").field("account", &self.account).finish_non_exhaustive()
    }
}

/// What came of putting an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutAccount {
    /// Whether it was there before.
    pub put: Put,
    /// Which of its fields are different now, where it was there before.
    pub changed: Vec<&'static str>,
    /// Whether it has credentials now.
    pub has_credentials: bool,
}

impl App {
    /// Makes the account, or makes the one that is there as given, on the word of an operator or of the tenant.
    pub async fn put_account(
        &self,
        tenant: &TenantName,
        input: &AccountInput,
        by: AddressSource,
    ) -> Result<PutAccount, Error> {
        for _ in 0..PUT_TRIES_MAX {
            if let Some(put) = self.try_put_account(tenant, input, by).await? {
                return Ok(put);
            }
        }
        Err(Error::AccountChanging(input.account.name.to_string()))
    }

    /// Makes the account as given; `None` where it was changed while it was looked at.
    async fn try_put_account(
        &self,
        tenant: &TenantName,
        input: &AccountInput,
        by: AddressSource,
    ) -> Result<Option<PutAccount>, Error> {
        let AccountInput { account, settings, credentials } = input;
        let kept = self.store.account(tenant, &account.name).await?;
        let had = kept.as_ref().map(|kept| Had::new(self, tenant, kept));
        self.check_input(input, had.as_ref())?;
        let address_source = match (by, &had) {
            (AddressSource::Tenant, Some(had)) if !self.leads_elsewhere(input, had) => {
                had.kept.address_source
            }
            _ => by,
        };
        // What is the same as before is kept letter by letter: sealed again, it would look different.
        let is_same = |is_same: &dyn Fn(&(Settings, Credentials)) -> bool| {
            had.as_ref().is_some_and(|had| had.opened.as_ref().is_ok_and(is_same))
        };
        let settings = match &kept {
            Some(kept) if is_same(&|had| had.0 == *settings) => kept.settings.clone(),
            _ => serde_json::to_string(settings).expect("settings are plain data"),
        };
        let sealed = credentials.as_ref().map(|credentials| match &kept {
            Some(kept) if is_same(&|had| had.1 == *credentials) => {
                kept.credentials.clone().unwrap_or_default()
            }
            _ => self.seal(tenant, &account.name, credentials),
        });
        let change = AccountChange {
            account: account.clone(),
            settings,
            credentials: sealed,
            address_source,
            seen_version: kept.as_ref().map(|kept| kept.version),
        };
        match self.store.put_account(tenant, change).await? {
            Ok(put) => {
                if put.before.as_ref().map(|it| it.version) != Some(put.after.version) {
                    // Nobody asks it any more as it was.
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
    ) -> Result<(), Error> {
        if !self.store.delete_account(tenant, name).await? {
            return Err(Error::NotFound("account", name.to_string()));
        }
        self.platforms.close(tenant, name);
        self.scrub_credentials().await;
        Ok(())
    }

    /// What was sealed before goes for good, as far as nobody reads just now.
    async fn scrub_credentials(&self) {
        let _ = self.store.scrub().await;
    }

    /// What an account is reached with.
    pub(crate) fn open_account(
        &self,
        tenant: &TenantName,
        kept: &StoredAccount,
    ) -> Result<(Settings, Credentials), Error> {
        let unreadable = |why: Box<dyn std::error::Error + Send + Sync>| {
            Error::Storage(StoreError::Unexpected(why))
        };
        let settings = serde_json::from_str(&kept.settings);
        let settings = settings.map_err(|bad| unreadable(bad.into()))?;
        let mut credentials = Credentials::default();
        if let Some(sealed) = &kept.credentials {
            let plain = self.vault.unseal(&purpose(tenant, &kept.account.name), sealed);
            let plain = Zeroizing::new(plain.map_err(|bad| unreadable(bad.into()))?);
            let secrets = serde_json::from_slice::<BTreeMap<String, String>>(&plain);
            // What the reader would say might repeat a secret.
            let secrets = secrets.map_err(|_| unreadable("credentials are no object".into()))?;
            for (name, secret) in secrets {
                credentials.insert(name, secret);
            }
        }
        Ok((settings, credentials))
    }

    /// Whether an account that is kept can still be opened, and its connector can do with it. Nothing is asked
    /// of its platform.
    pub fn check_account(&self, tenant: &TenantName, kept: &StoredAccount) -> Result<(), Error> {
        let (settings, credentials) = self.open_account(tenant, kept)?;
        self.check(&kept.account, &settings, &credentials)
    }

    /// Whether an account can be put as given. Nothing is asked of its platform, and nothing is changed.
    pub async fn check_account_input(
        &self,
        tenant: &TenantName,
        input: &AccountInput,
    ) -> Result<(), Error> {
        let kept = self.store.account(tenant, &input.account.name).await?;
        let had = kept.as_ref().map(|kept| Had::new(self, tenant, kept));
        self.check_input(input, had.as_ref())
    }

    /// Whether the connector can do with what the account is to be, and with what it keeps.
    fn check_input(&self, input: &AccountInput, had: Option<&Had<'_>>) -> Result<(), Error> {
        let none = Credentials::default();
        let must_be_given = |why: &str| {
            let reason = format!("must be given: {why}");
            Err(Error::InvalidAccount(vec![Fault { name: "credentials".into(), reason }]))
        };
        let credentials = match (&input.credentials, had) {
            (Some(given), _) => given,
            (None, None) => &none,
            (None, Some(had)) => match &had.opened {
                Ok((_, credentials)) => {
                    if !credentials.is_empty() && self.leads_elsewhere(input, had) {
                        // Whatever else is wrong with the account is told as well.
                        let mut faults = self.faults(&input.account, &input.settings, credentials);
                        let reason = "must be given again: connector and settings change where they are sent";
                        faults.push(Fault { name: "credentials".into(), reason: reason.into() });
                        return Err(Error::InvalidAccount(faults));
                    }
                    credentials
                }
                Err(_) => {
                    return must_be_given(
                        "those that are kept can't be opened with the keys that are here",
                    );
                }
            },
        };
        self.check(&input.account, &input.settings, credentials)
    }

    /// Whether an account's platform would be elsewhere, so that its secrets would be sent elsewhere.
    fn leads_elsewhere(&self, input: &AccountInput, had: &Had<'_>) -> bool {
        let Ok((settings, _)) = &had.opened else { return true };
        let connector = &had.kept.account.connector;
        if (connector, settings) == (&input.account.connector, &input.settings) {
            return false;
        }
        let catalog = self.platforms.catalog();
        let was = catalog.addresses(connector, settings);
        let is = catalog.addresses(&input.account.connector, &input.settings);
        *connector != input.account.connector || was.is_none() || was != is
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

    /// Seals credentials for one account; none are nothing.
    fn seal(&self, tenant: &TenantName, name: &AccountName, credentials: &Credentials) -> Vec<u8> {
        if credentials.is_empty() {
            return Vec::new();
        }
        let secrets: BTreeMap<&str, &str> =
            credentials.names().filter_map(|it| Some((it, credentials.reveal(it)?))).collect();
        // As much as it can take at most, so that it never moves and leaves a copy behind.
        let n_bytes: usize =
            secrets.iter().map(|(name, secret)| 6 * (name.len() + secret.len()) + 6).sum();
        let mut plain = Zeroizing::new(Vec::with_capacity(n_bytes + 2));
        serde_json::to_writer(&mut *plain, &secrets).expect("texts are plain data");
        self.vault.seal(&purpose(tenant, name), &plain)
    }
}

/// An account as it is kept, and what it is reached with, where that can be opened.
struct Had<'a> {
    kept: &'a StoredAccount,
    opened: Result<(Settings, Credentials), Error>,
}

impl<'a> Had<'a> {
    fn new(app: &App, tenant: &TenantName, kept: &'a StoredAccount) -> Self {
        Self { kept, opened: app.open_account(tenant, kept) }
    }
}

/// Tenants have no spaces in them, so no two accounts have the same one.
pub(super) fn purpose(tenant: &TenantName, name: &AccountName) -> String {
    format!("account {tenant} {name}")
}

/// The fields of an account that are different now, by their names on the wire.
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
