//! A server that is asked, and how one of its tenants sees it.

use gatehouse_server::http::SEGMENT;
use percent_encoding::utf8_percent_encode;
use reqwest::{Client, Method};
use serde_json::Value;

use super::Talk;
use super::ask::{Ask, not_json};
use crate::failure::{Failure, Kind};
use crate::session::Session;

/// A server that is asked.
pub(crate) struct Server {
    client: Client,
    url: String,
    session: Session,
    talk: Talk,
}

/// A server as one of its tenants sees it.
pub(crate) struct TenantServer {
    pub(crate) server: Server,
    pub(crate) tenant: String,
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
}

impl Server {
    pub(super) fn new(client: Client, url: String, session: Session, talk: Talk) -> Self {
        Self { client, url, session, talk }
    }

    /// A request for a path under the server's address, whose segments are encoded here.
    pub(crate) fn ask(&self, method: Method, segments: &[&str]) -> Ask<'_> {
        let path: String = segments
            .iter()
            .map(|segment| format!("/{}", utf8_percent_encode(segment, SEGMENT)))
            .collect();
        Ask::new(self, method, format!("{}{path}", self.url), segments)
    }

    /// Every item of a list, page by page, at this server's own address: the links of an answer may
    /// lead elsewhere, and a token is not for everyone.
    pub(crate) async fn all(&self, segments: &[&str]) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        for number in 1.. {
            let ask = self.ask(Method::GET, segments).query(&format!("pageNumber={number}"));
            match ask.success().await?.body {
                Value::Array(page) if page.is_empty() => break,
                Value::Array(page) => items.extend(page),
                _ => return Err(self.not_understood()),
            }
        }
        Ok(items)
    }

    /// The token that requests go out with.
    pub(crate) async fn token(&self) -> Result<String, Failure> {
        self.session.token(&self.client, self.talk).await
    }

    /// An answer that no gatehouse gives.
    pub(crate) fn not_understood(&self) -> Failure {
        let said = format!("{} answered something that can't be understood", self.url);
        Failure::new(Kind::Unreachable, said)
            .advise("is --url the address of a gatehouse, and is it no older than this program?")
    }

    /// An answer that ended in the middle.
    pub(crate) fn broke_off(&self, error: &reqwest::Error) -> Failure {
        let said = format!("the answer of {} broke off: {}", self.url, root_cause(error));
        Failure::new(Kind::Unreachable, said).advise("try again")
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn talk(&self) -> Talk {
        self.talk
    }

    /// The body of an answer.
    pub(super) fn read_json(&self, status: u16, text: &[u8]) -> Result<Value, Failure> {
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(text).map_err(|_| not_json(&self.url, status))
    }

    pub(super) fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let why = root_cause(error);
        Failure::new(Kind::Unreachable, format!("{} can't be reached: {why}", self.url))
            .advise("is the server running, and is --url right?")
    }
}

/// What lies beneath an error of the HTTP library, whose own words name only the address.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut why: &dyn std::error::Error = error;
    while let Some(source) = why.source() {
        why = source;
    }
    why.to_string()
}
