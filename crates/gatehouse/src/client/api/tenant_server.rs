//! A server as one of its tenants sees it.

use reqwest::Method;

use super::ask::Ask;
use super::pages::Pages;
use super::server::Server;

/// A server as one of its tenants sees it.
pub(crate) struct TenantServer {
    pub(crate) server: Server,
    pub(crate) tenant: String,
    /// What leads here, for a command that is suggested.
    pub(in crate::client::api) flags: String,
}

impl TenantServer {
    /// A request for something of the tenant's.
    pub(crate) fn ask(&self, method: Method, segments: &[&str]) -> Ask<'_> {
        let mut path = vec![self.tenant.as_str()];
        path.extend(segments);
        self.server.ask(method, &path)
    }

    pub(crate) fn get(&self, segments: &[&str]) -> Ask<'_> {
        self.ask(Method::GET, segments)
    }

    /// A list of the tenant's, in large pages; the query says which of its things.
    pub(crate) fn pages(&self, segments: &[&str], query: &str) -> Pages<'_> {
        let mut path = vec![self.tenant.as_str()];
        path.extend(segments);
        self.server.pages(&path, query)
    }

    /// A command of this program that asks the same server for the same tenant.
    pub(crate) fn command(&self, words: &str) -> String {
        format!("gatehouse {words}{}", self.flags)
    }
}
