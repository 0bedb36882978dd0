use futures_util::future::join_all;
use futures_util::poll;

use super::*;

fn tenant(name: &str) -> TenantName {
    name.parse().unwrap()
}

fn permits(waiting_of_tenant: usize, waiting: usize) -> FairSemaphore {
    FairSemaphore::new(Capacity { at_once: 1, at_once_of_tenant: 1, waiting_of_tenant, waiting })
}

/// No waiter is queued, and every permit is free.
fn is_at_rest(permits: &FairSemaphore) -> bool {
    let queues = permits.0.queues.lock();
    (queues.n_free, queues.n_waiting) == (1, 0)
        && queues.held.is_empty()
        && queues.order.is_empty()
        && queues.of_tenants.is_empty()
}

#[tokio::test]
async fn callers_beyond_the_queue_are_refused_and_the_others_get_permits() {
    let (permits, acme, rival) = (permits(1, 10), tenant("acme"), tenant("rival"));
    let first = permits.take(&acme).await.unwrap();
    let mut second = Box::pin(permits.take(&acme));
    assert!(poll!(&mut second).is_pending(), "one waits");
    assert_eq!(permits.take(&acme).await.err(), Some(QueueFull), "the next is refused");
    let mut other = Box::pin(permits.take(&rival));
    assert!(poll!(&mut other).is_pending(), "and another tenant's waits");
    assert_eq!(permits.n_waiting(), 2);
    drop(first);
    drop(second.await.unwrap());
    drop(other.await.unwrap());
    assert!(is_at_rest(&permits));
}

#[tokio::test]
async fn a_caller_waits_behind_its_tenants_callers_and_one_of_each_other_tenant() {
    let permits = permits(100, 1000);
    let held = permits.take_now(&tenant("first")).unwrap();
    let done = Arc::new(Mutex::new(Vec::new()));
    let (attacker, acme, rival) = (tenant("attacker"), tenant("acme"), tenant("rival"));
    let mut all = Vec::new();
    for (tenant, n) in [(&attacker, 50), (&acme, 2), (&rival, 1)] {
        for _ in 0..n {
            let (permits, done) = (&permits, Arc::clone(&done));
            let mut work = Box::pin(async move {
                let _permit = permits.take(tenant).await.unwrap();
                done.lock().push(tenant.as_str().to_owned());
            });
            assert!(poll!(&mut work).is_pending());
            all.push(work);
        }
    }
    drop(held);
    join_all(all).await;
    let done = done.lock();
    assert_eq!(done[..5], ["attacker", "acme", "rival", "attacker", "acme"]);
    assert!(done[5..].iter().all(|it| it == "attacker") && done.len() == 53);
    assert!(is_at_rest(&permits));
}

#[tokio::test]
async fn when_all_queues_are_full_the_longest_loses_its_last_caller() {
    let (permits, attacker, acme) = (permits(4, 5), tenant("attacker"), tenant("acme"));
    let held = permits.take_now(&tenant("first")).unwrap();
    let mut attacks: Vec<_> = (0..4).map(|_| Box::pin(permits.take(&attacker))).collect();
    for attack in &mut attacks {
        assert!(poll!(attack).is_pending());
    }
    let mut own = [Box::pin(permits.take(&acme)), Box::pin(permits.take(&acme))];
    for waiting in &mut own {
        assert!(poll!(waiting).is_pending());
    }
    assert!(attacks.pop().unwrap().await.is_err(), "the last of the longest");
    assert!(permits.take(&acme).await.is_err(), "its own queue would be the longest");
    drop(held);
    let all = own.into_iter().chain(attacks).map(async |it| it.await.is_ok());
    assert!(join_all(all).await.into_iter().all(|it| it));
    assert!(is_at_rest(&permits));
}

#[tokio::test]
async fn a_dropped_waiter_leaves_the_queue_and_passes_its_permit_on() {
    let (permits, acme) = (permits(10, 10), tenant("acme"));
    let held = permits.take_now(&tenant("first")).unwrap();
    let (mut leaves, mut is_late, mut stays) = (
        Box::pin(permits.take(&acme)),
        Box::pin(permits.take(&acme)),
        Box::pin(permits.take(&acme)),
    );
    for waiting in [&mut leaves, &mut is_late, &mut stays] {
        assert!(poll!(waiting).is_pending());
    }
    drop(leaves);
    assert_eq!(permits.n_waiting(), 2);
    // The next waiter gets its permit, and is dropped without a poll.
    drop(held);
    assert_eq!(permits.n_waiting(), 1);
    drop(is_late);
    drop(stays.await.unwrap());
    assert!(is_at_rest(&permits));
}

#[tokio::test]
async fn a_tenant_at_its_limit_leaves_permits_to_others() {
    let capacity =
        Capacity { at_once: 4, at_once_of_tenant: 3, waiting_of_tenant: 10, waiting: 100 };
    let (permits, attacker, acme) =
        (FairSemaphore::new(capacity), tenant("attacker"), tenant("acme"));
    let mut held: Vec<Permit> = (0..3).map(|_| permits.take_now(&attacker).unwrap()).collect();
    let mut fourth = Box::pin(permits.take(&attacker));
    assert!(poll!(&mut fourth).is_pending(), "although one is free");
    for _ in 0..5 {
        drop(permits.take(&acme).await.unwrap());
    }
    assert!(poll!(&mut fourth).is_pending());
    held.pop();
    held.push(fourth.await.unwrap());
    // A permit that was free for other tenants only can be taken once its tenant returns one.
    let own = permits.take_now(&acme).unwrap();
    assert!(permits.take_now(&tenant("third")).is_none());
    drop((own, held));
    assert_eq!(permits.0.queues.lock().n_free, 4);
}
