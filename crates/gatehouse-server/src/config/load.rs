//! Merging the layers of settings: defaults, file, environment, flags.

use std::net::SocketAddr;
use std::path::Path;

use gatehouse_vault::MasterKeys;
use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

use super::Config;

/// Type of a setting's value; decides how its variable is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number.
    Number,
    /// `true` or `false`.
    Flag,
    /// A list in TOML syntax.
    List,
    /// Texts separated by commas.
    Texts,
}

/// Every setting.
pub const SETTINGS: &[(&str, Kind)] = &[
    ("listen", Kind::Text),
    ("operator_listen", Kind::Text),
    ("public_url", Kind::Text),
    ("base_path", Kind::Text),
    ("data_dir", Kind::Text),
    ("database_url", Kind::Text),
    ("master_key_file", Kind::Text),
    ("core_dumps", Kind::Flag),
    ("tls.certificate", Kind::Text),
    ("tls.key", Kind::Text),
    ("auth.audience", Kind::Text),
    ("auth.token_lifetime", Kind::Text),
    ("auth.issuers", Kind::List),
    ("limits.page_size_max", Kind::Number),
    ("limits.requests_per_second", Kind::Number),
    ("limits.failed_checks", Kind::Number),
    ("limits.batch_items", Kind::Number),
    ("limits.body_bytes", Kind::Number),
    ("limits.connections", Kind::Number),
    ("limits.concurrent_requests", Kind::Number),
    ("limits.header_timeout", Kind::Text),
    ("limits.body_timeout", Kind::Text),
    ("limits.idle_timeout", Kind::Text),
    ("tasks.workers", Kind::Number),
    ("tasks.password_retention", Kind::Text),
    ("tasks.retention", Kind::Text),
    ("events.retention", Kind::Text),
    ("events.audit_retention", Kind::Text),
    ("events.streams", Kind::Number),
    ("events.streams_of_tenant", Kind::Number),
    ("events.deliver", Kind::Flag),
    ("events.callback_networks", Kind::Texts),
    ("events.callback_retry_for", Kind::Text),
    ("events.callback_timeout", Kind::Text),
    ("events.nats.servers", Kind::Texts),
    ("events.nats.credentials", Kind::Text),
    ("events.nats.user", Kind::Text),
    ("events.nats.password_file", Kind::Text),
    ("events.nats.token_file", Kind::Text),
    ("events.nats.authorities", Kind::Text),
    ("events.nats.certificate", Kind::Text),
    ("events.nats.key", Kind::Text),
    ("platforms.deadline", Kind::Text),
    ("platforms.allow_insecure_urls", Kind::Flag),
    ("platforms.allowed_networks", Kind::Texts),
    ("platforms.page_number_max", Kind::Number),
    ("platforms.connectors_dir", Kind::Text),
    ("store.check_interval", Kind::Text),
    ("backup.to", Kind::Text),
    ("backup.every", Kind::Text),
    ("backup.keep", Kind::Number),
    ("log.format", Kind::Text),
    ("log.level", Kind::Text),
    ("traces.endpoint", Kind::Text),
    ("traces.sample_percent", Kind::Number),
];

const PREFIX: &str = "GATEHOUSE_";

/// Variable with the master key.
const MASTER_KEY: &str = "GATEHOUSE_MASTER_KEY";

/// Variables of the client commands.
const CLI_VARIABLES: [&str; 5] = [
    "GATEHOUSE_URL",
    "GATEHOUSE_TOKEN",
    "GATEHOUSE_TENANT",
    "GATEHOUSE_PROFILE",
    "GATEHOUSE_OUTPUT",
];

/// Why the settings can't be used: names the setting and the expected value.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadConfig(String);

impl Config {
    /// Merges file, environment and flags, which are pairs of a setting's name and its value.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
        flags: &[(&str, String)],
    ) -> Result<Self, BadConfig> {
        let mut table = match file {
            Some(path) => read_file(path)?,
            None => Table::new(),
        };
        let mut master_key = None;
        for (variable, value) in environment {
            if variable == MASTER_KEY {
                let key = MasterKeys::parse(&value);
                master_key = Some(key.map_err(|bad| BadConfig(format!("{MASTER_KEY}: {bad}")))?);
            } else if variable.starts_with(PREFIX) && !CLI_VARIABLES.contains(&variable.as_str()) {
                let (name, kind) = setting_of(&variable)?;
                set(&mut table, name, read_value(&variable, kind, &value)?);
                // Checked one by one, so that an error names its variable.
                check(&table).map_err(|why| BadConfig(format!("{variable}: {why}")))?;
            }
        }
        for (name, value) in flags {
            let kind = SETTINGS.iter().find(|(known, _)| known == name).map(|(_, kind)| *kind);
            set(&mut table, name, read_value(name, kind.unwrap_or(Kind::Text), value)?);
            let flag = name.replace('_', "-");
            check(&table).map_err(|why| BadConfig(format!("--{flag}: {why}")))?;
        }
        let mut config = check(&table).map_err(BadConfig)?;
        config.check_whole().map_err(BadConfig)?;
        if master_key.is_some() && config.master_key_file.is_some() {
            let why = "give the master key once: in master_key_file or in the variable";
            return Err(BadConfig(format!("{why} {MASTER_KEY}, not both")));
        }
        config.master_key = master_key;
        Ok(config)
    }
}

