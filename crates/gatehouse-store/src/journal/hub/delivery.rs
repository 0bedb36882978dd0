//! Deliveries of a hub: which events it gets next, and the outcomes of its messages.
//!
//! One server at a time works for a hub, under a lease. What it has delivered is stored after the subscriber has answered,
//! so a message may come twice, and none is missed.

use futures_util::future::try_join_all;
use gatehouse_core::event::audit::SetupObject;
use gatehouse_core::hub::DELIVERIES_SHOWN_MAX;
use gatehouse_core::{Hub, HubId, HubState, TenantName, Timestamp};

use super::{IDLE, StoredHub, lock, read, select};
use crate::Store;
use crate::db::{Row, Tx, WriteKind};
use crate::error::StoreError;
use crate::journal::audit::Audited;
use crate::journal::{self, Journal};
use crate::work_queue::{self, Lease, WorkError};

/// Most events that wait for another attempt. A hub with more gets no new events until some of them are delivered.
pub const WAITING_MAX: u64 = 1000;

/// Longest pause until refused events are tried again, once a subscriber takes messages again.
const REFUSED_AGAIN_MILLISECONDS: i64 = 15 * 60 * 1000;

/// A hub that a server works for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubWork {
    /// The hub.
    pub stored: StoredHub,
    /// Events that wait for another attempt, by number.
    pub waiting: Vec<UndeliveredEvent>,
    /// The store's time.
    pub now: Timestamp,
}

/// An event that could not be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndeliveredEvent {
    /// The event's number.
    pub number: u64,
    /// Identifier of its access or Task; empty for none.
    pub subject: Vec<u8>,
    /// Whether the subscriber has answered the last attempt, and refused it.
    pub is_refused: bool,
    /// Attempts so far.
    pub n_attempts: u64,
    /// Since when it should have been delivered.
    pub since: Timestamp,
    /// When it is tried again.
    pub due_at: Timestamp,
    /// Why the last attempt failed.
    pub why: String,
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// When it was sent.
    pub at: Timestamp,
    /// Number of its first event.
    pub first: u64,
    /// Number of its events.
    pub n_events: u64,
    /// Status of the response, if there was one.
    pub status: Option<u16>,
    /// Time until the response.
    pub milliseconds: u64,
    /// Why it failed.
    pub why: Option<String>,
}

/// Outcomes of a hub's messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deliveries {
    /// Every event up to this number was delivered, waits, or is a dead letter.
    pub position: u64,
    /// Numbers of events that waited, and do no longer.
    pub done: Vec<u64>,
    /// Events that wait.
    pub waiting: Vec<UndeliveredEvent>,
    /// Events that are dead letters now.
    pub dead: Vec<UndeliveredEvent>,
    /// The messages.
    pub messages: Vec<SentMessage>,
    /// Failed messages in a row.
    pub n_failures: u64,
    /// Since when messages fail.
    pub failing_since: Option<Timestamp>,
    /// No message before this time.
    pub blocked_until: Option<Timestamp>,
    /// Events that were deleted for their age before they were delivered.
    pub n_missed: u64,
    /// The subscriber can be reached again: waiting events are due at once, those that it has refused soon.
    pub has_recovered: bool,
    /// So many events wait that the hub takes no new ones.
    pub is_full: bool,
    /// Requests to try at once that the server has seen.
    pub n_requests: u64,
}

/// How far a hub is behind its tenant's events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubBacklog {
    /// The tenant.
    pub tenant: TenantName,
    /// The hub.
    pub hub: HubId,
    /// Events that were not sent yet.
    pub n_behind: u64,
    /// Events that wait for another attempt.
    pub n_waiting: u64,
    /// Dead letters.
    pub n_dead: u64,
}

/// When a hub is due again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextDelivery {
    /// At once, under the same lease, which lasts so many milliseconds.
    Now(i64),
    /// At this time, and as soon as there are new events.
    At(Timestamp),
    /// As soon as there are new events.
    WithEvents,
    /// When the subscriber continues.
    Paused,
}

