//! Starting and stopping the server.
//!
//! The futures of [`Server`] are boxed, so that request handling is compiled here, not in the binary.
//!
//! `listener` accepts connections, `connections` counts them and knows the idle ones, `guarded_stream` enforces
//! timeouts on their bytes, `tls` encrypts, `shared_stream` notices a client's close, `self_wake` polls, `open_files`
//! knows the system's limit, and `core_dumps` keeps memory off the disk.

mod awaited_body;
mod certificate;
mod connections;
mod core_dumps;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod guarded_stream;
mod listener;
mod open_files;
mod request_target;
mod self_wake;
mod shared_stream;
mod tls;

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
    BadAuthorities, BadManifests, CallbackClient, ClientBuildError, CustomManifest, NO_AUTHORITIES,
    PlatformOptions, Platforms, check_authorities,
};
use gatehouse_core::event::{Cause, Origin};
use gatehouse_store::{Clock, OpenMode, Store, StoreError};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::app::estate::NotApplied;
use crate::app::{App, CALLBACKS_AT_ONCE};
use crate::auth::{Auth, BadIssuer, Grant, Issuer};
use crate::config::Config;
use crate::data_dir::lock;
use crate::delivery::Deliverer;
use crate::estate::Estate;
use crate::http::{HttpApi, ListenerKind, OptionalFeatures};
use crate::keys::{self, KeysError};
use crate::nats::{self, NatsOutlet};
use crate::restore::{UnfinishedRestore, refuse_unfinished};
use crate::transfer::{StoreMoved, refuse_moved};
use crate::work::{self, Heartbeat, Workers};
use listener::{Listener, Setup};
use open_files::OpenFiles;
use tls::Tls;

/// Time limit of a graceful stop.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// Most connections of operators. They are counted apart, so that operators can reach a full server.
const OPERATOR_CONNECTIONS_MAX: usize = 64;

