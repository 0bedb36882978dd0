//! Streamed responses.

use super::*;
use crate::http::answer::media::JSON;
use crate::http::answer::reply::Reply;
use crate::http::answer::stream::{Sink, StreamError};
use crate::http::route::resource::{Need, Operation, PathObject, Resource, ResponseSpec, Served};
use crate::http::{AnswerBody, TruncatedBody};
use flate2::read::GzDecoder;
use gatehouse_core::rights::Scope;
use http::{Response, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io::Read;
use tokio::sync::Notify;

/// More than a million bytes.
fn text() -> String {
    "0123456789 and so on\n".repeat(50_000)
}

/// Continues the response that is held.
pub(crate) static GO_ON: Notify = Notify::const_new();

const STREAM: Operation = Operation {
    need: Need::Scope(Scope::AccessRead),
    responses: &[
        ResponseSpec { schema: Some("State"), ..ResponseSpec::BASE },
        ResponseSpec { schema: Some("Text"), media_type: "text/csv", ..ResponseSpec::BASE },
    ],
    run: |call| {
        Box::pin(async move {
            let mode = call.headers().get("x-how").map(|it| it.to_str().unwrap().to_owned());
            let produce = async move |mut sink: Sink| {
                if mode.as_deref() == Some("hold") {
                    sink.write(b"first part").await?;
                    sink.flush().await?;
                    GO_ON.notified().await;
                    sink.write(b"and last part").await?;
                    return sink.finish().await;
                }
                sink.write(text().as_bytes()).await?;
                match mode.as_deref() {
                    None => sink.finish().await,
                    Some("fail") => Err(StreamError::Failed("a secret".into())),
                    Some("panic") => panic!("a defect"),
                    Some(_) => std::future::pending().await,
                }
            };
            Ok(Reply::streamed(StatusCode::OK, JSON, produce))
        })
    },
    ..Operation::BASE
};

pub(crate) async fn gatehouse(config: Config) -> Gatehouse {
    let (path, object, served) = ("/{tenantName}/stream", PathObject::None, Served::Main);
    let mut resources = crate::http::routes::table();
    resources.push(Resource { path, object, served, operations: vec![STREAM] });
    Gatehouse::with(config).await.with_routes(resources)
}

fn request(gate: &Gatehouse, method: &str, headers: Headers<'_>) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri("http://gate.example/acme/stream");
    request = request.header("authorization", format!("Bearer {}", gate.token));
    request = request.header("host", "gate.example");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::default()).unwrap()
}

async fn stream(gate: &Gatehouse, method: &str, headers: Headers<'_>) -> Response<AnswerBody> {
    let request = request(gate, method, headers);
    handle(&TaskTracker::new(), gate.gate.clone(), PLAIN, connected(), (), request).await
}

/// Metrics of streams: in flight, whole, unread, failed.
fn stream_metrics(gate: &Gatehouse) -> [u64; 4] {
    let text = gate.gate.metrics().render();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}:\n{text}")).trim().parse().unwrap()
    };
    [
        value("gatehouse_http_streams_in_flight "),
        value("gatehouse_http_streams_total{outcome=\"whole\"} "),
        value("gatehouse_http_streams_total{outcome=\"unread\"} "),
        value("gatehouse_http_streams_total{outcome=\"failed\"} "),
    ]
}

