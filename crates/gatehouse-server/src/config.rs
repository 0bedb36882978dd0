//! What an operator may set: in a file, in the environment, by a flag; each goes before the last.
//!
//! Defaults are below, readable as code; an empty file is a working set-up, and a misspelt setting is
//! refused. A setting that is not in [`SETTINGS`] doesn't exist, and a test holds the example file
//! against it.

mod duration;
mod load;

pub use duration::{BadDuration, Duration};
pub use load::{BadConfig, SETTINGS};

use std::net::SocketAddr;
use std::path::PathBuf;

use gatehouse_core::page::PAGE_SIZE_MAX;
use gatehouse_store::DatabaseUrl;
use gatehouse_vault::MasterKey;
use serde::{Deserialize, Serialize};

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
    /// A file with the master key; needed with PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_key_file: Option<PathBuf>,
    /// What the API is encrypted with.
    #[serde(skip_serializing_if = "Tls::is_off")]
    pub tls: Tls,
    /// Who may call.
    pub auth: Auth,
    /// How much may be asked for.
    pub limits: Limits,
    /// What is written down about the work.
    pub log: Log,
    /// The master key itself, from the environment alone: never in a file of settings, never shown.
    #[serde(skip)]
    pub master_key: Option<MasterKey>,
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

/// Who may call.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    /// The audience (`aud`) that a token of the built-in issuer must name.
    pub audience: String,
}

/// How much may be asked for.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Most things on a page of a list, 1 to 1000.
    pub page_size_max: u64,
    /// Most bytes in a request's body; a single object has at most 1 MiB of them.
    pub body_bytes: u64,
    /// Most connections at a time.
    pub connections: u64,
    /// Most requests that are worked on at a time.
    pub concurrent_requests: u64,
    /// How long the head of a request may take to arrive, from its first byte.
    pub header_timeout: Duration,
    /// How long the body of a request may take to arrive.
    pub body_timeout: Duration,
    /// How long a connection without a request is kept.
    pub idle_timeout: Duration,
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

/// What stands before every path: empty, or `/` and one or more segments.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "String")]
pub struct BasePath(String);

/// Most bytes that any body can be allowed.
pub const BODY_BYTES_MAX: u64 = 1 << 30;

/// Most connections, and most requests at a time, that can be allowed.
pub const CONNECTIONS_MAX: u64 = 1_000_000;

/// The shortest and the longest time that a client can be given.
pub const PATIENCE: std::ops::RangeInclusive<Duration> =
    Duration::milliseconds(10)..=Duration::hours(1);

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
            tls: Tls::default(),
            auth: Auth::default(),
            limits: Limits::default(),
            log: Log::default(),
            master_key: None,
        }
    }
}

impl Default for Auth {
    fn default() -> Self {
        Self { audience: "gatehouse".into() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            page_size_max: PAGE_SIZE_MAX,
            body_bytes: 32 << 20,
            connections: 10_000,
            concurrent_requests: 1024,
            header_timeout: Duration::seconds(10),
            body_timeout: Duration::seconds(30),
            idle_timeout: Duration::seconds(60),
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Auto, level: LogLevel::Info }
    }
}

impl Config {
    /// The configuration as a file would say it, without secrets.
    pub fn show(&self) -> String {
        toml::to_string(self).expect("a configuration is plain TOML")
    }

    /// The file of the embedded store.
    pub fn database_file(&self) -> PathBuf {
        self.data_dir.join("gatehouse.db")
    }

    /// Checks what no single setting can tell by itself.
    fn check(self) -> Result<Self, String> {
        let Limits { page_size_max, body_bytes, .. } = self.limits;
        if !(1..=PAGE_SIZE_MAX).contains(&page_size_max) {
            return Err(format!("limits.page_size_max must be 1 to {PAGE_SIZE_MAX}"));
        }
        if !(1024..=BODY_BYTES_MAX).contains(&body_bytes) {
            return Err(format!("limits.body_bytes must be 1024 to {BODY_BYTES_MAX}"));
        }
        self.limits.check_connections()?;
        if self.data_dir.as_os_str().is_empty() {
            return Err("data_dir must not be empty; `.` is the present directory".into());
        }
        if self.master_key_file.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            return Err("master_key_file must not be empty".into());
        }
        if self.auth.audience.is_empty() {
            return Err("auth.audience must not be empty".into());
        }
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

impl Limits {
    fn check_connections(&self) -> Result<(), String> {
        let counts =
            [("connections", self.connections), ("concurrent_requests", self.concurrent_requests)];
        for (name, count) in counts {
            if !(1..=CONNECTIONS_MAX).contains(&count) {
                return Err(format!("limits.{name} must be 1 to {CONNECTIONS_MAX}"));
            }
        }
        let times = [
            ("header_timeout", self.header_timeout),
            ("body_timeout", self.body_timeout),
            ("idle_timeout", self.idle_timeout),
        ];
        let (shortest, longest) = (PATIENCE.start(), PATIENCE.end());
        for (name, time) in times {
            if !(shortest.get()..=longest.get()).contains(&time.get()) {
                return Err(format!("limits.{name} must be {shortest} to {longest}, not {time}"));
            }
        }
        Ok(())
    }
}

impl PublicUrl {
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
