//! The beginning of a tenant's journal.
//!
//! Programs before schema version 13 change accesses without events, so on a store that exists already the journals
//! begin when no older server is left, with an event that says so. A tenant that is made later has its journal from its
//! first change on.

use std::sync::Arc;

use gatehouse_core::TenantName;
use gatehouse_core::event::Entry;

use super::chain::NO_MAC;
use crate::Store;
use crate::db::{Db, Tx, WriteKind};
use crate::error::StoreError;
use crate::migrate::older_servers::{self, Refusal};

/// The first schema version whose programs write events.
const EVENTS_SINCE: i64 = 13;

/// Entries that are deleted at once.
const AT_ONCE: u64 = 5000;

/// When journals may begin.
#[derive(Clone)]
pub(crate) struct JournalBeginning(Arc<Refusal>);

impl Default for JournalBeginning {
    fn default() -> Self {
        Self(Arc::new(Refusal::before(EVENTS_SINCE)))
    }
}

/// Refuses older programs at once where none can be alive.
pub(crate) async fn begin_at_once(db: &Db) -> Result<(), StoreError> {
    if is_refused(db).await? || !older_servers::are_impossible(db).await? {
        return Ok(());
    }
    match Refusal::before(EVENTS_SINCE).advance(db).await {
        // The running server continues with it.
        Err(StoreError::Locked(_)) => Ok(()),
        other => other.map(drop),
    }
}

const IS_REFUSED: &str = "SELECT 1 FROM schema_version WHERE version = ?1 AND needs = ?1";

async fn is_refused(db: &Db) -> Result<bool, StoreError> {
    Ok(db.row(IS_REFUSED, &[EVENTS_SINCE.into()], |_| Ok(())).await?.is_some())
}

/// Begins the journal of a tenant that is made in this transaction, unless an older server may change it.
pub(crate) async fn begin_with_tenant(tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
    let is_refused = tx.row(IS_REFUSED, &[EVENTS_SINCE.into()], |_| Ok(())).await?.is_some();
    if is_refused && !older_servers::is_any_alive(tx, EVENTS_SINCE).await? {
        begin(tx, tenant).await?;
    }
    Ok(())
}

async fn begin(tx: &Tx, tenant: &TenantName) -> Result<bool, StoreError> {
    let sql = "INSERT INTO journal (tenant, last, mac, deleted_to, deleted_mac) \
               SELECT tenant, 0, ?2, 0, ?2 FROM tenant WHERE tenant = ?1 \
               ON CONFLICT (tenant) DO NOTHING";
    let values = [tenant.as_str().into(), NO_MAC.as_slice().into()];
    Ok(tx.execute(sql, &values).await? == 1)
}

impl Store {
    /// Deletes entries that have no number; returns how many.
    async fn delete_some_new(&self, tenant: TenantName) -> Result<u64, StoreError> {
        let sql = "DELETE FROM event_new WHERE tenant = ?1 AND draw IN \
                   (SELECT draw FROM event_new WHERE tenant = ?1 ORDER BY draw LIMIT ?2)";
        let deleted = self.db.write(WriteKind::Server, async move |tx| {
            tx.execute(sql, &[tenant.as_str().into(), AT_ONCE.into()]).await
        });
        deleted.await
    }

    /// Begins the journals of tenants that have none; true when every tenant has one, and false while an older server
    /// may run.
    pub async fn begin_journals(&self) -> Result<bool, StoreError> {
        let sql = "SELECT t.tenant FROM tenant t WHERE NOT EXISTS \
                   (SELECT 1 FROM journal j WHERE j.tenant = t.tenant) ORDER BY t.tenant LIMIT 1";
        loop {
            let Some(tenant) = self.db.row(sql, &[], |row| row.parsed::<TenantName>(0)).await?
            else {
                return Ok(true);
            };
            if !self.journal_beginning.0.advance(&self.db).await? {
                return Ok(false);
            }
            // Changes of older servers are missing among the events so far, which can be very many.
            while self.delete_some_new(tenant.clone()).await? == AT_ONCE {}
            let begun = self.db.write(WriteKind::Server, async move |tx| {
                if begin(&tx, &tenant).await? {
                    let sql = "DELETE FROM event_new WHERE tenant = ?1";
                    tx.execute(sql, &[tenant.as_str().into()]).await?;
                    // Before the draws of changes that are committed later.
                    let sql =
                        "INSERT INTO event_new (tenant, draw, at, entry) VALUES (?1, 0, ?2, ?3)";
                    let (at, entry) = (tx.now().await?, Entry::Start.encode());
                    let values = [tenant.as_str().into(), at.into(), entry.as_slice().into()];
                    tx.execute(sql, &values).await?;
                }
                Ok::<_, StoreError>(())
            });
            begun.await?;
        }
    }
}
