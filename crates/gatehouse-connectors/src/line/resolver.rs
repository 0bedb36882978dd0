//! Resolving the names of platforms: whatever a name server says, only to where a platform may be.
//!
//! The addresses that are looked at are the ones that are connected to, so a name can't mean one thing
//! while it is checked and another while it is used.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::{LOCALHOST, Reach, reach};

/// Resolves names, and leaves out what is no platform's address.
#[derive(Clone, Copy)]
pub(super) struct Resolver {
    /// Whoever knows names.
    pub(super) ask: Names,
}

/// Tells what a name means.
pub(super) type Names = fn(Name) -> Found;

/// What a name means, on its way.
pub(super) type Found = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// A name has addresses, and none of them may be gone to.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("its name leads to {0}, where nothing is asked")]
pub(super) struct NowhereToGo(&'static str);

impl Resolver {
    /// Knows the names that this machine knows.
    pub(super) fn of_machine() -> Self {
        let ask = |name: Name| -> Found {
            Box::pin(async move {
                let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
                Ok(found.map(|it| it.ip()).collect())
            })
        };
        Self { ask }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let text = name.as_str().to_owned();
        let found = (self.ask)(name);
        Box::pin(async move {
            let allowed = allowed(&text, found.await?)?;
            Ok(Box::new(allowed.into_iter().map(|it| SocketAddr::new(it, 0))) as Addrs)
        })
    }
}

/// Those addresses of a name that may be gone to.
///
/// `localhost` is this machine and nothing else, since it is trusted without encryption; every other
/// name is any machine but this one.
fn allowed(name: &str, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, NowhereToGo> {
    let mut refused = None;
    let mut keep = |address: &IpAddr| {
        let why = match reach(*address) {
            Reach::Loopback if name == LOCALHOST => return true,
            Reach::Elsewhere if name != LOCALHOST => return true,
            Reach::Loopback => "this machine",
            Reach::Elsewhere => "another machine",
            Reach::Refused(why) => why,
        };
        refused.get_or_insert(why);
        false
    };
    let allowed: Vec<_> = found.into_iter().filter(|it| keep(it)).collect();
    match refused {
        Some(why) if allowed.is_empty() => Err(NowhereToGo(why)),
        _ => Ok(allowed),
    }
}

#[cfg(test)]
mod tests;
