//! `gatehouse login`: gets a token, tries it, and keeps it for the commands that follow.
//!
//! | file | what it has |
//! |---|---|
//! | `client_credentials` | machines, which have a secret |
//! | `device` | people, who have a browser somewhere |
//! | `issuer` | where an issuer is asked for what |
//! | `trial` | whether the server takes the token |

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

use crate::client::api::{self, Connection};
use crate::client::environment::told;
use crate::client::oauth::{self, Granted};
use crate::client::profile::{Edit, Profile, ProfileName};
use crate::client::session::{self, Kept, Renewal, SessionFile, Wish};
use crate::client::wire::{self, Talk, http_client};
use crate::failure::{Failure, Kind};
use crate::terminal::output::minute;
use crate::terminal::question::can_be_asked;
use crate::terminal::screen::remark;
use crate::terminal::secret::Secret;
use crate::terminal::text_input;
use issuer::Issuer;
use trial::Trial;

/// The client that people sign in with unless another is named.
const USUAL_CLIENT: &str = "gatehouse";

/// Sign in, and keep the token for the commands that follow
///
/// People sign in at an issuer that the server trusts, with a browser on any device: --issuer.
/// Machines have a client ID and a secret, of the server itself or of an issuer: --client-id.
/// Whoever has a token already has it kept: --with-token.
/// Without any of these, a profile that was signed in at an issuer is signed in there again.
#[derive(Args)]
pub(crate) struct Login {
    #[command(flatten)]
    connection: Connection,
    /// The tenant, for the profile, or GATEHOUSE_TENANT
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    #[command(flatten)]
    way: WayArgs,
}

#[derive(Args)]
#[command(next_help_heading = "How to sign in")]
struct WayArgs {
    /// The OpenID Connect issuer, letter by letter as the server's settings have it
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,
    /// The client [default with --issuer: gatehouse]
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The file that has the client's secret; `-` for standard input. Without it and without --issuer, the
    /// secret is asked for
    #[arg(long, value_name = "FILE", requires = "client_id")]
    client_secret_file: Option<PathBuf>,
    /// What the token is to allow, with spaces between
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,
    /// Whom the token is to be for, for issuers that ask for an audience
    #[arg(long, value_name = "NAME")]
    audience: Option<String>,
    /// Whom the token is to be for, for issuers that know RFC 8707
    #[arg(long, value_name = "URI")]
    resource: Option<String>,
    /// Read a token from standard input, and keep it
    #[arg(
        long,
        conflicts_with_all = ["issuer", "client_id", "client_secret_file", "scope", "audience", "resource"]
    )]
    with_token: bool,
}

/// Where somebody signs in, and where that is kept.
struct Place {
    profile: Profile,
    name: ProfileName,
    file: SessionFile,
    url: String,
    /// The tenant that the profile is to have.
    tenant: Option<String>,
}

/// How somebody signs in.
enum Way {
    Token(Secret),
    Machine { issuer: Option<String>, client_id: String, client_secret: Secret, wish: Wish },
    Person { issuer: String, client_id: String, wish: Wish },
}

