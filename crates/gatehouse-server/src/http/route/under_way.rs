//! Requests with an idempotency key that this server works on at the moment.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_core::{RequestKey, TenantName};
use gatehouse_store::Operation;

/// The requests with a key that this server works on. There are no more of them than requests.
#[derive(Clone, Default)]
pub(crate) struct UnderWay(Arc<Mutex<HashSet<Name>>>);

type Name = (TenantName, Operation, RequestKey);

impl UnderWay {
    pub(in crate::http) fn begin(&self, name: Name) -> Option<Turn> {
        let is_first = self.lock().insert(name.clone());
        is_first.then(|| Turn { under_way: self.clone(), name })
    }

    #[cfg(test)]
    pub(in crate::http) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Name>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is under way.
pub(in crate::http) struct Turn {
    under_way: UnderWay,
    name: Name,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.under_way.lock().remove(&self.name);
    }
}
