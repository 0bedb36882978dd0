//! The schemas of accounts at external platforms.

use gatehouse_connectors::LATENCY_ANSWERS;
use gatehouse_core::ids::{CONNECTOR_CHARS_MAX, PLATFORM_CHARS_MAX};
use serde_json::{Value, json};

use super::{described, name, object, reference};
use crate::estate::{
    CREDENTIAL_BYTES_MAX, CREDENTIAL_NAME_CHARS_MAX, CREDENTIALS_MAX, SETTINGS_BYTES_MAX,
};
use crate::http::api::account::HEALTH_WORDS;

pub(super) fn accounts() -> Value {
    let platform = || {
        json!({
            "type": "string", "maxLength": PLATFORM_CHARS_MAX, "pattern": "^[A-Z0-9][A-Z0-9_]*$",
            "description": "The platform that it is on, by its canonical name",
        })
    };
    let platform_account = || described(name(), "What the platform calls it");
    let set_up = || {
        json!({
            "name": described(name(), "Its name, unique in the tenant"),
            "platform": platform(),
            "connector": {
                "type": "string", "maxLength": CONNECTOR_CHARS_MAX, "pattern": "^[a-z0-9][a-z0-9_-]*$",
                "description": "What speaks to the platform",
            },
            "platformAccount": platform_account(),
            "settings": {
                "type": "object", "additionalProperties": reference("Setting"),
                "description": format!(
                    "How the platform is reached: what the connector asks for. At most \
                     {SETTINGS_BYTES_MAX} bytes as JSON."
                ),
            },
            "hasCredentials": {
                "type": "boolean", "description": "Whether it has credentials, which are never shown",
            },
        })
    };
    let required = ["platform", "connector", "platformAccount", "settings"];
    let shown = [&["name", "hasCredentials"], &required[..]].concat();
    let mut new = set_up();
    new["name"] = described(name(), "May be left out; else as in the path");
    new["hasCredentials"]["description"] = "As it is shown; may stand here and says nothing".into();
    new["credentials"] = json!({
        "type": "object", "maxProperties": CREDENTIALS_MAX,
        "propertyNames": {"minLength": 1, "maxLength": CREDENTIAL_NAME_CHARS_MAX},
        "additionalProperties": {
            "type": "string", "minLength": 1, "maxLength": CREDENTIAL_BYTES_MAX,
            "description": format!("A secret, of at most {CREDENTIAL_BYTES_MAX} bytes in UTF-8"),
        },
        "description": "What it proves itself with, by name: sealed, and never shown. Left out: what it has \
            already. Empty: none.",
    });
    let mut changed = set_up();
    changed["changed"] = json!({
        "type": "array", "items": {"type": "string"},
        "description": "The fields that are different now, credentials among them",
    });
    json!({
        "Setting": {
            "description": "A setting: anything but null",
            "anyOf": [
                {"type": "string"}, {"type": "number"}, {"type": "boolean"},
                {"type": "array", "items": reference("Setting")},
                {"type": "object", "additionalProperties": reference("Setting")},
            ],
        },
        "NewAccount": described(
            object(&required, new),
            "An account exactly as it is to be; credentials that are left out are kept",
        ),
        "AdminAccount":
            described(object(&shown, set_up()), "An account as it was set up, without credentials"),
        "ChangedAccount": described(
            object(&[&shown[..], &["changed"]].concat(), changed),
            "An account that was there, and what is different now",
        ),
        "Account": described(object(&["name", "platform", "platformAccount", "health"], json!({
            "name": described(name(), "Its name, unique in the tenant"),
            "platform": platform(),
            "platformAccount": platform_account(),
            "health": {
                "type": "string", "enum": HEALTH_WORDS,
                "description": "What its last calls showed, as far as this server has made any",
            },
            "latencyMilliseconds": {
                "type": "integer", "minimum": 1,
                "description": format!(
                    "How long its platform takes to answer, as far as this server has asked it: the median of its \
                     last {LATENCY_ANSWERS} answers, in whole milliseconds, rounded up. A call that was not answered in \
                     time counts with the time that it was waited for, where that was enough to tell; what failed \
                     otherwise doesn't count. Missing as long as nothing is known, also after a restart or when the \
                     account was changed."
                ),
            },
        })), "An account as its tenant sees it"),
    })
}
