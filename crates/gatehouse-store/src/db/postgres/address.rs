//! The address of a PostgreSQL database, as an operator writes it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::encryption::{Encryption, TlsSettings};
use crate::error::StoreError;

/// Default timeout for connecting to one host.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Default time that sent data may stay unacknowledged before the connection counts as lost.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(10);

/// Default idle time after which TCP probes a connection.
const SILENT_MAX: Duration = Duration::from_secs(15);

/// Default number of TCP probes, and the time between them.
const SILENT_ASKED: u32 = 3;
const SILENT_BETWEEN: Duration = Duration::from_secs(3);

/// The address of a PostgreSQL database. `Display` and `Debug` hide its password.
#[derive(Clone)]
pub struct DatabaseUrl {
    hosts: Arc<[Config]>,
    encryption: Encryption,
    shown: String,
}

impl DatabaseUrl {
    /// A driver's configuration for each host.
    pub(super) fn hosts(&self) -> &[Config] {
        &self.hosts
    }

    /// Whether a server must prove its identity with a certificate.
    pub fn checks_server(&self) -> bool {
        self.encryption.is_checked()
    }

    /// TLS settings for all hosts.
    pub(super) fn encryption(&self) -> &Encryption {
        &self.encryption
    }
}

impl FromStr for DatabaseUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let expected = "a database URL is `postgres://user:password@host:port/database`";
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(StoreError::Address(expected.into()));
        }
        // Counts only the unencoded ones.
        let has_two_at = text.matches('@').count() > 1;
        let (text, ours) = Ours::split(text)?;
        // The parser's error may repeat the password.
        let mut config: Config =
            text.parse().map_err(|_| StoreError::Address(format!("unreadable: {expected}")))?;
        ours.apply(&mut config)?;
        let (encryption, mode) = ours.encryption.read()?;
        config.ssl_mode(mode);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNACKNOWLEDGED_MAX);
        }
        if !text.contains("keepalives_idle=") {
            config.keepalives_idle(SILENT_MAX);
        }
        if config.get_keepalives_interval().is_none() {
            config.keepalives_interval(SILENT_BETWEEN);
        }
        if config.get_keepalives_retries().is_none() {
            config.keepalives_retries(SILENT_ASKED);
        }
        if config.get_application_name().is_none() {
            config.application_name("gatehouse");
        }
        let hosts: Arc<[Config]> = each_host(&config)?.into();
        // The name may be the end of a password, and must not be shown.
        let name = config.get_dbname().unwrap_or_default();
        if has_two_at && (name.contains('@') || shown_hosts(&config).contains('@')) {
            return Err(unencoded());
        }
        let mut shown = without_secrets(&config);
        if let Some(mode) = &ours.encryption.mode {
            shown += &format!("?sslmode={mode}");
        }
        Ok(Self { shown, hosts, encryption })
    }
}

/// Parameters that the driver parses like libpq.
const PASSED_ON: [&str; 14] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "options",
    "password",
    "port",
    "sslnegotiation",
    "user",
];

/// Parameters that the driver doesn't know, parses only in part, or in other units.
const OURS: [&str; 7] = [
    "keepalives_count",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "tcp_user_timeout",
];

/// The values of the parameters in [`OURS`].
#[derive(Default)]
struct Ours {
    encryption: TlsSettings,
    target_session_attrs: Option<String>,
    keepalives_count: Option<String>,
    tcp_user_timeout: Option<String>,
}

impl Ours {
    /// Takes these parameters out of an address.
    fn split(text: &str) -> Result<(String, Self), StoreError> {
        // Like the driver: a password ends with the first `@`, and may contain a `?`.
        let behind_password = text.find('@').unwrap_or_default();
        let Some(query) = text[behind_password..].find('?').map(|at| behind_password + at) else {
            return Ok((text.to_owned(), Self::default()));
        };
        // With several `@`, this part may be the rest of a password that was not encoded.
        let is_query = text.matches('@').count() <= 1;
        let (mut ours, mut others) = (Self::default(), Vec::new());
        for parameter in text[query + 1..].split('&').filter(|it| !it.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let place = match name {
                "sslmode" => &mut ours.encryption.mode,
                "sslrootcert" => &mut ours.encryption.root,
                "sslcert" => &mut ours.encryption.certificate,
                "sslkey" => &mut ours.encryption.key,
                "target_session_attrs" => &mut ours.target_session_attrs,
                "keepalives_count" => &mut ours.keepalives_count,
                "tcp_user_timeout" => &mut ours.tcp_user_timeout,
                _ if is_query && !PASSED_ON.contains(&name) => return Err(unknown(name)),
                _ => {
                    others.push(parameter);
                    continue;
                }
            };
            // This part may be the end of a password, and an error names a file that can't be read.
            if !is_query && value.contains('@') {
                return Err(unencoded());
            }
            let value = percent_decode_str(value)
                .decode_utf8()
                .map_err(|_| StoreError::Address(format!("{name} is not UTF-8")))?;
            *place = Some(value.into_owned());
        }
        let mark = if others.is_empty() { "" } else { "?" };
        Ok((format!("{}{mark}{}", &text[..query], others.join("&")), ours))
    }

