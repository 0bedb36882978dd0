//! The way to PostgreSQL: connections come about here, also when the server has moved to another host.
//!
//! The hosts of an address are tried side by side, the one that was reached last with a head start. When
//! none of them can be reached, everyone who needs a connection waits for the next try, and the pauses
//! between tries grow a little: a database that comes back must not be run over.

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
use super::carrier::Carrier;
use super::encryption::{Encryption, NoAgreement};
use super::session::Session;
use super::warnings::{Warned, Warnings};
use crate::error::StoreError;
use crate::meter::StoreMeter;

/// Connections that come about at the same time.
const TRIES_AT_ONCE: usize = 4;

/// How much later each further host is tried.
const HEAD_START: Duration = Duration::from_millis(150);

/// The pause after a try that failed; it doubles with each further one.
const PAUSE_FIRST: Duration = Duration::from_millis(50);

/// The longest pause: a database that is back should be noticed at once.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// How long a server may keep a transaction open for a client that says nothing: one that was frozen, or cut off.
/// What it has locked is everyone else's again after that.
const IDLE_IN_TRANSACTION_SECONDS_MAX: u64 = 10;

/// How long a server may work, or wait for a lock, for a client that is gone.
const GONE_SECONDS_MAX: u64 = 2;

/// How many causes of one outage are told.
const TOLD_MAX: usize = 8;

/// The setting by which a connection is recognised as one's own.
const MARK: &str = "gatehouse.session";

pub(super) struct Way {
    hosts: Vec<Place>,
    /// Which of them was reached last.
    best: AtomicUsize,
    tries: Semaphore,
    trouble: Mutex<Trouble>,
}

/// One host.
struct Place {
    config: Config,
    encryption: Encryption,
    /// Its name and port.
    shown: String,
    /// Whether it wouldn't have a connection with settings of its own.
    refuses_settings: AtomicBool,
}

/// A connection, what carries its bytes, and its warnings.
pub(super) struct Opened {
    pub(super) client: Client,
    pub(super) carrier: Carrier,
    pub(super) warnings: Warnings,
}

/// What the last tries have shown.
struct Trouble {
    n_failures: u32,
    /// Nobody tries before that.
    quiet_until: Instant,
    why: String,
    /// What was told of it, to tell nothing twice.
    told: Vec<String>,
}

impl Way {
    pub(super) fn to(url: &DatabaseUrl) -> Self {
        let place = |config: &Config| Place {
            config: config.clone(),
            encryption: url.encryption().clone(),
            shown: shown(config),
            refuses_settings: false.into(),
        };
        Self {
            hosts: url.hosts().iter().map(place).collect(),
            best: AtomicUsize::new(0),
            tries: Semaphore::new(TRIES_AT_ONCE),
            trouble: Mutex::new(Trouble::none()),
        }
    }

    /// A new connection, or why there is none until then. What will be no better soon is told at once.
    pub(super) async fn connect(
        &self,
        until: Instant,
        meter: &StoreMeter,
    ) -> Result<Session, StoreError> {
        let trying = async {
            loop {
                let _turn = self.tries.acquire().await.map_err(|_| StoreError::gone())?;
                // Somebody else may have failed meanwhile.
                while let Some(quiet_until) = self.quiet_until() {
                    sleep_until(quiet_until).await;
                }
                match self.try_once(meter).await {
                    Err(StoreError::Unavailable(why)) => self.trouble.lock().add(why.to_string()),
                    // An operator's to mend: who waits would wait in vain.
                    Err(StoreError::Unexpected(why)) => return Err(StoreError::Unavailable(why)),
                    other => {
                        let before = std::mem::replace(&mut *self.trouble.lock(), Trouble::none());
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
            Err(_) => Err(self.trouble()),
        }
    }

    /// Why there is no connection, as far as is known.
    pub(super) fn trouble(&self) -> StoreError {
        StoreError::Unavailable(self.trouble.lock().why.clone().into())
    }

    fn quiet_until(&self) -> Option<Instant> {
        let quiet_until = self.trouble.lock().quiet_until;
        (quiet_until > Instant::now()).then_some(quiet_until)
    }

    /// Tries all hosts; the first one that can be used is taken.
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
                // One that may be there soon is more hope than one that says no.
                Err(error) if matches!(failure, StoreError::Unavailable(_)) => failure = error,
                Err(error @ StoreError::Unavailable(_)) => failure = error,
                Err(_) => {}
            }
        }
        Err(failure)
    }
}

