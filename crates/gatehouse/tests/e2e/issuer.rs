//! Tokens of a real OpenID Connect issuer, which rotates its keys and goes down.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::process::*;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use reqwest::{Client, Method};
use serde_json::{Value, json};

/// A running issuer. It ends when its input does.
pub(crate) struct Issuer {
    child: Child,
    pub(crate) url: String,
    client: Client,
}

impl Issuer {
    pub(crate) fn start() -> Self {
        let script = std::env::var_os("TEST_ISSUER").expect(
            "TEST_ISSUER names the test issuer's script with its packages beside it; \
             `cargo xtask test` installs and sets it",
        );
        let mut command = Command::new("node");
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("Node.js is there: `cargo xtask test` installs it");
        let mut printed = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut printed).unwrap();
        let url = printed.trim().strip_prefix("issuer ").expect("the issuer started").to_owned();
        let client = Client::builder().timeout(WAIT_LIMIT).build().unwrap();
        Self { child, url, client }
    }

    pub(crate) async fn tell(&self, what: &str) -> Value {
        let url = format!("{}/test/{what}", self.url);
        let answer = self.client.get(url).send().await.unwrap();
        answer.error_for_status().unwrap().json().await.unwrap()
    }

    async fn n_asked(&self) -> u64 {
        self.tell("asked").await["keys"].as_u64().unwrap()
    }

    async fn token(&self, scope: &str) -> String {
        let form = format!("grant_type=client_credentials&scope={}", scope.replace(' ', "+"));
        let request = self.client.post(format!("{}/token", self.url));
        let request = request.basic_auth("robot", Some("secret-of-the-robot")).body(form);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let token: Value = request.send().await.unwrap().json().await.unwrap();
        token["access_token"].as_str().unwrap_or_else(|| panic!("{token}")).to_owned()
    }

    /// A server that trusts the issuer.
    pub(crate) fn serve(&self, setup: &Setup, audience: &str) -> Server {
        let config = format!(
            "[[auth.issuers]]\nissuer = \"{}\"\naudience = \"{audience}\"\n\
             tenants_claim = \"fleet.tenants\"\n",
            self.url
        );
        std::fs::write(setup.path("g.toml"), config).unwrap();
        setup.serve_with(&["--estate", "estate.yaml", "--config", "g.toml"])
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn status(server: &Server, token: &str, path: &str) -> u16 {
    let request = server.client.get(format!("{}{path}", server.url)).bearer_auth(token);
    request.send().await.unwrap().status().as_u16()
}

/// Repeats a request until the status is the expected one.
async fn until_status(server: &Server, token: &str, expected: u16) {
    let began = std::time::Instant::now();
    loop {
        let seen = status(server, token, "/acme/contract").await;
        if seen == expected {
            return;
        }
        assert!(began.elapsed() < WAIT_LIMIT, "{seen}, waited in vain for {expected}");
    }
}

#[tokio::test]
async fn tokens_are_accepted_while_the_issuer_rotates_its_keys() {
    let (setup, issuer) = (Setup::sqlite(), Issuer::start());
    let server = issuer.serve(&setup, "fleet");
    let first = issuer.token("access:read").await;
    for (path, expected) in
        [("/acme/contract", 200), ("/rival/contract", 403), ("/-/admin/tenants/acme", 403)]
    {
        assert_eq!(status(&server, &first, path).await, expected, "{path}");
    }
    assert_eq!(status(&server, &server.token, "/acme/contract").await, 200, "our own too");

    issuer.tell("rotate?algorithm=RS256&keep").await;
    let second = issuer.token("access:read admin").await;
    assert_eq!(status(&server, &second, "/acme/contract").await, 200, "a new key is found at once");
    assert_eq!(status(&server, &first, "/acme/contract").await, 200, "and the old one is kept");
    assert_eq!(status(&server, &second, "/-/admin/tenants/acme").await, 200);

    issuer.tell("rotate?algorithm=EdDSA").await;
    let third = issuer.token("access:read").await;
    assert_eq!(status(&server, &third, "/acme/contract").await, 200);
    for old in [&first, &second] {
        assert_eq!(status(&server, old, "/acme/contract").await, 401, "its key was given up");
    }
    let log = setup.log();
    for token in [&first, &second, &third] {
        for part in token.split('.') {
            assert!(!log.contains(part), "a token is in the log");
        }
    }
}

#[tokio::test]
async fn forged_tokens_are_refused_and_cause_few_fetches() {
    let (setup, issuer) = (Setup::sqlite(), Issuer::start());
    let server = issuer.serve(&setup, "fleet");
    let good = issuer.token("access:read").await;
    assert_eq!(status(&server, &good, "/acme/contract").await, 200);
    let (_, rest) = good.split_once('.').unwrap();
    let (payload, signature) = rest.split_once('.').unwrap();
    let encoded = |json: Value| BASE64URL.encode(json.to_string());

    let jwks = issuer.client.get(format!("{}/jwks", issuer.url)).send().await.unwrap();
    let jwks: Value = jwks.json().await.unwrap();
    let id = &jwks["keys"][0]["kid"];
    let mut claims: Value = serde_json::from_slice(&BASE64URL.decode(payload).unwrap()).unwrap();
    claims["fleet"]["tenants"] = "*".into();
    for forged in [
        format!("{}.{payload}.", encoded(json!({"alg": "none"}))),
        format!("{}.{payload}.{signature}", encoded(json!({"alg": "HS256", "kid": id}))),
        format!("{}.{}.{signature}", good.split('.').next().unwrap(), encoded(claims)),
        format!("{good}A"),
    ] {
        assert_eq!(status(&server, &forged, "/acme/contract").await, 401, "{forged}");
    }

    let before = issuer.n_asked().await;
    for n in 0..1000 {
        let header = encoded(json!({"alg": "ES256", "kid": format!("made-up-{n}")}));
        let forged = format!("{header}.{payload}.{signature}");
        assert_eq!(status(&server, &forged, "/acme/contract").await, 401);
    }
    // Two at once, and one more each ten seconds: a slow machine may see some of those.
    let caused = issuer.n_asked().await - before;
    assert!((1..=10).contains(&caused), "{caused} fetches");
    assert_eq!(status(&server, &good, "/acme/contract").await, 200);
}

#[tokio::test]
async fn an_unreachable_issuer_is_distinguished_from_an_invalid_token() {
    let (setup, issuer) = (Setup::sqlite(), Issuer::start());
    issuer.tell("down?is=true").await;
    let server = issuer.serve(&setup, "fleet");
    let token = issuer.token("access:read").await;
    let request = server.client.get(format!("{}/acme/contract", server.url)).bearer_auth(&token);
    let response = request.send().await.unwrap();
    assert_eq!(
        (response.status(), &response.headers()["retry-after"]),
        (503.try_into().unwrap(), &"1".parse().unwrap())
    );
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["title"], "Issuer unavailable", "{problem}");
    assert_eq!(status(&server, &server.token, "/acme/contract").await, 200, "our own go on");

    issuer.tell("down?is=false").await;
    until_status(&server, &token, 200).await;
    issuer.tell("down?is=true").await;
    let another = issuer.token("access:read").await;
    assert_eq!(status(&server, &another, "/acme/contract").await, 200, "known keys are good");
    let (_, rest) = another.split_once('.').unwrap();
    let header = BASE64URL.encode(json!({"alg": "ES256", "kid": "new"}).to_string());
    until_status(&server, &format!("{header}.{rest}"), 503).await;
}