impl Store {
    /// The hub of a lease, and what waits for it; `None` for a hub that is gone.
    pub async fn hub_work(&self, lease: &Lease) -> Result<Option<HubWork>, StoreError> {
        let (tenant, id) = (lease.key.tenant.as_str(), lease.key.name.as_str());
        let sql = concat!(select!(), " WHERE tenant = ?1 AND id = ?2");
        let values = [tenant.into(), id.into()];
        let Some(stored) = self.db.row(sql, &values, read).await? else { return Ok(None) };
        let sql = "SELECT number, subject, is_refused, n_attempts, since, due_at, why FROM hub_event \
                   WHERE tenant = ?1 AND hub = ?2 AND is_dead = 0 ORDER BY number LIMIT ?3";
        let values = [tenant.into(), id.into(), WAITING_MAX.into()];
        let waiting = match stored.n_waiting {
            0 => Vec::new(),
            _ => self.db.rows(sql, &values, read_undelivered).await?,
        };
        Ok(Some(HubWork { stored, waiting, now: self.now().await? }))
    }

    /// Stores the outcomes of messages, and when the hub is due again.
    pub async fn record_deliveries(
        &self,
        lease: &Lease,
        deliveries: &Deliveries,
        next: NextDelivery,
    ) -> Result<(), WorkError> {
        let (lease, deliveries) = (lease.clone(), deliveries.clone());
        self.db
            .write(WriteKind::Tenant(lease.key.tenant.clone()), async move |tx| {
                let tenant = &lease.key.tenant;
                // Before the hub, like a transaction that numbers events and makes it due: so no event is missed. A server
                // that goes on looks for new events anyway.
                let ends = match next {
                    NextDelivery::Now(_) => None,
                    _ => journal::lock_ends(&tx, &Journal::Changes(tenant.clone())).await?,
                };
                let n_requests = write(&tx, &lease, &deliveries).await?;
                let now = tx.now().await?;
                let has_more = ends.is_some_and(|ends| ends.last > deliveries.position)
                    && deliveries.blocked_until.is_none()
                    && !deliveries.is_full;
                let is_wanted = n_requests != deliveries.n_requests;
                let is_held = match next {
                    NextDelivery::Now(milliseconds) => {
                        work_queue::hold(&tx, &lease, now.plus_milliseconds(milliseconds)).await?
                    }
                    NextDelivery::At(_) | NextDelivery::WithEvents if has_more || is_wanted => {
                        work_queue::release(&tx, &lease, now).await?
                    }
                    NextDelivery::Paused if is_wanted => {
                        work_queue::release(&tx, &lease, now).await?
                    }
                    NextDelivery::At(at) => work_queue::release(&tx, &lease, at).await?,
                    NextDelivery::WithEvents | NextDelivery::Paused => {
                        work_queue::release(&tx, &lease, IDLE).await?
                    }
                };
                if is_held { Ok(()) } else { Err(WorkError::LeaseLost) }
            })
            .await
    }

    /// Removes a hub that has got its last message. One whose subscriber has ended it is deleted in the audit, too.
    pub async fn remove_hub(
        &self,
        lease: &Lease,
        ended_by_subscriber: Option<&Audited<Hub>>,
    ) -> Result<(), WorkError> {
        let (lease, audited) = (lease.clone(), ended_by_subscriber.cloned());
        self.db
            .write(WriteKind::Tenant(lease.key.tenant.clone()), async move |tx| {
                let (tenant, id) = (&lease.key.tenant, lease.key.name.as_str());
                let values = [tenant.as_str().into(), id.into()];
                let sql = concat!(select!(), " WHERE tenant = ?1 AND id = ?2");
                let before = tx.lock_row(sql, &values, read).await?;
                if let (Some(audited), Some(before)) = (audited, before)
                    && before.hub.state != HubState::Ending
                {
                    let changed = (SetupObject::Hub, id);
                    audited.write(&tx, tenant, changed, Some(&before.hub), None).await?;
                }
                for sql in [
                    "DELETE FROM hub_delivery WHERE tenant = ?1 AND hub = ?2",
                    "DELETE FROM hub_event WHERE tenant = ?1 AND hub = ?2",
                    "DELETE FROM hub WHERE tenant = ?1 AND id = ?2",
                ] {
                    tx.execute(sql, &values).await?;
                }
                if work_queue::finish(&tx, &lease).await? {
                    Ok(())
                } else {
                    Err(WorkError::LeaseLost)
                }
            })
            .await
    }

