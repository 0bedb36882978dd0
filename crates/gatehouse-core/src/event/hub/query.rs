//! The query of a hub: which events it gets, and in which form.
//!
//! Written like a URL's query, such as `eventType=AccessStateChangeEvent&contractId=C-1&format=cloudevents`; other
//! characters of a contract's identifier are percent-encoded.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::event::EventType;
use crate::ids::{AccessId, ContractId};

/// Most events of a message.
pub const EVENTS_AT_ONCE_MAX: u64 = 1000;

/// Characters that are percent-encoded in a value.
const VALUE: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// Most characters of a query.
const CHARS_MAX: usize = 1024;

/// The form of a hub's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageFormat {
    /// The event as the API shows it.
    #[default]
    Tmf,
    /// A CloudEvent 1.0, whole in the body.
    CloudEvents,
    /// A CloudEvent 1.0 whose attributes are headers.
    CloudEventsBinary,
}

impl MessageFormat {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Tmf, Self::CloudEvents, Self::CloudEventsBinary];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tmf => "tmf",
            Self::CloudEvents => "cloudevents",
            Self::CloudEventsBinary => "cloudevents-binary",
        }
    }
}

/// Which events a hub gets, and in which form. A condition that is missing is met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubQuery {
    /// One of these types; none for any.
    pub types: Vec<EventType>,
    /// The event's access.
    pub access: Option<AccessId>,
    /// The contract of the event's access.
    pub contract: Option<ContractId>,
    /// The form of the messages.
    pub format: MessageFormat,
    /// Most events of one message, which is a list then; `None` for messages of one event.
    pub batch: Option<u64>,
}

/// Why a text is no query; continues after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHubQuery {
    /// Too long.
    #[error("must have at most {CHARS_MAX} characters, not {0}")]
    Length(usize),
    /// Not `name=value`.
    #[error("must be conditions such as `eventType=AccessStateChangeEvent`, with `&` between them")]
    Form,
    /// An unknown name.
    #[error("knows `eventType`, `accessId`, `contractId`, `format` and `batch`, not `{0}`")]
    Name(String),
    /// A name that comes twice.
    #[error("must have `{0}` once")]
    Twice(&'static str),
    /// A bad value.
    #[error("has a wrong `{0}`: it must be {1}")]
    Value(&'static str, String),
    /// A list in the headers of one event.
    #[error("can't have `batch` with `format=cloudevents-binary`, whose messages have one event")]
    BatchOfOne,
}

const NAMES: [&str; 5] = ["eventType", "accessId", "contractId", "format", "batch"];

impl FromStr for HubQuery {
    type Err = BadHubQuery;

    fn from_str(text: &str) -> Result<Self, BadHubQuery> {
        let n_chars = text.chars().count();
        if n_chars > CHARS_MAX {
            return Err(BadHubQuery::Length(n_chars));
        }
        let (mut query, mut seen) = (Self::default(), Vec::new());
        for condition in text.split('&').filter(|it| !it.is_empty()) {
            let (name, value) = condition.split_once('=').ok_or(BadHubQuery::Form)?;
            let known = NAMES.into_iter().find(|it| *it == name);
            let name = known
                .ok_or_else(|| BadHubQuery::Name(name.chars().take(64).collect::<String>()))?;
            if seen.contains(&name) {
                return Err(BadHubQuery::Twice(name));
            }
            seen.push(name);
            let value = percent_decode_str(value).decode_utf8().map_err(|_| BadHubQuery::Form)?;
            query.set(name, &value)?;
        }
        match (query.batch, query.format) {
            (Some(_), MessageFormat::CloudEventsBinary) => Err(BadHubQuery::BatchOfOne),
            _ => Ok(query),
        }
    }
}

impl HubQuery {
    fn set(&mut self, name: &'static str, value: &str) -> Result<(), BadHubQuery> {
        let bad = |expected: &str| BadHubQuery::Value(name, expected.to_owned());
        match name {
            "eventType" => {
                for word in value.split(',') {
                    let known = EventType::CHANGES.into_iter().find(|it| it.as_str() == word);
                    let all = || EventType::CHANGES.map(EventType::as_str).join(", ");
                    self.types.push(known.ok_or_else(|| bad(&format!("some of {}", all())))?);
                }
            }
            "accessId" => {
                let id = value.parse().map_err(|_| bad("the identifier of an access"))?;
                self.access = Some(id);
            }
            "contractId" => {
                let id = value.parse().map_err(|_| bad("the identifier of a contract"))?;
                self.contract = Some(id);
            }
            "format" => {
                let known = MessageFormat::ALL.into_iter().find(|it| it.as_str() == value);
                let all = || MessageFormat::ALL.map(MessageFormat::as_str).join(", ");
                self.format = known.ok_or_else(|| bad(&format!("one of {}", all())))?;
            }
            _ => {
                let n = value.parse().ok().filter(|n| (1..=EVENTS_AT_ONCE_MAX).contains(n));
                let expected = format!("1 to {EVENTS_AT_ONCE_MAX}");
                self.batch = Some(n.ok_or_else(|| bad(&expected))?);
            }
        }
        Ok(())
    }
}

impl fmt::Display for HubQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types: Vec<&str> = self.types.iter().map(|it| it.as_str()).collect();
        let conditions = [
            (!types.is_empty()).then(|| format!("eventType={}", types.join(","))),
            self.access.map(|id| format!("accessId={id}")),
            self.contract
                .as_ref()
                .map(|id| format!("contractId={}", utf8_percent_encode(id.as_str(), VALUE))),
            (self.format != MessageFormat::Tmf).then(|| format!("format={}", self.format.as_str())),
            self.batch.map(|n| format!("batch={n}")),
        ];
        let conditions: Vec<String> = conditions.into_iter().flatten().collect();
        f.write_str(&conditions.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_as_it_is_shown() {
        for text in [
            "",
            "contractId=C%201%26%3D%25",
            "eventType=AccessCreateEvent,AccessStateChangeEvent",
            "contractId=C-1&format=cloudevents&batch=1000",
            "accessId=01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000&format=cloudevents-binary",
        ] {
            let query: HubQuery = text.parse().unwrap();
            assert_eq!(query.to_string(), text);
        }
        assert_eq!("&batch=1&".parse::<HubQuery>().map(|it| it.batch), Ok(Some(1)));
        assert_eq!("format=tmf".parse::<HubQuery>(), Ok(HubQuery::default()));
    }

    #[test]
    fn a_bad_query_is_told_what_would_be_right() {
        for (text, expected) in [
            ("eventType", "conditions such as"),
            ("type=x", "`contractId`"),
            ("eventType=x", "AccessStateChangeEvent"),
            ("eventType=TenantCreateEvent", "AccessStateChangeEvent"),
            ("batch=0", "1 to 1000"),
            ("batch=1001", "1 to 1000"),
            ("batch=1&batch=2", "once"),
            ("format=xml", "cloudevents-binary"),
            ("format=cloudevents-binary&batch=2", "one event"),
            ("accessId=7", "identifier of an access"),
        ] {
            let why = text.parse::<HubQuery>().unwrap_err().to_string();
            assert!(why.contains(expected), "{text}: {why}");
        }
        let long = format!("contractId={}", "a".repeat(CHARS_MAX));
        assert!(matches!(long.parse::<HubQuery>(), Err(BadHubQuery::Length(_))));
    }
}
