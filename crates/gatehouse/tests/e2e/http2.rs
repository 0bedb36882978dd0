//! HTTP/2 without TLS, with prior knowledge.

use super::process::*;
use reqwest::{Client, Method, Version};

fn client() -> Client {
    let builder = Client::builder().timeout(WAIT_LIMIT);
    builder.http2_prior_knowledge().build().unwrap()
}

#[tokio::test]
async fn one_http2_connection_carries_many_requests() {
    let setup = Setup::sqlite();
    let mut server = setup.serve_set(&[("LIMITS__CONNECTIONS", "1")]);
    server.client = client();
    let body = r#"{"contractId": "payg"}"#;
    let created = server.ask(Method::POST, "/acme/access", Some(body)).await;
    assert_eq!((created.version(), created.status().as_u16()), (Version::HTTP_2, 201));
    let location = created.headers()["location"].to_str().unwrap().to_owned();
    assert!(location.starts_with(&format!("{}/acme/access/", server.url)), "{location}");
    let many = (0..300).map(|_| server.ask(Method::GET, "/acme/contract", None));
    for response in futures_util::future::join_all(many).await {
        assert_eq!((response.version(), response.status().as_u16()), (Version::HTTP_2, 200));
    }
}

#[tokio::test]
async fn refusals_of_http2_have_the_problem_body() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let client = client();
    let get = |path: &str| client.get(format!("{}{path}", server.url));
    let many = (0..101).fold(get("/-/live"), |request, n| request.header(format!("x-{n}"), "y"));
    let large = |n| get("/-/live").header("x-large", "y".repeat(n));
    for (request, status) in [
        (get("/nowhere"), 404),
        (get("/acme/contract"), 401),
        (large(65_000), 200),
        (large(66_000), 431),
        (many, 431),
        (get("/-/live").header("host", "somewhere.else"), 400),
    ] {
        let response = request.send().await.unwrap();
        assert_eq!((response.version(), response.status().as_u16()), (Version::HTTP_2, status));
        assert!(response.headers().contains_key("x-correlation-id"));
        let body: serde_json::Value = response.json().await.unwrap();
        assert!(status == 200 || body["status"] == status, "{body}");
    }
}

#[tokio::test]
async fn a_missing_body_is_408_in_http2_too() {
    let setup = Setup::sqlite();
    let server = setup.serve_set(&[("LIMITS__BODY_TIMEOUT", "200ms")]);
    let never = futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>();
    let request = client().post(format!("{}/acme/access", server.url)).bearer_auth(&server.token);
    let request = request.header("content-type", "application/json");
    let response = request.body(reqwest::Body::wrap_stream(never)).send().await.unwrap();
    assert_eq!(response.status(), 408);
    let body: serde_json::Value = response.json().await.unwrap();
    assert_eq!(body["title"], "Too slow");
}

#[tokio::test]
async fn an_idle_http2_connection_is_closed_and_does_not_delay_the_stop() {
    let setup = Setup::sqlite();
    let mut server =
        setup.serve_set(&[("LIMITS__IDLE_TIMEOUT", "100ms"), ("LIMITS__CONNECTIONS", "1")]);
    let mut clients = Vec::new();
    for _ in 0..3 {
        // Another client each time: the previous one may not have noticed yet, and must not close by itself.
        clients.push(std::mem::replace(&mut server.client, client()));
        assert_eq!(server.json(Method::GET, "/acme/contract", None).await.0, 200);
        until("the server has closed it", || n_sockets(&server) == 0).await;
    }
    drop(server);

    let mut server = setup.serve();
    server.client = client();
    assert_eq!(server.json(Method::GET, "/acme/contract", None).await.0, 200);
    server.terminate();
    assert!(server.wait().success());
    assert!(!setup.log().contains("cut off"), "{}", setup.log());
}

fn n_sockets(server: &Server) -> usize {
    let port = server.address().rsplit(':').next().unwrap().parse::<u16>().unwrap();
    let local = format!(":{port:04X}");
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    // Local address, remote address, state; 01 is established.
    let established = table.lines().filter(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_local = fields.next().is_some_and(|address| address.ends_with(&local));
        is_local && fields.nth(1) == Some("01")
    });
    established.count()
}
