//! Numbers of accesses created and ended on each day.
//!
//! Days are those of UTC, whatever the tenant's time zone, so that counts of several tenants can be added.

use gatehouse_core::TenantName;

use crate::db::Tx;
use crate::error::StoreError;

/// Event that a day counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DayEvent {
    Created,
    Ended,
}

impl DayEvent {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Ended => "ended",
        }
    }
}

/// Adds `n` events to a day, which is given in days since 1970.
pub(crate) async fn add(
    tx: &Tx,
    tenant: &TenantName,
    kind: DayEvent,
    day: i64,
    n: u64,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO day (tenant, kind, day, n) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (tenant, kind, day) DO UPDATE SET n = day.n + excluded.n";
    let values = [tenant.as_str().into(), kind.as_str().into(), day.into(), n.into()];
    tx.execute(sql, &values).await.map(drop)
}
