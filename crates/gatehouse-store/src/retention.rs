//! Letting go of what has had its time: the keys of Tasks, and Tasks themselves. Answers are let go of in
//! `request`.

use gatehouse_core::{TaskId, TenantName};

use crate::Store;
use crate::db::{Line, Tx};
use crate::error::StoreError;
use crate::keys::secret::{self, SecretKind};
use crate::work_queue::{self, Lease, NotRun};

/// The part of a change that holds the password which it sets, sealed. All others hold identifiers.
pub const PASSWORD_PART: u32 = u32::MAX;

impl Store {
    /// Destroys the key of the Task that this lease is about, with what was sealed under it. Its bytes are
    /// gone for good after [`Store::scrub`], before which the work is not finished.
    pub async fn destroy_secret(&self, lease: &Lease) -> Result<(), NotRun> {
        let lease = lease.clone();
        self.db
            .write(Line::Of(lease.key.tenant.clone()), async move |tx| {
                let (tenant, name) = (&lease.key.tenant, &lease.key.name);
                let task = task_of(&lease)?;
                remove_sealed_parts(&tx, tenant, task).await?;
                // The hash of a password that many shared is nobody's any more.
                let sql = "UPDATE task SET password_hash = NULL WHERE tenant = ?1 AND id = ?2";
                let values = [tenant.as_str().into(), task.as_bytes().as_slice().into()];
                tx.execute(sql, &values).await?;
                secret::remove(&tx, tenant, SecretKind::Task, name).await?;
                if work_queue::lock(&tx, &lease).await? { Ok(()) } else { Err(NotRun::Lost) }
            })
            .await
    }

    /// Says that the work of this lease is done.
    pub async fn finish_due(&self, lease: &Lease) -> Result<(), NotRun> {
        let lease = lease.clone();
        self.db
            .write(Line::Of(lease.key.tenant.clone()), async move |tx| {
                match work_queue::finish(&tx, &lease).await? {
                    true => Ok(()),
                    false => Err(NotRun::Lost),
                }
            })
            .await
    }

    /// Forgets the Task that this lease is about, a piece at a time; whether there is more of it.
    pub async fn forget_task(&self, lease: &Lease, n_max: u32) -> Result<bool, NotRun> {
        let lease = lease.clone();
        self.db
            .write(Line::Of(lease.key.tenant.clone()), async move |tx| {
                let (tenant, task) = (&lease.key.tenant, task_of(&lease)?);
                // First of all, so that nobody sees a Task of which half is gone.
                let sql = "DELETE FROM task WHERE tenant = ?1 AND id = ?2";
                let values = [tenant.as_str().into(), task.as_bytes().as_slice().into()];
                tx.execute(sql, &values).await?;
                secret::remove(&tx, tenant, SecretKind::Task, &lease.key.name).await?;
                let more = remove_pieces(&tx, tenant, task, n_max).await? > 0;
                let is_ours = match more {
                    true => work_queue::lock(&tx, &lease).await?,
                    false => work_queue::finish(&tx, &lease).await?,
                };
                if is_ours { Ok(more) } else { Err(NotRun::Lost) }
            })
            .await
    }
}

fn task_of(lease: &Lease) -> Result<TaskId, StoreError> {
    lease.key.name.parse().map_err(StoreError::corrupt)
}

/// What was sealed under the key of a Task can't be opened any more.
async fn remove_sealed_parts(tx: &Tx, tenant: &TenantName, task: TaskId) -> Result<(), StoreError> {
    let sql = "DELETE FROM task_part WHERE tenant = ?1 AND task = ?2 AND (part = ?3 OR EXISTS \
               (SELECT 1 FROM task WHERE tenant = ?1 AND id = ?2 AND kind = 'batchCreation'))";
    let values = [
        tenant.as_str().into(),
        task.as_bytes().as_slice().into(),
        u64::from(PASSWORD_PART).into(),
    ];
    tx.execute(sql, &values).await.map(drop)
}

/// Deletes some of what belongs to a Task; how many pieces.
async fn remove_pieces(
    tx: &Tx,
    tenant: &TenantName,
    task: TaskId,
    n_max: u32,
) -> Result<u64, StoreError> {
    let values =
        [tenant.as_str().into(), task.as_bytes().as_slice().into(), u64::from(n_max).into()];
    let failures = "DELETE FROM task_failure WHERE tenant = ?1 AND task = ?2 AND number <= ?3 + \
                    (SELECT COALESCE(MIN(number), 0) FROM task_failure \
                     WHERE tenant = ?1 AND task = ?2)";
    let n_gone = tx.execute(failures, &values).await?;
    let parts = "DELETE FROM task_part WHERE tenant = ?1 AND task = ?2 AND part IN \
                 (SELECT part FROM task_part WHERE tenant = ?1 AND task = ?2 ORDER BY part LIMIT ?3)";
    Ok(n_gone + tx.execute(parts, &values).await?)
}
