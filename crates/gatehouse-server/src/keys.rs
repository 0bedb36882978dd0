//! Loading the keys, or creating missing ones.
//!
//! The embedded store's keys are files beside it, created at the first start. On PostgreSQL, every server is given the
//! master keys, and the token key is sealed in the database. The database holds the fingerprints of the master keys it
//! was written with (`keys_in_use`): a server without one of them refuses to start.

pub mod journal_key;
mod keys_in_use;
mod token_key;

use keys_in_use::KeyUser;
pub use keys_in_use::{KeysInUse, retire};
pub use token_key::TokenKeyStore;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_store::{Clock, Store, StoreError};
use gatehouse_vault::{
    JournalKey, KeyFileError, MasterKey, MasterKeys, TokenKeys, TooManyTokenKeys, Vault,
};

use crate::config::Config;

const MASTER_FILE: &str = "master.key";
const TOKEN_FILE: &str = "token.key";

/// Key files of an embedded store.
pub(crate) const FILES: [&str; 2] = [MASTER_FILE, TOKEN_FILE];

/// Whether the directory has a master key file.
pub(crate) fn has_master_key(dir: &Path) -> bool {
    dir.join(MASTER_FILE).is_file()
}

/// A server's keys.
pub struct Keys {
    /// The vault with the master keys.
    pub vault: Arc<Vault>,
    /// The token keys.
    pub token: TokenKeys,
    /// Where the token keys are reloaded from.
    pub token_store: TokenKeyStore,
    /// The key of the journals' chains.
    pub journal: JournalKey,
}

