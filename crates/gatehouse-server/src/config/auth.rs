//! Who may call: the built-in issuer, and those of your own.

use gatehouse_core::TenantName;
use gatehouse_core::rights::{Scope, Tenants};
use serde::{Deserialize, Serialize};

use super::Duration;
use super::safe_url::is_safe;

/// How long the tokens of clients may be good for.
const TOKEN_LIFETIME: std::ops::RangeInclusive<Duration> =
    Duration::minutes(1)..=Duration::hours(24);

/// How long those of other issuers may be allowed to be good for.
const TOKEN_LIFETIME_MAX: std::ops::RangeInclusive<Duration> =
    Duration::minutes(1)..=Duration::hours(3660 * 24);

/// Who may call.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    /// The audience (`aud`) that a token of the built-in issuer must name.
    pub audience: String,
    /// How long a token is good for that a client has fetched.
    pub token_lifetime: Duration,
    /// The issuers that are trusted beside the built-in one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issuers: Vec<Issuer>,
}

/// An OpenID Connect issuer whose tokens are trusted.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// Its name as its tokens carry it (`iss`), which is its address too.
    pub issuer: IssuerUrl,
    /// The audience (`aud`) that its tokens must name; `auth.audience` where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// The claim that names tenants; one inside others with dots between.
    #[serde(default = "Issuer::tenants_claim")]
    pub tenants_claim: String,
    /// The claim that names scopes.
    #[serde(default = "Issuer::scope_claim")]
    pub scope_claim: String,
    /// The tenants that it may name, `*` for all at once; any by its name, but not `*`, where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenants: Option<Vec<String>>,
    /// The scopes that it may give; all where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// What its tokens may call themselves (`typ`); where none is given `JWT` and `at+jwt`, and no ID tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_types: Option<Vec<String>>,
    /// How long its tokens may be good for, from when they were issued.
    #[serde(default = "Issuer::token_lifetime_max")]
    pub token_lifetime_max: Duration,
    /// What the console is called there (`client_id`); without it, nobody signs in with this issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console_client_id: Option<String>,
    /// What the console asks for there (`scope`), with spaces between; what the issuer offers where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console_scope: Option<String>,
}

/// An issuer's address: https, or on this machine.
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
                     them out where nobody signs in with this issuer"
                ));
            }
            issuer.check_bounds().map_err(|why| format!("auth.issuers, `{name}`: {why}"))?;
            if console_scope.is_some() && console_client_id.is_none() {
                return Err(format!(
                    "auth.issuers, `{name}`: console_scope needs console_client_id beside it"
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

    /// What binds it must be something that there is.
    fn check_bounds(&self) -> Result<(), String> {
        let bad_tenant =
            |name: &&String| *name != Tenants::ALL_WORD && name.parse::<TenantName>().is_err();
        if let Some(name) = self.tenants.iter().flatten().find(bad_tenant) {
            return Err(format!(
                "tenants must hold names of tenants, or `*`, and `{name}` is none"
            ));
        }
        if let Some(word) = self.scopes.iter().flatten().find(|it| Scope::from_word(it).is_none()) {
            let known = Scope::ALL.map(Scope::as_str).join(", ");
            return Err(format!("scopes must hold scopes ({known}), and `{word}` is none"));
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
    /// The address, letter by letter as it was written: tokens must carry the same.
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
        // What stands before an `@` may be a password: it is not repeated.
        let given = text.rsplit('@').next().unwrap_or_default();
        Err(format!("{expected} (http only on this machine, no password in it), not `{given}`"))
    }
}

impl From<IssuerUrl> for String {
    fn from(url: IssuerUrl) -> Self {
        url.0
    }
}
