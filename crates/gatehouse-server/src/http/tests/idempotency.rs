//! `Idempotency-Key`: a request takes effect once, however often the client sends it.

use futures_util::future::join_all;
use gatehouse_store::{Operation, RESPONSE_KEPT_MILLISECONDS, SecretKind, WorkKind};
use insta::assert_snapshot;

use super::*;

const ONE: &str = r#"{"contractId": "payg"}"#;

impl Gatehouse {
    async fn post_with_key(&self, path: &str, key: &str, body: &str) -> TestResponse {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        self.call("POST", path, &headers, body).await
    }

    async fn n_accesses(&self) -> String {
        self.get("/acme/access?pageSize=1").await.header("x-total-count").unwrap().to_owned()
    }

    async fn n_tasks(&self) -> String {
        self.get("/acme/access/batch?pageSize=1").await.header("x-total-count").unwrap().to_owned()
    }

    async fn keep_up(&self) {
        while self.gate.server.app.run_upkeep_step().await.unwrap() {}
    }

    async fn has_stored_response(&self, key: &str) -> bool {
        let (store, acme) = (&self.gate.server.app.store, "acme".parse().unwrap());
        let secret = store.secret(&acme, SecretKind::Response, &format!("create {key}")).await;
        secret.unwrap().is_some()
    }
}

/// Everything that must be equal in a repeated response: all but the correlation ID.
fn without_correlation(response: &TestResponse) -> String {
    let mut headers = response.headers.clone();
    headers.remove("x-correlation-id");
    format!("{} {headers:?} {}", response.status, response.body)
}

fn assert_same(first: &TestResponse, again: &TestResponse, kind: &str) {
    assert_eq!(without_correlation(again), without_correlation(first), "{kind}");
}

