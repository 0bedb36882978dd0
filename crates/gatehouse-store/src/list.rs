//! Lists of accesses: a filter and a page become intervals of running numbers, read by index.
//!
//! What is asked, and what becomes of it, `gatehouse_core::list` decides; here it is looked up. The
//! sizes of all sets that a filter names come from one statement, so they belong to one moment. What
//! they count never changes its place afterwards, so everything else may be read one by one.

use futures_util::future::try_join_all;
use gatehouse_core::filter::access::AccessFilter;
use gatehouse_core::list::{self, Answers, Interval, Path, Questions, Reach, Run, Set, Size, Term};
use gatehouse_core::selection::{Probe, Selection};
use gatehouse_core::span::Span;
use gatehouse_core::{Access, Page, PageRequest, TenantName, Username};

use crate::Store;
use crate::access::{columns, read_numbered};
use crate::counter;
use crate::db::{Db, Value};
use crate::error::StoreError;

/// A page of accesses, and how it was found.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The page, oldest first.
    pub page: Page<Access>,
    /// How it was found.
    pub path: Path,
}

impl Store {
    /// A page of the accesses that pass `filter`; `None` when there is no such tenant.
    pub async fn accesses(
        &self,
        tenant: &TenantName,
        filter: &AccessFilter,
        request: PageRequest,
    ) -> Result<Option<Listed>, StoreError> {
        let lookup = Lookup { db: &self.db, tenant };
        let answers = lookup.answer(list::questions(filter)).await?;
        if !answers.sizes.contains_key(&Set::Tenant) {
            return Ok(None);
        }
        let terms = list::terms(filter, &answers);
        let listed = if list::is_numbered(&terms) {
            lookup.page_of_runs(lookup.runs(&terms, &answers).await?, request).await?
        } else {
            let located = lookup.locate(terms, &answers).await?;
            let page = self.count_page(tenant, located, request).await?;
            Listed { page, path: Path::Counted }
        };
        Ok(Some(listed))
    }
}

/// Reads what is asked about one tenant's accesses.
struct Lookup<'a> {
    db: &'a Db,
    tenant: &'a TenantName,
}

