//! The account to query: from an estate file, or from flags.

use std::path::{Path, PathBuf};

use clap::Args;
use gatehouse_connectors::{Catalog, ReplayPlatform, SettingFault, Settings};
use gatehouse_core::account::Credentials;
use gatehouse_core::{Account, ConnectorName, PlatformName, TenantName};
use gatehouse_server::app::account::AccountInput;
use gatehouse_server::estate::{Estate, ExpansionContext};
use serde_json::{Number, Value};

use crate::terminal::text_input::secret_or_file;

/// Tenant and account name of an account from flags.
const PLACEHOLDER: &str = "unnamed";

/// The account to query
#[derive(Args)]
#[command(next_help_heading = "Account to query")]
pub(in crate::commands::connector) struct AccountArgs {
    /// Estate file with the account
    #[arg(long, value_name = "FILE", requires = "account")]
    estate: Option<PathBuf>,
    /// Account in the estate file
    #[arg(long, value_name = "NAME", requires = "estate")]
    account: Option<String>,
    /// Tenant in the estate file, where several have such an account
    #[arg(long, value_name = "NAME", requires = "estate")]
    tenant: Option<String>,
    /// Setting of the account, such as baseUrl=URL; repeat for each
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Credential of the account; the value may be @FILE, ${env:NAME} or ${file:PATH}; repeat for each
    #[arg(long, value_name = "NAME=VALUE")]
    credential: Vec<String>,
    /// Allow unencrypted connections to platforms outside of this machine and private networks
    #[arg(long)]
    pub(in crate::commands::connector) allow_insecure_urls: bool,
}

/// An account to query.
pub(in crate::commands::connector) struct QueriedAccount {
    pub(in crate::commands::connector) tenant: TenantName,
    pub(in crate::commands::connector) account: Account,
    pub(in crate::commands::connector) settings: Settings,
    pub(in crate::commands::connector) credentials: Credentials,
}

impl QueriedAccount {
    /// The account of a replay platform.
    pub(in crate::commands::connector) fn of_replay(
        connector: &ConnectorName,
        replay: &ReplayPlatform,
    ) -> Result<Self, String> {
        let settings = replay.settings().clone();
        let credentials = replay.credentials().clone();
        Ok(Self { settings, credentials, ..placeholder_account(connector)? })
    }
}

impl AccountArgs {
    /// Whether the flags name an account.
    pub(in crate::commands::connector) fn is_given(&self) -> bool {
        self.estate.is_some() || !self.set.is_empty() || !self.credential.is_empty()
    }

    /// The account, checked by its connector; or all of its faults.
    pub(in crate::commands::connector) fn read(
        &self,
        catalog: &Catalog,
        connector: &ConnectorName,
    ) -> Result<QueriedAccount, String> {
        let mut given = match &self.estate {
            Some(path) => self.in_estate(path)?,
            None => placeholder_account(connector)?,
        };
        if given.account.connector != *connector {
            let (account, other) = (&given.account.name, &given.account.connector);
            eprintln!(
                "note: account {account} has the connector {other}; here {connector} is used"
            );
            given.account.connector = connector.clone();
        }
        let here = ExpansionContext::of(Path::new(""));
        for pair in &self.set {
            let (name, value) = pair_of("--set", pair)?;
            let value = here.expand(value).map_err(|why| format!("--set {name} {why}"))?;
            given.settings.insert(name.to_owned(), setting(value));
        }
        for pair in &self.credential {
            let (name, value) = pair_of("--credential", pair)?;
            let fault = |why: String| format!("--credential {name} {why}");
            let secret = match value.strip_prefix('@') {
                Some(_) => secret_or_file(value).map_err(|why| fault(why.message().to_owned()))?,
                None => here.expand(value).map_err(|why| fault(why.to_string()))?,
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
            "the account doesn't satisfy {connector}:{listed}\n\
             settings are given with --set NAME=VALUE, credentials with --credential NAME=VALUE, or both with \
             --estate FILE --account NAME"
        ))
    }

    fn in_estate(&self, path: &Path) -> Result<QueriedAccount, String> {
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
            [(tenant, AccountInput { account, settings, credentials })] => Ok(QueriedAccount {
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

/// An account with placeholder names, and without settings and credentials.
fn placeholder_account(connector: &ConnectorName) -> Result<QueriedAccount, String> {
    let bad = |what: String| format!("no account can be made for {connector}: {what}");
    let platform = connector.as_str().to_ascii_uppercase().replace('-', "_");
    let platform = platform.parse::<PlatformName>().map_err(|why| bad(why.to_string()))?;
    let account = Account {
        platform,
        name: PLACEHOLDER.parse().map_err(|_| bad(PLACEHOLDER.into()))?,
        connector: connector.clone(),
        platform_account: PLACEHOLDER.parse().map_err(|_| bad(PLACEHOLDER.into()))?,
    };
    let tenant = PLACEHOLDER.parse().map_err(|_| bad(PLACEHOLDER.into()))?;
    let (settings, credentials) = (Settings::new(), Credentials::default());
    Ok(QueriedAccount { tenant, account, settings, credentials })
}

/// The parts of `NAME=VALUE`. The error doesn't repeat the text, which may be a secret.
fn pair_of<'p>(flag: &str, pair: &'p str) -> Result<(&'p str, &'p str), String> {
    let parts = pair.split_once('=').filter(|(name, _)| !name.is_empty());
    parts.ok_or_else(|| format!("{flag} must be a name, `=` and a value"))
}

/// A setting: a number or a boolean where it is written like one, else a text.
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
    fn settings_get_the_type_that_they_are_written_as() {
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
    fn a_malformed_pair_is_not_repeated() {
        assert_eq!(pair_of("--set", "a=b=c"), Ok(("a", "b=c")));
        assert_eq!(pair_of("--set", "a="), Ok(("a", "")));
        for bad in ["s3cret", "=s3cret", ""] {
            let why = pair_of("--credential", bad).unwrap_err();
            assert_eq!(why, "--credential must be a name, `=` and a value");
        }
    }
}
