//! Hubs: a tenant's subscriptions, their secrets, and what they are about to get.

pub(crate) mod delivery;

use gatehouse_core::event::audit::SetupObject;
use gatehouse_core::hub::HUBS_MAX;
use gatehouse_core::{Hub, HubId, HubState, TenantName, Timestamp};

use crate::Store;
use crate::counts::counter;
use crate::db::{Row, Tx, WriteKind};
use crate::error::StoreError;
use crate::journal::audit::Audited;
use crate::journal::{self, Journal};
use crate::work_queue::{self, WorkKey, WorkKind};

/// A hub as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredHub {
    /// The hub.
    pub hub: Hub,
    /// The sealed secret.
    pub secret: Vec<u8>,
    /// The sealed former secret.
    pub former_secret: Option<Vec<u8>>,
    /// When it was ended.
    pub ended_at: Option<Timestamp>,
    /// Every event up to this number was delivered, waits, or is a dead letter.
    pub position: u64,
    /// Failed messages in a row.
    pub n_failures: u64,
    /// Since when messages fail.
    pub failing_since: Option<Timestamp>,
    /// No message before this time.
    pub blocked_until: Option<Timestamp>,
    /// Events that were deleted for their age before they were delivered.
    pub n_missed: u64,
    /// Events that wait for another attempt.
    pub n_waiting: u64,
    /// Dead letters.
    pub n_dead: u64,
    /// Events behind the position, of whatever type.
    pub n_behind: u64,
    /// Requests to try at once.
    pub n_requests: u64,
}

/// A query of hubs, in the order that [`read`] reads the columns.
macro_rules! select {
    () => {
        "SELECT id, callback, query, state, secret, former_secret, former_until, created_at, \
         ended_at, position, n_failures, failing_since, blocked_until, n_missed, n_requests, \
         n_waiting, n_dead, \
         COALESCE((SELECT j.last - hub.position FROM journal j WHERE j.tenant = hub.tenant), 0) FROM hub"
    };
}
pub(crate) use select;

impl StoredHub {
    /// Whether the hub was not ended.
    pub fn is_there(&self) -> bool {
        self.hub.state != HubState::Ending
    }
}

/// Why a hub was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubRefused {
    /// The tenant doesn't exist.
    NoTenant,
    /// The tenant has [`HUBS_MAX`] hubs.
    TooMany,
    /// The tenant's journal hasn't begun.
    NoJournal,
}

/// A change of a hub; a field that is missing stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubChange {
    /// Whether events are sent.
    pub state: Option<HubState>,
    /// A new sealed secret, and until when the present one signs, too.
    pub secret: Option<(Vec<u8>, Timestamp)>,
}

/// A hub that has nothing to do is due at the end of time, until there are events.
pub(crate) const IDLE: Timestamp = Timestamp::LATEST;

pub(crate) fn work_key(tenant: &TenantName, id: HubId) -> WorkKey {
    WorkKey { tenant: tenant.clone(), kind: WorkKind::Hub, name: id.to_string(), part: 0 }
}

/// Forgets events that were deleted for their age: they can't be delivered any more. The journal is locked.
pub(crate) async fn forget_events(
    tx: &Tx,
    tenant: &TenantName,
    deleted_to: u64,
) -> Result<(), StoreError> {
    let values = [tenant.as_str().into(), deleted_to.into()];
    let sql = "SELECT 1 FROM hub_event WHERE tenant = ?1 AND number <= ?2 ORDER BY number LIMIT 1";
    if tx.row(sql, &values, |_| Ok(())).await?.is_none() {
        return Ok(());
    }
    let sql = "UPDATE hub SET n_missed = n_missed + (SELECT COUNT(*) FROM hub_event e \
               WHERE e.tenant = hub.tenant AND e.hub = hub.id AND e.number <= ?2 AND e.is_dead = 0) \
               WHERE tenant = ?1";
    tx.execute(sql, &values).await?;
    tx.execute("DELETE FROM hub_event WHERE tenant = ?1 AND number <= ?2", &values).await?;
    count_events(tx, tenant, None).await
}

