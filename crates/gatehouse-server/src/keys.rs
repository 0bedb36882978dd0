//! Finding the keys, or making them where they may be made.
//!
//! The embedded store has its keys beside it, made at the first start. On PostgreSQL the master key
//! is given to every server, and the token key lives in the database, sealed. Either way the database
//! keeps the master key's fingerprint: with another key no password could be checked, so a server that
//! has another one refuses to start.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gatehouse_store::{Clock, Store, StoreError};
use gatehouse_vault::{KeyFileError, MasterKey, TokenKey, Vault};

use crate::config::Config;

const FINGERPRINT: &str = "master-key-fingerprint";
const TOKEN_KEY: &str = "token-key";
const MASTER_FILE: &str = "master.key";
const TOKEN_FILE: &str = "token.key";
const SEALED_FOR: &str = "token key";

/// The keys of a server.
pub struct Keys {
    /// Everything that needs the master key.
    pub vault: Vault,
    /// What signs tokens.
    pub token: TokenKey,
}

/// Whether keys that are missing may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A server that starts makes them.
    Make,
    /// A command that only reads would make keys that no server has.
    Refuse,
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
        /// Of the key that was given.
        given: String,
        /// Of the key that is expected.
        kept: String,
    },
    /// The store is there, its key is not.
    #[error(
        "{} is missing, but the database was written with a master key (fingerprint {kept}): put \
         the key file back",
        path.display()
    )]
    Lost {
        /// Where it should be.
        path: PathBuf,
        /// Of the key that is expected.
        kept: String,
    },
    /// No server has started here yet.
    #[error("there is no token key in {0}: start `gatehouse serve` there once, which makes one")]
    NoTokenKey(String),
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

/// The master key as the settings give it, before anything is opened. PostgreSQL must have one.
pub fn given_master_key(config: &Config) -> Result<Option<MasterKey>, KeysError> {
    if let Some(key) = &config.master_key {
        return Ok(Some(key.clone()));
    }
    match &config.master_key_file {
        Some(path) => {
            load_master_key(path)?.ok_or_else(|| KeysError::NoFile(path.clone())).map(Some)
        }
        None if config.database_url.is_some() => Err(KeysError::NoMasterKey),
        None => Ok(None),
    }
}

/// Finds the keys of a server, and makes those that are missing.
pub async fn open(
    config: &Config,
    store: &Store,
    given: Option<MasterKey>,
) -> Result<Keys, KeysError> {
    let kept = store.server_key(FINGERPRINT).await?.map(|it| shown(&it));
    let was_used = kept.is_some();
    let master = match given {
        Some(key) => key,
        None => own_master_key(&config.data_dir, kept.as_deref())?,
    };
    let fingerprint = master.fingerprint();
    let kept = store.keep_server_key(FINGERPRINT, fingerprint.as_bytes()).await?;
    if kept != fingerprint.as_bytes() {
        return Err(KeysError::Mismatch { given: fingerprint, kept: shown(&kept) });
    }
    let vault = Vault::new(&master);
    let token = match &config.database_url {
        None => {
            let is_new = !config.data_dir.join(TOKEN_FILE).exists();
            if is_new && was_used {
                tracing::warn!(
                    "the token key is gone: a new one is made, and every older token refused"
                );
            }
            token_key_in(&config.data_dir, Missing::Make)?
        }
        Some(url) => sealed_token_key(store, &vault, Missing::Make, &url.to_string()).await?,
    };
    Ok(Keys { vault, token })
}

/// The token key alone, of a server that has started before.
pub async fn open_token_key(config: &Config, clock: Clock) -> Result<TokenKey, KeysError> {
    let Some(url) = &config.database_url else {
        return token_key_in(&config.data_dir, Missing::Refuse);
    };
    let never_started = || KeysError::NoTokenKey(url.to_string());
    let store = Store::attach_postgres(url, clock).await?.ok_or_else(never_started)?;
    let kept = store.server_key(FINGERPRINT).await?.ok_or_else(never_started)?;
    let master = given_master_key(config)?.ok_or(KeysError::NoMasterKey)?;
    let given = master.fingerprint();
    if given.as_bytes() != kept {
        return Err(KeysError::Mismatch { given, kept: shown(&kept) });
    }
    sealed_token_key(&store, &Vault::new(&master), Missing::Refuse, &url.to_string()).await
}

