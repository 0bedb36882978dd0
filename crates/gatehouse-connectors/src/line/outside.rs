//! The HTTP clients that all lines share.

use std::fmt;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Url};

use super::address::{self, Refused};
use super::resolver::Resolver;

/// How long a connection may take to come about, its encryption included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Most connections to one host that are kept for later: as many as an account may use at once unless it says
/// otherwise. Were they fewer, every rush would close most of its connections and the next one open them again.
const IDLE_CONNECTIONS_MAX: usize = 128;

/// What all lines share: clients, and what is allowed.
pub struct Outside {
    allow_insecure_urls: bool,
    /// Asks what is on this machine, without a detour over a proxy, where others could answer.
    here: Client,
    /// Asks what is elsewhere, over the environment's proxy where there is one. The proxy then resolves
    /// the names: that they lead to no forbidden place is up to its rules. Addresses that stand in the URL
    /// itself are looked at in any case. The proxy's own name goes through the same resolver.
    elsewhere: Client,
}

impl Outside {
    /// Makes the clients. Nothing is asked yet.
    pub fn new(allow_insecure_urls: bool) -> Result<Self, reqwest::Error> {
        Self::build(allow_insecure_urls, Resolver::of_machine(), |builder| builder)
    }

    pub(super) fn build(
        allow_insecure_urls: bool,
        resolver: Resolver,
        adapt: impl Fn(ClientBuilder) -> ClientBuilder,
    ) -> Result<Self, reqwest::Error> {
        let builder = || {
            Client::builder()
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
                .user_agent(concat!("gatehouse/", env!("CARGO_PKG_VERSION")))
                .referer(false)
                // Both are done by the line, which knows how far to go.
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                // What is unpacked would be larger than what was counted.
                .no_gzip()
                .no_brotli()
                .no_zstd()
                .no_deflate()
                .dns_resolver(resolver)
        };
        Ok(Self {
            allow_insecure_urls,
            here: adapt(builder().no_proxy()).build()?,
            elsewhere: adapt(builder()).build()?,
        })
    }

    /// The client for an address, after a look at whether it may be gone to.
    pub(super) fn client(&self, url: &Url) -> Result<&Client, Refused> {
        address::check(url, self.allow_insecure_urls)?;
        Ok(if address::is_loopback(url) { &self.here } else { &self.elsewhere })
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside")
            .field("allow_insecure_urls", &self.allow_insecure_urls)
            .finish_non_exhaustive()
    }
}
