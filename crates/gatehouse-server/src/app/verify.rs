//! Checking a device's credentials. Each check reads the row, so that a confirmed change takes effect at once.

use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_core::lifecycle::{self, CheckRefused};
use gatehouse_core::{Access, AccessId, Policy, TenantName, Username};
use gatehouse_store::{Change, RuleError, StoreError, StoredAccess};
use gatehouse_vault::{HashCaller, VaultError};

use std::time::Duration;

use super::guess_limiter::{Attempt, SecretOwner};
use super::requester::Requester;
use super::{App, Error};
use crate::keys::KeysInUse;

impl App {
    /// Accepts credentials, or refuses them without a reason. The first connection activates a prepaid access.
    pub async fn verify(
        &self,
        requester: Requester<'_>,
        username: &Username,
        password: &Password,
    ) -> Result<Access, Error> {
        let stored = self.store.access_by_username(requester.hash_caller.tenant, username).await?;
        self.check_against(requester, username, password, stored).await
    }

    /// Accepts credentials like [`App::verify`]; also returns the policy of the access's contract.
    pub async fn verify_with_policy(
        &self,
        requester: Requester<'_>,
        username: &Username,
        password: &Password,
    ) -> Result<(Access, Policy), Error> {
        let stored = self.store.access_with_policy(requester.hash_caller.tenant, username).await?;
        let (stored, policy) = stored.unzip();
        let access = self.check_against(requester, username, password, stored).await?;
        Ok((access, policy.unwrap_or_default()))
    }

    /// Checks credentials against the access with the username, if there is one.
    async fn check_against(
        &self,
        requester: Requester<'_>,
        username: &Username,
        password: &Password,
        stored: Option<StoredAccess>,
    ) -> Result<Access, Error> {
        let caller = requester.hash_caller;
        let tenant = caller.tenant;
        let Some(stored) = stored else {
            let is_slow = self.vault.unknown_is_slow(username.as_str());
            let guess = self.guess(tenant, username, None, is_slow)?;
            let checked = self.vault.check_unknown(caller, username.as_str(), password).await;
            give_back_if_failed(guess, checked)?;
            return Err(self.refuse(tenant, None).await?);
        };
        let id = stored.access.id;
        let is_slow = self.vault.is_slow(&stored.password);
        let Ok(entry) = lifecycle::may_connect(&stored.access, self.now()) else {
            let guess = self.guess(tenant, username, Some(id), is_slow)?;
            // Without the cache: it would be fast for the right password alone.
            let check = match self.vault.check_uncached(caller, &stored.password, password).await {
                Err(VaultError::UnknownKey) => {
                    let name = username.as_str();
                    self.vault.check_unknown(caller, name, password).await.map_err(Error::from)
                }
                checked => checked.map(drop).map_err(Error::from),
            };
            give_back_if_failed(guess, check)?;
            return Err(self.refuse(tenant, Some(id)).await?);
        };
        if !self.vault.is_cached(&stored.password, password) {
            let guess = self.guess(tenant, username, Some(id), is_slow)?;
            let (guess, is_right) =
                give_back_if_failed(guess, self.check_password(caller, &stored, password).await)?;
            if !is_right {
                return Err(self.refuse(tenant, Some(id)).await?);
            }
            guess.into_iter().for_each(Attempt::succeed);
        }
        match entry {
            Some(access) => {
                self.renew_password(caller, &stored, password).await;
                Ok(access)
            }
            // Boxed, because it happens once per access.
            None => {
                let connecting = Box::pin(self.connect_first(requester, stored, password));
                let (access, stored) = connecting.await?;
                self.renew_password(caller, &stored, password).await;
                Ok(access)
            }
        }
    }

