//! A server as one of its tenants uses it.

use reqwest::Method;

use super::pages::Pages;
use super::request::ApiRequest;
use super::server::Server;

/// A server as one of its tenants uses it.
pub(crate) struct TenantServer {
    pub(crate) server: Server,
    pub(crate) tenant: String,
    /// Flags that select the server and the tenant, for suggested commands.
    pub(in crate::client::api) flags: String,
}

impl TenantServer {
    /// A request for a path below the tenant's.
    pub(crate) fn request(&self, method: Method, segments: &[&str]) -> ApiRequest<'_> {
        let mut path = vec![self.tenant.as_str()];
        path.extend(segments);
        self.server.request(method, &path)
    }

    pub(crate) fn get(&self, segments: &[&str]) -> ApiRequest<'_> {
        self.request(Method::GET, segments)
    }

    /// A list of the tenant in large pages, filtered by the query.
    pub(crate) fn pages(&self, segments: &[&str], query: &str) -> Pages<'_> {
        let mut path = vec![self.tenant.as_str()];
        path.extend(segments);
        self.server.pages(&path, query)
    }

    /// A command of this program for this server and tenant.
    pub(crate) fn command(&self, words: &str) -> String {
        format!("gatehouse {words}{}", self.flags)
    }
}
