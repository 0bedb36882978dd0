//! Clients that read the response of a long Task slowly: they hold neither memory nor a transaction.

use super::batch::Wait;
use super::process::*;
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

const N_ACCESSES: usize = 20_000;

/// Enough for their responses to be visible in memory.
const N_READERS: usize = 24;

/// Most memory that all of them may take together. Their responses have some 7 MB each.
const MEMORY_MAX: u64 = 64 << 20;

/// A reader that has the beginning of a response. The kernel buffers little for it.
async fn begin(server: &Server, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(server.address().parse().unwrap()).await.unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
        server.address(),
        server.token
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    stream
}

async fn figure(server: &Server, name: &str) -> u64 {
    let text = server.ask(Method::GET, "/-/metrics", None).await.text().await.unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse::<f64>().unwrap() as u64
}

/// Responses in progress, after those that were read have ended.
async fn n_hanging(server: &Server) -> usize {
    // A response ends a moment after its last byte was read.
    let wait = Wait::new("three answers are whole");
    while figure(server, "gatehouse_http_streams_total{outcome=\"whole\"}").await < 3 {
        wait.check_limit();
    }
    figure(server, "gatehouse_http_streams_in_flight").await as usize
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_readers_hold_neither_memory_nor_a_transaction() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let body = json!({"contractId": "payg", "numberOfAccesses": N_ACCESSES});
    let task = server.batch("acme", "batch", &body).await;
    server.until_ended("acme", &task).await;
    let path = format!("/acme/access/batch/{task}");
    let read = async || server.ask(Method::GET, &path, None).await.text().await.unwrap();
    let whole = read().await;
    let before = figure(&server, "process_resident_memory_bytes").await;

    let mut readers = Vec::new();
    for _ in 0..N_READERS {
        readers.push(begin(&server, &path).await);
    }
    assert!(read().await == whole, "a reading client gets all of it, also while others hang");
    assert_eq!(n_hanging(&server).await, N_READERS);
    let grown = figure(&server, "process_resident_memory_bytes").await.saturating_sub(before);
    assert!(grown < MEMORY_MAX, "{grown} bytes for answers of {} bytes", whole.len());
    assert!((whole.len() * N_READERS) as u64 > 2 * MEMORY_MAX, "answers are long enough");

    // An open transaction keeps the log from being truncated.
    let connection = rusqlite::Connection::open(setup.path("gatehouse-data/gatehouse.db")).unwrap();
    let is_free = || {
        let cut = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        cut == Ok(0)
    };
    until("no transaction is open", is_free).await;
    assert_eq!(n_hanging(&server).await, N_READERS, "all of them still");
}
