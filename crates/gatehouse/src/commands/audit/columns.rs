//! An event of the audit as a row.

use gatehouse_core::event::audit::SetupObject;
use serde_json::Value;

use crate::commands::event::columns::{cause, time};
use crate::terminal::output::{Column, Fit, text};

pub(super) const COLUMNS: &[Column] = &[
    Column::text("NUMBER", "x-number", Fit::Whole),
    Column::computed("TIME (UTC)", "eventTime", time, Fit::Whole),
    Column::computed("WHAT", "what", what, Fit::Cut(16)),
    Column::computed("CHANGE", "change", change, Fit::Cut(16)),
    Column::computed("BY", "by", cause, Fit::Cut(8)),
    Column::computed("FROM", "peer", |event| text(&event["x-origin"], "peer"), Fit::Optional(0)),
    Column::text("TYPE", "eventType", Fit::CsvOnly),
    Column::text("CORRELATION ID", "correlationId", Fit::CsvOnly),
    Column::text("ID", "eventId", Fit::CsvOnly),
];

/// The kind of object and its name.
fn what(event: &Value) -> String {
    let subject = &event["event"];
    let object = SetupObject::ALL.into_iter().find(|it| subject.get(it.as_str()).is_some());
    if let Some(object) = object {
        let kind = object.as_str();
        let names = ["name", "id", "clientId"].map(|name| text(&subject[kind], name));
        // A client's name is for people, and may be missing.
        let [name, id, client] = names;
        let shown = [client, id, name].into_iter().find(|it| !it.is_empty()).unwrap_or_default();
        return format!("{kind} {shown}");
    }
    match (subject.get("token"), subject.get("refusal")) {
        (Some(token), _) => {
            let subject = text(token, "subject");
            let shown = if subject.is_empty() { text(token, "id") } else { subject };
            format!("token {shown}").trim().to_owned()
        }
        (_, Some(refusal)) => match text(refusal, "clientId") {
            id if id.is_empty() => "request".to_owned(),
            id => format!("client {id}"),
        },
        _ => "audit".to_owned(),
    }
}

fn change(event: &Value) -> String {
    let subject = &event["event"];
    let count = |of: &Value| of["count"].as_u64().filter(|n| *n > 1);
    let times = |of: &Value| count(of).map_or_else(String::new, |n| format!(", {n} times"));
    match text(event, "eventType").as_str() {
        "JournalStartEvent" => "begins".to_owned(),
        "TokenIssueEvent" => {
            let token = &subject["token"];
            format!("issued for {}{}", text(token, "scope"), times(token))
        }
        "TokenRevokeEvent" => "revoked".to_owned(),
        "RefusalEvent" => {
            let refusal = &subject["refusal"];
            let why = match text(refusal, "reason").as_str() {
                "token" => "refused: no valid token".to_owned(),
                "scope" => "refused: scope missing".to_owned(),
                "tenant" => "refused: another tenant".to_owned(),
                "client" => "refused: wrong client or secret".to_owned(),
                "hook" => "refused: wrong hook key".to_owned(),
                other => format!("refused: {other}"),
            };
            format!("{why}{}", times(refusal))
        }
        made if made.ends_with("CreateEvent") => "created".to_owned(),
        gone if gone.ends_with("DeleteEvent") => "deleted".to_owned(),
        _ => {
            let names = event["x-changed"].as_array().map_or(&[][..], Vec::as_slice);
            names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_says_what_changed_and_why_something_was_refused() {
        for (event_type, changed, subject, expected) in [
            (
                "TenantCreateEvent",
                json!(null),
                json!({"tenant": {"name": "acme"}}),
                "tenant acme|created",
            ),
            (
                "ContractAttributeValueChangeEvent",
                json!(["status", "endDateTime"]),
                json!({"contract": {"id": "C-1", "status": "SUSPENDED"}}),
                "contract C-1|status, endDateTime",
            ),
            (
                "ClientDeleteEvent",
                json!(null),
                json!({"client": {"clientId": "acme~x", "name": "broker"}}),
                "client acme~x|deleted",
            ),
            (
                "TokenIssueEvent",
                json!(null),
                json!({"token": {"id": "7", "subject": "acme~x", "scope": "access:read", "count": 3}}),
                "token acme~x|issued for access:read, 3 times",
            ),
            ("TokenRevokeEvent", json!(null), json!({"token": {"id": "7"}}), "token 7|revoked"),
            (
                "RefusalEvent",
                json!(null),
                json!({"refusal": {"reason": "client", "clientId": "acme~x", "count": 1}}),
                "client acme~x|refused: wrong client or secret",
            ),
            (
                "RefusalEvent",
                json!(null),
                json!({"refusal": {"reason": "token", "count": 2}}),
                "request|refused: no valid token, 2 times",
            ),
            ("JournalStartEvent", json!(null), json!({}), "audit|begins"),
        ] {
            let event = json!({"eventType": event_type, "x-changed": changed, "event": subject});
            assert_eq!(format!("{}|{}", what(&event), change(&event)), expected);
        }
    }
}
