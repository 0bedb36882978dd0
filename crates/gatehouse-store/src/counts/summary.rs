//! A tenant's accesses by contract, status and day, from the derived counts.
//!
//! One statement reads all counts, so that they belong to one moment. Otherwise an access whose end has come could be
//! subtracted twice while its expiry is being stored. Such accesses are found by an index of ends; no other access is
//! read.

use std::collections::BTreeMap;

use gatehouse_core::{ContractId, OfferingId, Status, TenantName, Timestamp};

use crate::Store;
use crate::counts::day::DayEvent;
use crate::counts::tally::{Tally, tally_columns};
use crate::db::SnapshotFor;
use crate::error::StoreError;

/// Counts of a tenant's accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The contracts, by identifier.
    pub contracts: Vec<ContractSummary>,
    /// The requested days, oldest first.
    pub days: Vec<Day>,
}

/// Counts of a contract's accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractSummary {
    /// The contract.
    pub contract_id: ContractId,
    /// The contract's offering.
    pub offering_id: OfferingId,
    /// The contract's accesses by status.
    pub tally: Tally,
}

/// Events of one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Day {
    /// The day in UTC, in days since 1970.
    pub day: i64,
    /// Accesses created.
    pub n_created: u64,
    /// Accesses ended.
    pub n_ended: u64,
}

/// Contracts with their tallies, repeated for each status and day of ends whose expiry is not stored; followed by the
/// days.
const READ: &str = concat!(
    "SELECT 'contract', c.id, c.offering_id, ",
    tally_columns!(),
    ", o.status, o.day, o.n \
     FROM contract c JOIN tally t ON t.tenant = c.tenant AND t.contract_id = c.id \
     LEFT JOIN (SELECT b.id AS contract_id, a.status AS status, a.end_at / 86400000 AS day, \
     COUNT(*) AS n FROM contract b JOIN access a ON a.tenant = b.tenant AND a.contract_id = b.id \
     AND a.status <> 'TERMINATED' AND a.end_at <= ?2 WHERE b.tenant = ?1 \
     GROUP BY b.id, a.status, a.end_at / 86400000) o ON o.contract_id = c.id \
     WHERE c.tenant = ?1 \
     UNION ALL \
     SELECT kind, '', '', 0, 0, 0, 0, 0, NULL, day, n FROM day WHERE tenant = ?1 AND day >= ?3"
);

/// One row of [`READ`].
enum SummaryRow {
    Contract { contract: ContractSummary, overdue: Option<Overdue> },
    Day { is_created: bool, day: i64, n: u64 },
}

/// Accesses that have ended, and whose stored status is still another.
struct Overdue {
    status: Status,
    day: i64,
    n: u64,
}

impl Store {
    /// Counts of a tenant's accesses at `now`, and of the last `n_days` days including today; `None` when the tenant
    /// doesn't exist.
    pub async fn summary(
        &self,
        tenant: &TenantName,
        now: Timestamp,
        n_days: u32,
    ) -> Result<Option<Summary>, StoreError> {
        let first_day = now.day() + 1 - i64::from(n_days);
        let name = tenant.clone();
        let rows = self.db.snapshot(SnapshotFor::Tenant(tenant), async move |tx| {
            let values = [name.as_str().into(), now.into(), first_day.into()];
            tx.rows(READ, &values, read).await
        });
        let rows = rows.await?;
        if rows.is_empty() && self.tenant(tenant).await?.is_none() {
            return Ok(None);
        }
        let mut contracts: BTreeMap<ContractId, ContractSummary> = BTreeMap::new();
        let mut days: BTreeMap<i64, Day> =
            (first_day..=now.day()).map(|day| (day, Day { day, ..Day::default() })).collect();
        for line in rows {
            match line {
                SummaryRow::Contract { contract, overdue } => {
                    let id = contract.contract_id.clone();
                    let contract = contracts.entry(id).or_insert(contract);
                    let Some(Overdue { status, day, n }) = overdue else { continue };
                    let n_moved = i64::try_from(n).unwrap_or(i64::MAX);
                    contract.tally.add(status, -n_moved);
                    contract.tally.add(Status::Terminated, n_moved);
                    days.entry(day).and_modify(|day| day.n_ended += n);
                }
                SummaryRow::Day { is_created, day, n } => {
                    days.entry(day).and_modify(|day| match is_created {
                        true => day.n_created += n,
                        false => day.n_ended += n,
                    });
                }
            }
        }
        let (contracts, days) = (contracts.into_values().collect(), days.into_values().collect());
        Ok(Some(Summary { contracts, days }))
    }
}

impl Summary {
    /// All accesses by status.
    pub fn tally(&self) -> Tally {
        let mut all = Tally::default();
        for contract in &self.contracts {
            all.add_all(&contract.tally);
        }
        all
    }
}

fn read(row: &crate::db::Row<'_>) -> Result<SummaryRow, StoreError> {
    let kind = row.text(0)?;
    if kind != "contract" {
        let is_created = kind == DayEvent::Created.as_str();
        return Ok(SummaryRow::Day { is_created, day: row.integer(9)?, n: row.count(10)? });
    }
    let overdue = match row.optional_text(8)? {
        None => None,
        Some(word) => Some(Overdue {
            status: Status::from_word(&word)
                .ok_or_else(|| StoreError::corrupt("an unknown status of an access"))?,
            day: row.integer(9)?,
            n: row.count(10)?,
        }),
    };
    let contract = ContractSummary {
        contract_id: row.parsed(1)?,
        offering_id: row.parsed(2)?,
        tally: Tally::read(row, 3)?,
    };
    Ok(SummaryRow::Contract { contract, overdue })
}
