//! Writing the audit: changes of the setup in their own transactions, and tokens and refused attempts by themselves.

use std::collections::BTreeMap;

use gatehouse_core::TenantName;
use gatehouse_core::event::audit::{SetupEntry, SetupObject};
use gatehouse_core::event::{Entry, Origin};

use super::new_events::write_all;
use super::{Journal, lock_ends};
use crate::Store;
use crate::db::{Tx, WriteKind};
use crate::error::StoreError;

/// How a change of the setup comes into the audit.
#[derive(Clone)]
pub struct Audited<T> {
    /// Where the change comes from.
    pub origin: Origin,
    /// The object as responses show it, without its secrets.
    pub record: fn(&T) -> String,
}

impl<T> Audited<T> {
    /// Writes a change into the audit of the object's tenant; nothing if the object is the same afterwards. The
    /// transaction has locked the object, so that its changes are in their order.
    pub(crate) async fn write(
        &self,
        tx: &Tx,
        tenant: &TenantName,
        changed: (SetupObject, &str),
        before: Option<&T>,
        after: Option<&T>,
    ) -> Result<(), StoreError> {
        let entry = self.entry(changed, before, after);
        write_all(tx, &Journal::Audit(tenant.clone()), entry.as_slice()).await
    }

    /// Writes a change into the audit of the estate.
    pub(crate) async fn write_to_estate(
        &self,
        tx: &Tx,
        changed: (SetupObject, &str),
        before: Option<&T>,
        after: Option<&T>,
    ) -> Result<(), StoreError> {
        let entry = self.entry(changed, before, after);
        write_all(tx, &Journal::EstateAudit, entry.as_slice()).await
    }

    fn entry(
        &self,
        (object, id): (SetupObject, &str),
        before: Option<&T>,
        after: Option<&T>,
    ) -> Option<Entry> {
        let [before, after] = [before, after].map(|it| it.map(self.record));
        (before != after).then(|| {
            let (id, origin) = (id.to_owned(), self.origin.clone());
            Entry::Setup(SetupEntry { object, id, before, after, origin })
        })
    }
}

impl Store {
    /// Writes entries into the audits of tenants, and into the estate's where there is no tenant or an unknown one. The
    /// entries that could not be written come back, with the first reason.
    pub async fn write_audit(
        &self,
        entries: Vec<(Option<TenantName>, Entry)>,
    ) -> Result<(), (Vec<(Option<TenantName>, Entry)>, StoreError)> {
        let mut of_tenants: BTreeMap<Option<TenantName>, Vec<Entry>> = BTreeMap::new();
        for (tenant, entry) in entries {
            of_tenants.entry(tenant).or_default().push(entry);
        }
        let (mut left, mut failed) = (Vec::new(), None);
        for (tenant, entries) in of_tenants {
            let (own, these) = (tenant.clone().map(Journal::Audit), entries.clone());
            let written = self.db.write(WriteKind::Server, async move |tx| {
                let journal = match own {
                    // Locked, so that a tenant that is being deleted leaves no entry behind.
                    Some(own) if lock_ends(&tx, &own).await?.is_some() => own,
                    _ => Journal::EstateAudit,
                };
                write_all(&tx, &journal, &these).await
            });
            if let Err(error) = written.await {
                left.extend(entries.into_iter().map(|entry| (tenant.clone(), entry)));
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok(()), |error| Err((left, error)))
    }
}
