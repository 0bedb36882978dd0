use std::time::Duration;

use super::*;

fn taken(throttle: &mut Throttle, now: Instant, per_second: u32) -> usize {
    (0..1000).take_while(|_| throttle.take(now, per_second)).count()
}

#[test]
fn a_burst_takes_the_requests_of_a_second_and_then_the_rate_holds() {
    let (mut throttle, now) = (Throttle::default(), Instant::now());
    assert_eq!(taken(&mut throttle, now, 5), 5);
    assert_eq!(taken(&mut throttle, now + Duration::from_millis(199), 5), 0);
    assert_eq!(taken(&mut throttle, now + Duration::from_millis(201), 5), 1);
    assert_eq!(taken(&mut throttle, now + Duration::from_secs(60), 5), 5, "the bucket is full");
}

#[test]
fn without_a_rate_all_requests_pass_and_a_new_rate_begins_full() {
    let (mut throttle, now) = (Throttle::default(), Instant::now());
    assert_eq!(taken(&mut throttle, now, 3), 3);
    assert_eq!(taken(&mut throttle, now, 0), 1000);
    assert_eq!(taken(&mut throttle, now, 2), 2);
}
