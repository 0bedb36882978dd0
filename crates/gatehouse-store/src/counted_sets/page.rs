//! Pages of lists by what changes: counted sets are combined group by group.
//!
//! One snapshot reads everything: the sums, the parts and the rows belong to one moment. A group in which an
//! alternative has no members is skipped by the sums alone, and so is the count of a group that one set decides. Parts
//! are read for the other groups, and for those that the page's accesses are in.
//!
//! An access whose end has come is TERMINATED before that is stored. Such accesses are few most of the time; they are
//! taken out of the set of their stored status and put into that of the TERMINATED ones.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use futures_util::future::{try_join, try_join_all};
use gatehouse_core::counted_set::bitmap::Bitmap;
use gatehouse_core::counted_set::runs::Run;
use gatehouse_core::counted_set::{CountedSet, GROUP_NUMBERS, group_of, group_start, offset_of};
use gatehouse_core::list::request::{ListOrder, ListRequest};
use gatehouse_core::list::{Interval, NumberedSet};
use gatehouse_core::{Access, AccessId, Page, PageRequest, Status, TenantName, Timestamp};

use super::label_build::{self, LabelBuild};
use super::part_reader::{self, PartReader};
use super::position::{self, COMPLETE};
use super::row_source::{RowSource, SourceMembers};
use super::{kind, name};
use crate::Store;
use crate::access::bulk;
use crate::counts::counter;
use crate::db::{Row, SnapshotFor, Tx};
use crate::error::StoreError;

/// Accesses that one alternative of a filter selects: those that belong to all of the sets, in an interval of the
/// tenant's running numbers.
#[derive(Clone, Debug)]
pub(crate) struct SetTerm {
    pub(crate) sets: Vec<CountedSet>,
    /// Conditions that no set decides.
    pub(crate) sources: Vec<RowSource>,
    /// Where the interval ends before its first number, and where it ends.
    pub(crate) interval: [Bound; 2],
}

impl SetTerm {
    /// Most accesses that a search among the rows of a set of this size would look at.
    pub(crate) fn n_candidates(&self, size: u64) -> u64 {
        match self.interval {
            [Bound::At(after), Bound::At(to)] => size.min(to.saturating_sub(after)),
            _ => size,
        }
    }
}

/// A bound of an interval of running numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// This number.
    At(u64),
    /// The last access that was created before this time, in milliseconds. It is known that the accesses up to this
    /// number were; others may have been created since.
    CreatedBefore { time: i64, known: u64 },
}

/// A page that counted sets have found.
pub(crate) struct SetPage {
    pub(crate) page: Page<Access>,
    /// When the statuses were as the page has them.
    pub(crate) at: Timestamp,
}

impl Store {
    /// A page of the accesses that any of the terms selects; `None` while the tenant's sets are not complete.
    pub(crate) async fn set_page(
        &self,
        tenant: &TenantName,
        terms: Vec<SetTerm>,
        request: ListRequest,
    ) -> Result<Option<SetPage>, StoreError> {
        let name = tenant.clone();
        let found = self.db.snapshot(caller(tenant, &terms), async move |tx| {
            let Some((members, terms)) = open(&tx, &name, &terms).await? else {
                return Ok(None);
            };
            let (total, numbers) = members.window(&terms, request).await?;
            let n_members = numbers.len();
            let items = bulk::read_accesses(&tx, &name, numbers).await?;
            if items.len() != n_members {
                return Err(StoreError::corrupt("a counted set has an access that doesn't exist"));
            }
            let items = request.arrange(items.into_iter().map(|(_, access)| access).collect());
            let page = Page { request: request.page, items, total };
            Ok(Some(SetPage { page, at: members.now }))
        });
        found.await
    }

