use super::*;
use crate::cases;
use crate::fleet::Fleet;

/// Samples from pairs of CPU times, of a case and of its yardstick; zero for a round without it.
fn rounds(cpu_us: &[(f64, f64)]) -> Samples {
    let sample = |(cpu_us, yardstick_cpu_us): &(f64, f64)| {
        (*cpu_us > 0.0).then_some(Sample {
            cpu_us: *cpu_us,
            yardstick_cpu_us: *yardstick_cpu_us,
            database_cpu_us: None,
            p50_us: 1.0,
            p99_us: 2.0,
            requests_per_second: 3.0,
        })
    };
    cpu_us.iter().map(sample).collect()
}

#[test]
fn a_median_is_not_moved_by_one_bad_round() {
    assert_eq!(median(vec![3.0, 1.0, 900.0]), 3.0);
    assert_eq!(median(vec![4.0, 2.0]), 3.0);
    assert!(median(Vec::new()).is_nan());
}

#[test]
fn ratios_are_taken_within_a_turn() {
    // The machine was busy in the second round, for everyone.
    let samples = rounds(&[(20.0, 10.0), (80.0, 40.0), (22.0, 11.0)]);
    assert_eq!(beside_yardstick(&samples), 2.0);
    assert_eq!(beside(&samples, &rounds(&[(5.0, 5.0), (20.0, 20.0), (5.5, 5.0)])), 4.0);
    // A case that was left out of a round is not compared in it.
    let left_out = rounds(&[(0.0, 0.0), (80.0, 20.0)]);
    assert_eq!(beside_yardstick(&left_out), 4.0);
    assert_eq!(beside(&left_out, &rounds(&[(1.0, 1.0), (40.0, 1.0)])), 2.0);
}

#[test]
fn goals_are_missed_only_where_there_are_some() {
    let comparison = |ratio, goal| Comparison { ratio, goal };
    assert!(comparison(1.6, Some(1.5)).is_missed());
    assert!(!comparison(1.5, Some(1.5)).is_missed());
    assert!(!comparison(99.0, None).is_missed());
}

#[test]
fn a_store_is_compared_with_its_own_first_page_and_with_the_small_one() {
    let cases = cases::all(Fleet { n_accesses: 10_000, latest_at: 1_800_000_000_000 });
    let samples = [rounds(&[(10.0, 10.0)]), rounds(&[(30.0, 10.0)])];
    let small = [rounds(&[(10.0, 10.0)]), rounds(&[(15.0, 10.0)])];
    let lines = sum_up(&cases[..2], &samples, Some(&small));
    assert_eq!(lines[1].beside_first, Comparison { ratio: 3.0, goal: Some(1.5) });
    assert_eq!(lines[1].beside_small, Some(Comparison { ratio: 2.0, goal: Some(1.5) }));
    assert_eq!((lines[0].n_missed(), lines[1].n_missed()), (0, 2));
    assert!(sum_up(&cases[..2], &small, None)[1].beside_small.is_none());
}
