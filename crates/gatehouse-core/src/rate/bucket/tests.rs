use super::*;
use proptest::prelude::*;

fn share(rank: u32, of: u32) -> ReplicaShare {
    ReplicaShare::new(rank, of).unwrap()
}

/// Takes all tokens.
fn drain(bucket: &mut Bucket) -> u32 {
    std::iter::from_fn(|| bucket.take().ok()).count() as u32
}

#[test]
fn a_larger_share_brings_no_second_burst() {
    let mut bucket = Bucket::full(10.0, 10.0, share(0, 2));
    assert_eq!(drain(&mut bucket), 5);
    bucket.fill(ReplicaShare::WHOLE, Duration::ZERO);
    assert_eq!(drain(&mut bucket), 0, "the room is there, the tokens are still to come");
    bucket.fill(ReplicaShare::WHOLE, Duration::from_millis(500));
    assert_eq!(drain(&mut bucket), 5, "at the rate of the whole");

    // Nor does a bucket that was idle for long, since the time of the share's change is unknown.
    let mut idle = Bucket::full(10.0, 10.0, share(0, 2));
    idle.fill(ReplicaShare::WHOLE, Duration::from_secs(3600));
    assert_eq!(drain(&mut idle), 5);
    idle.fill(ReplicaShare::WHOLE, Duration::from_secs(3600));
    assert_eq!(drain(&mut idle), 10);
}

#[test]
fn a_smaller_share_takes_excess_tokens_away() {
    let mut bucket = Bucket::full(10.0, 10.0, ReplicaShare::WHOLE);
    bucket.fill(share(3, 4), Duration::ZERO);
    assert_eq!((bucket.left(), drain(&mut bucket)), (2, 2), "half a token is none");
    bucket.fill(share(3, 4), Duration::from_millis(200));
    assert_eq!(drain(&mut bucket), 1, "but it is kept");
}

#[test]
fn a_share_of_a_small_limit_is_one_token_at_a_lower_rate() {
    let mut bucket = Bucket::full(1.0, 1.0, share(2, 3));
    assert_eq!(bucket.take(), Ok(()));
    assert_eq!(bucket.take().unwrap_err().as_millis(), 3000);
    bucket.fill(share(2, 3), Duration::from_millis(3001));
    assert_eq!(drain(&mut bucket), 1);
}

proptest! {
    /// Under any load, and as long as all servers know of all: never more than a single server would allow, but for the
    /// one token that each has at least.
    #[test]
    fn servers_together_keep_the_rate(
        rate in 0.1f64..1000.0,
        burst in 1u32..50,
        of in 1u32..12,
        steps in proptest::collection::vec((0u32..12, 0u64..500_000, 1u32..20), 1..200),
    ) {
        let burst = f64::from(burst);
        let mut servers: Vec<_> = (0..of)
            .map(|rank| (Bucket::full(rate, burst, share(rank, of)), Duration::ZERO))
            .collect();
        let (mut now, mut n_taken) = (Duration::ZERO, 0u32);
        for (server, gap, wanted) in steps {
            now += Duration::from_micros(gap);
            let rank = server % of;
            let (bucket, at) = &mut servers[rank as usize];
            bucket.fill(share(rank, of), now - *at);
            *at = now;
            n_taken += (0..wanted).filter(|_| bucket.take().is_ok()).count() as u32;
        }
        let most = burst.max(of.into()) + rate * now.as_secs_f64();
        prop_assert!(f64::from(n_taken) <= most + 1e-6, "{n_taken} of {most}");
    }

    /// A server dies, and the others learn of it later: its share is unused until then, and no server has a second
    /// burst afterwards.
    #[test]
    fn a_dead_server_never_raises_the_rate(
        rate in 1u32..100,
        of in 2u32..6,
        died in 0u64..2_000,
        noticed in proptest::collection::vec(0u64..6_000, 5),
    ) {
        // Below that each server has one token of its own.
        let whole = f64::from(rate.max(of));
        let mut buckets: Vec<_> =
            (0..of).map(|rank| Bucket::full(whole, whole, share(rank, of))).collect();
        let (step, mut n_taken) = (Duration::from_millis(10), 0u32);
        for now in (0..10_000).step_by(10) {
            for (rank, bucket) in buckets.iter_mut().enumerate() {
                let is_last = rank as u32 == of - 1;
                if is_last && now >= died {
                    continue;
                }
                let knows = now >= died + noticed[rank % noticed.len()];
                let rank = rank as u32;
                bucket.fill(if knows { share(rank, of - 1) } else { share(rank, of) }, step);
                n_taken += drain(bucket);
            }
        }
        let most = whole + whole * 10.0;
        prop_assert!(f64::from(n_taken) <= most + 1e-6, "{n_taken} of {most}");
    }

    /// A server joins, and the others learn of it within a second: at most its own full bucket and its share of a
    /// second too many.
    #[test]
    fn a_joining_server_adds_two_shares_at_most(
        rate in 1u32..100,
        of in 2u32..6,
        noticed in proptest::collection::vec(0u64..1_000, 5),
    ) {
        let (whole, joined) = (f64::from(rate.max(of)), 2_000);
        let mut buckets: Vec<_> =
            (0..of - 1).map(|rank| Bucket::full(whole, whole, share(rank, of - 1))).collect();
        let (step, mut n_taken) = (Duration::from_millis(10), 0u32);
        for now in (0..6_000).step_by(10) {
            if now == joined {
                buckets.push(Bucket::full(whole, whole, share(of - 1, of)));
            }
            for (rank, bucket) in buckets.iter_mut().enumerate() {
                let rank = rank as u32;
                let knows = rank == of - 1 || now >= joined + noticed[rank as usize];
                bucket.fill(if knows { share(rank, of) } else { share(rank, of - 1) }, step);
                n_taken += drain(bucket);
            }
        }
        let most = whole + whole * 6.0 + 2.0 * whole / f64::from(of);
        prop_assert!(f64::from(n_taken) <= most + 1e-6, "{n_taken} of {most}");
    }

    /// All servers start at once, and each knows only of those that started before it: for a second, as much more as 1
    /// + 1/2 + 1/3 + … is than 1.
    #[test]
    fn a_simultaneous_start_adds_the_harmonic_excess(rate in 1u32..100, of in 1u32..12) {
        let whole = f64::from(rate.max(of));
        let mut buckets: Vec<_> =
            (0..of).map(|rank| Bucket::full(whole, whole, share(rank, rank + 1))).collect();
        let (step, mut n_taken) = (Duration::from_millis(10), 0u32);
        for now in (0..2_000).step_by(10) {
            for (rank, bucket) in buckets.iter_mut().enumerate() {
                let rank = rank as u32;
                bucket.fill(share(rank, if now < 1_000 { rank + 1 } else { of }), step);
                n_taken += drain(bucket);
            }
        }
        let harmonic: f64 = (1..=of).map(|n| 1.0 / f64::from(n)).sum();
        let most = whole * (2.0 * harmonic + 1.0);
        prop_assert!(f64::from(n_taken) <= most + 1e-6, "{n_taken} of {most}");
    }
}
