//! The accesses that a filter matches at one moment, for a change of all of them.
//!
//! They are found like a list, and only their identifiers are kept: there may be a million.

use gatehouse_core::filter::access::AccessFilter;
use gatehouse_core::list::request::ListRequest;
use gatehouse_core::list::{self, NumberRun, NumberedSet};
use gatehouse_core::page::PAGE_SIZE_MAX;
use gatehouse_core::{AccessId, PageRequest, TenantName};

use crate::Store;
use crate::access::list::{answer, locate, page_of_runs, runs, set_terms};
use crate::access::lookup::Lookup;
use crate::error::StoreError;

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
        let lookup = Lookup { db: &self.db, tenant };
        let answers = answer(&lookup, list::questions(filter)).await?;
        if !answers.sizes.contains_key(&NumberedSet::Tenant) {
            return Ok(None);
        }
        let terms = list::terms(filter, &answers);
        if list::is_numbered(&terms) {
            let runs = runs(&lookup, &terms, &answers).await?;
            return matching_of_runs(&lookup, &runs, n_max).await.map(Some);
        }
        if let Some(terms) = set_terms(&lookup, &terms, &answers).await?
            && let Some(found) = self.matching_of_sets(tenant, terms, n_max).await?
        {
            return Ok(Some(Matching::of(found, n_max)));
        }
        let located = locate(&lookup, terms, &answers).await?;
        let found = self.matching_of_rows(tenant, located, n_max).await?;
        Ok(Some(Matching::of(found, n_max)))
    }
}

/// Reads whole pages: accesses never change their positions in runs whose sizes are known.
async fn matching_of_runs(
    lookup: &Lookup<'_>,
    runs: &[NumberRun],
    n_max: u64,
) -> Result<Matching, StoreError> {
    let total = runs.iter().map(NumberRun::len).sum();
    if total > n_max {
        return Ok(Matching::TooMany { total });
    }
    let mut ids = Vec::new();
    for number in 1..=total.div_ceil(PAGE_SIZE_MAX) {
        let page = ListRequest::from(PageRequest { number, size: PAGE_SIZE_MAX });
        let listed = page_of_runs(lookup, runs, page).await?;
        ids.extend(listed.page.items.iter().map(|access| access.id));
    }
    Ok(Matching::Accesses(ids))
}
