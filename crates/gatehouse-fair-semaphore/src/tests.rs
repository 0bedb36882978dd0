use futures_util::future::join_all;
use futures_util::poll;

use super::*;

fn tenant(name: &str) -> TenantName {
    name.parse().unwrap()
}

fn turns(waiting_of_tenant: usize, waiting: usize) -> FairSemaphore {
    FairSemaphore::new(Capacity { at_once: 1, at_once_of_tenant: 1, waiting_of_tenant, waiting })
}

/// No waiter is queued, and every turn is free.
fn is_at_rest(turns: &FairSemaphore) -> bool {
    let queues = turns.0.queues.lock();
    (queues.n_free, queues.n_waiting) == (1, 0)
        && queues.held.is_empty()
        && queues.order.is_empty()
        && queues.of_tenants.is_empty()
}

#[tokio::test]
async fn what_does_not_fit_is_turned_away_and_the_rest_has_its_turn() {
    let (turns, acme, rival) = (turns(1, 10), tenant("acme"), tenant("rival"));
    let first = turns.take(&acme).await.unwrap();
    let mut second = Box::pin(turns.take(&acme));
    assert!(poll!(&mut second).is_pending(), "one waits");
    assert_eq!(turns.take(&acme).await.err(), Some(QueueFull), "the next is turned away");
    let mut other = Box::pin(turns.take(&rival));
    assert!(poll!(&mut other).is_pending(), "and another tenant's waits");
    assert_eq!(turns.n_waiting(), 2);
    drop(first);
    drop(second.await.unwrap());
    drop(other.await.unwrap());
    assert!(is_at_rest(&turns));
}

#[tokio::test]
async fn a_tenant_waits_behind_its_own_and_one_of_each_other() {
    let turns = turns(100, 1000);
    let held = turns.take_now(&tenant("first")).unwrap();
    let done = Arc::new(Mutex::new(Vec::new()));
    let (attacker, acme, rival) = (tenant("attacker"), tenant("acme"), tenant("rival"));
    let mut all = Vec::new();
    for (tenant, n) in [(&attacker, 50), (&acme, 2), (&rival, 1)] {
        for _ in 0..n {
            let (turns, done) = (&turns, Arc::clone(&done));
            let mut work = Box::pin(async move {
                let _turn = turns.take(tenant).await.unwrap();
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
    assert!(is_at_rest(&turns));
}

#[tokio::test]
async fn where_all_is_full_the_longest_queue_gives_way() {
    let (turns, attacker, acme) = (turns(4, 5), tenant("attacker"), tenant("acme"));
    let held = turns.take_now(&tenant("first")).unwrap();
    let mut attacks: Vec<_> = (0..4).map(|_| Box::pin(turns.take(&attacker))).collect();
    for attack in &mut attacks {
        assert!(poll!(attack).is_pending());
    }
    let mut own = [Box::pin(turns.take(&acme)), Box::pin(turns.take(&acme))];
    for waiting in &mut own {
        assert!(poll!(waiting).is_pending());
    }
    assert!(attacks.pop().unwrap().await.is_err(), "the last of the longest");
    assert!(turns.take(&acme).await.is_err(), "whose own queue would be the longest");
    drop(held);
    let all = own.into_iter().chain(attacks).map(async |it| it.await.is_ok());
    assert!(join_all(all).await.into_iter().all(|it| it));
    assert!(is_at_rest(&turns));
}

#[tokio::test]
async fn whoever_leaves_frees_a_place_and_passes_a_turn_on() {
    let (turns, acme) = (turns(10, 10), tenant("acme"));
    let held = turns.take_now(&tenant("first")).unwrap();
    let (mut leaves, mut is_late, mut stays) =
        (Box::pin(turns.take(&acme)), Box::pin(turns.take(&acme)), Box::pin(turns.take(&acme)));
    for waiting in [&mut leaves, &mut is_late, &mut stays] {
        assert!(poll!(waiting).is_pending());
    }
    drop(leaves);
    assert_eq!(turns.n_waiting(), 2);
    // The next has its turn, and goes without looking.
    drop(held);
    assert_eq!(turns.n_waiting(), 1);
    drop(is_late);
    drop(stays.await.unwrap());
    assert!(is_at_rest(&turns));
}

#[tokio::test]
async fn a_tenant_that_holds_its_turns_leaves_the_others_theirs() {
    let places = Capacity { at_once: 4, at_once_of_tenant: 3, waiting_of_tenant: 10, waiting: 100 };
    let (turns, attacker, acme) = (FairSemaphore::new(places), tenant("attacker"), tenant("acme"));
    let mut held: Vec<Permit> = (0..3).map(|_| turns.take_now(&attacker).unwrap()).collect();
    let mut fourth = Box::pin(turns.take(&attacker));
    assert!(poll!(&mut fourth).is_pending(), "although one is free");
    for _ in 0..5 {
        drop(turns.take(&acme).await.unwrap());
    }
    assert!(poll!(&mut fourth).is_pending());
    held.pop();
    held.push(fourth.await.unwrap());
    // One that was free for others only is had when its tenant gives one back.
    let own = turns.take_now(&acme).unwrap();
    assert!(turns.take_now(&tenant("third")).is_none());
    drop((own, held));
    assert_eq!(turns.0.queues.lock().n_free, 4);
}
