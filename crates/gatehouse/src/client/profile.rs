//! Profiles: what a person would otherwise say with every command, by name, in one file.
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
//! Flags and variables come before it. Tokens are not in it: `session.rs` keeps those apart.
//!
//! | file | what it has |
//! |---|---|
//! | `name` | what a profile may be called |
//! | `edit` | changing the file, and leaving the rest as people wrote it |
//! | `command` | `gatehouse profile` |

pub(crate) mod edit;
mod name;

pub(crate) use edit::Edit;
#[cfg(any(test, fuzzing))]
pub(crate) use edit::set_profile;
pub(crate) use name::ProfileName;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::failure::Failure;
use crate::terminal::output::Form;

/// The profile that is meant where none is named.
const DEFAULT: &str = "default";

/// What the file is called.
const FILE: &str = "config.toml";

/// What is said by one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) name: String,
    pub(crate) url: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) output: Option<Form>,
}

/// The whole file.
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
    pub(crate) output: Option<Form>,
}

impl Profile {
    /// The profile of this name, or the one that is meant without any. A name that the file doesn't have is an
    /// error, so that a mistyped one never leads to another server.
    pub(crate) fn load(name: Option<&str>) -> Result<Self, Failure> {
        let profiles = Profiles::load()?;
        let meant = profiles.meant(name);
        match profiles.profile(meant) {
            Some(profile) => Ok(profile),
            None => Err(profiles.no_profile(meant)),
        }
    }

    /// The same, or a new one, which needs an address.
    pub(crate) fn load_or_new(name: Option<&str>, has_url: bool) -> Result<Self, Failure> {
        let profiles = Profiles::load()?;
        let meant = profiles.meant(name);
        let name: ProfileName = meant.parse()?;
        match profiles.profile(meant) {
            Some(profile) => Ok(profile),
            None if has_url => Ok(Self { name: name.to_string(), ..Self::default() }),
            None => Err(profiles.no_profile(meant)),
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

    /// The name of the profile that is meant.
    pub(crate) fn meant<'a>(&'a self, named: Option<&'a str>) -> &'a str {
        named.or(self.default.as_deref()).unwrap_or(DEFAULT)
    }

    /// A profile that is there. The one that is meant without a name always is.
    pub(crate) fn profile(&self, name: &str) -> Option<Profile> {
        let fields = match self.profiles.get(name) {
            Some(fields) => fields.clone(),
            None if name == DEFAULT => Fields::default(),
            None => return None,
        };
        let Fields { url, tenant, output } = fields;
        Some(Profile { name: name.to_owned(), url, tenant, output })
    }

    /// The names of those that are written down.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.profiles.keys().map(String::as_str)
    }

    pub(crate) fn no_profile(&self, name: &str) -> Failure {
        let known: Vec<_> = self.profiles.keys().map(|it| format!("`{it}`")).collect();
        let known = if known.is_empty() { "none".into() } else { known.join(", ") };
        Failure::input(format!("there is no profile `{name}`; there is: {known}"))
            .advise(format!("`gatehouse login --profile {name} --url …` makes it"))
    }
}

/// Where profiles and tokens are, if this person has a place for such things.
pub(crate) fn directory() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    Some(config?.join("gatehouse"))
}

/// Where profiles are.
fn file() -> Option<PathBuf> {
    Some(directory()?.join(FILE))
}

/// There is no place for such things.
pub(crate) fn no_home() -> Failure {
    Failure::input("there is no place to keep profiles and tokens")
        .advise("set HOME or XDG_CONFIG_HOME to a directory, from the root on")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_a_profile_that_is_there() {
        let text = "default = 'prod'\n[profiles.prod]\nurl = 'https://a'\n[profiles.lab]\n";
        let profiles: Profiles = toml::from_str(text).unwrap();
        for (named, expected) in
            [(None, Some("prod")), (Some("lab"), Some("lab")), (Some("prdo"), None)]
        {
            let meant = profiles.meant(named);
            let found = profiles.profile(meant).map(|it| it.name);
            assert_eq!(found.as_deref(), expected, "{named:?}");
        }
        let shown = profiles.no_profile("prdo").to_string();
        assert!(shown.contains("`prdo`; there is: `lab`, `prod`"), "{shown}");
        assert_eq!(Profiles::default().meant(None), "default");
        assert!(Profiles::default().profile("default").is_some());
    }
}