/// Counts the waiting events and the dead letters of one hub, or of all.
async fn count_events(tx: &Tx, tenant: &TenantName, hub: Option<&str>) -> Result<(), StoreError> {
    let sql = match hub {
        Some(_) => {
            "UPDATE hub SET n_waiting = (SELECT COUNT(*) FROM hub_event e WHERE e.tenant = ?1 \
             AND e.hub = hub.id AND e.is_dead = 0), n_dead = (SELECT COUNT(*) FROM hub_event e \
             WHERE e.tenant = ?1 AND e.hub = hub.id AND e.is_dead = 1) WHERE tenant = ?1 AND id = ?2"
        }
        None => {
            "UPDATE hub SET n_waiting = (SELECT COUNT(*) FROM hub_event e WHERE e.tenant = ?1 \
             AND e.hub = hub.id AND e.is_dead = 0), n_dead = (SELECT COUNT(*) FROM hub_event e \
             WHERE e.tenant = ?1 AND e.hub = hub.id AND e.is_dead = 1) WHERE tenant = ?1"
        }
    };
    let values: Vec<_> = [tenant.as_str()].into_iter().chain(hub).map(Into::into).collect();
    tx.execute(sql, &values).await.map(drop)
}

/// Deletes the rows of a tenant's hubs, before those of its work.
pub(crate) async fn delete_all(tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM hub WHERE tenant = ?1",
        "DELETE FROM hub_event WHERE tenant = ?1",
        "DELETE FROM hub_delivery WHERE tenant = ?1",
        "DELETE FROM outlet WHERE tenant = ?1",
    ] {
        tx.execute(sql, &[tenant.as_str().into()]).await?;
    }
    Ok(())
}

/// Makes idle hubs and outlets of a tenant due, whose journal has new events. The journal is locked.
pub(crate) async fn wake(tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
    let sql = "UPDATE due SET due_at = ?3 WHERE tenant = ?1 AND kind IN (?2, ?5) AND is_leased = 0 \
               AND due_at > ?3 AND (kind = ?5 OR name IN (SELECT id FROM hub h WHERE h.tenant = ?1 \
               AND h.state <> ?4 AND (h.blocked_until IS NULL OR h.blocked_until <= ?3)))";
    let paused = HubState::Paused.as_str();
    let values = [
        tenant.as_str().into(),
        WorkKind::Hub.as_str().into(),
        tx.now().await?.into(),
        paused.into(),
        WorkKind::Outlet.as_str().into(),
    ];
    tx.execute(sql, &values).await.map(drop)
}

impl Store {
    /// Makes due what should be: hubs and outlets whose events a server of an older version has numbered. Destroys former
    /// secrets whose time is over.
    pub async fn sweep_hubs(&self) -> Result<(), StoreError> {
        self.db
            .write(WriteKind::Server, async move |tx| {
                let now = tx.now().await?;
                let sql = "UPDATE due SET due_at = ?1 WHERE kind = ?2 AND due_at = ?3 AND is_leased = 0 \
                           AND EXISTS (SELECT 1 FROM hub h JOIN journal j ON j.tenant = h.tenant \
                           WHERE h.tenant = due.tenant AND h.id = due.name AND h.state = ?4 \
                           AND j.last > h.position)";
                let (hub, active) = (WorkKind::Hub.as_str(), HubState::Active.as_str());
                tx.execute(sql, &[now.into(), hub.into(), IDLE.into(), active.into()]).await?;
                let sql = "UPDATE due SET due_at = ?1 WHERE kind = ?2 AND due_at = ?3 AND is_leased = 0 \
                           AND EXISTS (SELECT 1 FROM outlet o JOIN journal j ON j.tenant = o.tenant \
                           WHERE o.tenant = due.tenant AND o.name = due.name AND j.last > o.position)";
                let outlet = WorkKind::Outlet.as_str();
                tx.execute(sql, &[now.into(), outlet.into(), IDLE.into()]).await?;
                let sql = "UPDATE hub SET former_secret = NULL WHERE former_until <= ?1 \
                           AND former_secret IS NOT NULL";
                tx.execute(sql, &[now.into()]).await.map(drop)
            })
            .await
    }

