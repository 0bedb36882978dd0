//! Secrets: generating, hashing, checking, sealing and signing. Nothing outside sees a key.
//!
//! A password that we generate has more than 128 random bits: guessing it is hopeless, so a keyed
//! HMAC is the right hash and costs nothing. A password that a person chose gets Argon2id, in a
//! bounded pool, and its success is remembered so that the next check is fast. One stored format
//! names its scheme and its key, so that both can change: what is new is made with the first master key,
//! what is old is checked and opened with the one that it names.
//!
//! | room | what is in it |
//! |---|---|
//! | [`random`] | everything random |
//! | `password`, `success_cache` | making and hashing passwords; successes that are remembered |
//! | `pool`, `batch_hasher` | where slow hashes are made: while somebody waits, and for batches |
//! | `task_key` | the key of a batch, and what is derived from it |
//! | `mac` | the keyed digest that batches take of every access |
//! | `seal`, `request` | sealing what is read again; recognising a request that comes again |
//! | `key_set` | what issuers signed |
//! | `token`, `token_keys` | our own signatures, also those of keys before |
//! | `master`, `keyfile` | the keys behind all of it |
//! | `meter` | what the vault measures of itself |
//! | `simulation` | chance and hashes that follow from a seed, for tests |

mod batch_hasher;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod key_set;
mod keyfile;
mod mac;
mod master;
mod meter;
mod password;
mod pool;
pub mod random;
mod request;
mod seal;
#[cfg(feature = "simulation")]
pub mod simulation;
mod success_cache;
mod task_key;
mod token;
mod token_keys;

pub use key_set::{BadKeySet, BadToken, Claims, KeySet, named_issuer, token_digest, token_type};
pub use keyfile::KeyFileError;
pub use master::{BadMasterKeys, MasterKey, MasterKeys};
pub use meter::VaultMeter;
pub use password::{
    HASH_NAME_CHARS, PASSWORD_CHARS, Salt, generate_client_code, generate_password,
    generate_username, key_of_hash,
};
pub use pool::{Disconnection, HashCaller, PoolBusy};
pub use seal::{BadSeal, SEAL_NAME_BYTES, key_of_seal};
pub use task_key::TaskKey;
pub use token::BadTokenKey;
pub use token_keys::{TokenKeys, TooManyTokenKeys};

use std::sync::Arc;

use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_core::{TaskId, TenantName};
use zeroize::Zeroizing;

/// Everything that needs the master keys.
pub struct Vault {
    hasher: password::Hasher,
    /// One for each master key; the first seals.
    sealers: Vec<seal::Sealer>,
    requests: request::RequestDigester,
    pool: pool::HashPool,
    quiet: batch_hasher::BatchHasher,
    remembered: success_cache::Remembered,
    meter: Arc<VaultMeter>,
}

/// Why a password could not be hashed or checked.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// Too many slow hashes are waiting: try again later.
    #[error(transparent)]
    Busy(#[from] PoolBusy),
    /// The stored hash names a scheme or key that this vault doesn't have.
    #[error("a stored hash was made with a scheme or key that is not here")]
    UnknownKey,
}

impl Vault {
    /// Opens the vault with its master keys.
    pub fn new(masters: &MasterKeys) -> Self {
        let meter = Arc::new(VaultMeter::new());
        let hasher = password::Hasher::new(masters);
        Self {
            sealers: masters.iter().map(seal::Sealer::new).collect(),
            requests: request::RequestDigester::new(masters),
            pool: pool::HashPool::new(Arc::clone(&meter)),
            quiet: batch_hasher::BatchHasher::new(hasher.clone(), Arc::clone(&meter)),
            hasher,
            remembered: success_cache::Remembered::new(),
            meter,
        }
    }

    /// What the vault measures of itself.
    pub fn meter(&self) -> &VaultMeter {
        &self.meter
    }

    /// Hashes a password that [`generate_password`] made: strong, so the fast way.
    pub fn hash_generated(&self, password: &Password) -> StoredHash {
        self.hasher.hash_fast(password)
    }

    /// Hashes a password that somebody chose: perhaps weak, so the slow way.
    pub async fn hash_chosen(
        &self,
        asker: HashCaller<'_>,
        password: &Password,
    ) -> Result<StoredHash, PoolBusy> {
        let (hasher, password) = (self.hasher.clone(), password.clone());
        let hash = move || {
            let (salt, memory) = (random::bytes::<16>(), &mut password::SuccessCache::default());
            hasher.hash_slow(&password, &salt, memory)
        };
        self.pool.run(asker, hash).await
    }

    /// Hashes many chosen passwords for a batch, with the given salts and in their order.
    ///
    /// As many at a time as there are cores, but never in the way of a check. When the future is
    /// dropped, those that were not begun are skipped.
    pub async fn hash_batch(&self, chosen: Vec<(Password, Salt)>) -> Vec<StoredHash> {
        self.quiet.hash_all(chosen).await
    }

    /// Whether this is what [`Vault::hash_generated`] makes of the password.
    pub fn is_hash_of_generated(&self, stored: &StoredHash, password: &Password) -> bool {
        self.hasher.is_fast_of(stored, password)
    }

    /// Whether this is the hash of a chosen password with exactly this salt.
    pub fn has_salt(&self, stored: &StoredHash, salt: &Salt) -> bool {
        self.hasher.has_salt(stored, salt)
    }

    /// Whether the password is the one that the hash was made of.
    pub async fn check(
        &self,
        asker: HashCaller<'_>,
        stored: &StoredHash,
        password: &Password,
    ) -> Result<bool, VaultError> {
        Ok(self.remembers(stored, password) || self.check_uncached(asker, stored, password).await?)
    }

