//! The beginning of a journal.
//!
//! Programs before some schema version make changes without events, so on a store that exists already the journals
//! begin when no older server is left, with an event that says so. A tenant that is made later has its journals from its
//! first change on.

use std::sync::Arc;

use gatehouse_core::TenantName;
use gatehouse_core::event::Entry;

use super::chain::NO_MAC;
use super::{ESTATE, Journal, JournalKind, new_events};
use crate::Store;
use crate::db::{Db, Tx, WriteKind};
use crate::error::StoreError;
use crate::migrate::older_servers::{self, Refusal};

/// Entries that are deleted at once.
const AT_ONCE: u64 = 5000;

/// When journals may begin.
#[derive(Clone)]
pub(crate) struct JournalBeginning(Arc<[Refusal; 2]>);

impl Default for JournalBeginning {
    fn default() -> Self {
        Self(Arc::new(JournalKind::ALL.map(|kind| Refusal::before(kind.since_version()))))
    }
}

/// Refuses older programs at once where none can be alive.
pub(crate) async fn begin_at_once(db: &Db) -> Result<(), StoreError> {
    for kind in JournalKind::ALL {
        if is_refused(db, kind).await? {
            continue;
        }
        if !older_servers::are_impossible(db).await? {
            return Ok(());
        }
        match Refusal::before(kind.since_version()).advance(db).await {
            // The running server continues with it.
            Err(StoreError::Locked(_)) => return Ok(()),
            other => _ = other?,
        }
    }
    Ok(())
}

const IS_REFUSED: &str = "SELECT 1 FROM schema_version WHERE version = ?1 AND needs = ?1";

async fn is_refused(db: &Db, kind: JournalKind) -> Result<bool, StoreError> {
    Ok(db.row(IS_REFUSED, &[kind.since_version().into()], |_| Ok(())).await?.is_some())
}

async fn may_begin(tx: &Tx, kind: JournalKind) -> Result<bool, StoreError> {
    let version = kind.since_version();
    let is_refused = tx.row(IS_REFUSED, &[version.into()], |_| Ok(())).await?.is_some();
    Ok(is_refused && !older_servers::is_any_alive(tx, version).await?)
}

/// Begins the journals of a tenant that is made in this transaction, and with the first tenant that of the estate, unless
/// an older server may change them.
pub(crate) async fn begin_with_tenant(tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
    for journal in [Journal::Changes(tenant.clone()), Journal::Audit(tenant.clone())] {
        if may_begin(tx, journal.kind()).await? {
            begin(tx, &journal).await?;
        }
    }
    if may_begin(tx, JournalKind::Audit).await? {
        begin_estate(tx, Some(tenant)).await?;
    }
    Ok(())
}

/// Begins a journal, unless it has or its tenant was deleted.
async fn begin(tx: &Tx, journal: &Journal) -> Result<bool, StoreError> {
    let sql = match journal {
        Journal::EstateAudit => {
            "INSERT INTO audit_ends (tenant, last, mac, deleted_to, deleted_mac) \
             VALUES (?1, 0, ?2, 0, ?2) ON CONFLICT (tenant) DO NOTHING"
        }
        of_tenant => journal_sql!(
            of_tenant.kind(),
            "INSERT INTO " ends " (tenant, last, mac, deleted_to, deleted_mac) "
            "SELECT tenant, 0, ?2, 0, ?2 FROM tenant WHERE tenant = ?1 "
            "ON CONFLICT (tenant) DO NOTHING"
        ),
    };
    Ok(tx.execute(sql, &[journal.key().into(), NO_MAC.as_slice().into()]).await? == 1)
}

/// Begins the estate's audit, unless it has. An estate that is older than its audit, because it has tenants besides a
/// new one, says so.
async fn begin_estate(tx: &Tx, new: Option<&TenantName>) -> Result<(), StoreError> {
    let has_tenants = "SELECT 1 FROM tenant WHERE tenant <> ?1 LIMIT 1";
    let new = new.map_or("", |name| name.as_str());
    if begin(tx, &Journal::EstateAudit).await?
        && tx.row(has_tenants, &[new.into()], |_| Ok(())).await?.is_some()
    {
        new_events::write_all(tx, &Journal::EstateAudit, &[Entry::Start]).await?;
    }
    Ok(())
}

impl Store {
    /// Deletes entries that have no number; returns how many.
    async fn delete_some_new(&self, journal: Journal) -> Result<u64, StoreError> {
        let deleted = self.db.write(WriteKind::Server, async move |tx| {
            let sql = journal_sql!(
                journal.kind(),
                "DELETE FROM " new_entries " WHERE tenant = ?1 AND draw IN "
                "(SELECT draw FROM " new_entries " WHERE tenant = ?1 ORDER BY draw LIMIT ?2)"
            );
            tx.execute(sql, &[journal.key().into(), AT_ONCE.into()]).await
        });
        deleted.await
    }

    /// Begins the journals that have not begun; true when each has, and false while an older server may run.
    pub async fn begin_journals(&self) -> Result<bool, StoreError> {
        for (kind, refusal) in JournalKind::ALL.into_iter().zip(self.journal_beginning.0.iter()) {
            while let Some(journal) = self.journal_to_begin(kind).await? {
                if !refusal.advance(&self.db).await? {
                    return Ok(false);
                }
                // Changes of older servers are missing among the events so far, which can be very many.
                while self.delete_some_new(journal.clone()).await? == AT_ONCE {}
                let begun = self.db.write(WriteKind::Server, async move |tx| match &journal {
                    Journal::EstateAudit => begin_estate(&tx, None).await,
                    _ => begin_later(&tx, &journal).await,
                });
                begun.await?;
            }
        }
        Ok(true)
    }

    /// A journal of this kind that hasn't begun.
    async fn journal_to_begin(&self, kind: JournalKind) -> Result<Option<Journal>, StoreError> {
        let estate = "SELECT 1 FROM audit_ends WHERE tenant = ?1";
        if kind == JournalKind::Audit
            && self.db.row(estate, &[ESTATE.into()], |_| Ok(())).await?.is_none()
        {
            return Ok(Some(Journal::EstateAudit));
        }
        let sql = journal_sql!(
            kind,
            "SELECT t.tenant FROM tenant t WHERE NOT EXISTS "
            "(SELECT 1 FROM " ends " j WHERE j.tenant = t.tenant) ORDER BY t.tenant LIMIT 1"
        );
        let tenant = self.db.row(sql, &[], |row| row.text(0)).await?;
        tenant.map(|tenant| Journal::with_key(kind, &tenant)).transpose()
    }
}

/// Begins the journal of a tenant that is older than it.
async fn begin_later(tx: &Tx, journal: &Journal) -> Result<(), StoreError> {
    if !begin(tx, journal).await? {
        return Ok(());
    }
    let kind = journal.kind();
    let sql = journal_sql!(kind, "DELETE FROM " new_entries " WHERE tenant = ?1");
    tx.execute(sql, &[journal.key().into()]).await?;
    // Before the draws of changes that are committed later.
    let sql = journal_sql!(
        kind, "INSERT INTO " new_entries " (tenant, draw, at, entry) VALUES (?1, 0, ?2, ?3)"
    );
    let (at, entry) = (tx.now().await?, Entry::Start.encode());
    let values = [journal.key().into(), at.into(), entry.as_slice().into()];
    tx.execute(sql, &values).await.map(drop)
}
