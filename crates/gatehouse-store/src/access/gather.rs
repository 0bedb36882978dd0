//! Gathering: concurrent creations of one tenant become one transaction.
//!
//! A tenant's creations take turns on its counter anyway. So while one transaction is under way the
//! next ones wait together, and then go together: one flush and a few statements for all of them.
//! Tenants don't wait for each other. Other servers may be before us on the counter: who goes is decided once it is
//! ours, so that each transaction carries all who came until then. SQLite's writer has all writes share a flush; what it
//! can't do is have creations share their statements, which cost more than the flush does.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_core::{Access, TenantName};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::access::creation::{CreateRefused, NewAccess, create_numbered};
use crate::access::usernames::Usernames;
use crate::counts::counter;
use crate::db::{Db, Line};
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

/// Those who go together: what they want, and where their answers go.
#[derive(Default)]
struct Party {
    new: Vec<NewAccess>,
    answers: Vec<oneshot::Sender<Created>>,
}

impl Gather {
    /// Makes one access together with whatever else is made for the tenant.
    pub(crate) async fn create(
        &self,
        db: &Db,
        usernames: &Usernames,
        tenant: &TenantName,
        new: NewAccess,
    ) -> Created {
        let (answer, answered) = oneshot::channel();
        let waiting = Held::new(&db.meter().gather_waiting);
        if self.enqueue(tenant, (new, (answer, waiting))) {
            let (gather, db, tenant) = (self.clone(), db.clone(), tenant.clone());
            let usernames = usernames.clone();
            // On a task of its own: who asked first may go away, the others still want an answer.
            self.workers.spawn(async move { gather.work(&db, &usernames, &tenant).await });
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

    /// Whether somebody waits; if not, the tenant is nobody's.
    fn is_awaited(&self, tenant: &TenantName) -> bool {
        let mut waiting = self.waiting.lock();
        let is_awaited = waiting.get(tenant).is_some_and(|queue| !queue.is_empty());
        if !is_awaited {
            waiting.remove(tenant);
        }
        is_awaited
    }

    /// Lets those go along who wait now, as far as there is room.
    fn board(&self, tenant: &TenantName, party: &mut Party) {
        let mut waiting = self.waiting.lock();
        let Some(queue) = waiting.get_mut(tenant) else { return };
        let n = queue.len().min(GATHER_MAX.saturating_sub(party.new.len()));
        for (new, (answer, _waiting)) in queue.drain(..n) {
            // Their turn has come: they wait no more.
            party.new.push(new);
            party.answers.push(answer);
        }
    }

    async fn work(&self, db: &Db, usernames: &Usernames, tenant: &TenantName) {
        let mut turn = Turn { gather: self, tenant, is_over: false };
        while self.is_awaited(tenant) {
            let party = Arc::<Mutex<Party>>::default();
            let created = self.make(db, usernames, tenant, Arc::clone(&party)).await;
            let mut party = std::mem::take(&mut *party.lock());
            match created {
                Ok(created) => {
                    db.meter().gathered.observe(created.len() as f64);
                    for (answer, created) in party.answers.into_iter().zip(created) {
                        let _ = answer.send(Ok(created));
                    }
                }
                Err(error) => {
                    if party.answers.is_empty() {
                        // It did not get as far as their turn.
                        self.board(tenant, &mut party);
                    }
                    for answer in party.answers {
                        let _ = answer.send(Err(error.repeated()));
                    }
                }
            }
        }
        turn.is_over = true;
    }

    /// Makes what is waited for. Who is in the party stays in it, should the write have to run again.
    async fn make(
        &self,
        db: &Db,
        usernames: &Usernames,
        tenant: &TenantName,
        party: Arc<Mutex<Party>>,
    ) -> Result<Vec<Result<Access, CreateRefused>>, StoreError> {
        let (gather, usernames, tenant) = (self.clone(), usernames.clone(), tenant.clone());
        db.write(Line::Of(tenant.clone()), async move |tx| {
            // Other servers have their turns, too. Whoever has come in the meantime goes along.
            let counter = counter::lock_tenant(&tx, &tenant).await?;
            let new = {
                let mut party = party.lock();
                gather.board(&tenant, &mut party);
                party.new.clone()
            };
            create_numbered(&tx, &usernames, &tenant, counter, new).await
        })
        .await
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
            self.gather.waiting.lock().remove(self.tenant);
        }
    }
}
