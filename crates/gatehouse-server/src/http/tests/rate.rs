//! Rate limits of tenants.

use super::*;

fn now() -> std::time::Instant {
    std::time::Instant::now()
}

async fn limited(requests_per_second: u64) -> Gatehouse {
    let mut config = Config::default();
    config.limits.requests_per_second = requests_per_second;
    Gatehouse::with(config).await
}

#[tokio::test]
async fn only_the_tenant_over_its_rate_limit_is_refused() {
    let gate = limited(3).await;
    let mut refused = None;
    // A request takes far less than a third of a second; 1000 allows for a stalled machine.
    for n in 0..1000 {
        let response = gate.get("/acme/contract").await;
        if n == 0 {
            assert_eq!(response.header("ratelimit-policy"), Some("\"tenant\";q=3;w=1"));
            assert_eq!(response.header("ratelimit"), Some("\"tenant\";r=2;t=1"));
            assert_eq!(response.header("ratelimit-limit"), Some("3"));
            assert_eq!(response.header("ratelimit-remaining"), Some("2"));
            assert_eq!(response.header("ratelimit-reset"), Some("1"));
        }
        if response.status != 200 {
            refused = Some(response);
            break;
        }
    }
    let refused = refused.expect("the limit refuses a request");
    assert_eq!(refused.status_and("retry-after"), (429, Some("1")));
    assert_eq!(refused.header("ratelimit-remaining"), Some("0"));
    let problem = refused.json();
    assert_eq!((&problem["type"], &problem["status"]), (&"Too Many Requests".into(), &429.into()));
    assert!(problem["detail"].as_str().unwrap().contains("3 requests a second"), "{problem}");
    // Other tenants have other buckets, and requests of operators don't count.
    assert_eq!(gate.get("/rival/contract").await.status, 200);
    for _ in 0..20 {
        let response = gate.get("/-/admin/tenants/acme").await;
        assert_eq!(response.status_and("ratelimit"), (200, None));
    }
    // A refused caller uses no token of the bucket, and learns nothing about it.
    let response = gate.send("GET", "/rival/contract", &[], b"").await;
    assert_eq!(response.status_and("ratelimit"), (401, None));
    assert_eq!(gate.get("/nobody/contract").await.status, 404);
    // Unknown paths count too.
    let mut statuses = Vec::new();
    for _ in 0..1000 {
        statuses.push(gate.get("/rival/nothing").await.status);
        if statuses.last() == Some(&429) {
            break;
        }
    }
    assert_eq!((statuses[0], statuses.last()), (404, Some(&429)));
}

#[tokio::test]
async fn a_tenants_rate_limit_overrides_the_setting() {
    for (setting, own, expected) in
        [(0, "5", Some("5")), (3, "0", None), (3, "7", Some("7")), (0, "0", None)]
    {
        let gate = limited(setting).await;
        let before = gate.get("/acme/contract").await;
        let default = (setting > 0).then(|| setting.to_string());
        assert_eq!(before.header("ratelimit-limit"), default.as_deref());
        let body = format!(r#"{{"requestsPerSecond": {own}}}"#);
        let response = gate.put("/-/admin/tenants/acme", &body).await;
        assert_eq!(response.json()["requestsPerSecond"].to_string(), own);
        let response = gate.get("/acme/contract").await;
        assert_eq!(response.header("ratelimit-limit"), expected, "{setting} {own}");
    }
    let gate = limited(0).await;
    for bad in ["-1", "1.5", "\"3\"", "null", "1000001"] {
        let body = format!(r#"{{"requestsPerSecond": {bad}}}"#);
        let response = gate.put("/-/admin/tenants/acme", &body).await;
        assert_eq!(response.faults(), (400, "requestsPerSecond".into()), "{bad}");
    }
}

#[tokio::test]
async fn each_of_several_servers_reports_its_share_of_the_limit() {
    let gate = limited(4).await;
    gate.gate.server.app.share.set(gatehouse_core::ReplicaShare::new(0, 2).unwrap(), now());
    let response = gate.get("/acme/contract").await;
    assert_eq!(response.header("ratelimit-policy"), Some("\"tenant\";q=4;w=1"));
    assert_eq!(response.header("ratelimit"), Some("\"tenant\";r=1;t=1"));
    gate.gate.server.app.share.set(gatehouse_core::ReplicaShare::new(7, 40).unwrap(), now());
    // The bucket gets a token only every ten seconds.
    let mut response = gate.get("/acme/contract").await;
    for _ in 0..10 {
        response = gate.get("/acme/contract").await;
        if response.status != 200 {
            break;
        }
    }
    assert_eq!(response.status_and("retry-after"), (429, Some("10")));
    assert_eq!(response.header("ratelimit"), Some("\"tenant\";r=0;t=10"));
    let problem = response.json();
    let expected = "the tenant may send 4 requests a second (one of 40 shares of them over this server), and \
                    has sent more; try again in 10 s";
    assert_eq!(problem["detail"], expected);
}
