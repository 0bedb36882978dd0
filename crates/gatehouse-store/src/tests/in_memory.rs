//! The database in memory: the network decides each call's fate.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use gatehouse_core::TaskId;
use gatehouse_core::task::TaskWork;
use rusqlite::Connection;

use super::*;
use crate::{
    CallFate, DatabaseCall, InMemoryDatabase, Network, NewTask, NotAccepted, Put, StoreError,
};

/// A network that answers every call unless other fates are queued, and counts commits.
#[derive(Default)]
struct Fates {
    next: Mutex<VecDeque<CallFate>>,
    n_commits: AtomicU64,
}

impl Fates {
    fn lay_out(&self, fates: impl IntoIterator<Item = CallFate>) {
        self.next.lock().unwrap().extend(fates);
    }

    fn n_commits(&self) -> u64 {
        self.n_commits.load(Ordering::SeqCst)
    }
}

impl Network for Fates {
    fn send(&self, _: DatabaseCall) -> BoxFuture<'_, CallFate> {
        let fate = self.next.lock().unwrap().pop_front().unwrap_or(CallFate::Answered);
        Box::pin(async move { fate })
    }

    fn committed(&self, _: &Connection) {
        self.n_commits.fetch_add(1, Ordering::SeqCst);
    }
}

async fn open(database: &InMemoryDatabase) -> (Store, Arc<Fates>) {
    let (fates, clock) = (Arc::new(Fates::default()), Clock::by_hand(day(0)));
    let store = Store::open_in_memory(database, Arc::clone(&fates) as _, clock).await.unwrap();
    (store, fates)
}

#[tokio::test]
async fn a_write_is_lost_committed_or_undone_as_the_network_says() {
    let database = InMemoryDatabase::new().unwrap();
    let ((one, fates), (other, _)) = (open(&database).await, open(&database).await);
    assert!(one.is_shared() && other.is_shared());
    let is_there = async |name: &str| other.tenant(&name.parse().unwrap()).await.unwrap().is_some();

    assert_eq!(one.put_tenant(&tenant("answered"), &audited()).await.unwrap(), Put::Created);
    assert!(is_there("answered").await, "one database for both");
    let n_commits = fates.n_commits();
    for (fate, name, happens) in [
        (CallFate::Unavailable, "unavailable", false),
        (CallFate::LostUndone, "undone", false),
        (CallFate::LostCommitted, "committed", true),
    ] {
        fates.lay_out([fate]);
        let put = one.put_tenant(&tenant(name), &audited()).await;
        let is_told = match fate {
            CallFate::Unavailable => matches!(put, Err(StoreError::Unavailable(_))),
            _ => matches!(put, Err(StoreError::OutcomeUnknown(_))),
        };
        assert!(is_told, "{name}: {put:?}");
        assert_eq!(is_there(name).await, happens, "{name}");
    }
    assert_eq!(fates.n_commits(), n_commits + 1, "what happened was told, and nothing else");

    fates.lay_out([CallFate::Unavailable, CallFate::LostUndone]);
    let name = "answered".parse().unwrap();
    assert!(matches!(one.tenant(&name).await, Err(StoreError::Unavailable(_))));
    assert!(one.tenant(&name).await.unwrap().is_some(), "a read has no commit to be lost in");
}

#[tokio::test]
async fn a_refusal_is_one_also_where_the_commit_would_be_lost() {
    let (store, fates) = open(&InMemoryDatabase::new().unwrap()).await;
    fates.lay_out([CallFate::LostCommitted]);
    let new = NewTask {
        id: TaskId::from_bytes([1; 16]),
        work: TaskWork::Termination,
        n_items: 1,
        parts: Vec::new(),
        sealed_key: None,
        origin: origin(),
        idempotent: None,
    };
    let accepted = store.accept_task(&acme(), new).await;
    assert!(matches!(accepted, Err(NotAccepted::NoTenant)), "{accepted:?}");
}
