//! Requests that are done once, however often they come: a client names one by a key.
//!
//! What was made for a key is written down in the transaction that made it, so there is no moment at which
//! one is there without the other, and a request that failed leaves nothing behind. It is kept for a day. A
//! key whose day is over counts as one that nobody has used, also while it is still there.
//!
//! Rows are let go of by the minute, as ends of accesses are: one piece of work for however many keys.

use futures_util::future::try_join_all;
use gatehouse_core::{Access, AccessId, RequestKey, Status, TaskId, TenantName, Timestamp};

use crate::Store;
use crate::counts::counter;
use crate::db::{Line, Row, Tx};
use crate::error::StoreError;
use crate::keys::secret::{self, SecretKind};
use crate::work_queue::{self, DueKey, DueKind, Lease, NotRun};

/// How long the first answer is given again.
pub const ANSWER_KEPT_MILLISECONDS: i64 = 24 * 3_600_000;

/// What a key is a key of: the same in two operations has nothing to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Making one access.
    Create,
    /// A batch of new accesses.
    Batch,
    /// A batch of changes.
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

/// A request that is to be done once.
#[derive(Clone, Debug)]
pub struct Once {
    /// What it asks for.
    pub operation: Operation,
    /// What the client calls it.
    pub key: RequestKey,
    /// What its body is recognised by.
    pub digest: [u8; 32],
    /// What it would have been recognised by under each former master key.
    pub former_digests: Vec<[u8; 32]>,
    /// What its answer holds that must not be read here, sealed.
    pub sealed: Option<Vec<u8>>,
}

impl Once {
    /// Whether a request that was kept with this digest had the same body.
    fn is_recognised_by(&self, kept: &[u8]) -> bool {
        self.digest == kept || self.former_digests.iter().any(|it| it == kept)
    }

    /// The name of its secret: operation and key.
    pub fn secret_name(&self) -> String {
        format!("{} {}", self.operation.as_str(), self.key)
    }
}

/// What is known of a key that was used before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeated<T> {
    /// The same was asked for: this was made then.
    Same(T),
    /// Something else was asked for.
    AnotherBody,
}

impl Store {
    /// The access that this request has made before, as it was then, with the sealed part of the answer; if
    /// that is kept until after `at`.
    pub async fn repeated_creation(
        &self,
        tenant: &TenantName,
        once: &Once,
        at: Timestamp,
    ) -> Result<Option<Repeated<(Access, Vec<u8>)>>, StoreError> {
        // One statement: row and secret are destroyed together.
        let sql = "SELECT r.digest, r.access, r.status, r.start_at, r.end_at, s.body FROM request r \
                   JOIN secret s ON s.tenant = r.tenant AND s.kind = 'answer' \
                   AND s.name = r.operation || ' ' || r.key WHERE r.tenant = ?1 \
                   AND r.operation = ?2 AND r.key = ?3 AND r.kept_until > ?4";
        let read = |row: &Row<'_>| {
            let body = secret::sealed(self.db.dialect(), row.bytes(5)?);
            Ok((row.bytes(0)?, Snapshot::read(row)?, body))
        };
        let found = self.db.row(sql, &values(tenant, once, at), read).await?;
        let Some((digest, then, sealed)) = found else { return Ok(None) };
        if !once.is_recognised_by(&digest) {
            return Ok(Some(Repeated::AnotherBody));
        }
        let now = self.access(tenant, then.id).await?;
        let now = now.ok_or_else(|| StoreError::corrupt("an answer without its access"))?;
        Ok(Some(Repeated::Same((then.of(now), sealed))))
    }

    /// The Task that this request has made before, if that is kept until after `at`.
    pub async fn repeated_batch(
        &self,
        tenant: &TenantName,
        once: &Once,
        at: Timestamp,
    ) -> Result<Option<Repeated<TaskId>>, StoreError> {
        let sql = "SELECT digest, task FROM request WHERE tenant = ?1 AND operation = ?2 \
                   AND key = ?3 AND kept_until > ?4";
        let read = |row: &Row<'_>| Ok((row.bytes(0)?, TaskId::from_bytes(row.id(1)?)));
        let found = self.db.row(sql, &values(tenant, once, at), read).await?;
        Ok(found.map(|(digest, task)| match once.is_recognised_by(&digest) {
            true => Repeated::Same(task),
            false => Repeated::AnotherBody,
        }))
    }

    /// Destroys answers whose time is over, at most this many; false when there were none. Their bytes are
    /// gone for good after [`Store::scrub`], before which the work is not finished.
    pub async fn destroy_answers(&self, lease: &Lease, n_max: u32) -> Result<bool, NotRun> {
        let lease = lease.clone();
        self.db
            .write(Line::Of(lease.key.tenant.clone()), async move |tx| {
                destroy_in(&tx, &lease, n_max).await
            })
            .await
    }
}

