//! Recount: compares all derived counts with the rows themselves.
//!
//! Lists and summaries trust the counts, so an operator can have all of them recounted. A recount reads every access, in
//! one snapshot per tenant, and changes nothing.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use gatehouse_core::{Status, TenantName, Timestamp};

use crate::Store;
use crate::counted_sets;
use crate::counts::tally::{Tally, tally_columns};
use crate::db::{FOR_A_REQUEST, Row, SnapshotFor, Tx};
use crate::error::StoreError;

/// Result of a tenant's recount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recount {
    /// Number of accesses read.
    pub n_accesses: u64,
    /// Number of counts compared.
    pub n_figures: u64,
    /// Descriptions of the counts that differ.
    pub discrepancies: Vec<String>,
}

impl Store {
    /// The store's time, and when the latest access was created. PostgreSQL has its own clock, SQLite this machine's.
    pub async fn times(&self) -> Result<(Timestamp, Option<Timestamp>), StoreError> {
        self.db
            .snapshot(SnapshotFor::Server(Some(FOR_A_REQUEST)), async move |tx| {
                let sql = "SELECT COALESCE(MAX(c.latest_at), 0) FROM tenant t JOIN counter c \
                           ON c.tenant = t.tenant AND c.kind = 'tenant' AND c.name = ''";
                let latest = tx.row(sql, &[], |row| row.time(0)).await?;
                Ok((tx.now().await?, latest.filter(|latest| *latest > Timestamp::EPOCH)))
            })
            .await
    }

    /// Recounts a tenant's accesses and compares.
    pub fn recount<'a>(
        &'a self,
        tenant: &'a TenantName,
    ) -> BoxFuture<'a, Result<Recount, StoreError>> {
        Box::pin(async move {
            let tenant = tenant.clone();
            self.db
                .snapshot(SnapshotFor::Server(None), async move |tx| {
                    let mut recount =
                        Recount { n_accesses: 0, n_figures: 0, discrepancies: Vec::new() };
                    recount.compare(
                        counters(&tx, &tenant).await?,
                        counted_numbers(&tx, &tenant).await?,
                    );
                    recount.compare(
                        tallies(&tx, &tenant).await?,
                        counted_tallies(&tx, &tenant).await?,
                    );
                    recount.compare(days(&tx, &tenant).await?, counted_days(&tx, &tenant).await?);
                    recount.compare(
                        reserved(&tx, &tenant).await?,
                        counted_reserved(&tx, &tenant).await?,
                    );
                    let of_contracts = rows_of_contracts(&tx, &tenant).await?;
                    recount.compare(of_contracts, needed_by_contracts(&tx, &tenant).await?);
                    let sets = counted_sets::recount::compare(&tx, &tenant).await?;
                    recount.n_figures += sets.n_compared;
                    recount.discrepancies.extend(sets.discrepancies);
                    for (sql, what) in RULES {
                        let n = tx.rows(sql, &[tenant.as_str().into()], |row| row.count(0)).await?;
                        let n = n.into_iter().next().unwrap_or_default();
                        recount.n_figures += 1;
                        if n > 0 {
                            recount.discrepancies.push(format!("{n} accesses {what}"));
                        }
                    }
                    let sql = "SELECT COUNT(*) FROM access WHERE tenant = ?1";
                    let n = tx.row(sql, &[tenant.as_str().into()], |row| row.count(0)).await?;
                    recount.n_accesses = n.unwrap_or_default();
                    Ok(recount)
                })
                .await
        })
    }
}

/// Counts by their descriptions.
type Figures = BTreeMap<String, String>;

impl Recount {
    /// Compares stored counts with recounted ones. A count that is missing on one side is zero.
    fn compare(&mut self, written: Figures, found: Figures) {
        let names: std::collections::BTreeSet<&String> =
            written.keys().chain(found.keys()).collect();
        let nothing = "nothing".to_owned();
        for name in names {
            self.n_figures += 1;
            let written = written.get(name).unwrap_or(&nothing);
            let found = found.get(name).unwrap_or(&nothing);
            if written != found {
                self.discrepancies
                    .push(format!("{name}: written down is {written}, found is {found}"));
            }
        }
    }
}

async fn counters(tx: &Tx, tenant: &TenantName) -> Result<Figures, StoreError> {
    let sql = "SELECT kind, name, total, latest_at FROM counter WHERE tenant = ?1 AND total <> 0 \
               AND kind <> 'task'";
    let read = |row: &Row<'_>| {
        let (total, latest_at) = (row.integer(2)?, row.time(3)?);
        Ok((set_name(&row.text(0)?, &row.text(1)?), size(total, 1, total, latest_at)))
    };
    Ok(tx.rows(sql, &[tenant.as_str().into()], read).await?.into_iter().collect())
}

