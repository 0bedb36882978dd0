//! Connecting to PostgreSQL, also after the primary has moved to another host.
//!
//! The hosts of an address are tried concurrently, and the one that was reached last gets a head start. When none can
//! be reached, all callers wait for the next try, and the pauses between tries grow, so that a database that comes back
//! isn't flooded.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, SimpleQueryMessage};

use super::address::{DatabaseUrl, shown_hosts as shown};
use super::connection_task::ConnectionTask;
use super::encryption::{Encryption, HandshakeFailed};
use super::session::Session;
use super::warnings::{Warned, Warnings};
use crate::error::StoreError;
use crate::meter::StoreMeter;

/// Connection attempts at the same time.
const TRIES_AT_ONCE: usize = 4;

/// Delay before each further host is tried.
const HEAD_START: Duration = Duration::from_millis(150);

/// Pause after the first failed attempt; doubles with each further one.
const PAUSE_FIRST: Duration = Duration::from_millis(50);

/// Longest pause: a database that is back should be noticed soon.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// Time after which a server ends the transaction of a silent client, which was suspended or cut off. Its locks are
/// free after that.
const IDLE_IN_TRANSACTION_SECONDS_MAX: u64 = 10;

/// Time after which a server notices that a client is gone, and stops its statement.
const GONE_SECONDS_MAX: u64 = 2;

/// Most different causes that are logged in one outage.
const LOGGED_MAX: usize = 8;

/// Setting that tells a direct connection from one through a pooler.
const MARK: &str = "gatehouse.session";

pub(super) struct Connector {
    hosts: Vec<DatabaseHost>,
    /// Index of the host that was reached last.
    best: AtomicUsize,
    tries: Semaphore,
    outage: Mutex<Outage>,
}

/// One host of the address.
struct DatabaseHost {
    config: Config,
    encryption: Encryption,
    /// Name and port, for messages.
    shown: String,
    /// Whether the host refuses connections with settings, as a pooler does.
    refuses_settings: AtomicBool,
}

/// A new connection: the driver's client, the task that drives it, and its warnings.
pub(super) struct Opened {
    pub(super) client: Client,
    pub(super) task: ConnectionTask,
    pub(super) warnings: Warnings,
}

/// The failed attempts since the last connection.
struct Outage {
    n_failures: u32,
    /// No attempt is made before this time.
    retry_at: Instant,
    why: String,
    /// Causes that were logged, so that none is logged twice.
    logged: Vec<String>,
}

impl Connector {
    pub(super) fn to(url: &DatabaseUrl) -> Self {
        let place = |config: &Config| DatabaseHost {
            config: config.clone(),
            encryption: url.encryption().clone(),
            shown: shown(config),
            refuses_settings: false.into(),
        };
        Self {
            hosts: url.hosts().iter().map(place).collect(),
            best: AtomicUsize::new(0),
            tries: Semaphore::new(TRIES_AT_ONCE),
            outage: Mutex::new(Outage::none()),
        }
    }

    /// Makes a new connection, with retries until `until`. An error that a retry won't fix is returned at once.
    pub(super) async fn connect(
        &self,
        until: Instant,
        meter: &StoreMeter,
    ) -> Result<Session, StoreError> {
        let trying = async {
            loop {
                let _turn = self.tries.acquire().await.map_err(|_| StoreError::closed())?;
                // Another caller may have failed meanwhile.
                while let Some(retry_at) = self.retry_at() {
                    sleep_until(retry_at).await;
                }
                match self.try_once(meter).await {
                    Err(StoreError::Unavailable(why)) => self.outage.lock().add(why.to_string()),
                    // Only an operator can fix this, so waiting is pointless.
                    Err(StoreError::Unexpected(why)) => return Err(StoreError::Unavailable(why)),
                    other => {
                        let before = std::mem::replace(&mut *self.outage.lock(), Outage::none());
                        if before.n_failures > 0 && other.is_ok() {
                            tracing::info!("the database is reached again");
                        }
                        return other;
                    }
                }
            }
        };
        match timeout_at(until, trying).await {
            Ok(result) => result,
            Err(_) => Err(self.outage()),
        }
    }

    /// The last attempt's error.
    pub(super) fn outage(&self) -> StoreError {
        StoreError::Unavailable(self.outage.lock().why.clone().into())
    }

    fn retry_at(&self) -> Option<Instant> {
        let retry_at = self.outage.lock().retry_at;
        (retry_at > Instant::now()).then_some(retry_at)
    }

    /// Tries all hosts, and takes the first that can be used.
    async fn try_once(&self, meter: &StoreMeter) -> Result<Session, StoreError> {
        let (n_hosts, best) = (self.hosts.len(), self.best.load(Ordering::Relaxed));
        let mut racing: FuturesUnordered<_> = (0..n_hosts)
            .map(async |nth| {
                let host = (best + nth) % n_hosts;
                sleep(HEAD_START * u32::try_from(nth).unwrap_or(u32::MAX)).await;
                (host, self.hosts[host].reach(meter).await)
            })
            .collect();
        let mut failure = StoreError::Unavailable("there is no host".into());
        while let Some((host, reached)) = racing.next().await {
            match reached {
                Ok(session) => {
                    self.best.store(host, Ordering::Relaxed);
                    return Ok(session);
                }
                // A host that can't be reached now may be back soon, unlike one that refuses.
                Err(error) if matches!(failure, StoreError::Unavailable(_)) => failure = error,
                Err(error @ StoreError::Unavailable(_)) => failure = error,
                Err(_) => {}
            }
        }
        Err(failure)
    }
}