fn values<'a>(tenant: &'a TenantName, once: &'a Once, at: Timestamp) -> [crate::db::Value<'a>; 4] {
    [tenant.as_str().into(), once.operation.as_str().into(), once.key.as_str().into(), at.into()]
}

/// What the answer to a creation said that may have changed since.
struct Snapshot {
    id: AccessId,
    status: Status,
    start: Timestamp,
    end: Option<Timestamp>,
}

impl Snapshot {
    fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        let status = Status::from_word(&row.text(2)?);
        Ok(Self {
            id: AccessId::from_bytes(row.id(1)?),
            status: status.ok_or_else(|| StoreError::corrupt("an unknown status of an answer"))?,
            start: row.time(3)?,
            end: row.optional_time(4)?,
        })
    }

    /// The access as it was when it was made.
    fn of(self, now: Access) -> Access {
        let Self { id, status, start, end } = self;
        Access {
            id,
            status,
            start,
            end,
            first_connected_at: None,
            termination: None,
            version: 1,
            ..now
        }
    }
}

/// What was made for a request.
pub(crate) enum Made<'a> {
    Task(TaskId),
    Access(&'a Access),
}

/// Which of these keys are in use. Under the lock of those who may use them.
pub(crate) async fn in_use(
    tx: &Tx,
    tenant: &TenantName,
    requests: &[&Once],
    now: Timestamp,
) -> Result<Vec<RequestKey>, StoreError> {
    let sql = "SELECT key FROM request WHERE tenant = ?1 AND operation = ?2 AND key = ?3 \
               AND kept_until > ?4";
    let found = requests.iter().map(async |once| {
        let values = values(tenant, once, now);
        tx.row(sql, &values, |row| row.parsed(0)).await
    });
    Ok(try_join_all(found).await?.into_iter().flatten().collect())
}

/// Writes down what was made for a request; false when its key is in use, and the caller must roll back.
pub(crate) async fn put(
    tx: &Tx,
    tenant: &TenantName,
    once: &Once,
    made: Made<'_>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let kept_until = now.plus_milliseconds(ANSWER_KEPT_MILLISECONDS);
    let sql = "INSERT INTO request (tenant, operation, key, digest, kept_until, task, access, \
               status, start_at, end_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
               ON CONFLICT (tenant, operation, key) DO UPDATE SET digest = excluded.digest, \
               kept_until = excluded.kept_until, task = excluded.task, \
               access = excluded.access, status = excluded.status, \
               start_at = excluded.start_at, end_at = excluded.end_at \
               WHERE request.kept_until <= ?11";
    let (task, access) = match &made {
        Made::Task(id) => (Some(id), None),
        Made::Access(access) => (None, Some(*access)),
    };
    let values = [
        tenant.as_str().into(),
        once.operation.as_str().into(),
        once.key.as_str().into(),
        once.digest.as_slice().into(),
        kept_until.into(),
        task.map(|id| id.as_bytes().as_slice()).into(),
        access.map(|it| it.id.as_bytes().as_slice()).into(),
        access.map(|it| it.status.as_str()).into(),
        access.map(|it| it.start).into(),
        access.and_then(|it| it.end).into(),
        now.into(),
    ];
    if tx.execute(sql, &values).await? == 0 {
        return Ok(false);
    }
    if let Some(sealed) = &once.sealed {
        let name = once.secret_name();
        // There is one where the key was used before, and nobody has let go of it yet.
        secret::remove(tx, tenant, SecretKind::Answer, &name).await?;
        secret::put(tx, tenant, SecretKind::Answer, &name, sealed).await?;
    }
    let minute = work_queue::minute(kept_until);
    let tenant = tenant.clone();
    let key = DueKey { tenant, kind: DueKind::Answer, name: String::new(), part: minute };
    // Nobody finishes that before tomorrow.
    work_queue::add(tx, &key, work_queue::due_at(minute)).await?;
    Ok(true)
}

async fn destroy_in(tx: &Tx, lease: &Lease, n_max: u32) -> Result<bool, NotRun> {
    let DueKey { tenant, part: minute, .. } = &lease.key;
    // Whoever makes accesses locks it too, and may use several of these keys anew.
    if counter::lock_tenant(tx, tenant).await?.is_none() {
        return Err(NotRun::Lost);
    }
    let sql = "DELETE FROM request WHERE tenant = ?1 AND kept_until <= ?2 AND (operation, key) IN \
               (SELECT operation, key FROM request WHERE tenant = ?1 AND kept_until <= ?2 \
               ORDER BY kept_until LIMIT ?3) RETURNING operation || ' ' || key";
    let values =
        [tenant.as_str().into(), work_queue::due_at(*minute).into(), u64::from(n_max).into()];
    let names = tx.rows(sql, &values, |row| row.text(0)).await?;
    let secrets = names.iter().map(|it| secret::remove(tx, tenant, SecretKind::Answer, it));
    try_join_all(secrets).await?;
    if work_queue::lock(tx, lease).await? { Ok(!names.is_empty()) } else { Err(NotRun::Lost) }
}
