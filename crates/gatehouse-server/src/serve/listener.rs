//! A listener: accepts connections, serves each on its own task, and lets them finish when it stops.

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
use super::connections::{Connections, Slot};
use super::guarded_stream::GuardedStream;
use super::self_wake::SelfWake;
use super::shared_stream::{CloseWatch, SharedStream};
use super::tls::Tls;
use crate::config::Limits;
use crate::http::intake::refusal;
use crate::http::{ConnectionInfo, EndlessBody, HEADER_BYTES_MAX, HttpApi, ListenerKind, handle};

/// Backlog of connections. The usual 128 are too few when many devices reconnect: the others would wait for a second.
const BACKLOG: u32 = 4096;

/// Time limit of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a refused client is read from, so that it gets the reason.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// Most concurrent refusals with a reason; further connections are just closed.
const REFUSALS_MAX: usize = 64;

/// Time left for incomplete heads when the listener stops.
const LAST_HEAD_TIMEOUT: Duration = Duration::from_secs(1);

/// Time left for an HTTP/2 client to acknowledge the end of its idle connection.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(1);

/// How often a closing connection is checked for its last request.
const LAST_REQUEST_INTERVAL: Duration = Duration::from_millis(100);

/// Most concurrent requests per HTTP/2 connection.
const HTTP2_STREAMS_MAX: u32 = 100;

/// HTTP/2 flow control windows: of one request, and of a connection.
const HTTP2_STREAM_WINDOW_BYTES: u32 = 256 << 10;
const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 1 << 20;

/// Largest HTTP/2 header list. Twice our limit: the protocol counts 32 more bytes per header and refuses without the
/// problem body, so slightly too large headers are left to us.
const HTTP2_HEADER_LIST_BYTES_MAX: u32 = 2 * HEADER_BYTES_MAX as u32;

/// Interval and timeout of HTTP/2 pings to silent clients.
const HTTP2_PING_INTERVAL: Duration = Duration::from_secs(20);
const HTTP2_PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Errors for too many open files, of the process and of the system.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// A listening socket, and the state of its connections.
pub(super) struct Listener {
    socket: TcpListener,
    state: Arc<ListenerState>,
}

/// State shared by all connections of a listener.
struct ListenerState {
    api: HttpApi,
    clock: Clock,
    listener: ListenerKind,
    limits: Limits,
    tls: Option<Arc<Tls>>,
    http: auto::Builder<TokioExecutor>,
    connections: Arc<Connections>,
    /// Tasks of the connections.
    tasks: TaskTracker,
    /// Tasks of the requests, also those whose clients have disconnected.
    requests: TaskTracker,
    refusals: Arc<Semaphore>,
    stopping: CancellationToken,
}

/// Parameters of a listener.
pub(super) struct Setup {
    pub(super) api: HttpApi,
    pub(super) clock: Clock,
    pub(super) listener: ListenerKind,
    /// Most connections.
    pub(super) capacity: usize,
    pub(super) limits: Limits,
    pub(super) tls: Option<Arc<Tls>>,
}

