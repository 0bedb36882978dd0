use super::*;
use proptest::prelude::*;

fn all(of: u32) -> impl Iterator<Item = ReplicaShare> {
    (0..of).map(move |rank| ReplicaShare::new(rank, of).unwrap())
}

#[test]
fn there_is_no_rank_beyond_the_last() {
    assert_eq!(ReplicaShare::new(0, 1), Some(ReplicaShare::WHOLE));
    assert_eq!(
        [ReplicaShare::new(0, 0), ReplicaShare::new(1, 1), ReplicaShare::new(7, 3)],
        [None; 3]
    );
}

#[test]
fn the_first_servers_get_the_remainder() {
    let minute = Duration::from_secs(60);
    let each = |calls| all(3).map(|it| it.calls(calls, minute)).collect::<Vec<_>>();
    assert_eq!(each(9), [(3, minute); 3]);
    assert_eq!(each(10), [(4, minute), (3, minute), (3, minute)]);
    assert_eq!(each(3), [(1, minute); 3]);
    assert_eq!(each(2), [(1, minute * 3 / 2); 3]);
    assert_eq!(each(1), [(1, minute * 3); 3]);
    assert_eq!(each(0), each(1), "one call at least");
    assert_eq!(ReplicaShare::WHOLE.calls(7, minute), (7, minute));
    assert_eq!(
        ReplicaShare::new(0, u32::MAX).unwrap().calls(1, Duration::MAX).1.as_secs(),
        u64::MAX
    );
}

proptest! {
    #[test]
    fn parts_of_calls_add_up_exactly(calls in 1u32..100_000, of in 1u32..200, seconds in 1u64..100_000) {
        let per = Duration::from_secs(seconds);
        let parts: Vec<_> = all(of).map(|it| it.calls(calls, per)).collect();
        if calls >= of {
            prop_assert!(parts.iter().all(|(n_calls, period)| *n_calls > 0 && *period == per));
            prop_assert_eq!(parts.iter().map(|(n_calls, _)| n_calls).sum::<u32>(), calls);
        } else {
            // As many calls in a long time, and never more than the exact number.
            let (n_calls, period) = parts[0];
            let exact = per.as_secs_f64() * f64::from(of) / f64::from(calls);
            prop_assert!(parts.iter().all(|part| *part == (n_calls, period)) && n_calls == 1);
            prop_assert!(period > per && (period.as_secs_f64() - exact).abs() < 1e-6);
            let over_time = f64::from(of) / period.as_secs_f64();
            prop_assert!(over_time <= f64::from(calls) / per.as_secs_f64() * (1.0 + 1e-12));
        }
    }

    #[test]
    fn parts_of_a_rate_add_up(rate in 0.0f64..1e6, of in 1u32..200) {
        let sum: f64 = all(of).map(|it| it.part(rate)).sum();
        prop_assert!((sum - rate).abs() <= rate * 1e-9);
    }

    #[test]
    fn more_servers_never_have_more_each(calls in 1u32..1000, of in 1u32..50, rank in 0u32..50) {
        let Some(slice) = ReplicaShare::new(rank, of) else { return Ok(()) };
        let (fewer, more) = (slice, ReplicaShare::new(rank, of + 1).unwrap());
        prop_assert_eq!([fewer.smaller(more), more.smaller(fewer)], [more; 2]);
        let per = Duration::from_secs(60);
        let rate = |slice: ReplicaShare| {
            let (n_calls, per) = slice.calls(calls, per);
            f64::from(n_calls) / per.as_secs_f64()
        };
        prop_assert!(rate(more) <= rate(fewer) * (1.0 + 1e-9));
    }
}
