//! Finding the keys, or making them where they may be made.
//!
//! The embedded store has its keys beside it, made at the first start. On PostgreSQL the master keys are given to
//! every server, and the token key lives in the database, sealed. Either way the database keeps the fingerprints of
//! the master keys that it was written with (`keys_in_use`): a server that lacks one refuses to start.

mod keys_in_use;
mod token_key;

use keys_in_use::KeyUser;
pub use keys_in_use::{KeysInUse, retire};
pub use token_key::TokenKeyStore;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_store::{Clock, Store, StoreError};
use gatehouse_vault::{KeyFileError, MasterKey, MasterKeys, TokenKeys, TooManyTokenKeys, Vault};

use crate::config::Config;

const MASTER_FILE: &str = "master.key";
const TOKEN_FILE: &str = "token.key";

/// The files of keys that lie beside an embedded store.
pub(crate) const FILES: [&str; 2] = [MASTER_FILE, TOKEN_FILE];

/// Whether the master key lies in this directory.
pub(crate) fn has_master_key(dir: &Path) -> bool {
    dir.join(MASTER_FILE).is_file()
}

/// The keys of a server.
pub struct Keys {
    /// Everything that needs the master keys.
    pub vault: Arc<Vault>,
    /// What signs tokens, and what is trusted.
    pub token: TokenKeys,
    /// Where that is looked for again.
    pub token_store: TokenKeyStore,
}

/// Why there are no keys. It says what to do.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// PostgreSQL is shared, so no server may make a master key of its own.
    #[error(
        "PostgreSQL needs the master key, the same for every server: give it in the file that \
         `master_key_file` names or in the variable GATEHOUSE_MASTER_KEY; for a new database make \
         one with `openssl rand -hex 32`"
    )]
    NoMasterKey,
    /// A file that was named is not there.
    #[error("master_key_file: there is no file {}", .0.display())]
    NoFile(PathBuf),
    /// The data was written under another key.
    #[error(
        "the master key is not the one that this database was written with (fingerprint {given}, \
         expected {kept}): give the original key, without which no stored password can be checked"
    )]
    Mismatch {
        /// Of the keys that were given.
        given: String,
        /// Of the keys that are expected.
        kept: String,
    },
    /// The data was written under several keys, and not all of them are given.
    #[error(
        "this database was also written with the master key of the fingerprint {0}, which is not \
         among those that are given: give it behind the others. Once nothing is left that was made with it, \
         `gatehouse key retire {0}` lets go of it; until then every command and server needs it"
    )]
    Lacking(String),
    /// A key that nothing was written with, or the last one.
    #[error("{0}")]
    NotRetired(String),
    /// The store is there, its key is not.
    #[error(
        "{} is missing, but the database was written with a master key (fingerprint {kept}): put \
         the key file back",
        path.display()
    )]
    Lost {
        /// Where it should be.
        path: PathBuf,
        /// Of the keys that are expected.
        kept: String,
    },
    /// No server has started here yet.
    #[error("there is no token key in {0}: start `gatehouse serve` there once, which makes one")]
    NoTokenKey(String),
    /// The token key was changed too often.
    #[error(transparent)]
    TooManyTokenKeys(#[from] TooManyTokenKeys),
    /// A key file is of no use.
    #[error(transparent)]
    File(#[from] KeyFileError),
    /// The sealed token key can't be opened.
    #[error("the token key in the database can't be opened with this master key")]
    Sealed,
    /// The store can't be asked.
    #[error("{}", .0.explained())]
    Store(#[from] StoreError),
}

/// The master keys as the settings give them, before anything is opened. PostgreSQL must have one.
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

/// Finds the keys of a server, and makes those that are missing.
pub async fn open(
    config: &Config,
    store: &Store,
    given: Option<MasterKeys>,
) -> Result<Keys, KeysError> {
    let kept = KeysInUse::read(store).await?;
    let masters = match given {
        Some(keys) => keys,
        None => own_master_keys(&config.data_dir, kept.as_ref())?,
    };
    keys_in_use::register(store, &masters, KeyUser::Server).await?;
    let vault = Arc::new(Vault::new(&masters));
    let token_store = TokenKeyStore::new(config, store, &vault);
    let token = match token_store.read().await? {
        Some(keys) => keys,
        None => {
            if kept.is_some() {
                tracing::warn!(
                    "the token key is gone: a new one is made, and every older token refused"
                );
            }
            token_store.make().await?
        }
    };
    Ok(Keys { vault, token, token_store })
}

/// Where the token key of a server is that has started before; makes nothing.
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

/// The same for who is about to change it: the first master key, which it is sealed with, is in use from now on.
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

/// The token key alone, of a server that has started before; makes nothing.
pub async fn open_token_key(config: &Config, clock: Clock) -> Result<TokenKeys, KeysError> {
    find_token_key(config, clock).await?.read_existing().await
}

/// Opens the vault of a store that a server has made; makes nothing.
pub async fn open_vault(config: &Config, store: &Store) -> Result<Vault, KeysError> {
    let keys = checked_master_keys(config, store).await?.ok_or(KeysError::NoMasterKey)?;
    Ok(Vault::new(&keys))
}

/// What a store on PostgreSQL keeps in place of the files beside this embedded one: the token key, sealed. The
/// master keys must be those that this store was written with.
pub async fn keys_to_transfer(
    config: &Config,
    store: &Store,
) -> Result<Vec<(&'static str, Vec<u8>)>, KeysError> {
    let place = TokenKeyStore::in_file(config);
    let Some(masters) = checked_master_keys(config, store).await? else {
        return Err(KeysError::NoTokenKey(config.data_dir.display().to_string()));
    };
    Ok(vec![place.sealed_for_a_row(&Vault::new(&masters)).await?])
}

/// The same for who is about to write with it: its first master key is in use from now on.
pub async fn join_vault(config: &Config, store: &Store) -> Result<Vault, KeysError> {
    let keys = checked_master_keys(config, store).await?.ok_or(KeysError::NoMasterKey)?;
    keys_in_use::register(store, &keys, KeyUser::Command).await?;
    Ok(Vault::new(&keys))
}

/// The master keys that this store was written with, as far as they are here: all of them, or this is an error.
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
        (None, Some(kept)) => Err(KeysError::Lost { path, kept: kept.to_string() }),
        (Some(given), Some(kept)) => kept.check(given).map(|()| keys),
        (_, None) => Ok(keys),
    }
}

