//! The client side of the API, for the commands that use a running server.
//!
//! | file | contents |
//! |---|---|
//! | `server`, `tenant_server` | a server, and a server as one tenant uses it |
//! | `request`, `response` | requests; responses and problems |
//! | `pages` | lists, page by page |
//! | `event_stream` | a stream of events |
//! | `advice` | the next step after a problem |

mod advice;
mod event_stream;
mod pages;
mod request;
mod response;
mod server;
mod tenant_server;

pub(crate) use response::{ApiResponse, explained, rejection};
pub(crate) use server::Server;
pub(crate) use tenant_server::TenantServer;

use clap::{Args, ValueHint};
use gatehouse_core::TenantName;
use serde_json::Value;

use crate::client::environment::{self, flag_or_variable};
use crate::client::oauth;
use crate::client::profile::Profile;
use crate::client::session::Session;
use crate::client::wire::{Verbose, http_client};
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::OutputFormat;

/// The server's address without a flag, a variable or a profile.
const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// Server and credentials.
#[derive(Args)]
#[command(next_help_heading = "Server and credentials")]
pub(crate) struct ServerArgs {
    /// Profile for options that are not given, or GATEHOUSE_PROFILE [default: the file's default, or `default`]
    #[arg(long, value_name = "NAME", global = true, value_hint = ValueHint::Other)]
    profile: Option<String>,
    /// The server's address, or GATEHOUSE_URL [default: the profile's, or http://127.0.0.1:8080]
    #[arg(long, value_name = "URL", global = true, value_hint = ValueHint::Other)]
    url: Option<String>,
    /// Token, instead of the one from `gatehouse login`; @FILE reads it from a file, or set GATEHOUSE_TOKEN: neither
    /// shows in the process list
    #[arg(long, value_name = "TOKEN", global = true, value_hint = ValueHint::Other)]
    token: Option<String>,
    /// Show every request and its response, without secrets
    #[arg(short, long, global = true)]
    verbose: bool,
}

/// Server, credentials, tenant, and output format.
#[derive(Args)]
#[command(next_help_heading = "Server and credentials")]
pub(crate) struct TenantArgs {
    #[command(flatten)]
    pub(crate) server_args: ServerArgs,
    /// Tenant, or GATEHOUSE_TENANT [default: the profile's, or the token's only tenant]
    #[arg(long, value_name = "NAME", global = true, value_hint = ValueHint::Other)]
    tenant: Option<String>,
    /// Output format, or GATEHOUSE_OUTPUT [default: the profile's, or table]
    #[arg(short, long, value_name = "FORMAT", global = true)]
    output: Option<OutputFormat>,
}

impl ServerArgs {
    pub(crate) fn profile(&self) -> Result<Profile, Failure> {
        Profile::load(flag_or_variable(self.profile.as_deref(), "GATEHOUSE_PROFILE")?.as_deref())
    }

    /// The named profile or the default, also if `gatehouse login` has yet to create it.
    pub(crate) fn profile_or_new(&self) -> Result<Profile, Failure> {
        let named = flag_or_variable(self.profile.as_deref(), "GATEHOUSE_PROFILE")?;
        let url = flag_or_variable(self.url.as_deref(), "GATEHOUSE_URL")?;
        Profile::load_or_new(named.as_deref(), url.is_some())
    }

    /// Whether `--token` was given.
    pub(crate) fn has_token_flag(&self) -> bool {
        self.token.is_some()
    }

    /// Whether a token comes from the flag or the variable, which take precedence over a stored session.
    pub(crate) fn has_token(&self) -> Result<bool, Failure> {
        Ok(flag_or_variable(self.token.as_deref(), "GATEHOUSE_TOKEN")?.is_some())
    }

    /// The server's address: from the flag, the variable or the profile.
    pub(crate) fn url(&self, profile: &Profile) -> Result<String, Failure> {
        let explicit = flag_or_variable(self.url.as_deref(), "GATEHOUSE_URL")?;
        let given = explicit.as_deref().or(profile.url.as_deref()).unwrap_or(DEFAULT_URL).trim();
        let is_web = given.starts_with("http://") || given.starts_with("https://");
        let url = is_web.then(|| given.parse::<reqwest::Url>().ok()).flatten();
        match url {
            Some(url) if is_plain(&url) => Ok(given.trim_end_matches('/').to_owned()),
            _ => Err(Failure::input(format!(
                "the server's address must be like https://gatehouse.example:8443, without a user or a query, not `{}`",
                without_user(given)
            ))
            .advise("set it with --url, in GATEHOUSE_URL or in the profile")),
        }
    }

    pub(crate) fn verbose(&self) -> Verbose {
        Verbose::new(self.verbose)
    }

    /// A server with this token, which takes precedence over a stored session.
    pub(crate) fn open_with(&self, url: &str, token: &str) -> Result<Server, Failure> {
        let session = Session::given(token)?;
        Ok(Server::new(http_client()?, url.to_owned(), session, self.verbose()))
    }

    pub(crate) fn open(&self) -> Result<Server, Failure> {
        self.open_for(&self.profile()?)
    }

