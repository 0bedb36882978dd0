use proptest::prelude::*;

use super::*;

/// Runs a breaker through steps: `.` a call that works, `x` one that fails, `?` one that is cancelled, `s` ten seconds
/// pass. Returns the calls, with `-` for those that were rejected, and the final state.
fn run(steps: &str) -> (String, Circuit) {
    let mut now = Instant::now();
    let mut breaker = Breaker::default();
    let mut made = String::new();
    for step in steps.chars() {
        let verdict = match step {
            's' => {
                now += OPEN_TIME;
                continue;
            }
            '.' => Verdict::Works,
            'x' => Verdict::Fails,
            _ => Verdict::Unknown,
        };
        match breaker.admit(now) {
            Ok(pass) => {
                breaker.settle(pass, verdict, now);
                made.push(step);
            }
            Err(_) => made.push('-'),
        }
    }
    (made, breaker.circuit())
}

#[tokio::test]
async fn the_circuit_opens_after_consecutive_failures_and_closes_after_a_good_probe() {
    #[rustfmt::skip]
    let cases = [
        ("xxxx",            "xxxx",         Circuit::Closed),
        ("xxxxx",           "xxxxx",        Circuit::Open),
        ("xxxx.xxxx",       "xxxx.xxxx",    Circuit::Closed),
        ("xx??xxx",         "xx??xxx",      Circuit::Open),
        ("xxxxx..x",        "xxxxx---",     Circuit::Open),
        ("xxxxxs..",        "xxxxx..",      Circuit::Closed),
        ("xxxxxs.xxxx",     "xxxxx.xxxx",   Circuit::Closed),
        ("xxxxxsx.",        "xxxxxx-",      Circuit::Open),
        ("xxxxxsxs.",       "xxxxxx.",      Circuit::Closed),
        ("xxxxxs?.",        "xxxxx?.",      Circuit::Closed),
        ("xxxxxs??x.",      "xxxxx??x-",    Circuit::Open),
    ];
    for (steps, made, circuit) in cases {
        assert_eq!(run(steps), (made.to_owned(), circuit), "{steps}");
    }
}

/// A breaker that has just opened.
fn opened(now: Instant) -> Breaker {
    let mut breaker = Breaker::default();
    for _ in 0..FAILURES_TO_OPEN {
        let pass = breaker.admit(now).unwrap();
        breaker.settle(pass, Verdict::Fails, now);
    }
    breaker
}

#[tokio::test]
async fn an_open_circuit_reports_its_remaining_time() {
    let now = Instant::now();
    let mut breaker = opened(now);
    let remaining = OPEN_TIME - Duration::from_secs(3);
    assert_eq!(breaker.admit(now + Duration::from_secs(3)), Err(Rejected::OpenFor(remaining)));
    assert_eq!(breaker.check(now + OPEN_TIME), Ok(()));
}

#[tokio::test]
async fn only_one_call_probes_at_a_time() {
    let now = Instant::now();
    let mut breaker = opened(now);
    let then = now + OPEN_TIME;
    let probe = breaker.admit(then).unwrap();
    assert_eq!(breaker.admit(then), Err(Rejected::Probing));
    assert_eq!(breaker.circuit(), Circuit::HalfOpen);
    breaker.settle(probe, Verdict::Works, then);
    assert!(breaker.admit(then).is_ok());
}

#[tokio::test]
async fn results_from_before_a_state_change_are_ignored() {
    let now = Instant::now();
    let mut breaker = Breaker::default();
    let (early, late) = (breaker.admit(now).unwrap(), breaker.admit(now).unwrap());
    for _ in 0..FAILURES_TO_OPEN {
        let pass = breaker.admit(now).unwrap();
        breaker.settle(pass, Verdict::Fails, now);
    }
    breaker.settle(early, Verdict::Works, now);
    assert_eq!(breaker.circuit(), Circuit::Open);
    let probe = breaker.admit(now + OPEN_TIME).unwrap();
    breaker.settle(late, Verdict::Fails, now + OPEN_TIME);
    assert_eq!(breaker.circuit(), Circuit::HalfOpen);
    breaker.settle(probe, Verdict::Works, now + OPEN_TIME);
    assert_eq!(breaker.circuit(), Circuit::Closed);
}

proptest! {
    /// Once no call is under way and the open time has passed, a call is admitted: whatever the order of results.
    #[test]
    fn nothing_blocks_for_ever(steps in proptest::collection::vec((0u8..4, 0usize..8), 0..200)) {
        let mut now = Instant::now();
        let mut breaker = Breaker::default();
        let mut under_way = Vec::new();
        for (step, which) in steps {
            match step {
                0 => under_way.extend(breaker.admit(now)),
                1 => now += OPEN_TIME / 4,
                _ if under_way.is_empty() => {}
                2 => {
                    let pass = under_way.swap_remove(which % under_way.len());
                    breaker.settle(pass, Verdict::Fails, now);
                }
                _ => {
                    let pass = under_way.swap_remove(which % under_way.len());
                    let verdict = if which % 2 == 0 { Verdict::Works } else { Verdict::Unknown };
                    breaker.settle(pass, verdict, now);
                }
            }
        }
        for pass in under_way {
            breaker.settle(pass, Verdict::Unknown, now);
        }
        prop_assert!(breaker.admit(now + OPEN_TIME).is_ok());
    }
}
