//! The certificate authorities that this machine trusts, for every HTTP client of gatehouse.
//!
//! A bare machine or container may have none. The HTTP library then refuses to build a client at all, also for plain
//! http; [`build_client`] builds one that trusts no https server.

use std::sync::OnceLock;

use reqwest::{Client, ClientBuilder};

/// Advice for a machine without authorities.
pub const NO_AUTHORITIES: &str = "this machine has no certificates of authorities, so no https server can be trusted: \
                                  install the package ca-certificates, or name a file with SSL_CERT_FILE, and \
                                  start again";

/// The certificates that the environment names can't be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "SSL_CERT_FILE or SSL_CERT_DIR gives no certificates of authorities: {0}; correct it, or unset it"
)]
pub struct BadAuthorities(String);

/// Whether this machine has certificates of authorities. Read once.
pub fn has_authorities() -> bool {
    look().as_ref().is_ok_and(|found| *found)
}

/// Whether this machine has certificates of authorities; fails if the environment names unreadable ones.
pub fn check_authorities() -> Result<bool, BadAuthorities> {
    look().clone()
}

/// Builds a client that trusts this machine's authorities, or no https server if there are none.
pub fn build_client(
    configure: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, reqwest::Error> {
    match configure(Client::builder()).build() {
        Err(_) if !has_authorities() => configure(Client::builder()).tls_certs_only([]).build(),
        built => built,
    }
}

fn look() -> &'static Result<bool, BadAuthorities> {
    static FOUND: OnceLock<Result<bool, BadAuthorities>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let found = rustls_native_certs::load_native_certs();
        let is_named =
            ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().any(|it| std::env::var_os(it).is_some());
        match found.errors.first() {
            Some(error) if is_named && found.certs.is_empty() => {
                Err(BadAuthorities(error.to_string()))
            }
            _ => Ok(!found.certs.is_empty()),
        }
    })
}
