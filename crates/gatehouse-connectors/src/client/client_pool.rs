//! What all lines share: the HTTP clients, and how much of the server all calls together may take.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{CurrentShare, TenantName};
use gatehouse_fair_semaphore::{Capacity, FairSemaphore, Permit};
use parking_lot::Mutex;
use reqwest::{Client, ClientBuilder, Url};
use tokio::time::{Instant, timeout_at};

use super::address::{AddressRules, Refused, Route};
use super::allowance::SharedQuotas;
use super::observer::Observer;
use super::resolver::{Names, Resolver, names_of_machine, proxies_of_environment};
use crate::client::authorities::build_client;
use crate::connector::CallContext;
use crate::failure::{Failure, FailureKind};

/// How long a connection may take to come about, its encryption included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Most connections to one host that are kept for later: as many as an account may use at once unless it says
/// otherwise. Were they fewer, every rush would close most of its connections and the next one open them again.
const IDLE_CONNECTIONS_MAX: usize = 128;

/// Hosts that may keep as many as that while no more are kept in all than calls may be made at the same time.
const RUSHED_HOSTS: usize = 32;

/// How long they are kept: until the next rush, and no longer, since each is an open file.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Most answers of more than [`LARGE_BYTES`] that are in memory at the same time. Nearly all are smaller.
pub(in crate::client) const LARGE_ANSWERS_MAX: usize = 16;

/// Most of them that are one tenant's.
pub(in crate::client) const LARGE_ANSWERS_OF_TENANT_MAX: usize = 4;

/// From how many bytes an answer is a large one.
pub(in crate::client) const LARGE_BYTES: usize = 1 << 20;

/// One in so many calls is one tenant's: its platforms may be slow.
const TENANT_SHARE: usize = 4;

/// How many they may always be.
const TENANT_CALLS_MIN: usize = 16;

/// How often it is told that this machine lacks what a connection takes: with every call it would fill the log.
const LACK_TOLD_EVERY: Duration = Duration::from_secs(60);

/// What all lines share: clients, what is allowed, and how much at the same time.
pub struct ClientPool {
    rules: Arc<AddressRules>,
    /// A turn for each call that may be under way, over all accounts: tenants take turns with them.
    calls: FairSemaphore,
    /// A place for each large answer that may be there.
    large_answers: FairSemaphore,
    /// What platforms allow several lines together, and which part of every budget is this server's.
    pub(in crate::client) quotas: SharedQuotas,
    /// Who looks on.
    pub(in crate::client) witness: Option<Arc<dyn Observer>>,
    /// When it was last told that this machine lacks something.
    lack_told: Mutex<Option<Instant>>,
    /// Asks what is in allowed networks, without a detour over a proxy, where others could answer.
    inside: Client,
    /// Asks what is elsewhere, over the environment's proxy where there is one. The proxy then resolves
    /// the names: that they lead to no forbidden place is up to its rules. Addresses that stand in the URL
    /// itself are looked at in any case. The proxy's own name goes through the same resolver.
    world: Client,
}

impl ClientPool {
    /// Makes the clients. Nothing is asked yet.
    pub fn new(rules: AddressRules, calls_at_once: usize) -> Result<Self, reqwest::Error> {
        Self::build(rules, calls_at_once, names_of_machine, |builder| builder)
    }

    /// The same, where someone looks on at every call.
    pub fn witnessed_by(mut self, witness: Arc<dyn Observer>) -> Self {
        self.witness = Some(witness);
        self
    }

    pub(in crate::client) fn build(
        rules: AddressRules,
        calls_at_once: usize,
        names: Names,
        adapt: impl Fn(ClientBuilder) -> ClientBuilder,
    ) -> Result<Self, reqwest::Error> {
        let calls_at_once = calls_at_once.max(1);
        let n_idle = (calls_at_once / RUSHED_HOSTS).clamp(1, IDLE_CONNECTIONS_MAX);
        let rules = Arc::new(rules);
        let configure = |builder: ClientBuilder, is_plain: bool| {
            // Without a proxy, nothing of the environment counts.
            let proxies = if is_plain { Arc::default() } else { proxies_of_environment() };
            let resolver = Resolver { names, rules: Arc::clone(&rules), is_plain, proxies };
            builder
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_max_idle_per_host(n_idle)
                .pool_idle_timeout(IDLE_TIMEOUT)
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
            rules: Arc::clone(&rules),
            calls: shared(calls_at_once, (calls_at_once / TENANT_SHARE).max(TENANT_CALLS_MIN)),
            large_answers: shared(LARGE_ANSWERS_MAX, LARGE_ANSWERS_OF_TENANT_MAX),
            quotas: SharedQuotas::default(),
            witness: None,
            lack_told: Mutex::default(),
            inside: build_client(|builder| adapt(configure(builder, true).no_proxy()))?,
            world: build_client(|builder| adapt(configure(builder, false)))?,
        })
    }

    /// Which part of every budget is this server's.
    pub(crate) fn slice(&self) -> &CurrentShare {
        &self.quotas.slice
    }

    /// The client for an address, after a look at whether it may be gone to.
    pub(in crate::client) fn client(&self, url: &Url) -> Result<&Client, Refused> {
        Ok(match self.rules.route(url)? {
            Route::Inside => &self.inside,
            Route::World => &self.world,
        })
    }

    /// Tells the operator what this machine lacks for a connection; not of each one.
    pub(in crate::client) fn tell_of_lack(&self, lack: &str) {
        let now = Instant::now();
        let mut told = self.lack_told.lock();
        if told.is_none_or(|told| now - told >= LACK_TOLD_EVERY) {
            *told = Some(now);
            tracing::warn!(
                lack,
                "platforms can't be asked: this machine has no room for a connection"
            );
        }
    }

    /// Waits for one of the calls that may be under way over all accounts. It is held from before there is a
    /// connection until all of the answer is there.
    pub(in crate::client) async fn turn(
        &self,
        ask: CallContext,
        tenant: &TenantName,
    ) -> Result<Permit, Failure> {
        let turn = timeout_at(ask.deadline, self.calls.take(tenant)).await;
        // It is never full, so it is only ever too late.
        turn.ok().and_then(Result::ok).ok_or_else(|| {
            let words = "there was no time left when it was this call's turn: the server itself has too \
                         many calls under way";
            Failure::new(FailureKind::Timeout, words)
        })
    }

    /// How many calls wait for their turn.
    #[cfg(test)]
    pub(in crate::client) fn n_waiting(&self) -> usize {
        self.calls.n_waiting()
    }

    /// Waits for a place for a large answer, which is held as long as the answer is there.
    pub(in crate::client) async fn place(
        &self,
        ask: CallContext,
        tenant: &TenantName,
    ) -> Result<Permit, Failure> {
        let place = timeout_at(ask.deadline, self.large_answers.take(tenant)).await;
        place.ok().and_then(Result::ok).ok_or_else(|| {
            let words = "there was no time left to read a large answer: the server itself has too many of \
                         them under way";
            Failure::new(FailureKind::Timeout, words)
        })
    }
}

/// A pool that tenants share, with a cap for each tenant. Its queues need no bound: each call has a deadline, and each
/// tenant a bound on its requests for products.
fn shared(at_once: usize, at_once_of_tenant: usize) -> FairSemaphore {
    let (waiting_of_tenant, waiting) = (usize::MAX, usize::MAX);
    FairSemaphore::new(Capacity { at_once, at_once_of_tenant, waiting_of_tenant, waiting })
}

impl fmt::Debug for ClientPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").field("rules", &self.rules).finish_non_exhaustive()
    }
}
