//! The client against a real HTTP server.

mod budget;
mod circuit;
mod follow;
mod latency;
mod observer;
mod patience;
pub(crate) mod platform;
mod redirect;
mod response;
mod trust;

use std::io;
use std::time::Duration;

use gatehouse_core::{Account, ReplicaShare};
use http::header::AUTHORIZATION;
use prometheus::{Registry, TextEncoder};
use rcgen::{CertificateParams, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use rustix::io::Errno;

use self::platform::{Platform, Reaction, reply};
use super::call_gate::COUNTED_TIMEOUT_MIN;
use super::call_gate::PAUSE_MAX;
use super::client_pool::{LARGE_BYTES, LARGE_RESPONSES_OF_TENANT_MAX};
use super::resolver::{HostLookUp, system_look_up};
use super::*;
use crate::connector::{Quota, QuotaScope, ResetUnit, WaitRule};
use crate::failure::{SHOWN_BYTES_MAX, UnexpectedResponse};
use crate::meter::PlatformMeter;

const SECRET: &str = "hunter22-hunter22";

const CALLS_AT_ONCE: usize = 64;

pub(crate) const UNLIMITED: PlatformLimits = PlatformLimits {
    calls_at_once: 8,
    calls_per_second: None,
    burst: 1,
    quotas: Vec::new(),
    wait: None,
};

/// A deadline that no test reaches.
pub(crate) fn patient() -> CallContext {
    CallContext::until(Instant::now() + Duration::from_secs(60))
}

/// A deadline for calls that never end.
fn short() -> CallContext {
    CallContext::until(Instant::now() + Duration::from_millis(100))
}

fn client_with(pool: ClientPool, url: &str, limits: PlatformLimits) -> PlatformClient {
    let base = BaseUrl::parse(url, &plain()).unwrap();
    let (_, meter) = metered();
    let (pool, secrets) = (Arc::new(pool), vec![Zeroizing::new(SECRET.to_owned())]);
    PlatformClient::new(pool, &"simulator".parse().unwrap(), base, limits, meter, secrets)
}

/// Rules that allow platforms on this machine.
pub(crate) fn here() -> AddressRules {
    let allowed_networks = ["127.0.0.0/8", "::1"].map(|it| it.parse().unwrap()).into();
    AddressRules { allowed_networks, ..AddressRules::default() }
}

/// Rules that allow platforms on this machine, and plain http anywhere.
fn plain() -> AddressRules {
    AddressRules { allow_insecure_urls: true, ..here() }
}

pub(crate) fn pool() -> ClientPool {
    ClientPool::new(here(), CALLS_AT_ONCE).unwrap()
}

#[derive(Clone, Default)]
pub(crate) struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl CapturedLog {
    pub(crate) fn lines(&self) -> Vec<String> {
        String::from_utf8(self.0.lock().clone()).unwrap().lines().map(Into::into).collect()
    }
}

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn captured_log() -> (CapturedLog, impl tracing::Subscriber) {
    let captured_log = CapturedLog::default();
    let writer = captured_log.clone();
    let log = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false);
    (captured_log, log.finish())
}

/// A registry, and the meter of an account in it.
pub(crate) fn metered() -> (Registry, AccountMeter) {
    let (meter, registry) = (PlatformMeter::new(), Registry::new());
    meter.metrics().register(&registry);
    (registry, meter.account(&"demo".parse().unwrap(), &metered_account()))
}

/// The account of [`metered`].
fn metered_account() -> Account {
    Account {
        platform: "ALPHA".parse().unwrap(),
        name: "acme-eu".parse().unwrap(),
        connector: "simulator".parse().unwrap(),
        platform_account: "100234".parse().unwrap(),
    }
}

/// Value of the only account's metric `gatehouse_platform_{name}` whose labels contain `label`.
fn metric(registry: &Registry, name: &str, label: &str) -> u64 {
    let shown = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    let name = format!("gatehouse_platform_{name}{{");
    let line = shown.lines().find(|it| it.starts_with(&name) && it.contains(label));
    let value = line.and_then(|it| it.rsplit(' ').next()?.parse().ok());
    value.unwrap_or_else(|| panic!("no {name} {label} in {shown}"))
}

fn client(url: &str) -> PlatformClient {
    client_with(pool(), url, UNLIMITED)
}

async fn get(client: &PlatformClient, context: CallContext) -> Result<PlatformResponse, Failure> {
    client.get(context, "/sims?size=2", HeaderMap::new()).await
}

fn post(is_repeatable: bool) -> PlatformRequest {
    PlatformRequest {
        kind: CallKind::LookUp,
        method: Method::POST,
        target: "/find".to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::from_static(b"{}"),
        is_repeatable,
    }
}

