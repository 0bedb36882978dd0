//! Requests with an idempotency key that this server works on at the moment.

use std::collections::HashSet;
use std::sync::Arc;

use gatehouse_core::{RequestKey, TenantName};
use gatehouse_store::Operation;
use parking_lot::Mutex;

/// The requests with a key that this server works on. There are no more of them than requests.
#[derive(Clone, Default)]
pub(crate) struct UnderWay(Arc<Mutex<HashSet<Name>>>);

type Name = (TenantName, Operation, RequestKey);

impl UnderWay {
    pub(in crate::http) fn begin(&self, name: Name) -> Option<Turn> {
        let is_first = self.0.lock().insert(name.clone());
        is_first.then(|| Turn { under_way: self.clone(), name })
    }

    #[cfg(test)]
    pub(in crate::http) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

/// A request that is under way.
pub(in crate::http) struct Turn {
    under_way: UnderWay,
    name: Name,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.under_way.0.lock().remove(&self.name);
    }
}
