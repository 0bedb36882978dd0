//! Settings and credentials that a connector needs, beyond those that all connectors have.

use gatehouse_core::account::Credentials;
use indexmap::IndexMap;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use zeroize::Zeroizing;

use super::path::text_of;
use super::pattern::Pattern;
use super::template::{Variable, VariableValues};
use super::variant::{Narrows, Variant};
use crate::account_settings::{SettingFault, Settings, kind, shown};
use crate::client::{AddressRules, BaseUrl};

/// Settings and credentials that an account needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AccountForm {
    /// Base URL of the platform, for accounts without one. Required in accounts if missing here.
    #[serde(default)]
    pub(crate) base_url: Option<String>,
    /// Settings beside `baseUrl`, `callsAtOnce` and `callsPerSecond`, by name.
    #[serde(default)]
    pub(crate) settings: IndexMap<String, Setting>,
    /// Credentials, by name.
    #[serde(default)]
    pub(crate) credentials: IndexMap<String, Credential>,
}

/// A setting of an account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Setting {
    /// Purpose of the setting.
    pub(crate) description: String,
    /// Whether it is a URL that calls may go to. The same address rules hold as for the base URL.
    #[serde(default)]
    pub(crate) is_url: bool,
    /// Value for accounts without one. If missing, accounts need a value, unless it is optional.
    #[serde(default)]
    pub(crate) default: Option<String>,
    /// Whether accounts may leave it out; whatever uses it is then left out as well.
    #[serde(default)]
    pub(crate) optional: bool,
    /// Pattern that the whole value must match.
    #[serde(default)]
    pub(crate) matches: Option<Pattern>,
    /// A size of the manifest that it makes smaller for the account: it is then a whole number, up to that size.
    #[serde(default)]
    pub(crate) narrows: Option<Narrows>,
    /// Replacements of `paging` and `list` for accounts with these values. The default stands for the manifest's own;
    /// no other value is right.
    #[serde(default)]
    pub(crate) variants: IndexMap<String, Variant>,
}

/// A secret of an account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Credential {
    /// Purpose of the credential, and where to get it.
    pub(crate) description: String,
    /// Whether accounts may leave it out.
    #[serde(default)]
    pub(crate) optional: bool,
    /// Pattern that the whole value must match.
    #[serde(default)]
    pub(crate) matches: Option<Pattern>,
}

/// Most characters of a credential or a setting.
const CHARS_MAX: usize = 8192;

/// Characters of a value that a fault repeats.
const SHOWN_CHARS_MAX: usize = 64;

/// Settings and credentials of an account, checked.
#[derive(Clone)]
pub(crate) struct AccountValues {
    settings: IndexMap<String, String>,
    credentials: Credentials,
    /// URLs among the settings.
    pub(crate) addresses: Vec<BaseUrl>,
}

impl AccountForm {
    /// Checks an account's settings, without those common to all connectors, and credentials; returns every fault. `sizes` are
    /// the smallest and the largest that a setting may narrow a size to.
    pub(in crate::manifest) fn read(
        &self,
        settings: &Settings,
        credentials: &Credentials,
        rules: &AddressRules,
        sizes: &dyn Fn(Narrows) -> (u32, u32),
    ) -> Result<AccountValues, Vec<SettingFault>> {
        let mut faults = Vec::new();
        let mut fault = |name: String, reason: String| faults.push(SettingFault { name, reason });
        for name in settings.keys().filter(|name| !self.settings.contains_key(*name)) {
            let others: String = self.settings.keys().map(|it| format!(", {it}")).collect();
            fault(
                format!("settings.{name}"),
                format!(
                    "is not a setting of this connector; it may have baseUrl, callsAtOnce, \
                     callsPerSecond{others}"
                ),
            );
        }
        let (mut values, mut addresses) = (IndexMap::new(), Vec::new());
        for (name, setting) in &self.settings {
            let given = settings.get(name);
            match setting.check_size(given, sizes).and_then(|()| setting.read(given, rules)) {
                Ok(Some((text, address))) => {
                    values.insert(name.clone(), text);
                    addresses.extend(address);
                }
                Ok(None) => {}
                Err(reason) => fault(format!("settings.{name}"), reason),
            }
        }
        for name in credentials.names().filter(|name| !self.credentials.contains_key(*name)) {
            let known: Vec<&str> = self.credentials.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            fault(
                format!("credentials.{name}"),
                format!("is not a credential of this connector; it has {known}"),
            );
        }
        for (name, credential) in &self.credentials {
            let is_printable = |it: &str| !it.is_empty() && !it.chars().any(char::is_control);
            match credentials.reveal(name) {
                Some(secret) if is_printable(secret) && secret.len() <= CHARS_MAX => {
                    if let Some(pattern) =
                        credential.matches.as_ref().filter(|it| !it.matches(secret))
                    {
                        fault(format!("credentials.{name}"), format!("must be like `{pattern}`"));
                    }
                }
                Some(_) => fault(
                    format!("credentials.{name}"),
                    format!(
                        "must have 1 to {CHARS_MAX} characters, none of them a control character"
                    ),
                ),
                None if credential.optional => {}
                None => fault(format!("credentials.{name}"), "is missing".into()),
            }
        }
        if faults.is_empty() {
            Ok(AccountValues { settings: values, credentials: credentials.clone(), addresses })
        } else {
            Err(faults)
        }
    }
}

