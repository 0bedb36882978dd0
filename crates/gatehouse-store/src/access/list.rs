//! Lists of accesses: a filter and a page become intervals of running numbers, read by index.
//!
//! `gatehouse_core::list` decides which questions a filter asks, and what follows from the answers; this module runs
//! the queries. The sizes of all sets that a filter names come from one statement, so they belong to one moment. The
//! numbered accesses never change their positions afterwards, so all other queries may run one by one.

use futures_util::future::{try_join, try_join_all};
use gatehouse_core::filter::access::AccessFilter;
use gatehouse_core::list::selection::{PositionLookUp, RunSelection};
use gatehouse_core::list::{
    self, Interval, ListPath, NumberRun, NumberedSet, PlanAnswers, PlanQuestions, RowConditions,
    Term, TermScope,
};
use gatehouse_core::time_span::TimeSpan;
use gatehouse_core::{Access, Page, PageRequest, TenantName};

use crate::Store;
use crate::access::lookup::{Lookup, at, missing};
use crate::counts::counter;
use crate::error::StoreError;

/// A page of accesses, and the method that found it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The page, oldest first.
    pub page: Page<Access>,
    /// The method, for metrics.
    pub path: ListPath,
}

/// A term of a filter, with the running numbers that it matches.
#[derive(Clone)]
pub(crate) struct Located {
    pub(crate) set: NumberedSet,
    pub(crate) interval: Interval,
    pub(crate) rest: RowConditions,
}

impl Located {
    /// The number in the tenant of the one access that the term matches, where it is known.
    pub(crate) fn single(&self) -> Option<u64> {
        let is_one = self.set == NumberedSet::Tenant && self.interval.len() == 1;
        (is_one && self.rest == RowConditions::NONE).then_some(self.interval.to)
    }
}

impl Store {
    /// A page of the accesses that pass `filter`; `None` when the tenant doesn't exist.
    pub async fn accesses(
        &self,
        tenant: &TenantName,
        filter: &AccessFilter,
        request: PageRequest,
    ) -> Result<Option<Listed>, StoreError> {
        let lookup = Lookup { db: &self.db, tenant };
        let answers = answer(&lookup, list::questions(filter)).await?;
        if !answers.sizes.contains_key(&NumberedSet::Tenant) {
            return Ok(None);
        }
        let terms = list::terms(filter, &answers);
        let listed = if list::is_numbered(&terms) {
            page_of_runs(&lookup, &runs(&lookup, &terms, &answers).await?, request).await?
        } else {
            let located = locate(&lookup, terms, &answers).await?;
            let page = self.count_page(tenant, located, request).await?;
            Listed { page, path: ListPath::Counted }
        };
        Ok(Some(listed))
    }
}

async fn answer(lookup: &Lookup<'_>, questions: PlanQuestions) -> Result<PlanAnswers, StoreError> {
    let sizes = counter::sizes(lookup.db, lookup.tenant, &questions.sizes).await?;
    let firsts = questions.firsts.into_iter().filter(|set| sizes.contains_key(set));
    let firsts = try_join_all(firsts.map(async |set| {
        let first = lookup.rows(&set, Interval { after: 0, to: 1 }).await?;
        Ok::<_, StoreError>(first.into_iter().next().map(|(_, access)| (set, access)))
    }));
    let by_username = try_join_all(questions.usernames.into_iter().map(async |username| {
        let holders = lookup.by_username(&username).await?;
        Ok::<_, StoreError>(holders.map(|holders| (username, holders)))
    }));
    let (firsts, by_username) = try_join(firsts, by_username).await?;
    Ok(PlanAnswers {
        sizes,
        firsts: firsts.into_iter().flatten().collect(),
        by_username: by_username.into_iter().flatten().collect(),
    })
}

/// The runs that hold exactly the accesses that the terms match.
async fn runs(
    lookup: &Lookup<'_>,
    terms: &[Term],
    answers: &PlanAnswers,
) -> Result<Vec<NumberRun>, StoreError> {
    let disjoint = list::disjoint(terms);
    let spans = disjoint.iter().flat_map(|(scope, spans)| spans.iter().map(move |it| (scope, *it)));
    let pieces = spans.map(|(scope, span)| piece(lookup, scope, span, answers));
    Ok(list::runs(try_join_all(pieces).await?))
}

/// Finds the running numbers that each term matches.
async fn locate(
    lookup: &Lookup<'_>,
    terms: Vec<Term>,
    answers: &PlanAnswers,
) -> Result<Vec<Located>, StoreError> {
    try_join_all(terms.into_iter().map(async |term| {
        let (set, interval) = piece(lookup, &term.scope, term.created, answers).await?;
        Ok(Located { set, interval, rest: term.rest })
    }))
    .await
}

async fn piece(
    lookup: &Lookup<'_>,
    scope: &TermScope,
    created: TimeSpan,
    answers: &PlanAnswers,
) -> Result<(NumberedSet, Interval), StoreError> {
    match scope {
        TermScope::One(number) => {
            Ok((NumberedSet::Tenant, Interval { after: number - 1, to: *number }))
        }
        TermScope::Set(set) => {
            let size = *answers.sizes.get(set).ok_or_else(missing)?;
            let after = lookup.rank(set, size, created.from);
            let to = lookup.rank(set, size, created.until);
            let (after, to) = try_join(after, to).await?;
            Ok((set.clone(), Interval { after, to }))
        }
    }
}

async fn page_of_runs(
    lookup: &Lookup<'_>,
    runs: &[NumberRun],
    request: PageRequest,
) -> Result<Listed, StoreError> {
    let total = runs.iter().map(NumberRun::len).sum();
    let window = Interval {
        after: request.offset().min(total),
        to: request.offset().saturating_add(request.size).min(total),
    };
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
    let items = rows.into_iter().map(|(_, access)| access).collect();
    Ok(Listed { page: Page { request, items, total }, path })
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
