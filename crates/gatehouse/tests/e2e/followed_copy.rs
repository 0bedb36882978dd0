//! A copy of the accesses that follows the events equals the list, and the subscriber of a hub has every event, whatever is
//! killed meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::batch::Wait;
use super::process::*;
use gatehouse_testing::{Message, SeededRandom, Subscriber, record};
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Map, Value, json};

/// Writers that change accesses at the same time.
const WRITERS: u64 = 4;

/// Changes between two kills.
const CHANGES: u64 = 60;

fn n_kills() -> u64 {
    // On each of the two stores.
    if std::env::var_os("TEST_LONG").is_some() { 30 } else { 5 }
}

/// Requests to whichever server is there.
#[derive(Clone)]
struct Client {
    urls: Arc<Mutex<Vec<String>>>,
    http: reqwest::Client,
    token: String,
}

impl Client {
    /// The response, unless the server is killed meanwhile.
    async fn ask(&self, n: u64, method: Method, path: &str, body: Option<Value>) -> Option<Answer> {
        let url = {
            let urls = self.urls.lock();
            urls[n as usize % urls.len()].clone()
        };
        let mut request = self.http.request(method.clone(), format!("{url}{path}"));
        request = request.bearer_auth(&self.token);
        if let Some(body) = body {
            let media_type = if method == Method::PATCH {
                "application/merge-patch+json"
            } else {
                "application/json"
            };
            request = request.header("content-type", media_type).body(body.to_string());
        }
        let response = request.send().await.ok()?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let number = |name: &str| headers.get(name)?.to_str().ok()?.parse().ok();
        let (event_number, total) = (number("x-event-number"), number("x-total-count"));
        let body = response.json().await.ok()?;
        Some(Answer { status, event_number, total, body })
    }

    /// The response of a server that is there, as soon as one is.
    async fn ask_until(&self, path: &str) -> Answer {
        let wait = Wait::new(format!("an answer to {path}"));
        for n in 0.. {
            match self.ask(n, Method::GET, path, None).await {
                Some(answer) if answer.status == 200 => return answer,
                _ => wait.check_limit(),
            }
        }
        unreachable!("it asks for ever")
    }
}

struct Answer {
    status: u16,
    event_number: Option<u64>,
    total: Option<u64>,
    body: Value,
}

/// Accesses by their identifiers, without the address that a server gives them.
#[derive(Default)]
struct Copy(BTreeMap<String, Map<String, Value>>);

impl Copy {
    fn put(&mut self, access: &Value) {
        let mut access = access.as_object().unwrap().clone();
        access.remove("href");
        self.0.insert(access["id"].as_str().unwrap().to_owned(), access);
    }

    /// Applies an event as the documentation says.
    fn apply(&mut self, event: &Value) {
        let Some(access) = event["event"].get("access") else { return };
        if event.get("x-partial").is_none() {
            return self.put(access);
        }
        let known = self.0.entry(access["id"].as_str().unwrap().to_owned()).or_default();
        for (name, value) in access.as_object().unwrap() {
            match (name.as_str(), value) {
                ("href", _) => {}
                ("endDateTime", Value::Null) => drop(known.remove(name)),
                ("labels", Value::Object(labels)) if labels.is_empty() => drop(known.remove(name)),
                _ => drop(known.insert(name.clone(), value.clone())),
            }
        }
    }
}

