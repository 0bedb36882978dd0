//! Events as a stream.

use gatehouse_core::rights::Scope;
use gatehouse_store::JournalKind;
use http::{Response, StatusCode};
use serde_json::json;
use std::collections::BTreeSet;

use super::*;
use crate::http::AnswerBody;

const STREAM: (&str, &str) = ("accept", "text/event-stream");

/// A client that follows a stream.
struct Reader {
    body: AnswerBody,
    text: String,
}

impl Reader {
    fn new(response: Response<AnswerBody>) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), text: String::new() }
    }

    /// The next block, or `None` when the stream has ended.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let frame = self.body.frame().await?;
            let bytes = frame.expect("a stream has no other end").into_data().unwrap();
            self.text += std::str::from_utf8(&bytes).unwrap();
        }
    }

    async fn event(&mut self) -> Value {
        let block = self.block().await.expect("another event");
        let lines: Vec<&str> = block.lines().collect();
        let [id, event_type, data] = lines[..] else { panic!("no event: {block}") };
        let event: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(id, format!("id: {}", event["x-number"]));
        assert_eq!(event_type, format!("event: {}", event["eventType"].as_str().unwrap()));
        event
    }

    /// Numbers of the next events.
    async fn numbers(&mut self, n: usize) -> Vec<u64> {
        let mut numbers = Vec::new();
        for _ in 0..n {
            numbers.push(self.event().await["x-number"].as_u64().unwrap());
        }
        numbers
    }

    /// Reads to the end; returns the number of events.
    async fn rest(mut self) -> usize {
        let mut n = 0;
        while let Some(block) = self.block().await {
            n += usize::from(block.contains("\ndata: "));
        }
        n
    }
}

impl Gatehouse {
    /// Wakes streams as a running server does, until the guard is dropped.
    fn watch(&self) -> impl Drop + use<> {
        let (app, stopping) = (self.gate.server.app.clone(), CancellationToken::new());
        let guard = stopping.clone().drop_guard();
        tokio::spawn(async move { app.event_watch.run(&app.store, &stopping).await });
        guard
    }

    async fn open_stream(&self, path: &str, headers: Headers<'_>) -> Response<AnswerBody> {
        self.open_as(&self.token, path, headers).await
    }

    async fn open_as(&self, token: &str, path: &str, headers: Headers<'_>) -> Response<AnswerBody> {
        let bearer = format!("Bearer {token}");
        let mut all = vec![STREAM, ("authorization", bearer.as_str())];
        all.extend(headers);
        let request = request("GET", path, &all, b"");
        handle(&TaskTracker::new(), self.gate.clone(), PLAIN, connected(), (), request).await
    }

    async fn follow(&self, path: &str) -> Reader {
        Reader::new(self.open_stream(path, &[]).await)
    }

    async fn number_events(&self) {
        while self.gate.server.app.number_events().await.unwrap() {}
    }

    async fn create_named(&self, contract: &str, name: &str) {
        self.create(&json!({"contractId": contract, "username": name}).to_string()).await;
        self.number_events().await;
    }

    async fn until_streams(&self, n: u64) {
        let line = format!("gatehouse_event_streams {n}\n");
        while !self.gate.metrics().render().contains(&line) {
            tokio::task::yield_now().await;
        }
    }

    fn follower_token(&self, lifetime_seconds: i64) -> String {
        let grant = Grant {
            subject: "follower".into(),
            tenants: vec!["acme".into()],
            scopes: BTreeSet::from([Scope::EventRead]),
            lifetime_seconds,
        };
        self.gate.auth().issue(&grant, self.clock.now()).text
    }
}

