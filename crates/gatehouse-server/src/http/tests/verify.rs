use super::*;
use insta::assert_snapshot;
use serde_json::json;

#[tokio::test]
async fn correct_credentials_pass_the_check() {
    let gate = Gatehouse::new().await;
    let body =
        r#"{"contractId": "pre", "username": "ann", "password": "s3cret", "deviceName": "d"}"#;
    gate.create(body).await;
    assert_snapshot!(gate.verify("ann", "s3cret").await.snapshot(), @r#"
    200
    content-type: application/json
    cache-control: no-store
    x-correlation-id: <correlation>
    content-length: 171

    {
      "accessId": "<id>",
      "status": "ACTIVE",
      "name": "d",
      "contractId": "pre",
      "productOfferingId": "po-month",
      "endDateTime": "2027-03-31T12:00:00.000Z"
    }
    "#);
}

#[tokio::test]
async fn every_refused_check_looks_the_same() {
    let gate = Gatehouse::new().await;
    let (path, _) =
        gate.create(r#"{"contractId": "payg", "username": "ann", "password": "s3cret"}"#).await;
    let wrong = gate.verify("ann", "wrong").await.snapshot();
    assert_snapshot!(wrong, @r#"
    401
    content-type: application/problem+json
    www-authenticate: Basic realm="device"
    cache-control: no-store
    x-correlation-id: <correlation>
    content-length: 264

    {
      "type": "Credentials refused",
      "status": 401,
      "title": "Credentials refused",
      "detail": "the username or the password is wrong, or the access may not connect",
      "externalErrors": [],
      "relatedParty": [],
      "correlationId": "<correlation>",
      "@type": "problem"
    }
    "#);
    assert_eq!(gate.verify("nobody", "s3cret").await.snapshot(), wrong);
    assert_eq!(gate.verify("nobody-2", "s3cret").await.snapshot(), wrong);
    gate.patch(&path, r#"{"status": "SUSPENDED"}"#).await;
    assert_eq!(gate.verify("ann", "s3cret").await.snapshot(), wrong);
    gate.patch(&path, r#"{"status": "TERMINATED"}"#).await;
    assert_eq!(gate.verify("ann", "s3cret").await.snapshot(), wrong);
}

#[tokio::test]
async fn the_first_check_starts_the_validity_period() {
    for gate in Gatehouse::on_each("first_connection").await {
        let (path, created) = gate.create(r#"{"contractId": "pre"}"#).await;
        let (name, password) =
            (created["username"].as_str().unwrap(), created["password"].as_str().unwrap());
        gate.clock.set(at("2027-03-05T00:00:00Z"));
        assert_eq!(gate.verify(name, "wrong").await.status, 401);
        assert_eq!(gate.get(&path).await.json()["status"], "PENDING_ACTIVE", "not activated");
        let first = gate.verify(name, password).await;
        assert_eq!(first.json()["status"], "ACTIVE");
        gate.clock.set(at("2027-03-06T00:00:00Z"));
        let second = gate.verify(name, password).await;
        assert_eq!(second.json(), first.json(), "{}: activated once", gate.kind);
        let access = gate.get(&path).await;
        assert_eq!(access.json()["startDateTime"], "2027-03-05T00:00:00.000Z");
        assert_eq!(access.json()["endDateTime"], "2027-04-04T00:00:00.000Z");
        assert_eq!(access.header("etag"), Some("\"2\""), "{}", gate.kind);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_first_checks_activate_once() {
    for gate in Gatehouse::on_each("fifty_first_checks").await {
        let (path, created) = gate.create(r#"{"contractId": "pre"}"#).await;
        let (name, password) =
            (created["username"].as_str().unwrap(), created["password"].as_str().unwrap());
        let checks = futures_util::future::join_all((0..50).map(|_| gate.verify(name, password)));
        for check in checks.await {
            assert_eq!(check.status, 200, "{}", check.body);
        }
        assert_eq!(gate.get(&path).await.header("etag"), Some("\"2\""), "{}", gate.kind);
    }
}

#[tokio::test]
async fn a_change_takes_effect_at_the_next_check() {
    for gate in Gatehouse::on_each("obeyed_by_next_check").await {
        let body = r#"{"contractId": "payg", "username": "ann", "password": "one"}"#;
        let (path, _) = gate.create(body).await;
        for _ in 0..2 {
            assert_eq!(gate.verify("ann", "one").await.status, 200, "also from the cache");
        }
        gate.patch(&path, r#"{"status": "SUSPENDED"}"#).await;
        assert_eq!(gate.verify("ann", "one").await.status, 401, "{}", gate.kind);
        gate.patch(&path, r#"{"status": "ACTIVE", "password": "two"}"#).await;
        assert_eq!(gate.verify("ann", "one").await.status, 401, "{}", gate.kind);
        assert_eq!(gate.verify("ann", "two").await.status, 200, "{}", gate.kind);
    }
}

#[tokio::test]
async fn checks_fail_before_the_contract_starts() {
    let gate = Gatehouse::new().await;
    for model in ["PAY_PER_USE", "PREPAID"] {
        let body = format!(
            r#"{{"productOfferingId": "o{model}", "billingModel": "{model}", "startDateTime": "2027-06-01"}}"#
        );
        gate.put(&format!("/-/admin/tenants/acme/contracts/{model}"), &body).await;
        let body =
            format!(r#"{{"contractId": "{model}", "username": "{model}", "password": "p"}}"#);
        let (path, _) = gate.create(&body).await;
        gate.clock.set(at("2027-05-31T23:59:59.999Z"));
        assert_eq!(gate.verify(model, "p").await.status, 401);
        gate.clock.set(at("2027-06-01T00:00:00Z"));
        assert_eq!(gate.verify(model, "p").await.status, 200);
        assert_eq!(gate.get(&path).await.json()["status"], "ACTIVE");
        gate.clock.set(at("2027-03-01T12:00:00Z"));
    }
}

/// An unknown username whose check does a slow hash, or a fast one.
fn unknown(gate: &Gatehouse, is_slow: bool) -> String {
    let vault = &gate.gate.server.app.vault;
    let names = (0..).map(|n| format!("nobody-{n}"));
    names.into_iter().find(|it| vault.unknown_is_slow(it) == is_slow).unwrap()
}

fn n_hashes(gate: &Gatehouse) -> u64 {
    gate.gate.server.app.vault.meter().n_hashes()
}

#[tokio::test]
async fn failed_checks_are_limited() {
    for gate in Gatehouse::on_each("guessing_meets_a_limit").await {
        for name in ["ann", "bob"] {
            let body = json!({"contractId": "payg", "username": name, "password": "s3cret"});
            gate.create(&body.to_string()).await;
        }
        assert_eq!(gate.verify("bob", "s3cret").await.status, 200, "{}", gate.kind);
        for name in ["ann", "bob", &unknown(&gate, true)] {
            for n in 0..10 {
                assert_eq!(
                    gate.verify(name, &format!("wrong {n}")).await.status,
                    401,
                    "{name} {n}"
                );
            }
            let n_before = n_hashes(&gate);
            let refused = gate.verify(name, "wrong").await;
            assert_eq!(refused.status_and("retry-after"), (429, Some("1")), "{name}");
            assert!(refused.body.contains("too many failed checks"), "{}", refused.body);
            // The correct password isn't checked either, except from the cache.
            let right = gate.verify(name, "s3cret").await.status;
            assert_eq!(right, if name == "bob" { 200 } else { 429 }, "{name} {}", gate.kind);
            assert_eq!(n_hashes(&gate), n_before, "{name} {}", gate.kind);
        }
        // Generated passwords have no limit.
        let created = gate.create(r#"{"contractId": "payg", "username": "drawn"}"#).await.1;
        for name in ["drawn", &unknown(&gate, false)] {
            for _ in 0..30 {
                assert_eq!(gate.verify(name, "wrong").await.status, 401, "{name}");
            }
        }
        let password = created["password"].as_str().unwrap();
        assert_eq!(gate.verify("drawn", password).await.status, 200, "{}", gate.kind);
    }
}

#[tokio::test]
async fn failed_checks_of_a_suspended_access_are_limited_too() {
    let gate = Gatehouse::new().await;
    let body = r#"{"contractId": "payg", "username": "ann", "password": "s3cret"}"#;
    let (path, _) = gate.create(body).await;
    assert_eq!(gate.verify("ann", "s3cret").await.status, 200);
    gate.patch(&path, r#"{"status": "SUSPENDED"}"#).await;
    for _ in 0..10 {
        assert_eq!(gate.verify("ann", "s3cret").await.status, 401);
    }
    assert_eq!(gate.verify("ann", "s3cret").await.status, 429);
}

#[tokio::test]
async fn the_limit_of_failed_checks_can_be_set_and_disabled() {
    for (failed_checks, expected) in [(2, 429), (0, 401)] {
        let limits = crate::config::Limits { failed_checks, ..Default::default() };
        let gate = Gatehouse::with(Config { limits, ..Config::default() }).await;
        gate.create(r#"{"contractId": "payg", "username": "ann", "password": "s3cret"}"#).await;
        for _ in 0..2 {
            assert_eq!(gate.verify("ann", "wrong").await.status, 401);
        }
        for _ in 0..4 {
            assert_eq!(gate.verify("ann", "wrong").await.status, expected, "{failed_checks}");
        }
    }
}

/// One tenant fills its queue of slow hashes; the server still checks another tenant's passwords.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn failed_checks_of_one_tenant_do_not_block_another() {
    let gate = Arc::new(Gatehouse::new().await);
    let vault = Arc::clone(&gate.gate.server.app.vault);
    let names: Vec<String> = (0..2000).map(|n| format!("nobody-{n}")).collect();
    let slow = names.into_iter().filter(|it| vault.unknown_is_slow(it)).take(700);
    let attack: Vec<_> = slow
        .map(|name| {
            let gate = Arc::clone(&gate);
            let body = json!({"username": name, "password": "wrong"}).to_string();
            tokio::spawn(async move { gate.post("/rival/verify", &body).await.status })
        })
        .collect();
    gate.create(r#"{"contractId": "payg", "username": "ann", "password": "s3cret"}"#).await;
    // The queue is full, and requests have been refused.
    let has_filled_up = || vault.meter().n_refused() > 0;
    while !has_filled_up() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    for n in 0..5 {
        let name = format!("chosen-{n}");
        let body = json!({"contractId": "payg", "username": name, "password": "s3cret"});
        gate.create(&body.to_string()).await;
        assert_eq!(gate.verify(&name, "s3cret").await.status, 200, "{n}");
        assert_eq!(gate.verify(&name, "wrong").await.status, 401, "{n}");
    }
    assert!(vault.meter().n_waiting() > 100, "the attack continues");
    // Disconnected clients leave the queue.
    let n_before = n_hashes(&gate);
    attack.iter().for_each(tokio::task::JoinHandle::abort);
    while vault.meter().n_waiting() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    assert!(n_hashes(&gate) < n_before + 100, "hashes of disconnected clients are cancelled");
}

#[tokio::test]
async fn a_generated_password_needs_no_slow_hash() {
    for gate in Gatehouse::on_each("a_password_that_the_server_draws").await {
        let body = r#"{"contractId": "payg", "username": "ann", "password": "s3cret"}"#;
        let (path, _) = gate.create(body).await;
        let n_before = n_hashes(&gate);
        let response =
            gate.patch(&path, r#"{"rotatePassword": true, "status": "SUSPENDED"}"#).await;
        assert_eq!(response.status_and("cache-control"), (200, Some("no-store")));
        let drawn = response.json()["password"].as_str().unwrap().to_owned();
        assert_eq!((drawn.len(), &response.json()["status"]), (24, &json!("SUSPENDED")));
        let response = gate.patch(&path, r#"{"rotatePassword": true, "status": "ACTIVE"}"#).await;
        let second = response.json()["password"].as_str().unwrap().to_owned();
        assert_ne!(drawn, second);
        assert_eq!(gate.verify("ann", &second).await.status, 200, "{}", gate.kind);
        assert_eq!(gate.verify("ann", &drawn).await.status, 401, "{}", gate.kind);
        assert_eq!(n_hashes(&gate), n_before, "{}", gate.kind);
        for (body, at) in [
            (r#"{"rotatePassword": true, "password": "x"}"#, "rotatePassword"),
            (r#"{"rotatePassword": false}"#, "rotatePassword"),
            (r#"{"rotatePassword": "yes"}"#, "rotatePassword"),
            (r#"{"rotatePassword": null}"#, "rotatePassword"),
        ] {
            let response = gate.patch(&path, body).await;
            assert_eq!(response.faults(), (400, at.to_owned()), "{body}");
        }
        assert_eq!(gate.verify("ann", &second).await.status, 200, "nothing changed");
    }
}
