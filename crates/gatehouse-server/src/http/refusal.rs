//! Giving a body to what hyper refuses by itself.
//!
//! A request that is not HTTP at all never reaches a handler: hyper answers it with a bare status and
//! closes. Everyone else gets the problem body, so these do too. They are recognised on their way out:
//! no answer of ours is a 4xx without a body.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use gatehouse_store::Clock;
use http::{HeaderMap, StatusCode};
use hyper::rt::{Read, ReadBufCursor, Write};

use super::correlation::Correlation;
use super::problem::Problem;

/// A connection whose bare refusals are explained.
pub struct Explained<Io> {
    io: Io,
    clock: Clock,
    /// What goes out in place of a bare refusal, and how much of it has gone.
    instead: Option<(Vec<u8>, usize)>,
}

impl<Io> Explained<Io> {
    /// Wraps a connection.
    pub fn new(io: Io, clock: Clock) -> Self {
        Self { io, clock, instead: None }
    }

    fn explanation(&self, bare: &[u8]) -> Option<Vec<u8>> {
        // Most answers are none, and end here.
        if !bare.starts_with(b"HTTP/1.1 4") || !bare.ends_with(b"\r\n\r\n") {
            return None;
        }
        let bare = std::str::from_utf8(bare).ok()?;
        if !bare.contains("\r\ncontent-length: 0\r\n") {
            return None;
        }
        let status = StatusCode::from_bytes(&bare.as_bytes()[9..12]).ok()?;
        let (title, detail) = match status {
            StatusCode::URI_TOO_LONG => {
                ("Address too long", "the address has more than 65534 bytes")
            }
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
                ("Headers too large", "the request has more than 100 headers, or too long ones")
            }
            _ => (
                "Malformed request",
                "the request's line or headers can't be read as HTTP/1.1; in an address, `<`, `>` and \
                 `\"` are written %3C, %3E and %22",
            ),
        };
        let correlation = Correlation::of(&HeaderMap::new(), self.clock.now());
        let status_code = status.as_u16();
        tracing::info!(status = status_code, correlation_id = correlation.id, "no request");
        let mut reply = Problem::new(status, title, detail).into_reply(&correlation.id);
        correlation.put(&mut reply.headers);
        let mut message = format!("HTTP/1.1 {status}\r\nconnection: close\r\n").into_bytes();
        for (name, value) in &reply.headers {
            message.extend_from_slice(format!("{name}: ").as_bytes());
            message.extend_from_slice(value.as_bytes());
            message.extend_from_slice(b"\r\n");
        }
        message
            .extend_from_slice(format!("content-length: {}\r\n\r\n", reply.body.len()).as_bytes());
        message.extend_from_slice(&reply.body);
        Some(message)
    }
}

impl<Io: Write + Unpin> Explained<Io> {
    fn poll_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((message, n_gone)) = &mut self.instead {
            if *n_gone == message.len() {
                self.instead = None;
                break;
            }
            match ready!(Pin::new(&mut self.io).poll_write(cx, &message[*n_gone..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => *n_gone += n,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<Io: Read + Unpin> Read for Explained<Io> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl<Io: Write + Unpin> Write for Explained<Io> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.instead.is_none() {
            match self.explanation(buffer) {
                Some(message) => self.instead = Some((message, 0)),
                None => return Pin::new(&mut self.io).poll_write(cx, buffer),
            }
        }
        // hyper offers the same bytes again until they are taken.
        ready!(self.poll_instead(cx))?;
        Poll::Ready(Ok(buffer.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    // Without vectored writes hyper sends head and body as one buffer, which is what is looked at.
    fn is_write_vectored(&self) -> bool {
        false
    }
}
