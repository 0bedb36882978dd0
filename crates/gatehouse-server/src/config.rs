//! Settings: from a file, the environment and flags; the later ones win.
//!
//! An empty file is a working set-up, and an unknown setting is refused. Every setting is in [`SETTINGS`]; a test
//! compares the example file with it.

mod auth;
mod backup;
mod duration;
mod events;
mod limits;
mod load;
mod nats;
mod platforms;
pub(crate) mod safe_url;
mod store;
mod tasks;

pub use auth::{Auth, Issuer, IssuerUrl};
pub use backup::{Backup, BackupSchedule};
pub use duration::{BadDuration, Duration};
pub use events::Events;
pub use limits::{BODY_BYTES_MAX, FAILED_CHECKS, Limits};
pub use load::{BadConfig, SETTINGS};
pub use nats::Nats;
pub use platforms::Platforms;
pub use store::StoreMaintenance;
pub use tasks::Tasks;

use std::net::SocketAddr;
use std::path::PathBuf;

use gatehouse_store::DatabaseUrl;
use gatehouse_vault::MasterKeys;
use serde::{Deserialize, Serialize};

/// File name of the embedded store, in the data directory and in backups.
pub(crate) const DATABASE_FILE: &str = "gatehouse.db";

/// All settings.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The API's listening address; port 0 picks a free one.
    #[serde(deserialize_with = "load::socket_address")]
    pub listen: SocketAddr,
    /// Address of the operators' listener for health and metrics, which needs no token.
    #[serde(deserialize_with = "load::operator_address", skip_serializing_if = "Option::is_none")]
    pub operator_listen: Option<SocketAddr>,
    /// The URL that clients use, if it isn't the address that they connect to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<PublicUrl>,
    /// Prefix of every path, such as `/gatehouse`.
    pub base_path: BasePath,
    /// Directory of the embedded store and its keys.
    pub data_dir: PathBuf,
    /// `postgres://…`; without it, SQLite in the data directory.
    #[serde(with = "load::database_url", skip_serializing_if = "Option::is_none")]
    pub database_url: Option<DatabaseUrl>,
    /// File with the master keys, separated by white space, the active one first; required with PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_key_file: Option<PathBuf>,
    /// Whether the system may write core dumps, which would hold keys and passwords.
    pub core_dumps: bool,
    /// The API's certificate.
    #[serde(skip_serializing_if = "Tls::is_off")]
    pub tls: Tls,
    /// Authentication.
    pub auth: Auth,
    /// Limits on requests.
    pub limits: Limits,
    /// Batch processing.
    pub tasks: Tasks,
    /// The journal.
    pub events: Events,
    /// Calls to external platforms.
    pub platforms: Platforms,
    /// Checks of the embedded store.
    #[serde(skip_serializing_if = "StoreMaintenance::is_unset")]
    pub store: StoreMaintenance,
    /// Scheduled backups of the embedded store.
    #[serde(skip_serializing_if = "Backup::is_unset")]
    pub backup: Backup,
    /// The log.
    pub log: Log,
    /// Export of traces.
    pub traces: Traces,
    /// The master keys, from the environment alone: never in a settings file, never shown.
    #[serde(skip)]
    pub master_key: Option<MasterKeys>,
}

/// The API's certificate and key: both files, or neither.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// PEM file with the certificate and its chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// PEM file with the private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}

/// The log.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// The format.
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: LogLevel,
}

/// Export of traces.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Traces {
    /// OTLP collector over HTTP; without one, no traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<TracesEndpoint>,
    /// Percentage of sampled requests, where the client has not decided.
    pub sample_percent: u64,
}

/// Format of the log.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    Auto,
    /// Text.
    Text,
    /// One JSON object per line.
    Json,
}

/// Verbosity of the log.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names explain themselves")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// The URL that clients use, without a trailing slash.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "String")]
pub struct PublicUrl(String);

/// URL of a trace collector, without a trailing slash.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "String")]
pub struct TracesEndpoint(String);

/// Path prefix: empty, or `/` and one or more segments.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "String")]
pub struct BasePath(String);

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: ([127, 0, 0, 1], 8080).into(),
            operator_listen: None,
            public_url: None,
            base_path: BasePath::default(),
            data_dir: "gatehouse-data".into(),
            database_url: None,
            master_key_file: None,
            core_dumps: false,
            tls: Tls::default(),
            auth: Auth::default(),
            limits: Limits::default(),
            tasks: Tasks::default(),
            events: Events::default(),
            platforms: Platforms::default(),
            store: StoreMaintenance::default(),
            backup: Backup::default(),
            log: Log::default(),
            traces: Traces::default(),
            master_key: None,
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Auto, level: LogLevel::Info }
    }
}

impl Default for Traces {
    fn default() -> Self {
        Self { endpoint: None, sample_percent: 100 }
    }
}

