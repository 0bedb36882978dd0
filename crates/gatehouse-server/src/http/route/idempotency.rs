//! `Idempotency-Key`: a request takes effect once, however often the client sends it.
//!
//! The store keeps the outcome under a key. This module reads the header, and refuses a repetition while this server
//! still processes the first. If two servers process the same key, the store lets one of them commit.

use std::sync::Arc;

use gatehouse_core::RequestKey;
use gatehouse_core::ids::BadName;
use gatehouse_store::IdempotentRequest;
pub(in crate::http) use gatehouse_store::Operation;
use http::HeaderMap;

use super::call::Call;
use super::in_flight::InFlightGuard;
use crate::app::Error;
use crate::http::answer::problem::Problem;
use crate::http::intake::large_bodies::process_body;
use crate::reader::Fault;

pub(in crate::http) const KEY: &str = "Idempotency-Key";

/// The key and digests of a request, if it has a key. To be called before the body is taken out of `call`.
pub(in crate::http) async fn read_request(
    call: &Call,
    operation: Operation,
) -> Result<Option<IdempotentRequest>, Problem> {
    let Some(key) = read_key(call.headers())? else { return Ok(None) };
    let (vault, tenant) = (Arc::clone(&call.app().vault), call.tenant().clone());
    let body = call.body.clone();
    let digests = move || vault.digest_request(&tenant, operation.as_str(), &body);
    let mut digests = process_body(call.body.len(), digests).await?;
    let former_digests = digests.split_off(1);
    let digest = digests.swap_remove(0);
    Ok(Some(IdempotentRequest { operation, key, digest, former_digests, sealed: None }))
}

pub(in crate::http) fn read_key(headers: &HeaderMap) -> Result<Option<RequestKey>, Problem> {
    let mut given = headers.get_all(KEY).iter();
    let Some(value) = given.next() else { return Ok(None) };
    let key = match given.next() {
        // Two keys are ambiguous.
        Some(_) => Err("must be given once".to_owned()),
        // A value that isn't text has invisible characters.
        None => {
            value.to_str().map_or(Err(BadName::RequestKey), str::parse).map_err(|it| it.to_string())
        }
    };
    key.map(Some).map_err(|reason| Problem::invalid(vec![Fault { name: KEY.into(), reason }]))
}

/// Marks the request as in flight until the guard is dropped; fails if one with the same key already is.
pub(in crate::http) fn begin(
    call: &Call,
    idempotent: Option<&IdempotentRequest>,
) -> Result<Option<InFlightGuard>, Error> {
    let Some(IdempotentRequest { operation, key, .. }) = idempotent else { return Ok(None) };
    let in_flight_key = (call.tenant().clone(), *operation, key.clone());
    let guard =
        call.server.in_flight.begin(in_flight_key).ok_or_else(|| Error::InProgress(key.clone()))?;
    Ok(Some(guard))
}
