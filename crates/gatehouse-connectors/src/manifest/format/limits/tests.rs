use std::time::Duration;

use super::*;
use crate::client::tests::UNLIMITED;
use crate::manifest::tests::{parse_error, read};

fn applied(yaml: &str) -> connector::PlatformLimits {
    let mut limits = UNLIMITED;
    read::<Limits>(yaml).apply_to(&mut limits);
    limits
}

#[test]
fn limits_of_a_manifest_apply_to_the_client() {
    let limits = applied(
        "{ calls_at_once: 3, buckets: [{ calls: 250, per: 1m }, { calls: 9, per: 5s, of: [session, look_up], scope: host }], \
         wait: { remaining: X-Left, reset: X-Reset, reset_is: epoch } }",
    );
    let all = Quota {
        calls: 250,
        per: Duration::from_secs(60),
        of: Vec::new(),
        scope: QuotaScope::Account,
    };
    let some = Quota {
        calls: 9,
        per: Duration::from_secs(5),
        of: vec![CallKind::Session, CallKind::LookUp],
        scope: QuotaScope::Host,
    };
    let wait = connector::WaitRule {
        remaining: Some("x-left".parse().unwrap()),
        reset: "x-reset".parse().unwrap(),
        unit: ResetUnit::Epoch,
    };
    let expected = connector::PlatformLimits {
        calls_at_once: 3,
        quotas: vec![all, some],
        wait: Some(wait),
        ..UNLIMITED
    };
    assert_eq!(limits, expected);
}

#[test]
fn missing_limits_have_defaults() {
    assert_eq!(applied("{}"), UNLIMITED);
    let wait = applied("{ wait: { reset: X-Reset } }").wait.unwrap();
    assert_eq!((wait.remaining, wait.unit), (None, ResetUnit::Seconds));
    for yaml in [
        "{ wait: { remaining: X } }",
        "{ buckets: [{ calls: 1 }] }",
        "{ buckets: [{ calls: -1, per: 1s }] }",
        "{ buckets: [{ calls: 1, per: 1s, of: [lists] }] }",
        "{ buckets: [{ calls: 1, per: 1s, scope: tenant }] }",
    ] {
        assert!(!parse_error::<Limits>(yaml).is_empty(), "{yaml}");
    }
}
