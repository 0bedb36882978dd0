//! The accesses that a filter matches at one moment, for a change of all of them.
//!
//! They are found like a list, and only their identifiers are kept: there may be a million.

use gatehouse_core::filter::access::AccessFilter;
use gatehouse_core::list::{Interval, NumberRun, NumberedSet};
use gatehouse_core::{AccessId, TenantName};

use crate::Store;
use crate::access::lookup::{key, key_column, number_column};
use crate::access::plan::Plan;
use crate::db::{Row, SnapshotFor, Tx};
use crate::error::StoreError;

/// Accesses that one statement reads.
const PIECE: u64 = 10_000;

/// The accesses that match a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matching {
    /// All of them, oldest first.
    Accesses(Vec<AccessId>),
    /// More than the caller can use.
    TooMany {
        /// Number of matching accesses.
        total: u64,
    },
}

impl Matching {
    /// A number of accesses, and their identifiers if they are not too many.
    fn of((total, ids): (u64, Vec<AccessId>), n_max: u64) -> Self {
        if total > n_max { Self::TooMany { total } } else { Self::Accesses(ids) }
    }
}

impl Store {
    /// The accesses that pass `filter`, if they are at most `n_max`; `None` when the tenant doesn't exist.
    pub async fn matching(
        &self,
        tenant: &TenantName,
        filter: &AccessFilter,
        n_max: u64,
    ) -> Result<Option<Matching>, StoreError> {
        let Some(plan) = Plan::make(&self.db, tenant, filter).await? else { return Ok(None) };
        if let Some(runs) = plan.runs().await? {
            return self.matching_of_runs(tenant, runs, n_max).await.map(Some);
        }
        if let Some(terms) = plan.sets().await?
            && let Some(found) = self.matching_of_sets(tenant, terms, n_max).await?
        {
            return Ok(Some(Matching::of(found, n_max)));
        }
        let found = self.matching_of_rows(tenant, plan.rows().await?, n_max).await?;
        Ok(Some(Matching::of(found, n_max)))
    }
}

impl Store {
    /// The accesses in the runs, read in pieces: they may be a million.
    async fn matching_of_runs(
        &self,
        tenant: &TenantName,
        runs: Vec<NumberRun>,
        n_max: u64,
    ) -> Result<Matching, StoreError> {
        let total = runs.iter().map(NumberRun::len).sum();
        if total > n_max {
            return Ok(Matching::TooMany { total });
        }
        let name = tenant.clone();
        let found = self.db.snapshot(SnapshotFor::Tenant(tenant), async move |tx| {
            let mut found = Vec::new();
            for NumberRun { set, intervals } in &runs {
                for piece in intervals.iter().flat_map(|interval| pieces(*interval)) {
                    found.extend(read_piece(&tx, &name, set, piece).await?);
                }
            }
            found.sort_unstable_by_key(|(number, _)| *number);
            Ok(found.into_iter().map(|(_, id)| id).collect())
        });
        found.await.map(Matching::Accesses)
    }
}

/// An interval in pieces of [`PIECE`] numbers.
fn pieces(Interval { after, to }: Interval) -> impl Iterator<Item = Interval> {
    let step = usize::try_from(PIECE).unwrap_or(usize::MAX);
    (after..to).step_by(step).map(move |after| Interval { after, to: to.min(after + PIECE) })
}

/// The numbers in the tenant and the identifiers of a set's accesses with these running numbers.
async fn read_piece(
    tx: &Tx,
    tenant: &TenantName,
    set: &NumberedSet,
    Interval { after, to }: Interval,
) -> Result<Vec<(u64, AccessId)>, StoreError> {
    let (key_column, number) = (key_column(set), number_column(set));
    let sql = format!(
        "SELECT number, id FROM access \
         WHERE tenant = ?1 AND {key_column} = ?2 AND {number} > ?3 AND {number} <= ?4"
    );
    let values = [tenant.as_str().into(), key(tenant, set), after.into(), to.into()];
    let read = |row: &Row<'_>| Ok((row.count(0)?, AccessId::from_bytes(row.id(1)?)));
    tx.rows_once(&sql, &values, read).await
}
