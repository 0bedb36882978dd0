//! `gatehouse token`: tokens of the built-in issuer, for people who have no identity provider.

use clap::{Args, Subcommand};
use gatehouse_core::TenantName;
use gatehouse_core::rights::{Tenants, parse_scopes};
use gatehouse_server::auth::{Auth, Grant};
use gatehouse_server::config::Config;
use gatehouse_server::keys;
use gatehouse_store::Clock;
use jiff::SignedDuration;

use crate::client::oauth;
use crate::commands::serve::Settings;
use crate::host::open_store::{self, Intent};
use crate::terminal::text_input;

/// Most characters of a token's identifier.
const ID_CHARS_MAX: usize = 256;

/// Longest life of a token.
pub(crate) const LIFETIME_DAYS_MAX: i64 = 3660;

/// Longest life of a token without `--long-lived`, in days.
const USUAL_DAYS_MAX: i64 = 90;

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// Make a token of the built-in issuer, or revoke one
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Token {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// A tenant that the token is for, as often as needed; `*` for all
    #[arg(long, value_name = "NAME", required = true)]
    tenant: Vec<String>,
    /// What it allows: access:read, access:write, access:verify, product:read, event:read,
    /// event:write, admin; several with spaces between
    #[arg(long, value_name = "SCOPES", required = true)]
    scope: Option<String>,
    /// How long it is good for, such as 15m, 1h or 30d
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    ttl: String,
    /// Let it be good for more than 90 days
    #[arg(long)]
    long_lived: bool,
    /// Whose it is; stands in the log
    #[arg(long, value_name = "NAME", default_value = "cli")]
    subject: String,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Subcommand)]
enum Verb {
    /// Have every server refuse a token from now on
    Revoke(Revoke),
}

#[derive(Args)]
#[command(after_help = "\
Servers refuse it within a second. Tokens of clients end with their client: gatehouse client delete.")]
struct Revoke {
    /// The token's identifier (its claim `jti`), or the token itself; @FILE for what is in a file, @- for standard input
    #[arg(value_name = "JTI")]
    token: String,
    #[command(flatten)]
    settings: Settings,
}

impl Token {
    pub(crate) fn run(self) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|cause| format!("no thread to run on: {cause}"))?;
        if let Some(Verb::Revoke(revoke)) = self.verb {
            return runtime.block_on(revoke.run());
        }
        let scope = self.scope.unwrap_or_default();
        let grant = Grant {
            tenants: read_tenants(&self.tenant)?,
            scopes: parse_scopes(&scope).map_err(|bad| format!("--scope {bad}"))?,
            lifetime_seconds: read_seconds("--ttl", &self.ttl, 1)?,
            subject: self.subject,
        };
        if grant.lifetime_seconds > USUAL_DAYS_MAX * DAY_SECONDS && !self.long_lived {
            return Err(format!(
                "--ttl: a token of more than {USUAL_DAYS_MAX}d needs --long-lived beside it; a client \
                 (`gatehouse client create`) fetches its short ones itself"
            ));
        }
        let config = self.settings.load(&[])?;
        println!("{}", runtime.block_on(issue(&config, &grant))?);
        Ok(())
    }
}

impl Revoke {
    async fn run(self) -> Result<(), String> {
        let given = text_input::given_secret(&self.token).map_err(|why| why.said().to_owned())?;
        let id = match given.matches('.').count() {
            2 => token_id(&given)
                .ok_or("the token has no identifier (`jti`), so it can't be revoked")?,
            _ => given.trim().to_owned(),
        };
        let is_id =
            (1..=ID_CHARS_MAX).contains(&id.chars().count()) && !id.chars().any(char::is_control);
        if !is_id {
            return Err(format!(
                "a token's identifier has 1 to {ID_CHARS_MAX} characters, none of them a control character; it is the \
                 claim `jti` of the token"
            ));
        }
        let config = self.settings.load(&[])?;
        let app = open_store::open(&config, Intent::Look).await?;
        let ended = app.store.revoke_token(&id).await;
        app.store.close().await;
        ended.map_err(|why| why.explained())?;
        println!("token {id} is refused from now on");
        Ok(())
    }
}

async fn issue(config: &Config, grant: &Grant) -> Result<String, String> {
    let clock = Clock::machine();
    let key = keys::open_token_key(config, clock.clone()).await.map_err(|why| why.to_string())?;
    let auth = Auth::new(key, config.auth.audience.clone());
    Ok(auth.issue(grant, clock.now()))
}

/// The identifier that a token names.
fn token_id(token: &str) -> Option<String> {
    oauth::claims_of(token.trim())?.get("jti")?.as_str().map(str::to_owned)
}

fn read_tenants(names: &[String]) -> Result<Vec<String>, String> {
    for name in names {
        if name != Tenants::ALL_WORD {
            name.parse::<TenantName>().map_err(|bad| format!("--tenant: `{name}` {bad}"))?;
        }
    }
    Ok(names.to_vec())
}

/// Reads a time that tokens live: so many seconds at least.
pub(crate) fn read_seconds(flag: &str, text: &str, least: i64) -> Result<i64, String> {
    let bad = || {
        format!(
            "{flag}: must be a duration such as 15m, 1h or 30d, up to {LIFETIME_DAYS_MAX}d, \
             not `{text}`"
        )
    };
    // Days are no fixed time to the library, and 24 hours to everyone who wants a token.
    let seconds = match text.strip_suffix('d').map(str::parse::<i64>) {
        Some(Ok(days)) => days.checked_mul(24 * 60 * 60).ok_or_else(bad)?,
        _ => text.parse::<SignedDuration>().map_err(|_| bad())?.as_secs(),
    };
    let allowed = least..=LIFETIME_DAYS_MAX * 24 * 60 * 60;
    if allowed.contains(&seconds) { Ok(seconds) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_written_as_people_write_them() {
        for (text, seconds) in [("15m", 900), ("1h", 3600), ("30d", 2_592_000), ("90s", 90)] {
            assert_eq!(read_seconds("--ttl", text, 1), Ok(seconds), "{text}");
        }
        for bad in ["", "0s", "-1h", "soon", "1", "3661d", "99999999999999999d"] {
            assert!(read_seconds("--ttl", bad, 1).unwrap_err().contains("15m"), "{bad}");
        }
        assert_eq!(read_seconds("--former-for", "0s", 0), Ok(0));
    }
}
