use super::*;

/// A bucket whose share is the whole rate.
fn whole(per_second: f64, burst: u32, now: Instant) -> Bucket {
    Bucket::new(per_second, burst, ReplicaShare::WHOLE, now)
}

#[tokio::test]
async fn calls_come_together_up_to_the_burst_and_then_at_the_rate() {
    let start = Instant::now();
    let mut bucket = whole(2.0, 3, start);
    assert_eq!([(); 3].map(|()| bucket.take(ReplicaShare::WHOLE, start)), [Ok(()); 3]);
    let wait = bucket.take(ReplicaShare::WHOLE, start).unwrap_err();
    assert_eq!(wait.as_millis(), 500);
    assert_eq!(bucket.take(ReplicaShare::WHOLE, start + wait), Ok(()));
    assert!(bucket.take(ReplicaShare::WHOLE, start + wait).is_err());
}

#[tokio::test]
async fn no_more_than_the_burst_is_saved_up() {
    let start = Instant::now();
    let mut bucket = whole(1000.0, 2, start);
    let later = start + Duration::from_secs(3600);
    assert_eq!(
        (bucket.take(ReplicaShare::WHOLE, later), bucket.take(ReplicaShare::WHOLE, later)),
        (Ok(()), Ok(()))
    );
    assert!(bucket.take(ReplicaShare::WHOLE, later).is_err());
}

#[tokio::test]
async fn a_rate_of_zero_never_gives_another_token() {
    let start = Instant::now();
    for rate in [0.0, -1.0, f64::NAN, 1e-300] {
        let mut bucket = whole(rate, 0, start);
        assert_eq!(bucket.take(ReplicaShare::WHOLE, start), Ok(()), "room for one at least");
        let wait = bucket.take(ReplicaShare::WHOLE, start + Duration::from_secs(1)).unwrap_err();
        assert!(wait > Duration::from_secs(u32::MAX.into()), "{rate}: {wait:?}");
    }
}

proptest::proptest! {
    #[test]
    fn the_rate_holds_over_time(
        rate in 0.1f64..1000.0,
        burst in 1u32..50,
        gaps in proptest::collection::vec(0u64..2_000_000, 1..300),
    ) {
        let start = Instant::now();
        let mut bucket = whole(rate, burst, start);
        let (mut now, mut n_calls) = (start, 0u32);
        for gap in gaps {
            now += Duration::from_micros(gap);
            n_calls += u32::from(bucket.take(ReplicaShare::WHOLE, now).is_ok());
        }
        let most = f64::from(burst) + rate * (now - start).as_secs_f64();
        proptest::prop_assert!(f64::from(n_calls) <= most + 1e-6, "{n_calls} of {most}");
    }

    #[test]
    fn a_call_gets_a_token_after_the_given_wait(rate in 0.01f64..100_000.0, burst in 1u32..5) {
        let start = Instant::now();
        let mut bucket = whole(rate, burst, start);
        let mut now = start;
        for _ in 0..20 {
            if let Err(wait) = bucket.take(ReplicaShare::WHOLE, now) {
                now += wait;
                proptest::prop_assert_eq!(bucket.take(ReplicaShare::WHOLE, now), Ok(()));
            }
        }
    }
}
