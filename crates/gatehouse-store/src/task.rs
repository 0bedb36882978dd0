//! Tasks: accepting a batch, reading it, listing them. Their execution is in `execution`.

pub(super) mod chunk;
pub(super) mod execution;
pub(super) mod item;

use futures_util::future::{try_join, try_join_all};
use gatehouse_core::credential::StoredHash;
use gatehouse_core::event::{Entry, Origin, TaskEntry};
use gatehouse_core::label::LabelPatch;
use gatehouse_core::lifecycle::TargetStatus;
use gatehouse_core::task::{self, NewPasswords, Task, TaskState, TaskWork};
use gatehouse_core::{Labels, Page, PageRequest, TaskId, TenantName, Timestamp};

use crate::Store;
use crate::counts::counter;
use crate::db::{Row, Tx, WriteKind};
use crate::error::{RuleError, StoreError};
use crate::journal::{Journal, new_events};
use crate::keys::secret::{self, SecretKind};
use crate::request::{self, IdempotentRequest, RequestResult};
use crate::work_queue::{self, WorkKey, WorkKind};

/// The columns of a Task, in the order that [`read`] reads them.
macro_rules! task_columns {
    () => {
        "SELECT id, kind, state, contract_id, target, sets_password, n_items, n_succeeded, n_failed, \
         shows_secrets_until, correlation_id, password_hash, is_explicit, turn, number, created_at, \
         started_at, ended_at, labels FROM task"
    };
}
pub(crate) use task_columns;

/// Condition for unfinished Tasks.
macro_rules! unfinished {
    () => {
        "state IN ('ACKNOWLEDGED', 'IN_PROGRESS')"
    };
}
pub(crate) use unfinished;

/// A batch to accept.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// The Task's identifier.
    pub id: TaskId,
    /// The Task's work.
    pub work: TaskWork,
    /// Number of items.
    pub n_items: u32,
    /// The client's items, serialized in numbered parts.
    pub parts: Vec<(u32, Vec<u8>)>,
    /// The Task's key, sealed; `None` where it needs none.
    pub sealed_key: Option<Vec<u8>>,
    /// Where the batch comes from.
    pub origin: Origin,
    /// The request's idempotency key and digest; `None` without a key.
    pub idempotent: Option<IdempotentRequest>,
}

/// Why a batch was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum NotAccepted {
    /// The tenant doesn't exist.
    #[error("there is no such tenant")]
    NoTenant,
    /// The idempotency key is in use: the batch was accepted before, or the key belongs to another request.
    #[error("the request was made before")]
    Repeated,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RuleError for NotAccepted {
    fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            Self::NoTenant | Self::Repeated => None,
        }
    }
}

/// A Task as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTask {
    /// The Task.
    pub task: Task,
    /// Hash of the password that the Task sets; `None` until it is computed.
    pub password: Option<StoredHash>,
}

impl Store {
    /// Accepts a batch, durably.
    pub async fn accept_task(&self, tenant: &TenantName, new: NewTask) -> Result<(), NotAccepted> {
        let tenant = tenant.clone();
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                accept_in(&tx, &tenant, &new).await
            })
            .await
    }

    /// The Task with this identifier.
    pub async fn task(
        &self,
        tenant: &TenantName,
        id: TaskId,
    ) -> Result<Option<StoredTask>, StoreError> {
        let sql = concat!(task_columns!(), " WHERE tenant = ?1 AND id = ?2");
        let values = [tenant.as_str().into(), id.as_bytes().as_slice().into()];
        self.db.row(sql, &values, read).await
    }

    /// A page of the tenant's Tasks, newest first; `None` when the tenant doesn't exist.
    ///
    /// Uses COUNT and OFFSET: finished Tasks are deleted after a while, so there are few.
    pub async fn tasks(
        &self,
        tenant: &TenantName,
        request: PageRequest,
    ) -> Result<Option<Page<Task>>, StoreError> {
        let sql = "SELECT (SELECT COUNT(*) FROM task a WHERE a.tenant = t.tenant) \
                   FROM tenant t WHERE t.tenant = ?1";
        let total = self.db.row(sql, &[tenant.as_str().into()], |row| row.count(0)).await?;
        let Some(total) = total else { return Ok(None) };
        let sql =
            concat!(task_columns!(), " WHERE tenant = ?1 ORDER BY number DESC LIMIT ?2 OFFSET ?3");
        let values = [tenant.as_str().into(), request.size.into(), request.offset().into()];
        let items = self.db.rows(sql, &values, |row| Ok(read(row)?.task)).await?;
        Ok(Some(Page { request, items, total }))
    }
}

/// Key of a tenant's unfinished Tasks in the work queue.
pub(crate) fn queue(tenant: &TenantName) -> WorkKey {
    WorkKey {
        tenant: tenant.clone(),
        kind: WorkKind::UnfinishedTasks,
        name: String::new(),
        part: 0,
    }
}

