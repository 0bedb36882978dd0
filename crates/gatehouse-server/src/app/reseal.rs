//! Rotating the master key: counts what each key has made, and seals again what a former key has sealed.
//!
//! Runs in small transactions beside servers, and can be interrupted anywhere: resealed rows are not found again.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use gatehouse_core::TenantName;
use gatehouse_store::{FormerSeal, KeyUse, KeyUseKind, SealOwner, SecretKind, StoreError};
use gatehouse_vault::{BadSeal, HASH_NAME_CHARS, SEAL_NAME_BYTES, key_of_hash, key_of_seal};

use super::{App, Error, account, hub, repeat};

/// Seals that are replaced concurrently.
const SEALS_MAX: u32 = 32;

/// Number of objects by key (short name) and kind.
pub type KeyShares = BTreeMap<String, BTreeMap<KeyUseKind, u64>>;

/// Result of resealing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    /// Objects that are now sealed with the first key.
    pub n_done: u64,
    /// Objects that can't be opened with the present keys.
    pub n_failed: u64,
}

impl App {
    /// Counts the tenant's objects by key. Reads every access.
    pub async fn key_shares(&self, tenant: &TenantName) -> Result<KeyShares, Error> {
        let mut shares = KeyShares::new();
        for KeyUse { kind, prefix, n } in
            self.store.key_uses(tenant, HASH_NAME_CHARS, SEAL_NAME_BYTES).await?
        {
            let key = match kind {
                KeyUseKind::Access | KeyUseKind::Client | KeyUseKind::Change => {
                    str::from_utf8(&prefix).ok().and_then(key_of_hash)
                }
                KeyUseKind::Account | KeyUseKind::Task | KeyUseKind::Response | KeyUseKind::Hub => {
                    key_of_seal(&prefix)
                }
            };
            let key = key.unwrap_or("unknown").to_owned();
            *shares.entry(key).or_default().entry(kind).or_default() += n;
        }
        Ok(shares)
    }

    /// Seals with the first master key what another key has sealed.
    pub async fn reseal(&self, tenant: &TenantName) -> Result<Resealed, Error> {
        let name = self.vault.seal_name();
        let mut total = Resealed::default();
        let accounts = self.store.former_seals_of_accounts(tenant, name).await?;
        let hubs = self.store.former_seals_of_hubs(tenant, name).await?;
        for seals in accounts.chunks(SEALS_MAX as usize).chain(hubs.chunks(SEALS_MAX as usize)) {
            self.reseal_some(tenant, seals, &mut total).await?;
        }
        for kind in [SecretKind::Task, SecretKind::Response] {
            let mut after = String::new();
            loop {
                let seals =
                    self.store.former_secrets(tenant, kind, name, &after, SEALS_MAX).await?;
                let Some(last) = seals.last() else { break };
                after = match &last.owner {
                    SealOwner::Account(name) => name.to_string(),
                    SealOwner::Task(id) => id.to_string(),
                    SealOwner::Response(name) => name.clone(),
                    SealOwner::Hub(id) => id.to_string(),
                };
                self.reseal_some(tenant, &seals, &mut total).await?;
            }
        }
        if total.n_done > 0 {
            // Overwrites the old seals, unless readers of the database prevent it just now.
            let _ = self.store.scrub().await;
        }
        Ok(total)
    }

    async fn reseal_some(
        &self,
        tenant: &TenantName,
        seals: &[FormerSeal],
        total: &mut Resealed,
    ) -> Result<(), Error> {
        let mut writes = Vec::new();
        for before in seals {
            match self.resealed(tenant, before) {
                Ok(after) => writes.push(async move {
                    // A seal that changed meanwhile is new, or deleted.
                    let replaced = self.store.replace_seal(tenant, before, &after).await?;
                    Ok::<_, StoreError>(u64::from(replaced))
                }),
                Err(BadSeal) => total.n_failed += 1,
            }
        }
        total.n_done += try_join_all(writes).await?.into_iter().sum::<u64>();
        Ok(())
    }

    fn resealed(&self, tenant: &TenantName, before: &FormerSeal) -> Result<Vec<u8>, BadSeal> {
        let FormerSeal { owner, sealed } = before;
        match owner {
            SealOwner::Account(name) => self.vault.reseal(&account::purpose(tenant, name), sealed),
            SealOwner::Task(id) => self.vault.reseal_task_key(tenant, *id, sealed),
            SealOwner::Response(name) => self.vault.reseal(&repeat::purpose(tenant, name), sealed),
            SealOwner::Hub(id) => self.vault.reseal(&hub::purpose(tenant, *id), sealed),
        }
    }
}
