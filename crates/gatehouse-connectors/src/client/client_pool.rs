//! Shared parts of all platform clients: HTTP clients, and the server-wide limits on calls.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{CurrentShare, TenantName};
use gatehouse_fair_semaphore::{Capacity, FairSemaphore, Permit};
use parking_lot::Mutex;
use reqwest::{Client, ClientBuilder, Url};
use tokio::time::{Instant, timeout_at};

use super::address::{AddressRefused, AddressRules, AddressUse, Route};
use super::allowance::SharedQuotas;
use super::observer::Observer;
use super::resolver::{HostLookUp, Resolver, environment_proxies, system_look_up};
use crate::client::authorities::build_client;
use crate::connector::CallContext;
use crate::failure::{Failure, FailureKind};

/// Time limit for opening a connection, TLS handshake included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Most idle connections per host: as many as an account's default concurrent calls. With fewer, every burst would
/// close most of its connections, and the next one open them again.
const IDLE_CONNECTIONS_MAX: usize = 128;

/// Hosts that may have so many idle connections at once without exceeding the server's concurrent calls.
const BUSY_HOSTS: usize = 32;

/// Time until an idle connection is closed. Short, since each is an open file.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Most responses of more than [`LARGE_BYTES`] in memory at once. Nearly all responses are smaller.
pub(in crate::client) const LARGE_RESPONSES_MAX: usize = 16;

/// Most large responses of one tenant.
pub(in crate::client) const LARGE_RESPONSES_OF_TENANT_MAX: usize = 4;

/// Size in bytes from which a response is large.
pub(in crate::client) const LARGE_BYTES: usize = 1 << 20;

/// A tenant gets one in so many concurrent calls: its platforms may be slow.
const TENANT_SHARE: usize = 4;

/// Concurrent calls that a tenant always gets.
const TENANT_CALLS_MIN: usize = 16;

/// Interval between warnings that this machine can't open connections: one per call would fill the log.
const SHORTAGE_WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// HTTP clients, address rules and server-wide limits, shared by all platform clients.
pub struct ClientPool {
    rules: Arc<AddressRules>,
    /// Concurrent calls over all accounts, shared fairly between tenants.
    calls: FairSemaphore,
    /// Large responses in memory.
    large_responses: FairSemaphore,
    /// Quotas that several clients share, and this server's share of every budget.
    pub(in crate::client) quotas: SharedQuotas,
    pub(in crate::client) observer: Option<Arc<dyn Observer>>,
    /// Last warning that this machine can't open connections.
    shortage_warned_at: Mutex<Option<Instant>>,
    /// Client for allowed networks. Without a proxy, since another machine could respond there.
    internal: Client,
    /// Client for all other addresses, over the environment's proxy if there is one. The proxy then resolves host
    /// names, so its own rules must keep it from internal addresses. IP addresses in a URL are checked in any case. The
    /// proxy's host name goes through the same resolver.
    public: Client,
}

impl ClientPool {
    /// Builds the HTTP clients. Connects to nothing yet.
    pub fn new(rules: AddressRules, calls_at_once: usize) -> Result<Self, reqwest::Error> {
        Self::build(rules, calls_at_once, system_look_up, |builder| builder)
    }

