//! Manifests against responses, and common test values.

mod faults;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

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

pub(super) fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|it| (*it).to_owned()).collect()
}