#[tokio::test]
async fn a_token_for_another_audience_is_refused_and_the_doctor_knows_the_issuer() {
    let (setup, issuer) = (Setup::sqlite(), Issuer::start());
    let mut server = issuer.serve(&setup, "another-service");
    server.token = issuer.token("access:read").await;
    let (status, problem) = server.json(Method::GET, "/acme/contract", None).await;
    assert_eq!(status, 401);
    assert!(problem["detail"].as_str().unwrap().contains("another audience"), "{problem}");

    let doctor = |url: &str| {
        let issuers = format!("[{{ issuer = \"{url}\" }}]");
        let mut command = setup.command(&["doctor"]);
        let output = command.env("GATEHOUSE_AUTH__ISSUERS", issuers).output().unwrap();
        (output.status.success(), printed(&output))
    };
    let (is_well, shown) = doctor(&issuer.url);
    assert!(is_well && shown.contains(&format!("issuer {} has 1 key", issuer.url)), "{shown}");
    let (is_well, shown) = doctor(&format!("{}/elsewhere", issuer.url));
    assert!(!is_well && shown.contains("WRONG") && shown.contains("answers 404"), "{shown}");
    let (is_well, shown) = doctor(&format!("{}/", issuer.url));
    assert!(!is_well && shown.contains("letter by letter"), "{shown}");
}
