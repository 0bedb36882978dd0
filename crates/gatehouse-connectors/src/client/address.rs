//! Where a platform may be: which addresses the server goes to because a tenant's account says so.
//!
//! A tenant's admin must not reach through an account what only this machine can: its own loopback, its
//! neighbours, private networks. An operator who runs platforms there names their networks. The metadata of a
//! cloud is refused whatever is named.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;

use super::network::Network;
use super::reach::{self, Reach, THIS_MACHINE, embedded, reach};

/// Names under which clouds tell a machine about itself, credentials included.
const METADATA_NAMES: [&str; 1] = ["metadata.google.internal"];

/// The one name that means this machine, alone or behind other labels.
const LOCALHOST: &str = "localhost";

/// Which addresses accounts may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressRules {
    /// Whether platforms may be asked without encryption wherever they are.
    pub allow_insecure_urls: bool,
    /// Networks that platforms may be in although not all the world can reach them, and in which they may be asked
    /// without encryption.
    pub allowed_networks: Vec<Network>,
    /// Single places like those.
    pub allowed_sockets: Vec<SocketAddr>,
}

impl AddressRules {
    /// The rules for a person who asks from their own machine: what is reached is what they reach anyway.
    pub fn of_a_person(allow_insecure_urls: bool) -> Self {
        let allowed_networks = reach::inside().collect();
        Self { allow_insecure_urls, allowed_networks, ..Self::default() }
    }

    /// Rules that let everything through that is an address at all, for those who compare addresses.
    pub(crate) fn anywhere() -> Self {
        let allowed_networks = vec![Network::v4([0, 0, 0, 0], 0), Network::v6([0, 0], 0)];
        Self { allow_insecure_urls: true, allowed_networks, ..Self::default() }
    }

    /// Whether an address is in an allowed network.
    fn has_network_of(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let within = |it: IpAddr| self.allowed_networks.iter().any(|network| network.contains(it));
        let translated = match address {
            IpAddr::V6(address) => embedded(address),
            IpAddr::V4(_) => None,
        };
        within(address) || translated.is_some_and(|it| within(it.into()))
    }

    /// Why a resolved address is not connected to, if so. Without encryption, only allowed networks are.
    pub(in crate::client) fn refusal(
        &self,
        address: IpAddr,
        is_plain: bool,
    ) -> Option<&'static str> {
        match reach(address) {
            Reach::Refused(place) => Some(place),
            _ if self.has_network_of(address) => None,
            Reach::Inside(place) => Some(place),
            Reach::World if is_plain => {
                Some("a network that platforms.allowed_networks doesn't name")
            }
            Reach::World => None,
        }
    }

    /// Looks at an address as it stands; what its name resolves to is looked at by the resolver.
    pub(in crate::client) fn route(&self, url: &Url) -> Result<Route, Refused> {
        let is_plain = match url.scheme() {
            "https" => false,
            "http" => true,
            _ => return Err(Refused::Scheme),
        };
        let needs_network = is_plain && !self.allow_insecure_urls;
        match host(url) {
            Host::Nothing => Err(Refused::Scheme),
            Host::Address(address) => {
                let port = url.port_or_known_default().unwrap_or_default();
                let socket = SocketAddr::new(address.to_canonical(), port);
                match reach(address) {
                    Reach::Refused(place) => Err(Refused::Never(place)),
                    _ if self.has_network_of(address) => Ok(Route::Inside),
                    _ if self.allowed_sockets.contains(&socket) => Ok(Route::Inside),
                    Reach::Inside(place) => Err(Refused::Inside(place)),
                    Reach::World if needs_network => Err(Refused::Plain),
                    Reach::World => Ok(Route::World),
                }
            }
            Host::Name(name) => {
                let name = name.trim_end_matches('.');
                if METADATA_NAMES.iter().any(|it| name.eq_ignore_ascii_case(it)) {
                    return Err(Refused::Never("a cloud's metadata"));
                }
                if name.rsplit('.').next() == Some(LOCALHOST) {
                    let here: [IpAddr; 2] =
                        [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
                    let is_allowed = here.into_iter().any(|it| self.has_network_of(it));
                    return match is_allowed {
                        true => Ok(Route::Inside),
                        false => Err(Refused::Inside(THIS_MACHINE)),
                    };
                }
                match (needs_network, self.allowed_networks.is_empty()) {
                    (false, _) => Ok(Route::World),
                    (true, false) => Ok(Route::Inside),
                    (true, true) => Err(Refused::Plain),
                }
            }
        }
    }
}

