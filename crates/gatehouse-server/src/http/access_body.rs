//! Accesses on the wire: one, a page of them, all of a Task, as JSON or as rows of a table.
//!
//! A Task may have a hundred thousand, so they are written straight into the answer's bytes.

use gatehouse_core::time::ShownTime;
use gatehouse_core::{ShownAccess, TaskId, TenantName, Timestamp};

use super::address::Address;
use super::csv;
use super::json::Json;
use crate::app::access::OneTimePassword;

/// About as many bytes as an access has.
pub(super) const ACCESS_BYTES: usize = 600;

/// How every access ends.
const END: &str = r#"","@baseType":"Resource","@type":"RealizingResource"}"#;

/// Writes accesses of one tenant, one after the other.
pub(super) struct AccessWriter {
    /// What all addresses begin with, without the quote behind it.
    address: Json,
    /// The Task that made the last one, as it is written: it has mostly made the next one as well.
    made_by: Option<(TaskId, String)>,
    /// The start of the last one: what was made together starts together.
    start: Option<(Timestamp, ShownTime)>,
}

impl AccessWriter {
    pub(super) fn new(address: &Address, tenant: &TenantName) -> Self {
        let mut begin = Json::default();
        begin.raw("\"");
        begin.text(&address.accesses(tenant));
        Self { address: begin, made_by: None, start: None }
    }

    /// An access, with the password that was set with it. Identifiers, times and words of ours need no escapes.
    pub(super) fn write(
        &mut self,
        json: &mut Json,
        access: &ShownAccess,
        password: Option<&OneTimePassword>,
    ) {
        let id = access.id.shown();
        json.raw(r#"{"id":""#);
        json.bytes(id.as_bytes());
        json.raw(r#"","href":"#);
        json.append(&self.address);
        json.bytes(id.as_bytes());
        json.raw(r#"","contractId":"#);
        json.quoted(access.contract_id.as_str());
        json.raw(r#","productOfferingId":"#);
        json.quoted(access.offering_id.as_str());
        json.raw(r#","username":"#);
        json.quoted(access.username.as_str());
        if let Some(password) = password {
            json.raw(r#","password":"#);
            json.quoted(password.reveal());
        }
        if let Some(name) = &access.device_name {
            json.raw(r#","deviceName":"#);
            json.quoted(name.as_str());
        }
        json.raw(r#","name":"#);
        json.quoted(access.name());
        json.raw(r#","status":""#);
        json.raw(access.status.as_str());
        json.raw(r#"","startDateTime":""#);
        json.bytes(self.start(access.start).as_bytes());
        if let Some(end) = access.end {
            json.raw(r#"","endDateTime":""#);
            json.bytes(end.shown().as_bytes());
        }
        if let Some(task) = access.created_by {
            json.raw(r#"","createdBy":""#);
            json.raw(self.made_by(task));
        }
        json.raw(END);
    }

    fn start(&mut self, at: Timestamp) -> ShownTime {
        let same = self.start.filter(|(last, _)| *last == at);
        self.start.insert(same.unwrap_or_else(|| (at, at.shown()))).1
    }

    fn made_by(&mut self, task: TaskId) -> &str {
        let same = self.made_by.take().filter(|(last, _)| *last == task);
        &self.made_by.insert(same.unwrap_or_else(|| (task, task.to_string()))).1
    }
}

/// The columns of the table, as [`write_row`] fills them.
pub(super) const COLUMNS: [&str; 10] = [
    "id",
    "username",
    "password",
    "deviceName",
    "name",
    "status",
    "contractId",
    "productOfferingId",
    "startDateTime",
    "endDateTime",
];

/// An access as a row of a table, in the order of the columns that the contract gives.
pub(super) fn write_row(
    table: &mut Vec<u8>,
    access: &ShownAccess,
    password: Option<&OneTimePassword>,
) {
    let (id, start) = (access.id.shown(), access.start.shown());
    let end = access.end.map(Timestamp::shown);
    let cells = [
        id.as_str(),
        access.username.as_str(),
        password.map_or("", OneTimePassword::reveal),
        access.device_name.as_ref().map_or("", |name| name.as_str()),
        access.name(),
        access.status.as_str(),
        access.contract_id.as_str(),
        access.offering_id.as_str(),
        start.as_str(),
        end.as_ref().map_or("", |end| end.as_str()),
    ];
    csv::write_row(table, cells);
}

#[cfg(test)]
mod tests;
