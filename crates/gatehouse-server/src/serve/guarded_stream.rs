//! A connection's stream with timeouts, and with explanations for what hyper refuses.
//!
//! hyper waits for a request's head without a timeout response and closes silently. Here a head that doesn't arrive in
//! time gets a 408, an idle connection is closed after a while, and a client that doesn't read its response is
//! disconnected. What hyper refuses gets the problem body; targets that it would refuse are encoded.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use gatehouse_store::Clock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::connections::Activity;
use super::request_target::RequestTarget;
use crate::config::Limits;
use crate::http::intake::refusal;

/// How long a response may wait for the client, in total.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes read that earn a client another second: one that reads too slowly is disconnected.
const BYTES_PER_EARNED_SECOND: u64 = 1024;

/// How long a refused client is read from: disconnected at once, it might not get the reason.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The preface of an HTTP/2 connection.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Response bytes that keep an HTTP/2 connection without requests open.
const USED_BYTES: usize = 1024;

/// Types of HTTP/2 control frames, which aren't part of a response: SETTINGS, PING and WINDOW_UPDATE.
const CONTROL_FRAMES: [u8; 3] = [0x4, 0x6, 0x8];

/// Bytes of a frame's header.
const FRAME_HEAD_BYTES: usize = 9;

/// A stream whose client is timed.
pub(super) struct GuardedStream<Io> {
    io: Io,
    clock: Clock,
    activity: Arc<Activity>,
    limits: Limits,
    protocol: Protocol,
    target: RequestTarget,
    /// Encoded bytes that didn't fit the buffer, and how many were delivered.
    encoded: (Vec<u8>, usize),
    /// When the first byte of a head arrived, and the number of requests before.
    head: Option<(Instant, u64)>,
    /// Runs while no bytes arrive. It may fire early: the deadline is checked then.
    read_timer: Option<Pin<Box<Sleep>>>,
    /// Runs while the client doesn't read.
    write_timer: Option<Pin<Box<Sleep>>>,
    pace: ReadPace,
    /// HTTP/2 response bytes since the connection was last marked as used.
    n_sent: usize,
    /// Bytes to send instead of hyper's, and how many were sent.
    replacement: Option<(Vec<u8>, usize)>,
    /// Set once the connection is being closed.
    closing: Option<Closing>,
}

enum Protocol {
    /// This much of the preface has arrived.
    Unknown(usize),
    Http1,
    Http2,
}

/// How fast a client reads, since the connection was last idle.
#[derive(Default)]
struct ReadPace {
    /// Total time that responses waited.
    waited: Duration,
    /// Start of the present wait.
    waiting_since: Option<Instant>,
    /// Bytes that the client has read.
    n_bytes: u64,
}

impl ReadPace {
    /// Deadline of the present wait.
    fn deadline(&mut self) -> Instant {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        let earned = Duration::from_secs(self.n_bytes / BYTES_PER_EARNED_SECOND);
        // No single wait is longer than that, however much was read before.
        since + (WRITE_TIMEOUT + earned).saturating_sub(self.waited).min(WRITE_TIMEOUT)
    }

    /// Records that the client reads again.
    fn resume(&mut self) {
        if let Some(since) = self.waiting_since.take() {
            self.waited += since.elapsed();
        }
    }
}

enum Closing {
    Sending,
    Draining(Pin<Box<Sleep>>),
    Closed,
}

impl<Io> GuardedStream<Io> {
    pub(super) fn new(io: Io, clock: Clock, activity: Arc<Activity>, limits: Limits) -> Self {
        Self {
            io,
            clock,
            activity,
            limits,
            protocol: Protocol::Unknown(0),
            target: RequestTarget::new(),
            encoded: (Vec::new(), 0),
            head: None,
            read_timer: None,
            write_timer: None,
            pace: ReadPace::default(),
            n_sent: 0,
            replacement: None,
            closing: None,
        }
    }

    fn is_http2(&self) -> bool {
        matches!(self.protocol, Protocol::Http2)
    }

