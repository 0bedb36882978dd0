//! Recorded data of a platform: its connections, and the shapes of its responses.
//!
//! The simulator's fleet computes any number of connections from a seed, in the format of its own API. Recorded
//! connections are documents in the platform's format, which only the manifest can read. So the two share no code,
//! except for the check digits of numbers.

use std::borrow::Cow;

use gatehouse_core::IdentifierKind;
use serde_json::{Value, json};

use super::Responder;
use super::server::ReplayResponse;
use crate::connector::{CallKind, LookUpKey};
use crate::manifest::Manifest;
use crate::manifest::format::look_up::{LookUp, Match};
use crate::manifest::format::path::{Path, text_of};
use crate::manifest::format::template::Variable;
use crate::testing::recording::Recording;

/// A text that must not get into products.
pub(crate) const CANARY: &str = "canary-that-must-not-come-out";

/// Name of the member that holds [`CANARY`].
const CANARY_NAME: &str = "gatehouseCanary";

/// Connections and responses of a recording.
pub(crate) struct RecordedPlatform {
    pub(crate) connections: Vec<RecordedConnection>,
    /// Detail documents, each with the key of its connection.
    details: Vec<(String, Value)>,
    list: ResponseShape,
    look_ups: Vec<(LookUpKey, ResponseShape)>,
    detail: ResponseShape,
    sessions: Vec<Value>,
}

/// A recorded connection.
pub(crate) struct RecordedConnection {
    pub(crate) listed: Value,
    /// The listed document with its details.
    pub(crate) detailed: Value,
    pub(crate) id: String,
    pub(crate) numbers: Vec<(IdentifierKind, String)>,
}

/// Shape of responses.
#[derive(Default)]
pub(super) struct ResponseShape {
    pub(super) body: Value,
    /// Whether a response is a single connection.
    pub(super) is_single: bool,
    /// Status and body if nothing is found.
    miss: Option<(u16, Value)>,
}

impl ResponseShape {
    pub(super) fn miss(&self, responder: &Responder) -> ReplayResponse {
        match &self.miss {
            Some((status, body)) => ReplayResponse::json(*status, body),
            None => responder.error(404, "not found"),
        }
    }
}

impl RecordedPlatform {
    pub(super) fn of(manifest: &Manifest, recording: &Recording) -> Result<Self, String> {
        let members = |body: &Value, items: &Path| match items.first(body) {
            Some(Value::Array(members)) => members.clone(),
            Some(Value::Null) | None => Vec::new(),
            Some(one) => vec![one.clone()],
        };
        let of_kind = |kind: CallKind| recording.exchanges().filter(move |it| it.kind == kind);
        let Some(page) = of_kind(CallKind::List).find(|it| it.status == 200) else {
            return Err("the recording has no page of its list".into());
        };
        let list = ResponseShape { body: page.body.clone(), ..ResponseShape::default() };
        let mut details = Vec::new();
        let mut detail = ResponseShape::default();
        if let Some(form) = &manifest.detail {
            for call in of_kind(CallKind::Detail) {
                let is_single = !matches!(form.items.first(&call.body), Some(Value::Array(_)));
                if call.status == 200 {
                    detail = ResponseShape { body: call.body.clone(), is_single, miss: None };
                }
                let path = call.request.split_once(' ').map_or("", |(_, it)| it);
                let path = path.split('?').next().unwrap_or_default();
                let target = form.call.target_template().and_then(|it| it.extract(path));
                let requested = target
                    .into_iter()
                    .flatten()
                    .find(|(variable, _)| **variable == Variable::Value);
                for document in members(&call.body, &form.items) {
                    let owner = match &form.belongs_to {
                        Some(belongs_to) => {
                            belongs_to.first(&document).and_then(text_of).map(Cow::into_owned)
                        }
                        None => requested.as_ref().map(|(_, it)| it.clone()),
                    };
                    if let Some(owner) = owner
                        && !details.iter().any(|(_, it)| *it == document)
                    {
                        details.push((owner, document));
                    }
                }
            }
        }
        let mut connections: Vec<RecordedConnection> = Vec::new();
        for call in of_kind(CallKind::List) {
            for listed in members(&call.body, &manifest.list.items) {
                let connection = recorded_connection(manifest, listed, &details, detail.is_single)?;
                if !connections.iter().any(|it| it.id == connection.id) {
                    connections.push(connection);
                }
            }
        }
        if connections.is_empty() {
            return Err("the recording has no connections".into());
        }
        for (_, document) in &mut details {
            plant_canary(manifest, document);
        }
        let mut look_ups = Vec::new();
        for (by, (_, look_up)) in LookUpKey::ALL.into_iter().zip(manifest.look_up.all()) {
            let LookUp::Searched(search) = look_up else { continue };
            let calls = recording
                .conversation
                .iter()
                .filter(|step| step.asked.look_up().is_some_and(|(it, _)| it == by));
            let calls = calls.flat_map(|it| &it.exchanges).filter(|it| it.kind == CallKind::LookUp);
            let calls: Vec<_> = calls.collect();
            let hit = calls
                .iter()
                .find(|it| !members(&it.body, &search.items).is_empty() && it.status == 200);
            let miss = calls.iter().find(|it| it.status != 200);
            let is_single = match hit {
                Some(hit) => !matches!(search.items.first(&hit.body), Some(Value::Array(_))),
                None => search
                    .call
                    .target_template()
                    .is_some_and(|it| it.mentions(Variable::is_of_look_up)),
            };
            let body = hit.map_or_else(|| page.body.clone(), |it| it.body.clone());
            let miss = miss.map(|it| (it.status, it.body.clone()));
            look_ups.push((by, ResponseShape { body, is_single, miss }));
        }
        let sessions = of_kind(CallKind::Session).map(|it| it.body.clone()).collect();
        Ok(Self { connections, details, list, look_ups, detail, sessions })
    }

