//! Malformed and oversized requests, over a real connection: answered quickly, with flat memory.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::process::*;
use super::socket::Socket;
use reqwest::Method;

/// Sends bytes and reads until the server closes.
fn send(server: &Server, parts: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    for part in parts {
        // A server that has refused may stop reading.
        if stream.write_all(part).is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    // A server may reset the connection after its response while the client still sends.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

pub(crate) fn assert_problem(answer: &str, status: u16) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(head.contains("content-type: application/problem+json"), "{answer}");
    assert!(head.contains("x-correlation-id: "), "{answer}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["status"], &body["@type"]), (&status.into(), &"problem".into()), "{answer}");
}

fn peak_memory(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn malformed_http_gets_the_problem_body_too() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let many: String = (0..200).map(|n| format!("x-{n}: y\r\n")).collect();
    let long = "x".repeat(70_000);
    for (request, status) in [
        ("GARBAGE\r\n\r\n".to_owned(), 400),
        ("GET /a\u{1}b HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(), 400),
        ("GET /a b HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/7.3\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nhost : x\r\n\r\n".to_owned(), 400),
        ("GET /-/live HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned(), 400),
        ("GET /-/live HTTP/1.1\r\nhost: a b@c\r\nconnection: close\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\nhost: x\r\n{many}\r\n"), 431),
        (format!("GET /{long} HTTP/1.1\r\nhost: x\r\n\r\n"), 414),
        (format!("GET /-/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: {long}\r\n\r\n"), 431),
    ] {
        assert_problem(&send(&server, &[request.as_bytes()]), status);
    }
}

#[tokio::test]
async fn a_huge_body_is_refused_and_memory_stays_flat() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    server.json(Method::POST, "/acme/access", Some(r#"{"contractId": "payg"}"#)).await;
    let before = peak_memory(&server);
    let chunk = vec![b' '; 1 << 20];
    let head = |more: &str| {
        format!(
            "POST /acme/access HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\n{more}\r\n\r\n",
            server.token
        )
    };
    let announced = head("content-length: 104857600");
    let mut parts: Vec<&[u8]> = vec![announced.as_bytes()];
    parts.extend(std::iter::repeat_n(chunk.as_slice(), 100));
    assert_problem(&send(&server, &parts), 413);

    let chunked = head("transfer-encoding: chunked");
    let mut parts: Vec<&[u8]> = vec![chunked.as_bytes()];
    for _ in 0..100 {
        parts.extend([&b"100000\r\n"[..], &chunk, b"\r\n"]);
    }
    parts.push(b"0\r\n\r\n");
    assert_problem(&send(&server, &parts), 413);

    let nobody = "POST /acme/access HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 104857600\r\n\r\n";
    let mut parts: Vec<&[u8]> = vec![nobody.as_bytes()];
    parts.extend(std::iter::repeat_n(chunk.as_slice(), 100));
    assert_problem(&send(&server, &parts), 401);

    let deep = "[".repeat(10_000);
    let nested = head(&format!("content-length: {}", deep.len()));
    assert_problem(&send(&server, &[nested.as_bytes(), deep.as_bytes()]), 400);

    let grown = peak_memory(&server).saturating_sub(before);
    // The allocator keeps freed memory for a while; of 300 MiB that were sent, less than a hundred was ever there.
    assert!(grown < 64 * 1024, "it grew by {grown} KiB");
    let (status, contracts) = server.json(Method::GET, "/acme/contract", None).await;
    assert_eq!((status, &contracts[0]["accessCount"]), (200, &1.into()), "nothing was written");
}

#[tokio::test]
async fn an_address_is_accepted_as_people_type_it() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let typed = format!(
        "GET /acme/access?createdAt>=2026-01-01&name=\"é|{{}}\\^`<>\" HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n",
        server.token
    );
    let mut socket = Socket::open(server.address());
    for _ in 0..2 {
        socket.send(&typed);
        let answer = socket.answer();
        assert!(answer.starts_with("HTTP/1.1 200 ") && !answer.contains("x-ignored"), "{answer}");
        // A request with a body comes in between, and stays unchanged.
        let body = r#"{"contractId": "payg", "deviceName": "GET /<> HTTP/1.1"}"#;
        socket.send(&format!(
            "POST /acme/access HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            server.token,
            body.len()
        ));
        let made = socket.answer();
        assert!(made.contains(r#""deviceName":"GET /<> HTTP/1.1""#), "{made}");
    }
    // Byte by byte the result is the same.
    for byte in typed.chars() {
        socket.send(byte.encode_utf8(&mut [0; 4]));
    }
    let answer = socket.answer();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");

    // A request sent before the previous response is left as it is, and refused.
    let mut socket = Socket::open(server.address());
    socket.send(&format!("{typed}{typed}"));
    let answer = socket.answer();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_problem(&socket.rest(), 400);

    // An unread body is not parsed as a head, although it looks like one: the next request begins after it.
    let mut socket = Socket::open(server.address());
    let body = "GET /<<<< HTTP/1.1\r\nhost: x\r\n\r\n";
    for _ in 0..2 {
        let n_bytes = body.len();
        socket.send(&format!(
            "GET /-/live?<> HTTP/1.1\r\nhost: x\r\ncontent-length: {n_bytes}\r\n\r\n{body}"
        ));
        let answer = socket.answer();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        socket.send(&typed);
        let answer = socket.answer();
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.contains("x-total-count"),
            "{answer}"
        );
    }
}
