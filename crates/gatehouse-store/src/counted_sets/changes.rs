//! Changes of members: collected by a transaction, and written part by part.
//!
//! Parts are locked in one order: by set, then by number. The sums follow behind all parts.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use gatehouse_core::counted_set::runs::MemberChange;
use gatehouse_core::counted_set::{self, CountedSet, group_of, group_start, offset_of};
use gatehouse_core::{Access, TenantName};

use super::changed_parts::ChangedParts;
use super::label_build::{self, LabelBuild, LabelBuilds};
use super::part::{self, Part};
use super::position::{self, COMPLETE};
use crate::db::Tx;
use crate::error::StoreError;

/// A part that shrinks below this is joined with the next one, if both together are small.
const SMALL_BYTES: usize = 120;

/// Numbers within such a distance are almost always in one part.
const SHORT_NUMBERS: u64 = 1000;

/// Numbers that become members of sets, or stop being members.
#[derive(Default)]
pub(crate) struct SetChanges(BTreeMap<CountedSet, BTreeMap<u64, bool>>);

/// Change in the number of a set's members in a group.
struct SumChange<'s> {
    set: &'s CountedSet,
    group: u64,
    n: i64,
}

impl SetChanges {
    /// Adds a new access.
    pub(crate) fn add_new(&mut self, number: u64, access: &Access) {
        for set in counted_set::sets_of(access) {
            self.set(set, number, true);
        }
    }

    /// Adds a change of an access.
    pub(crate) fn change(&mut self, number: u64, before: &Access, after: &Access) {
        let (before, after) = (counted_set::sets_of(before), counted_set::sets_of(after));
        for left in before.iter().filter(|set| !after.contains(set)) {
            self.set(left.clone(), number, false);
        }
        for entered in after.into_iter().filter(|set| !before.contains(set)) {
            self.set(entered, number, true);
        }
    }

    /// Sets whether a number is a member of a set.
    pub(crate) fn set(&mut self, set: CountedSet, number: u64, is_member: bool) {
        self.0.entry(set).or_default().insert(number, is_member);
    }

    /// Whether nothing changes.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the changes, as far as the tenant's sets are built; locks the builder out.
    pub(crate) async fn write(&self, tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
        if self.is_empty() {
            return Ok(());
        }
        let built_to = position::lock_position(tx, tenant).await?;
        let has_labels = self.0.keys().any(|set| set.label_key().is_some());
        let labels = match has_labels {
            true => label_build::read_shared(tx, tenant).await?,
            false => LabelBuilds::new(),
        };
        let limit = |set: &CountedSet| match set.label_key().map(|key| labels.get(key)) {
            None => built_to,
            Some(Some(LabelBuild::BuiltTo(built_to))) => *built_to,
            // No set has number 0.
            Some(Some(LabelBuild::Deleting) | None) => 0,
        };
        self.write_up_to(tx, tenant, limit).await
    }

    /// Writes all changes, for the builder.
    pub(crate) async fn write_all(&self, tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
        self.write_up_to(tx, tenant, |_| COMPLETE).await
    }

    /// Writes the changes of numbers up to each set's limit.
    pub(crate) async fn write_up_to(
        &self,
        tx: &Tx,
        tenant: &TenantName,
        limit: impl Fn(&CountedSet) -> u64,
    ) -> Result<(), StoreError> {
        let mut sums = Vec::new();
        let sets =
            self.0.iter().map(|(set, numbers)| write_set(tx, tenant, set, numbers, limit(set)));
        if self.0.values().all(is_short) {
            // Sent together: the first locks are in order, and almost always the only ones. Where a part was split
            // meanwhile, or is joined with the next one, two transactions can deadlock; PostgreSQL ends one of them,
            // which is retried.
            sums.extend(try_join_all(sets).await?.into_iter().flatten());
        } else {
            for set in sets {
                sums.extend(set.await?);
            }
        }
        let sums = sums.into_iter().filter(|it| it.n != 0);
        try_join_all(sums.map(async |SumChange { set, group, n }| {
            part::add_to_sum(tx, tenant, set, group, n).await
        }))
        .await
        .map(drop)
    }
}

/// Whether all numbers are probably in one part.
fn is_short(numbers: &BTreeMap<u64, bool>) -> bool {
    let ends = numbers.first_key_value().zip(numbers.last_key_value());
    ends.is_none_or(|((first, _), (last, _))| last - first < SHORT_NUMBERS)
}

/// Changes a set's members part by part, in order of their numbers.
async fn write_set<'s>(
    tx: &Tx,
    tenant: &TenantName,
    set: &'s CountedSet,
    numbers: &BTreeMap<u64, bool>,
    built_to: u64,
) -> Result<Vec<SumChange<'s>>, StoreError> {
    let mut sums: Vec<SumChange<'s>> = Vec::new();
    let first_from = |number| numbers.range(number..).next().map(|(number, _)| *number);
    let scattered = match is_short(numbers) {
        true => Vec::new(),
        false => numbers.keys().copied().take_while(|number| *number <= built_to).collect(),
    };
    let mut parts = ChangedParts::lock(tx, tenant, set, scattered).await?;
    let mut next = first_from(0);
    while let Some(number) = next.filter(|number| *number <= built_to) {
        let mut part = parts.take(number).await?;
        let group = group_of(number);
        let in_part = |from: u64, part: &Part| {
            numbers.range(from..part.until).filter(move |(number, _)| **number <= built_to)
        };
        let changed = in_part(number, &part);
        let mut n = change_members(&mut part, changed);
        let is_shrinking = n < 0 && part.members.n_bytes() < SMALL_BYTES;
        if is_shrinking && part.until < group_start(group + 1) {
            let joined = part.until;
            parts.join_next(&mut part).await?;
            let changed = in_part(joined, &part);
            n += change_members(&mut part, changed);
        }
        next = first_from(part.until);
        parts.change(part);
        match sums.last_mut() {
            Some(sum) if sum.group == group => sum.n += n,
            _ => sums.push(SumChange { set, group, n }),
        }
    }
    parts.write().await?;
    Ok(sums)
}

/// Changes members, and returns by how many there are more.
fn change_members<'a>(part: &mut Part, numbers: impl Iterator<Item = (&'a u64, &'a bool)>) -> i64 {
    let changes: Vec<MemberChange> = numbers
        .map(|(number, is_member)| MemberChange {
            offset: offset_of(*number),
            is_member: *is_member,
        })
        .collect();
    let count = part.members.change(&changes);
    i64::from(count.n_added) - i64::from(count.n_removed)
}
