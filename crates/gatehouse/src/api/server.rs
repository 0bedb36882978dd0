//! A server that is asked, and how one of its tenants sees it.

use gatehouse_server::http::SEGMENT;
use percent_encoding::utf8_percent_encode;
use reqwest::{Client, Method};
use serde_json::Value;

use super::ask::Ask;
use super::pages::Pages;
use crate::failure::{Failure, Kind};
use crate::session::Session;
use crate::wire::{Talk, root_cause};

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
    /// What leads here, for a command that is suggested.
    pub(super) flags: String,
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

    /// A list, in large pages; the query says which of its things.
    pub(crate) fn pages(&self, segments: &[&str], query: &str) -> Pages<'_> {
        Pages::new(self, segments, query)
    }

    /// Every item of a list.
    pub(crate) async fn all(&self, segments: &[&str]) -> Result<Vec<Value>, Failure> {
        let (mut items, mut pages) = (Vec::new(), self.pages(segments, ""));
        while let Some((_, page)) = pages.next().await? {
            items.extend(page);
        }
        Ok(items)
    }

    /// The token that requests go out with.
    pub(crate) async fn token(&self) -> Result<String, Failure> {
        self.session.token(self.talk).await
    }

    /// Gets another token in place of one that was refused, if that can be.
    pub(super) async fn renew(&self, refused: &str) -> Result<bool, Failure> {
        self.session.renew(refused, self.talk).await
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
        serde_json::from_slice(text).map_err(|_| {
            let said = format!("{} answered {status} with something that is not JSON", self.url);
            Failure::new(Kind::Unreachable, said).advise("is --url the address of a gatehouse?")
        })
    }

    pub(super) fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let why = root_cause(error);
        Failure::new(Kind::Unreachable, format!("{} can't be reached: {why}", self.url))
            .advise("is the server running, and is --url right?")
    }
}
