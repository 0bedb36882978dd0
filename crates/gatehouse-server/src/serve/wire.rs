//! The bytes of a connection, watched on their way: who is too slow is noticed here.
//!
//! hyper waits for a request's head without a word and closes without one. Here a head that does not arrive
//! in time is answered with 408, a connection without a request is closed after a while, and a client
//! that doesn't read its answer is cut off. What hyper refuses by itself gets the problem body; what it would refuse
//! of a target that people typed is encoded.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use gatehouse_store::Clock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::connections::Activity;
use super::target::RequestTarget;
use crate::config::Limits;
use crate::http::intake::refusal;

/// How long a client may let an answer wait, over all of it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// How many bytes that a client reads buy it another second: one that takes an answer drop by drop is cut off.
const READ_BYTES_PER_SECOND: u64 = 1024;

/// How long a client that was refused may go on talking: cut off at once, it might not read why.
const FAREWELL_TIMEOUT: Duration = Duration::from_secs(1);

/// What a client of HTTP/2 says first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How many bytes of answers keep a connection of HTTP/2 that has no request under way.
const ANSWERED_BYTES: usize = 1024;

/// The kinds of frames in HTTP/2 that are the small talk of a connection, and no part of an answer: settings, pings, and
/// how much may be sent.
const SMALL_TALK: [u8; 3] = [0x4, 0x6, 0x8];

/// How many bytes a frame has beside what it carries.
const FRAME_HEAD_BYTES: usize = 9;

/// A connection whose client is watched.
pub(super) struct Wire<Io> {
    io: Io,
    clock: Clock,
    activity: Arc<Activity>,
    limits: Limits,
    protocol: Protocol,
    target: RequestTarget,
    /// What has come, is encoded and had no room yet; and how much of it has been handed on.
    encoded: (Vec<u8>, usize),
    /// When the first byte of a head came, and how many requests there had been by then.
    head: Option<(Instant, u64)>,
    /// Runs while nothing comes. It may be early: what it stands for is looked up when it comes.
    read_timer: Option<Pin<Box<Sleep>>>,
    /// Runs while the client doesn't read.
    write_timer: Option<Pin<Box<Sleep>>>,
    pace: Pace,
    /// How many bytes of answers went out in HTTP/2 since that counted last.
    n_answered: usize,
    /// What goes out in place of hyper's words, and how much of it has gone.
    instead: Option<(Vec<u8>, usize)>,
    /// Set when the last word has been said, or is about to be.
    farewell: Option<Farewell>,
}

enum Protocol {
    /// As much of the preface has come.
    Unknown(usize),
    Http1,
    Http2,
}

/// How a client reads its answers, since the connection was last idle.
#[derive(Default)]
struct Pace {
    /// How long they have waited for it in all.
    waited: Duration,
    /// Since when one waits.
    waits_since: Option<Instant>,
    /// How much of them it has taken.
    n_bytes: u64,
}

impl Pace {
    /// Until when an answer may wait that waits now.
    fn deadline(&mut self) -> Instant {
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        let bought = Duration::from_secs(self.n_bytes / READ_BYTES_PER_SECOND);
        // None waits longer than that at a stretch, however much was read before.
        since + (WRITE_TIMEOUT + bought).saturating_sub(self.waited).min(WRITE_TIMEOUT)
    }

    /// Notes that the client reads on.
    fn go_on(&mut self) {
        if let Some(since) = self.waits_since.take() {
            self.waited += since.elapsed();
        }
    }
}

enum Farewell {
    Speaking,
    Listening(Pin<Box<Sleep>>),
    Over,
}

impl<Io> Wire<Io> {
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
            pace: Pace::default(),
            n_answered: 0,
            instead: None,
            farewell: None,
        }
    }

    fn is_http2(&self) -> bool {
        matches!(self.protocol, Protocol::Http2)
    }

    /// Learns from what has come.
    fn note(&mut self, bytes: &[u8]) {
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
            let n_begun = self.activity.n_begun();
            if self.head.is_none_or(|(_, before)| before != n_begun) {
                self.head = Some((Instant::now(), n_begun));
                self.pace = Pace::default();
            }
        }
    }

    /// Encodes what has to be, of bytes that have come to stand in the buffer.
    fn encode(&mut self, buffer: &mut ReadBuf<'_>, n_before: usize) {
        if self.is_http2() {
            return;
        }
        if let Some(encoded) = self.target.encode(&buffer.filled()[n_before..], &self.activity) {
            buffer.set_filled(n_before);
            self.encoded = (encoded, 0);
            self.hand_on(buffer);
        }
    }

    /// Hands on what was encoded; false when there is nothing.
    fn hand_on(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let (bytes, n_gone) = &mut self.encoded;
        let rest = &bytes[*n_gone..];
        if rest.is_empty() {
            return false;
        }
        let n = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..n]);
        *n_gone += n;
        if *n_gone == bytes.len() {
            self.encoded = (Vec::new(), 0);
        }
        true
    }

    /// Until when the client may be silent, and whether it is in the middle of a head. Nothing while
    /// something is under way, which has limits of its own.
    fn patience(&self) -> Option<(Instant, bool)> {
        let idle_since = self.activity.idle_since()?;
        match self.head {
            Some((since, before)) if before == self.activity.n_begun() && !self.is_http2() => {
                Some((since + self.limits.header_timeout.get(), true))
            }
            _ => Some((idle_since + self.limits.idle_timeout.get(), false)),
        }
    }
}

