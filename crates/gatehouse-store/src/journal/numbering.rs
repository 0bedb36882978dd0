//! Numbering and chaining the entries that have been committed.
//!
//! One transaction at a time does it for a tenant, under the lock of the journal's row. It sees only what is committed,
//! and the draws of one access's changes rise in the order of their commits, because each draws under the row's lock.

use gatehouse_core::event::Entry;
use gatehouse_core::{TenantName, Timestamp};

use super::chain::{ChainKey, Mac, Numbered};
use crate::Store;
use crate::access::bulk::as_integer;
use crate::db::{Row, Tx, Value, WriteKind};
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

    /// Numbers entries of every tenant that has some without numbers; returns how many tenants have more of them. An
    /// error of one tenant, the first one, is returned once all others had their turn.
    pub async fn number_events(&self, key: &ChainKey) -> Result<usize, StoreError> {
        let (mut last, mut n_with_more, mut failed) = (String::new(), 0, None);
        while let Some(tenant) = self.next_with_new_events(&last).await? {
            match self.number_events_of(&tenant, key).await {
                Ok(has_more) => n_with_more += usize::from(has_more),
                Err(error) => {
                    tracing::warn!(%tenant, %error, "events can't be numbered now");
                    failed.get_or_insert(error);
                }
            }
            last = tenant.to_string();
        }
        failed.map_or(Ok(n_with_more), Err)
    }

    /// The next tenant with entries without numbers.
    async fn next_with_new_events(&self, last: &str) -> Result<Option<TenantName>, StoreError> {
        // Tenants without a journal would come again and again.
        let sql = "SELECT j.tenant FROM journal j WHERE j.tenant > ?1 \
                   AND EXISTS (SELECT 1 FROM event_new e WHERE e.tenant = j.tenant) \
                   ORDER BY j.tenant LIMIT 1";
        self.db.row(sql, &[last.into()], |row| row.parsed(0)).await
    }

    /// Numbers some entries of a tenant; true if there may be more.
    pub(crate) async fn number_events_of(
        &self,
        tenant: &TenantName,
        key: &ChainKey,
    ) -> Result<bool, StoreError> {
        let (tenant, key) = (tenant.clone(), key.clone());
        // As a batch: a batch of accesses that runs on doesn't end its step for it, as it does for a request.
        self.db
            .write(WriteKind::Batch(tenant.clone()), async move |tx| {
                let Some(mut ends) = super::lock_ends(&tx, &tenant).await? else {
                    return Ok(false);
                };
                let (mut rows, has_more) = read_new(&tx, &tenant).await?;
                for row in &mut rows {
                    row.first = ends.last + 1;
                    let (first, n, at) = (row.first, row.n, row.at.as_millisecond());
                    let numbered = Numbered { first, n, at, bytes: &row.entry };
                    ends.mac = key.sign(&tenant, &ends.mac, &numbered);
                    row.mac = ends.mac;
                    ends.last += n;
                }
                if !rows.is_empty() {
                    move_rows(&tx, &tenant, &rows).await?;
                    let sql = "UPDATE journal SET last = ?2, mac = ?3 WHERE tenant = ?1";
                    let values =
                        [tenant.as_str().into(), ends.last.into(), ends.mac.as_slice().into()];
                    tx.execute(sql, &values).await?;
                }
                Ok::<_, StoreError>(has_more)
            })
            .await
    }
}

/// The next entries, and whether there may be more.
async fn read_new(tx: &Tx, tenant: &TenantName) -> Result<(Vec<NewRow>, bool), StoreError> {
    let sql = "SELECT CAST(LENGTH(entry) AS BIGINT) FROM event_new WHERE tenant = ?1 ORDER BY draw LIMIT ?2";
    let values = [tenant.as_str().into(), ENTRIES_AT_ONCE.into()];
    let sizes = tx.rows(sql, &values, |row| row.count(0)).await?;
    let mut n_bytes = 0;
    let fitting = sizes.iter().take_while(|size| {
        n_bytes += **size;
        n_bytes <= BYTES_AT_ONCE
    });
    let n_entries = (fitting.count() as u64).max(1);
    let has_more = n_entries < sizes.len() as u64 || n_entries == ENTRIES_AT_ONCE;
    let sql = "SELECT draw, at, entry FROM event_new WHERE tenant = ?1 ORDER BY draw LIMIT ?2";
    let read = |row: &Row<'_>| {
        let bytes = row.bytes(2)?;
        let entry = Entry::decode(&bytes).map_err(StoreError::corrupt)?;
        let numbers = match &entry {
            Entry::Accesses(stretch) => stretch.items.first().zip(stretch.items.last()),
            Entry::Task(_) | Entry::Start => None,
        };
        let accesses =
            numbers.map(|(first, last)| Accesses { low: first.number, high: last.number });
        let (draw, at, n) = (row.integer(0)?, row.time(1)?, entry.n_events());
        Ok(NewRow { draw, at, entry: bytes, first: 0, n, accesses, mac: super::chain::NO_MAC })
    };
    let rows = tx.rows(sql, &[tenant.as_str().into(), n_entries.into()], read).await?;
    Ok((rows, has_more))
}

/// Writes numbered entries, and deletes them as new ones. Exactly those: others with lower draws may have been committed
/// since they were read.
async fn move_rows(tx: &Tx, tenant: &TenantName, rows: &[NewRow]) -> Result<(), StoreError> {
    let Some(session) = tx.postgres() else {
        let sql = "INSERT INTO event (tenant, first, n, at, low, high, width, entry, mac) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let written: Vec<[Value<'_>; 9]> = rows.iter().map(|row| values_of(tenant, row)).collect();
        tx.execute_each(sql, &written).await?;
        let sql = "DELETE FROM event_new WHERE tenant = ?1 AND draw = ?2";
        let deleted: Vec<[Value<'_>; 2]> =
            rows.iter().map(|row| [tenant.as_str().into(), row.draw.into()]).collect();
        return tx.execute_each(sql, &deleted).await;
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
                &tenant.as_str(),
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
        .await?;
    let sql = "DELETE FROM event_new WHERE tenant = ?1 AND draw = ANY(?2)";
    session.bulk(sql, &[&tenant.as_str(), &column(|row| row.draw)]).await.map(drop)
}

fn values_of<'r>(tenant: &'r TenantName, row: &'r NewRow) -> [Value<'r>; 9] {
    [
        tenant.as_str().into(),
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
