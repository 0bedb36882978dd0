//! Batches and Tasks; the tests step the workers.

use serde_json::json;

use super::openapi::assert_documented;
use super::*;
use crate::http::openapi::document;
use crate::http::routes;
use crate::work::task::{StepOutcome, TaskWorker};

impl Gatehouse {
    fn app(&self) -> &App {
        &self.gate.server.app
    }

    /// Processes all accepted Tasks.
    pub(super) async fn work(&self) {
        let mut worker = TaskWorker::new(self.app().clone());
        while worker.run_one().await.unwrap() != StepOutcome::Nothing {}
    }

    /// Steps a worker until it has processed some items, and releases its lease.
    async fn work_a_little(&self) {
        let mut worker = TaskWorker::new(self.app().clone());
        while !matches!(worker.run_one().await.unwrap(), StepOutcome::Worked(_)) {}
        worker.release_lease().await.unwrap();
    }

    /// Sends a batch; returns the path of its Task.
    pub(super) async fn accept(&self, path: &str, body: Value) -> String {
        let response = self.post(path, &body.to_string()).await;
        assert_eq!(response.status, 202, "{}", response.body);
        let location = response.header("location").unwrap();
        location.strip_prefix("http://gate.example").unwrap().to_owned()
    }

    /// Sends and processes a batch; returns the path and the body of its Task.
    async fn run(&self, path: &str, body: Value) -> (String, Value) {
        let task = self.accept(path, body).await;
        self.work().await;
        let response = self.get(&task).await;
        assert_eq!(response.status, 200, "{}", response.body);
        (task, response.json())
    }

    async fn create_many(&self, n: u32) -> Vec<String> {
        let body = json!({"contractId": "payg", "numberOfAccesses": n});
        let (_, task) = self.run("/acme/access/batch", body).await;
        ids(&task["accesses"])
    }
}

