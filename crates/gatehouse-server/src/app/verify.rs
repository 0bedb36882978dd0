//! Checking a device's credentials. The row is read at every check: what has been answered is obeyed.

use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_core::lifecycle::{self, CheckRefused};
use gatehouse_core::{Access, AccessId, TenantName, Username};
use gatehouse_store::{Change, Failure, StoreError, StoredAccess};
use gatehouse_vault::{HashCaller, VaultError};

use std::time::Duration;

use super::guesses::{Guessed, Try};
use super::{App, Error};
use crate::keys::KeysInUse;

impl App {
    /// Lets a device in, or doesn't say why not. The first connection of a prepaid access activates it.
    pub async fn verify(
        &self,
        asker: HashCaller<'_>,
        username: &Username,
        password: &Password,
    ) -> Result<Access, Error> {
        let tenant = asker.tenant;
        let Some(stored) = self.store.access_by_username(tenant, username).await? else {
            let is_slow = self.vault.unknown_is_slow(username.as_str());
            let guess = self.guess(tenant, username, None, is_slow)?;
            let nothing = self.vault.check_unknown(asker, username.as_str(), password).await;
            looked_at(guess, nothing)?;
            return Err(self.refuse(tenant, None).await?);
        };
        let id = stored.access.id;
        let is_slow = self.vault.is_slow(&stored.password);
        let Ok(entry) = lifecycle::may_connect(&stored.access, self.now()) else {
            let guess = self.guess(tenant, username, Some(id), is_slow)?;
            // Not by what is remembered: that would be quick for the right password alone.
            let checked = match self.vault.check_uncached(asker, &stored.password, password).await {
                Err(VaultError::UnknownKey) => {
                    let name = username.as_str();
                    self.vault.check_unknown(asker, name, password).await.map_err(Error::from)
                }
                checked => checked.map(drop).map_err(Error::from),
            };
            looked_at(guess, checked)?;
            return Err(self.refuse(tenant, Some(id)).await?);
        };
        if !self.vault.is_cached(&stored.password, password) {
            let guess = self.guess(tenant, username, Some(id), is_slow)?;
            let (guess, is_right) =
                looked_at(guess, self.check_password(asker, &stored, password).await)?;
            if !is_right {
                return Err(self.refuse(tenant, Some(id)).await?);
            }
            guess.into_iter().for_each(Try::succeed);
        }
        match entry {
            Some(access) => {
                self.renew_password(asker, &stored, password).await;
                Ok(access)
            }
            // Boxed, since it happens once.
            None => Box::pin(self.connect_first(asker, stored, password)).await,
        }
    }