    /// Creates a hub, which gets the events from now on.
    pub async fn create_hub(
        &self,
        tenant: &TenantName,
        hub: &Hub,
        secret: &[u8],
        audited: &Audited<Hub>,
    ) -> Result<Result<(), HubRefused>, StoreError> {
        let (tenant, hub, secret) = (tenant.clone(), hub.clone(), secret.to_owned());
        let audited = audited.clone();
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                // Locked, so that a tenant that is being deleted leaves no hub behind, and so that the limit holds.
                if counter::lock_tenant(&tx, &tenant).await?.is_none() {
                    return Ok(Err(HubRefused::NoTenant));
                }
                let sql = "SELECT COUNT(*) FROM hub WHERE tenant = ?1 AND state <> ?2";
                let ending = HubState::Ending.as_str();
                let values = [tenant.as_str().into(), ending.into()];
                let n = tx.row(sql, &values, |row| row.count(0)).await?;
                if n.unwrap_or_default() >= HUBS_MAX {
                    return Ok(Err(HubRefused::TooMany));
                }
                let ends = journal::read_ends(&tx, &Journal::Changes(tenant.clone())).await?;
                let Some(ends) = ends else { return Ok(Err(HubRefused::NoJournal)) };
                let id = hub.id.to_string();
                let sql = "INSERT INTO hub (tenant, id, callback, query, state, secret, created_at, \
                           position, n_failures, n_missed, n_waiting, n_dead, n_messages, n_requests) \
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, 0, 0, 0, 0, 0)";
                let query = hub.query.to_string();
                let values = [
                    tenant.as_str().into(),
                    id.as_str().into(),
                    hub.callback.as_str().into(),
                    query.as_str().into(),
                    hub.state.as_str().into(),
                    secret.as_slice().into(),
                    hub.created_at.into(),
                    ends.last.into(),
                ];
                tx.execute(sql, &values).await?;
                let changed = (SetupObject::Hub, id.as_str());
                audited.write(&tx, &tenant, changed, None, Some(&hub)).await?;
                // Due once, to see events that have been numbered meanwhile.
                work_queue::add(&tx, &work_key(&tenant, hub.id), tx.now().await?).await?;
                Ok::<_, StoreError>(Ok(()))
            })
            .await
    }

    /// A tenant's hubs, the oldest first; `None` when the tenant doesn't exist. There are few.
    pub async fn hubs(&self, tenant: &TenantName) -> Result<Option<Vec<StoredHub>>, StoreError> {
        let values = [tenant.as_str().into()];
        let sql = concat!(select!(), " WHERE tenant = ?1 ORDER BY id");
        let hubs = self.db.rows(sql, &values, read).await?;
        if hubs.is_empty() && self.tenant(tenant).await?.is_none() {
            return Ok(None);
        }
        Ok(Some(hubs))
    }

    /// The hub with this identifier.
    pub async fn hub(
        &self,
        tenant: &TenantName,
        id: HubId,
    ) -> Result<Option<StoredHub>, StoreError> {
        let id = id.to_string();
        let sql = concat!(select!(), " WHERE tenant = ?1 AND id = ?2");
        self.db.row(sql, &[tenant.as_str().into(), id.as_str().into()], read).await
    }

    /// Changes a hub; `None` when it doesn't exist, or was ended. One that becomes active is tried at once.
    pub async fn change_hub(
        &self,
        tenant: &TenantName,
        id: HubId,
        change: HubChange,
        audited: &Audited<Hub>,
    ) -> Result<Option<StoredHub>, StoreError> {
        let (tenant, audited) = (tenant.clone(), audited.clone());
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                let Some(before) = lock(&tx, &tenant, id).await? else { return Ok(None) };
                if before.hub.state == HubState::Ending {
                    return Ok(None);
                }
                let mut after = before.clone();
                after.hub.state = change.state.unwrap_or(before.hub.state);
                if let Some((secret, until)) = change.secret {
                    after.former_secret = Some(std::mem::replace(&mut after.secret, secret));
                    after.hub.former_secret_until = Some(until);
                }
                write(&tx, &tenant, &after).await?;
                let id_text = id.to_string();
                let changed = (SetupObject::Hub, id_text.as_str());
                audited.write(&tx, &tenant, changed, Some(&before.hub), Some(&after.hub)).await?;
                if change.state == Some(HubState::Active) {
                    if before.hub.state == HubState::Paused {
                        // The pause doesn't count as time of failed attempts.
                        let sql = "UPDATE hub SET n_failures = 0, failing_since = NULL \
                                   WHERE tenant = ?1 AND id = ?2";
                        tx.execute(sql, &[tenant.as_str().into(), id_text.as_str().into()]).await?;
                        let sql = "UPDATE hub_event SET since = ?3 \
                                   WHERE tenant = ?1 AND hub = ?2 AND is_dead = 0";
                        let now = tx.now().await?.into();
                        let values = [tenant.as_str().into(), id_text.as_str().into(), now];
                        tx.execute(sql, &values).await?;
                    }
                    let sql = "UPDATE hub_event SET due_at = ?3 \
                               WHERE tenant = ?1 AND hub = ?2 AND is_dead = 0";
                    let now = tx.now().await?.into();
                    let values = [tenant.as_str().into(), id_text.as_str().into(), now];
                    tx.execute(sql, &values).await?;
                    make_due(&tx, &tenant, id).await?;
                }
                let sql = concat!(select!(), " WHERE tenant = ?1 AND id = ?2");
                tx.row(sql, &[tenant.as_str().into(), id_text.as_str().into()], read).await
            })
            .await
    }

    /// Ends a hub: it gets one more event, that of its deletion. False when it doesn't exist, or was ended.
    pub async fn end_hub(
        &self,
        tenant: &TenantName,
        id: HubId,
        audited: &Audited<Hub>,
    ) -> Result<bool, StoreError> {
        let (tenant, audited) = (tenant.clone(), audited.clone());
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                let Some(before) = lock(&tx, &tenant, id).await? else { return Ok(false) };
                if before.hub.state == HubState::Ending {
                    return Ok(false);
                }
                let id_text = id.to_string();
                let changed = (SetupObject::Hub, id_text.as_str());
                audited.write(&tx, &tenant, changed, Some(&before.hub), None).await?;
                let sql = "UPDATE hub SET state = ?3, ended_at = ?4, n_failures = 0, \
                           failing_since = NULL, blocked_until = NULL WHERE tenant = ?1 AND id = ?2";
                let values = [
                    tenant.as_str().into(),
                    id_text.as_str().into(),
                    HubState::Ending.as_str().into(),
                    tx.now().await?.into(),
                ];
                tx.execute(sql, &values).await?;
                let sql = "DELETE FROM hub_event WHERE tenant = ?1 AND hub = ?2";
                tx.execute(sql, &[tenant.as_str().into(), id_text.as_str().into()]).await?;
                count_events(&tx, &tenant, Some(&id_text)).await?;
                make_due(&tx, &tenant, id).await?;
                Ok::<_, StoreError>(true)
            })
            .await
    }
}

