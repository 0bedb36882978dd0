use std::collections::{BTreeMap, BTreeSet};

use super::*;

async fn scrape(gate: &Gatehouse) -> String {
    let response = gate.get("/-/metrics").await;
    assert_eq!(response.status, 200, "{}", response.body);
    let kind = response.header("content-type");
    assert_eq!(kind, Some("text/plain; version=0.0.4; charset=utf-8"));
    response.body
}

/// Samples by name and labels, as written. Checks the format of every line.
fn samples(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with('\n'), "the last line ends with a newline");
    let (mut kinds, mut helped, mut samples) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.is_empty() && helped.insert(name.to_owned()), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(helped.contains(name), "{line}: HELP comes first");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}: twice");
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let is_name = |it: &str| {
                !it.is_empty() && it.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
            };
            assert!(is_name(name), "{line}");
            assert!(name.starts_with("gatehouse_") || name.starts_with("process_"), "{line}");
            let labels = labels.strip_suffix('}').unwrap_or_else(|| panic!("{line}"));
            for label in labels.split("\",").filter(|it| !it.is_empty()) {
                let (name, value) = label.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
                assert!(is_name(name) && !value.contains('\\'), "{line}");
            }
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .filter_map(|end| name.strip_suffix(end))
                .find(|family| kinds.get(*family).is_some_and(|kind| kind == "histogram"));
            assert!(kinds.contains_key(family.unwrap_or(name)), "{line}: TYPE comes first");
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
            assert!(samples.insert(series.to_owned(), value).is_none(), "{line}: twice");
        }
    }
    samples
}

