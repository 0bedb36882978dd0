//! The history of one access.
//!
//! Entries are indexed by their width, the number of hexadecimal digits between their accesses' lowest and highest
//! running numbers, and by the lowest. Of each width only the entries that begin close enough before the access can
//! have it: a search looks at a few entries for each of seventeen widths, and reads a large scattered batch in vain at
//! worst.

use gatehouse_core::TenantName;

use super::feed::{EventPage, NoEvents};
use super::unfolding::{events_of, read_entry, unfold};
use super::{Journal, JournalKind, numbering};
use crate::Store;
use crate::db::{SnapshotFor, Tx, Value};
use crate::error::StoreError;

/// Entries that one request looks at.
const ENTRIES_SEEN_MAX: usize = 500;

impl Store {
    /// The kept events of the access with this running number behind an event, oldest first, at most `n_max`.
    pub async fn history(
        &self,
        tenant: &TenantName,
        number: u64,
        after: u64,
        n_max: u64,
    ) -> Result<Result<EventPage, NoEvents>, StoreError> {
        let name = tenant.clone();
        let read = async move |tx: Tx| {
            let Some(ends) = super::read_ends(&tx, &Journal::Changes(name.clone())).await? else {
                return Ok(Err(NoEvents::NotBegun));
            };
            if after > ends.last {
                return Ok(Err(NoEvents::Ahead { last: ends.last }));
            }
            let mut firsts = entries_of(&tx, &name, number, after).await?;
            firsts.sort_unstable();
            let (mut folded, mut seen_to) = (Vec::new(), ends.last);
            // Entries of scattered accesses may all be read in vain.
            if let Some(left) = firsts.get(ENTRIES_SEEN_MAX) {
                seen_to = left - 1;
            }
            for first in firsts.into_iter().take(ENTRIES_SEEN_MAX) {
                let sql = journal_sql!(
                    JournalKind::Changes,
                    "SELECT " columns " FROM " entries " WHERE tenant = ?1 AND first = ?2"
                );
                let values = [name.as_str().into(), first.into()];
                let stored = tx.row(sql, &values, read_entry).await?;
                let stored =
                    stored.ok_or_else(|| StoreError::corrupt("an entry that was just found"))?;
                folded.extend(events_of(&stored, |event, access| {
                    event > after && access == Some(number)
                })?);
                if folded.len() as u64 > n_max {
                    folded.truncate(n_max as usize);
                    seen_to = folded.last().map_or(after, |event| event.number);
                    break;
                }
            }
            let events = unfold(&tx, Some(&name), folded).await?;
            Ok(Ok(EventPage { events, seen_to, last: ends.last }))
        };
        self.db.snapshot(SnapshotFor::Tenant(tenant), read).await
    }

    /// The running number of an access; `None` for an unknown one.
    pub async fn number_of_access(
        &self,
        tenant: &TenantName,
        id: gatehouse_core::AccessId,
    ) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT number FROM access WHERE tenant = ?1 AND id = ?2";
        let values = [tenant.as_str().into(), id.as_bytes().as_slice().into()];
        self.db.row(sql, &values, |row| row.count(0)).await
    }
}

/// First numbers of the entries that may have events of an access behind a number.
async fn entries_of(
    tx: &Tx,
    tenant: &TenantName,
    number: u64,
    after: u64,
) -> Result<Vec<u64>, StoreError> {
    let sql = "SELECT first FROM event WHERE tenant = ?1 AND width = ?2 AND low <= ?3 AND low >= ?4 \
               AND high >= ?3 AND first + n - 1 > ?5 ORDER BY first LIMIT ?6";
    let mut firsts = Vec::new();
    // Running numbers are positive integers of 63 bits.
    for width in 0..=numbering::width(i64::MAX as u64) {
        let furthest = 16_u64.checked_pow(width as u32).map_or(u64::MAX, |it| it - 1);
        let low = number.saturating_sub(furthest);
        let limit = ENTRIES_SEEN_MAX as u64 + 1;
        let [width, number, low, after] = [width, number, low, after].map(Value::from);
        let values = [tenant.as_str().into(), width, number, low, after, limit.into()];
        firsts.extend(tx.rows(sql, &values, |row| row.count(0)).await?);
    }
    Ok(firsts)
}
