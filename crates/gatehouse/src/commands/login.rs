//! `gatehouse login`: gets a token, tries it, and stores it for later commands.
//!
//! | file | contents |
//! |---|---|
//! | `client_credentials` | machines, with a client secret |
//! | `device` | people, with a browser |
//! | `issuer` | an issuer's endpoints |
//! | `trial` | whether the server accepts the token |

mod client_credentials;
mod device;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod issuer;
mod trial;

use std::path::{Path, PathBuf};

use clap::Args;
use gatehouse_core::TenantName;
use reqwest::Client;

use crate::client::api::{self, ServerArgs};
use crate::client::environment::flag_or_variable;
use crate::client::oauth::{self, TokenResponse};
use crate::client::profile::{Profile, ProfileName, ProfilesEdit};
use crate::client::session::{self, Renewal, SessionFile, StoredSession, TokenSpec};
use crate::client::wire::{Verbose, http_client};
use crate::failure::{Failure, FailureKind};
use crate::runtime;
use crate::terminal::output::minute;
use crate::terminal::question::is_interactive;
use crate::terminal::screen::print_notice;
use crate::terminal::secret::Secret;
use crate::terminal::text_input;
use issuer::Issuer;
use trial::Trial;

/// The client for people, unless another is named.
const DEFAULT_CLIENT: &str = "gatehouse";

/// Sign in, and store the token for later commands
///
/// People sign in at an issuer that the server trusts, with a browser on any device: --issuer.
/// Machines have a client ID and a secret, of the server itself or of an issuer: --client-id.
/// To store a token that you already have: --with-token.
/// Without any of these, a profile that was signed in at an issuer signs in there again.
#[derive(Args)]
pub(crate) struct Login {
    #[command(flatten)]
    server_args: ServerArgs,
    /// Tenant for the profile, or GATEHOUSE_TENANT
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    #[command(flatten)]
    method: MethodArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Sign-in method")]
struct MethodArgs {
    /// OpenID Connect issuer, exactly as in the server's settings
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,
    /// Client [default with --issuer: gatehouse]
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// File with the client's secret; `-` for standard input. Without it and without --issuer, the command asks for the
    /// secret
    #[arg(long, value_name = "FILE", requires = "client_id")]
    client_secret_file: Option<PathBuf>,
    /// Scopes of the token, separated by spaces
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,
    /// Audience of the token, for issuers that need one
    #[arg(long, value_name = "NAME")]
    audience: Option<String>,
    /// Resource that the token is for, for issuers with RFC 8707
    #[arg(long, value_name = "URI")]
    resource: Option<String>,
    /// Read a token from standard input, and store it
    #[arg(
        long,
        conflicts_with_all = ["issuer", "client_id", "client_secret_file", "scope", "audience", "resource"]
    )]
    with_token: bool,
}

/// The profile to sign in, and its files.
struct LoginTarget {
    profile: Profile,
    name: ProfileName,
    file: SessionFile,
    url: String,
    /// The tenant to write into the profile.
    tenant: Option<String>,
}

/// A method of signing in.
enum LoginMethod {
    Token(Secret),
    Machine { issuer: Option<String>, client_id: String, client_secret: Secret, spec: TokenSpec },
    Person { issuer: String, client_id: String, spec: TokenSpec },
}

