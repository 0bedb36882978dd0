//! Whom a demo lets in without asking: whoever sits at this machine.
//!
//! A demo is there to be tried, and its console opens signed in. The token for that must not get to anybody else:
//! not to other machines, not to those whom a proxy on this one lets in, and not to pages of others that the
//! browser here happens to show.

use std::net::Ipv4Addr;

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Version, header};

use crate::http::intake::connection_info::ConnectionInfo;
use crate::http::route::call::Call;

/// What proxies put into a request.
const OF_PROXIES: [&str; 5] =
    ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];

/// A token of a demo, and its tenant.
pub(in crate::http) struct DemoToken<'a> {
    pub(in crate::http) tenant: &'a str,
    pub(in crate::http) token: String,
}

/// A new token for whoever sits at this machine, where the server is a demo.
pub(in crate::http) fn token(call: &Call) -> Option<DemoToken<'_>> {
    let grant = call.server.demo.as_ref()?;
    if !is_here(call.connection_info, &call.parts) {
        return None;
    }
    let token = call.server.auth.issue(grant, call.app().now());
    Some(DemoToken { tenant: grant.tenants.first()?, token })
}

/// Whether a request is that of a page of this server, in a browser on this machine.
fn is_here(connection_info: ConnectionInfo, parts: &Parts) -> bool {
    connection_info.peer.to_canonical().is_loopback()
        && is_named_as_here(parts)
        && came_straight(parts)
        && is_our_own_page(&parts.headers)
}

/// Whether the client knows the server by a name of this machine. A page of others can have its own name lead
/// here, and would then pass for one of ours; but its browser says that name.
fn is_named_as_here(parts: &Parts) -> bool {
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

/// Whether nobody on this machine passes it on for somebody else. Browsers have long left HTTP/1.0, and some
/// proxies have not.
fn came_straight(parts: &Parts) -> bool {
    parts.version >= Version::HTTP_11
        && !OF_PROXIES.iter().any(|name| parts.headers.contains_key(*name))
}

/// Whether no page of others asks. Who is no browser doesn't say.
fn is_our_own_page(headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all("sec-fetch-site").iter();
    sites.all(|site| site == "same-origin" || site == "none")
}
