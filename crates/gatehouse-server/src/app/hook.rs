//! Hooks: gateways that may ask for checks of a tenant in one dialect.

use std::sync::Arc;

use gatehouse_core::event::Origin;
use gatehouse_core::hook::HOOKS_MAX;
use gatehouse_core::{Dialect, Hook, HookId, HookName, TenantName};
use gatehouse_store::{HookRefused, StoreError};
use gatehouse_vault::{generate_hook_key, hook_key_digest, random};

use super::access::OneTimePassword;
use super::{App, Error, audit};

/// A new hook with its key, which is never shown again.
pub struct NewHook {
    /// The hook.
    pub hook: Hook,
    /// The key.
    pub key: OneTimePassword,
}

/// An unknown key, or a key of another dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrongHookKey {
    /// The hook of the other dialect. Not for the response.
    pub(crate) hook: Option<HookId>,
}

impl App {
    /// Creates a hook.
    pub async fn create_hook(
        &self,
        tenant: &TenantName,
        dialect: Dialect,
        name: Option<HookName>,
        origin: &Origin,
    ) -> Result<NewHook, Error> {
        let now = self.now();
        let id = HookId::new(now.unix_milliseconds(), &random::bytes());
        let hook = Hook { id, dialect, name, created_at: now, used_at: None };
        let key = generate_hook_key();
        let digest = hook_key_digest(key.reveal());
        match self.store.create_hook(tenant, &hook, digest, &audit::of_hook(origin)).await? {
            Ok(()) => Ok(NewHook { hook, key: OneTimePassword::new(key) }),
            Err(HookRefused::NoTenant) => Err(Error::NoTenant(tenant.to_string())),
            Err(HookRefused::TooMany) => Err(Error::TooManyHooks(HOOKS_MAX)),
        }
    }

    /// Deletes a hook. Its key is refused here at once, and by other servers within a second.
    pub async fn delete_hook(
        &self,
        tenant: &TenantName,
        id: HookId,
        origin: &Origin,
    ) -> Result<(), Error> {
        let deleted = self.store.delete_hook(tenant, id, &audit::of_hook(origin)).await?;
        self.hook_keys.forget_all();
        if deleted { Ok(()) } else { Err(Error::NotFound("hook", id.to_string())) }
    }

    /// The hook with this key, if it is one of this dialect.
    pub(crate) async fn hook_of_key(
        &self,
        tenant: &TenantName,
        dialect: Dialect,
        key: &str,
    ) -> Result<Result<Arc<Hook>, WrongHookKey>, StoreError> {
        let key = (tenant.clone(), hook_key_digest(key));
        let hook = match self.hook_keys.get(&key) {
            Some(hook) => hook,
            None => {
                let lookup = self.hook_keys.begin();
                let Some(hook) = self.store.hook_by_key(tenant, &key.1).await? else {
                    return Ok(Err(WrongHookKey { hook: None }));
                };
                self.hook_keys.insert(lookup, key, hook)
            }
        };
        if hook.dialect != dialect {
            return Ok(Err(WrongHookKey { hook: Some(hook.id) }));
        }
        self.hook_keys.note_use(tenant, &hook, self.now());
        Ok(Ok(hook))
    }

    /// Writes when keys of hooks were last used, as far as it isn't written yet.
    pub(crate) async fn write_hook_uses(&self) -> Result<(), StoreError> {
        let uses = self.hook_keys.take_uses();
        if uses.is_empty() {
            return Ok(());
        }
        let written = self.store.record_hook_uses(uses.clone()).await;
        written.inspect_err(|_| self.hook_keys.put_back(uses))
    }
}
