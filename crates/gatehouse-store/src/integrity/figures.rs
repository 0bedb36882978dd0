//! Comparison of some counters with the rows that they count.
//!
//! A tenant's newest access has the highest number in the tenant, and also in its offering, its contract and its job,
//! because the orders agree. So one row tells the values of four counters, and when the last number was assigned. The
//! contract's tally counts the same accesses again, by status. These rows were written last, so a lost write shows in
//! them first.
//!
//! That is a few seeks per tenant, and some tenants are enough: those whose names come first and last. `doctor --deep`
//! recounts all of them.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};

use super::Damage;

/// Tenants to check, from each end of the alphabet: with five counters each, 100 counters in all.
const TENANTS_MAX: i64 = 10;

/// The first schema version with tallies.
const TALLIES_SINCE: i64 = 2;

/// The first schema version with Tasks.
const TASKS_SINCE: i64 = 5;

pub(super) fn compare(
    connection: &Connection,
    version: i64,
    damage: &mut Damage,
) -> rusqlite::Result<()> {
    for tenant in tenants(connection)? {
        let tenant = Tenant { connection, name: &tenant };
        tenant.compare_accesses(version, damage)?;
        if version >= TASKS_SINCE {
            tenant.compare_tasks(damage)?;
        }
    }
    Ok(())
}

fn tenants(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT tenant FROM (SELECT tenant FROM tenant ORDER BY tenant LIMIT ?1) \
               UNION SELECT tenant FROM (SELECT tenant FROM tenant ORDER BY tenant DESC LIMIT ?1)";
    connection.prepare(sql)?.query_map([TENANTS_MAX], |row| row.get(0))?.collect()
}

/// The newest access of a tenant.
struct Newest {
    number: i64,
    offering: (String, i64),
    contract: (String, i64),
    job: Option<(String, i64)>,
    id: Vec<u8>,
    created_at: i64,
}

struct Tenant<'a> {
    connection: &'a Connection,
    name: &'a str,
}

impl Tenant<'_> {
    fn compare_accesses(&self, version: i64, damage: &mut Damage) -> rusqlite::Result<()> {
        let name = self.name;
        let Some(newest) = self.newest()? else {
            if let Some((total, _)) = self.counter("tenant", "")?.filter(|it| it.0 != 0) {
                damage.add(format!("tenant {name}: it counts {total} accesses and has none"));
            }
            return Ok(());
        };
        let sets = [
            Some(("tenant", "", newest.number)),
            Some(("offering", &newest.offering.0, newest.offering.1)),
            Some(("contract", &newest.contract.0, newest.contract.1)),
            newest.job.as_ref().map(|(job, number)| ("job", job.as_str(), *number)),
        ];
        for (kind, set, number) in sets.into_iter().flatten() {
            let what = format!("tenant {name}: the counter of the {kind} {set}");
            let what = what.trim_end();
            match self.counter(kind, set)? {
                None => damage.add(format!("{what} is missing")),
                Some(counter) if counter != (number, newest.created_at) => damage.add(format!(
                    "{what} says that access {} was the last, made at {} ms since 1970; the last is {number}, made \
                     at {} ms",
                    counter.0, counter.1, newest.created_at
                )),
                Some(_) => {}
            }
        }
        if self.number_by_id(&newest.id)? != Some(newest.number) {
            damage.add(format!("tenant {name}: its last access is not found by its ID"));
        }
        if version >= TALLIES_SINCE {
            let (contract, number) = &newest.contract;
            let tally = self.tally(contract)?;
            if tally != Some(*number) {
                let tally = tally.map_or("no".to_owned(), |n| n.to_string());
                damage.add(format!(
                    "tenant {name}: the tally of the contract {contract} has {tally} accesses, and the last of \
                     them is the {number}th"
                ));
            }
        }
        Ok(())
    }

    fn newest(&self) -> rusqlite::Result<Option<Newest>> {
        let sql = "SELECT number, offering_id, offering_number, contract_id, contract_number, job, job_number, \
                   id, created_at FROM access WHERE tenant = ?1 ORDER BY number DESC LIMIT 1";
        let read = |row: &rusqlite::Row<'_>| {
            let job = match (row.get(5)?, row.get(6)?) {
                (Value::Blob(job), Value::Integer(number)) => {
                    let job = <[u8; 16]>::try_from(job).ok();
                    job.map(|job| (gatehouse_core::TaskId::from_bytes(job).to_string(), number))
                }
                _ => None,
            };
            Ok(Newest {
                number: row.get(0)?,
                offering: (row.get(1)?, row.get(2)?),
                contract: (row.get(3)?, row.get(4)?),
                job,
                id: row.get(7)?,
                created_at: row.get(8)?,
            })
        };
        self.connection.query_row(sql, [self.name], read).optional()
    }

    /// The last number that was assigned in a set, and when.
    fn counter(&self, kind: &str, set: &str) -> rusqlite::Result<Option<(i64, i64)>> {
        let sql =
            "SELECT total, latest_at FROM counter WHERE tenant = ?1 AND kind = ?2 AND name = ?3";
        let values = params![self.name, kind, set];
        self.connection.query_row(sql, values, |row| Ok((row.get(0)?, row.get(1)?))).optional()
    }

    fn number_by_id(&self, id: &[u8]) -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT number FROM access INDEXED BY access_id WHERE tenant = ?1 AND id = ?2";
        self.connection.query_row(sql, params![self.name, id], |row| row.get(0)).optional()
    }

    /// Number of a contract's accesses by its tally.
    fn tally(&self, contract: &str) -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT n_pending_active + n_active + n_suspended + n_pending_terminate + n_terminated \
                   FROM tally WHERE tenant = ?1 AND contract_id = ?2";
        self.connection.query_row(sql, [self.name, contract], |row| row.get(0)).optional()
    }

    /// Compares the counter of Tasks with the newest one. Finished Tasks are deleted, so the counter may be higher, but
    /// never lower.
    fn compare_tasks(&self, damage: &mut Damage) -> rusqlite::Result<()> {
        let name = self.name;
        let sql = "SELECT number FROM task WHERE tenant = ?1 ORDER BY number DESC LIMIT 1";
        let last: Option<i64> =
            self.connection.query_row(sql, [name], |row| row.get(0)).optional()?;
        let counted = self.counter("task", "")?.map(|it| it.0);
        match (last, counted) {
            (_, None) => damage.add(format!("tenant {name}: the counter of its Tasks is missing")),
            (Some(last), Some(counted)) if last > counted => damage.add(format!(
                "tenant {name}: the counter of its Tasks says {counted}, and there is one with the number {last}"
            )),
            _ => {}
        }
        Ok(())
    }
}