    fn open_for(&self, profile: &Profile) -> Result<Server, Failure> {
        let url = self.url(profile)?;
        let session = match flag_or_variable(self.token.as_deref(), "GATEHOUSE_TOKEN")? {
            Some(token) => {
                Session::given(crate::terminal::text_input::secret_or_file(&token)?.trim())?
            }
            None => self.stored_session(profile, &url)?,
        };
        Ok(Server::new(http_client()?, url, session, self.verbose()))
    }

    /// The session that `gatehouse login` stored. Its token is sent to no other server.
    fn stored_session(&self, profile: &Profile, url: &str) -> Result<Session, Failure> {
        let name = &profile.name;
        let sign_in = "sign in with `gatehouse login`, or put a token into GATEHOUSE_TOKEN, such as \
                       `gatehouse token` creates where the server's data is";
        match Session::stored(name)? {
            Some(session) if session.url().is_none_or(|it| it == url) => Ok(session),
            Some(session) => {
                let other_url = session.url().unwrap_or_default();
                Err(Failure::new(
                    FailureKind::NotAllowed,
                    format!("the profile `{name}` is signed in at {other_url}, and not at {url}"),
                )
                .advise(sign_in))
            }
            None => {
                let message = format!("not signed in (profile `{name}`), and a token is needed");
                Err(Failure::new(FailureKind::NotAllowed, message).advise(sign_in))
            }
        }
    }
}

impl TenantArgs {
    /// The tenant's server, and the output format.
    pub(crate) async fn open(&self) -> Result<(TenantServer, OutputFormat), Failure> {
        let profile = self.server_args.profile()?;
        let server = self.server_args.open_for(&profile)?;
        let explicit = flag_or_variable(self.tenant.as_deref(), "GATEHOUSE_TENANT")?;
        let tenant = match explicit.or_else(|| profile.tenant.clone()) {
            Some(tenant) => tenant,
            None => only_tenant(&server.token().await?).ok_or_else(|| {
                Failure::input("no tenant is given, and the token doesn't name a single one")
                    .advise("set it with --tenant, in GATEHOUSE_TENANT or in the profile")
            })?,
        };
        let bad = |bad| Failure::input(format!("--tenant: `{tenant}` {bad}"));
        tenant.parse::<TenantName>().map_err(bad)?;
        let format = self.chosen_format()?.or(profile.output).unwrap_or(OutputFormat::Table);
        Ok((TenantServer { server, tenant, flags: self.flags() }, format))
    }

    /// The flags that select the server and the tenant, for a suggested command. A token is not shown.
    fn flags(&self) -> String {
        let ServerArgs { profile, url, .. } = &self.server_args;
        let given = [("profile", profile), ("url", url), ("tenant", &self.tenant)];
        let given = given.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        given.map(|(name, value)| format!(" --{name} {}", quoted(value))).collect()
    }

    /// The output format from the flag or the variable.
    pub(crate) fn chosen_format(&self) -> Result<Option<OutputFormat>, Failure> {
        environment::output_format(self.output)
    }
}

/// The address without a user and password, for error messages.
fn without_user(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, host)) => format!("***@{host}"),
        None => url.to_owned(),
    }
}

/// Whether an address has a host, perhaps a path, and neither a user, a query nor a fragment.
fn is_plain(url: &reqwest::Url) -> bool {
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    url.has_host() && is_anonymous && url.query().is_none() && url.fragment().is_none()
}

/// A JSON object of the fields that have a value.
pub(crate) fn object<const N: usize>(fields: [(&str, Option<String>); N]) -> Value {
    let given =
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
    Value::Object(given.collect())
}

/// A random idempotency key.
pub(crate) fn request_key() -> String {
    let random = gatehouse_vault::random::bytes::<16>();
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The tenant of a token with a single tenant. A convenience: the server decides whether the token is valid.
pub(crate) fn only_tenant(token: &str) -> Option<String> {
    let claims = oauth::claims_of(token)?;
    let tenants = claims.get("tenants")?;
    let name = match tenants.as_array().map(Vec::as_slice) {
        Some([only]) => only.as_str()?,
        Some(_) => return None,
        None => tenants.as_str()?,
    };
    (name != "*").then(|| name.to_owned())
}

/// A text quoted for a shell.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_./:@%+=,-".contains(it);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;

    #[test]
    fn suggestions_are_quoted_for_a_shell() {
        for (text, expected) in [
            ("fleet.csv", "fleet.csv"),
            ("my fleet.csv", "'my fleet.csv'"),
            ("a'b", "'a'\\''b'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn the_tenant_of_a_single_tenant_token_is_read() {
        for (claims, expected) in [
            (r#"{"tenants": ["demo"]}"#, Some("demo")),
            (r#"{"tenants": "demo"}"#, Some("demo")),
            (r#"{"tenants": ["*"]}"#, None),
            (r#"{"tenants": ["a", "b"]}"#, None),
            (r#"{"sub": "x"}"#, None),
        ] {
            let token = format!("e30.{}.sig", BASE64URL.encode(claims));
            assert_eq!(only_tenant(&token).as_deref(), expected, "{claims}");
        }
        assert_eq!(only_tenant("nonsense"), None);
    }
}
