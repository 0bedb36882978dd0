//! Conditions that no counted set decides: the numbers of their accesses are read from an index or from the rows, and
//! are then combined like those of a set.

use gatehouse_core::counted_set::bitmap::Bitmap;
use gatehouse_core::counted_set::runs::Run;
use gatehouse_core::counted_set::{GROUP_NUMBERS, group_of, group_start, offset_of};
use gatehouse_core::list::{DeviceNameCondition, RowConditions};
use gatehouse_core::time::span::TimeSpan;
use gatehouse_core::{DeviceName, TenantName, Username};

use crate::db::{Dialect, Row, Tx, Value};
use crate::error::StoreError;

/// A condition whose accesses are read from rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RowSource {
    /// The active period ends in this span.
    Ends(TimeSpan),
    /// The active period begins in this span.
    Starts(TimeSpan),
    /// The device has this name.
    DeviceName(DeviceName),
    /// The username is this one.
    Username(Username),
    /// The username is this one, and the device has no name.
    Unnamed(Username),
}

/// The conditions of a term that no set decides; `None` for one that can't be read like this.
pub(crate) fn sources_of(rest: &RowConditions) -> Option<Vec<RowSource>> {
    let RowConditions { username, device, status: _, labels: _, start, end } = rest;
    let mut sources = Vec::from_iter(end.map(RowSource::Ends));
    sources.extend((*start != TimeSpan::ALWAYS).then_some(RowSource::Starts(*start)));
    match (device, username) {
        (DeviceNameCondition::Any, username) => {
            sources.extend(username.clone().map(RowSource::Username));
        }
        (DeviceNameCondition::Named(name), username) => {
            sources.push(RowSource::DeviceName(name.clone()));
            sources.extend(username.clone().map(RowSource::Username));
        }
        (DeviceNameCondition::Unnamed, Some(username)) => {
            sources.push(RowSource::Unnamed(username.clone()));
        }
        (DeviceNameCondition::Unnamed, None) => return None,
    }
    Some(sources)
}

/// The accesses that meet a condition, by group.
#[derive(Debug, Default)]
pub(crate) struct SourceMembers(Vec<Option<Bitmap>>);

impl SourceMembers {
    /// Reads all accesses that meet a condition.
    pub(crate) async fn read(
        tx: &Tx,
        tenant: &TenantName,
        source: &RowSource,
    ) -> Result<Self, StoreError> {
        let mut members = Self::default();
        match tx.dialect() {
            Dialect::Sqlite => {
                let read = |row: &Row<'_>| {
                    members.add(row.count(0)?);
                    Ok(())
                };
                tx.rows(source.sql(), &source.values(tenant), read).await?;
            }
            Dialect::Postgres => {
                let read = |row: &Row<'_>| members.add_group(row.count(0)?, &row.bytes(1)?);
                tx.rows_once(&source.grouped_sql(), &source.values(tenant), read).await?;
            }
        }
        Ok(members)
    }

    /// Adds members of a group by their offsets, of four bytes each.
    fn add_group(&mut self, group: u64, offsets: &[u8]) -> Result<(), StoreError> {
        let (offsets, rest) = offsets.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(StoreError::corrupt("offsets of a group are cut off"));
        }
        let start = group_start(group);
        offsets.iter().for_each(|it| self.add(start + u64::from(u32::from_be_bytes(*it))));
        Ok(())
    }

    fn add(&mut self, number: u64) {
        let group = usize::try_from(group_of(number)).unwrap_or(usize::MAX);
        if self.0.len() <= group {
            self.0.resize_with(group + 1, || None);
        }
        let offset = offset_of(number);
        let bitmap = self.0[group].get_or_insert_default();
        bitmap.insert(Run { start: offset, end: offset + 1 });
    }

    /// The members in a group; `None` where there are none.
    pub(crate) fn of_group(&self, group: u64) -> Option<&Bitmap> {
        self.0.get(usize::try_from(group).ok()?)?.as_ref()
    }
}

