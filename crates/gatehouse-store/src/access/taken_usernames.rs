//! Checks which usernames are taken, and frees those of expired accesses.

use std::collections::HashSet;

use gatehouse_core::event::{Cause, Origin};
use gatehouse_core::{Status, TenantName, Timestamp, lifecycle};

use crate::access::{Change, bulk};
use crate::counts::derived_counts::DerivedCounts;
use crate::db::{Row, Tx};
use crate::error::StoreError;

/// Usernames that are taken.
#[derive(Default)]
pub(crate) struct Taken {
    /// All taken usernames.
    pub(crate) usernames: HashSet<String>,
    /// End and number of each access that has an end.
    pub(crate) ending: Vec<(Timestamp, u64)>,
}

impl Taken {
    /// Stores the expiry of accesses whose end has come, adds it to `counts`, and returns the usernames that stay
    /// taken. Locks accesses, so the caller must not have locked any derived count.
    pub(crate) async fn expire_holders(
        mut self,
        tx: &Tx,
        tenant: &TenantName,
        now: Timestamp,
        counts: &mut DerivedCounts,
    ) -> Result<HashSet<String>, StoreError> {
        let come = self.ending.iter().filter(|(end, _)| *end <= now).map(|(_, number)| *number);
        let numbers: Vec<u64> = come.collect();
        if numbers.is_empty() {
            return Ok(self.usernames);
        }
        let mut changes = Vec::new();
        for (number, before) in bulk::lock_accesses(tx, tenant, numbers).await? {
            // Another transaction may have changed the end, or stored the expiry.
            let after = lifecycle::at(&before, now);
            if after.status == Status::Terminated {
                self.usernames.remove(after.username.as_str());
            }
            if after != before {
                let change = Change { access: after, password: None };
                counts.change(number, &before, &change, &Origin::of(Cause::Expiry));
                changes.push(change);
            }
        }
        bulk::update(tx, tenant, &changes).await?;
        Ok(self.usernames)
    }
}

/// The usernames among these that belong to an access that isn't TERMINATED.
pub(crate) async fn in_use(
    tx: &Tx,
    tenant: &TenantName,
    usernames: &[&str],
) -> Result<Taken, StoreError> {
    let mut taken = Taken::default();
    if usernames.is_empty() {
        return Ok(taken);
    }
    let mut take = |row: &Row<'_>| {
        taken.usernames.insert(row.text(0)?);
        taken.ending.extend(row.optional_time(1)?.zip(Some(row.count(2)?)));
        Ok(())
    };
    if let Some(session) = tx.postgres() {
        let sql = "SELECT username, end_at, number FROM access \
                   WHERE tenant = ?1 AND username = ANY(?2) AND status <> 'TERMINATED'";
        for row in session.bulk(sql, &[&tenant.as_str(), &usernames]).await? {
            take(&Row::Postgres(&row))?;
        }
        return Ok(taken);
    }
    for username in usernames {
        let sql = "SELECT username, end_at, number FROM access \
                   WHERE tenant = ?1 AND username = ?2 AND status <> 'TERMINATED'";
        tx.rows(sql, &[tenant.as_str().into(), (*username).into()], &mut take).await?;
    }
    Ok(taken)
}

/// The usernames among these that belong to any access, also a TERMINATED one. A union of two queries: the old index of
/// all accesses answers both while it exists, and the two new indexes answer one each.
pub(crate) async fn ever(
    tx: &Tx,
    tenant: &TenantName,
    usernames: &[&str],
) -> Result<HashSet<String>, StoreError> {
    let mut taken = HashSet::new();
    if usernames.is_empty() {
        return Ok(taken);
    }
    if let Some(session) = tx.postgres() {
        let sql = "SELECT username FROM access \
                   WHERE tenant = ?1 AND username = ANY(?2) AND status <> 'TERMINATED' \
                   UNION ALL SELECT username FROM access \
                   WHERE tenant = ?1 AND username = ANY(?2) AND status = 'TERMINATED'";
        for row in session.bulk(sql, &[&tenant.as_str(), &usernames]).await? {
            taken.insert(row.try_get(0).map_err(StoreError::corrupt)?);
        }
        return Ok(taken);
    }
    for username in usernames {
        let sql = "SELECT username FROM access WHERE tenant = ?1 AND username = ?2";
        let values = [tenant.as_str().into(), (*username).into()];
        taken.extend(tx.row(sql, &values, |row| row.text(0)).await?);
    }
    Ok(taken)
}