    /// The latest messages of a hub, the newest first.
    pub async fn sent_messages(
        &self,
        tenant: &TenantName,
        id: HubId,
    ) -> Result<Vec<SentMessage>, StoreError> {
        let id = id.to_string();
        let sql = "SELECT at, first, n, status, milliseconds, why FROM hub_delivery \
                   WHERE tenant = ?1 AND hub = ?2 ORDER BY place DESC LIMIT ?3";
        let values = [tenant.as_str().into(), id.as_str().into(), DELIVERIES_SHOWN_MAX.into()];
        let read = |row: &Row<'_>| {
            Ok(SentMessage {
                at: row.time(0)?,
                first: row.count(1)?,
                n_events: row.count(2)?,
                status: row.optional_count(3)?.and_then(|it| u16::try_from(it).ok()),
                milliseconds: row.count(4)?,
                why: row.optional_text(5)?,
            })
        };
        self.db.rows(sql, &values, read).await
    }

    /// Dead letters of a hub behind a number, at most `n_max`.
    pub async fn dead_letters(
        &self,
        tenant: &TenantName,
        id: HubId,
        after: u64,
        n_max: u64,
    ) -> Result<Vec<UndeliveredEvent>, StoreError> {
        let id = id.to_string();
        let sql = "SELECT number, subject, is_refused, n_attempts, since, due_at, why FROM hub_event \
                   WHERE tenant = ?1 AND hub = ?2 AND is_dead = 1 AND number > ?3 \
                   ORDER BY number LIMIT ?4";
        let values = [tenant.as_str().into(), id.as_str().into(), after.into(), n_max.into()];
        self.db.rows(sql, &values, read_undelivered).await
    }

    /// How far hubs are behind, at most `n_max` hubs.
    pub async fn hub_backlogs(&self, n_max: u64) -> Result<Vec<HubBacklog>, StoreError> {
        let sql = "SELECT h.tenant, h.id, j.last - h.position, h.n_waiting, h.n_dead FROM hub h JOIN journal j ON j.tenant = h.tenant ORDER BY h.tenant, h.id LIMIT ?1";
        let read = |row: &Row<'_>| {
            Ok(HubBacklog {
                tenant: row.parsed(0)?,
                hub: row.parsed(1)?,
                n_behind: u64::try_from(row.integer(2)?).unwrap_or_default(),
                n_waiting: row.count(3)?,
                n_dead: row.count(4)?,
            })
        };
        self.db.rows(sql, &[n_max.into()], read).await
    }

    /// Makes dead letters wait again, all or these; returns how many.
    pub async fn replay_dead_letters(
        &self,
        tenant: &TenantName,
        id: HubId,
        numbers: Option<&[u64]>,
    ) -> Result<u64, StoreError> {
        let (tenant, numbers) = (tenant.clone(), numbers.map(<[u64]>::to_vec));
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                // Locked first, as by a server that stores deliveries.
                let Some(_) = lock(&tx, &tenant, id).await? else { return Ok(0) };
                let (now, id_text) = (tx.now().await?, id.to_string());
                let base = [tenant.as_str().into(), id_text.as_str().into(), now.into()];
                let mut n = 0;
                match numbers {
                    None => {
                        let sql = "UPDATE hub_event SET is_dead = 0, n_attempts = 0, since = ?3, \
                                   due_at = ?3 WHERE tenant = ?1 AND hub = ?2 AND is_dead = 1";
                        n = tx.execute(sql, &base).await?;
                    }
                    Some(numbers) => {
                        let sql = "UPDATE hub_event SET is_dead = 0, n_attempts = 0, since = ?3, \
                                   due_at = ?3 WHERE tenant = ?1 AND hub = ?2 AND is_dead = 1 \
                                   AND number = ?4";
                        let all = numbers.into_iter().map(async |number| {
                            tx.execute(sql, &[&base[..], &[number.into()]].concat()).await
                        });
                        n += try_join_all(all).await?.into_iter().sum::<u64>();
                    }
                }
                if n > 0 {
                    super::count_events(&tx, &tenant, Some(&id_text)).await?;
                    super::make_due(&tx, &tenant, id).await?;
                }
                Ok::<_, StoreError>(n)
            })
            .await
    }
}

