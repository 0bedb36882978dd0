//! The interface to one account at a platform.
//!
//! An implementation declares the platform's capabilities and turns each request into calls on its
//! [`crate::PlatformClient`]. Retries, limits, caches and queues are around it, never in it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{Connection, IdentifierKind};
use http::HeaderName;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::failure::Failure;

/// A platform's pending result.
pub type PlatformFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'a>>;

/// Context of all platform calls of one request.
#[derive(Clone, Copy, Debug)]
pub struct CallContext {
    /// When the request times out.
    pub deadline: Instant,
    /// Which parts of products the request needs.
    pub parts: ProductParts,
}

/// Parts of a product beyond its ids and connection type. Some platforms need further calls for a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProductParts {
    /// The status.
    pub status: bool,
    /// Numbers and other characteristics.
    pub characteristics: bool,
    /// Properties set by the customer.
    pub properties: bool,
}

impl ProductParts {
    /// All parts.
    pub const ALL: Self = Self { status: true, characteristics: true, properties: true };

    /// Characteristics alone, which identify a connection.
    pub const CHARACTERISTICS: Self =
        Self { status: false, characteristics: true, properties: false };

    /// Properties alone.
    pub const PROPERTIES: Self = Self { status: false, characteristics: false, properties: true };

    /// Whether the two have a part in common.
    pub fn meets(self, other: Self) -> bool {
        (self.status && other.status)
            || (self.characteristics && other.characteristics)
            || (self.properties && other.properties)
    }

    /// The parts of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            status: self.status || other.status,
            characteristics: self.characteristics || other.characteristics,
            properties: self.properties || other.properties,
        }
    }
}

/// Time after the deadline at which a connector's call is cancelled. A connector that keeps the deadline can say what
/// it was waiting for.
const GRACE: Duration = Duration::from_millis(100);

impl CallContext {
    /// A context for all parts, until the deadline.
    pub fn until(deadline: Instant) -> Self {
        Self { deadline, parts: ProductParts::ALL }
    }

    /// Adds parts.
    pub(crate) fn and_for(self, parts: ProductParts) -> Self {
        Self { parts: self.parts.and(parts), ..self }
    }

    /// When a call that missed the deadline is cancelled.
    pub(crate) fn end(self) -> Instant {
        self.deadline + GRACE
    }
}

/// Calls one account's platform.
pub trait Connector: Send + Sync {
    /// The platform's capabilities.
    fn capabilities(&self) -> &Capabilities;

    /// Reads one page, of an allowed size. Parts missing from the list are left to [`Connector::complete`].
    fn page<'a>(&'a self, ask: CallContext, at: &'a Position) -> PlatformFuture<'a, PlatformPage>;

    /// Looks up connections by their id or number, at most `values_max` at once. The result has all parts. It may hold
    /// other connections too: the caller checks equality.
    fn look_up<'a>(
        &'a self,
        ask: CallContext,
        by: LookUpKey,
        values: &'a [String],
    ) -> PlatformFuture<'a, Vec<Arc<Connection>>>;

    /// Reads the parts that pages leave out.
    fn complete<'a>(
        &'a self,
        ask: CallContext,
        connections: Vec<Arc<Connection>>,
    ) -> PlatformFuture<'a, DetailedConnections> {
        let _ = ask;
        Box::pin(async { Ok(DetailedConnections { connections, failures: Vec::new() }) })
    }
}

/// Connections with all requested parts.
#[derive(Clone, Debug, Default)]
pub struct DetailedConnections {
    /// In their original order, without those whose details could not be read.
    pub connections: Vec<Arc<Connection>>,
    /// Why details could not be read.
    pub failures: Vec<Failure>,
}

/// Key that connections are looked up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LookUpKey {
    /// The platform's id of a connection.
    Id,
    /// A number of a connection.
    Number(IdentifierKind),
}

impl LookUpKey {
    /// Every key.
    pub const ALL: [Self; 5] = [
        Self::Id,
        Self::Number(IdentifierKind::Iccid),
        Self::Number(IdentifierKind::Imsi),
        Self::Number(IdentifierKind::Msisdn),
        Self::Number(IdentifierKind::SerialNumber),
    ];
}

/// Capabilities of a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// How lists are paged.
    pub paging: Paging,
    /// Look-up by the platform's ids.
    pub id: LookUp,
    /// Look-up by ICCID.
    pub iccid: LookUp,
    /// Look-up by IMSI.
    pub imsi: LookUp,
    /// Look-up by MSISDN.
    pub msisdn: LookUp,
    /// Look-up by serial number.
    pub serial_number: LookUp,
    /// Parts that the list leaves out.
    pub detail: Option<Detail>,
}

impl Capabilities {
    /// Look-up by a key.
    pub fn look_up(&self, by: LookUpKey) -> LookUp {
        match by {
            LookUpKey::Id => self.id,
            LookUpKey::Number(IdentifierKind::Iccid) => self.iccid,
            LookUpKey::Number(IdentifierKind::Imsi) => self.imsi,
            LookUpKey::Number(IdentifierKind::Msisdn) => self.msisdn,
            LookUpKey::Number(IdentifierKind::SerialNumber) => self.serial_number,
        }
    }

    /// Whether the list leaves out the numbers of this key.
    pub(crate) fn is_hidden(&self, by: LookUpKey) -> bool {
        let LookUpKey::Number(kind) = by else { return false };
        self.detail.as_ref().is_some_and(|it| it.numbers.contains(&kind))
    }
}

