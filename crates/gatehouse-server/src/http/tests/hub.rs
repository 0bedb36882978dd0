//! Hubs: how they are made and changed, and the messages that their subscribers get.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gatehouse_store::JournalKind;
use gatehouse_testing::{Message, Subscriber};
use serde_json::json;
use tokio_util::sync::DropGuard;

use super::*;
use crate::delivery::Deliverer;

const HUBS: &str = "/acme/hub";

/// Longest wait for what doesn't come.
const HANGING: Duration = Duration::from_secs(60);

const SECOND: i64 = 1000;
const DAY: i64 = 86_400 * SECOND;

impl Gatehouse {
    /// Sends messages as a running server does, until the guard is dropped.
    fn deliver(&self) -> DropGuard {
        let stopping = CancellationToken::new();
        let deliverer = Deliverer::new(self.gate.server.app.clone(), "https://gw.example".into());
        tokio::spawn(deliverer.run(stopping.clone()));
        stopping.drop_guard()
    }

    async fn hub_of(&self, subscriber: &Subscriber, query: &str) -> String {
        let body = json!({"callback": subscriber.url(), "query": query});
        let response = self.post(HUBS, &body.to_string()).await;
        assert_eq!(response.status, 201, "{}", response.body);
        format!("{HUBS}/{}", response.json()["id"].as_str().unwrap())
    }

    async fn number_all(&self) {
        while self.gate.server.app.number_events().await.unwrap() {}
    }

    /// Creates an access; its identifier.
    async fn access(&self, username: &str) -> String {
        let body = json!({"contractId": "payg", "username": username}).to_string();
        let (_, access) = self.create(&body).await;
        self.number_all().await;
        access["id"].as_str().unwrap().to_owned()
    }

    async fn set_status(&self, id: &str, status: &str) {
        let response =
            self.patch(&format!("/acme/access/{id}"), &json!({"status": status}).to_string()).await;
        assert_eq!(response.status, 200, "{}", response.body);
        self.number_all().await;
    }

    /// The hub, as soon as it is as a test wants it.
    async fn hub_until(&self, path: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let started = std::time::Instant::now();
        loop {
            let response = self.get(path).await;
            assert_eq!(response.status, 200, "{}", response.body);
            let hub = response.json();
            if is_it(&hub) {
                return hub;
            }
            assert!(started.elapsed() < HANGING, "{}: {hub}", self.kind);
            tokio::task::yield_now().await;
        }
    }

    async fn until_gone(&self, path: &str) {
        let id = path.rsplit('/').next().unwrap().parse().unwrap();
        while self.gate.server.app.store.hub(&"acme".parse().unwrap(), id).await.unwrap().is_some()
        {
            tokio::task::yield_now().await;
        }
    }

    fn later(&self, milliseconds: i64) {
        self.clock.set(self.clock.now().plus_milliseconds(milliseconds));
        self.gate.server.app.wake_deliveries();
    }
}

/// Messages that were taken, without those that came again: a lease that ends when a test sets the clock is one reason.
fn taken(messages: &[Message]) -> Vec<Message> {
    let mut seen = BTreeSet::new();
    let is_first =
        |it: &&Message| it.status == 204 && seen.insert(it.header("webhook-id").to_owned());
    messages.iter().filter(is_first).cloned().collect()
}

/// Numbers of the events in messages that were taken.
fn delivered(messages: &[Message]) -> Vec<u64> {
    taken(messages).iter().filter_map(|it| it.json()["x-number"].as_u64()).collect()
}

/// Whether a message is about this access.
fn is_about(message: &Message, id: &str) -> bool {
    message.json()["event"]["access"]["id"] == id
}

