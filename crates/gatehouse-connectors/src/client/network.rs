//! Networks in CIDR notation, as operators write them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An IP network: all addresses with the same prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    first: IpAddr,
    n_bits: u8,
}

/// Why a text is not a network. Reads on after the setting's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadNetwork(String);

impl Network {
    /// The IPv4 network with this prefix.
    pub const fn v4(first: [u8; 4], n_bits: u8) -> Self {
        let [a, b, c, d] = first;
        Self { first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), n_bits }
    }

    /// The IPv6 network with this prefix; groups after the second are zero.
    pub const fn v6(first: [u16; 2], n_bits: u8) -> Self {
        let [a, b] = first;
        Self { first: IpAddr::V6(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0)), n_bits }
    }

    /// The network of a single address.
    pub const fn single(address: Ipv6Addr) -> Self {
        Self { first: IpAddr::V6(address), n_bits: 128 }
    }

    /// Whether an address is in the network.
    pub fn contains(self, address: IpAddr) -> bool {
        match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                (first.to_bits() ^ address.to_bits()).leading_zeros() >= u32::from(self.n_bits)
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                (first.to_bits() ^ address.to_bits()).leading_zeros() >= u32::from(self.n_bits)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = BadNetwork;

    /// Parses `10.20.0.0/16`, `fd12::/48`, or a single address.
    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        let expected = || {
            BadNetwork(format!(
                "must be a network such as `10.20.0.0/16` or `fd12::/48`, not `{text}`"
            ))
        };
        let (address, n_bits) = match text.split_once('/') {
            Some((address, n_bits)) => (address, Some(n_bits)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().map_err(|_| expected())?;
        let n_bits_max = if first.is_ipv4() { 32 } else { 128 };
        let n_bits = match n_bits {
            None => n_bits_max,
            Some(digits) if digits.bytes().all(|it| it.is_ascii_digit()) => {
                digits.parse().ok().filter(|it| *it <= n_bits_max).ok_or_else(expected)?
            }
            Some(_) => return Err(expected()),
        };
        let begin = match first {
            IpAddr::V4(it) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(n_bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(it.to_bits() & mask))
            }
            IpAddr::V6(it) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(n_bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(it.to_bits() & mask))
            }
        };
        // A mistyped address would allow another network than the intended one.
        if begin != first {
            let meant = Self { first: begin, n_bits };
            return Err(BadNetwork(format!(
                "must be a network's first address: `{meant}`, not `{text}`; a single address has no `/`"
            )));
        }
        Ok(Self { first, n_bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.n_bits)
    }
}

impl TryFrom<String> for Network {
    type Error = BadNetwork;

    fn try_from(text: String) -> Result<Self, BadNetwork> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

#[cfg(test)]
mod tests;
