//! Deleting expired data: passwords of Tasks, stored responses, Tasks.

use gatehouse_store::{Lease, WorkError, WorkKind};

use super::{LEASE_MILLISECONDS, RETRY_DELAY_MILLISECONDS};
use crate::app::{App, Error};

/// Rows of a Task per transaction.
const TASK_ROWS_MAX: u32 = 1000;

/// Stored responses per transaction: few, because the transaction blocks the tenant's creations.
const RESPONSES_MAX: u32 = 200;

impl App {
    /// Runs one step: deletes what has been due for longest; false if nothing is due.
    pub async fn delete_expired_once(&self) -> Result<bool, Error> {
        let kinds = [WorkKind::OldSecret, WorkKind::OldResponses, WorkKind::OldTask];
        let lease = self.store.claim_due(&kinds, LEASE_MILLISECONDS).await?;
        let Some(lease) = lease else { return Ok(false) };
        let done = match lease.key.kind {
            WorkKind::OldSecret => self.destroy_secret(&lease).await,
            WorkKind::OldResponses => self.destroy_responses(&lease).await,
            _ => self.delete_task(&lease).await,
        };
        self.finish_step(&lease, done).await?;
        Ok(true)
    }

    /// Destroys a Task's passwords.
    async fn destroy_secret(&self, lease: &Lease) -> Result<(), WorkError> {
        self.store.destroy_secret(lease).await?;
        self.scrub(lease).await
    }

    /// Destroys some stored responses; the rest is due at once.
    async fn destroy_responses(&self, lease: &Lease) -> Result<(), WorkError> {
        if self.store.destroy_responses(lease, RESPONSES_MAX).await? {
            self.store.release(lease).await?;
            return Ok(());
        }
        self.scrub(lease).await
    }

    /// Finishes the work once the destroyed bytes are overwritten.
    async fn scrub(&self, lease: &Lease) -> Result<(), WorkError> {
        if self.store.scrub().await? {
            self.meter.secrets_destroyed.inc();
            self.store.finish_due(lease).await
        } else {
            // Readers prevent the overwriting of deleted bytes.
            self.meter.scrubs_delayed.inc();
            self.store
                .postpone(lease, RETRY_DELAY_MILLISECONDS)
                .await
                .map(drop)
                .map_err(WorkError::Store)
        }
    }

    /// Deletes some rows of a Task; the rest is due at once.
    async fn delete_task(&self, lease: &Lease) -> Result<(), WorkError> {
        if self.store.forget_task(lease, TASK_ROWS_MAX).await? {
            self.store.release(lease).await?;
        } else {
            self.meter.tasks_deleted.inc();
        }
        Ok(())
    }
}
