//! The certificate authorities that this machine trusts, for every HTTP client of gatehouse.
//!
//! A bare machine or container may have none. The HTTP library then refuses to make a client at all, also for plain
//! addresses; ours is made, trusts no server, and says what to install.

use std::sync::OnceLock;

use reqwest::ClientBuilder;

/// The advice for a machine without authorities.
pub const NO_AUTHORITIES: &str = "this machine has no certificates of authorities, so no https server can be trusted: \
                                  install the package ca-certificates, or name a file with SSL_CERT_FILE";

/// Whether this machine has certificates of authorities. Looked at once.
pub fn has_authorities() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let found = !rustls_native_certs::load_native_certs().certs.is_empty();
        if !found {
            tracing::warn!("{NO_AUTHORITIES}");
        }
        found
    })
}

/// Has a client trust the authorities of this machine; no server at all where there are none.
pub fn trusting(builder: ClientBuilder) -> ClientBuilder {
    if has_authorities() { builder } else { builder.tls_certs_only([]) }
}