/// The files of keys in the data directory of an embedded store, where they tell that one was made. A master key alone tells
/// nothing: people put it there before the first start.
pub fn store_key_files(config: &Config) -> Vec<PathBuf> {
    if !config.data_dir.join(TOKEN_FILE).exists() {
        return Vec::new();
    }
    FILES.iter().map(|name| config.data_dir.join(name)).filter(|path| path.exists()).collect()
}

/// The files of keys that others than their owner can read.
pub fn readable_by_others(config: &Config) -> Vec<PathBuf> {
    let own = |name: &str| config.data_dir.join(name);
    let mut paths: Vec<PathBuf> = config.master_key_file.iter().cloned().collect();
    if config.database_url.is_none() {
        paths.extend([own(MASTER_FILE), own(TOKEN_FILE)]);
    }
    paths.retain(|path| is_readable_by_others(path));
    paths
}

fn is_readable_by_others(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.permissions().mode() & 0o077 != 0)
}

/// The embedded store's own keys; the first is made at the first start.
fn own_master_keys(dir: &Path, kept: Option<&KeysInUse>) -> Result<MasterKeys, KeysError> {
    let path = dir.join(MASTER_FILE);
    match (load_master_keys(&path)?, kept) {
        (Some(keys), _) => Ok(keys),
        // A new key would make every password that is stored worthless.
        (None, Some(kept)) => Err(KeysError::Lost { path, kept: kept.to_string() }),
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