impl Trouble {
    fn none() -> Self {
        let why = "no connection has come about in time".into();
        Self { n_failures: 0, quiet_until: Instant::now(), why, told: Vec::new() }
    }

    fn add(&mut self, why: String) {
        if self.told.len() < TOLD_MAX && !self.told.contains(&why) {
            tracing::warn!(cause = why, "the database can't be reached; it is tried again");
            self.told.push(why.clone());
        }
        let longest = PAUSE_FIRST.saturating_mul(2u32.saturating_pow(self.n_failures));
        // Anything from half of it, so that servers which lost it together don't come back together.
        let fraction = RandomState::new().hash_one(self.n_failures) as f64 / u64::MAX as f64;
        let pause = longest.min(PAUSE_MAX).mul_f64(0.5 + fraction / 2.0);
        self.quiet_until = Instant::now() + pause;
        self.n_failures = self.n_failures.saturating_add(1);
        self.why = why;
    }
}

impl Place {
    async fn reach(&self, meter: &StoreMeter) -> Result<Session, StoreError> {
        // The driver's own limit ends with the socket; a server that is frozen takes that and then says nothing.
        let limit = self.config.get_connect_timeout().copied().unwrap_or(Duration::MAX);
        let reached = match timeout(limit, self.connect(meter)).await {
            Ok(reached) => reached,
            Err(_) => Err(StoreError::Unavailable("it does not answer".into())),
        };
        // Of several hosts, which one it was.
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
        // A mark goes with the request for a connection. Where the server has it afterwards, the connection is one
        // to that server and stays it. A pooler refuses it, or drops it.
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

    /// Encrypted where that is wanted; where it is only preferred, also without.
    async fn open(&self, config: &Config) -> Result<Opened, tokio_postgres::Error> {
        match self.open_as_told(config).await {
            Err(cause) if config.get_ssl_mode() == SslMode::Prefer && is_for_encryption(&cause) => {
                let plain = config.clone().ssl_mode(SslMode::Disable).clone();
                self.open_as_told(&plain).await.map_err(|_| cause)
            }
            opened => opened,
        }
    }

    async fn open_as_told(&self, config: &Config) -> Result<Opened, tokio_postgres::Error> {
        let (client, connection) = config.connect(self.encryption.clone()).await?;
        let (connection, warnings) = Warned::new(connection);
        // Ends by itself when the client is dropped, and nothing is under way any more.
        let carrier = Carrier::start(connection, |ended| {
            if let Err(cause) = ended {
                let cause = StoreError::from(cause).explained();
                tracing::warn!(cause, "a database connection was lost");
            }
        });
        Ok(Opened { client, carrier, warnings })
    }

    fn session(&self, opened: Opened, is_pooled: bool, meter: &StoreMeter) -> Session {
        Session::new(opened, self.encryption.clone(), is_pooled, meter)
    }
}

/// Whether a request for a connection was refused for what it asks for: each pooler has its own word for that.
fn refuses_settings(code: &SqlState) -> bool {
    *code == SqlState::PROTOCOL_VIOLATION
        || ["0A", "22", "42"].iter().any(|class| code.code().starts_with(class))
}

/// Whether a connection might come about without encryption: a server may refuse either.
fn is_for_encryption(cause: &tokio_postgres::Error) -> bool {
    NoAgreement::is_in(cause)
        || cause.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
}

async fn read_mark(client: &Client) -> Result<Option<String>, tokio_postgres::Error> {
    let found = client.simple_query(&format!("SELECT current_setting('{MARK}', true)")).await?;
    Ok(found.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    }))
}