#[tokio::test]
async fn a_hub_is_made_changed_and_ended() {
    for gate in Gatehouse::on_each("hub").await {
        let body = r#"{"callback": "https://crm.example.com/events", "query": "batch=10&eventType=AccessCreateEvent"}"#;
        let made = gate.post(HUBS, body).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let mut hub = made.json();
        let id = hub["id"].as_str().unwrap().to_owned();
        let path = format!("{HUBS}/{id}");
        assert_eq!(made.header("location"), Some(format!("http://gate.example{path}").as_str()));
        assert_eq!(made.header("cache-control"), Some("no-store"));
        let secret = hub.as_object_mut().unwrap().remove("secret").unwrap();
        assert!(secret.as_str().unwrap().starts_with("whsec_"), "{secret}");
        assert_eq!(
            hub,
            json!({
                "id": id, "callback": "https://crm.example.com/events",
                "query": "eventType=AccessCreateEvent&batch=10", "state": "ACTIVE",
                "createdAt": "2027-03-01T12:00:00.000Z",
                "position": 0, "behind": 0, "waiting": 0, "deadLetters": 0, "missed": 0,
            }),
            "{}",
            gate.kind
        );
        assert_eq!(gate.get(&path).await.json(), hub);
        assert_eq!(gate.get(HUBS).await.json(), json!([hub]));
        assert_eq!(gate.get("/rival/hub").await.json(), json!([]));
        assert_eq!(gate.get(&format!("/rival/hub/{id}")).await.status, 404);

        let paused = gate.patch(&path, r#"{"state": "PAUSED"}"#).await;
        assert_eq!((paused.status, &paused.json()["state"]), (200, &json!("PAUSED")));
        assert!(paused.json().get("secret").is_none());
        let rotated =
            gate.patch(&path, r#"{"state": "ACTIVE", "rotateSecret": true}"#).await.json();
        assert_ne!(rotated["secret"], secret);
        assert_eq!(rotated["formerSecretUntil"], "2027-03-02T12:00:00.000Z");
        assert!(gate.get(&path).await.json().get("secret").is_none());
        gate.clock.set(at("2027-03-02T12:00:00Z"));
        assert!(gate.get(&path).await.json().get("formerSecretUntil").is_none());

        for (body, faults) in [
            ("{}", "(body)"),
            (r#"{"state": "ENDING"}"#, "state"),
            (r#"{"rotateSecret": false}"#, "rotateSecret"),
            (r#"{"callback": "https://other.example.com"}"#, "callback"),
            (r#"{"query": ""}"#, "query"),
        ] {
            let response = gate.patch(&path, body).await;
            assert_eq!(response.status, 400, "{body}: {}", response.body);
            assert!(faults == "(body)" || response.invalid() == [faults], "{}", response.body);
        }
        assert_eq!(gate.get(&format!("{path}/delivery")).await.json(), json!([]));
        assert_eq!(gate.get(&format!("{path}/deadLetter")).await.json(), json!([]));
        let replayed = gate.post(&format!("{path}/replay"), r#"{"eventNumbers": [7]}"#).await;
        assert_eq!(replayed.json(), json!({"replayed": 0}), "{}", replayed.body);
        for (body, status) in
            [("{}", 200), (r#"{"eventNumbers": []}"#, 400), (r#"{"eventNumbers": [0]}"#, 400)]
        {
            assert_eq!(gate.post(&format!("{path}/replay"), body).await.status, status, "{body}");
        }

        assert_eq!(gate.delete(&path).await.status, 204);
        for (method, of) in
            [("GET", ""), ("DELETE", ""), ("GET", "/delivery"), ("GET", "/deadLetter")]
        {
            let response = gate.call(method, &format!("{path}{of}"), &[], "").await;
            assert_eq!(response.status, 404, "{method} {of}: {}", response.body);
        }
        assert_eq!(gate.patch(&path, r#"{"state": "ACTIVE"}"#).await.status, 404);
        assert_eq!(gate.get(HUBS).await.json(), json!([]));
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_new_hub_is_said() {
    let gate = Gatehouse::new().await;
    for (body, faults) in [
        ("{}", "callback"),
        (r#"{"callback": 7, "query": 7}"#, "callback query"),
        (r#"{"callback": "https://a.example", "query": "type=x"}"#, "query"),
        (r#"{"callback": "https://a.example", "query": "batch=0"}"#, "query"),
        (r#"{"callback": "https://a.example", "secret": "x"}"#, "secret"),
        (r#"{"callback": "http://8.8.8.8/"}"#, "callback"),
        (r#"{"callback": "https://10.0.0.1/"}"#, "callback"),
        (r#"{"callback": ""}"#, "callback"),
    ] {
        let response = gate.post(HUBS, body).await;
        assert_eq!(response.faults(), (400, faults.to_owned()), "{body}: {}", response.body);
    }
    assert_eq!(gate.post("/none/hub", r#"{"callback": "https://a.example"}"#).await.status, 404);
    let reader = gate.token_for("acme", "event:read admin");
    let bearer = format!("Bearer {reader}");
    assert_eq!(gate.send("GET", HUBS, &[("authorization", &bearer)], b"").await.status, 403);
    for n in 0..100 {
        let body = json!({"callback": format!("https://a.example/{n}")}).to_string();
        assert_eq!(gate.post(HUBS, &body).await.status, 201);
    }
    let response = gate.post(HUBS, r#"{"callback": "https://a.example/100"}"#).await;
    assert_eq!(response.status, 409, "{}", response.body);
    assert_eq!(gate.get(HUBS).await.json().as_array().map(Vec::len), Some(100));
}

#[tokio::test]
async fn a_subscriber_gets_the_events_of_the_feed_and_last_the_end_of_its_hub() {
    for gate in Gatehouse::on_each("hub_messages").await {
        let _sending = gate.deliver();
        let before = gate.access("before").await;
        let subscriber = Subscriber::willing().await;
        let path = gate.hub_of(&subscriber, "").await;
        let id = gate.access("ann").await;
        gate.set_status(&before, "SUSPENDED").await;
        gate.set_status(&id, "SUSPENDED").await;
        let messages = subscriber.until(|it| it.len() == 3).await;
        let feed = gate.get("/acme/event?after=1").await.json();
        let mut got: Vec<Value> = messages.iter().map(Message::json).collect();
        got.sort_by_key(|it| it["x-number"].as_u64());
        // Addresses are those of the request in one, and of the server in the other.
        let feed = feed.to_string().replace("http://gate.example", "https://gw.example");
        assert_eq!(Value::from(got).to_string(), feed, "{}", gate.kind);
        for message in &messages {
            assert_eq!(message.header("content-type"), "application/json");
            assert_eq!(message.header("webhook-id"), message.json()["eventId"]);
            assert_eq!(message.header("webhook-timestamp"), "1803902400");
            let signature = message.header("webhook-signature");
            assert!(signature.starts_with("v1,") && !signature.contains(' '), "{signature}");
        }
        let hub = gate.hub_until(&path, |it| it["position"] == 4).await;
        assert_eq!((&hub["waiting"], &hub["deadLetters"]), (&json!(0), &json!(0)));
        let deliveries = gate.get(&format!("{path}/delivery")).await.json();
        let numbers: Vec<u64> = deliveries
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["eventNumber"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers.len(), 3, "{deliveries}");
        assert_eq!((&deliveries[0]["status"], &deliveries[0]["events"]), (&json!(204), &json!(1)));
        assert!(deliveries[0].get("error").is_none());

        // Another secret signs too, for a day.
        gate.patch(&path, r#"{"rotateSecret": true}"#).await;
        gate.set_status(&id, "ACTIVE").await;
        let messages = taken(&subscriber.until(|it| taken(it).len() == 4).await);
        assert_eq!(messages[3].header("webhook-signature").split(' ').count(), 2);
        gate.later(DAY);
        gate.set_status(&id, "SUSPENDED").await;
        let messages = taken(&subscriber.until(|it| taken(it).len() == 5).await);
        assert_eq!(messages[4].header("webhook-signature").split(' ').count(), 1);

        assert_eq!(gate.delete(&path).await.status, 204);
        gate.set_status(&id, "ACTIVE").await;
        gate.until_gone(&path).await;
        let messages = taken(&subscriber.messages());
        assert_eq!(messages.len(), 6, "{}", gate.kind);
        let last = messages[5].json();
        assert_eq!(
            (&last["eventType"], &last["event"]["hub"]["callback"]),
            (&json!("HubDeleteEvent"), &json!(subscriber.url()))
        );
        assert!(!messages[5].body.windows(5).any(|it| it == b"whsec"));
    }
}

#[tokio::test]
async fn a_query_selects_events_and_their_form() {
    let gate = Gatehouse::new().await;
    let _sending = gate.deliver();
    let mut hubs = BTreeMap::new();
    for query in [
        "eventType=AccessStateChangeEvent",
        "contractId=other",
        "format=cloudevents",
        "format=cloudevents-binary",
        "batch=2",
        "format=cloudevents&batch=1000",
    ] {
        let other = Subscriber::willing().await;
        gate.hub_of(&other, query).await;
        hubs.insert(query, other);
    }
    let (_, access) = gate.create(r#"{"contractId": "other", "username": "é"}"#).await;
    let other = access["id"].as_str().unwrap().to_owned();
    let ann = gate.access("ann").await;
    gate.set_status(&ann, "SUSPENDED").await;
    let feed = gate.get("/acme/event").await.json();
    let feed = feed.to_string().replace("http://gate.example", "https://gw.example");
    let feed: Vec<Value> = serde_json::from_str(&feed).unwrap();

    let messages = hubs["eventType=AccessStateChangeEvent"].until(|it| !it.is_empty()).await;
    assert!(is_about(&messages[0], &ann));
    let messages = hubs["contractId=other"].until(|it| !it.is_empty()).await;
    assert!(is_about(&messages[0], &other));

    let cloud_event = |event: &Value| {
        json!({
            "specversion": "1.0", "id": event["eventId"], "source": "/acme", "type": event["eventType"],
            "subject": event["event"]["access"]["id"], "time": event["eventTime"],
            "datacontenttype": "application/json", "data": event,
        })
    };
    let by_number = |messages: &[Message], of: fn(&Value) -> Option<u64>| {
        let mut all: Vec<Value> = messages.iter().map(Message::json).collect();
        all.sort_by_key(of);
        all
    };
    let messages = hubs["format=cloudevents"].until(|it| it.len() == 3).await;
    let got = by_number(&messages, |it| it["data"]["x-number"].as_u64());
    assert_eq!(got, feed.iter().map(cloud_event).collect::<Vec<_>>());
    assert_eq!(messages[0].header("content-type"), "application/cloudevents+json; charset=utf-8");

    let messages = hubs["format=cloudevents-binary"].until(|it| it.len() == 3).await;
    assert_eq!(by_number(&messages, |it| it["x-number"].as_u64()), feed);
    for message in &messages {
        let event = message.json();
        assert_eq!(message.header("ce-specversion"), "1.0");
        assert_eq!(message.header("ce-id"), event["eventId"]);
        assert_eq!(message.header("ce-type"), event["eventType"]);
        assert_eq!(message.header("ce-source"), "/acme");
        assert_eq!(message.header("ce-subject"), event["event"]["access"]["id"]);
        assert_eq!(message.header("ce-time"), event["eventTime"]);
        assert_eq!(message.header("content-type"), "application/json");
    }

    // Lists, of one event too.
    let all = |messages: &[Message]| -> Vec<Value> {
        messages.iter().flat_map(|it| it.json().as_array().unwrap().clone()).collect()
    };
    let messages = hubs["batch=2"].until(|it| all(it).len() == 3).await;
    assert_eq!(all(&messages), feed);
    let messages = hubs["format=cloudevents&batch=1000"].until(|it| all(it).len() == 3).await;
    assert_eq!(all(&messages), feed.iter().map(cloud_event).collect::<Vec<_>>());
    let media_type = messages[0].header("content-type");
    assert_eq!(media_type, "application/cloudevents-batch+json; charset=utf-8");
}

#[tokio::test]
async fn a_refused_event_holds_up_only_later_ones_of_its_access() {
    for gate in Gatehouse::on_each("hub_refused").await {
        let _sending = gate.deliver();
        let (bad, good) = (gate.access("bad").await, gate.access("good").await);
        let refused = bad.clone();
        let subscriber =
            Subscriber::start(move |it| if is_about(it, &refused) { 400 } else { 204 }).await;
        let path = gate.hub_of(&subscriber, "").await;
        gate.set_status(&bad, "SUSPENDED").await; // 3
        gate.set_status(&good, "SUSPENDED").await; // 4
        gate.set_status(&bad, "ACTIVE").await; // 5
        gate.set_status(&good, "ACTIVE").await; // 6
        subscriber.until(|it| delivered(it) == [4, 6]).await;
        let hub = gate.hub_until(&path, |it| it["position"] == 6 && it["waiting"] == 2).await;
        assert!(hub.get("nextAttempt").is_none(), "{}: {hub}", gate.kind);
        let of_bad = |it: &[Message]| it.iter().filter(|it| is_about(it, &bad)).count();
        assert_eq!(of_bad(&subscriber.messages()), 1, "{}", gate.kind);
        // Each failure makes the pause longer.
        gate.later(6 * SECOND);
        subscriber.until(|it| of_bad(it) >= 2).await;
        gate.hub_until(&path, |it| it["waiting"] == 2).await;
        let n_bad = of_bad(&subscriber.messages());
        gate.later(6 * SECOND);
        gate.set_status(&good, "SUSPENDED").await; // 7
        subscriber.until(|it| delivered(it) == [4, 6, 7]).await;
        assert_eq!(of_bad(&subscriber.messages()), n_bad, "{}", gate.kind);
        gate.hub_until(&path, |it| it["position"] == 7).await;
        // Once it is taken, the later one follows at once.
        subscriber.answer(|_| 204);
        gate.later(60 * SECOND);
        subscriber.until(|it| delivered(it) == [4, 6, 7, 3, 5]).await;
        gate.hub_until(&path, |it| it["waiting"] == 0).await;
        let deliveries = gate.get(&format!("{path}/delivery")).await.json();
        let failed: Vec<&Value> =
            deliveries.as_array().unwrap().iter().filter(|it| it["status"] == 400).collect();
        assert!(failed.len() >= 2, "{deliveries}");
        assert_eq!(failed[0]["error"], "the subscriber answered 400");
    }
}

#[tokio::test]
async fn an_event_that_is_refused_for_three_days_is_a_dead_letter() {
    for gate in Gatehouse::on_each("hub_dead_letters").await {
        let _sending = gate.deliver();
        let subscriber = Subscriber::start(|_| 500).await;
        let path = gate.hub_of(&subscriber, "").await;
        let ann = gate.access("ann").await; // 1
        gate.set_status(&ann, "SUSPENDED").await; // 2
        gate.hub_until(&path, |it| it["waiting"] == 2).await;
        gate.later(3 * DAY - SECOND);
        subscriber.until(|it| it.len() >= 2).await;
        gate.hub_until(&path, |it| it["waiting"] == 2).await;
        gate.access("bob").await; // 3
        gate.hub_until(&path, |it| it["waiting"] == 3).await;
        gate.later(60 * SECOND);
        // The second one was never sent: it is as old, and nothing was delivered since.
        gate.hub_until(&path, |it| it["deadLetters"] == 2 && it["waiting"] == 1).await;
        let letters = gate.get(&format!("{path}/deadLetter")).await.json();
        assert_eq!(letters[0]["eventNumber"], 1, "{letters}");
        assert_eq!(letters[1]["eventNumber"], 2, "{letters}");
        assert_eq!(letters[0]["error"], "the subscriber answered 500");
        assert_eq!(letters[0]["since"], "2027-03-01T12:00:00.000Z");
        let second = gate.get(&format!("{path}/deadLetter?after=1&pageSize=1")).await.json();
        assert_eq!(second, json!([letters[1]]));

        subscriber.answer(|_| 204);
        let n_before = subscriber.messages().len();
        let replay = format!("{path}/replay");
        let replayed = gate.post(&replay, r#"{"eventNumbers": [2, 99]}"#).await;
        assert_eq!(replayed.json(), json!({"replayed": 1}));
        subscriber.until(|it| delivered(&it[n_before..]) == [2]).await;
        gate.hub_until(&path, |it| it["deadLetters"] == 1).await;
        assert_eq!(gate.post(&replay, "{}").await.json(), json!({"replayed": 1}));
        gate.later(DAY);
        gate.hub_until(&path, |it| it["deadLetters"] == 0 && it["waiting"] == 0).await;
        let mut numbers = delivered(&subscriber.messages()[n_before..]);
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, 3], "{}", gate.kind);
    }
}

#[tokio::test]
async fn a_subscriber_that_is_out_of_reach_is_tried_with_few_messages() {
    for gate in Gatehouse::on_each("hub_out_of_reach").await {
        let _sending = gate.deliver();
        let subscriber = Subscriber::start(|_| 503).await;
        let (one, batch) =
            (gate.hub_of(&subscriber, "").await, gate.hub_of(&subscriber, "batch=100").await);
        for n in 0..20 {
            gate.access(&format!("a{n}")).await;
        }
        let is_blocked =
            |it: &Value| it["nextAttempt"].is_string() && it["failingSince"].is_string();
        gate.hub_until(&one, is_blocked).await;
        gate.hub_until(&batch, is_blocked).await;
        let n_before = subscriber.messages().len();
        gate.later(40 * SECOND);
        let lists = |it: &[Message]| it.iter().filter(|it| it.json().is_array()).count();
        let is_tried = |it: &[Message]| lists(it) > 0 && lists(it) < it.len();
        subscriber.until(|it| is_tried(&it[n_before..])).await;
        gate.hub_until(&one, is_blocked).await;
        gate.hub_until(&batch, is_blocked).await;
        let messages = subscriber.messages();
        // One that has failed and a new one; and one list.
        assert!(messages.len() <= n_before + 3, "{}", gate.kind);

        // A request of the subscriber's operator doesn't wait for the next attempt.
        subscriber.answer(|_| 204);
        for hub in [&one, &batch] {
            assert_eq!(gate.patch(hub, r#"{"state": "ACTIVE"}"#).await.status, 200);
            let hub = gate.hub_until(hub, |it| it["position"] == 20 && it["waiting"] == 0).await;
            assert!(hub.get("failingSince").is_none() && hub.get("nextAttempt").is_none(), "{hub}");
        }
        let taken = taken(&subscriber.messages());
        let mut numbers: Vec<u64> =
            taken.iter().filter_map(|it| it.json()["x-number"].as_u64()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=20).collect::<Vec<_>>(), "{}", gate.kind);
        let list: Vec<u64> = taken
            .iter()
            .flat_map(|it| it.json().as_array().cloned().unwrap_or_default())
            .filter_map(|it| it["x-number"].as_u64())
            .collect();
        assert_eq!(list, (1..=20).collect::<Vec<_>>(), "{}", gate.kind);
    }
}

#[tokio::test]
async fn events_of_a_subscriber_that_is_gone_for_too_long_are_dead_letters() {
    let gate = Gatehouse::new().await;
    let _sending = gate.deliver();
    let gone = Subscriber::start(|_| 503).await;
    let hubs = [gate.hub_of(&gone, "").await, gate.hub_of(&gone, "batch=7").await];
    for n in 0..20 {
        gate.access(&format!("a{n}")).await;
    }
    for hub in &hubs {
        gate.hub_until(hub, |it| it["nextAttempt"].is_string()).await;
    }
    gate.later(3 * DAY);
    let late = gate.access("late").await;
    for hub in &hubs {
        let hub = gate.hub_until(hub, |it| it["deadLetters"] == 20).await;
        assert!(hub["position"] == 20 || hub["waiting"] == 1, "{hub}");
    }
    gone.answer(|_| 204);
    for hub in &hubs {
        assert_eq!(gate.patch(hub, r#"{"state": "ACTIVE"}"#).await.status, 200);
        gate.hub_until(hub, |it| it["position"] == 21 && it["waiting"] == 0).await;
        assert_eq!(gate.post(&format!("{hub}/replay"), "{}").await.json(), json!({"replayed": 20}));
        gate.hub_until(hub, |it| it["deadLetters"] == 0 && it["waiting"] == 0).await;
    }
    let taken = taken(&gone.messages());
    assert!(taken.iter().any(|it| is_about(it, &late)));
    let singles: Vec<u64> = delivered(&taken);
    assert_eq!(singles.len(), 21, "{singles:?}");
}

#[tokio::test]
async fn a_pause_holds_events_back_and_410_ends_the_hub() {
    for gate in Gatehouse::on_each("hub_pause").await {
        let _sending = gate.deliver();
        let subscriber = Subscriber::willing().await;
        let path = gate.hub_of(&subscriber, "").await;
        assert_eq!(gate.patch(&path, r#"{"state": "PAUSED"}"#).await.status, 200);
        let other = Subscriber::willing().await;
        gate.hub_of(&other, "").await;
        gate.access("ann").await;
        other.until(|it| it.len() == 1).await;
        assert!(subscriber.messages().is_empty(), "{}", gate.kind);
        assert_eq!(gate.patch(&path, r#"{"state": "ACTIVE"}"#).await.status, 200);
        subscriber.until(|it| delivered(it) == [1]).await;
        subscriber.answer(|_| 410);
        gate.access("bob").await;
        gate.until_gone(&path).await;
        assert_eq!(gate.get(&path).await.status, 404);
        assert_eq!(subscriber.messages().len(), 2);
        // The tenant's audit says who has made and ended it.
        while gate.gate.server.app.number_events().await.unwrap() {}
        let audit = gate.get("/-/admin/tenants/acme/audit?eventType=HubDeleteEvent").await.json();
        assert_eq!(audit[0]["x-origin"]["kind"], "server", "{audit}");
        let made = gate.get("/-/admin/tenants/acme/audit?eventType=HubCreateEvent").await.json();
        assert_eq!(made[0]["x-origin"]["subject"], "tester", "{made}");
        assert!(!made.to_string().contains("whsec_"), "{made}");
    }
}

#[tokio::test]
async fn redirects_are_failures_and_hubs_have_figures() {
    let gate = Gatehouse::new().await;
    let _sending = gate.deliver();
    let subscriber = Subscriber::start(|_| 302).await;
    let path = gate.hub_of(&subscriber, "").await;
    gate.access("ann").await;
    gate.hub_until(&path, |it| it["waiting"] == 1).await;
    let id = path.rsplit('/').next().unwrap();
    let metrics = gate.gate.metrics().render();
    let line = format!(
        "gatehouse_hub_messages_total{{hub=\"{id}\",outcome=\"failed\",tenant=\"acme\"}} 1"
    );
    assert!(metrics.contains(&line), "{metrics}");
    gate.gate.server.app.hub_meter.measure(&gate.gate.server.app.store).await;
    let metrics = gate.gate.metrics().render();
    for line in [
        format!("gatehouse_hub_lag_events{{hub=\"{id}\",tenant=\"acme\"}} 0"),
        format!("gatehouse_hub_waiting_events{{hub=\"{id}\",tenant=\"acme\"}} 1"),
        format!("gatehouse_hub_dead_letters{{hub=\"{id}\",tenant=\"acme\"}} 0"),
    ] {
        assert!(metrics.contains(&line), "{metrics}");
    }
    subscriber.answer(|_| 204);
    assert_eq!(gate.delete(&path).await.status, 204);
    gate.until_gone(&path).await;
    gate.gate.server.app.hub_meter.measure(&gate.gate.server.app.store).await;
    assert!(!gate.gate.metrics().render().contains(id));
}

#[tokio::test]
async fn events_that_are_deleted_before_they_are_delivered_are_counted() {
    for gate in Gatehouse::on_each("hub_missed").await {
        let _sending = gate.deliver();
        let subscriber = Subscriber::start(|_| 500).await;
        let failing = gate.hub_of(&subscriber, "").await;
        let paused = gate.hub_of(&subscriber, "").await;
        assert_eq!(gate.patch(&paused, r#"{"state": "PAUSED"}"#).await.status, 200);
        gate.access("ann").await;
        gate.access("bob").await;
        gate.hub_until(&failing, |it| it["waiting"] == 2).await;
        // So that no message is under way while its event is deleted.
        assert_eq!(gate.patch(&failing, r#"{"state": "PAUSED"}"#).await.status, 200);
        gate.later(DAY);
        gate.delete_events(JournalKind::Changes, gate.clock.now()).await;
        let hub = gate.hub_until(&failing, |it| it["missed"] == 2).await;
        assert_eq!((&hub["waiting"], &hub["deadLetters"]), (&json!(0), &json!(0)), "{}", gate.kind);
        subscriber.answer(|_| 204);
        for hub in [&failing, &paused] {
            assert_eq!(gate.patch(hub, r#"{"state": "ACTIVE"}"#).await.status, 200);
        }
        gate.hub_until(&paused, |it| it["missed"] == 2 && it["position"] == 2).await;
        gate.access("cid").await;
        gate.hub_until(&paused, |it| it["position"] == 3).await;
        gate.hub_until(&failing, |it| it["position"] == 3).await;
        assert!(delivered(&subscriber.messages()).iter().all(|it| *it == 3), "{}", gate.kind);
    }
}

/// The lease of a hub ends by the clock of the database, which all servers share. Here it ends by clocks that differ.
#[tokio::test]
async fn servers_whose_clocks_differ_deliver_every_event_in_order() {
    let url = empty_schema("http_hub_clocks").await.parse().unwrap();
    let clock = Clock::by_hand(at("2027-03-01T12:00:00Z"));
    let store = Store::open_postgres(&url, clock.clone()).await.unwrap();
    let behind = Gatehouse::on("PostgreSQL", store, clock, Config::default(), None).await;
    let clock = Clock::by_hand(at("2027-03-01T12:07:00Z"));
    let app = App {
        store: Store::open_postgres(&url, clock.clone()).await.unwrap(),
        clock: clock.clone(),
        deliveries_due: Arc::default(),
        event_watch: Arc::default(),
        ..behind.gate.server.app.clone()
    };
    let ahead = behind.beside(app);
    let gates = [&behind, &ahead];

    let mut n_seen = 0;
    // Every third message is refused the first time.
    let subscriber = Subscriber::start(move |_| {
        n_seen += 1;
        if n_seen % 3 == 0 { 500 } else { 204 }
    })
    .await;
    let path = behind.hub_of(&subscriber, "").await;
    let _sending = gates.map(Gatehouse::deliver);
    let mut ids = Vec::new();
    for n in 0..4 {
        ids.push(gates[n % 2].access(&format!("device-{n}")).await);
    }
    for (n, status) in ["SUSPENDED", "ACTIVE", "SUSPENDED", "ACTIVE"].into_iter().enumerate() {
        for (nth, id) in ids.iter().enumerate() {
            gates[(n + nth) % 2].set_status(id, status).await;
        }
    }
    let n_events = ids.len() * 5;
    let is_at_rest = |it: &Value| it["position"] == n_events && it["waiting"] == 0;
    let (mut n_polls, mut n_before, started) = (0, 0, std::time::Instant::now());
    while !is_at_rest(&behind.get(&path).await.json()) {
        assert!(started.elapsed() < HANGING, "{}", behind.get(&path).await.body);
        // Time passes when nothing is sent any more: all that is left waits for a retry.
        let n_messages = subscriber.messages().len();
        n_polls = if n_messages == n_before { n_polls + 1 } else { 0 };
        n_before = n_messages;
        if n_polls > 20 {
            gates.iter().for_each(|gate| gate.later(10 * SECOND));
            n_polls = 0;
        }
        tokio::task::yield_now().await;
    }
    let messages = taken(&subscriber.messages());
    assert_eq!(messages.len(), n_events);
    for id in &ids {
        let of_access: Vec<u64> = messages
            .iter()
            .filter(|it| is_about(it, id))
            .filter_map(|it| it.json()["x-number"].as_u64())
            .collect();
        assert_eq!(of_access.len(), 5);
        assert!(of_access.is_sorted(), "{of_access:?}");
    }
}
