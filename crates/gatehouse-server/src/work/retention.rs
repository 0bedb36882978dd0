//! Letting go of what has had its time: passwords that Tasks show, answers that were kept, Tasks.

use gatehouse_store::{Lease, WorkError, WorkKind};

use super::{LEASE_MILLISECONDS, PUT_OFF_MILLISECONDS};
use crate::app::{App, Error};

/// Pieces of a Task that are forgotten in one transaction.
const PIECES_MAX: u32 = 1000;

/// Answers that are destroyed in one transaction, for which those who make accesses wait.
const ANSWERS_MAX: u32 = 200;

impl App {
    /// Takes one step: lets go of what has been due for longest; false when nothing is.
    pub async fn let_go_one(&self) -> Result<bool, Error> {
        let kinds = [WorkKind::Secret, WorkKind::Answer, WorkKind::Task];
        let lease = self.store.claim_due(&kinds, LEASE_MILLISECONDS).await?;
        let Some(lease) = lease else { return Ok(false) };
        let done = match lease.key.kind {
            WorkKind::Secret => self.destroy_secret(&lease).await,
            WorkKind::Answer => self.destroy_answers(&lease).await,
            _ => self.forget(&lease).await,
        };
        self.settled(&lease, done).await?;
        Ok(true)
    }

    /// Destroys the passwords of a Task.
    async fn destroy_secret(&self, lease: &Lease) -> Result<(), WorkError> {
        self.store.destroy_secret(lease).await?;
        self.scrub(lease).await
    }

    /// Destroys some answers; what is left is due at once.
    async fn destroy_answers(&self, lease: &Lease) -> Result<(), WorkError> {
        if self.store.destroy_answers(lease, ANSWERS_MAX).await? {
            self.store.release(lease).await?;
            return Ok(());
        }
        self.scrub(lease).await
    }

    /// Is done with a lease when the bytes of what was destroyed are gone.
    async fn scrub(&self, lease: &Lease) -> Result<(), WorkError> {
        if self.store.scrub().await? {
            self.meter.secrets_destroyed.inc();
            self.store.finish_due(lease).await
        } else {
            // Readers keep deleted bytes from being overwritten.
            self.meter.scrubs_put_off.inc();
            self.store
                .postpone(lease, PUT_OFF_MILLISECONDS)
                .await
                .map(drop)
                .map_err(WorkError::Store)
        }
    }

    /// Forgets some of a Task; what is left is due at once.
    async fn forget(&self, lease: &Lease) -> Result<(), WorkError> {
        if self.store.forget_task(lease, PIECES_MAX).await? {
            self.store.release(lease).await?;
        } else {
            self.meter.tasks_forgotten.inc();
        }
        Ok(())
    }
}
