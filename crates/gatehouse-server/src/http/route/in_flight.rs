//! Requests with an idempotency key that this server processes now.

use std::collections::HashSet;
use std::sync::Arc;

use gatehouse_core::{RequestKey, TenantName};
use gatehouse_store::Operation;
use parking_lot::Mutex;

/// Keys of the requests in flight. The limit of concurrent requests bounds them.
#[derive(Clone, Default)]
pub(crate) struct InFlightRequests(Arc<Mutex<HashSet<InFlightKey>>>);

type InFlightKey = (TenantName, Operation, RequestKey);

impl InFlightRequests {
    pub(in crate::http) fn begin(&self, key: InFlightKey) -> Option<InFlightGuard> {
        let is_first = self.0.lock().insert(key.clone());
        is_first.then(|| InFlightGuard { requests: self.clone(), key })
    }

    #[cfg(test)]
    pub(in crate::http) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

pub(in crate::http) struct InFlightGuard {
    requests: InFlightRequests,
    key: InFlightKey,
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.requests.0.lock().remove(&self.key);
    }
}
