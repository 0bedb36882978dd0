//! Starting the server and stopping it again.
//!
//! The futures of [`Server`] are boxed: so all that answers requests is compiled and optimised here, not in the binary.
//!
//! `listener` takes connections in, `connections` knows how many there are and which are idle, `wire` watches
//! the bytes of each, `tls` encrypts them, `shared_stream` tells when a client closes one, `self_wake` runs them,
//! `open_files` says how many the system allows, and `core_dumps` keeps what is in memory off the disk.

mod awaited_body;
mod certificate;
mod connections;
mod core_dumps;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod listener;
mod open_files;
mod self_wake;
mod shared_stream;
mod target;
mod tls;
mod wire;

pub use certificate::Validity;
pub use core_dumps::forbid_core_dumps;
pub use open_files::raise_open_files;
pub use tls::TlsError;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gatehouse_connectors::{
    BadAuthorities, BadManifests, ClientBuildError, CustomManifest, NO_AUTHORITIES,
    PlatformOptions, Platforms, check_authorities,
};
use gatehouse_store::{Clock, OpenMode, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::app::estate::NotApplied;
use crate::auth::{Auth, BadIssuer, Issuer};
use crate::config::Config;
use crate::data_dir;
use crate::estate::Estate;
use crate::http::{Door, Gate, Offer};
use crate::keys::{self, KeysError};
use crate::restore::{UnfinishedRestore, refuse_unfinished};
use crate::transfer::{StoreMoved, refuse_moved};
use crate::work::{Presence, Workers};
use listener::{Listener, Setup};
use open_files::OpenFiles;
use tls::Tls;

/// How long everything that is under way may take to finish when the server stops.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// Most connections of operators at a time. They have their own, so that they see a server that is full.
const OPERATOR_CONNECTIONS_MAX: usize = 64;

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
    /// The store is elsewhere now.
    #[error(transparent)]
    Moved(#[from] StoreMoved),
    /// A restore was cut off.
    #[error(transparent)]
    Unfinished(#[from] UnfinishedRestore),
    /// The database says no.
    #[error("{}", .0.explained())]
    Store(#[from] StoreError),
    /// The keys are not there.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// A connector of the operator's own is no good.
    #[error("platforms.connectors_dir has faults:\n{0}")]
    Manifests(#[from] BadManifests),
    /// Nobody can ask a platform.
    #[error(transparent)]
    Platforms(#[from] ClientBuildError),
    /// Nobody can ask an issuer.
    #[error(transparent)]
    Issuer(#[from] BadIssuer),
    /// The estate could not be applied.
    #[error("estate: {0}")]
    Estate(#[from] NotApplied),
    /// Somebody listens there already, or nobody may.
    #[error("can't listen on {0} ({1}): give another address with --listen")]
    Listen(SocketAddr, io::Error),
    /// The same for operators.
    #[error("can't listen on {0} ({1}): give another address in operator_listen")]
    OperatorListen(SocketAddr, io::Error),
    /// The environment names authorities that can't be read.
    #[error(transparent)]
    Authorities(#[from] BadAuthorities),
    /// The certificate or its key is no good.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl StartError {
    /// Whether the disk under the embedded store has failed.
    pub fn is_disk_failure(&self) -> bool {
        let (Self::Store(cause) | Self::Keys(KeysError::Store(cause))) = self else { return false };
        matches!(cause, StoreError::Disk(_) | StoreError::Unsure(_))
    }
}

/// Has the log tell of a connector that isn't shipped.
fn tell_of(own: &CustomManifest) {
    let (connector, file) = (own.manifest.name(), own.file.display());
    if own.replaces_shipped {
        tracing::info!(%connector, %file, "a connector takes the place of the shipped one");
    } else {
        tracing::info!(%connector, %file, "a connector was read");
    }
}

/// The disk under a server's embedded store. When it has failed, the process must end and leave everything as it is.
#[derive(Clone)]
pub struct Disk(Store);

impl Disk {
    /// Comes when it has failed, with the reason.
    pub fn wait_for_failure(&self) -> BoxFuture<'static, Arc<str>> {
        let store = self.0.clone();
        Box::pin(async move { store.until_disk_fails().await })
    }

    /// Why it has failed, if it has.
    pub fn failure(&self) -> Option<Arc<str>> {
        self.0.disk_failure()
    }
}

/// A server that listens.
pub struct Server {
    gate: Gate,
    app: App,
    listener: Listener,
    operator_listener: Option<Listener>,
    tls: Option<Arc<Tls>>,
    presence: Option<Presence>,
    /// Held as long as the server runs, so that no other one takes the data directory.
    _lock: Option<File>,
}

impl Server {
    /// Opens store and keys, applies the estate, and begins to listen. It may `start_empty` where keys say that there was
    /// a store.
    pub fn start<'a>(
        config: &'a Config,
        estate: Option<&'a Estate>,
        offer: Offer,
        start_empty: bool,
    ) -> BoxFuture<'a, Result<Self, StartError>> {
        Box::pin(async move {
            // What can fail without touching anything comes first: a start that fails leaves no trace.
            let given = keys::given_master_keys(config)?;
            if !check_authorities()? {
                tracing::warn!("{NO_AUTHORITIES}");
            }
            let issuers = Issuer::all(&config.auth)?;
            let open_files = OpenFiles::now();
            let (manifests, own) = config.platforms.manifests()?;
            own.iter().for_each(tell_of);
            let calls_at_once = open_files.calls_at_once();
            let mut options =
                PlatformOptions { calls_at_once, ..config.platforms.options(manifests) };
            options.addresses.allowed_sockets.clone_from(&offer.platforms);
            let platforms = Arc::new(Platforms::new(options)?);
            let tls = Tls::load(&config.tls)?.map(Arc::new);
            let socket = listener::listen(config.listen);
            let socket = socket.map_err(|cause| StartError::Listen(config.listen, cause))?;
            let operator_socket = match config.operator_listen {
                Some(address) => {
                    let socket = listener::listen(address);
                    Some(socket.map_err(|cause| StartError::OperatorListen(address, cause))?)
                }
                None => None,
            };
            let clock = Clock::machine();
            let (store, lock) = open_store(config, clock.clone(), start_empty).await?;
            let keys = keys::open(config, &store, given).await?;
            store.finish_setup()?;
            let app = App::new(store, keys.vault, clock, config.tasks.clone(), platforms)
                .with_failed_checks(config.limits.failed_checks)
                .with_store_maintenance(config);
            if let Some(estate) = estate {
                app.apply_estate(estate).await?;
            }
            // This server alone uses the embedded store, so every lease in it is of a process that has ended.
            app.store.release_stale_leases().await?;
            app.revocations.reload(&app.store).await?;
            let auth = Auth::new(keys.token, config.auth.audience.clone())
                .trusting(issuers)
                .with_revocations(app.revocations.clone(), app.store.clone())
                .with_key_reload(keys.token_store, app.clock.clone());
            let gate = Gate::new(app.clone(), auth, config, offer);
            if let Some(tls) = &tls {
                gate.metrics().register(tls.expiry());
            }
            let setup = |door, capacity, tls| Setup {
                gate: gate.clone(),
                clock: app.clock.clone(),
                door,
                capacity,
                limits: config.limits.clone(),
                tls,
            };
            let capacity = open_files.capacity(config.limits.connections, OPERATOR_CONNECTIONS_MAX);
            let listener = Listener::new(socket, setup(Door::Main, capacity, tls.clone()));
            let operator_listener = operator_socket.map(|socket| {
                Listener::new(socket, setup(Door::Operator, OPERATOR_CONNECTIONS_MAX, None))
            });
            // Before the first request, so that each request is held against this server's share of a limit.
            let listen = listener.address().unwrap_or(config.listen);
            let presence = Presence::begin(&app, listen).await?;
            Ok(Self { gate, app, listener, operator_listener, tls, presence, _lock: lock })
        })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }

    /// What the addresses of the API begin with: `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.listener.is_encrypted() { "https" } else { "http" }
    }

    /// Where operators find it, when they have a listener of their own.
    pub fn operator_address(&self) -> Option<io::Result<SocketAddr>> {
        self.operator_listener.as_ref().map(Listener::address)
    }

    /// Checks and issues tokens.
    pub fn auth(&self) -> &Auth {
        self.gate.auth()
    }

    /// The disk under the embedded store.
    pub fn disk(&self) -> Disk {
        Disk(self.app.store.clone())
    }

    /// What time it is.
    pub fn now(&self) -> gatehouse_core::Timestamp {
        self.app.now()
    }

    /// Answers requests until `stop`, then finishes those that are under way.
    pub fn run(self, stop: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        Box::pin(self.run_until(stop))
    }

    async fn run_until(self, stop: BoxFuture<'static, ()>) {
        let (stopping, drained) = (CancellationToken::new(), CancellationToken::new());
        let stop = async {
            stop.await;
            tracing::info!("stopping: requests that are under way are finished");
            self.gate.begin_to_stop();
            stopping.cancel();
        };
        let main = async {
            self.listener.serve(stop).await;
            drained.cancel();
        };
        // Operators may watch until the end.
        let operator = async {
            if let Some(listener) = self.operator_listener {
                listener.serve(drained.cancelled()).await;
            }
        };
        let workers = Workers::start(&self.app, self.presence);
        let work = async {
            stopping.cancelled().await;
            workers.stop().await;
        };
        let finished = async {
            tokio::join!(main, operator, work);
            self.app.store.close().await;
        };
        let out_of_time = async {
            stopping.cancelled().await;
            tokio::time::sleep(STOP_TIMEOUT).await;
        };
        let keep_fresh = async {
            match self.tls {
                Some(tls) => tls.keep_fresh(self.app.clock.clone()).await,
                None => std::future::pending().await,
            }
        };
        let gate = self.gate.clone();
        tokio::select! {
            () = finished => {}
            () = out_of_time => tracing::warn!("some requests took too long and were cut off"),
            () = keep_fresh => {}
            () = gate.auth().keep_fresh() => {}
        }
        tracing::info!("stopped");
    }
}

/// Checks that certificate and key can be used, if the settings name any; tells when the certificate is
/// valid.
pub fn check_tls(config: &Config) -> Result<Option<Validity>, TlsError> {
    Tls::load(&config.tls)?.map(|tls| tls.validity()).transpose()
}

/// Opens the store that the settings name. SQLite's directory is made, and held.
pub async fn open_store(
    config: &Config,
    clock: Clock,
    start_empty: bool,
) -> Result<(Store, Option<File>), StartError> {
    if let Some(url) = &config.database_url {
        return Ok((Store::open_postgres(url, clock).await?, None));
    }
    let path = &config.data_dir;
    let failed = |cause| StartError::DataDir { path: path.clone(), cause };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    let lock =
        data_dir::lock(path).map_err(failed)?.ok_or_else(|| StartError::InUse(path.clone()))?;
    refuse_moved(config)?;
    refuse_unfinished(config)?;
    let opener = match (start_empty, keys::store_key_files(config).is_empty()) {
        (true, _) => OpenMode::StartEmpty,
        (false, false) => OpenMode::MustExist,
        (false, true) => OpenMode::CreateIfNew,
    };
    let store = Store::open_sqlite_as(opener, &config.database_file(), clock).await?;
    Ok((store, Some(lock)))
}
