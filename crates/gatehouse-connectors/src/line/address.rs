//! Where a platform may be: which addresses the server goes to because a tenant's account says so.
//!
//! Whoever configures an account must not thereby reach what only this machine can: the metadata of its
//! cloud, its neighbours on the link, its own loopback under another name. Private networks are allowed,
//! since operators run platforms inside.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// Names under which clouds tell a machine about itself, credentials included.
const METADATA_NAMES: [&str; 1] = ["metadata.google.internal"];

/// Addresses of the same, where they are not link-local: Alibaba's, Azure's and Oracle's.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// Google's.
const METADATA_V6: [Ipv6Addr; 1] = [Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)];

/// How Amazon's begin: it has several services there, each of which tells a machine about itself.
const METADATA_V6_PREFIX: [u16; 2] = [0xfd00, 0xec2];

/// The one name that means this machine.
pub(super) const LOCALHOST: &str = "localhost";

/// Where a platform is: an address that may be gone to, without a slash at its end.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

/// Why an address can't be a platform's. Reads on after the field's name, and repeats no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadUrl(String);

impl BaseUrl {
    /// Takes an address that may be gone to: `https`, or `http` on this machine or where it is allowed.
    pub fn parse(text: &str, allow_insecure_urls: bool) -> Result<Self, BadUrl> {
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
        if let Err(why) = check(&url, allow_insecure_urls) {
            return Err(match why {
                Refused::Scheme => BadUrl(format!("{EXPECTED}, not `{text}`")),
                Refused::Plain => BadUrl(format!(
                    "{EXPECTED}, not `{text}`: http is for this machine alone, unless \
                     platforms.allow_insecure_urls is set"
                )),
                Refused::Host(place) => {
                    BadUrl(format!("must be the address of a platform, not {place} (`{text}`)"))
                }
            });
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }

    /// What is at `target`: a path and perhaps a query behind this address, or a whole address with the
    /// same scheme, host and port.
    pub(super) fn join(&self, target: &str) -> Option<Url> {
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
    pub(super) fn host_and_port(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        format!("{host}:{}", self.0.port_or_known_default().unwrap_or_default())
    }

    /// Whether an address has the same scheme, host and port.
    pub(super) fn is_origin_of(&self, url: &Url) -> bool {
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
pub(super) fn whole(target: &str) -> Option<Url> {
    let url = Url::parse(target).ok()?;
    let is_plain =
        url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    (is_plain && url.has_host()).then_some(url)
}

/// Why an address is not gone to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// It is neither `https` nor `http`.
    #[error("its address is neither https nor http")]
    Scheme,
    /// What is sent could be read on the way.
    #[error("http is for this machine alone, unless platforms.allow_insecure_urls is set")]
    Plain,
    /// It is a place that is no platform's; which one.
    #[error("its address is {0}, where nothing is asked")]
    Host(&'static str),
}

/// Looks at an address as it stands; what its name resolves to is looked at by the resolver.
pub(super) fn check(url: &Url, allow_insecure_urls: bool) -> Result<(), Refused> {
    let is_plain = match url.scheme() {
        "https" => false,
        "http" => true,
        _ => return Err(Refused::Scheme),
    };
    let is_here = match host(url) {
        Host::Nothing => return Err(Refused::Scheme),
        Host::Name(name) => {
            if METADATA_NAMES.iter().any(|it| name.trim_end_matches('.').eq_ignore_ascii_case(it)) {
                return Err(Refused::Host(METADATA));
            }
            name == LOCALHOST
        }
        Host::Address(address) => match reach(address) {
            Reach::Refused(place) => return Err(Refused::Host(place)),
            Reach::Loopback => true,
            Reach::Elsewhere => false,
        },
    };
    if is_plain && !is_here && !allow_insecure_urls {
        return Err(Refused::Plain);
    }
    Ok(())
}

/// Whether an address is this machine's own, as it stands.
pub(super) fn is_loopback(url: &Url) -> bool {
    match host(url) {
        Host::Name(name) => name == LOCALHOST,
        Host::Address(address) => reach(address) == Reach::Loopback,
        Host::Nothing => false,
    }
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

/// Where an IP address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// To what no platform is; which it is.
    Refused(&'static str),
    /// To this machine.
    Loopback,
    /// To another one.
    Elsewhere,
}

const METADATA: &str = "a cloud's metadata";
const LINK_LOCAL: &str = "a link-local address";
const UNSPECIFIED: &str = "the unspecified address";
const MANY: &str = "an address of many machines";
const DISGUISED: &str = "this machine in another form";

/// Where an IP address leads, in whichever form it is written.
pub(super) fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    if METADATA_V4.contains(&address) {
        Reach::Refused(METADATA)
    } else if address.octets()[0] == 0 {
        Reach::Refused(UNSPECIFIED)
    } else if address.is_link_local() {
        Reach::Refused(LINK_LOCAL)
    } else if address.is_multicast() || address.is_broadcast() {
        Reach::Refused(MANY)
    } else if address.is_loopback() {
        Reach::Loopback
    } else {
        Reach::Elsewhere
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    if METADATA_V6.contains(&address) || address.segments().starts_with(&METADATA_V6_PREFIX) {
        Reach::Refused(METADATA)
    } else if address.is_unspecified() {
        Reach::Refused(UNSPECIFIED)
    } else if address.is_unicast_link_local() {
        Reach::Refused(LINK_LOCAL)
    } else if address.is_multicast() {
        Reach::Refused(MANY)
    } else if address.is_loopback() {
        Reach::Loopback
    } else if let Some(mapped) = address.to_ipv4_mapped() {
        // The system connects to the IPv4 address itself.
        reach_v4(mapped)
    } else if let Some(embedded) = embedded(address) {
        match reach_v4(embedded) {
            // Who translates it is another machine, so it is that one's loopback.
            Reach::Loopback => Reach::Refused(DISGUISED),
            reach => reach,
        }
    } else {
        Reach::Elsewhere
    }
}

/// The IPv4 address that a gateway makes of an IPv6 address: IPv4-compatible, IPv4-translated (RFC 2765),
/// NAT64 with the known prefixes (RFC 6052, RFC 8215), 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        | [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
