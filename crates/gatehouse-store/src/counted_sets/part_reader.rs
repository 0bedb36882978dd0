//! Reads the parts of counted sets: of one group, or of several at once where a page needs them all.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use gatehouse_core::counted_set::bitmap::Bitmap;
use gatehouse_core::counted_set::runs::{Run, Runs};
use gatehouse_core::counted_set::{CountedSet, GROUP_NUMBERS, group_of, group_start, offset_of};
use gatehouse_core::list::Interval;
use gatehouse_core::{Status, TenantName};

use super::{kind, name};
use crate::db::{Row, Tx, Value};
use crate::error::StoreError;

/// Groups that one statement reads at most; each statement costs as much as some parts.
pub(crate) const GROUPS_MAX: u64 = 8;

/// The stored members of sets, by group, that were read with those of another group.
pub(crate) struct PartReader {
    /// The tenant's last running number.
    last: u64,
    read: HashMap<CountedSet, BTreeMap<u64, Bitmap>>,
}

impl PartReader {
    /// For a tenant whose last running number is `last`.
    pub(crate) fn new(last: u64) -> Self {
        Self { last, read: HashMap::new() }
    }

    /// A set's stored members in a group. If they were not read before, those of several groups are: `groups` says of
    /// which, and whether most of their accesses are in the set.
    ///
    /// Every number up to the last one belongs to an access, and every access has one status. So the members of a status
    /// that most have are all numbers but those of the other statuses, which are stored in fewer bytes.
    pub(crate) async fn read(
        &mut self,
        tx: &Tx,
        tenant: &TenantName,
        set: &CountedSet,
        group: u64,
        groups: impl FnOnce() -> (RangeInclusive<u64>, bool),
    ) -> Result<Bitmap, StoreError> {
        if let Some(found) = self.read.get_mut(set).and_then(|read| read.remove(&group)) {
            return Ok(found);
        }
        let (groups, is_most) = groups();
        let mut read = match set {
            CountedSet::Status(status) if is_most => {
                let mut others = read_other_statuses(tx, tenant, *status, groups).await?;
                for (group, members) in &mut others {
                    let mut all = Bitmap::default();
                    all.insert(run_of(numbers_in(*group, self.last)));
                    all.subtract(members);
                    *members = all;
                }
                others
            }
            _ => read_set(tx, tenant, set, groups).await?,
        };
        let found = read.remove(&group).unwrap_or_default();
        self.read.insert(set.clone(), read);
        Ok(found)
    }
}

/// The numbers of a group, up to the tenant's last one.
pub(crate) fn numbers_in(group: u64, last: u64) -> Interval {
    let start = group_start(group);
    Interval { after: start.saturating_sub(1), to: last.min(start + GROUP_NUMBERS - 1) }
}

/// Numbers of a group as positions in it.
pub(crate) fn run_of(numbers: Interval) -> Run {
    if numbers.is_empty() {
        return Run { start: 0, end: 0 };
    }
    Run { start: offset_of(numbers.after + 1), end: offset_of(numbers.to) + 1 }
}

/// The members of a set.
async fn read_set(
    tx: &Tx,
    tenant: &TenantName,
    set: &CountedSet,
    groups: RangeInclusive<u64>,
) -> Result<BTreeMap<u64, Bitmap>, StoreError> {
    let sql = "SELECT first, bits FROM set_part WHERE tenant = ?1 AND first >= ?2 AND first < ?3 \
               AND kind = ?4 AND name = ?5";
    let name = name(set);
    read_parts(tx, tenant, sql, &[kind(set).into(), name.as_ref().into()], groups).await
}

/// The accesses that have any other status.
async fn read_other_statuses(
    tx: &Tx,
    tenant: &TenantName,
    status: Status,
    groups: RangeInclusive<u64>,
) -> Result<BTreeMap<u64, Bitmap>, StoreError> {
    let sql = "SELECT first, bits FROM set_part WHERE tenant = ?1 AND first >= ?2 AND first < ?3 \
               AND kind = ?4 AND name IN (?5, ?6, ?7, ?8)";
    let others = Status::ALL.into_iter().filter(|it| *it != status);
    let names = others.map(|it| it.as_str().into());
    let values: Vec<Value<'_>> =
        [kind(&CountedSet::Status(status)).into()].into_iter().chain(names).collect();
    read_parts(tx, tenant, sql, &values, groups).await
}

/// The members of the parts that a statement selects by tenant, numbers and these values.
async fn read_parts(
    tx: &Tx,
    tenant: &TenantName,
    sql: &'static str,
    values: &[Value<'_>],
    groups: RangeInclusive<u64>,
) -> Result<BTreeMap<u64, Bitmap>, StoreError> {
    let first = group_start(*groups.start());
    let behind = group_start(*groups.end()) + GROUP_NUMBERS;
    let values = [&[tenant.as_str().into(), first.into(), behind.into()], values].concat();
    let mut members: BTreeMap<u64, Bitmap> =
        groups.map(|group| (group, Bitmap::default())).collect();
    let decode = |row: &Row<'_>| {
        let bitmap = members.entry(group_of(row.count(0)?)).or_default();
        Runs::decode_into(row.bytes_ref(1)?, bitmap).map_err(StoreError::corrupt)
    };
    tx.rows(sql, &values, decode).await?;
    Ok(members)
}
