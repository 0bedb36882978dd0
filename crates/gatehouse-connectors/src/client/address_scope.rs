//! Scope of an IP address, in every notation: public, internal, or never a platform.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::network::Network;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::client) enum AddressScope {
    /// Never a platform, whatever an operator allows; the kind of address.
    Forbidden(&'static str),
    /// This machine or an internal network, which an operator must allow; the kind of address.
    Internal(&'static str),
    Public,
}

const METADATA: &str = "a cloud's metadata";
const UNSPECIFIED: &str = "the unspecified address";
const MULTICAST: &str = "an address of many machines";
const TRANSLATED_LOOPBACK: &str = "this machine in another form";

/// Kind of a loopback address.
pub(in crate::client) const THIS_MACHINE: &str = "this machine";

/// Metadata services of clouds, which hand out credentials: Amazon's, Google's and others', Amazon's for containers,
/// Alibaba's, Azure's and Oracle's.
const METADATA_V4: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// Google's metadata service.
const METADATA_V6: [Ipv6Addr; 1] = [Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)];

/// Amazon's network of metadata services.
const METADATA_V6_NETWORK: Network = Network::v6([0xfd00, 0xec2], 32);

/// Internal networks, with their kinds.
const INTERNAL: [(Network, &str); 14] = [
    (Network::v4([127, 0, 0, 0], 8), THIS_MACHINE),
    (Network::v4([10, 0, 0, 0], 8), PRIVATE),
    (Network::v4([172, 16, 0, 0], 12), PRIVATE),
    (Network::v4([192, 168, 0, 0], 16), PRIVATE),
    (Network::v4([169, 254, 0, 0], 16), "a link-local address"),
    (Network::v4([100, 64, 0, 0], 10), "a shared network"),
    (Network::v4([192, 0, 0, 0], 24), RESERVED),
    (Network::v4([198, 18, 0, 0], 15), RESERVED),
    (Network::v4([240, 0, 0, 0], 4), RESERVED),
    (Network::v6([0xfc00, 0], 7), PRIVATE),
    (Network::v6([0xfec0, 0], 10), PRIVATE),
    (Network::v6([0xfe80, 0], 10), "a link-local address"),
    (Network::v6([0x100, 0], 64), RESERVED),
    // Teredo: the address hides the IPv4 address that a gateway connects to.
    (Network::v6([0x2001, 0], 32), RESERVED),
];

const PRIVATE: &str = "a private network";
const RESERVED: &str = "a reserved network";

pub(in crate::client) fn scope_of(address: IpAddr) -> AddressScope {
    match address {
        IpAddr::V4(address) => scope_of_v4(address),
        IpAddr::V6(address) => scope_of_v6(address),
    }
}

/// The networks that a user of this machine can reach anyway.
pub(in crate::client) fn internal_networks() -> impl Iterator<Item = Network> {
    INTERNAL.iter().map(|(network, _)| *network).chain([Network::single(Ipv6Addr::LOCALHOST)])
}

fn scope_of_v4(address: Ipv4Addr) -> AddressScope {
    if METADATA_V4.contains(&address) {
        AddressScope::Forbidden(METADATA)
    } else if address.octets()[0] == 0 {
        AddressScope::Forbidden(UNSPECIFIED)
    } else if address.is_multicast() || address.is_broadcast() {
        AddressScope::Forbidden(MULTICAST)
    } else {
        internal_or_public(address.into())
    }
}

fn scope_of_v6(address: Ipv6Addr) -> AddressScope {
    if METADATA_V6.contains(&address) || METADATA_V6_NETWORK.contains(address.into()) {
        AddressScope::Forbidden(METADATA)
    } else if address.is_unspecified() {
        AddressScope::Forbidden(UNSPECIFIED)
    } else if address.is_multicast() {
        AddressScope::Forbidden(MULTICAST)
    } else if address.is_loopback() {
        AddressScope::Internal(THIS_MACHINE)
    } else if let Some(mapped) = address.to_ipv4_mapped() {
        // The operating system connects to the IPv4 address itself.
        scope_of_v4(mapped)
    } else if let [0x64, 0xff9b, 1, ..] = address.segments() {
        // A network's own NAT64 (RFC 8215): only its operator knows the position of the IPv4 address.
        AddressScope::Internal(RESERVED)
    } else if let Some(embedded) = embedded(address) {
        match scope_of_v4(embedded) {
            // Another machine's loopback: the gateway's.
            AddressScope::Internal(THIS_MACHINE) => AddressScope::Forbidden(TRANSLATED_LOOPBACK),
            scope => scope,
        }
    } else {
        internal_or_public(address.into())
    }
}

fn internal_or_public(address: IpAddr) -> AddressScope {
    let network = INTERNAL.iter().find(|(network, _)| network.contains(address));
    network.map_or(AddressScope::Public, |(_, kind)| AddressScope::Internal(kind))
}

/// The IPv4 address that a gateway connects to for an IPv6 address: IPv4-compatible, IPv4-translated (RFC 2765), NAT64
/// with the well-known prefix (RFC 6052), 6to4.
pub(in crate::client) fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}