/// How an address is gone to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::client) enum Route {
    /// Into allowed networks and nowhere else, and without a proxy.
    Inside,
    /// To all the world, and into allowed networks.
    World,
}

/// Where a platform is: an address that may be gone to, without a slash at its end.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

/// Why an address can't be a platform's. Reads on after the field's name, and repeats no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadUrl(String);

impl BaseUrl {
    /// Takes an address that may be gone to.
    pub fn parse(text: &str, rules: &AddressRules) -> Result<Self, BadUrl> {
        const EXPECTED: &str = "must be an https address such as `https://api.example.com/v1`";
        let Ok(mut url) = Url::parse(text) else {
            // What can't be parsed may hold a password all the same.
            let told = if text.contains('@') { String::new() } else { format!(", not `{text}`") };
            return Err(BadUrl(format!("{EXPECTED}{told}")));
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
                Refused::Scheme => BadUrl(format!("{EXPECTED}, not `{text}`")),
                Refused::Plain => BadUrl(format!(
                    "{EXPECTED}, not `{text}`: http is for the networks that platforms.allowed_networks names, \
                     unless platforms.allow_insecure_urls is set"
                )),
                Refused::Never(place) => {
                    BadUrl(format!("must be the address of a platform, not {place} (`{text}`)"))
                }
                Refused::Inside(place) => BadUrl(format!(
                    "must be the address of a platform, not {place} (`{text}`), unless \
                     platforms.allowed_networks names its network"
                )),
            });
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }

    /// What is at `target`: a path and perhaps a query behind this address, or a whole address with the
    /// same scheme, host and port.
    pub(in crate::client) fn join(&self, target: &str) -> Option<Url> {
        if let Some(url) = whole(target) {
            return self.is_origin_of(&url).then_some(url);
        }
        if !(target.is_empty() || target.starts_with(['/', '?'])) {
            return None;
        }
        // The parser writes even an empty path as a slash.
        let prefix = self.0.path().trim_end_matches('/');
        let origin = self.0.origin().ascii_serialization();
        let url = Url::parse(&format!("{origin}{prefix}{target}")).ok()?;
        // Dots in a path lead upwards: a value that a client sent must not.
        let is_behind =
            url.path().strip_prefix(prefix).is_some_and(|it| it.is_empty() || it.starts_with('/'));
        (is_behind && url.fragment().is_none()).then_some(url)
    }

    /// Its host and port.
    pub(in crate::client) fn host_and_port(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        format!("{host}:{}", self.0.port_or_known_default().unwrap_or_default())
    }

    /// Whether an address has the same scheme, host and port.
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

/// A target that is a whole address, with nothing in it that is not sent as it stands.
pub(in crate::client) fn whole(target: &str) -> Option<Url> {
    let url = Url::parse(target).ok()?;
    let is_plain =
        url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    (is_plain && url.has_host()).then_some(url)
}

/// Why an address is not gone to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::client) enum Refused {
    /// It is neither `https` nor `http`.
    #[error("its address is neither https nor http")]
    Scheme,
    /// What is sent could be read on the way.
    #[error(
        "http is for the networks that platforms.allowed_networks names, unless platforms.allow_insecure_urls is set"
    )]
    Plain,
    /// It is a place that is no platform's; which one.
    #[error("its address is {0}, where nothing is asked")]
    Never(&'static str),
    /// It is a place where platforms are only if an operator says so; which one.
    #[error(
        "its address is {0}, where nothing is asked unless platforms.allowed_networks names its network"
    )]
    Inside(&'static str),
}

/// What stands for the host in an address.
enum Host<'a> {
    Nothing,
    Name(&'a str),
    Address(IpAddr),
}

/// The parser has made names lower-case and given every spelling of an IPv4 address its usual one.
fn host(url: &Url) -> Host<'_> {
    let Some(text) = url.host_str() else { return Host::Nothing };
    match text.trim_matches(['[', ']']).parse() {
        Ok(address) => Host::Address(address),
        Err(_) => Host::Name(text),
    }
}

#[cfg(test)]
mod tests;
