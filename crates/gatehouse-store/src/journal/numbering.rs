//! Numbering and chaining the entries that have been committed.
//!
//! One transaction at a time does it for a tenant, under the lock of the journal's row. It sees only what is committed,
//! and the draws of one access's changes rise in the order of their commits, because each draws under the row's lock.

use gatehouse_core::Timestamp;
use gatehouse_core::event::Entry;

use super::chain::{ChainKey, Mac, Numbered};
use super::hub;
use super::{Journal, JournalKind};
use crate::Store;
use crate::access::bulk::as_integer;
use crate::db::{Row, Tx, Value};
use crate::error::StoreError;

/// Entries that one transaction numbers.
const ENTRIES_AT_ONCE: u64 = 500;

/// Bytes of such entries, unless one alone has more.
const BYTES_AT_ONCE: u64 = 4 << 20;

/// An entry that gets its numbers.
struct NewRow {
    draw: i64,
    at: Timestamp,
    entry: Vec<u8>,
    first: u64,
    n: u64,
    accesses: Option<Accesses>,
    mac: Mac,
}

/// Running numbers of an entry's accesses.
#[derive(Clone, Copy)]
struct Accesses {
    low: u64,
    high: u64,
}

/// Number of hexadecimal digits of a distance between two running numbers. Entries are found by it
/// ([`super::history`]).
pub(super) fn width(distance: u64) -> u64 {
    u64::from((64 - distance.leading_zeros()).div_ceil(4))
}

impl Store {
    /// Waits until this server has committed a tenant's write, which may have events.
    pub async fn until_committed(&self) {
        self.db.until_committed().await;
    }

    /// Numbers entries of every journal that has some without numbers; returns how many journals have more of them. An
    /// error of one journal, the first one, is returned once all others had their turn.
    pub async fn number_events(&self, key: &ChainKey) -> Result<usize, StoreError> {
        let (mut n_with_more, mut failed) = (0, None);
        for kind in JournalKind::ALL {
            let mut last = String::new();
            while let Some(next) = self.next_with_new_events(kind, &last).await? {
                let journal = Journal::with_key(kind, &next)?;
                match self.number_events_of(&journal, key).await {
                    Ok(has_more) => n_with_more += usize::from(has_more),
                    Err(error) => {
                        tracing::warn!(tenant = next, %error, "events can't be numbered now");
                        failed.get_or_insert(error);
                    }
                }
                last = next;
            }
        }
        failed.map_or(Ok(n_with_more), Err)
    }

    /// The next tenant with entries without numbers.
    async fn next_with_new_events(
        &self,
        kind: JournalKind,
        last: &str,
    ) -> Result<Option<String>, StoreError> {
        let sql = journal_sql!(kind, "SELECT MIN(tenant) FROM " new_entries " WHERE tenant > ?1");
        Ok(self.db.row(sql, &[last.into()], |row| row.optional_text(0)).await?.flatten())
    }

    /// Numbers some entries of a journal that has begun; true if there may be more.
    pub(crate) async fn number_events_of(
        &self,
        journal: &Journal,
        key: &ChainKey,
    ) -> Result<bool, StoreError> {
        let (journal, key) = (journal.clone(), key.clone());
        self.db
            .write(journal.write_kind(), async move |tx| {
                let Some(mut ends) = super::lock_ends(&tx, &journal).await? else {
                    return Ok(false);
                };
                let before = ends.clone();
                let (mut rows, has_more) = read_new(&tx, &journal).await?;
                for row in &mut rows {
                    row.first = ends.last + 1;
                    let (first, n, at) = (row.first, row.n, row.at.as_millisecond());
                    let numbered = Numbered { first, n, at, bytes: &row.entry };
                    ends.mac = key.sign(&journal, &ends.mac, &numbered);
                    row.mac = ends.mac;
                    ends.last += n;
                }
                if !rows.is_empty() {
                    move_rows(&tx, &journal, &rows).await?;
                    super::write_ends(&tx, &journal, &key, [&before, &ends]).await?;
                    if let Journal::Changes(tenant) = &journal {
                        hub::wake(&tx, tenant).await?;
                    }
                }
                Ok::<_, StoreError>(has_more)
            })
            .await
    }
}

