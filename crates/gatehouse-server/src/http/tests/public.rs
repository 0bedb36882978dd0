use super::*;

#[tokio::test]
async fn live_and_ready_need_no_token() {
    for gate in Gatehouse::on_each("lives_and_is_ready").await {
        for (path, body) in
            [("/-/live", r#"{"status":"live"}"#), ("/-/ready", r#"{"status":"ready"}"#)]
        {
            let response = gate.send("GET", path, &[], b"").await;
            assert_eq!((response.status, response.body.as_str()), (200, body), "{}", gate.kind);
        }
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_is_503_until_it_can() {
    let url = empty_schema("http_cannot_be_reached").await;
    let link = FaultyLink::to(&url).await;
    let clock = Clock::by_hand(at("2027-03-01T12:00:00Z"));
    let url = link.through(&url);
    let store = Store::open_postgres(&url.parse().unwrap(), clock.clone()).await.unwrap();
    let gate = Gatehouse::on("PostgreSQL", store, clock, Config::default(), None).await;
    let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;

    link.unplug();
    for (method, path) in [("GET", "/-/ready"), ("GET", &path), ("POST", "/acme/access")] {
        let headers = [("content-type", "application/json")];
        let response = gate.call(method, path, &headers, r#"{"contractId": "payg"}"#).await;
        assert_eq!(response.status, 503, "{method} {path}: {}", response.body);
        assert_eq!(response.header("retry-after"), Some("1"));
        assert_eq!(response.json()["detail"], "the store can't be reached, try again later");
    }
    assert_eq!(gate.get("/-/live").await.status, 200, "the server itself runs");

    link.plug();
    // The store reconnects by itself.
    while gate.get("/-/ready").await.status != 200 {}
    assert_eq!(gate.get(&path).await.status, 200);
    gate.create(r#"{"contractId": "payg"}"#).await;
}

#[tokio::test]
async fn the_jwks_has_only_public_keys() {
    let gate = Gatehouse::new().await;
    let keys = gate.send("GET", "/-/jwks.json", &[], b"").await.json();
    assert_eq!(keys["keys"][0]["kty"], "OKP");
    assert_eq!(keys["keys"][0].get("d"), None, "no private part");
}

#[tokio::test]
async fn a_correlation_id_is_accepted_or_generated_and_always_returned() {
    let gate = Gatehouse::new().await;
    let long = "x".repeat(129);
    for (name, value, accepted) in [
        ("x-correlation-id", "my-id/1", true),
        ("x-correlation-id", &long[..128], true),
        ("x-correlator", "theirs", true),
        ("x-correlation-id", &long, false),
        ("x-correlation-id", "", false),
        ("x-correlation-id", "a b", false),
    ] {
        for path in ["/-/live", "/acme/contract", "/nowhere"] {
            let response = gate.send("GET", path, &[(name, value)], b"").await;
            let returned = response.header("x-correlation-id").unwrap();
            assert_eq!(returned == value, accepted, "{path} {name}: {value}");
            if !accepted {
                assert_eq!(returned.as_bytes()[14], b'7', "a UUID of version 7: {returned}");
            }
            if response.status != 200 {
                assert_eq!(response.json()["correlationId"], returned);
            }
        }
    }
    let both = [("x-correlation-id", "a b"), ("x-correlator", "theirs")];
    let response = gate.send("GET", "/-/live", &both, b"").await;
    assert_ne!(response.header("x-correlation-id"), Some("theirs"), "X-Correlation-ID wins");
}

#[tokio::test]
async fn ignored_parameters_are_named_or_refused() {
    let gate = Gatehouse::new().await;
    let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;
    let response = gate.get(&format!("{path}?b=1&a%2C=2&b=3")).await;
    assert_eq!(response.status_and("x-ignored-params"), (200, Some("b, a%2C")));
    assert_eq!(gate.get(&path).await.header("x-ignored-params"), None);
    let many: Vec<String> = (10_000..22_000).map(|n| format!("{n:x}")).collect();
    let response = gate.get(&format!("{path}?{}&=v", many.join("&"))).await;
    let named: Vec<&str> = response.header("x-ignored-params").unwrap().split(", ").collect();
    assert_eq!((named.len(), named[0], named[32]), (33, "2710", "..."));
    assert_eq!(gate.get(&format!("{path}?=v")).await.header("x-ignored-params"), Some("="));
    for prefer in ["handling=strict", "respond-async, Handling=\"strict\"; x=1"] {
        let response =
            gate.call("GET", &format!("{path}?b=1&c=2"), &[("prefer", prefer)], "").await;
        assert_eq!(response.faults(), (400, "b c".into()), "{prefer}");
    }
    let lenient =
        gate.call("GET", &format!("{path}?b=1"), &[("prefer", "handling=lenient")], "").await;
    assert_eq!(lenient.status, 200);
}

#[tokio::test]
async fn a_panic_becomes_a_500_problem() {
    let gate = Gatehouse::new().await;
    let request = Request::post("/acme/access")
        .header("host", "gate.example")
        .header("authorization", format!("Bearer {}", gate.token))
        .header("content-type", "application/json");
    let request = request.body(PanickingBody).unwrap();
    let response =
        handle(&TaskTracker::new(), gate.gate.clone(), PLAIN, connected(), (), request).await;
    assert_eq!(response.status(), 500);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert!(response.headers().contains_key("x-correlation-id"));
    assert_eq!(gate.get("/acme/contract").await.status, 200, "other requests are served");
}