/// Writes the outcomes of messages; the number of requests to try at once so far.
async fn write(tx: &Tx, lease: &Lease, deliveries: &Deliveries) -> Result<u64, StoreError> {
    let (tenant, id) = (lease.key.tenant.as_str(), lease.key.name.as_str());
    // A request that has come meanwhile wants the subscriber to be tried at once.
    let sql = "UPDATE hub SET position = ?3, \
               n_failures = CASE WHEN n_requests = ?9 THEN ?4 ELSE n_failures END, \
               failing_since = CASE WHEN n_requests = ?9 THEN ?5 ELSE failing_since END, \
               blocked_until = CASE WHEN n_requests = ?9 THEN ?6 ELSE blocked_until END, \
               n_missed = n_missed + ?7, n_messages = n_messages + ?8 \
               WHERE tenant = ?1 AND id = ?2 RETURNING n_messages, n_requests";
    let values = [
        tenant.into(),
        id.into(),
        deliveries.position.into(),
        deliveries.n_failures.into(),
        deliveries.failing_since.into(),
        deliveries.blocked_until.into(),
        deliveries.n_missed.into(),
        (deliveries.messages.len() as u64).into(),
        deliveries.n_requests.into(),
    ];
    let read = |row: &Row<'_>| Ok((row.count(0)?, row.count(1)?));
    let (n_messages, n_requests) = tx.row(sql, &values, read).await?.unwrap_or_default();
    let sql = "DELETE FROM hub_event WHERE tenant = ?1 AND hub = ?2 AND number = ?3";
    let done = deliveries
        .done
        .iter()
        .map(async |number| tx.execute(sql, &[tenant.into(), id.into(), (*number).into()]).await);
    try_join_all(done).await?;
    if deliveries.has_recovered {
        let sql = "UPDATE hub_event SET due_at = CASE is_refused WHEN 0 THEN CAST(?3 AS BIGINT) ELSE CAST(?4 AS BIGINT) END \
                   WHERE tenant = ?1 AND hub = ?2 AND is_dead = 0 \
                   AND due_at > CASE is_refused WHEN 0 THEN CAST(?3 AS BIGINT) ELSE CAST(?4 AS BIGINT) END";
        let now = tx.now().await?;
        let soon = now.plus_milliseconds(REFUSED_AGAIN_MILLISECONDS);
        tx.execute(sql, &[tenant.into(), id.into(), now.into(), soon.into()]).await?;
    }
    let sql = "INSERT INTO hub_event (tenant, hub, number, subject, is_dead, n_attempts, since, due_at, why, is_refused) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (tenant, hub, number) DO UPDATE \
               SET is_dead = excluded.is_dead, is_refused = excluded.is_refused, n_attempts = excluded.n_attempts, \
               since = excluded.since, due_at = excluded.due_at, why = excluded.why";
    let waiting = deliveries.waiting.iter().map(|event| (event, 0_u64));
    let dead = deliveries.dead.iter().map(|event| (event, 1));
    let undelivered = waiting.chain(dead).map(async |(event, is_dead)| {
        let values = [
            tenant.into(),
            id.into(),
            event.number.into(),
            event.subject.as_slice().into(),
            is_dead.into(),
            event.n_attempts.into(),
            event.since.into(),
            event.due_at.into(),
            event.why.as_str().into(),
            u64::from(event.is_refused).into(),
        ];
        tx.execute(sql, &values).await
    });
    try_join_all(undelivered).await?;
    if !(deliveries.done.is_empty() && deliveries.waiting.is_empty() && deliveries.dead.is_empty())
    {
        super::count_events(tx, &lease.key.tenant, Some(id)).await?;
    }
    let sql = "INSERT INTO hub_delivery (tenant, hub, slot, place, at, first, n, status, milliseconds, why) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (tenant, hub, slot) DO UPDATE \
               SET place = excluded.place, at = excluded.at, first = excluded.first, n = excluded.n, \
               status = excluded.status, milliseconds = excluded.milliseconds, why = excluded.why";
    let first_place = n_messages.saturating_sub(deliveries.messages.len() as u64);
    let messages = (first_place..).zip(&deliveries.messages).map(async |(place, message)| {
        let values = [
            tenant.into(),
            id.into(),
            (place % DELIVERIES_SHOWN_MAX).into(),
            place.into(),
            message.at.into(),
            message.first.into(),
            message.n_events.into(),
            message.status.map(u64::from).into(),
            message.milliseconds.into(),
            message.why.as_deref().into(),
        ];
        tx.execute(sql, &values).await
    });
    try_join_all(messages).await?;
    Ok(n_requests)
}

fn read_undelivered(row: &Row<'_>) -> Result<UndeliveredEvent, StoreError> {
    Ok(UndeliveredEvent {
        number: row.count(0)?,
        subject: row.bytes(1)?,
        is_refused: row.count(2)? != 0,
        n_attempts: row.count(3)?,
        since: row.time(4)?,
        due_at: row.time(5)?,
        why: row.text(6)?,
    })
}
