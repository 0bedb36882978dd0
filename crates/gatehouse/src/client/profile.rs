//! Profiles: named sets of options, in one file.
//!
//! ```toml
//! # ~/.config/gatehouse/config.toml
//! default = "prod"
//!
//! [profiles.prod]
//! url = "https://gatehouse.example"
//! tenant = "acme"
//! output = "table"
//! ```
//!
//! Flags and variables take precedence. Tokens are stored elsewhere, by `session.rs`.
//!
//! | file | contents |
//! |---|---|
//! | `name` | valid profile names |
//! | `edit` | changes to the file that keep the rest as it was written |

pub(crate) mod edit;
mod name;

pub(crate) use edit::ProfilesEdit;
#[cfg(any(test, fuzzing))]
pub(crate) use edit::set_profile;
pub(crate) use name::ProfileName;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::failure::Failure;
use crate::terminal::output::OutputFormat;

/// The profile without a name or a `default` in the file.
const DEFAULT: &str = "default";

const FILE: &str = "config.toml";

/// A profile's options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) name: String,
    pub(crate) url: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) output: Option<OutputFormat>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Profiles {
    default: Option<String>,
    pub(crate) profiles: BTreeMap<String, Fields>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Fields {
    pub(crate) url: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) output: Option<OutputFormat>,
}

impl Profile {
    /// The profile of this name, or the default. An unknown name is an error, so that a mistyped one never leads to
    /// another server.
    pub(crate) fn load(name: Option<&str>) -> Result<Self, Failure> {
        let profiles = Profiles::load()?;
        let selected = profiles.selected(name);
        match profiles.profile(selected) {
            Some(profile) => Ok(profile),
            None => Err(profiles.no_profile(selected)),
        }
    }

    /// The profile of this name, or a new one, which needs an address.
    pub(crate) fn load_or_new(name: Option<&str>, has_url: bool) -> Result<Self, Failure> {
        let profiles = Profiles::load()?;
        let selected = profiles.selected(name);
        let name: ProfileName = selected.parse()?;
        match profiles.profile(selected) {
            Some(profile) => Ok(profile),
            None if has_url => Ok(Self { name: name.to_string(), ..Self::default() }),
            None => Err(profiles.no_profile(selected)),
        }
    }
}

impl Profiles {
    pub(crate) fn load() -> Result<Self, Failure> {
        let Some(path) = file() else { return Ok(Self::default()) };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(cause) => {
                return Err(Failure::input(format!("{} can't be read: {cause}", path.display())));
            }
        };
        toml::from_str(&text).map_err(|bad| {
            let bad = bad.to_string();
            Failure::input(format!("{} has a fault: {}", path.display(), bad.trim_end()))
        })
    }

    /// The name of the selected profile.
    pub(crate) fn selected<'a>(&'a self, named: Option<&'a str>) -> &'a str {
        named.or(self.default.as_deref()).unwrap_or(DEFAULT)
    }

    /// A profile of the file. `default` always exists.
    pub(crate) fn profile(&self, name: &str) -> Option<Profile> {
        let fields = match self.profiles.get(name) {
            Some(fields) => fields.clone(),
            None if name == DEFAULT => Fields::default(),
            None => return None,
        };
        let Fields { url, tenant, output } = fields;
        Some(Profile { name: name.to_owned(), url, tenant, output })
    }

    #[cfg(any(test, fuzzing))]
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.profiles.keys().map(String::as_str)
    }

    pub(crate) fn no_profile(&self, name: &str) -> Failure {
        let known: Vec<_> = self.profiles.keys().map(|it| format!("`{it}`")).collect();
        let known = if known.is_empty() { "none".into() } else { known.join(", ") };
        Failure::input(format!("there is no profile `{name}`; the file has: {known}"))
            .advise(format!("`gatehouse login --profile {name} --url …` creates it"))
    }
}

/// The directory of profiles and sessions; `None` without a home directory.
pub(crate) fn directory() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    Some(config?.join("gatehouse"))
}

fn file() -> Option<PathBuf> {
    Some(directory()?.join(FILE))
}

pub(crate) fn no_home() -> Failure {
    Failure::input("there is no directory for profiles and tokens")
        .advise("set HOME or XDG_CONFIG_HOME to an absolute path")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_selects_an_existing_profile() {
        let text = "default = 'prod'\n[profiles.prod]\nurl = 'https://a'\n[profiles.lab]\n";
        let profiles: Profiles = toml::from_str(text).unwrap();
        for (named, expected) in
            [(None, Some("prod")), (Some("lab"), Some("lab")), (Some("prdo"), None)]
        {
            let selected = profiles.selected(named);
            let found = profiles.profile(selected).map(|it| it.name);
            assert_eq!(found.as_deref(), expected, "{named:?}");
        }
        let shown = profiles.no_profile("prdo").to_string();
        assert!(shown.contains("`prdo`; the file has: `lab`, `prod`"), "{shown}");
        assert_eq!(Profiles::default().selected(None), "default");
        assert!(Profiles::default().profile("default").is_some());
    }
}
