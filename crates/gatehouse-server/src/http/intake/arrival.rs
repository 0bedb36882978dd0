//! How a request came in: through which door, from where, and whether on the way it could be read by others.

use std::net::IpAddr;

/// A listener, by whom it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The API's own.
    Main,
    /// The operator's, who needs no token there and finds little.
    Operator,
}

/// How a request came in.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Where.
    pub door: Door,
    /// Whether by TLS.
    pub encrypted: bool,
    /// Who is at the other end of the connection: the client, or a proxy that stands before it.
    pub peer: IpAddr,
}

impl Arrival {
    /// What the address of the request begins with.
    pub fn scheme(self) -> &'static str {
        if self.encrypted { "https" } else { "http" }
    }
}
