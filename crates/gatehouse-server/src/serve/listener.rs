//! One listener: takes connections in, serves each on a task of its own, and lets them finish when it ends.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_store::Clock;
use gatehouse_vault::Disconnection;
use http::Request;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::awaited_body::AwaitedBody;
use super::connections::{Connections, Held};
use super::self_wake::SelfWake;
use super::shared_stream::{CloseWatch, SharedStream};
use super::tls::Tls;
use super::wire::Wire;
use crate::config::Limits;
use crate::http::intake::refusal;
use crate::http::{Arrival, Door, Gate, HEADER_BYTES_MAX, handle};

/// How many connections may wait to be taken in. The usual 128 are too few when many devices come back at once:
/// the others would try again only after a second.
const BACKLOG: u32 = 4096;

/// How long a client may take for the handshake of TLS.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a client that was refused is listened to, so that it reads why.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// Most refusals at a time that are explained; beyond it a connection is just closed.
const REFUSALS_MAX: usize = 64;

/// How long a head that is on its way may take to arrive when the listener ends.
const LAST_HEAD_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a client of HTTP/2 may take to agree that a connection ends which nobody else needs.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(1);

/// How often a connection that is to be closed is asked whether its last request is done.
const LAST_REQUEST_INTERVAL: Duration = Duration::from_millis(100);

/// Most requests at a time on one connection of HTTP/2.
const HTTP2_STREAMS_MAX: u32 = 100;

/// Most bytes that a client of HTTP/2 may send ahead: in one request, and in all of its connection.
const HTTP2_STREAM_WINDOW_BYTES: u32 = 256 << 10;
const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 1 << 20;

/// Most bytes of headers in HTTP/2. Twice what is allowed: what is a little too much is then refused with the
/// problem body, and not by the protocol without one, which counts 32 bytes more for each header than we do.
const HTTP2_HEADER_LIST_BYTES_MAX: u32 = 2 * HEADER_BYTES_MAX as u32;

/// How often a silent client of HTTP/2 is asked whether it is there, and how long it may take to say so.
const HTTP2_PING_INTERVAL: Duration = Duration::from_secs(20);
const HTTP2_PING_TIMEOUT: Duration = Duration::from_secs(20);

/// The system's words for too many open files, of ours and of all.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// A socket that listens, and what is needed to answer there.
pub(super) struct Listener {
    socket: TcpListener,
    desk: Arc<Desk>,
}

/// What every connection of a listener shares.
struct Desk {
    gate: Gate,
    clock: Clock,
    door: Door,
    limits: Limits,
    tls: Option<Arc<Tls>>,
    http: auto::Builder<TokioExecutor>,
    connections: Arc<Connections>,
    /// Every connection is served on a task of its own.
    tasks: TaskTracker,
    /// The requests that are under way, also those whose clients have gone.
    requests: TaskTracker,
    refusals: Arc<Semaphore>,
    stopping: CancellationToken,
}

/// How a listener is set up.
pub(super) struct Setup {
    pub(super) gate: Gate,
    pub(super) clock: Clock,
    pub(super) door: Door,
    /// Most connections at a time.
    pub(super) capacity: usize,
    pub(super) limits: Limits,
    pub(super) tls: Option<Arc<Tls>>,
}

