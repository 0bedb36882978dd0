//! A scripted platform over real connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

#[derive(Clone)]
pub(crate) enum Reaction {
    /// Sends the bytes and closes the connection.
    Send(Vec<u8>),
    /// Sends the bytes and resets the connection.
    Reset(Vec<u8>),
    /// Sends the bytes and then nothing.
    Hang(Vec<u8>),
    /// Sends the bytes and then endless single bytes.
    Trickle(Vec<u8>),
    /// Sends the bytes once the semaphore has a permit.
    Hold(Vec<u8>, Arc<Semaphore>),
}

/// A response with a body and headers, each header with its line end.
pub(crate) fn reply(status: u16, headers: &str, body: &str) -> Reaction {
    let length = body.len();
    Reaction::Send(
        format!(
            "HTTP/1.1 {status} Whatever\r\nConnection: close\r\nContent-Length: {length}\r\n\
             {headers}\r\n{body}"
        )
        .into_bytes(),
    )
}

/// A platform on this machine, until dropped.
pub(crate) struct Platform {
    pub(crate) address: SocketAddr,
    counts: Arc<Counts>,
    requests: mpsc::UnboundedReceiver<String>,
    task: JoinHandle<()>,
}

struct Counts {
    requests: AtomicUsize,
    under_way: AtomicUsize,
    under_way_max: AtomicUsize,
    /// A permit per response that was sent as far as it goes.
    sent: Semaphore,
}

impl Platform {
    /// A platform whose script gets the number of the request, from zero, and its head.
    pub(crate) async fn new(
        script: impl Fn(usize, &str) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        Self::start(script, None).await
    }

    pub(crate) async fn with_tls(
        acceptor: TlsAcceptor,
        script: impl Fn(usize, &str) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        Self::start(script, Some(acceptor)).await
    }

    async fn start(
        script: impl Fn(usize, &str) -> Reaction + Send + Sync + 'static,
        acceptor: Option<TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (request_sender, requests) = mpsc::unbounded_channel();
        let (script, counts) = (Arc::new(script), Counts::none());
        let counting = Arc::clone(&counts);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (script, counts) = (Arc::clone(&script), Arc::clone(&counting));
                let (request_sender, acceptor) = (request_sender.clone(), acceptor.clone());
                connections.spawn(async move {
                    let play = |head: String| {
                        let nth = counts.requests.fetch_add(1, Ordering::SeqCst);
                        let play = script(nth, &head);
                        let _ = request_sender.send(head);
                        play
                    };
                    match acceptor {
                        None => serve(stream, play, &counts).await,
                        Some(acceptor) => {
                            // A client that distrusts the certificate disconnects here.
                            let Ok(stream) = acceptor.accept(stream).await else { return };
                            serve(stream, play, &counts).await;
                        }
                    }
                });
            }
        });
        Self { address, counts, requests, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn n_requests(&self) -> usize {
        self.counts.requests.load(Ordering::SeqCst)
    }

    /// Most concurrent requests.
    pub(crate) fn n_under_way_max(&self) -> usize {
        self.counts.under_way_max.load(Ordering::SeqCst)
    }

    /// Waits for the next request: its head and body.
    pub(crate) async fn request(&mut self) -> String {
        self.requests.recv().await.unwrap()
    }

    /// First lines of all unread requests: `GET /sims`.
    pub(crate) fn received_lines(&mut self) -> Vec<String> {
        let heads = std::iter::from_fn(|| self.requests.try_recv().ok());
        let lines = heads.map(|it| it.lines().next().unwrap_or_default().to_owned());
        lines.map(|it| it.trim_end_matches(" HTTP/1.1").to_owned()).collect()
    }

    /// Waits until a response was sent as far as it goes.
    pub(crate) async fn sent(&self) {
        self.counts.sent.acquire().await.unwrap().forget();
    }
}

impl Counts {
    fn none() -> Arc<Self> {
        let none = || AtomicUsize::new(0);
        let sent = Semaphore::new(0);
        Arc::new(Self { requests: none(), under_way: none(), under_way_max: none(), sent })
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin + Resettable>(
    mut stream: S,
    play: impl FnOnce(String) -> Reaction,
    counts: &Counts,
) {
    let Some(head) = read(&mut stream).await else { return };
    let n_under_way = counts.under_way.fetch_add(1, Ordering::SeqCst) + 1;
    counts.under_way_max.fetch_max(n_under_way, Ordering::SeqCst);
    // The client may disconnect at any time.
    match play(head) {
        Reaction::Send(bytes) => {
            counts.under_way.fetch_sub(1, Ordering::SeqCst);
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Reaction::Reset(bytes) => {
            let _ = stream.write_all(&bytes).await;
            stream.reset();
        }
        Reaction::Hang(bytes) => {
            let _ = stream.write_all(&bytes).await;
            counts.sent.add_permits(1);
            // Until the client disconnects.
            let _ = stream.read(&mut [0]).await;
        }
        Reaction::Trickle(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let mut ticks = tokio::time::interval(Duration::from_millis(1));
            while stream.write_all(b"1\r\n \r\n").await.is_ok() {
                ticks.tick().await;
            }
        }
        Reaction::Hold(bytes, allowed) => {
            allowed.acquire().await.unwrap().forget();
            counts.under_way.fetch_sub(1, Ordering::SeqCst);
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
    }
}

/// Reads a request with the body that its headers announce.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut text = String::new();
    loop {
        let mut buffer = [0; 4096];
        let n_bytes = stream.read(&mut buffer).await.ok().filter(|it| *it > 0)?;
        text += std::str::from_utf8(&buffer[..n_bytes]).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|it| it.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |it| it.parse().unwrap()) {
            return Some(text);
        }
    }
}

trait Resettable {
    fn reset(self);
}

impl Resettable for TcpStream {
    fn reset(self) {
        self.set_zero_linger().unwrap();
    }
}

impl Resettable for tokio_rustls::server::TlsStream<TcpStream> {
    fn reset(self) {
        self.into_inner().0.reset();
    }
}
