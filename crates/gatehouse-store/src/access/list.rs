//! Lists of accesses: a filter and a page become intervals of running numbers, read by index.
//!
//! `gatehouse_core::list` decides which questions a filter asks, and what follows from the answers; this module runs
//! the queries. The sizes of all sets that a filter names come from one statement, so they belong to one moment. The
//! numbered accesses never change their positions afterwards, so all other queries may run one by one. A filter by
//! status or label reads one snapshot instead (`counted_sets/page.rs`).

use futures_util::future::{try_join, try_join_all};
use gatehouse_core::counted_set::CountedSet;
use gatehouse_core::filter::access::AccessFilter;
use gatehouse_core::label;
use gatehouse_core::list::request::ListRequest;
use gatehouse_core::list::selection::{PositionLookUp, RunSelection};
use gatehouse_core::list::{
    self, Interval, ListPath, NumberRun, NumberedSet, PlanAnswers, PlanQuestions, RowConditions,
    SetSize, Term, TermScope,
};
use gatehouse_core::time_span::TimeSpan;
use gatehouse_core::{Access, Page, TenantName, Timestamp};

use crate::Store;
use crate::access::lookup::{Lookup, at, missing};
use crate::counted_sets::page::{Bound, SetPage, SetTerm};
use crate::counted_sets::row_source::{self, RowSource};
use crate::counts::counter;
use crate::error::StoreError;

/// Accesses that a search among the rows may look at, before conditions that no set decides are better combined with
/// sets: that needs all accesses of the tenant that meet them.
#[cfg(not(test))]
const FEW_ROWS: u64 = 100_000;
#[cfg(test)]
const FEW_ROWS: u64 = 40;

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

/// A term of a filter, with the running numbers that it matches.
#[derive(Clone)]
pub(crate) struct Located {
    pub(crate) set: NumberedSet,
    pub(crate) interval: Interval,
    pub(crate) rest: RowConditions,
    /// Parts that the stored text of an access's labels must have.
    pub(crate) label_parts: Vec<String>,
}

impl Located {
    /// The number in the tenant of the one access that the term matches if it has the status and labels, where it is
    /// known.
    pub(crate) fn single(&self) -> Option<u64> {
        let is_one = self.set == NumberedSet::Tenant && self.interval.len() == 1;
        (is_one && self.rest.is_of_sets()).then_some(self.interval.to)
    }
}

impl Store {
    /// A page of the accesses that pass `filter`; `None` when the tenant doesn't exist.
    pub async fn accesses(
        &self,
        tenant: &TenantName,
        filter: &AccessFilter,
        request: ListRequest,
    ) -> Result<Option<Listed>, StoreError> {
        let lookup = Lookup { db: &self.db, tenant };
        let answers = answer(&lookup, list::questions(filter)).await?;
        if !answers.sizes.contains_key(&NumberedSet::Tenant) {
            return Ok(None);
        }
        let terms = list::terms(filter, &answers);
        let listed = if list::is_numbered(&terms) {
            page_of_runs(&lookup, &runs(&lookup, &terms, &answers).await?, request).await?
        } else if let Some(listed) = self.list_by_sets(&lookup, &terms, &answers, request).await? {
            listed
        } else {
            let located = locate(&lookup, terms, &answers).await?;
            let (page, at) = self.count_page(tenant, located, request).await?;
            Listed { page, path: ListPath::Counted, at: Some(at) }
        };
        Ok(Some(listed))
    }
}

impl Store {
    /// A page by counted sets; `None` where they don't decide the terms, or are still being built.
    async fn list_by_sets(
        &self,
        lookup: &Lookup<'_>,
        terms: &[Term],
        answers: &PlanAnswers,
        request: ListRequest,
    ) -> Result<Option<Listed>, StoreError> {
        let Some(terms) = set_terms(lookup, terms, answers).await? else { return Ok(None) };
        let found = self.set_page(lookup.tenant, terms, request).await?;
        Ok(found.map(|SetPage { page, at }| Listed { page, path: ListPath::Sets, at: Some(at) }))
    }
}