    pub(super) fn list(&self) -> &ResponseShape {
        &self.list
    }

    pub(super) fn detail(&self) -> &ResponseShape {
        &self.detail
    }

    pub(super) fn look_up(&self, by: LookUpKey) -> Option<&ResponseShape> {
        self.look_ups.iter().find(|(it, _)| *it == by).map(|(_, shape)| shape)
    }

    /// Body of the response to the nth call of a log-in.
    pub(super) fn session(&self, nth: usize) -> Value {
        self.sessions.get(nth).cloned().unwrap_or_else(|| json!({}))
    }

    /// Connections with any of these values, in the platform's notation.
    pub(super) fn find(
        &self,
        by: LookUpKey,
        matching: Match,
        values: &[String],
    ) -> Vec<&RecordedConnection> {
        let fits = |carried: &str| {
            values.iter().any(|value| match matching {
                Match::Exact => carried == value,
                Match::Partial => carried.to_lowercase().contains(&value.to_lowercase()),
            })
        };
        let is_match = |connection: &&RecordedConnection| match by {
            LookUpKey::Id => fits(&connection.id),
            LookUpKey::Number(kind) => {
                connection.numbers.iter().any(|(it, number)| *it == kind && fits(number))
            }
        };
        self.connections.iter().filter(is_match).collect()
    }

    /// Detail documents of these connections.
    pub(super) fn details(&self, owners: &[String]) -> Vec<Value> {
        let owned = self.details.iter().filter(|(owner, _)| owners.contains(owner));
        owned.map(|(_, document)| document.clone()).collect()
    }
}

fn recorded_connection(
    manifest: &Manifest,
    mut listed: Value,
    details: &[(String, Value)],
    is_single: bool,
) -> Result<RecordedConnection, String> {
    let read = |it: &Value| manifest.product.connection(it, manifest.connectivity());
    let mut connection = read(&listed).map_err(|it| it.detail)?;
    let id = connection.local_id.to_string();
    let mut detailed = listed.clone();
    if let Some(form) = &manifest.detail {
        let key = match LookUpKey::from(form.by) {
            LookUpKey::Id => Some(id.clone()),
            LookUpKey::Number(kind) => {
                let mut carried = connection.identifiers.iter().filter(|(it, _)| *it == kind);
                carried.next().map(|(_, it)| it.to_string())
            }
        };
        for (_, document) in details.iter().filter(|(owner, _)| Some(owner) == key.as_ref()) {
            form.adds.add(document, &mut connection);
            if let (Value::Object(detailed), Value::Object(more), true) =
                (&mut detailed, document, is_single)
            {
                detailed.extend(more.clone());
            }
        }
    }
    let numbers = connection.identifiers.iter().map(|(kind, it)| (*kind, it.to_string()));
    let numbers = numbers.collect();
    plant_canary(manifest, &mut listed);
    plant_canary(manifest, &mut detailed);
    Ok(RecordedConnection { listed, detailed, id, numbers })
}

/// Plants [`CANARY`] into every object, except those that the manifest maps completely.
fn plant_canary(manifest: &Manifest, document: &mut Value) {
    let added = manifest.detail.iter().flat_map(|it| &it.adds.properties);
    let rules = manifest.product.properties.iter().chain(added);
    let fully_mapped: Vec<Value> = rules
        .filter(|it| it.keys.is_none())
        .filter_map(|it| it.entries.as_ref())
        .flat_map(|it| it.all(document))
        .cloned()
        .collect();
    plant_canary_into(document, &fully_mapped);
}

fn plant_canary_into(value: &mut Value, fully_mapped: &[Value]) {
    if fully_mapped.contains(value) {
        return;
    }
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(|it| plant_canary_into(it, fully_mapped));
            members.insert(CANARY_NAME.to_owned(), CANARY.into());
        }
        Value::Array(members) => {
            members.iter_mut().for_each(|it| plant_canary_into(it, fully_mapped))
        }
        _ => {}
    }
}
