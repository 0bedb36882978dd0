//! Starting the server and stopping it again.

use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_store::{Clock, Store, StoreError};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::app::App;
use crate::app::estate::NotApplied;
use crate::auth::{Auth, BadIssuer, Issuer};
use crate::config::Config;
use crate::estate::Estate;
use crate::http::{Explained, Gate, handle};
use crate::keys::{self, KeysError};

/// How long everything that is under way may take to finish when the server stops.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a client may take to send the headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Why the server did not start. It says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory can't be made or opened.
    #[error("data directory {}: {cause}", path.display())]
    DataDir {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Two servers on one SQLite file would not know of each other.
    #[error(
        "another gatehouse uses the data directory {}: stop it, or give this one another with \
         --data-dir, or run both on PostgreSQL with --database-url",
        .0.display()
    )]
    InUse(PathBuf),
    /// The database says no.
    #[error("{}", .0.explained())]
    Store(#[from] StoreError),
    /// The keys are not there.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// Nobody can ask an issuer.
    #[error(transparent)]
    Issuer(#[from] BadIssuer),
    /// The estate could not be applied.
    #[error("estate: {0}")]
    Estate(#[from] NotApplied),
    /// Somebody listens there already, or nobody may.
    #[error("can't listen on {0} ({1}): give another address with --listen")]
    Listen(SocketAddr, io::Error),
}

/// A server that listens.
pub struct Server {
    gate: Gate,
    app: App,
    listener: TcpListener,
    /// The requests that are under way, also those whose clients have gone.
    requests: TaskTracker,
    /// Held as long as the server runs, so that no other one takes the data directory.
    _lock: Option<File>,
}

impl Server {
    /// Opens store and keys, applies the estate, and begins to listen.
    pub async fn start(config: &Config, estate: Option<&Estate>) -> Result<Self, StartError> {
        // What can fail without touching anything comes first: a start that fails leaves no trace.
        let given = keys::given_master_key(config)?;
        let issuers = Issuer::all(&config.auth)?;
        let listener = TcpListener::bind(config.listen).await;
        let listener = listener.map_err(|cause| StartError::Listen(config.listen, cause))?;
        let clock = Clock::machine();
        let (store, lock) = open_store(config, clock.clone()).await?;
        let keys = keys::open(config, &store, given).await?;
        let app = App { store, vault: Arc::new(keys.vault), clock };
        if let Some(estate) = estate {
            app.apply_estate(estate).await?;
        }
        let auth = Auth::new(keys.token, config.auth.audience.clone()).trusting(issuers);
        let gate = Gate::new(app.clone(), auth, config);
        Ok(Self { gate, app, listener, requests: TaskTracker::new(), _lock: lock })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Checks and issues tokens.
    pub fn auth(&self) -> &Auth {
        self.gate.auth()
    }

    /// What time it is.
    pub fn now(&self) -> gatehouse_core::Timestamp {
        self.app.now()
    }

    /// Answers requests until `stop`, then finishes those that are under way.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let gate = self.gate.clone();
        let _fresh =
            AbortOnDropHandle::new(tokio::spawn(async move { gate.auth().keep_fresh().await }));
        let graceful = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stop => break,
            };
            match accepted {
                Ok((stream, _)) => self.spawn_connection(stream, &graceful),
                Err(cause) => {
                    // Out of file descriptors, say: those who are here go on, and free some.
                    tracing::warn!(%cause, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(self.listener);
        tracing::info!("stopping: requests that are under way are finished");
        self.requests.close();
        let finish = async {
            graceful.shutdown().await;
            self.requests.wait().await;
            self.app.store.close().await;
        };
        if tokio::time::timeout(STOP_TIMEOUT, finish).await.is_err() {
            tracing::warn!("some requests took too long and were cut off");
        }
        tracing::info!("stopped");
    }

    fn spawn_connection(&self, stream: TcpStream, graceful: &GracefulShutdown) {
        // Answers are small and whole: waiting to fill a packet only makes them late.
        let _ = stream.set_nodelay(true);
        let (gate, requests) = (self.gate.clone(), self.requests.clone());
        let io = Explained::new(TokioIo::new(stream), self.app.clock.clone());
        let service = service_fn(move |request| {
            let (gate, requests) = (gate.clone(), requests.clone());
            async move { Ok::<_, Infallible>(handle(&requests, gate, request).await) }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            // Who has said all it has to say still wants to hear the answer.
            .half_close(true)
            .serve_connection(io, service);
        let connection = graceful.watch(connection);
        // Awaited by the graceful shutdown.
        tokio::spawn(async move {
            if let Err(cause) = connection.await {
                tracing::debug!(%cause, "a connection ended badly");
            }
        });
    }
}

/// Opens the store that the settings name. SQLite's directory is made, and held.
pub async fn open_store(
    config: &Config,
    clock: Clock,
) -> Result<(Store, Option<File>), StartError> {
    if let Some(url) = &config.database_url {
        return Ok((Store::open_postgres(url, clock).await?, None));
    }
    let path = &config.data_dir;
    let failed = |cause| StartError::DataDir { path: path.clone(), cause };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    let mut owners_own = OpenOptions::new();
    owners_own.write(true).create(true).truncate(false).mode(0o600);
    let lock = owners_own.open(path.join("lock")).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => return Err(StartError::InUse(path.clone())),
        Err(std::fs::TryLockError::Error(cause)) => return Err(failed(cause)),
    }
    let store = Store::open_sqlite(&config.database_file(), clock).await?;
    Ok((store, Some(lock)))
}