/// Creates and changes accesses, one by one and in batches.
async fn write(client: Client, writer: u64, n_done: Arc<AtomicU64>, is_over: Arc<AtomicBool>) {
    let mut random = SeededRandom(writer);
    let mut mine: Vec<String> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let n = random.roll(1000);
        let some = |random: &mut SeededRandom, mine: &[String]| {
            mine[random.roll(mine.len() as u64) as usize].clone()
        };
        let answer = match random.roll(5) {
            0 | 1 => {
                let body = json!({"contractId": "payg", "labels": {"site": format!("s{}", n % 3)}});
                client.ask(n, Method::POST, "/acme/access", Some(body)).await
            }
            _ if mine.is_empty() => continue,
            2 | 3 => {
                let status = ["SUSPENDED", "ACTIVE"][random.roll(2) as usize];
                let body = match random.roll(3) {
                    0 => json!({"labels": {"site": null}, "rotatePassword": true}),
                    _ => json!({"status": status}),
                };
                let path = format!("/acme/access/{}", some(&mut random, &mine));
                client.ask(n, Method::PATCH, &path, Some(body)).await
            }
            _ => {
                let ids: Vec<Value> = (0..10).map(|_| some(&mut random, &mine).into()).collect();
                let ids: std::collections::BTreeSet<String> =
                    ids.iter().map(|it| it.as_str().unwrap().to_owned()).collect();
                let status = ["SUSPENDED", "ACTIVE"][random.roll(2) as usize];
                let body = json!({"operationType": "update", "accessesIdList": ids, "operationBody": {"status": status}});
                client.ask(n, Method::POST, "/acme/access/batchUpdate", Some(body)).await
            }
        };
        let Some(answer) = answer else { continue };
        if answer.status == 201 {
            mine.push(answer.body["id"].as_str().unwrap().to_owned());
        }
        assert!(answer.status < 500 || answer.status == 503, "{}", answer.body);
        n_done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads every page of the list while others write; the copy, and the number from which it follows the events.
async fn read_pages(client: &Client) -> (Copy, u64) {
    let (mut copy, mut first_number) = (Copy::default(), None);
    for page in 1_u64.. {
        let path = format!("/acme/access?pageSize=20&pageNumber={page}");
        let answer = client.ask_until(&path).await;
        let number = answer.event_number.expect("a list has the number of an event");
        let first_number = *first_number.get_or_insert(number);
        answer.body.as_array().unwrap().iter().for_each(|access| copy.put(access));
        if page * 20 >= answer.total.unwrap() {
            return (copy, first_number);
        }
    }
    unreachable!("a list has an end")
}

/// Settings of servers that send messages to subscribers on this machine, and soon again.
const SETTINGS: [(&str, &str); 3] = [
    ("EVENTS__CALLBACK_NETWORKS", "127.0.0.0/8"),
    ("EVENTS__CALLBACK_TIMEOUT", "500ms"),
    ("EVENTS__CALLBACK_RETRY_FOR", "60s"),
];

/// A subscriber that refuses a third of its messages, in several ways, but none more than three times.
async fn unwilling(seed: u64) -> Subscriber {
    let mut random = SeededRandom(seed);
    let mut refusals = BTreeMap::<String, u32>::new();
    Subscriber::start(move |message| {
        let status = match random.roll(12) {
            0 => 400,
            1 => 500,
            2 => 503,
            3 => 0,
            _ => return 204,
        };
        let n = refusals.entry(message.header("webhook-id").to_owned()).or_default();
        *n += 1;
        if *n > 3 { 204 } else { status }
    })
    .await
}

/// Whether an event is about one of some accesses: an eighth of them.
fn is_unwanted(event: &Value) -> bool {
    let id = event["event"]["access"]["id"].as_str();
    id.is_some_and(|id| id.ends_with(['0', '1']))
}

/// A subscriber that refuses the events of some accesses for ever.
async fn stubborn() -> Subscriber {
    Subscriber::start(|message| if is_unwanted(&message.json()) { 400 } else { 204 }).await
}

/// The events that the stubborn subscriber refuses become dead letters, which it gets once it takes them.
async fn check_dead_letters(kind: &str, client: &Client, hub: &str, events: &[Value]) -> u64 {
    let path = format!("/acme/hub/{hub}/deadLetter?pageSize=1000");
    let letters = client.ask_until(&path).await.body;
    let dead: Vec<&Value> =
        letters.as_array().unwrap().iter().map(|it| &it["eventNumber"]).collect();
    let unwanted: Vec<&Value> =
        events.iter().filter(|it| is_unwanted(it)).map(|it| &it["x-number"]).collect();
    assert!(!unwanted.is_empty(), "{kind}");
    assert_eq!(dead, unwanted, "{kind}: what was refused for ever is dead letters, and only that");
    unwanted.len() as u64
}

async fn subscribe(client: &Client, subscriber: &Subscriber, query: &str) -> String {
    let body = json!({"callback": subscriber.url(), "query": query});
    let answer = client.ask(0, Method::POST, "/acme/hub", Some(body)).await.unwrap();
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["id"].as_str().unwrap().to_owned()
}

/// Events in messages that the subscriber has taken, in the order of their first delivery.
fn taken(messages: &[Message]) -> Vec<Value> {
    let mut seen = std::collections::BTreeSet::new();
    let taken = messages.iter().filter(|it| it.status == 204).map(Message::json);
    let events = taken.flat_map(|it| it.as_array().cloned().unwrap_or_else(|| vec![it]));
    events.filter(|it| seen.insert(it["x-number"].as_u64())).collect()
}

/// Checks that the subscriber has got every event, those of each access and Task in order.
fn check_deliveries(kind: &str, events: &[Value], mut got: Vec<Value>, in_order: bool) {
    let mut last = BTreeMap::new();
    for event in &got {
        let object = &event["event"];
        let subject =
            object.get("access").or_else(|| object.get("task")).map(|it| it["id"].to_string());
        let number = event["x-number"].as_u64();
        let before = subject.and_then(|it| last.insert(it, number));
        assert!(before.flatten() < number, "{kind}: {number:?} came after {before:?}");
    }
    let numbers = |events: &[Value]| -> Vec<u64> {
        events.iter().filter_map(|it| it["x-number"].as_u64()).collect()
    };
    if !in_order {
        got.sort_by_key(|it| it["x-number"].as_u64());
    }
    assert_eq!(
        numbers(&got),
        numbers(events),
        "{kind}: the subscriber's events are those of the feed"
    );
    for (event, got) in events.iter().zip(&got) {
        assert_eq!((&event["eventId"], &event["eventTime"]), (&got["eventId"], &got["eventTime"]));
    }
}

async fn follow_to_rest(setup: Setup) {
    let kind = setup.kind;
    let n_servers = if setup.database_url.is_some() { 2 } else { 1 };
    let mut servers: Vec<Server> = (0..n_servers).map(|_| setup.serve_set(&SETTINGS)).collect();
    let urls = Arc::new(Mutex::new(servers.iter().map(|it| it.url.clone()).collect()));
    let token = setup.token("*", "access:read access:write event:read event:write");
    let client = Client { urls, http: servers[0].client.clone(), token };
    let mut random = SeededRandom::from_entropy(kind);
    let (one, many) = (unwilling(random.roll(1000)).await, unwilling(random.roll(1000)).await);
    let never = stubborn().await;
    let hubs = [subscribe(&client, &one, "").await, subscribe(&client, &many, "batch=50").await];
    let stubborn_hub = subscribe(&client, &never, "").await;
    let (n_done, is_over) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
    let writers: Vec<_> = (0..WRITERS)
        .map(|n| tokio::spawn(write(client.clone(), n, Arc::clone(&n_done), Arc::clone(&is_over))))
        .collect();
    let mut copies = Vec::new();
    for n in 0..n_kills() {
        let wait = Wait::new(format!("{kind}: changes before kill {n}"));
        let enough = n_done.load(Ordering::Relaxed) + CHANGES / 2 + random.roll(CHANGES);
        if n == 0 {
            while n_done.load(Ordering::Relaxed) < enough {
                tokio::task::yield_now().await;
                wait.check_limit();
            }
        }
        // A copy is made while others write, and perhaps over a kill.
        let reader = client.clone();
        let reading = tokio::spawn(async move { read_pages(&reader).await });
        while n_done.load(Ordering::Relaxed) < enough {
            tokio::task::yield_now().await;
            wait.check_limit();
        }
        let which = random.roll(servers.len() as u64) as usize;
        servers.remove(which).kill();
        servers.insert(which, setup.serve_set(&SETTINGS));
        *client.urls.lock() = servers.iter().map(|it| it.url.clone()).collect();
        copies.push(reading.await.unwrap());
    }
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    let wait = Wait::new(format!("{kind}: all Tasks have ended"));
    while servers[0]
        .all("/acme/access/batch")
        .await
        .iter()
        .any(|task| ["ACKNOWLEDGED", "IN_PROGRESS"].contains(&task["state"].as_str().unwrap()))
    {
        wait.check_limit();
    }
    let mut list = Copy::default();
    servers[0].all("/acme/access").await.iter().for_each(|access| list.put(access));
    assert!(!list.0.is_empty(), "{kind}");

    // All events, in pages of any size: none is missing, and each copy that follows them equals the list in the end.
    let (mut events, wait) = (Vec::new(), Wait::new(format!("{kind}: the copies equal the list")));
    loop {
        let path = format!("/acme/event?after={}&pageSize={}", events.len(), 1 + random.roll(300));
        let page = client.ask_until(&path).await;
        let more = page.body.as_array().unwrap();
        for (number, event) in (events.len() as u64 + 1..).zip(more) {
            assert_eq!(event["x-number"], number, "{kind}");
        }
        events.extend(more.iter().cloned());
        if !more.is_empty() {
            continue;
        }
        let mut from_all = Copy::default();
        events.iter().for_each(|event| from_all.apply(event));
        if from_all.0 == list.0 {
            break;
        }
        wait.check_limit();
    }
    let ids: std::collections::BTreeSet<&str> =
        events.iter().map(|event| event["eventId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), events.len(), "{kind}: an identifier came twice");
    for (mut copy, number) in copies {
        events[number as usize..].iter().for_each(|event| copy.apply(event));
        assert_eq!(copy.0, list.0, "{kind}: a copy behind event {number}");
    }
    for (hub, subscriber) in hubs.iter().zip([&one, &many]) {
        let wait = Wait::new(format!("{kind}: the subscriber has every event"));
        loop {
            let hub = client.ask_until(&format!("/acme/hub/{hub}")).await.body;
            assert_eq!(hub["deadLetters"], 0, "{kind}: {hub}");
            if hub["position"] == events.len() && hub["waiting"] == 0 {
                break;
            }
            wait.check_limit();
        }
        check_deliveries(kind, &events, taken(&subscriber.messages()), hub == &hubs[1]);
    }
    let at_rest = async |n_dead: Option<u64>| {
        let wait = Wait::new(format!("{kind}: the stubborn subscriber's hub is at rest"));
        loop {
            let hub = client.ask_until(&format!("/acme/hub/{stubborn_hub}")).await.body;
            let is_at_end = hub["position"] == events.len() && hub["waiting"] == 0;
            if is_at_end && n_dead.is_none_or(|n| hub["deadLetters"] == n) {
                return;
            }
            wait.check_limit();
        }
    };
    at_rest(None).await;
    let n_dead = check_dead_letters(kind, &client, &stubborn_hub, &events).await;
    never.answer(|_| 204);
    let replay = format!("/acme/hub/{stubborn_hub}/replay");
    let replayed = client.ask(0, Method::POST, &replay, Some(json!({}))).await.unwrap();
    assert_eq!(replayed.body, json!({"replayed": n_dead}), "{kind}");
    at_rest(Some(0)).await;
    check_deliveries(kind, &events, taken(&never.messages()), false);
    let verified = setup.run(&["audit", "verify"]);
    assert!(verified.status.success(), "{kind}: {}", printed(&verified));
    record(
        &format!(
            "{kind}: `kill -9` while copies of the accesses follow the events, and subscribers fail"
        ),
        n_kills() as usize,
        "no event is missing, each copy equals the list, and subscribers have the events in order",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_that_follow_the_events_equal_the_list_after_kills_on_sqlite() {
    follow_to_rest(Setup::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_that_follow_the_events_equal_the_list_after_kills_on_postgres() {
    follow_to_rest(Setup::postgres("followed_copy").await).await;
}
