//! A cable between a server and its database, which a test can cut, freeze or unplug.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the cable does.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Connections that have come about before the last cut are gone.
    n_cuts: u64,
    /// Connections come about, and nothing moves on them.
    is_frozen: bool,
    /// On the first so many connections nothing moves.
    n_stalled: u64,
    /// No connection comes about.
    is_unplugged: bool,
}

/// A cable. Everything that it carries ends when it is dropped.
pub struct FaultyLink {
    target: String,
    address: String,
    state: watch::Sender<State>,
    n_made: Arc<AtomicU64>,
    /// Words after which a connection is cut, once they have gone through.
    scissors: Arc<Mutex<Option<Vec<u8>>>>,
}

impl FaultyLink {
    /// A cable to the server that a database URL names.
    ///
    /// # Panics
    ///
    /// When there is no port to listen on.
    pub async fn to(url: &str) -> Self {
        let target = url.split(['@', '/']).nth(3).expect("postgres://user@host:port/…").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let (state, seen) = watch::channel(State::default());
        let scissors = Arc::<Mutex<Option<Vec<u8>>>>::default();
        let (upstream, cutting) = (target.clone(), Arc::clone(&scissors));
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
                    tokio::spawn(carry(client, nth, upstream.clone(), seen, Arc::clone(&cutting)));
                }
            }
        });
        Self { target, address, state, n_made, scissors }
    }

    /// The same database, reached through the cable.
    pub fn through(&self, url: &str) -> String {
        url.replace(&self.target, &self.address)
    }

    /// Ends all connections, and takes new ones.
    pub fn cut(&self) {
        self.state.send_modify(|state| state.n_cuts += 1);
    }

    /// Ends all connections, and takes no new ones.
    pub fn unplug(&self) {
        self.cut();
        self.state.send_modify(|state| state.is_unplugged = true);
    }

    /// Takes connections, and carries nothing.
    pub fn freeze(&self) {
        self.state.send_modify(|state| state.is_frozen = true);
    }

    /// Carries nothing more on the connections that there are, and new ones as before.
    pub fn stall(&self) {
        let n_made = self.n_made.load(Ordering::SeqCst);
        self.state.send_modify(|state| state.n_stalled = n_made);
    }

    /// Carries everything again.
    pub fn plug(&self) {
        self.state.send_modify(|state| (state.is_frozen, state.is_unplugged) = (false, false));
    }

    /// Lets these words through to the server once, and then cuts the connection that they came on before it answers.
    pub fn cut_after(&self, words: &str) {
        *self.scissors.lock() = Some(words.into());
    }

    /// Whether the words of [`FaultyLink::cut_after`] have come.
    pub fn has_cut(&self) -> bool {
        self.scissors.lock().is_none()
    }
}

async fn carry(
    client: TcpStream,
    nth: u64,
    upstream: String,
    mut seen: watch::Receiver<State>,
    scissors: Arc<Mutex<Option<Vec<u8>>>>,
) {
    let n_cuts = seen.borrow().n_cuts;
    let Ok(server) = TcpStream::connect(upstream).await else { return };
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    let is_cut = AtomicBool::new(false);
    tokio::select! {
        () = carry_there(from_client, to_server, nth, seen.clone(), &scissors, &is_cut) => {}
        () = carry_back(from_server, to_client, nth, seen.clone(), &is_cut) => {}
        _ = seen.wait_for(|state| state.n_cuts != n_cuts) => {}
    }
}

async fn carry_there(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    nth: u64,
    mut seen: watch::Receiver<State>,
    scissors: &Mutex<Option<Vec<u8>>>,
    is_cut: &AtomicBool,
) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let Ok(n @ 1..) = from.read(&mut buffer).await else { return };
        if seen.wait_for(|state| !state.is_frozen && nth >= state.n_stalled).await.is_err() {
            return;
        }
        let has_come = cuts(scissors, &buffer[..n]);
        is_cut.store(has_come, Ordering::SeqCst);
        if to.write_all(&buffer[..n]).await.is_err() {
            return;
        }
        if has_come {
            // What it was sent is the server's to do; it ends when that is done.
            let _ = to.shutdown().await;
            std::future::pending::<()>().await;
        }
    }
}

async fn carry_back(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    nth: u64,
    mut seen: watch::Receiver<State>,
    is_cut: &AtomicBool,
) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let Ok(n @ 1..) = from.read(&mut buffer).await else { return };
        if seen.wait_for(|state| !state.is_frozen && nth >= state.n_stalled).await.is_err() {
            return;
        }
        if !is_cut.load(Ordering::SeqCst) && to.write_all(&buffer[..n]).await.is_err() {
            return;
        }
    }
}

/// Whether the words are here after which it is cut; they are looked for once.
fn cuts(scissors: &Mutex<Option<Vec<u8>>>, sent: &[u8]) -> bool {
    let mut words = scissors.lock();
    let has_come = words
        .as_ref()
        .is_some_and(|words| sent.windows(words.len()).any(|window| window == words.as_slice()));
    if has_come {
        *words = None;
    }
    has_come
}