    fn apply(&self, config: &mut Config) -> Result<(), StoreError> {
        let number = |name: &str, text: &str| {
            let bad = |_| StoreError::Address(format!("{name} must be a number"));
            text.parse::<u32>().map_err(bad)
        };
        config.target_session_attrs(self.target_session_attrs()?);
        if let Some(count) = &self.keepalives_count {
            config.keepalives_retries(number("keepalives_count", count)?);
        }
        if let Some(milliseconds) = &self.tcp_user_timeout {
            let milliseconds = number("tcp_user_timeout, in milliseconds,", milliseconds)?;
            config.tcp_user_timeout(Duration::from_millis(milliseconds.into()));
        }
        Ok(())
    }

    /// Required kind of host. The default is one that takes writes, unlike the driver's, because no other is of use.
    fn target_session_attrs(&self) -> Result<TargetSessionAttrs, StoreError> {
        match self.target_session_attrs.as_deref() {
            None | Some("read-write" | "primary") => Ok(TargetSessionAttrs::ReadWrite),
            Some("any") => Ok(TargetSessionAttrs::Any),
            Some(_) => Err(StoreError::Address(
                "target_session_attrs must be `read-write`, `primary` or `any`: gatehouse writes"
                    .into(),
            )),
        }
    }
}

/// Error of an address with several `@`, in which the end of the password is ambiguous.
fn unencoded() -> StoreError {
    let why = "an `@` in a database URL, but for the one before its hosts, is written `%40`";
    StoreError::Address(why.into())
}

/// Error of an unknown parameter. Names it only where it can't be a part of a password.
fn unknown(name: &str) -> StoreError {
    let is_name = name.len() <= 40 && name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
    let shown = if is_name { format!("`{name}`") } else { "something".to_owned() };
    let mut known = [&PASSED_ON[..], &OURS].concat();
    known.sort_unstable();
    StoreError::Address(format!(
        "{shown} is no parameter of a database URL that is known here: take it out; those that are are {}",
        known.join(", ")
    ))
}

/// Splits an address into one configuration per host, so that hosts can be tried concurrently.
fn each_host(config: &Config) -> Result<Vec<Config>, StoreError> {
    let (hosts, addresses) = (config.get_hosts(), config.get_hostaddrs());
    let ports = config.get_ports();
    let n_hosts = hosts.len().max(addresses.len());
    let fits = |n: usize| n == n_hosts || n == 0;
    if n_hosts == 0 {
        return Err(StoreError::Address("the database URL names no host".into()));
    }
    if !fits(hosts.len()) || !fits(addresses.len()) || (ports.len() > 1 && !fits(ports.len())) {
        let why = "the database URL needs as many ports (and hostaddr) as hosts, or one for all";
        return Err(StoreError::Address(why.into()));
    }
    // The name may be the end of a password, and must not be shown.
    if hosts.iter().any(|it| matches!(it, Host::Tcp(name) if name.contains('@'))) {
        return Err(unencoded());
    }
    let alone = (0..n_hosts).map(|n| {
        let mut one = without_hosts(config);
        match hosts.get(n) {
            Some(Host::Tcp(name)) => drop(one.host(name)),
            // A Unix socket needs no encryption.
            Some(Host::Unix(path)) => drop(one.host_path(path).ssl_mode(SslMode::Disable)),
            None => {}
        }
        if let Some(address) = addresses.get(n) {
            one.hostaddr(*address);
            if hosts.is_empty() {
                one.host(address.to_string());
            }
        }
        if let Some(port) = ports.get(n).or(ports.first()) {
            one.port(*port);
        }
        one
    });
    Ok(alone.collect())
}

