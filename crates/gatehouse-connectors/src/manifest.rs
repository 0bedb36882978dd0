//! Manifests: a platform described by a file.
//!
//! A [`Manifest`] describes in YAML how one platform authenticates, pages, looks up, names its states and reports
//! errors. `format` has a file for each part, `check.rs` checks that the parts fit together, and `run` calls a platform
//! by its manifest. `docs/writing-a-connector.md` is the reference.

mod check;
pub(crate) mod format;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
pub(crate) mod run;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use gatehouse_core::ConnectorName;
use gatehouse_core::account::Credentials;
use gatehouse_core::product::Connectivity;
#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use crate::account_settings::{SettingFault, Settings};
use crate::client::AddressRules;
use crate::connector::{self, Capabilities};
use crate::manifest::format::account::{AccountForm, AccountValues, Setting};
use crate::manifest::format::call::EveryCall;
use crate::manifest::format::detail::Detail;
use crate::manifest::format::errors::Errors;
use crate::manifest::format::limits::Limits;
use crate::manifest::format::list::List;
use crate::manifest::format::look_up::LookUps;
use crate::manifest::format::paging::Paging;
use crate::manifest::format::path::text_of;
use crate::manifest::format::product::Mapping;
use crate::manifest::format::session::Session;
use crate::manifest::format::variant::{Narrows, Variant};
use crate::manifest::format::{field_position, template};

/// A platform described by a file: how to call it, and what its responses mean.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, schemars(title = "A gatehouse connector"))]
pub struct Manifest {
    /// Version of the manifest format: 1.
    pub(crate) manifest: Version,
    /// Name of the connector in accounts: lower-case letters, digits and hyphens.
    pub(crate) name: Name,
    /// Name of the platform for people.
    pub(crate) title: String,
    /// Connection type of its connections, unless the mapping says otherwise.
    pub(crate) connectivity: ConnectivityWord,
    /// Public pages that the manifest was written from.
    #[serde(default)]
    pub(crate) documentation: Vec<String>,
    /// Settings and credentials that an account needs.
    #[serde(default)]
    pub(crate) account: AccountForm,
    /// How to log in, if the platform has sessions.
    #[serde(default)]
    pub(crate) session: Option<Session>,
    /// Headers and parameters of every call except those of the session.
    #[serde(default)]
    pub(crate) every_call: EveryCall,
    /// How lists are paged.
    pub(crate) paging: Paging,
    /// How to read the list of all connections.
    pub(crate) list: List,
    /// How to look up connections.
    pub(crate) look_up: LookUps,
    /// Parts that the list leaves out, and how to read them.
    #[serde(default)]
    pub(crate) detail: Option<Detail>,
    /// How a document becomes a product.
    pub(crate) product: Mapping,
    /// Meaning of responses.
    #[serde(default)]
    pub(crate) errors: Errors,
    /// Limits on calls.
    #[serde(default)]
    pub(crate) limits: Limits,
}

/// Version of the manifest format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u64")]
pub(crate) struct Version;

impl TryFrom<u64> for Version {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        if number == 1 { Ok(Self) } else { Err(format!("must be 1, not {number}")) }
    }
}

#[cfg(test)]
impl JsonSchema for Version {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Version".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "description": "Version of the manifest format: 1.", "const": 1 })
    }
}

/// Name of a connector.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(try_from = "String")]
#[cfg_attr(test, schemars(with = "String"))]
pub(crate) struct Name(ConnectorName);

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map(Self).map_err(|bad| format!("{bad}"))
    }
}

/// Type of connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum ConnectivityWord {
    /// Cellular network.
    Cellular,
    /// Satellite.
    Satellite,
}

/// All faults of a manifest, line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFaults {
    file: String,
    faults: Vec<ManifestFault>,
}

/// A fault of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFault {
    /// Line, from one.
    pub line: u64,
    /// Column, from one.
    pub column: u64,
    /// The fault, and how to correct it.
    pub what: String,
}