impl Login {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.connection.says_token() {
            return Err(Failure::input("login takes no --token")
                .advise("give the token on standard input, with --with-token"));
        }
        let profile = self.connection.profile_to_be()?;
        let url = self.connection.url(&profile)?;
        let tenant = told(self.tenant.as_deref(), "GATEHOUSE_TENANT")?;
        if let Some(tenant) = &tenant {
            let bad = |bad| Failure::input(format!("--tenant: `{tenant}` {bad}"));
            tenant.parse::<TenantName>().map_err(bad)?;
        }
        let name: ProfileName = profile.name.parse()?;
        let file = SessionFile::of(&name)?;
        let way = self.way.read(&file, &url)?;
        note_what_is_open(&url);
        wire::run(self.sign_in(Place { profile, name, file, url, tenant }, way))
    }

    async fn sign_in(self, place: Place, way: Way) -> Result<(), Failure> {
        let Place { profile, name, file, url, tenant: said } = place;
        let talk = self.connection.talk();
        let issuer = way.issuer().map(str::to_owned);
        let (granted, renewal) = way.token(&http_client()?, talk, &url).await?;
        let kept = Kept::new(&url, granted, renewal);
        if !kept.is_good(oauth::now(), 0) {
            return Err(Failure::new(Kind::NotAllowed, "the token has expired; nothing is kept"));
        }
        let token = kept.access_token.reveal();
        let tenant = said.clone().or(profile.tenant).or_else(|| api::only_tenant(token));
        let trial = match &tenant {
            Some(tenant) => {
                let server = self.connection.open_with(&url, token)?;
                let trial = Trial::of(&server, tenant, issuer.as_deref()).await;
                if trial.is_err() {
                    let_go_of(kept.renewal.as_ref(), earlier(&file).as_ref(), talk).await?;
                }
                trial?
            }
            None => Trial::NoTenant,
        };

        // Nobody renews the old token while the new one takes its place.
        let lock = file.lock().await?;
        let earlier = earlier(&file);
        if let Err(why) = file.write(&kept) {
            let_go_of(kept.renewal.as_ref(), earlier.as_ref(), talk).await?;
            return Err(why);
        }
        drop(lock);
        let_go_of(earlier.as_ref(), kept.renewal.as_ref(), talk).await?;
        let mut fields = vec![("url", url.as_str())];
        fields.extend(said.as_deref().map(|tenant| ("tenant", tenant)));
        let mut edit = Edit::begin()?;
        edit.set_profile(&name, &fields);
        let profiles = edit.finish()?;

        match trial {
            Trial::Passed | Trial::Limited(_) => println!("signed in at {url}{}", how_long(&kept)),
            Trial::Unknown(_) | Trial::NoTenant => {
                println!("a token for {url} is kept, and was not tried{}", how_long(&kept));
            }
        }
        println!("profile `{name}` in {}", profiles.display());
        println!("token in {}", file.path().display());
        if let Some(note) = trial.note(tenant.as_deref()) {
            remark(&format!("gatehouse: note: {note}"));
        }
        if self.connection.has_token()? {
            eprintln!(
                "gatehouse: note: as long as GATEHOUSE_TOKEN is set, that token is used instead"
            );
        }
        Ok(())
    }
}

/// How the session went on that is kept now.
fn earlier(file: &SessionFile) -> Option<Renewal> {
    file.read_to_let_go().ok().flatten()?.renewal
}

/// What is not kept is not left lying about elsewhere either. But many issuers forget all that a person has with a client, and
/// what stays is not to go with it.
async fn let_go_of(
    renewal: Option<&Renewal>,
    stays: Option<&Renewal>,
    talk: Talk,
) -> Result<(), Failure> {
    match (renewal, stays) {
        (Some(Renewal::RefreshToken(it)), Some(Renewal::RefreshToken(stays)))
            if it.issuer == stays.issuer && it.client_id == stays.client_id =>
        {
            Ok(())
        }
        (Some(renewal), _) => session::let_go(renewal, talk).await,
        (None, _) => Ok(()),
    }
}

impl WayArgs {
    /// How to sign in, with the secret for it.
    fn read(&self, file: &SessionFile, url: &str) -> Result<Way, Failure> {
        let wish = Wish {
            scope: self.scope.clone(),
            audience: self.audience.clone(),
            resource: self.resource.clone(),
        };
        let issuer = self.issuer.clone();
        match (&self.client_id, &self.client_secret_file) {
            _ if self.with_token => Ok(Way::Token(token()?)),
            (Some(client_id), Some(path)) => {
                let client_secret = Secret::new(text_input::read_secret(path)?);
                Ok(Way::Machine { issuer, client_id: client_id.clone(), client_secret, wish })
            }
            (Some(client_id), None) if issuer.is_none() => {
                let client_secret = ask(&format!("Secret of {client_id}: "))?;
                Ok(Way::Machine { issuer, client_id: client_id.clone(), client_secret, wish })
            }
            (client_id, _) => match issuer {
                Some(issuer) => {
                    let client_id = client_id.clone().unwrap_or_else(|| USUAL_CLIENT.to_owned());
                    Ok(Way::Person { issuer, client_id, wish })
                }
                None => again(file, url, wish),
            },
        }
    }
}