impl Lookup<'_> {
    async fn answer(&self, questions: Questions) -> Result<Answers, StoreError> {
        let sizes = counter::sizes(self.db, self.tenant, &questions.sizes).await?;
        let firsts = questions.firsts.into_iter().filter(|set| sizes.contains_key(set));
        let firsts = try_join_all(firsts.map(async |set| {
            let first = self.rows(&set, Interval { after: 0, to: 1 }).await?;
            Ok::<_, StoreError>(first.into_iter().next().map(|(_, access)| (set, access)))
        }));
        let by_username = try_join_all(questions.usernames.iter().map(|it| self.by_username(it)));
        let firsts = firsts.await?.into_iter().flatten().collect();
        let by_username = by_username.await?.into_iter().flatten();
        let by_username = by_username.map(|found| (found.1.username.clone(), found)).collect();
        Ok(Answers { sizes, firsts, by_username })
    }

    async fn by_username(&self, username: &Username) -> Result<Option<(u64, Access)>, StoreError> {
        let sql =
            concat!("SELECT ", columns!(), " FROM access WHERE tenant = ?1 AND username = ?2");
        let values = [self.tenant.as_str().into(), username.as_str().into()];
        self.db.row(sql, &values, read_numbered).await
    }

    /// The runs that hold exactly what the terms reach.
    async fn runs(&self, terms: &[Term], answers: &Answers) -> Result<Vec<Run>, StoreError> {
        let mut pieces = Vec::new();
        for (reach, spans) in list::disjoint(terms) {
            pieces.extend(
                try_join_all(spans.iter().map(|it| self.piece(&reach, *it, answers))).await?,
            );
        }
        Ok(list::runs(pieces))
    }

    /// Each term with the running numbers that it reaches.
    async fn locate(
        &self,
        terms: Vec<Term>,
        answers: &Answers,
    ) -> Result<Vec<Located>, StoreError> {
        try_join_all(terms.into_iter().map(async |term| {
            let (set, interval) = self.piece(&term.reach, term.created, answers).await?;
            Ok(Located { set, interval, rest: term.rest })
        }))
        .await
    }

    async fn piece(
        &self,
        reach: &Reach,
        created: Span,
        answers: &Answers,
    ) -> Result<(Set, Interval), StoreError> {
        match reach {
            Reach::One(number) => Ok((Set::Tenant, Interval { after: number - 1, to: *number })),
            Reach::Set(set) => {
                let nothing = Interval { after: 0, to: 0 };
                let Some(size) = answers.sizes.get(set) else { return Ok((set.clone(), nothing)) };
                let after = self.rank(set, *size, created.from).await?;
                let to = self.rank(set, *size, created.until).await?;
                Ok((set.clone(), Interval { after, to }))
            }
        }
    }

    /// How many of a set's accesses were made before this millisecond.
    ///
    /// Creation times rise with the numbers, so halving finds it, and an index of these times would
    /// only cost whoever makes an access.
    async fn rank(&self, set: &Set, size: Size, before: i64) -> Result<u64, StoreError> {
        macro_rules! search {
            ($of:literal, $number:literal) => {
                concat!(
                    "WITH RECURSIVE search (low, high) AS (\
                     SELECT CAST(0 AS BIGINT), CAST(?2 AS BIGINT) UNION ALL \
                     SELECT CASE WHEN a.created_at < ?3 THEN a.",
                    $number,
                    " ELSE s.low END, \
                     CASE WHEN a.created_at < ?3 THEN s.high ELSE a.",
                    $number,
                    " - 1 END \
                     FROM search s JOIN access a ON a.tenant = ?1",
                    $of,
                    " AND a.",
                    $number,
                    " = (s.low + s.high + 1) / 2 WHERE s.low < s.high) \
                     SELECT low FROM search WHERE low = high"
                )
            };
        }
        if before == i64::MIN {
            return Ok(0);
        }
        if before > size.latest_at.as_millisecond() {
            return Ok(size.total);
        }
        let sql = per_set!(set, search);
        let head = [self.tenant.as_str().into(), size.total.into(), before.into()];
        let found =
            with_key(set, head, async |values| self.db.row(sql, values, |row| row.count(0)).await);
        found.await?.ok_or_else(|| StoreError::corrupt("an access is missing in its set"))
    }

    /// The accesses of a set that have these running numbers, with their numbers in the tenant.
    async fn rows(&self, set: &Set, interval: Interval) -> Result<Vec<(u64, Access)>, StoreError> {
        macro_rules! rows {
            ($of:literal, $number:literal) => {
                concat!(
                    "SELECT ",
                    columns!(),
                    " FROM access a WHERE a.tenant = ?1",
                    $of,
                    " AND a.",
                    $number,
                    " > ?2 AND a.",
                    $number,
                    " <= ?3 ORDER BY a.",
                    $number
                )
            };
        }
        let sql = per_set!(set, rows);
        let head = [self.tenant.as_str().into(), interval.after.into(), interval.to.into()];
        with_key(set, head, async |values| self.db.rows(sql, values, read_numbered).await).await
    }

    /// Only the numbers in the tenant, which lie in the set's own index.
    async fn numbers(&self, set: &Set, interval: Interval) -> Result<Vec<u64>, StoreError> {
        macro_rules! numbers {
            ($of:literal, $number:literal) => {
                concat!(
                    "SELECT a.number FROM access a WHERE a.tenant = ?1",
                    $of,
                    " AND a.",
                    $number,
                    " > ?2 AND a.",
                    $number,
                    " <= ?3 ORDER BY a.",
                    $number
                )
            };
        }
        let sql = per_set!(set, numbers);
        let head = [self.tenant.as_str().into(), interval.after.into(), interval.to.into()];
        with_key(set, head, async |values| self.db.rows(sql, values, |row| row.count(0)).await)
            .await
    }

    async fn page_of_runs(
        &self,
        runs: Vec<Run>,
        request: PageRequest,
    ) -> Result<Listed, StoreError> {
        let total = runs.iter().map(Run::len).sum();
        let window = Interval {
            after: request.offset().min(total),
            to: request.offset().saturating_add(request.size).min(total),
        };
        let path = if runs.len() > 1 { Path::Merged } else { Path::Interval };
        let slices = match &runs[..] {
            _ if window.is_empty() => Vec::new(),
            [run] => vec![(run, window)],
            _ => self.slices(&runs, window).await?,
        };
        let intervals = slices.into_iter().flat_map(|(run, slice)| {
            run.slice(slice).into_iter().map(|interval| (&run.set, interval))
        });
        let rows = try_join_all(intervals.map(|(set, interval)| self.rows(set, interval))).await?;
        let mut rows: Vec<(u64, Access)> = rows.into_iter().flatten().collect();
        if path == Path::Merged {
            rows.sort_unstable_by_key(|(number, _)| *number);
        }
        let items = rows.into_iter().map(|(_, access)| access).collect();
        Ok(Listed { page: Page { request, items, total }, path })
    }

    /// Which positions of each run are in the window over all of them together.
    async fn slices<'r>(
        &self,
        runs: &'r [Run],
        window: Interval,
    ) -> Result<Vec<(&'r Run, Interval)>, StoreError> {
        let lengths: Vec<u64> = runs.iter().map(Run::len).collect();
        let mut selection = Selection::new(&lengths, window.after);
        loop {
            let probes = selection.probes();
            if probes.is_empty() {
                break;
            }
            let numbers = try_join_all(probes.iter().map(|probe| self.probe(runs, *probe))).await?;
            for (probe, number) in probes.into_iter().zip(numbers) {
                selection.learn(probe, number);
            }
        }
        // From there on, whichever number comes next.
        let begin = selection.counts();
        let ahead = runs.iter().zip(&begin).map(async |(run, after)| {
            let to = run.len().min(after + window.len());
            let slices = run.slice(Interval { after: *after, to });
            let numbers = slices.into_iter().map(|interval| self.numbers(&run.set, interval));
            Ok::<_, StoreError>(try_join_all(numbers).await?.concat())
        });
        let ahead = try_join_all(ahead).await?;
        let mut next: Vec<u64> = ahead.iter().flatten().copied().collect();
        next.sort_unstable();
        next.truncate(usize::try_from(window.len()).unwrap_or(usize::MAX));
        let last = next.last().copied().unwrap_or_default();
        let slices = runs.iter().zip(begin).zip(ahead).map(|((run, after), numbers)| {
            let n_taken = numbers.iter().take_while(|number| **number <= last).count();
            (run, Interval { after, to: after + n_taken as u64 })
        });
        Ok(slices.collect())
    }

    async fn probe(&self, runs: &[Run], probe: Probe) -> Result<u64, StoreError> {
        let run = &runs[probe.run];
        let position = Interval { after: probe.position - 1, to: probe.position };
        let missing = || StoreError::corrupt("an access is missing in its set");
        let interval = run.slice(position).into_iter().next().ok_or_else(missing)?;
        self.numbers(&run.set, interval).await?.into_iter().next().ok_or_else(missing)
    }
}

