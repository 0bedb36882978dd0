use std::collections::HashSet;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::super::platform::PagingKind;
use super::*;
use crate::platform_server::HEAD_BYTES_MAX;

fn start(platform: Platform) -> Server {
    Server::start(platform, ([127, 0, 0, 1], 0).into()).unwrap()
}

fn with_fault(fault: Misbehaviour) -> Server {
    let profile = Profile { fault, ..Profile::default() };
    start(Platform { n_connections: 10, profile, ..Platform::default() })
}

fn client() -> reqwest::Client {
    // A response that never comes must fail the test, not block it.
    reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build().unwrap()
}

async fn get(server: &Server, target: &str) -> reqwest::Response {
    get_with(&client(), server, target).await
}

async fn get_with(client: &reqwest::Client, server: &Server, target: &str) -> reqwest::Response {
    let url = format!("{}{target}", server.url());
    client.get(url).bearer_auth("token-1").send().await.unwrap()
}

async fn json_of(response: reqwest::Response, status: u16) -> Value {
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()["content-type"], "application/json");
    response.json().await.unwrap()
}

/// Status and body of a request for the profile.
async fn profile(server: &Server, method: Method, body: &str) -> (u16, Value) {
    let url = format!("{}/-/profile", server.url());
    let response = client().request(method, url).body(body.to_owned()).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

const LIST: &str = "/v1/connections?size=3";
const RAW_LIST: &str = "GET /v1/connections?size=3 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-1\r\nConnection: close\r\n\r\n";

/// Sends a raw request; returns all bytes until the connection ends.
async fn raw(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    // A reset connection ends too.
    let _ = stream.read_to_end(&mut response).await;
    String::from_utf8(response).unwrap()
}

async fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn every_kind_of_paging_lists_every_connection_once() {
    for paging in PagingKind::ALL {
        let server = start(Platform { paging, n_connections: 23, ..Platform::default() });
        let mut seen = HashSet::new();
        let (mut n_seen, mut next) = (0, String::new());
        for n in 0..5 {
            let query = match paging {
                PagingKind::Page => format!("page={}&size=5", n + 1),
                PagingKind::Offset => format!("offset={}&limit=5", n * 5),
                PagingKind::Cursor => format!("limit=5{next}"),
            };
            let page = json_of(get(&server, &format!("/v1/connections?{query}")).await, 200).await;
            for connection in page["connections"].as_array().unwrap() {
                n_seen += 1;
                seen.insert(connection["id"].as_str().unwrap().to_owned());
            }
            next =
                page["next"].as_str().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        }
        assert_eq!((n_seen, seen.len(), next.as_str()), (23, 23, ""), "{paging:?}");
        assert_eq!(server.requests(), 5);
        server.stop().await;
    }
}

#[tokio::test]
async fn a_platform_out_of_bounds_does_not_start() {
    let loopback = ([127, 0, 0, 1], 0).into();
    let most = Platform {
        n_connections: 1_000_000,
        page_size_max: 1000,
        look_up_max: 100,
        ..Platform::default()
    };
    Server::start(most.clone(), loopback).unwrap();
    for platform in [
        Platform { n_connections: 1_000_001, ..most.clone() },
        Platform { page_size_max: 1001, ..most.clone() },
        Platform { page_size_max: 0, ..most.clone() },
        Platform { look_up_max: 101, ..most.clone() },
        Platform { look_up_max: 0, ..most },
    ] {
        let why = Server::start(platform, loopback).unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::InvalidInput);
        assert!(why.to_string().contains("must be"), "{why}");
    }
}

#[tokio::test]
async fn an_address_in_use_is_refused() {
    let server = start(Platform::default());
    let why = Server::start(Platform::default(), server.address()).unwrap_err();
    assert_eq!(why.kind(), io::ErrorKind::AddrInUse);
}