fn set_name(kind: &str, name: &str) -> String {
    format!("accesses of the {kind} {name}").trim_end().to_owned()
}

/// Without gaps, the numbers go from one to the count.
fn size(n: i64, first: i64, last: i64, latest_at: Timestamp) -> String {
    format!("{n}, numbered {first} to {last}, the latest made at {latest_at}")
}

async fn counted_numbers(tx: &Tx, tenant: &TenantName) -> Result<Figures, StoreError> {
    let mut figures = Figures::new();
    for (kind, sql) in [
        (
            "tenant",
            "SELECT '', COUNT(*), MIN(number), MAX(number), MAX(created_at) FROM access \
             WHERE tenant = ?1 HAVING COUNT(*) > 0",
        ),
        (
            "offering",
            "SELECT offering_id, COUNT(*), MIN(offering_number), MAX(offering_number), \
             MAX(created_at) FROM access WHERE tenant = ?1 GROUP BY offering_id",
        ),
        (
            "contract",
            "SELECT contract_id, COUNT(*), MIN(contract_number), MAX(contract_number), \
             MAX(created_at) FROM access WHERE tenant = ?1 GROUP BY contract_id",
        ),
        (
            "job",
            "SELECT job, COUNT(*), MIN(job_number), MAX(job_number), MAX(created_at) \
             FROM access WHERE tenant = ?1 AND job IS NOT NULL GROUP BY job",
        ),
    ] {
        let read = |row: &Row<'_>| {
            let name = match kind {
                "job" => gatehouse_core::TaskId::from_bytes(row.id(0)?).to_string(),
                _ => row.text(0)?,
            };
            let size = size(row.integer(1)?, row.integer(2)?, row.integer(3)?, row.time(4)?);
            Ok((set_name(kind, &name), size))
        };
        figures.extend(tx.rows(sql, &[tenant.as_str().into()], read).await?);
    }
    Ok(figures)
}

async fn tallies(tx: &Tx, tenant: &TenantName) -> Result<Figures, StoreError> {
    let sql =
        concat!("SELECT t.contract_id, ", tally_columns!(), " FROM tally t WHERE t.tenant = ?1");
    let read = |row: &Row<'_>| Ok((row.text(0)?, Tally::read(row, 1)?));
    let tallies = tx.rows(sql, &[tenant.as_str().into()], read).await?;
    Ok(tallies.into_iter().flat_map(|(id, tally)| by_status(&id, &tally)).collect())
}

fn by_status(contract: &str, tally: &Tally) -> Vec<(String, String)> {
    let present = Status::ALL.into_iter().filter(|status| tally.written(*status) != 0);
    let figure = |status: Status| {
        let name = format!("{} accesses of the contract {contract}", status.as_str());
        (name, tally.written(status).to_string())
    };
    present.map(figure).collect()
}

async fn counted_tallies(tx: &Tx, tenant: &TenantName) -> Result<Figures, StoreError> {
    let sql = "SELECT contract_id, status, COUNT(*) FROM access WHERE tenant = ?1 \
               GROUP BY contract_id, status";
    let read = |row: &Row<'_>| {
        let name = format!("{} accesses of the contract {}", row.text(1)?, row.text(0)?);
        Ok((name, row.count(2)?.to_string()))
    };
    Ok(tx.rows(sql, &[tenant.as_str().into()], read).await?.into_iter().collect())
}

/// Stored reservations of batches.
async fn reserved(tx: &Tx, tenant: &TenantName) -> Result<Figures, StoreError> {
    let sql = "SELECT contract_id, n_reserved FROM tally WHERE tenant = ?1 AND n_reserved <> 0";
    Ok(tx.rows(sql, &[tenant.as_str().into()], read_reserved).await?.into_iter().collect())
}

/// Reservations that the unfinished Tasks need.
async fn counted_reserved(tx: &Tx, tenant: &TenantName) -> Result<Figures, StoreError> {
    let sql = "SELECT contract_id, CAST(SUM(n_items - n_succeeded - n_failed) AS BIGINT) FROM task \
               WHERE tenant = ?1 AND kind = 'batchCreation' AND state = 'IN_PROGRESS' \
               GROUP BY contract_id";
    Ok(tx.rows(sql, &[tenant.as_str().into()], read_reserved).await?.into_iter().collect())
}

