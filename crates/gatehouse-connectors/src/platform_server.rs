//! HTTP server of the platforms that gatehouse runs itself: simulated ones, and replayed recordings.
//!
//! The server accepts a limited number of connections, and stops gracefully. A handler makes the response to each request.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Most open connections; further ones wait to be accepted.
const CONNECTIONS_MAX: usize = 1024;

/// Most connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// Most bytes of a request's head.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 10;

/// Timeout for the head of a request, and for an idle connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Time for responses in progress when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Pause after a connection that could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The body of a response.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A handler's reply to a request.
pub(crate) enum Reply {
    /// A response.
    Response(Response<Body>),
    /// Closes the connection without a response.
    Close,
    /// Sends no response while the server runs.
    Silence,
}

impl From<Response<Bytes>> for Reply {
    fn from(response: Response<Bytes>) -> Self {
        Self::Response(response.map(|body| Full::new(body).boxed_unsync()))
    }
}

/// Tells hyper to close the connection without a response.
#[derive(Debug, thiserror::Error)]
#[error("the connection is closed without a response")]
struct Closed;

/// A running server. Dropping it stops it at once, [`PlatformServer::stop`] gracefully.
#[derive(Debug)]
pub(crate) struct PlatformServer {
    address: SocketAddr,
    signals: Signals,
    /// The listener's task, and one for each connection.
    tasks: TaskTracker,
}

/// Tells connections that the server stops.
#[derive(Clone, Debug, Default)]
struct Signals {
    /// No more requests are accepted; responses in progress may complete.
    stopping: CancellationToken,
    /// Connections end at once.
    ending: CancellationToken,
}

impl PlatformServer {
    /// Starts to listen; port 0 picks a free port. Needs a Tokio runtime.
    pub(crate) fn start<H, F>(listen: SocketAddr, handler: H) -> io::Result<Self>
    where
        H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
        F: Future<Output = Reply> + Send + 'static,
    {
        let socket = if listen.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // The address of a server that has just stopped is free at once.
        socket.set_reuseaddr(true)?;
        socket.bind(listen)?;
        let socket = socket.listen(BACKLOG)?;
        let address = socket.local_addr()?;
        let (signals, tasks) = (Signals::default(), TaskTracker::new());
        tasks.spawn(accept(socket, Arc::new(handler), signals.clone(), tasks.clone()));
        Ok(Self { address, signals, tasks })
    }

    /// The address that it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The `baseUrl` for accounts of this platform.
    pub(crate) fn url(&self) -> String {
        let mut reached = self.address;
        if reached.ip().is_unspecified() {
            // A client can't connect to an unspecified address.
            match reached {
                SocketAddr::V4(_) => reached.set_ip(Ipv4Addr::LOCALHOST.into()),
                SocketAddr::V6(_) => reached.set_ip(Ipv6Addr::LOCALHOST.into()),
            }
        }
        format!("http://{reached}")
    }

    /// Number of open connections.
    #[cfg(test)]
    pub(crate) fn n_connections(&self) -> usize {
        self.tasks.len() - 1
    }

    /// Accepts no more requests, lets responses in progress complete for a short time, and ends.
    pub(crate) async fn stop(self) {
        self.signals.stopping.cancel();
        self.tasks.close();
        if tokio::time::timeout(STOP_TIMEOUT, self.tasks.wait()).await.is_err() {
            self.signals.ending.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Drop for PlatformServer {
    fn drop(&mut self) {
        self.signals.stopping.cancel();
        self.signals.ending.cancel();
    }
}

async fn accept<H, F>(socket: TcpListener, handler: Arc<H>, signals: Signals, tasks: TaskTracker)
where
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            let permit = permit.expect("the semaphore is never closed");
            socket.accept().await.map(|(stream, _)| (stream, permit))
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = signals.stopping.cancelled() => return,
        };
        match accepted {
            Ok((stream, permit)) => {
                let (handler, signals) = (Arc::clone(&handler), signals.clone());
                tasks.spawn(async move {
                    serve_connection(stream, &*handler, &signals).await;
                    drop(permit);
                });
            }
            Err(cause) => {
                tracing::warn!(%cause, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Responds to the requests of a connection until it ends.
async fn serve_connection<H, F>(stream: TcpStream, handler: &H, signals: &Signals)
where
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = Reply>,
{
    // Waiting to fill a packet would only delay a response.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| async {
        match handler(request).await {
            Reply::Response(response) => return Ok(response),
            Reply::Close => {}
            Reply::Silence => signals.stopping.cancelled().await,
        }
        Err(Closed)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_header_size(HEAD_BYTES_MAX);
    let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    let mut is_stopping = false;
    loop {
        tokio::select! {
            biased;
            ended = &mut connection => {
                if let Err(cause) = ended {
                    tracing::debug!(%cause, "a connection ended badly");
                }
                return;
            }
            () = signals.ending.cancelled() => return,
            () = signals.stopping.cancelled(), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
