//! The journal of a tenant: an event for every change of an access and of a Task's state.
//!
//! A change writes its entry in its own transaction, without a number, so that writers don't wait for each other. After
//! the commit a short transaction numbers what has been committed, in an order in which the changes of one access never
//! swap, and chains the entries: each has a MAC of its bytes and of the MAC before, with a key that is derived from the
//! master key. A number is given once and never skipped, so a reader who has every number up to the last one has
//! missed nothing.

pub(crate) mod beginning;
pub(crate) mod chain;
pub(crate) mod feed;
pub(crate) mod history;
pub(crate) mod last_events;
pub(crate) mod new_events;
pub(crate) mod numbering;
pub(crate) mod pruning;
pub(crate) mod unfolding;
pub(crate) mod verification;

use gatehouse_core::TenantName;

use crate::db::{Row, Tx};
use crate::error::StoreError;
use chain::Mac;

/// Both ends of a tenant's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalEnds {
    /// Number of the last event; 0 before the first one.
    pub(crate) last: u64,
    /// MAC of the last entry.
    pub(crate) mac: Mac,
    /// Number of the last event that was deleted for its age.
    pub(crate) deleted_to: u64,
    /// MAC of its entry.
    pub(crate) deleted_mac: Mac,
}

const ENDS: &str = "SELECT last, mac, deleted_to, deleted_mac FROM journal WHERE tenant = ?1";

pub(crate) async fn read_ends(
    tx: &Tx,
    tenant: &TenantName,
) -> Result<Option<JournalEnds>, StoreError> {
    tx.row(ENDS, &[tenant.as_str().into()], ends_of).await
}

/// Locks the journal: one transaction at a time numbers or deletes its entries.
pub(crate) async fn lock_ends(
    tx: &Tx,
    tenant: &TenantName,
) -> Result<Option<JournalEnds>, StoreError> {
    tx.lock_row(ENDS, &[tenant.as_str().into()], ends_of).await
}

fn ends_of(row: &Row<'_>) -> Result<JournalEnds, StoreError> {
    Ok(JournalEnds {
        last: row.count(0)?,
        mac: chain::mac_of(row.bytes_ref(1)?)?,
        deleted_to: row.count(2)?,
        deleted_mac: chain::mac_of(row.bytes_ref(3)?)?,
    })
}
