//! Events at the message broker NATS, which is killed and started again, and asks who is there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::batch::Wait;
use super::process::*;
use super::tls::Pair;
use async_nats::ConnectOptions;
use async_nats::jetstream::{self, consumer, stream};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use futures_util::StreamExt;
use gatehouse_testing::{SeededRandom, record};
use nkeys::KeyPair;
use reqwest::Method;
use serde_json::{Value, json};

/// Accesses of the batch during which NATS is killed.
const ITEMS: u64 = 20_000;

const KILLS: u64 = 3;

/// A NATS server with JetStream, at the same address whenever it is started.
struct Nats {
    child: Option<Child>,
    address: String,
    config: PathBuf,
    options: ConnectOptions,
}

impl Nats {
    /// Starts a server with more of a configuration, for clients with these options.
    async fn start(setup: &Setup, more: &str, options: ConnectOptions) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        let (config, store) = (setup.path("nats.conf"), setup.path("jetstream"));
        let text = format!("listen: {address:?}\njetstream {{ store_dir: {store:?} }}\n{more}\n");
        std::fs::write(&config, text).unwrap();
        let mut nats = Self { child: None, address, config, options };
        nats.start_again();
        nats
    }

    fn start_again(&mut self) {
        let path = std::env::var("PATH").unwrap_or_default();
        let log = self.config.with_extension("log");
        let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
        let server = Command::new("nats-server")
            .env("PATH", format!("{path}:/usr/sbin"))
            .arg("--config")
            .arg(&self.config)
            .stdin(Stdio::null())
            .stderr(log)
            .spawn();
        self.child = Some(server.expect("these tests need nats-server: run `cargo xtask test`"));
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// A stream that takes all events, made if it isn't there.
    async fn stream(&self) -> stream::Stream {
        let wait = Wait::new("NATS takes a stream");
        loop {
            let config = stream::Config {
                name: "GATEHOUSE".to_owned(),
                subjects: vec!["gatehouse.>".to_owned()],
                duplicate_window: std::time::Duration::from_secs(3600),
                ..stream::Config::default()
            };
            if let Ok(client) = self.options.clone().connect(&self.address).await
                && let Ok(stream) = jetstream::new(client).get_or_create_stream(config).await
            {
                return stream;
            }
            wait.check_limit();
        }
    }

    /// Number of stored messages; `None` while the server isn't there.
    async fn count(stream: &mut stream::Stream) -> Option<u64> {
        stream.info().await.ok().map(|it| it.state.messages)
    }

    /// Every message of the stream: its subject, its identifier, and its event.
    async fn messages(&self, n: u64) -> Vec<(String, String, Value)> {
        let stream = self.stream().await;
        let reader = consumer::pull::OrderedConfig::default();
        let reader = stream.create_consumer(reader).await.unwrap();
        let mut messages = reader.messages().await.unwrap();
        let mut all = Vec::new();
        while (all.len() as u64) < n {
            let message = messages.next().await.unwrap().unwrap();
            let id = message.headers.as_ref().and_then(|it| it.get("Nats-Msg-Id")).unwrap();
            let event = serde_json::from_slice(&message.payload).unwrap();
            all.push((message.subject.to_string(), id.to_string(), event));
        }
        all
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Setup {
    fn serve_publishing(&self, nats: &Nats, more: &[(&str, &str)]) -> Server {
        let scheme =
            if more.iter().any(|(name, _)| name.ends_with("AUTHORITIES")) { "tls" } else { "nats" };
        let address = format!("{scheme}://{}", nats.address);
        let servers = [("EVENTS__NATS__SERVERS", address.as_str())];
        self.serve_set(&[&servers, more].concat())
    }
}

/// All events of the feed.
async fn feed(server: &Server) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    loop {
        let path = format!("/acme/event?after={}&pageSize=1000", events.len());
        let (status, page) = server.json(Method::GET, &path, None).await;
        assert_eq!(status, 200, "{page}");
        let page = page.as_array().unwrap();
        if page.is_empty() {
            return events;
        }
        events.extend(page.iter().cloned());
    }
}

async fn publish_over_kills(setup: Setup) {
    let kind = setup.kind;
    let mut nats = Nats::start(&setup, "", ConnectOptions::new()).await;
    let mut stream = nats.stream().await;
    let n_servers = if setup.database_url.is_some() { 2 } else { 1 };
    let mut servers: Vec<Server> =
        (0..n_servers).map(|_| setup.serve_publishing(&nats, &[])).collect();
    let mut random = SeededRandom::from_entropy(kind);
    let body = json!({"contractId": "payg", "numberOfAccesses": ITEMS});
    let task = servers[0].batch("acme", "batch", &body).await;
    for n in 0..KILLS {
        let enough = (n + 1) * ITEMS / (KILLS + 2) + random.roll(1000);
        let wait = Wait::new(format!("{kind}: {enough} events are at NATS"));
        while Nats::count(&mut stream).await.is_none_or(|it| it < enough) {
            wait.check_limit();
        }
        nats.kill();
        let which = random.roll(servers.len() as u64) as usize;
        servers.remove(which).kill();
        servers.insert(which, setup.serve_publishing(&nats, &[]));
        nats.start_again();
        stream = nats.stream().await;
    }
    let done = servers[0].until_ended("acme", &task).await;
    assert_eq!(done["state"], "DONE", "{kind}");
    // Several events of some accesses.
    let ids: Vec<String> = servers[0].all("/acme/access").await[..500]
        .iter()
        .map(|it| it["id"].as_str().unwrap().to_owned())
        .collect();
    for status in ["SUSPENDED", "ACTIVE", "SUSPENDED"] {
        let body = json!({"operationType": "update", "accessesIdList": ids, "operationBody": {"status": status}});
        let task = servers[0].batch("acme", "batchUpdate", &body).await;
        servers[0].until_ended("acme", &task).await;
    }
    let events = feed(&servers[0]).await;
    assert!(events.len() as u64 > ITEMS + 1500, "{kind}");
    let wait = Wait::new(format!("{kind}: all events are at NATS"));
    while Nats::count(&mut stream).await.is_none_or(|it| it < events.len() as u64) {
        wait.check_limit();
    }
    let messages = nats.messages(events.len() as u64).await;
    let (mut numbers, mut last) = (Vec::new(), BTreeMap::new());
    for (subject, id, event) in &messages {
        let object = event["event"].as_object().unwrap().iter().next();
        let (name, object) =
            object.map_or(("journal", &Value::Null), |(name, it)| (name.as_str(), it));
        let event_type = event["eventType"].as_str().unwrap();
        assert_eq!(subject, &format!("gatehouse.acme.{name}.{event_type}"));
        assert_eq!(*id, event["eventId"]);
        let number = event["x-number"].as_u64().unwrap();
        let before = last.insert(object["id"].to_string(), number).unwrap_or_default();
        assert!(before < number, "{kind}: {number} came after {before}");
        numbers.push(number);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>(), "{kind}: each event once");
    assert_eq!(Nats::count(&mut stream).await, Some(events.len() as u64), "{kind}");
    record(
        &format!("{kind}: `kill -9` of NATS and of gatehouse during a batch"),
        KILLS as usize,
        "the stream has each event once, in order per access",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_gets_each_event_once_over_kills_on_sqlite() {
    publish_over_kills(Setup::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_gets_each_event_once_over_kills_on_postgres() {
    publish_over_kills(Setup::postgres("nats").await).await;
}

/// A signed token of NATS's own kind.
fn jwt(issuer: &KeyPair, subject: &KeyPair, name: &str, nats: Value) -> String {
    let part = |it: &Value| BASE64.encode(it.to_string());
    let head = part(&json!({"typ": "JWT", "alg": "ed25519-nkey"}));
    let claims = json!({
        "jti": name, "iat": 1_700_000_000, "iss": issuer.public_key(), "name": name,
        "sub": subject.public_key(), "nats": nats,
    });
    let signed = format!("{head}.{}", part(&claims));
    let signature = BASE64.encode(issuer.sign(signed.as_bytes()).unwrap());
    format!("{signed}.{signature}")
}

/// The configuration of a server whose users have signed tokens, and a user's credentials.
fn signed_users() -> (String, String) {
    let (operator, account, user) =
        (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_user());
    let system = KeyPair::new_account();
    let operator_jwt = jwt(
        &operator,
        &operator,
        "operator",
        json!({"type": "operator", "version": 2, "system_account": system.public_key()}),
    );
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
    });
    let of_account = json!({"type": "account", "version": 2, "limits": limits});
    let account_jwt = jwt(&operator, &account, "fleet", of_account.clone());
    let plain = json!({"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1});
    let system_jwt = jwt(
        &operator,
        &system,
        "system",
        json!({"type": "account", "version": 2, "limits": plain}),
    );
    let of_user = json!({"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1, "pub": {}, "sub": {}});
    let user_jwt = jwt(&account, &user, "gatehouse", of_user);
    let config = format!(
        "operator: {operator_jwt}\nsystem_account: {}\nresolver: MEMORY\n\
         resolver_preload: {{ {}: {account_jwt}, {}: {system_jwt} }}",
        system.public_key(),
        account.public_key(),
        system.public_key(),
    );
    let credentials = format!(
        "-----BEGIN NATS USER JWT-----\n{user_jwt}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        user.seed().unwrap(),
    );
    (config, credentials)
}

/// Creates an access, whose event reaches NATS.
async fn check_event(server: &Server, nats: &Nats) {
    let (status, made) =
        server.json(Method::POST, "/acme/access", Some(r#"{"contractId": "payg"}"#)).await;
    assert_eq!(status, 201, "{made}");
    let messages = nats.messages(1).await;
    assert_eq!(messages[0].2["event"]["access"]["id"], made["id"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gatehouse_signs_in_to_nats_with_a_token_over_tls() {
    let setup = Setup::sqlite();
    Pair::new().put(&setup.path("tls"));
    let (certificate, key) = (setup.path("tls/c.pem"), setup.path("tls/k.pem"));
    let more = format!(
        "tls {{ cert_file: {certificate:?}, key_file: {key:?} }}\nauthorization {{ token: \"s3cret\" }}"
    );
    let options = ConnectOptions::with_token("s3cret".into())
        .require_tls(true)
        .add_root_certificates(certificate.clone());
    let nats = Nats::start(&setup, &more, options).await;
    nats.stream().await;
    std::fs::write(setup.path("token"), "s3cret\n").unwrap();
    let settings =
        [("EVENTS__NATS__AUTHORITIES", "tls/c.pem"), ("EVENTS__NATS__TOKEN_FILE", "token")];
    let server = setup.serve_publishing(&nats, &settings);
    check_event(&server, &nats).await;
    assert!(!setup.log().contains("s3cret"), "{}", setup.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gatehouse_signs_in_to_nats_with_credentials() {
    let setup = Setup::sqlite();
    let (config, credentials) = signed_users();
    let options = ConnectOptions::with_credentials(&credentials).unwrap();
    let nats = Nats::start(&setup, &config, options).await;
    nats.stream().await;
    std::fs::write(setup.path("user.creds"), &credentials).unwrap();
    let server = setup.serve_publishing(&nats, &[("EVENTS__NATS__CREDENTIALS", "user.creds")]);
    check_event(&server, &nats).await;
}

#[test]
fn settings_of_nats_that_cannot_be_used_are_reported() {
    let setup = Setup::sqlite();
    std::fs::write(setup.path("empty"), "").unwrap();
    for (name, value, expected) in [
        ("CREDENTIALS", "absent.creds", "events.nats.credentials: absent.creds"),
        ("CREDENTIALS", "empty", "events.nats.credentials: empty has no user's JWT and key"),
        ("TOKEN_FILE", "absent", "events.nats.token_file: absent"),
        ("KEY", "k.pem", "events.nats.certificate and events.nats.key need each other"),
    ] {
        let mut command = setup.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.env("GATEHOUSE_EVENTS__NATS__SERVERS", "nats://127.0.0.1:1");
        let output =
            command.env(format!("GATEHOUSE_EVENTS__NATS__{name}"), value).output().unwrap();
        assert!(!output.status.success());
        let said = printed(&output);
        assert!(said.contains(expected), "{said}");
    }
}
