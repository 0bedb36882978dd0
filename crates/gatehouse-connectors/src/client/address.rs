//! Address rules: which hosts the server connects to because a tenant's account names them.
//!
//! A tenant's admin must not reach loopback, link-local or private networks through an account. An operator who runs
//! platforms there allows their networks. A cloud's metadata service is always refused.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;

use super::address_scope::{self, AddressScope, THIS_MACHINE, embedded, scope_of};
use super::network::Network;

/// Host names of clouds' metadata services, which hand out credentials.
const METADATA_NAMES: [&str; 1] = ["metadata.google.internal"];

/// The top-level label that means this machine.
const LOCALHOST: &str = "localhost";

/// Whose addresses rules are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressUse {
    /// External platforms, whose addresses admins name.
    #[default]
    Platforms,
    /// Callbacks, which subscribers name. Never over a proxy: it would resolve host names by its own rules.
    Callbacks,
}

impl AddressUse {
    /// The setting that allows internal networks.
    fn setting(self) -> &'static str {
        match self {
            Self::Platforms => "a network that platforms.allowed_networks doesn't name",
            Self::Callbacks => "a network that events.callback_networks doesn't name",
        }
    }
}

/// Which addresses accounts and hubs may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressRules {
    /// Whose addresses they are.
    pub addresses_of: AddressUse,
    /// Whether platforms anywhere may be called over plain http.
    pub allow_insecure_urls: bool,
    /// Internal networks that platforms may be in; plain http is allowed there.
    pub allowed_networks: Vec<Network>,
    /// Single internal sockets that platforms may be at; plain http is allowed there.
    pub allowed_sockets: Vec<SocketAddr>,
}

impl AddressRules {
    /// Rules for a command-line user, who can reach internal networks anyway.
    pub fn for_local_user(allow_insecure_urls: bool) -> Self {
        let allowed_networks = address_scope::internal_networks().collect();
        Self { allow_insecure_urls, allowed_networks, ..Self::default() }
    }

    /// Rules that allow every valid address, for comparing addresses.
    pub(crate) fn anywhere() -> Self {
        let allowed_networks = vec![Network::v4([0, 0, 0, 0], 0), Network::v6([0, 0], 0)];
        Self { allow_insecure_urls: true, allowed_networks, ..Self::default() }
    }

    /// Whether an address is in an allowed network.
    fn is_in_allowed_network(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let within = |it: IpAddr| self.allowed_networks.iter().any(|network| network.contains(it));
        let translated = match address {
            IpAddr::V6(address) => embedded(address),
            IpAddr::V4(_) => None,
        };
        within(address) || translated.is_some_and(|it| within(it.into()))
    }

    /// Why the resolver must drop an address; `None` if it is allowed. Over plain http, only allowed networks are.
    pub(in crate::client) fn refusal(
        &self,
        address: IpAddr,
        is_plain_http: bool,
    ) -> Option<&'static str> {
        match scope_of(address) {
            AddressScope::Forbidden(kind) => Some(kind),
            _ if self.is_in_allowed_network(address) => None,
            AddressScope::Internal(kind) => Some(kind),
            AddressScope::Public if is_plain_http => Some(self.addresses_of.setting()),
            AddressScope::Public => None,
        }
    }

    /// Checks a URL as written; the resolver checks the addresses that a host name resolves to.
    pub(in crate::client) fn route(&self, url: &Url) -> Result<Route, AddressRefused> {
        let is_plain_http = match url.scheme() {
            "https" => false,
            "http" => true,
            _ => return Err(AddressRefused::Scheme),
        };
        let needs_network = is_plain_http && !self.allow_insecure_urls;
        match host(url) {
            Host::Nothing => Err(AddressRefused::Scheme),
            Host::Address(address) => {
                let port = url.port_or_known_default().unwrap_or_default();
                let socket = SocketAddr::new(address.to_canonical(), port);
                match scope_of(address) {
                    AddressScope::Forbidden(kind) => Err(AddressRefused::Forbidden(kind)),
                    _ if self.is_in_allowed_network(address) => Ok(Route::Internal),
                    _ if self.allowed_sockets.contains(&socket) => Ok(Route::Internal),
                    AddressScope::Internal(kind) => Err(AddressRefused::Internal(kind)),
                    AddressScope::Public if needs_network => Err(AddressRefused::PlainHttp),
                    AddressScope::Public => Ok(Route::Public),
                }
            }
            Host::Name(name) => {
                let name = name.trim_end_matches('.');
                if METADATA_NAMES.iter().any(|it| name.eq_ignore_ascii_case(it)) {
                    return Err(AddressRefused::Forbidden("a cloud's metadata"));
                }
                if name.rsplit('.').next() == Some(LOCALHOST) {
                    let here: [IpAddr; 2] =
                        [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
                    let is_allowed = here.into_iter().any(|it| self.is_in_allowed_network(it));
                    return match is_allowed {
                        true => Ok(Route::Internal),
                        false => Err(AddressRefused::Internal(THIS_MACHINE)),
                    };
                }
                match (needs_network, self.allowed_networks.is_empty()) {
                    (false, _) => Ok(Route::Public),
                    (true, false) => Ok(Route::Internal),
                    (true, true) => Err(AddressRefused::PlainHttp),
                }
            }
        }
    }
}

