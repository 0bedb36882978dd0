use super::*;
use crate::connector::QuotaScope;

fn history(calls: u32, per: Duration) -> CallHistory {
    history_of(ReplicaShare::WHOLE, calls, per)
}

fn history_of(share: ReplicaShare, calls: u32, per: Duration) -> CallHistory {
    let quota = Quota { calls, per, of: Vec::new(), scope: QuotaScope::Account };
    CallHistory::new(&quota, share, Instant::now())
}

fn share(rank: u32, of: u32) -> ReplicaShare {
    ReplicaShare::new(rank, of).unwrap()
}

impl CallHistory {
    /// Makes a call if one is allowed.
    fn take(&mut self, now: Instant) -> Result<(), Duration> {
        self.take_of(ReplicaShare::WHOLE, now)
    }

    fn take_of(&mut self, share: ReplicaShare, now: Instant) -> Result<(), Duration> {
        self.check(share, now)?;
        self.count(now);
        Ok(())
    }

    fn drain(&mut self, share: ReplicaShare, now: Instant) -> usize {
        std::iter::from_fn(|| self.take_of(share, now).ok()).count()
    }
}

#[tokio::test]
async fn calls_come_together_up_to_the_quota_and_then_as_the_oldest_no_longer_count() {
    let (start, per) = (Instant::now(), Duration::from_secs(60));
    let second = start + Duration::from_secs(10);
    let mut history = history(2, per);
    assert_eq!([history.take(start), history.take(second)], [Ok(()); 2]);
    assert_eq!(history.take(second), Err(Duration::from_secs(50)));
    assert_eq!(history.take(start + per), Ok(()));
    assert_eq!(history.take(start + per), Err(Duration::from_secs(10)));
}

#[tokio::test]
async fn checking_counts_no_call() {
    let start = Instant::now();
    let mut history = history(1, Duration::from_secs(1));
    assert_eq!(
        [
            history.check(ReplicaShare::WHOLE, start),
            history.check(ReplicaShare::WHOLE, start),
            history.take(start)
        ],
        [Ok(()); 3]
    );
    assert_eq!(history.check(ReplicaShare::WHOLE, start), Err(Duration::from_secs(1)));
    assert!(!history.is_empty(start) && history.is_empty(start + Duration::from_secs(1)));
}

#[tokio::test]
async fn a_quota_allows_at_least_one_call_and_at_most_the_limit() {
    let (start, per) = (Instant::now(), Duration::MAX);
    for (calls, allowed) in [(0, 1), (Quota::CALLS_MAX, 10_000), (u32::MAX, 10_000)] {
        let mut history = history(calls, per);
        let n_calls = (0..20_000).filter(|_| history.take(start).is_ok()).count();
        assert_eq!(n_calls, allowed);
        assert_eq!(history.take(start), Err(per));
    }
}

#[tokio::test]
async fn a_larger_share_brings_further_calls_only_a_period_later() {
    let (start, per) = (Instant::now(), Duration::from_secs(60));
    let mut history = history_of(share(1, 3), 10, per);
    assert_eq!(history.drain(share(1, 3), start), 3);
    assert_eq!(history.drain(ReplicaShare::WHOLE, start), 0);
    let noticed = start + Duration::from_secs(5);
    assert_eq!(history.check(ReplicaShare::WHOLE, noticed), Err(Duration::from_secs(55)));
    assert_eq!(
        history.drain(ReplicaShare::WHOLE, start + per),
        10,
        "the stopped servers' calls no longer count"
    );

    // A smaller share first takes the inherited calls that could not be used yet.
    let mut history = history_of(share(1, 2), 10, per);
    assert_eq!(history.drain(ReplicaShare::WHOLE, start), 5);
    assert_eq!(history.take_of(share(1, 2), start), Err(per));
    assert_eq!(history.drain(share(1, 2), start + per), 5);
    assert_eq!(history.drain(share(1, 5), start + per), 0, "what was used stays used");
    assert_eq!(history.check(share(1, 5), start + per), Err(per));
}

