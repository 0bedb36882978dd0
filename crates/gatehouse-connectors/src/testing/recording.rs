//! Recordings: calls to a platform, and the products that a manifest made of the responses.
//!
//! A recording is a file to read, compare and share. `cleaning.rs` removes secrets and everything that the manifest
//! doesn't read, and `disguise.rs` replaces the numbers of real SIM cards. `recorder.rs` makes a recording, and
//! `replay.rs` repeats its requests against the recorded responses.

mod cleaning;
mod disguise;
pub(super) mod recorder;

use std::path::Path;

use gatehouse_core::product::Property;
use gatehouse_core::{Connection, IdentifierKind};
use http::{HeaderMap, HeaderName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::account_settings::Settings;
use crate::connector::{CallKind, LookUpKey};
use crate::manifests::shipped_recording;

pub use self::recorder::{RecordOptions, record};
pub(crate) use self::recorder::{miss, value_of};

const VERSION: u32 = 1;

/// A recording of a platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// Version of the format: 1.
    recording: u32,
    pub(crate) connector: String,
    /// Settings of the account, except addresses.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub(crate) settings: Settings,
    /// Requests in order.
    pub(crate) conversation: Vec<RecordedStep>,
}

/// A request to the engine, its calls, and its products.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedStep {
    pub(crate) asked: RecordedRequest,
    pub(crate) exchanges: Vec<RecordedCall>,
    pub(crate) products: Vec<RecordedProduct>,
}

/// A request to the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecordedRequest {
    /// A number of the platform's largest pages, from the first.
    Pages(u32),
    /// A look-up by the platform's id.
    Id(String),
    Iccid(String),
    Imsi(String),
    Msisdn(String),
    SerialNumber(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedCall {
    pub(crate) kind: CallKind,
    /// Method and target, relative to the base URL or a setting that is a URL.
    pub(crate) request: String,
    /// Body of the request, except for log-ins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sent: Option<Value>,
    pub(crate) status: u16,
    /// Headers that the manifest reads.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub(crate) headers: serde_json::Map<String, Value>,
    /// Body as JSON; a text if it was not JSON.
    #[serde(default)]
    pub(crate) body: Value,
}

/// A product as the manifest mapped it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedProduct {
    pub(crate) id: String,
    pub(crate) status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) platform_status: Option<String>,
    pub(crate) connectivity: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) iccid: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) imsi: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) msisdn: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) serial_number: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) imei: Vec<String>,
    /// `name=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) properties: Vec<String>,
}

impl Recording {
    /// Parses a recording; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let recording: Self = serde_json::from_str(text)
            .map_err(|error| format!("{file}: is not a recording that can be read: {error}"))?;
        if recording.recording != VERSION {
            let n = recording.recording;
            return Err(format!("{file}: `recording` must be {VERSION}, not {n}"));
        }
        Ok(recording)
    }

    /// Reads a recording from a file.
    pub fn load(path: &Path) -> Result<Self, String> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|cause| format!("{file}: {cause}"))?;
        Self::parse(&file, &text)
    }

    /// The recording of a shipped manifest.
    pub fn shipped(connector: &str) -> Option<Self> {
        let text = shipped_recording(connector)?;
        Some(Self::parse(connector, text).expect("a test reads every shipped recording"))
    }

    /// Name of the connector.
    pub fn connector(&self) -> &str {
        &self.connector
    }

    /// Number of calls.
    pub fn n_exchanges(&self) -> usize {
        self.conversation.iter().map(|it| it.exchanges.len()).sum()
    }

    /// The recording as text of a file.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    pub(crate) fn exchanges(&self) -> impl Iterator<Item = &RecordedCall> {
        self.conversation.iter().flat_map(|it| &it.exchanges)
    }
}

impl RecordedCall {
    pub(crate) fn header_map(&self) -> HeaderMap {
        let read = |(name, value): (&String, &Value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, value.as_str()?.parse().ok()?))
        };
        self.headers.iter().filter_map(read).collect()
    }
}

impl RecordedRequest {
    /// Key and value of a look-up.
    pub(crate) fn look_up(&self) -> Option<(LookUpKey, &str)> {
        Some(match self {
            Self::Pages(_) => return None,
            Self::Id(value) => (LookUpKey::Id, value),
            Self::Iccid(value) => (LookUpKey::Number(IdentifierKind::Iccid), value),
            Self::Imsi(value) => (LookUpKey::Number(IdentifierKind::Imsi), value),
            Self::Msisdn(value) => (LookUpKey::Number(IdentifierKind::Msisdn), value),
            Self::SerialNumber(value) => (LookUpKey::Number(IdentifierKind::SerialNumber), value),
        })
    }

    /// A look-up by a key.
    pub(crate) fn of(by: LookUpKey, value: String) -> Self {
        match by {
            LookUpKey::Id => Self::Id(value),
            LookUpKey::Number(IdentifierKind::Iccid) => Self::Iccid(value),
            LookUpKey::Number(IdentifierKind::Imsi) => Self::Imsi(value),
            LookUpKey::Number(IdentifierKind::Msisdn) => Self::Msisdn(value),
            LookUpKey::Number(IdentifierKind::SerialNumber) => Self::SerialNumber(value),
        }
    }
}

impl From<&Connection> for RecordedProduct {
    fn from(connection: &Connection) -> Self {
        let numbers = |kind: IdentifierKind| {
            let carried = connection.identifiers.iter().filter(|(it, _)| *it == kind);
            carried.map(|(_, number)| number.to_string()).collect()
        };
        let property = |Property { name, value }: &Property| format!("{name}={value}");
        Self {
            id: connection.local_id.to_string(),
            status: connection.status.to_string(),
            platform_status: connection.platform_status.as_ref().map(ToString::to_string),
            connectivity: connection.connectivity.as_str().to_owned(),
            iccid: numbers(IdentifierKind::Iccid),
            imsi: numbers(IdentifierKind::Imsi),
            msisdn: numbers(IdentifierKind::Msisdn),
            serial_number: numbers(IdentifierKind::SerialNumber),
            imei: connection.imeis.iter().map(ToString::to_string).collect(),
            properties: connection.properties.iter().map(property).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
