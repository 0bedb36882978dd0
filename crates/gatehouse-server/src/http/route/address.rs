//! Absolute URLs: under the setting `public_url`, or under the request's scheme and `Host`.

use gatehouse_core::{AccessId, ContractId, TaskId, TenantName};
use http::request::Parts;
use http::uri::Authority;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};

use crate::http::intake::connection_info::ConnectionInfo;
use crate::http::route::server_context::ServerContext;

/// Characters that are percent-encoded in a path segment.
pub const SEGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URL of a request, without its query.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    base: String,
    path: String,
}

impl Address {
    pub(crate) fn of(
        server: &ServerContext,
        connection: ConnectionInfo,
        parts: &Parts,
        path: &str,
    ) -> Self {
        let base = match &server.public_url {
            Some(url) => url.as_str().to_owned(),
            None => {
                let (scheme, base_path) = (connection.scheme(), server.base_path.as_str());
                format!("{scheme}://{}{base_path}", host(parts))
            }
        };
        Self { base, path: path.to_owned() }
    }

    /// Addresses under a base, where there is no request to take them from.
    pub(crate) fn under(base: &str) -> Self {
        Self { base: base.to_owned(), path: String::new() }
    }

    #[cfg(test)]
    pub(crate) fn at(base: &str, path: &str) -> Self {
        Self { base: base.into(), path: path.into() }
    }

    /// The URL under which all paths are.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// The request's URL, without its query.
    pub(crate) fn request_url(&self) -> String {
        format!("{}{}", self.base, self.path)
    }

    pub(crate) fn access(&self, tenant: &TenantName, id: AccessId) -> String {
        format!("{}{id}", self.accesses(tenant))
    }

    /// Prefix of the URLs of accesses.
    pub(crate) fn accesses(&self, tenant: &TenantName) -> String {
        format!("{}/{tenant}/access/", self.base)
    }

    pub(crate) fn task(&self, tenant: &TenantName, id: TaskId) -> String {
        format!("{}/{tenant}/access/batch/{id}", self.base)
    }

    pub(crate) fn contract(&self, tenant: &TenantName, id: &ContractId) -> String {
        format!("{}/{tenant}/contract/{}", self.base, encoded(id.as_str()))
    }

    /// Prefix of the URLs of products.
    pub(crate) fn products(&self, tenant: &TenantName) -> String {
        format!("{}/{tenant}/product/", self.base)
    }
}

pub(crate) fn encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, SEGMENT)
}

/// The host that the client named; `localhost` if that is no valid host.
fn host(parts: &Parts) -> String {
    let named = parts.uri.authority().cloned().or_else(|| {
        let header = parts.headers.get(http::header::HOST)?;
        header.to_str().ok()?.parse::<Authority>().ok()
    });
    match named {
        Some(authority) if !authority.as_str().contains('@') => authority.to_string(),
        _ => "localhost".to_owned(),
    }
}
