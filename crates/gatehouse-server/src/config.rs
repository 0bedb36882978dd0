//! What an operator may set: in a file, in the environment, by a flag; each goes before the last.
//!
//! Defaults are below, readable as code; an empty file is a working set-up, and a misspelt setting is
//! refused. A setting that is not in [`SETTINGS`] doesn't exist, and a test holds the example file
//! against it.

mod auth;
mod backup;
mod duration;
mod limits;
mod load;
mod platforms;
pub(crate) mod safe_url;
mod store;
mod tasks;

pub use auth::{Auth, Issuer, IssuerUrl};
pub use backup::{Backup, BackupSchedule};
pub use duration::{BadDuration, Duration};
pub use limits::{BODY_BYTES_MAX, FAILED_CHECKS, Limits};
pub use load::{BadConfig, SETTINGS};
pub use platforms::Platforms;
pub use store::StoreMaintenance;
pub use tasks::Tasks;

use std::net::SocketAddr;
use std::path::PathBuf;

use gatehouse_store::DatabaseUrl;
use gatehouse_vault::MasterKeys;
use serde::{Deserialize, Serialize};

/// The file of the embedded store, in the data directory and in backups.
pub(crate) const DATABASE_FILE: &str = "gatehouse.db";

/// The whole configuration.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the API listens; port 0 picks a free one.
    #[serde(deserialize_with = "load::socket_address")]
    pub listen: SocketAddr,
    /// Where operators see live, ready and metrics, beside the API and without a token.
    #[serde(deserialize_with = "load::operator_address", skip_serializing_if = "Option::is_none")]
    pub operator_listen: Option<SocketAddr>,
    /// The whole address that clients use, when it is not the one that they connect to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<PublicUrl>,
    /// What stands before every path, such as `/gatehouse`.
    pub base_path: BasePath,
    /// Where the embedded store and its keys are.
    pub data_dir: PathBuf,
    /// `postgres://…`; without it, SQLite in the data directory.
    #[serde(with = "load::database_url", skip_serializing_if = "Option::is_none")]
    pub database_url: Option<DatabaseUrl>,
    /// A file with the master key, or several with white space between, the one that is used first; needed
    /// with PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_key_file: Option<PathBuf>,
    /// Whether the system may write a copy of the process to a disk when it crashes: it would hold keys and passwords.
    pub core_dumps: bool,
    /// What the API is encrypted with.
    #[serde(skip_serializing_if = "Tls::is_off")]
    pub tls: Tls,
    /// Who may call.
    pub auth: Auth,
    /// How much may be asked for.
    pub limits: Limits,
    /// How batches are worked off.
    pub tasks: Tasks,
    /// How external platforms are asked.
    pub platforms: Platforms,
    /// How the embedded store is looked after.
    #[serde(skip_serializing_if = "StoreMaintenance::is_unset")]
    pub store: StoreMaintenance,
    /// When the server backs the embedded store up, and where to.
    #[serde(skip_serializing_if = "Backup::is_unset")]
    pub backup: Backup,
    /// What is written down about the work.
    pub log: Log,
    /// Where traces of the work go.
    pub traces: Traces,
    /// The master keys themselves, from the environment alone: never in a file of settings, never shown.
    #[serde(skip)]
    pub master_key: Option<MasterKeys>,
}

/// What the API is encrypted with: both files, or neither.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// A file with the certificate and those that lead from it to one that clients trust, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// A file with the certificate's private key, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}

/// What is written down about the work.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// For people or for programs.
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: LogLevel,
}

/// Where traces of the work go.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Traces {
    /// A collector that speaks OTLP over HTTP; without one there are no traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<TracesEndpoint>,
    /// How many of a hundred requests leave a trace, where their client doesn't say.
    pub sample_percent: u64,
}

/// For whom a log is written.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    Auto,
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// How much a log says.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words speak for themselves")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// The address that clients use, without a slash at its end.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "String")]
pub struct PublicUrl(String);

/// The address of a collector of traces, without a slash at its end.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "String")]
pub struct TracesEndpoint(String);

/// What stands before every path: empty, or `/` and one or more segments.
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
    /// The configuration as a file would say it, without secrets.
    pub fn show(&self) -> String {
        toml::to_string(self).expect("a configuration is plain TOML")
    }

    /// The file of the embedded store.
    pub fn database_file(&self) -> PathBuf {
        self.data_dir.join(DATABASE_FILE)
    }

    /// Checks what no single setting can tell by itself.
    fn check(self) -> Result<Self, String> {
        self.limits.check()?;
        self.tasks.check()?;
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

    /// Checks what only all layers together can tell.
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
    /// What stands behind its host, without a slash at its end.
    fn path(&self) -> &str {
        let behind = self.0.split_once("://").map_or("", |(_, it)| it);
        behind.find('/').map_or("", |at| &behind[at..])
    }

    /// The address, without a slash at its end.
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
            // It may be a password: it is not repeated.
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
    /// The address, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TracesEndpoint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let uri = text.parse::<http::Uri>().ok().filter(|uri| {
            let scheme = uri.scheme_str().is_some_and(|it| it == "http" || it == "https");
            // What stands before an `@` is a secret, which would be shown with the settings.
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
