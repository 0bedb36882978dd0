//! Secrets: generating, hashing, checking, sealing and signing. No other crate sees a key.
//!
//! A generated password has more than 128 random bits: guessing it is hopeless, so a keyed HMAC is the right hash and
//! costs nothing. A password that a person chose gets Argon2id, in a bounded pool, and a cache of successful checks
//! makes the next one fast. One stored format names its scheme and its key, so that both can change: new hashes and
//! seals use the first master key, old ones the key that they name.
//!
//! | module | content |
//! |---|---|
//! | [`random`] | random bytes |
//! | `password`, `success_cache` | making and hashing passwords; the cache of successful checks |
//! | `foreign_hash` | password hashes that other programs made |
//! | `pool`, `batch_hasher` | slow hashes for requests and for batches |
//! | `task_key` | a batch's key, and the values that are derived from it |
//! | `mac` | the keyed digest that batches compute for every access |
//! | `seal`, `request` | authenticated encryption; digests of idempotent requests |
//! | `journal` | the key that chains the entries of the journals |
//! | `key_set` | issuers' public keys, which verify tokens |
//! | `token`, `token_keys` | the built-in issuer's signing key, and former ones |
//! | `webhook` | secrets of hubs, and signatures of their messages |
//! | `hook_key` | keys of hooks |
//! | `master`, `keyfile` | master keys, and key files |
//! | `meter` | the vault's metrics |
//! | `simulation` | seeded random bytes and cheap hashes, for tests |

mod batch_hasher;
mod foreign_hash;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod hook_key;
mod journal;
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
mod webhook;

pub use foreign_hash::{BadForeignHash, FOREIGN_HASH_BYTES_MAX, ForeignHash};
pub use hook_key::{generate_hook_key, hook_key_digest};
pub use journal::JournalKey;
pub use key_set::{BadKeySet, BadToken, Claims, KeySet, named_issuer, token_digest, token_type};
pub use keyfile::KeyFileError;
pub use master::{BadMasterKeys, MasterKey, MasterKeys};
pub use meter::VaultMeter;
pub use password::{
    HASH_NAME_CHARS, PASSWORD_CHARS, Salt, generate_client_code, generate_password,
    generate_username, key_of_hash,
};
pub use pool::{Disconnection, HashCaller, PoolBusy};
pub use seal::{BadSeal, SEAL_NAME_BYTES, key_of_seal, name_of_seal};
pub use task_key::TaskKey;
pub use token::BadTokenKey;
pub use token_keys::{TokenKeys, TooManyTokenKeys};
pub use webhook::WebhookSecret;

use std::sync::Arc;

use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_core::{TaskId, TenantName};
use zeroize::Zeroizing;

/// Purpose of the seal of another program's hash.
const FOREIGN_HASH: &str = "foreign hash";

