//! Idempotent requests: a client gives a request a key, and however often it sends the request, it is processed once.
//!
//! The result for a key is stored in the transaction that created it, so neither exists without the other, and a failed
//! request leaves nothing behind. It is kept for a day. After that the key counts as unused, even while its row exists.
//!
//! All keys that expire in one minute share one row of the work queue, as expiring accesses do.

use futures_util::future::try_join_all;
use gatehouse_core::{Access, AccessId, Labels, RequestKey, Status, TaskId, TenantName, Timestamp};

use crate::Store;
use crate::counts::counter;
use crate::db::{Row, Tx, WriteKind};
use crate::error::StoreError;
use crate::keys::secret::{self, SecretKind};
use crate::work_queue::{self, Lease, WorkError, WorkKey, WorkKind};

/// Time for which a repeated request gets the first response again.
pub const RESPONSE_KEPT_MILLISECONDS: i64 = 24 * 3_600_000;

/// Operation of an idempotent request: each has its own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Creation of one access.
    Create,
    /// Batch of creations.
    Batch,
    /// Batch of changes.
    Change,
}

impl Operation {
    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Batch => "batch",
            Self::Change => "change",
        }
    }
}

/// A request with an idempotency key.
#[derive(Clone, Debug)]
pub struct IdempotentRequest {
    /// The operation.
    pub operation: Operation,
    /// The client's idempotency key.
    pub key: RequestKey,
    /// Digest of the body.
    pub digest: [u8; 32],
    /// Digests of the body under each former master key.
    pub former_digests: Vec<[u8; 32]>,
    /// The secret part of the response, sealed.
    pub sealed: Option<Vec<u8>>,
}

impl IdempotentRequest {
    /// Whether the stored digest is one of the same body.
    fn is_recognised_by(&self, kept: &[u8]) -> bool {
        self.digest == kept || self.former_digests.iter().any(|it| it == kept)
    }

    /// Name of the request's secret: operation and key.
    pub fn secret_name(&self) -> String {
        format!("{} {}", self.operation.as_str(), self.key)
    }
}

/// Earlier use of an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeated<T> {
    /// The body was the same; this is the result.
    Same(T),
    /// The body was another one.
    AnotherBody,
}

impl Store {
    /// The access that this request created before, as it was then, with the sealed part of the response; `None` if
    /// the key expires at or before `at`.
    pub async fn repeated_creation(
        &self,
        tenant: &TenantName,
        request: &IdempotentRequest,
        at: Timestamp,
    ) -> Result<Option<Repeated<(Access, Vec<u8>)>>, StoreError> {
        // One statement, because row and secret are deleted together.
        let sql = "SELECT r.digest, r.access, r.status, r.start_at, r.end_at, r.labels, s.body FROM request r \
                   JOIN secret s ON s.tenant = r.tenant AND s.kind = 'answer' \
                   AND s.name = r.operation || ' ' || r.key WHERE r.tenant = ?1 \
                   AND r.operation = ?2 AND r.key = ?3 AND r.kept_until > ?4";
        let read = |row: &Row<'_>| {
            let body = secret::sealed(self.db.dialect(), row.bytes(6)?);
            Ok((row.bytes(0)?, Snapshot::read(row)?, body))
        };
        let found = self.db.row(sql, &values(tenant, request, at), read).await?;
        let Some((digest, then, sealed)) = found else { return Ok(None) };
        if !request.is_recognised_by(&digest) {
            return Ok(Some(Repeated::AnotherBody));
        }
        let now = self.access(tenant, then.id).await?;
        let now = now.ok_or_else(|| StoreError::corrupt("a stored response without its access"))?;
        Ok(Some(Repeated::Same((then.of(now), sealed))))
    }

    /// The Task that this request created before; `None` if the key expires at or before `at`.
    pub async fn repeated_batch(
        &self,
        tenant: &TenantName,
        request: &IdempotentRequest,
        at: Timestamp,
    ) -> Result<Option<Repeated<TaskId>>, StoreError> {
        let sql = "SELECT digest, task FROM request WHERE tenant = ?1 AND operation = ?2 \
                   AND key = ?3 AND kept_until > ?4";
        let read = |row: &Row<'_>| Ok((row.bytes(0)?, TaskId::from_bytes(row.id(1)?)));
        let found = self.db.row(sql, &values(tenant, request, at), read).await?;
        Ok(found.map(|(digest, task)| match request.is_recognised_by(&digest) {
            true => Repeated::Same(task),
            false => Repeated::AnotherBody,
        }))
    }

    /// Deletes expired results, at most `n_max`; false when there were none. Their bytes are gone after
    /// [`Store::scrub`], which must run before the work is finished.
    pub async fn destroy_responses(&self, lease: &Lease, n_max: u32) -> Result<bool, WorkError> {
        let lease = lease.clone();
        self.db
            .write(WriteKind::Tenant(lease.key.tenant.clone()), async move |tx| {
                destroy_in(&tx, &lease, n_max).await
            })
            .await
    }
}

fn values<'a>(
    tenant: &'a TenantName,
    request: &'a IdempotentRequest,
    at: Timestamp,
) -> [crate::db::Value<'a>; 4] {
    [
        tenant.as_str().into(),
        request.operation.as_str().into(),
        request.key.as_str().into(),
        at.into(),
    ]
}