impl<Io: AsyncRead + AsyncWrite + Unpin> Wire<Io> {
    /// Nothing has come. For how long will that do?
    fn poll_silence(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let Some((deadline, in_head)) = self.patience() else { return Poll::Pending };
            let timer =
                self.read_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
            // Setting a timer has its price, and most requests come long before it: early will do.
            if timer.deadline() > deadline || timer.is_elapsed() {
                timer.as_mut().reset(deadline);
            }
            ready!(timer.as_mut().poll(cx));
            if Instant::now() < deadline {
                continue;
            }
            // Four bytes of the preface are no method of HTTP/1.1.
            let speaks_http1 = !matches!(self.protocol, Protocol::Unknown(4..));
            if !in_head || !speaks_http1 {
                self.activity.close();
                return Poll::Pending;
            }
            let message = refusal::too_slow(self.limits.header_timeout, self.clock.now());
            self.instead = Some((message, 0));
            self.farewell = Some(Farewell::Speaking);
            return self.poll_farewell(cx, buffer);
        }
    }

    /// Says the last word and listens a little longer; then the connection has ended.
    fn poll_farewell(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(Farewell::Speaking) = self.farewell {
            ready!(self.poll_instead(cx))?;
            let flushed = Pin::new(&mut self.io).poll_flush(cx);
            ready!(self.watch(cx, flushed))?;
            let shut = Pin::new(&mut self.io).poll_shutdown(cx);
            ready!(self.watch(cx, shut))?;
            let timer = tokio::time::sleep(FAREWELL_TIMEOUT);
            self.farewell = Some(Farewell::Listening(Box::pin(timer)));
        }
        if let Some(Farewell::Listening(timer)) = &mut self.farewell {
            let n_filled = buffer.filled().len();
            while timer.as_mut().poll(cx).is_pending() {
                let heard = ready!(Pin::new(&mut self.io).poll_read(cx, buffer));
                let n_heard = buffer.filled().len() - n_filled;
                buffer.set_filled(n_filled);
                if heard.is_err() || n_heard == 0 {
                    break;
                }
            }
            self.farewell = Some(Farewell::Over);
        }
        Poll::Ready(Ok(()))
    }
}

impl<Io: AsyncWrite + Unpin> Wire<Io> {
    /// Watches whether the client reads what is written.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.pace.go_on();
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

    /// Whether something else goes out in place of these bytes: in HTTP/2 never.
    fn is_replaced(&mut self, bytes: &[u8]) -> bool {
        if self.instead.is_none() && !self.is_http2() {
            let explained = refusal::explain(bytes, || self.clock.now());
            self.instead = explained.map(|message| (message, 0));
        }
        self.instead.is_some()
    }

    fn poll_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((message, n_gone)) = &mut self.instead {
            if *n_gone == message.len() {
                self.instead = None;
                break;
            }
            let written = Pin::new(&mut self.io).poll_write(cx, &message[*n_gone..]);
            match ready!(self.watch(cx, written))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => {
                    if let Some((_, n_gone)) = &mut self.instead {
                        *n_gone += n;
                    }
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Counts what went out of these bytes.
    fn count(
        &mut self,
        written: Poll<io::Result<usize>>,
        is_small_talk: impl FnOnce() -> bool,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(n)) = &written {
            self.pace.n_bytes += *n as u64;
            if self.is_http2() && *n > 0 && !is_small_talk() {
                self.n_answered += *n;
                // A client that lets drops through is as idle as one that lets nothing through.
                if self.n_answered >= ANSWERED_BYTES {
                    self.n_answered = 0;
                    self.activity.touch();
                }
            }
        }
        written
    }
}

impl<Io: AsyncRead + AsyncWrite + Unpin> AsyncRead for Wire<Io> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.farewell.is_some() {
            return self.poll_farewell(cx, buffer);
        }
        if self.hand_on(buffer) {
            return Poll::Ready(Ok(()));
        }
        let n_filled = buffer.filled().len();
        match Pin::new(&mut self.io).poll_read(cx, buffer) {
            Poll::Pending => self.poll_silence(cx, buffer),
            Poll::Ready(result) => {
                self.note(&buffer.filled()[n_filled..]);
                self.encode(buffer, n_filled);
                Poll::Ready(result)
            }
        }
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for Wire<Io> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.farewell.is_some() {
            // The last word has been said.
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if self.is_replaced(buffer) {
            // hyper offers the same bytes again until they are taken.
            ready!(self.poll_instead(cx))?;
            return Poll::Ready(Ok(buffer.len()));
        }
        let written = Pin::new(&mut self.io).poll_write(cx, buffer);
        let written = self.watch(cx, written);
        self.count(written, || is_small_talk(buffer))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // A refusal of hyper's is a head without a body, and hyper only reads on to what it refuses when all
        // before that is gone: so the first piece shows it.
        let first = buffers.iter().find(|buffer| !buffer.is_empty());
        let first = first.map_or(&[][..], |buffer| &**buffer);
        if self.farewell.is_some() || self.is_replaced(first) {
            return self.poll_write(cx, first);
        }
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, buffers);
        let written = self.watch(cx, written);
        // Small talk is written in one piece.
        let is_alone = buffers.iter().filter(|it| !it.is_empty()).count() < 2;
        self.count(written, || is_alone && is_small_talk(first))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
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

/// Whether bytes of HTTP/2 are whole frames of small talk and nothing else.
fn is_small_talk(mut bytes: &[u8]) -> bool {
    while let [a, b, c, kind, ..] = *bytes {
        let n_bytes = FRAME_HEAD_BYTES + u32::from_be_bytes([0, a, b, c]) as usize;
        match bytes.get(n_bytes..) {
            Some(rest) if SMALL_TALK.contains(&kind) => bytes = rest,
            _ => return false,
        }
    }
    bytes.is_empty()
}

#[cfg(test)]
mod tests;