/// A term with the running numbers that it reaches.
pub(crate) struct Located {
    pub(crate) set: Set,
    pub(crate) interval: Interval,
    pub(crate) rest: list::Rest,
}

/// A statement for each kind of set, made by a macro of what makes an access a member (by `?4`) and
/// of the column with its running number.
macro_rules! per_set {
    ($set:expr, $sql:ident) => {
        match $set {
            Set::Tenant => $sql!("", "number"),
            Set::Offering(_) => $sql!(" AND a.offering_id = ?4", "offering_number"),
            Set::Contract(_) => $sql!(" AND a.contract_id = ?4", "contract_number"),
            Set::Job(_) => $sql!(" AND a.job = ?4", "job_number"),
        }
    };
}
use per_set;

/// Calls with three values and, behind them, the one that names the set.
async fn with_key<T>(
    set: &Set,
    head: [Value<'_>; 3],
    call: impl AsyncFnOnce(&[Value<'_>]) -> T,
) -> T {
    let mut values = head.to_vec();
    values.extend(key(set));
    call(&values).await
}

/// What names a set among those of its kind, as the access's own column holds it.
pub(crate) fn key(set: &Set) -> Option<Value<'_>> {
    match set {
        Set::Tenant => None,
        Set::Offering(id) => Some(id.as_str().into()),
        Set::Contract(id) => Some(id.as_str().into()),
        Set::Job(id) => Some(id.as_bytes().as_slice().into()),
    }
}
