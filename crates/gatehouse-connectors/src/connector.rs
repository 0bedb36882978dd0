//! What speaks to one account at a platform, whatever the platform.
//!
//! An implementation says what the platform can do and turns each question into calls on its
//! [`crate::PlatformClient`]. It never retries, counts, remembers or waits for its turn: that is done around it.

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

/// An answer on its way.
pub type PlatformFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'a>>;

/// What is common to all that is asked for one request.
#[derive(Clone, Copy, Debug)]
pub struct CallContext {
    /// When the answer is no longer worth having.
    pub deadline: Instant,
    /// What is to be known of connections.
    pub parts: ProductParts,
}

/// What is to be known of connections, beside what they are called and how they are connected. Some
/// platforms have to be asked once more for a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProductParts {
    /// Their status.
    pub status: bool,
    /// The numbers that they carry, and what else is a characteristic.
    pub characteristics: bool,
    /// What the customer wrote on them.
    pub properties: bool,
}

impl ProductParts {
    /// All there is.
    pub const ALL: Self = Self { status: true, characteristics: true, properties: true };

    /// What connections carry: what they are recognised by.
    pub const CHARACTERISTICS: Self =
        Self { status: false, characteristics: true, properties: false };

    /// What the customer wrote on them.
    pub const PROPERTIES: Self = Self { status: false, characteristics: false, properties: true };

    /// Whether two have something in common.
    pub fn meets(self, other: Self) -> bool {
        (self.status && other.status)
            || (self.characteristics && other.characteristics)
            || (self.properties && other.properties)
    }

    /// What is in either.
    pub fn and(self, other: Self) -> Self {
        Self {
            status: self.status || other.status,
            characteristics: self.characteristics || other.characteristics,
            properties: self.properties || other.properties,
        }
    }
}

/// How much later than the deadline everything is over, whatever a connector does. Who keeps to the deadline
/// can say what it was waiting for.
const GRACE: Duration = Duration::from_millis(100);

impl CallContext {
    /// Asks for everything, until then.
    pub fn until(deadline: Instant) -> Self {
        Self { deadline, parts: ProductParts::ALL }
    }

    /// The same, where this is to be known as well.
    pub(crate) fn and_for(self, parts: ProductParts) -> Self {
        Self { parts: self.parts.and(parts), ..self }
    }

    /// When whoever didn't keep to the deadline is left.
    pub(crate) fn end(self) -> Instant {
        self.deadline + GRACE
    }
}

/// Speaks to one account.
pub trait Connector: Send + Sync {
    /// What the platform can do.
    fn capabilities(&self) -> &Capabilities;

    /// Asks for one page, of a size that the platform's pages may have. What its list doesn't tell of
    /// connections is left to [`Connector::complete`].
    fn page<'a>(&'a self, ask: CallContext, at: &'a Position) -> PlatformFuture<'a, PlatformPage>;

    /// Asks for the connections that are called or that carry any of these, in a way that the platform can
    /// be asked, at most as many as can be at once. What comes back may be more: equality is checked again.
    /// It holds all that is to be known.
    fn look_up<'a>(
        &'a self,
        ask: CallContext,
        by: LookUpKey,
        values: &'a [String],
    ) -> PlatformFuture<'a, Vec<Arc<Connection>>>;

    /// Asks for what is to be known of connections that came on pages, where pages don't tell it.
    fn complete<'a>(
        &'a self,
        ask: CallContext,
        connections: Vec<Arc<Connection>>,
    ) -> PlatformFuture<'a, DetailedConnections> {
        let _ = ask;
        Box::pin(async { Ok(DetailedConnections { connections, failures: Vec::new() }) })
    }
}

/// Connections of which all is known that is to be.
#[derive(Clone, Debug, Default)]
pub struct DetailedConnections {
    /// In the order that they came in. Of whom more could not be learnt is not among them.
    pub connections: Vec<Arc<Connection>>,
    /// Why some are not.
    pub failures: Vec<Failure>,
}

/// What connections are looked up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LookUpKey {
    /// By what the platform calls them.
    Id,
    /// By a number that they carry.
    Number(IdentifierKind),
}

impl LookUpKey {
    /// Every way.
    pub const ALL: [Self; 5] = [
        Self::Id,
        Self::Number(IdentifierKind::Iccid),
        Self::Number(IdentifierKind::Imsi),
        Self::Number(IdentifierKind::Msisdn),
        Self::Number(IdentifierKind::SerialNumber),
    ];
}

/// What a platform can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// How its lists are paged through.
    pub paging: Paging,
    /// How connections are looked up by what the platform calls them.
    pub id: LookUp,
    /// How ICCIDs are looked up.
    pub iccid: LookUp,
    /// How IMSIs are looked up.
    pub imsi: LookUp,
    /// How MSISDNs are looked up.
    pub msisdn: LookUp,
    /// How serial numbers are looked up.
    pub serial_number: LookUp,
    /// What its list leaves out, where it does.
    pub detail: Option<Detail>,
}

impl Capabilities {
    /// How connections are looked up.
    pub fn look_up(&self, by: LookUpKey) -> LookUp {
        match by {
            LookUpKey::Id => self.id,
            LookUpKey::Number(IdentifierKind::Iccid) => self.iccid,
            LookUpKey::Number(IdentifierKind::Imsi) => self.imsi,
            LookUpKey::Number(IdentifierKind::Msisdn) => self.msisdn,
            LookUpKey::Number(IdentifierKind::SerialNumber) => self.serial_number,
        }
    }

    /// Whether the list doesn't show what connections are looked up by.
    pub(crate) fn is_hidden(&self, by: LookUpKey) -> bool {
        let LookUpKey::Number(kind) = by else { return false };
        self.detail.as_ref().is_some_and(|it| it.numbers.contains(&kind))
    }
}

