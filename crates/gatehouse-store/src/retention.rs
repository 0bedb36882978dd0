//! Deleting what has reached the end of its lifetime: the keys of Tasks, and Tasks themselves. Stored responses are
//! deleted in `request`.

use gatehouse_core::{TaskId, TenantName};

use crate::Store;
use crate::db::{Tx, WriteKind};
use crate::error::StoreError;
use crate::keys::secret::{self, SecretKind};
use crate::work_queue::{self, Lease, WorkError};

/// Part of a change that holds the sealed password which it sets. All other parts hold identifiers.
pub const PASSWORD_PART: u32 = u32::MAX;

impl Store {
    /// Destroys the key of the lease's Task and everything that was sealed with it. The bytes are gone after
    /// [`Store::scrub`], which must run before the work is finished.
    pub async fn destroy_secret(&self, lease: &Lease) -> Result<(), WorkError> {
        let lease = lease.clone();
        self.db
            .write(WriteKind::Tenant(lease.key.tenant.clone()), async move |tx| {
                let (tenant, name) = (&lease.key.tenant, &lease.key.name);
                let task = task_of(&lease)?;
                remove_sealed_parts(&tx, tenant, task).await?;
                // The hash of the password that all changed accesses share goes with it.
                let sql = "UPDATE task SET password_hash = NULL WHERE tenant = ?1 AND id = ?2";
                let values = [tenant.as_str().into(), task.as_bytes().as_slice().into()];
                tx.execute(sql, &values).await?;
                secret::remove(&tx, tenant, SecretKind::Task, name).await?;
                if work_queue::lock(&tx, &lease).await? {
                    Ok(())
                } else {
                    Err(WorkError::LeaseLost)
                }
            })
            .await
    }

    /// Removes the lease's row from the work queue.
    pub async fn finish_due(&self, lease: &Lease) -> Result<(), WorkError> {
        let lease = lease.clone();
        self.db
            .write(WriteKind::Tenant(lease.key.tenant.clone()), async move |tx| {
                match work_queue::finish(&tx, &lease).await? {
                    true => Ok(()),
                    false => Err(WorkError::LeaseLost),
                }
            })
            .await
    }

    /// Deletes the lease's Task in several steps; true while more steps are needed.
    pub async fn forget_task(&self, lease: &Lease, n_max: u32) -> Result<bool, WorkError> {
        let lease = lease.clone();
        self.db
            .write(WriteKind::Tenant(lease.key.tenant.clone()), async move |tx| {
                let (tenant, task) = (&lease.key.tenant, task_of(&lease)?);
                // First, so that no client sees a Task that is deleted in part.
                let sql = "DELETE FROM task WHERE tenant = ?1 AND id = ?2";
                let values = [tenant.as_str().into(), task.as_bytes().as_slice().into()];
                tx.execute(sql, &values).await?;
                secret::remove(&tx, tenant, SecretKind::Task, &lease.key.name).await?;
                let more = remove_pieces(&tx, tenant, task, n_max).await? > 0;
                let is_ours = match more {
                    true => work_queue::lock(&tx, &lease).await?,
                    false => work_queue::finish(&tx, &lease).await?,
                };
                if is_ours { Ok(more) } else { Err(WorkError::LeaseLost) }
            })
            .await
    }
}

fn task_of(lease: &Lease) -> Result<TaskId, StoreError> {
    lease.key.name.parse().map_err(StoreError::corrupt)
}

/// Deletes the parts that were sealed with a Task's key, which nothing can open any more.
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

/// Deletes some rows of a Task; returns their number.
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
