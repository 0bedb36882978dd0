//! Tests of the API: whole responses, on both stores, without a network.

mod access;
mod access_filter;
mod account;
mod audit;
mod bad_input;
mod batch_body;
mod caller;
mod client;
mod console;
mod contract;
mod coverage;
mod docs;
mod event;
mod event_stream;
mod gateway;
mod hook;
mod hub;
mod idempotency;
mod label;
mod list;
mod listeners;
mod metrics;
mod negotiation;
mod openapi;
mod original_tools;
mod password_hash;
mod platform;
mod product;
mod public;
mod rate;
mod schema;
mod search;
mod sign_in;
pub(crate) mod stream;
mod summary;
mod task;
mod tenant;
mod trace;
mod verify;
mod yardstick;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_connectors::{CallbackClient, Platforms};
use gatehouse_core::Timestamp;
use gatehouse_core::rights::scopes_from_words;
use gatehouse_store::{Clock, Store};
use gatehouse_testing::{FaultyLink, empty_schema};
use gatehouse_vault::{Disconnection, MasterKey, TokenKeys, Vault};
use http::response::Parts;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::route::route_table::RouteTable;
use super::{ConnectionInfo, HttpApi, ListenerKind, OptionalFeatures, handle};
use crate::app::App;
use crate::auth::{Auth, Grant, Issuer};
use crate::config::Config;
use crate::http::route::resource::Resource;

const ALL_SCOPES: &str =
    "access:read access:write access:verify product:read event:read event:write admin";

/// The connection of most requests.
const PLAIN: ConnectionInfo = ConnectionInfo {
    listener: ListenerKind::Main,
    encrypted: false,
    peer: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)),
};

/// A client that never disconnects.
fn connected() -> Arc<dyn Disconnection> {
    Arc::new(CancellationToken::new())
}

/// A server without a network, whose clock the test sets. Tenant `acme` has the contracts `payg`, `pre` (prepaid, 30
/// days) and `other` (another offering); tenant `rival` has `payg` too.
pub(crate) struct Gatehouse {
    kind: &'static str,
    pub(crate) gate: HttpApi,
    pub(crate) clock: Clock,
    pub(crate) token: String,
    _dir: Option<tempfile::TempDir>,
}

/// Names and values.
type Headers<'a> = &'a [(&'a str, &'a str)];

/// A response, read to its end.
struct TestResponse {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Gatehouse {
    /// A server on the embedded store.
    async fn new() -> Self {
        Self::with(Config::default()).await
    }

    async fn with(config: Config) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::by_hand(at("2027-03-01T12:00:00Z"));
        let store = Store::open_sqlite(&dir.path().join("test.db"), clock.clone()).await.unwrap();
        Self::on("SQLite", store, clock, config, Some(dir)).await
    }

    /// A server on each store. `test` names the schema in PostgreSQL.
    async fn on_each(test: &str) -> [Self; 2] {
        let url = empty_schema(&format!("http_{test}")).await.parse().unwrap();
        let clock = Clock::by_hand(at("2027-03-01T12:00:00Z"));
        let store = Store::open_postgres(&url, clock.clone()).await.unwrap();
        [Self::new().await, Self::on("PostgreSQL", store, clock, Config::default(), None).await]
    }

    async fn on(
        kind: &'static str,
        store: Store,
        clock: Clock,
        mut config: Config,
        dir: Option<tempfile::TempDir>,
    ) -> Self {
        // The tests' platforms and subscribers run on this machine.
        config.platforms.allowed_networks.push("127.0.0.0/8".parse().unwrap());
        config.events.callback_networks.push("127.0.0.0/8".parse().unwrap());
        let vault = Arc::new(Vault::new(&MasterKey::generate().into()));
        let platforms =
            Arc::new(Platforms::new(config.platforms.options(Default::default())).unwrap());
        let tasks = Config::default().tasks;
        let callbacks = CallbackClient::new(config.events.callback_rules(), 4).unwrap();
        let app = App::new(store, vault, clock.clone(), tasks, platforms)
            .with_callbacks(callbacks)
            .with_failed_checks(config.limits.failed_checks);
        assert!(app.store.begin_journals(app.chain_key()).await.unwrap());
        let auth = Auth::new(TokenKeys::generate(), config.auth.audience.clone())
            .trusting(Issuer::all(&config.auth).unwrap())
            .with_revocations(app.revocations.clone(), app.store.clone());
        let gate = HttpApi::new(app, auth, &config, OptionalFeatures::default());
        let mut gatehouse = Self { kind, gate, clock, token: String::new(), _dir: dir };
        gatehouse.token = gatehouse.token_for("*", ALL_SCOPES);
        gatehouse.set_up(config.base_path.as_str()).await;
        gatehouse
    }

    /// Another server on the same store.
    fn beside(&self, app: App) -> Self {
        let (config, clock) = (Config::default(), app.clock.clone());
        let auth = Auth::new(TokenKeys::generate(), config.auth.audience.clone());
        let gate = HttpApi::new(app, auth, &config, OptionalFeatures::default());
        let mut beside = Self { kind: self.kind, gate, clock, token: String::new(), _dir: None };
        beside.token = beside.token_for("*", ALL_SCOPES);
        beside
    }

    /// Replaces the routes.
    fn with_routes(mut self, resources: Vec<Resource>) -> Self {
        let routes = Arc::new(RouteTable::of(resources));
        self.gate = HttpApi { routes, ..self.gate };
        self
    }

