//! Events of a transaction: collected with its changes, and written without numbers.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use futures_util::future::try_join_all;
use gatehouse_core::event::encoding::STRETCH_ITEMS_MAX;
use gatehouse_core::event::{
    AccessState, Cause, ChangedFields, Entry, EventType, Origin, Stretch, StretchItem,
};
use gatehouse_core::{Access, Status, TenantName};

use super::Journal;
use crate::db::{Dialect, Tx};
use crate::error::StoreError;

/// Changes of accesses in one transaction.
#[derive(Default)]
pub(crate) struct NewEvents(BTreeMap<(EventType, ChangedFields), NewStretch>);

#[derive(Default)]
struct NewStretch {
    states: Indexed<AccessState>,
    origins: Indexed<Origin>,
    items: Vec<StretchItem>,
}

/// Different values, each with its position.
struct Indexed<T>(HashMap<T, usize>, Vec<T>);

impl<T> Default for Indexed<T> {
    fn default() -> Self {
        Self(HashMap::new(), Vec::new())
    }
}

impl<T: Clone + Eq + Hash> Indexed<T> {
    fn position(&mut self, value: &T) -> usize {
        if self.1.last() == Some(value) {
            return self.1.len() - 1;
        }
        if let Some(position) = self.0.get(value) {
            return *position;
        }
        self.1.push(value.clone());
        self.0.insert(value.clone(), self.1.len() - 1);
        self.1.len() - 1
    }
}

impl NewEvents {
    /// Adds a new access.
    pub(crate) fn add_new(&mut self, number: u64, access: &Access, origin: &Origin) {
        let state = AccessState::of(access);
        let key = (EventType::AccessCreate, ChangedFields::default());
        self.add(key, number, access.version, &state, origin);
    }

    /// Adds a change of an access: one event if its status changes, and one if anything else does.
    pub(crate) fn change(
        &mut self,
        number: u64,
        [before, after]: [&Access; 2],
        has_new_password: bool,
        origin: &Origin,
    ) {
        let changed = ChangedFields::between(before, after, has_new_password);
        // An end that had come already, though it wasn't stored: the request or the Task didn't end the access.
        let has_ended = after.status == Status::Terminated && before.end == after.end;
        let expiry = Origin::of(Cause::Expiry);
        let origin = if has_ended && !has_new_password { &expiry } else { origin };
        // Accesses that change together keep only what changed: a few bytes for all of them.
        let is_alone = matches!(origin.cause, Cause::Request(_) | Cause::Check(_));
        let state = match is_alone {
            true => AccessState::of(after),
            // An end that has come is the time of its event.
            false if origin.cause == Cause::Expiry => {
                AccessState { end: Some(after.end), ..AccessState::changed(after, changed) }
            }
            false => AccessState::changed(after, changed),
        };
        for event_type in changed.event_types() {
            self.add((event_type, changed), number, after.version, &state, origin);
        }
    }

    fn add(
        &mut self,
        key: (EventType, ChangedFields),
        number: u64,
        version: u64,
        state: &AccessState,
        origin: &Origin,
    ) {
        let stretch = self.0.entry(key).or_default();
        let (state, origin) = (stretch.states.position(state), stretch.origins.position(origin));
        stretch.items.push(StretchItem { number, version, state, origin });
    }

    /// Writes the events. The changed accesses are locked.
    pub(crate) async fn write(&self, tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
        let mut entries = Vec::new();
        for ((event_type, changed), NewStretch { states, origins, items }) in &self.0 {
            let (event_type, changed) = (*event_type, *changed);
            let mut items = items.clone();
            items.sort_by_key(|item| item.number);
            for items in items.chunks(STRETCH_ITEMS_MAX) {
                let (states, origins) = (states.1.clone(), origins.1.clone());
                let stretch =
                    Stretch { event_type, changed, states, origins, items: items.to_vec() };
                entries.push(Entry::Accesses(stretch));
            }
        }
        write_all(tx, &Journal::Changes(tenant.clone()), &entries).await
    }
}

/// Writes entries in this order, without numbers.
pub(crate) async fn write_all(
    tx: &Tx,
    journal: &Journal,
    entries: &[Entry],
) -> Result<(), StoreError> {
    if entries.is_empty() || !tx.has_journal() {
        return Ok(());
    }
    let sql = match tx.dialect() {
        Dialect::Sqlite => journal_sql!(
            journal.kind(),
            "INSERT INTO " new_entries " (tenant, draw, at, entry) "
            "SELECT ?1, COALESCE(MAX(draw), 0) + 1, ?2, ?3 FROM " new_entries " WHERE tenant = ?1"
        ),
        Dialect::Postgres => journal_sql!(
            journal.kind(), "INSERT INTO " new_entries " (tenant, at, entry) VALUES (?1, ?2, ?3)"
        ),
    };
    let at = tx.now().await?;
    try_join_all(entries.iter().map(async |entry| {
        let bytes = entry.encode();
        let values = [journal.key().into(), at.into(), bytes.as_slice().into()];
        tx.execute(sql, &values).await
    }))
    .await
    .map(drop)
}