/// The terms as counted sets; `None` where a search among the rows is better or necessary.
pub(crate) async fn set_terms(
    lookup: &Lookup<'_>,
    terms: &[Term],
    answers: &PlanAnswers,
) -> Result<Option<Vec<SetTerm>>, StoreError> {
    if !list::are_sets_best(terms) {
        return Ok(None);
    }
    let found = try_join_all(terms.iter().map(async |term| {
        let Some(sources) = row_source::sources_of(&term.rest) else { return Ok(None) };
        let set_term = set_term(lookup, term, sources, answers).await?;
        Ok::<_, StoreError>(Some((set_term.n_candidates(size(term, answers)), set_term)))
    }));
    let Some(found) = found.await?.into_iter().collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let n_candidates: u64 = found.iter().map(|(n, _)| n).sum();
    let set_terms: Vec<SetTerm> = found.into_iter().map(|(_, term)| term).collect();
    let has_sources = set_terms.iter().any(|term| !term.sources.is_empty());
    Ok(Some(set_terms).filter(|_| !has_sources || n_candidates > FEW_ROWS))
}

/// Number of accesses in a term's scope.
fn size(term: &Term, answers: &PlanAnswers) -> u64 {
    match &term.scope {
        TermScope::One(_) => 1,
        TermScope::Set(set) => answers.sizes.get(set).map_or(0, |size| size.total),
    }
}

/// A term as counted sets, with the interval of the tenant's running numbers that it is in.
async fn set_term(
    lookup: &Lookup<'_>,
    term: &Term,
    sources: Vec<RowSource>,
    answers: &PlanAnswers,
) -> Result<SetTerm, StoreError> {
    let mut sets = Vec::from_iter(term.rest.status.map(CountedSet::Status));
    sets.extend(term.rest.labels.iter().map(|(key, value)| match value {
        Some(value) => CountedSet::Label(key.clone(), value.clone()),
        None => CountedSet::LabelKey(key.clone()),
    }));
    let interval = match &term.scope {
        TermScope::One(number) => [Bound::At(number - 1), Bound::At(*number)],
        TermScope::Set(set) => {
            sets.extend(counted_set(set));
            let all = *answers.sizes.get(&NumberedSet::Tenant).ok_or_else(missing)?;
            let after = created_before(lookup, all, term.created.from);
            let to = created_before(lookup, all, term.created.until);
            let (after, to) = try_join(after, to).await?;
            [after, to]
        }
    };
    Ok(SetTerm { sets, sources, interval })
}

/// The tenant's last access that was created before this time.
async fn created_before(lookup: &Lookup<'_>, all: SetSize, time: i64) -> Result<Bound, StoreError> {
    if time == TimeSpan::ALWAYS.until {
        return Ok(Bound::At(u64::MAX));
    }
    let known = lookup.rank(&NumberedSet::Tenant, all, time).await?;
    let is_past = time <= all.latest_at.as_millisecond() || time == TimeSpan::ALWAYS.from;
    Ok(if is_past { Bound::At(known) } else { Bound::CreatedBefore { time, known } })
}

/// The counted set with the same accesses; `None` for the tenant's, which has every number.
fn counted_set(set: &NumberedSet) -> Option<CountedSet> {
    match set {
        NumberedSet::Tenant => None,
        NumberedSet::Offering(id) => Some(CountedSet::Offering(id.clone())),
        NumberedSet::Contract(id) => Some(CountedSet::Contract(id.clone())),
        NumberedSet::Job(id) => Some(CountedSet::Job(*id)),
    }
}

/// Finds the facts that the planner needs.
pub(crate) async fn answer(
    lookup: &Lookup<'_>,
    questions: PlanQuestions,
) -> Result<PlanAnswers, StoreError> {
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
pub(crate) async fn runs(
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
pub(crate) async fn locate(
    lookup: &Lookup<'_>,
    terms: Vec<Term>,
    answers: &PlanAnswers,
) -> Result<Vec<Located>, StoreError> {
    try_join_all(terms.into_iter().map(async |term| {
        let (set, interval) = piece(lookup, &term.scope, term.created, answers).await?;
        let labels = term.rest.labels.iter();
        let label_parts = labels.map(|(key, value)| label::stored_part(key, value.as_ref()));
        Ok(Located { set, interval, label_parts: label_parts.collect(), rest: term.rest })
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