#[tokio::test]
async fn inherited_calls_are_waited_for_no_longer_than_own_ones() {
    let (start, per) = (Instant::now(), Duration::from_secs(60));
    let second = |n| start + Duration::from_secs(n);
    let mut history = history_of(share(0, 2), 4, per);
    assert_eq!(history.drain(share(0, 2), start), 2);
    assert_eq!(
        history.check(ReplicaShare::WHOLE, second(20)),
        Err(Duration::from_secs(40)),
        "its own come first"
    );
    assert_eq!(history.drain(ReplicaShare::WHOLE, second(60)), 2);
    assert_eq!(history.take(second(70)), Err(Duration::from_secs(10)), "then those of others");
    assert_eq!(history.drain(ReplicaShare::WHOLE, second(80)), 2);
}

#[tokio::test]
async fn with_more_servers_than_calls_each_waits_for_longer() {
    let (start, per) = (Instant::now(), Duration::from_secs(60));
    let mut history = history_of(share(2, 3), 1, per);
    assert_eq!(history.take_of(share(2, 3), start), Ok(()));
    assert_eq!(history.check(share(2, 3), start + per), Err(2 * per));
    assert_eq!(history.check(ReplicaShare::WHOLE, start + per), Ok(()));
    // A call that no longer counted in the larger share counts again.
    assert_eq!(history.check(share(1, 2), start + per), Err(per));
}

/// Makes every allowed call, every second, on servers whose shares `shares` gives.
fn drive(
    quota: (u32, Duration),
    n_servers: usize,
    seconds: u64,
    shares: impl Fn(usize, u64) -> Option<ReplicaShare>,
) -> Vec<u64> {
    let start = Instant::now();
    let mut servers: Vec<Option<CallHistory>> = (0..n_servers).map(|_| None).collect();
    let mut made = Vec::new();
    for second in 0..seconds {
        for (nth, server) in servers.iter_mut().enumerate() {
            let Some(share) = shares(nth, second) else { continue };
            let history = server.get_or_insert_with(|| history_of(share, quota.0, quota.1));
            let n_calls = history.drain(share, start + Duration::from_secs(second));
            made.extend(std::iter::repeat_n(second, n_calls));
        }
    }
    made
}

/// Most calls in any period of so many seconds.
fn densest(made: &[u64], per: u64) -> usize {
    let from = |nth: usize| made.partition_point(|it| *it < made[nth] + per) - nth;
    (0..made.len()).map(from).max().unwrap_or_default()
}

