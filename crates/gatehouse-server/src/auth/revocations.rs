//! Revocations: tokens of deleted clients and tenants, and revoked tokens.
//!
//! Every server holds the list in memory and polls the store for additions of other servers. The list is short: a
//! client stays in it only for as long as its tokens could live.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::Timestamp;
use gatehouse_core::rights::{Rights, Tenants};
use gatehouse_store::{Revocation, RevocationKind, Store, StoreError};
use parking_lot::RwLock;

use super::{AuthError, Caller};

/// Polling interval: a revocation takes effect within a second.
const POLL_INTERVAL: Duration = Duration::from_millis(400);

/// The revocations. Cheap to clone; clones share one list.
#[derive(Clone, Default)]
pub struct Revocations(Arc<RwLock<Lists>>);

/// Names and times of revocations.
#[derive(Default)]
struct Lists {
    clients: HashMap<String, Timestamp>,
    tenants: HashMap<String, Timestamp>,
    tokens: HashMap<String, Timestamp>,
}

/// The parts of a token that a revocation can match.
#[derive(Clone, Debug)]
pub(super) struct RevocationKey {
    /// Whether the built-in issuer signed the token: only then is its subject one of our clients.
    pub(super) is_built_in: bool,
    pub(super) id: Option<String>,
    /// When the token was issued, if known.
    pub(super) issued: Option<Timestamp>,
}

impl Revocations {
    /// Adds a revocation.
    pub(crate) fn add(&self, revocation: Revocation) {
        let mut lists = self.0.write();
        let list = match revocation.kind {
            RevocationKind::Client => &mut lists.clients,
            RevocationKind::Tenant => &mut lists.tenants,
            RevocationKind::Token => &mut lists.tokens,
        };
        let at = list.entry(revocation.name).or_insert(revocation.at);
        *at = revocation.at.max(*at);
    }

    /// Loads the revocations from the store.
    pub(crate) async fn reload(&self, store: &Store) -> Result<(), StoreError> {
        for revocation in store.revocations().await? {
            self.add(revocation);
        }
        Ok(())
    }

    /// Polls the store. Never returns.
    pub(super) async fn keep_fresh(&self, store: &Store) {
        let mut is_logged = false;
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            match self.reload(store).await {
                Ok(()) => is_logged = false,
                // Logged once per outage.
                Err(why) if !is_logged => {
                    tracing::warn!(%why, "revocations can't be loaded");
                    is_logged = true;
                }
                Err(_) => {}
            }
        }
    }

    /// The caller with the rights that are not revoked.
    pub(super) fn check(
        &self,
        caller: &Arc<Caller>,
        token: &RevocationKey,
    ) -> Result<Arc<Caller>, AuthError> {
        let lists = self.0.read();
        let is_revoked = token.id.as_ref().is_some_and(|id| lists.tokens.contains_key(id));
        if is_revoked || (token.is_built_in && lists.clients.contains_key(&caller.subject)) {
            return Err(AuthError::Revoked);
        }
        let Tenants::Named(names) = &caller.rights.tenants else { return Ok(Arc::clone(caller)) };
        let is_deleted = |name: &&String| {
            let revoked_at = lists.tenants.get(*name);
            revoked_at.is_some_and(|at| token.issued.is_none_or(|issued| issued <= *at))
        };
        if !names.iter().any(|name| is_deleted(&name)) {
            return Ok(Arc::clone(caller));
        }
        let rest: BTreeSet<String> = names.iter().filter(|it| !is_deleted(it)).cloned().collect();
        if rest.is_empty() {
            return Err(AuthError::Revoked);
        }
        let rights = Rights { tenants: Tenants::Named(rest), scopes: caller.rights.scopes.clone() };
        Ok(Arc::new(Caller { rights, ..Caller::clone(caller) }))
    }
}

#[cfg(test)]
mod tests;
