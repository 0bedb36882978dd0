use std::sync::{Mutex, mpsc};

use futures_util::poll;
use tokio::sync::oneshot;

use super::*;

fn tenant(name: &str) -> TenantName {
    name.parse().unwrap()
}

/// A pool with one permit, which is in use until the test sends.
async fn occupied(waiting_of_tenant: usize) -> (Arc<HashPool>, mpsc::Sender<()>) {
    let capacity = Capacity { at_once: 1, at_once_of_tenant: 1, waiting_of_tenant, waiting: 100 };
    let pool = Arc::new(HashPool::with_capacity(capacity, Arc::new(VaultMeter::new())));
    let (open, gate) = mpsc::channel::<()>();
    let (began, begun) = oneshot::channel();
    let first = Arc::clone(&pool);
    tokio::spawn(async move {
        let disconnection = CancellationToken::new();
        let work = move || {
            let _ = began.send(());
            let _ = gate.recv();
        };
        first
            .run(HashCaller { tenant: &tenant("first"), disconnection: &disconnection }, work)
            .await
    });
    begun.await.unwrap();
    (pool, open)
}

fn busy(pool: &HashPool) -> (i64, i64) {
    (pool.meter.running.get(), pool.meter.waiting.get())
}

#[tokio::test]
async fn hashes_beyond_the_queue_are_refused_and_the_others_run() {
    let (pool, open) = occupied(1).await;
    let (acme, rival, disconnection) = (tenant("acme"), tenant("rival"), CancellationToken::new());
    let run =
        |tenant| Box::pin(pool.run(HashCaller { tenant, disconnection: &disconnection }, || true));
    let mut second = run(&acme);
    assert!(poll!(&mut second).is_pending(), "one waits");
    assert_eq!(busy(&pool), (1, 1));
    assert_eq!(run(&acme).await, Err(PoolBusy), "the next is refused");
    let mut other = run(&rival);
    assert!(poll!(&mut other).is_pending(), "and another tenant's waits");
    assert_eq!(pool.meter.refused.get(), 1);
    open.send(()).unwrap();
    assert_eq!((second.await, other.await), (Ok(true), Ok(true)));
    assert_eq!(run(&acme).await, Ok(true), "and there is room again");
    assert_eq!(busy(&pool), (0, 0), "the pool is idle");
    assert_eq!(pool.meter.durations.get_sample_count(), 4);
}

#[tokio::test]
async fn a_queued_hash_is_dropped_when_its_client_disconnects() {
    let (pool, open) = occupied(10).await;
    let (acme, disconnection, connected) =
        (tenant("acme"), CancellationToken::new(), CancellationToken::new());
    let began = Arc::new(Mutex::new(Vec::new()));
    let run = |disconnection, name: &'static str| {
        let began = Arc::clone(&began);
        let work = move || began.lock().unwrap().push(name);
        Box::pin(pool.run(HashCaller { tenant: &acme, disconnection }, work))
    };
    let (mut left, mut dropped, mut stays) =
        (run(&disconnection, "left"), run(&connected, "dropped"), run(&connected, "stays"));
    assert!(poll!(&mut left).is_pending() && poll!(&mut dropped).is_pending());
    assert!(poll!(&mut stays).is_pending());
    disconnection.cancel();
    assert_eq!(left.await, Err(PoolBusy));
    drop(dropped);
    assert_eq!(busy(&pool), (1, 1), "their places in the queue are free");
    open.send(()).unwrap();
    assert_eq!(stays.await, Ok(()));
    assert_eq!(*began.lock().unwrap(), ["stays"]);
}

#[tokio::test]
async fn checks_of_foreign_hashes_leave_half_of_the_pool() {
    let capacity = Capacity { at_once: 2, at_once_of_tenant: 2, waiting_of_tenant: 9, waiting: 9 };
    let pool = HashPool::with_capacity(capacity, Arc::new(VaultMeter::new()));
    let (acme, rival, disconnection) = (tenant("acme"), tenant("rival"), CancellationToken::new());
    let caller = |tenant| HashCaller { tenant, disconnection: &disconnection };
    let (open, gate) = mpsc::channel::<()>();
    let mut slow = Box::pin(pool.run_foreign(caller(&acme), move || gate.recv().is_ok()));
    assert!(poll!(&mut slow).is_pending());
    let mut next = Box::pin(pool.run_foreign(caller(&acme), || true));
    assert!(poll!(&mut next).is_pending(), "although the pool has another permit");
    assert_eq!(pool.run(caller(&rival), || true).await, Ok(true), "others use it");
    assert!(poll!(&mut next).is_pending());
    open.send(()).unwrap();
    assert_eq!((slow.await, next.await), (Ok(true), Ok(true)));
    assert_eq!(busy(&pool), (0, 0), "the pool is idle");
}
