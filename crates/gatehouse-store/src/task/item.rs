//! The items of a Task: what the client sent of them, and which of them failed.
//!
//! An item has an ordinal, its place in the Task from 0. Items are worked off in this order, so those
//! that failed, numbered from 1, also tell how many succeeded before any of them; nothing needs to be
//! written down of an item that succeeded.

use futures_util::future::try_join_all;
use gatehouse_core::credential::StoredHash;
use gatehouse_core::list::Set;
use gatehouse_core::task::{FailedItem, ItemName};
use gatehouse_core::trouble::Field;
use gatehouse_core::{AccessId, ShownAccess, TaskId, TenantName, Trouble, TroubleKind};

use crate::Store;
use crate::access::lookup::{self, Lookup};
use crate::access::{self, Stored, shown_columns, stored};
use crate::db::{Dialect, Row, Tx};
use crate::error::StoreError;

/// An access that a Task made, as it lies in its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeAccess<'r> {
    /// What is shown of it, as it was last written.
    pub access: ShownAccess<'r>,
    /// What is kept of its password, where the access was changed since. Until then it has the one that it was
    /// made with.
    pub password: Option<StoredHash>,
}

/// The columns of an access that a Task made, in the order that [`read_made`] reads them. Every change raises the
/// version, which begins with 1.
macro_rules! made {
    () => {
        concat!(
            "SELECT ",
            shown_columns!(),
            ", CASE WHEN version > 1 THEN password_hash END FROM access"
        )
    };
}

/// The columns of an item that failed, in the order that [`read_failed`] reads them.
macro_rules! failed_columns {
    () => {
        "SELECT ordinal, item_index, kind, detail, fields, access_id, username, device_name \
         FROM task_failure WHERE tenant = ?1 AND task = ?2"
    };
}

impl Store {
    /// One part of what the client sent, as long as it is kept.
    pub async fn task_part(
        &self,
        tenant: &TenantName,
        task: TaskId,
        part: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT body FROM task_part WHERE tenant = ?1 AND task = ?2 AND part = ?3";
        let values =
            [tenant.as_str().into(), task.as_bytes().as_slice().into(), u64::from(part).into()];
        self.db.row(sql, &values, |row| row.bytes(0)).await
    }

    /// Items that failed, by their number: those after `after`, up to `to`.
    pub async fn failed_items(
        &self,
        tenant: &TenantName,
        task: TaskId,
        after: u32,
        to: u32,
    ) -> Result<Vec<FailedItem>, StoreError> {
        let sql = concat!(failed_columns!(), " AND number > ?3 AND number <= ?4 ORDER BY number");
        self.failed(tenant, task, sql, after, to).await
    }

    /// Items that failed, by their ordinal: from `from`, before `until`.
    pub async fn failed_items_within(
        &self,
        tenant: &TenantName,
        task: TaskId,
        from: u32,
        until: u32,
    ) -> Result<Vec<FailedItem>, StoreError> {
        let sql =
            concat!(failed_columns!(), " AND ordinal >= ?3 AND ordinal < ?4 ORDER BY ordinal");
        self.failed(tenant, task, sql, from, until).await
    }

    async fn failed(
        &self,
        tenant: &TenantName,
        task: TaskId,
        sql: &'static str,
        from: u32,
        to: u32,
    ) -> Result<Vec<FailedItem>, StoreError> {
        let values = [
            tenant.as_str().into(),
            task.as_bytes().as_slice().into(),
            u64::from(from).into(),
            u64::from(to).into(),
        ];
        self.db.rows(sql, &values, read_failed).await
    }

    /// How many items before this ordinal failed.
    pub async fn n_failed_before(
        &self,
        tenant: &TenantName,
        task: TaskId,
        ordinal: u32,
    ) -> Result<u32, StoreError> {
        let sql = "SELECT number FROM task_failure WHERE tenant = ?1 AND task = ?2 AND ordinal < ?3 \
                   ORDER BY ordinal DESC LIMIT 1";
        let values =
            [tenant.as_str().into(), task.as_bytes().as_slice().into(), u64::from(ordinal).into()];
        let number = self.db.row(sql, &values, |row| row.count(0)).await?.unwrap_or_default();
        u32::try_from(number).map_err(StoreError::corrupt)
    }