/// The next entries, and whether there may be more.
async fn read_new(tx: &Tx, journal: &Journal) -> Result<(Vec<NewRow>, bool), StoreError> {
    let sql = journal_sql!(
        journal.kind(),
        "SELECT CAST(LENGTH(entry) AS BIGINT) FROM " new_entries
        " WHERE tenant = ?1 ORDER BY draw LIMIT ?2"
    );
    let values = [journal.key().into(), ENTRIES_AT_ONCE.into()];
    let sizes = tx.rows(sql, &values, |row| row.count(0)).await?;
    let mut n_bytes = 0;
    let fitting = sizes.iter().take_while(|size| {
        n_bytes += **size;
        n_bytes <= BYTES_AT_ONCE
    });
    let n_entries = (fitting.count() as u64).max(1);
    let has_more = n_entries < sizes.len() as u64 || n_entries == ENTRIES_AT_ONCE;
    let sql = journal_sql!(
        journal.kind(),
        "SELECT draw, at, entry FROM " new_entries " WHERE tenant = ?1 ORDER BY draw LIMIT ?2"
    );
    let read = |row: &Row<'_>| {
        let bytes = row.bytes(2)?;
        let entry = Entry::decode(&bytes).map_err(StoreError::corrupt)?;
        let numbers = match &entry {
            Entry::Accesses(stretch) => stretch.items.first().zip(stretch.items.last()),
            _ => None,
        };
        let accesses =
            numbers.map(|(first, last)| Accesses { low: first.number, high: last.number });
        let (draw, at, n) = (row.integer(0)?, row.time(1)?, entry.n_events());
        Ok(NewRow { draw, at, entry: bytes, first: 0, n, accesses, mac: super::chain::NO_MAC })
    };
    let rows = tx.rows(sql, &[journal.key().into(), n_entries.into()], read).await?;
    Ok((rows, has_more))
}

/// Writes numbered entries, and deletes them as new ones. Exactly those: others with lower draws may have been committed
/// since they were read.
async fn move_rows(tx: &Tx, journal: &Journal, rows: &[NewRow]) -> Result<(), StoreError> {
    match journal.kind() {
        JournalKind::Changes => insert_changes(tx, journal, rows).await?,
        // Few.
        JournalKind::Audit => {
            let sql = "INSERT INTO audit (tenant, first, n, at, entry, mac) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let values = rows.iter().map(|row| {
                let [tenant, first, n, at, .., entry, mac] = values_of(journal, row);
                [tenant, first, n, at, entry, mac]
            });
            tx.execute_each(sql, &values.collect::<Vec<_>>()).await?;
        }
    }
    if let Some(session) = tx.postgres() {
        let sql = journal_sql!(
            journal.kind(), "DELETE FROM " new_entries " WHERE tenant = ?1 AND draw = ANY(?2)"
        );
        let draws: Vec<i64> = rows.iter().map(|row| row.draw).collect();
        return session.bulk(sql, &[&journal.key(), &draws]).await.map(drop);
    }
    let sql = journal_sql!(
        journal.kind(), "DELETE FROM " new_entries " WHERE tenant = ?1 AND draw = ?2"
    );
    let deleted = rows.iter().map(|row| [journal.key().into(), row.draw.into()]);
    tx.execute_each::<2>(sql, &deleted.collect::<Vec<_>>()).await
}

async fn insert_changes(tx: &Tx, journal: &Journal, rows: &[NewRow]) -> Result<(), StoreError> {
    let Some(session) = tx.postgres() else {
        let sql = "INSERT INTO event (tenant, first, n, at, low, high, width, entry, mac) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let written: Vec<[Value<'_>; 9]> = rows.iter().map(|row| values_of(journal, row)).collect();
        return tx.execute_each(sql, &written).await;
    };
    let column = |of: fn(&NewRow) -> i64| rows.iter().map(of).collect::<Vec<i64>>();
    let of_accesses = |of: fn(Accesses) -> u64| {
        let column = rows.iter().map(|row| row.accesses.map(|it| as_integer(of(it))));
        column.collect::<Vec<Option<i64>>>()
    };
    let sql = "INSERT INTO event (tenant, first, n, at, low, high, width, entry, mac) \
               SELECT ?1::text, * FROM unnest(?2::bigint[], ?3::bigint[], ?4::bigint[], \
               ?5::bigint[], ?6::bigint[], ?7::bigint[], ?8::bytea[], ?9::bytea[])";
    let entries: Vec<&[u8]> = rows.iter().map(|row| row.entry.as_slice()).collect();
    let macs: Vec<&[u8]> = rows.iter().map(|row| row.mac.as_slice()).collect();
    session
        .bulk(
            sql,
            &[
                &journal.key(),
                &column(|row| as_integer(row.first)),
                &column(|row| as_integer(row.n)),
                &column(|row| row.at.as_millisecond()),
                &of_accesses(|it| it.low),
                &of_accesses(|it| it.high),
                &of_accesses(|it| width(it.high - it.low)),
                &entries,
                &macs,
            ],
        )
        .await
        .map(drop)
}

fn values_of<'r>(journal: &'r Journal, row: &'r NewRow) -> [Value<'r>; 9] {
    [
        journal.key().into(),
        row.first.into(),
        row.n.into(),
        row.at.into(),
        row.accesses.map(|it| it.low).into(),
        row.accesses.map(|it| it.high).into(),
        row.accesses.map(|it| width(it.high - it.low)).into(),
        row.entry.as_slice().into(),
        row.mac.as_slice().into(),
    ]
}