    /// Counts a slow check against the limit. A fast check is of a generated password, which needs no limit.
    fn guess(
        &self,
        tenant: &TenantName,
        username: &Username,
        access: Option<AccessId>,
        is_slow: bool,
    ) -> Result<Option<Try<'_>>, Error> {
        if !is_slow {
            return Ok(None);
        }
        let begun = self.guesses.begin(Guessed::Access, tenant, username.as_str());
        begun.map(Some).map_err(|wait| Error::TooManyGuesses(wait, access))
    }

    /// Whether the password is the access's. One that was hashed with a master key that is gone is nobody's.
    async fn check_password(
        &self,
        asker: HashCaller<'_>,
        stored: &StoredAccess,
        password: &Password,
    ) -> Result<bool, Error> {
        match self.vault.check_uncached(asker, &stored.password, password).await {
            Err(VaultError::UnknownKey) => {
                let access = stored.access.id;
                tracing::warn!(%access, "its password was hashed with a master key that is not here");
                let username = stored.access.username.as_str();
                self.vault.check_unknown(asker, username, password).await?;
                Ok(false)
            }
            checked => Ok(checked?),
        }
    }

    /// Hashes a password that was just found right under the first master key, where a former one has made its
    /// hash. What comes of it is nothing to who is let in: the next check tries again.
    async fn renew_password(
        &self,
        asker: HashCaller<'_>,
        stored: &StoredAccess,
        password: &Password,
    ) {
        let (id, before) = (stored.access.id, &stored.password);
        let renewing = async {
            let renewed = self.vault.renew(asker, before, password).await;
            let Ok(Some(after)) = renewed else { return Ok(()) };
            // Boxed, since few are renewed.
            let writing = async {
                if !self.has_newest_key().await? {
                    return Ok(());
                }
                self.store.renew_password(asker.tenant, id, before, &after).await.map(drop)
            };
            Box::pin(writing).await
        };
        match tokio::time::timeout(RENEWAL_MAX, renewing).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => {
                tracing::warn!(%why, access = %id, "its password keeps the hash of a former master key");
            }
            // Somebody else has the access just now.
            Err(_) => {}
        }
    }

    /// Whether the first master key is the one that came into use last. While servers change their keys one after the
    /// other, those that still have the former one first must not undo what the others have renewed.
    pub(super) async fn has_newest_key(&self) -> Result<bool, StoreError> {
        let in_use = KeysInUse::read(&self.store).await?;
        let newest = in_use.as_ref().and_then(|in_use| in_use.iter().last());
        Ok(newest.is_none_or(|newest| newest.starts_with(self.vault.key_name())))
    }

    /// The one refusal. It looks for the tenant whatever the reason, so that each takes as long.
    async fn refuse(&self, tenant: &TenantName, access: Option<AccessId>) -> Result<Error, Error> {
        Ok(match self.store.tenant(tenant).await? {
            Some(_) => Error::CredentialsRefused(access),
            None => Error::NoTenant(tenant.to_string()),
        })
    }

    /// Counts the first connection, exactly once however many come at the same time.
    async fn connect_first(
        &self,
        asker: HashCaller<'_>,
        mut checked: StoredAccess,
        password: &Password,
    ) -> Result<Access, Error> {
        let (tenant, id, now) = (asker.tenant, checked.access.id, self.now());
        for _ in 0..CHECKS_MAX {
            let checked_with = checked.password.clone();
            let access = self.store.change_access(tenant, id, move |stored, contract| {
                if stored.password != checked_with {
                    return Err(NotConnected::Changed(stored.password.clone()));
                }
                let access =
                    lifecycle::connect(&stored.access, contract, now).map_err(Error::from)?;
                Ok(Change { access, password: None })
            });
            match access.await {
                Ok(access) => return access.ok_or(Error::CredentialsRefused(Some(id))),
                Err(NotConnected::For(why)) => return Err(why),
                Err(NotConnected::Changed(password)) => checked.password = password,
            }
            // A password that was rotated since it was checked lets nobody in; the same one under another
            // master key does.
            if !self.check_password(asker, &checked, password).await? {
                break;
            }
        }
        Err(Error::CredentialsRefused(Some(id)))
    }
}

/// What came of a check, and the try that it was: given back where nothing was looked at.
fn looked_at<'a, T, E: Into<Error>>(
    guess: Option<Try<'a>>,
    checked: Result<T, E>,
) -> Result<(Option<Try<'a>>, T), Error> {
    match checked {
        Ok(checked) => Ok((guess, checked)),
        Err(why) => {
            guess.into_iter().for_each(Try::give_back);
            Err(why.into())
        }
    }
}

/// How long who is let in waits at most for a hash to be renewed.
pub(super) const RENEWAL_MAX: Duration = Duration::from_millis(250);

/// How often a hash that changes all the time is looked at.
const CHECKS_MAX: usize = 3;

/// Why a first connection was not counted.
enum NotConnected {
    /// Another hash is kept than the one that was checked: this one.
    Changed(StoredHash),
    For(Error),
}

impl<E: Into<Error>> From<E> for NotConnected {
    fn from(why: E) -> Self {
        Self::For(why.into())
    }
}

impl Failure for NotConnected {
    fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::Changed(_) => None,
            Self::For(why) => why.of_store(),
        }
    }
}

impl From<CheckRefused> for Error {
    fn from(_: CheckRefused) -> Self {
        Self::CredentialsRefused(None)
    }
}