/// Listens on an address.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A server can restart on the address at once.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Listener {
    pub(super) fn new(socket: TcpListener, setup: Setup) -> Self {
        let Setup { api, clock, listener, capacity, limits, tls } = setup;
        let state = ListenerState {
            api,
            clock,
            listener,
            limits,
            tls,
            http: protocols(),
            connections: Connections::new(capacity),
            tasks: TaskTracker::new(),
            requests: TaskTracker::new(),
            refusals: Arc::new(Semaphore::new(REFUSALS_MAX)),
            stopping: CancellationToken::new(),
        };
        Self { socket, state: Arc::new(state) }
    }

    /// The address.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Whether it uses TLS.
    pub(super) fn is_encrypted(&self) -> bool {
        self.state.tls.is_some()
    }

    /// Serves connections until `stop`, then completes the requests in progress.
    pub(super) async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { socket, state } = self;
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = socket.accept() => accepted,
                () = &mut stop => break,
            };
            match accepted {
                Ok((stream, from)) => state.admit(stream, from.ip()),
                Err(cause) => {
                    tracing::warn!(%cause, "a connection could not be accepted");
                    if matches!(cause.raw_os_error(), Some(EMFILE | ENFILE)) {
                        // An idle connection frees its file.
                        state.connections.evict_longest_idle();
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(socket);
        state.finish().await;
    }
}

impl ListenerState {
    fn admit(self: &Arc<Self>, stream: TcpStream, peer: IpAddr) {
        // Responses are small and complete: waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let state = Arc::clone(self);
        let meter = &self.api.metrics().connections;
        match self.connections.admit() {
            Some(slot) => {
                meter.held.inc();
                meter.evicted.inc_by(u64::from(slot.evicts_another));
                self.tasks.spawn(async move {
                    state.serve_connection(stream, peer, slot).await;
                    state.api.metrics().connections.held.dec();
                });
            }
            None => self.refuse(stream),
        }
    }

    /// Refuses a connection beyond the limit.
    fn refuse(self: &Arc<Self>, stream: TcpStream) {
        self.api.metrics().connections.refused.inc();
        // A TLS client could not read the response.
        if self.tls.is_some() {
            return;
        }
        let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        let state = Arc::clone(self);
        self.tasks.spawn(async move {
            let _permit = permit;
            let message = refusal::too_many_connections(state.clock.now());
            let _ = tokio::time::timeout(REFUSAL_TIMEOUT, refuse(stream, &message)).await;
        });
    }

    async fn serve_connection(&self, stream: TcpStream, peer: IpAddr, slot: Slot) {
        let (stream, close_watch) = SharedStream::new(stream);
        let Some(tls) = &self.tls else {
            return self.serve_http(stream, close_watch, peer, slot).await;
        };
        let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.acceptor().accept(stream));
        let accepted = tokio::select! {
            accepted = handshake => accepted,
            () = slot.activity.closing() => return,
            () = self.stopping.cancelled() => return,
        };
        match accepted {
            Ok(Ok(stream)) => self.serve_http(stream, close_watch, peer, slot).await,
            Ok(Err(cause)) => tracing::debug!(%cause, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake timed out"),
        }
    }

    /// Serves the requests of a connection until it ends.
    async fn serve_http<Io>(&self, io: Io, close_watch: CloseWatch, peer: IpAddr, slot: Slot)
    where
        Io: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let activity = &slot.activity;
        let stream =
            GuardedStream::new(io, self.clock.clone(), Arc::clone(activity), self.limits.clone());
        let connection =
            ConnectionInfo { listener: self.listener, encrypted: self.tls.is_some(), peer };
        let close_watch: Arc<dyn Disconnection> = Arc::new(close_watch);
        let service = service_fn(|request| {
            let active = activity.begin();
            let close_watch = Arc::clone(&close_watch);
            let request =
                Request::map(request, |body| AwaitedBody::new(body, Arc::clone(activity)));
            let (api, requests) = (self.api.clone(), self.requests.clone());
            let activity = Arc::clone(activity);
            async move {
                let response =
                    handle(&requests, api, connection, close_watch, active, request).await;
                if response.extensions().get::<EndlessBody>().is_some() {
                    activity.begin_endless_body();
                }
                Ok::<_, Infallible>(response)
            }
        });
        let mut connection =
            std::pin::pin!(self.http.serve_connection(TokioIo::new(stream), service));
        let self_wake = SelfWake::new();
        let mut stopping = false;
        loop {
            tokio::select! {
                biased;
                ended = poll_fn(|cx| self_wake.poll(cx, connection.as_mut())) => {
                    if let Err(cause) = ended {
                        tracing::debug!(cause, "a connection ended with an error");
                    }
                    return;
                }
                () = activity.closing() => break,
                () = self.stopping.cancelled(), if !stopping => {
                    stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
        // Completes requests that started meanwhile, and tells an HTTP/2 client about the end.
        connection.as_mut().graceful_shutdown();
        let mut timeout = match activity.is_evicted() {
            true => Duration::ZERO,
            false => GOODBYE_TIMEOUT,
        };
        loop {
            let ended = poll_fn(|cx| self_wake.poll(cx, connection.as_mut()));
            let has_ended = tokio::time::timeout(timeout, ended).await.is_ok();
            if has_ended || activity.may_close() {
                return;
            }
            timeout = LAST_REQUEST_INTERVAL;
        }
    }

    /// Completes the requests in progress. Incomplete heads have a moment left.
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

/// HTTP/1.1 and HTTP/2 with our limits.
fn protocols() -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        // A client that closes its sending half still waits for the response. With this, hyper doesn't read during a
        // request, so `CloseWatch` has to notice a disconnected client.
        .half_close(true)
        // `GuardedStream` does that, and explains it to the client.
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

/// Sends the refusal and reads until the client closes.
async fn refuse(mut stream: TcpStream, message: &[u8]) -> io::Result<()> {
    stream.write_all(message).await?;
    stream.shutdown().await?;
    let mut buffer = [0; 1024];
    while stream.read(&mut buffer).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests;
