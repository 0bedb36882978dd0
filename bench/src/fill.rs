//! Writes a fleet into an empty store directly: ten million creations over HTTP would take hours.
//!
//! Each database has its own fastest bulk insert (`sqlite.rs`, `postgres.rs`). Both get the same rows, in the order of
//! their numbers, without the indexes, which are created again afterwards as the server had defined them. One script
//! fills the other tables of both.

pub(crate) mod counted_sets;
pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::fleet::{Access, CONTRACTS, DAY_MS, Fleet, OFFERINGS, TENANT, offering_of};

/// An error of a database driver; `Failure::during` adds the failed step.
pub(crate) type DriverError = Box<dyn std::error::Error>;

/// The columns that differ between accesses.
const COLUMNS: &str = "number, offering_number, contract_number, job_number, id, contract_id, \
                       offering_id, job, username, password_hash, device_name, start_at, end_at, \
                       created_at, status, version";

/// Values of these columns for one access, for both drivers.
pub(crate) struct Row {
    number: i64,
    offering_number: i64,
    contract_number: i64,
    job_number: Option<i64>,
    id: [u8; 16],
    contract_id: &'static str,
    offering_id: &'static str,
    job: Option<[u8; 16]>,
    username: String,
    password_hash: String,
    device_name: String,
    end_at: Option<i64>,
    created_at: i64,
    status: &'static str,
    version: i64,
}

impl Row {
    fn new(fleet: Fleet, access: &Access) -> Self {
        Self::made_by(access, access.made_by.map(|made_by| fleet.job_id(made_by.job)))
    }

    /// The row of an access that this job has created.
    pub(crate) fn made_by(access: &Access, job: Option<Uuid>) -> Self {
        Self {
            number: access.number as i64,
            offering_number: access.offering_number as i64,
            contract_number: access.contract_number as i64,
            job_number: access.made_by.map(|made_by| made_by.job_number as i64),
            id: access.id().into_bytes(),
            contract_id: access.contract_id(),
            offering_id: access.offering_id(),
            job: job.map(Uuid::into_bytes),
            username: access.username(),
            password_hash: access.password_hash(),
            device_name: access.device_name(),
            end_at: access.end_at,
            created_at: access.created_at,
            status: access.status(),
            // Created, and then suspended.
            version: 1 + i64::from(access.is_suspended),
        }
    }
}

/// Statements that fill counters, tallies, days, counted sets and the work queue for a fleet. They contain no text from
/// outside, so nothing needs quoting. `bytes` writes bytes as the database does.
fn summary_script(fleet: Fleet, bytes: fn(&[u8]) -> String) -> String {
    let mut tenant = Counter::default();
    let mut offerings = [Counter::default(); OFFERINGS.len()];
    let mut contracts = [Counter::default(); CONTRACTS.len()];
    let mut suspended = [0; CONTRACTS.len()];
    let mut jobs = vec![Counter::default(); fleet.n_jobs() as usize];
    let mut days: BTreeMap<i64, u64> = BTreeMap::new();
    for access in fleet.accesses() {
        tenant.count(&access);
        offerings[offering_of(access.contract)].count(&access);
        contracts[access.contract].count(&access);
        suspended[access.contract] += u64::from(access.is_suspended);
        if let Some(made_by) = access.made_by {
            jobs[made_by.job as usize].count(&access);
        }
        *days.entry(access.created_at / DAY_MS).or_default() += 1;
    }
    // The fleet's jobs are so old that their Tasks have been deleted.
    let no_tasks = Counter::default();
    let mut sets = vec![("tenant", String::new(), tenant), ("task", String::new(), no_tasks)];
    sets.extend(OFFERINGS.iter().zip(offerings).map(|(id, it)| ("offering", id.to_string(), it)));
    sets.extend(CONTRACTS.iter().zip(contracts).map(|(id, it)| ("contract", id.to_string(), it)));
    let job_name = |job: u64| format!("job-{}", fleet.job_id(job));
    sets.extend((0..).zip(jobs).map(|(job, it)| ("job", job_name(job), it)));

    let mut script: String = ["counter", "tally", "day", "due"]
        .map(|table| format!("DELETE FROM {table} WHERE tenant = '{TENANT}';\n"))
        .concat();
    for (kind, name, Counter { total, latest_at }) in sets {
        script += &format!(
            "INSERT INTO counter (tenant, kind, name, total, latest_at) \
             VALUES ('{TENANT}', '{kind}', '{name}', {total}, {latest_at});\n"
        );
    }
    for ((id, Counter { total, .. }), n_suspended) in CONTRACTS.iter().zip(contracts).zip(suspended)
    {
        let n_active = total - n_suspended;
        script += &format!(
            "INSERT INTO tally (tenant, contract_id, n_pending_active, n_active, n_suspended, \
             n_pending_terminate, n_terminated) VALUES ('{TENANT}', '{id}', 0, {n_active}, {n_suspended}, 0, 0);\n"
        );
    }
    for (day, n) in days {
        script += &format!(
            "INSERT INTO day (tenant, kind, day, n) VALUES ('{TENANT}', 'created', {day}, {n});\n"
        );
    }
    // Future expiries, by contract and minute.
    script += &format!(
        "INSERT INTO due (tenant, kind, name, part, due_at, is_leased, epoch) \
         SELECT DISTINCT tenant, 'ends', contract_id, (end_at + 59999) / 60000, \
         (end_at + 59999) / 60000 * 60000, 0, 0 FROM access \
         WHERE tenant = '{TENANT}' AND end_at IS NOT NULL;\n"
    );
    script + &counted_sets::script(fleet, bytes)
}

/// Number of accesses in a set, and the time of the last creation.
#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    total: u64,
    latest_at: i64,
}

impl Counter {
    fn count(&mut self, access: &Access) {
        self.total += 1;
        self.latest_at = access.created_at;
    }
}

#[cfg(test)]
mod tests;
