//! The client side of the API, for the commands that use a running server: which server, and who asks.
//!
//! | file | what it has |
//! |---|---|
//! | `server` | a server that is asked, and how a tenant sees it |
//! | `ask`, `answer` | requests that go out; answers and problems that come back |
//! | `pages` | lists, a page at a time |
//! | `advice` | what to do about a problem |

mod advice;
mod answer;
mod ask;
mod pages;
mod server;
mod tenant_server;

pub(crate) use answer::{Answer, explained};
pub(crate) use server::Server;
pub(crate) use tenant_server::TenantServer;

use clap::{Args, ValueHint};
use gatehouse_core::TenantName;
use serde_json::Value;

use crate::client::environment::{self, told};
use crate::client::oauth;
use crate::client::profile::Profile;
use crate::client::session::Session;
use crate::client::wire::{Talk, http_client};
use crate::failure::{Failure, Kind};
use crate::terminal::output::Form;

/// Where a server is unless something else is said.
const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// Which server, and who asks.
#[derive(Args)]
#[command(next_help_heading = "Which server, and who asks")]
pub(crate) struct Connection {
    /// The profile that says what is left out, or GATEHOUSE_PROFILE [default: the file's own, or
    /// `default`]
    #[arg(long, value_name = "NAME", global = true, value_hint = ValueHint::Other)]
    profile: Option<String>,
    /// The server's address, or GATEHOUSE_URL [default: the profile's, or http://127.0.0.1:8080]
    #[arg(long, value_name = "URL", global = true, value_hint = ValueHint::Other)]
    url: Option<String>,
    /// A token, instead of the one that `gatehouse login` keeps; @FILE for one in a file, or in GATEHOUSE_TOKEN,
    /// where no list of processes shows it
    #[arg(long, value_name = "TOKEN", global = true, value_hint = ValueHint::Other)]
    token: Option<String>,
    /// Show every request and what came of it, without secrets
    #[arg(short, long, global = true)]
    verbose: bool,
}

/// Which server and which of its tenants, who asks, and in what form the answer is shown.
#[derive(Args)]
#[command(next_help_heading = "Which server, and who asks")]
pub(crate) struct Tenancy {
    #[command(flatten)]
    connection: Connection,
    /// The tenant, or GATEHOUSE_TENANT [default: the profile's, or the only one that the token is for]
    #[arg(long, value_name = "NAME", global = true, value_hint = ValueHint::Other)]
    tenant: Option<String>,
    /// In what form to show it, or GATEHOUSE_OUTPUT [default: the profile's, or table]
    #[arg(short, long, value_name = "FORM", global = true)]
    output: Option<Form>,
}

impl Connection {
    /// The profile that is named, or meant.
    pub(crate) fn profile(&self) -> Result<Profile, Failure> {
        Profile::load(told(self.profile.as_deref(), "GATEHOUSE_PROFILE")?.as_deref())
    }

    /// The profile that is named, or meant, also if `gatehouse login` has yet to make it.
    pub(crate) fn profile_to_be(&self) -> Result<Profile, Failure> {
        let named = told(self.profile.as_deref(), "GATEHOUSE_PROFILE")?;
        let url = told(self.url.as_deref(), "GATEHOUSE_URL")?;
        Profile::load_or_new(named.as_deref(), url.is_some())
    }

    /// Whether a token was typed.
    pub(crate) fn says_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether a token comes with the command, before any that is kept.
    pub(crate) fn has_token(&self) -> Result<bool, Failure> {
        Ok(told(self.token.as_deref(), "GATEHOUSE_TOKEN")?.is_some())
    }

    /// The server's address: as it is given, or as the profile has it.
    pub(crate) fn url(&self, profile: &Profile) -> Result<String, Failure> {
        let told = told(self.url.as_deref(), "GATEHOUSE_URL")?;
        let given = told.as_deref().or(profile.url.as_deref()).unwrap_or(DEFAULT_URL).trim();
        let is_web = given.starts_with("http://") || given.starts_with("https://");
        let url = is_web.then(|| given.parse::<reqwest::Url>().ok()).flatten();
        match url {
            Some(url) if is_plain(&url) => Ok(given.trim_end_matches('/').to_owned()),
            _ => Err(Failure::input(format!(
                "the server's address must be like https://gatehouse.example:8443, without a user or a query, not `{}`",
                without_user(given)
            ))
            .advise("say it with --url, in GATEHOUSE_URL or in the profile")),
        }
    }

