//! Clients that disconnect, or close their sending half, before the response.

use super::hostile::assert_problem;
use super::locked_rows::LockedRows;
use super::process::*;
use super::tls::{FILES, Pair, open};
use reqwest::{Client, Method};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// Hashes that are queued when the clients disconnect. Computing all of them takes much longer than noticing that.
const N_WAITING: u64 = 100;

/// Clients that send requests together. The queue has capacity for them and for those that wait already.
const N_CLIENTS: usize = 300;

/// Credentials that are wrong for a chosen password, so that each check is a slow hash.
const CREDENTIALS: &str = r#"{"username": "ann", "password": "wrong"}"#;

const CHOSEN: &str = r#"{"contractId": "payg", "username": "ann", "password": "s3cret"}"#;

/// Slow hashes, by the server's metrics.
struct Hashes {
    n_made: u64,
    n_running: u64,
    n_waiting: u64,
    /// Refused because the queue was full.
    n_refused: u64,
}

impl Hashes {
    async fn of(server: &Server) -> Self {
        let text = server.ask(Method::GET, "/-/metrics", None).await.text().await.unwrap();
        let figure = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
            value.unwrap_or_else(|| panic!("no {name} in {text}"))
        };
        Self {
            n_made: figure("gatehouse_vault_hash_duration_seconds_count "),
            n_running: figure("gatehouse_vault_hashes_running "),
            n_waiting: figure("gatehouse_vault_hashes_waiting "),
            n_refused: figure("gatehouse_vault_hashes_refused_total "),
        }
    }
}

fn request(server: &Server, path: &str, body: &str) -> String {
    let (token, n_bytes) = (&server.token, body.len());
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {n_bytes}\r\n\r\n{body}"
    )
}

/// A connection without TLS that has sent these requests.
async fn sent(server: &Server, requests: &str) -> TcpStream {
    let mut client = TcpStream::connect(server.address()).await.unwrap();
    client.write_all(requests.as_bytes()).await.unwrap();
    client
}

/// Connections that have sent these requests, faster than the server can check the credentials: all connect before the
/// first one sends.
async fn all_sent<T>(connect: impl AsyncFn() -> T, requests: &str) -> Vec<T>
where
    T: AsyncWrite + Unpin,
{
    let mut clients = Vec::new();
    for _ in 0..N_CLIENTS {
        clients.push(connect().await);
    }
    for client in &mut clients {
        client.write_all(requests.as_bytes()).await.unwrap();
        client.flush().await.unwrap();
    }
    clients
}

