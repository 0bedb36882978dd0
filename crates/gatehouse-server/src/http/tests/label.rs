//! Labels: on creation, in changes, in batches, as filters, and the keys that a tenant filters by.

use serde_json::json;

use super::*;

async fn filter_by(gate: &Gatehouse, keys: Value) {
    let body = json!({"labelKeys": keys}).to_string();
    assert_eq!(gate.put("/-/admin/tenants/acme", &body).await.status, 200);
}

/// The usernames on the first page.
async fn listed(gate: &Gatehouse, query: &str) -> String {
    let response = gate.get(&format!("/acme/access?{query}")).await;
    assert_eq!(response.status, 200, "{query}: {}", response.body);
    let json = response.json();
    let names = json.as_array().unwrap().iter().map(|it| it["username"].as_str().unwrap());
    let names: Vec<&str> = names.collect();
    let total = names.len().to_string();
    assert_eq!(response.header("x-total-count"), Some(total.as_str()), "{query}");
    names.join(" ")
}

#[tokio::test]
async fn labels_are_set_shown_and_changed() {
    for gate in Gatehouse::on_each("labels_set_and_shown").await {
        let (path, created) = gate
            .create(r#"{"contractId": "payg", "labels": {"site": "Köln", "a.b-c_1": "x"}}"#)
            .await;
        assert_eq!(created["labels"], json!({"a.b-c_1": "x", "site": "Köln"}), "{}", gate.kind);
        assert_eq!(gate.get(&path).await.json()["labels"], created["labels"]);

        let patched = gate.patch(&path, r#"{"labels": {"site": "Bonn", "a.b-c_1": null}}"#).await;
        assert_eq!(
            (patched.status, patched.json()["labels"].clone()),
            (200, json!({"site": "Bonn"}))
        );
        assert_eq!(patched.header("etag"), Some("\"2\""));
        // Nothing changes, so the version stays.
        for unchanged in [r#"{"labels": {"site": "Bonn", "gone": null}}"#, r#"{"labels": {}}"#] {
            assert_eq!(gate.patch(&path, unchanged).await.header("etag"), Some("\"2\""));
        }
        // Together with a status, all or nothing and one version.
        let both = gate.patch(&path, r#"{"status": "TERMINATED", "labels": {"site": null}}"#).await;
        assert_eq!((both.status, both.header("etag")), (200, Some("\"3\"")));
        assert_eq!(both.json().get("labels"), None);
        let late = gate.patch(&path, r#"{"labels": {"site": "Bonn"}}"#).await;
        assert_eq!(late.problem(), (409, "Access terminated".into()));

        let plain = gate.create(r#"{"contractId": "payg", "labels": {"x": null}}"#).await.1;
        assert_eq!(plain.get("labels"), None, "null is absent in a new access");
    }
}

#[tokio::test]
async fn faulty_labels_are_all_named() {
    let gate = Gatehouse::new().await;
    let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;
    let many: Value = (0..33).map(|n| (format!("k{n}"), json!("v"))).collect();
    let long = "é".repeat(65);
    #[rustfmt::skip]
    let cases = [
        (json!("x"),                                     "labels"),
        (json!(["x"]),                                   "labels"),
        (json!({"Site": "x", "": "x", "ok": "x"}),       "labels., labels.Site"),
        (json!({"a": 1, "b": ["x"], "c": {}, "d": true}), "labels.a, labels.b, labels.c, labels.d"),
        (json!({"a": "", "b": long, "c": "x\u{0}"}),     "labels.a, labels.b, labels.c"),
        (many,                                           "labels"),
    ];
    for (labels, expected) in cases {
        for (method, path) in [("POST", "/acme/access"), ("PATCH", path.as_str())] {
            let body = match method {
                "POST" => json!({"contractId": "payg", "labels": labels}),
                _ => json!({"labels": labels}),
            };
            let response = match method {
                "POST" => gate.post(path, &body.to_string()).await,
                _ => gate.patch(path, &body.to_string()).await,
            };
            let mut invalid = response.invalid();
            invalid.sort();
            assert_eq!((response.status, invalid.join(", ")), (400, expected.into()), "{body}");
        }
    }
    let twice = gate.patch(&path, r#"{"labels": {"a": "1", "a": "2"}}"#).await;
    assert_eq!(twice.faults(), (400, "labels.a".into()));
    assert_eq!(gate.patch(&path, r#"{"labels": null}"#).await.faults(), (400, "labels".into()));

    // The bound holds for what the access has in the end.
    let some = |from: u32, to: u32| -> Value {
        (from..to).map(|n| (format!("k{n}"), json!("v"))).collect()
    };
    let body = json!({"labels": some(0, 20)}).to_string();
    assert_eq!(gate.patch(&path, &body).await.status, 200);
    let body = json!({"labels": some(20, 33)}).to_string();
    assert_eq!(gate.patch(&path, &body).await.problem(), (409, "Too many labels".into()));
    let mut moved = some(20, 33);
    moved["k0"] = Value::Null;
    assert_eq!(gate.patch(&path, &json!({"labels": moved}).to_string()).await.status, 200);
}

#[tokio::test]
async fn lists_are_filtered_by_the_keys_of_the_tenant() {
    for gate in Gatehouse::on_each("filtered_by_keys").await {
        for (username, labels) in [
            ("ann", json!({"site": "hamburg", "team": "a"})),
            ("bob", json!({"site": "a&b;c=d"})),
            ("cleo", json!({"team": "b", "other": "x"})),
            ("dan", json!({})),
        ] {
            let body = json!({"contractId": "payg", "username": username, "labels": labels});
            gate.create(&body.to_string()).await;
        }
        let ignored = gate.get("/acme/access?label.site=hamburg&username=bob").await;
        assert_eq!(ignored.header("x-ignored-params"), Some("label.site"), "{}", gate.kind);
        assert_eq!(ignored.header("x-total-count"), Some("1"));
        filter_by(&gate, json!(["team", "site", "site"])).await;
        assert_eq!(
            gate.get("/-/admin/tenants/acme").await.json()["labelKeys"],
            json!(["site", "team"])
        );
        #[rustfmt::skip]
        let cases = [
            ("label.site=hamburg",                     "ann"),
            ("filter=label.site=hamburg",              "ann"),
            ("filter=label.site%3Dhamburg",            "ann"),
            ("label.site=a%26b%3Bc%3Dd",               "bob"),
            ("label.site",                             "ann bob"),
            ("label.site&label.team",                  "ann"),
            ("filter=label.site&status=ACTIVE",        "ann bob"),
            ("label.team=b;username=dan",              "cleo dan"),
            ("label.team=b;label.site=hamburg",        "ann cleo"),
            ("label.team=a&label.team=b",              ""),
            ("label.site=Hamburg",                     ""),
            ("label.site=",                            ""),
            ("name=ann&label.site",                    "ann"),
        ];
        for (query, expected) in cases {
            assert_eq!(listed(&gate, query).await, expected, "{}: {query}", gate.kind);
            let counted = format!("{query}&startDateTime%3E2000-01-01");
            assert!(gate.get(&format!("/acme/access?{counted}")).await.status == 200, "{counted}");
        }
        let mixed = gate.get("/acme/access?label.other=x;label.site=hamburg;label.site%3Ex").await;
        assert_eq!(
            mixed.header("x-ignored-params"),
            Some("label.site, label.other"),
            "{}",
            gate.kind
        );
        assert_eq!(mixed.header("x-total-count"), Some("1"));
        let strict = [("prefer", "handling=strict")];
        let refused = gate.call("GET", "/acme/access?label.other=x", &strict, "").await;
        assert_eq!(refused.faults(), (400, "label.other".into()));
        assert!(refused.body.contains("`labelKeys` are site, team"), "{}", refused.body);
        // Labels are the tenant's own.
        assert_eq!(
            gate.get("/rival/access?label.site=hamburg").await.header("x-total-count"),
            Some("0")
        );
    }
}

#[tokio::test]
async fn faulty_keys_are_refused() {
    let gate = Gatehouse::new().await;
    let many: Vec<String> = (0..17).map(|n| format!("k{n}")).collect();
    for (keys, invalid) in [
        (json!("site"), "labelKeys"),
        (json!(["site", "Site", 1, "x".repeat(64)]), "labelKeys[1], labelKeys[2], labelKeys[3]"),
        (json!(many), "labelKeys"),
        (Value::Null, "labelKeys"),
    ] {
        let response =
            gate.put("/-/admin/tenants/acme", &json!({"labelKeys": keys}).to_string()).await;
        assert_eq!((response.status, response.invalid().join(", ")), (400, invalid.into()));
    }
    filter_by(&gate, json!(many[..16])).await;
    assert_eq!(gate.put("/-/admin/tenants/acme", "{}").await.json().get("labelKeys"), None);
}

#[tokio::test]
async fn batches_set_and_change_labels() {
    for gate in Gatehouse::on_each("batches_of_labels").await {
        filter_by(&gate, json!(["site"])).await;
        let body =
            json!({"contractId": "payg", "numberOfAccesses": 600, "labels": {"site": "hamburg"}});
        let task = gate.accept("/acme/access/batch", body).await;
        gate.work().await;
        let accesses = gate.get(&task).await.json()["accesses"].take();
        let accesses = accesses.as_array().unwrap();
        assert_eq!(accesses.len(), 600, "{}", gate.kind);
        assert!(accesses.iter().all(|it| it["labels"] == json!({"site": "hamburg"})));
        let total = gate.get("/acme/access?label.site=hamburg").await;
        assert_eq!(total.header("x-total-count"), Some("600"));

        let ids: Vec<&Value> = accesses.iter().take(3).map(|it| &it["id"]).collect();
        let body = json!({
            "operationType": "update", "accessesIdList": ids,
            "operationBody": {"labels": {"site": null, "old": "1"}, "status": "SUSPENDED"},
        });
        let task = gate.accept("/acme/access/batchUpdate", body).await;
        gate.work().await;
        let changed = gate.get(&task).await.json();
        assert_eq!(changed["state"], "DONE");
        let first = &changed["accesses"][0];
        assert_eq!(
            (&first["labels"], &first["status"]),
            (&json!({"old": "1"}), &json!("SUSPENDED"))
        );
        let total = gate.get("/acme/access?label.site=hamburg").await;
        assert_eq!(total.header("x-total-count"), Some("597"), "{}", gate.kind);

        let body = json!({"contractId": "payg", "accesses": [
            {"username": "ann", "labels": {"site": "berlin"}}, {"username": "bob"},
            {"username": "cleo", "labels": {"Site": "x", "b": ""}},
        ]});
        let task = gate.accept("/acme/access/batch", body).await;
        gate.work().await;
        let made = gate.get(&task).await.json();
        assert_eq!(made["state"], "FAILED");
        assert_eq!(made["accesses"][0]["labels"], json!({"site": "berlin"}));
        assert_eq!(made["accesses"][1].get("labels"), None);
        let faults = made["errors"][0]["invalidParams"].as_array().unwrap();
        let faults: Vec<&str> = faults.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(
            (faults, &made["errors"][0]["index"]),
            (vec!["labels.Site", "labels.b"], &json!(2))
        );
    }
}

#[tokio::test]
async fn ill_formed_labels_of_a_batch_are_refused_at_once() {
    let gate = Gatehouse::new().await;
    let many: Value = (0..200).map(|n| (format!("k{n}"), json!("v"))).collect();
    let update = |labels: Value| {
        let ids = ["019f0000-0000-7000-8000-000000000000"];
        json!({"operationType": "update", "accessesIdList": ids, "operationBody": {"labels": labels}})
    };
    #[rustfmt::skip]
    let cases = [
        ("/acme/access/batch",       json!({"contractId": "payg", "numberOfAccesses": 1, "labels": {"A": "x", "b": 1}}), "labels.b, labels.A"),
        ("/acme/access/batch",       json!({"contractId": "payg", "numberOfAccesses": 1, "labels": many}),               "labels"),
        ("/acme/access/batch",       json!({"contractId": "payg", "accesses": [{}], "labels": {"a": "x"}}),              "labels"),
        ("/acme/access/batch",       json!({"contractId": "payg", "accesses": [{"labels": {"a": 1}}, {"labels": 1}]}),   "accesses[0].labels.a, accesses[1].labels"),
        ("/acme/access/batchUpdate", update(json!({"A": "x", "b": 1})),     "operationBody.labels.b, operationBody.labels.A"),
        ("/acme/access/batchUpdate", update(Value::Null),                   "operationBody.labels"),
    ];
    for (path, body, expected) in cases {
        let response = gate.post(path, &body.to_string()).await;
        let found = (response.status, response.invalid().join(", "));
        assert_eq!(found, (400, expected.into()), "{body}");
    }
}

#[tokio::test]
async fn a_repeated_creation_shows_the_labels_of_the_first_response() {
    for gate in Gatehouse::on_each("repeated_labels").await {
        let body = r#"{"contractId": "payg", "labels": {"site": "hamburg"}}"#;
        let key = [("idempotency-key", "k1"), ("content-type", "application/json")];
        let first = gate.call("POST", "/acme/access", &key, body).await;
        let path = first.header("location").unwrap().replace("http://gate.example", "");
        gate.patch(&path, r#"{"labels": {"site": "berlin"}}"#).await;
        let again = gate.call("POST", "/acme/access", &key, body).await;
        assert_eq!((again.status, again.json()), (201, first.json()), "{}", gate.kind);
    }
}

#[tokio::test]
async fn a_summary_counts_the_values_of_a_label() {
    let gate = Gatehouse::new().await;
    filter_by(&gate, json!(["site", "team"])).await;
    for (site, n) in [("b=1", 2), ("a", 2), ("hamburg", 3)] {
        let labels = json!({"site": site});
        let body = json!({"contractId": "payg", "numberOfAccesses": n, "labels": labels});
        gate.accept("/acme/access/batch", body).await;
    }
    gate.work().await;
    assert_eq!(gate.get("/acme/summary?by=label.site").await.json().get("byLabel"), None);
    for _ in 0..10 {
        gate.gate.server.app.store.advance_sets().await.unwrap();
    }
    let (path, _) = gate.create(r#"{"contractId": "payg", "labels": {"site": "gone"}}"#).await;
    gate.patch(&path, r#"{"labels": {"site": null}}"#).await;
    let summary = gate.get("/acme/summary?by=label.site").await;
    assert_eq!(summary.header("x-ignored-params"), None);
    let expected = json!([
        {"value": "hamburg", "total": 3}, {"value": "a", "total": 2}, {"value": "b=1", "total": 2},
    ]);
    assert_eq!(summary.json()["byLabel"], expected);
    assert_eq!(gate.get("/acme/summary?by=label.team").await.json()["byLabel"], json!([]));
    assert_eq!(gate.get("/acme/summary").await.json().get("byLabel"), None);
    for by in ["label.model", "label.Site", "site", "status", ""] {
        let response = gate.get(&format!("/acme/summary?by={by}")).await;
        assert_eq!(response.header("x-ignored-params"), Some("by"), "{by}");
        assert_eq!(response.json().get("byLabel"), None);
    }
}

#[tokio::test]
async fn a_change_names_at_most_64_labels() {
    let gate = Gatehouse::new().await;
    let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;
    for (n, status) in [(64, 200), (65, 400), (200, 400)] {
        let removed: Value = (0..n - 1).map(|n| (format!("k{n}"), Value::Null)).collect();
        let mut labels = removed;
        labels["site"] = "x".into();
        let patched = gate.patch(&path, &json!({"labels": labels}).to_string()).await;
        assert_eq!(patched.status, status, "{n}: {}", patched.body);
        let body = json!({"operationType": "update", "operationBody": {"labels": labels},
                          "accessFilter": "contractId=payg"});
        let batch = gate.post("/acme/access/batchUpdate", &body.to_string()).await;
        assert_eq!(batch.status, if status == 200 { 202 } else { 400 }, "{n}: {}", batch.body);
    }
}

#[tokio::test]
async fn beside_an_older_server_a_batch_that_it_cant_process_is_a_503() {
    let url = empty_schema("http_older_server").await;
    let clock = Clock::by_hand(at("2027-03-01T12:00:00Z"));
    let store = Store::open_postgres(&url.parse().unwrap(), clock.clone()).await.unwrap();
    let replica = gatehouse_store::Replica {
        id: [1; 16],
        version: "0.0.1".into(),
        host: "old".into(),
        listen: "127.0.0.1:1".into(),
        key_name: "k".into(),
    };
    store.heartbeat(&replica).await.unwrap();
    gatehouse_testing::execute(&url, "UPDATE replica SET knows = 10").await;
    let gate = Gatehouse::on("PostgreSQL", store, clock.clone(), Config::default(), None).await;
    let (creation, change) = ("/acme/access/batch", "/acme/access/batchUpdate");
    let hash = "$2y$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv396";
    let id = "019f0000-0000-7000-8000-000000000000";
    let update =
        |to: Value| json!({"operationType": "update", "operationBody": to, "accessesIdList": [id]});
    let batches = [
        (creation, json!({"contractId": "payg", "numberOfAccesses": 2, "labels": {"a": "b"}})),
        (creation, json!({"contractId": "payg", "accesses": [{"labels": {"a": "b"}}]})),
        (creation, json!({"contractId": "payg", "accesses": [{"passwordHash": hash}]})),
        (change, update(json!({"labels": {"a": "b"}}))),
        (change, update(json!({"rotatePassword": true}))),
    ];
    for (path, body) in &batches {
        let response = gate.post(path, &body.to_string()).await;
        assert_eq!(response.status, 503, "{body}: {}", response.snapshot());
        assert_eq!(response.json()["title"], "Upgrade under way", "{body}");
    }
    assert_eq!(gate.get("/acme/access/batch").await.json(), json!([]));
    let plain = json!({"contractId": "payg", "numberOfAccesses": 2}).to_string();
    assert_eq!(gate.post(creation, &plain).await.status, 202);
    clock.set(at("2027-03-01T12:01:01Z"));
    for (path, body) in &batches {
        assert_eq!(gate.post(path, &body.to_string()).await.status, 202, "{body}");
    }
}