/// Accepts a batch in a transaction.
pub(crate) async fn accept_in(
    tx: &Tx,
    tenant: &TenantName,
    new: &NewTask,
) -> Result<(), NotAccepted> {
    if let Some(idempotent) = &new.idempotent {
        // First, because a request with the same key waits here, and then finds it in use.
        let now = tx.now().await?;
        if !request::put(tx, tenant, idempotent, RequestResult::Task(new.id), now).await? {
            return Err(NotAccepted::Repeated);
        }
    }
    let (number, now) = try_join(counter::next_task(tx, tenant), tx.now()).await?;
    let number = number.ok_or(NotAccepted::NoTenant)?;
    insert(tx, tenant, new, number, now).await?;
    if let Some(sealed) = &new.sealed_key {
        secret::put(tx, tenant, SecretKind::Task, &new.id.to_string(), sealed).await?;
    }
    let parts = new.parts.iter();
    try_join_all(parts.map(|(n, body)| item::put_part(tx, tenant, new.id, *n, body))).await?;
    work_queue::add_locking(tx, &queue(tenant), now).await?;
    let entry = TaskEntry {
        id: new.id,
        work: new.work.as_str().to_owned(),
        state: TaskState::Acknowledged,
        n_items: new.n_items,
        n_succeeded: 0,
        n_failed: 0,
        origin: new.origin.clone(),
    };
    new_events::write_all(tx, &Journal::Changes(tenant.clone()), &[Entry::Task(entry)]).await?;
    Ok(())
}

async fn insert(
    tx: &Tx,
    tenant: &TenantName,
    new: &NewTask,
    number: u64,
    now: Timestamp,
) -> Result<(), StoreError> {
    // A new Task starts, and gets its first chunk, before the waiting ones continue: a small one is then finished.
    // After that they take turns.
    let sql = concat!(
        "INSERT INTO task (tenant, id, number, turn, kind, state, contract_id, target, sets_password, \
         n_items, n_succeeded, n_failed, created_at, correlation_id, is_explicit, labels) VALUES (?1, ?2, ?3, \
         (SELECT COALESCE(MIN(turn), 0) - 2 FROM task WHERE tenant = ?1 AND ",
        unfinished!(),
        "), ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, ?10, ?11, ?12, ?13)"
    );
    let (contract_id, is_explicit) = match &new.work {
        TaskWork::Creation { contract_id, is_explicit, .. } => {
            (Some(contract_id.as_str()), *is_explicit)
        }
        // The client gives the values of a change, unless the server generates the passwords.
        TaskWork::Update { passwords, .. } => (None, *passwords != NewPasswords::Generated),
        TaskWork::Termination => (None, true),
    };
    let (target, sets_password) = match new.work {
        TaskWork::Update { target, passwords, .. } => (target, passwords != NewPasswords::None),
        TaskWork::Creation { .. } | TaskWork::Termination => (None, false),
    };
    let labels = match &new.work {
        TaskWork::Creation { labels, .. } => labels.stored().map(str::to_owned),
        TaskWork::Update { labels, .. } => labels.stored(),
        TaskWork::Termination => None,
    };
    let values = [
        tenant.as_str().into(),
        new.id.as_bytes().as_slice().into(),
        number.into(),
        new.work.as_str().into(),
        TaskState::Acknowledged.as_str().into(),
        contract_id.into(),
        target.map(TargetStatus::as_str).into(),
        i64::from(sets_password).into(),
        u64::from(new.n_items).into(),
        now.into(),
        new.origin.correlation_id.as_str().into(),
        i64::from(is_explicit).into(),
        labels.as_deref().into(),
    ];
    tx.execute(sql, &values).await.map(drop)
}

/// Reads an unfinished Task with its sort key: fewest turns first, then oldest first.
pub(crate) fn read_queued(row: &Row<'_>) -> Result<((i64, i64), StoredTask), StoreError> {
    Ok(((row.integer(13)?, row.integer(14)?), read(row)?))
}

pub(crate) fn read(row: &Row<'_>) -> Result<StoredTask, StoreError> {
    let corrupt = |what: &'static str| move || StoreError::corrupt(what);
    let state = TaskState::from_word(&row.text(2)?);
    let target = row.optional_text(4)?;
    let target = target.map(|word| TargetStatus::from_word(&word).ok_or_else(corrupt("a target")));
    let work = match row.text(1)?.as_str() {
        task::CREATION => TaskWork::Creation {
            contract_id: row.parsed(3)?,
            is_explicit: row.integer(12)? != 0,
            labels: Labels::from_stored(row.optional_text_ref(18)?.unwrap_or_default())
                .ok_or_else(corrupt("the labels of a Task"))?,
        },
        task::UPDATE => TaskWork::Update {
            target: target.transpose()?,
            passwords: match (row.integer(5)? != 0, row.integer(12)? != 0) {
                (false, _) => NewPasswords::None,
                (true, true) => NewPasswords::Chosen,
                (true, false) => NewPasswords::Generated,
            },
            labels: match row.optional_text_ref(18)? {
                Some(text) => {
                    LabelPatch::from_stored(text).ok_or_else(corrupt("a Task's labels"))?
                }
                None => LabelPatch::default(),
            },
        },
        task::TERMINATION => TaskWork::Termination,
        _ => return Err(StoreError::corrupt("an unknown kind of Task")),
    };
    let small = |column| u32::try_from(row.integer(column)?).map_err(StoreError::corrupt);
    Ok(StoredTask {
        task: Task {
            id: TaskId::from_bytes(row.id(0)?),
            work,
            state: state.ok_or_else(corrupt("an unknown state of a Task"))?,
            n_items: small(6)?,
            n_succeeded: small(7)?,
            n_failed: small(8)?,
            accepted_at: row.time(15)?,
            started_at: row.optional_time(16)?,
            ended_at: row.optional_time(17)?,
            shows_secrets_until: row.optional_time(9)?,
            correlation_id: row.text(10)?,
        },
        password: row.optional_text(11)?.map(StoredHash::new),
    })
}