    /// Tracks protocol and heads by received bytes.
    fn track(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if let Protocol::Unknown(n_matched) = self.protocol {
            let expected = &PREFACE[n_matched..];
            let n = expected.len().min(bytes.len());
            self.protocol = match bytes[..n] == expected[..n] {
                true if n == expected.len() => Protocol::Http2,
                true => Protocol::Unknown(n_matched + n),
                false => Protocol::Http1,
            };
        }
        if self.activity.idle_since().is_some() {
            let n_started = self.activity.n_started();
            if self.head.is_none_or(|(_, before)| before != n_started) {
                self.head = Some((Instant::now(), n_started));
                self.pace = ReadPace::default();
            }
        }
    }

    /// Encodes the target in the bytes after `n_before` of the buffer.
    fn encode(&mut self, buffer: &mut ReadBuf<'_>, n_before: usize) {
        if self.is_http2() {
            return;
        }
        if let Some(encoded) = self.target.encode(&buffer.filled()[n_before..], &self.activity) {
            buffer.set_filled(n_before);
            self.encoded = (encoded, 0);
            self.deliver_encoded(buffer);
        }
    }

    /// Delivers encoded bytes; false if there are none.
    fn deliver_encoded(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let (bytes, n_done) = &mut self.encoded;
        let rest = &bytes[*n_done..];
        if rest.is_empty() {
            return false;
        }
        let n = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..n]);
        *n_done += n;
        if *n_done == bytes.len() {
            self.encoded = (Vec::new(), 0);
        }
        true
    }

    /// Until when the client may be silent, and whether it is inside a head; `None` during a request.
    fn read_deadline(&self) -> Option<(Instant, bool)> {
        let idle_since = self.activity.idle_since()?;
        match self.head {
            Some((since, before)) if before == self.activity.n_started() && !self.is_http2() => {
                Some((since + self.limits.header_timeout.get(), true))
            }
            _ => Some((idle_since + self.limits.idle_timeout.get(), false)),
        }
    }
}

impl<Io: AsyncRead + AsyncWrite + Unpin> GuardedStream<Io> {
    /// Waits for bytes until the deadline, and then closes or answers 408.
    fn poll_silence(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let Some((deadline, in_head)) = self.read_deadline() else { return Poll::Pending };
            let timer =
                self.read_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
            // Resetting a timer is costly and most requests arrive long before it fires, so an early one stays.
            if timer.deadline() > deadline || timer.is_elapsed() {
                timer.as_mut().reset(deadline);
            }
            ready!(timer.as_mut().poll(cx));
            if Instant::now() < deadline {
                continue;
            }
            // Four bytes of the preface are no HTTP/1.1 method.
            let speaks_http1 = !matches!(self.protocol, Protocol::Unknown(4..));
            if !in_head || !speaks_http1 {
                self.activity.close();
                return Poll::Pending;
            }
            let message = refusal::slow_head(self.limits.header_timeout, self.clock.now());
            self.replacement = Some((message, 0));
            self.closing = Some(Closing::Sending);
            return self.poll_closing(cx, buffer);
        }
    }

    /// Sends the last response, reads a little longer, and then ends the connection.
    fn poll_closing(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(Closing::Sending) = self.closing {
            ready!(self.poll_replacement(cx))?;
            let flushed = Pin::new(&mut self.io).poll_flush(cx);
            ready!(self.watch(cx, flushed))?;
            let shut = Pin::new(&mut self.io).poll_shutdown(cx);
            ready!(self.watch(cx, shut))?;
            let timer = tokio::time::sleep(DRAIN_TIMEOUT);
            self.closing = Some(Closing::Draining(Box::pin(timer)));
        }
        if let Some(Closing::Draining(timer)) = &mut self.closing {
            let n_filled = buffer.filled().len();
            while timer.as_mut().poll(cx).is_pending() {
                let read = ready!(Pin::new(&mut self.io).poll_read(cx, buffer));
                let n_read = buffer.filled().len() - n_filled;
                buffer.set_filled(n_filled);
                if read.is_err() || n_read == 0 {
                    break;
                }
            }
            self.closing = Some(Closing::Closed);
        }
        Poll::Ready(Ok(()))
    }
}

