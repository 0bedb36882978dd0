//! Where the token key is kept: in a file beside the embedded store, or in PostgreSQL, sealed.

use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_core::Timestamp;
use gatehouse_store::Store;
use gatehouse_vault::{TokenKeys, Vault, key_of_seal};

use super::{KeysError, TOKEN_FILE};
use crate::config::Config;

const NAME: &str = "token-key";
const SEALED_FOR: &str = "token key";

/// Where the token key is kept. Whoever changes it there needs to tell nobody: servers look again.
#[derive(Clone)]
pub struct TokenKeyStore(Place);

#[derive(Clone)]
enum Place {
    File(PathBuf),
    Row { store: Store, vault: Arc<Vault>, shown: String },
}

impl TokenKeyStore {
    /// The place that the settings name.
    pub fn new(config: &Config, store: &Store, vault: &Arc<Vault>) -> Self {
        match &config.database_url {
            None => Self::in_file(config),
            Some(url) => {
                let (store, vault) = (store.clone(), Arc::clone(vault));
                Self(Place::Row { store, vault, shown: url.to_string() })
            }
        }
    }

    /// The file beside the embedded store.
    pub(super) fn in_file(config: &Config) -> Self {
        Self(Place::File(config.data_dir.join(TOKEN_FILE)))
    }

    /// The keys that are there now.
    pub async fn read(&self) -> Result<Option<TokenKeys>, KeysError> {
        match &self.0 {
            Place::File(path) => {
                let path = path.clone();
                // A disk may be slow, and a network's disk slower.
                let read = tokio::task::spawn_blocking(move || TokenKeys::load(&path)).await;
                Ok(read.expect("reading a file doesn't panic")?)
            }
            Place::Row { store, vault, .. } => {
                let sealed = store.server_key(NAME).await?;
                sealed.map(|sealed| open(vault, &sealed)).transpose()
            }
        }
    }

    /// The same, of a server that has started before.
    pub async fn read_existing(&self) -> Result<TokenKeys, KeysError> {
        self.read().await?.ok_or_else(|| self.nothing_there())
    }

    /// What PostgreSQL keeps of them, and under which name.
    pub(super) async fn sealed_for_a_row(
        &self,
        vault: &Vault,
    ) -> Result<(&'static str, Vec<u8>), KeysError> {
        Ok((NAME, seal(vault, &self.read_existing().await?)))
    }

    /// Makes the first key. Another server may be first; its key is then everyone's.
    pub(super) async fn make(&self) -> Result<TokenKeys, KeysError> {
        let keys = TokenKeys::generate();
        match &self.0 {
            Place::File(path) => {
                keys.save(path)?;
                Ok(keys)
            }
            Place::Row { store, vault, .. } => {
                let kept = store.keep_server_key(NAME, &seal(vault, &keys)).await?;
                open(vault, &kept)
            }
        }
    }

    /// Makes a new key, which signs from now on. What those before it have signed is trusted until `until` at
    /// most.
    pub async fn rotate(&self, until: Timestamp, now: Timestamp) -> Result<TokenKeys, KeysError> {
        match &self.0 {
            Place::File(path) => {
                let after = self.read_existing().await?.rotated(until, now)?;
                after.replace(path)?;
                Ok(after)
            }
            Place::Row { store, vault, .. } => loop {
                let sealed = store.server_key(NAME).await?.ok_or_else(|| self.nothing_there())?;
                let after = open(vault, &sealed)?.rotated(until, now)?;
                if store.replace_server_key(NAME, &sealed, &seal(vault, &after)).await? {
                    return Ok(after);
                }
            },
        }
    }

    /// The short name of the master key that they are sealed with, where they are sealed.
    pub async fn sealing_key(&self) -> Result<Option<String>, KeysError> {
        let Place::Row { store, .. } = &self.0 else { return Ok(None) };
        let sealed = store.server_key(NAME).await?;
        Ok(sealed.as_deref().and_then(key_of_seal).map(str::to_owned))
    }

    /// Seals the keys under the first master key, unless they are; whether there was something to do.
    pub async fn reseal(&self) -> Result<bool, KeysError> {
        let Place::Row { store, vault, .. } = &self.0 else { return Ok(false) };
        loop {
            let Some(sealed) = store.server_key(NAME).await? else { return Ok(false) };
            if sealed.starts_with(vault.seal_name()) {
                return Ok(false);
            }
            let after = vault.reseal(SEALED_FOR, &sealed).map_err(|_| KeysError::Sealed)?;
            if store.replace_server_key(NAME, &sealed, &after).await? {
                return Ok(true);
            }
        }
    }

    fn nothing_there(&self) -> KeysError {
        KeysError::NoTokenKey(match &self.0 {
            Place::File(path) => path.parent().unwrap_or(path).display().to_string(),
            Place::Row { shown, .. } => shown.clone(),
        })
    }
}

fn seal(vault: &Vault, keys: &TokenKeys) -> Vec<u8> {
    vault.seal(SEALED_FOR, keys.to_text().as_bytes())
}

fn open(vault: &Vault, sealed: &[u8]) -> Result<TokenKeys, KeysError> {
    let bytes = vault.unseal(SEALED_FOR, sealed).map_err(|_| KeysError::Sealed)?;
    TokenKeys::from_bytes(&zeroize::Zeroizing::new(bytes)).map_err(|_| KeysError::Sealed)
}
