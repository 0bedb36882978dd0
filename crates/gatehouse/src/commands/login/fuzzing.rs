//! What the fuzzer does with what issuers say to whoever signs in.

use serde_json::Value;

use super::device::{Begun, INTERVAL_MAX, INTERVAL_MIN, LIFETIME_MAX};
use super::issuer::Issuer;

/// Nobody is sent where others could listen, and nobody waits longer than there is patience for.
pub(crate) fn answer(body: &Value) {
    if let Some(begun) = Begun::read(body) {
        assert!((INTERVAL_MIN..=INTERVAL_MAX).contains(&begun.interval));
        assert!(begun.lifetime <= LIFETIME_MAX);
    }
    let Ok(issuer) = Issuer::read("https://id.example", body.clone()) else { return };
    let endpoints =
        [issuer.token_endpoint().ok(), issuer.device_endpoint().ok(), issuer.revocation_endpoint()];
    assert!(endpoints.iter().flatten().all(|it| it.starts_with("https://")));
    if let Ok(asked) = issuer.for_machines() {
        assert!(!asked.proofs.is_empty());
    }
}
