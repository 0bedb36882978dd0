//! Building the counted sets of accesses that exist already, while all servers go on.
//!
//! Programs before schema version 11 change accesses without their sets, so building begins when no older server is
//! left. A tenant's accesses are read in the order of their numbers, a few thousand a transaction, and `set_build` has
//! the number that they are built to. A writer keeps the sets of numbers up to there, and leaves the others alone.
//! While a tenant's sets are being built, its writers and the builder take turns with that row's lock; afterwards
//! no transaction locks it.

use std::sync::Arc;

use gatehouse_core::counted_set;
use gatehouse_core::list::NumberedSet;
use gatehouse_core::{Access, TenantName};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::changes::SetChanges;
use super::label_building;
use super::position::{COMPLETE, lock_position};
use crate::Store;
use crate::access::{columns, read_numbered};
use crate::counts::counter;
use crate::db::{Db, Tx, WriteKind};
use crate::error::StoreError;
use crate::migrate::older_servers::{self, Refusal};

/// The first schema version whose programs keep counted sets.
const SETS_SINCE: i64 = 11;

/// Accesses in one step: few, because the step blocks the tenant's writers.
const STEP_NUMBERS: u64 = 2000;

/// Progress of building counted sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBuilding {
    /// Every tenant's sets are complete.
    Complete,
    /// A step was taken; more are to do.
    Building,
    /// Not yet: a server of an older version runs, or did a short while ago.
    OlderServer,
}

/// When building may begin, and which tenant it came to.
#[derive(Clone)]
pub(crate) struct SetBuilder {
    older: Arc<Refusal>,
    last: Arc<Mutex<String>>,
    wake: Arc<Notify>,
}

impl Default for SetBuilder {
    fn default() -> Self {
        Self {
            older: Arc::new(Refusal::before(SETS_SINCE)),
            last: Arc::default(),
            wake: Arc::default(),
        }
    }
}

impl SetBuilder {
    /// Wakes the worker of this server that builds sets.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }
}

/// Refuses older programs at once where none can be alive.
pub(crate) async fn begin_at_once(db: &Db) -> Result<(), StoreError> {
    if is_refused(db).await? || !older_servers::are_impossible(db).await? {
        return Ok(());
    }
    match Refusal::before(SETS_SINCE).advance(db).await {
        // The running server continues with it.
        Err(StoreError::Locked(_)) => Ok(()),
        other => other.map(drop),
    }
}

async fn is_refused(db: &Db) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM schema_version WHERE version = ?1 AND needs = ?1";
    Ok(db.row(sql, &[SETS_SINCE.into()], |_| Ok(())).await?.is_some())
}

impl Store {
    /// Waits until this server has changed the label keys of a tenant, so that there are sets to build or delete.
    pub async fn until_sets_change(&self) {
        self.set_builder.wake.notified().await;
    }

    /// Takes the next step of building the tenants' counted sets: of one tenant after the other.
    pub async fn advance_sets(&self) -> Result<SetBuilding, StoreError> {
        // No older server knows labels, so their sets don't wait for one.
        if let Some(tenant) = self.next_unbuilt_labels().await? {
            *self.set_builder.last.lock() = tenant.to_string();
            let kind = WriteKind::Tenant(tenant.clone());
            let step = async move |tx: Tx| label_building::step(&tx, &tenant, STEP_NUMBERS).await;
            self.db.write(kind, step).await?;
            return Ok(SetBuilding::Building);
        }
        let Some(tenant) = self.next_unbuilt().await? else { return Ok(SetBuilding::Complete) };
        if !self.set_builder.older.advance(&self.db).await? {
            return Ok(SetBuilding::OlderServer);
        }
        // Before the step, so that a tenant whose step fails doesn't hold up the others.
        *self.set_builder.last.lock() = tenant.to_string();
        self.build_sets(tenant, STEP_NUMBERS).await?;
        Ok(SetBuilding::Building)
    }

    /// The next tenant whose sets of labels are not complete, behind the last one.
    async fn next_unbuilt_labels(&self) -> Result<Option<TenantName>, StoreError> {
        let last = self.set_builder.last.lock().clone();
        match label_building::next_unbuilt(&self.db, &last).await? {
            None => label_building::next_unbuilt(&self.db, "").await,
            next => Ok(next),
        }
    }

    /// The next tenant whose sets are not complete, behind the last one.
    async fn next_unbuilt(&self) -> Result<Option<TenantName>, StoreError> {
        let sql = "SELECT t.tenant FROM tenant t LEFT JOIN set_build b ON b.tenant = t.tenant \
                   WHERE COALESCE(b.built_to, 0) <> ?1 AND t.tenant > ?2 ORDER BY t.tenant LIMIT 1";
        let last = self.set_builder.last.lock().clone();
        for behind in [last.as_str(), ""] {
            let values = [COMPLETE.into(), behind.into()];
            let next = self.db.row(sql, &values, |row| row.parsed(0)).await?;
            if next.is_some() {
                return Ok(next);
            }
        }
        Ok(None)
    }

    /// Builds a tenant's sets for the next numbers.
    pub(crate) async fn build_sets(
        &self,
        tenant: TenantName,
        n_max: u64,
    ) -> Result<(), StoreError> {
        let kind = WriteKind::Tenant(tenant.clone());
        let is_last = self.db.write(kind.clone(), {
            let tenant = tenant.clone();
            async move |tx| build_step(&tx, &tenant, n_max, false).await
        });
        if is_last.await? {
            // The last step locks out creations, so that none is left behind.
            self.db
                .write(kind, async move |tx| build_step(&tx, &tenant, n_max, true).await)
                .await?;
        }
        Ok(())
    }
}

/// Adds the next accesses to their sets. Returns whether the rest fits into one step.
async fn build_step(
    tx: &Tx,
    tenant: &TenantName,
    n_max: u64,
    is_last: bool,
) -> Result<bool, StoreError> {
    if is_last && counter::lock_tenant(tx, tenant).await?.is_none() {
        return Ok(false);
    }
    let built_to = lock_position(tx, tenant).await?;
    if built_to == COMPLETE {
        return Ok(false);
    }
    // Read under the lock, so that it isn't older than the position.
    let Some(counter) = counter::get(tx, tenant, &NumberedSet::Tenant).await? else {
        // The tenant was deleted meanwhile, and has a position only because it was locked.
        let sql = "DELETE FROM set_build WHERE tenant = ?1";
        tx.execute(sql, &[tenant.as_str().into()]).await?;
        return Ok(false);
    };
    let total = counter.total;
    if !is_last && total.saturating_sub(built_to) <= n_max {
        return Ok(true);
    }
    // Where creations came in between, the last step isn't the last one.
    let to = total.min(built_to + n_max).max(built_to);
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM access WHERE tenant = ?1 AND number > ?2 AND number <= ?3 ORDER BY number"
    );
    let values = [tenant.as_str().into(), built_to.into(), to.into()];
    let accesses: Vec<(u64, Access)> = tx.rows(sql, &values, read_numbered).await?;
    let mut changes = SetChanges::default();
    for (number, access) in &accesses {
        // The sets of labels are built on their own, with positions of their own.
        let sets = counted_set::sets_of(access).into_iter();
        sets.filter(|set| set.label_key().is_none())
            .for_each(|set| changes.set(set, *number, true));
    }
    changes.write_all(tx, tenant).await?;
    let position = if is_last && to == total { COMPLETE } else { to };
    let sql = "UPDATE set_build SET built_to = ?2 WHERE tenant = ?1";
    tx.execute(sql, &[tenant.as_str().into(), position.into()]).await?;
    Ok(false)
}
