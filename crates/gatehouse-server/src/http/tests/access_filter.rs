//! Batches that change the accesses that a filter matches, and batches that generate passwords.

use serde_json::json;

use super::*;

/// Accepts a change of what `filter` matches, runs it, and returns the Task.
async fn change_matching(gate: &Gatehouse, filter: &str, to: Value) -> Value {
    let body = json!({"operationType": "update", "operationBody": to, "accessFilter": filter});
    let task = gate.accept("/acme/access/batchUpdate", body).await;
    gate.work().await;
    gate.get(&task).await.json()
}

async fn set_up(gate: &Gatehouse) {
    let body = json!({"labelKeys": ["site"]}).to_string();
    assert_eq!(gate.put("/-/admin/tenants/acme", &body).await.status, 200);
    for body in [
        r#"{"contractId": "payg", "username": "ann", "labels": {"site": "a+b"}}"#,
        r#"{"contractId": "payg", "username": "bob", "deviceName": "pump+7"}"#,
        r#"{"contractId": "payg", "username": "cleo"}"#,
    ] {
        gate.create(body).await;
    }
    gate.post("/rival/access", r#"{"contractId": "payg", "username": "dan"}"#).await;
}

fn usernames(task: &Value) -> Vec<&str> {
    let accesses = task["accesses"].as_array().unwrap();
    accesses.iter().map(|it| it["username"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_batch_changes_what_a_filter_matches() {
    for gate in Gatehouse::on_each("a_batch_by_filter").await {
        set_up(&gate).await;
        for (filter, status, expected) in [
            // Each way of finding accesses: by numbers, by several ranges, by sets, and by rows.
            ("contractId=payg", "SUSPENDED", "ann bob cleo"),
            ("username=ann;username=cleo", "ACTIVE", "ann cleo"),
            ("status=ACTIVE&label.site", "SUSPENDED", "ann"),
            ("filter=label.site=a+b", "ACTIVE", "ann"),
            ("name=pump+7", "ACTIVE", "bob"),
            ("startDateTime<2030-01-01T00:00:00+02:00", "SUSPENDED", "ann bob cleo"),
        ] {
            let task = change_matching(&gate, filter, json!({"status": status})).await;
            assert_eq!(task["state"], "DONE", "{}: {filter}", gate.kind);
            assert_eq!(usernames(&task).join(" "), expected, "{}: {filter}", gate.kind);
            let accesses = task["accesses"].as_array().unwrap();
            assert!(accesses.iter().all(|it| it["status"] == status), "{filter}");
        }
        assert_eq!(
            gate.get("/rival/access?status=ACTIVE").await.header("x-total-count"),
            Some("1")
        );
    }
}

#[tokio::test]
async fn the_matching_accesses_are_fixed_when_the_task_is_accepted() {
    for gate in Gatehouse::on_each("matches_are_fixed").await {
        set_up(&gate).await;
        let body = json!({"operationType": "update", "operationBody": {"labels": {"site": "z"}},
                          "accessFilter": "status=ACTIVE"});
        let task = gate.accept("/acme/access/batchUpdate", body).await;
        let progress = gate.get(&format!("{task}/progress")).await.json();
        assert_eq!(progress["total"], 3, "{}: {progress}", gate.kind);
        gate.create(r#"{"contractId": "payg", "username": "late"}"#).await;
        let suspended = json!({"status": "SUSPENDED"});
        change_matching(&gate, "username=bob", suspended).await;
        let done = gate.get(&task).await.json();
        assert_eq!(usernames(&done), ["ann", "bob", "cleo"], "{}", gate.kind);
        let labelled = gate.get("/acme/access?label.site=z").await;
        assert_eq!(labelled.header("x-total-count"), Some("3"));
    }
}

#[tokio::test]
async fn a_filter_that_matches_nothing_is_rejected() {
    let gate = Gatehouse::new().await;
    set_up(&gate).await;
    for filter in ["username=dan", "contractId=", "label.site=x", "status=ACTIVE&status=SUSPENDED"]
    {
        let task = change_matching(&gate, filter, json!({"status": "TERMINATED"})).await;
        assert_eq!(task["state"], "REJECTED", "{filter}");
        assert_eq!(task["errors"][0]["detail"], "no access matches the filter");
    }
}

#[tokio::test]
async fn a_filter_with_any_fault_changes_nothing() {
    let gate = Gatehouse::new().await;
    set_up(&gate).await;
    for (filter, reason) in [
        ("", "must hold a condition, such as `contractId=C-PAYG`"),
        ("label.team=x", "`label.team` can't be filtered by: the tenant's `labelKeys` are site"),
        ("contractId=payg&colour=red", "`colour` is not known here; known are contractId, "),
        ("status<ACTIVE", "`status` can't be compared with `<`, only with ="),
        ("contractId=payg&", "has a `&`, `;` or `filter=` without a condition beside it"),
        (&"username=a;".repeat(40_000), "must have at most 32768 bytes, not 440000"),
    ] {
        let body =
            json!({"operationType": "terminate", "operationBody": {}, "accessFilter": filter});
        let response = gate.post("/acme/access/batchUpdate", &body.to_string()).await;
        assert_eq!(response.status, 400, "{filter}: {}", response.body);
        let fault = &response.json()["invalidParams"][0];
        assert_eq!(fault["name"], "accessFilter");
        assert!(fault["reason"].as_str().unwrap().starts_with(reason), "{filter}: {fault}");
    }
    assert_eq!(gate.get("/acme/access/batch").await.header("x-total-count"), Some("0"));
}

#[tokio::test]
async fn a_filter_that_matches_too_many_is_refused() {
    let mut config = Config::default();
    config.limits.batch_items = 2;
    let gate = Gatehouse::with(config).await;
    set_up(&gate).await;
    for filter in ["contractId=payg", "status=ACTIVE", "startDateTime>2020-01-01"] {
        let body =
            json!({"operationType": "terminate", "operationBody": {}, "accessFilter": filter});
        let response = gate.post("/acme/access/batchUpdate", &body.to_string()).await;
        let reason = &response.json()["invalidParams"][0]["reason"];
        assert_eq!(reason, "matches 3 accesses; a batch may change at most 2", "{filter}");
    }
    let task = change_matching(&gate, "username=ann;username=bob", json!({"status": "SUSPENDED"}));
    assert_eq!(task.await["state"], "DONE");
}

#[tokio::test]
async fn a_batch_generates_a_password_for_each_access() {
    for gate in Gatehouse::on_each("a_batch_generates_passwords").await {
        set_up(&gate).await;
        let task = change_matching(&gate, "contractId=payg", json!({"rotatePassword": true})).await;
        let accesses = task["accesses"].as_array().unwrap();
        let mut passwords: Vec<&str> =
            accesses.iter().map(|it| it["password"].as_str().unwrap()).collect();
        for (username, password) in usernames(&task).into_iter().zip(passwords.clone()) {
            let credentials = json!({"username": username, "password": password}).to_string();
            assert_eq!(gate.post("/acme/verify", &credentials).await.status, 200, "{username}");
        }
        passwords.sort_unstable();
        passwords.dedup();
        assert_eq!(passwords.len(), 3, "{}", gate.kind);
        let listed = gate.get("/acme/access/batch").await.json();
        assert_eq!(listed[0]["x-progress"]["change"]["rotatesPassword"], true);
    }
}

#[tokio::test]
async fn a_repeated_batch_gets_its_task_when_its_label_can_no_longer_be_filtered_by() {
    for gate in Gatehouse::on_each("a_repeated_batch_by_label").await {
        set_up(&gate).await;
        let body = json!({"operationType": "update", "operationBody": {"status": "SUSPENDED"},
                          "accessFilter": "label.site=a%2Bb"});
        let body = body.to_string();
        let key = [("idempotency-key", "k1"), ("content-type", "application/json")];
        let first = gate.call("POST", "/acme/access/batchUpdate", &key, &body).await;
        assert_eq!(first.status, 202, "{}: {}", gate.kind, first.body);
        let none = json!({"labelKeys": []}).to_string();
        assert_eq!(gate.put("/-/admin/tenants/acme", &none).await.status, 200);
        let again = gate.call("POST", "/acme/access/batchUpdate", &key, &body).await;
        assert_eq!((again.status, again.json()), (202, first.json()), "{}", gate.kind);
        let other = gate.post("/acme/access/batchUpdate", &body).await;
        assert_eq!(other.status, 400, "{}", gate.kind);
    }
}
