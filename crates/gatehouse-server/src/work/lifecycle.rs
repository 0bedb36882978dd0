//! Storing the expiry of accesses, some at a time.
//!
//! Clients see no difference: an access is over from the instant of its end. Storing expiries keeps counts and quotas
//! fast: both subtract the accesses whose end has come and whose expiry isn't stored yet.

use gatehouse_store::{ExpiryResult, WorkKind};

use super::LEASE_MILLISECONDS;
use crate::app::{App, Error};

/// Accesses per transaction: few, because the transaction blocks the tenant's other writes.
pub const SWEEP_MAX: u64 = 500;

impl App {
    /// Runs one step: stores expired accesses of the longest due contract; `None` if none is due. A failed step does
    /// nothing and is due again shortly.
    pub async fn sweep_one(&self) -> Result<Option<ExpiryResult>, Error> {
        let lease = self.store.claim_due(&[WorkKind::ExpiringAccesses], LEASE_MILLISECONDS).await?;
        let Some(lease) = lease else { return Ok(None) };
        let swept = self.store.expire_accesses(&lease, SWEEP_MAX).await;
        // Nothing was stored: the step took too long, and another worker has taken over.
        let swept =
            self.finish_step(&lease, swept).await?.unwrap_or(ExpiryResult { n: 0, more: true });
        self.meter.expiries_stored.inc_by(swept.n);
        Ok(Some(swept))
    }
}

#[cfg(test)]
mod tests;
