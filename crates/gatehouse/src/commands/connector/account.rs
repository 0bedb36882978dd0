//! How an account is given to a command that asks one: out of an estate file, or by flags.

use std::path::{Path, PathBuf};

use clap::Args;
use gatehouse_connectors::{Catalog, ReplayPlatform, SettingFault, Settings};
use gatehouse_core::account::Credentials;
use gatehouse_core::{Account, ConnectorName, PlatformName, TenantName};
use gatehouse_server::app::account::AccountInput;
use gatehouse_server::estate::{Estate, Surroundings};
use serde_json::{Number, Value};

use crate::terminal::text_input::given_secret;

/// The tenant and the account that flags alone make.
const NOBODY: &str = "nobody";

/// The account to ask
#[derive(Args)]
#[command(next_help_heading = "The account to ask")]
pub(in crate::commands::connector) struct AccountArgs {
    /// An estate file that has the account
    #[arg(long, value_name = "FILE", requires = "account")]
    estate: Option<PathBuf>,
    /// The account in the estate file
    #[arg(long, value_name = "NAME", requires = "estate")]
    account: Option<String>,
    /// The tenant in the estate file, where several have such an account
    #[arg(long, value_name = "NAME", requires = "estate")]
    tenant: Option<String>,
    /// A setting of the account, such as baseUrl=URL; again for each
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A credential of the account; the value may be @FILE, ${env:NAME} or ${file:PATH}; again for each
    #[arg(long, value_name = "NAME=VALUE")]
    credential: Vec<String>,
    /// Let platforms elsewhere than on this machine and in private networks be reached without encryption
    #[arg(long)]
    pub(in crate::commands::connector) allow_insecure_urls: bool,
}

/// An account that can be asked.
pub(in crate::commands::connector) struct GivenAccount {
    pub(in crate::commands::connector) tenant: TenantName,
    pub(in crate::commands::connector) account: Account,
    pub(in crate::commands::connector) settings: Settings,
    pub(in crate::commands::connector) credentials: Credentials,
}

impl GivenAccount {
    /// The account that a stand-in knows.
    pub(in crate::commands::connector) fn of_stand_in(
        connector: &ConnectorName,
        stand_in: &ReplayPlatform,
    ) -> Result<Self, String> {
        let settings = stand_in.settings().clone();
        let credentials = stand_in.credentials().clone();
        Ok(Self { settings, credentials, ..of_flags(connector)? })
    }
}

impl AccountArgs {
    /// Whether there is one.
    pub(in crate::commands::connector) fn is_given(&self) -> bool {
        self.estate.is_some() || !self.set.is_empty() || !self.credential.is_empty()
    }

    /// The account, as a connector can ask it; or all that is wrong with it.
    pub(in crate::commands::connector) fn read(
        &self,
        catalog: &Catalog,
        connector: &ConnectorName,
    ) -> Result<GivenAccount, String> {
        let mut given = match &self.estate {
            Some(path) => self.in_estate(path)?,
            None => of_flags(connector)?,
        };
        if given.account.connector != *connector {
            let (account, theirs) = (&given.account.name, &given.account.connector);
            eprintln!(
                "note: account {account} has the connector {theirs}; here {connector} is used"
            );
            given.account.connector = connector.clone();
        }
        let here = Surroundings::of(Path::new(""));
        for pair in &self.set {
            let (name, value) = pair_of("--set", pair)?;
            let value = here.expand(value).map_err(|why| format!("--set {name} {why}"))?;
            given.settings.insert(name.to_owned(), setting(value));
        }
        for pair in &self.credential {
            let (name, value) = pair_of("--credential", pair)?;
            let told = |why: String| format!("--credential {name} {why}");
            let secret = match value.strip_prefix('@') {
                Some(_) => given_secret(value).map_err(|why| told(why.said().to_owned()))?,
                None => here.expand(value).map_err(|why| told(why.to_string()))?,
            };
            given.credentials.insert(name.to_owned(), secret);
        }
        let faults = catalog.faults(connector, &given.settings, &given.credentials);
        if faults.is_empty() {
            return Ok(given);
        }
        let listed: String = faults
            .iter()
            .map(|SettingFault { name, reason }| format!("\n  {name} {reason}"))
            .collect();
        Err(format!(
            "the account is not what {connector} asks for:{listed}\n\
             settings are given with --set NAME=VALUE, credentials with --credential NAME=VALUE, or both with \
             --estate FILE --account NAME"
        ))
    }