/// Closes the sending half, and reads the server's responses until it closes.
async fn answer_after_half_close(mut client: impl AsyncRead + AsyncWrite + Unpin) -> String {
    client.shutdown().await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Has clients request slow checks until enough of them are queued, and none was refused.
async fn queue_up<T>(server: &Server, ask: impl AsyncFn() -> Vec<T>) -> (Vec<T>, Hashes) {
    let began = Instant::now();
    let n_made_before = Hashes::of(server).await.n_made;
    let mut clients = Vec::new();
    loop {
        clients.extend(ask().await);
        let hashes = loop {
            let hashes = Hashes::of(server).await;
            assert_eq!(hashes.n_refused, 0, "the queue is full");
            assert!(began.elapsed() < WAIT_LIMIT, "{} hashes wait", hashes.n_waiting);
            let n_arrived = hashes.n_made - n_made_before + hashes.n_running + hashes.n_waiting;
            if n_arrived >= clients.len() as u64 {
                break hashes;
            }
        };
        if hashes.n_waiting >= N_WAITING {
            return (clients, hashes);
        }
    }
}

/// Waits until no slow hash is queued or running; asserts that most of those queued in `before` were not computed.
async fn assert_cancelled(server: &Server, before: Hashes, how: &str) {
    let began = Instant::now();
    let after = loop {
        let hashes = Hashes::of(server).await;
        if hashes.n_waiting + hashes.n_running == 0 {
            break hashes;
        }
        assert!(began.elapsed() < WAIT_LIMIT, "{how}: {} hashes wait", hashes.n_waiting);
    };
    let n_made = after.n_made - before.n_made;
    assert!(n_made < before.n_waiting / 2, "{how}: {n_made} of {} were made", before.n_waiting);
}

#[tokio::test]
async fn queued_hashes_of_a_closed_http1_connection_are_cancelled() {
    let setup = Setup::sqlite();
    let server = setup.serve_allowing_guesses();
    assert_eq!(server.json(Method::POST, "/acme/access", Some(CHOSEN)).await.0, 201);
    let check = request(&server, "/acme/verify", CREDENTIALS);
    let connect = async || TcpStream::connect(server.address()).await.unwrap();

    let (clients, before) = queue_up(&server, async || all_sent(&connect, &check).await).await;
    drop(clients);
    assert_cancelled(&server, before, "closed").await;

    let (clients, before) = queue_up(&server, async || all_sent(&connect, &check).await).await;
    clients.iter().for_each(|client| client.set_zero_linger().unwrap());
    drop(clients);
    assert_cancelled(&server, before, "reset").await;

    // The end of the connection follows a request that the server hasn't read yet.
    let two = check.repeat(2);
    let (clients, before) = queue_up(&server, async || all_sent(&connect, &two).await).await;
    drop(clients);
    assert_cancelled(&server, before, "closed after a second request").await;
}

#[tokio::test]
async fn queued_hashes_of_a_closed_tls_connection_are_cancelled() {
    let setup = Setup::sqlite();
    let pair = Pair::new();
    pair.put(&setup.path("tls"));
    let mut server = setup.serve_set(&[FILES[0], FILES[1], ("LIMITS__FAILED_CHECKS", "0")]);
    server.client = pair.trusting().build().unwrap();
    assert_eq!(server.json(Method::POST, "/acme/access", Some(CHOSEN)).await.0, 201);
    let check = request(&server, "/acme/verify", CREDENTIALS);
    let connect = async || open(&pair, &server).await.unwrap();
    let ask = async || all_sent(connect, &check).await;
    let (mut clients, before) = queue_up(&server, ask).await;
    let half_closed = answer_after_half_close(clients.pop().unwrap()).await;
    assert_problem(&half_closed, 503);
    drop(clients);
    assert_cancelled(&server, before, "closed").await;
}

#[tokio::test]
async fn queued_hashes_of_a_reset_http2_request_are_cancelled() {
    let setup = Setup::sqlite();
    let server = setup.serve_allowing_guesses();
    assert_eq!(server.json(Method::POST, "/acme/access", Some(CHOSEN)).await.0, 201);
    let url = format!("{}/acme/verify", server.url);
    // One connection carries at most 100 requests at a time.
    let connections = [(); 4].map(|()| {
        let builder = Client::builder().timeout(WAIT_LIMIT);
        builder.http2_prior_knowledge().build().unwrap()
    });
    let ask = async || {
        let clients = connections.iter().cycle().take(N_CLIENTS);
        let requests = clients.map(|client| {
            let request = client.post(&url).bearer_auth(&server.token);
            let request = request.header("content-type", "application/json").body(CREDENTIALS);
            tokio::spawn(request.send())
        });
        requests.collect::<Vec<_>>()
    };
    let (clients, before) = queue_up(&server, ask).await;
    clients.iter().for_each(tokio::task::JoinHandle::abort);
    assert_cancelled(&server, before, "reset").await;
}

#[tokio::test]
async fn a_half_closed_client_is_answered() {
    let setup = Setup::postgres("half_closed").await;
    let server = setup.serve_allowing_guesses();
    let read = format!(
        "GET /acme/contract HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n",
        server.token
    );
    let answer = answer_after_half_close(sent(&server, &read).await).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");

    // One slow hash that needs no queue.
    let write = request(&server, "/acme/access", CHOSEN);
    let answer = answer_after_half_close(sent(&server, &write).await).await;
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    let check = request(&server, "/acme/verify", CREDENTIALS);
    let answer = answer_after_half_close(sent(&server, &check).await).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");

    // The client closes its half during the write.
    let held = LockedRows::rows_of(&setup).await;
    let write = request(&server, "/acme/access", r#"{"contractId": "payg"}"#);
    let mut client = sent(&server, &write).await;
    held.until_awaited().await;
    client.shutdown().await.unwrap();
    held.release().await;
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");

    // A queued hash is cancelled, and the client learns that it may retry.
    let connect = async || TcpStream::connect(server.address()).await.unwrap();
    let (mut clients, _) = queue_up(&server, async || all_sent(&connect, &check).await).await;
    let answer = answer_after_half_close(clients.pop().unwrap()).await;
    assert_problem(&answer, 503);
    assert!(answer.contains("retry-after: "), "{answer}");
}
