//! Group commit of creations: concurrent creations of one tenant become one transaction.
//!
//! A tenant's creations are serialized by its counter anyway. So while one transaction runs, the next creations wait
//! together, and then share a flush and a few statements. Tenants don't wait for each other. Another server may hold
//! the counter: the group is chosen after the lock was granted, so that it has all creations that came until then.
//! SQLite's writer also lets writes share a flush, but not their statements, which cost more than the flush.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_core::{Access, TenantName};
use gatehouse_meter::GaugeGuard;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::access::creation::{CreateRefused, NewAccess, create_numbered};
use crate::access::username_reuse::Usernames;
use crate::counts::counter;
use crate::db::{Db, WriteKind};
use crate::error::StoreError;
use crate::meter::CallKind;

/// Most creations in one transaction.
const GROUP_MAX: usize = 500;

type Created = Result<Result<Access, CreateRefused>, StoreError>;
type Waiting = (NewAccess, ResponseSender);

/// Sends a response; counts as waiting until its group runs.
type ResponseSender = (oneshot::Sender<Created>, GaugeGuard);

/// Waiting creations by tenant. A tenant has an entry while a task works for it.
#[derive(Clone, Default)]
pub(crate) struct CreationGroups {
    waiting: Arc<Mutex<HashMap<TenantName, Vec<Waiting>>>>,
    workers: TaskTracker,
}

/// Creations that share a transaction: the accesses, and where their responses go.
#[derive(Default)]
struct Group {
    new: Vec<NewAccess>,
    answers: Vec<oneshot::Sender<Created>>,
}

impl CreationGroups {
    /// Creates one access together with the tenant's other waiting creations.
    pub(crate) async fn create(
        &self,
        db: &Db,
        usernames: &Usernames,
        tenant: &TenantName,
        new: NewAccess,
    ) -> Created {
        let (answer, answered) = oneshot::channel();
        let waiting = GaugeGuard::new(&db.meter().gather_waiting);
        if self.enqueue(tenant, (new, (answer, waiting))) {
            let (groups, db, tenant) = (self.clone(), db.clone(), tenant.clone());
            let usernames = usernames.clone();
            // Runs on its own task, so that a client that disconnects doesn't cancel the others' creations.
            self.workers.spawn(async move { groups.work(&db, &usernames, &tenant).await });
        }
        // The transaction is shared; each request's trace shows only the time that it waited.
        let answered = answered.instrument(CallKind::Write.span()).await;
        answered.map_err(|_| StoreError::closed())?
    }

    /// Waits for the creations in progress.
    pub(crate) async fn finish(&self) {
        self.workers.close();
        self.workers.wait().await;
    }

    /// Adds a creation to the tenant's queue; true when no task works for the tenant yet.
    fn enqueue(&self, tenant: &TenantName, one: Waiting) -> bool {
        let mut waiting = self.waiting.lock();
        match waiting.get_mut(tenant) {
            Some(queue) => {
                queue.push(one);
                false
            }
            None => {
                waiting.insert(tenant.clone(), vec![one]);
                true
            }
        }
    }

    /// Returns true if creations wait; otherwise removes the tenant's entry.
    fn has_more_or_leave(&self, tenant: &TenantName) -> bool {
        let mut waiting = self.waiting.lock();
        let has_more = waiting.get(tenant).is_some_and(|queue| !queue.is_empty());
        if !has_more {
            waiting.remove(tenant);
        }
        has_more
    }

    /// Moves waiting creations into the group, up to its limit.
    fn take_waiting(&self, tenant: &TenantName, group: &mut Group) {
        let mut waiting = self.waiting.lock();
        let Some(queue) = waiting.get_mut(tenant) else { return };
        let n = queue.len().min(GROUP_MAX.saturating_sub(group.new.len()));
        for (new, (answer, _waiting)) in queue.drain(..n) {
            // Dropping the guard ends the count as waiting.
            group.new.push(new);
            group.answers.push(answer);
        }
    }

    async fn work(&self, db: &Db, usernames: &Usernames, tenant: &TenantName) {
        let mut guard = WorkGuard { groups: self, tenant, is_over: false };
        while self.has_more_or_leave(tenant) {
            let group = Arc::<Mutex<Group>>::default();
            let created = self.make(db, usernames, tenant, Arc::clone(&group)).await;
            let mut group = std::mem::take(&mut *group.lock());
            match created {
                Ok(created) => {
                    db.meter().gathered.observe(created.len() as f64);
                    for (answer, created) in group.answers.into_iter().zip(created) {
                        let _ = answer.send(Ok(created));
                    }
                }
                Err(error) => {
                    if group.answers.is_empty() {
                        // The transaction failed before it chose its group.
                        self.take_waiting(tenant, &mut group);
                    }
                    for answer in group.answers {
                        let _ = answer.send(Err(error.repeated()));
                    }
                }
            }
        }
        guard.is_over = true;
    }

    /// Creates the accesses of a group. When the write is retried, the group keeps its members.
    async fn make(
        &self,
        db: &Db,
        usernames: &Usernames,
        tenant: &TenantName,
        group: Arc<Mutex<Group>>,
    ) -> Result<Vec<Result<Access, CreateRefused>>, StoreError> {
        let (groups, usernames, tenant) = (self.clone(), usernames.clone(), tenant.clone());
        db.write(WriteKind::Tenant(tenant.clone()), async move |tx| {
            // Waits for other servers. Creations that arrive in the meantime join the group.
            let counter = counter::lock_tenant(&tx, &tenant).await?;
            let new = {
                let mut group = group.lock();
                groups.take_waiting(&tenant, &mut group);
                group.new.clone()
            };
            create_numbered(&tx, &usernames, &tenant, counter, new).await
        })
        .await
    }
}

/// A task's work for a tenant. If it panics, waiting creations get an error instead of waiting for ever.
struct WorkGuard<'a> {
    groups: &'a CreationGroups,
    tenant: &'a TenantName,
    is_over: bool,
}

impl Drop for WorkGuard<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.groups.waiting.lock().remove(self.tenant);
        }
    }
}