/// Operations with secrets, under the master keys.
pub struct Vault {
    hasher: password::Hasher,
    /// One sealer per master key; the first seals.
    sealers: Vec<seal::Sealer>,
    requests: request::RequestDigester,
    /// The journal key of a new store.
    journal: Zeroizing<[u8; 32]>,
    pool: pool::HashPool,
    batch_hasher: batch_hasher::BatchHasher,
    successes: success_cache::SuccessCache,
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
            journal: Zeroizing::new(masters.first().derive("journal")),
            pool: pool::HashPool::new(Arc::clone(&meter)),
            batch_hasher: batch_hasher::BatchHasher::new(hasher.clone(), Arc::clone(&meter)),
            hasher,
            successes: success_cache::SuccessCache::new(),
            meter,
        }
    }

    /// The vault's metrics.
    pub fn meter(&self) -> &VaultMeter {
        &self.meter
    }

    /// Hashes a password that [`generate_password`] made: strong, so with the fast scheme.
    pub fn hash_generated(&self, password: &Password) -> StoredHash {
        self.hasher.hash_fast(password)
    }

    /// Hashes a password that a person chose: perhaps weak, so with the slow scheme.
    pub async fn hash_chosen(
        &self,
        caller: HashCaller<'_>,
        password: &Password,
    ) -> Result<StoredHash, PoolBusy> {
        let (hasher, password) = (self.hasher.clone(), password.clone());
        let hash = move || {
            let (salt, memory) = (random::bytes::<16>(), &mut password::HashMemory::default());
            hasher.hash_slow(&password, &salt, memory)
        };
        self.pool.run(caller, hash).await
    }

    /// Hashes many chosen passwords for a batch, with the given salts and in order.
    ///
    /// Uses all cores, but never delays a check. When the future is dropped, hashes that have not started are skipped.
    pub async fn hash_batch(&self, chosen: Vec<(Password, Salt)>) -> Vec<StoredHash> {
        self.batch_hasher.hash_all(chosen).await
    }

    /// Seals a hash that another program made, to be stored until its password is checked for the first time.
    pub fn store_foreign(&self, hash: &ForeignHash) -> StoredHash {
        self.hasher.store_foreign(&self.seal(FOREIGN_HASH, hash.reveal().as_bytes()))
    }

    /// Whether this is another program's hash.
    pub fn is_foreign(&self, stored: &StoredHash) -> bool {
        self.hasher.is_foreign(stored)
    }

    /// Opens another program's hash.
    fn open_foreign(&self, sealed: &[u8]) -> Result<ForeignHash, VaultError> {
        let text = self.unseal(FOREIGN_HASH, sealed).map_err(|BadSeal| VaultError::UnknownKey)?;
        let text = String::from_utf8(text).map_err(|_| VaultError::UnknownKey)?;
        ForeignHash::parse(text).map_err(|_| VaultError::UnknownKey)
    }

    /// Whether this is the hash that [`Vault::hash_generated`] makes of the password.
    pub fn is_hash_of_generated(&self, stored: &StoredHash, password: &Password) -> bool {
        self.hasher.is_fast_of(stored, password)
    }

    /// Whether this is the hash of a chosen password with exactly this salt.
    pub fn has_salt(&self, stored: &StoredHash, salt: &Salt) -> bool {
        self.hasher.has_salt(stored, salt)
    }

    /// Whether the hash is that of the password.
    pub async fn check(
        &self,
        caller: HashCaller<'_>,
        stored: &StoredHash,
        password: &Password,
    ) -> Result<bool, VaultError> {
        Ok(self.is_cached(stored, password)
            || self.check_uncached(caller, stored, password).await?)
    }

    /// Whether a successful slow check of this password is cached.
    pub fn is_cached(&self, stored: &StoredHash, password: &Password) -> bool {
        if !self.is_slow(stored) {
            return false;
        }
        let is_cached = self.successes.contains(stored, password);
        self.meter.count_cached(is_cached);
        is_cached
    }

    /// Whether a check against the hash is slow, unless its success is cached.
    pub fn is_slow(&self, stored: &StoredHash) -> bool {
        self.hasher.is_slow(stored)
    }

    /// Checks a password without the success cache, so that the time depends on the hash scheme alone.
    pub async fn check_uncached(
        &self,
        caller: HashCaller<'_>,
        stored: &StoredHash,
        password: &Password,
    ) -> Result<bool, VaultError> {
        let tried = password.clone();
        let matches = match self.hasher.read(stored)? {
            password::Scheme::Fast(fast) => return Ok(self.hasher.matches_fast(&fast, password)),
            password::Scheme::Slow(slow) => {
                let hasher = self.hasher.clone();
                self.pool.run(caller, move || hasher.matches_slow(&slow, &tried)).await?
            }
            password::Scheme::Foreign(sealed) => {
                let foreign = self.open_foreign(&sealed)?;
                self.pool.run_foreign(caller, move || foreign.matches(&tried)).await?
            }
        };
        if matches {
            self.successes.insert(stored, password);
        }
        Ok(matches)
    }

    /// Hashes a password that has just passed its check under the first master key; `None` if the stored hash is our
    /// own and has that key already. A chosen password keeps its salt, by which a batch recognises its hash; one that
    /// another program hashed gets a new one.
    pub async fn renew(
        &self,
        caller: HashCaller<'_>,
        stored: &StoredHash,
        password: &Password,
    ) -> Result<Option<StoredHash>, VaultError> {
        if !self.hasher.is_former(stored) && !self.is_foreign(stored) {
            return Ok(None);
        }
        let salt = match self.hasher.read(stored)? {
            password::Scheme::Fast(_) => return Ok(Some(self.hash_generated(password))),
            password::Scheme::Slow(slow) => slow.salt().to_vec(),
            password::Scheme::Foreign(_) => random::bytes::<16>().to_vec(),
        };
        let (hasher, again) = (self.hasher.clone(), password.clone());
        let hash = move || hasher.hash_slow(&again, &salt, &mut password::HashMemory::default());
        let renewed = self.pool.run(caller, hash).await?;
        self.successes.insert(&renewed, password);
        Ok(Some(renewed))
    }

    /// Whether the check of an unknown username does a slow hash.
    pub fn unknown_is_slow(&self, username: &str) -> bool {
        self.hasher.unknown_is_slow(username)
    }

    /// Does the work of a check for an unknown username, so that timing reveals little.
    ///
    /// The username decides the scheme by a secret, the same every time.
    pub async fn check_unknown(
        &self,
        caller: HashCaller<'_>,
        username: &str,
        password: &Password,
    ) -> Result<(), PoolBusy> {
        if self.unknown_is_slow(username) {
            self.hash_chosen(caller, password).await.map(drop)
        } else {
            self.hash_generated(password);
            Ok(())
        }
    }

    /// Seals bytes under the first master key; `purpose` must be the same to open them.
    pub fn seal(&self, purpose: &str, plain: &[u8]) -> Vec<u8> {
        self.sealers[0].seal(purpose.as_bytes(), plain)
    }

    /// Opens bytes that [`Vault::seal`] sealed for the same purpose.
    pub fn unseal(&self, purpose: &str, sealed: &[u8]) -> Result<Vec<u8>, BadSeal> {
        // A sealer with another key fails at once.
        let opened = self.sealers.iter().find_map(|it| it.unseal(purpose.as_bytes(), sealed).ok());
        opened.ok_or(BadSeal)
    }

    /// Prefix of every new seal.
    pub fn seal_name(&self) -> &[u8] {
        self.sealers[0].head()
    }

    /// The short name of the first master key, the start of its fingerprint.
    pub fn key_name(&self) -> &str {
        std::str::from_utf8(&self.seal_name()[1..]).unwrap_or_default()
    }

    /// Renews a former key's seal under the first master key.
    pub fn reseal(&self, purpose: &str, sealed: &[u8]) -> Result<Vec<u8>, BadSeal> {
        let plain = Zeroizing::new(self.unseal(purpose, sealed)?);
        Ok(self.seal(purpose, &plain))
    }

    /// Seals a Task's key, to be opened for the same tenant and Task alone.
    pub fn seal_task_key(&self, tenant: &TenantName, task: TaskId, key: &TaskKey) -> Vec<u8> {
        self.seal(&task_key::purpose(tenant, task), key.as_bytes())
    }

    /// Opens a key that [`Vault::seal_task_key`] sealed.
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

    /// Renews the seal of a Task's key under the first master key.
    pub fn reseal_task_key(
        &self,
        tenant: &TenantName,
        task: TaskId,
        sealed: &[u8],
    ) -> Result<Vec<u8>, BadSeal> {
        self.reseal(&task_key::purpose(tenant, task), sealed)
    }

    /// Digests of a request, by which its repetition is recognised: the first to store, the others as under each former
    /// master key.
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