#[tokio::test]
async fn every_metric_is_well_formed_and_has_its_value() {
    for gate in Gatehouse::on_each("every_line_has_its_form").await {
        let (path, _) =
            gate.create(r#"{"contractId": "payg", "username": "ann", "password": "p"}"#).await;
        gate.get(&path).await;
        gate.verify("ann", "p").await;
        gate.verify("ann", "p").await;
        gate.get("/acme/summary").await;
        gate.send("GET", &path, &[], b"").await;
        gate.send("GET", &path, &[("authorization", "Bearer a.b.c")], b"").await;
        let text = scrape(&gate).await;
        let samples = samples(&text);
        let value = |name: &str| *samples.get(name).unwrap_or_else(|| panic!("{name}:\n{text}"));
        let route = "route=\"/{tenantName}/access/{accessId}\"";
        for (name, expected) in [
            (
                format!("gatehouse_http_requests_total{{method=\"GET\",{route},status=\"200\"}}"),
                1.0,
            ),
            (
                format!("gatehouse_http_requests_total{{method=\"GET\",{route},status=\"401\"}}"),
                2.0,
            ),
            (
                format!("gatehouse_http_request_duration_seconds_count{{method=\"GET\",{route}}}"),
                3.0,
            ),
            ("gatehouse_http_requests_in_flight".into(), 1.0),
            ("gatehouse_token_checks_total{outcome=\"no_token\"}".into(), 1.0),
            ("gatehouse_token_checks_total{outcome=\"not_trusted\"}".into(), 1.0),
            ("gatehouse_vault_remembered_checks_total{outcome=\"hit\"}".into(), 1.0),
            ("gatehouse_vault_remembered_checks_total{outcome=\"miss\"}".into(), 1.0),
            ("gatehouse_vault_hash_duration_seconds_count".into(), 2.0),
            ("gatehouse_vault_hashes_running".into(), 0.0),
            ("gatehouse_vault_hashes_refused_total".into(), 0.0),
            ("gatehouse_store_duration_seconds_count{kind=\"snapshot\"}".into(), 1.0),
            ("gatehouse_store_errors_total{kind=\"unavailable\"}".into(), 0.0),
            (format!("gatehouse_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1.0),
        ] {
            assert_eq!(value(&name), expected, "{}: {name}", gate.kind);
        }
        for name in ["process_resident_memory_bytes", "process_start_time_seconds"] {
            assert!(value(name) > 0.0, "{name}");
        }
        // The last bucket counts everything.
        let name = format!(
            "gatehouse_http_request_duration_seconds_bucket{{method=\"GET\",{route},le=\"+Inf\"}}"
        );
        assert_eq!(value(&name), 3.0);
    }
}

#[tokio::test]
async fn client_input_adds_no_time_series() {
    let gate = Gatehouse::new().await;
    let n_series = async || samples(&scrape(&gate).await).len();
    let send_odd_requests = async |n: u32| {
        let path = format!("/tenant-{n}/access/{n}");
        gate.send(&format!("METHOD{n}"), &path, &[], b"").await;
        gate.send("GET", &format!("/nowhere-{n}"), &[], b"").await;
        gate.send("GET", &format!("/acme/nowhere-{n}?q={n}"), &[], b"").await;
        gate.call("GET", &format!("/acme/access/x{n}"), &[("x-correlation-id", "c")], "").await;
        let token = gate.token_for(&format!("tenant-{n}"), "access:read");
        let bearer = format!("Bearer {token}");
        gate.send("GET", &path, &[("authorization", &bearer)], b"").await;
    };
    send_odd_requests(0).await;
    n_series().await;
    let before = n_series().await;
    for n in 1..20 {
        send_odd_requests(n).await;
    }
    assert_eq!(n_series().await, before);
    let text = scrape(&gate).await;
    for word in ["acme", "tenant-", "METHOD", "nowhere", "tester"] {
        assert!(!text.contains(word), "{word} is in\n{text}");
    }
    assert!(text.contains("method=\"other\",route=\"/{tenantName}/access/{accessId}\""), "{text}");
    assert!(text.contains("method=\"GET\",route=\"unknown\",status=\"404\""), "{text}");
}

#[tokio::test]
async fn only_operators_read_the_metrics() {
    let gate = Gatehouse::new().await;
    assert_eq!(gate.send("GET", "/-/metrics", &[], b"").await.status, 401);
    for (tenant, scope, status) in
        [("*", "admin", 200), ("*", "access:read", 403), ("acme", "admin", 403)]
    {
        let bearer = format!("Bearer {}", gate.token_for(tenant, scope));
        let response = gate.send("GET", "/-/metrics", &[("authorization", &bearer)], b"").await;
        assert_eq!(response.status, status, "{tenant} {scope}: {}", response.body);
    }
    let head = gate.call("HEAD", "/-/metrics", &[], "").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert!(head.header("content-length").unwrap().parse::<usize>().unwrap() > 1000);
}

#[tokio::test]
async fn metrics_are_served_for_the_accept_headers_of_prometheus() {
    let gate = Gatehouse::new().await;
    for (accept, status) in [
        (
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1",
            200,
        ),
        ("text/plain;version=0.0.4", 200),
        ("text/*", 200),
        ("*/*", 200),
        ("", 200),
        ("application/json", 406),
        ("text/plain;q=0, */*", 406),
    ] {
        let response = gate.call("GET", "/-/metrics", &[("accept", accept)], "").await;
        assert_eq!(response.status, status, "{accept}: {}", response.body);
    }
}

#[tokio::test]
async fn a_panic_is_counted_and_leaves_no_request_in_flight() {
    let gate = Gatehouse::new().await;
    let request = Request::post("/acme/verify")
        .header("host", "gate.example")
        .header("authorization", format!("Bearer {}", gate.token))
        .header("x-correlation-id", "mine")
        .header("content-type", "application/json");
    let request = request.body(PanickingBody).unwrap();
    let response =
        handle(&TaskTracker::new(), gate.gate.clone(), PLAIN, connected(), (), request).await;
    assert_eq!(response.headers()["x-correlation-id"], "mine");
    let samples = samples(&scrape(&gate).await);
    let name = "gatehouse_http_requests_total{method=\"POST\",route=\"/{tenantName}/verify\",status=\"500\"}";
    assert_eq!(samples.get(name), Some(&1.0));
    assert_eq!(samples["gatehouse_http_requests_in_flight"], 1.0, "only the scrape itself");
}
