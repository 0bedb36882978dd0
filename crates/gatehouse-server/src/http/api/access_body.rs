//! Accesses on the wire: one, a page of them, all of a Task, as JSON or as rows of a table.
//!
//! A Task may have a hundred thousand, so they are written straight into the answer's bytes.

use gatehouse_core::{ShownAccess, Status, TaskId, TenantName, Timestamp};

use crate::app::access::OneTimePassword;
use crate::fields::access;
use crate::http::answer::csv::{self, Cell};
use crate::http::answer::json::Json;
use crate::http::route::address::Address;

/// About as many bytes as an access has.
pub(in crate::http) const ACCESS_BYTES: usize = 600;

/// Writes accesses of one tenant, one after the other.
pub(in crate::http) struct AccessWriter {
    /// What all addresses begin with, without the quote behind it.
    address: Json,
    /// What the last one was of.
    origin: Last<Origin>,
    /// How the last one ended.
    end: Last<(Status, Timestamp, Option<Timestamp>, Option<TaskId>)>,
}

impl AccessWriter {
    pub(in crate::http) fn new(address: &Address, tenant: &TenantName) -> Self {
        let mut begin = Json::default();
        begin.raw("\"");
        begin.text(&address.accesses(tenant));
        Self { address: begin, origin: Last::default(), end: Last::default() }
    }

    /// An access, with the password that was set with it. Identifiers, times and words of ours need no escapes.
    pub(in crate::http) fn write(
        &mut self,
        json: &mut Json,
        access: &ShownAccess<'_>,
        password: Option<&OneTimePassword>,
    ) {
        let id = access.id.shown();
        json.raw("{");
        json.first_member(access::ID.name);
        json.word(id.as_str());
        json.member(access::HREF.name);
        json.append(&self.address);
        json.raw(id.as_str());
        json.raw("\"");
        let ShownAccess { status, start, end, created_by, .. } = access;
        let is_same = |last: &Origin| last.is_of(access);
        json.append(self.origin.json(is_same, || Origin::of(access), Origin::write));
        json.member(access::USERNAME.name);
        json.quoted(access.username);
        if let Some(password) = password {
            json.member(access::PASSWORD.name);
            json.quoted(password.reveal());
        }
        if let Some(name) = access.device_name {
            json.member(access::DEVICE_NAME.name);
            json.quoted(name);
        }
        json.member(access::NAME.name);
        json.quoted(access.name());
        let life = (*status, *start, *end, *created_by);
        json.append(self.end.json(|last| *last == life, || life, write_end));
    }
}

/// What is the same in an access and the one before, as it is written: accesses of a Task differ in little.
struct Last<T>(Option<(T, Json)>);

impl<T> Default for Last<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Last<T> {
    fn json(
        &mut self,
        is_same: impl FnOnce(&T) -> bool,
        value: impl FnOnce() -> T,
        write: impl FnOnce(&mut Json, &T),
    ) -> &Json {
        let same = self.0.take().filter(|(last, _)| is_same(last));
        let written = same.unwrap_or_else(|| {
            let (value, mut json) = (value(), Json::default());
            write(&mut json, &value);
            (value, json)
        });
        &self.0.insert(written).1
    }
}

/// What an access was made of.
struct Origin {
    contract_id: String,
    offering_id: String,
}

impl Origin {
    fn of(access: &ShownAccess<'_>) -> Self {
        let ShownAccess { contract_id, offering_id, .. } = *access;
        Self { contract_id: contract_id.to_owned(), offering_id: offering_id.to_owned() }
    }

    fn is_of(&self, access: &ShownAccess<'_>) -> bool {
        self.contract_id == access.contract_id && self.offering_id == access.offering_id
    }

    fn write(json: &mut Json, origin: &Self) {
        json.member(access::CONTRACT_ID.name);
        json.quoted(&origin.contract_id);
        json.member(access::OFFERING_ID.name);
        json.quoted(&origin.offering_id);
    }
}

fn write_end(
    json: &mut Json,
    (status, start, end, created_by): &(Status, Timestamp, Option<Timestamp>, Option<TaskId>),
) {
    json.member(access::STATUS.name);
    json.word(status.as_str());
    json.member(access::START.name);
    json.word(start.shown().as_str());
    if let Some(end) = end {
        json.member(access::END.name);
        json.word(end.shown().as_str());
    }
    if let Some(task) = created_by {
        json.member(access::CREATED_BY.name);
        json.word(&task.to_string());
    }
    json.member(access::BASE_TYPE.name);
    json.word("Resource");
    json.member(access::TYPE.name);
    json.word("RealizingResource");
    json.raw("}");
}

/// An access as a row of a table, in the order of the columns that the contract gives.
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
