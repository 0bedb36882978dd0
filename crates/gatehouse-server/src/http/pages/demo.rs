//! Sign-in without credentials on a demo server, for browsers on this machine.
//!
//! The console of a demo opens signed in. Its token must reach only this server's page in a local browser: not other
//! machines, not clients of a proxy on this machine, and not foreign pages in the same browser.

use std::net::Ipv4Addr;

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Version, header};

use crate::http::intake::connection_info::ConnectionInfo;
use crate::http::route::call::Call;

const PROXY_HEADERS: [&str; 5] =
    ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];

pub(in crate::http) struct DemoToken<'a> {
    pub(in crate::http) tenant: &'a str,
    pub(in crate::http) token: String,
}

/// A new token for a browser on this machine, if the server is a demo.
pub(in crate::http) fn token(call: &Call) -> Option<DemoToken<'_>> {
    let grant = call.server.demo.as_ref()?;
    if !is_local_browser(call.connection, &call.parts) {
        return None;
    }
    let token = call.issue(grant, &call.origin);
    Some(DemoToken { tenant: grant.tenants.first()?, token })
}

/// Whether the request comes from this server's page in a browser on this machine.
fn is_local_browser(connection: ConnectionInfo, parts: &Parts) -> bool {
    connection.peer.to_canonical().is_loopback()
        && has_local_host(parts)
        && is_direct(parts)
        && is_same_origin(&parts.headers)
}

/// Whether the request's host is a name of this machine. Against DNS rebinding: a foreign page whose name resolves to
/// this machine passes as same-origin, but the browser sends that name as host.
fn has_local_host(parts: &Parts) -> bool {
    let hosts = parts.headers.get_all(header::HOST).iter();
    let hosts = hosts.map(|value| value.to_str().ok().and_then(|it| it.parse::<Authority>().ok()));
    let mut named = hosts.chain(parts.uri.authority().cloned().map(Some)).peekable();
    named.peek().is_some() && named.all(|host| host.is_some_and(|host| is_local(host.host())))
}

fn is_local(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host == "[::1]"
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// Whether no proxy on this machine forwarded the request. Some proxies still use HTTP/1.0, browsers don't.
fn is_direct(parts: &Parts) -> bool {
    parts.version >= Version::HTTP_11
        && !PROXY_HEADERS.iter().any(|name| parts.headers.contains_key(*name))
}

/// Whether the request isn't from a foreign page. Clients other than browsers don't send the header.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all("sec-fetch-site").iter();
    sites.all(|site| site == "same-origin" || site == "none")
}
