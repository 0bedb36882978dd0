//! A network link between a server and its database, which a test can cut, freeze or unplug.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// State of the link.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Number of cuts. A connection from before the last cut is closed.
    n_cuts: u64,
    /// New connections are accepted, and no bytes pass.
    is_frozen: bool,
    /// No bytes pass on the first connections, up to this number.
    n_stalled: u64,
    /// New connections are refused.
    is_unplugged: bool,
}

/// A link, as a TCP proxy. Its connections end when it is dropped.
pub struct FaultyLink {
    target: String,
    address: String,
    state: watch::Sender<State>,
    n_made: Arc<AtomicU64>,
    /// Text after which the link cuts a connection, once it has passed.
    cut_text: Arc<Mutex<Option<Vec<u8>>>>,
}

impl FaultyLink {
    /// A link to the server of a database URL.
    ///
    /// # Panics
    ///
    /// When there is no port to listen on.
    pub async fn to(url: &str) -> Self {
        let target = url.split(['@', '/']).nth(3).expect("postgres://user@host:port/…").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let (state, seen) = watch::channel(State::default());
        let cut_text = Arc::<Mutex<Option<Vec<u8>>>>::default();
        let (upstream, cut_text_of_task) = (target.clone(), Arc::clone(&cut_text));
        let n_made = Arc::new(AtomicU64::new(0));
        let made = Arc::clone(&n_made);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let nth = made.fetch_add(1, Ordering::SeqCst);
                let seen = seen.clone();
                if seen.has_changed().is_err() {
                    return;
                }
                if !seen.borrow().is_unplugged {
                    tokio::spawn(forward(
                        client,
                        nth,
                        upstream.clone(),
                        seen,
                        Arc::clone(&cut_text_of_task),
                    ));
                }
            }
        });
        Self { target, address, state, n_made, cut_text }
    }

    /// The database URL with the link's address.
    pub fn through(&self, url: &str) -> String {
        url.replace(&self.target, &self.address)
    }

    /// Closes all connections, and accepts new ones.
    pub fn cut(&self) {
        self.state.send_modify(|state| state.n_cuts += 1);
    }

    /// Closes all connections, and refuses new ones.
    pub fn unplug(&self) {
        self.cut();
        self.state.send_modify(|state| state.is_unplugged = true);
    }

    /// Accepts connections, and passes no bytes.
    pub fn freeze(&self) {
        self.state.send_modify(|state| state.is_frozen = true);
    }

    /// Passes no bytes on the present connections; new ones work.
    pub fn stall(&self) {
        let n_made = self.n_made.load(Ordering::SeqCst);
        self.state.send_modify(|state| state.n_stalled = n_made);
    }

    /// Passes everything again.
    pub fn plug(&self) {
        self.state.send_modify(|state| (state.is_frozen, state.is_unplugged) = (false, false));
    }

    /// Passes this text to the server once, and then cuts its connection before the server responds.
    pub fn cut_after(&self, text: &str) {
        *self.cut_text.lock() = Some(text.into());
    }

    /// Whether the text of [`FaultyLink::cut_after`] has passed.
    pub fn has_cut(&self) -> bool {
        self.cut_text.lock().is_none()
    }
}

async fn forward(
    client: TcpStream,
    nth: u64,
    upstream: String,
    mut seen: watch::Receiver<State>,
    cut_text: Arc<Mutex<Option<Vec<u8>>>>,
) {
    let n_cuts = seen.borrow().n_cuts;
    let Ok(server) = TcpStream::connect(upstream).await else { return };
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    let reader = |from| LinkReader { from, nth, seen: seen.clone(), buffer: vec![0; 64 << 10] };
    let (requests, responses) = (reader(from_client), reader(from_server));
    let is_cut = AtomicBool::new(false);
    tokio::select! {
        () = forward_requests(requests, to_server, &cut_text, &is_cut) => {}
        () = forward_responses(responses, to_client, &is_cut) => {}
        _ = seen.wait_for(|state| state.n_cuts != n_cuts) => {}
    }
}

async fn forward_requests(
    mut from: LinkReader,
    mut to: OwnedWriteHalf,
    cut_text: &Mutex<Option<Vec<u8>>>,
    is_cut: &AtomicBool,
) {
    while let Some(bytes) = from.read().await {
        let is_last = takes_cut_text(cut_text, bytes);
        is_cut.store(is_last, Ordering::SeqCst);
        if to.write_all(bytes).await.is_err() {
            return;
        }
        if is_last {
            // The server processes what it has received, and then ends.
            let _ = to.shutdown().await;
            std::future::pending::<()>().await;
        }
    }
}

async fn forward_responses(mut from: LinkReader, mut to: OwnedWriteHalf, is_cut: &AtomicBool) {
    while let Some(bytes) = from.read().await {
        if !is_cut.load(Ordering::SeqCst) && to.write_all(bytes).await.is_err() {
            return;
        }
    }
}

/// One end of a connection, as far as the link lets bytes pass.
struct LinkReader {
    from: OwnedReadHalf,
    nth: u64,
    seen: watch::Receiver<State>,
    buffer: Vec<u8>,
}

impl LinkReader {
    /// The next bytes, once they may pass; `None` at the end.
    async fn read(&mut self) -> Option<&[u8]> {
        let n = self.from.read(&mut self.buffer).await.ok().filter(|n| *n > 0)?;
        let may_pass = |state: &State| !state.is_frozen && self.nth >= state.n_stalled;
        self.seen.wait_for(may_pass).await.ok()?;
        Some(&self.buffer[..n])
    }
}

/// Whether the bytes contain the text of [`FaultyLink::cut_after`], which counts once.
fn takes_cut_text(cut_text: &Mutex<Option<Vec<u8>>>, sent: &[u8]) -> bool {
    let mut text = cut_text.lock();
    let is_last = text
        .as_ref()
        .is_some_and(|text| sent.windows(text.len()).any(|window| window == text.as_slice()));
    if is_last {
        *text = None;
    }
    is_last
}