/// The shown fields of a new access that may have changed since.
struct Snapshot {
    id: AccessId,
    status: Status,
    start: Timestamp,
    end: Option<Timestamp>,
    labels: Labels,
}

impl Snapshot {
    fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        let status = Status::from_word(&row.text(2)?);
        let labels = Labels::from_stored(row.optional_text_ref(5)?.unwrap_or_default());
        Ok(Self {
            id: AccessId::from_bytes(row.id(1)?),
            status: status
                .ok_or_else(|| StoreError::corrupt("an unknown status of a stored response"))?,
            start: row.time(3)?,
            end: row.optional_time(4)?,
            labels: labels.ok_or_else(|| StoreError::corrupt("the labels of a stored response"))?,
        })
    }

    /// The access as it was when it was created.
    fn of(self, now: Access) -> Access {
        let Self { id, status, start, end, labels } = self;
        Access {
            id,
            status,
            start,
            end,
            first_connected_at: None,
            termination: None,
            version: 1,
            labels,
            ..now
        }
    }
}

/// Result of an idempotent request.
pub(crate) enum RequestResult<'a> {
    Task(TaskId),
    Access(&'a Access),
}

/// The keys among these that are in use. The caller holds the lock of all transactions that may use them.
pub(crate) async fn in_use(
    tx: &Tx,
    tenant: &TenantName,
    requests: &[&IdempotentRequest],
    now: Timestamp,
) -> Result<Vec<RequestKey>, StoreError> {
    let sql = "SELECT key FROM request WHERE tenant = ?1 AND operation = ?2 AND key = ?3 \
               AND kept_until > ?4";
    let found = requests.iter().map(async |request| {
        let values = values(tenant, request, now);
        tx.row(sql, &values, |row| row.parsed(0)).await
    });
    Ok(try_join_all(found).await?.into_iter().flatten().collect())
}

/// Stores the result of a request; false when its key is in use, and the caller must roll back.
pub(crate) async fn put(
    tx: &Tx,
    tenant: &TenantName,
    request: &IdempotentRequest,
    made: RequestResult<'_>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let kept_until = now.plus_milliseconds(RESPONSE_KEPT_MILLISECONDS);
    let sql = "INSERT INTO request (tenant, operation, key, digest, kept_until, task, access, \
               status, start_at, end_at, labels) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
               ON CONFLICT (tenant, operation, key) DO UPDATE SET digest = excluded.digest, \
               kept_until = excluded.kept_until, task = excluded.task, \
               access = excluded.access, status = excluded.status, \
               start_at = excluded.start_at, end_at = excluded.end_at, \
               labels = excluded.labels WHERE request.kept_until <= ?12";
    let (task, access) = match &made {
        RequestResult::Task(id) => (Some(id), None),
        RequestResult::Access(access) => (None, Some(*access)),
    };
    let values = [
        tenant.as_str().into(),
        request.operation.as_str().into(),
        request.key.as_str().into(),
        request.digest.as_slice().into(),
        kept_until.into(),
        task.map(|id| id.as_bytes().as_slice()).into(),
        access.map(|it| it.id.as_bytes().as_slice()).into(),
        access.map(|it| it.status.as_str()).into(),
        access.map(|it| it.start).into(),
        access.and_then(|it| it.end).into(),
        access.and_then(|it| it.labels.stored()).into(),
        now.into(),
    ];
    if tx.execute(sql, &values).await? == 0 {
        return Ok(false);
    }
    if let Some(sealed) = &request.sealed {
        let name = request.secret_name();
        // An expired key's secret may not be deleted yet.
        secret::remove(tx, tenant, SecretKind::Response, &name).await?;
        secret::put(tx, tenant, SecretKind::Response, &name, sealed).await?;
    }
    let minute = work_queue::minute(kept_until);
    let tenant = tenant.clone();
    let key = WorkKey { tenant, kind: WorkKind::OldResponses, name: String::new(), part: minute };
    // Due in a day, so no worker finishes the row now, and adding it needs no lock.
    work_queue::add(tx, &key, work_queue::due_at(minute)).await?;
    Ok(true)
}

async fn destroy_in(tx: &Tx, lease: &Lease, n_max: u32) -> Result<bool, WorkError> {
    let WorkKey { tenant, part: minute, .. } = &lease.key;
    // Creations hold this lock too, and may use several of these keys again.
    if counter::lock_tenant(tx, tenant).await?.is_none() {
        return Err(WorkError::LeaseLost);
    }
    let sql = "DELETE FROM request WHERE tenant = ?1 AND kept_until <= ?2 AND (operation, key) IN \
               (SELECT operation, key FROM request WHERE tenant = ?1 AND kept_until <= ?2 \
               ORDER BY kept_until LIMIT ?3) RETURNING operation || ' ' || key";
    let values =
        [tenant.as_str().into(), work_queue::due_at(*minute).into(), u64::from(n_max).into()];
    let names = tx.rows(sql, &values, |row| row.text(0)).await?;
    let secrets = names.iter().map(|it| secret::remove(tx, tenant, SecretKind::Response, it));
    try_join_all(secrets).await?;
    if work_queue::lock(tx, lease).await? {
        Ok(!names.is_empty())
    } else {
        Err(WorkError::LeaseLost)
    }
}