    /// The accesses that a Task made, by their number in it: those after `after`, up to `to`. What `take` makes of each
    /// comes back: there may be very many, so none is copied that needn't be. It may have seen some when an error comes.
    pub async fn accesses_of_task<T: Send>(
        &self,
        tenant: &TenantName,
        task: TaskId,
        after: u32,
        to: u32,
        mut take: impl FnMut(MadeAccess<'_>) -> T + Send,
    ) -> Result<Vec<T>, StoreError> {
        let read = |row: &Row<'_>| read_made(row, task).map(&mut take);
        if let Some((first, last)) = self.side_by_side(tenant, task, after, to).await? {
            let sql = concat!(
                made!(),
                " WHERE tenant = ?1 AND number >= ?2 AND number <= ?3 ORDER BY number"
            );
            let values = [tenant.as_str().into(), first.into(), last.into()];
            return self.db.rows(sql, &values, read).await;
        }
        let sql = concat!(
            made!(),
            " WHERE tenant = ?1 AND job = ?2 AND job_number > ?3 AND job_number <= ?4 \
             ORDER BY job_number"
        );
        let values = [
            tenant.as_str().into(),
            task.as_bytes().as_slice().into(),
            u64::from(after).into(),
            u64::from(to).into(),
        ];
        self.db.rows(sql, &values, read).await
    }

    /// The numbers in the tenant of the first and the last of these accesses, where nobody else's lie between: a
    /// step makes its accesses together.
    ///
    /// SQLite keeps accesses in the order of these numbers, and would else look each of them up. PostgreSQL keeps
    /// them in no order, so there is nothing to find out.
    async fn side_by_side(
        &self,
        tenant: &TenantName,
        task: TaskId,
        after: u32,
        to: u32,
    ) -> Result<Option<(u64, u64)>, StoreError> {
        if self.db.dialect() == Dialect::Postgres || after >= to {
            return Ok(None);
        }
        let (first, last) = (u64::from(after) + 1, u64::from(to));
        let lookup = Lookup { db: &self.db, tenant };
        let found = lookup.numbers(&Set::Job(task), &[first, last]).await?;
        let ends = lookup::at(&found, first).zip(lookup::at(&found, last));
        Ok(ends.filter(|ends| ends.0 + (last - first) == ends.1))
    }

    /// The accesses of these identifiers that the tenant has, in this order.
    pub async fn accesses_by_id(
        &self,
        tenant: &TenantName,
        ids: &[AccessId],
    ) -> Result<Vec<Stored>, StoreError> {
        let found = ids.iter().map(async |id| {
            let sql = concat!(stored!(), " WHERE tenant = ?1 AND id = ?2");
            let values = [tenant.as_str().into(), id.as_bytes().as_slice().into()];
            self.db.row(sql, &values, access::read_stored).await
        });
        Ok(try_join_all(found).await?.into_iter().flatten().collect())
    }
}

pub(crate) async fn put_part(
    tx: &Tx,
    tenant: &TenantName,
    task: TaskId,
    part: u32,
    body: &[u8],
) -> Result<(), StoreError> {
    let sql = "INSERT INTO task_part (tenant, task, part, body) VALUES (?1, ?2, ?3, ?4)";
    let values = [
        tenant.as_str().into(),
        task.as_bytes().as_slice().into(),
        u64::from(part).into(),
        body.into(),
    ];
    tx.execute(sql, &values).await.map(drop)
}

/// Writes down items that failed, of which so many had failed before.
pub(crate) async fn put_failed(
    tx: &Tx,
    tenant: &TenantName,
    task: TaskId,
    n_before: u32,
    failed: &[FailedItem],
) -> Result<(), StoreError> {
    let sql = "INSERT INTO task_failure (tenant, task, number, ordinal, item_index, kind, detail, \
               fields, access_id, username, device_name) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let numbered = failed.iter().zip(u64::from(n_before) + 1..);
    try_join_all(numbered.map(async |(item, number)| {
        let fields = write_fields(&item.trouble.fields);
        let values = [
            tenant.as_str().into(),
            task.as_bytes().as_slice().into(),
            number.into(),
            u64::from(item.ordinal).into(),
            u64::from(item.index).into(),
            item.trouble.kind.as_str().into(),
            item.trouble.detail.as_str().into(),
            fields.as_str().into(),
            item.name.access_id.as_deref().into(),
            item.name.username.as_deref().into(),
            item.name.device_name.as_deref().into(),
        ];
        tx.execute(sql, &values).await
    }))
    .await
    .map(drop)
}

fn read_made<'r>(row: &'r Row<'_>, task: TaskId) -> Result<MadeAccess<'r>, StoreError> {
    let access = access::read_shown(row, Some(task))?;
    Ok(MadeAccess { access, password: row.optional_text(8)?.map(StoredHash::new) })
}

fn read_failed(row: &Row<'_>) -> Result<FailedItem, StoreError> {
    let small = |column| u32::try_from(row.integer(column)?).map_err(StoreError::corrupt);
    let kind = TroubleKind::from_word(&row.text(2)?);
    Ok(FailedItem {
        ordinal: small(0)?,
        index: small(1)?,
        name: ItemName {
            access_id: row.optional_text(5)?,
            username: row.optional_text(6)?,
            device_name: row.optional_text(7)?,
        },
        trouble: Trouble {
            kind: kind.ok_or_else(|| StoreError::corrupt("an unknown kind of trouble"))?,
            detail: row.text(3)?,
            fields: read_fields(&row.text(4)?),
        },
    })
}

/// Fields as lines of a name, a space and a reason. Names have no spaces, and neither has line breaks.
fn write_fields(fields: &[Field]) -> String {
    let lines = fields.iter().map(|field| format!("{} {}", field.name, field.reason));
    lines.collect::<Vec<_>>().join("\n")
}

fn read_fields(text: &str) -> Vec<Field> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(name, reason)| Field { name: name.into(), reason: reason.into() }).collect()
}
