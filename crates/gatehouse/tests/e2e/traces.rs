//! Traces as a collector gets them.

use super::collector::{Collector, attribute};
use super::process::*;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use reqwest::Method;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// Starts a server that exports to this address.
fn serve(setup: &Setup, endpoint: &str, more: &str) -> Server {
    let settings = format!("[traces]\nendpoint = '{endpoint}'\n{more}");
    std::fs::write(setup.path("g.toml"), settings).unwrap();
    setup.serve_with(&["--estate", "estate.yaml", "--config", "g.toml"])
}

/// Sends a request with a traceparent; returns the response's.
async fn ask_traced(
    server: &Server,
    method: Method,
    path: &str,
    body: Option<&str>,
    flags: &str,
) -> String {
    let request = server.client.request(method, format!("{}{path}", server.url));
    let mut request = request
        .bearer_auth(&server.token)
        .header("x-correlation-id", "mine")
        .header("traceparent", format!("00-{TRACE}-{PARENT}-{flags}"))
        .header("tracestate", "vendor=x");
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body.to_owned());
    }
    let response = request.send().await.unwrap();
    response.headers()["traceparent"].to_str().unwrap().to_owned()
}

fn end(server: Server, setup: &Setup) {
    server.terminate();
    assert!(server.wait().success(), "{}", setup.log());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn named<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    let names: Vec<&str> = spans.iter().map(|it| it.name.as_str()).collect();
    spans.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("no {name} in {names:?}"))
}

#[tokio::test]
async fn a_request_is_a_span_under_its_clients_with_what_it_did_below() {
    for setup in Setup::each("a_request_is_a_span").await {
        let collector = Collector::start();
        let server = serve(&setup, &collector.endpoint, "");
        let body = r#"{"contractId": "payg", "username": "ann", "password": "chosen"}"#;
        let path = "/acme/access?x=nobody-sees-this";
        let returned = ask_traced(&server, Method::POST, path, Some(body), "01").await;
        let alone = server.ask(Method::GET, "/acme/summary", None).await;
        let alone = alone.headers()["traceparent"].to_str().unwrap().to_owned();
        server.ask(Method::GET, "/nowhere", None).await;
        end(server, &setup);
        let spans = collector.spans();
        assert_eq!(collector.service_name().as_deref(), Some("gatehouse"));

        let created = named(&spans, "POST /{tenantName}/access");
        assert_eq!(
            (hex(&created.trace_id), hex(&created.parent_span_id)),
            (TRACE.into(), PARENT.into())
        );
        assert_eq!(returned, format!("00-{TRACE}-{}-01", hex(&created.span_id)));
        assert_eq!((created.kind(), created.trace_state.as_str()), (SpanKind::Server, "vendor=x"));
        let mut names: Vec<&str> = created.attributes.iter().map(|it| it.key.as_str()).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "gatehouse.correlation_id",
                "gatehouse.tenant",
                "http.request.method",
                "http.response.status_code",
                "http.route",
                "url.scheme",
            ]
        );
        for (name, value) in [
            ("http.request.method", "POST"),
            ("http.route", "/{tenantName}/access"),
            ("http.response.status_code", "201"),
            ("url.scheme", "http"),
            ("gatehouse.tenant", "acme"),
            ("gatehouse.correlation_id", "mine"),
        ] {
            assert_eq!(attribute(created, name).as_deref(), Some(value), "{name}");
        }
        for name in ["store write", "password hash"] {
            let below = named(&spans, name);
            assert_eq!(below.parent_span_id, created.span_id, "{}: {name}", setup.kind);
            assert_eq!(below.trace_id, created.trace_id, "{name}");
        }

        let summary = named(&spans, "GET /{tenantName}/summary");
        assert!(summary.parent_span_id.is_empty(), "it begins a trace");
        assert_eq!(alone, format!("00-{}-{}-01", hex(&summary.trace_id), hex(&summary.span_id)));
        assert_eq!(named(&spans, "store snapshot").parent_span_id, summary.span_id);
        let unknown = named(&spans, "GET");
        assert_eq!(attribute(unknown, "http.route"), None);
        assert_eq!(attribute(unknown, "http.response.status_code").as_deref(), Some("404"));
        for span in &spans {
            let is_below = spans.iter().any(|it| it.span_id == span.parent_span_id);
            assert!(is_below || span.kind() == SpanKind::Server, "{} has no parent", span.name);
        }
        let log = setup.log();
        assert!(log.contains(&format!("\"trace_id\":\"{TRACE}\"")), "{log}");
        assert!(!log.contains("\"span\""), "{log}");
    }
}

#[tokio::test]
async fn the_client_decides_on_sampling_and_otherwise_the_percentage() {
    let setup = Setup::sqlite();
    let collector = Collector::start();
    let server = serve(&setup, &collector.endpoint, "sample_percent = 0");
    let wanted = ask_traced(&server, Method::GET, "/acme/contract", None, "01").await;
    let unwanted = ask_traced(&server, Method::GET, "/acme/access", None, "00").await;
    let unsaid = server.ask(Method::GET, "/acme/summary", None).await;
    end(server, &setup);
    assert!(wanted.ends_with("-01") && wanted.contains(TRACE), "{wanted}");
    assert!(unwanted.ends_with("-00") && unwanted.contains(TRACE), "{unwanted}");
    assert!(unsaid.headers()["traceparent"].to_str().unwrap().ends_with("-00"));
    let spans = collector.spans();
    let requests: Vec<&str> = spans
        .iter()
        .filter(|it| it.kind() == SpanKind::Server)
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(requests, ["GET /{tenantName}/contract"]);
}

/// A collector that accepts connections and never responds, and an absent one.
#[tokio::test]
async fn an_unreachable_collector_delays_no_request() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for endpoint in [silent.local_addr().unwrap(), gone] {
        let setup = Setup::sqlite();
        let server = serve(&setup, &format!("http://{endpoint}"), "");
        // More than its queue holds.
        let asked = (0..50).map(|_| async {
            for _ in 0..40 {
                assert_eq!(server.json(Method::GET, "/acme/access", None).await.0, 200);
            }
        });
        futures_util::future::join_all(asked).await;
        end(server, &setup);
        assert!(!setup.log().contains("cut off"), "{}", setup.log());
        let complaints = setup.log().lines().filter(|it| it.contains("can't be exported")).count();
        assert!(complaints <= 1, "{}", setup.log());
        let printed =
            setup.log().contains("can't be exported") || setup.log().contains("last traces");
        assert!(printed, "{}", setup.log());
    }
}