/// Why the server did not start, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory can't be created or opened.
    #[error("data directory {}: {cause}", path.display())]
    DataDir {
        /// The path.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// Another process uses the data directory: two servers on one SQLite file would not know of each other.
    #[error(
        "another gatehouse uses the data directory {}: stop it, or give this one another with \
         --data-dir, or run both on PostgreSQL with --database-url",
        .0.display()
    )]
    InUse(PathBuf),
    /// The store was moved to PostgreSQL.
    #[error(transparent)]
    Moved(#[from] StoreMoved),
    /// A restore was interrupted.
    #[error(transparent)]
    Unfinished(#[from] UnfinishedRestore),
    /// The database failed.
    #[error("{}", .0.explained())]
    Store(#[from] StoreError),
    /// The keys can't be used.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// A custom connector is invalid.
    #[error("platforms.connectors_dir has faults:\n{0}")]
    Manifests(#[from] BadManifests),
    /// The HTTP client for platforms can't be built.
    #[error(transparent)]
    Platforms(#[from] ClientBuildError),
    /// The HTTP client for subscribers can't be built.
    #[error("the HTTP client for subscribers can't be built: {0}")]
    Callbacks(reqwest::Error),
    /// The settings of NATS can't be used.
    #[error("{0}")]
    Nats(String),
    /// The HTTP client for an issuer can't be built.
    #[error(transparent)]
    Issuer(#[from] BadIssuer),
    /// The estate could not be applied.
    #[error("estate: {0}")]
    Estate(#[from] NotApplied),
    /// The API's address is taken or forbidden.
    #[error("can't listen on {0} ({1}): give another address with --listen")]
    Listen(SocketAddr, io::Error),
    /// The operators' address is taken or forbidden.
    #[error("can't listen on {0} ({1}): give another address in operator_listen")]
    OperatorListen(SocketAddr, io::Error),
    /// The environment names unreadable certificate authorities.
    #[error(transparent)]
    Authorities(#[from] BadAuthorities),
    /// The certificate or its key is invalid.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl StartError {
    /// Whether the disk of the embedded store has failed.
    pub fn is_disk_failure(&self) -> bool {
        let (Self::Store(cause) | Self::Keys(KeysError::Store(cause))) = self else { return false };
        matches!(cause, StoreError::Disk(_) | StoreError::OutcomeUnknown(_))
    }
}

/// Logs a custom connector.
fn log_connector(custom: &CustomManifest) {
    let (connector, file) = (custom.manifest.name(), custom.file.display());
    if custom.replaces_shipped {
        tracing::info!(%connector, %file, "a connector takes the place of the shipped one");
    } else {
        tracing::info!(%connector, %file, "a connector was read");
    }
}

/// The disk of the embedded store. When it fails, the process must end and leave everything as it is.
#[derive(Clone)]
pub struct Disk(Store);

impl Disk {
    /// Returns when the disk has failed, with the reason.
    pub fn wait_for_failure(&self) -> BoxFuture<'static, Arc<str>> {
        let store = self.0.clone();
        Box::pin(async move { store.until_disk_fails().await })
    }

    /// The reason, if the disk has failed.
    pub fn failure(&self) -> Option<Arc<str>> {
        self.0.disk_failure()
    }
}

/// A listening server.
pub struct Server {
    api: HttpApi,
    app: App,
    listener: Listener,
    operator_listener: Option<Listener>,
    tls: Option<Arc<Tls>>,
    heartbeat: Option<Heartbeat>,
    /// Beginning of the addresses in messages to subscribers.
    base: String,
    /// Publishes events to NATS.
    nats: Option<NatsOutlet>,
    /// Keeps the data directory locked.
    _lock: Option<File>,
}

impl Server {
    /// Opens store and keys, applies the estate, and listens. `start_empty` allows a new store where one was lost.
    pub fn start<'a>(
        config: &'a Config,
        estate: Option<&'a Estate>,
        features: OptionalFeatures,
        start_empty: bool,
    ) -> BoxFuture<'a, Result<Self, StartError>> {
        Box::pin(async move {
            // Checks without side effects come first, so that most failed starts leave no trace.
            let given = keys::given_master_keys(config)?;
            if !check_authorities()? {
                tracing::warn!("{NO_AUTHORITIES}");
            }
            nats::check_files(&config.events.nats).map_err(StartError::Nats)?;
            let issuers = Issuer::all(&config.auth)?;
            let open_files = OpenFiles::now();
            let (manifests, custom) = config.platforms.manifests()?;
            custom.iter().for_each(log_connector);
            let calls_at_once = open_files.calls_at_once();
            let mut options =
                PlatformOptions { calls_at_once, ..config.platforms.options(manifests) };
            options.addresses.allowed_sockets.clone_from(&features.platforms);
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
            let store = if features.is_without_journal {
                tracing::warn!(
                    "changes are not written to the journals: this server is only for the bench"
                );
                store.without_journal()
            } else {
                store
            };
            let keys = keys::open(config, &store, given).await?;
            store.finish_setup()?;
            let callbacks = CallbackClient::new(config.events.callback_rules(), CALLBACKS_AT_ONCE)
                .map_err(StartError::Callbacks)?;
            let app = App::new(store, keys.vault, clock, config.tasks.clone(), platforms)
                .with_callbacks(callbacks)
                .with_journal_key(keys.journal)
                .with_failed_checks(config.limits.failed_checks)
                .with_store_maintenance(config);
            // Before the first tenant, so that its audit has everything.
            app.store.begin_journals(app.chain_key()).await?;
            if let Some(estate) = estate {
                app.apply_estate(estate).await?;
            }
            // This process alone uses the embedded store, so every lease is of an earlier one.
            app.store.release_stale_leases().await?;
            app.revocations.reload(&app.store).await?;
            let auth = Auth::new(keys.token, config.auth.audience.clone())
                .trusting(issuers)
                .with_revocations(app.revocations.clone(), app.store.clone())
                .with_key_reload(keys.token_store, app.clock.clone());
            let api = HttpApi::new(app.clone(), auth, config, features);
            if let Some(tls) = &tls {
                api.metrics().register(tls.metrics());
            }
            let setup = |listener, capacity, tls| Setup {
                api: api.clone(),
                clock: app.clock.clone(),
                listener,
                capacity,
                limits: config.limits.clone(),
                tls,
            };
            let capacity = open_files.capacity(config.limits.connections, OPERATOR_CONNECTIONS_MAX);
            let listener = Listener::new(socket, setup(ListenerKind::Main, capacity, tls.clone()));
            let operator_listener = operator_socket.map(|socket| {
                Listener::new(socket, setup(ListenerKind::Operator, OPERATOR_CONNECTIONS_MAX, None))
            });
            // Before the first request, so that each is counted against this server's share of a limit.
            let listen = listener.address().unwrap_or(config.listen);
            let heartbeat = Heartbeat::begin(&app, listen).await?;
            let base = match &config.public_url {
                Some(url) => url.as_str().to_owned(),
                None => {
                    let scheme = if tls.is_some() { "https" } else { "http" };
                    format!("{scheme}://{listen}{}", config.base_path.as_str())
                }
            };
            let nats = NatsOutlet::open(&config.events.nats, app.clone(), base.clone()).await;
            let nats = nats.map_err(StartError::Nats)?;
            Ok(Self {
                api,
                app,
                listener,
                operator_listener,
                tls,
                heartbeat,
                base,
                nats,
                _lock: lock,
            })
        })
    }

    /// The API's address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }

    /// Scheme of the API's URLs: `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.listener.is_encrypted() { "https" } else { "http" }
    }

    /// The operators' address, if they have a listener.
    pub fn operator_address(&self) -> Option<io::Result<SocketAddr>> {
        self.operator_listener.as_ref().map(Listener::address)
    }

    /// Issues a token, and counts it for the audit.
    pub fn issue(&self, grant: &Grant) -> String {
        let (now, origin) = (self.app.now(), Origin::of(Cause::Server));
        let token = self.api.auth().issue(grant, now);
        self.app.audit_counts.count_token(grant, &token, &origin, now);
        token.text
    }

    /// The disk of the embedded store.
    pub fn disk(&self) -> Disk {
        Disk(self.app.store.clone())
    }

    /// Serves requests until `stop`, then completes those in progress.
    pub fn run(self, stop: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        Box::pin(self.run_until(stop))
    }

    async fn run_until(self, stop: BoxFuture<'static, ()>) {
        let (stopping, drained) = (CancellationToken::new(), CancellationToken::new());
        let stop = async {
            stop.await;
            tracing::info!("stopping: requests that are under way are finished");
            self.api.begin_to_stop();
            stopping.cancel();
        };
        let main = async {
            self.listener.serve(stop).await;
            drained.cancel();
        };
        // Operators can connect until the end.
        let operator = async {
            if let Some(listener) = self.operator_listener {
                listener.serve(drained.cancelled()).await;
            }
        };
        let workers = Workers::start(&self.app, self.heartbeat);
        // On tasks of their own, so that the store's work for them doesn't delay new connections.
        let mut outgoing = JoinSet::new();
        if self.app.events.deliver {
            outgoing.spawn(Deliverer::new(self.app.clone(), self.base).run(stopping.clone()));
            if let Some(nats) = self.nats {
                outgoing.spawn(nats.run(stopping.clone()));
            }
        }
        let outgoing = async { while outgoing.join_next().await.is_some() {} };
        let work = async {
            stopping.cancelled().await;
            workers.stop().await;
        };
        let finished = async {
            tokio::join!(main, operator, work, outgoing);
            // The last requests are done, and with them the last tokens and refusals.
            work::finish_audit(&self.app).await;
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
        let api = self.api.clone();
        tokio::select! {
            () = finished => {}
            () = out_of_time => tracing::warn!("some requests took too long and were cut off"),
            () = keep_fresh => {}
            () = api.auth().keep_fresh() => {}
        }
        tracing::info!("stopped");
    }
}

/// Checks certificate and key, if the settings name them; returns the certificate's validity.
pub fn check_tls(config: &Config) -> Result<Option<Validity>, TlsError> {
    Tls::load(&config.tls)?.map(|tls| tls.validity()).transpose()
}

/// Opens the store. For SQLite, creates and locks the data directory.
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
    let lock = lock(path).map_err(failed)?.ok_or_else(|| StartError::InUse(path.clone()))?;
    refuse_moved(config)?;
    refuse_unfinished(config)?;
    let open_mode = match (start_empty, keys::store_key_files(config).is_empty()) {
        (true, _) => OpenMode::StartEmpty,
        (false, false) => OpenMode::MustExist,
        (false, true) => OpenMode::CreateIfNew,
    };
    let store = Store::open_sqlite_as(open_mode, &config.database_file(), clock).await?;
    Ok((store, Some(lock)))
}
