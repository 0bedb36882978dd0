//! Recognising a request that comes again, by a keyed digest.
//!
//! What the request said is not kept, and who reads the digest can't try what it might have been.

use aws_lc_rs::hmac;
use gatehouse_core::TenantName;

use crate::MasterKey;

pub(crate) struct Recogniser {
    key: hmac::Key,
}

impl Recogniser {
    pub(crate) fn new(master: &MasterKey) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, &master.derive("request")) }
    }

    pub(crate) fn digest(&self, tenant: &TenantName, operation: &str, body: &[u8]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.key);
        // The lengths keep the parts apart.
        for part in [tenant.as_str(), operation] {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part.as_bytes());
        }
        context.update(body);
        context.sign().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_request_is_recognised() {
        let master = MasterKey::from_hex(&"0a".repeat(32)).unwrap();
        let digest = |master: &MasterKey, tenant: &str, operation, body: &str| {
            Recogniser::new(master).digest(&tenant.parse().unwrap(), operation, body.as_bytes())
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
        assert_ne!(digest(&MasterKey::generate(), "acme", "create", "{}"), first);
    }
}
