//! How people sign in with a browser: at which issuers, and where these say that it is done.
//!
//! An issuer is offered when the settings name the client that the console is there. Where it is done stands in
//! the issuer's document, which `discovery` reads for the keys anyway. Nobody signs in at this server: the browser
//! goes to the issuer, and comes back with a token that is checked like any other.

use gatehouse_core::rights::Scope;
use reqwest::Url;
use serde_json::Value;

use crate::config;

/// What every sign-in asks for, by OpenID Connect.
const OPENID: &str = "openid";

/// What an issuer calls a session that goes on without the person.
const OFFLINE_ACCESS: &str = "offline_access";

/// An issuer that people can sign in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// Its name.
    pub issuer: String,
    /// What the console is called there.
    pub client_id: String,
    /// Where it is done; not known as long as the issuer could not be reached.
    pub endpoints: Option<SignInEndpoints>,
}

/// Where signing in is done, and what is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInEndpoints {
    /// Where the browser is sent to.
    pub authorization: Url,
    /// Where it gets its tokens.
    pub token: Url,
    /// Where it is sent to when the person leaves.
    pub end_session: Option<Url>,
    /// Where it gives tokens back.
    pub revocation: Option<Url>,
    /// What it asks for, with spaces between.
    pub scope: String,
    /// Whether the issuer's answers say whose they are (RFC 9207), so that nobody else's is taken for one.
    pub sends_issuer: bool,
}

/// What the console is at an issuer, as the settings say.
#[derive(Clone, Debug)]
pub(super) struct ConsoleClient {
    id: String,
    scope: Option<String>,
}

/// What an issuer's document says about signing in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) authorization: Option<Url>,
    pub(super) token: Option<Url>,
    pub(super) end_session: Option<Url>,
    pub(super) revocation: Option<Url>,
    scopes: Vec<String>,
    sends_issuer: bool,
}

impl SignInEndpoints {
    /// The origins that the page itself talks to; where it sends the browser is none of them.
    pub fn origins(&self) -> impl Iterator<Item = String> {
        let asked = [Some(&self.token), self.revocation.as_ref()];
        asked.into_iter().flatten().map(|url| url.origin().ascii_serialization())
    }
}

impl ConsoleClient {
    pub(super) fn of(settings: &config::Issuer) -> Option<Self> {
        let id = settings.console_client_id.clone()?;
        Some(Self { id, scope: settings.console_scope.clone() })
    }

    /// How to sign in at this issuer, as far as its document has been read; nothing where it has no way to.
    pub(super) fn sign_in(&self, issuer: &str, described: Option<&Described>) -> Option<SignIn> {
        let endpoints = match described {
            Some(described) => Some(self.endpoints(described)?),
            None => None,
        };
        Some(SignIn { issuer: issuer.to_owned(), client_id: self.id.clone(), endpoints })
    }

    fn endpoints(&self, described: &Described) -> Option<SignInEndpoints> {
        let Described { authorization, token, end_session, revocation, .. } = described;
        Some(SignInEndpoints {
            authorization: authorization.clone()?,
            token: token.clone()?,
            end_session: end_session.clone(),
            revocation: revocation.clone(),
            scope: self.scope.clone().unwrap_or_else(|| described.scope()),
            sends_issuer: described.sends_issuer,
        })
    }
}

impl Described {
    /// Reads an issuer's document. An address that is not safe is as good as none.
    pub(super) fn read(document: &Value, is_safe: impl Fn(&Url) -> bool) -> Self {
        let address = |name: &str| {
            let url = Url::parse(document.get(name)?.as_str()?).ok()?;
            is_safe(&url).then_some(url)
        };
        let scopes = document.get("scopes_supported").and_then(Value::as_array);
        let scopes = scopes.into_iter().flatten().filter_map(Value::as_str);
        Self {
            authorization: address("authorization_endpoint"),
            token: address("token_endpoint"),
            end_session: address("end_session_endpoint"),
            revocation: address("revocation_endpoint"),
            scopes: scopes.map(str::to_owned).collect(),
            sends_issuer: document.get("authorization_response_iss_parameter_supported")
                == Some(&Value::Bool(true)),
        }
    }

    /// Whether people can sign in there at all.
    pub(super) fn has_endpoints(&self) -> bool {
        self.authorization.is_some() && self.token.is_some()
    }

    /// What to ask for where the settings don't say: all of ours that the issuer knows.
    fn scope(&self) -> String {
        let ours = Scope::ALL.into_iter().map(Scope::as_str).chain([OFFLINE_ACCESS]);
        let known = ours.filter(|word| self.scopes.iter().any(|it| it == word));
        [OPENID].into_iter().chain(known).collect::<Vec<_>>().join(" ")
    }
}
