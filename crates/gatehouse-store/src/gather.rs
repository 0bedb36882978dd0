//! Gathering: concurrent creations of one tenant become one transaction.
//!
//! A tenant's creations take turns on its counter anyway. So while one transaction is under way the
//! next ones wait together, and then go together: one flush and a few statements for all of them.
//! Tenants don't wait for each other. Other servers may be before us on the counter: who goes is decided once it is
//! ours, so that each transaction carries all who came until then. SQLite's writer does this by itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gatehouse_core::{Access, TenantName};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::counter;
use crate::creation::{CreateRefused, NewAccess, create_numbered};
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

    /// Whether somebody waits; if not, the tenant is nobody's.
    fn is_awaited(&self, tenant: &TenantName) -> bool {
        let mut waiting = self.lock();
        let is_awaited = waiting.get(tenant).is_some_and(|queue| !queue.is_empty());
        if !is_awaited {
            waiting.remove(tenant);
        }
        is_awaited
    }

    /// Those whose turn it is: what they want, and where their answers go.
    fn dequeue(&self, tenant: &TenantName) -> (Vec<NewAccess>, Vec<oneshot::Sender<Created>>) {
        let mut waiting = self.lock();
        let Some(queue) = waiting.get_mut(tenant) else { return Default::default() };
        let n = queue.len().min(GATHER_MAX);
        // Their turn has come: they wait no more.
        queue.drain(..n).map(|(new, (answer, _))| (new, answer)).unzip()
    }

    async fn work(&self, db: &Db, tenant: &TenantName) {
        let mut turn = Turn { gather: self, tenant, is_over: false };
        while self.is_awaited(tenant) {
            let answers = Arc::<Mutex<Vec<_>>>::default();
            match self.make(db, tenant, Arc::clone(&answers)).await {
                Ok(created) => {
                    for (answer, created) in taken(&answers).into_iter().zip(created) {
                        let _ = answer.send(Ok(created));
                    }
                }
                Err(error) => {
                    let mut answers = taken(&answers);
                    if answers.is_empty() {
                        // It did not get as far as their turn.
                        answers = self.dequeue(tenant).1;
                    }
                    for answer in answers {
                        let _ = answer.send(Err(error.repeated()));
                    }
                }
            }
        }
        turn.is_over = true;
    }

    /// Makes what is waited for, and tells beside it who waits for it.
    async fn make(
        &self,
        db: &Db,
        tenant: &TenantName,
        answers: Arc<Mutex<Vec<oneshot::Sender<Created>>>>,
    ) -> Result<Vec<Result<Access, CreateRefused>>, StoreError> {
        let (gather, tenant, meter) = (self.clone(), tenant.clone(), db.meter().gathered.clone());
        db.write(async move |tx| {
            // Other servers have their turns, too. Whoever has come in the meantime goes along.
            let counter = counter::lock_tenant(&tx, &tenant).await?;
            let (new, whose) = gather.dequeue(&tenant);
            meter.observe(new.len() as f64);
            *answers.lock().unwrap_or_else(PoisonError::into_inner) = whose;
            create_numbered(&tx, &tenant, counter, new).await
        })
        .await
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TenantName, Vec<Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn taken<T>(all: &Mutex<Vec<T>>) -> Vec<T> {
    std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner))
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