/// Which HTTP client calls an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::client) enum Route {
    /// The client for allowed networks only, without a proxy.
    Internal,
    /// The client for public addresses and allowed networks.
    Public,
}

/// An allowed platform address, without a trailing slash.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

/// Why an address is refused. Reads on after the field's name, and repeats no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadUrl(String);

impl BaseUrl {
    /// Parses an address and checks it against the rules.
    pub fn parse(text: &str, rules: &AddressRules) -> Result<Self, BadUrl> {
        const EXPECTED: &str = "must be an https address such as `https://api.example.com/v1`";
        let Ok(mut url) = Url::parse(text) else {
            // Even a text that can't be parsed may hold a password.
            let shown = if text.contains('@') { String::new() } else { format!(", not `{text}`") };
            return Err(BadUrl(format!("{EXPECTED}{shown}")));
        };
        let bad = |why: &str| Err(BadUrl(why.to_owned()));
        if !url.username().is_empty() || url.password().is_some() {
            return bad("must not hold a user name or password: they belong into credentials");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return bad("must end with its path, without `?` and `#`");
        }
        if let Err(why) = rules.route(&url) {
            return Err(match why {
                AddressRefused::Scheme => BadUrl(format!("{EXPECTED}, not `{text}`")),
                AddressRefused::PlainHttp => BadUrl(format!(
                    "{EXPECTED}, not `{text}`: http is for the networks that platforms.allowed_networks names, \
                     unless platforms.allow_insecure_urls is set"
                )),
                AddressRefused::Forbidden(kind) => {
                    BadUrl(format!("must be the address of a platform, not {kind} (`{text}`)"))
                }
                AddressRefused::Internal(kind) => BadUrl(format!(
                    "must be the address of a platform, not {kind} (`{text}`), unless \
                     platforms.allowed_networks names its network"
                )),
            });
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }

    /// URL of `target`: a path and perhaps a query behind this address, or an absolute URL on the same origin.
    pub(in crate::client) fn join(&self, target: &str) -> Option<Url> {
        if let Some(url) = absolute_url(target) {
            return self.is_origin_of(&url).then_some(url);
        }
        if !(target.is_empty() || target.starts_with(['/', '?'])) {
            return None;
        }
        // The parser writes even an empty path as a slash.
        let prefix = self.0.path().trim_end_matches('/');
        let origin = self.0.origin().ascii_serialization();
        let url = Url::parse(&format!("{origin}{prefix}{target}")).ok()?;
        // `..` in a client's value must not lead out of the base path.
        let is_behind =
            url.path().strip_prefix(prefix).is_some_and(|it| it.is_empty() || it.starts_with('/'));
        (is_behind && url.fragment().is_none()).then_some(url)
    }

    pub(in crate::client) fn host_and_port(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        format!("{host}:{}", self.0.port_or_known_default().unwrap_or_default())
    }

    /// Whether a URL has the same scheme, host and port.
    pub(in crate::client) fn is_origin_of(&self, url: &Url) -> bool {
        self.0.origin() == url.origin()
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BaseUrl({self})")
    }
}

/// Parses an absolute URL without user, password and fragment.
pub(in crate::client) fn absolute_url(target: &str) -> Option<Url> {
    let url = Url::parse(target).ok()?;
    let is_bare = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    (is_bare && url.has_host()).then_some(url)
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::client) enum AddressRefused {
    #[error("its address is neither https nor http")]
    Scheme,
    /// Plain http outside the allowed networks.
    #[error(
        "http is for the networks that platforms.allowed_networks names, unless platforms.allow_insecure_urls is set"
    )]
    PlainHttp,
    /// Never a platform; the kind of address.
    #[error("its address is {0}, which is not called")]
    Forbidden(&'static str),
    /// A platform only if an operator allows the network; the kind of address.
    #[error(
        "its address is {0}, which is not called unless platforms.allowed_networks names its network"
    )]
    Internal(&'static str),
}

enum Host<'a> {
    Nothing,
    Name(&'a str),
    Address(IpAddr),
}

/// Reads the host. The URL parser has lower-cased names and normalised every spelling of an IPv4 address.
fn host(url: &Url) -> Host<'_> {
    let Some(text) = url.host_str() else { return Host::Nothing };
    match text.trim_matches(['[', ']']).parse() {
        Ok(address) => Host::Address(address),
        Err(_) => Host::Name(text),
    }
}

#[cfg(test)]
mod tests;
