//! An open account, and what the server knows about it at run time.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use gatehouse_core::page::window::Window;
use gatehouse_core::{Account, Connection, TenantName};
use parking_lot::Mutex;
use smol_str::SmolStr;
use tokio::time::{Instant, timeout_at};

use crate::connector::{
    CallContext, Capabilities, Connector, DetailedConnections, LookUpKey, PlatformFuture,
    PlatformPage, Position, ProductParts,
};
use crate::engine::cursor_cache::CursorCache;
use crate::engine::latency::Latency;
use crate::engine::page_coalescing::{self, PageWaiters};
use crate::engine::single_flight::SingleFlight;
use crate::failure::{Failure, FailureKind};

/// An open account.
pub struct LiveAccount {
    tenant: TenantName,
    account: Arc<Account>,
    version: i64,
    /// The connector, or why there is none.
    connector: Result<Box<dyn Connector>, Failure>,
    health: AtomicU8,
    latency: Latency,
    pub(crate) list: Mutex<ListState>,
    pages: SingleFlight<Position, PlatformPage>,
    pub(crate) page_waiters: PageWaiters,
    look_ups: SingleFlight<(LookUpKey, ProductParts, Vec<String>), Vec<Arc<Connection>>>,
    /// Time of last use, by [`crate::engine::open_accounts`]'s counter.
    pub(crate) last_used: AtomicU64,
}

/// Length and cursors of an account's list, from earlier pages.
#[derive(Debug, Default)]
pub(crate) struct ListState {
    pub(crate) cursors: CursorCache,
    /// First connection of a list that is paged by cursor.
    pub(crate) first: Option<SmolStr>,
    /// Length of the list as the platform last gave it, and when.
    total: Option<(u64, Instant)>,
    /// Last known end, if the platform doesn't give the length.
    end: Option<u64>,
    /// Farthest position seen.
    farthest: u64,
    /// When the list was found too long to scan.
    pub(crate) too_long: Option<Instant>,
}

impl ListState {
    /// Length of the list as the platform last gave it.
    pub(crate) fn total(&self) -> Option<u64> {
        self.total.map(|(total, _)| total)
    }

    /// Assumed end of the list.
    pub(crate) fn extent(&self) -> u64 {
        self.total().or(self.end).unwrap_or(self.farthest)
    }

    /// Whether the platform said just now that the list ends before `position`.
    pub(crate) fn ends_before(&self, position: u64) -> bool {
        self.total.is_some_and(|(total, at)| position >= total && at.elapsed() < TOTAL_FRESH)
    }

    /// Learns from a page with `before` connections before it.
    pub(crate) fn learn_extent(&mut self, before: u64, n_connections: usize, is_last: bool) {
        let end = before + n_connections as u64;
        if is_last {
            (self.end, self.farthest) = (Some(end), end);
        } else if n_connections > 0 {
            self.farthest = self.farthest.max(end);
            // The list has grown.
            self.end = self.end.filter(|it| *it > end);
        }
    }
}

/// Health of an account by its last calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// The platform responded.
    Up,
    /// The platform failed.
    Down,
    /// No call yet.
    Unknown,
}

impl Health {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "UP",
            Self::Down => "DOWN",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// How long a platform's list length is trusted, so that a client that reads to the end causes no call beyond it.
const TOTAL_FRESH: Duration = Duration::from_secs(3);

const UNKNOWN: u8 = 0;
const UP: u8 = 1;
const DOWN: u8 = 2;

impl LiveAccount {
    pub(crate) fn new(
        tenant: TenantName,
        account: Arc<Account>,
        version: i64,
        connector: Result<Box<dyn Connector>, Failure>,
        latency: Latency,
    ) -> Self {
        let health = if connector.is_ok() { UNKNOWN } else { DOWN };
        Self {
            tenant,
            account,
            version,
            connector,
            health: AtomicU8::new(health),
            latency,
            list: Mutex::default(),
            pages: SingleFlight::default(),
            page_waiters: PageWaiters::default(),
            look_ups: SingleFlight::default(),
            last_used: AtomicU64::default(),
        }
    }

    /// An account that can't be opened: every call fails with `failure`.
    pub fn closed(
        tenant: &TenantName,
        account: Account,
        version: i64,
        failure: Failure,
    ) -> Arc<Self> {
        let (account, latency) = (Arc::new(account), Latency::default());
        Arc::new(Self::new(tenant.clone(), account, version, Err(failure), latency))
    }

    /// The account.
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    pub(crate) fn tenant(&self) -> &TenantName {
        &self.tenant
    }

    /// Version of the account when it was opened.
    pub(crate) fn version(&self) -> i64 {
        self.version
    }

    /// Health by the last calls.
    pub fn health(&self) -> Health {
        match self.health.load(Ordering::Relaxed) {
            UP => Health::Up,
            DOWN => Health::Down,
            _ => Health::Unknown,
        }
    }

    /// Recent latency, once there was a response; a timeout counts with the time it had.
    pub fn latency(&self) -> Option<Duration> {
        self.latency.median()
    }

