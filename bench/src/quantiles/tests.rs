use super::*;

#[test]
fn one_bad_round_does_not_move_a_median() {
    assert_eq!(median(vec![3.0, 1.0, 900.0]), 3.0);
    assert_eq!(median(vec![4.0, 2.0]), 3.0);
    assert!(median(Vec::new()).is_nan());
}

#[test]
fn percentiles_are_values_that_were_measured() {
    let hundred: Vec<Duration> = (1..=100).map(Duration::from_micros).collect();
    assert_eq!(percentile(&hundred, 50), Duration::from_micros(50));
    assert_eq!(percentile(&hundred, 99), Duration::from_micros(99));
    assert_eq!(percentile(&hundred[..1], 99), Duration::from_micros(1));
    assert_eq!(percentile(&[], 50), Duration::ZERO);
}

#[test]
fn latencies_of_all_clients_count_together() {
    let millis = Duration::from_millis;
    let latencies = Latencies::of(vec![vec![millis(3), millis(1)], vec![millis(2)]], millis(1500));
    assert_eq!((latencies.p50_us, latencies.p99_us, latencies.per_second), (2000.0, 3000.0, 2.0));
}