impl AccountForm {
    /// URLs among an account's settings; `None` if one is invalid.
    pub(crate) fn addresses(
        &self,
        settings: &Settings,
        rules: &AddressRules,
    ) -> Option<Vec<BaseUrl>> {
        let of_urls = self.settings.iter().filter(|(_, setting)| setting.is_url);
        let read = of_urls.map(|(name, setting)| setting.read(settings.get(name), rules).ok());
        let read: Option<Vec<_>> = read.collect();
        Some(read?.into_iter().flatten().filter_map(|(_, address)| address).collect())
    }
}

impl Setting {
    /// Whether a setting that narrows a size is one that the size can be narrowed to.
    fn check_size(
        &self,
        given: Option<&Value>,
        sizes: &dyn Fn(Narrows) -> (u32, u32),
    ) -> Result<(), String> {
        let (Some(narrows), Some(value)) = (self.narrows, given) else { return Ok(()) };
        let (min, max) = sizes(narrows);
        let is_right = value.as_u64().is_some_and(|it| (min.into()..=max.into()).contains(&it));
        let wrong = || format!("must be a whole number, {min} to {max}, not {}", shown(value));
        is_right.then_some(()).ok_or_else(wrong)
    }

    fn read(
        &self,
        given: Option<&Value>,
        rules: &AddressRules,
    ) -> Result<Option<(String, Option<BaseUrl>)>, String> {
        let text = match given {
            Some(value) => text_of(value)
                .ok_or_else(|| {
                    format!("must be a text, a number or a truth value, not {}", kind(value))
                })?
                .into_owned(),
            None => match (&self.default, self.optional) {
                (Some(default), _) => default.clone(),
                (None, true) => return Ok(None),
                (None, false) => return Err("is missing".into()),
            },
        };
        if text.is_empty() || text.len() > CHARS_MAX || text.chars().any(char::is_control) {
            return Err(format!(
                "must have 1 to {CHARS_MAX} characters, none of them a control character"
            ));
        }
        if let Some(pattern) = self.matches.as_ref().filter(|it| !it.matches(&text)) {
            return Err(format!("must be like `{pattern}`"));
        }
        let known = self.default.iter().chain(self.variants.keys());
        if !self.variants.is_empty() && !known.clone().any(|it| *it == text) {
            let known = known.map(String::as_str).collect::<Vec<_>>().join(", ");
            let text: String = text.chars().take(SHOWN_CHARS_MAX).collect();
            return Err(format!("must be one of {known}, not `{text}`"));
        }
        if !self.is_url {
            return Ok(Some((text, None)));
        }
        let address = BaseUrl::parse(&text, rules).map_err(|bad| bad.to_string())?;
        Ok(Some((text, Some(address))))
    }
}

impl VariableValues for AccountValues {
    fn value_of(&self, variable: &Variable) -> Option<Zeroizing<String>> {
        match variable {
            Variable::Credential(name) => {
                self.credentials.reveal(name).map(|it| Zeroizing::new(it.to_owned()))
            }
            Variable::Setting(name) => self.settings.get(name).cloned().map(Zeroizing::new),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
