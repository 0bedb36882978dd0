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

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::failure::Failure;
use crate::output::Form;

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
struct Profiles {
    default: Option<String>,
    profiles: BTreeMap<String, Fields>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fields {
    url: Option<String>,
    tenant: Option<String>,
    output: Option<Form>,
}

impl Profile {
    /// The profile of this name, or the one that is meant without any. A name that the file doesn't have is an
    /// error, so that a mistyped one never leads to another server.
    pub(crate) fn load(name: Option<&str>) -> Result<Self, Failure> {
        let profiles = Profiles::load()?;
        let meant = name.or(profiles.default.as_deref());
        let fields = match meant {
            None => profiles.profiles.get(DEFAULT).cloned().unwrap_or_default(),
            Some(DEFAULT) => profiles.profiles.get(DEFAULT).cloned().unwrap_or_default(),
            Some(name) => profiles.profiles.get(name).cloned().ok_or_else(|| {
                let known: Vec<_> = profiles.profiles.keys().map(|it| format!("`{it}`")).collect();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                Failure::input(format!("there is no profile `{name}`; there is: {known}"))
                    .advise(format!("`gatehouse login --profile {name} --url …` makes it"))
            })?,
        };
        let Fields { url, tenant, output } = fields;
        Ok(Self { name: meant.unwrap_or(DEFAULT).to_owned(), url, tenant, output })
    }
}

impl Profiles {
    fn load() -> Result<Self, Failure> {
        let Some(path) = directory().map(|it| it.join(FILE)) else { return Ok(Self::default()) };
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
}

/// Where profiles and tokens are, if this person has a place for such things.
pub(crate) fn directory() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    Some(config?.join("gatehouse"))
}
