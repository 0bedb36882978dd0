//! A message to a subscriber: its body in the form that the hub asks for, and its headers.

use bytes::Bytes;
use gatehouse_core::event::EventType;
use gatehouse_core::hub::MessageFormat;
use gatehouse_core::{Hub, TenantName, Timestamp};
use gatehouse_store::{Event, EventSubject};
use gatehouse_vault::WebhookSecret;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::{Value, json};

use crate::fields::hub::hub_body;
use crate::http::event_json;

const JSON: &str = "application/json";
const CLOUD_EVENT: &str = "application/cloudevents+json; charset=utf-8";
const CLOUD_EVENT_BATCH: &str = "application/cloudevents-batch+json; charset=utf-8";

/// Bytes above which a message gets no further event.
const BYTES_MAX: usize = 1 << 20;

/// A message that can be sent, and sent again.
#[derive(Clone)]
pub(super) struct Message {
    id: String,
    media_type: &'static str,
    /// Headers of its form.
    headers: Vec<(&'static str, String)>,
    pub(super) body: Bytes,
    /// Number of its events.
    pub(super) n_events: usize,
}

/// The attributes of a CloudEvent: all but its data.
struct Attributes {
    id: String,
    source: String,
    event_type: &'static str,
    subject: Option<String>,
    time: String,
}

impl Attributes {
    fn of(tenant: &TenantName, event: &Event) -> Self {
        let subject = match &event.subject {
            EventSubject::Access { access, .. } => Some(access.id.to_string()),
            EventSubject::Task(task) => Some(task.id.to_string()),
            _ => None,
        };
        Self {
            id: event.id.to_string(),
            source: format!("/{tenant}"),
            event_type: event.event_type.as_str(),
            subject,
            time: event.at.to_string(),
        }
    }

    fn structured(&self, data: Value) -> Value {
        let mut whole = json!({
            "specversion": "1.0", "id": self.id, "source": self.source, "type": self.event_type,
            "time": self.time, "datacontenttype": JSON, "data": data,
        });
        if let (Some(subject), Some(fields)) = (&self.subject, whole.as_object_mut()) {
            fields.insert("subject".to_owned(), subject.as_str().into());
        }
        whole
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let named = [
            ("ce-specversion", Some("1.0".to_owned())),
            ("ce-id", Some(self.id.clone())),
            ("ce-source", Some(self.source.clone())),
            ("ce-type", Some(self.event_type.to_owned())),
            ("ce-time", Some(self.time.clone())),
            ("ce-subject", self.subject.clone()),
        ];
        named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

impl Message {
    /// A message with the first of these events: with one, or, of a hub that gets several in a message, with as many as
    /// fit.
    pub(super) fn of(base: &str, tenant: &TenantName, hub: &Hub, events: &[Event]) -> Self {
        let (format, in_batch) = (hub.query.format, hub.query.batch.is_some());
        let (mut parts, mut ids, mut n_bytes) = (Vec::<Bytes>::new(), Vec::new(), 0);
        for event in events.iter().take(if in_batch { events.len() } else { 1 }) {
            let body = event_json(base, tenant, event);
            let part = match format {
                MessageFormat::CloudEvents => {
                    let data = serde_json::from_slice(&body).unwrap_or(Value::Null);
                    Attributes::of(tenant, event).structured(data).to_string().into()
                }
                MessageFormat::Tmf | MessageFormat::CloudEventsBinary => body,
            };
            n_bytes += part.len();
            if n_bytes > BYTES_MAX && !parts.is_empty() {
                break;
            }
            parts.push(part);
            ids.push(event.id.to_string());
        }
        let media_type = match (format, in_batch) {
            (MessageFormat::CloudEvents, true) => CLOUD_EVENT_BATCH,
            (MessageFormat::CloudEvents, false) => CLOUD_EVENT,
            (MessageFormat::Tmf | MessageFormat::CloudEventsBinary, _) => JSON,
        };
        let headers = match (format, events.first()) {
            (MessageFormat::CloudEventsBinary, Some(event)) => {
                Attributes::of(tenant, event).headers()
            }
            _ => Vec::new(),
        };
        let n_events = parts.len();
        let (id, body) = if in_batch {
            let body = [b"[".as_slice(), &parts.join(&b","[..]), b"]"].concat();
            (WebhookSecret::message_id(&ids), body.into())
        } else {
            (ids.pop().unwrap_or_default(), parts.pop().unwrap_or_default())
        };
        Self { id, media_type, headers, body, n_events }
    }

    /// The last message of a hub: it was deleted.
    pub(super) fn of_end(tenant: &TenantName, hub: &Hub, ended_at: Timestamp) -> Self {
        let mut mac = [0; 32];
        mac[..16].copy_from_slice(hub.id.as_bytes());
        let id = gatehouse_core::EventId::in_entry(ended_at.unix_milliseconds(), &mac, 0);
        let attributes = Attributes {
            id: id.to_string(),
            source: format!("/{tenant}"),
            event_type: EventType::HubDelete.as_str(),
            subject: Some(hub.id.to_string()),
            time: ended_at.to_string(),
        };
        let event = json!({
            "eventId": attributes.id, "eventTime": attributes.time,
            "eventType": attributes.event_type, "event": {"hub": Value::from(hub_body(hub))},
        });
        let (in_batch, id) = (hub.query.batch.is_some(), attributes.id.clone());
        let list = |one: Value| if in_batch { json!([one]) } else { one };
        let (whole, headers, media_type) = match hub.query.format {
            MessageFormat::Tmf => (list(event), Vec::new(), JSON),
            MessageFormat::CloudEvents => {
                let media_type = if in_batch { CLOUD_EVENT_BATCH } else { CLOUD_EVENT };
                (list(attributes.structured(event)), Vec::new(), media_type)
            }
            MessageFormat::CloudEventsBinary => (event, attributes.headers(), JSON),
        };
        Self { id, media_type, headers, body: whole.to_string().into(), n_events: 1 }
    }

    /// The headers of an attempt at a time, with a signature by each secret.
    pub(super) fn signed(&self, secrets: &[WebhookSecret], now: Timestamp) -> HeaderMap {
        let seconds = now.as_second();
        let signatures: Vec<String> =
            secrets.iter().map(|it| it.sign(&self.id, seconds, &self.body)).collect();
        let own = [
            ("webhook-id", self.id.clone()),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", signatures.join(" ")),
        ];
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        for (name, value) in own.into_iter().chain(self.headers.clone()) {
            // Identifiers and times are ASCII.
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        headers
    }
}
