//! Accesses in responses, as JSON or as rows of a table.
//!
//! A Task may have a hundred thousand, so they are written directly into the response's bytes.

use gatehouse_core::label::ShownLabels;
use gatehouse_core::{ShownAccess, Status, TaskId, TenantName, Timestamp};

use crate::app::access::OneTimePassword;
use crate::fields::{access, label};
use crate::http::answer::csv::{self, Cell};
use crate::http::answer::json::Json;
use crate::http::route::address::Address;

/// Estimated bytes of an access.
pub(in crate::http) const ACCESS_BYTES: usize = 600;

/// Writes accesses of one tenant, one after the other.
pub(in crate::http) struct AccessWriter {
    /// The common start of all addresses, without the closing quote.
    address: Json,
    /// The contract of the last access.
    contract_ids: LastWritten<ContractIds>,
    /// The status and times of the last access.
    lifetime: LastWritten<(Status, Timestamp, Option<Timestamp>, Option<TaskId>)>,
}

impl AccessWriter {
    pub(in crate::http) fn new(address: &Address, tenant: &TenantName) -> Self {
        let mut begin = Json::default();
        begin.raw("\"");
        begin.text(&address.accesses(tenant));
        Self {
            address: begin,
            contract_ids: LastWritten::default(),
            lifetime: LastWritten::default(),
        }
    }

    /// Writes an access, with its one-time password. Identifiers, times and constants need no escapes.
    pub(in crate::http) fn write(
        &mut self,
        json: &mut Json,
        access: &ShownAccess<'_>,
        password: Option<&OneTimePassword>,
    ) {
        self.write_fixed(json, access, password);
        write_labels(json, access.labels);
        let ShownAccess { status, start, end, created_by, .. } = access;
        let lifetime = (*status, *start, *end, *created_by);
        json.append(self.lifetime.json(|last| *last == lifetime, || lifetime, write_lifetime));
    }

    /// Writes the beginning of an access: the fields that never change.
    pub(super) fn write_fixed(
        &mut self,
        json: &mut Json,
        access: &ShownAccess<'_>,
        password: Option<&OneTimePassword>,
    ) {
        let id = access.id.shown();
        json.raw("{");
        json.first_field(&access::ID);
        json.word(id.as_bytes());
        json.field(&access::HREF);
        json.append(&self.address);
        json.bytes(id.as_bytes());
        json.raw("\"");
        let is_same = |last: &ContractIds| last.is_of(access);
        json.append(self.contract_ids.json(
            is_same,
            || ContractIds::of(access),
            ContractIds::write,
        ));
        json.field(&access::USERNAME);
        json.quoted(access.username);
        if let Some(password) = password {
            json.field(&access::PASSWORD);
            json.quoted(password.reveal());
        }
        if let Some(name) = access.device_name {
            json.field(&access::DEVICE_NAME);
            json.quoted(name);
        }
        json.field(&access::NAME);
        json.quoted(access.name());
    }
}

/// Writes the labels, if there are any. Keys need no escapes.
pub(super) fn write_labels(json: &mut Json, labels: ShownLabels<'_>) {
    if labels.is_empty() {
        return;
    }
    json.field(&label::LABELS);
    json.raw("{");
    for (n, (key, value)) in labels.iter().enumerate() {
        if n == 0 {
            json.first_member(key)
        } else {
            json.member(key)
        }
        json.quoted(&value);
    }
    json.raw("}");
}

/// Cached JSON of the last value: accesses of a Task share most of their fields.
pub(super) struct LastWritten<T> {
    value: Option<T>,
    json: Json,
}

impl<T> Default for LastWritten<T> {
    fn default() -> Self {
        Self { value: None, json: Json::default() }
    }
}

impl<T> LastWritten<T> {
    pub(super) fn json(
        &mut self,
        is_same: impl FnOnce(&T) -> bool,
        value: impl FnOnce() -> T,
        write: impl FnOnce(&mut Json, &T),
    ) -> &Json {
        if !self.value.as_ref().is_some_and(is_same) {
            self.json.clear();
            write(&mut self.json, self.value.insert(value()));
        }
        &self.json
    }
}

/// The contract and the offering of an access.
struct ContractIds {
    contract_id: String,
    offering_id: String,
}

impl ContractIds {
    fn of(access: &ShownAccess<'_>) -> Self {
        let ShownAccess { contract_id, offering_id, .. } = *access;
        Self { contract_id: contract_id.to_owned(), offering_id: offering_id.to_owned() }
    }

    fn is_of(&self, access: &ShownAccess<'_>) -> bool {
        self.contract_id == access.contract_id && self.offering_id == access.offering_id
    }

    fn write(json: &mut Json, contract_ids: &Self) {
        json.field(&access::CONTRACT_ID);
        json.quoted(&contract_ids.contract_id);
        json.field(&access::OFFERING_ID);
        json.quoted(&contract_ids.offering_id);
    }
}

fn write_lifetime(
    json: &mut Json,
    (status, start, end, created_by): &(Status, Timestamp, Option<Timestamp>, Option<TaskId>),
) {
    json.field(&access::STATUS);
    json.word(status.as_str());
    json.field(&access::START);
    json.word(start.shown().as_str());
    if let Some(end) = end {
        json.field(&access::END);
        json.word(end.shown().as_str());
    }
    if let Some(task) = created_by {
        json.field(&access::CREATED_BY);
        json.word(task.to_string());
    }
    json.field(&access::BASE_TYPE);
    json.word("Resource");
    json.field(&access::TYPE);
    json.word("RealizingResource");
    json.raw("}");
}

/// Writes an access as a row of a table, in the order of [`access::COLUMNS`].
pub(in crate::http) fn write_row(
    table: &mut Vec<u8>,
    access: &ShownAccess<'_>,
    password: Option<&OneTimePassword>,
) {
    let (id, start) = (access.id.shown(), access.start.shown());
    let end = access.end.map(Timestamp::shown);
    let cells = [
        id.as_str(),
        access.username,
        password.map_or("", OneTimePassword::reveal),
        access.device_name.unwrap_or(""),
        access.name(),
        access.status.as_str(),
        access.contract_id,
        access.offering_id,
        start.as_str(),
        end.as_ref().map_or("", |end| end.as_str()),
    ];
    csv::write_row(
        table,
        access::COLUMNS.iter().zip(cells).map(|(name, text)| Cell::of_column(name, text)),
    );
}

#[cfg(test)]
mod tests;
