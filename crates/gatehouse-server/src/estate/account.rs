//! What an account says, in a file or in a body.

use gatehouse_connectors::Settings;
use gatehouse_core::account::Credentials;
use gatehouse_core::{Account, AccountName, ConnectorName, PlatformAccount, PlatformName};
use serde_json::Value;

use crate::app::account::AccountInput;
use crate::reader::{Json, Reader, parsed, shortened};

/// Most bytes of an account's settings, as JSON.
pub const SETTINGS_BYTES_MAX: usize = 16 * 1024;

/// Most credentials of an account.
pub const CREDENTIALS_MAX: usize = 32;

/// Most characters in the name of a credential.
pub const CREDENTIAL_NAME_CHARS_MAX: usize = 64;

/// Most bytes of a credential.
pub const CREDENTIAL_BYTES_MAX: usize = 8 * 1024;

/// Reads what an account says beside its name. `None` comes with faults.
pub fn read_account(mut reader: Reader<'_>, name: Option<&AccountName>) -> Option<AccountInput> {
    let platform = reader.required("platform", parsed::<PlatformName>);
    let connector = reader.required("connector", parsed::<ConnectorName>);
    let platform_account = reader.required("platformAccount", parsed::<PlatformAccount>);
    let settings = reader.required("settings", settings);
    let mut faults = Vec::new();
    let credentials = reader.optional("credentials", |json| credentials(json, &mut faults));
    for (name, reason) in faults {
        reader.fault(&name, reason);
    }
    reader.finish();
    let account = Account {
        platform: platform.into_known()?,
        name: name?.clone(),
        connector: connector.into_known()?,
        platform_account: platform_account.into_known()?,
    };
    Some(AccountInput { account, settings: settings.into_known()?, credentials })
}

/// Settings: an object of whatever the connector asks for.
fn settings(json: Json) -> Result<Settings, String> {
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

/// Credentials: texts by name. No value is ever repeated.
fn credentials(json: Json, faults: &mut Vec<(String, String)>) -> Result<Credentials, String> {
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
            faults.push(("credentials".into(), reason));
            continue;
        }
        let mut fault = |reason: String| faults.push((format!("credentials.{name}"), reason));
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
