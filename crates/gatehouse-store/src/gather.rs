//! Gathering: concurrent creations of one tenant become one transaction.
//!
//! A tenant's creations take turns on its counter anyway. So while one transaction is under way the
//! next ones wait together, and then go together: one flush and a few statements for all of them.
//! Tenants don't wait for each other. SQLite's writer does this by itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gatehouse_core::{Access, TenantName};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::creation::{CreateRefused, NewAccess, create_all};
use crate::db::Db;
use crate::error::StoreError;
use crate::meter::{Held, Kind};

/// Creations in one transaction.
const GATHER_MAX: usize = 500;

type Created = Result<Result<Access, CreateRefused>, StoreError>;
type Waiting = (NewAccess, Answer);

/// Where an answer goes, counted while it waits for its turn.
type Answer = (oneshot::Sender<Created>, Held);

/// Who waits, by tenant. A tenant is here while somebody works for it.
#[derive(Clone, Default)]
pub(crate) struct Gather {
    waiting: Arc<Mutex<HashMap<TenantName, Vec<Waiting>>>>,
    workers: TaskTracker,
}

impl Gather {
    /// Makes one access together with whatever else is made for the tenant.
    pub(crate) async fn create(&self, db: &Db, tenant: &TenantName, new: NewAccess) -> Created {
        let (answer, answered) = oneshot::channel();
        let waiting = Held::new(&db.meter().gather_waiting);
        if self.enqueue(tenant, (new, (answer, waiting))) {
            let (gather, db, tenant) = (self.clone(), db.clone(), tenant.clone());
            // On a task of its own: who asked first may go away, the others still want an answer.
            self.workers.spawn(async move { gather.work(&db, &tenant).await });
        }
        // The transaction is everyone's; what each of them waits for is a part of their own traces.
        let answered = answered.instrument(Kind::Write.span()).await;
        answered.map_err(|_| StoreError::gone())?
    }

    /// Waits for the creations that are under way.
    pub(crate) async fn finish(&self) {
        self.workers.close();
        self.workers.wait().await;
    }

    /// Adds one to those who wait; true when nobody works for the tenant yet.
    fn enqueue(&self, tenant: &TenantName, one: Waiting) -> bool {
        let mut waiting = self.lock();
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

    /// Those who wait now, or nobody, after which the tenant is nobody's.
    fn dequeue(&self, tenant: &TenantName) -> Vec<Waiting> {
        let mut waiting = self.lock();
        let Some(queue) = waiting.get_mut(tenant) else { return Vec::new() };
        if queue.is_empty() {
            waiting.remove(tenant);
            return Vec::new();
        }
        let n = queue.len().min(GATHER_MAX);
        queue.drain(..n).collect()
    }

    async fn work(&self, db: &Db, tenant: &TenantName) {
        let mut turn = Turn { gather: self, tenant, is_over: false };
        loop {
            let (new, answers): (Vec<_>, Vec<_>) = self.dequeue(tenant).into_iter().unzip();
            // Their turn has come: they wait no more.
            let answers: Vec<_> = answers.into_iter().map(|(answer, _)| answer).collect();
            if new.is_empty() {
                turn.is_over = true;
                return;
            }
            db.meter().gathered.observe(new.len() as f64);
            let of = tenant.clone();
            let created = db.write(async move |tx| create_all(&tx, &of, new).await).await;
            match created {
                Ok(created) => {
                    for (answer, created) in answers.into_iter().zip(created) {
                        let _ = answer.send(Ok(created));
                    }
                }
                Err(error) => {
                    for answer in answers {
                        let _ = answer.send(Err(error.repeated()));
                    }
                }
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TenantName, Vec<Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Working for a tenant. Should that panic, those who wait are let go rather than kept for ever.
struct Turn<'a> {
    gather: &'a Gather,
    tenant: &'a TenantName,
    is_over: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.gather.lock().remove(self.tenant);
        }
    }
}
