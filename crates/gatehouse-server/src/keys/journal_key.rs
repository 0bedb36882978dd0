//! Storage of the journal key: a sealed row, in both databases.

use gatehouse_store::Store;
use gatehouse_vault::{JournalKey, Vault, key_of_seal};

use super::KeysError;

const NAME: &str = "journal-key";

/// The key of the journals' chains; `None` before a server has made it.
pub async fn find(store: &Store, vault: &Vault) -> Result<Option<JournalKey>, KeysError> {
    let sealed = store.server_key(NAME).await?;
    sealed.map(|sealed| open(vault, &sealed)).transpose()
}

/// The key, which is made where there is none.
pub(super) async fn find_or_make(store: &Store, vault: &Vault) -> Result<JournalKey, KeysError> {
    match find(store, vault).await? {
        Some(key) => Ok(key),
        None => open(vault, &store.keep_server_key(NAME, &vault.seal_new_journal_key()).await?),
    }
}

fn open(vault: &Vault, sealed: &[u8]) -> Result<JournalKey, KeysError> {
    vault.open_journal_key(sealed).map_err(|_| KeysError::SealedJournal)
}

/// Short name of the master key that seals it.
pub async fn sealing_key(store: &Store) -> Result<Option<String>, KeysError> {
    let sealed = store.server_key(NAME).await?;
    Ok(sealed.as_deref().and_then(key_of_seal).map(str::to_owned))
}

/// Seals it with the first master key; false if there is nothing to do.
pub async fn reseal(store: &Store, vault: &Vault) -> Result<bool, KeysError> {
    loop {
        let Some(sealed) = store.server_key(NAME).await? else { return Ok(false) };
        if sealed.starts_with(vault.seal_name()) {
            return Ok(false);
        }
        let after = vault.reseal_journal_key(&sealed).map_err(|_| KeysError::SealedJournal)?;
        if store.replace_server_key(NAME, &sealed, &after).await? {
            return Ok(true);
        }
    }
}
