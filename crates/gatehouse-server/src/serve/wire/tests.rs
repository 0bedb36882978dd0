use super::*;
use crate::serve::connections::{Connections, Held};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// A wire with its client's end, on a clock that stands still until everyone waits.
struct Line {
    wire: Wire<DuplexStream>,
    client: DuplexStream,
    held: Held,
    began: Instant,
}

impl Line {
    fn new() -> Self {
        let (server, client) = tokio::io::duplex(1024);
        let held = Connections::new(1).admit().unwrap();
        let activity = Arc::clone(&held.activity);
        let wire = Wire::new(server, Clock::machine(), activity, Limits::default());
        Self { wire, client, held, began: Instant::now() }
    }

    /// Reads as hyper would, until the connection ends or is to be closed; gives the time of that.
    async fn read_to_end(&mut self) -> u64 {
        let mut read = Vec::new();
        tokio::select! {
            read = self.wire.read_to_end(&mut read) => { read.unwrap(); }
            () = self.held.activity.closing() => {}
        }
        self.began.elapsed().as_secs()
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_closed_after_a_while() {
    let mut line = Line::new();
    assert_eq!(line.read_to_end().await, 60);
    assert!(line.wire.farewell.is_none(), "without a word");
}

#[tokio::test(start_paused = true)]
async fn half_a_head_is_told_that_it_is_too_slow() {
    let mut line = Line::new();
    tokio::time::advance(Duration::from_secs(5)).await;
    line.client.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    // Ten seconds from the first byte, and one in which the client could have gone.
    assert_eq!(line.read_to_end().await, 5 + 10 + 1);
    drop(line.wire);
    let mut said = String::new();
    line.client.read_to_string(&mut said).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 408 ") && said.contains("within 10s"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn bytes_one_by_one_give_no_more_time() {
    let mut line = Line::new();
    let dribble = async {
        while line.client.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    let mut read = Vec::new();
    tokio::select! {
        () = dribble => unreachable!("the server listens until it has gone"),
        read = line.wire.read_to_end(&mut read) => { read.unwrap(); }
    }
    assert_eq!(line.began.elapsed().as_secs(), 11);
}

#[tokio::test(start_paused = true)]
async fn a_request_under_way_has_limits_of_its_own() {
    let mut line = Line::new();
    line.client.write_all(b"POST / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut head = [0; 19];
    line.wire.read_exact(&mut head).await.unwrap();
    let busy = line.held.activity.begin();
    let waited = tokio::time::timeout(Duration::from_secs(3600), line.read_to_end()).await;
    assert!(waited.is_err(), "as long as it takes");
    drop(busy);
    assert_eq!(line.read_to_end().await, 3600 + 60, "and then it is idle");
}

#[tokio::test(start_paused = true)]
async fn http2_is_never_answered_in_text() {
    for (sent, time) in [(PREFACE, 60), (b"PRI * HT", 10)] {
        let mut line = Line::new();
        line.client.write_all(sent).await.unwrap();
        assert_eq!(line.read_to_end().await, time);
        drop(line.wire);
        let mut said = Vec::new();
        line.client.read_to_end(&mut said).await.unwrap();
        assert!(said.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn part_of_an_answer_keeps_a_connection_of_http2_and_small_talk_does_not() {
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
        let mut line = Line::new();
        line.client.write_all(PREFACE).await.unwrap();
        let mut preface = [0; 24];
        line.wire.read_exact(&mut preface).await.unwrap();
        tokio::time::advance(Duration::from_secs(40)).await;
        line.wire.write_all(&bytes).await.unwrap();
        assert_eq!(line.read_to_end().await, time, "{bytes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_cut_off() {
    let mut line = Line::new();
    let answer = vec![b'x'; 2048];
    let error = line.wire.write_all(&answer).await.unwrap_err();
    assert_eq!((error.kind(), line.began.elapsed()), (io::ErrorKind::TimedOut, WRITE_TIMEOUT));
}

/// How much of an answer goes out to a client that reads so many bytes in each second, and when it is cut off.
async fn read_at(rate: usize, n_bytes: usize) -> (io::Result<()>, u64) {
    let mut line = Line::new();
    let answer = vec![b'x'; n_bytes];
    let mut part = vec![0; rate];
    let slow = async {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if line.client.read_exact(&mut part).await.is_err() {
                return;
            }
        }
    };
    let written = tokio::select! {
        written = line.wire.write_all(&answer) => written,
        () = slow => unreachable!("the wire stays until the answer is gone"),
    };
    (written, line.began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_is_waited_for() {
    let (written, seconds) = read_at(2048, 256 << 10).await;
    assert!(written.is_ok() && seconds > 4 * WRITE_TIMEOUT.as_secs(), "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_drop_by_drop_is_cut_off() {
    for rate in [1, 100, 500] {
        let (written, seconds) = read_at(rate, 256 << 10).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut, "{rate}");
        assert!((30..=70).contains(&seconds), "{rate}: {seconds}");
    }
}

/// A wire that was asked for something that is no request.
async fn misused() -> Line {
    let mut line = Line::new();
    line.client.write_all(b"GARBAGE\r\n\r\n").await.unwrap();
    let mut garbage = [0; 11];
    line.wire.read_exact(&mut garbage).await.unwrap();
    line
}

async fn said(mut line: Line) -> String {
    drop(line.wire);
    let mut said = String::new();
    line.client.read_to_string(&mut said).await.unwrap();
    said
}

#[tokio::test]
async fn a_bare_refusal_is_explained() {
    let bare = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    let mut line = misused().await;
    assert_eq!(line.wire.write(bare).await.unwrap(), bare.len(), "as hyper sees it");
    let whole = said(line).await;
    assert!(whole.contains("\"title\":\"Malformed request\""), "{whole}");

    let mut line = misused().await;
    let pieces = [IoSlice::new(b""), IoSlice::new(bare)];
    assert_eq!(line.wire.write_vectored(&pieces).await.unwrap(), bare.len());
    let in_pieces = said(line).await;
    assert!(in_pieces.contains("\"title\":\"Malformed request\""), "{in_pieces}");
}

#[tokio::test]
async fn an_answer_in_pieces_goes_out_as_it_is() {
    for head in [
        "HTTP/1.1 206 Partial Content\r\ncontent-length: 4\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\n",
    ] {
        let mut line = misused().await;
        assert!(line.wire.is_write_vectored());
        let pieces = [IoSlice::new(head.as_bytes()), IoSlice::new(b"body")];
        assert_eq!(line.wire.write_vectored(&pieces).await.unwrap(), head.len() + 4);
        assert_eq!(said(line).await, format!("{head}body"));
    }
}

#[tokio::test]
async fn an_answer_goes_out_whole_however_little_is_taken_at_a_time() {
    let mut line = misused().await;
    let answer = [b"HTTP/1.1 404 Not Found\r\ncontent-length: 9999\r\n\r\n", &[b'x'; 9999][..]];
    let write = async {
        let mut pieces = answer.map(IoSlice::new);
        let mut left = &mut pieces[..];
        while !left.is_empty() {
            // As hyper does it: what was taken is not offered again.
            let n = line.wire.write_vectored(left).await.unwrap();
            IoSlice::advance_slices(&mut left, n);
        }
    };
    let mut got = vec![0; answer.concat().len()];
    tokio::join!(write, async { line.client.read_exact(&mut got).await.unwrap() });
    assert_eq!(got, answer.concat());
}

#[tokio::test(start_paused = true)]
async fn a_target_is_encoded_however_little_is_read_at_a_time() {
    let mut line = Line::new();
    line.client.write_all("POST /é< HTTP/1.1\r\n\r\n<body>".as_bytes()).await.unwrap();
    drop(line.client);
    let mut read = Vec::new();
    let mut byte = [0];
    while line.wire.read(&mut byte).await.unwrap() == 1 {
        read.push(byte[0]);
    }
    assert_eq!(String::from_utf8(read).unwrap(), "POST /%C3%A9%3C HTTP/1.1\r\n\r\n<body>");
}