/// Opens the vault of a store that a server has made; makes nothing.
pub async fn open_vault(config: &Config, store: &Store) -> Result<Vault, KeysError> {
    let key = kept_master_key(config, store).await?.ok_or(KeysError::NoMasterKey)?;
    Ok(Vault::new(&key))
}

/// What a store on PostgreSQL keeps in place of the files beside this embedded one: the token key, sealed. The
/// master key must be the one that this store was written with.
pub async fn to_be_moved(
    config: &Config,
    store: &Store,
) -> Result<Vec<(&'static str, Vec<u8>)>, KeysError> {
    let nobody = || KeysError::NoTokenKey(config.data_dir.display().to_string());
    let vault = match kept_master_key(config, store).await? {
        Some(master) => Vault::new(&master),
        None => return Err(nobody()),
    };
    let token = token_key_in(&config.data_dir, Missing::Refuse)?;
    Ok(vec![(TOKEN_KEY, vault.seal(SEALED_FOR, token.to_bytes()))])
}

/// Whether the master key is the one that this store was written with; makes nothing.
pub async fn check_master_key(config: &Config, store: &Store) -> Result<(), KeysError> {
    kept_master_key(config, store).await.map(drop)
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

/// The master key that this store was written with, or whichever is there when it has none yet.
async fn kept_master_key(config: &Config, store: &Store) -> Result<Option<MasterKey>, KeysError> {
    let kept = store.server_key(FINGERPRINT).await?.map(|it| shown(&it));
    let path = config.data_dir.join(MASTER_FILE);
    let key = match given_master_key(config)? {
        Some(key) => Some(key),
        None => load_master_key(&path)?,
    };
    match (key.as_ref().map(MasterKey::fingerprint), kept) {
        (None, Some(kept)) => Err(KeysError::Lost { path, kept }),
        (Some(given), Some(kept)) if given != kept => Err(KeysError::Mismatch { given, kept }),
        _ => Ok(key),
    }
}

/// The embedded store's own key, made at the first start.
fn own_master_key(dir: &Path, kept: Option<&str>) -> Result<MasterKey, KeysError> {
    let path = dir.join(MASTER_FILE);
    match (load_master_key(&path)?, kept) {
        (Some(key), _) => Ok(key),
        // A new key would make every password that is stored worthless.
        (None, Some(kept)) => Err(KeysError::Lost { path, kept: kept.to_owned() }),
        (None, None) => {
            let key = MasterKey::generate();
            key.save(&path)?;
            tracing::info!(path = %path.display(), "master key made: keep a copy in a safe place");
            Ok(key)
        }
    }
}

fn load_master_key(path: &Path) -> Result<Option<MasterKey>, KeysError> {
    let key = MasterKey::load(path)?;
    if is_readable_by_others(path) {
        let path = path.display();
        tracing::warn!(%path, "the master key can be read by others than its owner: chmod 600");
    }
    Ok(key)
}

fn token_key_in(dir: &Path, missing: Missing) -> Result<TokenKey, KeysError> {
    let path = dir.join(TOKEN_FILE);
    match (TokenKey::load(&path)?, missing) {
        (Some(key), _) => Ok(key),
        (None, Missing::Refuse) => Err(KeysError::NoTokenKey(dir.display().to_string())),
        (None, Missing::Make) => {
            let key = TokenKey::generate();
            key.save(&path)?;
            Ok(key)
        }
    }
}

async fn sealed_token_key(
    store: &Store,
    vault: &Vault,
    missing: Missing,
    shown: &str,
) -> Result<TokenKey, KeysError> {
    let sealed = match (store.server_key(TOKEN_KEY).await?, missing) {
        (Some(sealed), _) => sealed,
        (None, Missing::Refuse) => return Err(KeysError::NoTokenKey(shown.to_owned())),
        (None, Missing::Make) => {
            // Another server may be first; its key is then everyone's.
            let sealed = vault.seal(SEALED_FOR, TokenKey::generate().to_bytes());
            store.keep_server_key(TOKEN_KEY, &sealed).await?
        }
    };
    let bytes = vault.unseal(SEALED_FOR, &sealed).map_err(|_| KeysError::Sealed)?;
    TokenKey::from_bytes(&bytes).map_err(|_| KeysError::Sealed)
}

fn shown(fingerprint: &[u8]) -> String {
    String::from_utf8_lossy(fingerprint).into_owned()
}