impl Login {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.server_args.has_token_flag() {
            return Err(Failure::input("login takes no --token")
                .advise("give the token on standard input, with --with-token"));
        }
        let profile = self.server_args.profile_or_new()?;
        let url = self.server_args.url(&profile)?;
        let tenant = flag_or_variable(self.tenant.as_deref(), "GATEHOUSE_TENANT")?;
        if let Some(tenant) = &tenant {
            let bad = |bad| Failure::input(format!("--tenant: `{tenant}` {bad}"));
            tenant.parse::<TenantName>().map_err(bad)?;
        }
        let name: ProfileName = profile.name.parse()?;
        let file = SessionFile::of(&name)?;
        let method = self.method.read(&file, &url)?;
        warn_if_unencrypted(&url);
        runtime::run(self.sign_in(LoginTarget { profile, name, file, url, tenant }, method))
    }

    async fn sign_in(self, target: LoginTarget, method: LoginMethod) -> Result<(), Failure> {
        let LoginTarget { profile, name, file, url, tenant: given_tenant } = target;
        let verbose = self.server_args.verbose();
        let issuer = method.issuer().map(str::to_owned);
        let (granted, renewal) = method.token(&http_client()?, verbose, &url).await?;
        let stored = StoredSession::new(&url, granted, renewal);
        if !stored.is_valid_for(oauth::now(), 0) {
            return Err(Failure::new(
                FailureKind::NotAllowed,
                "the token has expired; nothing is stored",
            ));
        }
        let token = stored.access_token.reveal();
        let tenant = given_tenant.clone().or(profile.tenant).or_else(|| api::only_tenant(token));
        let trial = match &tenant {
            Some(tenant) => {
                let server = self.server_args.open_with(&url, token)?;
                let trial = Trial::of(&server, tenant, issuer.as_deref()).await;
                if trial.is_err() {
                    revoke_unless_shared(
                        stored.renewal.as_ref(),
                        stored_renewal(&file).as_ref(),
                        verbose,
                    )
                    .await?;
                }
                trial?
            }
            None => Trial::NoTenant,
        };

        // The lock prevents a renewal of the old token while the new one replaces it.
        let lock = file.lock().await?;
        let earlier = stored_renewal(&file);
        if let Err(why) = file.write(&stored) {
            revoke_unless_shared(stored.renewal.as_ref(), earlier.as_ref(), verbose).await?;
            return Err(why);
        }
        drop(lock);
        revoke_unless_shared(earlier.as_ref(), stored.renewal.as_ref(), verbose).await?;
        let mut fields = vec![("url", url.as_str())];
        fields.extend(given_tenant.as_deref().map(|tenant| ("tenant", tenant)));
        let mut edit = ProfilesEdit::begin()?;
        edit.set_profile(&name, &fields);
        let profiles = edit.finish()?;

        match trial {
            Trial::Passed | Trial::Limited(_) => {
                println!("signed in at {url}{}", validity(&stored))
            }
            Trial::Unknown(_) | Trial::NoTenant => {
                println!("a token for {url} is stored, and was not tried{}", validity(&stored));
            }
        }
        println!("profile `{name}` in {}", profiles.display());
        println!("token in {}", file.path().display());
        if let Some(note) = trial.note(tenant.as_deref()) {
            print_notice(&format!("gatehouse: note: {note}"));
        }
        if self.server_args.has_token()? {
            eprintln!(
                "gatehouse: note: as long as GATEHOUSE_TOKEN is set, that token is used instead"
            );
        }
        Ok(())
    }
}

/// Renewal credentials of the session that is stored now.
fn stored_renewal(file: &SessionFile) -> Option<Renewal> {
    file.read_for_logout().ok().flatten()?.renewal
}

/// Revokes the refresh token of a session that is not stored (any more). Many issuers revoke all tokens of a user and
/// client at once, so a token that shares both with the one that stays is left alone.
async fn revoke_unless_shared(
    renewal: Option<&Renewal>,
    stays: Option<&Renewal>,
    verbose: Verbose,
) -> Result<(), Failure> {
    match (renewal, stays) {
        (Some(Renewal::RefreshToken(it)), Some(Renewal::RefreshToken(stays)))
            if it.issuer == stays.issuer && it.client_id == stays.client_id =>
        {
            Ok(())
        }
        (Some(renewal), _) => session::revoke(renewal, verbose).await,
        (None, _) => Ok(()),
    }
}

impl MethodArgs {
    /// The method of signing in, with its secret.
    fn read(&self, file: &SessionFile, url: &str) -> Result<LoginMethod, Failure> {
        let spec = TokenSpec {
            scope: self.scope.clone(),
            audience: self.audience.clone(),
            resource: self.resource.clone(),
        };
        let issuer = self.issuer.clone();
        match (&self.client_id, &self.client_secret_file) {
            _ if self.with_token => Ok(LoginMethod::Token(token()?)),
            (Some(client_id), Some(path)) => {
                let client_secret = Secret::new(text_input::read_secret(path)?);
                Ok(LoginMethod::Machine {
                    issuer,
                    client_id: client_id.clone(),
                    client_secret,
                    spec,
                })
            }
            (Some(client_id), None) if issuer.is_none() => {
                let client_secret = ask(&format!("Secret of {client_id}: "))?;
                Ok(LoginMethod::Machine {
                    issuer,
                    client_id: client_id.clone(),
                    client_secret,
                    spec,
                })
            }
            (client_id, _) => match issuer {
                Some(issuer) => {
                    let client_id = client_id.clone().unwrap_or_else(|| DEFAULT_CLIENT.to_owned());
                    Ok(LoginMethod::Person { issuer, client_id, spec })
                }
                None => repeat_login(file, url, spec),
            },
        }
    }
}

