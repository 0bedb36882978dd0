//! The fields of an account at an external platform.

use gatehouse_connectors::{Health, LATENCY_ANSWERS, Settings};
use gatehouse_core::account::Credentials;
use gatehouse_core::ids::{CONNECTOR_CHARS_MAX, PLATFORM_CHARS_MAX};
use gatehouse_core::{Account, AccountName, ConnectorName, PlatformAccount, PlatformName};
use serde_json::{Value, json};

use super::shape::{name, one_of, reference, texts};
use super::{Body, Object, Schema, may, must};
use crate::reader::{Direction, Field, Flag, Form, Json, Readable, Shape, Text, shortened};

/// Most bytes of an account's settings, as JSON.
const SETTINGS_BYTES_MAX: usize = 16 * 1024;

/// Most credentials of an account.
const CREDENTIALS_MAX: usize = 32;

/// Most characters in the name of a credential.
const CREDENTIAL_NAME_CHARS_MAX: usize = 64;

/// Most bytes of a credential.
const CREDENTIAL_BYTES_MAX: usize = 8 * 1024;

pub(crate) const NAME: Field<Text<AccountName>> =
    Field::new("name", Text::new(name), "The account's name, unique in the tenant")
        .example("acme-eu");

pub(crate) const PLATFORM: Field<Text<PlatformName>> =
    Field::new("platform", Text::new(platform), "The canonical name of the account's platform")
        .example("ALPHA");

pub(crate) const CONNECTOR: Field<Text<ConnectorName>> =
    Field::new("connector", Text::new(connector), "The connector for the platform")
        .example("simulator");

pub(crate) const PLATFORM_ACCOUNT: Field<Text<PlatformAccount>> =
    Field::new("platformAccount", Text::new(name), "The account's identifier at the platform")
        .example("100234");

pub(crate) const SETTINGS: Field<SettingsForm> =
    Field::new("settings", SettingsForm, "The connector's settings: how it reaches the platform.")
        .example_of(|| json!({"baseUrl": "http://127.0.0.1:9700"}));

pub(crate) const CREDENTIALS: Field<Shape> = Field::new(
    "credentials",
    Shape(credentials),
    "Secrets for the platform, by name; stored encrypted, and never shown. Left out: unchanged. Empty: none.",
)
.example_of(|| json!({"token": "PJ3zrEkDg8tX"}));

pub(crate) const HAS_CREDENTIALS: Field<Flag> = Field::new(
    "hasCredentials",
    Flag,
    "Whether the account has credentials, which are never shown",
)
.example_of(|| true.into());

pub(crate) const CHANGED: Field<Shape> =
    Field::new("changed", Shape(texts), "The changed fields, `credentials` included")
        .example_of(|| json!(["settings", "credentials"]));

pub(crate) const HEALTH: Field<Shape> = Field::new(
    "health",
    Shape(|| one_of(&HEALTH_NAMES)),
    "The account's health, as far as this server's last calls show it",
)
.example("UP");

pub(crate) const LATENCY: Field<LatencyForm> =
    Field::new("latencyMilliseconds", LatencyForm, "The platform's response time")
        .example_of(|| 84.into());

const HEALTH_NAMES: [&str; 3] = ["UP", "DOWN", "UNKNOWN"];

/// The name of a health in responses.
pub(crate) fn health_name(health: Health) -> &'static str {
    let [up, down, unknown] = HEALTH_NAMES;
    match health {
        Health::Up => up,
        Health::Down => down,
        Health::Unknown => unknown,
    }
}

fn platform() -> Value {
    json!({"type": "string", "maxLength": PLATFORM_CHARS_MAX, "pattern": "^[A-Z0-9][A-Z0-9_]*$"})
}

fn connector() -> Value {
    json!({"type": "string", "maxLength": CONNECTOR_CHARS_MAX, "pattern": "^[a-z0-9][a-z0-9_-]*$"})
}

/// The median latency of an account's last calls.
#[derive(Clone, Copy)]
pub(crate) struct LatencyForm;

impl Form for LatencyForm {
    fn schema(self, _: Direction) -> Value {
        json!({"type": "integer", "minimum": 1})
    }

    fn describe(self, description: &str) -> String {
        format!(
            "{description}, as measured by this server: the median of the last {LATENCY_ANSWERS} answers, in whole \
             milliseconds, rounded up. A call without an answer in time counts with the time that the server waited, \
             if that was long enough to be meaningful; calls that failed otherwise don't count. Left out while there \
             are no measurements, also after a restart or a change of the account."
        )
    }
}

/// The connector's settings: any values except null.
#[derive(Clone, Copy)]
pub(crate) struct SettingsForm;

impl Form for SettingsForm {
    fn schema(self, _: Direction) -> Value {
        json!({"type": "object", "additionalProperties": reference("Setting")})
    }

    fn describe(self, description: &str) -> String {
        format!("{description} At most {SETTINGS_BYTES_MAX} bytes as JSON.")
    }
}

impl Readable for SettingsForm {
    type Value = Settings;

    fn read(self, json: Json) -> Result<Settings, String> {
        let Json::Object(fields) = json else {
            return Err(format!("must be an object, not {}", json.kind()));
        };
        let settings = plain_object(fields)?;
        let n_bytes = serde_json::to_string(&settings).map_or(usize::MAX, |text| text.len());
        if n_bytes > SETTINGS_BYTES_MAX {
            let max = SETTINGS_BYTES_MAX;
            return Err(format!("must have at most {max} bytes as JSON, not {n_bytes}"));
        }
        Ok(settings)
    }
}

