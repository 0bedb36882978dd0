//! Resolves platforms' host names, to allowed addresses only.
//!
//! The client connects to the addresses that were checked, so a name can't resolve to another address after the check.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::AddressRules;

/// Resolves host names, and drops addresses that are not allowed.
#[derive(Clone)]
pub(in crate::client) struct Resolver {
    pub(in crate::client) look_up: HostLookUp,
    /// Where platforms may be.
    pub(in crate::client) rules: Arc<AddressRules>,
    /// Whether the client uses plain http, so that only allowed networks are.
    pub(in crate::client) is_plain_http: bool,
    /// Proxies in the environment: the operator's choice, so any address is allowed.
    pub(in crate::client) proxies: Arc<[String]>,
}

/// Looks up the addresses of a host name.
pub(in crate::client) type HostLookUp = fn(Name) -> LookUpFuture;

pub(in crate::client) type LookUpFuture =
    Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// A host name has addresses, but none is allowed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("its name leads to {0}, which is not called")]
pub(in crate::client) struct NoAllowedAddress(&'static str);

/// Looks up a name with this machine's resolver.
pub(in crate::client) fn system_look_up(name: Name) -> LookUpFuture {
    Box::pin(async move {
        let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
        Ok(found.map(|it| it.ip()).collect())
    })
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let is_proxy = self.proxies.iter().any(|it| it.eq_ignore_ascii_case(name.as_str()));
        let found = (self.look_up)(name);
        let (rules, is_plain_http) = (Arc::clone(&self.rules), self.is_plain_http);
        Box::pin(async move {
            let found = found.await?;
            let allowed = if is_proxy { found } else { allowed(&rules, is_plain_http, found)? };
            Ok(Box::new(allowed.into_iter().map(|it| SocketAddr::new(it, 0))) as Addrs)
        })
    }
}

/// Host names of the proxies in the environment.
pub(in crate::client) fn environment_proxies() -> Arc<[String]> {
    let variables =
        ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    let named = variables.iter().filter_map(|it| std::env::var(it).ok());
    named.filter_map(|it| proxy_host(&it)).collect()
}

/// Host of a proxy URL, whose scheme may be missing.
fn proxy_host(text: &str) -> Option<String> {
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    Url::parse(&whole).ok()?.host_str().map(str::to_owned)
}

fn allowed(
    rules: &AddressRules,
    is_plain_http: bool,
    found: Vec<IpAddr>,
) -> Result<Vec<IpAddr>, NoAllowedAddress> {
    let mut refused = None;
    let mut keep = |address: &IpAddr| match rules.refusal(*address, is_plain_http) {
        Some(why) => {
            refused.get_or_insert(why);
            false
        }
        None => true,
    };
    let allowed: Vec<_> = found.into_iter().filter(|it| keep(it)).collect();
    match refused {
        Some(why) if allowed.is_empty() => Err(NoAllowedAddress(why)),
        _ => Ok(allowed),
    }
}

#[cfg(test)]
mod tests;