/// What a platform's list leaves out, and has to be asked for besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// What it is.
    pub parts: ProductParts,
    /// The kinds of numbers among it.
    pub numbers: Vec<IdentifierKind>,
    /// For how many connections it can be asked for at once, at least one.
    pub values_max: u32,
}

impl Detail {
    /// How many calls it takes for so many connections.
    pub(crate) fn n_calls(&self, n_connections: usize) -> u64 {
        (n_connections as u64).div_ceil(u64::from(self.values_max.max(1)))
    }
}

/// How a platform's lists are paged through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    /// How one gets from page to page.
    pub steps: PagingMethod,
    /// Fewest connections that can be asked for, at least one.
    pub size_min: u32,
    /// Most connections on a page.
    pub size_max: u32,
    /// Whether its pages may tell how long the list is.
    pub tells_total: bool,
    /// Whether a page with fewer than were asked for is surely the last.
    pub ends_short: bool,
}

/// How one gets from page to page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagingMethod {
    /// Pages have numbers.
    Numbered,
    /// By the number of connections before.
    Offset,
    /// By a mark that each page gives for the next.
    Cursor,
}

impl Paging {
    /// By numbered pages, of any size up to this one.
    pub const fn numbered(size_max: u32) -> Self {
        Self {
            steps: PagingMethod::Numbered,
            size_min: 1,
            size_max,
            tells_total: true,
            ends_short: false,
        }
    }

    /// By numbered pages, all of one size.
    pub const fn fixed(size: u32) -> Self {
        Self { size_min: size, ..Self::numbered(size) }
    }

    /// By the number of connections before.
    pub const fn offset(size_max: u32) -> Self {
        Self { steps: PagingMethod::Offset, ..Self::numbered(size_max) }
    }

    /// By marks.
    pub const fn cursor(size_max: u32) -> Self {
        Self { steps: PagingMethod::Cursor, tells_total: false, ..Self::numbered(size_max) }
    }
}

/// How connections are looked up in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookUp {
    /// The platform can be asked for so many at once.
    Searched {
        /// Most values in one question, at least one.
        values_max: u32,
    },
    /// Its connections never carry one.
    NeverCarried,
    /// They carry them, and it can't be asked for them.
    NotSearchable,
}

/// Which page is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// A numbered one, counted from zero.
    Page {
        /// How many pages lie before.
        index: u64,
        /// How many connections are on each.
        size: u32,
    },
    /// What comes behind so many connections.
    Offset {
        /// How many lie before.
        offset: u64,
        /// How many are wanted.
        size: u32,
    },
    /// What comes behind a mark; without one, the first page.
    Cursor {
        /// The mark that the page before gave.
        after: Option<String>,
        /// How many are wanted.
        size: u32,
    },
}

impl Position {
    /// How many connections are wanted.
    pub fn size(&self) -> u32 {
        match self {
            Self::Page { size, .. } | Self::Offset { size, .. } | Self::Cursor { size, .. } => {
                *size
            }
        }
    }
}

/// A page as a platform gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformPage {
    /// What is on it, in the platform's order.
    pub connections: Vec<Arc<Connection>>,
    /// The mark for the page behind it, where pages have marks and there is one.
    pub next: Option<String>,
    /// How many connections the account has, where the platform says so.
    pub total: Option<u64>,
    /// Whether the platform says that nothing comes behind it.
    pub is_last: bool,
}

/// What a call is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// To log in.
    Session,
    /// For a page of the list.
    List,
    /// To look connections up.
    LookUp,
    /// For what the list leaves out.
    Detail,
}

impl CallKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Session, Self::List, Self::LookUp, Self::Detail];

    /// What it is called where limits are written down.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::List => "list",
            Self::LookUp => "look_up",
            Self::Detail => "detail",
        }
    }
}

/// How much a platform may be asked at once and over time.
#[derive(Clone, Debug, PartialEq)]
pub struct PlatformLimits {
    /// Most calls at the same time, at least one.
    pub calls_at_once: u32,
    /// Most calls in a second, over time; `None` for any number.
    pub calls_per_second: Option<f64>,
    /// Calls that may come together before the rate holds.
    pub burst: u32,
    /// What the platform itself allows over time.
    pub quotas: Vec<Quota>,
    /// How its answers tell that it wants to be left alone, where they tell it in a way of its own.
    pub wait: Option<WaitRule>,
}

/// How often a platform lets itself be asked: in no stretch of that length more often than that.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quota {
    /// Most calls in the stretch, at least one and at most [`Quota::CALLS_MAX`].
    pub calls: u32,
    /// How long the stretch is.
    pub per: Duration,
    /// The calls that count; where none is named, all do.
    pub of: Vec<CallKind>,
    /// Whose calls count.
    pub scope: QuotaScope,
}

impl Quota {
    /// Most calls that a quota may allow: when each of them was made is kept.
    pub const CALLS_MAX: u32 = 10_000;
}

/// Whose calls count against a quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QuotaScope {
    /// The account's own.
    #[default]
    Account,
    /// Those of all accounts with the same connector at the same host and port.
    Host,
}

/// How answers tell, in a way of the platform's own, that it wants to be left alone. `Retry-After` needs no
/// such words, and wins over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRule {
    /// The header that tells how many calls are left. Without it, only an answer with status 429 is heeded.
    pub remaining: Option<HeaderName>,
    /// The header that tells when there are more.
    pub reset: HeaderName,
    /// How it tells that.
    pub unit: ResetUnit,
}

/// How a header tells a time to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResetUnit {
    /// In seconds from now.
    #[default]
    Seconds,
    /// In seconds since 1970.
    Epoch,
}
