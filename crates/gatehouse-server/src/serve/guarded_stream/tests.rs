use super::*;
use crate::serve::connections::{Connections, Slot};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// A guarded stream and its client's end, on a paused clock.
struct StreamPair {
    stream: GuardedStream<DuplexStream>,
    client: DuplexStream,
    slot: Slot,
    began: Instant,
}

impl StreamPair {
    fn new() -> Self {
        let (server, client) = tokio::io::duplex(1024);
        let slot = Connections::new(1).admit().unwrap();
        let activity = Arc::clone(&slot.activity);
        let stream = GuardedStream::new(server, Clock::machine(), activity, Limits::default());
        Self { stream, client, slot, began: Instant::now() }
    }

    /// Reads as hyper does, until the connection ends or is to be closed; returns the time in seconds.
    async fn read_to_end(&mut self) -> u64 {
        let mut read = Vec::new();
        tokio::select! {
            read = self.stream.read_to_end(&mut read) => { read.unwrap(); }
            () = self.slot.activity.closing() => {}
        }
        self.began.elapsed().as_secs()
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_closed_after_the_idle_timeout() {
    let mut pair = StreamPair::new();
    assert_eq!(pair.read_to_end().await, 60);
    assert!(pair.stream.closing.is_none(), "without a response");
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_head_gets_a_408() {
    let mut pair = StreamPair::new();
    tokio::time::advance(Duration::from_secs(5)).await;
    pair.client.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    // Ten seconds from the first byte, and one in which the client could have left.
    assert_eq!(pair.read_to_end().await, 5 + 10 + 1);
    drop(pair.stream);
    let mut received = String::new();
    pair.client.read_to_string(&mut received).await.unwrap();
    assert!(received.starts_with("HTTP/1.1 408 ") && received.contains("within 10s"), "{received}");
}

#[tokio::test(start_paused = true)]
async fn single_bytes_do_not_extend_the_head_timeout() {
    let mut pair = StreamPair::new();
    let dribble = async {
        while pair.client.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    let mut read = Vec::new();
    tokio::select! {
        () = dribble => unreachable!("the server listens until it has gone"),
        read = pair.stream.read_to_end(&mut read) => { read.unwrap(); }
    }
    assert_eq!(pair.began.elapsed().as_secs(), 11);
}

#[tokio::test(start_paused = true)]
async fn no_read_timeout_applies_during_a_request() {
    let mut pair = StreamPair::new();
    pair.client.write_all(b"POST / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut head = [0; 19];
    pair.stream.read_exact(&mut head).await.unwrap();
    let active = pair.slot.activity.begin();
    let waited = tokio::time::timeout(Duration::from_secs(3600), pair.read_to_end()).await;
    assert!(waited.is_err(), "no read timeout during a request");
    drop(active);
    assert_eq!(pair.read_to_end().await, 3600 + 60, "and then it is idle");
}

#[tokio::test(start_paused = true)]
async fn http2_never_gets_an_http1_response() {
    for (sent, time) in [(PREFACE, 60), (b"PRI * HT", 10)] {
        let mut pair = StreamPair::new();
        pair.client.write_all(sent).await.unwrap();
        assert_eq!(pair.read_to_end().await, time);
        drop(pair.stream);
        let mut received = Vec::new();
        pair.client.read_to_end(&mut received).await.unwrap();
        assert!(received.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn response_bytes_keep_an_http2_connection_and_control_frames_do_not() {
    let frame = |kind: u8, n_bytes: u16| {
        let [high, low] = n_bytes.to_be_bytes();
        let head = [0, high, low, kind, 1, 0, 0, 0, 0];
        [&head[..], &vec![0; n_bytes.into()]].concat()
    };
    let (ping, settings, window) = (frame(0x6, 8), frame(0x4, 0), frame(0x8, 4));
    let cases = [
        (frame(0x1, 1015), 40 + 60),
        (frame(0x0, 1015), 40 + 60),
        (frame(0x0, 1), 60),
        (ping.clone(), 60),
        (ping.repeat(5), 60),
        ([settings, window, ping.repeat(20)].concat(), 60),
    ];
    for (bytes, time) in cases {
        let mut pair = StreamPair::new();
        pair.client.write_all(PREFACE).await.unwrap();
        let mut preface = [0; 24];
        pair.stream.read_exact(&mut preface).await.unwrap();
        tokio::time::advance(Duration::from_secs(40)).await;
        pair.stream.write_all(&bytes).await.unwrap();
        assert_eq!(pair.read_to_end().await, time, "{bytes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_disconnected() {
    let mut pair = StreamPair::new();
    let answer = vec![b'x'; 2048];
    let error = pair.stream.write_all(&answer).await.unwrap_err();
    assert_eq!((error.kind(), pair.began.elapsed()), (io::ErrorKind::TimedOut, WRITE_TIMEOUT));
}

/// Sends a response to a client that reads `rate` bytes per second; returns the result, and when it ended.
async fn read_at(rate: usize, n_bytes: usize) -> (io::Result<()>, u64) {
    let mut pair = StreamPair::new();
    let answer = vec![b'x'; n_bytes];
    let mut part = vec![0; rate];
    let slow = async {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if pair.client.read_exact(&mut part).await.is_err() {
                return;
            }
        }
    };
    let written = tokio::select! {
        written = pair.stream.write_all(&answer) => written,
        () = slow => unreachable!("the wire stays until the answer is gone"),
    };
    (written, pair.began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_is_waited_for() {
    let (written, seconds) = read_at(2048, 256 << 10).await;
    assert!(written.is_ok() && seconds > 4 * WRITE_TIMEOUT.as_secs(), "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_too_slowly_is_disconnected() {
    for rate in [1, 100, 500] {
        let (written, seconds) = read_at(rate, 256 << 10).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut, "{rate}");
        assert!((30..=70).contains(&seconds), "{rate}: {seconds}");
    }
}

/// A guarded stream that received an invalid request.
async fn misused() -> StreamPair {
    let mut pair = StreamPair::new();
    pair.client.write_all(b"GARBAGE\r\n\r\n").await.unwrap();
    let mut garbage = [0; 11];
    pair.stream.read_exact(&mut garbage).await.unwrap();
    pair
}

async fn received(mut pair: StreamPair) -> String {
    drop(pair.stream);
    let mut received = String::new();
    pair.client.read_to_string(&mut received).await.unwrap();
    received
}

#[tokio::test]
async fn a_refusal_of_hyper_gets_the_problem_body() {
    let bare = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    let mut pair = misused().await;
    assert_eq!(pair.stream.write(bare).await.unwrap(), bare.len(), "as hyper sees it");
    let whole = received(pair).await;
    assert!(whole.contains("\"title\":\"Malformed request\""), "{whole}");

    let mut pair = misused().await;
    let pieces = [IoSlice::new(b""), IoSlice::new(bare)];
    assert_eq!(pair.stream.write_vectored(&pieces).await.unwrap(), bare.len());
    let in_pieces = received(pair).await;
    assert!(in_pieces.contains("\"title\":\"Malformed request\""), "{in_pieces}");
}

#[tokio::test]
async fn a_response_in_slices_is_sent_unchanged() {
    for head in [
        "HTTP/1.1 206 Partial Content\r\ncontent-length: 4\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\n",
    ] {
        let mut pair = misused().await;
        assert!(pair.stream.is_write_vectored());
        let pieces = [IoSlice::new(head.as_bytes()), IoSlice::new(b"body")];
        assert_eq!(pair.stream.write_vectored(&pieces).await.unwrap(), head.len() + 4);
        assert_eq!(received(pair).await, format!("{head}body"));
    }
}

#[tokio::test]
async fn a_response_is_sent_whole_in_small_writes() {
    let mut pair = misused().await;
    let answer = [b"HTTP/1.1 404 Not Found\r\ncontent-length: 9999\r\n\r\n", &[b'x'; 9999][..]];
    let write = async {
        let mut pieces = answer.map(IoSlice::new);
        let mut left = &mut pieces[..];
        while !left.is_empty() {
            // As hyper does: accepted bytes are not offered again.
            let n = pair.stream.write_vectored(left).await.unwrap();
            IoSlice::advance_slices(&mut left, n);
        }
    };
    let mut received = vec![0; answer.concat().len()];
    tokio::join!(write, async { pair.client.read_exact(&mut received).await.unwrap() });
    assert_eq!(received, answer.concat());
}

#[tokio::test(start_paused = true)]
async fn a_target_is_encoded_in_small_reads() {
    let mut pair = StreamPair::new();
    pair.client.write_all("POST /é< HTTP/1.1\r\n\r\n<body>".as_bytes()).await.unwrap();
    drop(pair.client);
    let mut read = Vec::new();
    let mut byte = [0];
    while pair.stream.read(&mut byte).await.unwrap() == 1 {
        read.push(byte[0]);
    }
    assert_eq!(String::from_utf8(read).unwrap(), "POST /%C3%A9%3C HTTP/1.1\r\n\r\n<body>");
}