    /// The number of accesses that any of the terms selects, and their identifiers if they are at most `n_max`; `None`
    /// while the tenant's sets are not complete.
    pub(crate) async fn matching_of_sets(
        &self,
        tenant: &TenantName,
        terms: Vec<SetTerm>,
        n_max: u64,
    ) -> Result<Option<(u64, Vec<AccessId>)>, StoreError> {
        let name = tenant.clone();
        let found = self.db.snapshot(caller(tenant, &terms), async move |tx| {
            let Some((members, terms)) = open(&tx, &name, &terms).await? else {
                return Ok(None);
            };
            let all = ListRequest::from(PageRequest { number: 1, size: n_max });
            let (total, numbers) = members.window(&terms, all).await?;
            let ids = match total > n_max {
                true => Vec::new(),
                false => bulk::read_ids(&tx, &name, numbers).await?,
            };
            Ok(Some((total, ids)))
        });
        found.await
    }
}

/// A request that reads rows one by one waits behind others that do.
fn caller<'t>(tenant: &'t TenantName, terms: &[SetTerm]) -> SnapshotFor<'t> {
    match terms.iter().all(|term| term.sources.is_empty()) {
        true => SnapshotFor::Tenant(tenant),
        false => SnapshotFor::Scan(tenant),
    }
}

/// The sets' members and the terms' intervals in this snapshot; `None` while the sets are not complete.
async fn open<'a>(
    tx: &'a Tx,
    tenant: &'a TenantName,
    terms: &'a [SetTerm],
) -> Result<Option<(Members<'a>, Vec<LocatedTerm<'a>>)>, StoreError> {
    if !are_complete(tx, tenant, terms).await? {
        return Ok(None);
    }
    let members = Members::read(tx, tenant, terms).await?;
    let located = members.locate(terms).await?;
    Ok(Some((members, located)))
}

/// Whether all sets of the terms are built.
async fn are_complete(tx: &Tx, tenant: &TenantName, terms: &[SetTerm]) -> Result<bool, StoreError> {
    if terms.iter().all(|term| term.sets.is_empty()) {
        return Ok(true);
    }
    let mut keys = terms.iter().flat_map(|term| &term.sets).filter_map(CountedSet::label_key);
    let is_built = position::position(tx, tenant).await? == COMPLETE;
    let Some(first) = keys.next().filter(|_| is_built) else { return Ok(is_built) };
    let builds = label_build::read(tx, tenant).await?;
    let is_complete = |key| builds.get(key) == Some(&LabelBuild::BuiltTo(COMPLETE));
    Ok(is_complete(first) && keys.all(is_complete))
}

/// A term whose interval is known.
struct LocatedTerm<'t> {
    sets: &'t [CountedSet],
    /// Members of the sources, as positions among those that were read.
    sources: Vec<usize>,
    interval: Interval,
}

/// Sizes of the terms' sets and overdue ends, read before any part.
struct Members<'a> {
    tx: &'a Tx,
    tenant: &'a TenantName,
    now: Timestamp,
    /// The tenant's last running number.
    last: u64,
    /// Stored status of accesses whose end has come, by number.
    ended: BTreeMap<u64, Status>,
    /// Members of the terms' sources.
    sources: Vec<(RowSource, SourceMembers)>,
    /// Number of members by group.
    sums: HashMap<CountedSet, BTreeMap<u64, u64>>,
}

impl<'a> Members<'a> {
    async fn read(
        tx: &'a Tx,
        tenant: &'a TenantName,
        terms: &[SetTerm],
    ) -> Result<Self, StoreError> {
        let counter = counter::get(tx, tenant, &NumberedSet::Tenant);
        let (now, counter) = try_join(tx.now(), counter).await?;
        let mut sets: Vec<&CountedSet> = terms.iter().flat_map(|term| &term.sets).collect();
        sets.sort_unstable();
        sets.dedup();
        let has_status = sets.iter().any(|set| matches!(set, CountedSet::Status(_)));
        let sums = try_join_all(sets.into_iter().map(|set| read_sums(tx, tenant, set)));
        let ended = async {
            if has_status { read_ended(tx, tenant, now).await } else { Ok(BTreeMap::new()) }
        };
        let (sums, ended) = try_join(sums, ended).await?;
        let mut sums: HashMap<_, _> = sums.into_iter().collect();
        for (number, status) in &ended {
            let group = group_of(*number);
            if let Some(of_status) = sums.get_mut(&CountedSet::Status(*status)) {
                of_status.entry(group).and_modify(|n: &mut u64| *n = n.saturating_sub(1));
            }
            if let Some(terminated) = sums.get_mut(&CountedSet::Status(Status::Terminated)) {
                *terminated.entry(group).or_default() += 1;
            }
        }
        let last = counter.map_or(0, |counter| counter.total);
        let mut sources: Vec<(RowSource, SourceMembers)> = Vec::new();
        for source in terms.iter().flat_map(|term| &term.sources) {
            if !sources.iter().any(|(read, _)| read == source) {
                sources.push((source.clone(), SourceMembers::read(tx, tenant, source).await?));
            }
        }
        Ok(Self { tx, tenant, now, last, ended, sources, sums })
    }