/// As before, if somebody signed in at an issuer.
fn again(file: &SessionFile, url: &str, wish: Wish) -> Result<Way, Failure> {
    // What can't be read is about to be replaced.
    let kept = file.read().ok().flatten().filter(|kept| kept.url == url);
    match kept.and_then(|kept| kept.renewal) {
        Some(Renewal::RefreshToken(earlier)) => Ok(Way::Person {
            issuer: earlier.issuer,
            client_id: earlier.client_id,
            wish: if wish == Wish::default() { earlier.wish } else { wish },
        }),
        Some(Renewal::ClientCredentials(_)) | None => {
            Err(Failure::input("how to sign in?").advise(
                "say --issuer URL to sign in with a browser, --client-id ID for a client with a secret, or \
                 --with-token for a token that you have",
            ))
        }
    }
}

impl Way {
    fn issuer(&self) -> Option<&str> {
        match self {
            Self::Token(_) => None,
            Self::Machine { issuer, .. } => issuer.as_deref(),
            Self::Person { issuer, .. } => Some(issuer),
        }
    }

    /// A token, and how the next one is got.
    async fn token(
        self,
        client: &Client,
        talk: Talk,
        url: &str,
    ) -> Result<(Granted, Option<Renewal>), Failure> {
        match self {
            Self::Token(token) => {
                let expires_at = oauth::expiry_of(token.reveal());
                Ok((Granted { access_token: token, expires_at, refresh_token: None }, None))
            }
            Self::Machine { issuer, client_id, client_secret, wish } => {
                let asked = match issuer {
                    Some(issuer) => {
                        Issuer::discover(client, talk, &issuer).await?.for_machines()?
                    }
                    None => client_credentials::Asked::gatehouse(url),
                };
                let (granted, credentials) =
                    asked.sign_in(client, talk, client_id, client_secret, wish).await?;
                Ok((granted, Some(Renewal::ClientCredentials(credentials))))
            }
            Self::Person { issuer, client_id, wish } => {
                let issuer = Issuer::discover(client, talk, &issuer).await?;
                let (granted, renewal) =
                    device::sign_in(client, talk, &issuer, client_id, wish).await?;
                Ok((granted, renewal.map(Renewal::RefreshToken)))
            }
        }
    }
}

/// A token from standard input, or from whoever sits there.
fn token() -> Result<Secret, Failure> {
    let text = text_input::read_secret(Path::new("-"))?;
    let text = text.trim();
    if text.is_empty() || text.chars().any(char::is_whitespace) {
        return Err(Failure::input("a token is one word, and something else came in"));
    }
    Ok(Secret::new(text))
}

/// Asks without showing what is typed.
fn ask(prompt: &str) -> Result<Secret, Failure> {
    if !can_be_asked() {
        return Err(Failure::input(
            "the client's secret is needed, and nobody is there to be asked",
        )
        .advise("name the file that has it with --client-secret-file, or `-` for standard input"));
    }
    text_input::ask_for_secret(prompt).map(Secret::new)
}

/// A secret is about to go where others may read along.
fn note_what_is_open(url: &str) {
    if url.starts_with("http://") && !issuer::is_safe(url) {
        eprintln!(
            "gatehouse: note: {url} is not encrypted: whoever is on the way there can read the token"
        );
    }
}

fn how_long(kept: &Kept) -> String {
    let until = kept.expires_at.map(|end| minute(&end.to_string()));
    match (until, &kept.renewal) {
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
    fn how_long_it_lasts_is_told() {
        let granted = || Granted {
            access_token: Secret::new("t"),
            expires_at: Some("2026-11-16T17:20:30Z".parse().unwrap()),
            refresh_token: None,
        };
        let shown = how_long(&Kept::new("https://a", granted(), None));
        assert_eq!(shown, " until 2026-11-16 17:20 UTC; this token can't be renewed");
        let timeless = Kept { expires_at: None, ..Kept::new("https://a", granted(), None) };
        assert!(how_long(&timeless).contains("doesn't say"), "{}", how_long(&timeless));
    }
}
