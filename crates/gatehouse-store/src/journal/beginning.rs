//! The beginning of a journal.
//!
//! Programs before some schema version make changes without events, so on a store that exists already the journals
//! begin when no older server is left, with an event that says so. A tenant that is made later has its journals from its
//! first change on.

use std::sync::Arc;

use gatehouse_core::TenantName;
use gatehouse_core::event::Entry;

use super::chain::{ChainKey, NO_MAC};
use super::{ESTATE, Journal, JournalKind};
use crate::Store;
use crate::db::{Db, Tx, WriteKind};
use crate::error::StoreError;
use crate::migrate::older_servers::{self, Refusal};
use crate::setup::hook;

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

/// Refuses programs at once that don't know events, where none can be alive. Those that don't know the audit are refused
/// when a server begins it ([`Store::begin_journals`]), which has the key for that.
pub(crate) async fn begin_at_once(db: &Db) -> Result<(), StoreError> {
    let kind = JournalKind::Changes;
    if is_refused(db, kind).await? || !older_servers::are_impossible(db).await? {
        return Ok(());
    }
    match Refusal::before(kind.since_version()).advance(db).await {
        // The running server continues with it.
        Err(StoreError::Locked(_)) => Ok(()),
        other => other.map(drop),
    }
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

/// Whether every tenant has both journals, and no program is left that doesn't write them: the audit of the estate begins
/// last.
pub(crate) async fn have_all_begun(tx: Tx) -> Result<bool, StoreError> {
    has_estate_begun(&tx).await
}

const HAS_ESTATE_BEGUN: &str = "SELECT 1 FROM audit_ends WHERE tenant = ?1";

pub(crate) async fn has_estate_begun(tx: &Tx) -> Result<bool, StoreError> {
    Ok(tx.row(HAS_ESTATE_BEGUN, &[ESTATE.into()], |_| Ok(())).await?.is_some())
}

/// Begins the journals of a tenant that is made in this transaction, unless an older server may change it.
pub(crate) async fn begin_with_tenant(tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
    // An older program doesn't delete them with a tenant.
    super::hub::delete_all(tx, tenant).await?;
    hook::delete_all(tx, tenant).await?;
    for journal in [Journal::Changes(tenant.clone()), Journal::Audit(tenant.clone())] {
        let kind = journal.kind();
        // An older program doesn't delete them with a tenant, and refused requests come in at any time.
        for sql in [
            journal_sql!(kind, "DELETE FROM " ends " WHERE tenant = ?1"),
            journal_sql!(kind, "DELETE FROM " new_entries " WHERE tenant = ?1"),
            journal_sql!(kind, "DELETE FROM " entries " WHERE tenant = ?1"),
        ] {
            tx.execute(sql, &[tenant.as_str().into()]).await?;
        }
        if may_begin(tx, kind).await? {
            begin(tx, &journal).await?;
        }
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

impl Store {
    /// Begins the journals that have not begun; true when each has, and false while an older server may run.
    pub async fn begin_journals(&self, key: &ChainKey) -> Result<bool, StoreError> {
        // Where no older server can be, no client has to wait.
        let at_once = older_servers::are_impossible(&self.db).await?;
        let mut may_begin = [false; 2];
        for (n, kind) in JournalKind::ALL.into_iter().enumerate() {
            may_begin[n] = self.journal_to_begin(kind).await?.is_none()
                || self.journal_beginning.0[n].advance(&self.db).await?
                || at_once;
        }
        for (kind, may_begin) in JournalKind::ALL.into_iter().zip(may_begin) {
            while let Some(journal) = self.journal_to_begin(kind).await? {
                if !may_begin {
                    return Ok(false);
                }
                if kind == JournalKind::Changes {
                    // Changes of older servers are missing among the events so far, which can be very many.
                    while self.delete_some_new(journal.clone()).await? == AT_ONCE {}
                }
                if journal == Journal::EstateAudit {
                    self.sign_unsigned_ends(key).await?;
                }
                let begun = self
                    .db
                    .write(WriteKind::Server, async move |tx| begin_later(&tx, &journal).await);
                begun.await?;
            }
        }
        Ok(true)
    }

    /// Deletes entries that have no number, of a journal that hasn't begun; returns how many.
    async fn delete_some_new(&self, journal: Journal) -> Result<u64, StoreError> {
        let deleted = self.db.write(WriteKind::Server, async move |tx| {
            let sql = journal_sql!(
                journal.kind(),
                "DELETE FROM " new_entries " WHERE tenant = ?1 AND draw IN "
                "(SELECT draw FROM " new_entries " WHERE tenant = ?1 ORDER BY draw LIMIT ?2) "
                // Another server may have begun it.
                "AND NOT EXISTS (SELECT 1 FROM " ends " WHERE tenant = ?1)"
            );
            tx.execute(sql, &[journal.key().into(), AT_ONCE.into()]).await
        });
        deleted.await
    }

    /// A journal of this kind that hasn't begun; the estate's is the last.
    async fn journal_to_begin(&self, kind: JournalKind) -> Result<Option<Journal>, StoreError> {
        let sql = journal_sql!(
            kind,
            "SELECT t.tenant FROM tenant t WHERE NOT EXISTS "
            "(SELECT 1 FROM " ends " j WHERE j.tenant = t.tenant) ORDER BY t.tenant LIMIT 1"
        );
        if let Some(tenant) = self.db.row(sql, &[], |row| row.text(0)).await? {
            return Journal::with_key(kind, &tenant).map(Some);
        }
        let has_begun =
            self.db.row(HAS_ESTATE_BEGUN, &[ESTATE.into()], |_| Ok(())).await?.is_some();
        Ok((kind == JournalKind::Audit && !has_begun).then_some(Journal::EstateAudit))
    }

    /// Signs the ends of journals that a program before the audit has written.
    async fn sign_unsigned_ends(&self, key: &ChainKey) -> Result<(), StoreError> {
        for head in self.journal_heads().await? {
            let key = key.clone();
            let signed =
                self.db.write(WriteKind::Server, async move |tx| {
                    match super::lock_ends(&tx, &head.journal).await? {
                        Some(ends) => {
                            super::write_ends(&tx, &head.journal, &key, [&ends, &ends]).await
                        }
                        None => Ok(()),
                    }
                });
            signed.await?;
        }
        Ok(())
    }
}

/// Begins the journal of a tenant or an estate that is older than it.
async fn begin_later(tx: &Tx, journal: &Journal) -> Result<(), StoreError> {
    if !begin(tx, journal).await? {
        return Ok(());
    }
    let kind = journal.kind();
    if kind == JournalKind::Changes {
        let sql = journal_sql!(kind, "DELETE FROM " new_entries " WHERE tenant = ?1");
        tx.execute(sql, &[journal.key().into()]).await?;
    }
    let has_tenants = "SELECT 1 FROM tenant LIMIT 1";
    if tx.row(has_tenants, &[], |_| Ok(())).await?.is_none() {
        // The audit of a new estate has everything.
        return Ok(());
    }
    // Before the draws of changes that are committed later.
    let sql = journal_sql!(
        kind, "INSERT INTO " new_entries " (tenant, draw, at, entry) VALUES (?1, 0, ?2, ?3)"
    );
    let (at, entry) = (tx.now().await?, Entry::Start.encode());
    let values = [journal.key().into(), at.into(), entry.as_slice().into()];
    tx.execute(sql, &values).await.map(drop)
}
