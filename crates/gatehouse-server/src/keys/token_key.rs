//! Storage of the token key: a file beside the embedded store, or a sealed row in PostgreSQL.

use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_core::Timestamp;
use gatehouse_store::Store;
use gatehouse_vault::{TokenKeys, Vault, key_of_seal};

use super::{KeysError, TOKEN_FILE};
use crate::config::Config;

const NAME: &str = "token-key";
const SEAL_PURPOSE: &str = "token key";

/// Storage of the token key. Servers reload it, so that a rotation needs no notification.
#[derive(Clone)]
pub struct TokenKeyStore(Storage);

#[derive(Clone)]
enum Storage {
    File(PathBuf),
    Row { store: Store, vault: Arc<Vault>, shown: String },
}

impl TokenKeyStore {
    /// The storage that the settings choose.
    pub fn new(config: &Config, store: &Store, vault: &Arc<Vault>) -> Self {
        match &config.database_url {
            None => Self::in_file(config),
            Some(url) => {
                let (store, vault) = (store.clone(), Arc::clone(vault));
                Self(Storage::Row { store, vault, shown: url.to_string() })
            }
        }
    }

    /// The file beside the embedded store.
    pub(super) fn in_file(config: &Config) -> Self {
        Self(Storage::File(config.data_dir.join(TOKEN_FILE)))
    }

    /// Reads the keys.
    pub async fn read(&self) -> Result<Option<TokenKeys>, KeysError> {
        match &self.0 {
            Storage::File(path) => {
                let path = path.clone();
                // A disk, above all a network disk, may be slow.
                let read = tokio::task::spawn_blocking(move || TokenKeys::load(&path)).await;
                Ok(read.expect("reading a file doesn't panic")?)
            }
            Storage::Row { store, vault, .. } => {
                let sealed = store.server_key(NAME).await?;
                sealed.map(|sealed| unseal(vault, &sealed)).transpose()
            }
        }
    }

    /// Reads the keys, which must exist.
    pub async fn read_existing(&self) -> Result<TokenKeys, KeysError> {
        self.read().await?.ok_or_else(|| self.missing())
    }

    /// Name and value of the row that holds the keys in PostgreSQL.
    pub(super) async fn sealed_row(
        &self,
        vault: &Vault,
    ) -> Result<(&'static str, Vec<u8>), KeysError> {
        Ok((NAME, seal(vault, &self.read_existing().await?)))
    }

    /// Creates the first key. If another server was first, returns its key.
    pub(super) async fn create(&self) -> Result<TokenKeys, KeysError> {
        let keys = TokenKeys::generate();
        match &self.0 {
            Storage::File(path) => {
                keys.save(path)?;
                Ok(keys)
            }
            Storage::Row { store, vault, .. } => {
                let stored = store.keep_server_key(NAME, &seal(vault, &keys)).await?;
                unseal(vault, &stored)
            }
        }
    }

    /// Creates a new signing key. The former keys stay trusted until `until` at most.
    pub async fn rotate(&self, until: Timestamp, now: Timestamp) -> Result<TokenKeys, KeysError> {
        match &self.0 {
            Storage::File(path) => {
                let after = self.read_existing().await?.rotated(until, now)?;
                after.replace(path)?;
                Ok(after)
            }
            Storage::Row { store, vault, .. } => loop {
                let sealed = store.server_key(NAME).await?.ok_or_else(|| self.missing())?;
                let after = unseal(vault, &sealed)?.rotated(until, now)?;
                if store.replace_server_key(NAME, &sealed, &seal(vault, &after)).await? {
                    return Ok(after);
                }
            },
        }
    }

    /// Short name of the master key that seals the keys; `None` for a file.
    pub async fn sealing_key(&self) -> Result<Option<String>, KeysError> {
        let Storage::Row { store, .. } = &self.0 else { return Ok(None) };
        let sealed = store.server_key(NAME).await?;
        Ok(sealed.as_deref().and_then(key_of_seal).map(str::to_owned))
    }

    /// Seals the keys with the first master key; false if there is nothing to do.
    pub async fn reseal(&self) -> Result<bool, KeysError> {
        let Storage::Row { store, vault, .. } = &self.0 else { return Ok(false) };
        loop {
            let Some(sealed) = store.server_key(NAME).await? else { return Ok(false) };
            if sealed.starts_with(vault.seal_name()) {
                return Ok(false);
            }
            let after = vault.reseal(SEAL_PURPOSE, &sealed).map_err(|_| KeysError::Sealed)?;
            if store.replace_server_key(NAME, &sealed, &after).await? {
                return Ok(true);
            }
        }
    }

    fn missing(&self) -> KeysError {
        KeysError::NoTokenKey(match &self.0 {
            Storage::File(path) => path.parent().unwrap_or(path).display().to_string(),
            Storage::Row { shown, .. } => shown.clone(),
        })
    }
}

fn seal(vault: &Vault, keys: &TokenKeys) -> Vec<u8> {
    vault.seal(SEAL_PURPOSE, keys.to_text().as_bytes())
}

fn unseal(vault: &Vault, sealed: &[u8]) -> Result<TokenKeys, KeysError> {
    let bytes = vault.unseal(SEAL_PURPOSE, sealed).map_err(|_| KeysError::Sealed)?;
    TokenKeys::from_bytes(&zeroize::Zeroizing::new(bytes)).map_err(|_| KeysError::Sealed)
}