fn without_hosts(config: &Config) -> Config {
    let mut one = Config::new();
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(name) = config.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    if let Some(timeout) = config.get_connect_timeout() {
        one.connect_timeout(*timeout);
    }
    if let Some(timeout) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*timeout);
    }
    if let Some(interval) = config.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding());
    one
}

/// Hosts, ports and database name. Any other part of an address may be secret.
fn without_secrets(config: &Config) -> String {
    let hosts = shown_hosts(config);
    format!("postgres://***@{hosts}/{}", config.get_dbname().unwrap_or_default())
}

/// Hosts and ports, for messages.
pub(super) fn shown_hosts(config: &Config) -> String {
    let hosts = config.get_hosts().iter().enumerate().map(|(n, host)| {
        let host = match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        };
        let ports = config.get_ports();
        match ports.get(n).or(ports.first()) {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    });
    hosts.collect::<Vec<_>>().join(",")
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl PartialEq for DatabaseUrl {
    fn eq(&self, other: &Self) -> bool {
        self.hosts == other.hosts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_never_shows_its_secrets() {
        for (text, shown) in [
            ("postgres://ann:s3cret@db:5432/fleet", "postgres://***@db:5432/fleet"),
            ("postgresql://ann@db/fleet?password=s3cret", "postgres://***@db:5432/fleet"),
            ("postgres://db/fleet", "postgres://***@db:5432/fleet"),
            ("postgres://ann:s3cret?@db:1,db2:2/fleet", "postgres://***@db:1,db2:2/fleet"),
        ] {
            let url: DatabaseUrl = text.parse().unwrap();
            assert_eq!((url.to_string(), format!("{url:?}")), (shown.into(), shown.into()));
        }
        for bad in [
            "mysql://db",
            "s3cret",
            "postgres://ann:s3cret@db:port/x",
            "postgres://ann:p@db?s3cret=x@db/f",
        ] {
            let error = bad.parse::<DatabaseUrl>().unwrap_err().to_string();
            assert!(error.contains("postgres://user") && !error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn each_host_is_reached_by_itself_with_all_that_the_address_says() {
        let url = "postgres://ann:s3cret@a:1,b:2,c:3/fleet?options=-c%20search_path%3Dx\
                   &application_name=here&connect_timeout=7&tcp_user_timeout=9000&keepalives=0\
                   &keepalives_idle=11&keepalives_interval=12&keepalives_count=13";
        let url: DatabaseUrl = url.parse().unwrap();
        assert_eq!(url.hosts().len(), 3);
        for (config, (host, port)) in url.hosts().iter().zip([("a", 1), ("b", 2), ("c", 3)]) {
            let alone = format!(
                "postgres://ann:s3cret@{host}:{port}/fleet?options=-c%20search_path%3Dx\
                 &application_name=here&connect_timeout=7&tcp_user_timeout=9&keepalives=0\
                 &keepalives_idle=11&keepalives_interval=12&keepalives_retries=13\
                 &target_session_attrs=read-write"
            );
            assert_eq!(*config, alone.parse::<Config>().unwrap());
        }
    }

    #[test]
    fn a_unix_socket_is_not_encrypted_and_an_ip_address_is_a_name() {
        let mode = |url: &str| {
            let url: DatabaseUrl = url.parse().unwrap();
            let [config] = url.hosts() else { panic!("{url}") };
            (config.get_ssl_mode(), shown_hosts(config))
        };
        let socket = "postgres:///fleet?host=/run/pg&port=5433&sslmode=require";
        assert_eq!(mode(socket), (SslMode::Disable, "/run/pg:5433".into()));
        let address = "postgres:///fleet?hostaddr=127.0.0.1&port=5433";
        assert_eq!(mode(address), (SslMode::Prefer, "127.0.0.1:5433".into()));
        // The rest of a password, taken for a host, or for a host and a database.
        for bad in [
            "postgres://ann:s3@cret@db/fleet",
            "postgres://ann:s3@x/cret@db/fleet",
            "postgres://ann:s3@x?sslmode=verify-full&sslrootcert=cret@db/fleet",
            "postgres://ann:s3@x?host=/cret@db/fleet",
        ] {
            let told = bad.parse::<DatabaseUrl>().unwrap_err().to_string();
            assert!(told.contains("%40") && !told.contains("cret"), "{told}");
        }
        let encoded: DatabaseUrl = "postgres://ann:s3%40cret@db/fl%40et".parse().unwrap();
        assert_eq!(encoded.to_string(), "postgres://***@db:5432/fl@et");
    }

    #[test]
    fn faults_of_parameters_are_reported() {
        for (query, why) in [
            ("sslmod=require", "`sslmod` is no parameter"),
            ("s3cret%41=red", "something is no parameter"),
            ("load_balance_hosts=random", "target_session_attrs, tcp_user_timeout, user"),
            ("tcp_user_timeout=10s", "in milliseconds, must be a number"),
            ("keepalives_count=-1", "keepalives_count must be a number"),
            ("connect_timeout=soon", "unreadable"),
        ] {
            let told = format!("postgres://ann:s3cret@db/x?{query}").parse::<DatabaseUrl>();
            let told = told.unwrap_err().to_string();
            assert!(told.contains(why) && !told.contains("s3cret"), "{query}: {told}");
        }
    }

    #[test]
    fn encryption_is_asked_for_in_the_words_of_libpq() {
        let dir = tempfile::tempdir().unwrap();
        let empty = dir.path().join("no certificate");
        std::fs::write(&empty, "nothing").unwrap();
        let empty = empty.to_str().unwrap().replace(' ', "%20");
        let parse = |query: &str| {
            let url = format!("postgres://ann:s3cret@a,b/fleet?{query}").parse::<DatabaseUrl>();
            url.map(|url| url.hosts()[1].get_ssl_mode()).map_err(|why| why.to_string())
        };
        for (query, mode) in [
            ("", SslMode::Prefer),
            ("sslmode=prefer", SslMode::Prefer),
            ("sslmode=allow", SslMode::Prefer),
            ("connect_timeout=2&sslmode=disable&application_name=x", SslMode::Disable),
            ("sslmode=require", SslMode::Require),
        ] {
            assert_eq!(parse(query), Ok(mode), "{query}");
        }
        for (query, why) in [
            ("sslmode=on".to_owned(), "`verify-ca` or `verify-full`"),
            ("sslrootcert=/ca".into(), "does nothing with sslmode `prefer`"),
            ("sslmode=verify-full&sslrootcert=/no/such/file".into(), "sslrootcert /no/such/file: "),
            (format!("sslmode=verify-ca&sslrootcert={empty}"), "no certificate: it holds no"),
            ("sslmode=verify-ca".into(), "use sslmode `verify-full`"),
            ("sslmode=verify-ca&sslrootcert=system".into(), "use sslmode `verify-full`"),
            ("sslmode=require&sslrootcert=system".into(), "use sslmode `verify-full`"),
            ("sslcert=/c".into(), "needs sslkey"),
            ("sslkey=/k".into(), "needs sslcert"),
            ("sslcert=/c&sslkey=/no/such/key".into(), "sslkey /no/such/key: "),
            ("sslmode=disable&sslcert=/c&sslkey=/k".into(), "does nothing with sslmode `disable`"),
            ("sslrootcert=%ff".into(), "sslrootcert is not UTF-8"),
        ] {
            let told = parse(&query).unwrap_err();
            assert!(told.contains(why) && !told.contains("s3cret"), "{query}: {told}");
        }
    }

    #[test]
    fn a_host_must_take_writes_unless_the_address_says_that_any_will_do() {
        let attributes = |query: &str| {
            let url: DatabaseUrl = format!("postgres://a,b/fleet{query}").parse().unwrap();
            let mut all = url.hosts().iter().map(Config::get_target_session_attrs);
            let first = all.next().unwrap();
            assert!(all.all(|it| it == first));
            first
        };
        assert_eq!(attributes(""), TargetSessionAttrs::ReadWrite);
        assert_eq!(attributes("?target_session_attrs=read-write"), TargetSessionAttrs::ReadWrite);
        assert_eq!(attributes("?target_session_attrs=primary"), TargetSessionAttrs::ReadWrite);
        let any = "?connect_timeout=2&target_session_attrs=any";
        assert_eq!(attributes(any), TargetSessionAttrs::Any);
        let bad = "postgres://a/fleet?target_session_attrs=standby".parse::<DatabaseUrl>();
        assert!(bad.unwrap_err().to_string().contains("gatehouse writes"));
        let ports = "postgres://a:1,b:2,c/fleet?port=1,2".parse::<DatabaseUrl>();
        assert!(ports.unwrap_err().to_string().contains("as many ports"));
    }
}
