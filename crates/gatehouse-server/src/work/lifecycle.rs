//! Ends of accesses that have come: written down, some at a time.
//!
//! Nobody sees a difference: an access is over from the instant of its end. It is done so that figures
//! and quotas, which take ends out that nobody has written down, have few of them to look at.

use gatehouse_store::{ExpiryResult, WorkKind};

use super::LEASE_MILLISECONDS;
use crate::app::{App, Error};

/// Ends that are written down in one transaction: others wait for it no longer than for a request.
pub const SWEEP_MAX: u64 = 500;

impl App {
    /// Takes one step: writes down ends of the contract that has been due for longest; `None` when none
    /// is. A step that fails has done nothing, and is due again a little later.
    pub async fn sweep_one(&self) -> Result<Option<ExpiryResult>, Error> {
        let lease = self.store.claim_due(&[WorkKind::Ends], LEASE_MILLISECONDS).await?;
        let Some(lease) = lease else { return Ok(None) };
        let swept = self.store.expire_accesses(&lease, SWEEP_MAX).await;
        // One that took too long has done nothing, and somebody else is at it.
        let swept = self.settled(&lease, swept).await?.unwrap_or(ExpiryResult { n: 0, more: true });
        self.meter.ends_written.inc_by(swept.n);
        Ok(Some(swept))
    }
}

#[cfg(test)]
mod tests;