/// Parts that a platform's list leaves out and that need further calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The parts.
    pub parts: ProductParts,
    /// Kinds of numbers among them.
    pub numbers: Vec<IdentifierKind>,
    /// Most connections per call, at least one.
    pub values_max: u32,
}

impl Detail {
    /// Number of calls for so many connections.
    pub(crate) fn n_calls(&self, n_connections: usize) -> u64 {
        (n_connections as u64).div_ceil(u64::from(self.values_max.max(1)))
    }
}

/// Paging of a platform's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    /// How to get from page to page.
    pub steps: PagingMethod,
    /// Smallest page size, at least one.
    pub size_min: u32,
    /// Largest page size.
    pub size_max: u32,
    /// Whether pages may give the list's length.
    pub tells_total: bool,
    /// Whether a page shorter than requested is surely the last.
    pub ends_short: bool,
}

/// How to get from page to page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagingMethod {
    /// By page number.
    Numbered,
    /// By the number of connections before the page.
    Offset,
    /// By a cursor that each page gives for the next.
    Cursor,
}

impl Paging {
    /// Numbered pages of any size up to `size_max`.
    pub const fn numbered(size_max: u32) -> Self {
        Self {
            steps: PagingMethod::Numbered,
            size_min: 1,
            size_max,
            tells_total: true,
            ends_short: false,
        }
    }

    /// Numbered pages of one size.
    pub const fn fixed(size: u32) -> Self {
        Self { size_min: size, ..Self::numbered(size) }
    }

    /// Pages by offset.
    pub const fn offset(size_max: u32) -> Self {
        Self { steps: PagingMethod::Offset, ..Self::numbered(size_max) }
    }

    /// Pages by cursor.
    pub const fn cursor(size_max: u32) -> Self {
        Self { steps: PagingMethod::Cursor, tells_total: false, ..Self::numbered(size_max) }
    }
}

/// Look-up by one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookUp {
    /// The platform can search for the values.
    Searched {
        /// Most values per call, at least one.
        values_max: u32,
    },
    /// The platform's connections never have such a number.
    NeverCarried,
    /// Connections have the number, but the platform can't search for it.
    NotSearchable,
}

/// Position of a page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// By page number, from zero.
    Page {
        /// Number of pages before.
        index: u64,
        /// Page size.
        size: u32,
    },
    /// By offset.
    Offset {
        /// Number of connections before.
        offset: u64,
        /// Page size.
        size: u32,
    },
    /// By cursor; `None` for the first page.
    Cursor {
        /// Cursor that the page before gave.
        after: Option<String>,
        /// Page size.
        size: u32,
    },
}

impl Position {
    /// Page size.
    pub fn size(&self) -> u32 {
        match self {
            Self::Page { size, .. } | Self::Offset { size, .. } | Self::Cursor { size, .. } => {
                *size
            }
        }
    }
}

/// A page of a platform's list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformPage {
    /// Connections in the platform's order.
    pub connections: Vec<Arc<Connection>>,
    /// Cursor of the next page, if there is one.
    pub next: Option<String>,
    /// Length of the list, if the platform gives it.
    pub total: Option<u64>,
    /// Whether the platform says that this page is the last.
    pub is_last: bool,
}

/// Kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// A log-in.
    Session,
    /// A page of the list.
    List,
    /// A look-up.
    LookUp,
    /// Parts that the list leaves out.
    Detail,
}

impl CallKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Session, Self::List, Self::LookUp, Self::Detail];

    /// Name of the kind in manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::List => "list",
            Self::LookUp => "look_up",
            Self::Detail => "detail",
        }
    }
}

/// Limits on the calls of an account.
#[derive(Clone, Debug, PartialEq)]
pub struct PlatformLimits {
    /// Most concurrent calls, at least one.
    pub calls_at_once: u32,
    /// Most calls per second; `None` for no limit.
    pub calls_per_second: Option<f64>,
    /// Calls that may be made at once before the rate limit holds.
    pub burst: u32,
    /// The platform's quotas.
    pub quotas: Vec<Quota>,
    /// The platform's own rate-limit headers.
    pub wait: Option<WaitRule>,
}

/// A quota: most calls in any period of a given length.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quota {
    /// Most calls per period, from one to [`Quota::CALLS_MAX`].
    pub calls: u32,
    /// Length of the period.
    pub per: Duration,
    /// Kinds of calls that count; all if empty.
    pub of: Vec<CallKind>,
    /// Whose calls count.
    pub scope: QuotaScope,
}

impl Quota {
    /// Most calls of a quota: the time of each is in memory.
    pub const CALLS_MAX: u32 = 10_000;
}

/// Whose calls count against a quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QuotaScope {
    /// Calls of the account.
    #[default]
    Account,
    /// Calls of all accounts with the same connector at the same host and port.
    Host,
}

/// Rate-limit headers that ask for a pause. `Retry-After` is understood anyway, and wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRule {
    /// Header with the number of remaining calls. Without it, only responses with status 429 count.
    pub remaining: Option<HeaderName>,
    /// Header with the time when more calls are allowed.
    pub reset: HeaderName,
    /// Unit of `reset`.
    pub unit: ResetUnit,
}

/// Unit of a time in a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResetUnit {
    /// Seconds from now.
    #[default]
    Seconds,
    /// Seconds since 1970.
    Epoch,
}
