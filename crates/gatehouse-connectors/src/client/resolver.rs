//! Resolving the names of platforms: whatever a name server says, only to where a platform may be.
//!
//! The addresses that are looked at are the ones that are connected to, so a name can't mean one thing
//! while it is checked and another while it is used.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::AddressRules;

/// Resolves names, and leaves out what is no platform's address.
#[derive(Clone)]
pub(in crate::client) struct Resolver {
    /// Knows names.
    pub(in crate::client) names: Names,
    /// Where platforms may be.
    pub(in crate::client) rules: Arc<AddressRules>,
    /// Whether platforms are asked without encryption, so that only the allowed networks are gone to.
    pub(in crate::client) is_plain: bool,
    /// The proxies that the environment names: an operator's word, wherever they are.
    pub(in crate::client) proxies: Arc<[String]>,
}

/// Tells what a name means.
pub(in crate::client) type Names = fn(Name) -> Found;

/// What a name means, on its way.
pub(in crate::client) type Found = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// A name has addresses, and none of them may be gone to.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("its name leads to {0}, where nothing is asked")]
pub(in crate::client) struct NowhereToGo(&'static str);

/// The names that this machine knows.
pub(in crate::client) fn names_of_machine(name: Name) -> Found {
    Box::pin(async move {
        let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
        Ok(found.map(|it| it.ip()).collect())
    })
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let is_proxy = self.proxies.iter().any(|it| it.eq_ignore_ascii_case(name.as_str()));
        let found = (self.names)(name);
        let (rules, is_plain) = (Arc::clone(&self.rules), self.is_plain);
        Box::pin(async move {
            let found = found.await?;
            let allowed = if is_proxy { found } else { allowed(&rules, is_plain, found)? };
            Ok(Box::new(allowed.into_iter().map(|it| SocketAddr::new(it, 0))) as Addrs)
        })
    }
}

/// The host names of the proxies that the environment names.
pub(in crate::client) fn proxies_of_environment() -> Arc<[String]> {
    let variables =
        ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    let named = variables.iter().filter_map(|it| std::env::var(it).ok());
    named.filter_map(|it| host_of_proxy(&it)).collect()
}

/// The host of a proxy, whose scheme may be left out.
fn host_of_proxy(text: &str) -> Option<String> {
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    Url::parse(&whole).ok()?.host_str().map(str::to_owned)
}

/// Those addresses of a name that may be gone to.
fn allowed(
    rules: &AddressRules,
    is_plain: bool,
    found: Vec<IpAddr>,
) -> Result<Vec<IpAddr>, NowhereToGo> {
    let mut refused = None;
    let mut keep = |address: &IpAddr| match rules.refusal(*address, is_plain) {
        Some(why) => {
            refused.get_or_insert(why);
            false
        }
        None => true,
    };
    let allowed: Vec<_> = found.into_iter().filter(|it| keep(it)).collect();
    match refused {
        Some(why) if allowed.is_empty() => Err(NowhereToGo(why)),
        _ => Ok(allowed),
    }
}

#[cfg(test)]
mod tests;
