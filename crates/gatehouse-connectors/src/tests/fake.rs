//! A fake platform: a list, its paging, and its failures.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use gatehouse_core::identifier::{self, luhn_digit};
use gatehouse_core::product::{Connectivity, Property};
use gatehouse_core::{Connection, IdentifierKind};

use crate::{
    CallContext, Capabilities, Connector, Detail, DetailedConnections, Failure, FailureKind,
    LookUp, LookUpKey, Paging, PagingMethod, PlatformFuture, PlatformPage, Position, ProductParts,
    UnexpectedResponse,
};

pub(super) struct Fake {
    pub(super) capabilities: Capabilities,
    pub(super) connections: Mutex<Vec<Arc<Connection>>>,
    /// Whether pages give the total.
    pub(super) tells_total: bool,
    /// Number of connections that each page by cursor or offset leaves out.
    pub(super) short_by: u64,
    /// Number of surplus connections on a page.
    pub(super) too_many: u64,
    /// Largest page size that it accepts, whatever its capabilities say.
    pub(super) size_taken: u32,
    pub(super) failure: Mutex<Option<Failure>>,
    pub(super) hangs: AtomicBool,
    /// Prefix of its cursors: others are rejected.
    pub(super) cursor_prefix: Mutex<String>,
    /// Whether its first connection disappears after the next page.
    pub(super) shrinks: AtomicBool,
    pub(super) latency: Duration,
    /// Number of removed connections that cursors still count.
    pub(super) removed_before_cursor: Mutex<u64>,
    /// Whether its cursors all lead to the start.
    pub(super) circles: bool,
    /// Whether its list begins again at its end.
    pub(super) begins_again: bool,
    /// Number of connections whose details were read.
    pub(super) n_details: AtomicU32,
    /// Whether some details can't be read.
    pub(super) keeps_details: AtomicBool,
    pub(super) n_pages: AtomicU32,
    /// Number of connections on all pages so far.
    pub(super) n_connections: AtomicU32,
    pub(super) n_look_ups: AtomicU32,
    pub(super) n_reads: AtomicU32,
}

pub(super) const SEARCHED: LookUp = LookUp::Searched { values_max: 100 };

impl Fake {
    /// A platform with `n` cards, numbered from `first` on.
    pub(super) fn new(paging: Paging, first: u64, n: u64) -> Self {
        let capabilities = Capabilities {
            paging,
            id: LookUp::Searched { values_max: 1 },
            iccid: SEARCHED,
            imsi: SEARCHED,
            msisdn: SEARCHED,
            serial_number: LookUp::NeverCarried,
            detail: None,
        };
        Self {
            capabilities,
            connections: Mutex::new((first..first + n).map(card).collect()),
            tells_total: true,
            short_by: 0,
            too_many: 0,
            size_taken: u32::MAX,
            failure: Mutex::default(),
            hangs: AtomicBool::default(),
            cursor_prefix: Mutex::new("cursor-".into()),
            shrinks: AtomicBool::default(),
            removed_before_cursor: Mutex::default(),
            latency: Duration::ZERO,
            circles: false,
            begins_again: false,
            n_details: AtomicU32::default(),
            keeps_details: AtomicBool::default(),
            n_pages: AtomicU32::default(),
            n_connections: AtomicU32::default(),
            n_look_ups: AtomicU32::default(),
            n_reads: AtomicU32::default(),
        }
    }

    /// A platform whose list leaves out IMSIs and properties.
    pub(super) fn with_details(paging: Paging, first: u64, n: u64) -> Self {
        let mut fake = Self::new(paging, first, n);
        let parts = ProductParts { status: false, characteristics: true, properties: true };
        let detail = Detail { parts, numbers: vec![IdentifierKind::Imsi], values_max: 1 };
        fake.capabilities.detail = Some(detail);
        fake
    }

