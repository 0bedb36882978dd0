//! A tenant's accesses in figures, from what is counted as it happens.
//!
//! One statement reads all of it, so that it belongs to one moment: an access whose end has come but is
//! not written down yet would otherwise be taken out twice by who writes it down meanwhile. Those are
//! found by an index of what is due; nothing else is looked at one by one.

use std::collections::BTreeMap;

use gatehouse_core::{ContractId, OfferingId, Status, TenantName, Timestamp};

use crate::Store;
use crate::counts::day::Kind;
use crate::counts::tally::{Tally, tally_columns};
use crate::db::SnapshotFor;
use crate::error::StoreError;

/// A tenant's accesses in figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Each contract, by identifier.
    pub contracts: Vec<ContractSummary>,
    /// Each of the days that were asked for, the oldest first.
    pub days: Vec<Day>,
}

/// A contract's accesses in figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractSummary {
    /// The contract.
    pub contract_id: ContractId,
    /// Its offering.
    pub offering_id: OfferingId,
    /// Its accesses by status.
    pub tally: Tally,
}

/// What happened on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Day {
    /// The day in UTC, in days since 1970.
    pub day: i64,
    /// Accesses that were made.
    pub n_created: u64,
    /// Accesses that ended.
    pub n_ended: u64,
}

/// Contracts with their tallies, once for each status and day of ends that are not written down; and
/// behind them the days.
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

/// One line of what [`READ`] finds.
enum Line {
    Contract { contract: ContractSummary, overdue: Option<Overdue> },
    Day { is_created: bool, day: i64, n: u64 },
}

/// Accesses that have ended and still have another status on paper.
struct Overdue {
    status: Status,
    day: i64,
    n: u64,
}

impl Store {
    /// A tenant's accesses in figures as they are at `now`, and the last `n_days` days, today among
    /// them; `None` when there is no such tenant.
    pub async fn summary(
        &self,
        tenant: &TenantName,
        now: Timestamp,
        n_days: u32,
    ) -> Result<Option<Summary>, StoreError> {
        let first_day = now.day() + 1 - i64::from(n_days);
        let name = tenant.clone();
        let lines = self.db.snapshot(SnapshotFor::Tenant(tenant), async move |tx| {
            let values = [name.as_str().into(), now.into(), first_day.into()];
            tx.rows(READ, &values, read).await
        });
        let lines = lines.await?;
        if lines.is_empty() && self.tenant(tenant).await?.is_none() {
            return Ok(None);
        }
        let mut contracts: BTreeMap<ContractId, ContractSummary> = BTreeMap::new();
        let mut days: BTreeMap<i64, Day> =
            (first_day..=now.day()).map(|day| (day, Day { day, ..Day::default() })).collect();
        for line in lines {
            match line {
                Line::Contract { contract, overdue } => {
                    let id = contract.contract_id.clone();
                    let contract = contracts.entry(id).or_insert(contract);
                    let Some(Overdue { status, day, n }) = overdue else { continue };
                    let n_moved = i64::try_from(n).unwrap_or(i64::MAX);
                    contract.tally.add(status, -n_moved);
                    contract.tally.add(Status::Terminated, n_moved);
                    days.entry(day).and_modify(|day| day.n_ended += n);
                }
                Line::Day { is_created, day, n } => {
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

fn read(row: &crate::db::Row<'_>) -> Result<Line, StoreError> {
    let kind = row.text(0)?;
    if kind != "contract" {
        let is_created = kind == Kind::Created.as_str();
        return Ok(Line::Day { is_created, day: row.integer(9)?, n: row.count(10)? });
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
    Ok(Line::Contract { contract, overdue })
}
