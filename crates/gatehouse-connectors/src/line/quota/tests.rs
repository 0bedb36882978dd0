use super::*;
use crate::connector::QuotaScope;

fn tally(calls: u32, per: Duration) -> Tally {
    Tally::new(&Quota { calls, per, of: Vec::new(), scope: QuotaScope::Account })
}

#[tokio::test]
async fn calls_come_together_up_to_the_quota_and_then_as_the_oldest_no_longer_count() {
    let (start, per) = (Instant::now(), Duration::from_secs(60));
    let second = start + Duration::from_secs(10);
    let mut tally = tally(2, per);
    assert_eq!([tally.take(start), tally.take(second)], [Ok(()); 2]);
    assert_eq!(tally.take(second), Err(Duration::from_secs(50)));
    assert_eq!(tally.take(start + per), Ok(()));
    assert_eq!(tally.take(start + per), Err(Duration::from_secs(10)));
}

#[tokio::test]
async fn looking_counts_no_call() {
    let start = Instant::now();
    let mut tally = tally(1, Duration::from_secs(1));
    assert_eq!([tally.look(start), tally.look(start), tally.take(start)], [Ok(()); 3]);
    assert_eq!(tally.look(start), Err(Duration::from_secs(1)));
    assert!(!tally.is_empty(start) && tally.is_empty(start + Duration::from_secs(1)));
}

#[tokio::test]
async fn one_call_is_allowed_at_least_and_no_more_than_can_be_kept() {
    let (start, per) = (Instant::now(), Duration::MAX);
    for (calls, allowed) in [(0, 1), (Quota::CALLS_MAX, 10_000), (u32::MAX, 10_000)] {
        let mut tally = tally(calls, per);
        let n_calls = (0..20_000).filter(|_| tally.take(start).is_ok()).count();
        assert_eq!(n_calls, allowed);
        assert_eq!(tally.take(start), Err(per));
    }
}

proptest::proptest! {
    #[test]
    fn no_stretch_has_more_calls_than_allowed(
        calls in 1u32..20,
        per in 1u64..5_000_000,
        gaps in proptest::collection::vec(0u64..1_000_000, 1..300),
    ) {
        let per = Duration::from_micros(per);
        let mut tally = tally(calls, per);
        let (mut now, mut made) = (Instant::now(), Vec::new());
        for gap in gaps {
            now += Duration::from_micros(gap);
            if tally.take(now).is_ok() {
                made.push(now);
            }
        }
        for stretch in made.windows(calls as usize + 1) {
            proptest::prop_assert!(stretch[stretch.len() - 1] - stretch[0] >= per, "{:?}", stretch);
        }
    }

    #[test]
    fn whoever_waits_as_told_gets_a_call_and_nobody_waits_in_vain(
        calls in 1u32..5,
        gaps in proptest::collection::vec(0u64..1_000_000, 1..50),
    ) {
        let mut tally = tally(calls, Duration::from_secs(1));
        let mut now = Instant::now();
        for gap in gaps {
            now += Duration::from_micros(gap);
            if let Err(wait) = tally.take(now) {
                let almost = now + wait - Duration::from_nanos(1);
                proptest::prop_assert!(tally.take(almost).is_err());
                now += wait;
                proptest::prop_assert_eq!(tally.take(now), Ok(()));
            }
        }
    }
}
