use std::sync::{Mutex, mpsc};

use futures_util::poll;
use tokio::sync::oneshot;

use super::*;

fn tenant(name: &str) -> TenantName {
    name.parse().unwrap()
}

/// A pool that makes one hash at a time, and is making one until the sender says so.
async fn occupied(waiting_of_tenant: usize) -> (Arc<HashPool>, mpsc::Sender<()>) {
    let places = Capacity { at_once: 1, at_once_of_tenant: 1, waiting_of_tenant, waiting: 100 };
    let pool = HashPool { turns: FairSemaphore::new(places), meter: Arc::new(VaultMeter::new()) };
    let pool = Arc::new(pool);
    let (open, gate) = mpsc::channel::<()>();
    let (began, begun) = oneshot::channel();
    let first = Arc::clone(&pool);
    tokio::spawn(async move {
        let gone = CancellationToken::new();
        let work = move || {
            let _ = began.send(());
            let _ = gate.recv();
        };
        first.run(HashCaller { tenant: &tenant("first"), gone: &gone }, work).await
    });
    begun.await.unwrap();
    (pool, open)
}

fn busy(pool: &HashPool) -> (i64, i64) {
    (pool.meter.running.get(), pool.meter.waiting.get())
}

#[tokio::test]
async fn what_does_not_fit_is_turned_away_and_the_rest_is_run() {
    let (pool, open) = occupied(1).await;
    let (acme, rival, gone) = (tenant("acme"), tenant("rival"), CancellationToken::new());
    let run = |tenant| Box::pin(pool.run(HashCaller { tenant, gone: &gone }, || true));
    let mut second = run(&acme);
    assert!(poll!(&mut second).is_pending(), "one waits");
    assert_eq!(busy(&pool), (1, 1));
    assert_eq!(run(&acme).await, Err(PoolBusy), "the next is turned away");
    let mut other = run(&rival);
    assert!(poll!(&mut other).is_pending(), "and another tenant's waits");
    assert_eq!(pool.meter.refused.get(), 1);
    open.send(()).unwrap();
    assert_eq!((second.await, other.await), (Ok(true), Ok(true)));
    assert_eq!(run(&acme).await, Ok(true), "and there is room again");
    assert_eq!(busy(&pool), (0, 0), "nobody is left");
    assert_eq!(pool.meter.durations.get_sample_count(), 4);
}

#[tokio::test]
async fn what_nobody_waits_for_is_given_up() {
    let (pool, open) = occupied(10).await;
    let (acme, gone, here) = (tenant("acme"), CancellationToken::new(), CancellationToken::new());
    let began = Arc::new(Mutex::new(Vec::new()));
    let run = |gone, name: &'static str| {
        let began = Arc::clone(&began);
        let work = move || began.lock().unwrap().push(name);
        Box::pin(pool.run(HashCaller { tenant: &acme, gone }, work))
    };
    let (mut left, mut dropped, mut stays) =
        (run(&gone, "left"), run(&here, "dropped"), run(&here, "stays"));
    assert!(poll!(&mut left).is_pending() && poll!(&mut dropped).is_pending());
    assert!(poll!(&mut stays).is_pending());
    gone.cancel();
    assert_eq!(left.await, Err(PoolBusy));
    drop(dropped);
    assert_eq!(busy(&pool), (1, 1), "their places are free");
    open.send(()).unwrap();
    assert_eq!(stays.await, Ok(()));
    assert_eq!(*began.lock().unwrap(), ["stays"]);
}
