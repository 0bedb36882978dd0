//! Events: the feed, the history of an access, and what their reader gets to know.

use gatehouse_store::JournalKind;
use serde_json::json;

use super::*;

impl Gatehouse {
    /// Deletes the events of such journals from before a time.
    pub(super) async fn delete_events(&self, kind: JournalKind, before: Timestamp) {
        let app = &self.gate.server.app;
        while app.store.delete_old_events(kind, before, app.chain_key()).await.unwrap() {}
    }

    /// Reads events, once all are numbered.
    pub(super) async fn events(&self, path: &str) -> TestResponse {
        while self.gate.server.app.number_events().await.unwrap() {}
        self.get(path).await
    }
}

/// A field of each event.
pub(super) fn each(events: &Value, pointer: &str) -> Vec<Value> {
    let events = events.as_array().unwrap().iter();
    events.map(|event| event.pointer(pointer).cloned().unwrap_or_default()).collect()
}

#[tokio::test]
async fn every_change_of_an_access_has_an_event_that_says_what_and_from_where() {
    for gate in Gatehouse::on_each("events_of_an_access").await {
        let (path, made) = gate
            .create(r#"{"contractId": "pre", "username": "ann", "labels": {"site": "kiel"}}"#)
            .await;
        let mut passwords = vec![made["password"].as_str().unwrap().to_owned()];
        let mut shown = vec![gate.get(&path).await.json()];
        assert_eq!(gate.verify("ann", &passwords[0]).await.status, 200);
        shown.push(gate.get(&path).await.json());
        gate.patch(&path, r#"{"labels": {"site": null}}"#).await;
        shown.push(gate.get(&path).await.json());
        let both = gate.patch(&path, r#"{"rotatePassword": true, "status": "SUSPENDED"}"#).await;
        passwords.push(both.json()["password"].as_str().unwrap().to_owned());
        let suspended = gate.get(&path).await.json();
        shown.extend([suspended.clone(), suspended.clone()]);
        gate.clock.set(at("2027-04-20T00:00:00Z"));
        while gate.gate.server.app.sweep_one().await.unwrap().is_some() {}

        let feed = gate.events("/acme/event").await;
        let events = feed.json();
        // The first connection sets status and end, and is an attribute of its own.
        let types = [
            ("AccessCreateEvent", "request", 1),
            ("AccessAttributeValueChangeEvent", "check", 2),
            ("AccessStateChangeEvent", "check", 2),
            ("AccessAttributeValueChangeEvent", "request", 3),
            ("AccessAttributeValueChangeEvent", "request", 4),
            ("AccessStateChangeEvent", "request", 4),
            ("AccessStateChangeEvent", "expiry", 5),
        ];
        let found: Vec<(String, String, u64)> = (0..7)
            .map(|n| {
                let text = |pointer: &str| events[n].pointer(pointer).unwrap().as_str().unwrap();
                let version = events[n]["x-version"].as_u64().unwrap();
                (text("/eventType").to_owned(), text("/x-origin/kind").to_owned(), version)
            })
            .collect();
        let types: Vec<_> =
            types.iter().map(|(it, kind, n)| (it.to_string(), kind.to_string(), *n)).collect();
        assert_eq!(found, types, "{}: {events:#}", gate.kind);
        assert_eq!(events.as_array().unwrap().len(), 7);
        let numbers: Vec<Value> = (1..=7).map(Value::from).collect();
        assert_eq!(each(&events, "/x-number"), numbers);
        assert_eq!((feed.header("x-event-number"), feed.header("link")), (Some("7"), None));
        for (n, shown) in [0, 2, 3, 4, 5].into_iter().zip(shown) {
            assert_eq!(events[n]["event"]["access"], shown, "{}: {n}", gate.kind);
            assert_eq!(events[n].get("x-partial"), None);
        }
        assert_eq!(events[4]["x-changed"], json!(["status", "password"]));
        assert_eq!(events[0]["x-origin"]["peer"], "192.0.2.7");
        assert_eq!(events[0]["x-origin"]["subject"], "tester");
        // An end takes effect when it comes, and its event has what it set.
        let end = &events[6];
        assert_eq!(end["eventTime"], suspended["endDateTime"], "{end:#}");
        assert_eq!((&end["x-partial"], &end["x-changed"]), (&json!(true), &json!(["status"])));
        assert_eq!(end["event"]["access"]["status"], "TERMINATED");
        assert_eq!(end["event"]["access"].get("labels"), None);
        for password in &passwords {
            assert!(!feed.body.contains(password.as_str()));
        }

        let history = gate.events(&format!("{path}/event")).await;
        assert_eq!(history.json(), events, "{}", gate.kind);
        let first = gate.events(&format!("{path}/event?pageSize=2")).await;
        let next = first.header("link").unwrap();
        assert!(next.starts_with(&format!("<http://gate.example{path}/event?after=2&pageSize=2>")));
        let rest = gate.events(&format!("{path}/event?after=2")).await.json();
        assert_eq!(rest.as_array().unwrap()[..], events.as_array().unwrap()[2..]);
        // The list shows every change up to its number.
        let list = gate.get("/acme/access?pageSize=1").await;
        assert_eq!(list.header("x-event-number"), Some("7"), "{}", gate.kind);
    }
}

#[tokio::test]
async fn a_batch_has_an_event_for_each_of_its_accesses_and_states() {
    for gate in Gatehouse::on_each("events_of_a_batch").await {
        let batch = json!({"contractId": "payg", "accesses": [
            {"username": "ann", "labels": {"site": "kiel"}}, {"username": "bob"}, {"username": "bob"},
        ]});
        let job = gate.accept("/acme/access/batch", batch).await;
        gate.work().await;
        let made = gate.get("/acme/access").await.json();
        let ids = each(&made, "/id");
        let change = json!({
            "operationType": "update", "operationBody": {"status": "SUSPENDED", "labels": {"site": null}},
            "accessesIdList": ids,
        });
        let second = gate.accept("/acme/access/batchUpdate", change).await;
        gate.work().await;
        let feed = gate.events("/acme/event?pageSize=1000").await.json();
        let states = gate.events("/acme/event?eventType=TaskStateChangeEvent").await.json();
        let expected =
            ["ACKNOWLEDGED", "IN_PROGRESS", "FAILED", "ACKNOWLEDGED", "IN_PROGRESS", "DONE"];
        assert_eq!(each(&states, "/event/task/state"), expected.map(Value::from), "{}", gate.kind);
        assert_eq!(states[2]["event"]["task"]["succeeded"], 2);
        let created = gate.events("/acme/event?eventType=AccessCreateEvent").await.json();
        let accesses = each(&created, "/event/access");
        assert_eq!(Value::from(accesses), made, "{}: the failed item has none", gate.kind);
        let [job, second] = [&job, &second].map(|path| path.rsplit('/').next().unwrap());
        assert_eq!(each(&created, "/x-origin/taskId"), [json!(job), json!(job)]);
        let of_task = gate.events(&format!("/acme/event?taskId={second}")).await.json();
        // Both accesses changed their status, and one its labels.
        assert_eq!(of_task.as_array().unwrap().len(), 3 + 3, "{}: {of_task:#}", gate.kind);
        let ann = gate.events(&format!("/acme/access/{}/event", ids[0].as_str().unwrap())).await;
        let ann = ann.json();
        assert_eq!(each(&ann, "/x-version"), [1, 2, 2].map(Value::from));
        for event in &ann.as_array().unwrap()[1..] {
            let access = &event["event"]["access"];
            assert_eq!(event["x-partial"], true);
            assert_eq!((&access["status"], &access["labels"]), (&json!("SUSPENDED"), &json!({})));
            assert_eq!(access.get("startDateTime"), None);
        }
        let numbers: Vec<Value> = (1..=feed.as_array().unwrap().len()).map(Value::from).collect();
        assert_eq!(each(&feed, "/x-number"), numbers, "{}", gate.kind);
        let mut ids = each(&feed, "/eventId");
        ids.sort_by_key(Value::to_string);
        ids.dedup();
        assert_eq!(ids.len(), numbers.len());
    }
}

#[tokio::test]
async fn a_page_of_events_is_what_its_parameters_say() {
    for gate in Gatehouse::on_each("event_parameters").await {
        for (contract, name) in [("payg", "ann"), ("other", "bob"), ("payg", "cid")] {
            let body = json!({"contractId": contract, "username": name});
            gate.create(&body.to_string()).await;
            gate.clock.set(gate.clock.now().plus_milliseconds(60_000));
        }
        for (query, expected) in [
            ("", vec![1, 2, 3]),
            ("after=0", vec![1, 2, 3]),
            ("after=2", vec![3]),
            ("after=3", vec![]),
            ("pageSize=2", vec![1, 2]),
            ("contractId=payg", vec![1, 3]),
            ("contractId=payg&pageSize=1", vec![1]),
            ("contractId=none", vec![]),
            ("eventType=AccessStateChangeEvent,AccessCreateEvent", vec![1, 2, 3]),
            ("eventType=AccessStateChangeEvent", vec![]),
            ("from=2027-03-01T12:01:00Z", vec![2, 3]),
            ("before=2027-03-01T12:01:00Z", vec![1]),
        ] {
            let page = gate.events(&format!("/acme/event?{query}")).await;
            let expected: Vec<Value> = expected.into_iter().map(Value::from).collect();
            assert_eq!(each(&page.json(), "/x-number"), expected, "{}: {query}", gate.kind);
        }
        // A page that a condition has filled goes on at the first event that it had no place for.
        let page = gate.events("/acme/event?contractId=payg&pageSize=1").await;
        assert_eq!(page.header("x-event-number"), Some("2"), "{}", gate.kind);
        let link =
            "<http://gate.example/acme/event?after=2&contractId=payg&pageSize=1>; rel=\"next\"";
        assert_eq!(page.header("link"), Some(link));
        for (query, name, reason) in [
            ("after=-1", "after", "must be the number of an event, 0, or `last`, not `-1`"),
            ("eventType=x", "eventType", "must be some of AccessCreateEvent, "),
            ("accessId=x", "accessId", "must be the identifier of an access, not `x`"),
            ("taskId=x", "taskId", "must be the identifier of a Task, not `x`"),
            ("from=x", "from", "must be a time such as 2026-11-15T03:43:54Z, not `x`"),
        ] {
            let refused = gate.events(&format!("/acme/event?{query}")).await;
            assert_eq!(refused.status, 400, "{}: {query}", gate.kind);
            let fault = refused.json()["invalidParams"][0].clone();
            assert_eq!(fault["name"], name);
            assert!(fault["reason"].as_str().unwrap().starts_with(reason), "{fault}");
        }
        let ahead = gate.events("/acme/event?after=4").await;
        assert_eq!(ahead.problem(), (409, "No such event".to_owned()), "{}", gate.kind);
        let missing = gate.events("/acme/access/01a1dd4d-f036-7005-9379-54b08ec1966e/event").await;
        assert_eq!(missing.status, 404);
        gate.clock.set(at("2027-05-01T12:00:00Z"));
        let before = at("2027-04-01T12:00:00Z");
        gate.delete_events(JournalKind::Changes, before).await;
        let gone = gate.events("/acme/event?after=2").await;
        assert_eq!(gone.problem(), (410, "Events deleted".to_owned()), "{}", gate.kind);
        assert!(gone.json()["detail"].as_str().unwrap().contains("has number 4"), "{}", gone.body);
        assert_eq!(gate.events("/acme/event").await.json(), json!([]));
    }
}
