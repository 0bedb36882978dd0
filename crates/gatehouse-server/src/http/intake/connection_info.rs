//! How a request came in: through which listener, from where, and whether on the way it could be read by others.

use std::net::IpAddr;

/// A listener, by whom it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerKind {
    /// The API's own.
    Main,
    /// The operator's, who needs no token there and finds little.
    Operator,
}

/// How a request came in.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionInfo {
    /// Where.
    pub listener: ListenerKind,
    /// Whether by TLS.
    pub encrypted: bool,
    /// Who is at the other end of the connection: the client, or a proxy that stands before it.
    pub peer: IpAddr,
}

impl ConnectionInfo {
    /// What the address of the request begins with.
    pub fn scheme(self) -> &'static str {
        if self.encrypted { "https" } else { "http" }
    }
}