impl<Io: AsyncWrite + Unpin> GuardedStream<Io> {
    /// Times the client's reading.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.pace.resume();
            if self.write_timer.take().is_some() {
                self.activity.set_blocked(false);
            }
            return written;
        }
        if self.write_timer.is_none() {
            self.activity.set_blocked(true);
        }
        let deadline = self.pace.deadline();
        let timer =
            self.write_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Whether a replacement is sent instead of these bytes: never in HTTP/2.
    fn is_replaced(&mut self, bytes: &[u8]) -> bool {
        if self.replacement.is_none() && !self.is_http2() {
            let explained = refusal::explain_bare(bytes, || self.clock.now());
            self.replacement = explained.map(|message| (message, 0));
        }
        self.replacement.is_some()
    }

    fn poll_replacement(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((message, n_done)) = &mut self.replacement {
            if *n_done == message.len() {
                self.replacement = None;
                break;
            }
            let written = Pin::new(&mut self.io).poll_write(cx, &message[*n_done..]);
            match ready!(self.watch(cx, written))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => {
                    if let Some((_, n_done)) = &mut self.replacement {
                        *n_done += n;
                    }
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Counts sent bytes.
    fn count(
        &mut self,
        written: Poll<io::Result<usize>>,
        is_control: impl FnOnce() -> bool,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(n)) = &written {
            self.pace.n_bytes += *n as u64;
            if self.is_http2() && *n > 0 && !is_control() {
                self.n_sent += *n;
                // A client that reads a few bytes is as idle as one that reads none.
                if self.n_sent >= USED_BYTES {
                    self.n_sent = 0;
                    self.activity.touch();
                }
            }
        }
        written
    }
}

impl<Io: AsyncRead + AsyncWrite + Unpin> AsyncRead for GuardedStream<Io> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.closing.is_some() {
            return self.poll_closing(cx, buffer);
        }
        if self.deliver_encoded(buffer) {
            return Poll::Ready(Ok(()));
        }
        let n_filled = buffer.filled().len();
        match Pin::new(&mut self.io).poll_read(cx, buffer) {
            Poll::Pending => self.poll_silence(cx, buffer),
            Poll::Ready(result) => {
                self.track(&buffer.filled()[n_filled..]);
                self.encode(buffer, n_filled);
                Poll::Ready(result)
            }
        }
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for GuardedStream<Io> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.closing.is_some() {
            // The last response was sent.
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if self.is_replaced(buffer) {
            // hyper offers the same bytes again until they are accepted.
            ready!(self.poll_replacement(cx))?;
            return Poll::Ready(Ok(buffer.len()));
        }
        let written = Pin::new(&mut self.io).poll_write(cx, buffer);
        let written = self.watch(cx, written);
        self.count(written, || is_control(buffer))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // hyper's refusal is a head without a body, sent after everything before it, so the first slice shows it.
        let first = buffers.iter().find(|buffer| !buffer.is_empty());
        let first = first.map_or(&[][..], |buffer| &**buffer);
        if self.closing.is_some() || self.is_replaced(first) {
            return self.poll_write(cx, first);
        }
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, buffers);
        let written = self.watch(cx, written);
        // Control frames are written in one slice.
        let is_alone = buffers.iter().filter(|it| !it.is_empty()).count() < 2;
        self.count(written, || is_alone && is_control(first))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_replacement(cx))?;
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.io).poll_shutdown(cx);
        self.watch(cx, shut)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

/// Whether the bytes are complete control frames and nothing else.
fn is_control(mut bytes: &[u8]) -> bool {
    while let [a, b, c, kind, ..] = *bytes {
        let n_bytes = FRAME_HEAD_BYTES + u32::from_be_bytes([0, a, b, c]) as usize;
        match bytes.get(n_bytes..) {
            Some(rest) if CONTROL_FRAMES.contains(&kind) => bytes = rest,
            _ => return false,
        }
    }
    bytes.is_empty()
}

#[cfg(test)]
mod tests;
