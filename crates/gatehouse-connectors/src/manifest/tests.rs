//! Manifests against responses, and common test values.

mod faults;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde_json::json;
use zeroize::Zeroizing;

use crate::Manifest;
use crate::connector::{Capabilities, LookUp, PagingMethod};
use crate::manifest::format::template::{PageScope, Scope, Variable, VariableValues};

/// A manifest that uses every field.
pub(super) const GOOD: &str = include_str!("tests/good.yaml");

pub(super) fn read<T: DeserializeOwned>(yaml: &str) -> T {
    serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{error} in {yaml}"))
}

/// The error of a part of a manifest, without its position.
pub(super) fn parse_error<T: DeserializeOwned + std::fmt::Debug>(yaml: &str) -> String {
    serde_saphyr::from_str::<T>(yaml).unwrap_err().without_snippet().to_string()
}

/// Values by the names of their variables.
pub(super) struct Texts(pub(super) &'static [(&'static str, &'static str)]);

impl VariableValues for Texts {
    fn value_of(&self, variable: &Variable) -> Option<Zeroizing<String>> {
        let name = match variable {
            Variable::Credential(name) => format!("credentials.{name}"),
            Variable::Setting(name) => format!("settings.{name}"),
            Variable::Session(name) => format!("session.{name}"),
            _ => return None,
        };
        let text = self.0.iter().find(|(it, _)| *it == name);
        text.map(|(_, text)| Zeroizing::new((*text).to_owned()))
    }
}

const TEXTS: Texts = Texts(&[
    ("credentials.apiKey", "s3cret/+=&"),
    ("credentials.user", "ann"),
    ("settings.authUrl", "https://auth.example/v1/"),
    ("settings.org", "acme & co"),
    ("session.token", "tok-1"),
]);

/// 2023-11-14T22:13:20.123Z.
pub(super) fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(1_700_000_000_123)
}

/// The third page of 50, for these values.
pub(super) fn scope(values: &[String]) -> Scope<'_> {
    let page = PageScope { number: 3, offset: 100, size: 50, cursor: Some("c/3") };
    Scope { account: &TEXTS, session: Some(&TEXTS), page: Some(page), values, now: now() }
}

#[test]
fn an_account_has_the_variant_and_the_sizes_that_its_settings_say() {
    let setting = r#"
    paging:
      description: How it pages
      default: mark
      variants:
        offset:
          paging: { by: offset, size: { max: 80 } }
          list: { call: { get: /o, query: { o: "{page.offset}", n: "{page.size}" } }, items: $.all }
    pages: { description: The largest page, narrows: page_size, default: "90" }
    values: { description: The most values, narrows: look_up, optional: true }
"#;
    let text = GOOD.replacen("  settings:\n", &format!("  settings:{setting}"), 1);
    let manifest = Manifest::parse("m.yaml", &text).unwrap_or_else(|faults| panic!("{faults}"));
    let manifest = Arc::new(manifest);
    #[rustfmt::skip]
    let cases = [
        // settings                                        // by, largest page, values in a look-up
        (json!({}),                                         (PagingMethod::Cursor, 90, 50)),
        (json!({"pages": 7, "values": 6}),                  (PagingMethod::Cursor, 7, 6)),
        (json!({"paging": "mark", "values": 51}),           (PagingMethod::Cursor, 90, 50)),
        (json!({"paging": "offset"}),                       (PagingMethod::Offset, 80, 50)),
        (json!({"paging": "offset", "pages": 7}),           (PagingMethod::Offset, 7, 50)),
    ];
    for (settings, expected) in cases {
        let own = manifest.for_account(settings.as_object().unwrap());
        let Capabilities { paging, iccid, id, .. } = own.capabilities();
        let LookUp::Searched { values_max } = iccid else { panic!("{iccid:?}") };
        assert_eq!((paging.steps, paging.size_max, values_max), expected, "{settings}");
        assert_eq!(id, LookUp::Searched { values_max: 1 });
        // It is what it is, whatever it is asked for once more.
        assert!(Arc::ptr_eq(&own, &own.for_account(settings.as_object().unwrap())));
    }
    assert_eq!(manifest.summary().paging, "cursor in a header or offset");
    let plain = Arc::new(Manifest::parse("m.yaml", GOOD).unwrap());
    assert!(Arc::ptr_eq(&plain, &plain.for_account(&serde_json::Map::new())));
}

pub(super) fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|it| (*it).to_owned()).collect()
}
