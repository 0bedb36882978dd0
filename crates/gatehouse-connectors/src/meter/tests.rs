use prometheus::TextEncoder;

use super::*;
use prometheus::Registry;

fn account(name: &str) -> Account {
    Account {
        platform: "ALPHA".parse().unwrap(),
        name: name.parse().unwrap(),
        connector: "simulator".parse().unwrap(),
        platform_account: "100234".parse().unwrap(),
    }
}

/// Lines of all series except histogram buckets.
fn shown(registry: &Registry) -> Vec<String> {
    let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    let lines = text.lines().filter(|it| !it.starts_with('#') && !it.contains("_bucket"));
    lines.map(str::to_owned).collect()
}

#[test]
fn an_account_has_all_its_metrics_from_the_start() {
    let (meter, registry) = (PlatformMeter::new(), Registry::new());
    meter.metrics().register(&registry);
    let demo = "demo".parse().unwrap();
    let figures = meter.account(&demo, &account("acme-eu"));
    figures.observe(Outcome::Timeout, Duration::from_secs(2));
    figures.count(Outcome::NotSent);
    figures.count_retry();
    figures.show(Circuit::Open);
    let _in_flight = figures.in_flight();
    let labels = r#"account="acme-eu",platform="ALPHA",tenant="demo""#;
    let with = |outcome: &str| {
        format!(r#"account="acme-eu",outcome="{outcome}",platform="ALPHA",tenant="demo""#)
    };
    let expected = [
        format!("gatehouse_platform_call_duration_seconds_sum{{{labels}}} 2"),
        format!("gatehouse_platform_call_duration_seconds_count{{{labels}}} 1"),
        format!("gatehouse_platform_calls_in_flight{{{labels}}} 1"),
        format!("gatehouse_platform_calls_total{{{}}} 0", with("error")),
        format!("gatehouse_platform_calls_total{{{}}} 0", with("ok")),
        format!("gatehouse_platform_calls_total{{{}}} 1", with("refused")),
        format!("gatehouse_platform_calls_total{{{}}} 0", with("throttled")),
        format!("gatehouse_platform_calls_total{{{}}} 1", with("timeout")),
        format!("gatehouse_platform_circuit{{{labels}}} 2"),
        format!("gatehouse_platform_retries_total{{{labels}}} 1"),
        format!("gatehouse_platform_throttled_total{{{labels}}} 0"),
    ];
    assert_eq!(shown(&registry), expected);
}

#[test]
fn metrics_are_removed_with_the_last_meter_of_an_account() {
    let (meter, registry) = (PlatformMeter::new(), Registry::new());
    meter.metrics().register(&registry);
    let demo = "demo".parse().unwrap();
    let old = meter.account(&demo, &account("acme-eu"));
    let (clone, new) = (old.clone(), meter.account(&demo, &account("acme-eu")));
    let other = meter.account(&demo, &account("other"));
    let n_each = shown(&registry).len() / 2;

    old.count(Outcome::Ok);
    drop(old);
    drop(clone);
    assert_eq!(shown(&registry).len(), 2 * n_each, "the new version is still there");
    new.count(Outcome::Ok);
    assert!(shown(&registry).iter().any(|it| it.contains(r#"outcome="ok""#) && it.ends_with(" 2")));
    drop(new);
    let left = shown(&registry);
    assert!(left.iter().all(|it| it.contains(r#"account="other""#)), "{left:?}");
    assert_eq!(left.len(), n_each);
    drop(other);
    assert_eq!(shown(&registry), Vec::<String>::new());
    let _again = meter.account(&demo, &account("acme-eu"));
    assert_eq!(shown(&registry).len(), n_each, "and none of it counts on");
    assert!(!shown(&registry).iter().any(|it| it.ends_with(" 2")));
}