#[tokio::test]
async fn a_stream_has_the_events_of_the_list_and_those_that_follow() {
    for gate in Gatehouse::on_each("event_stream").await {
        let _watch = gate.watch();
        gate.create_named("payg", "ann").await;
        gate.create_named("other", "line\\n\u{2028}bob").await;
        let response = gate.open_stream("/acme/event", &[("accept-encoding", "gzip")]).await;
        let header = |name: &str| response.headers().get(name).map(|it| it.to_str().unwrap());
        assert_eq!(header("cache-control"), Some("no-store"));
        assert_eq!(header("x-accel-buffering"), Some("no"));
        assert_eq!(header("vary"), Some("Accept"));
        assert_eq!((header("content-encoding"), header("content-length")), (None, None));
        let mut reader = Reader::new(response);
        let mut events = vec![reader.event().await, reader.event().await];
        gate.until_streams(1).await;
        gate.create_named("payg", "cid").await;
        events.push(reader.event().await);
        // Numbered by another server, which wakes nothing here.
        gate.create(r#"{"contractId": "payg", "username": "dan"}"#).await;
        let app = &gate.gate.server.app;
        app.store.number_events(app.chain_key()).await.unwrap();
        events.push(reader.event().await);
        let list = gate.get("/acme/event").await;
        assert_eq!(list.header("vary"), Some("Accept"));
        assert_eq!(Value::from(events), list.json(), "{}", gate.kind);
        drop(reader);
        gate.until_streams(0).await;
    }
}

#[tokio::test]
async fn a_stream_begins_behind_the_position_of_its_client() {
    for gate in Gatehouse::on_each("event_stream_position").await {
        let _watch = gate.watch();
        for (contract, name) in [("payg", "ann"), ("other", "bob"), ("payg", "cid")] {
            gate.create_named(contract, name).await;
        }
        for (path, last_id, expected) in [
            ("/acme/event?after=0", None, vec![1, 2, 3]),
            ("/acme/event?after=2", None, vec![3]),
            ("/acme/event?after=0", Some("2"), vec![3]),
            ("/acme/event?after=last", Some("1"), vec![2, 3]),
            ("/acme/event?contractId=payg", None, vec![1, 3]),
            ("/acme/event?eventType=AccessCreateEvent&contractId=other", None, vec![2]),
        ] {
            let headers: Vec<_> = last_id.map(|it| ("last-event-id", it)).into_iter().collect();
            let mut reader = Reader::new(gate.open_stream(path, &headers).await);
            assert_eq!(reader.numbers(expected.len()).await, expected, "{} {path}", gate.kind);
        }
        // A client that has no event yet is told where it is, and begins there when it reconnects.
        let mut last = gate.follow("/acme/event?after=last").await;
        assert_eq!(last.block().await.unwrap(), "id: 3");
        let mut none = gate.follow("/acme/event?contractId=none").await;
        assert_eq!(none.block().await.unwrap(), "id: 3");
        gate.create_named("payg", "dan").await;
        assert_eq!(last.numbers(1).await, [4], "{}", gate.kind);
        let page = gate.get("/acme/event?after=last").await;
        assert_eq!((page.header("x-event-number"), page.json()), (Some("4"), json!([])));
    }
}

#[tokio::test]
async fn a_stream_that_cannot_begin_is_an_ordinary_problem() {
    for gate in Gatehouse::on_each("event_stream_problems").await {
        gate.create_named("payg", "ann").await;
        let ask = async |path: &str, headers: Headers<'_>| {
            gate.call("GET", path, &[&[STREAM], headers].concat(), "").await
        };
        for (path, last_id, name, reason) in [
            ("/acme/event", "x", "Last-Event-ID", "must be the number of an event, or 0, not `x`"),
            ("/acme/event", "", "Last-Event-ID", "must be the number of an event, or 0, not ``"),
            ("/acme/event?after=x", "1", "after", "must be the number of an event, 0, or `last`"),
        ] {
            let refused = ask(path, &[("last-event-id", last_id)]).await;
            let fault = refused.json()["invalidParams"][0].clone();
            assert_eq!((refused.status, &fault["name"]), (400, &json!(name)), "{}", gate.kind);
            assert!(fault["reason"].as_str().unwrap().starts_with(reason), "{fault}");
        }
        let twice = ask("/acme/event", &[("last-event-id", "1"), ("last-event-id", "1")]).await;
        assert_eq!(twice.faults(), (400, "Last-Event-ID".to_owned()));
        let ahead = ask("/acme/event?after=2", &[]).await;
        assert_eq!(ahead.problem(), (409, "No such event".to_owned()), "{}", gate.kind);
        assert_eq!(ask("/unknown/event", &[]).await.status, 404);
        let lacking = gate.token_for("acme", "access:read");
        assert_eq!(gate.open_as(&lacking, "/acme/event", &[]).await.status(), 403);
        // A page has no meaning here, so its size is treated like any unknown parameter.
        let sized = gate.open_stream("/acme/event?pageSize=x&after=1", &[]).await;
        assert_eq!(sized.headers()["x-ignored-params"], "pageSize");
        drop(sized);
        let strict = ask("/acme/event?pageSize=5", &[("prefer", "handling=strict")]).await;
        assert_eq!(strict.faults(), (400, "pageSize".to_owned()));
        let both = [("accept", "application/json, text/event-stream;q=0.9")];
        assert_eq!(gate.call("GET", "/acme/event", &both, "").await.json()[0]["x-number"], 1);
        assert_eq!(ask("/acme/access", &[]).await.status, 406);
        gate.delete_events(JournalKind::Changes, at("2027-04-01T12:00:00Z")).await;
        let gone = ask("/acme/event?after=0", &[]).await;
        assert_eq!(gone.problem(), (410, "Events deleted".to_owned()), "{}", gate.kind);
        // A response to HEAD has no stream.
        let headers = [STREAM];
        let head = gate.call("HEAD", "/acme/event", &headers, "").await;
        assert_eq!((head.status, head.header("content-type")), (200, Some(STREAM.1)));
        gate.until_streams(0).await;
    }
}