impl RowSource {
    fn sql(&self) -> &'static str {
        match self {
            // The indexes of starts and ends have everything that these statements read.
            Self::Ends(_) => {
                "SELECT number FROM access WHERE tenant = ?1 AND end_at >= ?2 AND end_at < ?3"
            }
            Self::Starts(_) => {
                "SELECT number FROM access WHERE tenant = ?1 AND start_at >= ?2 AND start_at < ?3"
            }
            Self::DeviceName(_) => {
                "SELECT number FROM access WHERE tenant = ?1 AND device_name = ?2"
            }
            // Each part has an index.
            Self::Username(_) => {
                "SELECT number FROM access \
                 WHERE tenant = ?1 AND username = ?2 AND status <> 'TERMINATED' \
                 UNION ALL SELECT number FROM access \
                 WHERE tenant = ?1 AND username = ?2 AND status = 'TERMINATED'"
            }
            // The numbers come first: otherwise SQLite would read the whole tenant for the TERMINATED ones.
            Self::Unnamed(_) => {
                "SELECT a.number FROM (SELECT number AS held FROM access \
                 WHERE tenant = ?1 AND username = ?2 AND status <> 'TERMINATED' \
                 UNION ALL SELECT number FROM access \
                 WHERE tenant = ?1 AND username = ?2 AND status = 'TERMINATED') h \
                 CROSS JOIN access a \
                 WHERE a.tenant = ?1 AND a.number = +h.held AND a.device_name IS NULL"
            }
        }
    }

    /// A statement for PostgreSQL with the numbers by group. PostgreSQL sends all rows before the first one is read, so
    /// each row has the offsets of a whole group.
    fn grouped_sql(&self) -> String {
        let (sql, bits, mask) = (self.sql(), GROUP_NUMBERS.trailing_zeros(), GROUP_NUMBERS - 1);
        format!(
            "SELECT s.number >> {bits}, \
             string_agg(int4send(CAST(s.number & {mask} AS INTEGER)), CAST('' AS BYTEA)) \
             FROM ({sql}) s GROUP BY s.number >> {bits}"
        )
    }

    fn values<'v>(&'v self, tenant: &'v TenantName) -> Vec<Value<'v>> {
        let mut values = vec![tenant.as_str().into()];
        match self {
            Self::Ends(span) | Self::Starts(span) => {
                values.extend([span.from, span.until].map(Value::from));
            }
            Self::DeviceName(name) => values.push(name.as_str().into()),
            Self::Username(username) | Self::Unnamed(username) => {
                values.push(username.as_str().into());
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_core::Timestamp;

    use super::*;
    use crate::db::SnapshotFor;
    use crate::{Clock, Store};

    /// SQLite has no statistics, so the form of a statement alone decides.
    #[tokio::test]
    async fn numbers_are_read_from_an_index() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::by_hand(Timestamp::EPOCH);
        let store = Store::open_sqlite(&dir.path().join("test.db"), clock).await.unwrap();
        let username: Username = "u".parse().unwrap();
        for (source, index) in [
            (RowSource::Ends(TimeSpan::ALWAYS), "COVERING INDEX access_end"),
            (RowSource::Starts(TimeSpan::ALWAYS), "COVERING INDEX access_start"),
            (RowSource::DeviceName("d".parse().unwrap()), "COVERING INDEX access_device_name"),
            (RowSource::Username(username.clone()), "INDEX access_username_live"),
            (RowSource::Unnamed(username), "INDEX access_username_ended"),
        ] {
            let (sql, n_values) = (source.sql(), source.values(&"t".parse().unwrap()).len());
            let plan = store.db.snapshot(SnapshotFor::Server(None), async move |tx| {
                let values = vec![Value::from(1_i64); n_values];
                let sql = format!("EXPLAIN QUERY PLAN {sql}");
                tx.rows_once(&sql, &values, |row| row.text(3)).await
            });
            let plan = plan.await.unwrap().join("; ");
            assert!(plan.contains(index), "{index} is not in {plan}");
        }
    }

    #[test]
    fn members_are_kept_by_group() {
        let mut members = SourceMembers::default();
        let numbers = [3_u64, 1, 600_000];
        numbers.into_iter().for_each(|number| members.add(number));
        let of = |group| members.of_group(group).map(|it| it.members(0, 10));
        assert_eq!(of(0), Some(vec![1, 3]));
        assert_eq!((of(1), of(3)), (None, None));
        assert_eq!(of(2), Some(vec![offset_of(600_000)]));
    }
}