    /// A connection as its list shows it.
    fn listed(&self, connection: Arc<Connection>) -> Arc<Connection> {
        let Some(detail) = &self.capabilities.detail else { return connection };
        let mut connection = Arc::unwrap_or_clone(connection);
        connection.identifiers.retain(|(kind, _)| !detail.numbers.contains(kind));
        connection.properties.clear();
        Arc::new(connection)
    }

    /// Number of calls: pages, look-ups by number, and look-ups by id.
    pub(super) fn n_calls(&self) -> (u32, u32, u32) {
        let n = |it: &AtomicU32| it.load(Ordering::Relaxed);
        (n(&self.n_pages), n(&self.n_look_ups), n(&self.n_reads))
    }

    pub(super) fn hang(&self) {
        self.hangs.store(true, Ordering::Relaxed);
    }

    pub(super) fn fail(&self, kind: FailureKind) {
        *self.failure.lock().unwrap() = Some(Failure::new(kind, "is out of order"));
    }

    async fn check(&self) -> Result<(), Failure> {
        // Lets other tasks run, as with a real platform.
        tokio::task::yield_now().await;
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        self.failure.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    fn slice(&self, start: u64, size: u64) -> Vec<Arc<Connection>> {
        let connections = self.connections.lock().unwrap();
        let (start, size) = (usize::try_from(start).unwrap(), usize::try_from(size).unwrap());
        connections.iter().skip(start).take(size).cloned().collect()
    }

    fn n(&self) -> u64 {
        self.connections.lock().unwrap().len() as u64
    }

    fn page_at(&self, at: &Position) -> Result<PlatformPage, Failure> {
        let total = self.tells_total.then(|| self.n());
        let Paging { size_min, size_max, .. } = self.capabilities.paging;
        assert!(
            (size_min..=size_max).contains(&at.size()),
            "{at:?} asks for too much or too little"
        );
        if at.size() > self.size_taken {
            return Err(refused("page too large"));
        }
        let size = u64::from(at.size());
        let is_offset = self.capabilities.paging.steps == PagingMethod::Offset;
        let short_by = if is_offset { self.short_by.min(size - 1) } else { 0 };
        let numbered = |start: u64| PlatformPage {
            connections: self.slice(start, size + self.too_many - short_by),
            total,
            ..PlatformPage::default()
        };
        match (self.capabilities.paging.steps, at) {
            (PagingMethod::Numbered, Position::Page { index, .. }) => Ok(numbered(index * size)),
            (PagingMethod::Offset, Position::Offset { offset, .. }) => Ok(numbered(*offset)),
            (PagingMethod::Cursor, Position::Cursor { after, .. }) => {
                let prefix = self.cursor_prefix.lock().unwrap().clone();
                let gone = *self.removed_before_cursor.lock().unwrap();
                let start = match after {
                    None => 0,
                    Some(cursor) => match cursor.strip_prefix(&prefix) {
                        Some(position) => position.parse::<u64>().unwrap().saturating_sub(gone),
                        None => return Err(refused("no such cursor")),
                    },
                };
                let start = if self.circles { 0 } else { start };
                let end = start + size - self.short_by.min(size - 1);
                let next = if end < self.n() { Some(end) } else { self.begins_again.then_some(0) };
                let next = next.map(|place| format!("{prefix}{}", place + gone));
                let connections = self.slice(start, end - start);
                Ok(PlatformPage { connections, next, total: None, is_last: false })
            }
            (steps, at) => panic!("{steps:?} was asked for {at:?}"),
        }
    }
}

impl Connector for Arc<Fake> {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn page<'a>(&'a self, _: CallContext, at: &'a Position) -> PlatformFuture<'a, PlatformPage> {
        self.n_pages.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            self.check().await?;
            let mut page = self.page_at(at)?;
            page.connections = page.connections.into_iter().map(|it| self.listed(it)).collect();
            if self.shrinks.swap(false, Ordering::Relaxed) {
                self.connections.lock().unwrap().remove(0);
            }
            let n = u32::try_from(page.connections.len()).unwrap();
            self.n_connections.fetch_add(n, Ordering::Relaxed);
            Ok(page)
        })
    }

    /// Also returns similar connections, as some platforms do.
    fn look_up<'a>(
        &'a self,
        _: CallContext,
        by: LookUpKey,
        values: &'a [String],
    ) -> PlatformFuture<'a, Vec<Arc<Connection>>> {
        let n_asked = if by == LookUpKey::Id { &self.n_reads } else { &self.n_look_ups };
        n_asked.fetch_add(1, Ordering::Relaxed);
        let LookUp::Searched { values_max } = self.capabilities.look_up(by) else {
            panic!("{by:?} can't be looked up");
        };
        assert!((1..=values_max as usize).contains(&values.len()));
        Box::pin(async move {
            self.check().await?;
            let is_alike = |it: &Connection| match by {
                LookUpKey::Id => values.iter().any(|value| it.local_id == value),
                LookUpKey::Number(kind) => it.identifiers.iter().any(|(carried, it)| {
                    *carried == kind && values.iter().any(|value| alike(kind, it, value))
                }),
            };
            let connections = self.connections.lock().unwrap();
            Ok(connections.iter().filter(|it| is_alike(it)).cloned().collect())
        })
    }

    fn complete<'a>(
        &'a self,
        _: CallContext,
        connections: Vec<Arc<Connection>>,
    ) -> PlatformFuture<'a, DetailedConnections> {
        self.n_details.fetch_add(u32::try_from(connections.len()).unwrap(), Ordering::Relaxed);
        Box::pin(async move {
            self.check().await?;
            if self.keeps_details.load(Ordering::Relaxed) {
                let failure = Failure::new(FailureKind::Error, "keeps it to itself");
                let connections = connections.into_iter().skip(1).collect();
                return Ok(DetailedConnections { connections, failures: vec![failure] });
            }
            let all = self.connections.lock().unwrap();
            // A part that is read twice is added twice.
            let complete = |listed: Arc<Connection>| {
                let whole = all.iter().find(|it| it.local_id == listed.local_id).unwrap();
                let hidden =
                    whole.identifiers.iter().filter(|(kind, _)| *kind == IdentifierKind::Imsi);
                let mut connection = Arc::unwrap_or_clone(listed);
                connection.identifiers.extend(hidden.cloned());
                connection.properties.extend(whole.properties.iter().cloned());
                Arc::new(connection)
            };
            let connections = connections.into_iter().map(complete).collect();
            Ok(DetailedConnections { connections, failures: Vec::new() })
        })
    }
}