    fn in_estate(&self, path: &Path) -> Result<GivenAccount, String> {
        let estate = Estate::load(path).map_err(|bad| bad.to_string())?;
        let wanted = self.account.as_deref().unwrap_or_default();
        let of_tenant =
            |name: &TenantName| self.tenant.as_deref().is_none_or(|it| it == name.as_str());
        let all = estate
            .tenants
            .iter()
            .filter(|it| of_tenant(&it.tenant.name))
            .flat_map(|it| it.accounts.iter().map(|account| (it.tenant.name.clone(), account)));
        let all: Vec<_> = all.collect();
        let of_name = all.iter().filter(|(_, it)| it.account.name.as_str() == wanted);
        match of_name.collect::<Vec<_>>()[..] {
            [(tenant, AccountInput { account, settings, credentials })] => Ok(GivenAccount {
                tenant: tenant.clone(),
                account: account.clone(),
                settings: settings.clone(),
                credentials: credentials.clone().unwrap_or_default(),
            }),
            [] => {
                let names: Vec<_> = all
                    .iter()
                    .map(|(tenant, it)| format!("{tenant}/{}", it.account.name))
                    .collect();
                let known = if names.is_empty() { "none".into() } else { names.join(", ") };
                Err(format!("{} has no such account `{wanted}`; it has {known}", path.display()))
            }
            _ => {
                Err(format!("several tenants have an account `{wanted}`: say which with --tenant"))
            }
        }
    }
}

/// An account of which nothing is known yet.
fn of_flags(connector: &ConnectorName) -> Result<GivenAccount, String> {
    let bad = |what: String| format!("no account can be made for {connector}: {what}");
    let platform = connector.as_str().to_ascii_uppercase().replace('-', "_");
    let platform = platform.parse::<PlatformName>().map_err(|why| bad(why.to_string()))?;
    let account = Account {
        platform,
        name: NOBODY.parse().map_err(|_| bad(NOBODY.into()))?,
        connector: connector.clone(),
        platform_account: NOBODY.parse().map_err(|_| bad(NOBODY.into()))?,
    };
    let tenant = NOBODY.parse().map_err(|_| bad(NOBODY.into()))?;
    let (settings, credentials) = (Settings::new(), Credentials::default());
    Ok(GivenAccount { tenant, account, settings, credentials })
}

/// The parts of `NAME=VALUE`. What isn't one is not repeated: it may be a secret.
fn pair_of<'p>(flag: &str, pair: &'p str) -> Result<(&'p str, &'p str), String> {
    let parts = pair.split_once('=').filter(|(name, _)| !name.is_empty());
    parts.ok_or_else(|| format!("{flag} must be a name, `=` and a value"))
}

/// A setting: a number or a truth value where it is written like one, else a text.
fn setting(text: String) -> Value {
    let number = text.parse::<Number>().ok().filter(|it| it.to_string() == text);
    match (text.as_str(), number) {
        ("true", _) => Value::Bool(true),
        ("false", _) => Value::Bool(false),
        (_, Some(number)) => Value::Number(number),
        _ => Value::String(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_what_they_are_written_like() {
        for (text, value) in [
            ("12", json!(12)),
            ("0.5", json!(0.5)),
            ("true", json!(true)),
            ("007", json!("007")),
            ("1e3", json!("1e3")),
            ("https://a.example", json!("https://a.example")),
            ("", json!("")),
        ] {
            assert_eq!(setting(text.into()), value);
        }
    }

    #[test]
    fn what_is_no_pair_is_not_repeated() {
        assert_eq!(pair_of("--set", "a=b=c"), Ok(("a", "b=c")));
        assert_eq!(pair_of("--set", "a="), Ok(("a", "")));
        for bad in ["s3cret", "=s3cret", ""] {
            let why = pair_of("--credential", bad).unwrap_err();
            assert_eq!(why, "--credential must be a name, `=` and a value");
        }
    }
}