/// Why the keys can't be used, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// PostgreSQL is shared, so a server must not create a master key.
    #[error(
        "PostgreSQL needs the master key, the same for every server: give it in the file that \
         `master_key_file` names or in the variable GATEHOUSE_MASTER_KEY; for a new database make \
         one with `openssl rand -hex 32`"
    )]
    NoMasterKey,
    /// The named file doesn't exist.
    #[error("master_key_file: there is no file {}", .0.display())]
    NoFile(PathBuf),
    /// The database was written with another master key.
    #[error(
        "the master key is not the one that this database was written with (fingerprint {given}, \
         expected {stored}): give the original key, without which no stored password can be checked"
    )]
    Mismatch {
        /// Fingerprints of the given keys.
        given: String,
        /// Fingerprints of the expected keys.
        stored: String,
    },
    /// The database was written with several master keys, and one is missing.
    #[error(
        "this database was also written with the master key of the fingerprint {0}, which is not \
         among the given ones: append it to them. Once nothing is left that was made with it, \
         `gatehouse key retire {0}` retires it; until then every command and server needs it"
    )]
    Lacking(String),
    /// The key can't be retired: it isn't in use, or is the last one.
    #[error("{0}")]
    NotRetired(String),
    /// The database exists, but its master key file doesn't.
    #[error(
        "{} is missing, but the database was written with a master key (fingerprint {stored}): put \
         the key file back",
        path.display()
    )]
    Lost {
        /// The missing file.
        path: PathBuf,
        /// Fingerprints of the expected keys.
        stored: String,
    },
    /// No server has started here yet.
    #[error("there is no token key in {0}: start `gatehouse serve` there once, which makes one")]
    NoTokenKey(String),
    /// The token key was rotated too often.
    #[error(transparent)]
    TooManyTokenKeys(#[from] TooManyTokenKeys),
    /// A key file can't be used.
    #[error(transparent)]
    File(#[from] KeyFileError),
    /// The sealed token key can't be opened.
    #[error("the token key in the database can't be opened with this master key")]
    Sealed,
    /// The sealed journal key can't be opened.
    #[error("the key of the journals in the database can't be opened with this master key")]
    SealedJournal,
    /// The store failed.
    #[error("{}", .0.explained())]
    Store(#[from] StoreError),
}

/// The master keys in the settings, read before anything is opened. PostgreSQL requires one.
pub fn given_master_keys(config: &Config) -> Result<Option<MasterKeys>, KeysError> {
    if let Some(keys) = &config.master_key {
        return Ok(Some(keys.clone()));
    }
    match &config.master_key_file {
        Some(path) => {
            load_master_keys(path)?.ok_or_else(|| KeysError::NoFile(path.clone())).map(Some)
        }
        None if config.database_url.is_some() => Err(KeysError::NoMasterKey),
        None => Ok(None),
    }
}

/// Loads a server's keys, and creates missing ones.
pub async fn open(
    config: &Config,
    store: &Store,
    given: Option<MasterKeys>,
) -> Result<Keys, KeysError> {
    let in_use = KeysInUse::read(store).await?;
    let masters = match given {
        Some(keys) => keys,
        None => own_master_keys(&config.data_dir, in_use.as_ref())?,
    };
    keys_in_use::register(store, &masters, KeyUser::Server).await?;
    let vault = Arc::new(Vault::new(&masters));
    let token_store = TokenKeyStore::new(config, store, &vault);
    let token = match token_store.read().await? {
        Some(keys) => keys,
        None => {
            if in_use.is_some() {
                tracing::warn!(
                    "the token key is gone: a new one is made, and every older token refused"
                );
            }
            token_store.create().await?
        }
    };
    let journal = journal_key::find_or_make(store, &vault).await?;
    Ok(Keys { vault, token, token_store, journal })
}

/// Finds the token key of a server that has started before; creates nothing.
pub async fn find_token_key(config: &Config, clock: Clock) -> Result<TokenKeyStore, KeysError> {
    let Some(url) = &config.database_url else {
        return Ok(TokenKeyStore::in_file(config));
    };
    let never_started = || KeysError::NoTokenKey(url.to_string());
    let store = Store::attach_postgres(url, clock).await?.ok_or_else(never_started)?;
    KeysInUse::read(&store).await?.ok_or_else(never_started)?;
    let vault = open_vault(config, &store).await?;
    Ok(TokenKeyStore::new(config, &store, &Arc::new(vault)))
}

/// Finds the token key to change it: registers the first master key, which seals it.
pub async fn join_token_key(config: &Config, clock: Clock) -> Result<TokenKeyStore, KeysError> {
    if let Some(url) = &config.database_url {
        let never_started = || KeysError::NoTokenKey(url.to_string());
        let store = Store::attach_postgres(url, clock.clone()).await?.ok_or_else(never_started)?;
        KeysInUse::read(&store).await?.ok_or_else(never_started)?;
        join_vault(config, &store).await?;
        store.close().await;
    }
    find_token_key(config, clock).await
}

/// Loads the token key of a server that has started before; creates nothing.
pub async fn open_token_key(config: &Config, clock: Clock) -> Result<TokenKeys, KeysError> {
    find_token_key(config, clock).await?.read_existing().await
}

/// Opens the vault of an existing store for reading; creates nothing.
pub async fn open_vault(config: &Config, store: &Store) -> Result<Vault, KeysError> {
    let keys = checked_master_keys(config, store).await?.ok_or(KeysError::NoMasterKey)?;
    Ok(Vault::new(&keys))
}

/// The rows that PostgreSQL holds in place of key files: the sealed token key. The master keys must be the store's.
pub async fn keys_to_transfer(
    config: &Config,
    store: &Store,
) -> Result<Vec<(&'static str, Vec<u8>)>, KeysError> {
    let token_store = TokenKeyStore::in_file(config);
    let Some(masters) = checked_master_keys(config, store).await? else {
        return Err(KeysError::NoTokenKey(config.data_dir.display().to_string()));
    };
    Ok(vec![token_store.sealed_row(&Vault::new(&masters)).await?])
}

/// Opens the vault of an existing store for writing: registers its first master key.
pub async fn join_vault(config: &Config, store: &Store) -> Result<Vault, KeysError> {
    let keys = checked_master_keys(config, store).await?.ok_or(KeysError::NoMasterKey)?;
    keys_in_use::register(store, &keys, KeyUser::Command).await?;
    Ok(Vault::new(&keys))
}

/// The present master keys, checked: they must include every key that the store was written with.
pub async fn checked_master_keys(
    config: &Config,
    store: &Store,
) -> Result<Option<MasterKeys>, KeysError> {
    let path = config.data_dir.join(MASTER_FILE);
    let keys = match given_master_keys(config)? {
        Some(keys) => Some(keys),
        None => load_master_keys(&path)?,
    };
    match (&keys, KeysInUse::read(store).await?) {
        (None, Some(stored)) => Err(KeysError::Lost { path, stored: stored.to_string() }),
        (Some(given), Some(stored)) => stored.check(given).map(|()| keys),
        (_, None) => Ok(keys),
    }
}

/// The key files of the data directory, if they show that a store was created there. A master key alone doesn't:
/// operators put it there before the first start.
pub fn store_key_files(config: &Config) -> Vec<PathBuf> {
    if !config.data_dir.join(TOKEN_FILE).exists() {
        return Vec::new();
    }
    FILES.iter().map(|name| config.data_dir.join(name)).filter(|path| path.exists()).collect()
}

/// Key files that other users can read.
pub fn readable_by_others(config: &Config) -> Vec<PathBuf> {
    let path = |name: &str| config.data_dir.join(name);
    let mut paths: Vec<PathBuf> = config.master_key_file.iter().cloned().collect();
    if config.database_url.is_none() {
        paths.extend([path(MASTER_FILE), path(TOKEN_FILE)]);
    }
    paths.retain(|path| is_readable_by_others(path));
    paths
}

fn is_readable_by_others(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.permissions().mode() & 0o077 != 0)
}

/// The embedded store's master keys; the first start creates one.
fn own_master_keys(dir: &Path, stored: Option<&KeysInUse>) -> Result<MasterKeys, KeysError> {
    let path = dir.join(MASTER_FILE);
    match (load_master_keys(&path)?, stored) {
        (Some(keys), _) => Ok(keys),
        // A new key would invalidate every stored password.
        (None, Some(stored)) => Err(KeysError::Lost { path, stored: stored.to_string() }),
        (None, None) => {
            let key = MasterKey::generate();
            key.save(&path)?;
            tracing::info!(path = %path.display(), "master key made: keep a copy in a safe place");
            Ok(key.into())
        }
    }
}

fn load_master_keys(path: &Path) -> Result<Option<MasterKeys>, KeysError> {
    let keys = MasterKeys::load(path)?;
    if is_readable_by_others(path) {
        let path = path.display();
        tracing::warn!(%path, "the master key can be read by others than its owner: chmod 600");
    }
    Ok(keys)
}
