//! `gatehouse token`: tokens of the built-in issuer, where there is no identity provider.

use clap::{Args, Subcommand};
use gatehouse_core::TenantName;
use gatehouse_core::event::{Cause, Origin};
use gatehouse_core::rights::{Tenants, parse_scopes};
use gatehouse_server::auth::{Auth, Grant};
use gatehouse_server::config::Config;
use gatehouse_server::keys;
use gatehouse_store::Clock;
use jiff::SignedDuration;

use crate::client::oauth;
use crate::commands::serve::Settings;
use crate::host::open_store::{self, Intent};
use crate::runtime;
use crate::terminal::text_input;

/// Most characters of a token's identifier.
const ID_CHARS_MAX: usize = 256;

/// Longest lifetime of a token.
pub(crate) const LIFETIME_DAYS_MAX: i64 = 3660;

/// Longest lifetime of a token without `--long-lived`, in days.
const USUAL_DAYS_MAX: i64 = 90;

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// Create a token of the built-in issuer, or revoke one
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Token {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Tenant that the token is for, repeat for each; `*` for all
    #[arg(long, value_name = "NAME", required = true)]
    tenant: Vec<String>,
    /// Scopes of the token: access:read, access:write, access:verify, product:read, event:read, event:write, admin;
    /// separated by spaces
    #[arg(long, value_name = "SCOPES", required = true)]
    scope: Option<String>,
    /// Lifetime, such as 15m, 1h or 30d
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    ttl: String,
    /// Allow a lifetime of more than 90 days
    #[arg(long)]
    long_lived: bool,
    /// Subject of the token, which the log shows
    #[arg(long, value_name = "NAME", default_value = "cli")]
    subject: String,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Subcommand)]
enum Verb {
    /// Make every server refuse a token from now on
    Revoke(Revoke),
}

#[derive(Args)]
#[command(after_help = "\
Servers refuse it within a second. Tokens of clients end with their client: gatehouse client delete.")]
struct Revoke {
    /// The token's `jti` claim, or the token itself; @FILE reads it from a file, @- from standard input
    #[arg(value_name = "JTI")]
    token: String,
    #[command(flatten)]
    settings: Settings,
}

impl Token {
    pub(crate) fn run(self) -> Result<(), String> {
        if let Some(Verb::Revoke(revoke)) = self.verb {
            return runtime::run(revoke.run());
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
                "--ttl: a token of more than {USUAL_DAYS_MAX}d needs --long-lived as well; a client \
                 (`gatehouse client create`) gets short-lived ones itself"
            ));
        }
        let config = self.settings.load(&[])?;
        println!("{}", runtime::run(issue(&config, &grant))?);
        Ok(())
    }
}

impl Revoke {
    async fn run(self) -> Result<(), String> {
        let given =
            text_input::secret_or_file(&self.token).map_err(|why| why.message().to_owned())?;
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
        let app = open_store::open(&config, Intent::Read).await?;
        let ended = app.store.revoke_token(&id, &Origin::of(Cause::Command)).await;
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
    let (app, now) = (open_store::open(config, Intent::Read).await?, clock.now());
    let token = auth.issue(grant, now);
    // No token without a trace.
    let entries = grant.audited(&token, &Origin::of(Cause::Command), now);
    let written = app.store.write_audit(entries).await;
    app.store.close().await;
    written.map_err(|(_, why)| why.explained())?;
    Ok(token.text)
}

/// The token's `jti` claim.
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

/// Parses a token's lifetime in seconds, of at least `least`.
pub(crate) fn read_seconds(flag: &str, text: &str, least: i64) -> Result<i64, String> {
    let bad = || {
        format!(
            "{flag}: must be a duration such as 15m, 1h or 30d, up to {LIFETIME_DAYS_MAX}d, \
             not `{text}`"
        )
    };
    // The library has no fixed length for a day; for tokens it is 24 hours.
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