    pub(crate) fn capabilities(&self) -> Result<&Capabilities, Failure> {
        Ok(self.connector()?.capabilities())
    }

    /// Reads a page, perhaps together with neighbouring ones.
    pub(crate) async fn page(
        self: &Arc<Self>,
        context: CallContext,
        at: &Position,
    ) -> Result<PlatformPage, Failure> {
        let size_max = self.capabilities()?.paging.size_max;
        let Some((around, part)) = page_coalescing::around(at, size_max) else {
            return self.one_page(context, at).await.map(Arc::unwrap_or_clone);
        };
        let (_waiting, has_neighbours) = self.page_waiters.join(&around, part).await;
        if has_neighbours && !self.pages.is_in_flight(at) {
            match self.page_within(context, &around, part).await {
                Ok(Some(page)) => return Ok(page),
                Ok(None) => {}
                // Perhaps the platform only refuses the larger size.
                Err(failure) if failure.is_refusal() => {}
                Err(failure) => return Err(failure),
            }
        }
        self.one_page(context, at).await.map(Arc::unwrap_or_clone)
    }

    /// Reads a part of a larger page that other callers share; `None` if the page can't tell.
    pub(crate) async fn page_within(
        self: &Arc<Self>,
        context: CallContext,
        around: &Position,
        part: Window,
    ) -> Result<Option<PlatformPage>, Failure> {
        let page = self.one_page(context, around).await?;
        let has_cursor = matches!(around, Position::Cursor { after: Some(_), .. });
        if has_cursor && self.begins_with(&page) {
            return Ok(None);
        }
        Ok(page_coalescing::part_of(&page, around, part))
    }

    /// Whether a page begins like the account's list.
    pub(crate) fn begins_with(&self, page: &PlatformPage) -> bool {
        let first = page.connections.first().map(|it| it.local_id.as_str());
        first.is_some() && first == self.list.lock().first.as_deref()
    }

    /// Reads exactly this page; concurrent callers share one call.
    async fn one_page(
        self: &Arc<Self>,
        context: CallContext,
        at: &Position,
    ) -> Result<Arc<PlatformPage>, Failure> {
        let start = || {
            let (account, at) = (Arc::clone(self), at.clone());
            async move { account.observed(context, |connector| connector.page(context, &at)).await }
        };
        let page = self.pages.join(context, at, start).await?;
        if let Some(total) = page.total {
            self.list.lock().total = Some((total, Instant::now()));
        }
        Ok(page)
    }

    pub(crate) async fn look_up(
        self: &Arc<Self>,
        context: CallContext,
        by: LookUpKey,
        values: Vec<String>,
    ) -> Result<Vec<Arc<Connection>>, Failure> {
        let key = (by, context.parts, values);
        let start = || {
            let (account, (by, _, values)) = (Arc::clone(self), key.clone());
            async move {
                account.observed(context, |connector| connector.look_up(context, by, &values)).await
            }
        };
        self.look_ups.join(context, &key, start).await.map(Arc::unwrap_or_clone)
    }

    /// Reads the parts that pages leave out, if the request needs them.
    pub(crate) async fn complete(
        &self,
        context: CallContext,
        connections: Vec<Arc<Connection>>,
    ) -> DetailedConnections {
        let is_needed = self.capabilities().is_ok_and(|it| {
            it.detail.as_ref().is_some_and(|detail| detail.parts.meets(context.parts))
        });
        if connections.is_empty() || !is_needed {
            return DetailedConnections { connections, failures: Vec::new() };
        }
        let detailed =
            self.observed(context, |connector| connector.complete(context, connections)).await;
        detailed.unwrap_or_else(|failure| DetailedConnections {
            connections: Vec::new(),
            failures: vec![failure],
        })
    }

    fn connector(&self) -> Result<&dyn Connector, Failure> {
        self.connector.as_deref().map_err(Clone::clone)
    }

    /// Calls the connector until the deadline, and records the account's health.
    async fn observed<'a, T>(
        &'a self,
        context: CallContext,
        call: impl FnOnce(&'a dyn Connector) -> PlatformFuture<'a, T>,
    ) -> Result<T, Failure> {
        let answer = match self.connector() {
            // A call that isn't made shows nothing.
            Ok(_) if Instant::now() >= context.deadline => return Err(Failure::timed_out()),
            Ok(connector) => {
                // A defect in one connector fails that account alone.
                let call = AssertUnwindSafe(call(connector)).catch_unwind();
                match timeout_at(context.end(), call).await {
                    Ok(Ok(answer)) => answer,
                    Ok(Err(_panic)) => {
                        tracing::error!(account = %self.account.name, "a connector panicked");
                        Err(Failure::new(FailureKind::Error, "its connector failed"))
                    }
                    Err(_) => Err(Failure::timed_out()),
                }
            }
            Err(failure) => Err(failure),
        };
        match &answer {
            Ok(_) => self.health.store(UP, Ordering::Relaxed),
            // The platform throttles, or wasn't called.
            Err(failure) if failure.is_ours || failure.kind == FailureKind::Throttled => {}
            Err(_) => self.health.store(DOWN, Ordering::Relaxed),
        }
        answer
    }
}