/// Repeats an earlier sign-in at an issuer.
fn repeat_login(file: &SessionFile, url: &str, spec: TokenSpec) -> Result<LoginMethod, Failure> {
    // An unreadable session is about to be replaced.
    let stored = file.read().ok().flatten().filter(|stored| stored.url == url);
    match stored.and_then(|stored| stored.renewal) {
        Some(Renewal::RefreshToken(earlier)) => Ok(LoginMethod::Person {
            issuer: earlier.issuer,
            client_id: earlier.client_id,
            spec: if spec == TokenSpec::default() { earlier.spec } else { spec },
        }),
        Some(Renewal::ClientCredentials(_)) | None => {
            Err(Failure::input("no sign-in method is given").advise(
                "give --issuer URL to sign in with a browser, --client-id ID for a client with a secret, or \
                 --with-token for a token that you have",
            ))
        }
    }
}

impl LoginMethod {
    fn issuer(&self) -> Option<&str> {
        match self {
            Self::Token(_) => None,
            Self::Machine { issuer, .. } => issuer.as_deref(),
            Self::Person { issuer, .. } => Some(issuer),
        }
    }

    /// Gets a token, and the credentials for the next one.
    async fn token(
        self,
        client: &Client,
        verbose: Verbose,
        url: &str,
    ) -> Result<(TokenResponse, Option<Renewal>), Failure> {
        match self {
            Self::Token(token) => {
                let expires_at = oauth::expiry_of(token.reveal());
                Ok((TokenResponse { access_token: token, expires_at, refresh_token: None }, None))
            }
            Self::Machine { issuer, client_id, client_secret, spec } => {
                let endpoint = match issuer {
                    Some(issuer) => {
                        Issuer::discover(client, verbose, &issuer).await?.client_endpoint()?
                    }
                    None => client_credentials::TokenEndpoint::gatehouse(url),
                };
                let (granted, credentials) =
                    endpoint.sign_in(client, verbose, client_id, client_secret, spec).await?;
                Ok((granted, Some(Renewal::ClientCredentials(credentials))))
            }
            Self::Person { issuer, client_id, spec } => {
                let issuer = Issuer::discover(client, verbose, &issuer).await?;
                let (granted, renewal) =
                    device::sign_in(client, verbose, &issuer, client_id, spec).await?;
                Ok((granted, renewal.map(Renewal::RefreshToken)))
            }
        }
    }
}

/// A token from standard input, or typed.
fn token() -> Result<Secret, Failure> {
    let text = text_input::read_secret(Path::new("-"))?;
    let text = text.trim();
    if text.is_empty() || text.chars().any(char::is_whitespace) {
        return Err(Failure::input("a token is one word without spaces, and the input is not"));
    }
    Ok(Secret::new(text))
}

/// Asks the user for a secret, without echo.
fn ask(prompt: &str) -> Result<Secret, Failure> {
    if !is_interactive() {
        return Err(Failure::input(
            "the client's secret is needed, and there is no terminal to ask for it",
        )
        .advise("name the file that has it with --client-secret-file, or `-` for standard input"));
    }
    text_input::ask_for_secret(prompt).map(Secret::new)
}

/// Warns that the token is about to be sent without encryption.
fn warn_if_unencrypted(url: &str) {
    if url.starts_with("http://") && !issuer::is_safe(url) {
        eprintln!(
            "gatehouse: note: {url} is not encrypted: the network in between can read the token"
        );
    }
}

fn validity(stored: &StoredSession) -> String {
    let until = stored.expires_at.map(|end| minute(&end.to_string()));
    match (until, &stored.renewal) {
        (_, Some(Renewal::ClientCredentials(_))) => ", and the token is renewed by itself".into(),
        (Some(until), Some(Renewal::RefreshToken(_))) => {
            format!(" until {until} UTC, and longer as long as the issuer renews the token")
        }
        (None, Some(Renewal::RefreshToken(_))) => ", as long as the issuer renews the token".into(),
        (Some(until), None) => format!(" until {until} UTC; this token can't be renewed"),
        (None, None) => ", for how long the token doesn't say; it can't be renewed".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_validity_of_a_session_is_shown() {
        let granted = || TokenResponse {
            access_token: Secret::new("t"),
            expires_at: Some("2026-11-16T17:20:30Z".parse().unwrap()),
            refresh_token: None,
        };
        let shown = validity(&StoredSession::new("https://a", granted(), None));
        assert_eq!(shown, " until 2026-11-16 17:20 UTC; this token can't be renewed");
        let timeless =
            StoredSession { expires_at: None, ..StoredSession::new("https://a", granted(), None) };
        assert!(validity(&timeless).contains("doesn't say"), "{}", validity(&timeless));
    }
}
