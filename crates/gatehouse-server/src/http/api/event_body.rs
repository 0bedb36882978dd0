//! Events in responses.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_core::event::{AccessState, Cause, ChangedField, ChangedFields, Origin, TaskEntry};
use gatehouse_core::{Access, EventId, TenantName};
use gatehouse_store::{Event, EventSubject};

use super::access_body::{AccessWriter, LastWritten, write_labels};
use crate::fields::{access, event, label, task};
use crate::http::answer::json::Json;
use crate::http::route::address::Address;

/// Estimated bytes of an event.
pub(in crate::http) const EVENT_BYTES: usize = 1000;

/// An event whose addresses are under a base, where there is no request to take them from.
pub(crate) fn event_json(base: &str, tenant: &TenantName, event: &Event) -> Bytes {
    let address = Address::under(base);
    let mut json = Json::with_capacity(EVENT_BYTES);
    EventWriter::new(&address, tenant).write(&mut json, event);
    json.finish()
}

/// Writes events of one tenant, one after the other.
pub(in crate::http) struct EventWriter {
    accesses: AccessWriter,
    heads: HeadWriter,
}

impl EventWriter {
    pub(in crate::http) fn new(address: &Address, tenant: &TenantName) -> Self {
        Self { accesses: AccessWriter::new(address, tenant), heads: HeadWriter::default() }
    }

    pub(in crate::http) fn write(&mut self, json: &mut Json, event: &Event) {
        json.raw("{");
        self.heads.write(json, event);
        match &event.subject {
            EventSubject::Access { access, state, version, changed } => {
                self.write_access(json, access, state, *version, *changed);
            }
            EventSubject::Task(entry) => {
                json.field(&event::EVENT);
                json.raw("{");
                json.first_field(&event::TASK);
                write_task(json, entry);
                json.raw("}");
            }
            // The others are in the audit.
            _ => {
                json.field(&event::EVENT);
                json.raw("{}");
            }
        }
        json.raw("}");
    }

    fn write_access(
        &mut self,
        json: &mut Json,
        access: &Access,
        state: &AccessState,
        version: u64,
        changed: ChangedFields,
    ) {
        let mut names = changed.iter().map(ChangedField::as_str).peekable();
        if names.peek().is_some() {
            json.field(&event::CHANGED);
            json.list(names, |json, name| json.word(name));
        }
        json.field(&event::VERSION);
        json.value(&version);
        match state {
            AccessState {
                status: Some(status),
                start: Some(start),
                end: Some(end),
                labels: Some(labels),
            } => {
                json.field(&event::EVENT);
                json.raw("{");
                json.first_field(&event::ACCESS);
                let mut shown = access.shown();
                (shown.status, shown.start, shown.end) = (*status, *start, *end);
                shown.labels = labels.shown();
                self.accesses.write(json, &shown, None);
            }
            partial => {
                json.field(&event::IS_PARTIAL);
                json.raw("true");
                json.field(&event::EVENT);
                json.raw("{");
                json.first_field(&event::ACCESS);
                self.write_partial(json, access, partial);
            }
        }
        json.raw("}");
    }

    /// Writes what never changes of an access, and what is known of the rest.
    fn write_partial(&mut self, json: &mut Json, access: &Access, state: &AccessState) {
        self.accesses.write_fixed(json, &access.shown(), None);
        if let Some(status) = state.status {
            json.field(&access::STATUS);
            json.word(status.as_str());
        }
        if let Some(start) = state.start {
            json.field(&access::START);
            json.word(start.shown().as_str());
        }
        if let Some(end) = state.end {
            json.field(&access::END);
            match end {
                Some(end) => json.word(end.shown().as_str()),
                None => json.raw("null"),
            }
        }
        match &state.labels {
            Some(labels) if labels.is_empty() => {
                json.field(&label::LABELS);
                json.raw("{}");
            }
            Some(labels) => write_labels(json, labels.shown()),
            None => {}
        }
        if let Some(task) = access.created_by {
            json.field(&access::CREATED_BY);
            json.word(task.to_string());
        }
        json.field(&access::BASE_TYPE);
        json.word("Resource");
        json.field(&access::TYPE);
        json.word("RealizingResource");
        json.raw("}");
    }
}

/// Writes the fields that every event has, and its origin, one event after the other: those of a Task share their origin.
#[derive(Default)]
pub(super) struct HeadWriter {
    correlation_id: LastWritten<Arc<Origin>>,
    origin: LastWritten<Arc<Origin>>,
}

impl HeadWriter {
    pub(super) fn write(&mut self, json: &mut Json, event: &Event) {
        json.first_field(&event::EVENT_ID);
        json.raw("\"");
        json.raw(EventId::PREFIX);
        json.bytes(event.id.shown().as_bytes());
        json.raw("\"");
        json.field(&event::EVENT_TIME);
        json.word(event.at.shown().as_str());
        json.field(&event::EVENT_TYPE);
        json.word(event.event_type.as_str());
        if let Some(origin) = &event.origin {
            let is_same = |last: &Arc<Origin>| Arc::ptr_eq(last, origin);
            let write = |json: &mut Json, origin: &Arc<Origin>| {
                if !origin.correlation_id.is_empty() {
                    json.field(&event::CORRELATION_ID);
                    json.quoted(&origin.correlation_id);
                }
            };
            json.append(self.correlation_id.json(is_same, || Arc::clone(origin), write));
        }
        json.field(&event::NUMBER);
        json.value(&event.number);
        if let Some(origin) = &event.origin {
            let is_same = |last: &Arc<Origin>| Arc::ptr_eq(last, origin);
            let write = |json: &mut Json, origin: &Arc<Origin>| {
                json.field(&event::ORIGIN);
                write_origin(json, origin);
            };
            json.append(self.origin.json(is_same, || Arc::clone(origin), write));
        }
    }
}

fn write_origin(json: &mut Json, origin: &Origin) {
    let (kind, subject, task) = match &origin.cause {
        Cause::Request(subject) => ("request", Some(subject), None),
        Cause::Task(id) => ("task", None, Some(id)),
        Cause::Expiry => ("expiry", None, None),
        Cause::Check(subject) => ("check", Some(subject), None),
        Cause::Server => ("server", None, None),
        Cause::Command => ("command", None, None),
    };
    json.raw("{");
    json.first_field(&event::KIND);
    json.word(kind);
    if let Some(subject) = subject.filter(|it| !it.is_empty()) {
        json.field(&event::SUBJECT);
        json.quoted(subject);
    }
    if let Some(task) = task {
        json.field(&event::CAUSING_TASK);
        json.word(task.to_string());
    }
    if !origin.peer.is_empty() {
        json.field(&event::PEER);
        json.quoted(&origin.peer);
    }
    json.raw("}");
}

fn write_task(json: &mut Json, entry: &TaskEntry) {
    json.raw("{");
    json.first_field(&task::ID);
    json.word(entry.id.to_string());
    json.field(&task::STATE);
    json.word(entry.state.as_str());
    json.field(&task::BASE_TYPE);
    json.word("task");
    json.field(&task::TYPE);
    json.word(&entry.work);
    json.field(&task::TOTAL);
    json.value(&entry.n_items);
    json.field(&task::SUCCEEDED);
    json.value(&entry.n_succeeded);
    json.field(&task::FAILED);
    json.value(&entry.n_failed);
    json.raw("}");
}