#[tokio::test]
async fn the_number_of_streams_is_limited_and_their_end_frees_their_places() {
    let mut config = Config::default();
    (config.events.streams, config.events.streams_of_tenant) = (3, 2);
    let gate = Gatehouse::with(config).await;
    let mut readers = vec![gate.follow("/acme/event").await, gate.follow("/acme/event").await];
    for n in 0..2 {
        let refused = gate.call("GET", "/acme/event", &[STREAM], "").await;
        assert_eq!(refused.status_and("retry-after"), (429, Some("5")));
        assert_eq!(refused.problem().1, "Too many streams");
        assert!(refused.json()["detail"].as_str().unwrap().starts_with("2 streams of the tenant"));
        assert_eq!(gate.get("/acme/event").await.status, 200, "a list needs no place");
        if n == 0 {
            readers.push(gate.follow("/rival/event").await);
        }
    }
    let busy = gate.call("GET", "/rival/event", &[STREAM], "").await;
    assert_eq!(busy.status_and("retry-after"), (503, Some("5")));
    readers.clear();
    gate.until_streams(0).await;
    // A request that fails keeps no place.
    for _ in 0..3 {
        assert_eq!(gate.open_stream("/acme/event?after=9", &[]).await.status(), 409);
    }
    readers.push(gate.follow("/acme/event").await);
}

