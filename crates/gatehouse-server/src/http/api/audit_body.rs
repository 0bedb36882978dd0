//! Events of the audit in responses.

use gatehouse_core::event::audit::{RefusalEntry, SetupEntry, TokenEntry};
use gatehouse_store::{Event, EventSubject};
use serde_json::{Map, Value};

use super::event_body::HeadWriter;
use crate::fields::{audit, event};
use crate::http::answer::json::Json;

/// Estimated bytes of an event.
pub(in crate::http) const EVENT_BYTES: usize = 800;

/// Writes an event of the audit.
pub(in crate::http) fn write(json: &mut Json, event: &Event) {
    json.raw("{");
    HeadWriter::default().write(json, event);
    match &event.subject {
        EventSubject::Setup(entry) => write_setup(json, entry),
        EventSubject::Tokens(entry) => in_event(json, |json| write_tokens(json, entry)),
        EventSubject::TokenRevoke(id) => in_event(json, |json| {
            json.first_field(&audit::TOKEN);
            json.raw("{");
            json.first_field(&audit::TOKEN_ID);
            json.quoted(id);
            json.raw("}");
        }),
        EventSubject::Refusals(entry) => in_event(json, |json| write_refusals(json, entry)),
        EventSubject::Access { .. } | EventSubject::Task(_) | EventSubject::Journal => {
            in_event(json, |_| {});
        }
    }
    json.raw("}");
}

fn in_event(json: &mut Json, write: impl FnOnce(&mut Json)) {
    json.field(&event::EVENT);
    json.raw("{");
    write(json);
    json.raw("}");
}

fn write_setup(json: &mut Json, entry: &SetupEntry) {
    if let (Some(before), Some(after)) = (&entry.before, &entry.after) {
        json.field(&audit::CHANGED);
        json.list(changed(before, after), |json, name| json.quoted(&name));
        json.field(&audit::BEFORE);
        json.raw(before);
    }
    in_event(json, |json| {
        json.first_member(entry.object.as_str());
        let shown = entry.after.as_ref().or(entry.before.as_ref());
        json.raw(shown.map_or("{}", String::as_str));
    });
}

/// Names of the fields in which two objects differ.
fn changed(before: &str, after: &str) -> Vec<String> {
    let [before, after]: [Map<String, Value>; 2] =
        [before, after].map(|it| serde_json::from_str(it).unwrap_or_default());
    let differs = |name: &&String| before.get(*name) != after.get(*name);
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    after.keys().chain(gone).filter(differs).cloned().collect()
}

fn write_tokens(json: &mut Json, entry: &TokenEntry) {
    json.first_field(&audit::TOKEN);
    json.raw("{");
    json.first_field(&audit::TOKEN_ID);
    json.quoted(&entry.id);
    json.field(&audit::TOKEN_SUBJECT);
    json.quoted(&entry.subject);
    json.field(&audit::TOKEN_TENANTS);
    json.list(entry.tenants.split_whitespace(), |json, name| json.quoted(name));
    json.field(&audit::TOKEN_SCOPE);
    json.quoted(&entry.scopes);
    json.field(&audit::COUNT);
    json.value(&entry.n);
    json.field(&audit::SINCE);
    json.word(entry.since.shown().as_str());
    json.field(&audit::EXPIRES);
    json.word(entry.expires.shown().as_str());
    json.raw("}");
}

fn write_refusals(json: &mut Json, entry: &RefusalEntry) {
    json.first_field(&audit::REFUSAL);
    json.raw("{");
    json.first_field(&audit::REASON);
    json.word(entry.reason.as_str());
    if !entry.client.is_empty() {
        json.field(&audit::REFUSED_CLIENT);
        json.quoted(&entry.client);
    }
    json.field(&audit::COUNT);
    json.value(&entry.n);
    json.field(&audit::SINCE);
    json.word(entry.since.shown().as_str());
    json.raw("}");
}

#[cfg(test)]
mod tests {
    use super::changed;

    #[test]
    fn fields_that_came_went_or_differ_have_changed() {
        let before = r#"{"a":1,"b":{"c":[1]},"d":"x","same":null}"#;
        let after = r#"{"a":2,"b":{"c":[2]},"e":"x","same":null}"#;
        assert_eq!(changed(before, after), ["a", "b", "e", "d"]);
        assert!(changed(before, before).is_empty());
    }
}