    /// Finds the intervals of the terms in this snapshot.
    async fn locate<'t>(&self, terms: &'t [SetTerm]) -> Result<Vec<LocatedTerm<'t>>, StoreError> {
        let mut located = Vec::with_capacity(terms.len());
        for SetTerm { sets, sources, interval: [after, to] } in terms {
            let (after, to) = (self.number_at(*after).await?, self.number_at(*to).await?);
            let position = |source| self.sources.iter().position(|(read, _)| read == source);
            let sources = sources.iter().filter_map(position).collect();
            located.push(LocatedTerm { sets, sources, interval: Interval { after, to } });
        }
        Ok(located)
    }

    async fn number_at(&self, bound: Bound) -> Result<u64, StoreError> {
        match bound {
            Bound::At(number) => Ok(number),
            Bound::CreatedBefore { known, .. } if known >= self.last => Ok(known),
            Bound::CreatedBefore { time, known } => {
                let sql = "SELECT COUNT(*) FROM access WHERE tenant = ?1 AND number > ?2 \
                           AND created_at < ?3";
                let values = [self.tenant.as_str().into(), known.into(), time.into()];
                let n_since = self.tx.row(sql, &values, |row| row.count(0)).await?;
                Ok(known + n_since.unwrap_or_default())
            }
        }
    }

    /// The number of accesses that the terms select, and the numbers of those on the page. Without a wanted total it
    /// ends with the group that shows whether another page follows.
    async fn window(
        &self,
        terms: &[LocatedTerm<'_>],
        request: ListRequest,
    ) -> Result<(u64, Vec<u64>), StoreError> {
        let page = request.page;
        let (begin, end) = (page.offset(), page.offset().saturating_add(page.size));
        let (mut total, mut numbers) = (0, Vec::new());
        let mut parts = PartReader::new(self.last);
        for group in groups(group_of(self.last), request.order) {
            if !request.with_total && total > end {
                break;
            }
            let candidates: Vec<&LocatedTerm<'_>> =
                terms.iter().filter(|term| self.may_select(term, group)).collect();
            if candidates.is_empty() {
                continue;
            }
            let known = self.known_count(&candidates, group);
            // The page's part of this group.
            let is_on_page = |n: u64| total < end && total + n > begin;
            let bitmap = match known {
                Some(n) if !is_on_page(n) => None,
                // Where no sums tell the total, the next groups are needed as well.
                None if request.with_total => {
                    let ahead = |set: &_| self.groups_ahead(terms, set, group, request.order);
                    Some(self.bitmap(&candidates, group, &mut parts, ahead).await?)
                }
                _ => {
                    let one = |_: &_| group..=group;
                    Some(self.bitmap(&candidates, group, &mut parts, one).await?)
                }
            };
            let n = bitmap.as_ref().map_or(known.unwrap_or_default(), Bitmap::len);
            if let Some(bitmap) = bitmap.filter(|_| is_on_page(n)) {
                let (from, to) = (begin.saturating_sub(total), n.min(end - total));
                let n_before = match request.order {
                    ListOrder::OldestFirst => from,
                    ListOrder::NewestFirst => n - to,
                };
                let members = bitmap.members(n_before, to - from);
                numbers.extend(members.into_iter().map(|it| group_start(group) + u64::from(it)));
            }
            total += n;
        }
        numbers.sort_unstable();
        Ok((total, numbers))
    }

    /// The tenant's numbers in a group.
    fn numbers_in(&self, group: u64) -> Interval {
        part_reader::numbers_in(group, self.last)
    }

    /// The numbers of a group that a term's interval has.
    fn clipped(&self, term: &LocatedTerm<'_>, group: u64) -> Interval {
        let all = self.numbers_in(group);
        Interval { after: all.after.max(term.interval.after), to: all.to.min(term.interval.to) }
    }

    fn may_select(&self, term: &LocatedTerm<'_>, group: u64) -> bool {
        let has_members = |set: &CountedSet| self.sum(set, group) > 0;
        !self.clipped(term, group).is_empty()
            && term.sets.iter().all(has_members)
            && term.sources.iter().all(|source| self.of_source(*source, group).is_some())
    }

    /// Whether every access of a group is in the set.
    fn has_all(&self, set: &CountedSet, group: u64) -> bool {
        self.sum(set, group) == self.numbers_in(group).len()
    }

    /// Whether so many accesses of these groups are in the set that the others are stored in fewer bytes: a part needs
    /// a bit for each number at most, and a byte for most scattered members.
    fn has_most(&self, set: &CountedSet, groups: RangeInclusive<u64>) -> bool {
        let all: u64 = groups.clone().map(|group| self.numbers_in(group).len()).sum();
        let in_set: u64 = groups.map(|group| self.sum(set, group)).sum();
        all.saturating_sub(in_set) < all / 8
    }

    fn sum(&self, set: &CountedSet, group: u64) -> u64 {
        self.sums.get(set).and_then(|sums| sums.get(&group)).copied().unwrap_or_default()
    }

    /// The members of a source in a group; `None` where there are none.
    fn of_source(&self, source: usize, group: u64) -> Option<&Bitmap> {
        self.sources[source].1.of_group(group)
    }

    /// The number of accesses that any of the terms selects in a group, where the sums tell: if each is decided by one
    /// set, and no access can be in two of these.
    fn known_count(&self, terms: &[&LocatedTerm<'_>], group: u64) -> Option<u64> {
        if let [one] = terms
            && one.sources.is_empty()
            && one.sets.iter().all(|set| self.has_all(set, group))
        {
            return Some(self.clipped(one, group).len());
        }
        let mut deciding: Vec<&CountedSet> = Vec::new();
        for term in terms {
            let mut sets = term.sets.iter().filter(|set| !self.has_all(set, group));
            let (Some(set), None) = (sets.next(), sets.next()) else { return None };
            if !term.sources.is_empty() || self.clipped(term, group) != self.numbers_in(group) {
                return None;
            }
            if !deciding.contains(&set) {
                deciding.push(set);
            }
        }
        let (first, others) = deciding.split_first()?;
        let are_disjoint = others.iter().all(|set| set.excludes(first));
        are_disjoint.then(|| deciding.iter().map(|set| self.sum(set, group)).sum())
    }

    /// The accesses of a group that any of the terms selects. `groups` says which groups of a set to read with this one.
    async fn bitmap(
        &self,
        terms: &[&LocatedTerm<'_>],
        group: u64,
        parts: &mut PartReader,
        groups: impl Fn(&CountedSet) -> RangeInclusive<u64>,
    ) -> Result<Bitmap, StoreError> {
        let mut sets: HashMap<&CountedSet, Bitmap> = HashMap::new();
        for set in terms.iter().flat_map(|term| term.sets) {
            if !sets.contains_key(set) && !self.has_all(set, group) {
                let groups = || {
                    let groups = groups(set);
                    (groups.clone(), self.has_most(set, groups))
                };
                let mut members = parts.read(self.tx, self.tenant, set, group, groups).await?;
                self.lay_ends_over(set, group, &mut members);
                if members.len() != self.sum(set, group) {
                    return Err(StoreError::corrupt(
                        "a counted set has more or fewer members than its sum",
                    ));
                }
                sets.insert(set, members);
            }
        }
        let mut selected = Bitmap::default();
        for term in terms {
            let mut members = Bitmap::default();
            members.insert(part_reader::run_of(self.clipped(term, group)));
            for bitmap in term.sets.iter().filter_map(|set| sets.get(set)) {
                members.intersect(bitmap);
            }
            for source in &term.sources {
                match self.of_source(*source, group) {
                    Some(of_source) => members.intersect(of_source),
                    None => members.clear(),
                }
            }
            selected.unite(&members);
        }
        Ok(selected)
    }

    /// Corrects a set's stored members in a group by the accesses whose end has come.
    fn lay_ends_over(&self, set: &CountedSet, group: u64, members: &mut Bitmap) {
        let CountedSet::Status(status) = set else { return };
        let start = group_start(group);
        for (number, stored) in self.ended.range(start..start + GROUP_NUMBERS) {
            let offset = offset_of(*number);
            match *status {
                Status::Terminated => members.insert(Run { start: offset, end: offset + 1 }),
                status if status == *stored => members.remove_one(offset),
                _ => {}
            }
        }
    }

    /// This group, and the next ones in the list's order in which the terms need the set, without a gap.
    fn groups_ahead(
        &self,
        terms: &[LocatedTerm<'_>],
        set: &CountedSet,
        group: u64,
        order: ListOrder,
    ) -> RangeInclusive<u64> {
        let next = |n: u64| match order {
            ListOrder::OldestFirst => Some(group + n).filter(|it| *it <= group_of(self.last)),
            ListOrder::NewestFirst => group.checked_sub(n),
        };
        let is_needed = |group: &u64| {
            let needs =
                |term: &LocatedTerm<'_>| term.sets.contains(set) && self.may_select(term, *group);
            !self.has_all(set, *group) && terms.iter().any(needs)
        };
        let ahead = (1..part_reader::GROUPS_MAX).map_while(next).take_while(is_needed);
        let furthest = ahead.last().unwrap_or(group);
        group.min(furthest)..=group.max(furthest)
    }
}

/// The groups up to the last one, in the order of the list.
fn groups(last: u64, order: ListOrder) -> impl Iterator<Item = u64> {
    (0..=last).map(move |n| match order {
        ListOrder::OldestFirst => n,
        ListOrder::NewestFirst => last - n,
    })
}

async fn read_sums(
    tx: &Tx,
    tenant: &TenantName,
    set: &CountedSet,
) -> Result<(CountedSet, BTreeMap<u64, u64>), StoreError> {
    let sql = "SELECT grp, n FROM set_sum WHERE tenant = ?1 AND kind = ?2 AND name = ?3";
    let name = name(set);
    let values = [tenant.as_str().into(), kind(set).into(), name.as_ref().into()];
    let sums = tx.rows(sql, &values, |row| Ok((row.count(0)?, row.count(1)?))).await?;
    Ok((set.clone(), sums.into_iter().collect()))
}

/// Accesses whose end has come and whose expiry is not stored yet, with their stored statuses.
async fn read_ended(
    tx: &Tx,
    tenant: &TenantName,
    now: Timestamp,
) -> Result<BTreeMap<u64, Status>, StoreError> {
    // By contract, because that is how the index of ends begins.
    let sql = "SELECT a.number, a.status FROM contract c CROSS JOIN access a \
               WHERE c.tenant = ?1 AND a.tenant = ?1 AND a.contract_id = c.id \
               AND a.status <> 'TERMINATED' AND a.end_at <= ?2";
    let read = |row: &Row<'_>| {
        let status = Status::from_word(row.text_ref(1)?);
        let status = status.ok_or_else(|| StoreError::corrupt("an unknown status of an access"));
        Ok((row.count(0)?, status?))
    };
    let ended = tx.rows(sql, &[tenant.as_str().into(), now.into()], read).await?;
    Ok(ended.into_iter().collect())
}
