//! What was recorded of a platform: its connections, and what its answers look like.
//!
//! The simulator's fleet computes any number of connections from a seed, in the one shape of its API. Here nothing is
//! made up: a connection is the few documents that the platform gave for it, in the platform's own shape, which only
//! the manifest can read. So the two have no code in common but the check digits of numbers.

use std::borrow::Cow;

use gatehouse_core::IdentifierKind;
use serde_json::{Value, json};

use super::Responder;
use super::server::Given;
use crate::connector::{CallKind, LookUpKey};
use crate::manifest::Manifest;
use crate::manifest::format::look_up::{LookUp, Match};
use crate::manifest::format::path::{Path, text_of};
use crate::manifest::format::template::Variable;
use crate::testing::recording::Recording;

/// A text that no mapping names.
pub(crate) const CANARY: &str = "canary-that-must-not-come-out";

/// The member that holds it.
const CANARY_NAME: &str = "gatehouseCanary";

/// The connections and answers of a recording.
pub(crate) struct Recorded {
    pub(crate) records: Vec<Record>,
    /// Documents with what lists leave out, and whose they are.
    details: Vec<(String, Value)>,
    list: Shape,
    look_ups: Vec<(LookUpKey, Shape)>,
    detail: Shape,
    sessions: Vec<Value>,
}

/// A connection as it was recorded.
pub(crate) struct Record {
    pub(crate) listed: Value,
    /// With what the list leaves out.
    pub(crate) whole: Value,
    pub(crate) id: String,
    pub(crate) numbers: Vec<(IdentifierKind, String)>,
}

/// What answers look like.
#[derive(Default)]
pub(super) struct Shape {
    pub(super) body: Value,
    /// Whether an answer is a single connection.
    pub(super) is_single: bool,
    /// What is answered where there is none.
    miss: Option<(u16, Value)>,
}

impl Shape {
    pub(super) fn miss(&self, responder: &Responder) -> Given {
        match &self.miss {
            Some((status, body)) => Given::json(*status, body),
            None => responder.error(404, "there is no such thing"),
        }
    }
}

