use super::*;

#[test]
fn percentiles_are_values_that_were_measured() {
    let hundred: Vec<Duration> = (1..=100).map(Duration::from_micros).collect();
    assert_eq!(percentile(&hundred, 50), Duration::from_micros(50));
    assert_eq!(percentile(&hundred, 99), Duration::from_micros(99));
    assert_eq!(percentile(&hundred[..1], 99), Duration::from_micros(1));
    assert_eq!(percentile(&[], 50), Duration::ZERO);
}

#[test]
fn slow_requests_are_few_and_fast_ones_many_in_a_slice() {
    assert_eq!(requests_in_slice(Duration::from_secs(3)), 1);
    assert_eq!(requests_in_slice(Duration::from_millis(1)), 40);
    assert_eq!(requests_in_slice(Duration::ZERO), N_REQUESTS_MAX);
}
