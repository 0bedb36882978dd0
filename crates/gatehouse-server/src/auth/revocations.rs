//! Trust that has ended: tokens of deleted clients and tenants, and tokens that were revoked.
//!
//! Every server has the list in memory, and looks every moment whether others have written something down. It is short: a
//! client stands in it for as long as its tokens could live.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::Timestamp;
use gatehouse_core::rights::{Rights, Tenants};
use gatehouse_store::{Revocation, RevocationKind, Store, StoreError};
use parking_lot::RwLock;

use super::{AuthError, Caller};

/// How often it is looked: what has ended is refused within a second.
const LOOK_INTERVAL: Duration = Duration::from_millis(400);

/// Whose tokens are refused. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct Revocations(Arc<RwLock<Lists>>);

/// What has ended, and when.
#[derive(Default)]
struct Lists {
    clients: HashMap<String, Timestamp>,
    tenants: HashMap<String, Timestamp>,
    tokens: HashMap<String, Timestamp>,
}

/// What tells a token from others, as far as trust in it can end.
#[derive(Clone, Debug)]
pub(super) struct TokenName {
    /// Whether the built-in issuer made it: only then is its subject a client of ours.
    pub(super) is_own: bool,
    pub(super) id: Option<String>,
    /// When it was issued, where that is known.
    pub(super) issued: Option<Timestamp>,
}

impl Revocations {
    /// Takes up what has ended.
    pub(crate) fn add(&self, ended: Revocation) {
        let mut lists = self.0.write();
        let list = match ended.kind {
            RevocationKind::Client => &mut lists.clients,
            RevocationKind::Tenant => &mut lists.tenants,
            RevocationKind::Token => &mut lists.tokens,
        };
        let at = list.entry(ended.name).or_insert(ended.at);
        *at = ended.at.max(*at);
    }

    /// Looks for what has ended.
    pub(crate) async fn look(&self, store: &Store) -> Result<(), StoreError> {
        for ended in store.revocations().await? {
            self.add(ended);
        }
        Ok(())
    }

    /// Looks every moment. It never ends.
    pub(super) async fn keep_fresh(&self, store: &Store) {
        let mut is_told = false;
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            match self.look(store).await {
                Ok(()) => is_told = false,
                // Once, not every moment.
                Err(why) if !is_told => {
                    tracing::warn!(%why, "can't look whose tokens have ended");
                    is_told = true;
                }
                Err(_) => {}
            }
        }
    }

    /// The holder of a token, as far as trust in it has not ended.
    pub(super) fn heed(
        &self,
        caller: &Arc<Caller>,
        token: &TokenName,
    ) -> Result<Arc<Caller>, AuthError> {
        let lists = self.0.read();
        let is_revoked = token.id.as_ref().is_some_and(|id| lists.tokens.contains_key(id));
        if is_revoked || (token.is_own && lists.clients.contains_key(&caller.subject)) {
            return Err(AuthError::Revoked);
        }
        let Tenants::Named(names) = &caller.rights.tenants else { return Ok(Arc::clone(caller)) };
        let is_former = |name: &&String| {
            let ended = lists.tenants.get(*name);
            ended.is_some_and(|at| token.issued.is_none_or(|issued| issued <= *at))
        };
        if !names.iter().any(|name| is_former(&name)) {
            return Ok(Arc::clone(caller));
        }
        let left: BTreeSet<String> = names.iter().filter(|it| !is_former(it)).cloned().collect();
        if left.is_empty() {
            return Err(AuthError::Revoked);
        }
        let rights = Rights { tenants: Tenants::Named(left), scopes: caller.rights.scopes.clone() };
        Ok(Arc::new(Caller { rights, ..Caller::clone(caller) }))
    }
}

#[cfg(test)]
mod tests;
