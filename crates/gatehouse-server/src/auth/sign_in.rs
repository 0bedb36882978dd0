//! Signing in with a browser: the offered issuers, and their endpoints.
//!
//! An issuer is offered when the settings have the console's client id there. Its endpoints are in its discovery
//! document, which `discovery` fetches for the keys. Users don't sign in at this server: the browser goes to the issuer
//! and returns with a token, which is checked like any other.

use gatehouse_core::rights::Scope;
use reqwest::Url;
use serde_json::Value;

use crate::config;

/// Scope of every sign-in, by OpenID Connect.
const OPENID: &str = "openid";

/// Scope for a refresh token.
const OFFLINE_ACCESS: &str = "offline_access";

/// An issuer that users can sign in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// The issuer's name.
    pub issuer: String,
    /// The console's client id there.
    pub client_id: String,
    /// The endpoints; `None` until the document is fetched.
    pub endpoints: Option<SignInEndpoints>,
}

/// Endpoints and scope of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInEndpoints {
    /// The authorization endpoint.
    pub authorization: Url,
    /// The token endpoint.
    pub token: Url,
    /// The logout endpoint.
    pub end_session: Option<Url>,
    /// The revocation endpoint.
    pub revocation: Option<Url>,
    /// The requested scopes, separated by spaces.
    pub scope: String,
    /// Whether authorization responses name their issuer (RFC 9207), which prevents mix-ups.
    pub sends_issuer: bool,
}

/// The console's client registration in the settings.
#[derive(Clone, Debug)]
pub(super) struct ConsoleClient {
    id: String,
    scope: Option<String>,
}

/// The sign-in part of a discovery document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SignInDocument {
    pub(super) authorization: Option<Url>,
    pub(super) token: Option<Url>,
    pub(super) end_session: Option<Url>,
    pub(super) revocation: Option<Url>,
    scopes: Vec<String>,
    sends_issuer: bool,
}

impl SignInEndpoints {
    /// Origins that the page's scripts call. Redirect targets are not among them.
    pub fn origins(&self) -> impl Iterator<Item = String> {
        let called = [Some(&self.token), self.revocation.as_ref()];
        called.into_iter().flatten().map(|url| url.origin().ascii_serialization())
    }
}

impl ConsoleClient {
    pub(super) fn of(settings: &config::Issuer) -> Option<Self> {
        let id = settings.console_client_id.clone()?;
        Some(Self { id, scope: settings.console_scope.clone() })
    }

    /// The sign-in at this issuer; `None` if its document has no endpoints.
    pub(super) fn sign_in(&self, issuer: &str, found: Option<&SignInDocument>) -> Option<SignIn> {
        let endpoints = match found {
            Some(document) => Some(self.endpoints(document)?),
            None => None,
        };
        Some(SignIn { issuer: issuer.to_owned(), client_id: self.id.clone(), endpoints })
    }

    fn endpoints(&self, document: &SignInDocument) -> Option<SignInEndpoints> {
        let SignInDocument { authorization, token, end_session, revocation, .. } = document;
        Some(SignInEndpoints {
            authorization: authorization.clone()?,
            token: token.clone()?,
            end_session: end_session.clone(),
            revocation: revocation.clone(),
            scope: self.scope.clone().unwrap_or_else(|| document.scope()),
            sends_issuer: document.sends_issuer,
        })
    }
}

impl SignInDocument {
    /// Reads a discovery document; unsafe addresses are ignored.
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

    /// Whether the document has the endpoints for a sign-in.
    pub(super) fn has_endpoints(&self) -> bool {
        self.authorization.is_some() && self.token.is_some()
    }

    /// Default scopes: all of ours that the issuer supports.
    fn scope(&self) -> String {
        let ours = Scope::ALL.into_iter().map(Scope::as_str).chain([OFFLINE_ACCESS]);
        let supported = ours.filter(|word| self.scopes.iter().any(|it| it == word));
        [OPENID].into_iter().chain(supported).collect::<Vec<_>>().join(" ")
    }
}
