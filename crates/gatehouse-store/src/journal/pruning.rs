//! Deleting events for their age: only the oldest, and with an anchor, so that the chain of the others can still be
//! checked.

use gatehouse_core::Timestamp;

use super::chain::ChainKey;
use super::hub;
use super::verification::{Checker, Link, read_link};
use super::{Journal, JournalKind};
use crate::Store;
use crate::error::StoreError;

/// Entries that one transaction deletes.
const ENTRIES_AT_ONCE: u64 = 500;

impl Store {
    /// Deletes some entries from before a time, of every journal of a kind that has any; true if there may be more. An
    /// error of one journal, the first one, is returned once all others had their turn.
    pub async fn delete_old_events(
        &self,
        kind: JournalKind,
        before: Timestamp,
        key: &ChainKey,
    ) -> Result<bool, StoreError> {
        let (mut last, mut has_more, mut failed) = (String::new(), false, None);
        let sql = journal_sql!(
            kind, "SELECT tenant FROM " ends " WHERE tenant > ?1 ORDER BY tenant LIMIT 1"
        );
        while let Some(next) = self.db.row(sql, &[last.as_str().into()], |row| row.text(0)).await? {
            match self.delete_old_events_of(Journal::with_key(kind, &next)?, before, key).await {
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
        key: &ChainKey,
    ) -> Result<bool, StoreError> {
        let kind = journal.kind();
        let oldest = journal_sql!(
            kind, "SELECT at FROM " entries " WHERE tenant = ?1 ORDER BY first LIMIT 1"
        );
        let oldest = self.db.row(oldest, &[journal.key().into()], |row| row.time(0)).await?;
        if oldest.is_none_or(|at| at >= before) {
            return Ok(false);
        }
        let key = key.clone();
        self.db
            .write(journal.write_kind(), async move |tx| {
                let Some(ends) = super::lock_ends(&tx, &journal).await? else { return Ok(false) };
                let sql = journal_sql!(
                    kind,
                    "SELECT " columns " FROM " entries " WHERE tenant = ?1 ORDER BY first LIMIT ?2"
                );
                let values = [journal.key().into(), ENTRIES_AT_ONCE.into()];
                let entries = tx.rows(sql, &values, read_link).await?;
                let mut checker = Checker::from(&journal, &key, &ends);
                let mut next = ends.clone();
                let is_old = |entry: &&Link| entry.at < before.as_millisecond();
                for entry in entries.iter().take_while(is_old) {
                    // What was altered is evidence, and a new time could have been given to it to have it deleted.
                    if let Err(why) = checker.check(entry) {
                        tracing::error!(?journal, %why, "old events are not deleted");
                        break;
                    }
                    (next.deleted_to, next.deleted_mac) = checker.position();
                }
                if next.deleted_to == ends.deleted_to {
                    return Ok(false);
                }
                let sql = journal_sql!(
                    kind, "DELETE FROM " entries " WHERE tenant = ?1 AND first <= ?2"
                );
                tx.execute(sql, &[journal.key().into(), next.deleted_to.into()]).await?;
                super::write_ends(&tx, &journal, &key, [&ends, &next]).await?;
                if let Journal::Changes(tenant) = &journal {
                    hub::forget_events(&tx, tenant, next.deleted_to).await?;
                }
                Ok::<_, StoreError>(entries.len() as u64 == ENTRIES_AT_ONCE)
            })
            .await
    }
}
