//! How many accesses were made, and how many ended, on each day.
//!
//! Days are those of UTC, whatever the tenant's time zone: the same instant is on the same day for
//! everyone who adds figures of several tenants up.

use gatehouse_core::TenantName;

use crate::db::Tx;
use crate::error::StoreError;

/// What happened to accesses on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Created,
    Ended,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Ended => "ended",
        }
    }
}

/// Counts accesses to which this happened on that day, which is counted in days since 1970.
pub(crate) async fn add(
    tx: &Tx,
    tenant: &TenantName,
    kind: Kind,
    day: i64,
    n: u64,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO day (tenant, kind, day, n) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (tenant, kind, day) DO UPDATE SET n = day.n + excluded.n";
    let values = [tenant.as_str().into(), kind.as_str().into(), day.into(), n.into()];
    tx.execute(sql, &values).await.map(drop)
}