fn ids(accesses: &Value) -> Vec<String> {
    let accesses = accesses.as_array().unwrap().iter();
    accesses.map(|it| it["id"].as_str().unwrap().to_owned()).collect()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_batch_is_accepted_at_once() {
    let gate = Gatehouse::new().await;
    let response =
        gate.post("/acme/access/batch", r#"{"contractId":"payg","numberOfAccesses":3}"#).await;
    insta::assert_snapshot!(response.snapshot(), @r#"
    202
    content-type: application/json
    location: http://gate.example/acme/access/batch/<id>
    retry-after: 1
    x-correlation-id: <correlation>
    content-length: 115

    {
      "id": "<id>",
      "state": "ACKNOWLEDGED",
      "@baseType": "task",
      "@type": "batchCreation"
    }
    "#);
}

/// Every state of every kind of Task, as in the contract's table.
#[tokio::test]
async fn the_payload_of_a_task_has_exactly_the_keys_of_its_state() {
    const BASE: [&str; 4] = ["id", "state", "@baseType", "@type"];
    const ACCESSES: [&str; 5] = ["id", "state", "@baseType", "@type", "accesses"];
    const ERRORS: [&str; 5] = ["id", "state", "@baseType", "@type", "errors"];
    const BOTH: [&str; 6] = ["id", "state", "@baseType", "@type", "accesses", "errors"];
    for gate in Gatehouse::on_each("task_payloads").await {
        let created = gate.create_many(2500).await;
        let prepaid = gate.create(r#"{"contractId": "pre"}"#).await.1["id"].clone();
        let change = |operation: &str, ids: Value| {
            let body = match operation {
                "update" => json!({"status": "SUSPENDED"}),
                _ => json!({}),
            };
            json!({"operationType": operation, "accessesIdList": ids, "operationBody": body})
        };
        let nobody = json!(["019f0000-0000-7000-8000-000000000000"]);
        let create =
            |contract: &str, accesses: Value| json!({"contractId": contract, "accesses": accesses});
        let taken = json!([{"username": "same"}, {"username": "same"}]);
        let kinds = [
            // kind, path; batches that succeed, fail partly, fail, are rejected, take long
            (
                "batchCreation",
                "/acme/access/batch",
                create("payg", json!([{}, {"deviceName": "d"}])),
                create("payg", taken.clone()),
                create("payg", taken),
                create("none", json!([{}])),
                json!({"contractId": "payg", "numberOfAccesses": 2500}),
            ),
            (
                "batchUpdate",
                "/acme/access/batchUpdate",
                change("update", json!([created[0]])),
                change("update", json!([created[1], prepaid])),
                change("update", json!([prepaid])),
                change("update", nobody.clone()),
                change("update", json!(created)),
            ),
            (
                "batchTerminate",
                "/acme/access/batchUpdate",
                change("terminate", json!([created[0]])),
                change("terminate", json!([created[1], prepaid])),
                change("terminate", json!([prepaid])),
                change("terminate", nobody),
                change("terminate", json!(created)),
            ),
        ];
        for (kind, path, well, partly, badly, rejected, long) in kinds {
            let check = |task: &Value, state: &str, expected: &[&str]| {
                let case = format!("{} {kind} {state}: {task}", gate.kind);
                assert_eq!(
                    (task["state"].as_str(), task["@type"].as_str()),
                    (Some(state), Some(kind)),
                    "{case}"
                );
                assert_eq!(task["@baseType"], "task", "{case}");
                let mut found = keys(task);
                let mut expected = expected.to_vec();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{case}");
            };
            let task = gate.accept(path, long.clone()).await;
            let response = gate.get(&task).await;
            check(&response.json(), "ACKNOWLEDGED", &BASE);
            assert_eq!(response.header("retry-after"), Some("1"), "{kind}");
            gate.work_a_little().await;
            let response = gate.get(&task).await;
            check(&response.json(), "IN_PROGRESS", &BASE);
            assert_eq!(response.header("retry-after"), Some("1"), "{kind}");
            let items = gate.get(&format!("{task}/items")).await;
            assert_eq!(items.problem(), (409, "Task not ready".into()));
            let stopped = gate.delete(&task).await;
            assert_eq!(stopped.status, 200);
            check(&stopped.json(), "TERMINATED", &BASE);
            check(&gate.get(&task).await.json(), "TERMINATED", &BASE);
            assert_eq!(gate.delete(&task).await.status, 409, "{kind}");
            let never_started = gate.accept(path, long).await;
            check(&gate.delete(&never_started).await.json(), "TERMINATED", &BASE);
            gate.work().await;

            let (_, task) = gate.run(path, well).await;
            check(&task, "DONE", &ACCESSES);
            let (_, task) = gate.run(path, partly).await;
            check(&task, "FAILED", &BOTH);
            assert_eq!(task["accesses"].as_array().unwrap().len(), 1, "{kind}");
            assert_eq!(task["errors"].as_array().unwrap().len(), 1, "{kind}");
            let (_, task) = gate.run(path, badly).await;
            check(&task, "FAILED", &BOTH);
            assert_eq!(task["accesses"], json!([]), "{kind}: present also when empty");
            let (task, payload) = gate.run(path, rejected).await;
            check(&payload, "REJECTED", &ERRORS);
            assert_eq!(payload["errors"].as_array().unwrap().len(), 1, "{kind}");
            assert_eq!(gate.get(&format!("{task}/items")).await.json(), json!([]), "{kind}");
        }
    }
}

#[tokio::test]
async fn an_error_names_its_item() {
    let gate = Gatehouse::new().await;
    let body = json!({"contractId": "payg", "accesses": [
        {"username": "ann"},
        {"username": "ann", "deviceName": "pump"},
        {"username": "x".repeat(129), "password": "x".repeat(73)},
    ]});
    let (task, payload) = gate.run("/acme/access/batch", body).await;
    let correlation = payload["errors"][0]["correlationId"].clone();
    assert_eq!(
        payload["errors"],
        json!([
            {
                "type": "Conflict", "status": 409, "title": "Username taken",
                "detail": "username `ann` is taken by another access",
                "externalErrors": [], "relatedParty": [], "correlationId": correlation,
                "@type": "problem", "index": 1, "username": "ann", "deviceName": "pump",
            },
            {
                "type": "Bad Request", "status": 400, "title": "Invalid request",
                "detail": "username must have 1 to 128 characters, not 129; \
                    password must have 1 to 72 bytes of UTF-8, not 73",
                "invalidParams": [
                    {"name": "username", "reason": "must have 1 to 128 characters, not 129"},
                    {"name": "password", "reason": "must have 1 to 72 bytes of UTF-8, not 73"},
                ],
                "externalErrors": [], "relatedParty": [], "correlationId": correlation,
                "@type": "problem", "index": 2, "username": "x".repeat(64),
            },
        ])
    );
    let items = gate.get(&format!("{task}/items?state=failed&pageSize=1&pageNumber=2")).await;
    assert_eq!(items.header("x-total-count"), Some("2"));
    let link = items.header("link").unwrap();
    assert!(link.contains("/items?state=failed&pageNumber=1&pageSize=1>; rel=\"first\""), "{link}");
    let items = items.json();
    assert_eq!(items[0]["error"], payload["errors"][1]);
    assert_eq!((&items[0]["index"], &items[0]["state"]), (&json!(2), &json!("failed")));
    let all = gate.get(&format!("{task}/items")).await;
    assert_eq!(all.header("cache-control"), Some("no-store"));
    let all = all.json();
    assert_eq!(all[0]["access"], payload["accesses"][0]);
    assert_eq!(keys(&all[0]), ["index", "state", "access"]);
    assert_eq!(keys(&all[1]), ["index", "state", "error"]);
    let bad = gate.get(&format!("{task}/items?state=odd&pageSize=0")).await;
    assert_eq!(bad.faults(), (400, "state pageSize".into()));
    let progress = gate.get(&format!("{task}/progress")).await.json();
    assert_eq!(keys(&progress)[..3], ["total", "succeeded", "failed"]);
    let counts = [&progress["total"], &progress["succeeded"], &progress["failed"]];
    assert_eq!(counts, [3, 1, 2]);
}

#[tokio::test]
async fn a_batch_creation_returns_its_accesses_in_order_with_working_passwords() {
    for gate in Gatehouse::on_each("task_creation").await {
        let body = json!({"contractId": "payg", "numberOfAccesses": 700});
        let (task, payload) = gate.run("/acme/access/batch", body).await;
        let job = payload["id"].as_str().unwrap();
        let accesses = payload["accesses"].as_array().unwrap();
        assert_eq!(accesses.len(), 700, "{}", gate.kind);
        for (n, access) in accesses.iter().enumerate() {
            let name = format!("device-{:06}-{}", n + 1, &job[job.len() - 6..]);
            assert_eq!((&access["deviceName"], &access["name"]), (&json!(name), &json!(name)));
            assert_eq!(access["createdBy"], job);
            assert_eq!(access["password"].as_str().unwrap().len(), 24);
        }
        let (first, last) = (&accesses[0], &accesses[699]);
        for access in [first, last] {
            let (username, password) = (access["username"].as_str(), access["password"].as_str());
            let response = gate.verify(username.unwrap(), password.unwrap()).await;
            assert_eq!(response.status, 200, "{}", gate.kind);
        }
        let listed = gate.get(&format!("/acme/access?createdBy={job}&pageSize=1000")).await;
        assert_eq!(listed.header("x-total-count"), Some("700"));
        let listed = listed.json();
        assert_eq!(ids(&listed), ids(&payload["accesses"]), "{}", gate.kind);
        assert!(!listed.to_string().contains("password"));
        assert_eq!(gate.get(&task).await.json(), payload, "{}: repeatable", gate.kind);
    }
}

#[tokio::test]
async fn a_batch_of_changes_reports_the_result_of_each_access() {
    for gate in Gatehouse::on_each("task_change").await {
        let created = gate.create_many(3).await;
        let rivals =
            gate.post("/rival/access", r#"{"contractId": "payg"}"#).await.json()["id"].clone();
        let body = json!({
            "operationType": "update",
            "accessesIdList": [created[2], rivals, created[0], "nonsense\u{0}", created[2]],
            "operationBody": {"status": "SUSPENDED", "password": "shared secret"},
        });
        let (_, payload) = gate.run("/acme/access/batchUpdate", body.clone()).await;
        assert_eq!(payload["state"], "FAILED", "{}: {payload}", gate.kind);
        assert_eq!(
            ids(&payload["accesses"]),
            [created[2].clone(), created[0].clone()],
            "{}",
            gate.kind
        );
        for access in payload["accesses"].as_array().unwrap() {
            assert_eq!(access["password"], "shared secret");
            assert_eq!(access["status"], "SUSPENDED");
        }
        let errors = payload["errors"].as_array().unwrap();
        let items: Vec<_> =
            errors.iter().map(|it| (it["status"].as_u64(), it["index"].as_u64())).collect();
        assert_eq!(items, [(Some(404), Some(1)), (Some(404), Some(3))], "{}", gate.kind);
        assert_eq!(errors[0]["accessId"], rivals);

        // PATCH, with either content type; the month ends in Berlin's time zone.
        for media_type in ["application/json", "application/merge-patch+json"] {
            let body = json!({"operationType": "terminate", "accessesIdList": [created[1]], "operationBody": {}});
            let accepted = gate
                .call(
                    "PATCH",
                    "/acme/access/batch",
                    &[("content-type", media_type)],
                    &body.to_string(),
                )
                .await;
            assert_eq!(accepted.status, 202, "{}", accepted.body);
            gate.work().await;
            let id = accepted.json()["id"].as_str().unwrap().to_owned();
            let payload = gate.get(&format!("/acme/access/batch/{id}")).await.json();
            let access = &payload["accesses"][0];
            assert_eq!(access["status"], "PENDING_TERMINATE", "{}: {payload}", gate.kind);
            assert_eq!(access["endDateTime"], "2027-03-31T22:00:00.000Z");
            assert_eq!(access.get("password"), None);
        }
        let back =
            gate.patch(&format!("/acme/access/{}", created[1]), r#"{"status":"ACTIVE"}"#).await;
        assert_eq!(back.json().get("endDateTime"), None, "{}: cancelled", gate.kind);
    }
}

#[tokio::test]
async fn an_invalid_batch_is_refused_and_creates_no_task() {
    let gate = Gatehouse::new().await;
    let create = "/acme/access/batch";
    let update = "/acme/access/batchUpdate";
    let id = "019f0000-0000-7000-8000-000000000000";
    for (path, body, faults) in [
        (
            create,
            json!({"contractId": "payg", "numberOfAccesses": 1, "accesses": [{}]}),
            vec!["body"],
        ),
        (create, json!({"contractId": "payg"}), vec!["body"]),
        (create, json!({"contractId": "payg", "accesses": []}), vec!["accesses"]),
        (create, json!({"contractId": "payg", "numberOfAccesses": 0}), vec!["numberOfAccesses"]),
        (create, json!({"contractId": "payg", "numberOfAccesses": -1}), vec!["numberOfAccesses"]),
        (create, json!({"contractId": "payg", "numberOfAccesses": 1.5}), vec!["numberOfAccesses"]),
        (create, json!({"contractId": "payg", "numberOfAccesses": "5"}), vec!["numberOfAccesses"]),
        (
            create,
            json!({"contractId": "payg", "numberOfAccesses": 100_001}),
            vec!["numberOfAccesses"],
        ),
        (
            create,
            json!({"numberOfAccesses": "1", "x": 1}),
            vec!["contractId", "numberOfAccesses", "x"],
        ),
        (
            create,
            json!({"contractId": "payg", "accesses": [{}, 7, {"user": "x"}, {"username": 5}]}),
            vec!["accesses[1]", "accesses[2].user", "accesses[3].username"],
        ),
        (
            update,
            json!({"operationType": "delete", "accessesIdList": [id], "operationBody": {}}),
            vec!["operationType"],
        ),
        (
            update,
            json!({"operationType": "terminate", "accessesIdList": [id], "operationBody": {"status": "ACTIVE"}}),
            vec!["operationBody"],
        ),
        (
            update,
            json!({"operationType": "update", "accessesIdList": [id], "operationBody": {}}),
            vec!["operationBody"],
        ),
        (
            update,
            json!({"operationType": "update", "accessesIdList": [], "operationBody": {"status": "ACTIVE"}}),
            vec!["accessesIdList"],
        ),
        (update, json!({}), vec!["operationType", "accessesIdList", "operationBody"]),
    ] {
        let response = gate.post(path, &body.to_string()).await;
        assert_eq!(response.status, 400, "{body}: {}", response.body);
        let (mut found, mut expected) = (response.invalid(), faults);
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{body}: {}", response.body);
    }
    let large = format!(
        r#"{{"contractId": "payg", "accesses": [{{"deviceName": "{}"}}]}}"#,
        "x".repeat(33 << 20)
    );
    assert_eq!(gate.post(create, &large).await.status, 413);
    let plain = gate.call("POST", create, &[("content-type", "text/plain")], "{}").await;
    assert_eq!(plain.status, 415);
    let patch = gate.call("PATCH", create, &[("content-type", "text/plain")], "{}").await;
    let types = "application/json, application/merge-patch+json";
    assert_eq!(patch.status_and("accept-patch"), (415, Some(types)));
    assert_eq!(gate.post("/nobody/access/batch", "{}").await.status, 404);
    let list = gate.get("/acme/access/batch").await;
    assert_eq!((list.body.as_str(), list.header("x-total-count")), ("[]", Some("0")));
}

#[tokio::test]
async fn tasks_are_listed_newest_first_and_belong_to_their_tenant() {
    for gate in Gatehouse::on_each("task_list").await {
        let mut paths = Vec::new();
        for n in 1..=3 {
            let body = json!({"contractId": "payg", "numberOfAccesses": n});
            paths.push(gate.accept("/acme/access/batch", body).await);
        }
        let list = gate.get("/acme/access/batch?pageSize=2").await;
        assert_eq!(list.header("x-total-count"), Some("3"));
        assert!(list.header("link").unwrap().contains("rel=\"next\""));
        let list = list.json();
        assert_eq!(keys(&list[0]), ["id", "state", "@baseType", "@type", "x-progress"]);
        let listed: Vec<String> =
            ids(&list).iter().map(|id| format!("/acme/access/batch/{id}")).collect();
        assert_eq!(listed, [paths[2].clone(), paths[1].clone()], "{}", gate.kind);
        for path in ["", "/progress", "/items"] {
            let other = paths[0].replace("/acme/", "/rival/");
            assert_eq!(gate.get(&format!("{other}{path}")).await.status, 404, "{path}");
        }
        for missing in ["job-019f0000-0000-7000-8000-000000000000", "x", "job-x"] {
            let path = format!("/acme/access/batch/{missing}");
            assert_eq!(gate.get(&path).await.status, 404);
            assert_eq!(gate.delete(&path).await.status, 404);
        }
        assert_eq!(gate.get("/rival/access/batch").await.json(), json!([]));
    }
}

#[tokio::test]
async fn a_finished_task_is_available_as_csv() {
    for gate in Gatehouse::on_each("task_table").await {
        let csv = [("accept", "text/csv")];
        let body = json!({"contractId": "payg", "accesses": [
            {"username": "=cmd()", "password": "with,comma \"and quotes\"", "deviceName": "@d\u{e9}"},
            {"username": "lines", "password": "p", "deviceName": "two\nlines"},
            {"username": "plain"},
            {"username": "plain"},
        ]});
        let task = gate.accept("/acme/access/batch", body).await;
        let early = gate.call("GET", &task, &csv, "").await;
        assert_eq!(early.problem(), (409, "Task not ready".into()));
        gate.work().await;
        let response = gate.call("GET", &task, &csv, "").await;
        assert_eq!(response.status, 200, "{}", response.body);
        assert_eq!(response.header("content-type"), Some("text/csv; charset=utf-8"));
        assert_eq!(response.header("cache-control"), Some("no-store"));
        let name = response.header("content-disposition").unwrap();
        assert!(name.starts_with("attachment; filename=\"job-"), "{name}");
        let payload = gate.get(&task).await.json();
        let second = &payload["accesses"][2];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let lines: Vec<&str> = response.body.split("\r\n").collect();
        assert_eq!(
            lines[0],
            "id,username,password,deviceName,name,status,contractId,productOfferingId,startDateTime,endDateTime"
        );
        let first = format!(
            "{},=cmd(),\"with,comma \"\"and quotes\"\"\",'@d\u{e9},'@d\u{e9},ACTIVE,payg,po-use,2027-03-01T12:00:00.000Z,",
            text(&payload["accesses"][0]["id"])
        );
        assert_eq!(lines[1], first, "{}", gate.kind);
        let second = format!(
            "{},plain,{},,plain,ACTIVE,payg,po-use,2027-03-01T12:00:00.000Z,",
            text(&second["id"]),
            text(&second["password"])
        );
        let third = format!(
            "{},lines,p,\"two\nlines\",\"two\nlines\",ACTIVE,payg,po-use,2027-03-01T12:00:00.000Z,",
            text(&payload["accesses"][1]["id"])
        );
        let rest = [third.as_str(), second.as_str(), ""];
        assert_eq!(lines[2..], rest, "{}: no failed items", gate.kind);
        let rejected = json!({"contractId": "none", "numberOfAccesses": 1});
        let (task, _) = gate.run("/acme/access/batch", rejected).await;
        assert_eq!(gate.call("GET", &task, &csv, "").await.status, 409);
        let odd = gate.call("GET", &task, &[("accept", "image/png")], "").await;
        assert_eq!(odd.status, 406, "{}", odd.body);
    }
}

#[tokio::test]
async fn a_task_shows_until_when_its_passwords_are_readable() {
    let document = document(&routes::table(), &Config::default().limits);
    for gate in Gatehouse::on_each("task_passwords_until").await {
        let read = async |task: &str, method: &str, part: &str, accept: &str| {
            let response =
                gate.call(method, &format!("{task}{part}"), &[("accept", accept)], "").await;
            assert_eq!(
                response.status, 200,
                "{} {method} {task}{part}: {}",
                gate.kind, response.body
            );
            if method == "GET" {
                let route = format!("/{{tenantName}}/access/batch/{{taskId}}{part}");
                assert_documented(&document, &route, method, &response);
            }
            (response.header("x-passwords-until").map(str::to_owned), response.body)
        };
        let until = async |task: &str| {
            let (until, _) = read(task, "GET", "", "application/json").await;
            assert_eq!(read(task, "HEAD", "", "application/json").await.0, until, "{}", gate.kind);
            until
        };
        let end = Some("2027-03-02T12:00:00.000Z".to_owned());

        let create = json!({"contractId": "payg", "numberOfAccesses": 2500});
        let created = gate.accept("/acme/access/batch", create.clone()).await;
        assert_eq!(until(&created).await, None, "{}: not started", gate.kind);
        gate.work_a_little().await;
        assert_eq!(until(&created).await, None, "{}: in progress", gate.kind);
        gate.work().await;
        for (part, accept) in [("", "application/json"), ("", "text/csv"), ("/items", "*/*")] {
            for method in ["GET", "HEAD"] {
                assert_eq!(
                    read(&created, method, part, accept).await.0,
                    end,
                    "{} {part}",
                    gate.kind
                );
            }
        }
        let ids = ids(&gate.get(&created).await.json()["accesses"]);
        let stopped = gate.accept("/acme/access/batch", create.clone()).await;
        gate.work_a_little().await;
        gate.delete(&stopped).await;
        assert_eq!(until(&stopped).await, end, "{}: the items have passwords", gate.kind);
        assert_eq!(read(&stopped, "GET", "/items", "*/*").await.0, end, "{}", gate.kind);
        let change = |operation: &str, body: Value| {
            let ids = &ids[..2];
            json!({"operationType": operation, "accessesIdList": ids, "operationBody": body})
        };
        let (create_path, change_path) = ("/acme/access/batch", "/acme/access/batchUpdate");
        let unfit = json!({"contractId": "payg", "accesses": [{"username": ""}]});
        let rejected = json!({"contractId": "none", "numberOfAccesses": 1});
        for (path, body, expected) in [
            (change_path, change("update", json!({"password": "shared secret"})), &end),
            (change_path, change("update", json!({"status": "SUSPENDED"})), &None),
            (change_path, change("terminate", json!({})), &None),
            (create_path, unfit, &None),
            (create_path, rejected, &None),
        ] {
            let (task, payload) = gate.run(path, body).await;
            assert_eq!(until(&task).await, *expected, "{}: {payload}", gate.kind);
            let items = read(&task, "GET", "/items", "*/*").await;
            assert_eq!(items.0, *expected, "{}: {}", gate.kind, items.1);
        }
        let never_started = gate.accept(create_path, create).await;
        gate.delete(&never_started).await;
        assert_eq!(until(&never_started).await, None, "{}: no passwords", gate.kind);

        gate.clock.set(at("2027-03-02T11:59:59.999Z"));
        let (until, body) = read(&created, "GET", "/items", "*/*").await;
        assert!(until == end && body.contains("password"), "{}: until the end", gate.kind);
        gate.clock.set(at("2027-03-02T12:00:00Z"));
        for when in ["their time is over", "they are destroyed"] {
            for part in ["", "/items"] {
                let (until, body) = read(&created, "GET", part, "application/json").await;
                assert!(until.is_none() && !body.contains("password"), "{}: {when}", gate.kind);
            }
            while gate.app().run_upkeep_step().await.unwrap() {}
        }
    }
}

#[tokio::test]
async fn the_items_of_a_stopped_task_include_everything_it_created() {
    for gate in Gatehouse::on_each("task_stopped").await {
        let body = json!({"contractId": "payg", "numberOfAccesses": 5000});
        let task = gate.accept("/acme/access/batch", body).await;
        gate.work_a_little().await;
        gate.delete(&task).await;
        gate.work().await;
        let job = task.rsplit('/').next().unwrap();
        let listed = gate.get(&format!("/acme/access?createdBy={job}&pageSize=1")).await;
        let total = listed.header("x-total-count").unwrap().to_owned();
        let items = gate.get(&format!("{task}/items?pageSize=1000")).await;
        assert_eq!(items.header("x-total-count"), Some(total.as_str()), "{}", gate.kind);
        let items = items.json();
        let shown = items.as_array().unwrap();
        assert!(!shown.is_empty(), "{}", gate.kind);
        assert!(shown.iter().all(|it| it["access"]["password"].is_string()), "{}", gate.kind);
        let progress = gate.get(&format!("{task}/progress")).await.json();
        assert_eq!(progress["succeeded"].to_string(), total);
        gate.clock.set(at("2027-03-02T12:00:00Z"));
        while gate.app().run_upkeep_step().await.unwrap() {}
        let items = gate.get(&format!("{task}/items")).await;
        assert!(!items.body.contains("password"), "{}: expired", gate.kind);
    }
}

#[tokio::test]
async fn passwords_of_a_batch_need_the_write_scope() {
    for gate in Gatehouse::on_each("passwords_to_writers").await {
        let chosen = json!({"contractId": "payg", "accesses": [{"password": "chosen-secret"}]});
        let (created, _) = gate.run("/acme/access/batch", chosen).await;
        let (counted, _) = gate
            .run("/acme/access/batch", json!({"contractId": "payg", "numberOfAccesses": 1}))
            .await;
        let id = gate.get(&created).await.json()["accesses"][0]["id"].as_str().unwrap().to_owned();
        let change = json!({"operationType": "update", "accessesIdList": [id],
                            "operationBody": {"password": "changed-secret"}});
        let (changed, _) = gate.run("/acme/access/batchUpdate", change).await;
        let chosen = json!({"contractId": "payg", "accesses": [{"password": "another-secret"}]});
        let (chosen, _) = gate.run("/acme/access/batch", chosen).await;
        // A stopped Task returns its accesses only as items.
        let long = json!({"contractId": "payg", "numberOfAccesses": 2500});
        let stopped = gate.accept("/acme/access/batch", long).await;
        gate.work_a_little().await;
        assert_eq!(gate.delete(&stopped).await.json()["state"], "TERMINATED", "{}", gate.kind);
        for (scopes, is_shown) in [("access:read", false), ("access:read access:write", true)] {
            let bearer = format!("Bearer {}", gate.token_for("acme", scopes));
            let headers = [("authorization", bearer.as_str())];
            let items =
                gate.send("GET", &format!("{stopped}/items?pageSize=1"), &headers, b"").await;
            assert_eq!(items.status, 200, "{}", items.body);
            assert_eq!(items.body.contains("\"password\":"), is_shown, "{scopes}: {}", items.body);
            for task in [&counted, &changed, &chosen] {
                for (path, accept) in [
                    (task.clone(), "application/json"),
                    (task.clone(), "text/csv"),
                    (format!("{task}/items"), "application/json"),
                ] {
                    let headers = [("authorization", bearer.as_str()), ("accept", accept)];
                    let response = gate.send("GET", &path, &headers, b"").await;
                    assert_eq!(response.status, 200, "{}", response.body);
                    let row = response.body.lines().nth(1);
                    let shows = match accept {
                        "text/csv" => row.unwrap().split(',').nth(2) != Some(""),
                        _ => response.body.contains("\"password\":"),
                    };
                    assert_eq!(
                        shows, is_shown,
                        "{}: {scopes}: {accept}: {}",
                        gate.kind, response.body
                    );
                    assert!(is_shown || !response.body.contains("secret"), "{}", response.body);
                    assert_eq!(response.header("x-passwords-until").is_some(), is_shown);
                    assert_eq!(response.header("cache-control"), Some("no-store"));
                }
            }
        }
    }
}

#[tokio::test]
async fn progress_has_the_times_of_a_task_and_its_change() {
    for gate in Gatehouse::on_each("progress_tells_when").await {
        let ids = gate.create_many(2).await;
        let progress = async |task: &str| gate.get(&format!("{task}/progress")).await.json();
        let update = json!({"operationType": "update", "accessesIdList": ids,
            "operationBody": {"status": "SUSPENDED", "password": "s3cret-one"}});
        let accepted_at = gate.clock.now();
        let task = gate.accept("/acme/access/batchUpdate", update).await;
        let change =
            json!({"operationType": "update", "status": "SUSPENDED", "rotatesPassword": true});
        let expected = json!({"total": 2, "succeeded": 0, "failed": 0,
            "acceptedAt": accepted_at.to_string(), "change": change});
        assert_eq!(progress(&task).await, expected, "{}", gate.kind);
        gate.clock.set(accepted_at.plus_milliseconds(5000));
        gate.work().await;
        let over = progress(&task).await;
        let later = accepted_at.plus_milliseconds(5000).to_string();
        assert_eq!(
            (&over["startedAt"], &over["endedAt"]),
            (&json!(later), &json!(later)),
            "{}",
            gate.kind
        );
        assert_eq!((&over["succeeded"], &over["change"]), (&json!(2), &change), "{}", gate.kind);
        assert!(!over.to_string().contains("s3cret"));

        let terminate =
            json!({"operationType": "terminate", "accessesIdList": ids, "operationBody": {}});
        let ending = gate.accept("/acme/access/batchUpdate", terminate).await;
        assert_eq!(progress(&ending).await["change"], json!({"operationType": "terminate"}));
        let response = gate.delete(&ending).await;
        assert_eq!(response.status, 200, "{}", response.body);
        let stopped = progress(&ending).await;
        assert_eq!((stopped.get("startedAt"), stopped["endedAt"].is_string()), (None, true));

        let rejected = json!({"contractId": "nowhere", "numberOfAccesses": 1});
        let rejected = gate.accept("/acme/access/batch", rejected).await;
        gate.work().await;
        let rejected = progress(&rejected).await;
        assert_eq!((rejected.get("startedAt"), rejected["endedAt"].is_string()), (None, true));
        assert_eq!(rejected.get("change"), None, "{}", gate.kind);

        // The list has the progress of each Task; a single Task and the response to a batch don't.
        let listed = gate.get("/acme/access/batch").await.json();
        for listed in listed.as_array().unwrap() {
            let task = format!("/acme/access/batch/{}", listed["id"].as_str().unwrap());
            assert_eq!(listed["x-progress"], progress(&task).await, "{}", gate.kind);
            assert_eq!(gate.get(&task).await.json().get("x-progress"), None);
        }
    }
}