/// Makes a hub due at once, also one that was to wait. A server that works for the hub just now looks again before it
/// releases its lease.
async fn make_due(tx: &Tx, tenant: &TenantName, id: HubId) -> Result<(), StoreError> {
    let sql = "UPDATE hub SET n_requests = n_requests + 1, blocked_until = CASE \
               WHEN blocked_until > ?3 THEN ?3 ELSE blocked_until END WHERE tenant = ?1 AND id = ?2";
    let (id_text, now) = (id.to_string(), tx.now().await?);
    tx.execute(sql, &[tenant.as_str().into(), id_text.as_str().into(), now.into()]).await?;
    work_queue::add_locking(tx, &work_key(tenant, id), now).await
}

pub(crate) async fn lock(
    tx: &Tx,
    tenant: &TenantName,
    id: HubId,
) -> Result<Option<StoredHub>, StoreError> {
    let id = id.to_string();
    let sql = concat!(select!(), " WHERE tenant = ?1 AND id = ?2");
    tx.lock_row(sql, &[tenant.as_str().into(), id.as_str().into()], read).await
}

/// Writes what a request may change.
async fn write(tx: &Tx, tenant: &TenantName, stored: &StoredHub) -> Result<(), StoreError> {
    let sql = "UPDATE hub SET state = ?3, secret = ?4, former_secret = ?5, former_until = ?6 \
               WHERE tenant = ?1 AND id = ?2";
    let id = stored.hub.id.to_string();
    let values = [
        tenant.as_str().into(),
        id.as_str().into(),
        stored.hub.state.as_str().into(),
        stored.secret.as_slice().into(),
        stored.former_secret.as_deref().into(),
        stored.hub.former_secret_until.into(),
    ];
    tx.execute(sql, &values).await.map(drop)
}

fn read(row: &Row<'_>) -> Result<StoredHub, StoreError> {
    let state = HubState::from_word(&row.text(3)?);
    let hub = Hub {
        id: row.parsed(0)?,
        callback: row.text(1)?,
        query: row.text(2)?.parse().map_err(StoreError::corrupt)?,
        state: state.ok_or_else(|| StoreError::corrupt("an unknown state of a hub"))?,
        former_secret_until: row.optional_time(6)?,
        created_at: row.time(7)?,
    };
    Ok(StoredHub {
        hub,
        secret: row.bytes(4)?,
        former_secret: row.optional_bytes(5)?,
        ended_at: row.optional_time(8)?,
        position: row.count(9)?,
        n_failures: row.count(10)?,
        failing_since: row.optional_time(11)?,
        blocked_until: row.optional_time(12)?,
        n_missed: row.count(13)?,
        n_requests: row.count(14)?,
        n_waiting: row.count(15)?,
        n_dead: row.count(16)?,
        n_behind: u64::try_from(row.integer(17)?).unwrap_or_default(),
    })
}
