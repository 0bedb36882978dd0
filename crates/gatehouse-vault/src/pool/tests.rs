use std::sync::mpsc;

use futures_util::future::join_all;
use futures_util::poll;

use super::*;

fn tenant(name: &str) -> TenantName {
    name.parse().unwrap()
}

/// A pool that makes one hash at a time, and is making one until the sender says so.
async fn occupied(
    waiting_of_tenant_max: usize,
    waiting_max: usize,
) -> (Arc<HashPool>, mpsc::Sender<()>) {
    let meter = Arc::new(VaultMeter::new());
    let pool = Arc::new(HashPool::with(1, waiting_of_tenant_max, waiting_max, meter));
    let (open, gate) = mpsc::channel::<()>();
    let (began, begun) = oneshot::channel();
    let first = Arc::clone(&pool);
    tokio::spawn(async move {
        let gone = CancellationToken::new();
        let work = move || {
            let _ = began.send(());
            let _ = gate.recv();
        };
        first.run(Asker { tenant: &tenant("first"), gone: &gone }, work).await
    });
    begun.await.unwrap();
    (pool, open)
}

fn busy(pool: &HashPool) -> (i64, i64) {
    (pool.meter.running.get(), pool.meter.waiting.get())
}

#[tokio::test]
async fn what_does_not_fit_is_turned_away_and_the_rest_is_run() {
    let (pool, open) = occupied(1, 10).await;
    let (acme, rival, gone) = (tenant("acme"), tenant("rival"), CancellationToken::new());
    let run = |tenant| Box::pin(pool.run(Asker { tenant, gone: &gone }, || true));
    let mut second = run(&acme);
    assert!(poll!(&mut second).is_pending(), "one waits");
    assert_eq!(busy(&pool), (1, 1));
    assert_eq!(run(&acme).await, Err(Busy), "the next is turned away");
    let mut other = run(&rival);
    assert!(poll!(&mut other).is_pending(), "and another tenant's waits");
    assert_eq!(pool.meter.refused.get(), 1);
    open.send(()).unwrap();
    assert_eq!((second.await, other.await), (Ok(true), Ok(true)));
    assert_eq!(run(&acme).await, Ok(true), "and there is room again");
    assert_eq!(busy(&pool), (0, 0), "nobody is left");
    let queues = pool.shared.lock();
    assert!((queues.n_free, queues.n_waiting) == (1, 0) && queues.order.is_empty());
}

#[tokio::test]
async fn a_tenant_waits_behind_its_own_and_one_of_each_other() {
    let (pool, open) = occupied(100, 1000).await;
    let gone = CancellationToken::new();
    let done = Arc::new(Mutex::new(Vec::new()));
    let (attacker, acme, rival) = (tenant("attacker"), tenant("acme"), tenant("rival"));
    let mut all = Vec::new();
    for (tenant, n) in [(&attacker, 50), (&acme, 2), (&rival, 1)] {
        for _ in 0..n {
            let (done, name) = (Arc::clone(&done), tenant.as_str().to_owned());
            let work = move || done.lock().unwrap().push(name);
            let mut run = Box::pin(pool.run(Asker { tenant, gone: &gone }, work));
            assert!(poll!(&mut run).is_pending());
            all.push(run);
        }
    }
    open.send(()).unwrap();
    assert!(join_all(all).await.iter().all(Result::is_ok));
    let done = done.lock().unwrap();
    assert_eq!(done[..5], ["attacker", "acme", "rival", "attacker", "acme"]);
    assert!(done[5..].iter().all(|it| it == "attacker") && done.len() == 53);
}

#[tokio::test]
async fn where_all_is_full_the_longest_queue_gives_way() {
    let (pool, open) = occupied(4, 5).await;
    let (attacker, acme, gone) = (tenant("attacker"), tenant("acme"), CancellationToken::new());
    let run = |tenant| Box::pin(pool.run(Asker { tenant, gone: &gone }, || true));
    let mut attacks: Vec<_> = (0..4).map(|_| run(&attacker)).collect();
    for attack in &mut attacks {
        assert!(poll!(attack).is_pending());
    }
    let mut own = [run(&acme), run(&acme)];
    for waiting in &mut own {
        assert!(poll!(waiting).is_pending());
    }
    assert_eq!(attacks.pop().unwrap().await, Err(Busy), "the last of the longest");
    assert_eq!(run(&acme).await, Err(Busy), "whose own queue would be the longest is turned away");
    open.send(()).unwrap();
    let all = own.into_iter().chain(attacks);
    assert!(join_all(all).await.iter().all(Result::is_ok));
}

#[tokio::test]
async fn what_nobody_waits_for_is_given_up() {
    let (pool, open) = occupied(10, 10).await;
    let (acme, gone, here) = (tenant("acme"), CancellationToken::new(), CancellationToken::new());
    let began = Arc::new(Mutex::new(Vec::new()));
    let run = |gone, name: &'static str| {
        let began = Arc::clone(&began);
        let work = move || began.lock().unwrap().push(name);
        Box::pin(pool.run(Asker { tenant: &acme, gone }, work))
    };
    let (mut left, mut dropped, mut stays) =
        (run(&gone, "left"), run(&here, "dropped"), run(&here, "stays"));
    assert!(poll!(&mut left).is_pending() && poll!(&mut dropped).is_pending());
    assert!(poll!(&mut stays).is_pending());
    gone.cancel();
    assert_eq!(left.await, Err(Busy));
    drop(dropped);
    assert_eq!(busy(&pool), (1, 1), "their places are free");
    open.send(()).unwrap();
    assert_eq!(stays.await, Ok(()));
    assert_eq!(*began.lock().unwrap(), ["stays"]);
}

#[tokio::test]
async fn a_turn_that_comes_too_late_goes_to_the_next() {
    let (pool, open) = occupied(10, 10).await;
    let (acme, gone) = (tenant("acme"), CancellationToken::new());
    let run = || Box::pin(pool.run(Asker { tenant: &acme, gone: &gone }, || true));
    let (mut leaves, mut stays) = (run(), run());
    assert!(poll!(&mut leaves).is_pending() && poll!(&mut stays).is_pending());
    open.send(()).unwrap();
    // It has its turn, and doesn't look.
    while pool.shared.lock().n_waiting > 1 {
        tokio::task::yield_now().await;
    }
    drop(leaves);
    assert_eq!(stays.await, Ok(true));
    assert_eq!(pool.shared.lock().n_free, 1);
}
