use super::*;
use insta::assert_snapshot;

#[tokio::test]
async fn a_creation_generates_missing_fields() {
    let gate = Gatehouse::new().await;
    let response = gate.post("/acme/access", r#"{"contractId": "payg"}"#).await;
    assert_snapshot!(response.snapshot(), @r#"
    201
    content-type: application/json
    etag: "1"
    cache-control: no-store
    location: http://gate.example/acme/access/<id>
    x-correlation-id: <correlation>
    content-length: 382

    {
      "id": "<id>",
      "href": "http://gate.example/acme/access/<id>",
      "contractId": "payg",
      "productOfferingId": "po-use",
      "username": "<username>",
      "password": "<password>",
      "name": "<username>",
      "status": "ACTIVE",
      "startDateTime": "2027-03-01T12:00:00.000Z",
      "@baseType": "Resource",
      "@type": "RealizingResource"
    }
    "#);
    let json = response.json();
    assert_eq!(json["password"].as_str().unwrap().len(), 24);
    assert_eq!(json["username"].as_str().unwrap().len(), 18);
}

#[tokio::test]
async fn a_creation_uses_the_given_fields() {
    for gate in Gatehouse::on_each("made_as_chosen").await {
        let body =
            r#"{"contractId": "pre", "username": "Ann Lee 🛰", "password": "p", "deviceName": "d"}"#;
        let (path, json) = gate.create(body).await;
        for (field, value) in [
            ("username", "Ann Lee 🛰"),
            ("password", "p"),
            ("deviceName", "d"),
            ("name", "d"),
            ("status", "PENDING_ACTIVE"),
            ("productOfferingId", "po-month"),
            ("startDateTime", "2027-03-01T12:00:00.000Z"),
        ] {
            assert_eq!(json[field], value, "{}: {field}", gate.kind);
        }
        assert_eq!(json.get("endDateTime"), None, "an absent field is omitted");
        let read = gate.get(&path).await.json();
        let mut expected = json.clone();
        expected.as_object_mut().unwrap().remove("password");
        assert_eq!(read, expected, "{}: the password is returned only once", gate.kind);
    }
}

#[tokio::test]
async fn a_read_returns_the_whole_access() {
    let gate = Gatehouse::new().await;
    let (path, _) = gate.create(r#"{"contractId": "pre", "username": "ann"}"#).await;
    assert_snapshot!(gate.get(&path).await.snapshot(), @r#"
    200
    content-type: application/json
    etag: "1"
    x-correlation-id: <correlation>
    content-length: 323

    {
      "id": "<id>",
      "href": "http://gate.example/acme/access/<id>",
      "contractId": "pre",
      "productOfferingId": "po-month",
      "username": "ann",
      "name": "ann",
      "status": "PENDING_ACTIVE",
      "startDateTime": "2027-03-01T12:00:00.000Z",
      "@baseType": "Resource",
      "@type": "RealizingResource"
    }
    "#);
    let head = gate.call("HEAD", &path, &[], "").await;
    let get = gate.get(&path).await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), get.header("content-length"));
}

#[tokio::test]
async fn a_taken_username_is_a_conflict() {
    for gate in Gatehouse::on_each("taken_username").await {
        let body = r#"{"contractId": "payg", "username": "ann"}"#;
        let (path, _) = gate.create(body).await;
        let response = gate.post("/acme/access", body).await;
        assert_eq!(response.status, 409, "{}", gate.kind);
        gate.patch(&path, r#"{"status": "TERMINATED"}"#).await;
        let case = gate.post("/acme/access", r#"{"contractId": "pre", "username": "Ann"}"#).await;
        assert_eq!(case.status, 201, "usernames are case-sensitive");
        let rival = gate.post("/rival/access", body).await;
        assert_eq!(rival.status, 201, "usernames are unique per tenant");
    }
    let gate = Gatehouse::new().await;
    let body = r#"{"contractId": "payg", "username": "ann"}"#;
    gate.create(body).await;
    assert_snapshot!(gate.post("/acme/access", body).await.snapshot(), @r#"
    409
    content-type: application/problem+json
    x-correlation-id: <correlation>
    content-length: 221

    {
      "type": "Conflict",
      "status": 409,
      "title": "Username taken",
      "detail": "username `ann` is taken by another access",
      "externalErrors": [],
      "relatedParty": [],
      "correlationId": "<correlation>",
      "@type": "problem"
    }
    "#);
}

#[tokio::test]
async fn a_username_is_free_after_its_access_has_ended_and_may_have_a_colon() {
    for gate in Gatehouse::on_each("username_again").await {
        let kind = gate.kind;
        let body = r#"{"contractId": "payg", "username": "00:1b:44:11:3a:b7", "password": "one"}"#;
        let (first, _) = gate.create(body).await;
        let check = async |password: &str| {
            let body = format!(r#"{{"username": "00:1b:44:11:3a:b7", "password": "{password}"}}"#);
            let response = gate.post("/acme/verify", &body).await;
            let path = response.json()["accessId"].as_str().map(|id| format!("/acme/access/{id}"));
            (response.status, path)
        };
        assert_eq!(check("one").await, (200, Some(first.clone())), "{kind}");
        gate.patch(&first, r#"{"status": "TERMINATED"}"#).await;
        assert_eq!(check("one").await.0, 401, "{kind}");
        let (second, _) = gate.create(&body.replace("one", "two")).await;
        assert_eq!(gate.post("/acme/access", body).await.status, 409, "{kind}");
        // The live access is checked, and no cached check of the ended one counts.
        assert_eq!(check("one").await.0, 401, "{kind}");
        assert_eq!(check("two").await, (200, Some(second.clone())), "{kind}");
        let listed = gate.get("/acme/access?username=00:1b:44:11:3a:b7").await;
        assert_eq!(listed.header("x-total-count"), Some("2"), "{kind}");
        let of = |n: usize| format!("/acme/access/{}", listed.json()[n]["id"].as_str().unwrap());
        assert_eq!((of(0), of(1)), (first.clone(), second), "{kind}");
        let ended = gate.patch(&first, r#"{"status": "ACTIVE"}"#).await;
        assert_eq!(ended.status, 409, "{kind}: a terminated access stays terminated");
    }
}

/// With the index of older servers, one may still run: it couldn't return such a username.
#[tokio::test]
async fn during_an_upgrade_a_username_with_a_colon_is_a_503() {
    let url = empty_schema("http_username_unreadable").await;
    let clock = Clock::by_hand(at("2027-03-01T12:00:00Z"));
    let open = async || Store::open_postgres(&url.parse().unwrap(), clock.clone()).await.unwrap();
    open().await.close().await;
    let former = "CREATE UNIQUE INDEX access_username ON access (tenant, username)";
    gatehouse_testing::execute(&url, former).await;
    let gate =
        Gatehouse::on("PostgreSQL", open().await, clock.clone(), Config::default(), None).await;
    let colon = r#"{"contractId": "payg", "username": "a:b"}"#;
    let batch = r#"{"contractId": "payg", "accesses": [{"username": "c"}, {"username": "a:b"}]}"#;
    for (path, body) in [("/acme/access", colon), ("/acme/access/batch", batch)] {
        let response = gate.post(path, body).await;
        assert_eq!(response.status, 503, "{}", response.snapshot());
        assert_eq!(response.json()["title"], "Upgrade under way", "{path}");
        assert!(response.header("retry-after").is_some(), "{path}");
    }
    assert_eq!(gate.get("/acme/access/batch").await.json(), serde_json::json!([]));
    let body = r#"{"contractId": "payg", "username": "ann"}"#;
    let (first, _) = gate.create(body).await;
    gate.patch(&first, r#"{"status": "TERMINATED"}"#).await;
    assert_eq!(gate.post("/acme/access", body).await.status, 409, "the old index holds");
}

#[tokio::test]
async fn a_creation_reuses_a_username_before_its_expiry_is_stored() {
    for gate in Gatehouse::on_each("username_of_ended").await {
        let body = r#"{"contractId": "pre", "username": "ann"}"#;
        let (first, _) = gate.create(body).await;
        gate.patch(&first, r#"{"status": "ACTIVE"}"#).await;
        gate.clock.set(at("2027-03-31T11:59:59.999Z"));
        assert_eq!(gate.post("/acme/access", body).await.status, 409, "{}", gate.kind);
        gate.clock.set(at("2027-03-31T12:00:00Z"));
        let (second, _) = gate.create(body).await;
        assert_eq!(gate.get(&first).await.json()["status"], "TERMINATED", "{}", gate.kind);
        assert_eq!(gate.get(&second).await.json()["status"], "PENDING_ACTIVE", "{}", gate.kind);
    }
}

#[tokio::test]
async fn an_unknown_contract_is_a_422() {
    let gate = Gatehouse::new().await;
    let response = gate.post("/acme/access", r#"{"contractId": "nope"}"#).await;
    assert_snapshot!(response.snapshot(), @r#"
    422
    content-type: application/problem+json
    x-correlation-id: <correlation>
    content-length: 312

    {
      "type": "Unprocessable Entity",
      "status": 422,
      "title": "Unknown contract",
      "detail": "the tenant has no contract `nope`",
      "invalidParams": [
        {
          "name": "contractId",
          "reason": "the tenant has no contract `nope`"
        }
      ],
      "externalErrors": [],
      "relatedParty": [],
      "correlationId": "<correlation>",
      "@type": "problem"
    }
    "#);
}

#[tokio::test]
async fn the_contract_sets_validity_and_quota() {
    for gate in Gatehouse::on_each("validity_and_room").await {
        let contract = "/-/admin/tenants/acme/contracts/c";
        let put = async |more: &str| {
            let body =
                format!(r#"{{"productOfferingId": "o", "billingModel": "PAY_PER_USE"{more}}}"#);
            assert!(gate.put(contract, &body).await.status < 300);
            gate.post("/acme/access", r#"{"contractId": "c"}"#).await
        };
        let later =
            put(r#", "startDateTime": "2027-04-01", "endDateTime": "2027-05-01T00:00:00+02:00""#);
        let later = later.await.json();
        assert_eq!(later["startDateTime"], "2027-04-01T00:00:00.000Z");
        assert_eq!(later["endDateTime"], "2027-04-30T22:00:00.000Z");
        for (more, title) in [
            (r#", "status": "SUSPENDED""#, "Contract suspended"),
            (r#", "status": "TERMINATED""#, "Contract ended"),
            (r#", "endDateTime": "2027-03-01T12:00:00Z""#, "Contract ended"),
            (r#", "maxAccesses": 1"#, "Quota reached"),
            (r#", "maxAccesses": 0"#, "Quota reached"),
        ] {
            let response = put(more).await;
            assert_eq!(response.problem(), (409, title.into()), "{more}");
        }
        assert_eq!(put(r#", "maxAccesses": 2"#).await.status, 201, "{}", gate.kind);
    }
}

#[tokio::test]
async fn an_update_returns_the_password_only_if_it_set_one() {
    let gate = Gatehouse::new().await;
    let (path, _) = gate.create(r#"{"contractId": "payg", "username": "ann"}"#).await;
    assert_snapshot!(gate.patch(&path, r#"{"status": "SUSPENDED"}"#).await.snapshot(), @r#"
    200
    content-type: application/json
    etag: "2"
    x-correlation-id: <correlation>
    content-length: 317

    {
      "id": "<id>",
      "href": "http://gate.example/acme/access/<id>",
      "contractId": "payg",
      "productOfferingId": "po-use",
      "username": "ann",
      "name": "ann",
      "status": "SUSPENDED",
      "startDateTime": "2027-03-01T12:00:00.000Z",
      "@baseType": "Resource",
      "@type": "RealizingResource"
    }
    "#);
    let rotated = gate.patch(&path, r#"{"password": "new", "status": "ACTIVE"}"#).await;
    assert_eq!(rotated.json()["password"], "new");
    assert_eq!(rotated.json()["status"], "ACTIVE");
    assert_eq!(rotated.header("cache-control"), Some("no-store"));
    assert_eq!(rotated.header("etag"), Some("\"3\""), "status and password are one change");
}

#[tokio::test]
async fn status_and_password_change_atomically() {
    for gate in Gatehouse::on_each("both_or_neither").await {
        let later = r#"{"productOfferingId": "o", "billingModel": "PREPAID", "startDateTime": "2028-01-01"}"#;
        gate.put("/-/admin/tenants/acme/contracts/later", later).await;
        let body = r#"{"contractId": "later", "username": "ann", "password": "old"}"#;
        let (path, _) = gate.create(body).await;
        let response = gate.patch(&path, r#"{"status": "ACTIVE", "password": "new"}"#).await;
        assert_eq!(response.problem(), (409, "Contract not started".into()));
        assert_eq!(gate.get(&path).await.header("etag"), Some("\"1\""), "nothing changed");
        gate.clock.set(at("2028-01-01T00:00:00Z"));
        assert_eq!(gate.verify("ann", "new").await.status, 401, "{}", gate.kind);
        assert_eq!(gate.verify("ann", "old").await.status, 200, "{}", gate.kind);
    }
}

#[tokio::test]
async fn a_terminated_access_stays_terminated() {
    for gate in Gatehouse::on_each("stays_terminated").await {
        let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;
        let ended = gate.patch(&path, r#"{"status": "TERMINATED"}"#).await.json();
        assert_eq!(ended["endDateTime"], "2027-03-01T12:00:00.000Z");
        for body in [
            r#"{"status": "ACTIVE"}"#,
            r#"{"status": "SUSPENDED"}"#,
            r#"{"password": "x"}"#,
            r#"{"password": "x", "status": "TERMINATED"}"#,
        ] {
            assert_eq!(gate.patch(&path, body).await.status, 409, "{}: {body}", gate.kind);
        }
        gate.clock.set(at("2027-03-02T00:00:00Z"));
        let again = gate.patch(&path, r#"{"status": "TERMINATED"}"#).await;
        assert_eq!((again.status, again.json()), (200, ended), "{}: unchanged", gate.kind);
        assert_eq!(again.header("etag"), Some("\"2\""));
    }
}

#[tokio::test]
async fn an_expired_access_is_terminated_in_every_response() {
    for gate in Gatehouse::on_each("end_has_come").await {
        let (path, created) = gate.create(r#"{"contractId": "pre"}"#).await;
        let active = gate.patch(&path, r#"{"status": "ACTIVE"}"#).await;
        assert_eq!(active.json()["endDateTime"], "2027-03-31T12:00:00.000Z");
        gate.clock.set(at("2027-03-31T11:59:59.999Z"));
        assert_eq!(gate.get(&path).await.json()["status"], "ACTIVE");
        gate.clock.set(at("2027-03-31T12:00:00Z"));
        let known = [("if-none-match", "\"2\"")];
        let over = gate.call("GET", &path, &known, "").await;
        assert_eq!((over.status, &over.json()["status"]), (200, &"TERMINATED".into()));
        assert_eq!(over.header("etag"), Some("\"3\""), "{}: another version", gate.kind);
        assert_eq!(gate.patch(&path, r#"{"status": "ACTIVE"}"#).await.status, 409);
        let (name, password) =
            (created["username"].as_str().unwrap(), created["password"].as_str().unwrap());
        assert_eq!(gate.verify(name, password).await.status, 401);
        let count = gate.get("/acme/contract/pre").await.json()["accessCount"].clone();
        assert_eq!(count, 0, "{}", gate.kind);
    }
}

#[tokio::test]
async fn if_match_and_if_none_match_are_honoured() {
    let gate = Gatehouse::new().await;
    let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;
    for (value, status) in [
        ("\"1\"", 304),
        ("W/\"1\"", 304),
        ("\"9\", \"1\"", 304),
        ("*", 304),
        ("\"2\"", 200),
        ("1", 200),
    ] {
        let response = gate.call("GET", &path, &[("if-none-match", value)], "").await;
        assert_eq!(response.status, status, "If-None-Match: {value}");
    }
    let patch = async |name: &str, value: &str| {
        let headers = [("content-type", "application/merge-patch+json"), (name, value)];
        gate.call("PATCH", &path, &headers, r#"{"password": "x"}"#).await
    };
    for value in ["\"2\"", "W/\"1\"", "1", ""] {
        assert_eq!(patch("if-match", value).await.status, 412, "If-Match: {value}");
    }
    for value in ["\"1\"", "W/\"1\"", "*"] {
        assert_eq!(patch("if-none-match", value).await.status, 412, "If-None-Match: {value}");
    }
    assert_eq!(patch("if-match", "\"7\", \"1\"").await.header("etag"), Some("\"2\""));
    assert_eq!(patch("if-match", "*").await.header("etag"), Some("\"3\""));
    assert_snapshot!(patch("if-match", "\"1\"").await.snapshot(), @r#"
    412
    content-type: application/problem+json
    x-correlation-id: <correlation>
    content-length: 291

    {
      "type": "Precondition Failed",
      "status": 412,
      "title": "Changed",
      "detail": "the access has the ETag \"3\", which If-Match or If-None-Match excludes; an ETag is written with its quotes",
      "externalErrors": [],
      "relatedParty": [],
      "correlationId": "<correlation>",
      "@type": "problem"
    }
    "#);
}

#[tokio::test]
async fn urls_follow_the_settings() {
    let config = Config {
        base_path: "/api".to_owned().try_into().unwrap(),
        public_url: Some("https://fleet.example/x/".to_owned().try_into().unwrap()),
        ..Config::default()
    };
    let gate = Gatehouse::with(config).await;
    let response = gate.post("/api/acme/access", r#"{"contractId": "payg"}"#).await;
    let location = response.header("location").unwrap().to_owned();
    assert!(location.starts_with("https://fleet.example/x/acme/access/"), "{location}");
    assert_eq!(response.json()["href"], location);
    assert_eq!(gate.get("/acme/contract").await.status, 404, "outside the base path");
    assert_eq!(gate.get("/apis/acme/contract").await.status, 404);
}