pub(crate) async fn advance(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_request_goes_behind_the_base_url_and_returns_the_whole_response() {
    let mut platform = Platform::new(|_, _| reply(404, "X-Kind: a\r\n", "none")).await;
    let client = client(&format!("{}/v1/", platform.url()));
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, "Bearer t".parse().unwrap());
    let response = client.get(patient(), "/sims/1?a=b%20c", headers).await.unwrap();
    assert_eq!((response.status.as_u16(), &response.body[..]), (404, &b"none"[..]));
    assert_eq!(response.headers["x-kind"], "a");
    let request = platform.request().await;
    assert!(request.starts_with("GET /v1/sims/1?a=b%20c HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer t\r\n"), "{request}");
    assert!(!request.contains("accept-encoding"), "{request}");
    assert!(!request.contains("content-length"), "{request}");
}

#[tokio::test]
async fn a_request_sends_its_body() {
    let mut platform = Platform::new(|_, _| reply(200, "", "{}")).await;
    client(&platform.url()).send(patient(), post(false)).await.unwrap();
    let request = platform.request().await;
    assert!(request.starts_with("POST /find HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{}"), "{request}");
}

#[tokio::test]
async fn localhost_is_reached_by_its_name() {
    let platform = Platform::new(|_, _| reply(200, "", "{}")).await;
    let client = client(&format!("http://localhost:{}", platform.address.port()));
    assert_eq!(get(&client, patient()).await.unwrap().status, StatusCode::OK);
}

#[tokio::test]
async fn a_client_calls_no_other_origin() {
    let platform = Platform::new(|_, _| reply(200, "", "{}")).await;
    let other = Platform::new(|_, _| reply(200, "", "{}")).await;
    let client = client(&format!("{}/v1", platform.url()));
    let token = format!("{}/token?key={SECRET}", other.url());
    for target in ["/../admin", "sims", &token] {
        let failure = client.get(patient(), target, HeaderMap::new()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Error);
        assert!(
            failure.detail.starts_with("the requested address is not on the account's platform")
        );
        assert!(!failure.detail.contains(SECRET), "{failure:?}");
    }
    assert_eq!((platform.n_requests(), other.n_requests()), (0, 0));

    let client = client.with_origin(BaseUrl::parse(&other.url(), &here()).unwrap());
    assert!(client.get(patient(), &token, HeaderMap::new()).await.is_ok());
    assert_eq!(other.n_requests(), 1);
}

#[tokio::test]
async fn an_address_that_is_no_longer_allowed_is_not_called() {
    let mut client = client("http://127.0.0.1:9");
    let cases = [
        (
            "http://203.0.113.9",
            "http is for the networks that platforms.allowed_networks names, unless \
             platforms.allow_insecure_urls is set",
        ),
        (
            "https://10.0.0.7",
            "its address is a private network, which is not called unless platforms.allowed_networks \
             names its network",
        ),
    ];
    for (url, why) in cases {
        client.base = BaseUrl::parse(url, &AddressRules::anywhere()).unwrap();
        let failure = get(&client, patient()).await.unwrap_err();
        assert_eq!(failure.detail, format!("the platform is not called: {why}"));
    }
}

#[tokio::test]
async fn calls_are_counted_by_outcome() {
    let platform = Platform::new(|nth, _| match nth {
        0 => reply(429, "", ""),
        1 => reply(503, "", ""),
        2 => reply(404, "", ""),
        3 => reply(429, "Retry-After: 3600\r\n", ""),
        _ => Reaction::Hang(Vec::new()),
    })
    .await;
    let mut client = client(&platform.url());
    let (registry, meter) = metered();
    client.meter = meter;
    for _ in 0..3 {
        let _ = get(&client, patient()).await;
    }
    advance(PAUSE_MAX).await;
    let _ = get(&client, short()).await;
    let calls = ["ok", "error", "timeout", "throttled", "refused"];
    let calls = calls.map(|it| metric(&registry, "calls_total", &format!("outcome=\"{it}\"")));
    assert_eq!(calls, [1, 1, 1, 2, 0]);
    #[rustfmt::skip]
    let others = [
        ("retries_total",               2),
        ("throttled_total",             1),
        ("call_duration_seconds_count", 5),
        ("calls_in_flight",             0),
        ("circuit",                     0),
    ];
    for (name, expected) in others {
        assert_eq!(metric(&registry, name, ""), expected, "{name}");
    }
}

#[tokio::test]
async fn debug_output_of_a_client_shows_no_secret() {
    let client = client("http://127.0.0.1:9700/v1");
    assert_eq!(
        format!("{client:?}"),
        "PlatformClient { base: BaseUrl(http://127.0.0.1:9700/v1), .. }"
    );
    assert_eq!(format!("{:?}", post(true)), "Request { method: POST, .. }");
}