/// Begins to listen at an address.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A server that was stopped a moment ago doesn't keep its address.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Listener {
    pub(super) fn new(socket: TcpListener, setup: Setup) -> Self {
        let Setup { gate, clock, door, capacity, limits, tls } = setup;
        let desk = Desk {
            gate,
            clock,
            door,
            limits,
            tls,
            http: protocols(),
            connections: Connections::new(capacity),
            tasks: TaskTracker::new(),
            requests: TaskTracker::new(),
            refusals: Arc::new(Semaphore::new(REFUSALS_MAX)),
            stopping: CancellationToken::new(),
        };
        Self { socket, desk: Arc::new(desk) }
    }

    /// Where it listens.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Whether it speaks TLS.
    pub(super) fn is_encrypted(&self) -> bool {
        self.desk.tls.is_some()
    }

    /// Takes connections in until `stop`; then finishes the requests that are under way.
    pub(super) async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { socket, desk } = self;
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = socket.accept() => accepted,
                () = &mut stop => break,
            };
            match accepted {
                Ok((stream, from)) => desk.receive(stream, from.ip()),
                Err(cause) => {
                    tracing::warn!(%cause, "a connection could not be accepted");
                    if matches!(cause.raw_os_error(), Some(EMFILE | ENFILE)) {
                        // Who does nothing with an open file gives way.
                        desk.connections.make_room();
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(socket);
        desk.finish().await;
    }
}

impl Desk {
    fn receive(self: &Arc<Self>, stream: TcpStream, peer: IpAddr) {
        // Answers are small and whole: waiting to fill a packet only makes them late.
        let _ = stream.set_nodelay(true);
        let desk = Arc::clone(self);
        let meter = &self.gate.metrics().connections;
        match self.connections.admit() {
            Some(held) => {
                meter.held.inc();
                meter.evicted.inc_by(u64::from(held.is_in_place_of_another));
                self.tasks.spawn(async move {
                    desk.attend(stream, peer, held).await;
                    desk.gate.metrics().connections.held.dec();
                });
            }
            None => self.refuse(stream),
        }
    }

    /// Turns away whom there is no room for.
    fn refuse(self: &Arc<Self>, stream: TcpStream) {
        self.gate.metrics().connections.refused.inc();
        // Who expects TLS could not read the answer.
        if self.tls.is_some() {
            return;
        }
        let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        let desk = Arc::clone(self);
        self.tasks.spawn(async move {
            let _permit = permit;
            let message = refusal::full(desk.clock.now());
            let _ = tokio::time::timeout(REFUSAL_TIMEOUT, refuse(stream, &message)).await;
        });
    }

    async fn attend(&self, stream: TcpStream, peer: IpAddr, held: Held) {
        let (stream, close_watch) = SharedStream::new(stream);
        let Some(tls) = &self.tls else {
            return self.converse(stream, close_watch, peer, held).await;
        };
        let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.acceptor().accept(stream));
        let shaken = tokio::select! {
            shaken = handshake => shaken,
            () = held.activity.closing() => return,
            () = self.stopping.cancelled() => return,
        };
        match shaken {
            Ok(Ok(stream)) => self.converse(stream, close_watch, peer, held).await,
            Ok(Err(cause)) => tracing::debug!(%cause, "no TLS was agreed on"),
            Err(_) => tracing::debug!("a handshake took too long"),
        }
    }

    /// Answers the requests of a connection until it ends.
    async fn converse<Io>(&self, io: Io, close_watch: CloseWatch, peer: IpAddr, held: Held)
    where
        Io: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let activity = &held.activity;
        let wire = Wire::new(io, self.clock.clone(), Arc::clone(activity), self.limits.clone());
        let arrival = Arrival { door: self.door, encrypted: self.tls.is_some(), peer };
        let close_watch: Arc<dyn Disconnection> = Arc::new(close_watch);
        let service = service_fn(|request| {
            let busy = activity.begin();
            let close_watch = Arc::clone(&close_watch);
            let request =
                Request::map(request, |body| AwaitedBody::new(body, Arc::clone(activity)));
            let (gate, requests) = (self.gate.clone(), self.requests.clone());
            async move {
                let answer = handle(&requests, gate, arrival, close_watch, busy, request).await;
                Ok::<_, Infallible>(answer)
            }
        });
        let mut connection =
            std::pin::pin!(self.http.serve_connection(TokioIo::new(wire), service));
        let turn = SelfWake::new();
        let mut ending = false;
        loop {
            tokio::select! {
                biased;
                ended = poll_fn(|cx| turn.poll(cx, connection.as_mut())) => {
                    if let Err(cause) = ended {
                        tracing::debug!(cause, "a connection ended badly");
                    }
                    return;
                }
                () = activity.closing() => break,
                () = self.stopping.cancelled(), if !ending => {
                    ending = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
        // What began in the meantime is finished, and a client of HTTP/2 is told that it ends.
        connection.as_mut().graceful_shutdown();
        let mut patience = match activity.is_hurried() {
            true => Duration::ZERO,
            false => GOODBYE_TIMEOUT,
        };
        loop {
            let ended = poll_fn(|cx| turn.poll(cx, connection.as_mut()));
            let has_ended = tokio::time::timeout(patience, ended).await.is_ok();
            if has_ended || activity.may_go() {
                return;
            }
            patience = LAST_REQUEST_INTERVAL;
        }
    }

    /// Lets what is under way finish. Heads that are on their way have a moment left to arrive.
    async fn finish(&self) {
        self.stopping.cancel();
        self.tasks.close();
        let heads = tokio::time::timeout(LAST_HEAD_TIMEOUT, self.tasks.wait()).await;
        if heads.is_err() {
            self.connections.close_idle();
            self.tasks.wait().await;
        }
        self.requests.close();
        self.requests.wait().await;
    }
}

/// HTTP/1.1 and HTTP/2, whichever the client speaks, within bounds.
fn protocols() -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        // A client that closes its sending half still waits for the answer. With this, hyper doesn't read while a
        // request is under way, so `CloseWatch` has to notice a client that disconnects.
        .half_close(true)
        // The wire does that, and says so.
        .header_read_timeout(None);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HTTP2_PING_INTERVAL)
        .keep_alive_timeout(HTTP2_PING_TIMEOUT)
        .max_concurrent_streams(HTTP2_STREAMS_MAX)
        .initial_stream_window_size(HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(HTTP2_CONNECTION_WINDOW_BYTES)
        .max_header_list_size(HTTP2_HEADER_LIST_BYTES_MAX);
    http
}

/// Says why not, and listens until the client has understood.
async fn refuse(mut stream: TcpStream, message: &[u8]) -> io::Result<()> {
    stream.write_all(message).await?;
    stream.shutdown().await?;
    let mut heard = [0; 1024];
    while stream.read(&mut heard).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests;