#[tokio::test]
async fn a_profile_is_shown_changed_and_replaced_without_a_token() {
    let server = start(Platform::default());
    let usual = json!({
        "latencyMs": 0, "latencyJitterMs": 0, "errorPercent": 0, "errorStatus": 503,
        "throttlePerSecond": 0, "retryAfterSeconds": 1, "fault": "none",
    });
    assert_eq!(profile(&server, Method::GET, "").await, (200, usual.clone()));
    let (status, changed) = profile(&server, Method::PATCH, r#"{"errorPercent": 100}"#).await;
    assert_eq!((status, &changed["errorPercent"]), (200, &json!(100)));
    let (_, changed) = profile(&server, Method::PATCH, r#"{"errorStatus": 500}"#).await;
    assert_eq!((&changed["errorPercent"], &changed["errorStatus"]), (&json!(100), &json!(500)));
    assert_eq!(get(&server, LIST).await.status(), 500);
    let (_, replaced) = profile(&server, Method::PUT, r#"{"fault": "html"}"#).await;
    assert_eq!((&replaced["errorPercent"], &replaced["fault"]), (&json!(0), &json!("html")));
    let (status, refused) = profile(&server, Method::PATCH, r#"{"fault": "slow", "x": 1}"#).await;
    assert_eq!(status, 400);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("fault must be one of none, hang") && message.contains("; x is not"));
    assert_eq!(server.profile().fault, Misbehaviour::Html, "a refused change has no effect");
    assert_eq!(profile(&server, Method::PUT, "{}").await, (200, usual));
    assert_eq!(profile(&server, Method::DELETE, "").await.0, 405);
    assert_eq!(server.requests(), 1, "requests for the profile don't count");
}

#[tokio::test]
async fn the_length_of_a_profile_is_bounded() {
    let server = start(Platform::default());
    let spaces = |n: usize| format!("{{{}}}", " ".repeat(n - 2));
    assert_eq!(profile(&server, Method::PUT, &spaces(PROFILE_BYTES_MAX)).await.0, 200);
    assert_eq!(profile(&server, Method::PUT, &spaces(PROFILE_BYTES_MAX + 1)).await.0, 413);
}

#[tokio::test]
async fn the_length_of_a_request_line_is_bounded() {
    let server = start(Platform::default());
    let target = |n: usize| format!("/{}", "x".repeat(n - "GET / HTTP/1.1".len()));
    let fits = json_of(get(&server, &target(REQUEST_LINE_BYTES_MAX)).await, 404).await;
    assert_eq!(fits["error"], "Not Found");
    let too_long = json_of(get(&server, &target(REQUEST_LINE_BYTES_MAX + 1)).await, 414).await;
    assert!(too_long["message"].as_str().unwrap().contains("8192"));
    let head = |n: usize| {
        let (start, end) = ("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ", "\r\n\r\n");
        format!("{start}{}{end}", "x".repeat(n - start.len() - end.len()))
    };
    assert!(raw(&server, &head(HEAD_BYTES_MAX)).await.starts_with("HTTP/1.1 401 "));
    // A client that is cut off while sending may not get the response.
    let refused = raw(&server, &head(HEAD_BYTES_MAX + 1)).await;
    assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 431 "), "{refused}");
}

#[tokio::test]
async fn a_hanging_platform_sends_nothing_until_it_stops() {
    let server = with_fault(Misbehaviour::Hang);
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(RAW_LIST.as_bytes()).await.unwrap();
    wait_until(|| server.requests() == 1).await;
    assert!(stream.try_read(&mut [0; 10]).is_err_and(|it| it.kind() == io::ErrorKind::WouldBlock));
    server.stop().await;
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    assert_eq!(response, b"");
}

#[tokio::test]
async fn a_client_that_disconnects_from_a_hanging_platform_frees_its_connection() {
    let server = with_fault(Misbehaviour::Hang);
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(RAW_LIST.as_bytes()).await.unwrap();
    wait_until(|| server.requests() == 1).await;
    // The hanging request's connection counts as open.
    assert_eq!(server.http.n_connections(), 1);
    drop(stream);
    wait_until(|| server.http.n_connections() == 0).await;
}

#[tokio::test]
async fn a_connection_is_closed_without_a_response() {
    let server = with_fault(Misbehaviour::Reset);
    assert_eq!(raw(&server, RAW_LIST).await, "");
    assert_eq!(server.requests(), 1);
    server.set_profile(Profile::default());
    assert!(raw(&server, RAW_LIST).await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test(start_paused = true)]
async fn a_response_trickles_a_byte_at_a_time() {
    let server = start(Platform { n_connections: 10, ..Platform::default() });
    let whole = raw(&server, RAW_LIST).await;
    let (_, expected) = whole.split_once("\r\n\r\n").unwrap();
    server.set_profile(Profile { fault: Misbehaviour::Trickle, ..Profile::default() });
    let trickled = raw(&server, RAW_LIST).await;
    let (head, body) = trickled.split_once("\r\n\r\n").unwrap();
    assert!(head.to_lowercase().contains("transfer-encoding: chunked"), "{head}");
    // Each chunk is its length, a line end, a byte, a line end.
    let mut seen = String::new();
    let mut rest = body;
    while let Some(chunk) = rest.strip_prefix("1\r\n") {
        let (byte, after) = chunk.split_at(1);
        seen += byte;
        rest = after.strip_prefix("\r\n").unwrap();
    }
    assert_eq!((seen.as_str(), rest), (expected, "0\r\n\r\n"));
}

#[tokio::test(start_paused = true)]
async fn responses_have_the_latency_of_the_profile() {
    let profile = Profile { latency_ms: 300, ..Profile::default() };
    let server = start(Platform { profile, ..Platform::default() });
    let began = Instant::now();
    assert!(raw(&server, RAW_LIST).await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(began.elapsed() >= Duration::from_millis(300), "by the paused clock");
}

#[tokio::test]
async fn a_huge_response_has_200_mib() {
    let mut body = body::huge();
    let mut n_bytes = 0;
    let mut beginning = Vec::new();
    while let Some(frame) = body.frame().await {
        let data = frame.unwrap().into_data().unwrap();
        n_bytes += data.len();
        if beginning.is_empty() {
            beginning.extend_from_slice(&data);
        }
    }
    assert_eq!((n_bytes, beginning.as_slice()), (200 << 20, &b"{\"connections\":["[..]));
    let server = with_fault(Misbehaviour::Huge);
    let mut response = get(&server, LIST).await;
    assert_eq!(response.status(), 200);
    let mut n_bytes = 0;
    while n_bytes < 17 << 20 {
        n_bytes += response.chunk().await.unwrap().unwrap().len();
    }
}

#[tokio::test]
async fn faults_of_the_content_are_sent_over_http() {
    for (fault, status, content_type) in [
        (Misbehaviour::Html, 200, "text/html; charset=utf-8"),
        (Misbehaviour::InvalidJson, 200, "application/json"),
        (Misbehaviour::WrongTypes, 200, "application/json"),
        (Misbehaviour::Unauthorized, 401, "application/json"),
        (Misbehaviour::Throttled, 429, "application/json"),
    ] {
        let response = get(&with_fault(fault), LIST).await;
        assert_eq!(response.status(), status, "{fault:?}");
        assert_eq!(response.headers()["content-type"], content_type, "{fault:?}");
    }
    let redirect = raw(&with_fault(Misbehaviour::Redirect), RAW_LIST).await;
    assert!(redirect.starts_with("HTTP/1.1 302 Found\r\n"));
    assert!(redirect.contains("location: http://elsewhere.invalid/v1/connections\r\n"));
}

#[tokio::test]
async fn the_same_requests_fail_in_every_run() {
    let run = async |seed| {
        let profile = Profile { error_percent: 30, ..Profile::default() };
        let server = start(Platform { seed, profile, ..Platform::default() });
        let (client, mut statuses) = (client(), Vec::new());
        for _ in 0..40 {
            statuses.push(get_with(&client, &server, LIST).await.status().as_u16());
        }
        statuses
    };
    let first = run(1).await;
    assert!(first.contains(&200) && first.contains(&503), "{first:?}");
    assert_eq!(run(1).await, first);
    assert_ne!(run(2).await, first);
}

#[tokio::test(start_paused = true)]
async fn requests_beyond_the_rate_limit_get_429() {
    let profile = Profile { throttle_per_second: 2, retry_after_seconds: 7, ..Profile::default() };
    let server = start(Platform { profile, ..Platform::default() });
    let list = async || raw(&server, RAW_LIST).await;
    for expected in ["200 OK", "200 OK", "429 Too Many Requests"] {
        let response = list().await;
        assert!(response.starts_with(&format!("HTTP/1.1 {expected}\r\n")), "{response}");
        assert_eq!(response.contains("retry-after: 7\r\n"), expected.starts_with("429"));
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(list().await.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test(start_paused = true)]
async fn stopping_completes_requests_in_progress_and_frees_the_address() {
    let profile = Profile { latency_ms: 100, ..Profile::default() };
    let server = start(Platform { profile, ..Platform::default() });
    let (address, responder) = (server.address(), Arc::clone(&server.responder));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(RAW_LIST.as_bytes()).await.unwrap();
    wait_until(|| responder.n_requests.load(Ordering::Relaxed) == 1).await;
    server.stop().await;
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await.unwrap();
    assert!(response.starts_with(b"HTTP/1.1 200 OK\r\n"));
    let again = Server::start(Platform::default(), address).unwrap();
    assert_eq!(again.address(), address);
}

#[tokio::test(start_paused = true)]
async fn stopping_cuts_off_a_slow_response() {
    let server = with_fault(Misbehaviour::Trickle);
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(RAW_LIST.as_bytes()).await.unwrap();
    let mut response = vec![0];
    stream.read_exact(&mut response).await.unwrap();
    server.stop().await;
    let _ = stream.read_to_end(&mut response).await;
    let response = String::from_utf8(response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(!response.ends_with("0\r\n\r\n"), "the last chunk did not come: {response}");
}

#[tokio::test]
async fn dropping_a_server_closes_its_connections() {
    let server = with_fault(Misbehaviour::Hang);
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(RAW_LIST.as_bytes()).await.unwrap();
    wait_until(|| server.requests() == 1).await;
    drop(server);
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    assert_eq!(response, b"");
}

#[tokio::test]
async fn the_url_of_an_unspecified_address_is_loopback() {
    let server = Server::start(Platform::default(), ([0, 0, 0, 0], 0).into()).unwrap();
    assert_eq!(server.url(), format!("http://127.0.0.1:{}", server.address().port()));
    assert_eq!(get(&server, LIST).await.status(), 200);
}
