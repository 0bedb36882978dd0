//! Fuzz target for issuers' responses during a login.

use serde_json::Value;

use super::device::{DeviceFlow, INTERVAL_MAX, INTERVAL_MIN, LIFETIME_MAX};
use super::issuer::Issuer;

/// Endpoints are encrypted, and pauses and lifetimes stay within their limits.
pub(crate) fn answer(body: &Value) {
    if let Some(flow) = DeviceFlow::read(body) {
        assert!((INTERVAL_MIN..=INTERVAL_MAX).contains(&flow.interval));
        assert!(flow.lifetime <= LIFETIME_MAX);
    }
    let Ok(issuer) = Issuer::read("https://id.example", body.clone()) else { return };
    let endpoints =
        [issuer.token_endpoint().ok(), issuer.device_endpoint().ok(), issuer.revocation_endpoint()];
    assert!(endpoints.iter().flatten().all(|it| it.starts_with("https://")));
    if let Ok(endpoint) = issuer.client_endpoint() {
        assert!(!endpoint.proofs.is_empty());
    }
}
