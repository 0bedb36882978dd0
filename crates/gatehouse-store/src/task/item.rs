//! The items of a Task: those that the client sent, and those that failed.
//!
//! An item's ordinal is its position in the Task, from 0. Items are processed in this order. So the failed ones,
//! numbered from 1, also tell how many succeeded before each of them, and a success needs no row.

use futures_util::future::try_join_all;
use gatehouse_core::batch_failure::FieldFault;
use gatehouse_core::credential::StoredHash;
use gatehouse_core::list::NumberedSet;
use gatehouse_core::task::{FailedItem, ItemReference};
use gatehouse_core::{AccessId, BatchFailure, BatchFailureKind, ShownAccess, TaskId, TenantName};

use crate::Store;
use crate::access::lookup::{self, Lookup};
use crate::access::{self, StoredAccess, shown_columns, stored};
use crate::db::{Dialect, Row, Tx};
use crate::error::StoreError;

/// An access that a Task created, borrowed from its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedAccess<'r> {
    /// The access's shown columns, as last written.
    pub access: ShownAccess<'r>,
    /// The password hash if the access was changed since; `None` while it has the password that the Task gave it.
    pub password: Option<StoredHash>,
}

/// The columns of an access that a Task created, in the order that [`read_made`] reads them. Every change raises the
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

/// The columns of a failed item, in the order that [`read_failed`] reads them.
macro_rules! failed_columns {
    () => {
        "SELECT ordinal, item_index, kind, detail, fields, access_id, username, device_name \
         FROM task_failure WHERE tenant = ?1 AND task = ?2"
    };
}

impl Store {
    /// One part of the client's items; `None` after it was deleted.
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

    /// Failed items by number: those after `after`, up to `to`.
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

    /// Failed items by ordinal: from `from`, before `until`.
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

    /// Number of failed items before this ordinal.
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

    /// The accesses that a Task created, by their number in it: those after `after`, up to `to`. Returns what `take`
    /// makes of each, because there may be very many to copy. `take` may have seen some when an error is returned.
    pub async fn accesses_of_task<T: Send>(
        &self,
        tenant: &TenantName,
        task: TaskId,
        after: u32,
        to: u32,
        mut take: impl FnMut(CreatedAccess<'_>) -> T + Send,
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

    /// Numbers in the tenant of the first and the last of these accesses, if no other access is between them: a step
    /// creates its accesses together.
    ///
    /// SQLite stores accesses in the order of these numbers, and would otherwise look each of them up. PostgreSQL has
    /// no such order.
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
        let found = lookup.numbers(&NumberedSet::Job(task), &[first, last]).await?;
        let ends = lookup::at(&found, first).zip(lookup::at(&found, last));
        Ok(ends.filter(|ends| ends.0 + (last - first) == ends.1))
    }

    /// The accesses with these identifiers, in this order, without those that don't exist.
    pub async fn accesses_by_id(
        &self,
        tenant: &TenantName,
        ids: &[AccessId],
    ) -> Result<Vec<StoredAccess>, StoreError> {
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

/// Stores failed items, after `n_before` earlier ones.
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
        let fields = write_fields(&item.failure.fields);
        let values = [
            tenant.as_str().into(),
            task.as_bytes().as_slice().into(),
            number.into(),
            u64::from(item.ordinal).into(),
            u64::from(item.index).into(),
            item.failure.kind.as_str().into(),
            item.failure.detail.as_str().into(),
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

fn read_made<'r>(row: &'r Row<'_>, task: TaskId) -> Result<CreatedAccess<'r>, StoreError> {
    let access = access::read_shown(row, Some(task))?;
    Ok(CreatedAccess { access, password: row.optional_text(9)?.map(StoredHash::new) })
}

fn read_failed(row: &Row<'_>) -> Result<FailedItem, StoreError> {
    let small = |column| u32::try_from(row.integer(column)?).map_err(StoreError::corrupt);
    let kind = BatchFailureKind::from_word(&row.text(2)?);
    Ok(FailedItem {
        ordinal: small(0)?,
        index: small(1)?,
        name: ItemReference {
            access_id: row.optional_text(5)?,
            username: row.optional_text(6)?,
            device_name: row.optional_text(7)?,
        },
        failure: BatchFailure {
            kind: kind.ok_or_else(|| StoreError::corrupt("an unknown kind of failure"))?,
            detail: row.text(3)?,
            fields: read_fields(&row.text(4)?),
        },
    })
}

/// Writes fields as lines of a name, a space and a reason. Names have no spaces, and neither has line breaks.
fn write_fields(fields: &[FieldFault]) -> String {
    let lines = fields.iter().map(|field| format!("{} {}", field.name, field.reason));
    lines.collect::<Vec<_>>().join("\n")
}

fn read_fields(text: &str) -> Vec<FieldFault> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(name, reason)| FieldFault { name: name.into(), reason: reason.into() }).collect()
}
