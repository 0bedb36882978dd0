//! How the accesses that a filter matches are found: as runs of running numbers, by counted sets, or among the rows.
//!
//! `gatehouse_core::list` decides which questions a filter asks, and what follows from the answers; this module runs
//! the queries. The sizes of all sets that a filter names come from one statement, so they belong to one moment.

use futures_util::future::{try_join, try_join_all};
use gatehouse_core::counted_set::CountedSet;
use gatehouse_core::filter::access::AccessFilter;
use gatehouse_core::list::{
    self, Interval, NumberRun, NumberedSet, PlanAnswers, PlanQuestions, RowConditions, SetSize,
    Term, TermScope,
};
use gatehouse_core::time::span::TimeSpan;
use gatehouse_core::{TenantName, label};

use crate::access::lookup::{Lookup, missing};
use crate::counted_sets::page::{Bound, SetTerm};
use crate::counted_sets::row_source::{self, RowSource};
use crate::counts::counter;
use crate::db::Db;
use crate::error::StoreError;

/// Accesses that a search among the rows may look at, before conditions that no set decides are better combined with
/// sets: that needs all accesses of the tenant that meet them.
#[cfg(not(test))]
const FEW_ROWS: u64 = 100_000;
#[cfg(test)]
const FEW_ROWS: u64 = 40;

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

/// A filter's terms, and the facts that decide how their accesses are found.
///
/// The ways are tried in this order: [`Plan::runs`], [`Plan::sets`], [`Plan::rows`], which finds those of any filter.
pub(crate) struct Plan<'a> {
    pub(crate) lookup: Lookup<'a>,
    terms: Vec<Term>,
    answers: PlanAnswers,
}

impl<'a> Plan<'a> {
    /// Plans a search of the tenant's accesses; `None` when the tenant doesn't exist.
    pub(crate) async fn make(
        db: &'a Db,
        tenant: &'a TenantName,
        filter: &AccessFilter,
    ) -> Result<Option<Self>, StoreError> {
        let lookup = Lookup { db, tenant };
        let answers = answer(&lookup, list::questions(filter)).await?;
        if !answers.sizes.contains_key(&NumberedSet::Tenant) {
            return Ok(None);
        }
        Ok(Some(Self { terms: list::terms(filter, &answers), lookup, answers }))
    }

    /// The runs that hold exactly the accesses that the terms match; `None` where numbers don't decide that.
    pub(crate) async fn runs(&self) -> Result<Option<Vec<NumberRun>>, StoreError> {
        if !list::is_numbered(&self.terms) {
            return Ok(None);
        }
        let disjoint = list::disjoint(&self.terms);
        let spans =
            disjoint.iter().flat_map(|(scope, spans)| spans.iter().map(move |it| (scope, *it)));
        let pieces = spans.map(|(scope, span)| self.piece(scope, span));
        Ok(Some(list::runs(try_join_all(pieces).await?)))
    }

    /// The terms as counted sets, which may still be incomplete; `None` where a search among the rows is better or
    /// necessary.
    pub(crate) async fn sets(&self) -> Result<Option<Vec<SetTerm>>, StoreError> {
        if !list::are_sets_best(&self.terms) {
            return Ok(None);
        }
        let found = try_join_all(self.terms.iter().map(async |term| {
            let Some(sources) = row_source::sources_of(&term.rest) else { return Ok(None) };
            let set_term = self.set_term(term, sources).await?;
            Ok::<_, StoreError>(Some((set_term.n_candidates(self.size(term)), set_term)))
        }));
        let Some(found) = found.await?.into_iter().collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let n_candidates: u64 = found.iter().map(|(n, _)| n).sum();
        let set_terms: Vec<SetTerm> = found.into_iter().map(|(_, term)| term).collect();
        let has_sources = set_terms.iter().any(|term| !term.sources.is_empty());
        Ok(Some(set_terms).filter(|_| !has_sources || n_candidates > FEW_ROWS))
    }

    /// The running numbers that each term matches, with the conditions that their rows must meet.
    pub(crate) async fn rows(self) -> Result<Vec<Located>, StoreError> {
        try_join_all(self.terms.iter().map(async |term| {
            let (set, interval) = self.piece(&term.scope, term.created).await?;
            let labels = term.rest.labels.iter();
            let label_parts = labels.map(|(key, value)| label::stored_part(key, value.as_ref()));
            let rest = term.rest.clone();
            Ok(Located { set, interval, label_parts: label_parts.collect(), rest })
        }))
        .await
    }

    /// Number of accesses in a term's scope.
    fn size(&self, term: &Term) -> u64 {
        match &term.scope {
            TermScope::One(_) => 1,
            TermScope::Set(set) => self.answers.sizes.get(set).map_or(0, |size| size.total),
        }
    }

    /// A term as counted sets, with the interval of the tenant's running numbers that it is in.
    async fn set_term(&self, term: &Term, sources: Vec<RowSource>) -> Result<SetTerm, StoreError> {
        let mut sets = Vec::from_iter(term.rest.status.map(CountedSet::Status));
        sets.extend(term.rest.labels.iter().map(|(key, value)| match value {
            Some(value) => CountedSet::Label(key.clone(), value.clone()),
            None => CountedSet::LabelKey(key.clone()),
        }));
        let interval = match &term.scope {
            TermScope::One(number) => [Bound::At(number - 1), Bound::At(*number)],
            TermScope::Set(set) => {
                sets.extend(counted_set(set));
                let all = *self.answers.sizes.get(&NumberedSet::Tenant).ok_or_else(missing)?;
                let after = self.created_before(all, term.created.from);
                let to = self.created_before(all, term.created.until);
                let (after, to) = try_join(after, to).await?;
                [after, to]
            }
        };
        Ok(SetTerm { sets, sources, interval })
    }

    /// The tenant's last access that was created before this time.
    async fn created_before(&self, all: SetSize, time: i64) -> Result<Bound, StoreError> {
        if time == TimeSpan::ALWAYS.until {
            return Ok(Bound::At(u64::MAX));
        }
        let known = self.lookup.rank(&NumberedSet::Tenant, all, time).await?;
        let is_past = time <= all.latest_at.as_millisecond() || time == TimeSpan::ALWAYS.from;
        Ok(if is_past { Bound::At(known) } else { Bound::CreatedBefore { time, known } })
    }

    async fn piece(
        &self,
        scope: &TermScope,
        created: TimeSpan,
    ) -> Result<(NumberedSet, Interval), StoreError> {
        match scope {
            TermScope::One(number) => {
                Ok((NumberedSet::Tenant, Interval { after: number - 1, to: *number }))
            }
            TermScope::Set(set) => {
                let size = *self.answers.sizes.get(set).ok_or_else(missing)?;
                let after = self.lookup.rank(set, size, created.from);
                let to = self.lookup.rank(set, size, created.until);
                let (after, to) = try_join(after, to).await?;
                Ok((set.clone(), Interval { after, to }))
            }
        }
    }
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
