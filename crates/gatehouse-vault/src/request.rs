//! Recognises a repeated request by a keyed digest.
//!
//! The request itself is not stored, and a reader of the digest can't guess at it.

use aws_lc_rs::hmac;
use gatehouse_core::TenantName;

use crate::{MasterKey, MasterKeys};

pub(crate) struct RequestDigester {
    keys: Vec<hmac::Key>,
}

impl RequestDigester {
    pub(crate) fn new(masters: &MasterKeys) -> Self {
        let key = |it: &MasterKey| hmac::Key::new(hmac::HMAC_SHA256, &it.derive("request"));
        Self { keys: masters.iter().map(key).collect() }
    }

    /// The request's digest under each key, the first first. A digest doesn't name its key: it is stored for a day, and
    /// after that no former key is needed.
    pub(crate) fn digests(
        &self,
        tenant: &TenantName,
        operation: &str,
        body: &[u8],
    ) -> Vec<[u8; 32]> {
        self.keys.iter().map(|key| digest(key, tenant, operation, body)).collect()
    }
}

fn digest(key: &hmac::Key, tenant: &TenantName, operation: &str, body: &[u8]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(key);
    // The lengths separate the parts.
    for part in [tenant.as_str(), operation] {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part.as_bytes());
    }
    context.update(body);
    context.sign().as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_equal_request_has_an_equal_digest() {
        let master = MasterKeys::parse(&"0a".repeat(32)).unwrap();
        let digest = |masters: &MasterKeys, tenant: &str, operation, body: &str| {
            let recogniser = RequestDigester::new(masters);
            recogniser.digests(&tenant.parse().unwrap(), operation, body.as_bytes())[0]
        };
        let first = digest(&master, "acme", "create", "{}");
        assert_eq!(digest(&master, "acme", "create", "{}"), first);
        for (tenant, operation, body) in [
            ("acme", "create", "{} "),
            ("acme", "batch", "{}"),
            ("acm", "create", "{}"),
            ("acm", "ecreate", "{}"),
            ("acmec", "reate", "{}"),
            ("acme", "create{", "}"),
        ] {
            assert_ne!(digest(&master, tenant, operation, body), first, "{tenant} {operation}");
        }
        let other = MasterKey::generate().into();
        assert_ne!(digest(&other, "acme", "create", "{}"), first);
    }
}