impl Config {
    /// The settings as a file, without secrets.
    pub fn show(&self) -> String {
        toml::to_string(self).expect("a configuration is plain TOML")
    }

    /// Path of the embedded store's file.
    pub fn database_file(&self) -> PathBuf {
        self.data_dir.join(DATABASE_FILE)
    }

    /// Checks values that their types don't restrict.
    fn check(self) -> Result<Self, String> {
        self.limits.check()?;
        self.tasks.check()?;
        self.events.check()?;
        self.platforms.check()?;
        self.store.check()?;
        self.backup.check()?;
        if self.data_dir.as_os_str().is_empty() {
            return Err("data_dir must not be empty; `.` is the present directory".into());
        }
        if self.master_key_file.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            return Err("master_key_file must not be empty".into());
        }
        if self.traces.sample_percent > 100 {
            return Err("traces.sample_percent must be 0 to 100".into());
        }
        self.auth.check()?;
        let tls = [("tls.certificate", &self.tls.certificate), ("tls.key", &self.tls.key)];
        for (name, path) in tls {
            if path.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
                return Err(format!("{name} must not be empty"));
            }
        }
        Ok(self)
    }

    /// Checks settings that depend on each other, after all layers are merged.
    fn check_whole(&self) -> Result<(), String> {
        if let Some(url) = &self.public_url
            && !url.path().ends_with(self.base_path.as_str())
        {
            let (url, base_path) = (url.as_str(), self.base_path.as_str());
            return Err(format!(
                "public_url is the whole outside address, so its path must end in base_path, `{base_path}`, and \
                 `{url}` doesn't"
            ));
        }
        let is_postgres = self.database_url.is_some();
        self.store.check_whole(is_postgres)?;
        self.backup.check_whole(&self.data_dir, is_postgres)?;
        self.events.nats.check_whole()?;
        match (&self.tls.certificate, &self.tls.key) {
            (Some(_), None) => {
                Err("tls.certificate is set and tls.key is not: TLS needs both".into())
            }
            (None, Some(_)) => {
                Err("tls.key is set and tls.certificate is not: TLS needs both".into())
            }
            _ => Ok(()),
        }
    }
}

impl Tls {
    fn is_off(&self) -> bool {
        self.certificate.is_none() && self.key.is_none()
    }
}

impl PublicUrl {
    /// The path, without a trailing slash.
    fn path(&self) -> &str {
        let after_scheme = self.0.split_once("://").map_or("", |(_, it)| it);
        after_scheme.find('/').map_or("", |at| &after_scheme[at..])
    }

    /// The URL, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for PublicUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let expected = "public_url must be a whole address such as `https://fleet.example/api`";
        let uri: http::Uri = text.parse().map_err(|_| expected.to_owned())?;
        let scheme = uri.scheme_str().is_some_and(|it| it == "http" || it == "https");
        if text.contains('@') {
            // The value may hold a password, so the error doesn't repeat it.
            return Err(format!("{expected}, without a name or password in it"));
        }
        if !scheme || uri.query().is_some() || text.contains('#') {
            return Err(format!("{expected}, not `{text}`"));
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

impl From<PublicUrl> for String {
    fn from(url: PublicUrl) -> Self {
        url.0
    }
}

impl TracesEndpoint {
    /// The URL, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TracesEndpoint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let uri = text.parse::<http::Uri>().ok().filter(|uri| {
            let scheme = uri.scheme_str().is_some_and(|it| it == "http" || it == "https");
            // User info is a secret, and settings are shown.
            let is_bare = uri.query().is_none() && !text.contains(['#', '@']);
            scheme && is_bare && !uri.path().trim_end_matches('/').ends_with("/v1/traces")
        });
        uri.map(|_| Self(text.trim_end_matches('/').to_owned())).ok_or_else(|| {
            "traces.endpoint must be the address of an OTLP collector such as \
             `http://127.0.0.1:4318`, without a name, password or query and without `/v1/traces`"
                .to_owned()
        })
    }
}

impl From<TracesEndpoint> for String {
    fn from(endpoint: TracesEndpoint) -> Self {
        endpoint.0
    }
}

impl BasePath {
    /// The prefix; empty when there is none.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for BasePath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let path = text.trim_end_matches('/');
        let segment = |it: &str| {
            !it.is_empty() && it.bytes().all(|b| b.is_ascii_alphanumeric() || b"._~-".contains(&b))
        };
        match path.strip_prefix('/') {
            None if path.is_empty() => Ok(Self::default()),
            Some(rest) if rest.split('/').all(segment) => Ok(Self(path.to_owned())),
            _ => Err(format!("base_path must be a path such as `/gatehouse`, not `{text}`")),
        }
    }
}

impl From<BasePath> for String {
    fn from(path: BasePath) -> Self {
        path.0
    }
}

#[cfg(test)]
mod tests;