    /// Sets an observer of every call.
    pub fn observed_by(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    pub(in crate::client) fn build(
        rules: AddressRules,
        calls_at_once: usize,
        look_up: HostLookUp,
        adapt: impl Fn(ClientBuilder) -> ClientBuilder,
    ) -> Result<Self, reqwest::Error> {
        let calls_at_once = calls_at_once.max(1);
        let n_idle = (calls_at_once / BUSY_HOSTS).clamp(1, IDLE_CONNECTIONS_MAX);
        let rules = Arc::new(rules);
        let configure = |builder: ClientBuilder, is_plain_http: bool| {
            // Without a proxy, the environment has no effect.
            let has_proxy = !is_plain_http && rules.addresses_of == AddressUse::Platforms;
            let proxies = if has_proxy { environment_proxies() } else { Arc::default() };
            let resolver = Resolver { look_up, rules: Arc::clone(&rules), is_plain_http, proxies };
            let builder = if has_proxy { builder } else { builder.no_proxy() };
            builder
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_max_idle_per_host(n_idle)
                .pool_idle_timeout(IDLE_TIMEOUT)
                .user_agent(concat!("gatehouse/", env!("CARGO_PKG_VERSION")))
                .referer(false)
                // `PlatformClient` does both itself, within its limits.
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                // Decompressed bodies would be larger than the counted bytes.
                .no_gzip()
                .no_brotli()
                .no_zstd()
                .no_deflate()
                .dns_resolver(resolver)
        };
        Ok(Self {
            rules: Arc::clone(&rules),
            calls: fair_semaphore(
                calls_at_once,
                (calls_at_once / TENANT_SHARE).max(TENANT_CALLS_MIN),
            ),
            large_responses: fair_semaphore(LARGE_RESPONSES_MAX, LARGE_RESPONSES_OF_TENANT_MAX),
            quotas: SharedQuotas::default(),
            observer: None,
            shortage_warned_at: Mutex::default(),
            internal: build_client(|builder| adapt(configure(builder, true)))?,
            public: build_client(|builder| adapt(configure(builder, false)))?,
        })
    }

    /// This server's share of every budget.
    pub(crate) fn share(&self) -> &CurrentShare {
        &self.quotas.share
    }

    /// The HTTP client for a URL, if the URL is allowed.
    pub(in crate::client) fn client(&self, url: &Url) -> Result<&Client, AddressRefused> {
        Ok(match self.rules.route(url)? {
            Route::Internal => &self.internal,
            Route::Public => &self.public,
        })
    }

    /// Warns the operator that this machine can't open connections, at most once per interval.
    pub(in crate::client) fn warn_of_shortage(&self, shortage: &str) {
        let now = Instant::now();
        let mut warned_at = self.shortage_warned_at.lock();
        if warned_at.is_none_or(|at| now - at >= SHORTAGE_WARNING_INTERVAL) {
            *warned_at = Some(now);
            tracing::warn!(
                lack = shortage,
                "platforms can't be called: this machine can't open a connection"
            );
        }
    }

    /// Waits for one of the server's concurrent calls. The caller holds the permit until the whole response is read.
    pub(in crate::client) async fn call_permit(
        &self,
        context: CallContext,
        tenant: &TenantName,
    ) -> Result<Permit, Failure> {
        let permit = timeout_at(context.deadline, self.calls.take(tenant)).await;
        // The queue is never full, so only the deadline can pass.
        permit.ok().and_then(Result::ok).ok_or_else(|| {
            let message = "the deadline passed before the call could start: the server itself has too \
                         many calls under way";
            Failure::new(FailureKind::Timeout, message)
        })
    }

    /// Number of calls that wait for a permit.
    #[cfg(test)]
    pub(in crate::client) fn n_waiting(&self) -> usize {
        self.calls.n_waiting()
    }

    /// Waits for a large response's permit, which the response holds.
    pub(in crate::client) async fn large_response_permit(
        &self,
        context: CallContext,
        tenant: &TenantName,
    ) -> Result<Permit, Failure> {
        let permit = timeout_at(context.deadline, self.large_responses.take(tenant)).await;
        permit.ok().and_then(Result::ok).ok_or_else(|| {
            let message = "the deadline passed before a large response could be read: the server itself \
                         has too many of them under way";
            Failure::new(FailureKind::Timeout, message)
        })
    }
}

/// A semaphore with a cap per tenant. Its queues need no bound: each call has a deadline, and each tenant a bound on
/// its requests for products.
fn fair_semaphore(at_once: usize, at_once_of_tenant: usize) -> FairSemaphore {
    let (waiting_of_tenant, waiting) = (usize::MAX, usize::MAX);
    FairSemaphore::new(Capacity { at_once, at_once_of_tenant, waiting_of_tenant, waiting })
}

impl fmt::Debug for ClientPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").field("rules", &self.rules).finish_non_exhaustive()
    }
}