    async fn set_up(&self, base: &str) {
        let by_use = r#"{"productOfferingId": "po-use", "billingModel": "PAY_PER_USE"}"#;
        let prepaid = r#"{"productOfferingId": "po-month", "billingModel": "PREPAID",
                          "validityPeriod": "P30D"}"#;
        for (path, body) in [
            ("acme", r#"{"timeZone": "Europe/Berlin"}"#),
            ("acme/contracts/payg", by_use),
            ("acme/contracts/pre", prepaid),
            ("acme/contracts/other", &by_use.replace("po-use", "po-other")),
            ("rival", "{}"),
            ("rival/contracts/payg", by_use),
        ] {
            let response = self.put(&format!("{base}/-/admin/tenants/{path}"), body).await;
            assert_eq!(response.status, 201, "{path}: {}", response.body);
        }
    }

    fn token_for(&self, tenant: &str, scopes: &str) -> String {
        self.token_for_several(&[tenant], scopes)
    }

    fn token_for_several(&self, tenants: &[&str], scopes: &str) -> String {
        let grant = Grant {
            subject: "tester".into(),
            tenants: tenants.iter().map(|it| (*it).to_owned()).collect(),
            scopes: scopes_from_words(scopes),
            lifetime_seconds: 100 * 365 * 86_400,
        };
        self.gate.auth().issue(&grant, self.clock.now()).text
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: Headers<'_>,
        body: &[u8],
    ) -> TestResponse {
        let request = request(method, path, headers, body);
        let (parts, body) = self.respond(PLAIN, request).await;
        TestResponse {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// The response to a request on this connection.
    async fn respond(
        &self,
        connection: ConnectionInfo,
        request: Request<Full<Bytes>>,
    ) -> (Parts, Bytes) {
        let response =
            handle(&TaskTracker::new(), self.gate.clone(), connection, connected(), (), request)
                .await;
        let (parts, body) = response.into_parts();
        (parts, body.collect().await.unwrap().to_bytes())
    }

    /// Sends a request without a token; the response may be binary.
    async fn fetch(&self, method: &str, path: &str, headers: Headers<'_>) -> (Parts, Bytes) {
        self.respond(PLAIN, request(method, path, headers, b"")).await
    }

    /// Sends a request with a token for everything.
    async fn call(
        &self,
        method: &str,
        path: &str,
        headers: Headers<'_>,
        body: &str,
    ) -> TestResponse {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![("authorization", bearer.as_str())];
        all.extend(headers);
        self.send(method, path, &all, body.as_bytes()).await
    }

    async fn get(&self, path: &str) -> TestResponse {
        self.call("GET", path, &[], "").await
    }

    async fn delete(&self, path: &str) -> TestResponse {
        self.call("DELETE", path, &[], "").await
    }

    async fn post(&self, path: &str, body: &str) -> TestResponse {
        self.call("POST", path, &[("content-type", "application/json")], body).await
    }

    async fn put(&self, path: &str, body: &str) -> TestResponse {
        self.call("PUT", path, &[("content-type", "application/json")], body).await
    }

    /// A PUT with another token.
    async fn put_with(&self, token: &str, path: &str, body: &str) -> TestResponse {
        let token = format!("Bearer {token}");
        let headers = [("content-type", "application/json"), ("authorization", &token)];
        self.send("PUT", path, &headers, body.as_bytes()).await
    }

    async fn patch(&self, path: &str, body: &str) -> TestResponse {
        self.call("PATCH", path, &[("content-type", "application/merge-patch+json")], body).await
    }

    /// Creates an access; returns its path and the response's body.
    async fn create(&self, body: &str) -> (String, Value) {
        let response = self.post("/acme/access", body).await;
        assert_eq!(response.status, 201, "{}", response.body);
        let json = response.json();
        (format!("/acme/access/{}", json["id"].as_str().unwrap()), json)
    }

    async fn verify(&self, username: &str, password: &str) -> TestResponse {
        let body = serde_json::json!({"username": username, "password": password}).to_string();
        self.post("/acme/verify", &body).await
    }
}

fn request(method: &str, path: &str, headers: Headers<'_>, body: &[u8]) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path).header("host", "gate.example");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(Bytes::copy_from_slice(body))).unwrap()
}

impl TestResponse {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Status and title.
    fn problem(&self) -> (u16, String) {
        (self.status, self.json()["title"].as_str().unwrap_or_default().to_owned())
    }

    /// Status and names of the faulty fields, joined by spaces.
    fn faults(&self) -> (u16, String) {
        (self.status, self.invalid().join(" "))
    }

    fn status_and(&self, header: &str) -> (u16, Option<&str>) {
        (self.status, self.header(header))
    }

    /// Names of the faulty fields.
    fn invalid(&self) -> Vec<String> {
        let json = self.json();
        let params = json["invalidParams"].as_array().cloned().unwrap_or_default();
        params.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The whole response as text, without random values.
    fn snapshot(&self) -> String {
        let mut text = format!("{}\n", self.status);
        for (name, value) in &self.headers {
            text += &format!("{name}: {}\n", value.to_str().unwrap());
        }
        if !self.body.is_empty() {
            text += &format!("\n{}\n", serde_json::to_string_pretty(&self.json()).unwrap());
        }
        redacted(text, self)
    }
}

fn redacted(mut text: String, response: &TestResponse) -> String {
    if let Some(id) = response.header("x-correlation-id") {
        text = text.replace(id, "<correlation>");
    }
    if let Ok(json) = serde_json::from_str::<Value>(&response.body) {
        for (field, shown) in [("id", "<id>"), ("accessId", "<id>"), ("password", "<password>")] {
            if let Some(value) = json[field].as_str().filter(|value| value.len() >= 24) {
                text = text.replace(value, shown);
            }
        }
        if let Some(name) = json["username"].as_str().filter(|name| name.starts_with("u-")) {
            text = text.replace(name, "<username>");
        }
    }
    text
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A body that panics when it is read.
struct PanickingBody;

impl http_body::Body for PanickingBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        panic!("a defect")
    }
}