#[tokio::test]
async fn a_repeated_creation_returns_the_first_response() {
    for gate in Gatehouse::on_each("idem_again").await {
        let chosen =
            r#"{"contractId": "pre", "username": "ann", "password": "é: 🛰", "deviceName": "d"}"#;
        for (key, body) in [("generated", ONE), ("chosen", chosen)] {
            let first = gate.post_with_key("/acme/access", key, body).await;
            assert_eq!(first.status, 201, "{}: {}", gate.kind, first.body);
            assert_eq!(first.header("cache-control"), Some("no-store"));
            let again = gate.post_with_key("/acme/access", key, body).await;
            assert_same(&first, &again, gate.kind);

            // Also after the access has changed.
            let path = format!("/acme/access/{}", first.json()["id"].as_str().unwrap());
            let changed = gate.patch(&path, r#"{"status": "SUSPENDED", "password": "new"}"#).await;
            assert_eq!(changed.status, 200);
            gate.patch(&path, r#"{"status": "TERMINATED"}"#).await;
            let again = gate.post_with_key("/acme/access", key, body).await;
            assert_same(&first, &again, gate.kind);
        }
        assert_eq!(gate.n_accesses().await, "2", "{}", gate.kind);
    }
}

#[tokio::test]
async fn a_key_with_another_body_is_a_conflict() {
    for gate in Gatehouse::on_each("idem_body").await {
        gate.post_with_key("/acme/access", "k", ONE).await;
        for other in [r#"{"contractId": "pre"}"#, r#"{"contractId":"payg"}"#] {
            let response = gate.post_with_key("/acme/access", "k", other).await;
            assert_eq!(response.status_and("retry-after"), (409, None), "{}", gate.kind);
            assert_eq!(response.json()["title"], "Idempotency key reused");
        }
        // Faults of the body come first.
        let response = gate.post_with_key("/acme/access", "k", r#"{"contract": "pre"}"#).await;
        assert_eq!(response.status, 400, "{}", gate.kind);
        assert_eq!(gate.n_accesses().await, "1", "{}", gate.kind);
    }
    let gate = Gatehouse::new().await;
    gate.post_with_key("/acme/access", "k 1", ONE).await;
    let response = gate.post_with_key("/acme/access", "k 1", r#"{"contractId": "pre"}"#).await;
    assert_snapshot!(response.snapshot(), @r#"
    409
    content-type: application/problem+json
    x-correlation-id: <correlation>
    content-length: 284

    {
      "type": "Conflict",
      "status": 409,
      "title": "Idempotency key reused",
      "detail": "the key `k 1` was used with another body in the last 24 hours; another request needs another key",
      "externalErrors": [],
      "relatedParty": [],
      "correlationId": "<correlation>",
      "@type": "problem"
    }
    "#);
}

#[tokio::test]
async fn keys_are_separate_per_tenant_and_operation() {
    for gate in Gatehouse::on_each("idem_apart").await {
        let first = gate.post_with_key("/acme/access", "k", ONE).await;
        let rival = gate.post_with_key("/rival/access", "k", ONE).await;
        assert_eq!((first.status, rival.status), (201, 201), "{}", gate.kind);
        assert_ne!(first.json()["id"], rival.json()["id"]);
        let id = first.json()["id"].as_str().unwrap().to_owned();
        let new = r#"{"contractId": "payg", "numberOfAccesses": 2}"#;
        let change = format!(
            r#"{{"operationType": "terminate", "operationBody": {{}}, "accessesIdList": ["{id}"]}}"#
        );
        for (path, body) in [("batch", new), ("batchUpdate", change.as_str())] {
            let response = gate.post_with_key(&format!("/acme/access/{path}"), "k", body).await;
            assert_eq!(response.status, 202, "{}: {}", gate.kind, response.body);
        }
        assert_eq!(gate.n_tasks().await, "2", "{}", gate.kind);
    }
}

#[tokio::test]
async fn a_failed_request_can_be_retried_with_its_key() {
    for gate in Gatehouse::on_each("idem_failed").await {
        let ann = r#"{"contractId": "late", "username": "ann"}"#;
        assert_eq!(gate.post_with_key("/acme/access", "k", ann).await.status, 422, "{}", gate.kind);
        gate.create(r#"{"contractId": "payg", "username": "ann"}"#).await;
        let late = r#"{"productOfferingId": "po-use", "billingModel": "PAY_PER_USE"}"#;
        gate.put("/-/admin/tenants/acme/contracts/late", late).await;
        let taken = gate.post_with_key("/acme/access", "k", ann).await;
        assert_eq!(taken.problem(), (409, "Username taken".into()));
        let bob = r#"{"contractId": "late", "username": "bob"}"#;
        let first = gate.post_with_key("/acme/access", "k", bob).await;
        assert_eq!(first.status, 201, "{}: {}", gate.kind, first.body);
        // The username that it took itself is no conflict.
        assert_same(&first, &gate.post_with_key("/acme/access", "k", bob).await, gate.kind);
    }
}

/// Asserts that of concurrent requests one took effect, and the others got its response or a conflict to retry.
fn assert_one(all: &[TestResponse], kind: &str) {
    let (done, refused): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.status != 409);
    for response in &done {
        assert_same(done[0], response, kind);
    }
    assert!([201, 202].contains(&done[0].status), "{kind}: {}", done[0].body);
    for response in refused {
        assert_eq!(response.json()["title"], "Request under way", "{kind}: {}", response.body);
        assert_eq!(response.header("retry-after"), Some("1"));
    }
}

#[tokio::test]
async fn a_repetition_in_flight_is_a_conflict_with_retry_after() {
    let gate = Gatehouse::new().await;
    let key = ("acme".parse().unwrap(), Operation::Create, "k".parse().unwrap());
    let first = gate.gate.server.in_flight.begin(key).unwrap();
    let second = gate.post_with_key("/acme/access", "k", ONE).await;
    assert_eq!(second.header("retry-after"), Some("1"));
    assert_one(&[second, gate.post_with_key("/acme/access", "l", ONE).await], gate.kind);
    drop(first);
    assert_eq!(gate.post_with_key("/acme/access", "k", ONE).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_repetitions_create_one_access() {
    for gate in Gatehouse::on_each("idem_many").await {
        let body = r#"{"contractId": "payg", "password": "slowly hashed"}"#;
        let all = (0..24).map(|_| gate.post_with_key("/acme/access", "k", body));
        assert_one(&join_all(all).await, gate.kind);
        assert_eq!(gate.n_accesses().await, "1", "{}", gate.kind);
        let new = r#"{"contractId": "payg", "numberOfAccesses": 2}"#;
        let all = (0..24).map(|_| gate.post_with_key("/acme/access/batch", "k", new));
        assert_one(&join_all(all).await, gate.kind);
        assert_eq!(gate.n_tasks().await, "1", "{}", gate.kind);
        assert!(gate.gate.server.in_flight.is_empty(), "{}: no key stays in flight", gate.kind);
    }
}

/// Two servers on one database.
async fn two_servers(test: &str) -> [Gatehouse; 2] {
    let url = empty_schema(&format!("http_{test}")).await.parse().unwrap();
    let clock = Clock::by_hand(at("2027-03-01T12:00:00Z"));
    let open = async || Store::open_postgres(&url, clock.clone()).await.unwrap();
    let first = Gatehouse::on("first", open().await, clock.clone(), Config::default(), None).await;
    let (vault, config) = (Arc::clone(&first.gate.server.app.vault), Config::default());
    let platforms = Arc::clone(&first.gate.server.app.platforms);
    let app = App::new(open().await, vault, clock.clone(), config.tasks.clone(), platforms);
    let auth = Auth::new(TokenKeys::generate(), config.auth.audience.clone());
    let gate = HttpApi::new(app, auth, &config, OptionalFeatures::default());
    let mut second = Gatehouse { kind: "second", gate, clock, token: String::new(), _dir: None };
    second.token = second.token_for("*", ALL_SCOPES);
    [first, second]
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_repetitions_on_two_servers_create_one_access() {
    let gates = two_servers("idem_two").await;
    for round in 0..10 {
        let key = format!("round {round}");
        let both = gates.iter().map(|gate| gate.post_with_key("/acme/access", &key, ONE));
        let responses = join_all(both).await;
        assert_same(&responses[0], &responses[1], &key);
        assert_eq!(responses[0].status, 201, "{}", responses[0].body);
        let new = r#"{"contractId": "payg", "numberOfAccesses": 2}"#;
        let both = gates.iter().map(|gate| gate.post_with_key("/acme/access/batch", &key, new));
        let responses = join_all(both).await;
        assert_same(&responses[0], &responses[1], &key);
        assert_eq!(responses[0].status, 202, "{}", responses[0].body);
    }
    assert_eq!(gates[1].n_accesses().await, "10");
    assert_eq!(gates[1].n_tasks().await, "10");
}

#[tokio::test]
async fn after_a_day_the_key_is_free_and_the_password_erased() {
    for gate in Gatehouse::on_each("idem_day").await {
        let first = gate.post_with_key("/acme/access", "k", ONE).await;
        gate.post_with_key("/acme/access", "l", ONE).await;
        let begun = gate.clock.now();
        gate.clock.set(begun.plus_milliseconds(RESPONSE_KEPT_MILLISECONDS - 1));
        gate.keep_up().await;
        assert_same(&first, &gate.post_with_key("/acme/access", "k", ONE).await, gate.kind);

        gate.clock.set(begun.plus_milliseconds(RESPONSE_KEPT_MILLISECONDS));
        let other = gate.post_with_key("/acme/access", "k", r#"{"contractId": "pre"}"#).await;
        assert_eq!(other.status, 201, "{}: {}", gate.kind, other.body);
        gate.keep_up().await;
        assert!(!gate.has_stored_response("l").await, "{}", gate.kind);
        let again = gate.post_with_key("/acme/access", "k", r#"{"contractId": "pre"}"#).await;
        assert_same(&other, &again, gate.kind);

        gate.clock.set(begun.plus_milliseconds(2 * RESPONSE_KEPT_MILLISECONDS));
        gate.keep_up().await;
        assert!(!gate.has_stored_response("k").await, "{}", gate.kind);
        let next_due =
            gate.gate.server.app.store.next_due(&[WorkKind::OldResponses]).await.unwrap();
        assert_eq!((next_due, gate.n_accesses().await.as_str()), (None, "3"), "{}", gate.kind);
    }
}

#[tokio::test]
async fn a_repeated_batch_is_one_task() {
    for gate in Gatehouse::on_each("idem_batch").await {
        let new = r#"{"contractId": "payg", "accesses": [{"username": "ann", "password": "p"}]}"#;
        let first = gate.post_with_key("/acme/access/batch", "k", new).await;
        assert_eq!(first.status, 202, "{}: {}", gate.kind, first.body);
        assert_same(&first, &gate.post_with_key("/acme/access/batch", "k", new).await, gate.kind);
        let other = gate.post_with_key("/acme/access/batch", "k", &new.replace("ann", "bob")).await;
        assert_eq!(other.json()["title"], "Idempotency key reused", "{}", gate.kind);
        let other_key = gate.post_with_key("/acme/access/batch", "another", new).await;
        assert_ne!(other_key.json()["id"], first.json()["id"], "{}", gate.kind);

        // The Task's later state doesn't change the response.
        let path = first.header("location").unwrap().replace("http://gate.example", "");
        assert_eq!(gate.delete(&path).await.status, 200, "{}", gate.kind);
        let again = gate.post_with_key("/acme/access/batch", "k", new).await;
        assert_eq!(again.json()["state"], "ACKNOWLEDGED");
        assert_same(&first, &again, gate.kind);
        assert_eq!(gate.n_tasks().await, "2", "{}", gate.kind);
    }
}

#[tokio::test]
async fn both_methods_of_a_batch_update_share_their_keys() {
    for gate in Gatehouse::on_each("idem_spellings").await {
        let (_, created) = gate.create(ONE).await;
        let id = created["id"].as_str().unwrap();
        // Long enough to be processed on a blocking thread.
        let ids = vec![format!("\"{id}\""); 2000].join(", ");
        let body = format!(
            r#"{{"operationType": "update", "operationBody": {{"status": "SUSPENDED", "password": "p"}},
                "accessesIdList": [{ids}]}}"#
        );
        let first = gate.post_with_key("/acme/access/batchUpdate", "k", &body).await;
        assert_eq!(first.status, 202, "{}: {}", gate.kind, first.body);
        let headers = [("content-type", "application/merge-patch+json"), ("idempotency-key", "k")];
        let again = gate.call("PATCH", "/acme/access/batch", &headers, &body).await;
        assert_same(&first, &again, gate.kind);
        assert_eq!(gate.n_tasks().await, "1", "{}", gate.kind);
    }
}

#[tokio::test]
async fn an_invalid_key_is_a_400() {
    let gate = Gatehouse::new().await;
    let longest = "x".repeat(255);
    assert_eq!(gate.post_with_key("/acme/access", &longest, ONE).await.status, 201);
    for bad in ["", &"x".repeat(256), "a\tb", " a", "é"] {
        for path in ["/acme/access", "/acme/access/batch", "/acme/access/batchUpdate"] {
            let response = gate.post_with_key(path, bad, ONE).await;
            assert_eq!(response.faults(), (400, "Idempotency-Key".into()), "{bad:?}");
        }
    }
    let twice =
        [("content-type", "application/json"), ("idempotency-key", "a"), ("idempotency-key", "a")];
    let response = gate.call("POST", "/acme/access", &twice, ONE).await;
    assert_eq!(response.faults(), (400, "Idempotency-Key".into()));
    assert_eq!(gate.n_accesses().await, "1");
    // A missing tenant comes before other faults.
    assert_eq!(gate.post_with_key("/nobody/access", "", ONE).await.status, 404);
    assert_eq!(gate.post_with_key("/nobody/access", "k", ONE).await.status, 404);
}