fn plain_object(fields: Vec<(String, Json)>) -> Result<Settings, String> {
    let mut object = Settings::new();
    for (name, json) in fields {
        let value = plain(json).map_err(|why| format!("{why}, in `{}`", shortened(&name)))?;
        if object.insert(name.clone(), value).is_some() {
            return Err(format!("must hold `{}` once", shortened(&name)));
        }
    }
    Ok(object)
}

fn plain(json: Json) -> Result<Value, String> {
    Ok(match json {
        Json::Null => return Err("must not hold null".into()),
        Json::Bool(value) => value.into(),
        Json::Number(value) => value.into(),
        Json::Text(value) => value.into(),
        Json::List(items) => items.into_iter().map(plain).collect::<Result<Vec<_>, _>>()?.into(),
        Json::Object(fields) => plain_object(fields)?.into(),
    })
}

fn credentials() -> Value {
    json!({
        "type": "object", "maxProperties": CREDENTIALS_MAX,
        "propertyNames": {"minLength": 1, "maxLength": CREDENTIAL_NAME_CHARS_MAX},
        "additionalProperties": {
            "type": "string", "minLength": 1, "maxLength": CREDENTIAL_BYTES_MAX,
            "description": format!("A secret, of at most {CREDENTIAL_BYTES_MAX} bytes in UTF-8"),
        },
    })
}

/// Reads credentials; a fault names its credential, and never repeats a value.
pub(crate) fn read_credentials(
    json: Json,
    faults: &mut Vec<(String, String)>,
) -> Result<Credentials, String> {
    let Json::Object(fields) = json else {
        return Err(format!("must be an object, not {}", json.kind()));
    };
    if fields.len() > CREDENTIALS_MAX {
        let n = fields.len();
        return Err(format!("must hold at most {CREDENTIALS_MAX} credentials, not {n}"));
    }
    let mut credentials = Credentials::default();
    for (name, json) in fields {
        let n_chars = name.chars().count();
        if !(1..=CREDENTIAL_NAME_CHARS_MAX).contains(&n_chars) {
            let max = CREDENTIAL_NAME_CHARS_MAX;
            let reason = format!("must hold names of 1 to {max} characters, not {n_chars}");
            faults.push((CREDENTIALS.name.into(), reason));
            continue;
        }
        let mut fault = |reason| faults.push((format!("{}.{name}", CREDENTIALS.name), reason));
        if credentials.reveal(&name).is_some() {
            fault("is there more than once".into());
            continue;
        }
        match json {
            Json::Text(secret) if (1..=CREDENTIAL_BYTES_MAX).contains(&secret.len()) => {
                credentials.insert(name, secret);
            }
            Json::Text(secret) => {
                let (max, n_bytes) = (CREDENTIAL_BYTES_MAX, secret.len());
                fault(format!("must have 1 to {max} bytes of UTF-8, not {n_bytes}"));
            }
            other => fault(format!("must be a string, not {}", other.kind())),
        }
    }
    Ok(credentials)
}

/// An account in the form of a PUT body, without its credentials.
pub fn account_body(account: &Account, settings: &Settings) -> Body {
    Body::default()
        .put(NAME, account.name.as_str())
        .put(PLATFORM, account.platform.as_str())
        .put(CONNECTOR, account.connector.as_str())
        .put(PLATFORM_ACCOUNT, account.platform_account.as_str())
        .put(SETTINGS, settings)
}

/// The body of a PUT.
pub(crate) fn new_account() -> Object {
    Object::request(
        "NewAccount",
        "The complete account; credentials that are left out stay as they are",
        [
            may(NAME.described("Optional; must match the path")),
            must(PLATFORM),
            must(CONNECTOR),
            must(PLATFORM_ACCOUNT),
            must(SETTINGS),
            may(HAS_CREDENTIALS.described("Ignored, so that a response can be sent back unchanged")),
            may(CREDENTIALS).in_example(),
        ],
    )
}

fn shown(schema: &'static str, description: &'static str) -> Object {
    let set_up = [must(NAME), must(PLATFORM), must(CONNECTOR), must(PLATFORM_ACCOUNT)];
    Object::response(schema, description, set_up).and([must(SETTINGS), must(HAS_CREDENTIALS)])
}

/// The schemas of accounts.
pub(crate) fn schemas() -> Vec<Schema> {
    let setting = json!({
        "description": "A setting: any value except null",
        "anyOf": [
            {"type": "string"}, {"type": "number"}, {"type": "boolean"},
            {"type": "array", "items": reference("Setting")},
            {"type": "object", "additionalProperties": reference("Setting")},
        ],
    });
    vec![
        Schema::new("Setting", setting),
        new_account().into(),
        shown("AdminAccount", "An account as configured, without credentials").into(),
        shown("ChangedAccount", "A replaced account, and its changed fields")
            .and([must(CHANGED)])
            .into(),
        Object::response(
            "Account",
            "An account as its tenant sees it",
            [must(NAME), must(PLATFORM), must(PLATFORM_ACCOUNT), must(HEALTH), may(LATENCY)],
        )
        .into(),
    ]
}
