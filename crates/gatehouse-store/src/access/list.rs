//! Lists of accesses: the page that a request asks for, found as the filter's plan says (`plan.rs`).
//!
//! The numbered accesses never change their positions, so the queries of one page may run one by one. A filter by
//! status or label reads one snapshot instead (`counted_sets/page.rs`).

use futures_util::future::try_join_all;
use gatehouse_core::filter::access::AccessFilter;
use gatehouse_core::list::request::ListRequest;
use gatehouse_core::list::selection::{PositionLookUp, RunSelection};
use gatehouse_core::list::{Interval, ListPath, NumberRun};
use gatehouse_core::{Access, Page, TenantName, Timestamp};

use crate::Store;
use crate::access::lookup::{Lookup, at, missing};
use crate::access::plan::Plan;
use crate::counted_sets::page::SetPage;
use crate::error::StoreError;

/// A page of accesses, and the method that found it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The page, in the requested order. Where the total isn't wanted, the page may have the number of accesses up to
    /// its last one instead, and one more if another follows.
    pub page: Page<Access>,
    /// The method, for metrics.
    pub path: ListPath,
    /// When the accesses had the statuses and labels that the filter asks for; `None` for a filter without them.
    pub at: Option<Timestamp>,
}

impl Store {
    /// A page of the accesses that pass `filter`; `None` when the tenant doesn't exist.
    pub async fn accesses(
        &self,
        tenant: &TenantName,
        filter: &AccessFilter,
        request: ListRequest,
    ) -> Result<Option<Listed>, StoreError> {
        let Some(plan) = Plan::make(&self.db, tenant, filter).await? else { return Ok(None) };
        if let Some(runs) = plan.runs().await? {
            return page_of_runs(&plan.lookup, &runs, request).await.map(Some);
        }
        if let Some(terms) = plan.sets().await?
            && let Some(SetPage { page, at }) = self.set_page(tenant, terms, request).await?
        {
            return Ok(Some(Listed { page, path: ListPath::Sets, at: Some(at) }));
        }
        let (page, at) = self.count_page(tenant, plan.rows().await?, request).await?;
        Ok(Some(Listed { page, path: ListPath::Counted, at: Some(at) }))
    }
}

async fn page_of_runs(
    lookup: &Lookup<'_>,
    runs: &[NumberRun],
    request: ListRequest,
) -> Result<Listed, StoreError> {
    let total = runs.iter().map(NumberRun::len).sum();
    let window = request.window(total);
    let path = if runs.len() > 1 { ListPath::Merged } else { ListPath::Interval };
    let slices = match runs {
        _ if window.is_empty() => Vec::new(),
        [run] => vec![(run, window)],
        _ => slices(lookup, runs, window).await?,
    };
    let intervals = slices
        .into_iter()
        .flat_map(|(run, slice)| run.slice(slice).into_iter().map(|interval| (&run.set, interval)));
    let rows = try_join_all(intervals.map(|(set, interval)| lookup.rows(set, interval))).await?;
    let mut rows: Vec<(u64, Access)> = rows.into_iter().flatten().collect();
    if path == ListPath::Merged {
        // Each run is in order already, which makes a stable sort fast.
        rows.sort_by_key(|(number, _)| *number);
    }
    let items = request.arrange(rows.into_iter().map(|(_, access)| access).collect());
    Ok(Listed { page: Page { request: request.page, items, total }, path, at: None })
}

/// The positions of each run that fall into the window over all runs.
async fn slices<'r>(
    lookup: &Lookup<'_>,
    runs: &'r [NumberRun],
    window: Interval,
) -> Result<Vec<(&'r NumberRun, Interval)>, StoreError> {
    let whole: Vec<Interval> =
        runs.iter().map(|run| Interval { after: 0, to: run.len() }).collect();
    let begin = select(lookup, runs, RunSelection::new(&whole, window.after)).await?;
    let rest = runs
        .iter()
        .zip(&begin)
        .map(|(run, after)| Interval { after: *after, to: run.len().min(after + window.len()) });
    let rest: Vec<Interval> = rest.collect();
    let end = select(lookup, runs, RunSelection::new(&rest, window.to)).await?;
    let slices = begin.into_iter().zip(end).map(|(after, to)| Interval { after, to });
    Ok(runs.iter().zip(slices).collect())
}

/// Reads the numbers that a selection looks up, until it needs no more, and returns its counts.
async fn select(
    lookup: &Lookup<'_>,
    runs: &[NumberRun],
    mut selection: RunSelection,
) -> Result<Vec<u64>, StoreError> {
    loop {
        let look_ups = selection.look_ups(lookup.steps_ahead());
        if look_ups.is_empty() {
            return Ok(selection.counts());
        }
        let found = look_ups.iter().map(|look_up| numbers_at(lookup, runs, look_up));
        for (look_up, numbers) in look_ups.iter().zip(try_join_all(found).await?) {
            selection.learn(look_up.run, numbers);
        }
    }
}

/// The numbers in the tenant at some positions of a run.
async fn numbers_at(
    lookup: &Lookup<'_>,
    runs: &[NumberRun],
    look_up: &PositionLookUp,
) -> Result<Vec<(u64, u64)>, StoreError> {
    let run = &runs[look_up.run];
    let in_set = look_up.positions.iter().map(|position| run.number_at(*position));
    let in_set: Vec<u64> = in_set.collect::<Option<_>>().ok_or_else(missing)?;
    let found = lookup.numbers(&run.set, &in_set).await?;
    let numbers = look_up.positions.iter().zip(in_set).map(|(position, in_set)| {
        let in_tenant = at(&found, in_set).ok_or_else(missing)?;
        Ok((*position, in_tenant))
    });
    numbers.collect()
}