fn refused(why: &str) -> Failure {
    let response = UnexpectedResponse { status: 400, code: None, message: None, body: why.into() };
    Failure::new(FailureKind::Error, why).with_response(response)
}

fn alike(kind: IdentifierKind, carried: &str, asked: &str) -> bool {
    let (carried, asked) = (identifier::key(kind, carried), identifier::key(kind, asked));
    carried[..carried.len() - 1] == asked[..asked.len() - 1]
}

/// A card with a number: every second one has its check digit.
pub(super) fn card(n: u64) -> Arc<Connection> {
    Arc::new(Connection {
        local_id: format!("card-{n}").into(),
        status: "ACTIVE".into(),
        platform_status: Some("on".into()),
        connectivity: Connectivity::Cellular,
        identifiers: vec![
            (IdentifierKind::Iccid, iccid(n, n.is_multiple_of(2)).into()),
            (IdentifierKind::Imsi, imsi(n).into()),
        ],
        imeis: Vec::new(),
        properties: vec![Property { name: "third".into(), value: (n % 3).to_string().into() }],
    })
}

pub(super) fn iccid(n: u64, with_check_digit: bool) -> String {
    let digits = format!("8949{n:015}");
    let check = if with_check_digit { luhn_digit(&digits) } else { None };
    digits.chars().chain(check).collect()
}

pub(super) fn imsi(n: u64) -> String {
    format!("26201{n:010}")
}
