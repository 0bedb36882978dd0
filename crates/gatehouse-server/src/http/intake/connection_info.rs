//! The connection that a request came in on: its listener, its peer, and whether it is encrypted.

use std::net::IpAddr;

/// Kind of listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerKind {
    /// The API's listener.
    Main,
    /// The operators' listener: it needs no token and serves few paths.
    Operator,
}

/// The connection that a request came in on.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionInfo {
    /// The listener that accepted the connection.
    pub listener: ListenerKind,
    /// Whether the connection uses TLS.
    pub encrypted: bool,
    /// Address of the connection's other end: the client, or a proxy in front of it.
    pub peer: IpAddr,
}

impl ConnectionInfo {
    /// The scheme of the request's URL.
    pub fn scheme(self) -> &'static str {
        if self.encrypted { "https" } else { "http" }
    }
}