impl Recorded {
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
        let list = Shape { body: page.body.clone(), ..Shape::default() };
        let mut details = Vec::new();
        let mut detail = Shape::default();
        if let Some(form) = &manifest.detail {
            for kept in of_kind(CallKind::Detail) {
                let is_single = !matches!(form.items.first(&kept.body), Some(Value::Array(_)));
                if kept.status == 200 {
                    detail = Shape { body: kept.body.clone(), is_single, miss: None };
                }
                let path = kept.request.split_once(' ').map_or("", |(_, it)| it);
                let path = path.split('?').next().unwrap_or_default();
                let place = form.call.target_template().and_then(|it| it.extract(path));
                let asked = place.into_iter().flatten().find(|(what, _)| **what == Variable::Value);
                for document in members(&kept.body, &form.items) {
                    let owner = match &form.belongs_to {
                        Some(belongs_to) => {
                            belongs_to.first(&document).and_then(text_of).map(Cow::into_owned)
                        }
                        None => asked.as_ref().map(|(_, it)| it.clone()),
                    };
                    if let Some(owner) = owner
                        && !details.iter().any(|(_, it)| *it == document)
                    {
                        details.push((owner, document));
                    }
                }
            }
        }
        let mut records: Vec<Record> = Vec::new();
        for kept in of_kind(CallKind::List) {
            for listed in members(&kept.body, &manifest.list.items) {
                let record = record(manifest, listed, &details, detail.is_single)?;
                if !records.iter().any(|it| it.id == record.id) {
                    records.push(record);
                }
            }
        }
        if records.is_empty() {
            return Err("the recording has no connections".into());
        }
        for (_, document) in &mut details {
            plant(manifest, document);
        }
        let mut look_ups = Vec::new();
        for (by, (_, look_up)) in LookUpKey::ALL.into_iter().zip(manifest.look_up.all()) {
            let LookUp::Searched(search) = look_up else { continue };
            let kept = recording
                .conversation
                .iter()
                .filter(|scene| scene.asked.look_up().is_some_and(|(it, _)| it == by));
            let kept = kept.flat_map(|it| &it.exchanges).filter(|it| it.kind == CallKind::LookUp);
            let kept: Vec<_> = kept.collect();
            let hit = kept
                .iter()
                .find(|it| !members(&it.body, &search.items).is_empty() && it.status == 200);
            let miss = kept.iter().find(|it| it.status != 200);
            let is_single = match hit {
                Some(hit) => !matches!(search.items.first(&hit.body), Some(Value::Array(_))),
                None => search
                    .call
                    .target_template()
                    .is_some_and(|it| it.mentions(Variable::is_of_look_up)),
            };
            let body = hit.map_or_else(|| page.body.clone(), |it| it.body.clone());
            let miss = miss.map(|it| (it.status, it.body.clone()));
            look_ups.push((by, Shape { body, is_single, miss }));
        }
        let sessions = of_kind(CallKind::Session).map(|it| it.body.clone()).collect();
        Ok(Self { records, details, list, look_ups, detail, sessions })
    }

    pub(super) fn list(&self) -> &Shape {
        &self.list
    }

    pub(super) fn detail(&self) -> &Shape {
        &self.detail
    }

    pub(super) fn look_up(&self, by: LookUpKey) -> Option<&Shape> {
        self.look_ups.iter().find(|(it, _)| *it == by).map(|(_, shape)| shape)
    }

    /// What was answered to a call of a session.
    pub(super) fn session(&self, nth: usize) -> Value {
        self.sessions.get(nth).cloned().unwrap_or_else(|| json!({}))
    }

    /// Who carries any of these, as the platform writes them.
    pub(super) fn find(&self, by: LookUpKey, matching: Match, values: &[String]) -> Vec<&Record> {
        let fits = |carried: &str| {
            values.iter().any(|value| match matching {
                Match::Exact => carried == value,
                Match::Partial => carried.to_lowercase().contains(&value.to_lowercase()),
            })
        };
        let is_meant = |record: &&Record| match by {
            LookUpKey::Id => fits(&record.id),
            LookUpKey::Number(kind) => {
                record.numbers.iter().any(|(it, number)| *it == kind && fits(number))
            }
        };
        self.records.iter().filter(is_meant).collect()
    }

    /// What lists leave out of these.
    pub(super) fn details(&self, owners: &[String]) -> Vec<Value> {
        let of_them = self.details.iter().filter(|(owner, _)| owners.contains(owner));
        of_them.map(|(_, document)| document.clone()).collect()
    }
}

fn record(
    manifest: &Manifest,
    mut listed: Value,
    details: &[(String, Value)],
    is_single: bool,
) -> Result<Record, String> {
    let read = |it: &Value| manifest.product.connection(it, manifest.connectivity());
    let mut connection = read(&listed).map_err(|it| it.detail)?;
    let id = connection.local_id.to_string();
    let mut whole = listed.clone();
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
            if let (Value::Object(whole), Value::Object(more), true) =
                (&mut whole, document, is_single)
            {
                whole.extend(more.clone());
            }
        }
    }
    let numbers = connection.identifiers.iter().map(|(kind, it)| (*kind, it.to_string()));
    let numbers = numbers.collect();
    plant(manifest, &mut listed);
    plant(manifest, &mut whole);
    Ok(Record { listed, whole, id, numbers })
}

/// Plants what must not come out into every object, but those whose members all come out by the manifest's own wish.
fn plant(manifest: &Manifest, document: &mut Value) {
    let added = manifest.detail.iter().flat_map(|it| &it.adds.properties);
    let rules = manifest.product.properties.iter().chain(added);
    let open: Vec<Value> = rules
        .filter(|it| it.keys.is_none())
        .filter_map(|it| it.entries.as_ref())
        .flat_map(|it| it.all(document))
        .cloned()
        .collect();
    plant_into(document, &open);
}

fn plant_into(value: &mut Value, open: &[Value]) {
    if open.contains(value) {
        return;
    }
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(|it| plant_into(it, open));
            members.insert(CANARY_NAME.to_owned(), CANARY.into());
        }
        Value::Array(members) => members.iter_mut().for_each(|it| plant_into(it, open)),
        _ => {}
    }
}
