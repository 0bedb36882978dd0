//! Settings of authentication: the built-in issuer and external ones.

use gatehouse_core::TenantName;
use gatehouse_core::rights::{Scope, Tenants};
use serde::{Deserialize, Serialize};

use super::Duration;
use super::safe_url::is_safe;

/// Range of the validity of clients' tokens.
const TOKEN_LIFETIME: std::ops::RangeInclusive<Duration> =
    Duration::minutes(1)..=Duration::hours(24);

/// Range of the allowed validity of external issuers' tokens.
const TOKEN_LIFETIME_MAX: std::ops::RangeInclusive<Duration> =
    Duration::minutes(1)..=Duration::hours(3660 * 24);

/// Settings of authentication.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    /// Required audience (`aud`) of the built-in issuer's tokens.
    pub audience: String,
    /// Validity of tokens that clients fetch.
    pub token_lifetime: Duration,
    /// External trusted issuers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issuers: Vec<Issuer>,
}

/// A trusted OpenID Connect issuer.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// The issuer's URL, which is its name in tokens (`iss`).
    pub issuer: IssuerUrl,
    /// Required audience (`aud`); defaults to `auth.audience`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// Claim with the tenants; dots separate nested claims.
    #[serde(default = "Issuer::tenants_claim")]
    pub tenants_claim: String,
    /// Claim with the scopes.
    #[serde(default = "Issuer::scope_claim")]
    pub scope_claim: String,
    /// Allowed tenants, `*` for all at once; defaults to any tenant by name, but not `*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenants: Option<Vec<String>>,
    /// Allowed scopes; defaults to all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// Allowed token types (`typ`); defaults to `JWT` and `at+jwt` without ID tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_types: Option<Vec<String>>,
    /// Longest validity of the issuer's tokens.
    #[serde(default = "Issuer::token_lifetime_max")]
    pub token_lifetime_max: Duration,
    /// The console's `client_id` at this issuer; without it, users can't sign in with the issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console_client_id: Option<String>,
    /// Scopes that the console requests, separated by spaces; defaults to those that the issuer supports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console_scope: Option<String>,
}

/// An issuer's URL: https, or on this machine.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "String")]
pub struct IssuerUrl(String);

impl Default for Auth {
    fn default() -> Self {
        Self {
            audience: "gatehouse".into(),
            token_lifetime: Duration::minutes(15),
            issuers: Vec::new(),
        }
    }
}

impl Auth {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.audience.is_empty() {
            return Err("auth.audience must not be empty".into());
        }
        let (lifetime, shortest, longest) =
            (self.token_lifetime, TOKEN_LIFETIME.start(), TOKEN_LIFETIME.end());
        if !(shortest.get()..=longest.get()).contains(&lifetime.get()) {
            return Err(format!(
                "auth.token_lifetime must be {shortest} to {longest}, not {lifetime}"
            ));
        }
        for (n, issuer) in self.issuers.iter().enumerate() {
            let Issuer { issuer: url, audience, tenants_claim, scope_claim, .. } = issuer;
            let Issuer { console_client_id, console_scope, .. } = issuer;
            let name = url.as_str();
            if self.issuers[..n].iter().any(|other| other.issuer == *url) {
                return Err(format!("auth.issuers names `{name}` twice"));
            }
            if audience.as_ref().is_some_and(String::is_empty)
                || tenants_claim.is_empty()
                || scope_claim.is_empty()
            {
                return Err(format!(
                    "auth.issuers, `{name}`: audience, tenants_claim and scope_claim must not be \
                     empty; leave them out for their defaults"
                ));
            }
            let is_blank =
                |text: &Option<String>| text.as_ref().is_some_and(|it| it.trim().is_empty());
            if is_blank(console_client_id) || is_blank(console_scope) {
                return Err(format!(
                    "auth.issuers, `{name}`: console_client_id and console_scope must not be empty; leave \
                     them out if users don't sign in with this issuer"
                ));
            }
            issuer.check_bounds().map_err(|why| format!("auth.issuers, `{name}`: {why}"))?;
            if console_scope.is_some() && console_client_id.is_none() {
                return Err(format!(
                    "auth.issuers, `{name}`: console_scope needs console_client_id"
                ));
            }
        }
        Ok(())
    }
}

impl Issuer {
    fn tenants_claim() -> String {
        "tenants".into()
    }

    fn scope_claim() -> String {
        "scope".into()
    }

    fn token_lifetime_max() -> Duration {
        Duration::hours(30 * 24)
    }

    /// Checks the limits on the issuer's tokens.
    fn check_bounds(&self) -> Result<(), String> {
        let bad_tenant =
            |name: &&String| *name != Tenants::ALL_WORD && name.parse::<TenantName>().is_err();
        if let Some(name) = self.tenants.iter().flatten().find(bad_tenant) {
            return Err(format!(
                "tenants must hold names of tenants, or `*`, and `{name}` is not one"
            ));
        }
        if let Some(word) = self.scopes.iter().flatten().find(|it| Scope::from_word(it).is_none()) {
            let known = Scope::ALL.map(Scope::as_str).join(", ");
            return Err(format!("scopes must hold scopes ({known}), and `{word}` is not one"));
        }
        if self
            .token_types
            .as_ref()
            .is_some_and(|it| it.is_empty() || it.iter().any(String::is_empty))
        {
            return Err("token_types must not be empty; leave it out for access tokens".into());
        }
        let (lifetime, shortest, longest) =
            (self.token_lifetime_max, TOKEN_LIFETIME_MAX.start(), TOKEN_LIFETIME_MAX.end());
        if !(shortest.get()..=longest.get()).contains(&lifetime.get()) {
            return Err(format!(
                "token_lifetime_max must be {shortest} to {longest}, not {lifetime}"
            ));
        }
        Ok(())
    }
}

impl IssuerUrl {
    /// The URL exactly as written: the `iss` of tokens must be equal.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for IssuerUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_address = reqwest::Url::parse(&text).is_ok_and(|url| {
            is_safe(&url)
                && url.query().is_none()
                && url.fragment().is_none()
                && url.username().is_empty()
                && url.password().is_none()
        });
        if is_address {
            return Ok(Self(text));
        }
        let expected = "issuer must be an address such as `https://id.example/realms/fleet`";
        // User info may be a password, so the error doesn't repeat it.
        let given = text.rsplit('@').next().unwrap_or_default();
        Err(format!("{expected} (http only on this machine, no password in it), not `{given}`"))
    }
}

impl From<IssuerUrl> for String {
    fn from(url: IssuerUrl) -> Self {
        url.0
    }
}
