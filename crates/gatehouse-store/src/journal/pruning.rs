//! Deleting events for their age: only the oldest, and with an anchor, so that the chain of the others can still be
//! checked.

use gatehouse_core::Timestamp;

use super::chain::{self, Mac};
use super::{Journal, JournalKind};
use crate::Store;
use crate::db::Row;
use crate::error::StoreError;

/// Entries that one transaction deletes.
const ENTRIES_AT_ONCE: u64 = 500;

/// An entry without its bytes.
struct OldEntry {
    first: u64,
    n: u64,
    at: Timestamp,
    mac: Mac,
}

impl Store {
    /// Deletes some entries from before a time, of every journal of a kind that has any; true if there may be more. An
    /// error of one journal, the first one, is returned once all others had their turn.
    pub async fn delete_old_events(
        &self,
        kind: JournalKind,
        before: Timestamp,
    ) -> Result<bool, StoreError> {
        let (mut last, mut has_more, mut failed) = (String::new(), false, None);
        let sql = journal_sql!(
            kind, "SELECT tenant FROM " ends " WHERE tenant > ?1 ORDER BY tenant LIMIT 1"
        );
        while let Some(next) = self.db.row(sql, &[last.as_str().into()], |row| row.text(0)).await? {
            match self.delete_old_events_of(Journal::with_key(kind, &next)?, before).await {
                Ok(more) => has_more |= more,
                Err(error) => {
                    tracing::warn!(tenant = next, %error, "old events can't be deleted now");
                    failed.get_or_insert(error);
                }
            }
            last = next;
        }
        failed.map_or(Ok(has_more), Err)
    }

    async fn delete_old_events_of(
        &self,
        journal: Journal,
        before: Timestamp,
    ) -> Result<bool, StoreError> {
        let kind = journal.kind();
        let oldest = journal_sql!(
            kind, "SELECT at FROM " entries " WHERE tenant = ?1 ORDER BY first LIMIT 1"
        );
        let oldest = self.db.row(oldest, &[journal.key().into()], |row| row.time(0)).await?;
        if oldest.is_none_or(|at| at >= before) {
            return Ok(false);
        }
        self.db
            .write(journal.write_kind(), async move |tx| {
                if super::lock_ends(&tx, &journal).await?.is_none() {
                    return Ok(false);
                }
                let sql = journal_sql!(
                    kind,
                    "SELECT first, n, at, mac FROM " entries " WHERE tenant = ?1 ORDER BY first LIMIT ?2"
                );
                let values = [journal.key().into(), ENTRIES_AT_ONCE.into()];
                let read = |row: &Row<'_>| {
                    let mac = chain::mac_of(row.bytes_ref(3)?)?;
                    Ok(OldEntry { first: row.count(0)?, n: row.count(1)?, at: row.time(2)?, mac })
                };
                let entries = tx.rows(sql, &values, read).await?;
                let old = entries.iter().take_while(|entry| entry.at < before);
                let Some(newest) = old.last() else { return Ok(false) };
                let sql = journal_sql!(
                    kind, "DELETE FROM " entries " WHERE tenant = ?1 AND first <= ?2"
                );
                tx.execute(sql, &[journal.key().into(), newest.first.into()]).await?;
                let sql = journal_sql!(
                    kind,
                    "UPDATE " ends " SET deleted_to = ?2, deleted_mac = ?3 WHERE tenant = ?1"
                );
                let to = newest.first + newest.n - 1;
                let values = [journal.key().into(), to.into(), newest.mac.as_slice().into()];
                tx.execute(sql, &values).await?;
                Ok::<_, StoreError>(entries.len() as u64 == ENTRIES_AT_ONCE)
            })
            .await
    }
}
