//! Comparing counted sets with the accesses themselves, group by group.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_core::counted_set::runs::Runs;
use gatehouse_core::counted_set::{
    self, CountedSet, GROUP_NUMBERS, group_of, group_start, offset_of,
};
use gatehouse_core::list::NumberedSet;
use gatehouse_core::{Access, TenantName};

use super::label_build::{self, LabelBuild, LabelBuilds};
use super::position::{self, COMPLETE};
use super::{kind, name};
use crate::access::{columns, read_numbered};
use crate::counts::counter;
use crate::db::{Row, Tx};
use crate::error::StoreError;

/// Most differences that are described; a damaged set could have one in every group.
const DESCRIBED_MAX: usize = 20;

/// Result of comparing a tenant's sets.
pub(crate) struct SetRecount {
    /// Number of sets compared, counted once in every group.
    pub(crate) n_compared: u64,
    /// Descriptions of the sets that differ.
    pub(crate) discrepancies: Vec<String>,
}

/// A set's members in one group as they are stored: parts, and their sum.
#[derive(Default)]
struct StoredSet {
    members: Runs,
    has_gap: bool,
    n_written: u64,
    sum: Option<u64>,
    /// Number behind the last part so far.
    until: Option<u64>,
}

/// Compares a tenant's sets with its accesses. Sets that are still being built are not compared.
pub(crate) async fn compare(tx: &Tx, tenant: &TenantName) -> Result<SetRecount, StoreError> {
    let mut recount = SetRecount { n_compared: 0, discrepancies: Vec::new() };
    if position::position(tx, tenant).await? != COMPLETE {
        return Ok(recount);
    }
    let counter = counter::get(tx, tenant, &NumberedSet::Tenant).await?;
    let last = group_of(counter.map_or(0, |counter| counter.total));
    let labels = LabelRecount::new(&label_build::read(tx, tenant).await?);
    for group in 0..=last {
        let mut expected = read_expected(tx, tenant, group, &labels).await?;
        let mut found = read_stored(tx, tenant, group).await?;
        found.retain(|(kind, name), _| !labels.is_unfinished(kind, name));
        for (set, stored) in found {
            recount.n_compared += 1;
            let members = expected.remove(&set).unwrap_or_default();
            recount.compare(&set, group, &stored, &members);
        }
        for (set, members) in expected {
            recount.n_compared += 1;
            recount.compare(&set, group, &StoredSet::default(), &members);
        }
    }
    Ok(recount)
}

/// The keys of labels whose sets are complete, and those whose sets are being built or deleted.
#[derive(Default)]
struct LabelRecount {
    complete: BTreeSet<String>,
    unfinished: BTreeSet<String>,
}

impl LabelRecount {
    fn new(builds: &LabelBuilds) -> Self {
        let mut recount = Self::default();
        for (key, build) in builds {
            let is_complete = *build == LabelBuild::BuiltTo(COMPLETE);
            let keys = if is_complete { &mut recount.complete } else { &mut recount.unfinished };
            keys.insert(key.to_string());
        }
        recount
    }

    /// Whether the accesses alone say which members the set must have.
    fn expects(&self, set: &CountedSet) -> bool {
        set.label_key().is_none_or(|key| self.complete.contains(key.as_str()))
    }

    /// Whether a set in the database may have any members for now.
    fn is_unfinished(&self, kind: &str, name: &str) -> bool {
        match kind {
            "label-key" => self.unfinished.contains(name),
            "label" => name.split_once('=').is_some_and(|(key, _)| self.unfinished.contains(key)),
            _ => false,
        }
    }
}

/// A set's kind and name in the database.
type SetKey = (String, String);

impl SetRecount {
    fn compare(&mut self, (kind, name): &SetKey, group: u64, stored: &StoredSet, found: &Runs) {
        let n_found = u64::from(found.len());
        let what = if stored.members != *found {
            format!("has other members than the {n_found} accesses that belong to it")
        } else if stored.has_gap {
            "has parts that leave out or repeat numbers".to_owned()
        } else if stored.n_written != n_found || stored.sum.unwrap_or_default() != n_found {
            let sum = stored.sum.unwrap_or_default();
            format!(
                "has {n_found} members, its parts say {}, and its sum is {sum}",
                stored.n_written
            )
        } else {
            return;
        };
        if self.discrepancies.len() < DESCRIBED_MAX {
            let from = group_start(group);
            let to = from + GROUP_NUMBERS - 1;
            self.discrepancies
                .push(format!("the set {kind} {name}, numbers {from} to {to}: {what}"));
        }
    }
}

async fn read_expected(
    tx: &Tx,
    tenant: &TenantName,
    group: u64,
    labels: &LabelRecount,
) -> Result<BTreeMap<SetKey, Runs>, StoreError> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM access WHERE tenant = ?1 AND number >= ?2 AND number < ?3 ORDER BY number"
    );
    let start = group_start(group);
    let values = [tenant.as_str().into(), start.into(), (start + GROUP_NUMBERS).into()];
    let mut members: BTreeMap<SetKey, Vec<u32>> = BTreeMap::new();
    let add = |row: &Row<'_>| {
        let (number, access): (u64, Access) = read_numbered(row)?;
        for set in counted_set::sets_of(&access).into_iter().filter(|set| labels.expects(set)) {
            let key = (kind(&set).to_owned(), name(&set).into_owned());
            members.entry(key).or_default().push(offset_of(number));
        }
        Ok(())
    };
    tx.rows(sql, &values, add).await?;
    Ok(members.into_iter().map(|(set, members)| (set, Runs::of_sorted(members))).collect())
}

async fn read_stored(
    tx: &Tx,
    tenant: &TenantName,
    group: u64,
) -> Result<BTreeMap<SetKey, StoredSet>, StoreError> {
    let mut sets: BTreeMap<SetKey, StoredSet> = BTreeMap::new();
    let start = group_start(group);
    let end = start + GROUP_NUMBERS;
    let sql = "SELECT kind, name, n FROM set_sum WHERE tenant = ?1 AND grp = ?2";
    let read = |row: &Row<'_>| {
        let stored = StoredSet { sum: Some(row.count(2)?), ..StoredSet::default() };
        sets.insert((row.text(0)?, row.text(1)?), stored);
        Ok(())
    };
    tx.rows(sql, &[tenant.as_str().into(), group.into()], read).await?;
    let sql = "SELECT kind, name, first, until, n, bits FROM set_part WHERE tenant = ?1 \
               AND first >= ?2 AND first < ?3 ORDER BY kind, name, first";
    let read = |row: &Row<'_>| {
        let stored = sets.entry((row.text(0)?, row.text(1)?)).or_default();
        let (first, until) = (row.count(2)?, row.count(3)?);
        let members = Runs::decode(&row.bytes(5)?).map_err(StoreError::corrupt)?;
        let in_stretch = |it: u32| (first..until).contains(&(start + u64::from(it)));
        let bounds = members.runs().first().zip(members.runs().last());
        let is_inside = bounds.is_none_or(|(a, b)| in_stretch(a.start) && in_stretch(b.end - 1));
        stored.has_gap |= first != stored.until.unwrap_or(start) || !is_inside;
        stored.until = Some(until);
        stored.n_written += row.count(4)?;
        stored.members.append(&members);
        Ok(())
    };
    tx.rows(sql, &[tenant.as_str().into(), start.into(), end.into()], read).await?;
    for stored in sets.values_mut() {
        stored.has_gap |= stored.until.is_some_and(|until| until != end);
    }
    Ok(sets)
}