#[cfg(any(test, fuzzing))]
impl Config {
    /// Parses the text of a settings file alone.
    pub(crate) fn read(shown: &str, text: &str) -> Result<Self, BadConfig> {
        let bad = |why: String| BadConfig(format!("{shown}: {why}"));
        let config = check(&read_text(shown, text)?).map_err(bad)?;
        config.check_whole().map_err(bad)?;
        Ok(config)
    }
}

fn read_file(path: &Path) -> Result<Table, BadConfig> {
    let shown = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => read_text(&shown, &text),
        Err(cause) => Err(BadConfig(format!("{shown}: {cause}"))),
    }
}

/// Parses a settings file; `shown` is its name in errors.
fn read_text(shown: &str, text: &str) -> Result<Table, BadConfig> {
    let bad = |why: String| BadConfig(format!("{shown}: {why}"));
    // From the text, because only that error knows the line. Shows its number: the line may hold a password.
    let located = |error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start).min(text.len());
        let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        let setting = setting_at(text, line).map(|name| format!(", {name}")).unwrap_or_default();
        let what = error.message().trim().replace("u64", "a whole number");
        bad(format!("line {line}{setting}: {what}"))
    };
    let config: Config = toml::from_str(text).map_err(located)?;
    config.check().map_err(bad)?;
    toml::from_str(text).map_err(located)
}

/// The setting on a line of a file, with its section.
fn setting_at(text: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let (name, _) = lines.last()?.split_once('=')?;
    let name = name.trim();
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
    if name.is_empty() || !is_name {
        return None;
    }
    let section = lines.iter().rev().find_map(|line| line.trim().strip_prefix('['));
    let section = section.map(|it| it.trim_matches(['[', ']']).trim()).unwrap_or_default();
    Some(if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") })
}

/// The setting of a variable: `GATEHOUSE_LIMITS__BODY_BYTES` is `limits.body_bytes`.
fn setting_of(variable: &str) -> Result<(&'static str, Kind), BadConfig> {
    SETTINGS.iter().copied().find(|(known, _)| variable_of(known) == variable).ok_or_else(|| {
        let known: Vec<String> = SETTINGS.iter().map(|(name, _)| variable_of(name)).collect();
        let known = known.join(", ");
        BadConfig(format!("{variable} sets nothing; the variables are {known} and {MASTER_KEY}"))
    })
}

/// The variable of a setting.
pub(super) fn variable_of(setting: &str) -> String {
    format!("{PREFIX}{}", setting.replace('.', "__").to_ascii_uppercase())
}

fn read_value(shown: &str, kind: Kind, text: &str) -> Result<Value, BadConfig> {
    match kind {
        Kind::Text => Ok(Value::String(text.to_owned())),
        Kind::Number => text
            .trim()
            .parse()
            .map(Value::Integer)
            .map_err(|_| BadConfig(format!("{shown} must be a whole number, not `{text}`"))),
        Kind::Flag => text
            .trim()
            .parse()
            .map(Value::Boolean)
            .map_err(|_| BadConfig(format!("{shown} must be `true` or `false`, not `{text}`"))),
        Kind::Texts => {
            let texts = text.split(',').map(str::trim).filter(|it| !it.is_empty());
            Ok(Value::Array(texts.map(|it| Value::String(it.to_owned())).collect()))
        }
        Kind::List => {
            let list = toml::from_str::<Table>(&format!("list = {text}")).ok();
            let list = list.filter(|table| table.len() == 1);
            let list = list.and_then(|mut table| table.remove("list")).filter(Value::is_array);
            list.ok_or_else(|| {
                let example = r#"[{ issuer = "https://id.example", audience = "fleet" }]"#;
                BadConfig(format!("{shown} must be a list such as `{example}`, not `{text}`"))
            })
        }
    }
}

fn set(table: &mut Table, name: &str, value: Value) {
    match name.split_once('.') {
        None => {
            table.insert(name.to_owned(), value);
        }
        Some((section, rest)) => {
            let section =
                table.entry(section.to_owned()).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(section) = section {
                set(section, rest, value);
            }
        }
    }
}

fn check(table: &Table) -> Result<Config, String> {
    let config: Config = table.clone().try_into().map_err(|error: toml::de::Error| {
        // The error's full form refers to a file position.
        error.message().trim().to_owned()
    })?;
    config.check()
}

/// Parses the API's listening address.
pub(super) fn socket_address<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<SocketAddr, D::Error> {
    read_address("listen", deserializer)
}

/// Parses the operators' listening address.
pub(super) fn operator_address<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    read_address("operator_listen", deserializer).map(Some)
}

fn read_address<'de, D: Deserializer<'de>>(
    setting: &str,
    deserializer: D,
) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| {
        let expected = "must be an IP address and a port such as `127.0.0.1:8080`";
        serde::de::Error::custom(format!("{setting} {expected}, not `{text}`"))
    })
}

/// The database URL, serialised without its password.
pub(super) mod database_url {
    use gatehouse_store::DatabaseUrl;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<DatabaseUrl>, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Some).map_err(serde::de::Error::custom)
    }

    pub(in crate::config) fn serialize<S: Serializer>(
        url: &Option<DatabaseUrl>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match url {
            Some(url) => serializer.collect_str(url),
            None => serializer.serialize_none(),
        }
    }
}
