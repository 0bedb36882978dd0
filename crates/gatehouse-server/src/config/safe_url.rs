//! URLs whose responses no attacker on the network can change.

use std::net::IpAddr;

use reqwest::Url;

/// Whether no attacker on the network can change the URL's responses: https, or this machine.
pub(crate) fn is_safe(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_here = host == "localhost" || address.is_ok_and(|it| it.is_loopback());
    match url.scheme() {
        "https" => !host.is_empty(),
        "http" => is_here,
        _ => false,
    }
}
