//! What speaks to one account at a platform, whatever the platform.
//!
//! An implementation says what the platform can do and turns each question into calls on its
//! [`crate::Line`]. It never retries, counts, remembers or waits for its turn: that is done around it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{Connection, IdentifierKind};
use tokio::time::Instant;

use crate::failure::Failure;

/// An answer on its way.
pub type Asking<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'a>>;

/// What is common to all that is asked for one request.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// When the answer is no longer worth having.
    pub deadline: Instant,
}

/// How much later than the deadline everything is over, whatever a connector does. Who keeps to the deadline
/// can say what it was waiting for.
const GRACE: Duration = Duration::from_millis(100);

impl Ask {
    /// When whoever didn't keep to the deadline is left.
    pub(crate) fn end(self) -> Instant {
        self.deadline + GRACE
    }
}

/// Speaks to one account.
pub trait Connector: Send + Sync {
    /// What the platform can do.
    fn capabilities(&self) -> &Capabilities;

    /// Asks for one page, no larger than the platform's pages are.
    fn page<'a>(&'a self, ask: Ask, at: &'a Position) -> Asking<'a, PlatformPage>;

    /// Asks for the connections that carry any of these identifiers, of a kind that can be looked up, at
    /// most as many as can be at once. What comes back may be more: equality is checked again.
    fn look_up<'a>(
        &'a self,
        ask: Ask,
        kind: IdentifierKind,
        values: &'a [String],
    ) -> Asking<'a, Vec<Arc<Connection>>>;

    /// Asks for one connection by what the platform calls it.
    fn read<'a>(&'a self, ask: Ask, local_id: &'a str) -> Asking<'a, Option<Arc<Connection>>>;
}

/// What a platform can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// How its lists are paged through.
    pub paging: Paging,
    /// How ICCIDs are looked up.
    pub iccid: LookUp,
    /// How IMSIs are looked up.
    pub imsi: LookUp,
    /// How MSISDNs are looked up.
    pub msisdn: LookUp,
    /// How serial numbers are looked up.
    pub serial_number: LookUp,
}

impl Capabilities {
    /// How identifiers of a kind are looked up.
    pub fn look_up(&self, kind: IdentifierKind) -> LookUp {
        match kind {
            IdentifierKind::Iccid => self.iccid,
            IdentifierKind::Imsi => self.imsi,
            IdentifierKind::Msisdn => self.msisdn,
            IdentifierKind::SerialNumber => self.serial_number,
        }
    }
}

/// How a platform's lists are paged through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    /// By numbered pages, of any size up to this one.
    Numbered {
        /// Most connections on a page.
        size_max: u32,
    },
    /// By numbered pages, all of one size.
    Fixed {
        /// Connections on a page.
        size: u32,
    },
    /// By the number of connections before.
    Offset {
        /// Most connections on a page.
        size_max: u32,
    },
    /// By a mark that each page gives for the next.
    Cursor {
        /// Most connections on a page.
        size_max: u32,
    },
}

impl Paging {
    /// Most connections on a page.
    pub(crate) fn size_max(self) -> u32 {
        match self {
            Self::Numbered { size_max: size }
            | Self::Fixed { size }
            | Self::Offset { size_max: size }
            | Self::Cursor { size_max: size } => size,
        }
    }
}

/// How identifiers of a kind are looked up.
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

/// How much a platform may be asked at once and over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Most calls at the same time, at least one.
    pub calls_at_once: u32,
    /// Most calls in a second, over time; `None` for any number.
    pub calls_per_second: Option<f64>,
    /// Calls that may come together before the rate holds.
    pub burst: u32,
}