fn read_reserved(row: &Row<'_>) -> Result<(String, String), StoreError> {
    Ok((format!("reserved places of the contract {}", row.text(0)?), row.integer(1)?.to_string()))
}

/// Rows that count the contracts' accesses: tallies and counters.
async fn rows_of_contracts(tx: &Tx, tenant: &TenantName) -> Result<Figures, StoreError> {
    let sql = "SELECT 'tally', contract_id FROM tally WHERE tenant = ?1 UNION ALL \
               SELECT kind, name FROM counter WHERE tenant = ?1 AND kind = 'contract'";
    Ok(tx.rows(sql, &[tenant.as_str().into()], read_row_of).await?.into_iter().collect())
}

/// Rows that the contracts need.
async fn needed_by_contracts(tx: &Tx, tenant: &TenantName) -> Result<Figures, StoreError> {
    let sql = "SELECT 'tally', id FROM contract WHERE tenant = ?1 UNION ALL \
               SELECT 'contract', id FROM contract WHERE tenant = ?1";
    Ok(tx.rows(sql, &[tenant.as_str().into()], read_row_of).await?.into_iter().collect())
}

fn read_row_of(row: &Row<'_>) -> Result<(String, String), StoreError> {
    let what = if row.text(0)? == "tally" { "tally" } else { "counter" };
    Ok((format!("{what} of the contract {}", row.text(1)?), "one row".into()))
}

async fn days(tx: &Tx, tenant: &TenantName) -> Result<Figures, StoreError> {
    let sql = "SELECT kind, day, n FROM day WHERE tenant = ?1 AND n <> 0";
    Ok(tx.rows(sql, &[tenant.as_str().into()], read_day).await?.into_iter().collect())
}

async fn counted_days(tx: &Tx, tenant: &TenantName) -> Result<Figures, StoreError> {
    let sql = "SELECT 'created', created_at / 86400000, COUNT(*) FROM access WHERE tenant = ?1 \
               GROUP BY created_at / 86400000 UNION ALL \
               SELECT 'ended', end_at / 86400000, COUNT(*) FROM access \
               WHERE tenant = ?1 AND status = 'TERMINATED' GROUP BY end_at / 86400000";
    Ok(tx.rows(sql, &[tenant.as_str().into()], read_day).await?.into_iter().collect())
}

fn read_day(row: &Row<'_>) -> Result<(String, String), StoreError> {
    let day = Timestamp::of_day(row.integer(1)?).map_err(StoreError::corrupt)?;
    Ok((format!("accesses {} on {}", row.text(0)?, day.date()), row.integer(2)?.to_string()))
}

/// Further rules that lists and expiry rely on: each statement counts the accesses that break one.
const RULES: &[(&str, &str)] = &[
    (
        "SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM (SELECT COUNT(*) AS n FROM access \
         WHERE tenant = ?1 AND status <> 'TERMINATED' GROUP BY username HAVING COUNT(*) > 1) a",
        "share their username with another one that isn't TERMINATED",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT created_at, LAG(created_at) OVER (ORDER BY number) AS before \
         FROM access WHERE tenant = ?1) a WHERE created_at < before",
        "were made before the one that has the number before",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT number, LAG(number) OVER (PARTITION BY offering_id \
         ORDER BY offering_number) AS before FROM access WHERE tenant = ?1) a \
         WHERE number < before",
        "have another order in their offering than in the tenant",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT number, offering_id, LAG(number) OVER w AS before, \
         LAG(offering_id) OVER w AS beside FROM access WHERE tenant = ?1 \
         WINDOW w AS (PARTITION BY contract_id ORDER BY contract_number)) a \
         WHERE number < before OR offering_id <> beside",
        "have another order in their contract than in the tenant, or another offering than it",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT number, contract_id, LAG(number) OVER w AS before, \
         LAG(contract_id) OVER w AS beside FROM access WHERE tenant = ?1 AND job IS NOT NULL \
         WINDOW w AS (PARTITION BY job ORDER BY job_number)) a \
         WHERE number < before OR contract_id <> beside",
        "have another order in their job than in the tenant, or another contract than it",
    ),
    (
        "SELECT COUNT(*) FROM access a WHERE a.tenant = ?1 AND a.status <> 'TERMINATED' \
         AND a.end_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM due d WHERE d.tenant = a.tenant \
         AND d.kind = 'ends' AND d.name = a.contract_id AND d.part = (a.end_at + 59999) / 60000)",
        "have an end without an entry in the work queue",
    ),
];