#[tokio::test]
async fn a_silent_stream_says_that_it_lives_and_how_far_it_has_looked() {
    let gate = Gatehouse::new().await;
    gate.create_named("payg", "ann").await;
    let mut reader = gate.follow("/acme/event?contractId=other").await;
    assert_eq!(reader.block().await.unwrap(), "id: 1");
    gate.create_named("payg", "bob").await;
    gate.until_streams(1).await;
    // Nothing but the stream and its watch goes on from here, and waits without time.
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let _watch = gate.watch();
    assert_eq!(reader.block().await.unwrap(), "id: 2");
    assert!(began.elapsed().as_secs() <= 16, "{:?}", began.elapsed());
    assert_eq!(reader.block().await.unwrap(), ": heartbeat");
    assert_eq!(reader.block().await.unwrap(), ": heartbeat");
    assert_eq!(began.elapsed().as_secs() / 15, 3, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_stream_ends_with_the_rights_of_its_token() {
    for gate in Gatehouse::on_each("event_stream_rights").await {
        let _watch = gate.watch();
        let body = r#"{"scope": "event:read"}"#;
        let client = gate.post("/-/admin/tenants/acme/clients", body).await.json();
        let [id, secret] = ["clientId", "clientSecret"].map(|it| client[it].as_str().unwrap());
        let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let token = gate.send("POST", "/-/oauth2/token", &headers, form.as_bytes()).await.json();
        let token = token["access_token"].as_str().unwrap();
        let of_client = Reader::new(gate.open_as(token, "/acme/event", &[]).await);
        let short = Reader::new(gate.open_as(&gate.follower_token(60), "/acme/event", &[]).await);
        let mut others = gate.follow("/acme/event?after=0").await;
        assert_eq!(gate.delete(&format!("/-/admin/tenants/acme/clients/{id}")).await.status, 204);
        assert_eq!(of_client.rest().await, 0, "{}: its client was deleted", gate.kind);
        gate.clock.set(gate.clock.now().plus_milliseconds(200_000));
        gate.create_named("payg", "ann").await;
        assert_eq!(short.rest().await, 0, "{}: it has expired", gate.kind);
        others.block().await.unwrap();
        assert_eq!(others.numbers(1).await, [1]);
        drop(others);
        assert_eq!(gate.put("/-/admin/tenants/short", "{}").await.status, 201);
        let of_tenant = gate.follow("/short/event").await;
        assert_eq!(gate.delete("/-/admin/tenants/short").await.status, 204);
        assert_eq!(of_tenant.rest().await, 0, "{}: the tenant was deleted", gate.kind);
        gate.until_streams(0).await;
    }
}

#[tokio::test]
async fn a_stopping_server_ends_its_streams_cleanly() {
    let gate = Gatehouse::new().await;
    let requests = TaskTracker::new();
    let bearer = format!("Bearer {}", gate.token);
    let headers = [STREAM, ("authorization", bearer.as_str())];
    let request = request("GET", "/acme/event", &headers, b"");
    let response = handle(&requests, gate.gate.clone(), PLAIN, connected(), (), request).await;
    let mut reader = Reader::new(response);
    assert_eq!(reader.block().await.unwrap(), "id: 0");
    gate.gate.begin_to_stop();
    requests.close();
    requests.wait().await;
    assert_eq!(reader.block().await, None);
    assert_eq!(gate.follow("/acme/event").await.rest().await, 0, "one that comes late");
}

#[tokio::test]
async fn a_stream_ends_when_its_client_closes_the_connection() {
    let gate = Gatehouse::new().await;
    let closed = CancellationToken::new();
    let bearer = format!("Bearer {}", gate.token);
    let headers = [STREAM, ("authorization", bearer.as_str())];
    let request = request("GET", "/acme/event", &headers, b"");
    let connection: Arc<dyn Disconnection> = Arc::new(closed.clone());
    let (requests, api) = (TaskTracker::new(), gate.gate.clone());
    let _response = handle(&requests, api, PLAIN, connection, (), request).await;
    gate.until_streams(1).await;
    // The body isn't dropped: a connection may learn of the close only when it writes.
    closed.cancel();
    gate.until_streams(0).await;
}

#[tokio::test]
async fn a_slow_reader_misses_nothing_and_is_told_when_it_is_too_late() {
    for gate in Gatehouse::on_each("event_stream_slow").await {
        let _watch = gate.watch();
        let batch = json!({"contractId": "payg", "numberOfAccesses": 1500});
        gate.accept("/acme/access/batch", batch).await;
        gate.work().await;
        gate.number_events().await;
        let n_events = gate.get("/acme/event?after=last").await;
        let n_events: usize = n_events.header("x-event-number").unwrap().parse().unwrap();
        assert_eq!(n_events, 1500 + 3);
        let mut late = gate.follow("/acme/event").await;
        assert_eq!(gate.follow("/acme/event").await.numbers(n_events).await.last(), Some(&1503));
        assert_eq!(late.numbers(1).await, [1]);
        gate.delete_events(JournalKind::Changes, at("2027-04-01T12:00:00Z")).await;
        // It gets what was read for it before, and when it reconnects, 410.
        let rest = late.rest().await;
        assert!(rest < 1200, "{}: {rest}", gate.kind);
        let gone =
            gate.open_stream("/acme/event", &[("last-event-id", &(rest + 1).to_string())]).await;
        assert_eq!(gone.status(), StatusCode::GONE, "{}", gate.kind);
    }
}
