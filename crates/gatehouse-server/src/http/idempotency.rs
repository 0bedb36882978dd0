//! `Idempotency-Key`: a request that is done once, however often it is sent.
//!
//! The store remembers what was done under a key. Here is what comes before that: reading the header, and
//! turning away who sends the same while this server still works on it. Should two servers work on the
//! same, the store lets one of them do it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_core::ids::BadName;
use gatehouse_core::{RequestKey, TenantName};
use gatehouse_store::Once;
pub(super) use gatehouse_store::Operation;
use http::HeaderMap;

use super::batch_body::beside;
use super::call::Call;
use super::problem::Problem;
use crate::app::Error;
use crate::reader::Fault;

/// The header.
pub(super) const KEY: &str = "Idempotency-Key";

/// What the request is known by when it comes again, where it has a key. The body must still be there.
pub(super) async fn once(call: &Call, operation: Operation) -> Result<Option<Once>, Problem> {
    let Some(key) = read_key(call.headers())? else { return Ok(None) };
    let (vault, tenant) = (Arc::clone(&call.app().vault), call.tenant().clone());
    let body = call.body.clone();
    let digests = move || vault.digest_request(&tenant, operation.as_str(), &body);
    let mut digests = beside(call.body.len(), digests).await?;
    let former_digests = digests.split_off(1);
    let digest = digests.swap_remove(0);
    Ok(Some(Once { operation, key, digest, former_digests, sealed: None }))
}

/// The key that a request has, where it has one.
pub(super) fn read_key(headers: &HeaderMap) -> Result<Option<RequestKey>, Problem> {
    let mut given = headers.get_all(KEY).iter();
    let Some(value) = given.next() else { return Ok(None) };
    let key = match given.next() {
        // Of two, nobody can say which is meant.
        Some(_) => Err("must be given once".to_owned()),
        // What is no text has invisible characters in it.
        None => {
            value.to_str().map_or(Err(BadName::RequestKey), str::parse).map_err(|it| it.to_string())
        }
    };
    key.map(Some).map_err(|reason| Problem::invalid(vec![Fault { name: KEY.into(), reason }]))
}

/// Begins with a request, unless the same is under way. It ends when what comes back is dropped.
pub(super) fn begin(call: &Call, once: Option<&Once>) -> Result<Option<Turn>, Error> {
    let Some(Once { operation, key, .. }) = once else { return Ok(None) };
    let name = (call.tenant().clone(), *operation, key.clone());
    let turn = call.site.under_way.begin(name).ok_or_else(|| Error::UnderWay(key.clone()))?;
    Ok(Some(turn))
}

/// The requests with a key that this server works on. There are no more of them than requests.
#[derive(Clone, Default)]
pub(crate) struct UnderWay(Arc<Mutex<HashSet<Name>>>);

type Name = (TenantName, Operation, RequestKey);

impl UnderWay {
    pub(super) fn begin(&self, name: Name) -> Option<Turn> {
        let is_first = self.lock().insert(name.clone());
        is_first.then(|| Turn { under_way: self.clone(), name })
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Name>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is under way.
pub(super) struct Turn {
    under_way: UnderWay,
    name: Name,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.under_way.lock().remove(&self.name);
    }
}
