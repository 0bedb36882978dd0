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
use crate::engine::latency::Latency;
use crate::engine::marks::Marks;
use crate::engine::page_coalescing::{self, Neighbours};
use crate::engine::single_flight::Flights;
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
    pub(crate) known: Mutex<Known>,
    pages: Flights<Position, PlatformPage>,
    pub(crate) neighbours: Neighbours,
    look_ups: Flights<(LookUpKey, ProductParts, Vec<String>), Vec<Arc<Connection>>>,
    /// Time of last use, by [`crate::engine::open_accounts`]'s counter.
    pub(crate) last_used: AtomicU64,
}

/// What earlier pages have shown of an account's list.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) marks: Marks,
    /// First connection of a list that is paged by cursor.
    pub(crate) first: Option<SmolStr>,
    /// Length of the list as the platform last gave it, and when.
    total: Option<(u64, Instant)>,
    /// Last known end, if the platform doesn't give the length.
    end: Option<u64>,
    /// Farthest position seen.
    reach: u64,
    /// When the list was found too long to scan.
    pub(crate) too_long: Option<Instant>,
}

impl Known {
    /// Length of the list as the platform last gave it.
    pub(crate) fn total(&self) -> Option<u64> {
        self.total.map(|(total, _)| total)
    }

    /// Assumed end of the list.
    pub(crate) fn extent(&self) -> u64 {
        self.total().or(self.end).unwrap_or(self.reach)
    }

    /// Whether the platform said just now that the list ends before `position`.
    pub(crate) fn ends_before(&self, position: u64) -> bool {
        self.total.is_some_and(|(total, told)| position >= total && told.elapsed() < JUST_NOW)
    }

    /// Learns from a page with `before` connections before it.
    pub(crate) fn learn_extent(&mut self, before: u64, n_connections: usize, is_last: bool) {
        let end = before + n_connections as u64;
        if is_last {
            (self.end, self.reach) = (Some(end), end);
        } else if n_connections > 0 {
            self.reach = self.reach.max(end);
            // The list has grown.
            self.end = self.end.filter(|known| *known > end);
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
const JUST_NOW: Duration = Duration::from_secs(3);

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
            known: Mutex::default(),
            pages: Flights::default(),
            neighbours: Neighbours::default(),
            look_ups: Flights::default(),
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

    /// The tenant.
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
        ask: CallContext,
        at: &Position,
    ) -> Result<PlatformPage, Failure> {
        let size_max = self.capabilities()?.paging.size_max;
        let Some((around, part)) = page_coalescing::around(at, size_max) else {
            return self.one_page(ask, at).await.map(Arc::unwrap_or_clone);
        };
        let (_waiting, has_company) = self.neighbours.join(&around, part).await;
        if has_company && !self.pages.is_under_way(at) {
            match self.page_within(ask, &around, part).await {
                Ok(Some(page)) => return Ok(page),
                Ok(None) => {}
                // Perhaps the platform only refuses the larger size.
                Err(failure) if failure.is_refusal() => {}
                Err(failure) => return Err(failure),
            }
        }
        self.one_page(ask, at).await.map(Arc::unwrap_or_clone)
    }

    /// Reads a part of a larger page that other callers share; `None` if the page can't tell.
    pub(crate) async fn page_within(
        self: &Arc<Self>,
        ask: CallContext,
        around: &Position,
        part: Window,
    ) -> Result<Option<PlatformPage>, Failure> {
        let page = self.one_page(ask, around).await?;
        let is_behind_a_mark = matches!(around, Position::Cursor { after: Some(_), .. });
        if is_behind_a_mark && self.begins_with(&page) {
            return Ok(None);
        }
        Ok(page_coalescing::part_of(&page, around, part))
    }

    /// Whether a page begins like the account's list.
    pub(crate) fn begins_with(&self, page: &PlatformPage) -> bool {
        let first = page.connections.first().map(|it| it.local_id.as_str());
        first.is_some() && first == self.known.lock().first.as_deref()
    }

    /// Reads exactly this page; concurrent callers share one call.
    async fn one_page(
        self: &Arc<Self>,
        ask: CallContext,
        at: &Position,
    ) -> Result<Arc<PlatformPage>, Failure> {
        let set_off = || {
            let (account, at) = (Arc::clone(self), at.clone());
            async move { account.observed(ask, |connector| connector.page(ask, &at)).await }
        };
        let page = self.pages.join(ask, at, set_off).await?;
        if let Some(total) = page.total {
            self.known.lock().total = Some((total, Instant::now()));
        }
        Ok(page)
    }

    pub(crate) async fn look_up(
        self: &Arc<Self>,
        ask: CallContext,
        by: LookUpKey,
        values: Vec<String>,
    ) -> Result<Vec<Arc<Connection>>, Failure> {
        let question = (by, ask.parts, values);
        let set_off = || {
            let (account, (by, _, values)) = (Arc::clone(self), question.clone());
            async move { account.observed(ask, |connector| connector.look_up(ask, by, &values)).await }
        };
        self.look_ups.join(ask, &question, set_off).await.map(Arc::unwrap_or_clone)
    }

    /// Reads the parts that pages leave out, if the request needs them.
    pub(crate) async fn complete(
        &self,
        ask: CallContext,
        connections: Vec<Arc<Connection>>,
    ) -> DetailedConnections {
        let is_needed = self
            .capabilities()
            .is_ok_and(|it| it.detail.as_ref().is_some_and(|detail| detail.parts.meets(ask.parts)));
        if connections.is_empty() || !is_needed {
            return DetailedConnections { connections, failures: Vec::new() };
        }
        let completed = self.observed(ask, |connector| connector.complete(ask, connections)).await;
        completed.unwrap_or_else(|failure| DetailedConnections {
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
        ask: CallContext,
        question: impl FnOnce(&'a dyn Connector) -> PlatformFuture<'a, T>,
    ) -> Result<T, Failure> {
        let answer = match self.connector() {
            // A call that isn't made shows nothing.
            Ok(_) if Instant::now() >= ask.deadline => return Err(Failure::late()),
            Ok(connector) => {
                // A defect in one connector fails that account alone.
                let asking = AssertUnwindSafe(question(connector)).catch_unwind();
                match timeout_at(ask.end(), asking).await {
                    Ok(Ok(answer)) => answer,
                    Ok(Err(_panic)) => {
                        tracing::error!(account = %self.account.name, "a connector panicked");
                        Err(Failure::new(FailureKind::Error, "its connector failed"))
                    }
                    Err(_) => Err(Failure::late()),
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
