use super::*;
use insta::assert_snapshot;

#[tokio::test]
async fn the_right_credentials_let_a_device_in() {
    let gate = Gatehouse::new().await;
    let body =
        r#"{"contractId": "pre", "username": "ann", "password": "s3cret", "deviceName": "d"}"#;
    gate.create(body).await;
    assert_snapshot!(gate.verify("ann", "s3cret").await.whole(), @r#"
    200
    content-type: application/json
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
async fn every_refusal_looks_the_same() {
    let gate = Gatehouse::new().await;
    let (path, _) =
        gate.create(r#"{"contractId": "payg", "username": "ann", "password": "s3cret"}"#).await;
    let wrong = gate.verify("ann", "wrong").await.whole();
    assert_snapshot!(wrong, @r#"
    401
    content-type: application/problem+json
    www-authenticate: Basic realm="device"
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
    assert_eq!(gate.verify("nobody", "s3cret").await.whole(), wrong);
    assert_eq!(gate.verify("nobody-2", "s3cret").await.whole(), wrong);
    gate.patch(&path, r#"{"status": "SUSPENDED"}"#).await;
    assert_eq!(gate.verify("ann", "s3cret").await.whole(), wrong);
    gate.patch(&path, r#"{"status": "TERMINATED"}"#).await;
    assert_eq!(gate.verify("ann", "s3cret").await.whole(), wrong);
}

#[tokio::test]
async fn the_first_connection_starts_the_validity() {
    for gate in Gatehouse::on_each("first_connection").await {
        let (path, made) = gate.create(r#"{"contractId": "pre"}"#).await;
        let (name, password) =
            (made["username"].as_str().unwrap(), made["password"].as_str().unwrap());
        gate.clock.set(at("2027-03-05T00:00:00Z"));
        assert_eq!(gate.verify(name, "wrong").await.status, 401);
        assert_eq!(
            gate.get(&path).await.json()["status"],
            "PENDING_ACTIVE",
            "a failure is no start"
        );
        let first = gate.verify(name, password).await;
        assert_eq!(first.json()["status"], "ACTIVE");
        gate.clock.set(at("2027-03-06T00:00:00Z"));
        let second = gate.verify(name, password).await;
        assert_eq!(second.json(), first.json(), "{}: once", gate.kind);
        let access = gate.get(&path).await;
        assert_eq!(access.json()["startDateTime"], "2027-03-05T00:00:00.000Z");
        assert_eq!(access.json()["endDateTime"], "2027-04-04T00:00:00.000Z");
        assert_eq!(access.header("etag"), Some("\"2\""), "{}", gate.kind);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_first_checks_at_once_are_one_activation() {
    for gate in Gatehouse::on_each("fifty_first_checks").await {
        let (path, made) = gate.create(r#"{"contractId": "pre"}"#).await;
        let (name, password) =
            (made["username"].as_str().unwrap(), made["password"].as_str().unwrap());
        let checks = futures_util::future::join_all((0..50).map(|_| gate.verify(name, password)));
        for check in checks.await {
            assert_eq!(check.status, 200, "{}", check.body);
        }
        assert_eq!(gate.get(&path).await.header("etag"), Some("\"2\""), "{}", gate.kind);
    }
}

#[tokio::test]
async fn what_was_answered_is_obeyed_by_the_next_check() {
    for gate in Gatehouse::on_each("obeyed_by_next_check").await {
        let body = r#"{"contractId": "payg", "username": "ann", "password": "one"}"#;
        let (path, _) = gate.create(body).await;
        for _ in 0..2 {
            assert_eq!(gate.verify("ann", "one").await.status, 200, "also when remembered");
        }
        gate.patch(&path, r#"{"status": "SUSPENDED"}"#).await;
        assert_eq!(gate.verify("ann", "one").await.status, 401, "{}", gate.kind);
        gate.patch(&path, r#"{"status": "ACTIVE", "password": "two"}"#).await;
        assert_eq!(gate.verify("ann", "one").await.status, 401, "{}", gate.kind);
        assert_eq!(gate.verify("ann", "two").await.status, 200, "{}", gate.kind);
    }
}

#[tokio::test]
async fn before_its_start_nobody_is_let_in() {
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