    /// Whether requests are shown.
    pub(crate) fn talk(&self) -> Talk {
        Talk::new(self.verbose)
    }

    /// A server that is asked with this token, whatever is kept.
    pub(crate) fn open_with(&self, url: &str, token: &str) -> Result<Server, Failure> {
        let session = Session::given(token)?;
        Ok(Server::new(http_client()?, url.to_owned(), session, self.talk()))
    }

    pub(crate) fn open(&self) -> Result<Server, Failure> {
        self.open_for(&self.profile()?)
    }

    fn open_for(&self, profile: &Profile) -> Result<Server, Failure> {
        let url = self.url(profile)?;
        let session = match told(self.token.as_deref(), "GATEHOUSE_TOKEN")? {
            Some(token) => {
                Session::given(crate::terminal::text_input::given_secret(&token)?.trim())?
            }
            None => self.kept(profile, &url)?,
        };
        Ok(Server::new(http_client()?, url, session, self.talk()))
    }

    /// What `gatehouse login` kept. A token is sent nowhere but to the server that it was got for.
    fn kept(&self, profile: &Profile, url: &str) -> Result<Session, Failure> {
        let name = &profile.name;
        let sign_in = "sign in with `gatehouse login`, or put a token into GATEHOUSE_TOKEN, such as \
                       `gatehouse token` makes where the server's data is";
        match Session::kept(name)? {
            Some(session) if session.url().is_none_or(|it| it == url) => Ok(session),
            Some(session) => {
                let theirs = session.url().unwrap_or_default();
                Err(Failure::new(
                    Kind::NotAllowed,
                    format!("the profile `{name}` is signed in at {theirs}, and not at {url}"),
                )
                .advise(sign_in))
            }
            None => {
                let said = format!("nobody is signed in (profile `{name}`), and a token is needed");
                Err(Failure::new(Kind::NotAllowed, said).advise(sign_in))
            }
        }
    }
}

impl Tenancy {
    /// The server as the tenant sees it, and how to show what it says.
    pub(crate) async fn open(&self) -> Result<(TenantServer, Form), Failure> {
        let profile = self.connection.profile()?;
        let server = self.connection.open_for(&profile)?;
        let told = told(self.tenant.as_deref(), "GATEHOUSE_TENANT")?;
        let tenant = match told.or_else(|| profile.tenant.clone()) {
            Some(tenant) => tenant,
            None => only_tenant(&server.token().await?).ok_or_else(|| {
                Failure::input("which tenant? The token doesn't name a single one")
                    .advise("say it with --tenant, in GATEHOUSE_TENANT or in the profile")
            })?,
        };
        let bad = |bad| Failure::input(format!("--tenant: `{tenant}` {bad}"));
        tenant.parse::<TenantName>().map_err(bad)?;
        let form = self.chosen_form()?.or(profile.output).unwrap_or(Form::Table);
        Ok((TenantServer { server, tenant, flags: self.flags() }, form))
    }

    /// What was typed that leads to the server and the tenant, for a command that is suggested. A token is not shown.
    fn flags(&self) -> String {
        let Connection { profile, url, .. } = &self.connection;
        let typed = [("profile", profile), ("url", url), ("tenant", &self.tenant)];
        let typed = typed.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        typed.map(|(name, value)| format!(" --{name} {}", quoted(value))).collect()
    }

    /// The form that the command was told, by itself or by its environment.
    pub(crate) fn chosen_form(&self) -> Result<Option<Form>, Failure> {
        environment::form(self.output)
    }
}

/// An address as it may be shown: whoever writes a password into one gets it nowhere else.
fn without_user(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, host)) => format!("***@{host}"),
        None => url.to_owned(),
    }
}

/// An address that has a host, perhaps a path, and nothing that is secret or leads elsewhere.
fn is_plain(url: &reqwest::Url) -> bool {
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    url.has_host() && is_anonymous && url.query().is_none() && url.fragment().is_none()
}

/// An object of the fields that are given.
pub(crate) fn object<const N: usize>(fields: [(&str, Option<String>); N]) -> Value {
    let given =
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
    Value::Object(given.collect())
}

/// A name for a request that nothing else has.
pub(crate) fn request_key() -> String {
    let random = gatehouse_vault::random::bytes::<16>();
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The tenant of a token that is for one alone. Only a convenience: whether the token is good, the server says.
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

/// A text as a shell takes it for one word.
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
    fn suggestions_can_be_pasted() {
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
    fn a_token_for_one_tenant_says_which() {
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