async fn until(gate: &Gatehouse, expected: [u64; 4]) {
    while stream_metrics(gate) != expected {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_streamed_response_is_read_to_its_end() {
    let gate = gatehouse(Config::default()).await;
    let (parts, body) = stream(&gate, "GET", &[("x-correlation-id", "mine")]).await.into_parts();
    assert_eq!(parts.status, 200);
    let header = |name| parts.headers.get(name).map(|it| it.to_str().unwrap());
    assert_eq!(header("content-type"), Some(JSON));
    assert_eq!(header("vary"), Some("Accept, Accept-Encoding"));
    assert_eq!(header("x-correlation-id"), Some("mine"));
    assert_eq!((header("content-length"), header("content-encoding")), (None, None));
    assert!(body.collect().await.unwrap().to_bytes() == text());
    until(&gate, [0, 1, 0, 0]).await;
}

#[tokio::test]
async fn a_streamed_response_is_compressed_if_the_client_accepts_gzip() {
    let gate = gatehouse(Config::default()).await;
    let accept = [("accept-encoding", "br, gzip")];
    let (parts, body) = stream(&gate, "GET", &accept).await.into_parts();
    assert_eq!(parts.headers["content-encoding"], "gzip");
    assert_eq!(parts.headers["vary"], "Accept, Accept-Encoding");
    let body = body.collect().await.unwrap().to_bytes();
    assert!(body.len() < 50_000, "{}", body.len());
    let mut read = String::new();
    GzDecoder::new(&body[..]).read_to_string(&mut read).unwrap();
    assert!(read == text());
    // Whole responses are small and not compressed.
    let response = gate.call("GET", "/acme/contract", &accept, "").await;
    assert_eq!((response.header("content-encoding"), response.header("vary")), (None, None));
}

#[tokio::test]
async fn head_returns_the_same_headers_and_starts_no_producer() {
    let gate = gatehouse(Config::default()).await;
    for headers in [&[("x-how", "fail")][..], &[("accept-encoding", "gzip")]] {
        let headers = [headers, &[("x-correlation-id", "mine")]].concat();
        let (head, body) = stream(&gate, "HEAD", &headers).await.into_parts();
        assert_eq!(body.collect().await.unwrap().to_bytes(), "");
        assert_eq!(stream_metrics(&gate)[0], 0, "no stream is in flight");
        let (get, _) = stream(&gate, "GET", &headers).await.into_parts();
        assert_eq!((head.status, head.headers), (get.status, get.headers));
        while stream_metrics(&gate)[0] > 0 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_disconnect_cancels_the_producer() {
    let gate = gatehouse(Config::default()).await;
    let response = stream(&gate, "GET", &[("x-how", "wait")]).await;
    until(&gate, [1, 0, 0, 0]).await;
    drop(response);
    until(&gate, [0, 0, 1, 0]).await;
}

#[tokio::test]
async fn a_slow_reader_holds_no_request_slot_but_counts_as_in_flight() {
    let mut config = Config::default();
    config.limits.concurrent_requests = 1;
    let gate = gatehouse(config).await;
    let busy = Arc::new(());
    let requests = TaskTracker::new();
    let get = request(&gate, "GET", &[]);
    let held = Arc::clone(&busy);
    let response = handle(&requests, gate.gate.clone(), PLAIN, connected(), held, get).await;
    assert_eq!(gate.get("/acme/contract").await.status, 200, "the slot is free for others");
    assert_eq!((Arc::strong_count(&busy), requests.len()), (2, 1));
    response.into_body().collect().await.unwrap();
    requests.close();
    requests.wait().await;
    assert_eq!(Arc::strong_count(&busy), 1);
}

#[tokio::test]
async fn the_number_of_streams_is_limited() {
    let gate = gatehouse(Config::default()).await;
    let mut held = Vec::new();
    let refused = loop {
        let response = stream(&gate, "GET", &[]).await;
        if response.status() != 200 {
            break response;
        }
        held.push(response);
    };
    assert_eq!((held.len(), refused.status().as_u16()), (64, 503));
    assert!(refused.headers().contains_key("retry-after"));
    let body = refused.into_body().collect().await.unwrap().to_bytes();
    assert!(body.starts_with(b"{\"type\":\"Service Unavailable\""), "{body:?}");
    held.clear();
    until(&gate, [0, 0, 64, 0]).await;
    assert_eq!(stream(&gate, "GET", &[]).await.status(), 200);
}

#[tokio::test]
async fn a_failed_producer_truncates_the_response() {
    let gate = gatehouse(Config::default()).await;
    for (n, mode) in [(1, "fail"), (2, "panic")] {
        let response = stream(&gate, "GET", &[("x-how", mode)]).await;
        assert_eq!(response.status(), 200, "the response had started");
        let truncated: Result<_, TruncatedBody> = response.into_body().collect().await;
        assert!(truncated.is_err(), "{mode}");
        until(&gate, [0, 0, 0, n]).await;
    }
}

/// Sends a request through a connection; returns the length of the body, or its error.
async fn over_the_wire(gate: &Gatehouse, version: Version, mode: &str) -> Result<usize, String> {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let service_gate = gate.gate.clone();
    let service = hyper::service::service_fn(move |request| {
        let gate = service_gate.clone();
        async move {
            let requests = TaskTracker::new();
            Ok::<_, std::convert::Infallible>(
                handle(&requests, gate, PLAIN, connected(), (), request).await,
            )
        }
    });
    let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
    let server = async move {
        // The connection fails if the response does.
        let _ = server.serve_connection(TokioIo::new(theirs), service).await;
    };
    let request = request(gate, "GET", &[("x-how", mode)][..usize::from(!mode.is_empty())]);
    let client = async move {
        let io = TokioIo::new(ours);
        let response = if version == Version::HTTP_2 {
            let executor = TokioExecutor::new();
            let (mut sender, connection) =
                hyper::client::conn::http2::handshake(executor, io).await.unwrap();
            tokio::spawn(connection);
            sender.send_request(request).await.unwrap()
        } else {
            let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
            tokio::spawn(connection);
            sender.send_request(request).await.unwrap()
        };
        assert_eq!(response.version(), version);
        let body = response.into_body().collect().await;
        body.map(|it| it.to_bytes().len()).map_err(|cause| format!("{cause:?}"))
    };
    tokio::select! {
        ended = client => ended,
        () = async { server.await; std::future::pending().await } => unreachable!(),
    }
}

#[tokio::test]
async fn a_client_sees_a_truncated_response() {
    let gate = gatehouse(Config::default()).await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        assert_eq!(over_the_wire(&gate, version, "").await, Ok(text().len()));
        for mode in ["fail", "panic"] {
            let truncated = over_the_wire(&gate, version, mode).await.unwrap_err();
            let sign = match version {
                Version::HTTP_2 => "INTERNAL_ERROR",
                _ => "IncompleteBody",
            };
            assert!(truncated.contains(sign), "{version:?} {mode}: {truncated}");
        }
    }
}