proptest::proptest! {
    #[test]
    fn servers_that_know_of_each_other_keep_the_quota(calls in 1u32..30, of in 1u32..8, per in 1u64..60) {
        let quota = (calls, Duration::from_secs(per));
        let made = drive(quota, of as usize, 600, |nth, _| ReplicaShare::new(nth as u32, of));
        let most = calls.max(of) as usize;
        proptest::prop_assert!(densest(&made, per) <= most);
        // And in the long run, however few calls there are: but for the first of each server.
        let over_time = (f64::from(calls) * 600.0 / per as f64) as usize + most;
        proptest::prop_assert!(made.len() <= over_time, "{} of {over_time}", made.len());
    }

    #[test]
    fn a_stopped_server_never_leads_to_more_calls(
        calls in 8u32..40,
        of in 2u32..8,
        per in 1u64..60,
        gone in 0u64..120,
        noticed in proptest::collection::vec(0u64..8, 8),
    ) {
        let quota = (calls, Duration::from_secs(per));
        let made = drive(quota, of as usize, 300, |nth, now| {
            let rank = nth as u32;
            match rank {
                0 if now >= gone => None,
                0 => ReplicaShare::new(0, of),
                _ if now >= gone + noticed[nth] => ReplicaShare::new(rank - 1, of - 1),
                _ => ReplicaShare::new(rank, of),
            }
        });
        proptest::prop_assert!(densest(&made, per) <= calls as usize);
    }

    #[test]
    fn a_joining_server_exceeds_the_quota_by_its_share_at_most(
        calls in 8u32..40,
        of in 2u32..8,
        per in 1u64..60,
        joined in 0u64..120,
    ) {
        let quota = (calls, Duration::from_secs(per));
        let made = drive(quota, of as usize, 300, |nth, now| {
            let rank = nth as u32;
            match (rank == of - 1, now) {
                (true, now) if now < joined => None,
                // The others learn of the new server a second later.
                (false, now) if now <= joined => ReplicaShare::new(rank, of - 1),
                _ => ReplicaShare::new(rank, of),
            }
        });
        let most = calls + calls.div_ceil(of);
        proptest::prop_assert!(densest(&made, per) <= most as usize);
    }

    /// For a second, each server only knows of those that started before it.
    #[test]
    fn a_simultaneous_start_exceeds_the_quota_by_the_harmonic_sum_at_most(calls in 8u32..40, of in 1u32..8, per in 2u64..60) {
        let quota = (calls, Duration::from_secs(per));
        let made = drive(quota, of as usize, 300, |nth, now| {
            let rank = nth as u32;
            ReplicaShare::new(rank, if now == 0 { rank + 1 } else { of })
        });
        let most: u32 = (1..=of).map(|n| calls.div_ceil(n)).sum();
        proptest::prop_assert!(densest(&made, per) <= most as usize);
        let later: Vec<u64> = made.into_iter().filter(|it| *it >= per).collect();
        proptest::prop_assert!(densest(&later, per) <= calls as usize, "it is over after one stretch");
    }

    #[test]
    fn no_period_has_more_calls_than_allowed(
        calls in 1u32..20,
        per in 1u64..5_000_000,
        gaps in proptest::collection::vec(0u64..1_000_000, 1..300),
    ) {
        let per = Duration::from_micros(per);
        let mut history = history(calls, per);
        let (mut now, mut made) = (Instant::now(), Vec::new());
        for gap in gaps {
            now += Duration::from_micros(gap);
            if history.take(now).is_ok() {
                made.push(now);
            }
        }
        for stretch in made.windows(calls as usize + 1) {
            proptest::prop_assert!(stretch[stretch.len() - 1] - stretch[0] >= per, "{:?}", stretch);
        }
    }

    #[test]
    fn a_call_is_allowed_after_the_given_wait_and_not_before(
        calls in 1u32..5,
        gaps in proptest::collection::vec(0u64..1_000_000, 1..50),
    ) {
        let mut history = history(calls, Duration::from_secs(1));
        let mut now = Instant::now();
        for gap in gaps {
            now += Duration::from_micros(gap);
            if let Err(wait) = history.take(now) {
                let almost = now + wait - Duration::from_nanos(1);
                proptest::prop_assert!(history.take(almost).is_err());
                now += wait;
                proptest::prop_assert_eq!(history.take(now), Ok(()));
            }
        }
    }
}

#[tokio::test]
async fn a_late_tally_leaves_calls_that_other_servers_may_have_made() {
    let (start, per) = (Instant::now(), Duration::from_secs(600));
    let remaining = start + Duration::from_secs(60);
    let quota = Quota { calls: 10, per, of: Vec::new(), scope: QuotaScope::Account };
    let shares =
        [(start, ReplicaShare::WHOLE), (start, share(1, 2)), (remaining, ReplicaShare::WHOLE)];
    let now = remaining + Duration::from_secs(3);
    let mut history = CallHistory::after(&quota, &shares, now);
    assert_eq!(history.drain(ReplicaShare::WHOLE, now), 5, "the other one may have made five");
    assert_eq!(history.drain(ReplicaShare::WHOLE, remaining + per - Duration::from_secs(1)), 0);
    assert_eq!(history.drain(ReplicaShare::WHOLE, remaining + per), 5);

    let mut much_later = CallHistory::after(&quota, &shares, remaining + per);
    assert_eq!(much_later.drain(ReplicaShare::WHOLE, remaining + per), 10);
    let mut alone = CallHistory::after(&quota, &shares[..1], now);
    assert_eq!(alone.drain(ReplicaShare::WHOLE, now), 10);
}
