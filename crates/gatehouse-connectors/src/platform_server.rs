//! The HTTP server of platforms that gatehouse plays itself: simulated ones, and those made of a recording.
//!
//! It accepts connections, bounds them, and ends. A handler says what each request is answered with.

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

/// Most connections at a time; others wait to be taken in.
const CONNECTIONS_MAX: usize = 1024;

/// How many connections may wait to be taken in.
const BACKLOG: u32 = 1024;

/// Most bytes of a request's head.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 10;

/// How long a client may take for a request's head; also how long it may do nothing.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// How long answers that are under way may take when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a listener rests that could not take a connection in.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The body of an answer on its way out.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// What becomes of a request.
pub(crate) enum Reply {
    /// It is answered.
    Answer(Response<Body>),
    /// Its connection is closed without an answer.
    Close,
    /// It is not answered as long as the server runs.
    Silence,
}

impl From<Response<Bytes>> for Reply {
    fn from(answer: Response<Bytes>) -> Self {
        Self::Answer(answer.map(|body| Full::new(body).boxed_unsync()))
    }
}

/// Why there is no answer: the connection is to be closed.
#[derive(Debug, thiserror::Error)]
#[error("the connection is closed without an answer")]
struct Closed;

/// A server that listens. It ends when this is dropped; [`PlatformServer::stop`] ends it gently.
#[derive(Debug)]
pub(crate) struct PlatformServer {
    address: SocketAddr,
    signals: Signals,
    /// The listener, and every connection.
    tasks: TaskTracker,
}

/// How connections learn that the server ends.
#[derive(Clone, Debug, Default)]
struct Signals {
    /// No more is taken in; what is under way may finish.
    stopping: CancellationToken,
    /// Nothing may finish any more.
    ending: CancellationToken,
}

impl PlatformServer {
    /// Begins to listen; port 0 picks a free one. To be called where tasks can be spawned.
    pub(crate) fn start<H, F>(listen: SocketAddr, handler: H) -> io::Result<Self>
    where
        H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
        F: Future<Output = Reply> + Send + 'static,
    {
        let socket = if listen.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // A server that was stopped a moment ago doesn't keep its address.
        socket.set_reuseaddr(true)?;
        socket.bind(listen)?;
        let socket = socket.listen(BACKLOG)?;
        let address = socket.local_addr()?;
        let (signals, tasks) = (Signals::default(), TaskTracker::new());
        tasks.spawn(accept(socket, Arc::new(handler), signals.clone(), tasks.clone()));
        Ok(Self { address, signals, tasks })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What an account's `baseUrl` must be to reach it.
    pub(crate) fn url(&self) -> String {
        let mut reached = self.address;
        if reached.ip().is_unspecified() {
            // Everywhere is a place to listen, not one to connect to.
            match reached {
                SocketAddr::V4(_) => reached.set_ip(Ipv4Addr::LOCALHOST.into()),
                SocketAddr::V6(_) => reached.set_ip(Ipv6Addr::LOCALHOST.into()),
            }
        }
        format!("http://{reached}")
    }

    /// Connections that are open.
    #[cfg(test)]
    pub(crate) fn n_connections(&self) -> usize {
        self.tasks.len() - 1
    }

    /// Takes no more requests, finishes those that are under way if that is soon, and ends.
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
    // Every connection takes one.
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            let place = place.expect("the semaphore is never closed");
            socket.accept().await.map(|(stream, _)| (stream, place))
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = signals.stopping.cancelled() => return,
        };
        match accepted {
            Ok((stream, place)) => {
                let (handler, signals) = (Arc::clone(&handler), signals.clone());
                tasks.spawn(async move {
                    converse(stream, &*handler, &signals).await;
                    drop(place);
                });
            }
            Err(cause) => {
                tracing::warn!(%cause, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Answers the requests of a connection until it ends.
async fn converse<H, F>(stream: TcpStream, handler: &H, signals: &Signals)
where
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = Reply>,
{
    // Answers are small and whole: waiting to fill a packet only makes them late.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| async {
        match handler(request).await {
            Reply::Answer(answer) => return Ok(answer),
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