    /// Counts a slow check against the limit. A fast check is of a generated password, which needs no limit.
    fn guess(
        &self,
        tenant: &TenantName,
        username: &Username,
        access: Option<AccessId>,
        is_slow: bool,
    ) -> Result<Option<Attempt<'_>>, Error> {
        if !is_slow {
            return Ok(None);
        }
        let begun = self.guess_limiter.begin(SecretOwner::Access, tenant, username.as_str());
        begun.map(Some).map_err(|wait| Error::TooManyGuesses(wait, access))
    }

    /// Checks the password. No password matches a hash whose master key is missing.
    async fn check_password(
        &self,
        caller: HashCaller<'_>,
        stored: &StoredAccess,
        password: &Password,
    ) -> Result<bool, Error> {
        match self.vault.check_uncached(caller, &stored.password, password).await {
            Err(VaultError::UnknownKey) => {
                let access = stored.access.id;
                tracing::warn!(%access, "the master key of the access's password is missing");
                let username = stored.access.username.as_str();
                self.vault.check_unknown(caller, username, password).await?;
                Ok(false)
            }
            checked => Ok(checked?),
        }
    }

    /// Hashes a right password with the first master key, if a former key or another program made its hash. Failures
    /// don't matter to the device: the next check tries again.
    async fn renew_password(
        &self,
        caller: HashCaller<'_>,
        stored: &StoredAccess,
        password: &Password,
    ) {
        let (id, before) = (stored.access.id, &stored.password);
        let is_foreign = self.vault.is_foreign(before);
        let longest = if is_foreign { REPLACEMENT_MAX } else { RENEWAL_MAX };
        let renewing = async {
            let renewed = self.vault.renew(caller, before, password).await;
            let Ok(Some(after)) = renewed else { return Ok(()) };
            // Boxed, because few passwords are renewed.
            let writing = async {
                // Any key of ours is better than another program's hash, and undoes no renewal.
                if !is_foreign && !self.has_newest_key().await? {
                    return Ok(());
                }
                self.store.renew_password(caller.tenant, id, before, &after).await.map(drop)
            };
            Box::pin(writing).await
        };
        match tokio::time::timeout(longest, renewing).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => {
                tracing::warn!(%why, access = %id, "the access's password hash could not be replaced");
            }
            // Another transaction holds the row.
            Err(_) => {}
        }
    }

    /// Whether the first master key is the newest one in use. While keys are rotated server by server, a server whose
    /// first key is older must not undo the others' renewals.
    pub(super) async fn has_newest_key(&self) -> Result<bool, StoreError> {
        let in_use = KeysInUse::read(&self.store).await?;
        let newest = in_use.as_ref().and_then(|in_use| in_use.iter().last());
        Ok(newest.is_none_or(|newest| newest.starts_with(self.vault.key_name())))
    }

    /// The refusal. Reads the tenant whatever the reason, so that every refusal takes equally long.
    async fn refuse(&self, tenant: &TenantName, access: Option<AccessId>) -> Result<Error, Error> {
        Ok(match self.store.tenant(tenant).await? {
            Some(_) => Error::CredentialsRefused(access),
            None => Error::NoTenant(tenant.to_string()),
        })
    }

    /// Records the first connection, once under concurrent requests. Returns the access, and what the password was
    /// checked against last.
    async fn connect_first(
        &self,
        requester: Requester<'_>,
        mut checked: StoredAccess,
        password: &Password,
    ) -> Result<(Access, StoredAccess), Error> {
        let caller = requester.hash_caller;
        let (tenant, id, now) = (caller.tenant, checked.access.id, self.now());
        let origin = requester.origin.clone().of_check();
        for _ in 0..CONNECT_TRIES_MAX {
            let checked_with = checked.password.clone();
            let access =
                self.store.change_access(tenant, id, origin.clone(), move |stored, contract| {
                    if stored.password != checked_with {
                        return Err(NotConnected::Changed(stored.password.clone()));
                    }
                    let access =
                        lifecycle::connect(&stored.access, contract, now).map_err(Error::from)?;
                    Ok(Change { access, password: None })
                });
            match access.await {
                Ok(Some(access)) => return Ok((access, checked)),
                Ok(None) => break,
                Err(NotConnected::Failed(why)) => return Err(why),
                Err(NotConnected::Changed(password)) => checked.password = password,
            }
            // Checks the new hash: it may be the same password under another master key.
            if !self.check_password(caller, &checked, password).await? {
                break;
            }
        }
        Err(Error::CredentialsRefused(Some(id)))
    }
}

/// The guess and the result of its check. If the check failed, gives the guess back and returns the error.
fn give_back_if_failed<'a, T, E: Into<Error>>(
    guess: Option<Attempt<'a>>,
    checked: Result<T, E>,
) -> Result<(Option<Attempt<'a>>, T), Error> {
    match checked {
        Ok(checked) => Ok((guess, checked)),
        Err(why) => {
            guess.into_iter().for_each(Attempt::give_back);
            Err(why.into())
        }
    }
}

/// Longest time that a device waits for its hash to be renewed.
pub(super) const RENEWAL_MAX: Duration = Duration::from_millis(250);

/// Longest time that a device waits for another program's hash to be replaced: once, so that the next check is as fast
/// as others.
const REPLACEMENT_MAX: Duration = Duration::from_secs(5);

/// Attempts while the hash changes.
const CONNECT_TRIES_MAX: usize = 3;

/// Why a first connection was not recorded.
enum NotConnected {
    /// The stored hash is not the checked one, but this one.
    Changed(StoredHash),
    Failed(Error),
}

impl<E: Into<Error>> From<E> for NotConnected {
    fn from(why: E) -> Self {
        Self::Failed(why.into())
    }
}

impl RuleError for NotConnected {
    fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::Changed(_) => None,
            Self::Failed(why) => why.of_store(),
        }
    }
}

impl From<CheckRefused> for Error {
    fn from(_: CheckRefused) -> Self {
        Self::CredentialsRefused(None)
    }
}
