//! Reads the parts of counted sets: of one group, or of several at once where a page needs them all.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use gatehouse_core::TenantName;
use gatehouse_core::counted_set::bitmap::Bitmap;
use gatehouse_core::counted_set::runs::Runs;
use gatehouse_core::counted_set::{CountedSet, GROUP_NUMBERS, group_of, group_start};

use super::{kind, name};
use crate::db::{Row, Tx};
use crate::error::StoreError;

/// Groups that one statement reads at most; each statement costs as much as some parts.
pub(crate) const GROUPS_MAX: u64 = 8;

/// The stored members of sets, by group, that were read with those of another group.
#[derive(Default)]
pub(crate) struct PartReader(HashMap<CountedSet, BTreeMap<u64, Bitmap>>);

impl PartReader {
    /// A set's stored members in a group. If they were not read before, those of all `groups`, which it is in, are.
    pub(crate) async fn read(
        &mut self,
        tx: &Tx,
        tenant: &TenantName,
        set: &CountedSet,
        group: u64,
        groups: impl FnOnce() -> RangeInclusive<u64>,
    ) -> Result<Bitmap, StoreError> {
        if let Some(found) = self.0.get_mut(set).and_then(|read| read.remove(&group)) {
            return Ok(found);
        }
        let mut read = read_groups(tx, tenant, set, groups()).await?;
        let found = read.remove(&group).unwrap_or_default();
        self.0.insert(set.clone(), read);
        Ok(found)
    }
}

async fn read_groups(
    tx: &Tx,
    tenant: &TenantName,
    set: &CountedSet,
    groups: RangeInclusive<u64>,
) -> Result<BTreeMap<u64, Bitmap>, StoreError> {
    let sql = "SELECT first, bits FROM set_part WHERE tenant = ?1 AND kind = ?2 AND name = ?3 \
               AND first >= ?4 AND first < ?5";
    let name = name(set);
    let values = [
        tenant.as_str().into(),
        kind(set).into(),
        name.as_ref().into(),
        group_start(*groups.start()).into(),
        (group_start(*groups.end()) + GROUP_NUMBERS).into(),
    ];
    let mut members: BTreeMap<u64, Bitmap> =
        groups.map(|group| (group, Bitmap::default())).collect();
    let decode = |row: &Row<'_>| {
        let bitmap = members.entry(group_of(row.count(0)?)).or_default();
        Runs::decode_into(&row.bytes(1)?, bitmap).map_err(StoreError::corrupt)
    };
    tx.rows(sql, &values, decode).await?;
    Ok(members)
}