    /// Whether a slow check of this password has succeeded, and is remembered.
    pub fn remembers(&self, stored: &StoredHash, password: &Password) -> bool {
        if !self.is_slow(stored) {
            return false;
        }
        let known = self.remembered.knows(stored, password);
        self.meter.count_remembered(known);
        known
    }

    /// Whether a check against the hash is a slow one, unless its success is remembered.
    pub fn is_slow(&self, stored: &StoredHash) -> bool {
        self.hasher.is_slow(stored)
    }

    /// Checks a password without the cache of successes, so that the time depends on the hash scheme alone.
    pub async fn check_uncached(
        &self,
        asker: HashCaller<'_>,
        stored: &StoredHash,
        password: &Password,
    ) -> Result<bool, VaultError> {
        match self.hasher.read(stored)? {
            password::Scheme::Fast(fast) => Ok(self.hasher.matches_fast(&fast, password)),
            password::Scheme::Slow(slow) => {
                let (hasher, tried) = (self.hasher.clone(), password.clone());
                let matches =
                    self.pool.run(asker, move || hasher.matches_slow(&slow, &tried)).await?;
                if matches {
                    self.remembered.remember(stored, password);
                }
                Ok(matches)
            }
        }
    }

    /// The hash of the same password under the first master key, where a former one has made the stored one:
    /// for a password that was just found right. A chosen one keeps its salt, by which a batch knows it.
    pub async fn renew(
        &self,
        asker: HashCaller<'_>,
        stored: &StoredHash,
        password: &Password,
    ) -> Result<Option<StoredHash>, VaultError> {
        if !self.hasher.is_former(stored) {
            return Ok(None);
        }
        let slow = match self.hasher.read(stored)? {
            password::Scheme::Fast(_) => return Ok(Some(self.hash_generated(password))),
            password::Scheme::Slow(slow) => slow,
        };
        let (hasher, again) = (self.hasher.clone(), password.clone());
        let hash =
            move || hasher.hash_slow(&again, slow.salt(), &mut password::SuccessCache::default());
        let renewed = self.pool.run(asker, hash).await?;
        self.remembered.remember(&renewed, password);
        Ok(Some(renewed))
    }

    /// Whether the check of an unknown username does a slow hash.
    pub fn unknown_is_slow(&self, username: &str) -> bool {
        self.hasher.unknown_is_slow(username)
    }

    /// Does the work of a check for a name that nobody has, so that timing tells little.
    ///
    /// Which of the two works is a secret of the name, the same every time.
    pub async fn check_unknown(
        &self,
        asker: HashCaller<'_>,
        username: &str,
        password: &Password,
    ) -> Result<(), PoolBusy> {
        if self.unknown_is_slow(username) {
            self.hash_chosen(asker, password).await.map(drop)
        } else {
            self.hash_generated(password);
            Ok(())
        }
    }

    /// Seals bytes under the first master key; `purpose` must be the same to open them.
    pub fn seal(&self, purpose: &str, plain: &[u8]) -> Vec<u8> {
        self.sealers[0].seal(purpose.as_bytes(), plain)
    }

    /// Opens what [`Vault::seal`] sealed for the same purpose.
    pub fn unseal(&self, purpose: &str, sealed: &[u8]) -> Result<Vec<u8>, BadSeal> {
        // One that the seal doesn't name sees that at once.
        let opened = self.sealers.iter().find_map(|it| it.unseal(purpose.as_bytes(), sealed).ok());
        opened.ok_or(BadSeal)
    }

    /// What everything begins with that is sealed now.
    pub fn seal_name(&self) -> &[u8] {
        self.sealers[0].head()
    }

    /// The short name of the first master key, with which its fingerprint begins.
    pub fn key_name(&self) -> &str {
        std::str::from_utf8(&self.seal_name()[1..]).unwrap_or_default()
    }

    /// Seals again, under the first master key, what a former one has sealed for this purpose.
    pub fn reseal(&self, purpose: &str, sealed: &[u8]) -> Result<Vec<u8>, BadSeal> {
        let plain = Zeroizing::new(self.unseal(purpose, sealed)?);
        Ok(self.seal(purpose, &plain))
    }

    /// Seals the key of a task, to be opened for the same tenant and task alone.
    pub fn seal_task_key(&self, tenant: &TenantName, task: TaskId, key: &TaskKey) -> Vec<u8> {
        self.seal(&task_key::purpose(tenant, task), key.as_bytes())
    }

    /// Opens what [`Vault::seal_task_key`] sealed.
    pub fn open_task_key(
        &self,
        tenant: &TenantName,
        task: TaskId,
        sealed: &[u8],
    ) -> Result<TaskKey, BadSeal> {
        let bytes = Zeroizing::new(self.unseal(&task_key::purpose(tenant, task), sealed)?);
        let bytes = bytes.as_slice().try_into().map_err(|_| BadSeal)?;
        Ok(TaskKey::from_bytes(bytes))
    }

    /// Seals the key of a task again, under the first master key.
    pub fn reseal_task_key(
        &self,
        tenant: &TenantName,
        task: TaskId,
        sealed: &[u8],
    ) -> Result<Vec<u8>, BadSeal> {
        self.reseal(&task_key::purpose(tenant, task), sealed)
    }

    /// What a request is recognised by when it comes again, without keeping what it said: the first is the
    /// one to keep, the others are what it would have been under each former master key.
    pub fn digest_request(
        &self,
        tenant: &TenantName,
        operation: &str,
        body: &[u8],
    ) -> Vec<[u8; 32]> {
        self.requests.digests(tenant, operation, body)
    }
}

#[cfg(test)]
mod tests;
