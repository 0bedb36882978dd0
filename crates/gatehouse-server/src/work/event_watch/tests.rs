use futures_util::poll;

use super::*;

fn tenant(name: &str) -> TenantName {
    name.parse().unwrap()
}

fn ends<const N: usize>(ends: [(&str, u64); N]) -> HashMap<TenantName, u64> {
    ends.into_iter().map(|(name, last)| (tenant(name), last)).collect()
}

#[tokio::test]
async fn a_follower_waits_for_a_higher_number_or_the_end() {
    let watch = Arc::new(EventWatch::default());
    let tenants = [tenant("acme"), tenant("rival")];
    let [mut acme, mut rival] = [&tenants[0], &tenants[1]].map(|it| watch.follow(it));
    let mut waits = Box::pin(acme.until_after(5));
    assert!(poll!(&mut waits).is_pending());
    watch.publish(&tenants, &ends([("acme", 5), ("rival", 9)]));
    assert!(poll!(&mut waits).is_pending());
    assert_eq!(rival.until_after(5).await, Change::NewEvents);
    assert!(!rival.ends_before(9));
    watch.publish(&tenants, &ends([("acme", 6)]));
    assert_eq!(waits.await, Change::NewEvents);
    assert_eq!(rival.until_after(9).await, Change::Deleted);
    watch.publish(&tenants, &ends([("acme", 2)]));
    assert!(acme.ends_before(6));
}

#[tokio::test]
async fn a_tenant_is_watched_while_it_has_followers() {
    let watch = Arc::new(EventWatch::default());
    let acme = tenant("acme");
    let (one, other) = (watch.follow(&acme), watch.follow(&acme));
    watch.publish(std::slice::from_ref(&acme), &ends([("acme", 4)]));
    drop(one);
    let mut third = watch.follow(&acme);
    assert_eq!(third.until_after(3).await, Change::NewEvents, "the end is known already");
    drop((other, third));
    assert!(watch.followed.lock().is_empty());
    // A result that comes late is of no use to a new follower, and harms none.
    watch.publish(std::slice::from_ref(&acme), &ends([("acme", 4)]));
    assert!(watch.followed.lock().is_empty());
}
