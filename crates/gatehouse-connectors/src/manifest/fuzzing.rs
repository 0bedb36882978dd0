//! Fuzz targets of manifests, and of responses to the shipped ones.

use std::time::Duration;

use gatehouse_core::account::Credentials;
use gatehouse_core::product::is_local_id;
use http::HeaderMap;
use http::header::LINK;
use serde_json::Value;

use super::{Manifest, ManifestFault};
use crate::client::{AddressRules, Document, PlatformResponse};
use crate::fuzzing::FuzzedResponse;
use crate::manifest::format::paging::{NextPage, link, links};
use crate::manifest::format::path::{Path, text_of};
use crate::manifest::format::pattern::Pattern;
use crate::manifest::format::product::with_additions;
use crate::manifest::format::session::Session;
use crate::manifest::format::short_duration::ShortDuration;
use crate::manifest::format::template::Template;
use crate::manifests::Manifests;
use crate::{BaseUrl, SHOWN_BYTES_MAX, Settings};

/// A text is a manifest, or has faults on lines that exist.
pub(crate) fn manifest(text: &str) {
    match Manifest::parse("m.yaml", text) {
        Ok(manifest) => {
            // The rest is built from these.
            let _ = (manifest.capabilities(), manifest.secret_parameters());
        }
        Err(faults) => {
            assert!(!faults.each().is_empty());
            // YAML lines end with either, or both.
            let n_lines = text.split(['\n', '\r']).count() as u64;
            // A missing field at the end is reported on the line after the last.
            let is_there = |it: &ManifestFault| (1..=n_lines + 1).contains(&it.line);
            assert!(faults.each().iter().all(is_there), "{faults}");
        }
    }
}

/// A value that parses is printed as an equal one.
pub(crate) fn value(text: &str) {
    if let Ok(path) = Path::try_from(text.to_owned()) {
        let printed = path.to_string();
        assert_eq!(Path::try_from(printed.clone()).as_ref(), Ok(&path), "{printed}");
        let document = serde_json::json!({"a": [1, {"b": "x"}], "c": null, "d": {"e": 2.5}});
        path.assert_steps_are_the_query(&document);
    }
    if let Ok(template) = Template::try_from(text.to_owned()) {
        assert_eq!(template.to_string(), text);
        let _ = template.extract(text);
    }
    if let Ok(pattern) = Pattern::try_from(text.to_owned()) {
        assert_eq!(pattern.to_string(), text);
        // Patterns match whole texts, not lines.
        let _ = pattern.matches("a\nb");
    }
    let _ = ShortDuration::try_from(text.to_owned());
}

/// Links of a `Link` header are parts of its text.
pub(crate) fn link_header(text: &str) {
    for (url, relations) in links(text) {
        assert!(text.contains(&url));
        assert!(relations.iter().all(|it| text.contains(it.as_str())));
        assert!(!url.contains('>'));
    }
    let mut headers = HeaderMap::new();
    if let Ok(value) = text.parse() {
        headers.insert(LINK, value);
        assert_eq!(
            link(&headers, "next").is_some(),
            text.is_ascii()
                && links(text)
                    .iter()
                    .any(|(_, it)| it.iter().any(|it| it.eq_ignore_ascii_case("next")))
        );
    }
}

/// Settings and credentials form an account of a shipped connector, or have faults that name them.
pub(crate) fn account(bytes: &[u8]) {
    let Ok(Value::Object(given)) = serde_json::from_slice(bytes) else { return };
    let object = |name| given.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
    let settings: Settings = object("settings");
    let mut credentials = Credentials::default();
    for (name, secret) in object("credentials") {
        credentials.insert(name, text_of(&secret).unwrap_or_default().into_owned());
    }
    for manifest in Manifests::shipped().all() {
        match manifest.read_account(&settings, &credentials, &AddressRules::default()) {
            Ok(account) => {
                let of_https = |it: &BaseUrl| it.to_string().starts_with("https://");
                assert!(account.addresses.iter().all(of_https));
            }
            Err(faults) => {
                assert!(!faults.is_empty());
                let names = ["settings.", "credentials."];
                assert!(faults.iter().all(|it| names.iter().any(|name| it.name.starts_with(name))));
            }
        }
    }
}

/// A response to a shipped connector is a page of connections or a bounded failure; the first word names the connector.
pub(crate) fn response(bytes: &[u8]) {
    let Some(FuzzedResponse { word, response }) = FuzzedResponse::read(bytes) else { return };
    let manifests = Manifests::shipped();
    let Some(manifest) = manifests.get(word) else { return };
    let (headers, body) = (&response.headers, response.document());
    let _ = manifest.errors.meaning(response.status, body);
    let failure = response.failure_that_says(
        "the platform answered",
        manifest.errors.code(body).as_deref(),
        manifest.errors.message(body).as_deref(),
    );
    let shown = failure.response.expect("it has the response that it is about");
    assert!(shown.body.len() <= SHOWN_BYTES_MAX);
    let _ = (manifest.paging.total(headers, body), manifest.paging.is_last(body));
    if let Some(session) = &manifest.session {
        check_session(session, &response);
    }
    let items = match manifest.list.items.all(body).as_slice() {
        [Document::List(members)] => members.iter().collect(),
        nodes => nodes.to_vec(),
    };
    let next = manifest.paging.next.as_ref();
    match next.and_then(|it| it.next_page(headers, body, items.last().copied())) {
        Some(NextPage::Cursor(it) | NextPage::Link(it)) => assert!(!it.is_empty()),
        None => {}
    }
    for document in items {
        let Ok(connection) = manifest.product.connection(document, manifest.connectivity()) else {
            continue;
        };
        assert!(is_local_id(&connection.local_id));
        assert!(connection.identifiers.iter().all(|(_, number)| !number.is_empty()));
        if let Some(detail) = &manifest.detail {
            let connection = std::sync::Arc::new(connection);
            let more = with_additions(&connection, &detail.adds, std::slice::from_ref(document));
            assert_eq!(more.local_id, connection.local_id);
            assert!(more.identifiers.len() >= connection.identifiers.len());
        }
    }
}

/// Values of a log-in are not empty, and its lifetime can't overflow.
fn check_session(session: &Session, response: &PlatformResponse) {
    for call in &session.calls {
        for source in call.take.values().chain(&call.expires_in) {
            let text = source.text(&response.headers, response.document());
            assert!(text.as_ref().is_none_or(|it| !it.is_empty()));
            let seconds = text.and_then(|it| it.trim().parse::<f64>().ok());
            let _ = seconds.and_then(|it| Duration::try_from_secs_f64(it).ok());
        }
    }
}
