//! Changing the master key: what each key still has, and sealing again what a former one has sealed.
//!
//! It is done beside servers that run, a little at a time, and may be interrupted anywhere: what is sealed anew is found
//! no more.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use gatehouse_core::TenantName;
use gatehouse_store::{FormerSeal, KeyUse, KeyUseKind, SealOwner, SecretKind, StoreError};
use gatehouse_vault::{BadSeal, HASH_NAME_CHARS, SEAL_NAME_BYTES, key_of_hash, key_of_seal};

use super::{App, Error, account, repeat};

/// Seals that are made anew together, each by itself.
const TOGETHER: u32 = 32;

/// How many things of each kind were made with each key, by the key's short name.
pub type KeyShares = BTreeMap<String, BTreeMap<KeyUseKind, u64>>;

/// What came of sealing a tenant's things anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    /// So many are sealed under the first key now.
    pub n_done: u64,
    /// So many can't be opened with the keys that are here.
    pub n_failed: u64,
}

impl App {
    /// What the tenant has that was made with each key. That looks at every access.
    pub async fn key_shares(&self, tenant: &TenantName) -> Result<KeyShares, Error> {
        let mut shares = KeyShares::new();
        for KeyUse { kind, prefix, n } in
            self.store.key_uses(tenant, HASH_NAME_CHARS, SEAL_NAME_BYTES).await?
        {
            let key = match kind {
                KeyUseKind::Access | KeyUseKind::Client | KeyUseKind::Change => {
                    str::from_utf8(&prefix).ok().and_then(key_of_hash)
                }
                KeyUseKind::Account | KeyUseKind::Task | KeyUseKind::Answer => key_of_seal(&prefix),
            };
            let key = key.unwrap_or("unknown").to_owned();
            *shares.entry(key).or_default().entry(kind).or_default() += n;
        }
        Ok(shares)
    }

    /// Seals under the first master key what is sealed under another.
    pub async fn reseal(&self, tenant: &TenantName) -> Result<Resealed, Error> {
        let name = self.vault.seal_name();
        let mut resealed = Resealed::default();
        let accounts = self.store.former_seals_of_accounts(tenant, name).await?;
        for some in accounts.chunks(TOGETHER as usize) {
            self.reseal_some(tenant, some, &mut resealed).await?;
        }
        for kind in [SecretKind::Task, SecretKind::Answer] {
            let mut behind = String::new();
            loop {
                let some = self.store.former_secrets(tenant, kind, name, &behind, TOGETHER).await?;
                let Some(last) = some.last() else { break };
                behind = match &last.owner {
                    SealOwner::Account(name) => name.to_string(),
                    SealOwner::Task(id) => id.to_string(),
                    SealOwner::Answer(name) => name.clone(),
                };
                self.reseal_some(tenant, &some, &mut resealed).await?;
            }
        }
        if resealed.n_done > 0 {
            // What was sealed before goes for good, as far as nobody reads just now.
            let _ = self.store.scrub().await;
        }
        Ok(resealed)
    }

    async fn reseal_some(
        &self,
        tenant: &TenantName,
        seals: &[FormerSeal],
        resealed: &mut Resealed,
    ) -> Result<(), Error> {
        let mut writes = Vec::new();
        for before in seals {
            match self.sealed_anew(tenant, before) {
                Ok(after) => writes.push(async move {
                    // One that has changed meanwhile is new, or gone.
                    let replaced = self.store.replace_seal(tenant, before, &after).await?;
                    Ok::<_, StoreError>(u64::from(replaced))
                }),
                Err(BadSeal) => resealed.n_failed += 1,
            }
        }
        resealed.n_done += try_join_all(writes).await?.into_iter().sum::<u64>();
        Ok(())
    }

    fn sealed_anew(&self, tenant: &TenantName, before: &FormerSeal) -> Result<Vec<u8>, BadSeal> {
        let FormerSeal { owner, sealed } = before;
        match owner {
            SealOwner::Account(name) => self.vault.reseal(&account::purpose(tenant, name), sealed),
            SealOwner::Task(id) => self.vault.reseal_task_key(tenant, *id, sealed),
            SealOwner::Answer(name) => self.vault.reseal(&repeat::purpose(tenant, name), sealed),
        }
    }
}
