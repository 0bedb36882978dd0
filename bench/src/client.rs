//! A client so light that it stays out of the way: one connection that is kept, one request at a
//! time, no copies of the body.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// A request that takes longer than this has hung.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// A page of a thousand products has a fifth of this.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// Room for an answer at first; there may be a thousand connections.
const ANSWER_BYTES: usize = 16 << 10;

/// A connection to a server.
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// When the last request was sent.
    sent_at: Instant,
}

/// What the server said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    /// `X-Total-Count`.
    pub(crate) total: Option<u64>,
    pub(crate) body: &'a [u8],
    /// From before the first byte of the request to after the last of the answer.
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
            .map_err(|cause| Failure::Trouble(format!("no connection to the server: {cause}")))?;
        Ok(Self { stream, buffer: vec![0; ANSWER_BYTES], sent_at: Instant::now() })
    }

    /// Sends a request, whole, and waits for its answer.
    pub(crate) fn ask(&mut self, request: &[u8]) -> Result<Answer<'_>, Failure> {
        self.send(request)?;
        self.receive()
    }

    /// Sends a request, whole.
    pub(crate) fn send(&mut self, request: &[u8]) -> Result<(), Failure> {
        self.sent_at = Instant::now();
        self.stream
            .write_all(request)
            .map_err(|cause| Failure::Trouble(format!("no way to ask: {cause}")))
    }

    /// Waits for the answer to what was sent.
    pub(crate) fn receive(&mut self) -> Result<Answer<'_>, Failure> {
        self.read_answer().map_err(|cause| Failure::Trouble(format!("no answer: {cause}")))
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
        Ok(Answer { status: head.status, total: head.total, body, latency })
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

/// A GET request as it goes over the wire.
pub(crate) fn get(path: &str, token: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n\r\n").into()
}

/// A POST request as it goes over the wire.
pub(crate) fn post(path: &str, token: &str, body: &str) -> Vec<u8> {
    with_body("POST", path, token, body)
}

/// A PATCH request as it goes over the wire.
pub(crate) fn patch(path: &str, token: &str, body: &str) -> Vec<u8> {
    with_body("PATCH", path, token, body)
}

fn with_body(method: &str, path: &str, token: &str, body: &str) -> Vec<u8> {
    let n_bytes = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {n_bytes}\r\n\r\n{body}"
    )
    .into()
}

/// What the head of an answer tells.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    total: Option<u64>,
    content_length: usize,
    /// Its own length, with the empty line.
    n_bytes: usize,
}

/// The head that these bytes begin with, once it is complete.
fn read_head(bytes: &[u8]) -> io::Result<Option<Head>> {
    let Some(n_bytes) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let unreadable = || io::Error::other("the answer is not HTTP with a length");
    let text = std::str::from_utf8(&bytes[..n_bytes]).map_err(|_| unreadable())?;
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let (mut total, mut content_length) = (None, None);
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        if name.eq_ignore_ascii_case("content-length") {
            content_length = value.parse().ok();
        } else if name.eq_ignore_ascii_case("x-total-count") {
            total = value.parse().ok();
        }
    }
    let (Some(status), Some(content_length)) = (status, content_length) else {
        return Err(unreadable());
    };
    Ok(Some(Head { status, total, content_length, n_bytes: n_bytes + 4 }))
}

#[cfg(test)]
mod tests;