impl Outage {
    fn none() -> Self {
        let why = "no connection has come about in time".into();
        Self { n_failures: 0, retry_at: Instant::now(), why, logged: Vec::new() }
    }

    fn add(&mut self, why: String) {
        if self.logged.len() < LOGGED_MAX && !self.logged.contains(&why) {
            tracing::warn!(cause = why, "the database can't be reached; it is tried again");
            self.logged.push(why.clone());
        }
        let longest = PAUSE_FIRST.saturating_mul(2u32.saturating_pow(self.n_failures));
        // Random, at least half, so that servers which lost the database together don't reconnect together.
        let fraction = RandomState::new().hash_one(self.n_failures) as f64 / u64::MAX as f64;
        let pause = longest.min(PAUSE_MAX).mul_f64(0.5 + fraction / 2.0);
        self.retry_at = Instant::now() + pause;
        self.n_failures = self.n_failures.saturating_add(1);
        self.why = why;
    }
}

impl DatabaseHost {
    async fn reach(&self, meter: &StoreMeter) -> Result<Session, StoreError> {
        // The driver's timeout ends with the TCP connection; a suspended server accepts that and then says nothing.
        let limit = self.config.get_connect_timeout().copied().unwrap_or(Duration::MAX);
        let reached = match timeout(limit, self.connect(meter)).await {
            Ok(reached) => reached,
            Err(_) => Err(StoreError::Unavailable("it does not answer".into())),
        };
        // The message names the host.
        reached.map_err(|error| match error {
            StoreError::Unavailable(why) => {
                StoreError::Unavailable(format!("{}: {why}", self.shown).into())
            }
            StoreError::Unexpected(why) => {
                StoreError::Unexpected(format!("{}: {why}", self.shown).into())
            }
            other => other,
        })
    }

    async fn connect(&self, meter: &StoreMeter) -> Result<Session, StoreError> {
        if self.refuses_settings.load(Ordering::Relaxed) {
            return Ok(self.session(self.open(&self.config).await?, true, meter));
        }
        // The connection request carries a random setting. If the server has the setting afterwards, the connection
        // leads directly to it. A pooler refuses the setting or drops it.
        let mark = format!("{:016x}", RandomState::new().hash_one(0));
        let mut marked = self.config.clone();
        let given = self.config.get_options().unwrap_or_default();
        marked.options(format!(
            "{given} -c {MARK}={mark} \
             -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_SECONDS_MAX}s \
             -c client_connection_check_interval={GONE_SECONDS_MAX}s -c client_min_messages=warning"
        ));
        match self.open(&marked).await {
            Ok(opened) => {
                let is_ours = read_mark(&opened.client).await?.as_deref() == Some(mark.as_str());
                Ok(self.session(opened, !is_ours, meter))
            }
            Err(cause) if cause.code().is_some_and(refuses_settings) => {
                let opened = self.open(&self.config).await?;
                tracing::info!("a pooler is before the database: statements are not prepared");
                self.refuses_settings.store(true, Ordering::Relaxed);
                Ok(self.session(opened, true, meter))
            }
            Err(cause) => Err(cause.into()),
        }
    }

    /// Opens a connection, encrypted if the settings allow that; with `prefer`, falls back to a plain one.
    async fn open(&self, config: &Config) -> Result<Opened, tokio_postgres::Error> {
        match self.open_with(config).await {
            Err(cause) if config.get_ssl_mode() == SslMode::Prefer && is_for_encryption(&cause) => {
                let plain = config.clone().ssl_mode(SslMode::Disable).clone();
                self.open_with(&plain).await.map_err(|_| cause)
            }
            opened => opened,
        }
    }

    async fn open_with(&self, config: &Config) -> Result<Opened, tokio_postgres::Error> {
        let (client, connection) = config.connect(self.encryption.clone()).await?;
        let (connection, warnings) = Warned::new(connection);
        // Ends when the client is dropped and no request is in flight.
        let task = ConnectionTask::start(connection, |ended| {
            if let Err(cause) = ended {
                let cause = StoreError::from(cause).explained();
                tracing::warn!(cause, "a database connection was lost");
            }
        });
        Ok(Opened { client, task, warnings })
    }

    fn session(&self, opened: Opened, is_pooled: bool, meter: &StoreMeter) -> Session {
        Session::new(opened, self.encryption.clone(), is_pooled, meter)
    }
}

/// Whether a connection was refused because of its settings: each pooler has its own code for that.
fn refuses_settings(code: &SqlState) -> bool {
    *code == SqlState::PROTOCOL_VIOLATION
        || ["0A", "22", "42"].iter().any(|class| code.code().starts_with(class))
}

/// Whether a connection without encryption might succeed: a server may refuse either.
fn is_for_encryption(cause: &tokio_postgres::Error) -> bool {
    HandshakeFailed::is_in(cause)
        || cause.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
}

async fn read_mark(client: &Client) -> Result<Option<String>, tokio_postgres::Error> {
    let found = client.simple_query(&format!("SELECT current_setting('{MARK}', true)")).await?;
    Ok(found.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    }))
}