impl Manifest {
    /// Parses and checks a manifest; `file` is its name in faults.
    pub fn parse(file: &str, text: &str) -> Result<Self, ManifestFaults> {
        let bad = |faults| ManifestFaults { file: file.to_owned(), faults };
        let manifest: Self = serde_saphyr::from_str(text).map_err(|error| {
            let location = error.location();
            let what = error.without_snippet().to_string();
            // The library repeats the position at the end.
            let what =
                what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what).to_owned();
            // And adds advice for programmers.
            let what = what.split(", set DuplicateKeyPolicy").next().unwrap_or_default().to_owned();
            let (line, column) = location.map_or((1, 1), |it| (it.line(), it.column()));
            bad(vec![ManifestFault { line, column, what }])
        })?;
        let faults = check::faults(&manifest);
        if faults.is_empty() {
            return Ok(manifest);
        }
        let positions = field_position::FieldPositions::read(text);
        let located = faults.into_iter().map(|(field, reason)| {
            let (line, column) = positions.of(&field);
            ManifestFault { line, column, what: format!("`{field}` {reason}") }
        });
        Err(bad(located.collect()))
    }

    /// JSON Schema of the format, for editors. A test compares it with the types: deriving it here would double their
    /// compile time.
    pub const SCHEMA: &str = include_str!("../../../connectors/manifest.schema.json");

    /// Name of the connector in accounts.
    pub fn name(&self) -> &ConnectorName {
        &self.name.0
    }

    /// The settings and credentials of an account, or every fault in them. `settings` are those that not all
    /// connectors have.
    pub(crate) fn read_account(
        &self,
        settings: &Settings,
        credentials: &Credentials,
        rules: &AddressRules,
    ) -> Result<AccountValues, Vec<SettingFault>> {
        self.account.read(settings, credentials, rules, &|narrows| self.sizes(narrows))
    }

    /// The manifest as it holds for an account: in the variant that its settings choose, with the sizes that they
    /// narrow. Nothing in the result depends on settings any more, except templates.
    pub(crate) fn for_account(self: &Arc<Self>, settings: &Settings) -> Arc<Self> {
        let is_plain = |it: &Setting| it.variants.is_empty() && it.narrows.is_none();
        if self.account.settings.values().all(is_plain) {
            return Arc::clone(self);
        }
        let mut own = Self::clone(self);
        let mut sizes = Vec::new();
        for (name, setting) in &mut own.account.settings {
            let (narrows, variants) =
                (setting.narrows.take(), std::mem::take(&mut setting.variants));
            let default = setting.default.as_deref().map(Cow::from);
            let Some(value) = settings.get(name).and_then(text_of).or(default) else { continue };
            if let Some(Variant { paging, list }) = variants.get(&*value) {
                (own.paging, own.list) = (paging.clone(), list.clone());
            }
            sizes.extend(narrows.zip(value.parse().ok()));
        }
        for (narrows, size) in sizes {
            own.narrow(narrows, size);
        }
        Arc::new(own)
    }

    fn narrow(&mut self, narrows: Narrows, size: u32) {
        match narrows {
            Narrows::PageSize => {
                let max = &mut self.paging.size.max;
                *max = max.map(|it| it.min(size));
            }
            Narrows::LookUp => {
                for search in self.look_up.searches_mut() {
                    search.at_once = search.at_once.min(size);
                }
            }
        }
    }

    /// The smallest and the largest size that a setting may narrow one to.
    fn sizes(&self, narrows: Narrows) -> (u32, u32) {
        match narrows {
            Narrows::PageSize => self.paging.size.bounds(),
            Narrows::LookUp => {
                let searches = self.look_up.all().into_iter().filter_map(|(_, it)| it.search());
                (1, searches.map(|it| it.at_once).max().unwrap_or(1))
            }
        }
    }

    /// Capabilities of the platform.
    pub fn capabilities(&self) -> Capabilities {
        let [id, iccid, imsi, msisdn, serial_number] =
            self.look_up.all().map(|(_, look_up)| look_up.capability());
        let detail = self.detail.as_ref().map(|detail| {
            let numbers = detail.adds.identifiers.kinds().into_iter();
            let numbers = numbers.filter(|(_, selection)| !selection.picks().is_empty());
            connector::Detail {
                parts: detail.adds.parts(),
                numbers: numbers.map(|(kind, _)| kind).collect(),
                values_max: detail.at_once,
            }
        });
        let paging = self.paging.capabilities();
        Capabilities { paging, id, iccid, imsi, msisdn, serial_number, detail }
    }

    /// Query parameters that hold secrets.
    pub(crate) fn secret_parameters(&self) -> Vec<String> {
        self.parameters(template::Template::is_secret)
    }

    /// Query parameters that hold the current time.
    pub(crate) fn time_parameters(&self) -> Vec<String> {
        let is_time = |it: &template::Variable| matches!(it, template::Variable::Now { .. });
        self.parameters(|template| template.mentions(is_time))
    }

    fn parameters(&self, is_meant: impl Fn(&template::Template) -> bool) -> Vec<String> {
        let searches = self.look_up.all().into_iter().filter_map(|(_, it)| it.search());
        let searches = searches.map(|it| &it.call);
        let sessions = self.session.iter().flat_map(|it| &it.calls).map(|it| &it.call);
        let detail = self.detail.iter().map(|it| &it.call);
        let calls = [&self.list.call].into_iter().chain(searches).chain(sessions).chain(detail);
        let queries = calls.map(|it| &it.query).chain([&self.every_call.query]);
        let all = queries.flatten().filter(|(_, it)| it.templates().into_iter().any(&is_meant));
        all.map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn connectivity(&self) -> Connectivity {
        match self.connectivity {
            ConnectivityWord::Cellular => Connectivity::Cellular,
            ConnectivityWord::Satellite => Connectivity::Satellite,
        }
    }
}

impl ManifestFaults {
    /// All faults.
    pub fn each(&self) -> &[ManifestFault] {
        &self.faults
    }
}

impl fmt::Display for ManifestFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, ManifestFault { line, column, what }) in self.faults.iter().enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}:{line}:{column}: {what}", self.file)?;
        }
        Ok(())
    }
}

impl std::error::Error for ManifestFaults {}

#[cfg(test)]
mod tests;
