//! A client with little overhead: one persistent connection, one request at a time, no copies of the body.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::Failure;

/// Timeout of a request.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// Most bytes of a response. A page of a thousand products has a fifth of this.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// Initial buffer for a response; there may be a thousand connections.
const ANSWER_BYTES: usize = 16 << 10;

/// Buffer for the chunks of a response.
const STREAM_BYTES: usize = 256 << 10;

pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    sent_at: Instant,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    /// `X-Total-Count`.
    pub(crate) total: Option<u64>,
    /// `X-Event-Number`.
    pub(crate) event_number: Option<u64>,
    pub(crate) body: &'a [u8],
    /// From before the first byte of the request to after the last of the response.
    pub(crate) latency: Duration,
}

impl Client {
    pub(crate) fn connect(address: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address)
            .and_then(|stream| {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(ANSWER_LIMIT))?;
                Ok(stream)
            })
            .map_err(|cause| Failure::Step(format!("no connection to the server: {cause}")))?;
        Ok(Self { stream, buffer: vec![0; ANSWER_BYTES], sent_at: Instant::now() })
    }

    /// Sends a request and waits for its response.
    pub(crate) fn call(&mut self, request: &[u8]) -> Result<Answer<'_>, Failure> {
        self.send(request)?;
        self.receive()
    }

    /// Sends a request and parses its JSON response, which must have this status.
    pub(crate) fn call_for_json(&mut self, request: &[u8], status: u16) -> Result<Value, Failure> {
        let answer = self.call(request)?;
        let body = || String::from_utf8_lossy(answer.body).into_owned();
        if answer.status != status {
            return Err(Failure::WrongAnswer(format!("{} {}", answer.status, body())));
        }
        serde_json::from_slice(answer.body).map_err(|_| Failure::WrongAnswer(body()))
    }

    pub(crate) fn send(&mut self, request: &[u8]) -> Result<(), Failure> {
        self.sent_at = Instant::now();
        self.stream
            .write_all(request)
            .map_err(|cause| Failure::Step(format!("the request was not sent: {cause}")))
    }

    /// Waits for the response to the last request.
    pub(crate) fn receive(&mut self) -> Result<Answer<'_>, Failure> {
        self.read_answer().map_err(|cause| Failure::Step(format!("no answer: {cause}")))
    }

    /// Waits for a chunked response; calls `look` between chunks.
    pub(crate) fn receive_streamed(
        &mut self,
        mut look: impl FnMut() -> Result<(), Failure>,
    ) -> Result<Streamed, Failure> {
        let failed = |cause| Failure::Step(format!("no answer: {cause}"));
        self.buffer.resize(STREAM_BYTES, 0);
        let mut n_read = 0;
        let (status, n_head) = loop {
            n_read += self.read_more(n_read).map_err(failed)?;
            if let Some(head) = read_streamed_head(&self.buffer[..n_read]).map_err(failed)? {
                break head;
            }
        };
        let mut chunks = Chunks::default();
        chunks.take(&self.buffer[n_head..n_read]).map_err(failed)?;
        while !chunks.is_over {
            n_read = self.read_more(0).map_err(failed)?;
            chunks.take(&self.buffer[..n_read]).map_err(failed)?;
            look()?;
        }
        Ok(Streamed { status, body: chunks.body, latency: self.sent_at.elapsed() })
    }

    fn read_answer(&mut self) -> io::Result<Answer<'_>> {
        let mut n_read = 0;
        let head = loop {
            n_read += self.read_more(n_read)?;
            if let Some(head) = read_head(&self.buffer[..n_read])? {
                break head;
            }
        };
        let end = head.n_bytes + head.content_length;
        while n_read < end {
            n_read += self.read_more(n_read)?;
        }
        let latency = self.sent_at.elapsed();
        let body = &self.buffer[head.n_bytes..end];
        let Head { status, total, event_number, .. } = head;
        Ok(Answer { status, total, event_number, body, latency })
    }

    fn read_more(&mut self, n_read: usize) -> io::Result<usize> {
        if n_read == self.buffer.len() && n_read < ANSWER_BYTES_MAX {
            self.buffer.resize(n_read * 2, 0);
        }
        match self.stream.read(&mut self.buffer[n_read..])? {
            0 => Err(io::Error::other("the connection ended, or the answer is too long")),
            n => Ok(n),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Streamed {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) latency: Duration,
}

#[derive(Debug, Default)]
struct Chunks {
    body: Vec<u8>,
    /// Bytes that remain of the present chunk.
    n_left: usize,
    /// The present line with a chunk's length, so far.
    line: Vec<u8>,
    /// Whether the last chunk has arrived. Trailers are ignored.
    is_over: bool,
}

impl Chunks {
    fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() && !self.is_over {
            if self.n_left > 0 {
                let n = self.n_left.min(bytes.len());
                self.body.extend_from_slice(&bytes[..n]);
                self.n_left -= n;
                bytes = &bytes[n..];
                continue;
            }
            let (byte, rest) = (bytes[0], &bytes[1..]);
            bytes = rest;
            if byte != b'\n' {
                self.line.push(byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let digits = std::str::from_utf8(&line).unwrap_or_default().trim();
            // The empty line after a chunk.
            if digits.is_empty() && !self.body.is_empty() {
                continue;
            }
            let length = usize::from_str_radix(digits, 16);
            let length = length.map_err(|_| io::Error::other("the answer has no chunks"))?;
            self.n_left = length;
            self.is_over = length == 0;
        }
        Ok(())
    }
}

/// Adds a header to a request.
pub(crate) fn with_header(request: &[u8], header: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(request);
    text.replacen("\r\n\r\n", &format!("\r\n{header}\r\n\r\n"), 1).into()
}

pub(crate) fn get(path: &str, token: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n\r\n").into()
}

pub(crate) fn post(path: &str, token: &str, body: &str) -> Vec<u8> {
    with_body("POST", path, token, "application/json", body)
}

pub(crate) fn patch(path: &str, token: &str, body: &str) -> Vec<u8> {
    with_body("PATCH", path, token, "application/merge-patch+json", body)
}

fn with_body(method: &str, path: &str, token: &str, content_type: &str, body: &str) -> Vec<u8> {
    let n_bytes = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: {content_type}\r\nContent-Length: {n_bytes}\r\n\r\n{body}"
    )
    .into()
}

/// Status and length of the head at the start of these bytes; `None` while it is incomplete.
fn read_streamed_head(bytes: &[u8]) -> io::Result<Option<(u16, usize)>> {
    let Some(n_bytes) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes[..n_bytes]).to_ascii_lowercase();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    match status.filter(|_| text.contains("transfer-encoding: chunked")) {
        Some(status) => Ok(Some((status, n_bytes + 4))),
        None => Err(io::Error::other(format!("the answer is not streamed: {text}"))),
    }
}

/// The parsed head of a response.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    total: Option<u64>,
    event_number: Option<u64>,
    content_length: usize,
    /// Length of the head, with the empty line.
    n_bytes: usize,
}

/// The head at the start of these bytes; `None` while it is incomplete.
fn read_head(bytes: &[u8]) -> io::Result<Option<Head>> {
    let Some(n_bytes) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let unreadable = || io::Error::other("the answer is not HTTP with a length");
    let text = std::str::from_utf8(&bytes[..n_bytes]).map_err(|_| unreadable())?;
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let (mut total, mut event_number, mut content_length) = (None, None, None);
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        if name.eq_ignore_ascii_case("content-length") {
            content_length = value.parse().ok();
        } else if name.eq_ignore_ascii_case("x-total-count") {
            total = value.parse().ok();
        } else if name.eq_ignore_ascii_case("x-event-number") {
            event_number = value.parse().ok();
        }
    }
    let (Some(status), Some(content_length)) = (status, content_length) else {
        return Err(unreadable());
    };
    Ok(Some(Head { status, total, event_number, content_length, n_bytes: n_bytes + 4 }))
}

#[cfg(test)]
mod tests;
